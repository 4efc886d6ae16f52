"""What stands beneath a leaderboard on its page: rank intervals, groups compared, win rates, convergence, raters."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from salon_ranking.battles import Battles
from salon_ranking.convergence import MOST_MODELS, convergence
from salon_ranking.errors import BattleError, OptionError
from salon_ranking.head_to_head import head_to_head
from salon_ranking.leaderboard import Leaderboard
from salon_ranking.mos.tables import read_table
from salon_ranking.ranking import rank
from salon_ranking.report import numbers
from salon_ranking.report.curves import width_curve
from salon_ranking.report.heat import rank_map, win_rate_map
from salon_ranking.report.mos_charts import dot_plot
from salon_ranking.report.page import Block, Figure, Section, Table

MOST_COMPARED = 40
"""Models that the map of win rates shows."""
LISTED_WIDTH = 20.0
"""The widest interval, in Elo points, with which MEF lists a model."""
_MOST_RATERS = 1000


def rank_intervals(board: Leaderboard) -> list[Section]:
    """Intervals of ranks, if the table has them in ``rank_low`` and ``rank_high``."""
    if not {"rank_low", "rank_high"} <= set(board.table.columns):
        return []
    rows = board.table.select("model", "rank", ci_low="rank_low", ci_high="rank_high")
    table = Table(
        ("Rank", "Model", "From", "To"),
        [(str(row[1]), row[0], numbers.count(row[2]), numbers.count(row[3])) for row in rows.iter_rows()],
        frozenset({"Rank", "From", "To"}),
        "Rank intervals",
    )
    caption = "The ranks that the votes allow. Where two bars share no rank, the order of the two models is settled."
    return [Section("Rank intervals", (Figure(dot_plot(rows, label="model", value="rank", title="Rank"), caption, table),))]


def compared_groups(boards: Sequence[Leaderboard], battles: Battles | None) -> list[Section]:
    """Each group's ranks beside those of all battles (of the first group, when the battles are not given)."""
    if len(boards) < 2:
        return []
    overall = boards[0]
    if battles is not None:
        overall = rank(battles, replicates=0, prior_ties=boards[0].prior_ties, components="separate")
    whole = dict(overall.table.select("model", "rank").iter_rows())
    groups = [board.group or "all" for board in boards]
    ranks = pl.concat(
        board.table.select(
            "model",
            pl.lit(group).alias("group"),
            "rank",
            change=pl.col("model").replace_strict(whole, default=None, return_dtype=pl.Int64) - pl.col("rank"),
        )
        for board, group in zip(boards, groups, strict=True)
    )
    order = [*whole, *sorted(set(ranks["model"]) - set(whole))]
    found = {(model, group): (place, change) for model, group, place, change in ranks.iter_rows()}
    first = "All battles" if battles is not None else groups[0]
    rows = [
        (model, numbers.count(whole.get(model)), *(_moved(found.get((model, group))) for group in groups)) for model in order
    ]
    columns = ("Model", f"{first} ", *groups)
    caption = f"Ranks by group; colour says how many places a model gains or loses against {first.lower()}."
    table = Table(columns, rows, frozenset(columns[1:]), "Ranks by group, with places gained or lost")
    return [Section("Groups compared", (Figure(rank_map(ranks, order=order, groups=groups), caption, table),))]


def win_rates(battles: Battles, board: Leaderboard) -> list[Section]:
    """Observed win rates between the best models, at most ``MOST_COMPARED``."""
    order = board.table["model"].to_list()[:MOST_COMPARED]
    pairs = head_to_head(battles, order)
    if not pairs.height:
        return []
    place = {name: index for index, name in enumerate(order)}
    rows = [
        (
            row["model"],
            row["opponent"],
            *(numbers.count(row[name]) for name in ("matches", "wins", "ties")),
            numbers.share(row["win_rate"]),
        )
        for row in pairs.iter_rows(named=True)
        if place[row["model"]] < place[row["opponent"]]
    ]
    rows.sort(key=lambda row: (place[row[0]], place[row[1]]))
    columns = ("Model", "Against", "Matches", "Wins", "Ties", "Win rate")
    shown = f"The best {len(order)} of {board.table.height:,} models. " if board.table.height > len(order) else ""
    caption = (
        f"{shown}How often the row's model won against the column's, a tie as half a win. Columns are in the order of the rows."
    )
    table = Table(columns, rows, frozenset(columns[2:]), "Pairs that met")
    return [Section("Win rates", (Figure(win_rate_map(pairs, order=order), caption, table),))]


def interval_convergence(battles: Battles, board: Leaderboard) -> list[Section]:
    """How the intervals shrank as battles came in."""
    blocks = _convergence(battles, board)
    return [Section("Convergence", blocks)] if blocks else []


def _convergence(battles: Battles, board: Leaderboard) -> tuple[Block, ...]:
    if board.components > 1 or board.table.height < 2:
        return ()
    if board.table.height > MOST_MODELS:
        return (f"Not drawn for more than {MOST_MODELS:,} models.",)
    try:
        curve = convergence(
            battles,
            baseline=board.baselines[0],
            confidence=board.confidence,
            by_cluster=board.cluster is not None,
            prior_ties=board.prior_ties,
            seed=board.seed,
        )
    except OptionError as problem:
        return (f"Not drawn: {problem.problem}.",)
    if curve.height < 2:
        return ("There are too few battles to say how the intervals shrink.",)
    kinds = {"mean_width": "mean interval", "widest": "widest interval"}
    data = curve.unpivot(list(kinds), index="matches_per_model", variable_name="kind", value_name="width").with_columns(
        pl.col("kind").replace(kinds)
    )
    last = curve.row(-1, named=True)
    needed = last["matches_per_model"] * (last["widest"] / LISTED_WIDTH) ** 2
    now = f"The mean interval is {last['mean_width']:,.0f} wide, the widest {last['widest']:,.0f}"
    if last["widest"] <= LISTED_WIDTH:
        verdict = f"{now}: all are narrow enough to be listed by MEF's rule (at most {LISTED_WIDTH:g})."
    else:
        verdict = (
            f"{now}. Widths shrink with the root of the matches: for all to be at most {LISTED_WIDTH:g} (MEF's rule for "
            f"listing), about {needed:,.0f} matches per model are needed, {last['matches_per_model']:,.0f} there are."
        )
    caption = f"Width of the {100 * board.confidence:.4g} % intervals at random parts of the battles, by the sandwich formula."
    columns = ("Battles", "Matches per model", "Mean width", "Widest")
    rows = [tuple(f"{value:,.0f}" for value in row[1:]) for row in curve.iter_rows()]
    table = Table(columns, rows, frozenset(columns), "Widths of intervals, in Elo points")
    figure = Figure(width_curve(data, title="Width of the interval (Elo)", goal=LISTED_WIDTH), caption, table)
    return (verdict, figure)


def rater_quality(path: Path | None) -> list[Section]:
    """The table of a rater report, as it is: one row per rater.

    Raises:
        BattleError: the file cannot be read, or has no column ``rater_id``.
    """
    if path is None:
        return []
    frame = read_table(path, "raters", BattleError)
    if "rater_id" not in frame.columns:
        raise BattleError("missing column", source=path, value="rater_id", allowed=frame.columns)
    columns = tuple(frame.columns)
    numeric = frozenset(name for name, dtype in frame.schema.items() if dtype.is_numeric())
    rows = [tuple(_cell(value) for value in row) for row in frame.head(_MOST_RATERS).iter_rows()]
    said = f"{frame.height:,} raters"
    if "flagged" in columns:
        flagged = frame["flagged"].cast(pl.String).str.to_lowercase().is_in(["true", "1", "yes"]).sum()
        said += f", {flagged:,} flagged"
    shown = f"; the first {_MOST_RATERS:,} are shown" if frame.height > _MOST_RATERS else ""
    return [Section("Raters", (f"{said}{shown}.", Table(columns, rows, numeric, "Rater quality")))]


def _cell(value: object) -> str:
    if value is None:
        return numbers.MISSING
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _moved(found: tuple[int, int | None] | None) -> str:
    """A rank and the places gained or lost."""
    if found is None:
        return numbers.MISSING
    place, change = found
    return str(place) if not change else f"{place} ({'▲' if change > 0 else '▼'} {abs(change)})"
