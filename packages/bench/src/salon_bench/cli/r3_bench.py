"""``salon bench r3-bench``: the four stages of R³-Bench. Parse, one library call each, print."""

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import rich_click as click

from salon_bench.cli.options import limits_of, opened, pace_of, watching, work_options
from salon_console.file_options import InputPath
from salon_console.options import FORMAT, OUTPUT, STORE, seed_option
from salon_console.output import as_json, cells, deliver, print_table
from salon_console.shown_result import joined_views
from salon_taxonomy.errors import IncompleteError
from salon_taxonomy.store_address import StoreAddress

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from contextlib import AbstractContextManager

    from salon_bench.runs.progress import RunProgress, Watcher
    from salon_bench.suites.contract.suite import Summary
    from salon_bench.suites.r3_bench.workspace import Workspace
    from salon_judges.asking.spending import RunLimits
    from salon_taxonomy.answers.reading import Fidelity
    from salon_taxonomy.plugins import JudgeSettings, ManagedEditor
    from salon_taxonomy.protocols import Judge

T = TypeVar("T")
_EDITS_IN_FLIGHT = 8

_WORK = click.option(
    "--work",
    "folder",
    required=True,
    type=InputPath(file_okay=False, made=True),
    help="The folder of this policy's stages.",
)
_STAGES = ("reflect", "edit", "explanations", "images")


@click.group("r3-bench")
def r3_bench() -> None:
    """R³-Bench: a model says what is wrong with a picture, and an editor follows its instruction.

    \b
    Example:
      salon bench r3-bench run --rows rows.jsonl --policy vllm:Qwen/Qwen3-VL-8B@localhost:8000 \\
          --editor draw --judge judge.toml --work work/qwen
      salon bench r3-bench report --work work/qwen
    """


@r3_bench.command()
@_WORK
@STORE
@OUTPUT
@FORMAT
def report(folder: Path, store: StoreAddress, output: Path | None, form: str) -> None:
    """Show the numbers of the stages that were run: verdict accuracy, S_ref, S_rect, better and worse pictures.

    \b
    Example:
      salon bench r3-bench report --work work/qwen
      salon bench r3-bench report --work work/qwen --format json
    """
    from salon_bench.suites.r3_bench.workspace import Workspace

    _show(Workspace.open(folder), store, form, output)


@r3_bench.command()
@click.option(
    "--stage",
    "stages",
    multiple=True,
    type=click.Choice(_STAGES),
    help="Run this stage alone; repeat. Default: all four, in this order.",
)
@click.option("--rows", type=InputPath(), help="Your copy of the released rows, or drawn ones. Of reflect.")
@click.option(
    "--images", type=InputPath(file_okay=False), help="The folder that bad_image starts from. Default: that of the rows."
)
@click.option("--limit", type=click.IntRange(1), help="The first so many rows. Default: all.")
@click.option("--policy", metavar="SPEC", help="The model under test: KIND:MODEL@URL or a TOML file. Of reflect.")
@click.option(
    "--fidelity",
    type=click.Choice(["paper", "released"]),
    default="paper",
    show_default=True,
    help="How the policy's replies are read; released: as the authors' script does (\"false\" in quotation marks counts).",
)
@click.option("--editor", metavar="SPEC", help="Who changes pictures: draw, or KIND:MODEL@URL. Of edit.")
@click.option("--judge", metavar="SPEC", help="Who judges explanations and images: KIND:MODEL@URL or a TOML file.")
@seed_option("For editors that take one.")
@_WORK
@STORE
@work_options
@OUTPUT
@FORMAT
def run(
    stages: tuple[str, ...],
    rows: Path | None,
    images: Path | None,
    limit: int | None,
    policy: str | None,
    fidelity: "Fidelity",
    editor: str | None,
    judge: str | None,
    seed: int,
    folder: Path,
    store: StoreAddress,
    output: Path | None,
    form: str,
    **work: Any,
) -> None:
    """Run all four stages, or those named. The same command again continues where it was stopped.

    1 reflect: the policy says of each picture whether it matches, what differs and how to edit it. 2 edit: the editor carries
    that out. 3 explanations: a judge of texts compares the policy's explanations with the annotated ones; gives S_ref.
    4 images: a judge answers yes/no questions before and after each edit; gives S_rect.

    One judge serves both judged stages of a call; --stage runs one with a judge of its own. Limits hold for all stages of a
    call together; an edit is a call, but editors report neither tokens nor cost.

    \b
    Example:
      salon bench r3-bench run --rows rows.jsonl --policy vllm:Qwen/Qwen3-VL-8B@localhost:8000 \\
          --editor draw --judge judge.toml --work work/qwen
      salon bench r3-bench run --stage images --judge other.toml --work work/qwen
    """
    from salon_bench.suites.r3_bench.workspace import Workspace
    from salon_judges.editors import open_editor

    named: dict[str, dict[str, Path | str | None]] = {
        "reflect": {"--rows": rows, "--policy": policy},
        "edit": {"--editor": editor},
        "explanations": {"--judge": judge},
        "images": {"--judge": judge},
    }
    wanted = [stage for stage in _STAGES if stage in stages or not stages]
    for stage in wanted:
        for option, value in named[stage].items():
            if value is None:
                raise click.UsageError(f"Missing option '{option}', for the stage {stage}.")
    chain = _Chain(store, work)
    judges = {stage: chain.opened(str(named[stage].get("--policy") or named[stage]["--judge"]))
              for stage in wanted if stage != "edit"}  # fmt: skip
    opened_editor = open_editor(str(editor), os.environ) if "edit" in wanted else None
    if rows is not None and "reflect" in wanted:
        space = _begun(rows, images, limit, judges["reflect"][0], folder)
    else:
        space = Workspace.open(folder)
    for stage in wanted:
        if opened_editor is not None and stage == "edit":
            chain.edit(space, opened_editor, seed)
        else:
            chain.stage(space, stage, *judges[stage], fidelity=fidelity if stage == "reflect" else "paper")
    _show(space, store, form, output)


# ------------------------------------------------------------------------------------------------------------- one stage


def _begun(rows: Path, images: Path | None, limit: int | None, policy: "Judge", work: Path) -> "Workspace":
    from salon_bench.cli.reporting import announced
    from salon_bench.suites.r3_bench.workspace import Workspace
    from salon_judges.formats.r3_bench import read_items

    usable = announced(read_items(rows, images))
    return Workspace.begin(work, policy.name, usable[:limit], left_out=usable.remarks())


class _Chain:
    """Stages one after the other under the limits of one command.

    A stage that is not complete ends the command, unless only calls failed and that is allowed: after a limit or Ctrl-C no
    further stage is begun.
    """

    def __init__(self, store: StoreAddress, work: Mapping[str, Any]) -> None:
        from salon_judges.asking.spending import Spending

        self._store = store
        self._work = work
        self._spending = Spending(limits_of(work))

    def opened(self, specification: str) -> "tuple[Judge, JudgeSettings]":
        from salon_judges.clients.specification import read_settings

        settings = read_settings(specification)
        return opened(settings, self._work), settings

    def stage(
        self, space: "Workspace", stage: str, judge: "Judge", settings: "JudgeSettings", fidelity: "Fidelity" = "paper"
    ) -> None:
        from salon_bench.cli.reporting import announce_start
        from salon_bench.runs.checkpoint import fold_apart
        from salon_bench.suites.r3_bench.stages import StageOptions, run_stage
        from salon_judges.clients.wrapping import remarks_of

        if space.without_rows(stage):
            click.echo(f"{stage}: no row is misaligned, so there is nothing to ask.", err=True)
            return
        limits = self._left(stage)
        with self._watching(stage) as watcher:
            options = StageOptions(
                settings=settings.model_dump(mode="json"),
                limits=limits,
                pace=pace_of(judge, self._work),
                keep_lost=self._work["allow_incomplete"],
                watcher=watcher,
                fold=fold_apart,
                on_start=announce_start,
                fidelity=fidelity,
            )
            outcome = _run(run_stage(space, stage, judge, self._store, options), stage)
        for words in remarks_of(judge):
            click.echo(words, err=True)
        if outcome is None:
            from salon_bench.cli.reporting import announce_continues
            from salon_bench.runs.status import run_status

            announce_continues(run_status(self._store, space.run_of(stage)))
            return
        self._ended(stage, "cases", outcome.progress, outcome.stopped)

    def edit(self, space: "Workspace", editor: "ManagedEditor", seed: int) -> None:
        from salon_bench.cli.reporting import announce_start
        from salon_bench.runs.checkpoint import fold_apart
        from salon_bench.suites.r3_bench.editing import edit_pictures

        limits = self._left("edit")
        with self._watching("edit") as watcher:
            job = edit_pictures(
                space,
                editor,
                self._store,
                seed=seed,
                concurrency=self._work["concurrency"] or _EDITS_IN_FLIGHT,
                keep_failed=self._work["allow_incomplete"],
                limits=limits,
                watcher=watcher,
                fold=fold_apart,
                on_start=lambda session: announce_start(session, "rows"),
            )
            done = _run(job, "edit")
        states = ", ".join(f"{count} {state}" for state, count in done.states.items())
        self._ended("edit", "rows", done.progress, done.stopped, f"; {states or 'nothing to edit'}")

    def _watching(self, stage: str) -> "AbstractContextManager[Watcher]":
        return watching(self._work, stage)

    def _left(self, stage: str) -> "RunLimits":
        """Return what the stages before have left of the limits."""
        why = self._spending.refusal()
        if why is not None:
            self._leave(f"{stage}: not begun, {why}")
        return self._spending.left()

    def _ended(self, stage: str, things: str, progress: "RunProgress", stopped: str | None, more: str = "") -> None:
        from salon_bench.cli.reporting import lost, remark

        self._spending.add(progress)
        click.echo(f"{stage}: {remark(progress.fields(), things)}{more}", err=True)
        if stopped is not None:
            self._leave(f"{stage}: work is left: {stopped}")
        if progress.open and not self._work["allow_incomplete"]:
            self._leave(f"{stage}: work is left: {lost(progress.fields(), things)}")

    def _leave(self, why: str) -> NoReturn:
        """End the command here; with 0 where that is allowed."""
        if self._work["allow_incomplete"]:
            click.echo(f"{why}. The same command again continues.", err=True)
            sys.exit(0)
        raise IncompleteError(f"{why}\nGive the same command again to continue, or --allow-incomplete.")


def _run(job: "Coroutine[Any, Any, T]", stage: str) -> T:
    try:
        return asyncio.run(job)
    except asyncio.CancelledError:
        raise IncompleteError(f"{stage}: stopped at once; the same command again continues") from None


def _show(space: "Workspace", store: StoreAddress, form: str, output: Path | None) -> None:
    from salon_bench.runs.view import numbers_view
    from salon_bench.suites.r3_bench.stages import stage_summaries

    summaries = stage_summaries(space, store)
    document: dict[str, Any] = {
        stage: {"run_id": space.runs[stage], "table": summary.table.to_dicts(), "notes": list(summary.notes)}
        for stage, summary in summaries.items()
    }
    everything = {"policy": space.policy, "left_out": list(space.left_out), "stages": document}
    view = joined_views([numbers_view(stage, each) for stage, each in summaries.items()], list(summaries), "stage")
    values = [{"stage": stage, **row} for stage, summary in summaries.items() for row in summary.table.to_dicts()]
    deliver(
        view.table,
        values,
        form=form,
        output=output,
        show=lambda: _show_stages(space, summaries),
        json=lambda: as_json(everything),
    )


def _show_stages(space: "Workspace", summaries: "Mapping[str, Summary]") -> None:
    for stage, summary in summaries.items():
        click.echo(f"\n{space.policy}, {stage} (run {space.runs[stage]})")
        columns = summary.table.columns
        print_table(columns, cells(summary.table.to_dicts()), right=columns[2:])
        for note in summary.notes:
            click.echo(note)
    if space.left_out:
        click.echo("\n" + "\n".join(space.left_out))
