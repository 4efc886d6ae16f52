"""Train a refiner: SFT warm-up, and GRPO on R_reason and R_rect, through the run shell of every stage.

rows, editor, judge ──► model ──► PolicyTrainer on R_reason and R_rect ──► checkpoints, log ──► FOLDER/refine/model
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Unpack

from salon_rewards.monitors import AnswerForm
from salon_taxonomy.errors import InputError
from salon_train.refiner.held_out import METRIC, HeldOutReplies, asked_about
from salon_train.refiner.rewards import refining_rewards, weights_of
from salon_train.refiner.rows import Lesson, PreparedRows, RefinerRow, prepare, refining_dataset, warm_up_dataset
from salon_train.refiner.settings import RefinerConfiguration
from salon_train.run.completion_parsing import SampledCompletions, read_refinement
from salon_train.run.early_abort import Hints, degenerated
from salon_train.run.folder import StageRows
from salon_train.run.held_out import measure_of
from salon_train.run.stage import Setting, StageCall, Trained, run_stage
from salon_train.sampling.prompt_order import shuffled_plan

if TYPE_CHECKING:
    from salon_train.trl.grpo import PolicyTrainer
    from salon_train.trl.mixin import Learning

STAGE: Final = "refine"
HINTS: Final = Hints(
    "Begin with a model that follows the format, or allow longer replies (refine.most_tokens).",
    "Look at the editor and at refine.judge; log.jsonl counts what the rewards abstained from.",
    "Raise refine.temperature or refine.group, or begin with a model that errs in more than one way.",
)
REWARD: Final = "rectification"
_WHAT: Final = "the reward of stage II abstained and paid for nothing"
_HINT: Final = "Look at the editor (and at refine.judge): log.jsonl counts rewards/rectification/abstained."


class EditorAbort:
    """Abort a run when stage II, for some generation batches in a row, abstained and paid for nothing.

    R_reason keeps giving numbers when the editor or the judge of its pictures fails, so no other check sees it.

    Args:
        most: batches in a row; 0: never abort.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lost = 0

    def __call__(self, sampled: SampledCompletions) -> None:
        """Look at one generation batch.

        Raises:
            DegeneratedError: for the last lost batch that is allowed.
        """
        paid = any((each.rewards.get(REWARD) or 0.0) > 0 for each in sampled.completions)
        self._lost = self._lost + 1 if sampled.abstained.get(REWARD) and not paid else 0
        if self._most and self._lost >= self._most:
            raise degenerated("unscored", sampled.step, self._lost, _WHAT, _HINT)


def train_refiner(configuration: RefinerConfiguration, **call: Unpack[StageCall]) -> Trained:
    """Train a refiner to its end, from the beginning or from its last checkpoint.

    Args:
        configuration: of the run.
        call: see :class:`~salon_train.run.stage.StageCall`.

    Returns:
        The folder of weights or adapters (``--judge transformers:FOLDER`` takes it), steps, and the last numbers on held-out
        rows (:meth:`~salon_train.refiner.held_out.HeldOutReplies.metrics`).

    Raises:
        InputError: for rows, model, editor or judge that do not work, before the first step; and if the settings or rows are
            not those that the run began with.
        DegeneratedError: if the run cannot improve any more, or games its reward.
    """
    prepared = prepare(configuration, call.get("environment", {}))
    return run_stage(
        configuration,
        STAGE,
        rows=lambda: StageRows(
            prepared.rows,
            prepared.left_out,
            lambda row: (row.example_id, row.prompt, row.matches),
            lambda row: (row.picture,),
        ),
        make=lambda setting: _trainer(setting, configuration, prepared),
        measure=lambda _: measure_of(HeldOutReplies, prepared.held_out, asked_about, configuration.evaluation),
        hints=HINTS,
        **call,
    )


def train_warm_up(configuration: RefinerConfiguration, lessons: Sequence[Lesson], **call: Unpack[StageCall]) -> Trained:
    """Teach a policy a teacher's replies by SFT, before GRPO; the question is not part of the loss.

    Args:
        configuration: of the run, with a section ``[sft]``; the result is FOLDER/sft/model.
        lessons: drawn without replacement; all of them again once each was drawn.
        call: see :class:`~salon_train.run.stage.StageCall`.

    Raises:
        InputError: without a section ``[sft]`` or lessons, and if either is not what the run began with.
        DegeneratedError: if loss or gradient is not finite.
    """
    section = configuration.sft
    if section is None:
        raise InputError("the configuration has no section [sft]", key="sft")

    def make(setting: Setting[Lesson]) -> "Learning":
        from salon_train.trl.sft import warm_up_trainer

        steps = section.steps_for(len(lessons))
        plan = shuffled_plan(range(len(lessons)), section.batch * steps, seed=configuration.run.seed)
        return warm_up_trainer(setting, section, warm_up_dataset(lessons), plan)

    return run_stage(
        configuration,
        "sft",
        rows=lambda: StageRows(
            tuple(lessons),
            (),
            lambda lesson: (str(lesson.picture), lesson.prompt, lesson.reply),
            lambda lesson: (lesson.picture,),
        ),
        make=make,
        **call,
    )


def _weights_are_apart(trainer: Any) -> bool:
    """Return whether DeepSpeed spreads the weights over the processes (ZeRO-3)."""
    plugin = trainer.accelerator.state.deepspeed_plugin if trainer.is_deepspeed_enabled else None
    return plugin is not None and plugin.zero_stage == 3


def _trainer(setting: Setting[RefinerRow], configuration: RefinerConfiguration, prepared: PreparedRows) -> "PolicyTrainer":
    from salon_train.run.recorders import add_recorders, watch_of
    from salon_train.trl.grpo import policy_trainer

    settings, editing = configuration.refine, configuration.editor
    asked = (prepared.editor, None if prepared.certainty is None else prepared.certainty.judge)
    if setting.processes.first and (versions := [each.version for each in asked if each is not None]):
        setting.folder.learn_by(" ".join(versions))
    section = settings.grpo(len(setting.rows))
    steps = settings.steps_for(len(setting.rows))
    watch = watch_of(setting, AnswerForm.R3, steps=steps, metric=METRIC)
    rewards = refining_rewards(
        setting.loaded.model,
        setting.loaded.processor,
        settings,
        editor=prepared.editor,
        certainty=prepared.certainty,
        seed=configuration.run.seed,
        edit_timeout_s=editing.timeout_s if editing else 300.0,
        concurrency=editing.concurrency if editing else 8,
        whole_groups=settings.prompts % setting.processes.count == 0,
    )
    add_recorders(setting, watch, metric=METRIC)
    trainer = policy_trainer(
        setting,
        section,
        refining_dataset(setting.rows),
        shuffled_plan(range(len(setting.rows)), settings.prompts * steps, seed=configuration.run.seed),
        rewards=rewards,
        weights=weights_of(settings),
        read=read_refinement,
        watch=watch,
        more_listeners=[EditorAbort(configuration.degeneration.unscored)],
    )
    if settings.stage_two and prepared.certainty is None and (trainer.is_fsdp_enabled or _weights_are_apart(trainer)):
        hint = 'Launch with ddp or deepspeed-zero2, or set refine.judged_by to "questions".'
        raise InputError(
            "needs the policy's weights whole on every process, as each looks at its own pictures:",
            key="refine.judged_by", value=settings.judged_by, hint=hint,
        )  # fmt: skip
    return trainer
