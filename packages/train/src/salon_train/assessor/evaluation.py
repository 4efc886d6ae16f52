"""How good an assessor is on held-out pictures, in the assessor's own metrics, during training and after it.

Reported are F1 by people's labels, how often the model says *normal*, how long its answers are, and how many cannot be read.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from salon_taxonomy.answers import MagicMirrorAnswer, Outcome, Parsed, parse_magicmirror
from salon_taxonomy.errors import InputError
from salon_taxonomy.training_example import TrainingExample
from salon_train.assessor.rows import question, rows_of
from salon_train.configuration.schema import Configuration, DataSection
from salon_train.models.loading import load_model
from salon_train.run.callbacks import quiet
from salon_train.run.folder import RunFolder
from salon_train.run.greedy import picture_of
from salon_train.run.held_out import HeldOut, ask_about

if TYPE_CHECKING:
    from salon_bench.suites.assessors import Evaluation


@dataclass(frozen=True, slots=True)
class Assessed(HeldOut[TrainingExample]):
    """An assessor's answers about held-out pictures."""

    @property
    def outcomes(self) -> list[Outcome[MagicMirrorAnswer]]:
        """The answers, read."""
        return [parse_magicmirror(text) for text in self.texts]

    def evaluation(self, *, replicates: int = 0, seed: int = 0) -> "Evaluation":
        """Return precision, recall and F1 of every label; with intervals when there are replicates."""
        from salon_bench.suites.assessors import evaluate

        return evaluate([example.truth for example in self.rows], self.outcomes, replicates=replicates, seed=seed)

    def metrics(self) -> dict[str, float | None]:
        """Return the numbers that are logged during training; None where one is undefined.

        ``f1_macro`` and ``f1_micro`` are over the four main L2 labels, ``f1_binary`` is artifact or not; ``normal`` and
        ``invalid`` are shares of the answers, ``length_…`` mean tokens by what was said.
        """
        rows = self.evaluation().table.to_dicts()
        by_name = {(row["level"], row["label"]): row for row in rows}
        numbers: dict[str, float | None] = {
            "f1_macro": by_name["L2", "macro"]["f1"],
            "f1_micro": by_name["L2", "micro"]["f1"],
            "f1_binary": by_name["artifact", "artifact"]["f1"],
        }
        numbers |= {
            f"f1/{row['label']}": row["f1"]
            for row in rows
            if row["level"] == "L2" and row["support"] and row["flagged"] is not None
        }
        lengths: dict[str, list[int]] = defaultdict(list)
        for outcome, tokens in zip(self.outcomes, self.tokens, strict=True):
            lengths[_verdict(outcome)].append(tokens)
        count = len(self.texts)
        numbers["normal"] = len(lengths["normal"]) / count
        numbers["invalid"] = len(lengths["invalid"]) / count
        numbers |= {f"length_{verdict}": sum(tokens) / len(tokens) for verdict, tokens in sorted(lengths.items()) if tokens}
        return numbers


def asked_about(data: DataSection) -> Callable[[TrainingExample], tuple[str, Any]]:
    """Return what gives the question and the picture (PIL) of an example."""
    return lambda example: (question(example, data), picture_of(example))


def model_folder(configuration: Configuration, which: str) -> Path | None:
    """Return the folder that a word means: ``sft`` and ``grpo`` of the run, ``model`` (None: untrained), or a folder.

    Raises:
        InputError: the stage has not been finished, or there is no such folder.
    """
    if which == "model":
        return None
    if which in ("sft", "grpo"):
        folder = RunFolder.of(configuration, "sft" if which == "sft" else "grpo")
        if folder.finished is None:
            raise InputError("this stage has not been finished", source=folder.path, hint=f"`salon train {which}` does.")
        return folder.model
    if not Path(which).is_dir():
        raise InputError("is no stage of the run and no folder:", value=which, allowed=("sft", "grpo", "model", "a folder"))
    return Path(which)


def measure(
    configuration: Configuration, which: str, *, limit: int | None = None, progressed: Callable[[int], None] = lambda _: None
) -> Assessed:
    """Let a model answer about every held-out picture.

    Args:
        configuration: of the run; its ``[evaluation]`` says how. Its ``limit`` is for evaluation during training alone.
        which: as :func:`model_folder` takes it.
        limit: so many pictures, the first ones; None: all.
        progressed: told how many pictures were answered, batch by batch.

    Raises:
        InputError: there is nothing held out, or no such model.
    """
    data, settings = configuration.data, configuration.evaluation
    if not data.held_out:
        raise InputError("no file is held out for evaluation", key="data.held_out")
    examples = rows_of(data.held_out, data, limit=limit).examples
    if configuration.run.threads is not None:
        torch.set_num_threads(configuration.run.threads)
    with quiet():
        loaded = load_model(configuration.model, start=model_folder(configuration, which), learning=False)
        return ask_about(Assessed, examples, asked_about(data), settings, loaded.model, loaded.processor, progressed=progressed)


def _verdict(outcome: Outcome[MagicMirrorAnswer]) -> str:
    if not isinstance(outcome, Parsed):
        return "invalid"
    return "normal" if outcome.answer.normal else "artifact"
