"""The quickstart's page: the consensus leaderboard, how far benchmarks agree, and how ranks move between tracks."""

import shlex
from collections.abc import Iterator, Sequence

import polars as pl

from salon_console import numbers
from salon_console.heat_table import HeatCell, HeatTable
from salon_console.page import Code, Figure, PageSection, Table, render_page
from salon_published.benchmark_agreement import FEWEST_IN_COMMON
from salon_published.consensus import BASELINE, Consensus
from salon_ranking.report.leaderboard import how_it_was_made

_LEAD = (
    "Image generators ranked by what five papers published about them. Every benchmark, track and judge counts as one rater "
    "who compares each pair of its models once; the ratings come from all these comparisons together. No votes were "
    "cast: the comparisons are derived from printed scores. A wide gap means that benchmarks agree on the better model, not "
    "that the pictures differ much."
)
_HOW_TO_READ = (
    "Points are Elo ratings, bars their intervals: they say how far whole benchmarks disagree, so the bar of a model that few "
    "benchmarks rate is wide. Hollow points have no interval: too few benchmarks rate them. The numbers below say by "
    "how many benchmarks each is rated."
)


def consensus_page(result: Consensus, scores: pl.DataFrame, questions: Sequence[tuple[str, str]], *, directory: str) -> str:
    """Return the page as one string of self-contained HTML.

    Args:
        result: the leaderboard and the agreement of benchmarks.
        scores: the frame of :func:`salon_published.consensus.generator_scores`, for the ranks by track.
        questions: to ask next: a question and its SQL each.
        directory: the store's folder as a reader would type it, for the commands at the end.
    """
    board = result.board.table.with_columns(name=pl.col("model").replace_strict(result.names, return_dtype=pl.String))
    sections = [
        PageSection("Leaderboard", (_leaderboard(result, board),)),
        PageSection("Do benchmarks agree?", (_agreement(result.agreement),)),
        PageSection("Ranks by track", tuple(_ranks(scores, result.names))),
        PageSection("What went in", (_raters(scores),)),
        PageSection("Ask your own question", tuple(_questions(questions, directory))),
    ]
    return render_page(
        "Salon: a consensus of image generators",
        lead=_LEAD,
        facts=_facts(result, scores),
        sections=sections,
    )


def _facts(result: Consensus, scores: pl.DataFrame) -> list[tuple[str, str]]:
    blank = scores["value"].null_count()
    return [
        ("Models", f"{len(result.names)} in {scores['benchmark'].n_unique()} benchmarks"),
        ("Published scores", f"{scores.height - blank:,} scored, {blank} unscored (left blank by the paper)"),
        *how_it_was_made(result.board),
    ]


def _leaderboard(result: Consensus, board: pl.DataFrame) -> Figure:
    rows = [
        (
            *numbers.rating_cells({**row, "model": row["name"]}),
            numbers.count(row["matches"]),
            numbers.share(row["win_rate"]),
            str(result.benchmarks[row["model"]]),
        )
        for row in board.iter_rows(named=True)
    ]
    columns = (
        "Rank",
        "Model",
        "Elo",
        f"{100 * result.board.options.confidence:.4g}% interval",
        "Battles",
        "Win rate",
        "Benchmarks",
    )
    table = Table(columns, rows, frozenset(columns) - {"Model"}, "Consensus leaderboard")
    return Figure(result.board.plot(names=result.names), _HOW_TO_READ, table)


def _agreement(pairs: pl.DataFrame) -> Figure:
    order = list(dict.fromkeys([*pairs["one"].to_list(), *pairs["other"].to_list()]))
    cells: dict[str, dict[str, HeatCell]] = {name: {} for name in order}
    for row in pairs.iter_rows(named=True):
        if row["spearman"] is not None:
            cell = HeatCell(f"{row['spearman']:.2f}", row["spearman"], f"{row['common']} models in common")
            cells[row["one"]][row["other"]] = cells[row["other"]][row["one"]] = cell
    rows = [
        (
            row["one"],
            row["other"],
            str(row["common"]),
            numbers.correlation(row["spearman"]),
            numbers.correlation(row["kendall"]),
        )
        for row in pairs.iter_rows(named=True)
    ]
    columns = ("One", "Other", "Models in common", "Spearman ρ", "Kendall τ")
    caption = (
        "Spearman's ρ between the orders in which two benchmarks put the models they share. "
        f"Empty: fewer than {FEWEST_IN_COMMON} models in common. Few shared models make even a high ρ uncertain."
    )
    return Figure(
        HeatTable("Spearman ρ", order, list(cells.items())),
        caption,
        Table(columns, rows, frozenset(columns[2:]), "Agreement of benchmarks"),
    )


def track_ranks(scores: pl.DataFrame) -> pl.DataFrame:
    """Ranks within each benchmark × judge × track: ``board``, ``track``, ``track_order``, ``model``, ``rank`` (1 is best).

    Boards with more models come first. Equal scores share the best rank; rows without a value are left out. Boards of
    fewer than two tracks are left out too.
    """
    merit = pl.when(pl.col("direction") == "higher").then("value").otherwise(-pl.col("value"))
    return (
        scores.drop_nulls("value")
        .with_columns(board=pl.format("{}, judged by {}", "benchmark", "judge"))
        .filter(pl.col("track").n_unique().over("board") > 1)
        .with_columns(
            rank=merit.rank("min", descending=True).over("board", "track").cast(pl.Int64),
            track=pl.col("track").str.replace_all("_", " "),
        )
        .with_columns(size=pl.col("model").n_unique().over("board"))
        .sort("size", "board", "track_order", "rank", "model", descending=[True, False, False, False, False])
        .select("board", "track", "track_order", "model", "rank")
    )


def _ranks(scores: pl.DataFrame, names: dict[str, str]) -> Iterator[str | Figure]:
    """Yield a table for each benchmark and judge: models down, best overall first, tracks across."""
    yield "The rank of every model in every track of one benchmark: blue is the first place, orange the last."
    for (board,), ranks in track_ranks(scores).group_by("board", maintain_order=True):
        tracks = ranks["track"].unique(maintain_order=True).to_list()
        order = ranks.group_by("model").agg(pl.col("rank").mean()).sort("rank", "model")["model"].to_list()
        cells: dict[str, dict[str, HeatCell]] = {model: {} for model in order}
        for track, model, rank in ranks.select("track", "model", "rank").iter_rows():
            cells[model][track] = HeatCell(str(rank), 1 - 2 * (rank - 1) / max(len(order) - 1, 1))
        yield Figure(HeatTable(str(board), tracks, [(names[model], cells[model]) for model in order]), str(board))


def _raters(scores: pl.DataFrame) -> Table:
    grouped = scores.group_by("benchmark", "judge", maintain_order=True).agg(
        pl.col("track").n_unique().alias("tracks"),
        pl.col("model").n_unique().alias("models"),
        pl.col("value").count().alias("scored"),
        pl.col("value").null_count().alias("unscored"),
        pl.col("table").unique().sort().str.join(", ").alias("tables"),
    )
    rows = [tuple(str(value) for value in row) for row in grouped.iter_rows()]
    columns = ("Benchmark", "Judge", "Tracks", "Models", "Scored", "Unscored", "Paper:table")
    return Table(columns, rows, frozenset(columns[2:6]), "Every rater's benchmark, judge and source")


def _questions(questions: Sequence[tuple[str, str]], directory: str) -> list[str | Code]:
    blocks: list[str | Code] = [
        f"Every row is in the result store; the baseline {BASELINE} is fixed at 1,000. Three queries to try:"
    ]
    for question, sql in questions:
        blocks += [question, Code(f'salon store sql {shlex.quote(directory)} "{sql}"')]
    return blocks
