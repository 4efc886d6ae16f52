"""``salon train refine --dry-run``: what a run would do, and whether it can, before any weight is loaded.

configuration ──► rows read, pictures opened ──► the editor makes one edit, the judge answers one question
              └─► parameters by part, memory by formula, steps, prompts, epochs
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Final

from salon_bench.editors import open_editor
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Media
from salon_taxonomy.records import CallStatus
from salon_train.models.loading import load_processor
from salon_train.models.shapes import config_of
from salon_train.refining.preparing import prepare
from salon_train.refining.refinement import RefinerRow, refining_dataset
from salon_train.refining.run import STAGE
from salon_train.refining.settings import RefinerConfiguration
from salon_train.trainers import arguments, learning_data
from salon_train.trainers.dry_run import NOT_HERE, DryRun, ask_judges, memory_of, parameters_of
from salon_train.trainers.processes import Processes
from salon_train.trainers.requirements import missing

_PICTURES_TRIED: Final = 32
_INSTRUCTION: Final = "Make the picture a little brighter."
_LOADED: Final = ("diffusers",)
_UNTRIED: Final = (*_LOADED, "replay")
"""Kinds of editors that are not tried: they would load weights, or know only what was recorded."""


def dry_run(configuration: RefinerConfiguration, environment: Mapping[str, str]) -> DryRun:
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
    rows = prepared.rows
    _pictures(rows, configuration.rows.file)
    section = settings.grpo(len(rows))
    world = Processes.of(environment).count
    own, accumulated = arguments.device_batch(section, section.batch, world=world)
    steps = settings.steps_for(len(rows))
    config, own_files = config_of(configuration.model.name, configuration.model.revision)
    parameters, learning = parameters_of(configuration.model, config)
    tokens = _tokens(configuration, rows)
    judges = () if settings.judge is None or prepared.certainty is None else (settings.judge,)
    notes: tuple[str, ...] = () if own_files else (NOT_HERE,)
    notes += tuple(str(problem).replace("\n", ". ") for problem in missing(configuration, STAGE))
    editor, about = (None, ()) if prepared.editor is None else _edited(configuration, environment, rows)
    paid = {"reasoning": settings.stage_one, "rectification": settings.stage_two}
    return DryRun(
        stage=STAGE,
        model=configuration.model.name,
        own_configuration=own_files,
        parameters=parameters,
        learning=learning,
        memory=memory_of(configuration.model, section, config, parameters, learning, own, tokens),
        devices=world,
        steps=steps,
        batch=section.batch,
        device_batch=own,
        accumulated=accumulated,
        prompts=settings.prompts,
        quota={},
        epochs=steps * settings.prompts / len(rows),
        examples=dict(Counter("aligned" if row.matches else "misaligned" for row in rows)),
        held_out=0,
        tokens=tokens,
        rewards={name: weight for name, weight in paid.items() if weight > 0},
        judges=ask_judges(judges, environment, key="refine.judge"),
        editor=editor,
        notes=(*notes, *about),
    )


def _pictures(rows: Sequence[RefinerRow], source: str) -> None:
    """Some of the pictures can be read.

    Raises:
        InputError: for the first that cannot.
    """
    from PIL import Image

    for place in range(0, len(rows), max(1, len(rows) // _PICTURES_TRIED)):
        try:
            with Image.open(rows[place].picture) as picture:
                picture.load()
        except (OSError, ValueError) as error:
            problem = f"the picture cannot be read ({error})"
            raise InputError(problem, source=source, row=place + 1, column="bad_image", value=rows[place].picture) from error


def _tokens(configuration: RefinerConfiguration, rows: Sequence[RefinerRow]) -> int | None:
    """The longest of a few questions; None where the processor cannot be had."""
    try:
        processor = load_processor(configuration.model, configuration.model.name)
    except InputError:
        return None
    some = refining_dataset(rows[:: max(1, len(rows) // _PICTURES_TRIED)])
    return learning_data.check_lengths(processor, some, configuration.refine.longest_prompt)


def _edited(
    configuration: RefinerConfiguration, environment: Mapping[str, str], rows: Sequence[RefinerRow]
) -> tuple[str, tuple[str, ...]]:
    """What to say about the editor, and notes.

    Raises:
        InputError: it does not answer, or cannot take the rows' pictures.
    """
    section = configuration.editor
    if section is None:
        raise InputError("stage II needs a section [editor]", key="editor")
    kind = section.name.partition(":")[0]
    if kind in _UNTRIED:
        absent = kind in _LOADED and find_spec(kind) is None
        note = f"{kind} is not installed: pip install 'salon-bench[{kind}]'. " if absent else ""
        weights = " Its memory is not counted above." if kind in _LOADED else ""
        return f"{section.name} (not tried)", (f"{note}The editor is opened with its first edit, and was not tried.{weights}",)
    row = next((row for row in rows if not row.matches), rows[0])

    async def edit() -> tuple[CallStatus, str | None]:
        async with open_editor(section.name, environment) as editor:
            made = editor.edit(Media.from_bytes(row.picture.read_bytes()), _INSTRUCTION, seed=configuration.run.seed)
            done = await asyncio.wait_for(made, section.timeout_s)
            return done.status, done.error

    try:
        status, error = asyncio.run(edit())
    except TimeoutError:
        status, error = CallStatus.TIMEOUT, f"no picture in {section.timeout_s:g} s"
    if status not in (CallStatus.OK, CallStatus.REJECTED):
        raise InputError(f"the editor does not answer ({error or status}):", key="editor.name", value=section.name)
    return f"{section.name} answers", ()
