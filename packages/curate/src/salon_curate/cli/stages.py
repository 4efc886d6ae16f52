"""``salon curate run | status | verify | plan | drift``: the stages of a pipeline."""

import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from salon_console.numbers import counted
from salon_console.options import FORMAT, OUTPUT, FiniteRange, resumable
from salon_console.output import as_json, deliver, print_continues, print_json
from salon_console.table_files import Table
from salon_curate.cli.options import DATASET, SEED, as_cell, open_dataset, open_pipeline
from salon_taxonomy.errors import IncompleteError, InputError

if TYPE_CHECKING:
    from salon_curate.planning import EstimatedTotal
    from salon_curate.running import StageProgress

_WORK_SECONDS = 1.0


@click.command()
@DATASET
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
    opened = open_dataset(dataset)
    limits = RunLimits(cost_usd=max_cost, calls=max_calls)
    pipeline = open_pipeline(dataset, limits=limits, asks=True)
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
        missing = f"{counted(result.problems, 'row')} without a value"
        click.echo(f"{counted(result.made, 'part')} made, {result.kept:,} were there; {missing}")
    for line in result.set_aside[:10]:
        click.echo(line, err=True)
    if result.stopped:
        raise IncompleteError(f"{result.stopped}; the same command continues")
    if result.set_aside:
        raise IncompleteError(f"not finished: {counted(len(result.set_aside), 'shard')}; the same command tries again")


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


@click.command()
@DATASET
@OUTPUT
@FORMAT
def status(dataset: Path, output: Path | None, form: str) -> None:
    """Show how far every stage is.

    \b
    Example:
      salon curate status birds
    """
    from salon_curate.running import status as status_of

    opened = open_dataset(dataset)
    stages = status_of(opened, open_pipeline(dataset).stages)
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


@click.command()
@DATASET
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
        opened = open_dataset(dataset)
        shards, wrong = len(opened.shards), verify_all(opened, open_pipeline(dataset).stages)
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


@click.command()
@DATASET
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

    opened, stages = open_dataset(dataset), open_pipeline(dataset, asks=True).stages
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
    asked = counted(sum(each.asked for each in stage_plans), "question")
    deliver(
        Table(header, rows),
        values,
        form=form,
        output=output,
        further=[
            f"asked in the shards that were run: {asked}, whose replies are kept",
            "± is half of Student's 95% interval over the shards that were run",
            f"wall-clock time with {crew} and 1 judge: {time_taken}",
        ],
        json=lambda: as_json({"stages": values, "wall_seconds": wall}),
    )


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


@click.command()
@DATASET
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
    from salon_curate.judging import JudgedStage

    opened, stages = open_dataset(dataset), open_pipeline(dataset, asks=True).stages
    again = None if now is None else next(
        (each for each in open_pipeline(dataset, asks=True, now=(stage, now)).stages if each.name == stage), None
    )  # fmt: skip
    if again is not None and not isinstance(again, JudgedStage):
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
