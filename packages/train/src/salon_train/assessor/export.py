"""Export a trained model as a folder that transformers loads: adapters merged, processor, and a card with measured numbers.

The folder loads through ``AutoModelForImageTextToText`` and ``AutoProcessor``, and is a judge: ``transformers:FOLDER``.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from salon_taxonomy.errors import InputError
from salon_train.assessor.evaluation import model_folder
from salon_train.configuration.schema import Configuration
from salon_train.data.conversion import folder_beside
from salon_train.models.loading import load_model
from salon_train.run.callbacks import quiet
from salon_train.run.folder import RunFolder


@dataclass(frozen=True, slots=True)
class ExportedModel:
    """What was written.

    Attributes:
        folder: with weights, processor and card.
        parameters: of the model.
        merged: adapters were merged into the weights.
    """

    folder: Path
    parameters: int
    merged: bool


def export(configuration: Configuration, which: str, folder: Path) -> ExportedModel:
    """Write a model that a run made, whole.

    Args:
        configuration: of the run.
        which: ``sft``, ``grpo``, or a folder that training wrote.
        folder: to write to; must not be there, or be empty.

    Raises:
        InputError: there is no such result, or the folder holds something or cannot be written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError("is there already", source=folder, hint="Choose a folder that is not there yet.")
    start = model_folder(configuration, which)
    with quiet():
        loaded = load_model(configuration.model, start=start, learning=False)
        merged = hasattr(loaded.model, "merge_and_unload")
        model = loaded.model.merge_and_unload() if merged else loaded.model
        with folder_beside(folder) as room:
            part = room / "whole"
            model.save_pretrained(part)
            loaded.processor.save_pretrained(part)
            (part / "README.md").write_text(card(configuration, which, _measured(configuration, which)), encoding="utf-8")
            if folder.exists():
                folder.rmdir()
            part.replace(folder)
    return ExportedModel(folder, sum(parameter.numel() for parameter in model.parameters()), merged)


def card(configuration: Configuration, which: str, measured: Mapping[str, Any]) -> str:
    """Write the model card in Markdown: origin, settings, and measured numbers only."""
    model, data = configuration.model, configuration.data
    base = Path(model.name).name if Path(model.name).is_dir() else model.name
    lines = ["---", "pipeline_tag: image-text-to-text", "tags: [salon, artifact-assessment]"]
    lines += [] if Path(model.name).is_dir() else [f"base_model: {model.name}"]
    lines += ["---", f"# {base}, trained as an artifact assessor", ""]
    lines += [f"Made by salon-train {version('salon-train')}, stage `{which}`, from `{base}`; {_how(configuration)}.", ""]
    lines += [
        "It answers with MagicMirror's labels in `\\boxed{…}`" + (" after `<think>…</think>`." if data.reasoning else "."),
        "",
    ]
    if data.question is not None:
        lines += ["It was asked about each picture:", "", *(f"> {line}" for line in data.question.splitlines()), ""]
    lines += ["## Measured on held-out pictures", ""]
    numbers = {name: value for name, value in measured.items() if isinstance(value, int | float)}
    if numbers:
        lines += ["| number | value |", "| --- | ---: |", *(f"| {name} | {value:.4f} |" for name, value in numbers.items()), ""]
        lines += [
            "F1 over the four main L2 labels (macro, micro) and of artifact or not (binary); shares of answers; tokens.",
            "",
        ]
    else:
        lines += ["Nothing was measured.", ""]
    settings = configuration.model_dump(mode="json", exclude={"log", "store", "run"})
    lines += ["## Settings", "", "```json", json.dumps(_named(settings), indent=2, ensure_ascii=False), "```", ""]
    return "\n".join(lines)


def _how(configuration: Configuration) -> str:
    if configuration.model.training == "full":
        return "all weights were trained"
    return f"adapters of rank {configuration.model.lora.rank} were trained and merged"


def _measured(configuration: Configuration, which: str) -> Mapping[str, Any]:
    if which not in ("sft", "grpo"):
        return {}
    finished = RunFolder.of(configuration, "sft" if which == "sft" else "grpo").finished
    return finished["evaluation"] if finished else {}


def _named(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings without the paths of this machine: files and folders by their names."""
    data: dict[str, Any] = dict(settings["data"])
    for key in ("train", "sft", "held_out"):
        data[key] = [Path(str(file)).name for file in data[key]]
    data["pictures"] = None if data["pictures"] is None else Path(str(data["pictures"])).name
    model: dict[str, Any] = dict(settings["model"])
    if Path(str(model["name"])).is_dir():
        model["name"] = Path(str(model["name"])).name
    return {**settings, "data": data, "model": model}
