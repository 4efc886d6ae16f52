"""Stage 2: edit pictures as the policy asked; each new one is a file and a row.

    misaligned row, policy says it matches     not_needed: the picture stays as it is
    misaligned row, policy asks for an edit    editor ──► made, or the reason why not
    policy gave no verdict                     its reason
    aligned row                                not edited: S_rect is about misaligned rows

R³-Bench, section 2.3: the editor is fixed, so what differs between policies is the instruction.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from salon_bench.runs.checkpoint import Fold, fold_here
from salon_bench.runs.edit_runner import EditRunner, EditTask
from salon_bench.runs.progress import RunProgress, Watcher
from salon_bench.runs.session import RunSession, opened_models, run_row, run_session
from salon_bench.suites.contract.suite import RunContext
from salon_bench.suites.r3_bench.reflecting import MATCHES, TAXONOMY, VERDICT
from salon_bench.suites.r3_bench.staged import MADE, NOT_NEEDED, Staged, write_staged
from salon_bench.suites.r3_bench.workspace import Workspace, link, original_of
from salon_judges.asking.asker import StopAskingError
from salon_judges.asking.spending import RunLimits
from salon_taxonomy.answers import R3Answer
from salon_taxonomy.digest import digest
from salon_taxonomy.protocols import Editor
from salon_taxonomy.records import Prompt, Run
from salon_taxonomy.store_address import StoreAddress
from salon_taxonomy.verdict import Reason, Scored, Unscored, Verdict

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Edited:
    """The outcome of the editing stage.

    Attributes:
        run_id: the run in the store.
        states: how many misaligned rows came to each end (``made``, ``not_needed``, reasons).
        open: edits whose call failed, or that were left when the run was stopped; a later start asks for them.
        stopped: why the run ended early, a limit or Ctrl-C; None when it did not.
        progress: the last of its moments.
    """

    run_id: str
    states: Mapping[str, int]
    open: int
    stopped: str | None = None
    progress: RunProgress = field(default_factory=RunProgress)


def said_by(scores: "pl.DataFrame", assessments: "pl.DataFrame") -> dict[str, Verdict[R3Answer]]:
    """Return the policy's reply about each row, from the rows of its reflecting run.

    Args:
        scores: of the run, columns as in the store.
        assessments: of the run.
    """
    replies: dict[str, R3Answer] = {}
    for row in assessments.iter_rows(named=True):
        if row["taxonomy"] == TAXONOMY and row["label"] == MATCHES:
            texts = json.loads(row["explanation"] or "{}")
            replies[row["generation_id"]] = R3Answer(row["present"], texts.get("explanation", ""), texts.get("edit_prompt", ""))
    verdicts: dict[str, Verdict[R3Answer]] = {}
    for row in scores.iter_rows(named=True):
        if row["dimension"] == VERDICT:
            reason = Reason(row["unscored_reason"]) if row["unscored_reason"] else Reason.ABSTAINED
            answer = replies.get(row["generation_id"]) if row["value"] is not None else None
            verdicts[row["prompt_id"]] = Scored(answer) if answer is not None else Unscored(reason)
    return verdicts


def write_explanations(space: Workspace, verdicts: Mapping[str, Verdict[R3Answer]]) -> None:
    """Write the rows for the third stage, with the policy's replies; missing ones are ``abstained``."""
    rows = space.staged("reflect")
    unasked = Unscored(Reason.ABSTAINED, "the policy was not asked")
    write_staged(space.file("explanations"), [replace(row, said=verdicts.get(row.item.idx, unasked)) for row in rows])


async def edit_pictures(
    space: Workspace,
    editor: Editor,
    store: StoreAddress,
    *,
    seed: int | None = None,
    concurrency: int = 4,
    keep_failed: bool = False,
    limits: RunLimits | None = None,
    watcher: Watcher | None = None,
    fold: Fold = fold_here,
    on_start: Callable[[RunSession], None] | None = None,
) -> Edited:
    """Carry out every instruction, and leave the rows for the fourth stage. A second call continues where the first ended.

    Args:
        space: with the first stage run.
        editor: carries out the instructions; an asynchronous context manager is entered and left here.
        store: the results' directory.
        seed: for editors that take one.
        concurrency: edits in flight.
        keep_failed: the run counts as finished although calls failed; their rows are unscored for good.
        limits: on cost, tokens, calls and time; an edit is a call without tokens or cost.
            Rows that were left are ``abstained`` until then.
        watcher: told how it goes.
        fold: who folds the journals.
        on_start: receives the session before it starts, to be able to stop it.

    Raises:
        InputError: when the first stage was not run, or a picture cannot be written.
        SalonError: when the store fails.
    """
    rows = [row for row in space.staged("explanations") if not row.item.aligned]
    run = _run_row(space, editor, rows, seed)
    space.note("edit", run.run_id)
    with run_session(
        store, run, fold, total=len(rows), limits=limits, watcher=watcher, models=[editor], repeat=True
    ) as session:
        async with opened_models(editor):
            context = RunContext(run.run_id, editor.name, editor.version)
            edit_runner = EditRunner(editor, context, session, concurrency=concurrency)
            if on_start is not None:
                on_start(session)
            async with session.ticking():
                done = await asyncio.gather(
                    *(_edited(space, row, edit_runner, seed, session, keep_failed=keep_failed) for row in rows)
                )
    states: dict[str, int] = {}
    for row in done:
        states[str(row.edit)] = states.get(str(row.edit), 0) + 1
    write_staged(space.file("images"), done)
    left = len(rows) - session.done
    return Edited(run.run_id, dict(sorted(states.items())), left, session.stopped, session.progress())


async def _edited(
    space: Workspace, row: Staged, edit_runner: EditRunner, seed: int | None, session: RunSession, *, keep_failed: bool
) -> Staged:
    """Return the row with the state of its edit."""
    verdict, idx = row.said, row.item.idx
    state: str
    failed = False
    if isinstance(verdict, Scored) and verdict.value.matches:
        state = NOT_NEEDED
    elif isinstance(verdict, Scored):
        try:
            state, failed = await _made(space, row, verdict.value.edit_prompt, edit_runner, seed)
        except StopAskingError as reached:
            session.stop(str(reached))
            return replace(row, edit=Reason.ABSTAINED.value)
    else:
        state = (verdict.reason if verdict is not None else Reason.ABSTAINED).value
    kept = not failed or keep_failed
    session.done += kept
    session.open += not kept
    if state in tuple(Reason):
        session.reasons[Reason(state)] += 1
    original = original_of(space.originals, idx)
    return replace(row, edit=state if original is not None else Reason.BAD_MEDIA.value)


async def _made(space: Workspace, row: Staged, instruction: str, edit_runner: EditRunner, seed: int | None) -> tuple[str, bool]:
    """Return the state of one edit, and whether its call failed."""
    item = row.item
    original = original_of(space.originals, item.idx)
    if original is None:
        return Reason.BAD_MEDIA.value, False
    folder = space.pictures / item.idx
    await asyncio.to_thread(link, original, folder / f"0{original.suffix}")
    task = EditTask(
        prompt=Prompt(prompt_id=item.idx, suite="r3-edit", text=item.prompt, scenario=item.category.value),
        source=item.picture,
        instruction=instruction,
        target=folder / "1",
        root=space.pictures,
        step="edit",
        model=space.policy,
        sample=1,
        seed=seed,
    )
    edited = await edit_runner.make(task)
    return MADE if isinstance(edited.verdict, Scored) else edited.verdict.reason.value, edited.lost


def _run_row(space: Workspace, editor: Editor, rows: Sequence[Staged], seed: int | None) -> Run:
    """Return the row of the run; its name is a digest of policy, editor, instructions and seed."""
    asked = [
        [row.item.idx, row.said.value.edit_prompt if isinstance(row.said, Scored) else str(row.said and row.said.reason)]
        for row in rows
    ]
    reflect = space.run_of("reflect")
    name = digest("r3-edit", {"reflect": reflect, "editor": editor.version, "asked": asked, "seed": seed}, length=8)
    settings = {"reflect": reflect, "policy": space.policy, "editor": editor.name, "seed": seed}
    judge = (editor.name, editor.version)
    return run_row(f"r3-edit-{name}", "r3-edit", subject=space.policy, judge=judge, seed=seed, settings=settings)
