"""Refine many pictures at once, as one run of the store; a second start continues it.

items ──► method (loop.py) with steps (steps.py) ──► traces ──► rounds.jsonl, and the page of traces
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from salon_bench.refine.items import ROUNDS, RefineItem, listing
from salon_bench.refine.loop import METHODS, Effort, Method, Round, Trace
from salon_bench.refine.steps import ModelSteps, RefineModels
from salon_bench.refine.turns import SUITE, Turns
from salon_bench.runs.checkpoint import Fold, fold_here
from salon_bench.runs.progress import RunProgress, Watcher
from salon_bench.runs.session import RunSession, opened_models, run_row, run_session
from salon_bench.suites.r3_bench.workspace import link
from salon_judges.asking.asker import StopAskingError
from salon_judges.asking.spending import RunLimits
from salon_taxonomy.digest import Digestible, digest
from salon_taxonomy.errors import InputError, cannot_write
from salon_taxonomy.records import Prompt, Run
from salon_taxonomy.store_address import StoreAddress
from salon_taxonomy.verdict import Reason, Scored, Unscored
from salon_taxonomy.whole_files import write_json_lines

_LONGEST_SUBJECT = 200


@dataclass(frozen=True, slots=True)
class Refined:
    """The outcome of one start.

    Attributes:
        run_id: the run in the store.
        subject: what tables call the method with its models.
        traces: one for each item that was worked on to its end, in their order; all of them where nothing stopped the run.
        open: items for which a call failed, or that were left when the run was stopped; a later start continues them.
        calls: questions and edits that were sent now.
        stopped: why the run ended early, a limit or Ctrl-C; None when it did not.
        progress: the last of its moments.
    """

    run_id: str
    subject: str
    traces: tuple[Trace, ...]
    open: int
    calls: int
    stopped: str | None = None
    progress: RunProgress = field(default_factory=RunProgress)


async def refine_all(
    items: Sequence[RefineItem],
    models: RefineModels,
    folder: Path,
    store: StoreAddress,
    *,
    method: Method = Method.REFINE,
    effort: Effort | None = None,
    check: bool = False,
    seed: int = 0,
    concurrency: int = 4,
    limits: RunLimits | None = None,
    watcher: Watcher | None = None,
    fold: Fold = fold_here,
    on_start: Callable[[RunSession], None] | None = None,
) -> Refined:
    """Refine every item, keep every picture below ``folder`` and every reply in the store.

    Args:
        items: what is to be refined.
        models: editor, judge and scorer; those that are asynchronous context managers are entered and left here.
        folder: for the pictures; created when it is missing.
        store: the results' directory.
        method: how.
        effort: how far; default: two rounds.
        check: ask the scorer about the first and the final picture of each item.
        seed: of the first edit of an item.
        concurrency: items at work.
        limits: on cost, tokens, calls and time; an edit is a call without tokens or cost.
        watcher: told how it goes.
        fold: who folds the journals.
        on_start: receives the session before it starts, to be able to stop it.

    Raises:
        InputError: without items, or without the judge or scorer that the method or the check needs.
        SalonError: when the store or the folder fails.
    """
    effort = effort or Effort()
    _complete(items, models, method, check=check)
    subject = _subject(models, method)
    run = _run_row(items, models, method, effort, subject, seed)
    prompts = [Prompt(prompt_id=each.item_id, suite=SUITE, text=each.prompt) for each in items]
    asked, total = (models.editor, models.judge, models.scorer), len(items)
    with run_session(
        store, run, fold, prompts=prompts, total=total, limits=limits, watcher=watcher, models=asked, repeat=True
    ) as session:
        async with opened_models(*asked):
            steps = ModelSteps(models, run.run_id, subject, folder, session, seed=seed, concurrency=concurrency)
            gate = asyncio.Semaphore(concurrency)
            if on_start is not None:
                on_start(session)
            async with session.ticking():
                traces = await asyncio.gather(
                    *(_refined(each, steps, method, effort, gate, folder, session, check=check) for each in items)
                )
        ended = tuple(trace for trace in traces if trace is not None)
        left = len(items) - session.done
        refined = Refined(run.run_id, subject, ended, left, session.spending.calls, session.stopped, session.progress())
    _write_rounds(folder / ROUNDS, refined)
    return refined


async def _refined(
    item: RefineItem,
    steps: ModelSteps,
    method: Method,
    effort: Effort,
    gate: asyncio.Semaphore,
    folder: Path,
    session: RunSession,
    *,
    check: bool,
) -> Trace | None:
    """Return what happened to one item; None when the run was stopped before its end."""
    async with gate:
        if session.stopped is not None:
            return None
        first = await asyncio.to_thread(_first, item, folder)
        try:
            trace = await METHODS[method](item, first, steps, effort)
            if steps.scores_pictures and method is not Method.BEST_OF_N:
                trace = replace(trace, rounds=tuple([await _rated(each, item, steps) for each in trace.rounds]))
            if check:
                before = await steps.check(item, first, "first", 0)
                after = before if trace.final == first else await steps.check(item, trace.final, "final", trace.final_round)
                trace = replace(trace, checked=(before, after))
        except StopAskingError as reached:
            session.stop(str(reached))
            return None
        failed = item.item_id in steps.failed
        session.done += not failed
        session.open += failed
        if trace.why is not None:
            session.reasons[Reason(trace.why)] += 1
        return trace


async def _rated(this: Round, item: RefineItem, steps: ModelSteps) -> Round:
    return replace(this, score=await steps.rate(item, this.picture, this.number))


def _first(item: RefineItem, folder: Path) -> Path:
    """Return the given picture under its name in the folder.

    One that is missing stays missing: then the judge's verdict is that it cannot be seen.

    Raises:
        InputError: when the folder cannot be written.
    """
    target = folder / item.item_id / f"round-0{item.picture.suffix.lower() or '.png'}"
    try:
        if item.picture.is_file():
            link(item.picture, target)
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(error, target) from error
    return target


def _complete(items: Sequence[RefineItem], models: RefineModels, method: Method, *, check: bool) -> None:
    if not items:
        raise InputError("there is nothing to refine")
    if models.judge is None and method in (Method.REFINE, Method.VERIFIER):
        raise InputError("this method needs a judge", value=str(method), hint="Give one with --judge.")
    if models.scorer is None and (check or method is Method.BEST_OF_N):
        raise InputError("a scorer is needed", value=str(method), hint="Give one with --scorer.")


def _subject(models: RefineModels, method: Method) -> str:
    asked = {Method.REFINE: models.judge, Method.VERIFIER: models.judge, Method.BEST_OF_N: models.scorer}.get(method)
    names = [str(method), *([asked.name] if asked is not None else []), models.editor.name]
    return " ".join(names)[:_LONGEST_SUBJECT]


def _run_row(items: Sequence[RefineItem], models: RefineModels, method: Method, effort: Effort, subject: str, seed: int) -> Run:
    versions: dict[str, Digestible] = {
        "editor": models.editor.version,
        "judge": models.judge.version if models.judge else None,
        "scorer": models.scorer.version if models.scorer else None,
        "turns": Turns.version,
        "re_asks": models.re_asks,
    }
    how: dict[str, Digestible] = {
        "method": str(method),
        "most_rounds": effort.most_rounds,
        "candidates": effort.candidates,
        "seed": seed,
    }
    name = digest("refine", {"items": listing(items), "versions": versions, "how": how}, length=8)
    judge = models.judge or models.scorer
    return run_row(
        f"refine-{method}-{name}",
        SUITE,
        subject=subject,
        judge=(judge.name, judge.version) if judge else None,
        seed=seed,
        settings={**how, "versions": versions, "editor": models.editor.name},
    )


def _write_rounds(path: Path, refined: Refined) -> None:
    """Write one line for each round of each item, for programs."""
    lines: list[dict[str, object]] = []
    for trace in refined.traces:
        for one in trace.rounds:
            answer = one.verdict.value if isinstance(one.verdict, Scored) else None
            why = [one.reason.value for one in (one.verdict, one.score, one.edit) if isinstance(one, Unscored)]
            line = {
                "item": trace.item.item_id,
                "round": one.number,
                "picture": str(one.picture.relative_to(path.parent)),
                "matches": None if answer is None else answer.matches,
                "explanation": None if answer is None else answer.explanation,
                "instruction": one.instruction,
                "score": one.score.value if isinstance(one.score, Scored) else None,
                "unscored": why[0] if why else None,
                "final": one.number == trace.final_round,
                "stopped": str(trace.stopped),
            }
            lines.append(line)
    write_json_lines(path, lines, parents=True)
