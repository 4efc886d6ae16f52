"""``compare_groups``: the leaderboards of several groups of votes side by side, with tests of their differences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from salon_console import numbers
from salon_console.forest_plot import ForestPlot, PlotRow
from salon_console.shown_result import ResultView, ShownResult
from salon_console.table_files import Table
from salon_ranking.battles import Battles
from salon_ranking.errors import OptionError
from salon_ranking.leaderboard.comparison import compare, independence_warnings
from salon_ranking.leaderboard.groups import groups_of, ranked_by
from salon_ranking.leaderboard.options import RankOptions
from salon_ranking.models.ratings import POINTS_PER_UNIT
from salon_ranking.options import with_options
from salon_ranking.uncertainty.joint import joint_fit, joint_method
from salon_ranking.uncertainty.multiple_testing import benjamini_hochberg, holm
from salon_ranking.uncertainty.student import two_sided_quantiles, two_sided_tail

_TESTS: Final = ("difference", "difference_low", "difference_high", "p_value", "p_holm", "p_bh")


@dataclass(frozen=True, eq=False)
class GroupComparison(ShownResult):
    """The leaderboards of several groups side by side, with each model's difference to its rating in the first group.

    Attributes:
        table: :func:`compare`'s, with ``ci_low G`` and ``ci_high G`` of each rating, and from the second group on
            ``difference G`` (Elo points; the group's rating less that of the first, each counted from the mean of the models
            that all groups rate), ``difference_low G``, ``difference_high G``, ``p_value G``, ``p_holm G`` and ``p_bh G`` (by
            Holm, and by Benjamini and Hochberg, over all models and groups). Null where no interval is known.
        groups: their names, in the order of the columns.
        header: how it was made.
        warnings: what to know before the tests are believed.
    """

    table: pl.DataFrame
    groups: tuple[str, ...]
    header: str
    warnings: tuple[str, ...] = ()

    def view(self) -> ResultView:
        """Return the header, the table as people read it, and the differences as a chart."""
        first, *others = self.groups
        points = [
            PlotRow(f"{row['model']}, {name}", *(row[f"{key} {name}"] for key in _TESTS[:3]))
            for row in self.table.iter_rows(named=True)
            for name in others
            if row[f"difference {name}"] is not None
        ]
        chart = ForestPlot(f"Difference in Elo to {first}", points, 0.0)
        return ResultView(self.header, self.cells(self.table), chart, tuple(f"Warning: {text}" for text in self.warnings))

    def cells(self, table: pl.DataFrame) -> Table:
        """Return rows as people read them: intervals by numbers; ranks last, as narrow terminals drop the last columns."""
        columns, rows = ["model"], [[str(model)] for model in table["model"]]

        def add(head: str, cells: list[str]) -> None:
            columns.append(head)
            for row, cell in zip(rows, cells, strict=True):
                row.append(cell)

        ranks_of: dict[str, list[str]] = {}
        for name in self.groups:
            rows_of = table.select(pl.col(f"{key} {name}").alias(key) for key in ("rating", "ci_low", "ci_high", "rank")).rows()
            has_ends = any(row[1] is not None for row in rows_of)
            add(name, [_with_ends(*row[:3]) if has_ends else numbers.rating(row[0]) for row in rows_of])
            ranks_of[name] = [numbers.rating(row[3]) for row in rows_of]
            if name != self.groups[0]:
                changes = table[f"change {name}"].to_list()
                ranks_of[name] = [
                    f"{rank} ({numbers.change(change)})" for rank, change in zip(ranks_of[name], changes, strict=True)
                ]
                differences = table.select(f"{key} {name}" for key in _TESTS[:3]).rows()
                add(f"difference {name}", [_with_ends(*row) for row in differences])
                add(f"p {name}", [numbers.MISSING if value is None else f"{value:.3g}" for value in table[f"p_holm {name}"]])
        for name, ranks in ranks_of.items():
            add(f"rank {name}", ranks)
        return Table(tuple(columns), rows, frozenset(columns) - {"model"})


def _with_ends(value: float | None, low: float | None, high: float | None) -> str:
    return f"{numbers.rating(value)} ({numbers.interval(low, high)})"


@with_options(RankOptions)
def compare_groups(battles: Battles, column: str, options: RankOptions) -> GroupComparison:
    """Compare the ratings of the groups of ``column`` (a category, a scenario), with a test of each model's difference.

    A cluster may have votes in several groups, as a rater has who votes in every category: its scores are summed over the
    groups, so that the difference has the right error. Tests are those of a sandwich (CR2, Satterthwaite's degrees of freedom;
    :mod:`salon_ranking.uncertainty.joint`), for plain Bradley-Terry; with a tie model or covariates there are none.
    The ratings and their own intervals are those of :func:`rank_by`.

    Raises:
        OptionError: fewer than two groups, or as :func:`compare`.
        UnratableError: as :func:`rank_by`.

    Example:
        >>> votes = {"model_a": ["x"] * 18, "model_b": ["y"] * 18, "mode": ["expert"] * 9 + ["public"] * 9}
        >>> votes["winner"] = ["model_a"] * 6 + ["model_b"] * 6 + ["model_a"] * 6
        >>> both = compare_groups(votes, "mode", replicates=0)
        >>> both.table.select("model", pl.col("difference public").round(1)).rows()
        [('x', 0.0), ('y', 0.0)]
    """
    return groups_compared(battles, column, options)


def groups_compared(battles: Battles, column: str, options: RankOptions) -> GroupComparison:
    """Return the comparison of ``options``, as :func:`compare_groups`."""
    if options.interval == "anytime":
        raise OptionError(
            "groups are compared once, not at every look:", value=options.interval, allowed=["percentile", "bca", "sandwich"]
        )
    boards = ranked_by(battles, column, options)
    table, names = compare(boards), tuple(board.group or "all" for board in boards)
    for board, name in zip(boards, names, strict=True):
        ends = board.table.select("model", pl.col("ci_low").alias(f"ci_low {name}"), pl.col("ci_high").alias(f"ci_high {name}"))
        table = table.join(ends, on="model", how="left", maintain_order="left")
    groups = {name: group.frame for name, group in groups_of(battles, column).items()}
    tests, how = _group_tests(battles, groups, names, column, options)
    if tests is not None:
        table = table.join(tests, on="model", how="left", maintain_order="left")
    else:
        nothing = pl.lit(None, dtype=pl.Float64)
        table = table.with_columns(nothing.alias(f"{key} {name}") for name in names[1:] for key in _TESTS)
    ordered = ["model"]
    for name in names:
        further = ["change", *_TESTS] if name != names[0] else []
        ordered += [f"{key} {name}" for key in ("rating", "ci_low", "ci_high", "rank", *further)]
    parts = [
        f"{battles.source}: {len(boards):,} groups by {column}; {boards[0].model}",
        *([] if boards[0].ci_method is None else [f"{100 * options.confidence:.4g}% CI: {boards[0].ci_method}"]),
        "ranks among the models of all groups",
        f"no test of the differences: {how}"
        if tests is None
        else f"differences to {names[0]}, of ratings less their group's mean, with {100 * options.confidence:.4g}% intervals: "
        f"{how}, p by Holm's correction over {(len(names) - 1) * tests.height:,} tests",
        *battles.remarks,
    ]
    warnings = () if tests is None else tuple(independence_warnings(battles, list(groups.values())))
    return GroupComparison(table.select(ordered), names, "; ".join(parts) + ".", warnings)


def _group_tests(
    battles: Battles, groups: Mapping[str, pl.LazyFrame], names: Sequence[str], column: str, options: RankOptions
) -> tuple[pl.DataFrame | None, str]:
    """Return ``model`` and the columns of the tests, and how they were made; or None, and why there are no tests."""
    if not options.is_plain or options.estimator != "maximum-likelihood":
        return None, "they are for plain Bradley-Terry by maximum likelihood"
    if battles.frame.collect_schema()[column].is_nested() and battles.cluster_by is None:
        return None, "a battle is in several groups; name what hangs together, such as --cluster battle_id"
    joint = joint_fit({name: groups[name] for name in names if name in groups}, battles, options)
    if joint is None or not {*names} <= {*groups}:
        return None, "some group's models cannot all be compared"
    models = sorted(set.intersection(*({model for group, model in joint.names if group == name} for name in names)))
    rows = [(model, name, names[0]) for name in names[1:] for model in models]
    difference, error, degrees = joint.differences(rows, models)
    reach = two_sided_quantiles(1.0 - options.confidence, degrees) * error
    with np.errstate(divide="ignore", invalid="ignore"):
        tails = two_sided_tail(np.abs(difference / error), degrees)
    points = [POINTS_PER_UNIT * values for values in (difference, difference - reach, difference + reach)]
    tested = pl.DataFrame(dict(zip(_TESTS, (*points, tails, holm(tails), benjamini_hochberg(tails)), strict=True))).fill_nan(
        None
    )
    labels = pl.DataFrame([row[:2] for row in rows], schema=["model", "group"], orient="row")
    tested = pl.concat([labels, tested], how="horizontal")
    table = pl.DataFrame({"model": models})
    for name in names[1:]:
        own = tested.filter(group=name).select("model", pl.col(_TESTS).name.suffix(f" {name}"))
        table = table.join(own, on="model", how="left", maintain_order="left")
    return table, joint_method(battles)
