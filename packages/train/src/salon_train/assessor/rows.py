"""Read the examples of a configured run; files, wordings and data sets are those of ``salon_train.data``."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from salon_taxonomy.answers import magicmirror_json
from salon_taxonomy.training_example import TrainingExample
from salon_train.configuration.schema import Configuration, DataSection
from salon_train.data import Wording, grpo_dataset, question_of, read_examples, sft_dataset
from salon_train.run.folder import StageRows

if TYPE_CHECKING:
    from datasets import Dataset


def rows_of(files: Sequence[str], section: DataSection, *, limit: int | None = None) -> StageRows[TrainingExample]:
    """Read the examples of some files, in their order; rows that cannot be used are left out and counted.

    Raises:
        InputError: a file cannot be read, too many rows cannot be used, or none can be used.
    """
    pictures = None if section.pictures is None else Path(section.pictures)
    read = read_examples([Path(file) for file in files], pictures)
    notes = [f"{count} rows cannot be used ({fault})" for fault, count in read.unusable.items()]
    if notes:
        notes.append(f"the first of them: {read.first_unusable[0]}")
    return StageRows(tuple(read.examples[:limit]), tuple(notes), _identity, lambda example: (example.image,))


def _identity(example: TrainingExample) -> tuple[object, ...]:
    return (example.example_id, magicmirror_json(example.truth), example.prompt, example.reasoning, example.hard_positive)


def stage_rows(configuration: Configuration, stage: str) -> StageRows[TrainingExample]:
    """Read the training examples of a stage."""
    data = configuration.data
    files = data.sft if stage == "sft" and data.sft else data.train
    return rows_of(files, data, limit=data.limit)


def held_out_rows(configuration: Configuration) -> StageRows[TrainingExample]:
    """Read the held-out examples; none if no file is configured."""
    data = configuration.data
    return rows_of(data.held_out, data, limit=configuration.evaluation.limit) if data.held_out else StageRows((), (), _identity)


def question(example: TrainingExample, section: DataSection) -> str:
    """Return the question about one picture."""
    return question_of(example.prompt, section.question or Wording.FULL)


def warm_up_dataset(examples: Sequence[TrainingExample], section: DataSection) -> "Dataset":
    """Build the data set of the SFT warm-up (cold start)."""
    return sft_dataset(examples, wording=section.question or Wording.FULL, reasoning=section.reasoning)


def policy_dataset(examples: Sequence[TrainingExample], section: DataSection) -> "Dataset":
    """Build the data set of GRPO, with the columns that rewards take."""
    return grpo_dataset(examples, wording=section.question or Wording.FULL)
