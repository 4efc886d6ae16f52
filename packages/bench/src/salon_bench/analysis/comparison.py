"""What a comparison of two runs says: its sides, its differences with their intervals, and the prompts that changed most."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ComparedSide:
    """One of the two: a subject in a run, under one judge version."""

    run_id: str
    suite: str
    subject: str
    judge: str
    judge_version: str

    def __str__(self) -> str:
        """Subject, judge and the judge's version."""
        return f"{self.subject}, judged by {self.judge} {self.judge_version}"


@dataclass(frozen=True, slots=True)
class Gap:
    """One dimension in one category, A less B.

    Attributes:
        dimension: as in ``scores``.
        category: the task; None: all of them, each prompt counted once with its mean over tasks that both sides scored.
        mean_a, mean_b: over the paired prompts; None without any.
        difference: of these means; None without any.
        ci_low, ci_high: of the difference; None for fewer than two paired prompts or without replicates.
        paired: prompts that are scored on both sides.
        only_a, only_b: prompts that are scored on that side alone; they are in no difference.
        neither: prompts that have rows, but a score on no side, or on either side in other tasks.
        unscored_a, unscored_b: rows without a score.
    """

    dimension: str
    category: str | None
    mean_a: float | None
    mean_b: float | None
    difference: float | None
    ci_low: float | None
    ci_high: float | None
    paired: int
    only_a: int
    only_b: int
    neither: int
    unscored_a: int
    unscored_b: int

    @property
    def significant(self) -> bool:
        """Whether the interval leaves out 0; False without an interval."""
        return self.ci_low is not None and self.ci_high is not None and (self.ci_low > 0.0 or self.ci_high < 0.0)


@dataclass(frozen=True, slots=True)
class ScoreChange:
    """One number about a prompt that differs between the sides; means over the samples of each."""

    category: str
    dimension: str
    a: float
    b: float


@dataclass(frozen=True, slots=True)
class ChangedPrompt:
    """A prompt on which the two sides part.

    Attributes:
        prompt_id: which.
        categories: the tasks in which they part.
        text: what the generators were told; None when the store does not have it.
        moves: the dimensions that differ, the largest first.
        size: the differences added up, each in parts of the range that its dimension has over both sides; from 0.
        balance: the same with signs; above 0: A is higher.
        generations_a, generations_b: what was judged on either side.
    """

    prompt_id: str
    categories: tuple[str, ...]
    text: str | None
    moves: tuple[ScoreChange, ...]
    size: float
    balance: float
    generations_a: tuple[str, ...]
    generations_b: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """How two sides differ, and how that was found.

    ``gaps``: every dimension over all prompts, then by category for those that have several. ``changes``: the biggest first.
    ``notes``: sentences for people, among them that judge versions differ.
    """

    a: ComparedSide
    b: ComparedSide
    gaps: tuple[Gap, ...]
    changes: tuple[ChangedPrompt, ...]
    changed: int
    prompts: int
    confidence: float
    replicates: int
    seed: int
    notes: tuple[str, ...]

    @property
    def across_versions(self) -> bool:
        """Whether the two sides were judged by different versions."""
        return self.a.judge_version != self.b.judge_version
