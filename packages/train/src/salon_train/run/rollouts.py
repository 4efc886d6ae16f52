"""Sampled completions into the result store: what the policy wrote, and what each reward paid for it.

runs         the training run (suite ``training``)
run_events   started, resumed, stopped (and why), finished
judge_calls  one row per kept completion: its text, as the policy's reply (``response_text``)
rewards      one row per kept completion and reward, with the reason where there is no number; so for the terms of a reward
             (``reasoning/verdict``) and the weighted sum (``total``)
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from salon_rewards.composition import TOTAL
from salon_store import Journal, ResultStore
from salon_taxonomy.digest import digest
from salon_taxonomy.records import CallStatus, JudgeCall, Record, Reward, Run, RunEvent, RunEventKind
from salon_taxonomy.store_address import StoreAddress
from salon_taxonomy.verdict import Reason
from salon_train.run.completion_parsing import SampledCompletion, SampledCompletions
from salon_train.run.events import TrainingEvent

SUITE: Final = "training"
_KINDS: Final = {
    "started": RunEventKind.STARTED,
    "resumed": RunEventKind.RESUMED,
    "degenerated": RunEventKind.STOPPED,
    "stopped": RunEventKind.STOPPED,
    "finished": RunEventKind.FINISHED,
}
"""The store's kind of each event that it keeps."""


class RolloutRecorder:
    """Keep some completions of every generation batch, and the events of the run.

    A listener of a trainer (:meth:`keep`) and a watcher of events (:meth:`happened`) at once.

    Rows are written to the store's journal, where they survive a kill, and become Parquet parts with each checkpoint and at
    the end of the run: so a run leaves a few parts for each checkpoint, not for each generation batch. Row keys are made of
    run, step and place, so a step that is repeated after a kill, which samples the same completions again, adds nothing.

    Args:
        folder: of the store, or its URL; created if it is missing.
        run_id: of this training run.
        policy: name of the learning model in tables.
        completions: of each generation batch, evenly over its groups; None: all.
        seed: of the run.
        settings: JSON text of the configuration.
        version: of Salon.
    """

    def __init__(
        self,
        folder: StoreAddress,
        *,
        run_id: str,
        policy: str,
        completions: int | None,
        seed: int,
        settings: str,
        version: str,
    ) -> None:
        self._store = ResultStore.open(folder)
        self._journal: Journal | None = None
        self._policy = policy
        self._most = completions
        self._run = Run(
            run_id=run_id,
            suite=SUITE,
            subject_model=policy,
            seed=seed,
            settings=settings,
            salon_version=version,
            started_at=datetime.now(UTC),
        )

    def keep(self, sampled: SampledCompletions) -> None:
        """Write some completions of a generation batch."""
        calls: list[Record] = []
        rewards: list[Record] = []
        for number in evenly(len(sampled.completions), self._most):
            completion = sampled.completions[number]
            key = digest("completion", {"run": self._run.run_id, "step": sampled.step, "place": number})
            calls.append(self._call(key, completion, sampled.step, number))
            rewards += self._paid(key, completion, sampled)
        journal = self._opened()
        journal.add("judge_calls", calls)
        journal.add("rewards", rewards)

    def happened(self, event: TrainingEvent) -> None:
        """Write starts, resumptions, stops and the end; with those two and each checkpoint, make parts of what was written."""
        kind = _KINDS.get(event.what)
        if kind is not None:
            now = datetime.now(UTC)
            why = [str(event.facts[name]) for name in ("reason", "said") if event.facts.get(name)]
            row = RunEvent(
                event_id=digest("run event", {"run": self._run.run_id, "kind": str(kind), "at": now}),
                run_id=self._run.run_id,
                kind=kind,
                at=now,
                cases_done=event.step,
                cases_total=event.steps,
                detail=": ".join(why) or None,
            )
            self._opened().add("run_events", row)
        if self._journal is not None and (event.what == "saved" or kind in (RunEventKind.STOPPED, RunEventKind.FINISHED)):
            self._journal.close()
            self._journal = None

    def _opened(self) -> Journal:
        """Return the journal; what a killed run left behind was made into parts when the store was opened."""
        if self._journal is None:
            self._journal = self._store.journal(self._run.run_id)
            self._journal.add("runs", self._run)
        return self._journal

    def _call(self, key: str, completion: SampledCompletion, step: int, number: int) -> JudgeCall:
        asked = digest("training prompt", {"run": self._run.run_id, "example": completion.example_id}, length=64)
        return JudgeCall(
            call_id=key,
            run_id=self._run.run_id,
            judge=self._policy,
            judge_version=f"step {step}",
            case_id=completion.example_id or None,
            step=f"{step}/{number}",
            request_sha256=asked,
            attempt=1,
            status=CallStatus.OK,
            completion_tokens=completion.tokens,
            response_text=completion.text,
            parse_status="parsed" if completion.reading.readable else "malformed",
        )

    def _paid(self, key: str, completion: SampledCompletion, sampled: SampledCompletions) -> Sequence[Reward]:
        paid = {**completion.rewards, **completion.terms, TOTAL: completion.total}
        return [
            Reward(
                run_id=self._run.run_id,
                step=sampled.step,
                completion_id=key,
                prompt_id=completion.example_id or None,
                reward=name,
                value=value,
                unscored_reason=None if value is not None else Reason.ABSTAINED,
                weight=sampled.weights.get(name, 1.0),
            )
            for name, value in paid.items()
        ]


def evenly(count: int, most: int | None) -> list[int]:
    """At most so many places out of ``count``, spread evenly.

    Example:
        >>> evenly(8, 3), evenly(2, 3), evenly(3, None)
        ([0, 2, 5], [0, 1], [0, 1, 2])
    """
    if most is None or most >= count:
        return list(range(count))
    return [place * count // most for place in range(most)]
