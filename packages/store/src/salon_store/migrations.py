"""How the tables change from one version of Salon to the next: named steps, in order, each done once.

``store.json`` says which version a store has. Opening an older store for writing takes the missing steps; a store of a
newer version is refused. A step that only adds tables or columns rewrites nothing: parts that lack a column show null there.
A step that changes values rewrites a table's parts one by one, each by the same atomic switch as compaction, so it may
be interrupted and taken up again.

Polars is imported only by a step that rewrites: a journal is opened without it (``recording.py``).

To add one: append a :class:`Migration` with the next version, and change ``schemas.py`` and the record together.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from salon_store.files import locked
from salon_store.layout import Layout

if TYPE_CHECKING:
    import polars as pl

Rewrite: TypeAlias = "Callable[[pl.DataFrame], pl.DataFrame]"
"""Takes a part's rows as the version before had them, returns them as this version has them; keeps their number."""

_STEM = "+migrated"


@dataclass(frozen=True, slots=True)
class Migration:
    """One step. ``rewrites`` says which tables' rows change, and how; it is empty when only tables or columns are added."""

    version: int
    name: str
    summary: str
    rewrites: Mapping[str, Rewrite] = field(default_factory=dict)


def _not_cached(calls: "pl.DataFrame") -> "pl.DataFrame":
    """Before version 2 every call was sent: there was no cache."""
    import polars as pl

    return calls.with_columns(cached=pl.lit(False))


MIGRATIONS: tuple[Migration, ...] = (
    Migration(1, "first-tables", "the ten tables of Salon 0.1"),
    Migration(
        2,
        "calls-of-cases",
        "judge_calls say their case, generation, step, finish and cache; run_events",
        {"judge_calls": _not_cached},
    ),
    Migration(3, "rater-flags", "a table rater_flags; leaderboards gain a column: excluded_by"),
    Migration(4, "planned-battles", "battles gain columns: plan_rule, plan_stream; leaderboards gain a column: estimator"),
    Migration(5, "prompts-by-content", "prompts gain a column: prompt_key; a table run_prompts"),
)
"""Every step there has ever been, oldest first; versions count from 1 without gaps."""


def rewrite_parts(layout: Layout, steps: Sequence[Migration]) -> int:
    """Rewrite the parts that the steps change; returns how many. The caller holds the lock on ``store.json``.

    Raises:
        DamagedPartError: for a part that cannot be read; the store keeps its old version and can be taken up again.
    """
    rewritten = 0
    with locked(layout.compaction_lock):
        for step in steps:
            for table in step.rewrites:
                rewritten += _rewrite_table(layout, table, step)
    return rewritten


def _rewrite_table(layout: Layout, table: str, step: Migration) -> int:
    import polars as pl

    from salon_store.parts import live_parts, publish_part, version_of

    directory = layout.table(table)
    rewritten = 0
    with locked(layout.table_lock(table)):
        for part in live_parts(directory, layout.root):
            if version_of(part.path, layout.root) >= step.version:
                continue
            rows = step.rewrites[table](pl.read_parquet(part.path, glob=False, hive_partitioning=False))
            publish_part(rows, directory, _STEM, version=step.version, supersedes=[part.path.name])
            rewritten += 1
    return rewritten
