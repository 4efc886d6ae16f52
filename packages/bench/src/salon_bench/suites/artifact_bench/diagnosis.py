"""What the answers to AID say beyond right or wrong: which labels are found, which are taken for which.

Beyond the benchmark's own exact match (Artifact-Bench, section 3.2), whose values are near zero for most models: precision and
recall per label and family, the overlap of the two sets (Jaccard), the share of options judged rightly, and confusions.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from salon_judges.formats.artifact_bench import ABSENT, PRESENT, family_of

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class AidAnswer:
    """One question of AID as it was answered, by ids of labels.

    Attributes:
        prompt_id: the question.
        truth: options that are right.
        wrong: options that are not.
        chosen: what the judge chose; None for a reply without an answer, which counts as wrong in every respect.
    """

    prompt_id: str
    truth: frozenset[str]
    wrong: frozenset[str]
    chosen: frozenset[str] | None

    @property
    def jaccard(self) -> float:
        """|truth ∩ chosen| / |truth ∪ chosen|, 0 to 1; 0 without an answer."""
        return len(self.truth & self.chosen) / len(self.truth | self.chosen) if self.chosen else 0.0

    @property
    def options_right(self) -> int:
        """How many of the options were rightly chosen or rightly left; 0 without an answer."""
        return len((self.truth & self.chosen) | (self.wrong - self.chosen)) if self.chosen is not None else 0


@dataclass(frozen=True, slots=True)
class AidCounts:
    """How often one label or family was there, was chosen, and both. A family counts each of its options."""

    present: int
    chosen: int
    both: int

    @property
    def precision(self) -> float | None:
        """both / chosen, 0 to 1; None where it was never chosen."""
        return self.both / self.chosen if self.chosen else None

    @property
    def recall(self) -> float | None:
        """both / present, 0 to 1; None where it was never there."""
        return self.both / self.present if self.present else None


def diagnoses(scores: "pl.DataFrame", invalid: Sequence[str]) -> list[AidAnswer]:
    """Return the answers to AID by question; rows unscored for another reason than ``invalid`` are skipped."""
    import polars as pl

    options = scores.filter(pl.col("dimension").str.starts_with(PRESENT) | pl.col("dimension").str.starts_with(ABSENT))
    answers = []
    for (prompt_id,), rows in options.sort("prompt_id", "dimension").group_by("prompt_id", maintain_order=True):
        reasons = set(rows["unscored_reason"].drop_nulls())
        if reasons - set(invalid):
            continue
        names = rows["dimension"].to_list()
        truth = frozenset(name.removeprefix(PRESENT) for name in names if name.startswith(PRESENT))
        wrong = frozenset(name.removeprefix(ABSENT) for name in names if name.startswith(ABSENT))
        chosen_letters = rows.filter(pl.col("value") > 0.5)["dimension"].to_list()
        chosen = frozenset(name.partition(": ")[2] for name in chosen_letters)
        answers.append(AidAnswer(str(prompt_id), truth, wrong, None if reasons else chosen))
    return answers


def label_counts(answers: Sequence[AidAnswer], *, families: bool = False) -> dict[str, AidCounts]:
    """Return counts per label, or per family, in alphabetical order of their ids.

    Example:
        >>> answer = AidAnswer("1", frozenset({"oversmoothing"}), frozenset({"spatial-clipping"}), frozenset({"oversmoothing"}))
        >>> label_counts([answer])["oversmoothing"].recall
        1.0
    """
    present: Counter[str] = Counter()
    chosen: Counter[str] = Counter()
    both: Counter[str] = Counter()
    for answer in answers:
        chosen_labels = answer.chosen or frozenset()
        for counter, labels in ((present, answer.truth), (chosen, chosen_labels), (both, answer.truth & chosen_labels)):
            counter.update(family_of(label) if families else label for label in labels)
    offered = {family_of(label) if families else label for each in answers for label in each.truth | each.wrong}
    return {name: AidCounts(present[name], chosen[name], both[name]) for name in sorted(offered)}


def confusion(answers: Sequence[AidAnswer]) -> "pl.DataFrame":
    """Return which missing label goes with which wrongly chosen one.

    Every pair of a label that was there and not chosen and one that was chosen and not there, in one question; a question with
    several such pairs adds a share to each, so that it counts once.

    Returns:
        ``missed``, ``chosen``, ``weight`` (questions), ``offered`` (questions in which the first was right and the second a
        wrong option), ``rate`` (weight / offered, 0 to 1); the largest weight first.
    """
    import polars as pl

    weight: defaultdict[tuple[str, str], float] = defaultdict(float)
    offered: Counter[tuple[str, str]] = Counter()
    for answer in answers:
        offered.update((one, other) for one in answer.truth for other in answer.wrong)
        if answer.chosen is not None:
            pairs = [(one, other) for one in answer.truth - answer.chosen for other in answer.chosen & answer.wrong]
            for pair in pairs:
                weight[pair] += 1 / len(pairs)
    rows = [(*pair, float(value), offered[pair], value / offered[pair]) for pair, value in weight.items()]
    schema = {"missed": pl.String, "chosen": pl.String, "weight": pl.Float64, "offered": pl.Int64, "rate": pl.Float64}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    return frame.sort("weight", "missed", "chosen", descending=[True, False, False])


def lines(answers: Sequence[AidAnswer]) -> Iterator[tuple[str, str, float | None, int]]:
    """Yield metric, group, value in percent and how many answers (for precision and recall: labels) stand behind it."""
    if not answers:
        return
    options = sum(len(each.truth | each.wrong) for each in answers)
    answered = sum(each.chosen is not None for each in answers)
    yield "jaccard", "aid", 100 * sum(each.jaccard for each in answers) / len(answers), answered
    yield "option accuracy", "aid", 100 * sum(each.options_right for each in answers) / options, answered
    for families in (True, False):
        kind = "family" if families else "leaf"
        for name, counts in label_counts(answers, families=families).items():
            for metric, value, size in (
                ("precision", counts.precision, counts.chosen),
                ("recall", counts.recall, counts.present),
            ):
                yield metric, f"{kind} {name}", None if value is None else 100 * value, size
