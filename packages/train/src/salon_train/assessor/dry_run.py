"""``salon train sft | grpo --dry-run``: what a stage would do, and whether it can, before weights are loaded.

configuration ──► rows read, pictures opened, ratio compared with the buckets
              ├─► rewards made and tried on hostile answers, judges asked one question
              └─► the plan (``run/dry_run.py``): parameters, memory, steps, prompts, epochs
"""

import inspect
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, Final

from salon_taxonomy.answers import magicmirror_json
from salon_taxonomy.errors import InputError, SalonError
from salon_taxonomy.training_example import TrainingExample
from salon_train.assessor import rows as data_rows
from salon_train.assessor.rewards import judges_of, name_of, open_rewards
from salon_train.configuration.schema import Configuration, GrpoSection, SftSection
from salon_train.models.loading import line
from salon_train.run.dry_run import UNKNOWN_TOKENS, Checked, StageDryRun, ask_judges, first_unreadable, overlap, planned, spread
from salon_train.run.folder import RunFolder, Stage
from salon_train.run.greedy import picture_of
from salon_train.sampling.prompt_order import counted, quotas

_TRIED: Final = ("", "The picture looks fine to me.", r'\boxed{{"Whether Normal": fal')
_LETTERS: Final = 3
"""Of a token, about, where the processor is not here to count them."""


def dry_run(configuration: Configuration, stage: Stage, environment: Mapping[str, str]) -> StageDryRun:
    """Check a stage and plan it; no weights are loaded, nothing is written, and each judge is asked one question.

    Args:
        configuration: of the run.
        stage: ``sft`` or ``grpo``.
        environment: where judges find their secrets.

    Raises:
        InputError: for the first thing that cannot work.
    """
    section: SftSection | GrpoSection | None = configuration.sft if stage == "sft" else configuration.grpo
    if section is None:
        raise InputError(f"the configuration has no section [{stage}]", key=stage)
    learned, measured = data_rows.stage_rows(configuration, stage), data_rows.held_out_rows(configuration)
    examples, held_out = learned.examples, measured.examples
    notes = (*learned.notes, *measured.notes, *overlap(map(_picture, examples), map(_picture, held_out)))
    _pictures(examples)
    _pictures(held_out)
    steps = section.steps_for(len(examples))
    seen, prompts = steps * section.batch, section.batch
    paid: dict[str, float | str] = {}
    judges: tuple[str, ...] = ()
    if isinstance(section, GrpoSection):
        prompts = (section.generation_batch or section.batch) // section.generations
        seen = seen // section.generations // section.iterations
        opened = open_rewards(configuration, environment)
        paid = opened.named
        _try(opened.rewards, examples[0])
        judges = ask_judges(judges_of(configuration.reward), environment)
        notes += _cold_start(configuration, section)
    dataset_of = data_rows.policy_dataset if isinstance(section, GrpoSection) else data_rows.warm_up_dataset
    checked = Checked(
        rows=examples,
        held_out=len(held_out),
        dataset=lambda some: dataset_of(some, configuration.data),
        assumed=lambda config: assumed_tokens(configuration, config, examples),
        buckets=counted(examples),
        steps=steps,
        prompts=prompts,
        seen=seen,
        quota=_quota(configuration, prompts, examples)
        if isinstance(section, GrpoSection) or configuration.sampling.sft
        else {},
        rewards=paid,
        judges=judges,
        notes=notes,
    )
    return planned(configuration, stage, section, checked, environment)


def _pictures(examples: Sequence[TrainingExample]) -> None:
    """Some of the pictures can be read.

    Raises:
        InputError: for the first that cannot.
    """
    broken = first_unreadable(examples, picture_of)
    if broken is not None:
        number, example, error = broken
        raise InputError(f"the picture cannot be read ({error})", source=example.example_id, row=number + 1) from error


def _picture(example: TrainingExample) -> bytes | str:
    return example.image if isinstance(example.image, bytes) else str(example.image)


def _cold_start(configuration: Configuration, section: GrpoSection) -> tuple[str, ...]:
    """Return what to say of a start that is not there yet."""
    start = RunFolder.of(configuration, "sft")
    if section.start != "sft" or start.finished is not None:
        return ()
    return (f"The cold start is not finished: run `salon train sft` first ({start.path}).",)


def _quota(configuration: Configuration, prompts: int, examples: Sequence[TrainingExample]) -> dict[str, int]:
    from salon_train.sampling.prompt_order import check_hard_positives, prompt_plan

    if configuration.sampling.strategy == "shuffled":
        check_hard_positives(examples, configuration.sampling)
        return {}

    prompt_plan(examples, configuration.sampling, chunk=prompts, chunks=1, seed=configuration.run.seed)
    return quotas(configuration.sampling, prompts)


def _try(rewards: Sequence[Any], example: TrainingExample) -> None:
    """Call every reward by rule with hostile answers; those that ask a judge are tried by asking it.

    Raises:
        InputError: for one that fails, or gives something else than numbers.
    """
    from transformers import TrainerState

    count = len(_TRIED)
    columns = {
        "prompts": [[{"role": "user", "content": "?"}]] * count,
        "truth": [magicmirror_json(example.truth)] * count,
        "example_id": [example.example_id] * count,
        "bucket": [example.buckets[0]] * count,
        "completion_ids": [[0]] * count,
        "trainer_state": TrainerState(),
        "log_extra": lambda *_: None,
        "log_metric": lambda *_: None,
    }
    for reward in rewards:
        if inspect.iscoroutinefunction(reward) or inspect.iscoroutinefunction(type(reward).__call__):
            continue
        completions = [[{"role": "assistant", "content": text}] for text in _TRIED]
        try:
            paid = reward(completions=completions, **columns)
        except SalonError:
            raise
        except Exception as error:  # of any code that a user names
            problem = f"the reward fails on an answer that cannot be read ({type(error).__name__}: {line(error)}):"
            raise InputError(problem, key="reward.name", value=name_of(reward)) from error
        if len(paid) != count or not all(each is None or (isinstance(each, int | float) and isfinite(each)) for each in paid):
            raise InputError("the reward does not give one finite number or None for each completion:", value=name_of(reward))


def assumed_tokens(configuration: Configuration, config: Any, examples: Sequence[TrainingExample]) -> int:
    """About how many tokens a picture and its question take, from the model's patches, the pictures' sizes and the letters."""
    vision, model = getattr(config, "vision_config", None), configuration.model
    patch, merged = getattr(vision, "patch_size", None), getattr(vision, "spatial_merge_size", None)
    letters = len(data_rows.question(examples[0], configuration.data))
    if not isinstance(patch, int):
        return UNKNOWN_TOKENS + letters // _LETTERS
    if merged is None:  # a picture always becomes as many patches
        return (int(getattr(vision, "image_size", 0) or 0) // patch) ** 2 + letters // _LETTERS
    some = [picture_of(example) for _, example in spread(examples)]
    pixels = max(int(picture.width * picture.height) for picture in some)
    pixels = max(min(pixels, model.most_pixels or pixels), model.least_pixels or 0)
    return -(-pixels // (patch * int(merged)) ** 2) + letters // _LETTERS
