"""One step's completions with their columns, parsed once for all monitors (and not again, where rewards have read them)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from salon_rewards.batch import Batch
from salon_taxonomy.answers import MagicMirrorAnswer, Outcome, Parsed, R3Answer
from salon_taxonomy.errors import InputError, member_of

Answer: TypeAlias = MagicMirrorAnswer | R3Answer


class AnswerForm(StrEnum):
    """How the completions of a run are written."""

    MAGICMIRROR = "magicmirror"
    """An assessor's: ``<think>…</think>`` and labels in a box."""
    R3 = "r3"
    """A refiner's: ``<think>…</think>`` and verdict, explanation and edit instruction as JSON."""


@dataclass(frozen=True, slots=True)
class ReadCompletion:
    """One completion, read.

    Attributes:
        text: what the policy wrote.
        outcome: the answer, or why it is missing.
        truth: the right answer; None where unknown.
        group: completions of one picture share it.
        tokens: its length in tokens, where the trainer says so.
    """

    text: str
    outcome: Outcome[MagicMirrorAnswer] | Outcome[R3Answer]
    truth: Answer | None
    group: object
    tokens: int | None

    @property
    def answer(self) -> Answer | None:
        """The answer; None where the completion cannot be read."""
        return self.outcome.answer if isinstance(self.outcome, Parsed) else None

    @property
    def reasoning(self) -> str | None:
        """Return the text of the ``<think>`` block of a readable completion; None without one."""
        return self.outcome.reasoning if isinstance(self.outcome, Parsed) else None

    @property
    def length(self) -> int:
        """Return the tokens, or the characters where tokens were not counted."""
        return len(self.text) if self.tokens is None else self.tokens


@dataclass(frozen=True, slots=True)
class StepBatch:
    """All completions of one step.

    Attributes:
        step: the optimizer's step, 0 or more.
        grammar: how they are written.
        completions: in the trainer's order.
        rewards: what each earned; None where the reward abstained; empty where rewards are not known.
        held_out: the metric on pictures that are not trained on, where this step evaluated it; None where not.
    """

    step: int
    grammar: AnswerForm
    completions: tuple[ReadCompletion, ...]
    rewards: tuple[float | None, ...] = ()
    held_out: float | None = None

    @classmethod
    def read(
        cls,
        completions: Sequence[object],
        *,
        step: int,
        grammar: AnswerForm | str = AnswerForm.MAGICMIRROR,
        truth: Sequence[object] | None = None,
        reward: Sequence[float | None] | None = None,
        example_id: Sequence[object] | None = None,
        completion_tokens: Sequence[int | None] | None = None,
        held_out: float | None = None,
        group_size: int | None = None,
        source: str | None = None,
        **columns: object,
    ) -> "StepBatch":
        r"""Read the completions of one step. A completion that no grammar takes is no error.

        Args:
            completions: texts, or lists of messages (the last one's content counts), as TRL gives them.
            step: the optimizer's step.
            grammar: how they are written.
            truth: one per completion: labels as rewards take them, or None. For R³: true where the
                picture matches its prompt; without it the column ``matches`` is taken, as rewards call it.
            reward: what each earned; None for a reward that abstained.
            example_id: what completions of one picture share, wherever they stand. Samples of one picture resemble each
                other, so evidence is counted in pictures. Without this column each group counts as a picture of its own: by
                ``group_size`` or the column ``group_id``, else by prompts and pictures that stay equal from one completion
                to the next; without any of these each completion does.
            completion_tokens: lengths in tokens; without it lengths are in characters.
            held_out: the metric on held-out pictures, where this step evaluated it.
            group_size: how many completions each group has, where the trainer knows.
            source: what an error names as the place.
            columns: whatever else a trainer hands over; of it, prompts and pictures tell groups apart.

        Raises:
            InputError: for a column that is shorter or longer than the completions, a completion that is no text, a truth
                that is not allowed, a reward or metric that is not finite.

        Example:
            >>> batch = StepBatch.read([r'<think>Fine.</think>\boxed{{"Whether Normal": true}}', "?"], step=3)
            >>> batch.completions[0].answer, batch.completions[1].answer
            (MagicMirrorAnswer(normal=True, artifacts=()), None)
        """
        grammar = member_of(AnswerForm, grammar, "grammar", column="grammar", source=source)
        if isinstance(step, bool) or not isinstance(step, int) or step < 0:
            raise InputError("must be a whole number of 0 or more", source=source, column="step", value=step)
        if truth is None and grammar is AnswerForm.R3:
            truth = columns.get("matches")  # type: ignore[assignment]  # the batch looks at it
        if held_out is not None and not _finite(held_out):
            raise InputError("must be a finite number", source=source, column="held_out", value=held_out)
        own_columns = {"truth": truth, "reward": reward, "example_id": example_id, "completion_tokens": completion_tokens}
        batch = Batch(completions, columns | {name: column for name, column in own_columns.items() if column is not None})
        rewards = () if reward is None else tuple(batch.column("reward"))
        for row, paid in enumerate(rewards, start=1):
            if paid is not None and not _finite(paid):
                raise InputError("must be a finite number, or null", source=source, row=row, column="reward", value=paid)
        count = len(batch)
        lengths = [None] * count if completion_tokens is None else list(batch.column("completion_tokens"))
        for row, length in enumerate(lengths, start=1):
            if length is not None and (isinstance(length, bool) or not isinstance(length, int) or length < 0):
                problem = "must be a whole number of 0 or more"
                raise InputError(problem, source=source, row=row, column="completion_tokens", value=length)
        read = zip(
            batch.texts,
            batch.said(grammar),
            _truths(batch, grammar, truth),
            _groups(batch, example_id, group_size),
            lengths,
            strict=True,
        )
        return cls(
            step,
            grammar,
            tuple(ReadCompletion(*each) for each in read),
            tuple(None if paid is None else float(paid) for paid in rewards),
            None if held_out is None else float(held_out),
        )

    @property
    def unreadable(self) -> int:
        """How many completions no grammar takes."""
        return sum(completion.answer is None for completion in self.completions)


def _truths(batch: Batch, grammar: AnswerForm, truth: Sequence[object] | None) -> Sequence[Answer | None]:
    """Return what is right for each completion."""
    if truth is None:
        return [None] * len(batch)
    if grammar is AnswerForm.MAGICMIRROR:
        return batch.truths("truth")
    plain = [value.matches if isinstance(value, R3Answer) else value for value in truth]
    matches = Batch(batch.texts, {"truth": plain}).verdicts("truth")
    return [None if value is None else R3Answer(value) for value in matches]


def _groups(batch: Batch, example_id: Sequence[object] | None, group_size: int | None) -> list[object]:
    """Which picture each completion is about: its ``example_id`` (each null alone), else its group (:meth:`Batch.groups`)."""
    if example_id is not None:
        names = enumerate(batch.column("example_id"))
        return [("completion", position) if name is None else str(name) for position, name in names]
    owners = {position: number for number, group in enumerate(batch.groups(group_size)) for position in group}
    return [owners[position] for position in range(len(batch))]


def _finite(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
