"""One leaderboard of image generators over several benchmarks, and how far the benchmarks agree.

``derived_battles.py`` makes the battles, ``benchmark_agreement.py`` the correlations, ``consensus_page.py`` the page;
``quickstart.py`` runs all of them from an empty folder.
"""

from dataclasses import dataclass

import polars as pl

from salon_published.benchmark_agreement import agreement
from salon_published.registry import model
from salon_published.tables import cells
from salon_ranking import Battles, Leaderboard, rank, rank_by

BASELINE = "sdxl"
"""The model whose rating is 1,000: low-ranked, as MEF (section 5) advises, and present in three benchmarks."""
PRIOR_TIES = 1.0
"""Virtual draws against an average opponent that each model plays, so that a sweep of one benchmark stays finite."""
BOARD = "consensus"


@dataclass(frozen=True, slots=True)
class Consensus:
    """A leaderboard over several benchmarks, and how far they agree.

    ``names`` maps model ids to the names people read; ``benchmarks`` counts the benchmarks that each model is in;
    ``agreement`` is the frame of :func:`salon_published.benchmark_agreement.agreement`, over ratings fitted to each benchmark
    alone.
    """

    board: Leaderboard
    names: dict[str, str]
    benchmarks: dict[str, int]
    agreement: pl.DataFrame


def generator_scores() -> pl.DataFrame:
    """Return published scores that compare image generators per track, one row per model and rater.

    Columns ``benchmark``, ``track``, ``track_order``, ``judge``, ``model``, ``value`` (null where the paper prints none),
    ``direction``, ``table``. Systems built on a generator (fine-tunes, refiners, best-of-N) are left out.
    """
    tracks = cells().filter(pl.col("role") == "track").drop_nulls("model")
    generators = [name for name in tracks["model"].unique().to_list() if model(name).kind == "generator"]
    return (
        tracks.with_row_index("position")
        .filter(pl.col("model").is_in(generators))
        .with_columns(first=pl.col("position").min().over("benchmark", "judge", "track"))
        .with_columns(track_order=pl.col("first").rank("dense").over("benchmark", "judge").cast(pl.Int64) - 1)
        .select("benchmark", "track", "track_order", "judge", "model", "value", "direction", "table")
    )


def consensus(battles: pl.DataFrame) -> Consensus:
    """Rank image generators over several benchmarks; intervals are sandwiches by benchmarks (``docs/consensus.md``).

    Args:
        battles: rows of the ``battles`` table, with ``suite`` naming the benchmark.
    """
    clustered = Battles.from_frame(battles, source="derived battles", cluster_by="suite")
    board = rank(clustered, baseline=BASELINE, prior_ties=PRIOR_TIES, interval="sandwich")
    alone = rank_by(clustered, "suite", replicates=0, prior_ties=PRIOR_TIES)
    ratings = {str(each.group): dict(each.table.select("model", "rating").iter_rows()) for each in alone}
    models = board.table["model"].to_list()
    return Consensus(
        board=board,
        names={name: model(name).name for name in models},
        benchmarks={name: sum(name in rated for rated in ratings.values()) for name in models},
        agreement=agreement(ratings),
    )


def questions(leaderboard_id: str) -> tuple[tuple[str, str], ...]:
    """Return three questions about the store, each with the SQL that answers it.

    Args:
        leaderboard_id: the board to ask about; a store may hold several.
    """
    return (
        (
            "Who leads, and how sure is that?",
            "SELECT rank, model, round(rating) AS elo, round(ci_low) AS low, round(ci_high) AS high\n"
            f"FROM leaderboards WHERE leaderboard_id = '{leaderboard_id}' ORDER BY rank LIMIT 10",
        ),
        (
            "On which tracks does Qwen-Image beat FLUX.1 [dev], and by whose judgement?",
            "SELECT suite, scenario, rater_id, winner FROM battles\n"
            "WHERE model_a = 'flux.1-dev' AND model_b = 'qwen-image' ORDER BY suite, scenario",
        ),
        (
            "How much harsher is one judge than another on the same pictures?",
            "SELECT judge, task, round(avg(value), 1) AS mean, count(*) AS models FROM scores\n"
            "WHERE suite = 'PRISM-Bench' AND dimension LIKE '%.average' GROUP BY ALL ORDER BY task, judge",
        ),
    )
