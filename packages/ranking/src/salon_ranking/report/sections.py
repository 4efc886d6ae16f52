"""Sections below a leaderboard on its page: rank intervals, groups compared, win rates, convergence, raters."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from salon_console import numbers
from salon_console.forest_plot import ForestPlot, PlotRow
from salon_console.heat_table import HeatCell, HeatTable
from salon_console.line_chart import Curve, LegendEntry, LineChart, Threshold
from salon_console.page import Block, Figure, PageSection, Table
from salon_ranking.battles import Battles
from salon_ranking.diagnostics.convergence import MOST_MODELS, ConvergenceOptions, interval_widths_by_size
from salon_ranking.diagnostics.head_to_head import head_to_head
from salon_ranking.errors import BattleError, OptionError
from salon_ranking.files import read_table
from salon_ranking.leaderboard.analyses import Analyses, FitDiagnosis
from salon_ranking.leaderboard.board import Leaderboard
from salon_ranking.leaderboard.excluded import ExcludedRaters
from salon_ranking.leaderboard.listing import MOST_EFFECT, MOST_WIDTH
from salon_ranking.leaderboard.ranking import ranked_like
from salon_ranking.raters.rater_report import RaterReport
from salon_ranking.report.raters_page import quality, reasons

MOST_COMPARED = 40
"""Models that the map of win rates shows."""
LISTED_WIDTH = 20.0
"""The widest interval, in Elo points, with which MEF lists a model."""
_MOST_RATERS = 1000


def rank_intervals(board: Leaderboard) -> list[PageSection]:
    """Return intervals of ranks, if the table has them in ``rank_low`` and ``rank_high``."""
    if not {"rank_low", "rank_high"} <= set(board.table.columns):
        return []
    rows = board.table.drop_nulls("component").select("model", "rank", ci_low="rank_low", ci_high="rank_high")
    table = Table(
        ("Rank", "Model", "From", "To"),
        [(str(row[1]), row[0], numbers.count(row[2]), numbers.count(row[3])) for row in rows.iter_rows()],
        frozenset({"Rank", "From", "To"}),
        "Rank intervals",
    )
    caption = "The ranks that the votes allow. Where two bars share no rank, the order of the two models is settled."
    chart = ForestPlot("Rank", [PlotRow(*row) for row in rows.select("model", "rank", "ci_low", "ci_high").iter_rows()])
    return [PageSection("Rank intervals", (Figure(chart, caption, table),))]


def compared_groups(boards: Sequence[Leaderboard], battles: Battles | None) -> list[PageSection]:
    """Return each group's ranks beside those of all battles (of the first group, when the battles are not given)."""
    if len(boards) < 2:
        return []
    overall = boards[0]
    if battles is not None:
        overall = ranked_like(boards[0], battles)
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
    ranks_of = {(model, group): (place, change) for model, group, place, change in ranks.iter_rows()}
    first = "All battles" if battles is not None else groups[0]
    rows = [
        (model, numbers.count(whole.get(model)), *(_moved(ranks_of.get((model, group))) for group in groups)) for model in order
    ]
    columns = ("Model", f"{first} ", *groups)
    caption = f"Ranks by group; colour says how many places a model gains or loses against {first.lower()}."
    table = Table(columns, rows, frozenset(columns[1:]), "Ranks by group, with places gained or lost")
    most = max((abs(change) for _, change in ranks_of.values() if change), default=1)
    cells = [
        (
            model,
            {
                group: HeatCell(str(rank), (change or 0) / most, _moved((rank, change)))
                for group in groups
                for rank, change in [ranks_of.get((model, group), (None, None))]
                if rank is not None
            },
        )
        for model in order
    ]
    return [PageSection("Groups compared", (Figure(HeatTable("Ranks by group", groups, cells), caption, table),))]


def parameters(boards: Sequence[Leaderboard]) -> list[PageSection]:
    """Return the tie parameter or the coefficients of each board, and position bias; nothing for plain Bradley-Terry."""
    sections = []
    for board in boards:
        of = "" if board.group is None else f": {board.group}"
        tables = (("Parameters", board.parameters), ("Position bias", board.position_bias))
        blocks = tuple(_plain_table(name, table) for name, table in tables if table.height)
        sections += [PageSection(f"Parameters{of}", blocks)] if blocks else []
    return sections


def _plain_table(name: str, table: pl.DataFrame) -> Table:
    heads = tuple(column.replace("_", " ").capitalize() for column in table.columns)
    numeric = frozenset(head for head, dtype in zip(heads, table.dtypes, strict=True) if dtype.is_numeric())
    return Table(heads, [tuple(_cell(value) for value in row) for row in table.iter_rows()], numeric, name)


def win_rates(battles: Battles, board: Leaderboard) -> list[PageSection]:
    """Return observed win rates between the best models, at most ``MOST_COMPARED``."""
    order = board.table.drop_nulls("component")["model"].to_list()[:MOST_COMPARED]
    pairs = head_to_head(battles, order)
    if not pairs.height:
        return []
    number_of = {name: index for index, name in enumerate(order)}
    rows = [
        (
            row["model"],
            row["opponent"],
            *(numbers.count(row[name]) for name in ("matches", "wins", "ties")),
            numbers.share(row["win_rate"]),
        )
        for row in pairs.iter_rows(named=True)
        if number_of[row["model"]] < number_of[row["opponent"]]
    ]
    rows.sort(key=lambda row: (number_of[row[0]], number_of[row[1]]))
    columns = ("Model", "Against", "Matches", "Wins", "Ties", "Win rate")
    best = f"The best {len(order)} of {board.table.height:,} models. " if board.table.height > len(order) else ""
    caption = (
        f"{best}How often the row's model won against the column's, a tie as half a win. Columns are in the order of the rows."
    )
    table = Table(columns, rows, frozenset(columns[2:]), "Pairs that met")
    cells: dict[str, dict[str, HeatCell]] = {model: {} for model in order}
    for row in pairs.iter_rows(named=True):
        hint = f"{row['model']} against {row['opponent']}: {numbers.counted(row['matches'], 'match', 'matches')}"
        cells[row["model"]][row["opponent"]] = HeatCell(f"{row['win_rate']:.0%}", 2 * row["win_rate"] - 1, hint)
    return [PageSection("Win rates", (Figure(HeatTable("Win rates", order, list(cells.items())), caption, table),))]


def interval_convergence(battles: Battles, board: Leaderboard) -> list[PageSection]:
    """Return how the intervals shrank as battles came in."""
    blocks = _convergence(battles, board)
    return [PageSection("Convergence", blocks)] if blocks else []


def _convergence(battles: Battles, board: Leaderboard) -> tuple[Block, ...]:
    if board.components > 1 or board.table.height < 2:
        return ()
    if board.covariates:
        return ("Not drawn for ratings with covariates.",)
    if board.options.interval == "anytime":
        return ("Not drawn for intervals that hold at every look: those of one look would be narrower than the board's.",)
    if board.table.height > MOST_MODELS:
        return (f"Not drawn for more than {MOST_MODELS:,} models.",)
    try:
        asked = board.options.into(ConvergenceOptions, baseline=board.baselines[0], cluster=board.cluster is not None)
        curve = interval_widths_by_size(battles, asked)
    except OptionError as problem:
        return (f"Not drawn: {problem.problem}.",)
    if curve.height < 2:
        return ("There are too few battles to say how the intervals shrink.",)
    kinds = {"mean_width": "mean interval", "widest": "widest interval"}
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
    caption = (
        f"Width of the {100 * board.options.confidence:.4g}% intervals at random parts of the battles, by the sandwich formula."
    )
    columns = ("Battles", "Matches per model", "Mean width", "Widest")
    rows = [tuple(f"{value:,.0f}" for value in row[1:]) for row in curve.iter_rows()]
    table = Table(columns, rows, frozenset(columns), "Widths of intervals, in Elo points")
    lines = [
        Curve(words, dict(curve.select("matches_per_model", name).iter_rows()), number)
        for number, (name, words) in enumerate(kinds.items())
    ]
    chart = LineChart(
        "Width of the interval (Elo)",
        lines,
        [LegendEntry(line.label, line.colour) for line in lines],
        [Threshold(LISTED_WIDTH, "goal")],
        across="Matches per model",
        log=True,
    )
    figure = Figure(chart, caption, table)
    return (verdict, figure)


def listing_status(board: Leaderboard) -> list[PageSection]:
    """Return which models MEF's rule lists, if the table has the columns of ``with_listing``."""
    if "listed" not in board.table.columns:
        return []
    rows = [
        (str(row["rank"]), row["model"], verdict, width, effect, numbers.count(row["matches"]))
        for row in board.table.iter_rows(named=True)
        for width, effect, verdict in [numbers.listing_cells(row)]
    ]
    listed = int(board.table["listed"].sum())
    sentence = (
        f"{listed:,} of {numbers.counted(board.table.height, 'model')} may be listed by MEF's rule: an interval at most "
        f"{MOST_WIDTH:g} wide, and one more match changes the rating by at most {MOST_EFFECT:g}. The matches that others need "
        "suppose that all models play on in proportion."
    )
    columns = ("Rank", "Model", "Listed", "Width", "One match", "Matches")
    table = Table(columns, rows, frozenset({"Rank", "Width", "One match", "Matches"}), "Listing")
    return [PageSection("Listing", (sentence, table))]


def beside(boards: Sequence[Leaderboard], analyses: Sequence[Analyses]) -> list[PageSection]:
    """Return acceptability, goodness of fit and prediction under headings of their own, by group where there are several."""
    sections = []
    for board, analysis in zip(boards, analyses, strict=True):
        of = "" if board.group is None else f": {board.group}"
        if analysis.acceptability is not None:
            sections.append(PageSection(f"Acceptability{of}", _acceptability(analysis.acceptability, board.options.confidence)))
        if analysis.diagnosis is not None:
            sections.append(PageSection(f"Goodness of fit{of}", _fitness(analysis.diagnosis)))
        if analysis.held_out is not None:
            sections.append(PageSection(f"Prediction{of}", (analysis.held_out.sentence,)))
    return sections


def _acceptability(shares: pl.DataFrame, confidence: float) -> tuple[Block, ...]:
    sentence = "How often a model's battles were not judged both-bad. Those battles are in no rating above."
    columns = ("Model", "Acceptable", f"{100 * confidence:.4g}% interval", "Matches", "Both bad")
    rows = [
        (
            row["model"],
            numbers.share(row["acceptable"]),
            f"{numbers.share(row['ci_low'])} – {numbers.share(row['ci_high'])}",
            numbers.count(row["matches"]),
            numbers.count(row["both_bad"]),
        )
        for row in shares.sort("acceptable", "model", descending=[True, False]).iter_rows(named=True)
    ]
    return sentence, Table(columns, rows, frozenset(columns) - {"Model"}, "Acceptability")


def _fitness(diagnosis: FitDiagnosis) -> tuple[Block, ...]:
    values = [(name.replace("_", " ").capitalize(), _cell(value)) for name, value in diagnosis.numbers.items()]
    blocks: list[Block] = [diagnosis.note] if diagnosis.note else []
    blocks.append(Table(("What", "Value"), values, frozenset({"Value"}), "Goodness of fit"))
    blocks += [
        _plain_table(name.replace("_", " ").capitalize(), table) for name, table in diagnosis.tables.items() if table.height
    ]
    return tuple(blocks)


def rater_quality(raters: RaterReport | Path | None, excluded: ExcludedRaters | None = None) -> list[PageSection]:
    """Return the raters of the votes, from a report or a file, with those left out of the board.

    Raises:
        BattleError: the file cannot be read, or has no column ``rater_id``.
    """
    if raters is None:
        return []
    blocks = _report(raters, excluded) if isinstance(raters, RaterReport) else _rater_file(raters)
    sentences = () if excluded is None else (excluded.sentence,)
    return [PageSection("Raters", (*sentences, *blocks))]


def _report(report: RaterReport, excluded: ExcludedRaters | None) -> tuple[Block, ...]:
    blocks: list[Block] = [report.header]
    if report.flagged:
        if excluded is None:
            blocks.append("Their votes are in the ratings above; salon votes rank --exclude-flagged leaves them out.")
        blocks.append(reasons(report))
    remark = f"The first {_MOST_RATERS:,} raters." if report.table.height > _MOST_RATERS else ""
    return (*blocks, *([remark] if remark else []), quality(report, most=_MOST_RATERS))


def _rater_file(path: Path) -> tuple[Block, ...]:
    """Return the table as it is, one row per rater; columns in which nothing is known are left out."""
    frame = read_table(path, "raters", BattleError)
    if "rater_id" not in frame.columns:
        raise BattleError("missing column", source=path, value="rater_id", found=frame.columns)
    frame = frame.select(
        name for name in frame.columns if name in ("rater_id", "flagged") or frame[name].null_count() < len(frame)
    )
    frame = frame.with_columns(_as_numbers(frame[name]) for name in frame.columns if name not in ("rater_id", "flagged"))
    columns = tuple(frame.columns)
    numeric = frozenset(name for name, dtype in frame.schema.items() if dtype.is_numeric())
    rows = [tuple(_cell(value) for value in row) for row in frame.head(_MOST_RATERS).iter_rows()]
    sentence = numbers.counted(frame.height, "rater")
    if "flagged" in columns:
        flagged = frame["flagged"].cast(pl.String).str.to_lowercase().is_in(["true", "1", "yes"]).sum()
        sentence += f", {flagged:,} flagged"
    remark = f"; the first {_MOST_RATERS:,} are shown" if frame.height > _MOST_RATERS else ""
    return f"{sentence}{remark}.", Table(columns, rows, numeric, "Rater quality")


def _as_numbers(column: pl.Series) -> pl.Series:
    """Return a column of text that contains only numbers as numbers; any other as it is."""
    if column.dtype != pl.String:
        return column
    numeric = column.cast(pl.Float64, strict=False)
    return numeric if numeric.null_count() == column.null_count() < len(column) else column


def _cell(value: object) -> str:
    if value is None or value != value:  # NaN
        return numbers.MISSING
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() else f"{value:.4g}"
    return str(value)


def _moved(rank_and_change: tuple[int, int | None] | None) -> str:
    """Return a rank and the places gained or lost."""
    if rank_and_change is None:
        return numbers.MISSING
    rank, change = rank_and_change
    return str(rank) if not change else f"{rank} ({'▲' if change > 0 else '▼'} {abs(change)})"
