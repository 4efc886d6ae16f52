"""``salon train refiner --dry-run``: what a run would do, and whether it can, before any weight is loaded.

configuration ──► rows read, pictures opened ──► the editor makes one edit, the judge answers one question
              └─► the plan (``salon_train.run.dry_run``): parameters, memory, steps, prompts, epochs
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Final

from salon_judges.editors import open_editor
from salon_taxonomy.errors import InputError
from salon_taxonomy.picture_decoding import decode
from salon_taxonomy.protocols import CallOutcome, Media
from salon_taxonomy.verdict import Unscored
from salon_train.refiner.rows import RefinerRow, prepare, refining_dataset
from salon_train.refiner.settings import RefinerConfiguration
from salon_train.refiner.stage import STAGE
from salon_train.run.dry_run import Checked, StageDryRun, ask_judges, first_unreadable, overlap, planned

_INSTRUCTION: Final = "Make the picture a little brighter."
_LOADED: Final = "diffusers"
"""The kind of editors that is not tried: it would load weights."""


def dry_run(configuration: RefinerConfiguration, environment: Mapping[str, str]) -> StageDryRun:
    """Check a run and plan it; no weights are loaded and nothing is written.

    The editor makes one edit of one row's picture (a refusal is an answer, too), unless it would load weights for that.

    Args:
        configuration: of the run.
        environment: where editors and judges find their secrets.

    Raises:
        InputError: for the first thing that cannot work.
    """
    settings = configuration.refine
    prepared = prepare(configuration, environment)
    rows, held_out = prepared.rows, prepared.held_out
    _pictures(rows, configuration.rows.file)
    _pictures(held_out, configuration.rows.held_out)
    judges = () if settings.judge is None or prepared.certainty is None else (settings.judge,)
    answered = ask_judges(judges, environment, key="refine.judge")
    editor, about = (None, ()) if prepared.editor is None else _edited(configuration, environment, rows)
    paid = {"reasoning": settings.stage_one, "rectification": settings.stage_two}
    steps = settings.steps_for(len(rows))
    checked = Checked(
        rows=rows,
        held_out=len(held_out),
        dataset=refining_dataset,
        buckets=dict(Counter("aligned" if row.matches else "misaligned" for row in rows)),
        steps=steps,
        prompts=settings.prompts,
        seen=steps * settings.prompts,
        rewards={name: weight for name, weight in paid.items() if weight > 0},
        judges=answered,
        editor=editor,
        notes=(*prepared.left_out, *overlap((row.picture for row in rows), (row.picture for row in held_out)), *about),
    )
    return planned(configuration, STAGE, settings.grpo(len(rows)), checked, environment)


def _pictures(rows: Sequence[RefinerRow], source: str | None) -> None:
    """Some of the pictures can be read.

    Raises:
        InputError: for the first that cannot.
    """

    def opened(row: RefinerRow) -> None:
        decoded = decode(row.picture.read_bytes(), checked_only=True)
        if isinstance(decoded, Unscored):
            raise ValueError(decoded.detail)

    broken = first_unreadable(rows, opened)
    if broken is not None:
        number, row, error = broken
        problem = f"the picture cannot be read ({error})"
        raise InputError(problem, source=source, row=number + 1, column="bad_image", value=row.picture) from error


def _edited(
    configuration: RefinerConfiguration, environment: Mapping[str, str], rows: Sequence[RefinerRow]
) -> tuple[str, tuple[str, ...]]:
    """Return what to say about the editor, and notes.

    Raises:
        InputError: it does not answer, or cannot take the rows' pictures.
    """
    section = configuration.editor
    if section is None:
        raise InputError("stage II needs a section [editor]", key="editor")
    kind = section.name.partition(":")[0]
    if kind == _LOADED:
        absent = find_spec(kind) is None
        note = f"{kind} is absent; in a clone of Salon: uv pip install './packages/judges[diffusers]'. " if absent else ""
        return f"{section.name} (not tried)", (
            f"{note}The editor is opened with its first edit, and was not tried. Its memory is not counted above.",
        )
    row = next((row for row in rows if not row.matches), rows[0])

    async def edit() -> tuple[CallOutcome, str]:
        async with open_editor(section.name, environment) as editor:
            editing = editor.edit(Media.from_bytes(row.picture.read_bytes()), _INSTRUCTION, seed=configuration.run.seed)
            done = await asyncio.wait_for(editing, section.timeout_s)
            return done.outcome, done.error or str(done.status)

    try:
        outcome, error = asyncio.run(edit())
    except TimeoutError:
        outcome, error = CallOutcome.LOST, f"no picture in {section.timeout_s:g} s"
    if outcome is CallOutcome.LOST:
        raise InputError(f"the editor does not answer ({error}):", key="editor.name", value=section.name)
    return f"{section.name} answers", ()
