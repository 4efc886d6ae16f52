"""One step's completions with their columns, parsed once for all monitors."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from salon_taxonomy.answers import (
    MagicMirrorAnswer,
    Outcome,
    Parsed,
    R3Answer,
    Unparsed,
    parse_magicmirror,
    parse_magicmirror_json,
    parse_r3,
)
from salon_taxonomy.errors import InputError

Answer: TypeAlias = MagicMirrorAnswer | R3Answer


class Grammar(StrEnum):
    """How the completions of a run are written."""

    MAGICMIRROR = "magicmirror"
    """An assessor's: ``<think>…</think>`` and labels in a box."""
    R3 = "r3"
    """A refiner's: ``<think>…</think>`` and verdict, explanation and edit instruction as JSON."""


_PARSERS: Mapping[Grammar, Callable[[str], Outcome[MagicMirrorAnswer] | Outcome[R3Answer]]] = {
    Grammar.MAGICMIRROR: parse_magicmirror,
    Grammar.R3: parse_r3,
}


@dataclass(frozen=True, slots=True)
class ReadCompletion:
    """One completion, read.

    Attributes:
        text: what the policy wrote.
        outcome: the answer, or why there is none.
        truth: what is right; None where nobody knows.
        group: completions of one picture share it; without ``example_id`` each stands alone.
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
        """What stands in the ``<think>`` block of a completion that can be read; None without one."""
        return self.outcome.reasoning if isinstance(self.outcome, Parsed) else None

    @property
    def length(self) -> int:
        """Tokens, or characters where nobody counted tokens."""
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
    grammar: Grammar
    completions: tuple[ReadCompletion, ...]
    rewards: tuple[float | None, ...] = ()
    held_out: float | None = None

    @classmethod
    def read(
        cls,
        completions: Sequence[object],
        *,
        step: int,
        grammar: Grammar | str = Grammar.MAGICMIRROR,
        truth: Sequence[object] | None = None,
        reward: Sequence[float | None] | None = None,
        example_id: Sequence[object] | None = None,
        completion_tokens: Sequence[int | None] | None = None,
        held_out: float | None = None,
        source: str | None = None,
        **columns: object,
    ) -> "StepBatch":
        r"""Read the completions of one step. A completion that no grammar takes is no error.

        Args:
            completions: texts, or lists of messages (the last one's content counts), as TRL gives them.
            step: the optimizer's step.
            grammar: how they are written.
            truth: one per completion: an answer, its JSON text, or None. For R³: true where the picture matches its prompt.
            reward: what each earned; None for a reward that abstained.
            example_id: what completions of one picture share. Samples of one picture resemble each other, so evidence is
                counted in pictures; without this column each completion counts as a picture of its own.
            completion_tokens: lengths in tokens; without it lengths are in characters.
            held_out: the metric on held-out pictures, where this step evaluated it.
            source: what an error names as the place.
            columns: whatever else a trainer hands over; not looked at.

        Raises:
            InputError: for a column that is shorter or longer than the completions, a completion that is no text, a truth that is
                none, a reward or metric that is not finite.

        Example:
            >>> batch = StepBatch.read([r'<think>Fine.</think>\boxed{{"Whether Normal": true}}', "?"], step=3)
            >>> batch.completions[0].answer, batch.completions[1].answer
            (MagicMirrorAnswer(normal=True, artifacts=()), None)
        """
        if grammar not in tuple(Grammar):
            raise InputError("unknown grammar", source=source, column="grammar", value=grammar, allowed=Grammar)
        grammar = Grammar(grammar)
        if isinstance(step, bool) or not isinstance(step, int) or step < 0:
            raise InputError("must be a whole number of 0 or more", source=source, column="step", value=step)
        count = len(completions)
        for name, column in {
            "truth": truth,
            "reward": reward,
            "example_id": example_id,
            "completion_tokens": completion_tokens,
        }.items():
            if column is not None and len(column) != count:
                raise InputError(f"has {len(column)} values for {count} completions", source=source, column=name)
        if held_out is not None and not _finite(held_out):
            raise InputError("must be a finite number", source=source, column="held_out", value=held_out)
        for row, paid in enumerate(reward or (), start=1):
            if paid is not None and not _finite(paid):
                raise InputError("must be a finite number, or null", source=source, row=row, column="reward", value=paid)
        parse, known = _PARSERS[grammar], _Truths(grammar, source)
        read = []
        for index, completion in enumerate(completions):
            text = _text(completion, index + 1, source)
            tokens = None if completion_tokens is None else completion_tokens[index]
            if tokens is not None and (isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 0):
                raise InputError(
                    "must be a whole number of 0 or more", source=source, row=index + 1, column="completion_tokens", value=tokens
                )
            read.append(
                ReadCompletion(
                    text,
                    parse(text),
                    None if truth is None else known.read(truth[index], index + 1),
                    ("completion", index) if example_id is None else ("example", example_id[index]),
                    tokens,
                )
            )
        rewards = () if reward is None else tuple(None if paid is None else float(paid) for paid in reward)
        return cls(step, grammar, tuple(read), rewards, None if held_out is None else float(held_out))

    @property
    def unreadable(self) -> int:
        """How many completions no grammar takes."""
        return sum(completion.answer is None for completion in self.completions)


class _Truths:
    """Reads a column of truths, each different text once: a group's completions share theirs."""

    def __init__(self, grammar: Grammar, source: str | None) -> None:
        self._grammar = grammar
        self._source = source
        self._known: dict[str, Answer] = {}

    def read(self, given: object, row: int) -> Answer | None:
        if given is None or isinstance(given, MagicMirrorAnswer if self._grammar is Grammar.MAGICMIRROR else R3Answer):
            return given  # type: ignore[return-value]  # narrowed by the grammar
        if self._grammar is Grammar.R3:
            given = {"true": True, "false": False}.get(given.strip(), given) if isinstance(given, str) else given
            if isinstance(given, bool):
                return R3Answer(given)
        elif isinstance(given, Mapping):
            given = json.dumps(given, default=str)
        if not isinstance(given, str):
            raise InputError("is no truth", source=self._source, row=row, column="truth", value=given)
        if given not in self._known:
            found = parse_r3(given) if self._grammar is Grammar.R3 else parse_magicmirror_json(given)
            if isinstance(found, Unparsed):
                wanted = '{"Whether Normal": true}' if self._grammar is Grammar.MAGICMIRROR else "true"
                raise InputError(
                    f"is no truth ({found.detail})",
                    source=self._source,
                    row=row,
                    column="truth",
                    value=given,
                    hint=f"A truth of this grammar is written like {wanted}.",
                )
            self._known[given] = found.answer
        return self._known[given]


def _text(completion: object, row: int, source: str | None) -> str:
    """The text of a completion, plain or as a list of messages; of content in parts, the texts."""
    if isinstance(completion, Sequence) and not isinstance(completion, str | bytes) and completion:
        message = completion[-1]
        completion = message.get("content") if isinstance(message, Mapping) else None
        if isinstance(completion, Sequence) and not isinstance(completion, str | bytes):
            completion = "".join(str(part.get("text") or "") for part in completion if isinstance(part, Mapping))
    if not isinstance(completion, str):
        raise InputError(
            "is neither a text nor a list of messages", source=source, row=row, column="completion", value=completion
        )
    return completion


def _finite(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
