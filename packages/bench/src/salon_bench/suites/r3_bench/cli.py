"""``salon bench r3-bench``: the four stages of R³-Bench. Parse, one library call each, print."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from salon_bench.running.options import FORMAT, STORE
from salon_taxonomy.errors import IncompleteError

if TYPE_CHECKING:
    from salon_bench.suites.r3_bench.stages import StageOptions
    from salon_bench.suites.r3_bench.workspace import Workspace
    from salon_taxonomy.protocols import Judge

_WORK = click.option(
    "--work", required=True, type=click.Path(file_okay=False, path_type=Path), help="The folder of this policy's stages."
)
_ROWS = click.option(
    "--rows", required=True, type=click.Path(path_type=Path), help="Your copy of the released rows, or drawn ones."
)
_IMAGES = click.option(
    "--images", type=click.Path(path_type=Path), help="The folder that bad_image starts from. Default: that of the rows."
)
_LIMIT = click.option("--limit", type=click.IntRange(1), help="The first so many rows. Default: all.")
_CONCURRENCY = click.option(
    "--concurrency", type=click.IntRange(1, 4096), default=8, show_default=True, help="Calls in flight."
)
_INCOMPLETE = click.option(
    "--allow-incomplete", is_flag=True, help="Go on and exit with 0 though calls failed; their rows are unscored for good."
)
_EDITOR = click.option("--editor", required=True, metavar="SPEC", help="Who changes pictures: draw, or KIND:MODEL@URL.")
_SEED = click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="For editors that take one.")
_POLICY = click.option("--policy", required=True, metavar="SPEC", help="The model under test: KIND:MODEL@URL or a TOML file.")
_JUDGE = click.option("--judge", required=True, metavar="SPEC", help="Who judges: KIND:MODEL@URL or a TOML file.")


@click.group("r3-bench")
def r3_bench() -> None:
    """R³-Bench: can a model say what is wrong with a picture, and does what it tells an editor set it right?

    \b
    Example:
      salon bench r3-bench run --rows rows.jsonl --policy vllm:Qwen/Qwen3-VL-8B@localhost:8000 \\
          --editor draw --judge judge.toml --work work/qwen
      salon bench r3-bench report --work work/qwen
    """


@r3_bench.command()
@_ROWS
@_IMAGES
@_LIMIT
@_POLICY
@_WORK
@STORE
@_CONCURRENCY
@_INCOMPLETE
def reflect(
    rows: Path,
    images: Path | None,
    limit: int | None,
    policy: str,
    work: Path,
    store: Path,
    concurrency: int,
    allow_incomplete: bool,
) -> None:
    """Stage 1: the policy says of each picture whether it matches, what differs and how to edit it.

    \b
    Example:
      salon bench r3-bench reflect --rows rows.jsonl --policy vllm:Qwen/Qwen3-VL-8B@localhost:8000 --work work/qwen
    """
    judge, options = _opened(policy, concurrency, allow_incomplete)
    _stage(_begun(rows, images, limit, judge, work), "reflect", judge, store, options)


@r3_bench.command()
@_WORK
@_EDITOR
@_SEED
@STORE
@_CONCURRENCY
@_INCOMPLETE
def edit(work: Path, editor: str, seed: int, store: Path, concurrency: int, allow_incomplete: bool) -> None:
    """Stage 2: the editor carries out what the policy asked for; pictures stay in the work folder.

    \b
    Example:
      salon bench r3-bench edit --work work/qwen --editor draw
    """
    from salon_bench.suites.r3_bench.workspace import Workspace

    _edit(Workspace.open(work), editor, seed, store, concurrency, allow_incomplete)


@r3_bench.command()
@_WORK
@_JUDGE
@STORE
@_CONCURRENCY
@_INCOMPLETE
def explanations(work: Path, judge: str, store: Path, concurrency: int, allow_incomplete: bool) -> None:
    """Stage 3: a judge of texts compares the policy's explanations with the annotated ones; gives S_ref.

    \b
    Example:
      salon bench r3-bench explanations --work work/qwen --judge vllm:Qwen/Qwen3-235B@localhost:8000
    """
    from salon_bench.suites.r3_bench.workspace import Workspace

    opened, options = _opened(judge, concurrency, allow_incomplete)
    _stage(Workspace.open(work), "explanations", opened, store, options)


@r3_bench.command()
@_WORK
@_JUDGE
@STORE
@_CONCURRENCY
@_INCOMPLETE
def images(work: Path, judge: str, store: Path, concurrency: int, allow_incomplete: bool) -> None:
    """Stage 4: a judge of pictures answers yes/no questions before and after each edit; gives S_rect.

    \b
    Example:
      salon bench r3-bench images --work work/qwen --judge vllm:Qwen/Qwen3-VL-235B@localhost:8000
    """
    from salon_bench.suites.r3_bench.workspace import Workspace

    opened, options = _opened(judge, concurrency, allow_incomplete)
    _stage(Workspace.open(work), "images", opened, store, options)


@r3_bench.command()
@_WORK
@STORE
@FORMAT
def report(work: Path, store: Path, form: str) -> None:
    """Show the numbers of the stages that were run: verdict accuracy, S_ref, S_rect, better and worse pictures.

    \b
    Example:
      salon bench r3-bench report --work work/qwen
      salon bench r3-bench report --work work/qwen --format json
    """
    from salon_bench.suites.r3_bench.workspace import Workspace

    _show(Workspace.open(work), store, form)


@r3_bench.command()
@_ROWS
@_IMAGES
@_LIMIT
@_POLICY
@_EDITOR
@_JUDGE
@click.option("--explanation-judge", metavar="SPEC", help="Who compares explanations. Default: the judge.")
@_SEED
@_WORK
@STORE
@_CONCURRENCY
@_INCOMPLETE
@FORMAT
def run(
    rows: Path,
    images: Path | None,
    limit: int | None,
    policy: str,
    editor: str,
    judge: str,
    explanation_judge: str | None,
    seed: int,
    work: Path,
    store: Path,
    concurrency: int,
    allow_incomplete: bool,
    form: str,
) -> None:
    """All four stages, and their numbers. The same command again goes on where it was stopped.

    \b
    Example:
      salon bench r3-bench run --rows rows.jsonl --policy vllm:Qwen/Qwen3-VL-8B@localhost:8000 \\
          --editor draw --judge judge.toml --work work/qwen
    """
    model, options = _opened(policy, concurrency, allow_incomplete)
    space = _begun(rows, images, limit, model, work)
    _stage(space, "reflect", model, store, options)
    _edit(space, editor, seed, store, concurrency, allow_incomplete)
    for stage, specification in (("explanations", explanation_judge or judge), ("images", judge)):
        opened, options = _opened(specification, concurrency, allow_incomplete)
        _stage(space, stage, opened, store, options)
    _show(space, store, form)


# ------------------------------------------------------------------------------------------------------------- one stage


def _begun(rows: Path, images: Path | None, limit: int | None, policy: "Judge", work: Path) -> "Workspace":
    from salon_bench.suites.r3_bench.rows import read_items
    from salon_bench.suites.r3_bench.workspace import Workspace

    return Workspace.begin(work, policy.name, read_items(rows, images)[:limit])


def _opened(specification: str, concurrency: int, allow_incomplete: bool) -> "tuple[Judge, StageOptions]":
    from salon_bench.judges.specification import open_settings, read_settings
    from salon_bench.running.folding import fold_apart
    from salon_bench.running.runner import Pace
    from salon_bench.suites.r3_bench.stages import StageOptions

    settings = read_settings(specification)
    options = StageOptions(
        settings=settings.model_dump(mode="json"), pace=Pace(concurrency), keep_lost=allow_incomplete, fold=fold_apart
    )
    return open_settings(settings, os.environ), options


def _stage(space: "Workspace", stage: str, judge: "Judge", store: Path, options: "StageOptions") -> None:
    from salon_bench.running.reporting import remark
    from salon_bench.running.watching import progress_fields
    from salon_bench.suites.r3_bench.stages import run_stage

    outcome = asyncio.run(run_stage(space, stage, judge, store, options))
    if outcome is None:
        click.echo(f"{stage}: finished before (run {space.run_of(stage)}); nobody is asked.", err=True)
        return
    click.echo(f"{stage}: {remark(progress_fields(outcome.progress))}", err=True)
    if not outcome.complete and not options.keep_lost:
        left = outcome.stopped or f"{outcome.progress.open} cases got no reply to a question"
        raise IncompleteError(f"{stage}: work is left: {left}\nGive the same command again to go on, or --allow-incomplete.")


def _edit(space: "Workspace", editor: str, seed: int, store: Path, concurrency: int, allow_incomplete: bool) -> None:
    from salon_bench.editors import open_editor
    from salon_bench.running.folding import fold_apart
    from salon_bench.suites.r3_bench.editing import edit_pictures

    job = edit_pictures(
        space,
        open_editor(editor, os.environ),
        store,
        seed=seed,
        concurrency=concurrency,
        keep_failed=allow_incomplete,
        fold=fold_apart,
    )
    done = asyncio.run(job)
    states = ", ".join(f"{count} {state}" for state, count in done.states.items())
    click.echo(f"edit: {states or 'nothing to edit'}; {done.attempted} calls", err=True)
    if done.open:
        raise IncompleteError(f"edit: {done.open} calls failed\nGive the same command again to go on, or --allow-incomplete.")


def _show(space: "Workspace", store: Path, form: str) -> None:
    from rich.console import Console

    from salon_bench.running.reporting import cells, table_of
    from salon_bench.suites.r3_bench.stages import stage_summaries

    found = stage_summaries(space, store)
    if form == "json":
        document: dict[str, Any] = {
            stage: {"run_id": space.runs[stage], "table": summary.table.to_dicts(), "notes": list(summary.notes)}
            for stage, summary in found.items()
        }
        click.echo(json.dumps({"policy": space.policy, "stages": document}, indent=2, ensure_ascii=False))
        return
    for stage, summary in found.items():
        click.echo(f"\n{space.policy}, {stage} (run {space.runs[stage]})")
        lines = cells(summary.table.to_dicts())
        (Console() if sys.stdout.isatty() else Console(width=180)).print(table_of(summary.table.columns, lines))
        for note in summary.notes:
            click.echo(note)
