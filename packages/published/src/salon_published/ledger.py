"""The ledger: numbers that papers and repositories publish about generators of pictures, edits and videos, with their sources.

A source is a repository, ``data/ledger/<source>.toml``, or one of the papers whose tables score generators: where and when it
was read, who measured it, and its tables, those of :mod:`salon_published.tables`.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from difflib import get_close_matches
from fnmatch import translate
from functools import cache
from pathlib import Path

import polars as pl

from salon_console.numbers import counted
from salon_published.derived_battles import compared_pairs
from salon_published.manifest import GenerationTask, MeasuredBy, Origin, Paper, RowKind
from salon_published.registry import registry, resolve
from salon_published.tables import PublishedTable, all_cells, ledger, tables
from salon_ranking import Battles, Leaderboard, rank
from salon_taxonomy.errors import InputError
from salon_taxonomy.toml_files import read_toml

PEOPLE = frozenset({"people", "experts", "public", "MOS experts"})
"""The judges of votes and marks of people, as sources name them."""
PRIOR_TIES = 1.0
"""Virtual draws against an average opponent that each model plays, so that a sweep of one table stays finite."""
EQUAL = 0.005
"""Numbers that differ by no more than this share of a column's largest one are taken for the same number."""
_CAPABILITIES = Path(__file__).parent / "capabilities.toml"
SCORE_ROLES = ("track", "overall")
"""The roles of columns that compare generators."""
_MEASURES = pl.format("{} {}", "benchmark", "track")


@cache
def ledger_scores() -> pl.DataFrame:
    """Return every score of the ledger, one row per source, table, column and model.

    Columns: ``source``, ``date`` (of the source's commit), ``table``, ``task``, ``benchmark``, ``track``, ``overall``
    (whether the number sums up others of its table), ``judge`` (one of :data:`PEOPLE` for votes and marks of people; null
    where the source names none), ``model`` (the registry's id), ``kind``, ``maker``, ``released`` (year and month),
    ``weights`` (``open`` or ``closed``) and ``size`` (billions of parameters) of the model (null where not known), ``key``
    (the name as printed), ``column``, ``printed``, ``value``, ``unit``, ``direction``, ``n`` (items behind the number; null
    where the source does not say it), ``reported`` (``self``: a maker about a model of its own, or a method on it; ``rival``: a
    maker about another's, which it measured or quotes; ``benchmark`` and ``votes``: who measures, about any model) and
    ``quoted`` (of a rival's number: the source that prints the same one, of the benchmark's authors, else of the model's maker,
    else an older one; null where no source does).

    Example:
        >>> row = {"source": "genexam", "key": "GPT-Image-2", "benchmark": "GenExam (strict)", "track": "overall"}
        >>> ledger_scores().filter(**row).select("model", "value", "reported").row(0)
        ('gpt-image-2', 74.6, 'benchmark')
    """
    about = pl.DataFrame([_about(table) for table in sourced_tables()])
    facts = [(model.id, model.kind, model.maker, model.released, model.weights, model.size) for model in registry().models]
    names = ["model", "kind", "model_maker", "released", "weights", "size"]
    models = pl.DataFrame(facts, schema=names, orient="row", infer_schema_length=None)
    numbers = all_cells().filter(pl.col("role").is_in(SCORE_ROLES)).drop_nulls(["value", "model"])
    makers = {model.id: model.maker for model in registry().models}
    of_base = {model.id: makers[model.base] for model in registry().models if model.base is not None}
    made_by = pl.coalesce("model_maker", pl.col("model").replace_strict(of_base, default=None, return_dtype=pl.String))
    own = made_by == pl.col("maker")
    return _with_quotes(
        numbers.join(about, on="table", maintain_order="left")  # of tables that score generators
        .join(models, on="model", how="left", maintain_order="left")
        .filter(row_kind=RowKind.GENERATOR.value)
        .with_columns(
            overall=pl.col("role") == "overall",
            reported=pl.when(pl.col("measured_by") != MeasuredBy.MAKER.value)
            .then("measured_by")
            .when(own)
            .then(pl.lit("self"))
            .otherwise(pl.lit("rival")),
        )
        .select(
            *("source", "date", "table", "task", "benchmark", "track", "overall", "judge", "model", "kind"),
            pl.col("model_maker").alias("maker"),
            *("released", "weights", "size", "key", "column", "printed", "value", "unit", "direction", "n", "reported"),
        )
    )


def _with_quotes(scores: pl.DataFrame) -> pl.DataFrame:
    """Return the scores with the source from which a maker has a rival's number, as far as equal numbers tell."""
    same = ["task", "benchmark", "track", "model", "value"]
    priority = pl.col("reported").replace_strict({"benchmark": 0, "votes": 0, "self": 1, "rival": 2}, return_dtype=pl.Int8)
    others = scores.lazy().select(*same, quoted="source", from_judge="judge", place=priority, since="date")
    quotes = (
        scores.lazy()
        .with_row_index("at")
        .filter(reported="rival")
        .join(others, on=same)
        .filter(
            pl.col("quoted") != pl.col("source"),
            (pl.col("place") < 2) | (pl.col("since") < pl.col("date")),
            (pl.col("judge") == pl.col("from_judge")).fill_null(True),
        )
        .sort("at", "place", "since", "quoted")
        .unique("at", keep="first", maintain_order=True)
        .select("at", "quoted")
    )
    numbered = scores.lazy().with_row_index("at")
    return numbered.join(quotes, on="at", how="left", maintain_order="left").drop("at").collect()


def sourced_tables() -> tuple[PublishedTable, ...]:
    """Return the tables of all sources: those of the papers that score generators, then those of the repositories."""
    return (*(table for table in tables() if table.paper.origin is not None), *ledger())


def origin_of(source: Paper) -> Origin:
    """Return where the tables of a source were read.

    Raises:
        InputError: it is a paper that scores no generators.
    """
    if source.origin is None:
        raise InputError("such a paper is no source of the ledger", value=source.paper)
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
    for paper in {table.paper.paper: table.paper for table in sourced_tables()}.values():
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


def chosen_scores(
    *, task: str | None = None, capability: str | None = None, models: Sequence[str] = (), benchmark: str | None = None
) -> pl.DataFrame:
    """Return the rows of :func:`ledger_scores` of one task, capability, benchmark and some models (by name, spelling or id).

    Raises:
        InputError: no model has such a name, or no benchmark is called so (names those that look like it); there is no such
            capability.
    """
    scores = ledger_scores()
    known = scores["benchmark"].unique(maintain_order=True).to_list()
    if benchmark is not None and benchmark not in known:
        close = get_close_matches(benchmark, known, n=5, cutoff=0.4)
        raise InputError("the ledger has no such benchmark", value=benchmark, allowed=close or known)
    conditions = [] if task is None else [pl.col("task") == task]
    conditions += [] if benchmark is None else [pl.col("benchmark") == benchmark]
    conditions += [] if capability is None else [_MEASURES.is_in(_columns_measuring(capability))]
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
    wanted = [pl.col("task") == str(task), pl.col("direction") != "none", pl.col("kind") == "generator"]
    if people:
        wanted.append(pl.col("judge").is_in(PEOPLE))
    if measured:
        wanted.append(pl.col("reported").is_in([MeasuredBy.BENCHMARK.value, MeasuredBy.VOTES.value]))
    if capability is not None:
        wanted.append(_MEASURES.is_in(_columns_measuring(capability)))
    has_parts = (~pl.col("overall")).any().over("table", "benchmark")
    return (
        ledger_scores()
        .lazy()
        .filter(*wanted)
        .filter(~(pl.col("overall") & has_parts))
        .with_columns(pl.col("judge").fill_null("not stated"), measures=_MEASURES)
        .with_columns(step=pl.col("value").abs().max().over("measures") * EQUAL)
        .with_columns(name="benchmark", track_name="track")
        .with_columns(benchmark=pl.col("source"), track=pl.format("{} {}", "table", "column"))
        .collect()
    )


def check_compared(
    compared: pl.DataFrame, task: GenerationTask | str, *, capability: str | None, people: bool = False, measured: bool = False
) -> None:
    """Check that a column of :func:`compared_scores` has numbers of two generators.

    Args:
        compared: what :func:`compared_scores` returned for the other arguments.
        task: what the generators make.
        capability: what the columns measure.
        people: whether only votes and marks of people were chosen.
        measured: whether only numbers of benchmarks' authors and voters were chosen.

    Raises:
        InputError: none has; names what was asked for, and the capabilities of which a board can be made.

    Example:
        >>> check_compared(compared_scores("edit", capability="text"), "edit", capability="text")
    """
    if _has_rivals(compared):
        return
    asked = [f"measures {capability}"] if capability else []
    asked += ["is of people's votes or marks"] if people else []
    asked += ["is of benchmarks' authors or voters"] if measured else []
    chosen = {name: compared_scores(task, capability=name, people=people, measured=measured) for name in capabilities()}
    allowed = [name for name, numbers in chosen.items() if _has_rivals(numbers)]
    raise InputError(
        f"no two {task} generators have numbers in a column that {' and '.join(asked)}",
        source="the ledger",
        hint=f"With these options a {task} board can be made of: {', '.join(allowed) or 'nothing'}. "
        "Choose one of them with --capability, or leave out an option.",
    )


def _has_rivals(scores: pl.DataFrame) -> bool:
    models = scores.group_by("benchmark", "track", "judge").agg(pl.col("model").n_unique())["model"]
    return bool((models > 1).any())


@cache
def _columns_measuring(capability: str) -> list[str]:
    if capability not in capabilities():
        raise InputError("no such capability", value=capability, allowed=list(capabilities()))
    pattern = re.compile("|".join(translate(text) for text in capabilities()[capability]))
    return [name for name in ledger_scores().select(_MEASURES.unique()).to_series() if pattern.match(name)]


def ledger_battles(scores: pl.DataFrame) -> pl.DataFrame:
    """Derive battles from scores of one task: every two models of a column are compared once, clusters are the sources.

    A pair that a table quotes from another one, both numbers equal to half a percent of the scale, is counted once: of the
    benchmark's authors if they print it, else of the oldest source.

    Args:
        scores: the frame of :func:`compared_scores`.

    Returns:
        The rows of :func:`salon_published.derived_battles.compared_pairs`, in their order.

    Example:
        >>> ledger_battles(compared_scores("text-to-video")).select("suite", "model_a", "model_b", "winner").row(0)
        ('chronomagic-bench', 'animatediff-v3', 'cogvideox-2b', 'model_a')
    """
    battles = compared_pairs(scores).with_row_index("at").lazy()
    rater = pl.format("{} / {} / {}", "benchmark", "track", "judge").alias("rater_id")
    is_second = (pl.col("reported") != MeasuredBy.BENCHMARK.value).alias("is_second")
    values = scores.lazy().select(rater, "measures", "date", is_second, "model", "value", "step")
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
    first = pairs.sort("is_second", "date", "rater_id", "at").filter(pl.struct(same).is_first_distinct())
    return battles.join(first.select("at"), on="at", how="semi", maintain_order="left").drop("at").collect()


def ledger_board(scores: pl.DataFrame) -> Leaderboard:
    """Rank generators by the battles of :func:`ledger_battles`, as :func:`rank_by_sources`.

    Args:
        scores: the frame of :func:`compared_scores`.

    Raises:
        InputError: no two models are compared.
    """
    return rank_by_sources(ledger_battles(scores), board_name(", ".join(scores["task"].unique())))


def board_name(task: str) -> str:
    """Return what the header of a board names: the ledger, the day on which its last source was read, and the task."""
    return f"the ledger of {max(origin_of(table.paper).read for table in sourced_tables())}, {task}"


def rank_by_sources(battles: pl.DataFrame, source: str, *, baseline: str | None = None) -> Leaderboard:
    """Rank models by derived battles; intervals are sandwiches by sources.

    Each model also plays one virtual draw against an average opponent, so that a sweep of one table stays finite. The table's
    column ``joined_by`` is ``prior`` where this draw alone joins a model to the baseline: no chain of battles leads to the
    baseline and back in which each model wins or draws, so that its distance to the baseline is no measurement.

    Args:
        battles: of :func:`ledger_battles`, with or without ids, and others like them.
        source: what the board's header names.
        baseline: the model whose rating is 1,000. None: :func:`most_compared`.

    Example:
        >>> board = ledger_board(compared_scores("text-to-image", capability="counting"))
        >>> board.table["joined_by"].unique().sort().to_list()
        ['battles', 'prior']

    Raises:
        InputError: no two models are compared.
    """
    if not battles.height:
        raise InputError("no two generators are compared by such numbers", source="the ledger")
    clustered = Battles.from_frame(battles, source=source, cluster_by="suite")
    baseline = baseline or most_compared(battles)
    board = rank(clustered, baseline=baseline, prior_ties=PRIOR_TIES, interval="sandwich")
    component = dict(zip(clustered.models, clustered.cells.components().tolist(), strict=True))
    apart = [model for model, number in component.items() if number != component[baseline]]
    by_prior = pl.when(pl.col("model").is_in(apart)).then(pl.lit("prior")).otherwise(pl.lit("battles"))
    warning = (
        f"{len(apart):,} of {counted(len(component), 'model')} are joined to {baseline} by the prior alone: no battles bound "
        "their distance to it, so their places among the others are no measurement"
    )
    warnings = (*([warning] if apart else []), *board.warnings)
    return replace(board, table=board.table.with_columns(joined_by=by_prior), warnings=warnings)


def most_compared(battles: pl.DataFrame) -> str:
    """Return the model that most sources compare; of several the first by name."""
    sides = pl.concat([battles.lazy().select("suite", model=side) for side in ("model_a", "model_b")]).unique()
    return str(sides.group_by("model").len().sort("len", "model", descending=[True, False]).first().collect()["model"].item())
