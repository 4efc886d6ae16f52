"""Sampled completions into the result store: what the policy wrote, and what each reward paid for it.

runs         the training run (suite ``training``)
run_events   started, resumed, stopped (and why), finished
judge_calls  one row per kept completion: its text, as the policy's reply (``response_text``)
rewards      one row per kept completion and reward, with the reason where there is no number; so for the terms of a reward
             (``reasoning/verdict``) and the weighted sum (``total``)
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from salon_rewards.composition import TOTAL
from salon_store import ResultStore
from salon_taxonomy.digest import digest
from salon_taxonomy.records import CallStatus, JudgeCall, Record, Reward, Run, RunEvent, RunEventKind
from salon_taxonomy.verdict import Reason
from salon_train.trainers.events import TrainingEvent
from salon_train.trainers.policy import SampledCompletion, SampledCompletions

SUITE: Final = "training"
_KINDS: Final = {
    "started": RunEventKind.STARTED,
    "resumed": RunEventKind.RESUMED,
    "degenerated": RunEventKind.STOPPED,
    "stopped": RunEventKind.STOPPED,
    "finished": RunEventKind.FINISHED,
}
"""What the store calls the events that it is told of."""


class RolloutRecorder:
    """Keeps some completions of every generation batch, and notes how the run goes.

    A listener of a trainer (:meth:`keep`) and a watcher of events (:meth:`happened`) at once.

    Doing a step again after a kill replaces nothing: rows have keys made of run, step and place, and a row that stands
    already is left as it is. A resumed run samples the same completions again, so the rows are the same.

    Args:
        folder: of the store; made when it is not there.
        run_id: of this training run.
        policy: what tables call the model that learns.
        completions: of each generation batch, evenly over its groups; None: all.
        seed: of the run.
        settings: JSON text of the configuration.
        version: of Salon.
    """

    def __init__(
        self,
        folder: Path,
        *,
        run_id: str,
        policy: str,
        completions: int | None,
        seed: int,
        settings: str,
        version: str,
    ) -> None:
        self._store = ResultStore.open(folder)
        self._run_id = run_id
        self._policy = policy
        self._most = completions
        now = datetime.now(UTC)
        run = Run(
            run_id=run_id,
            suite=SUITE,
            subject_model=policy,
            seed=seed,
            settings=settings,
            salon_version=version,
            started_at=now,
        )
        self._store.append("runs", [run], run_id=run_id, on_duplicate="skip")

    def keep(self, sampled: SampledCompletions) -> None:
        """Write some completions of a generation batch."""
        calls: list[Record] = []
        rewards: list[Record] = []
        for place in evenly(len(sampled.completions), self._most):
            completion = sampled.completions[place]
            key = digest("completion", {"run": self._run_id, "step": sampled.step, "place": place})
            calls.append(self._call(key, completion, sampled.step, place))
            rewards += self._paid(key, completion, sampled)
        self._store.append("judge_calls", calls, run_id=self._run_id, on_duplicate="skip")
        self._store.append("rewards", rewards, run_id=self._run_id, on_duplicate="skip")

    def happened(self, event: TrainingEvent) -> None:
        """Note that the run was started, resumed, stopped or finished; other events stand in the run's log."""
        kind = _KINDS.get(event.what)
        if kind is None:
            return
        now = datetime.now(UTC)
        key = digest("run event", {"run": self._run_id, "kind": str(kind), "at": now})
        why = [str(event.facts[name]) for name in ("reason", "said") if event.facts.get(name)]
        noted = RunEvent(
            event_id=key,
            run_id=self._run_id,
            kind=kind,
            at=now,
            cases_done=event.step,
            cases_total=event.steps,
            detail=": ".join(why) or None,
        )
        self._store.append("run_events", [noted], run_id=self._run_id)

    def _call(self, key: str, completion: SampledCompletion, step: int, place: int) -> JudgeCall:
        asked = digest("training prompt", {"run": self._run_id, "example": completion.example_id}, length=64)
        return JudgeCall(
            call_id=key,
            run_id=self._run_id,
            judge=self._policy,
            judge_version=f"step {step}",
            case_id=completion.example_id or None,
            step=f"{step}/{place}",
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
                run_id=self._run_id,
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
