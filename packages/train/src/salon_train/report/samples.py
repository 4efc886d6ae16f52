"""A handful of what a policy wrote: some completions of the first, a middle and the last step of ``completions.jsonl``."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from salon_taxonomy.answers.strict_json import Json
from salon_train.report.history import number, text_of
from salon_train.report.log_lines import LogLines
from salon_train.run.rollouts import evenly

FILE: Final = "completions.jsonl"
PER_STEP: Final = 4
"""Completions that are shown of each step."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One completion; the words are a model's, and may be anything.

    Attributes:
        step: optimizer steps done before it was sampled.
        text: what the policy wrote.
        truth: what is right, as the data say it; empty where they do not.
        bucket: that its picture was drawn from; empty where the file does not say.
        reward: the weighted sum; None where no reward scored it.
        rewards: each by name, likewise.
        tokens: its length.
    """

    step: int
    text: str
    truth: str
    bucket: str
    reward: float | None
    rewards: Mapping[str, float | None]
    tokens: int | None


def read_samples(folder: Path, *, per_step: int = PER_STEP) -> list[Sample]:
    """Return completions of three steps, of each at most ``per_step``, evenly over its lines; none without the file.

    Args:
        folder: of a stage.
        per_step: how many of a step.

    Raises:
        InputError: a line of the file is broken; it names the line.
    """
    path = folder / FILE
    if not path.is_file():
        return []
    lines = LogLines(path, first="step")
    offsets: dict[int, list[int]] = {}
    for line in lines:
        if isinstance(line.values.get("completion"), str):
            offsets.setdefault(line.step, []).append(line.offset)
    steps = sorted(offsets)
    chosen = sorted({steps[0], steps[len(steps) // 2], steps[-1]}) if steps else []
    kept = [(step, offsets[step][place]) for step in chosen for place in evenly(len(offsets[step]), per_step)]
    return [_sample(step, lines.at(offset)) for step, offset in kept]  # the file may be large: only these lines are kept


def _sample(step: int, values: Mapping[str, Json]) -> Sample:
    rewards = values.get("rewards")
    tokens = number(values.get("completion_tokens"))
    return Sample(
        step,
        text_of(values.get("completion")),
        text_of(values.get("truth")),
        text_of(values.get("bucket")),
        number(values.get("reward")),
        {name: number(value) for name, value in rewards.items()} if isinstance(rewards, dict) else {},
        None if tokens is None else int(tokens),
    )
