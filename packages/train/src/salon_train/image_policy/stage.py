"""Train a text-to-image model of a user's own on a reward, or on preferences: ``salon train image``.

FOLDER/image/
  log.jsonl, configuration.json, checkpoint-N/, finished.json   as in every stage (:mod:`~salon_train.run.folder`)
  pictures/step-000050.png   what the policy draws of a few prompts, from the same noise every time
  model/pytorch_lora_weights.safetensors   the result, for ``pipeline.load_lora_weights(FOLDER/image/model)``
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, cast

import torch

from salon_bench.suites.contract.prompt_files import read_prompts
from salon_judges.clients.local_weights import pipeline_digest
from salon_ranking.near_prompts import comparable_text
from salon_rewards import make_reward
from salon_rewards.adapters import FlowGRPOReward
from salon_rewards.callables.reward import AskingReward
from salon_taxonomy.errors import InputError
from salon_taxonomy.whole_files import write_whole
from salon_train.configuration.image import ImageConfiguration, ImageSection, PairSection
from salon_train.data.preferences import Preference, read_preferences
from salon_train.image_policy.diffusers_policy import DiffusersPolicy, load_policy
from salon_train.image_policy.picture_measures import drift
from salon_train.image_policy.picture_monitors import PictureBoard, PictureWatch
from salon_train.image_policy.picture_pairs import PicturePairs
from salon_train.image_policy.policy import draw_with
from salon_train.image_policy.preferences import DiffusionDPO, PreferenceSettings
from salon_train.image_policy.sheet import picture_sheet
from salon_train.image_policy.training import (
    FlowGRPO,
    FlowReward,
    PolicyLearner,
    RewardSettings,
    diversity,
    mean_reward,
)
from salon_train.run.early_abort import DegenerationMonitor, Hints, SampledBatch
from salon_train.run.events import NO_WATCHER, Fact, TrainingEvent, TrainingWatcher, TrainingWatchers
from salon_train.run.folder import RunFolder, StageRows
from salon_train.run.own_loop import STATE, OwnLoop, train_by
from salon_train.run.stage import Trained
from salon_train.seeds import generator_of

_STAGE: Final = "image"
_FIRST: Final = "first_pictures.pt"
_EVALUATION: Final = 2**40
"""The seed of the noise that all measurements of a run begin with, apart from those of learning."""
_SHEET_PROMPTS: Final = 6
_HINTS: Final = Hints(
    invalid_answers="",
    unscored="Look at the reward: it gives no picture a score.",
    equal_rewards="Raise image.level or image.group (--set), or choose a reward that tells the pictures of a prompt apart.",
    made="picture",
)


def train_image_policy(
    configuration: ImageConfiguration, *, watcher: TrainingWatcher = NO_WATCHER, again: bool = False
) -> Trained:
    """Train a pipeline of diffusers on a reward, from the beginning or the last checkpoint to the end.

    On the processor everything runs on one thread, and a resumed run ends with the bytes of one that was not interrupted.

    Args:
        configuration: of the run (:func:`~salon_train.configuration.image.configured`).
        watcher: receives the events, beside the log file.
        again: remove what the run has done before, and begin again.

    Raises:
        InputError: a setting, the model, the prompts, the reward or the folder cannot be used.
        IncompleteError: training ended early; the folder keeps what was whole.
        UnscoredError: a picture has no score, and ``on_unscored`` is ``raise``.
    """
    return train_by(_ImageRun, configuration, _STAGE, device=configuration.policy.device, watcher=watcher, again=again)


class _ImageRun(OwnLoop[ImageConfiguration]):
    """One run: its policy, its learner and its folder."""

    memory = "Lower --height, --width or image.at_once (--set), or add --set policy.activation_checkpointing=true."

    def __init__(self, configuration: ImageConfiguration, folder: RunFolder, watchers: TrainingWatchers) -> None:
        super().__init__(configuration, folder, watchers)
        self.steps, self.every = configuration.image.steps, configuration.evaluation.every
        remarks: list[str] = []
        pairs = () if configuration.preferences is None else _learned_from(configuration.preferences, remarks)
        prompts, notes = _prompts_of(configuration, pairs)
        self.notes += [*notes, *remarks]
        self._held_out: tuple[str, ...] = ()
        if configuration.evaluation.held_out is not None:
            self._held_out, notes = _prompts(configuration.evaluation.held_out)
            self.notes += notes
        learned = {comparable_text(prompt) for prompt in prompts}
        if both := [prompt for prompt in self._held_out if comparable_text(prompt) in learned]:
            hint = "A prompt that is learned from is not held out; take it out of one of the files."
            raise InputError("is in both files of prompts:", source="--held-out", value=min(both), hint=hint)
        folder.learn_from(StageRows(pairs or prompts, (), _identity, _pictures))
        paid, seed = configuration.paid, configuration.run.seed
        self._reward: FlowReward | None = None
        if paid is not None:
            reward = make_reward(paid.reward, **paid.parameters)
            if isinstance(reward, AskingReward) and reward.versions:
                folder.learn_by(" ".join(reward.versions))
            self._reward = FlowGRPOReward(reward, paid.on_unscored)
        self._policy: DiffusersPolicy = load_policy(configuration.policy, seed=seed)
        if (pipeline := Path(configuration.policy.model)).is_dir():
            folder.start_from(pipeline_digest(pipeline))
        self._monitor = DegenerationMonitor(configuration.degeneration, _HINTS)
        self._watch = PictureWatch(
            PictureBoard(configuration.monitors),
            configuration.monitors,
            watchers,
            steps=configuration.image.steps,
            metric="reward",
        )
        self._first: torch.Tensor | None = None
        self._learner = self._learner_of(prompts, pairs)
        self._shown = (self._held_out or prompts)[:_SHEET_PROMPTS]

    def _learner_of(self, prompts: Sequence[str], pairs: Sequence[Preference]) -> PolicyLearner:
        image, preferences, seed = self.configuration.image, self.configuration.preferences, self.configuration.run.seed
        if preferences is None:
            reward = cast("FlowReward", self._reward)  # configured() requires one without preferences
            return FlowGRPO(
                self._policy,
                reward,
                _learning(image),
                prompts=prompts,
                seed=seed,
                sampled=self._sampled,
                drawn=self._drawn if self.configuration.monitors.on else lambda *seen: None,
            )
        settings = PreferenceSettings(
            steps=image.steps,
            pairs=preferences.pairs,
            beta=preferences.beta,
            learning_rate=image.learning_rate,
            at_once=max(1, image.at_once // 2),
        )
        return DiffusionDPO(self._policy, PicturePairs(pairs, self._policy, self._policy.size), settings, seed=seed)

    def restore(self, folder: Path) -> None:
        """Continue from a checkpoint."""
        self._learner.restore(torch.load(folder / STATE, weights_only=True))
        self._watch.load(folder)
        if (first := folder / _FIRST).is_file():
            self._first = torch.load(first, weights_only=True)

    def learn(self, number: int) -> Mapping[str, Fact]:
        """Update once."""
        return self._learner.step(number)

    def save(self, folder: Path) -> None:
        """Write the learner's state, and the adapters as the result has them."""
        torch.save(self._learner.state(), folder / STATE)
        torch.save(self._first, folder / _FIRST)
        self._watch.save(folder)
        self._policy.save(folder)

    def save_model(self, folder: Path, numbers: Mapping[str, float | None]) -> None:
        """Write the adapters."""
        self._policy.save(folder)

    def _sampled(self, groups: Sequence[Sequence[float]], number: int) -> None:
        self._monitor.sampled(SampledBatch(groups, readable=len(groups)), step=number)

    def _drawn(self, pictures: torch.Tensor, prompts: Sequence[str], rewards: torch.Tensor, number: int) -> None:
        self._watch.drawn(pictures.float().numpy(), prompts, rewards.tolist(), number)

    def evaluate(self) -> dict[str, float | None]:
        """Draw without chance after the first noise, write a sheet of pictures, and measure the prompts held out."""
        section, image = self.configuration.evaluation, self.configuration.image
        asked = [prompt for prompt in self._held_out or self._shown for _ in range(section.pictures)]
        noise = generator_of(_EVALUATION + self.configuration.run.seed)
        start = torch.randn((len(asked), *self._policy.shape), generator=noise)
        _, pictures = draw_with(self._policy, asked, start, steps=image.sampling_steps, at_once=image.at_once)
        sheet_pictures = pictures[: len(self._shown) * section.pictures]
        write_whole(
            self.folder.path / "pictures" / f"step-{self.step:06d}.png",
            picture_sheet(sheet_pictures, section.pictures),
            parents=True,
        )
        if self._first is None:
            self._first = pictures
        else:
            self._watch.measured(drift(pictures.float().numpy(), self._first.float().numpy(), asked))
        if not self._held_out or self._reward is None:
            return {}
        scores, _ = self._reward(pictures, asked, [{"prompt_id": prompt} for prompt in asked])
        paid = torch.tensor(list(scores["avg"]))
        numbers: dict[str, float | None] = {
            "reward": mean_reward(paid),
            "unscored": float(paid.isnan().float().mean()),
            "diversity": diversity(pictures * 2 - 1, asked),
        }
        self.log("evaluated", numbers)
        self._watch.happened(TrainingEvent("evaluated", self.step, self.steps, numbers))
        return numbers


def _learning(section: ImageSection) -> RewardSettings:
    return RewardSettings(
        steps=section.steps,
        group=section.group,
        ways=section.sampling_steps,
        window=section.window,
        noise=section.noise,
        level=section.level,
        learning_rate=section.learning_rate,
        kl=section.kl,
        prompts=section.prompts_per_step,
        at_once=section.at_once,
    )


def _learned_from(section: PairSection, remarks: list[str]) -> tuple[Preference, ...]:
    """Return the pairs that are not for testing."""
    return tuple(pair for pair in read_preferences(Path(section.file), remarks) if pair.split == "train")


def _identity(row: str | Preference) -> list[object]:
    return [row] if isinstance(row, str) else row.identity


def _pictures(row: str | Preference) -> list[Path | bytes]:
    return [] if isinstance(row, str) else row.pictures


def _prompts_of(configuration: ImageConfiguration, pairs: Sequence[Preference]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the different prompts that are learned from, and a sentence about each unused row."""
    if configuration.prompts is None:
        return tuple(dict.fromkeys(pair.prompt for pair in pairs)), ()
    return _prompts(configuration.prompts.file)


def _prompts(file: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the different prompts of a file or folder, and a sentence about each unused row."""
    rows = read_prompts(Path(file), _STAGE)
    return tuple(dict.fromkeys(row.prompt.text for row in rows)), tuple(rows.remarks())
