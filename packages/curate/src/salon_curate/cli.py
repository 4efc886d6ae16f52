"""``salon curate``: build a data set of pictures. Parse, one library call, print."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from salon_console.file_options import InputPath, OutputPath
from salon_console.lazy_commands import LazyCommand, LazyGroup
from salon_console.numbers import counted
from salon_console.options import OUTPUT, FiniteRange, format_option, output_option, resumable
from salon_console.output import as_json, deliver, print_continues, print_json, print_parts
from salon_console.table_files import Table, write_table
from salon_curate.output import FORMAT, SEED, as_cell
from salon_taxonomy.errors import IncompleteError, InputError

if TYPE_CHECKING:
    import polars as pl

    from salon_curate.dataset import DataSet
    from salon_curate.pipeline import Pipeline
    from salon_curate.planning import EstimatedTotal
    from salon_curate.running import StageProgress
    from salon_curate.selection import Selection, YieldCurve

_CONSTRUCTION = "salon_curate.construction.cli"
_LAZY = {
    "artifact-bench": LazyCommand(
        f"{_CONSTRUCTION}:artifact_bench", "Construct a benchmark like Artifact-Bench: options, annotation, export."
    ),
    "magicbench": LazyCommand(f"{_CONSTRUCTION}:magicbench", "Make prompts for MagicBench."),
    "prism": LazyCommand(
        f"{_CONSTRUCTION}:prism", "Make prompts for PRISM-Bench: composed from pools, or selected from a collection."
    ),
}
_DATASET = click.argument("dataset", type=InputPath(file_okay=False, made=True))
_WHERE = click.option("--where", multiple=True, metavar="SQL", help="A condition; repeat: all must hold.")
_SELECTION = click.option("--selection", metavar="NAME", help="Conditions of pipeline.toml or of a saved selection.")
_WORK_SECONDS = 1.0


@click.group(cls=LazyGroup, lazy_commands=_LAZY)
def curate() -> None:
    """Build an image data set with judges: stages over shards, selections, audits, a release.

    \b
    Example:
      salon curate init birds
      salon curate import birds pictures/ --licence CC-BY-4.0
      salon curate run birds
      salon curate yield birds --sweep sharpness
      salon curate select birds --where "sharpness >= 80" --name sharp
    """


@curate.command()
@click.argument("dataset", type=OutputPath(file_okay=False, dir_okay=True))
@click.option("--preset", metavar="NAME", help="Start from a paper's pipeline: flux-reason, r3-data or magicdata.")
@click.option("--judge", metavar="SPEC", help="The judge of every stage that names none: KIND:MODEL@URL or a TOML file.")
@FORMAT
def init(dataset: Path, preset: str | None, judge: str | None, form: str) -> None:
    """Create an empty data set with a pipeline.toml to edit.

    \b
    Example:
      salon curate init birds
      salon curate init reasons --preset flux-reason --judge vllm:Qwen/Qwen2.5-VL-7B-Instruct@localhost:8000
    """
    from salon_curate.dataset import DataSet
    from salon_curate.files import publish_text
    from salon_curate.pipeline import LOOK, PIPELINE, judge_line
    from salon_curate.presets import preset_text

    text = judge_line(judge) + (LOOK if preset is None else preset_text(preset))
    DataSet.create(dataset)
    publish_text(dataset / PIPELINE, text)
    if form == "json":
        print_json({"folder": str(dataset), "pipeline": str(dataset / PIPELINE)})
        return
    click.echo(f"{dataset}: an empty data set. Edit {dataset / PIPELINE}, then: salon curate import {dataset} SOURCE")


@curate.command("import")
@_DATASET
@click.argument("source", type=InputPath())
@click.option("--pictures", type=InputPath(file_okay=False), help="The folder that the names in a table refer to.")
@click.option(
    "--layout",
    type=click.Choice(["any", "r3", "magicdata", "artifact-bench"]),
    default="any",
    show_default=True,
    help="Whose columns the table has. artifact-bench: the middle frame of each video.",
)
@click.option("--key", metavar="COLUMN", help="The column of the pictures' keys.")
@click.option("--image", metavar="COLUMN", help="The column of the pictures' bytes or names.")
@click.option("--prompt", metavar="COLUMN", help="The column of the prompts or captions.")
@click.option("--licence", default="unknown", show_default=True, help="Of the pictures; written on the data set card.")
@click.option(
    "--shard-rows", type=click.IntRange(1, 100_000), default=1000, show_default=True, help="Pictures in a shard at most."
)
@FORMAT
def import_(
    dataset: Path,
    source: Path,
    pictures: Path | None,
    layout: str,
    key: str | None,
    image: str | None,
    prompt: str | None,
    licence: str,
    shard_rows: int,
    form: str,
) -> None:
    """Add pictures: a folder, a table with names or bytes (CSV, JSON Lines, Parquet, Arrow), or a webdataset archive.

    A picture that cannot be read becomes a row with a problem; a table or key that is wrong is refused, and nothing changes.

    \b
    Example:
      salon curate import birds pictures/
      salon curate import birds rows.jsonl --layout r3
      salon curate import birds shard-0001.tar --licence CC-BY-4.0
    """
    from salon_curate.importing import Columns, import_pictures

    opened = _opened(dataset)
    imported = import_pictures(
        opened, source, pictures=pictures, layout=layout, columns=Columns(key, image, prompt), licence=licence,
        shard_rows=shard_rows,
    )  # fmt: skip
    if form == "json":
        print_json({"pictures": imported.rows, "source": imported.name, "kind": imported.kind, "problems": imported.problems,
                    "left_out": list(imported.left_out), "all_pictures": opened.rows,
                    "shards": len(opened.shards)})  # fmt: skip
        return
    click.echo(
        f"{counted(imported.rows, 'picture')} from {imported.name} ({imported.kind}), {imported.problems:,} with a problem; "
        f"{opened.rows:,} in {counted(len(opened.shards), 'shard')}"
    )
    if imported.left_out:
        names = ", ".join(map(repr, imported.left_out[:5]))
        click.echo(f"{counted(len(imported.left_out), 'file')} left out, whose name cannot be a key: {names}", err=True)


@curate.command()
@_DATASET
@click.option(
    "--workers", type=click.IntRange(1, 512), default=1, show_default=True, help="Processes for stages without a judge."
)
@click.option("--engine", "engine", default="embedded", show_default=True, help="embedded, inline or ray.")
@click.option("--shards", metavar="A-B", help="Only these shards, by number: 0-99.")
@click.option("--max-calls", type=click.IntRange(1), help="Ask at most so many questions per stage.")
@click.option("--max-cost", type=float, metavar="USD", help="Ask nothing more once this much was spent per stage.")
@click.option(
    "--allow-incomplete", is_flag=True, help="Finish shards although questions got no reply; their columns stay null for good."
)
@click.option("--quiet", is_flag=True, help="No progress.")
@FORMAT
@resumable
def run(
    dataset: Path,
    workers: int,
    engine: str,
    shards: str | None,
    max_calls: int | None,
    max_cost: float | None,
    allow_incomplete: bool,
    quiet: bool,
    form: str,
) -> None:
    """Run the stages of pipeline.toml; what exists is kept, what is missing is made. The same command resumes.

    \b
    Example:
      salon curate run birds --workers 4
      salon curate run birds --max-cost 20
    """
    from salon_curate.judging import JudgedStage
    from salon_curate.ray_engine import engine_named
    from salon_curate.running import run as run_stages
    from salon_judges.asking.spending import RunLimits

    if engine == "inline" and workers > 1:
        hint = "Take --engine embedded, or leave --workers out."
        raise InputError("has no effect with --engine inline:", column="workers", value=workers, hint=hint)
    opened = _opened(dataset)
    limits = RunLimits(cost_usd=max_cost, calls=max_calls)
    pipeline = _pipeline(dataset, limits=limits, asks=True)
    chosen = _shard_range(shards, len(opened.shards))
    stages = [replace(each, keep_lost=allow_incomplete) if isinstance(each, JudgedStage) else each for each in pipeline.stages]
    result = run_stages(
        opened,
        stages,
        workers=workers,
        engine=engine_named(engine),
        shards=chosen,
        watch=None if quiet else _watcher(),
        on_start=lambda have, parts: print_continues(have, parts, "parts", dataset) if have and not quiet else None,
    )
    if form == "json":
        print_json(asdict(result))
    else:
        click.echo(
            f"{counted(result.made, 'part')} made with {counted(result.problems, 'row')} without a value, {result.kept:,} kept"
        )
    for line in result.set_aside[:10]:
        click.echo(line, err=True)
    if result.stopped:
        raise IncompleteError(f"{result.stopped}; the same command continues")
    if result.set_aside:
        raise IncompleteError(f"not finished: {counted(len(result.set_aside), 'shard')}; the same command tries again")


@curate.command()
@_DATASET
@OUTPUT
@FORMAT
def status(dataset: Path, output: Path | None, form: str) -> None:
    """Show how far every stage is.

    \b
    Example:
      salon curate status birds
    """
    from salon_curate.running import status as status_of

    opened = _opened(dataset)
    stages = status_of(opened, _pipeline(dataset).stages)
    rows = [{"stage": s.stage, "version": s.version, "done": s.done, "shards": s.shards, "rows": s.rows} for s in stages]
    lines = [(s.stage, s.version, f"{s.done:,} of {s.shards:,}", as_cell(s.rows)) for s in stages]
    deliver(
        Table(("stage", "version", "shards", "pictures"), lines),
        rows,
        form=form,
        output=output,
        further=[f"{counted(opened.rows, 'picture')} in {counted(len(opened.shards), 'shard')}"],
        json=lambda: as_json({"pictures": opened.rows, "shards": len(opened.shards), "stages": rows}),
    )


@curate.command()
@_DATASET
@FORMAT
def verify(dataset: Path, form: str) -> None:
    """Compare every shard, part and release with what the manifests and receipts say. DATASET may be a release alone.

    Exits with 1 where something is wrong.

    \b
    Example:
      salon curate verify birds
      salon curate verify birds/releases/v1    a release, also one that came from elsewhere
    """
    from salon_curate.release import RELEASE_MANIFEST, verify_release
    from salon_curate.running import verify as verify_all

    if (dataset / RELEASE_MANIFEST).exists():
        shards, wrong, verdict = 0, verify_release(dataset), "all files are as they were released"
    else:
        opened = _opened(dataset)
        shards, wrong = len(opened.shards), verify_all(opened, _pipeline(dataset).stages)
        releases = sorted(path.parent for path in dataset.glob(f"releases/*/{RELEASE_MANIFEST}"))
        wrong += [f"releases/{release.name}/{line}" for release in releases for line in verify_release(release)]
        verdict = f"as they were written: {counted(shards, 'shard')} with parts, {counted(len(releases), 'release')}"
    if form == "json":
        print_json({"shards": shards, "wrong": wrong})
    for line in wrong[:50]:
        click.echo(line, err=True)
    if wrong:
        raise IncompleteError(f"{len(wrong)} things are wrong in {dataset}")
    if form == "table":
        click.echo(f"{dataset}: {verdict}")


@curate.command()
@_DATASET
@click.option(
    "--share",
    type=FiniteRange(0, 1, min_open=True),
    default=0.02,
    show_default=True,
    help="Of the shards to run; at least two are.",
)
@click.option("--workers", type=click.IntRange(1, 512), default=1, show_default=True, help="As many as the run will have.")
@SEED
@OUTPUT
@FORMAT
def plan(dataset: Path, share: float, workers: int, seed: int, output: Path | None, form: str) -> None:
    """Run a few shards and show what all of them will take.

    Shown are calls, tokens, money, bytes and hours of each stage. What the sample asks is paid and kept; the run does not ask
    it again.

    \b
    Example:
      salon curate plan birds
      salon curate plan birds --share 0.05 --workers 8
    """
    from salon_curate.planning import plan as planning
    from salon_curate.planning import wall_seconds

    opened, stages = _opened(dataset), _pipeline(dataset, asks=True).stages
    stage_plans = planning(opened, stages, share=share, seed=seed, workers=workers)
    wall = wall_seconds(stage_plans, stages, workers=workers)
    header = ("stage", "shards run", "calls", "tokens in", "tokens out", "US dollars", "MB read", "MB written", "hours")
    sizes = {"bytes_read": 1e6, "bytes_written": 1e6, "seconds": 3600.0}
    rows = [[each.stage, f"{each.measured} of {each.shards:,}",
             *(_total_of(each.totals[name], sizes.get(name, 1.0)) for name in each.totals)]
            for each in stage_plans]  # fmt: skip
    crew = "1 worker" if workers == 1 else f"{workers} workers"
    time_taken = "not known: the journals had a stage's replies, so no judge was timed" if wall is None else _duration(wall)
    values = [asdict(each) for each in stage_plans]
    deliver(
        Table(header, rows),
        values,
        form=form,
        output=output,
        further=[
            "± is half of Student's 95% interval over the shards that were run",
            f"wall-clock time with {crew} and 1 judge: {time_taken}",
        ],
        json=lambda: as_json({"stages": values, "wall_seconds": wall}),
    )


@curate.command()
@_DATASET
@click.option("--stage", required=True, metavar="NAME", help="The stage to make again for a sample.")
@click.option("--now", metavar="SPEC", help="Judge to compare with. Default: the stage's own, asked again.")
@click.option("--rows", type=click.IntRange(1), default=200, show_default=True, help="Pictures of the sample.")
@click.option("--at-most", type=FiniteRange(0, 1), help="Exit with 1 if the lower 95% bound of the changed share exceeds this.")
@OUTPUT
@FORMAT
def drift(
    dataset: Path,
    stage: str,
    now: str | None,
    rows: int,
    at_most: float | None,
    output: Path | None,
    form: str,
) -> None:
    """Make a stage's answers about a sample again, and compare them with the stored ones. The data set stays as it is.

    \b
    Example:
      salon curate drift birds --stage quality --rows 500
      salon curate drift birds --stage quality --now vllm:NEW@localhost:8001 --at-most 0.05
    """
    from salon_curate.drift import drift as drifting

    opened, stages = _opened(dataset), _pipeline(dataset, asks=True).stages
    again = None if now is None else next(
        (each for each in _pipeline(dataset, asks=True, now=(stage, now)).stages if each.name == stage), None
    )  # fmt: skip
    if again is not None and not again.judged:
        raise InputError("the stage asks no judge that could be another:", source="--now", value=stage, hint="Leave --now out.")
    columns = drifting(opened, stages, stage, now=again, rows=rows)
    header = ("column", "rows", "changed", "95% interval of the share (Wilson)", "lost", "found", "mean shift",
              "95% interval (Student)")  # fmt: skip
    lines = []
    for column in columns:
        ends = "–" if column.shift_low is None else f"{column.shift_low:+.3f} to {column.shift_high:+.3f}"
        lines.append([column.column, as_cell(column.rows), as_cell(column.changed), f"{column.low:.3f} to {column.high:.3f}",
                      as_cell(column.lost), as_cell(column.found), as_cell(column.shift), ends])  # fmt: skip
    values = [asdict(each) for each in columns]
    deliver(Table(header, lines), values, form=form, output=output, json=lambda: as_json(values))
    moved = [each for each in columns if at_most is not None and each.low > at_most]
    if moved:
        raise IncompleteError(f"{moved[0].column}: {moved[0].changed} of {moved[0].rows} values changed; the lower end of the "
                              f"interval, {moved[0].low:.3f}, is above --at-most {at_most:g}")  # fmt: skip


def _total_of(total: "EstimatedTotal", unit: float) -> str:
    if total.value is None:
        return "–"
    text = f"{total.value / unit:,.0f}" if unit == 1 and total.value >= 100 else f"{total.value / unit:,.3g}"
    if total.high is None or total.high == total.value:
        return text
    return f"{text} ± {(total.high - total.value) / unit:,.2g}"


def _duration(seconds: float) -> str:
    """Return a duration in the unit that fits: 12.3 s, 4.5 min, 6.7 h."""
    for unit, size in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:,.1f} s"


@curate.command("yield")
@_DATASET
@click.option("--sweep", multiple=True, metavar="COLUMN", help="Move a threshold of this column; may be repeated.")
@click.option("--points", type=click.IntRange(2, 1000), show_default="11", help="Thresholds of a sweep.")
@click.option("--page", type=OutputPath(), help="Write the curves of the sweeps as one HTML page.")
@_WHERE
@_SELECTION
@output_option(what="Also write the table, with --sweep the curves, to this file")
@FORMAT
def yield_(
    dataset: Path,
    sweep: tuple[str, ...],
    points: int | None,
    page: Path | None,
    where: tuple[str, ...],
    selection: str | None,
    output: Path | None,
    form: str,
) -> None:
    """Show how many pictures conditions keep, and how many at each threshold of a column. Nothing is asked or written.

    \b
    Example:
      salon curate yield birds --where "sharpness >= 80" --where "style >= 7"
      salon curate yield birds --selection default --sweep sharpness --points 90 --page curves.html
    """
    from salon_curate.selection import select as apply
    from salon_curate.selection import sweep as sweeps

    opened, pipeline = _opened(dataset), _pipeline(dataset)
    for name, value in (("points", points), ("page", page)):
        if value is not None and not sweep:
            raise InputError("has no effect without --sweep:", column=name, value=str(value), hint="Add --sweep COLUMN.")
    predicates = _predicates(opened, pipeline, where, selection)
    selected = apply(opened, pipeline.stages, predicates) if predicates else None
    curves = sweeps(opened, pipeline.stages, predicates, sweep, points=points or 11)
    if selected is None and not curves:
        raise InputError("needs a condition or a column", hint="Add --where 'sharpness >= 80' or --sweep sharpness.")
    document = {
        "funnel": None if selected is None else _funnel_of(selected),
        "curves": [_curve_of(curve) for curve in curves],
    }
    funnel: list[Table | str] = [] if selected is None else [_funnel_table(selected), _kept_line(selected)]
    if selected is not None and not curves:
        table, values = _funnel_table(selected), _funnel_rows(selected)
    else:
        table, values = _curves_table(curves), [row for curve in curves for row in _curve_rows(curve)]
    show = partial(print_parts, *funnel, *map(_curve_table, curves))
    deliver(table, values, form=form, output=output, show=show, json=lambda: as_json(document))
    if page is not None:
        from salon_curate.pages import yield_page

        yield_page(curves, page)


@curate.command()
@_DATASET
@click.option("--name", required=True, help="Of the selection.")
@_WHERE
@_SELECTION
@OUTPUT
@FORMAT
def select(
    dataset: Path,
    name: str,
    where: tuple[str, ...],
    selection: str | None,
    form: str,
    output: Path | None,
) -> None:
    """Keep the pictures for which every condition holds: their keys and the conditions are written below selections/.

    \b
    Example:
      salon curate select birds --name sharp --where "sharpness >= 80"
      salon curate select birds --name v1 --selection default
    """
    from salon_curate.selection import save_selection
    from salon_curate.selection import select as apply

    opened, pipeline = _opened(dataset), _pipeline(dataset)
    selected = apply(opened, pipeline.stages, _predicates(opened, pipeline, where, selection), name)
    path = save_selection(opened, pipeline.stages, selected)
    deliver(
        _funnel_table(selected),
        _funnel_rows(selected),
        form=form,
        output=output,
        further=[_kept_line(selected), f"written: {path}"],
        json=lambda: as_json(_funnel_of(selected)),
    )


@curate.command()
@_DATASET
@click.argument("old")
@click.argument("new")
@output_option(what="Write the moved keys with their conditions to this file")
@FORMAT
def diff(dataset: Path, old: str, new: str, output: Path | None, form: str) -> None:
    """Compare two selections, OLD and NEW: which pictures enter and leave, and which condition decided.

    \b
    Example:
      salon curate diff birds sharp sharper --output moved.csv
    """
    from salon_curate.selection import diff as differ

    opened, pipeline = _opened(dataset), _pipeline(dataset)
    moved = differ(opened, pipeline.stages, *(_predicates(opened, pipeline, (), name) for name in (old, new)))
    if output is not None:
        _write_keys(output, moved.keys)
    rows = {name: {"entered": entered, "left": left} for name, (entered, left) in moved.by_predicate.items()}
    lines = [(name, as_cell(entered), as_cell(left)) for name, (entered, left) in moved.by_predicate.items()]
    deliver(
        Table(("condition", "enter", "leave"), lines),
        [{"condition": name, **counts} for name, counts in rows.items()],
        form=form,
        output=None,
        further=[f"{moved.entered:,} pictures enter, {moved.left:,} leave"],
        json=lambda: as_json({"entered": moved.entered, "left": moved.left, "conditions": rows}),
    )


def _write_keys(output: Path, keys: "pl.DataFrame") -> None:
    """Write pictures' keys to the file that the user named."""
    write_table(output, lambda: Table(tuple(keys.columns), [[as_cell(cell) for cell in row] for row in keys.rows()]), keys)
    click.echo(f"Wrote {output}", err=True)


@curate.command()
@_DATASET
@click.argument("key")
@format_option("json", default="json", help_="There is this one.")
def why(dataset: Path, key: str, form: str) -> None:
    """Print the values of the picture KEY with their parts, judges and replies, as JSON.

    \b
    Example:
      salon curate why birds pictures/00017.jpg
    """
    from salon_curate.lineage import why as explain

    opened = _opened(dataset)
    print_json(explain(opened, _pipeline(dataset).stages, key))


def _predicates(dataset: "DataSet", pipeline: "Pipeline", where: tuple[str, ...], selection: str | None) -> dict[str, str]:
    """Return the conditions of a selection, and those of the command line, each named by its SQL."""
    from salon_curate.selection import saved_predicates

    predicates: dict[str, str] = {}
    if selection is not None:
        known = pipeline.selections.get(selection)
        predicates = dict(known) if known is not None else saved_predicates(dataset, selection, others=pipeline.selections)
    return predicates | {sql: sql for sql in where}


def _funnel_of(selection: "Selection") -> dict[str, Any]:
    counts = {name: {"failed": f, "null": n, "only": o} for name, (f, n, o) in selection.by_predicate.items()}
    return {"pictures": selection.rows, "kept": selection.kept, "conditions": counts}


def _funnel_rows(selection: "Selection") -> list[dict[str, object]]:
    return [{"condition": name, "failed": f, "null": n, "only": o} for name, (f, n, o) in selection.by_predicate.items()]


def _funnel_table(selection: "Selection") -> Table:
    rows = [[name, *map(as_cell, counts)] for name, counts in selection.by_predicate.items()]
    return Table(("condition", "fails", "no value", "fails this alone"), rows)


def _kept_line(selection: "Selection") -> str:
    return f"{selection.kept:,} of {selection.rows:,} pictures are kept"


def _curve_of(curve: "YieldCurve") -> dict[str, Any]:
    return {name: getattr(curve, name) for name in ("column", "rows", "thresholds", "kept", "low", "high", "unknown")}


def _curve_rows(curve: "YieldCurve") -> list[dict[str, object]]:
    points = zip(curve.thresholds, curve.kept, curve.low, curve.high, curve.unknown, strict=True)
    return [{"column": curve.column, "rows": curve.rows, "threshold": at, "kept": kept, "low": low, "high": high,
             "unknown": more} for at, kept, low, high, more in points]  # fmt: skip


def _curve_table(curve: "YieldCurve") -> Table:
    points = zip(curve.thresholds, curve.kept, curve.low, curve.high, curve.unknown, strict=True)
    rows = [(f"{at:.4g}", as_cell(kept), f"{kept / curve.rows:.3f}", f"{low:.3f} to {high:.3f}", as_cell(more))
            for at, kept, low, high, more in points]  # fmt: skip
    return Table((f"{curve.column} ≥", "kept", "share", "95% interval (Wilson)", "not known"), rows)


def _curves_table(curves: "Sequence[YieldCurve]") -> Table:
    """Return the table of several curves, as a file has it."""
    rows = [(curve.column, *row) for curve in curves for row in _curve_table(curve).rows]
    return Table(("column", "threshold", "kept", "share", "95% interval (Wilson)", "not known"), rows)


@curate.command()
@_DATASET
@click.option("--bucket", "buckets", multiple=True, required=True, metavar="NAME=SQL", help="A bucket; repeat.")
@click.option("--ratio", required=True, metavar="4:1:1", help="Whole numbers, one for each bucket.")
@click.option("--number", type=click.IntRange(1), required=True, help="Pictures in all.")
@click.option("--by", metavar="COLUMN", help="Take the highest values of this column instead of a random draw.")
@output_option(what="The file of keys and buckets to write (replaced)", required=True)
@SEED
@FORMAT
def draw(
    dataset: Path,
    buckets: tuple[str, ...],
    ratio: str,
    number: int,
    by: str | None,
    output: Path,
    seed: int,
    form: str,
) -> None:
    """Draw pictures from buckets in a ratio; no picture is drawn twice.

    \b
    Example:
      salon curate draw d --bucket "normal=quality_pass" --bucket "blurred=quality_faults = 'blur'" --ratio 4:1 \\
          --number 500 --output drawn.csv
    """
    from salon_curate.draws import draw as drawing

    named = dict(text.partition("=")[::2] for text in buckets)
    if len(named) < len(buckets):
        raise InputError("two buckets have one name:", column="bucket", value=", ".join(buckets))
    parts = ratio.split(":")
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise InputError("must be whole numbers with colons between, such as 4:1:1", column="ratio", value=ratio)
    opened = _opened(dataset)
    drawn = drawing(opened, _pipeline(dataset).stages, named, [int(part) for part in parts], number, by=by, seed=seed)
    _write_keys(output, drawn.keys)
    deliver(
        Table(
            ("bucket", "available", "drawn"),
            [(name, as_cell(drawn.available[name]), as_cell(count)) for name, count in drawn.drawn.items()],
        ),
        [{"bucket": name, "available": drawn.available[name], "drawn": count} for name, count in drawn.drawn.items()],
        form=form,
        output=None,
        json=lambda: as_json({"available": drawn.available, "drawn": drawn.drawn, "keys": drawn.keys["key"].to_list()}),
    )


@curate.group(cls=click.RichGroup)
def audit() -> None:
    """Let people check a sample of a selection, and carry the answer over to the whole data set.

    \b
    Example:
      salon curate audit sample birds --selection v1 --name first
      salon curate audit score birds first answers.csv
    """


@audit.command("sample")
@_DATASET
@click.option("--selection", required=True, metavar="NAME", help="The saved selection to audit.")
@click.option("--name", required=True, help="Of the audit.")
@click.option("--per-stratum", type=click.IntRange(1), default=500, show_default=True, help="Pictures of each stratum.")
@click.option("--near", metavar="SQL", help="Pictures near a threshold: strata of their own.")
@SEED
@OUTPUT
@FORMAT
def audit_sample(
    dataset: Path,
    selection: str,
    name: str,
    per_stratum: int,
    near: str | None,
    seed: int,
    output: Path | None,
    form: str,
) -> None:
    """Draw the sample and write it for people.

    Written are a sheet to fill in and a folder for the arena. Raters do not see the decision.

    \b
    Example:
      salon curate audit sample birds --selection v1 --name first --per-stratum 500 --near "sharpness BETWEEN 70 AND 90"
      salon arena serve birds/audits/first/pictures --prompts birds/audits/first/prompts.jsonl --task checks
    """
    from salon_curate.audits import sample_audit

    opened = _opened(dataset)
    sampled = sample_audit(
        opened, _pipeline(dataset).stages, selection, name, per_stratum=per_stratum, near=near, seed=seed,
    )  # fmt: skip
    deliver(
        Table(
            ("stratum", "in the data set", "in the sample"),
            [(name, as_cell(known), as_cell(drawn)) for name, (known, drawn) in sampled.strata.items()],
        ),
        [{"stratum": name, "pictures": known, "sampled": drawn} for name, (known, drawn) in sampled.strata.items()],
        form=form,
        output=output,
        further=[f"{sampled.pictures:,} pictures: {sampled.folder / 'sheet.csv'}"],
        json=lambda: as_json(asdict(sampled)),
    )


@audit.command("score")
@_DATASET
@click.argument("name")
@click.argument("answers", type=InputPath())
@SEED
@OUTPUT
@FORMAT
def audit_score(dataset: Path, name: str, answers: Path, seed: int, output: Path | None, form: str) -> None:
    """Score ANSWERS about the audit NAME: precision, recall and agreement of the whole data set.

    ANSWERS is a CSV table (key, rater, accept), or the store that an arena exported to.

    \b
    Example:
      salon curate audit score birds first answers.csv
      salon curate audit score birds first results
    """
    from salon_curate.audits import score_audit

    scored = score_audit(_opened(dataset), name, answers, seed=seed)
    rows, values = [], []
    for label in ("precision", "negative_value", "recall", "agreement"):
        estimate = getattr(scored, label)
        interval = "–" if estimate.low is None else f"{estimate.low:.3f} to {estimate.high:.3f}"
        rows.append((label.replace("_", " "), as_cell(estimate.value), interval))
        values.append({"estimate": label, **asdict(estimate)})
    rated = f"{scored.rated:,} pictures rated, {scored.missing:,} missing; κ of two raters: {as_cell(scored.kappa)}"
    deliver(
        Table(("of the whole data set", "estimate", "95% interval (Jeffreys, by stratum)"), rows),
        values,
        form=form,
        output=output,
        further=[rated],
        json=lambda: as_json(asdict(scored)),
    )
    if scored.careless and form == "table":
        click.echo(f"accepted a blank picture: {', '.join(scored.careless)}", err=True)


@curate.command()
@_DATASET
@click.option("--stage", required=True, metavar="NAME", help="The expensive judge's stage, with `when` and `explore`.")
@click.option("--keeps", required=True, metavar="SQL", help="What the expensive judge keeps.")
@click.option("--epsilon", type=FiniteRange(0, 1, min_open=True), help="Exit with 1 where the bound is above this.")
@FORMAT
def cascade(dataset: Path, stage: str, keeps: str, epsilon: float | None, form: str) -> None:
    """Bound what a stage's `when` loses: the share of the pictures it drops that the expensive judge would keep.

    \b
    Example:
      salon curate cascade birds --stage agreement --keeps agrees --epsilon 0.05
    """
    from salon_curate.cascade import cascade_loss

    loss = cascade_loss(_opened(dataset), _pipeline(dataset).stages, stage, {"keeps": keeps})
    if form == "json":
        print_json(asdict(loss))
    else:
        click.echo(
            f"{loss.kept_by_expensive:,} of {loss.explored:,} explored pictures are kept by the expensive judge; with "
            f"{loss.confidence:.0%} confidence at most {loss.upper:.4f} of the "
            f"{loss.dropped:,} dropped ones would be (Clopper–Pearson)"
        )
    if epsilon is not None and loss.upper > epsilon:
        raise IncompleteError(f"the loss may be {loss.upper:.4f}, above {epsilon:g}: explore more, or loosen `when`")


@curate.command()
@_DATASET
@click.option("--selection", required=True, metavar="NAME", help="The saved selection to release.")
@click.option("--name", "version", required=True, metavar="VERSION", help="Of the release: v1.")
@click.option("--column", "columns", multiple=True, help="A stage's column to release; may be repeated.")
@click.option("--audit", "audit_name", metavar="NAME", help="The audit for the card; of the same conditions.")
@click.option("--min-precision", type=FiniteRange(0, 1), help="Refuse below this lower bound of the audit's precision.")
@click.option("--split", metavar="COLUMN", help="The column of the splits (stage `split`). Default: all is train.")
@click.option(
    "--to",
    type=click.Choice(["datasets", "webdataset"]),
    default="datasets",
    show_default=True,
    help="Parquet as datasets reads it, or webdataset archives.",
)
@FORMAT
def release(
    dataset: Path,
    selection: str,
    version: str,
    columns: tuple[str, ...],
    audit_name: str | None,
    min_precision: float | None,
    split: str | None,
    to: str,
    form: str,
) -> None:
    """Write the kept pictures with a card, a manifest of every file, its Merkle root, and Croissant metadata.

    \b
    Example:
      salon curate release birds --selection v1 --name v1 --audit first --min-precision 0.9 --split split
    """
    from salon_curate.release import release as write

    opened = _opened(dataset)
    released = write(
        opened, _pipeline(dataset).stages, selection, version, columns=columns, audit=audit_name,
        min_precision=min_precision, split=split, form="webdataset" if to == "webdataset" else "datasets",
    )  # fmt: skip
    if form == "json":
        print_json(asdict(released))
        return
    counts = ", ".join(f"{name} {count:,}" for name, count in released.pictures.items())
    click.echo(f"{released.folder}: {counts}; Merkle root {released.merkle_root}")


@curate.command()
@click.argument("folder", type=OutputPath(file_okay=False, dir_okay=True))
@click.option("--per-category", type=click.IntRange(1), default=40, show_default=True, help="Pictures of each kind of prompts.")
@OUTPUT
@FORMAT
def demo(folder: Path, per_category: int, output: Path | None, form: str) -> None:
    """Build a data set of drawn pictures from prompts to a release, offline, and measure each stage against the truth.

    \b
    Example:
      salon curate demo curated
    """
    from salon_curate.demo import demo as build

    built = build(folder, per_category=per_category)
    rows = [(each.condition, *map(as_cell, (each.kept, each.precision, each.recall))) for each in built.worth]
    precision = built.audit.precision
    deliver(
        Table(("conditions up to", "kept", "precision", "recall"), rows),
        [asdict(each) for each in built.worth],
        form=form,
        output=output,
        further=[
            f"audit by two simulated raters: precision {as_cell(precision.value)}, "
            f"95% interval {as_cell(precision.low)} to {as_cell(precision.high)}",
            f"the cheap judge loses at most {built.loss.upper:.3f} of what it drops (95%, {built.loss.explored} explored)",
            f"released: {built.release.folder}, {sum(built.release.pictures.values())} pictures; page: {built.page}",
        ],
        json=lambda: as_json(asdict(built)),
    )


def _opened(folder: Path) -> "DataSet":
    from salon_curate.dataset import DataSet

    return DataSet.open(folder)


def _pipeline(folder: Path, *, limits: Any = None, asks: bool = False, now: tuple[str, str] | None = None) -> "Pipeline":
    from salon_curate.pipeline import PIPELINE, read_pipeline

    return read_pipeline(folder / PIPELINE, environment=os.environ, limits=limits, asks=asks, now=now)


def _shard_range(text: str | None, count: int) -> range | None:
    if text is None:
        return None
    first, dash, last = text.partition("-")
    if not text.isascii() or not first.isdigit() or (dash and not last.isdigit()):
        raise InputError("must be A-B, two numbers", column="shards", value=text)
    chosen = range(int(first), min(count, int(last or first) + 1))
    if not chosen:
        raise InputError(f"there are shards 0 to {count - 1}, not", column="shards", value=text)
    return chosen


def _watcher() -> "Callable[[StageProgress], None]":
    """Return a callback that prints progress to standard error, at most once a second."""
    last_shown = [0.0]

    def watch(progress: "StageProgress") -> None:
        now = time.monotonic()
        if now - last_shown[0] < _WORK_SECONDS and progress.done < progress.total:
            return
        last_shown[0] = now
        eta = progress.eta_seconds
        left = "" if eta is None or progress.done == progress.total else f", {eta:,.0f} s left"
        line = (
            f"{progress.stage}: {progress.done:,} of {progress.total:,} shards, {progress.rows:,} pictures, "
            f"{progress.pictures_per_second:,.0f}/s{left}, {progress.problems:,} without a value"
        )
        click.echo(line, err=True)

    return watch
