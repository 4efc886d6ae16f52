"""Compare the settings of runs with each other and with the defaults of the configuration's schema."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from salon_train.configuration.schema import CHANGEABLE
from salon_train.report.folders import STAGES, ReportedRun, StageRun

_LONGEST = 400


def settings_of(run: ReportedRun) -> dict[str, object]:
    """Return all settings of a run by dotted key; where two stages were told different things, ``STAGE: key`` for each.

    Empty where the folder does not say.
    """
    by_stage = {name: _all(stage) for name, stage in run.stages.items()}
    merged: dict[str, object] = {}
    for key in sorted({key for told in by_stage.values() for key in told}):
        values = {name: told[key] for name, told in by_stage.items() if key in told}
        if len({setting_text(value) for value in values.values()}) == 1:
            merged[key] = next(iter(values.values()))
        else:
            merged |= {f"{name}: {key}": value for name, value in values.items()}
    return merged


def says(run: ReportedRun, key: str) -> bool:
    """Whether a run's folder would tell of a setting: it has the setting's stage, or the file of changeable sections."""
    stage, colon, rest = key.partition(": ")
    section = (rest if colon and stage in STAGES else key).partition(".")[0]
    if section in STAGES:
        return section in run.stages
    if section in CHANGEABLE:
        return any(stage.besides is not None for stage in run.stages.values())
    return any(stage.told is not None for stage in run.stages.values())


def is_usual(key: str, value: object) -> bool:
    """Return whether a setting is as the schema has it when the file says nothing.

    Example:
        >>> is_usual("grpo.temperature", 1.0), is_usual("grpo.temperature", 0.7), is_usual("model.name", "tiny")
        (True, False, False)
    """
    stage, colon, rest = key.partition(": ")
    key = rest if colon and stage in STAGES else key
    usual = _usual()
    return key in usual and setting_text(usual[key]) == setting_text(value)


def setting_text(value: object) -> str:
    """Return a setting as the page shows it.

    Example:
        >>> setting_text(["a.jsonl", "b.jsonl"]), setting_text(None), setting_text([{"name": "format", "weight": 0.5}])
        ('a.jsonl, b.jsonl', 'none', 'format × 0.5')
    """
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float | int):
        return f"{value:g}" if isinstance(value, float) else str(value)
    if isinstance(value, list):
        text = ", ".join(map(setting_text, value)) or "none"
    elif isinstance(value, dict) and "name" in value and "weight" in value:
        options = f" {json.dumps(value['options'], ensure_ascii=False)}" if value.get("options") else ""
        text = f"{value['name']} × {setting_text(value['weight'])}{options}"
    else:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _all(stage: StageRun) -> dict[str, object]:
    together = {**(stage.told or {}), **(stage.besides or {})}
    return {key: value for key, value in together.items() if key != "stage"}


@cache
def _usual() -> Mapping[str, object]:
    """Return the schema's own values; keys that every file has to give are left out."""
    from salon_train.configuration.image import ImageConfiguration
    from salon_train.configuration.reading import dotted
    from salon_train.configuration.schema import Configuration
    from salon_train.refiner.settings import RefinerConfiguration

    required: dict[str, Any] = {"run": {"folder": "-"}, "model": {"name": "-"}}
    assessor = {**required, "data": {"train": ["-"]}, "sft": {"steps": 1}, "grpo": {"steps": 1}}
    refiner = {**required, "rows": {"file": "-"}, "editor": {"name": "-"}}
    usual = dotted(Configuration.model_validate(assessor).model_dump(mode="json"))
    usual |= dotted(RefinerConfiguration.model_validate(refiner).model_dump(mode="json"))
    needs = {"policy": {"model": "-"}, "prompts": {"file": "-"}, "paid": {"reward": "-"}}
    usual |= dotted(ImageConfiguration.model_validate({"run": required["run"], **needs}).model_dump(mode="json"))
    needed = {"run.folder", "model.name", "data.train", "sft.steps", "grpo.steps", "rows.file", "editor.name"}
    needed |= {"policy.model", "prompts.file", "paid.reward"}
    return {key: value for key, value in usual.items() if key not in needed}
