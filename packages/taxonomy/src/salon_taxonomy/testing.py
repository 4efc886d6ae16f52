"""What tests of Salon and of its users share: generated records and answers, spoiled replies, and a judge that replays.

Needs Hypothesis (``pip install hypothesis``); nothing else in Salon imports this module.
"""

import types
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC
from enum import Enum
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import AwareDatetime
from pydantic.fields import FieldInfo

from salon_taxonomy.answers import MAGICMIRROR_MENU, Artifact, MagicMirrorAnswer, PrismAnswer, R3Answer
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Question, Reply
from salon_taxonomy.records import Battle, Rating, Record, Reward, Score

try:
    from hypothesis import strategies as st
except ImportError as error:  # pragma: no cover - the test environment has it
    raise ImportError("salon_taxonomy.testing needs Hypothesis; install it with: pip install hypothesis") from error

HOSTILE_REPLIES: tuple[str, ...] = (
    "",
    " \n\t ",
    "The picture looks fine to me.",
    "I'm sorry, but I can't help with that.",
    '{"score": 7, "justification": "cut of',
    "<think>I have not finished",
    r'\boxed{{"Whether Normal": fal',
    "\x00\x1b[31m\ud800\u202e",
    "{" * 100_000,
    "[" * 100_000,
    r"\boxed{" * 20_000,
    '"' * 100_001,
    "\\" * 100_001,
    "<think>" * 20_000,
    "</think>" * 20_000,
    '{"score": ' + "9" * 100_000 + "}",
    '{"score": 1e999, "justification": ""}',
    '{"score": NaN, "justification": ""}',
    '{"answer": true, "answer": false, "explanation": "", "edit_prompt": ""}',
)
"""Replies that no grammar of Salon takes for a verdict, and that no parser may raise on: the first test of each."""

text = st.text(st.characters(exclude_categories=["Cs"]))
"""Any text that files and databases can carry, control characters included."""


# ------------------------------------------------------------------------------------------------------------- records


def records(table: type[Record]) -> st.SearchStrategy[Any]:
    """Return valid rows of one table, drawn from the constraints of the record's own fields.

    Example:
        >>> records(Rating).validate()
    """
    drawn = {name: _values(field.annotation, field.metadata) for name, field in table.model_fields.items()}
    return st.fixed_dictionaries(drawn).map(_consistent(table)).map(lambda row: table(**row))


def battles() -> st.SearchStrategy[Battle]:
    """Return valid battles."""
    return records(Battle)


def scores() -> st.SearchStrategy[Score]:
    """Return valid scores, with a value or with the reason why not."""
    return records(Score)


def ratings() -> st.SearchStrategy[Rating]:
    """Return valid ratings, on scales of any width."""
    return records(Rating)


def _consistent(table: type[Record]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return a function that settles what one record's fields demand of each other."""

    def settle(row: dict[str, Any]) -> dict[str, Any]:
        if table in (Score, Reward):
            row["unscored_reason"] = None if row["value"] is not None else row["unscored_reason"] or "timeout"
        if table is Battle and row["model_a"] == row["model_b"]:
            row["model_b"] = f"{row['model_b'][:-1]}{'b' if row['model_a'][-1] != 'b' else 'c'}"
        if table is Battle and row["started_at"] is not None and row["answered_at"] is not None:
            row["started_at"], row["answered_at"] = sorted([row["started_at"], row["answered_at"]])
        if table is Rating:
            row["scale_min"], row["value"], row["scale_max"] = sorted([row["scale_min"], row["value"], row["scale_max"]])
        return row

    return settle


def _values(annotation: Any, metadata: Sequence[Any] = ()) -> st.SearchStrategy[Any]:
    """Return values that a field with this annotation and these constraints takes."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        inner = [m for item in arguments[1:] for m in (item.metadata if isinstance(item, FieldInfo) else [item])]
        return _values(arguments[0], [*inner, *metadata])
    if origin in (Union, types.UnionType):
        return st.one_of(*(_values(argument) for argument in arguments))
    if origin is tuple:
        return st.lists(_values(arguments[0]), max_size=4).map(tuple)
    if annotation is AwareDatetime:
        return st.datetimes(timezones=st.just(UTC))
    if annotation is type(None):
        return st.none()
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return st.sampled_from(annotation)
    limits = {name: value for item in metadata for name, value in _limits(item).items()}
    return _plain(annotation, limits)


def _plain(annotation: Any, limits: dict[str, Any]) -> st.SearchStrategy[Any]:
    low, high = limits.get("ge", limits.get("gt")), limits.get("le", limits.get("lt"))
    if annotation is bool:
        return st.booleans()
    if annotation is int:
        return st.integers(low + ("gt" in limits) if low is not None else -(2**40), high if high is not None else 2**40)
    if annotation is float:
        return st.floats(
            low, high, exclude_min="gt" in limits, exclude_max="lt" in limits, allow_nan=False, allow_infinity=False
        )
    if annotation is str and "pattern" in limits:
        return st.from_regex(limits["pattern"], fullmatch=True)
    if annotation is str:
        alphabet = st.characters(exclude_categories=["Cs"])
        return st.text(alphabet, min_size=limits.get("min_length", 0), max_size=min(limits.get("max_length", 40), 40))
    raise InputError("no strategy for this kind of column", value=annotation)


def _limits(limits: Any) -> dict[str, Any]:
    """Return the bounds that one piece of a field's metadata states."""
    names = ("ge", "gt", "le", "lt", "min_length", "max_length", "pattern")
    return {name: value for name in names if (value := getattr(limits, name, None)) is not None}


# ------------------------------------------------------------------------------------------------------------- answers


@st.composite
def magicmirror_answers(draw: st.DrawFn) -> MagicMirrorAnswer:
    """Return valid MagicMirror answers: normal images, and all sets of labels, the empty one too."""
    if draw(st.booleans()):
        return MagicMirrorAnswer(normal=True)
    chosen = draw(st.lists(st.sampled_from(list(MAGICMIRROR_MENU)), unique=True))
    return MagicMirrorAnswer(False, tuple(Artifact(l2, draw(_some(MAGICMIRROR_MENU[l2]))) for l2 in chosen))


def _some(labels: Sequence[str]) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from(labels), unique=True).map(tuple) if labels else st.just(())


def r3_answers() -> st.SearchStrategy[R3Answer]:
    """Return valid R³ answers, with any text in them."""
    return st.builds(R3Answer, st.booleans(), text, text)


def prism_answers() -> st.SearchStrategy[PrismAnswer]:
    """Return valid PRISM answers, with any text in them."""
    return st.builds(PrismAnswer, st.floats(0, 10), text)


def reasonings() -> st.SearchStrategy[str | None]:
    """Draw the content of ``<think>``: None, or stripped text without think tags."""
    return st.none() | text.map(lambda thought: thought.replace("<", "‹").strip())


@st.composite
def spoiled(draw: st.DrawFn, replies: st.SearchStrategy[str]) -> str:
    """Draw replies with one to four edits: a piece removed, doubled, truncated, or interspersed with grammar signs."""
    reply = draw(replies)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(reply)))
        end = draw(st.integers(start, min(len(reply), start + 20)))
        sign = draw(
            st.sampled_from(['"', "{", "}", "\\", ",", ":", "null", "NaN", "<think>", "</think>", r"\boxed{", "\ud800"])
        )
        reply = draw(
            st.sampled_from(
                [reply[:start] + reply[end:], reply[:end] + reply[start:], reply[:start], reply[:start] + sign + reply[end:]]
            )
        )
    return reply


# -------------------------------------------------------------------------------------------------------------- judges


class ReplayJudge:
    """A judge that returns the given replies, in order, and records its questions.

    Args:
        replies: texts, or whole replies for latencies, failures and the like.
        name: what tables call it.
        version: the version of every reply that is given as a text.

    Example:
        >>> import asyncio
        >>> judge = ReplayJudge(["yes"])
        >>> asyncio.run(judge.ask(Question(("Is this AI-generated?",)))).text, len(judge.asked)
        ('yes', 1)
    """

    def __init__(self, replies: Iterable[str | Reply], *, name: str = "replay", version: str = "replay-1") -> None:
        self.name = name
        self.version = version
        self.asked: list[Question] = []
        self._replies = iter(replies)

    async def ask(self, question: Question) -> Reply:
        """Return the next reply.

        Raises:
            InputError: when all replies were given.
        """
        self.asked.append(question)
        reply = next(self._replies, None)
        if reply is None:
            raise InputError(
                f"the judge {self.name!r} has no reply left", row=len(self.asked), hint="Give it one reply for each question."
            )
        return Reply(reply, version=self.version) if isinstance(reply, str) else reply
