"""TRL's GRPO trainer with planned prompts, groups that abstain together, and listeners of what was sampled.

One generation batch:  prompts ──► completions ──► rewards ──► groups that abstain ──► SampledCompletions ──► listeners
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import Sampler
from trl.trainer.grpo_trainer import GRPOTrainer

from salon_rewards.batch import Batch, text_of
from salon_rewards.callables.reward import AskingReward, RuleReward
from salon_rewards.group_mask import plain
from salon_train.configuration.schema import GrpoSection
from salon_train.data.lengths import check_lengths
from salon_train.run.arguments import grpo_arguments
from salon_train.run.completion_parsing import ParsedCompletion, SampledCompletion, SampledCompletions
from salon_train.run.early_abort import DegeneratedError
from salon_train.run.monitor_hook import RunWatch
from salon_train.run.stage import Setting
from salon_train.sampling.prompt_order import PlannedSampler
from salon_train.trl.mixin import Learning

_GrpoTrainer: Any = GRPOTrainer  # its own annotations do not hold together under strict rules


class PolicyTrainer(Learning, _GrpoTrainer):  # type: ignore[misc]
    """GRPO on planned prompts; made by :func:`policy_trainer`.

    A listener ends the run, on every process, by raising :class:`DegeneratedError`; ``watch`` is a listener that is saved in
    checkpoints. Listeners are called on the main process only.
    """

    order: PlannedSampler
    read: Callable[[str], ParsedCompletion]
    listeners: Sequence[Callable[[SampledCompletions], None]]
    watch: RunWatch | None

    def _get_train_sampler(self, dataset: Any = None) -> Sampler[int]:
        """Return Salon's sampler in place of TRL's; it keeps the contract of TRL's ``RepeatSampler``."""
        return self.order

    def _calculate_rewards(self, inputs: Any, prompts: Any, completions: Any, completion_ids_list: Any) -> torch.Tensor:
        """Return shape (completions, rewards), over all devices. A reward that abstains for one abstains for its group.

        TRL counts a lone None as 0, which pays the others of the group for a judge's failure. An infinite reward ends the run.
        """
        first = self.accelerator.process_index * len(inputs)
        inputs = [
            {**row, "group_id": f"{self.state.global_step}/{(first + place) // self.num_generations}"}
            for place, row in enumerate(inputs)
        ]
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
        own = [None if ended is None else (ended.reason, ended.step, str(ended))]
        (told,) = import_module("accelerate.utils").broadcast_object_list(own)
        if told is not None:
            raise DegeneratedError(*told)

    def _sampled(
        self, inputs: Any, completions: Any, tokens: Any, rewards: torch.Tensor, missing: torch.Tensor
    ) -> SampledCompletions:
        texts = [text_of(each) for each in completions]
        terms, weights = self._terms(inputs, texts)
        own = [
            (row.get("example_id", ""), row.get("bucket", ""), _truth(row), text, len(ids), parts)
            for row, text, ids, parts in zip(inputs, texts, tokens, terms, strict=True)
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
                parts,
            )
            for place, ((example_id, bucket, truth, text, length, parts), values, total) in enumerate(rows)
        )
        abstained = dict(zip(self.reward_func_names, map(int, missing.sum(dim=0).tolist()), strict=True))
        weights |= dict(zip(self.reward_func_names, self.reward_weights.tolist(), strict=True))
        return SampledCompletions(self.state.global_step, sampled, abstained, weights)

    def _terms(self, inputs: Any, texts: list[str]) -> tuple[list[dict[str, float | None]], dict[str, float]]:
        """Return what Salon's rewards add up from, for each completion of this process, and the weights of the terms."""
        batch = Batch(texts, {name: [row.get(name) for row in inputs] for name in inputs[0]})
        terms = {
            f"{name}/{term.name}": term
            for name, reward in zip(self.reward_func_names, self.reward_funcs, strict=True)
            if isinstance(reward, RuleReward | AskingReward)
            for term in reward.terms(batch)
        }
        columns = {name: plain(term.paid) for name, term in terms.items()}
        rows = [{name: values[place] for name, values in columns.items()} for place in range(len(texts))]
        return rows, {name: term.weight for name, term in terms.items()}

    def _save_state(self, checkpoint: Path) -> None:
        if self.watch is not None and self.accelerator.is_main_process:
            self.watch.save(checkpoint)

    def _restore_state(self, checkpoint: Path) -> None:
        if self.watch is not None:
            self.watch.load(checkpoint)

    def _sampled_so_far(self) -> tuple[int, Any]:
        every = self.args.steps_per_generation * self.num_iterations
        return self._step, self._buffered_inputs if self._step % every else None

    def _restore_sampling(self, micro_steps: int, waiting: Any) -> None:
        self._step = micro_steps
        self._buffered_inputs = (
            None if waiting is None else import_module("accelerate.utils").send_to_device(waiting, self.accelerator.device)
        )


def policy_trainer(
    setting: Setting[Any],
    section: GrpoSection,
    rows: Any,
    plan: Sequence[int],
    *,
    rewards: Sequence[Any],
    weights: Sequence[float],
    read: Callable[[str], ParsedCompletion],
    watch: RunWatch | None,
    more_listeners: Sequence[Callable[[SampledCompletions], None]] = (),
) -> PolicyTrainer:
    """Build the trainer of a GRPO stage.

    Args:
        setting: of the stage.
        section: its learning settings, with ``steps``.
        rows: data set with ``prompt``, ``images`` and the columns that rewards take.
        plan: indices of prompts, one chunk for each generation batch.
        rewards: as TRL calls them.
        weights: one for each reward.
        read: parses a completion.
        watch: the monitors; None: none.
        more_listeners: further listeners of what is sampled.

    Raises:
        InputError: if a question is longer than ``section.longest_prompt``.
    """
    check_lengths(setting.loaded.processor, rows, section.longest_prompt)
    settings = grpo_arguments(
        setting.configuration,
        section,
        setting.folder.path,
        weights=weights,
        steps=section.steps or 1,
        world=setting.processes.count,
        forbidden=setting.loaded.image_token_ids,
    )
    trainer = PolicyTrainer(
        model=setting.loaded.model,
        reward_funcs=list(rewards),
        args=settings,
        train_dataset=rows,
        processing_class=setting.loaded.processor,
    )
    trainer.order = PlannedSampler(
        plan,
        chunk=(section.generation_batch or section.batch) // section.generations,
        together=section.generations,
        repeats=settings.steps_per_generation * section.iterations,
    )
    trainer.read, trainer.watch = read, watch
    trainer.listeners = [*setting.listeners, *more_listeners, *([] if watch is None else [watch.sampled])]
    return trainer


def _truth(row: Mapping[str, Any]) -> str | None:
    """Return what is right for an example, as JSON text: an assessor's answer, or whether a refiner's picture matches."""
    if row.get("truth") is None and row.get("matches") is not None:
        return json.dumps(bool(row["matches"]))
    return row.get("truth")


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
