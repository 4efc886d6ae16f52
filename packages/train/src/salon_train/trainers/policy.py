"""TRL's GRPO trainer with Salon's prompts, groups that abstain together, and eyes on what was sampled.

One generation batch:  prompts ──► completions ──► rewards ──► groups that abstain ──► SampledCompletions ──► listeners
"""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import Sampler
from trl.trainer.grpo_trainer import GRPOTrainer

from salon_rewards.batch import text_of
from salon_train.trainers.degeneration import DegeneratedError, SampledBatch
from salon_train.trainers.learning import Learning
from salon_train.trainers.reading import Reading
from salon_train.trainers.watching import RunWatch

_GrpoTrainer: Any = GRPOTrainer  # its own annotations do not hold together under strict rules


@dataclass(frozen=True, slots=True)
class SampledCompletion:
    """One completion.

    Attributes:
        example_id: of the example that was asked about.
        bucket: that the example was drawn from.
        group: which group of its batch it belongs to, from 0.
        text: of the completion.
        tokens: of the completion.
        reading: by the grammar.
        rewards: by name; None: the reward abstained for the whole group.
        total: weighted sum; None when every reward abstained.
        truth: JSON text of what is right; None where the data do not say.
    """

    example_id: str
    bucket: str
    group: int
    text: str
    tokens: int
    reading: Reading
    rewards: Mapping[str, float | None]
    total: float | None
    truth: str | None = None


@dataclass(frozen=True, slots=True)
class SampledCompletions:
    """One generation batch, over all devices.

    Attributes:
        step: optimizer steps done before it.
        completions: group by group.
        abstained: completions that a reward gave no number for, before their groups followed, by reward.
    """

    step: int
    completions: tuple[SampledCompletion, ...]
    abstained: Mapping[str, int]

    def metrics(self) -> dict[str, float]:
        """Numbers for the log: answers that cannot be read, verdicts, lengths, groups without variance, abstentions."""
        count = len(self.completions)
        numbers = {"answers/invalid": sum(not each.reading.readable for each in self.completions) / count}
        lengths: dict[str, list[int]] = defaultdict(list)
        for each in self.completions:
            lengths[each.reading.verdict or "invalid"].append(each.tokens)
        for verdict, tokens in lengths.items():
            if verdict != "invalid":
                numbers[f"answers/{verdict}"] = len(tokens) / count
            numbers[f"answers/length_{verdict}"] = sum(tokens) / len(tokens)
        equal: dict[str, list[bool]] = defaultdict(list)
        for group in self.groups():
            totals = {each.total for each in group if each.total is not None}
            equal[group[0].bucket].append(len(totals) < 2)
        numbers |= {f"groups/zero_variance/{bucket}": sum(flags) / len(flags) for bucket, flags in sorted(equal.items())}
        return numbers | {f"rewards/{name}/abstained": times / count for name, times in self.abstained.items()}

    def groups(self) -> list[list[SampledCompletion]]:
        """The completions of each prompt."""
        groups: dict[int, list[SampledCompletion]] = defaultdict(list)
        for each in self.completions:
            groups[each.group].append(each)
        return list(groups.values())

    def batch(self) -> SampledBatch:
        """What the degeneration monitor looks at."""
        groups = [[math.nan if each.total is None else each.total for each in group] for group in self.groups()]
        return SampledBatch(groups, sum(each.reading.readable for each in self.completions))


class PolicyTrainer(Learning, _GrpoTrainer):  # type: ignore[misc]
    """GRPO; set it up with :meth:`salon` and :meth:`sampling` before training."""

    prompts: Callable[[Any], Sampler[int]]
    read: Callable[[str], Reading]
    listeners: Sequence[Callable[[SampledCompletions], None]]
    watch: RunWatch | None

    def sampling(
        self,
        prompts: Callable[[Any], Sampler[int]],
        read: Callable[[str], Reading],
        listeners: Sequence[Callable[[SampledCompletions], None]],
        watch: RunWatch | None = None,
    ) -> None:
        """Say which prompts come up, how completions are read, and who is shown them (on the main process only).

        A listener ends the run, on every process, by raising :class:`DegeneratedError`; ``watch`` is one that is kept in
        checkpoints.
        """
        self.prompts = prompts
        self.read = read
        self.listeners = listeners if watch is None else [*listeners, watch.sampled]
        self.watch = watch

    def _get_train_sampler(self, dataset: Any = None) -> Sampler[int]:
        """Salon's sampler in place of TRL's; it keeps the contract of TRL's ``RepeatSampler``."""
        return self.prompts(self.train_dataset if dataset is None else dataset)

    def _calculate_rewards(self, inputs: Any, prompts: Any, completions: Any, completion_ids_list: Any) -> torch.Tensor:
        """Shape (completions, rewards), over all devices. A reward that abstains for one abstains for its group.

        TRL counts a lone None as 0, which pays the others of the group for a judge's failure. An infinite reward ends the run.
        """
        rewards: torch.Tensor = super()._calculate_rewards(inputs, prompts, completions, completion_ids_list)
        self._finite(rewards)
        missing = rewards.isnan()
        grouped = missing.view(-1, self.num_generations, rewards.shape[1])
        rewards = rewards.masked_fill(grouped.any(dim=1, keepdim=True).expand_as(grouped).reshape_as(missing), math.nan)
        sampled = self._sampled(inputs, completions, completion_ids_list, rewards, missing)
        for name, value in sampled.metrics().items():
            self._metrics["train"][name].append(value)
        self._show(sampled)
        self.monitor.sampled(sampled.batch(), step=self.state.global_step)
        return rewards

    def _finite(self, rewards: torch.Tensor) -> None:
        """No reward is infinite; such a one leaves its group without advantages, and the weights without numbers."""
        for name, column in zip(self.reward_func_names, rewards.unbind(dim=1), strict=True):
            if column.isinf().any():
                step, paid = self.state.global_step, float(column[column.isinf()][0])
                raise DegeneratedError(
                    "reward", step, f"ended at step {step}: the reward {name} pays {paid} for a completion.\n"
                    "Let it give a finite number, or None where it has none.",
                )  # fmt: skip

    def _show(self, sampled: SampledCompletions) -> None:
        """Show the listeners what was sampled; where one of them ends the run, every process does."""
        ended: DegeneratedError | None = None
        if self.accelerator.is_main_process:
            try:
                for listener in self.listeners:
                    listener(sampled)
            except DegeneratedError as error:
                ended = error
        said = [None if ended is None else (ended.reason, ended.step, str(ended))]
        (told,) = import_module("accelerate.utils").broadcast_object_list(said)
        if told is not None:
            raise DegeneratedError(*told)

    def _sampled(
        self, inputs: Any, completions: Any, tokens: Any, rewards: torch.Tensor, missing: torch.Tensor
    ) -> SampledCompletions:
        texts = [text_of(each) for each in completions]
        own = [
            (row.get("example_id", ""), row.get("bucket", ""), row.get("truth"), text, len(ids))
            for row, text, ids in zip(inputs, texts, tokens, strict=True)
        ]
        everyone = import_module("accelerate.utils").gather_object(own)
        totals = (rewards * self.reward_weights.to(rewards.device)).nansum(dim=1).tolist()
        rows = zip(everyone, rewards.tolist(), totals, strict=True)
        sampled = tuple(
            SampledCompletion(
                example_id,
                bucket,
                place // self.num_generations,
                text,
                length,
                self.read(text),
                {name: _number(value) for name, value in zip(self.reward_func_names, values, strict=True)},
                None if all(map(math.isnan, values)) else total,
                truth,
            )
            for place, ((example_id, bucket, truth, text, length), values, total) in enumerate(rows)
        )
        abstained = missing.sum(dim=0).tolist()
        return SampledCompletions(
            self.state.global_step, sampled, dict(zip(self.reward_func_names, map(int, abstained), strict=True))
        )

    def _keep_beside(self, checkpoint: Path) -> None:
        if self.watch is not None and self.accelerator.is_main_process:
            self.watch.save(checkpoint)

    def _go_on_from(self, checkpoint: Path) -> None:
        if self.watch is not None:
            self.watch.load(checkpoint)

    def _sampled_so_far(self) -> tuple[int, Any]:
        every = self.args.steps_per_generation * self.num_iterations
        return self._step, self._buffered_inputs if self._step % every else None

    def _go_on_sampling(self, micro_steps: int, waiting: Any) -> None:
        self._step = micro_steps
        self._buffered_inputs = (
            None if waiting is None else import_module("accelerate.utils").send_to_device(waiting, self.accelerator.device)
        )


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
