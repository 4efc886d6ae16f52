"""``salon refine``: a judge and an editor make pictures better. Parse, one library call, print."""

import asyncio
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from salon_bench.cli.options import LOG_JSON, limit_options, limits_of, opened, watching
from salon_console.file_options import InputPath, OutputPath
from salon_console.options import FORMAT, STORE
from salon_console.output import print_json
from salon_taxonomy.errors import IncompleteError, InputError
from salon_taxonomy.store_address import StoreAddress

if TYPE_CHECKING:
    from salon_bench.refine.batch import Refined
    from salon_bench.refine.items import RefineItem
    from salon_bench.refine.steps import RefineModels
    from salon_taxonomy.protocols import Judge

_METHODS = ["refine", "verifier", "resubmit", "best-of-n"]


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--prompt", help="What the picture should show; with --image.")
@click.option("--image", type=InputPath(dir_okay=False), help="The picture; with --prompt.")
@click.option("--items", type=InputPath(), help="Many: a table with prompt, image and maybe id, or rows of R³-Bench.")
@click.option("--images", type=InputPath(), help="The folder that a table names pictures from. Default: its own.")
@click.option(
    "--editor",
    required=True,
    metavar="SPEC",
    help="The editor: draw, draw:prompt (also draws prompts), or KIND:MODEL@URL.",
)
@click.option("--judge", metavar="SPEC", help="Who says what to change, one judge: KIND:MODEL@URL or a TOML file.")
@click.option(
    "--scorer",
    "scorers",
    multiple=True,
    metavar="SPEC",
    help="Who answers yes/no questions: for best-of-n and --check. decompose=SPEC and check=SPEC: one that finds the "
    "questions, one that answers them. scorer:FUNCTION gives every picture its score instead.",
)
@click.option(
    "--method", type=click.Choice(_METHODS), default="refine", show_default=True, help="The loop, or what it is compared with."
)
@click.option("--max-rounds", type=click.IntRange(1, 100), default=2, show_default=True, help="Edits one after the other.")
@click.option("--candidates", type=click.IntRange(1, 100), default=4, show_default=True, help="Edits side by side (best-of-n).")
@click.option("--check", is_flag=True, help="Have the scorer check the first and the final picture of each item.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the first edit of an item.")
@click.option(
    "--output",
    type=OutputPath(dir_okay=True, file_okay=False),
    default=Path("refined"),
    show_default=True,
    help="For the pictures.",
)
@STORE
@click.option("--concurrency", type=click.IntRange(1, 1024), default=4, show_default=True, help="Items at work at once.")
@limit_options
@click.option(
    "--allow-incomplete", is_flag=True, help="Exit with 0 though calls failed, a limit was reached or a picture is unreadable."
)
@LOG_JSON
@FORMAT
def refine(
    prompt: str | None,
    image: Path | None,
    items: Path | None,
    images: Path | None,
    editor: str,
    judge: str | None,
    scorers: tuple[str, ...],
    method: str,
    max_rounds: int,
    candidates: int,
    check: bool,
    seed: int,
    output: Path,
    store: StoreAddress,
    concurrency: int,
    allow_incomplete: bool,
    form: str,
    **work: Any,
) -> None:
    """Let a judge and an editor improve a picture, round by round, until it shows what was asked for.

    Every round is kept: its picture below OUTPUT, its rows in the store, all side by side in OUTPUT/trace.html. The same
    command again continues where it was stopped. Baselines: resubmit tells the editor the prompt itself; best-of-n makes
    candidates from which the scorer chooses; verifier is the loop with a judge that was not trained for it.

    Limits hold for questions and edits together; an edit is a call, but editors report neither tokens nor cost.

    \b
    Example:
      salon refine --prompt "a red cube left of a blue ball" --image cube.png --judge judge.toml --editor draw
      salon refine --items rows.jsonl --judge judge.toml --editor draw --scorer judge.toml --check --output refined
      salon refine --items rows.jsonl --method best-of-n --candidates 4 --scorer judge.toml --editor draw:prompt --output best
      salon refine --items rows.jsonl --judge judge.toml --editor openai:gpt-image-1 --max-cost 5 --max-calls 400
    """
    from salon_bench.cli.reporting import announce_start
    from salon_bench.refine.batch import refine_all
    from salon_bench.refine.items import PAGE
    from salon_bench.refine.loop import Effort, Method
    from salon_bench.refine.steps import RefineModels
    from salon_bench.report.trace_page import write_trace_page
    from salon_bench.runs.checkpoint import fold_apart
    from salon_judges.clients.routing import step_and_judge
    from salon_judges.editors import open_editor

    _refuse_deaf(editor, method)
    if judge is not None and step_and_judge(judge)[0] is not None:
        hint = "Only --scorer is asked at several steps: --scorer decompose=SPEC --scorer check=SPEC."
        raise InputError("one judge says what to change; there are no steps to name:", source="--judge", value=judge, hint=hint)
    chosen = _items(prompt, image, items, images)
    models = RefineModels(open_editor(editor, os.environ), _judge([judge] if judge else [], work), _judge(scorers, work))
    effort = Effort(max_rounds, candidates)
    limits = limits_of(work)
    with watching(work, method) as watcher:
        job = refine_all(
            chosen,
            models,
            output,
            store,
            method=Method(method),
            effort=effort,
            check=check,
            seed=seed,
            concurrency=concurrency,
            limits=limits,
            watcher=watcher,
            fold=fold_apart,
            on_start=lambda session: announce_start(session, "items"),
        )
        try:
            refined = asyncio.run(job)
        except asyncio.CancelledError:
            raise IncompleteError("stopped at once; the same command again continues") from None
    page = output / PAGE
    write_trace_page(page, refined.subject, refined.traces)
    _show(refined, page, form, models)
    _say_what_is_left(refined, models, allowed=allow_incomplete)


def _say_what_is_left(refined: "Refined", models: "RefineModels", *, allowed: bool) -> None:
    from salon_bench.cli.reporting import remark, shortened
    from salon_judges.clients.wrapping import remarks_of
    from salon_taxonomy.verdict import Reason, Unscored

    click.echo(remark(refined.progress.fields(), "items"), err=True)
    unreadable = {
        trace.item.item_id: f"{trace.item.picture} (item {trace.item.item_id}): {one.detail or one.reason.meaning}"
        for trace in refined.traces
        for each in trace.rounds
        for one in (each.verdict, each.score)
        if isinstance(one, Unscored) and one.reason == Reason.BAD_MEDIA
    }
    for words in (*shortened([*unreadable.values()]), *remarks_of(models.judge), *remarks_of(models.scorer)):
        click.echo(words, err=True)
    if refined.open:
        failed = f"calls failed for {refined.open} items"
        left = f"{refined.stopped}; {refined.open} items are left" if refined.stopped else failed
        if not allowed:
            raise IncompleteError(f"{left}\nGive the same command again to continue, or --allow-incomplete.")
        click.echo(f"Work is left: {left}. The same command again continues.", err=True)
    elif unreadable and not allowed:
        unread = f"pictures that cannot be read: {len(unreadable)} of {len(refined.traces)}; all others are finished and kept"
        hint = "Replace them and give the same command again, or leave their rows out, or add --allow-incomplete."
        raise IncompleteError(f"{unread}\n{hint}")


def _refuse_deaf(editor: str, method: str) -> None:
    """Refuse the draw editor for methods that send whole prompts: it only carries out instructions."""
    if editor.rstrip(":") == "draw" and method in ("resubmit", "best-of-n"):
        hint = "Give --editor draw:prompt: it draws a new picture from a prompt."
        raise InputError(
            "this editor carries out instructions and draws no prompts", source="--editor", value=editor, hint=hint
        )


def _items(prompt: str | None, image: Path | None, items: Path | None, images: Path | None) -> "list[RefineItem]":
    from salon_bench.cli.reporting import announced
    from salon_bench.refine.items import RefineItem, read_refine_items

    if items is not None:
        if prompt is not None or image is not None:
            raise click.UsageError("give either --items, or --prompt and --image")
        return announced(read_refine_items(items, images))
    if prompt is None or image is None:
        raise click.UsageError("give --prompt and --image, or a table with --items")
    return [RefineItem(image.stem, prompt, image)]


def _judge(specifications: Sequence[str], work: Mapping[str, Any]) -> "Judge | None":
    """Return the one judge that is meant; None for none."""
    from salon_judges.clients.specification import read_judges

    judges = read_judges(specifications)
    if len(judges) > 1:
        hint = "One scorer serves all, or one for each step: --scorer decompose=SPEC --scorer check=SPEC."
        raise InputError("two scorers cannot both decide", value=specifications[1], hint=hint)
    return opened(judges[0], {**work, "concurrency": None}) if judges else None


def _show(refined: "Refined", page: Path, form: str, models: "RefineModels") -> None:
    from salon_bench.cli.reporting import counted
    from salon_judges.clients.scorer import ScorerJudge
    from salon_taxonomy.verdict import Scored

    scored_by = models.scorer.name if isinstance(models.scorer, ScorerJudge) else None
    ends = Counter(str(trace.stopped) for trace in refined.traces)
    reasons = Counter(trace.why for trace in refined.traces if trace.why is not None)
    checked = [each.checked for each in refined.traces if each.checked is not None]
    both = [(one.value, two.value) for one, two in checked if isinstance(one, Scored) and isinstance(two, Scored)]
    document = {
        "run_id": refined.run_id,
        "model": refined.subject,
        "items": len(refined.traces),
        "edits": sum(trace.edits for trace in refined.traces),
        "illusory": sum(trace.illusory for trace in refined.traces),
        "stopped": dict(ends),
        "reasons": dict(reasons),
        "open": refined.open,
        "left_by": refined.stopped,
        "calls": refined.calls,
        "checked": None if not checked else {"scored": len(both), "unscored": len(checked) - len(both)},
        "before": sum(one for one, _ in both) / len(both) if both else None,
        "after": sum(two for _, two in both) / len(both) if both else None,
        "page": str(page),
    }
    if form == "json":
        print_json(document)
        return
    click.echo(f"Run {refined.run_id}: {document['items']} items, {document['edits']} edits, {refined.calls} calls")
    for name, count in sorted(ends.items()):
        click.echo(f"  {count} {name}")
    if reasons:
        click.echo(f"Without a verdict: {counted(reasons)}")
    if document["illusory"]:
        click.echo(f"{document['illusory']} instructions rewrite the prompt instead of the picture")
    if both:
        what = f"Mean of {scored_by}" if scored_by else "Questions answered rightly"
        click.echo(f"{what}: {document['before']:.4f} before, {document['after']:.4f} after")
    if checked:
        click.echo(f"Checked: {len(both)} scored, {len(checked) - len(both)} unscored")
    click.echo(f"Pictures of every round: {page}")
