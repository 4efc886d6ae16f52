"""The ledger: numbers that 76 repositories publish about generators of pictures, edits and videos, each with its source.

A source is one file, ``data/ledger/<source>.toml``: where and when it was read, who measured it, and its tables. The tables
are those of :mod:`salon_published.tables`, so that ``salon papers show`` and ``check`` take them like the papers' own.
"""

from collections.abc import Sequence
from datetime import date
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import polars as pl

from salon_published.consensus import PRIOR_TIES
from salon_published.derived_battles import derive_battles
from salon_published.manifest import GenerationTask, MeasuredBy, Origin, Paper, RowKind
from salon_published.registry import registry, resolve
from salon_published.tables import PublishedTable, cells_of, ledger
from salon_ranking import Battles, Leaderboard, rank
from salon_taxonomy.errors import InputError
from salon_taxonomy.toml_files import read_toml

PEOPLE = "people"
"""The judge of votes and marks of people."""
EQUAL = 0.005
"""Numbers that differ by no more than this share of a column's largest one are taken for the same number."""
_CAPABILITIES = Path(__file__).parent / "capabilities.toml"
_SCORE_ROLES = ("track", "overall")


@cache
def ledger_scores() -> pl.DataFrame:
    """Return every score of the ledger, one row per source, table, column and model.

    Columns: ``source``, ``date`` (of the source's commit), ``table``, ``task``, ``benchmark``, ``track``, ``overall``
    (whether the number sums up others of its table), ``judge`` (``people`` for votes and marks of people; null where the
    source names none), ``model`` (the registry's id), ``kind`` (of the model), ``key`` (the name as printed), ``column``,
    ``printed``, ``value``, ``unit``, ``direction``, ``n`` (items behind the number; null where the source does not say it) and
    ``reported`` (``self``: a maker about a model of its own; ``rival``: a maker about another's, which it measured or
    quotes; ``benchmark`` and ``votes``: who measures, about any model).

    Example:
        >>> row = {"source": "genexam", "key": "GPT-Image-2", "benchmark": "GenExam (strict)", "track": "overall"}
        >>> ledger_scores().filter(**row).select("model", "value", "reported").row(0)
        ('gpt-image-2', 74.6, 'benchmark')
    """
    tables = ledger()
    about = pl.DataFrame([_about(table) for table in tables])
    makers = {model.id: model.maker for model in registry().models}
    kinds = {model.id: model.kind for model in registry().models}
    numbers = cells_of(tables).filter(pl.col("role").is_in(_SCORE_ROLES)).drop_nulls(["value", "model"])
    own = pl.col("model").replace_strict(makers, return_dtype=pl.String) == pl.col("maker")
    return (
        numbers.join(about, on="table", maintain_order="left")
        .filter(row_kind=RowKind.GENERATOR.value)
        .with_columns(
            overall=pl.col("role") == "overall",
            kind=pl.col("model").replace_strict(kinds, return_dtype=pl.String),
            reported=pl.when(pl.col("measured_by") != MeasuredBy.MAKER.value)
            .then("measured_by")
            .when(own)
            .then(pl.lit("self"))
            .otherwise(pl.lit("rival")),
        )
        .select(
            *("source", "date", "table", "task", "benchmark", "track", "overall", "judge", "model", "kind"),
            *("key", "column", "printed", "value", "unit", "direction", "n", "reported"),
        )
    )


def origin_of(source: Paper) -> Origin:
    """Return where the tables of a source were read.

    Raises:
        InputError: it is a paper, whose tables are its own.
    """
    if source.origin is None:
        raise InputError("a paper is no source of the ledger", value=source.paper)
    return source.origin


def _about(table: PublishedTable) -> dict[str, object]:
    origin = origin_of(table.paper)
    return {
        "table": table.id,
        "source": table.paper.paper,
        "date": origin.date,
        "task": table.spec.task.value,
        "row_kind": table.spec.rows.value,
        "measured_by": origin.measured_by.value,
        "maker": origin.maker,
    }


def sources(read_before: tuple[date, int] | None = None) -> pl.DataFrame:
    """Return one row per source: ``source``, ``title``, ``date``, ``read``, ``measured_by``, ``licence``, counts, ``link``.

    ``date`` is that of the commit, ``read`` the day on which the numbers were copied; ``tables``, ``numbers`` and ``models``
    count what it holds.

    Args:
        read_before: a day and a number of days: only sources that were read longer ago than so many days before that day.
    """
    scores = ledger_scores().group_by("source").agg(numbers=pl.len(), models=pl.col("model").n_unique())
    counted = {source: counts for source, *counts in scores.iter_rows()}
    rows = []
    for paper in {table.paper.paper: table.paper for table in ledger()}.values():
        origin = origin_of(paper)
        if read_before is None or (read_before[0] - origin.read).days > read_before[1]:
            facts = (paper.title, origin.date, origin.read, origin.measured_by.value, origin.licence, len(paper.table))
            rows.append((paper.paper, *facts, *counted.get(paper.paper, (0, 0)), origin.link))
    schema = {
        **dict.fromkeys(("source", "title"), pl.String),
        **dict.fromkeys(("date", "read"), pl.Date),
        **dict.fromkeys(("measured_by", "licence"), pl.String),
        **dict.fromkeys(("tables", "numbers", "models"), pl.Int64),
        "link": pl.String,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def chosen_scores(*, task: str | None = None, models: Sequence[str] = (), benchmark: str | None = None) -> pl.DataFrame:
    """Return the rows of :func:`ledger_scores` of one task, of some models (by name, spelling or id), of one benchmark.

    Raises:
        InputError: no model has such a name, or no benchmark is called so; names those that look like it.
    """
    scores = ledger_scores()
    known = scores["benchmark"].unique(maintain_order=True).to_list()
    if benchmark is not None and benchmark not in known:
        close = get_close_matches(benchmark, known, n=5, cutoff=0.4)
        raise InputError("the ledger has no such benchmark", value=benchmark, allowed=close or known)
    conditions = [] if task is None else [pl.col("task") == task]
    conditions += [] if benchmark is None else [pl.col("benchmark") == benchmark]
    if models:
        conditions.append(pl.col("model").is_in([_model_called(name, scores["model"].unique().to_list()) for name in models]))
    return scores.filter(*conditions)


def _model_called(name: str, known: Sequence[str]) -> str:
    model = resolve(name)
    if model is None or model not in known:
        close = get_close_matches(name.casefold(), known, n=5, cutoff=0.4)
        raise InputError("the ledger has no numbers of such a model", value=name, allowed=close or sorted(known))
    return model


@cache
def capabilities() -> dict[str, tuple[str, ...]]:
    """Return the patterns of the columns that measure each capability, of ``capabilities.toml``.

    Example:
        >>> list(capabilities())[:4]
        ['text', 'counting', 'spatial', 'attributes']
    """
    return {name: tuple(patterns) for name, patterns in read_toml(_CAPABILITIES).items()}


def compared_scores(
    task: GenerationTask | str, *, capability: str | None = None, people: bool = False, measured: bool = False
) -> pl.DataFrame:
    """Return the scores of one task that compare generators, as :func:`derive_battles` takes them.

    Args:
        task: what the generators make.
        capability: only columns that measure it, see :func:`capabilities`.
        people: only votes and marks of people.
        measured: only what benchmarks' authors and voters say, nothing that a maker reports.

    Raises:
        InputError: there is no such capability.

    A benchmark whose table prints its parts is compared by its parts, another one by its overall number; columns of which
    neither direction is better, and models that are no generators of their own, are left out. ``benchmark`` names the source,
    so that battles cluster by it, ``track`` the table and column, ``name`` and ``track_name`` the benchmark and its track,
    ``measures`` both together, and ``step`` the difference up to which two values count as one.
    """
    scores = ledger_scores().filter(pl.col("task") == str(task), pl.col("direction") != "none", kind="generator")
    if people:
        scores = scores.filter(judge=PEOPLE)
    if measured:
        scores = scores.filter(pl.col("reported").is_in([MeasuredBy.BENCHMARK.value, MeasuredBy.VOTES.value]))
    scores = scores.with_columns(measures=pl.format("{} {}", "benchmark", "track"))
    if capability is not None:
        if capability not in capabilities():
            raise InputError("no such capability", value=capability, allowed=list(capabilities()))
        patterns = capabilities()[capability]
        wanted = [name for name in scores["measures"].unique() if any(fnmatchcase(name, pattern) for pattern in patterns)]
        scores = scores.filter(pl.col("measures").is_in(wanted))
    has_parts = (~pl.col("overall")).any().over("table", "benchmark")
    return (
        scores.filter(~(pl.col("overall") & has_parts))
        .with_columns(pl.col("judge").fill_null("not stated"))
        .with_columns(step=pl.col("value").abs().max().over("measures") * EQUAL)
        .with_columns(name="benchmark", track_name="track")
        .with_columns(benchmark=pl.col("source"), track=pl.format("{} {}", "table", "column"))
    )


def ledger_battles(scores: pl.DataFrame) -> pl.DataFrame:
    """Derive battles from scores of one task: every two models of a column are compared once, clusters are the sources.

    A pair that a table quotes from another one, both numbers equal to half a percent of the scale, is counted once: of the
    benchmark's authors if they print it, else of the oldest source.

    Args:
        scores: the frame of :func:`compared_scores`.

    Example:
        >>> ledger_battles(compared_scores("text-to-video")).select("suite", "model_a", "model_b", "winner").row(0)
        ('chronomagic-bench', 'animatediff-v3', 'cogvideox-2b', 'model_a')
    """
    battles = derive_battles(scores)
    rater = pl.format("{} / {} / {}", "benchmark", "track", "judge").alias("rater_id")
    is_second = (pl.col("reported") != MeasuredBy.BENCHMARK.value).alias("is_second")
    values = scores.select(rater, "measures", "date", is_second, "model", "value", "step")
    pairs = battles.join(values, left_on=["rater_id", "model_a"], right_on=["rater_id", "model"]).join(
        values.select("rater_id", "model", other="value"), left_on=["rater_id", "model_b"], right_on=["rater_id", "model"]
    )
    same = [
        "measures",
        "model_a",
        "model_b",
        (pl.col("value") / pl.col("step")).round(),
        (pl.col("other") / pl.col("step")).round(),
    ]
    kept = pairs.sort("is_second", "date", "rater_id", maintain_order=True).filter(pl.struct(same).is_first_distinct())
    return battles.join(kept.select("battle_id"), on="battle_id", how="semi", maintain_order="left")


def ledger_board(scores: pl.DataFrame) -> Leaderboard:
    """Rank generators by the battles of :func:`ledger_battles`; intervals are sandwiches by sources.

    Each model also plays one virtual draw against an average opponent, so that a sweep of one table stays finite. The model
    that most sources compare is the baseline.

    Args:
        scores: the frame of :func:`compared_scores`.

    Raises:
        InputError: no two models are compared.
    """
    battles = ledger_battles(scores)
    if not battles.height:
        raise InputError("no two generators are compared by such numbers", source="the ledger")
    sides = pl.concat([battles.select("suite", model=side) for side in ("model_a", "model_b")]).unique()
    baseline = sides["model"].value_counts().sort("count", "model", descending=[True, False])["model"][0]
    clustered = Battles.from_frame(battles, source=f"the ledger, {scores['task'][0]}", cluster_by="suite")
    return rank(clustered, baseline=baseline, prior_ties=PRIOR_TIES, interval="sandwich")
