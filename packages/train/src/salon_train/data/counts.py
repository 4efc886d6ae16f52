"""How many examples each bucket and each label has, beside what MagicMirror published (Table 5)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from salon_bench.suites.assessors.magicdata import SPLITS, MagicDataRow
from salon_bench.suites.assessors.statistics import statistics
from salon_taxonomy import Taxonomy
from salon_taxonomy.training_example import MAIN_BUCKETS, OTHER
from salon_train.data.reading import SplitExample
from salon_train.sampling.ratio import DEFAULT_RATIO, Ratio

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class DataCounts:
    """Counts of a data set.

    Attributes:
        labels: one row per label in the order of Table 5: ``label``, ``total``, ``share`` (percent of the pictures with
            artifacts; null for the first three rows), a count per split that occurs, and beside each split that the paper
            has its published count, ``published_train`` and so on.
        buckets: one row per bucket, ``other`` last: ``bucket``, ``examples``, ``share`` (percent of all examples), ``drawn``
            (percent of what multi-bucket sampling draws; 0 for ``other``), and ``passes``, how often each example of the
            bucket is drawn while as many are drawn as there are examples; null for an empty bucket.
        hard_positives: how many examples are.
        reasoned: how many have reasoning.
        several_buckets: how many are in more than one bucket.
        artifacts_without_label: pictures that are not normal and have no label; none of the main buckets holds them.
    """

    labels: "pl.DataFrame"
    buckets: "pl.DataFrame"
    hard_positives: int
    reasoned: int
    several_buckets: int
    artifacts_without_label: int


def count(rows: Sequence[SplitExample], *, ratio: Ratio = DEFAULT_RATIO) -> DataCounts:
    """Count labels and buckets.

    Args:
        rows: examples with their splits.
        ratio: of multi-bucket sampling, for ``drawn`` and ``passes``.

    Example:
        >>> from pathlib import Path
        >>> from salon_taxonomy.answers import MagicMirrorAnswer
        >>> from salon_taxonomy.training_example import TrainingExample
        >>> rows = [SplitExample(TrainingExample("1.png", b"", MagicMirrorAnswer(True)), "test", Path("test.jsonl"), 1)]
        >>> counted = count(rows)
        >>> counted.labels.row(1)
        ('Normal', 1, None, 1, 8690)
        >>> counted.buckets.row(0)
        ('normal', 1, 100.0, 50.0, 0.5)
    """
    counts = statistics(
        MagicDataRow(row.example.example_id, row.example.prompt, row.example.truth, row.example.reasoning, row.split)
        for row in rows
    )
    return DataCounts(
        _with_published(counts.table),
        _buckets(rows, ratio),
        sum(row.example.hard_positive for row in rows),
        sum(row.example.reasoning is not None for row in rows),
        sum(len(row.example.buckets) > 1 for row in rows),
        counts.artifacts_without_label,
    )


def published_counts(split: str) -> dict[str, int]:
    """Return table 5's counts of one split, by the label's spelling; ``Total``, ``Normal`` and ``Artifacts`` first.

    Example:
        >>> published_counts("cot")["L3: Hand Structure Deformity"]
        269
    """
    taxonomy = Taxonomy.load("magicmirror")
    counts = {"Total": taxonomy.counts[split]}
    for label in taxonomy.tier("L1"):
        counts["Normal" if "normal" in label.name.lower() else "Artifacts"] = label.counts[split]
    for tier in ("L2", "L3"):
        counts |= {label.spelling: label.counts[split] for label in taxonomy.tier(tier)}
    return counts


def _with_published(table: "pl.DataFrame") -> "pl.DataFrame":
    import polars as pl

    for split in reversed([name for name in SPLITS if name in table.columns]):
        published = published_counts(split)
        values = pl.Series(f"published_{split}", [published[label] for label in table["label"]], dtype=pl.Int64)
        table = table.insert_column(table.columns.index(split) + 1, values)
    return table


def _buckets(rows: Sequence[SplitExample], ratio: Ratio) -> "pl.DataFrame":
    import polars as pl

    counted = Counter(bucket for row in rows for bucket in row.example.buckets)
    names = dict.fromkeys((*MAIN_BUCKETS, *ratio.buckets, OTHER))
    lines = []
    for bucket in names:
        examples, drawn = counted[bucket], ratio.share(bucket)
        passes = drawn * len(rows) / examples if examples else None
        lines.append((bucket, examples, 100 * examples / len(rows) if rows else None, 100 * drawn, passes))
    schema = {"bucket": pl.String, "examples": pl.Int64, **dict.fromkeys(("share", "drawn", "passes"), pl.Float64)}
    return pl.DataFrame(lines, schema=schema, orient="row")
