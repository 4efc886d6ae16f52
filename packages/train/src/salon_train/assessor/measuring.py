"""Evaluate any model on held-out pictures: a stage's result, the untrained model, or a folder."""

from collections.abc import Callable
from pathlib import Path

import torch

from salon_taxonomy.errors import InputError
from salon_train.assessor.evaluation import HeldOut, held_out_answers
from salon_train.assessor.rows import rows_of
from salon_train.configuration.schema import Configuration
from salon_train.models.loading import load_model
from salon_train.run.callbacks import quiet
from salon_train.run.folder import RunFolder


def result_of(configuration: Configuration, which: str) -> Path | None:
    """The folder that a word means: ``sft`` and ``grpo`` of the run, ``model`` (None: untrained), or a folder.

    Raises:
        InputError: the stage has not been finished, or there is no such folder.
    """
    if which == "model":
        return None
    if which in ("sft", "grpo"):
        folder = RunFolder.of(configuration, "sft" if which == "sft" else "grpo")
        if folder.finished is None:
            raise InputError("this stage has not been finished", source=folder.path, hint=f"`salon train {which}` does.")
        return folder.model
    if not Path(which).is_dir():
        raise InputError("is no stage of the run and no folder:", value=which, allowed=("sft", "grpo", "model", "a folder"))
    return Path(which)


def measure(
    configuration: Configuration, which: str, *, limit: int | None = None, progressed: Callable[[int], None] = lambda _: None
) -> HeldOut:
    """Let a model answer about every held-out picture.

    Args:
        configuration: of the run; its ``[evaluation]`` says how. Its ``limit`` is for evaluation during training alone.
        which: as :func:`result_of` takes it.
        limit: so many pictures, the first ones; None: all.
        progressed: told how many pictures were answered, batch by batch.

    Raises:
        InputError: there is nothing held out, or no such model.
    """
    data, settings = configuration.data, configuration.evaluation
    if not data.held_out:
        raise InputError("no file is held out for evaluation", key="data.held_out")
    examples = rows_of(data.held_out, data, limit=limit).examples
    if configuration.run.threads is not None:
        torch.set_num_threads(configuration.run.threads)
    with quiet():
        loaded = load_model(configuration.model, start=result_of(configuration, which), learning=False)
        parts = []
        for start in range(0, len(examples), settings.batch):
            some = examples[start : start + settings.batch]
            parts.append(
                held_out_answers(
                    loaded.model, loaded.processor, some, data=data, batch=settings.batch, longest=settings.longest
                )
            )
            progressed(len(some))
    texts = tuple(text for part in parts for text in part.texts)
    tokens = tuple(count for part in parts for count in part.tokens)
    return HeldOut(examples, texts, tokens)
