"""Read a trainer's batch once: completions as texts, the columns beside them, the answers in each grammar.

Trainers pass lists of equal length: TRL and ms-swift call ``reward(completions, **columns)``. Several rewards over one
:class:`Batch` parse each completion once.

    completions ── texts ──► said(grammar): Parsed | Unparsed
    columns ────── truths(column): MagicMirrorAnswer | None        verdicts(column): bool | None
       └────────── groups(size): which completions answer the same prompt
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Final, TypeAlias, TypeGuard

from salon_taxonomy.answers import (
    MagicMirrorAnswer,
    Outcome,
    Parsed,
    Unparsed,
    parse_magicmirror,
    parse_magicmirror_json,
    parse_prism,
    parse_r3,
)
from salon_taxonomy.errors import InputError

Levels: TypeAlias = tuple[float, float, float, float]
"""The format, L1, L2 and L3 rewards of one completion."""

GRAMMARS: Final[Mapping[str, Callable[[str], Outcome[Any]]]] = MappingProxyType(
    {"magicmirror": parse_magicmirror, "prism": parse_prism, "r3": parse_r3}
)
"""The answer grammars that a completion can be read by, by name."""

_KEPT: Final = 4_096
_LONGEST_KEPT: Final = 8_192
_GROUP: Final = "group_id"
_NAMES_OF_A_PROMPT: Final = ("prompt_id", "example_id")
_REASONING: Final = ("reasoning_content", "reasoning", "thinking")
_PROMPTS: Final = ("prompts", "prompt", "messages", "image", "images")


class Batch:
    r"""Completions and the columns beside them, as one call of a trainer brings them.

    Args:
        completions: texts, or lists of chat messages, whose last is the completion. Reasoning that a tokenizer's response
            template took out of the text (``reasoning_content``, ``thinking``) is put back into ``<think>``.
        columns: lists with one value for each completion, by name; what is no list is the trainer's own and is left alone.

    Raises:
        InputError: for a completion that is neither; names its row.

    Example:
        >>> batch = Batch([r'<think>Fine.</think>\boxed{{"Whether Normal": true}}'], {"truth": ['{"Whether Normal": true}']})
        >>> batch.said("magicmirror")[0].answer == batch.truths("truth")[0]
        True
    """

    def __init__(self, completions: Sequence[object], columns: Mapping[str, Any]) -> None:
        self.completions = completions  # as the trainer gave them: for rewards of a user's own
        self.texts: list[str] = [
            each if type(each) is str else text_of(each, row=row) for row, each in enumerate(completions, start=1)
        ]
        self.columns = columns
        self._read: dict[tuple[str, ...], list[Any]] = {}

    def __len__(self) -> int:
        """Return how many completions there are."""
        return len(self.texts)

    def column(self, name: str) -> Sequence[Any]:
        """Return the values of one column, one for each completion.

        Raises:
            InputError: when it is missing, is no list, or has another length.
        """
        values = self.columns.get(name)
        if values is None:
            there = sorted(key for key, value in self.columns.items() if _is_list(value))
            hint = "Add it to the data set or the request, which hand their columns to the reward." + (
                f" There are: {', '.join(there)}." if there else ""
            )
            raise InputError("the reward needs a column that is not there", column=name, hint=hint)
        if not _is_list(values) or len(values) != len(self.texts):
            length = len(values) if _is_list(values) else type(values).__name__
            raise InputError(
                f"needs a list of {len(self.texts)} values, one for each completion, not", column=name, value=length
            )
        return values

    def said(self, grammar: str) -> list[Outcome[Any]]:
        """Return every completion, read by a grammar.

        Args:
            grammar: a key of :data:`GRAMMARS`.

        Raises:
            InputError: for another name.
        """
        if grammar not in GRAMMARS:
            raise InputError("unknown grammar", value=grammar, allowed=GRAMMARS)
        return self.remembered(("said", grammar), lambda: _all_said(grammar, self.texts))

    def truths(self, name: str) -> list[MagicMirrorAnswer | None]:
        """Return the annotators' labels in a column: JSON text, a mapping, an answer, or None where unlabelled.

        Raises:
            InputError: for any other value; names its row.
        """
        return self.remembered(
            ("truths", name), lambda: [_truth(value, row, name) for row, value in enumerate(self.column(name), start=1)]
        )

    def verdicts(self, name: str) -> list[bool | None]:
        """Return a column of true and false, also as the words; None where unknown.

        Raises:
            InputError: for another value; names its row.
        """
        return self.remembered(
            ("verdicts", name), lambda: [_verdict(value, row, name) for row, value in enumerate(self.column(name), start=1)]
        )

    def groups(self, size: int | None = None) -> list[Sequence[int]]:
        """Return the positions of completions that answer the same prompt and are compared with each other, group by group.

        Exact with a size or a column ``group_id``. By anything else two groups of one prompt that stand side by side look
        like one: data sets hold rows twice, and samplers draw them twice.

        Args:
            size: how many completions each group has; they follow each other. None: completions with equal ``group_id`` are one
                group, wherever they stand. Without that column completions in a row are of one group as long as
                ``prompt_id`` (else ``example_id``, else prompt and pictures) stays equal. Where none of these columns is
                there, every completion is a group of its own, and so is one whose id is null; a column of ids that are all
                null counts as none.

        Raises:
            InputError: when the completions cannot be divided into groups of that size, such a column is too short, or a
                ``group_id`` is a list or a mapping.

        Example:
            >>> twice = {"example_id": ["a"] * 4}
            >>> [list(group) for group in Batch(["?"] * 4, twice).groups()]
            [[0, 1, 2, 3]]
            >>> [list(group) for group in Batch(["?"] * 4, twice | {"group_id": [0, 0, 1, 1]}).groups()]
            [[0, 1], [2, 3]]
        """
        count = len(self.texts)
        if size is not None:
            if size < 1 or count % size:
                raise InputError(f"{count} completions are no groups of this size", column="group_size", value=size)
            return [range(start, start + size) for start in range(0, count, size)]
        if _has_ids(self.columns.get(_GROUP)):
            return _of_one_id(self.column(_GROUP))
        ids = next((self.column(name) for name in _NAMES_OF_A_PROMPT if _has_ids(self.columns.get(name))), None)
        keys = [ids] if ids is not None else [self.column(name) for name in _PROMPTS if _is_list(self.columns.get(name))]
        if not keys:
            return [range(position, position + 1) for position in range(count)]
        unknown = [False] * count if ids is None else [own is None for own in ids]
        starts = [0] + [here for here in range(1, count) if unknown[here] or any(key[here] != key[here - 1] for key in keys)]
        starts.append(count)
        return [range(start, end) for start, end in pairwise(starts) if end > start]

    def remembered(self, key: tuple[str, ...], make: Callable[[], list[Any]]) -> list[Any]:
        """Return what ``make`` gives, made once for this batch and key."""
        kept = self._read.get(key)
        if kept is None:
            kept = self._read[key] = make()
        return kept


def labels_of(value: object) -> Outcome[MagicMirrorAnswer]:
    r"""Read labels: JSON text, a whole reply with a box, or a parsed answer.

    Example:
        >>> labels_of('{"Whether Normal": true}').answer
        MagicMirrorAnswer(normal=True, artifacts=())
        >>> labels_of(r'<think>Fine.</think>\boxed{{"Whether Normal": true}}').answer.normal
        True
    """
    if isinstance(value, MagicMirrorAnswer):
        return Parsed(value)
    if isinstance(value, Mapping):
        value = _json_text(value)
    return _labels(value) if isinstance(value, str) else _labels("")


def _of_one_id(ids: Sequence[Any]) -> list[Sequence[int]]:
    """Return positions with equal ids, in the order in which the ids appear; each null stands alone."""
    groups: dict[Any, list[int]] = {}
    for position, own in enumerate(ids):
        try:
            groups.setdefault(object() if own is None else own, []).append(position)
        except TypeError as error:
            problem = "must be a number or a text, not"
            raise InputError(problem, row=position + 1, column=_GROUP, value=own) from error
    return list(groups.values())


def _has_ids(value: object) -> bool:
    return _is_list(value) and any(each is not None for each in value)


def _is_list(value: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def text_of(completion: object, *, row: int | None = None, column: str = "completions") -> str:
    """Return the text of a completion: itself, or the content of its last message, with the reasoning in front.

    Raises:
        InputError: for anything else; names ``row`` and ``column``.

    Example:
        >>> text_of([{"role": "assistant", "content": "Yes.", "reasoning_content": "Two lemons."}])
        '<think>Two lemons.</think>Yes.'
    """
    if isinstance(completion, str):
        return completion
    if isinstance(completion, list | tuple) and all(isinstance(message, Mapping) for message in completion):
        message = completion[-1] if completion else {}
        content = message.get("content")
        if isinstance(content, list | tuple):
            parts = [part.get("text") for part in content if isinstance(part, Mapping)]
            content = "".join(part for part in parts if isinstance(part, str))
        if content is None or isinstance(content, str):
            return _with_reasoning(message, content or "")
    problem = "a completion is a text or a list of messages, not" if column == "completions" else "neither text nor messages:"
    raise InputError(problem, row=row, column=column, value=completion)


def _with_reasoning(message: Mapping[Any, Any], content: str) -> str:
    """Return what the policy wrote; chat parsers (TRL's, vLLM's) keep the reasoning apart from the content."""
    for name in _REASONING:
        thought = message.get(name)
        if isinstance(thought, str) and thought.strip() and "</think>" not in content:
            return f"<think>{thought}</think>{content}"
    return content


def _truth(value: object, row: int, name: str) -> MagicMirrorAnswer | None:
    if value is None:
        return None
    outcome = _labels(value) if type(value) is str else labels_of(value)
    if isinstance(outcome, Unparsed):
        raise InputError(
            f"no MagicMirror labels ({outcome.reason}: {outcome.detail})",
            row=row,
            column=name,
            value=value,
            hint='Give JSON such as {"Whether Normal": true}, as magicmirror_json writes it.',
        )
    return outcome.answer


def _verdict(value: object, row: int, name: str) -> bool | None:
    if value is None or value is True or value is False:
        return value
    if getattr(value, "ndim", None) == 0:  # a scalar of NumPy or torch
        value = value.item()  # type: ignore[attr-defined]
        if value is True or value is False:
            return value
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    raise InputError("neither true nor false", row=row, column=name, value=value, allowed=("true", "false"))


def _all_said(grammar: str, texts: Sequence[str]) -> list[Outcome[Any]]:
    """Return every text read, equal ones once."""
    if len(texts) <= _KEPT:
        return [_said(grammar, text) for text in texts]
    parse = GRAMMARS[grammar]
    known: dict[str, Outcome[Any]] = {}
    outcomes = []
    for text in texts:
        outcome = known.get(text)
        if outcome is None:
            outcome = known[text] = parse(text)
        outcomes.append(outcome)
    return outcomes


def _said(grammar: str, text: str) -> Outcome[Any]:
    return _said_before(grammar, text) if len(text) <= _LONGEST_KEPT else GRAMMARS[grammar](text)


@lru_cache(maxsize=_KEPT)
def _said_before(grammar: str, text: str) -> Outcome[Any]:
    """Reading is pure, and rewards that are called one by one look at the same completions."""
    return GRAMMARS[grammar](text)


@lru_cache(maxsize=_KEPT)
def _labels(text: str) -> Outcome[MagicMirrorAnswer]:
    bare = parse_magicmirror_json(text)
    return parse_magicmirror(text) if isinstance(bare, Unparsed) and "\\boxed{" in text else bare


def _json_text(value: Mapping[Any, Any]) -> str:
    """Return a mapping as the JSON it came from; "" for one that JSON cannot hold."""
    import json

    try:
        return json.dumps(value)
    except (TypeError, ValueError):
        return ""
