"""Precision, recall and F1 of an assessor, label by label, with bootstrap intervals.

MagicMirror, appendix A.5.2. Images are resampled as wholes, so every number of a replicate comes from the same
images. Images with the same labels and the same answer are interchangeable, so their counts are drawn at once from a
multinomial: exactly the bootstrap over images, at a cost that does not grow with their number.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from salon_bench.suites.assessors.label_counts import Averages, LabelCounts, macro, micro
from salon_bench.suites.assessors.label_space import COLUMN, LABELS, MAIN_LABELS, TreeLevel, label_matrix
from salon_ranking.uncertainty.quantiles import expanded_interval
from salon_taxonomy.answers import MagicMirrorAnswer, Outcome, Unparsed
from salon_taxonomy.errors import InputError, member_of
from salon_taxonomy.verdict import Reason

if TYPE_CHECKING:
    import polars as pl

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
METRICS = ("precision", "recall", "f1")


class Invalid(StrEnum):
    """What an answer that cannot be read counts as."""

    NOTHING = "nothing"
    """An answer that gives no label: each label of the image is missed. The default, because an assessor that does not
    answer finds nothing."""
    LEFT_OUT = "left_out"
    """The image is left out, as in the released script; a reader must then look at the count beside the scores."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """An assessor's scores.

    Attributes:
        table: one row per label and average, in the order in which people read them: ``level``, ``label``, ``precision``,
            ``recall``, ``f1`` (from 0 to 1; null where undefined), each with ``…_low`` and ``…_high`` (null without
            replicates), ``support``, ``flagged``, ``correct`` (images). Averages are called ``macro`` and ``micro``.
        images: with truth.
        valid: answers that could be read.
        reasons: why the others could not, most frequent first.
        invalid: what those counted as.
        replicates, confidence, seed: of the intervals.
    """

    table: "pl.DataFrame"
    images: int
    valid: int
    reasons: tuple[tuple[Reason, int], ...]
    invalid: Invalid
    replicates: int
    confidence: float
    seed: int

    @property
    def header(self) -> str:
        """How the numbers were made, in one line.

        Example:
            >>> evaluate([MagicMirrorAnswer(True)], [Unparsed(Reason.EMPTY, "")], replicates=0).header
            'Images: 1. Answers read: 0, not read: 1 (1 empty; counted as giving no label).'
        """
        unread = ", ".join(f"{count} {reason}" for reason, count in self.reasons)
        how = "counted as giving no label" if self.invalid is Invalid.NOTHING else "left out"
        text = f"Images: {self.images:,}. Answers read: {self.valid:,}, not read: {self.images - self.valid:,}"
        text += f" ({unread}; {how})." if unread else "."
        if self.replicates:
            percent = f"{100 * self.confidence:.4g}%"
            text += f" {percent} intervals: percentile bootstrap over images, {self.replicates} replicates, seed {self.seed}."
        return text


def evaluate(
    truth: Sequence[MagicMirrorAnswer],
    answers: Sequence[Outcome[MagicMirrorAnswer]],
    *,
    invalid: Invalid | str = Invalid.NOTHING,
    replicates: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Evaluation:
    """Evaluate an assessor's answers about images.

    Args:
        truth: the labels of people.
        answers: about the same images in the same order.
        invalid: what an answer that cannot be read counts as.
        replicates: of the bootstrap; 0 makes no intervals.
        confidence: of the intervals, between 0 and 1.
        seed: of the bootstrap.

    Raises:
        InputError: the lengths differ, there is no image, or an option is outside its range.

    Example:
        >>> from salon_taxonomy.answers import Artifact, Parsed
        >>> normal, object_ = MagicMirrorAnswer(True), MagicMirrorAnswer(False, (Artifact("L2: Abnormal Object Morphology"),))
        >>> result = evaluate([object_, object_, normal], [Parsed(object_), Parsed(normal), Parsed(object_)], replicates=0)
        >>> result.table.row(0, named=True)["precision"], result.table.row(0, named=True)["recall"]
        (0.5, 0.5)
    """
    check_options(replicates, confidence, seed)
    invalid = member_of(Invalid, invalid, "way to count invalid answers")
    matrices = matrices_of(truth, answers, invalid)
    unread = Counter(outcome.reason for outcome in answers if isinstance(outcome, Unparsed))
    reasons = tuple(sorted(unread.items(), key=lambda pair: (-pair[1], pair[0])))
    table = _table(*matrices, replicates=replicates, confidence=confidence, seed=seed)
    valid = len(truth) - unread.total()
    return Evaluation(table, len(truth), valid, reasons, invalid, replicates, confidence, seed)


def matrices_of(
    truth: Sequence[MagicMirrorAnswer], answers: Sequence[Outcome[MagicMirrorAnswer]], invalid: Invalid
) -> tuple[Bools, Bools]:
    """Truth and prediction as truth values, shape (images, 24) each; images that are left out have no row.

    Raises:
        InputError: the lengths differ, or no image is left.
    """
    if len(truth) != len(answers):
        raise InputError(f"{len(truth)} images have truth, but answers there are", value=len(answers))
    readable = np.array([not isinstance(outcome, Unparsed) for outcome in answers], dtype=np.bool_)
    true = label_matrix(truth)
    predicted = label_matrix([None if isinstance(outcome, Unparsed) else outcome.answer for outcome in answers])
    if invalid is Invalid.LEFT_OUT:
        true, predicted = true[readable], predicted[readable]
    if not len(true):
        raise InputError("there is no image to evaluate on")
    return true, predicted


def check_options(replicates: int, confidence: float, seed: int) -> None:
    """Refuse options of the bootstrap that are outside their range.

    Raises:
        InputError: for the first of them.
    """
    if replicates < 0:
        raise InputError("must be 0 or more", column="replicates", value=replicates)
    if not 0 < confidence < 1:
        raise InputError("must lie between 0 and 1", column="confidence", value=confidence)
    if seed < 0:
        raise InputError("must be 0 or more", column="seed", value=seed)


def outcomes_by_pattern(*matrices: Bools) -> tuple[list[Bools], NDArray[np.int64]]:
    """Images that are alike, once: the distinct rows of the matrices side by side, and how many images have each."""
    packed = np.packbits(np.concatenate(matrices, axis=1), axis=1)
    _, first, times = np.unique(packed, axis=0, return_index=True, return_counts=True)
    return [matrix[first] for matrix in matrices], times.astype(np.int64)


def drawn_times(times: NDArray[np.int64], replicates: int, seed: int) -> NDArray[np.int64]:
    """Return how many images of each pattern a resample holds: shape (replicates, patterns)."""
    images = int(times.sum())
    return np.random.default_rng(seed).multinomial(images, times / images, size=replicates)


def label_counts(true: Bools, predicted: Bools, times: NDArray[np.int64]) -> list[LabelCounts]:
    """Return counts of every label.

    Args:
        true, predicted: shape (patterns, 24).
        times: shape (patterns,) or (replicates, patterns).

    Returns:
        24 counts, each of shape () or (replicates,).
    """
    weights = times.astype(np.float64)
    hits, extra, missed = (
        weights @ matrix.astype(np.float64) for matrix in (true & predicted, ~true & predicted, true & ~predicted)
    )
    return [LabelCounts(hits[..., c], extra[..., c], missed[..., c]) for c in range(len(LABELS))]


def lines_of(counts: Sequence[LabelCounts]) -> list[tuple[TreeLevel, str, LabelCounts | Averages]]:
    """Return every row of the table: artifact, L2 labels, L3 labels, and their averages."""
    main = [counts[COLUMN[name]] for name in MAIN_LABELS]
    others = [label for label in LABELS if label.level is TreeLevel.L2 and label.name not in MAIN_LABELS]
    cases = [label for label in LABELS if label.level is TreeLevel.L3]
    under = [counts[COLUMN[label.name]] for label in cases]
    return [
        (TreeLevel.ARTIFACT, "artifact", counts[0]),
        *((TreeLevel.L2, name, label) for name, label in zip(MAIN_LABELS, main, strict=True)),
        (TreeLevel.L2, "macro", macro(main)),
        (TreeLevel.L2, "micro", micro(main)),
        *((TreeLevel.L2, label.name, counts[COLUMN[label.name]]) for label in others),
        *((TreeLevel.L3, label.name, counts[COLUMN[label.name]]) for label in cases),
        (TreeLevel.L3, "macro", macro(under)),
        (TreeLevel.L3, "micro", micro(under)),
    ]


def _table(true: Bools, predicted: Bools, *, replicates: int, confidence: float, seed: int) -> "pl.DataFrame":
    import polars as pl

    (true, predicted), times = outcomes_by_pattern(true, predicted)
    lines = lines_of(label_counts(true, predicted, times))
    drawn = lines_of(label_counts(true, predicted, drawn_times(times, replicates, seed))) if replicates else None
    rows = []
    for number, (level, name, values) in enumerate(lines):
        row: dict[str, object] = {"level": str(level), "label": name}
        for metric in METRICS:
            row[metric] = _known(getattr(values, metric))
            low = high = None
            if drawn is not None:
                replicated, value = (
                    getattr(drawn[number][2], metric)[:, None],
                    np.array([getattr(values, metric)], dtype=np.float64),
                )
                lows, highs = expanded_interval(replicated, value, int(times.sum()), confidence)
                low, high = _known(lows[0]), _known(highs[0])
            row[f"{metric}_low"], row[f"{metric}_high"] = low, high
        single = values if isinstance(values, LabelCounts) else None
        row["support"] = int(single.support) if single else None
        row["flagged"] = int(single.flagged) if single else None
        row["correct"] = int(single.true_positives) if single else None
        rows.append(row)
    floats = [f"{metric}{end}" for metric in METRICS for end in ("", "_low", "_high")]
    counts = ("support", "flagged", "correct")
    schema = {"level": pl.String, "label": pl.String, **dict.fromkeys(floats, pl.Float64), **dict.fromkeys(counts, pl.Int64)}
    return pl.DataFrame(rows, schema=schema)


def _known(value: Floats) -> float | None:
    return None if np.isnan(value) else float(value)
