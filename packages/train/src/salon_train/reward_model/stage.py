"""Train a reward model of pictures on votes: ``salon train reward-model``.

FOLDER/reward-model/
  log.jsonl, configuration.json, checkpoint-N/, finished.json   as in every stage (:mod:`~salon_train.run.folder`)
  held_out.jsonl   both rewards of every pair held out, and the chances of its votes
  model/           the result: the scorer ``reward-model:FOLDER/reward-model/model``
"""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor, nn
from transformers import get_scheduler

from salon_judges.clients.local_weights import weights_digest
from salon_judges.scorers.reward_network import RewardNetwork
from salon_taxonomy.errors import InputError
from salon_taxonomy.whole_files import write_whole
from salon_train.configuration.reward_model import BackboneSection, RewardModelConfiguration
from salon_train.data.preferences import Preference, picture, read_preferences
from salon_train.image_policy.diffusers_policy import checked_device
from salon_train.models.hub import hub_problem, not_found
from salon_train.reward_model.held_out import held_out_numbers
from salon_train.reward_model.losses import VoteModel
from salon_train.run.early_abort import check_finite
from salon_train.run.events import NO_WATCHER, Fact, TrainingWatcher, TrainingWatchers
from salon_train.run.folder import RunFolder, StageRows
from salon_train.run.own_loop import STATE, OwnLoop, train_by
from salon_train.run.stage import Trained
from salon_train.seeds import generator_of, torch_seed

_STAGE: Final = "reward-model"
_LONGEST: Final = 1_000_003
_TIE_RATE: Final = 0.05
"""Least learning rate of the parameter of ties: one number, which rates for a backbone's weights would hardly move."""
_SCHEDULES: Final = {"constant": "constant_with_warmup", "linear": "linear", "cosine": "cosine"}
"""What transformers calls each schedule."""
_TARGETS: Final = r".*\.(q_proj|k_proj|v_proj|out_proj|o_proj|qkv|proj)"


def train_reward_model(
    configuration: RewardModelConfiguration, *, watcher: TrainingWatcher = NO_WATCHER, again: bool = False
) -> Trained:
    """Train a reward model, from the beginning or the last checkpoint to the end.

    On the processor everything runs on one thread, and a resumed run ends with the bytes of one that was not interrupted.

    Args:
        configuration: of the run (:func:`~salon_train.configuration.reward_model.configured`).
        watcher: receives the events, beside the log file.
        again: remove what the run has done before, and begin again.

    Raises:
        InputError: a setting, the backbone, a pair or the folder cannot be used.
        IncompleteError: training ended early; the folder keeps what was whole.
    """
    checked_device(configuration.backbone.device)
    device = configuration.backbone.device
    return train_by(_RewardModelRun, configuration, _STAGE, device=device, watcher=watcher, again=again)


class _RewardModelRun(OwnLoop[RewardModelConfiguration]):
    """One run: its network, its pairs and its folder."""

    memory = "Lower learning.device_batch (--set), or learn with adapters (--rank 16); then give the command again."

    def __init__(self, configuration: RewardModelConfiguration, folder: RunFolder, watchers: TrainingWatchers) -> None:
        super().__init__(configuration, folder, watchers)
        learning = configuration.learning
        pairs = read_preferences(Path(configuration.preferences.file), self.notes)
        if learning.loss not in ("davidson", "rao-kupper") and not any(pair.votes[0] != pair.votes[1] for pair in pairs):
            raise InputError("no pair is decided, from which this loss learns:", source="--loss", value=learning.loss)
        self._pairs = [pair for pair in pairs if pair.split == "train"]
        self._held_out = [pair for pair in pairs if pair.split == "test"]
        both = tuple(self._pairs + self._held_out)
        folder.learn_from(StageRows(both, (), lambda pair: pair.identity, lambda pair: pair.pictures))
        self._updates_of_epoch = math.ceil(len(self._pairs) / learning.batch)
        self.steps, self.every = learning.epochs * self._updates_of_epoch, configuration.evaluation.every
        torch.manual_seed(torch_seed(configuration.run.seed))
        self._network, self._adapted = _network(configuration.backbone, unsure=learning.loss == "unsure")
        folder.start_from(weights_digest(configuration.backbone.name, configuration.backbone.revision))
        self._votes = VoteModel(learning.loss, learning.rater_noise).to(configuration.backbone.device)
        self._votes.begin_tie([pair.votes for pair in self._pairs])
        weights = [each for each in self._network.parameters() if each.requires_grad]
        ties = [*self._votes.parameters()]
        self._parameters = weights + ties
        groups: list[dict[str, Any]] = [{"params": weights}]
        if ties:
            groups.append({"params": ties, "lr": max(_TIE_RATE, learning.learning_rate), "weight_decay": 0.0})
        self._optimizer = torch.optim.AdamW(groups, learning.learning_rate, weight_decay=learning.weight_decay)
        warmup = round(learning.warmup_ratio * self.steps)
        self._schedule = get_scheduler(
            _SCHEDULES[learning.schedule], self._optimizer, num_warmup_steps=warmup, num_training_steps=self.steps
        )

    def learn(self, number: int) -> Mapping[str, Fact]:
        """Update once; the pairs of an update depend on the seed and its number alone."""
        learning, seed = self.configuration.learning, self.configuration.run.seed
        epoch, update = divmod(number, self._updates_of_epoch)
        chance = generator_of(seed * _LONGEST + epoch)
        order = torch.randperm(len(self._pairs), generator=chance)[update * learning.batch : (update + 1) * learning.batch]
        pairs = [self._pairs[int(each)] for each in order]
        torch.manual_seed(torch_seed(seed * _LONGEST + number))
        self._network.train()
        self._optimizer.zero_grad()
        loss, right, decided, at_once = 0.0, 0.0, 0, learning.device_batch or learning.batch
        for start in range(0, len(pairs), at_once):
            some = pairs[start : start + at_once]
            gap, deviation = self._gaps(some)
            votes = torch.tensor([pair.votes for pair in some], device=gap.device)
            part = self._votes(gap, votes, deviation) * (len(some) / len(pairs))
            part.backward()
            counts = told_right(gap.detach(), votes)
            loss, right, decided = loss + float(part.detach()), right + counts[0], decided + counts[1]
        norm = float(nn.utils.clip_grad_norm_(self._parameters, 1.0))
        check_finite("gradient", norm, step=number, hint="Lower the learning rate, or compute in float32.")
        self._optimizer.step()
        self._schedule.step()
        return {"loss": loss, "grad_norm": norm, "accuracy": right / decided if decided else None}

    def _gaps(self, pairs: Sequence[Preference]) -> tuple[Tensor, Tensor | None]:
        """Return the reward of the chosen less that of the rejected, and the deviation of the gap."""
        files = [file for pair in pairs for file in (pair.chosen, pair.rejected)]
        prompts = [pair.prompt for pair in pairs for _ in range(2)]
        inputs = self._network.prepared([picture(file) for file in files], prompts)
        reward, deviation = self._network(inputs)
        unsure = None if deviation is None else (deviation.reshape(-1, 2) ** 2).sum(1).sqrt()
        return reward[0::2] - reward[1::2], unsure

    def evaluate(self) -> Mapping[str, float | None]:
        """Measure the pairs held out, and write both rewards of each."""
        if not self._held_out:
            return {}
        self._network.eval()
        learning = self.configuration.learning
        gaps, chances, batch = [], [], learning.device_batch or learning.batch
        with torch.no_grad():
            for start in range(0, len(self._held_out), batch):
                gap, deviation = self._gaps(self._held_out[start : start + batch])
                gaps += gap.tolist()
                chances += self._votes.chances(gap, deviation).tolist()
        hint = "Lower the learning rate, or compute in float32."
        check_finite("reward of a pair held out", sum(gaps), step=self.step, hint=hint)
        rows = [
            {"prompt": pair.prompt, "chosen": str(pair.chosen), "rejected": str(pair.rejected), "gap": gap, "chances": told}
            for pair, gap, told in zip(self._held_out, gaps, chances, strict=True)
        ]
        write_whole(self.folder.path / "held_out.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        numbers = held_out_numbers(self._held_out, gaps, chances)
        self.log("evaluated", numbers)
        return numbers

    def save(self, folder: Path) -> None:
        """Write what learns and its optimizer."""
        learned = {name: value for name, value in self._network.named_parameters() if value.requires_grad}
        parts = {"votes": self._votes, "optimizer": self._optimizer, "schedule": self._schedule}
        torch.save({"network": learned} | {name: part.state_dict() for name, part in parts.items()}, folder / STATE)

    def restore(self, folder: Path) -> None:
        """Continue from a checkpoint."""
        state = torch.load(folder / STATE, weights_only=True)
        self._network.load_state_dict(state["network"], strict=False)
        self._votes.load_state_dict(state["votes"])
        self._optimizer.load_state_dict(state["optimizer"])
        self._schedule.load_state_dict(state["schedule"])

    def save_model(self, folder: Path, numbers: Mapping[str, float | None]) -> None:
        """Write the network, with the adapters merged."""
        if self._adapted:
            self._network.backbone = self._network.backbone.merge_and_unload()
        folder.mkdir(exist_ok=True)
        self._network.save(folder, self._about(numbers))

    def _about(self, numbers: Mapping[str, float | None]) -> dict[str, Any]:
        learning = self.configuration.learning
        tie = None if self._votes.tie is None else float(self._votes.tie.detach().exp())
        return {
            "backbone": self.configuration.backbone.name,
            "loss": learning.loss,
            "rater_noise": learning.rater_noise,
            "tie": tie,
            "pairs": len(self._pairs),
            "held_out": dict(numbers),
        }


def told_right(gap: Tensor, votes: Tensor) -> tuple[float, int]:
    """Return how many pairs have the higher reward on the side of more votes, and how many have such a side.

    Args:
        gap: the first reward less the second, shape (pairs,); equal rewards are half right.
        votes: for the first, the second and for neither, shape (pairs, 3).

    Example:
        >>> votes = torch.tensor([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
        >>> told_right(torch.tensor([0.5, 0.5, 0.0, 0.5]), votes)
        (1.5, 3)
    """
    sides = (votes[:, 0] - votes[:, 1]).sign()
    decided = sides != 0
    return float((gap.sign() * sides + 1)[decided].sum()) / 2, int(decided.sum())


def _network(section: BackboneSection, *, unsure: bool) -> tuple[RewardNetwork, bool]:
    """Return the network with its weights that learn, and whether it has adapters."""
    hub = hub_problem(section.name)
    try:
        network = RewardNetwork.begin(
            section.name,
            revision=section.revision,
            dtype="float32" if section.rank is None else section.dtype,
            device=section.device,
            unsure=unsure,
            local_files_only=hub is not None,
            least_pixels=section.least_pixels,
            most_pixels=section.most_pixels,
        )
    except InputError as error:
        raise (error if hub is None else not_found(error.problem, section.name, hub, key="backbone.name")) from error
    if section.activation_checkpointing:
        network.backbone.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        network.backbone.disable_input_require_grads()  # which only reentrant checkpointing needs, and BLIP does not take
    network.backbone, adapted = ready_to_learn(network.backbone, section)
    return network, adapted


def ready_to_learn(backbone: Any, section: BackboneSection) -> tuple[Any, bool]:
    """Return a backbone of which the weights learn that are to learn, and whether it has adapters."""
    if section.rank is None:
        _freeze_first(backbone, section.fix_rate)
        return backbone, False
    backbone.requires_grad_(False)
    if section.rank == 0:
        return backbone, False
    from peft import LoraConfig, get_peft_model

    adapters = LoraConfig(r=section.rank, lora_alpha=section.alpha or 2 * section.rank, target_modules=_TARGETS)
    return get_peft_model(backbone, adapters), True


def _freeze_first(backbone: nn.Module, rate: float) -> None:
    """Freeze this share of each tower's layers, from the first, and what embeds their input (ImageReward's fix rate)."""
    for name, part in backbone.named_modules():
        if rate > 0.0 and isinstance(part, nn.ModuleList):
            for layer in part[: int(len(part) * rate)]:
                layer.requires_grad_(False)
        elif rate > 0.0 and name.rpartition(".")[2].startswith(("embed", "patch_embed")):
            part.requires_grad_(False)
