"""What to look at before a new source joins the ledger: names, ranges, printed means, bold cells, and numbers of others."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path

import polars as pl

from salon_console.numbers import counted
from salon_published.check import check_tables
from salon_published.ledger import EQUAL, PEOPLE, SCORE_ROLES, ledger_scores, origin_of, sourced_tables
from salon_published.manifest import EXACT_UNITS, TEXT_UNIT, BetterDirection, MeasuredBy, Origin, Paper, RowKind, read_manifest
from salon_published.registry import normal_form, registry, resolve_row
from salon_published.tables import PublishedTable, cells_of, ledger, tables, tables_of
from salon_taxonomy.errors import InputError

RANGES = {
    "fraction": (0.0, 1.0),
    "share of 1": (0.0, 1.0),
    "percent": (0.0, 100.0),
    "points of 100": (0.0, 100.0),
    "points of 10": (0.0, 10.0),
    "points of 5": (0.0, 5.0),
}
"""The least and the largest number of a unit that has both."""


@dataclass(frozen=True, slots=True)
class SourceProblem:
    """One finding in a source: wrong, or worth a look.

    ``row`` and ``column`` are empty where it concerns the whole table; ``is_error`` tells what must be put right from what a
    source may well print, such as a wrong mean.
    """

    table: str
    row: str
    column: str
    what: str
    is_error: bool = True


@dataclass(frozen=True, slots=True)
class SourceReport:
    """What a new source holds.

    ``numbers`` counts the printed ones, ``models`` the models of the registry, ``means`` the recomputed cells, ``repeated`` the
    numbers that shipped sources print, too, of the same model, and ``equal`` those that one of them prints equal. The others
    are among the ``problems``.
    """

    numbers: int
    models: int
    means: int
    repeated: int
    equal: int
    problems: tuple[SourceProblem, ...]


def check_source(path: str | Path) -> SourceReport:
    """Read a file of the ledger's form and say what is wrong with it.

    Raises:
        InputError: the file is no manifest, or its rows are no table; names the key, or row, column and value.
    """
    path = Path(path)
    source = read_manifest(path)
    if source.origin is None:
        raise InputError("a source of the ledger says where it was read", source=path, column="origin")
    published = tables_of(path, source)
    shipped = [table for table in ledger() if table.paper.paper != source.paper]
    if source.paper in {table.paper.paper for table in tables()}:
        raise InputError("a paper has this name", source=path, column="paper", value=source.paper)
    checked = check_tables(published, {table.id: table for table in (*tables(), *shipped, *published)})
    means = (
        SourceProblem(
            cell.table, cell.key, cell.column, f"{cell.rule} of the printed numbers is {cell.recomputed_text()}", is_error=False
        )
        for cell in checked.findings
    )
    cells = cells_of(published).drop_nulls("value")
    repeated = _repeated(cells, published)
    problems = (
        *_origin(source, source.origin, path),
        *_names(published),
        *_columns(cells, published),
        *_ranges(cells),
        *_bold(published),
        *means,
        *_differing(repeated),
    )
    models = cells["model"].drop_nulls().n_unique()
    equal = repeated.filter(pl.col("equal").list.any()).height
    return SourceReport(cells.height, models, len(checked.results), repeated.height, equal, problems)


def _origin(source: Paper, origin: Origin, path: Path) -> Iterator[SourceProblem]:
    def problem(key: str, what: str, *, is_error: bool = True) -> SourceProblem:
        return SourceProblem(source.paper, "", key, what, is_error)

    if path.stem != source.paper:
        yield problem("paper", f"the file is called {path.stem}, the source {source.paper}")
    if origin.read > (today := datetime.now(UTC).date()):
        yield problem("origin.read", f"{origin.read} has not come yet: today is {today}")
    if origin.maker is not None and origin.maker not in {model.maker for model in registry().models}:
        yield problem("origin.maker", f"the registry has no maker {origin.maker!r}")
    owner = origin.link.split("/")[:4]
    for other in {table.paper.paper: table.paper for table in sourced_tables()}.values():
        theirs = origin_of(other)
        if other.paper != source.paper and (theirs.link, theirs.commit) == (origin.link, origin.commit):
            yield problem("origin.link", f"{other.paper} was read there, too", is_error=False)
        if owner == theirs.link.split("/")[:4] and theirs.maker is not None and origin.maker is None:
            what = f"{theirs.maker} publishes there as a maker ({other.paper}): is a model of its own among these?"
            yield problem("origin.measured_by", what, is_error=False)


def _names(published: Sequence[PublishedTable]) -> Iterator[SourceProblem]:
    """Yield rows of unknown models, and models with two rows."""
    spellings = {spelling: model.id for model in registry().models for spelling in (model.name, *model.spellings, model.id)}
    for table in published:
        if table.spec.rows is not RowKind.GENERATOR:
            continue
        ids = [resolve_row(dict(zip(table.spec.keys, keys, strict=True)), table.id) for keys in table.keys]
        for name, model in zip(table.names, ids, strict=True):
            if model is None:
                close = dict.fromkeys(spellings[near] for near in get_close_matches(name, spellings, n=3, cutoff=0.6))
                advice = f"a spelling of {' or '.join(close)}?" if close else "no known model has a name like it"
                yield SourceProblem(table.id, name, "", f"unknown model, {advice} (models.csv)")
        for model, count in Counter(model for model in ids if model is not None).items():
            if count > 1:
                yield SourceProblem(table.id, model, "", f"{count} rows are this model")


def _columns(cells: pl.DataFrame, published: Sequence[PublishedTable]) -> Iterator[SourceProblem]:
    """Yield benchmarks, tracks, units, directions and judges that do not go with what the ledger has."""
    scores = ledger_scores().filter(pl.col("source") != published[0].paper.paper)
    known = {row[:2]: row[2:] for row in scores.select("benchmark", "track", "unit", "direction").iter_rows()}
    benchmarks = dict.fromkeys(benchmark for benchmark, _ in known)
    units = {table.describe(column).unit or "" for table in (*tables(), *ledger()) for column in table.columns}
    votes = {table.id for table in published if origin_of(table.paper).measured_by is MeasuredBy.VOTES}

    def problems(
        table: str, benchmark: str, track: str, unit: str, direction: str, judge: str | None
    ) -> Iterator[tuple[str, bool]]:
        if unit not in units:
            close = get_close_matches(unit, units, n=3, cutoff=0.5)
            yield f"unknown unit {unit!r}: one of {', '.join(map(repr, close or sorted(units)))}?", True
        if table in votes and judge not in PEOPLE:
            yield f"votes are of people: the judge is one of {', '.join(sorted(PEOPLE))}", True
        if (benchmark, track) in known:
            of_others, better = known[benchmark, track]
            if {unit, of_others} <= set(RANGES) and RANGES[unit] != RANGES[of_others]:
                yield f"other sources print {benchmark} in {of_others!r}, not in {unit!r}", True
            if direction != better:
                yield f"in other sources {better} is better, not {direction}", True
        elif benchmark in benchmarks:
            tracks = [name for of, name in known if of == benchmark]
            close = get_close_matches(track, tracks, n=5, cutoff=0.5) or tracks[:8]
            yield f"{benchmark} has no track {track!r} elsewhere: one of {', '.join(close)}?", False
        elif alike := [name for name in benchmarks if normal_form(name) == normal_form(benchmark)]:
            yield f"the benchmark {benchmark!r} is written {alike[0]!r}", True
        elif close := get_close_matches(benchmark, benchmarks, n=3, cutoff=0.8):
            yield f"a new benchmark, or {' or '.join(close)}?", False

    columns = cells.filter(pl.col("role").is_in(SCORE_ROLES)).drop_nulls("benchmark")
    about = ("column", "table", "benchmark", "track", "unit", "direction", "judge")
    by_problem: dict[tuple[str, str, bool], list[str]] = {}
    for column, table, *facts in columns.select(about).unique(maintain_order=True).iter_rows():
        for what, is_error in problems(table, *facts):
            by_problem.setdefault((table, what, is_error), []).append(column)
    for (table, what, is_error), names in by_problem.items():
        yield SourceProblem(table, "", ", ".join(names), what, is_error)


def _ranges(cells: pl.DataFrame) -> Iterator[SourceProblem]:
    for table, row, column, unit, value, text in cells.select("table", "key", "column", "unit", "value", "printed").iter_rows():
        low, high = RANGES.get(unit, (-float("inf"), float("inf")))
        if not low <= value <= high:
            yield SourceProblem(table, row, column, f"{text} is outside {low:g} to {high:g}, the range of {unit!r}")
        elif unit in EXACT_UNITS and not value.is_integer():
            yield SourceProblem(table, row, column, f"{text} is no whole number, as a {unit} is")


def _bold(published: Sequence[PublishedTable]) -> Iterator[SourceProblem]:
    """Yield bold numbers than which their column has a better one."""
    for table in published:
        for row, column in table.bold:
            if table.describe(column).unit == TEXT_UNIT:
                continue
            numbers = {name: float(text) for name, text in zip(table.names, table.printed[column], strict=True) if text}
            direction = table.describe(column).direction
            sign = {BetterDirection.HIGHER: 1, BetterDirection.LOWER: -1}.get(direction or BetterDirection.NONE, 0)
            best = max((sign * number, name) for name, number in numbers.items())[1] if sign else table.names[row]
            if numbers[best] != numbers[table.names[row]]:
                what = f"bold, but {best} has {table.printed[column][table.names.index(best)]}"
                yield SourceProblem(table.id, table.names[row], column, what, is_error=False)


def _repeated(cells: pl.DataFrame, published: Sequence[PublishedTable]) -> pl.DataFrame:
    """Return the numbers that other sources print, too, of the same model, task, benchmark and track, with those numbers."""
    tasks = {table.id: table.spec.task.value for table in published}
    same = ["task", "benchmark", "track", "model"]
    others = ledger_scores().filter(pl.col("source") != published[0].paper.paper)
    scaled = others.with_columns(scale=pl.col("value").abs().max().over("benchmark", "track")).select(
        *same, "scale", other="value", at="table", theirs="printed", by="judge"
    )
    own = cells.filter(pl.col("role").is_in(SCORE_ROLES)).with_columns(
        task=pl.col("table").replace_strict(tasks, return_dtype=pl.String)
    )
    return (
        own.join(scaled, on=same, maintain_order="left_right")
        .filter((pl.col("judge") == pl.col("by")).fill_null(True))
        .with_columns(equal=(pl.col("value") - pl.col("other")).abs() <= EQUAL * pl.col("scale"))
        .group_by("table", "key", "column", "printed", maintain_order=True)
        .agg("equal", "at", "theirs")
    )


def _differing(repeated: pl.DataFrame) -> Iterator[SourceProblem]:
    for table, row, column, printed, equal, places, numbers in repeated.filter(~pl.col("equal").list.all()).iter_rows():
        sources = dict.fromkeys(f"{n} in {at}" for n, at, is_equal in zip(numbers, places, equal, strict=True) if not is_equal)
        as_others = f", as in {counted(equal.count(True), 'other table')}," if any(equal) else ""
        yield SourceProblem(table, row, column, f"{printed} here{as_others} but {', '.join(sources)}", is_error=False)
