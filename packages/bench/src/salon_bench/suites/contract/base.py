"""The defaults of a suite."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from salon_bench.suites.contract.suite import Case, RewardSpec, SuitePrompt, Summary, one_picture_cases
from salon_judges.formats.generations import Generations, read_generations
from salon_judges.media import PicturePolicy
from salon_taxonomy.errors import InputError

if TYPE_CHECKING:
    import polars as pl


def given(source: Path | None, problem: str, hint: str) -> Path:
    """Return the file or folder that a suite reads.

    Raises:
        InputError: the source is missing; with the suite's ``problem`` and ``hint``.
    """
    if source is None:
        raise InputError(problem, hint=hint)
    return source


class SuiteBase(ABC):
    """Defaults of a suite: files named by prompt, a case per picture, means with bootstrap intervals.

    A suite that inherits it declares ``name``, ``version``, ``prompts`` and ``examine``, and replaces what differs.
    """

    pictures: PicturePolicy = PicturePolicy()
    steps: Sequence[str] = ()
    soft_steps: Sequence[str] = ()
    picture_names: Sequence[str] = ()
    reward: RewardSpec = RewardSpec()

    @property
    @abstractmethod
    def name(self) -> str:
        """The name on the command line and in tables."""

    def generations(self, source: Path, model: str, prompts: Sequence[SuitePrompt]) -> Generations:
        """Return the files of a folder that are named by prompt, or those that a table names."""
        return read_generations(source, model, [item.prompt.prompt_id for item in prompts])

    def cases(self, prompts: Sequence[SuitePrompt], generations: Generations) -> Iterable[Case]:
        """Yield a case for every prompt, model and sample."""
        return one_picture_cases(self.name, prompts, generations)

    def aggregate(self, scores: "pl.DataFrame", assessments: "pl.DataFrame") -> Summary:
        """Return the mean of every dimension, over all tasks and per task, with 95% bootstrap intervals over rows."""
        from salon_bench.suites.contract.tables import mean_lines, summary_of  # heavy: polars and numpy

        note = "95% intervals: percentile bootstrap over rows, 1000 replicates, seed 0; none from a single row."
        return summary_of(mean_lines(scores), [note])
