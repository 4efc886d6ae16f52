"""How often each label occurs in MagicData340K, split by split, in the form of MagicMirror's Table 5."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from salon_bench.suites.assessors.label_space import label_names
from salon_bench.suites.assessors.magicdata import SPLITS, MagicDataRow, UnreadableRow
from salon_taxonomy.answers import MAGICMIRROR_MENU

if TYPE_CHECKING:
    import polars as pl

_MOST_KEPT = 20
_NO_SPLIT = "no_split"


@dataclass(frozen=True, slots=True)
class Statistics:
    """Label counts.

    Attributes:
        table: one row per label in the order of Table 5 (``Total``, ``Normal``, ``Artifacts``, each L2 with its L3 labels):
            ``label``, ``total``, ``share`` (percent of the images with artifacts; null for the first three rows), and a
            count per split that occurs. An image counts for each label that it has, so the counts do not add up.
        unreadable: rows that could not be used, per split.
        first_unreadable: the first twenty of them.
        artifacts_without_label: images that are not normal and have no label.
    """

    table: "pl.DataFrame"
    unreadable: dict[str, int]
    first_unreadable: tuple[UnreadableRow, ...]
    artifacts_without_label: int


def statistics(rows: Iterable[MagicDataRow | UnreadableRow]) -> Statistics:
    """Count labels, in one pass.

    Example:
        >>> from salon_taxonomy.answers import MagicMirrorAnswer
        >>> result = statistics([MagicDataRow("1.png", None, MagicMirrorAnswer(True), None, "test")])
        >>> result.table.row(1)
        ('Normal', 1, None, 1)
    """
    counts: dict[str, Counter[str]] = {}
    unreadable: Counter[str] = Counter()
    first: list[UnreadableRow] = []
    bare = 0
    for row in rows:
        split = row.split or _NO_SPLIT
        if isinstance(row, UnreadableRow):
            unreadable[split] += 1
            first += [row] if len(first) < _MOST_KEPT else []
            continue
        names = label_names(row.answer)
        bare += len(names) == 1
        verdict = "Normal" if row.answer.normal else "Artifacts"
        counts.setdefault(split, Counter()).update(("Total", verdict, *names[1:]))
    return Statistics(_table(counts), dict(unreadable), tuple(first), bare)


def _table(counts: dict[str, Counter[str]]) -> "pl.DataFrame":
    import polars as pl

    splits = [split for split in (*SPLITS, _NO_SPLIT) if split in counts]
    whole = sum(counts.values(), Counter[str]())
    artifacts = whole["Artifacts"]
    labels = [name for l2, cases in MAGICMIRROR_MENU.items() for name in (l2, *cases)]
    rows = []
    for label in ("Total", "Normal", "Artifacts", *labels):
        share = 100 * whole[label] / artifacts if label in labels and artifacts else None
        rows.append((label, whole[label], share, *(counts[split][label] for split in splits)))
    schema = {"label": pl.String, "total": pl.Int64, "share": pl.Float64, **dict.fromkeys(splits, pl.Int64)}
    return pl.DataFrame(rows, schema=schema, orient="row")
