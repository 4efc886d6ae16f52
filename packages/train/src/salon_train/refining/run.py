"""``salon train refine``: from a configuration to the weights of a refiner, in FOLDER/refine/model."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from salon_bench.editors import open_editor
from salon_bench.judges import open_judge
from salon_bench.suites.r3_bench.rows import Item, read_items
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Editor
from salon_train.refining.question_verifier import QuestionVerifier
from salon_train.refining.refinement import RefinerRow, refine_policy
from salon_train.refining.settings import RefinerConfiguration

STAGE: Final = "refine"
LOG_FILE: Final = "log.jsonl"


@dataclass(frozen=True, slots=True)
class Refined:
    """What a run ended with.

    Attributes:
        model: the folder of weights or adapters, with the processor: ``--judge transformers:FOLDER`` takes it.
        steps: optimizer steps.
        first: the training numbers of the first step.
        last: of the last one.
    """

    model: Path
    steps: int
    first: Mapping[str, float]
    last: Mapping[str, float]


def train_refiner(
    configuration: RefinerConfiguration,
    environment: Mapping[str, str],
    *,
    again: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Refined:
    """Train a refiner from beginning to end.

    Args:
        configuration: what and how.
        environment: where editors and judges find their secrets.
        again: write over an earlier run.
        progress: called with 1 after each step.

    Raises:
        InputError: for rows, model, editor or judge that do not work, before the first step; and for a folder that holds a
            finished run.
    """
    folder = Path(configuration.run.folder) / STAGE
    if (folder / "model").exists() and not again:
        raise InputError("the folder holds a run already", source=folder, hint="--again writes over it; or name another.")
    items = read_items(
        Path(configuration.rows.file), None if configuration.rows.pictures is None else Path(configuration.rows.pictures)
    )
    items = items[: configuration.rows.limit]
    missing = next((item.picture for item in items if not item.picture.is_file()), None)
    if missing is not None:
        raise InputError("there is no such picture", source=configuration.rows.file, column="bad_image", value=missing)
    settings = configuration.refine
    editor: Editor | None = None
    if settings.stage_two and configuration.editor is not None:
        editor = open_editor(configuration.editor.name, environment)
    certainty = _questions(configuration, items, environment)
    import torch

    from salon_train.models.loading import load_model
    from salon_train.trainers.callbacks import quiet

    if configuration.run.threads is not None:
        torch.set_num_threads(configuration.run.threads)
    torch.manual_seed(configuration.run.seed)
    with quiet():
        loaded = load_model(configuration.model)
        return _refined(loaded, configuration, items, editor, certainty, folder, progress)


def _refined(
    loaded: Any,
    configuration: RefinerConfiguration,
    items: list[Item],
    editor: Editor | None,
    certainty: Any,
    folder: Path,
    progress: Callable[[int], None] | None,
) -> Refined:
    import torch

    settings = configuration.refine
    half = torch.cuda.is_available() and configuration.model.compute in ("auto", "bfloat16")
    log = refine_policy(
        loaded.model,
        loaded.processor,
        [RefinerRow(item.idx, item.prompt, item.picture, item.aligned) for item in items],
        settings,
        output=folder / "trainer",
        seed=configuration.run.seed,
        arguments={"bf16": half, "gradient_checkpointing": configuration.model.activation_checkpointing},
        editor=editor,
        certainty=certainty,
        edit_timeout_s=configuration.editor.timeout_s if configuration.editor else 300.0,
        concurrency=configuration.editor.concurrency if configuration.editor else 8,
        progress=progress,
    )
    loaded.model.save_pretrained(folder / "model")
    loaded.processor.save_pretrained(folder / "model")
    (folder / LOG_FILE).write_text("".join(json.dumps(line) + "\n" for line in log), encoding="utf-8")
    steps = [line for line in log if "reward" in line]
    return Refined(folder / "model", settings.steps, steps[0], steps[-1])


def _questions(configuration: RefinerConfiguration, items: list[Item], environment: Mapping[str, str]) -> Any:
    settings = configuration.refine
    if settings.judged_by != "questions" or settings.judge is None:
        return None
    bare = next((item.idx for item in items if not item.questions), None)
    if bare is not None:
        raise InputError("a row has no questions", source=configuration.rows.file, column="generated_qa", value=bare)
    questions = {item.prompt: (item.questions, item.answers) for item in items}
    return QuestionVerifier(open_judge(settings.judge, environment), questions)
