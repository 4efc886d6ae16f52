"""R³'s answer: ``<think>…</think>`` and then one JSON object with verdict, explanation and edit instruction.

The grammar is R³-Bench's, Figure 17 and appendix F.1, "a strict JSON format":
``{"answer": bool, "explanation": str, "edit_prompt": str}``, where the two texts are asked for only when the answer is false.

The released script reads verdicts by other rules; ``fidelity="released"`` follows them. Its answer may be a text (``"false"``;
any text but "true" is false), a number, or missing (false); missing texts are blank. A false answer counts only with an
instruction that can be carried out; without one the script asks again. This last rule is that of its reader for Qwen3-VL; its
reader for other models takes such an answer. Where a reply holds no JSON at all, the script says "the picture matches"; here it
is ``Unparsed`` by both rules.
"""

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from salon_taxonomy.answers.outcome import Note, Outcome, Parsed, Unparsed
from salon_taxonomy.answers.reading import Fidelity, checked_fidelity, rejected, split_object, without_surrogates
from salon_taxonomy.answers.rendering import object_text, with_reasoning
from salon_taxonomy.answers.strict_json import Json, JsonError, strict_json
from salon_taxonomy.verdict import Reason

_TEXTS = ("explanation", "edit_prompt")
_KEYS = frozenset(("answer", *_TEXTS))

# The reply as it is asked for: one block of reasoning, one object, and no brace or tag where the general reading would have to
# look twice. Possessive, so the match never turns back.
_VERBS: Final = re.compile("add|remove|replace|change|move|delete|place|position|shift|make|modify|update")
_ECHO: Final = "location-specific editing instruction"
"""A piece of the paper's template (Figure 17); an instruction that holds it repeats the template."""
_SHORTEST, _SHORTEST_WITHOUT_VERB = 11, 20

_AS_ASKED: Final = re.compile(r"\s*+<think>([^<]*+)</think>\s*+(\{[^{}<]*+\})\s*+")


@dataclass(frozen=True, slots=True)
class R3Answer:
    """One turn of the reason–reflect–rectify loop.

    Attributes:
        matches: the verdict: the image shows what its prompt asks for (the JSON key is ``answer``).
        explanation: what differs; may be blank, and usually is when the image matches.
        edit_prompt: the instruction for the image editor; may be blank, and usually is when the image matches.
    """

    matches: bool
    explanation: str = ""
    edit_prompt: str = ""


def parse_r3(text: str, *, fidelity: Fidelity = "paper") -> Outcome[R3Answer]:
    """Read one reply: the last JSON object outside of the reasoning, bare, fenced or within prose.

    When ``answer`` is true, ``explanation`` and ``edit_prompt`` may be missing or null and become ``""``. When it is
    false, both must be strings; blank ones are read as they are, so that a metric can count them.

    Args:
        text: the reply.
        fidelity: which rules: the paper's, or the released script's.

    Raises:
        InputError: for another fidelity.

    Example:
        >>> parse_r3('<think>Two lemons.</think>{"answer": false, "explanation": "Two lemons, not three.",'
        ...          ' "edit_prompt": "Add a lemon on the right."}').answer
        R3Answer(matches=False, explanation='Two lemons, not three.', edit_prompt='Add a lemon on the right.')
        >>> parse_r3('{"answer": "maybe"}')
        Unparsed(reason=<Reason.OFF_MENU: 'off_menu'>, detail="'answer' is neither true nor false", reasoning=None)
        >>> quoted = '{"answer": "false", "explanation": "Two.", "edit_prompt": "Add a third lemon."}'
        >>> parse_r3(quoted).reason.value, parse_r3(quoted, fidelity="released").answer.matches
        ('off_menu', False)
        >>> bare = '{"answer": false, "explanation": "Two.", "edit_prompt": ""}'
        >>> parse_r3(bare).answer.matches, parse_r3(bare, fidelity="released").detail
        (False, 'the answer is false, and no edit instruction can be carried out')
    """
    answer_of = _answer if checked_fidelity(fidelity) == "paper" else _released_answer
    asked = _AS_ASKED.fullmatch(text)
    if asked is not None and without_surrogates(text) is text:
        with suppress(JsonError, _OffMenuError):  # the general reading says what is wrong
            answer, notes = answer_of(strict_json(asked[2]))
            return Parsed(answer, asked[1].strip(), notes)
    return _parsed(text, answer_of)


def _parsed(text: str, answer_of: Callable[[Json], tuple[R3Answer, tuple[Note, ...]]]) -> Outcome[R3Answer]:
    """Read a reply of any form; :func:`parse_r3` takes a shorter way for replies as they are asked for."""
    opened = split_object(text)
    if isinstance(opened, Unparsed):
        return opened
    heard, fragment = opened
    try:
        answer, extra = answer_of(strict_json(fragment.body))
    except _OffMenuError as problem:
        return rejected(fragment, Reason.OFF_MENU, str(problem), heard.reasoning)
    except JsonError as problem:
        return rejected(fragment, Reason.MALFORMED, str(problem), heard.reasoning)
    return Parsed(answer, heard.reasoning, (*heard.notes, *fragment.notes, *extra))


def render_r3(answer: R3Answer, reasoning: str | None = None) -> str:
    """Return the whole reply; :func:`parse_r3` reads it back.

    Raises:
        InputError: when the reasoning itself holds a think tag.

    Example:
        >>> print(render_r3(R3Answer(True), "Three lemons, three flags."))
        <think>
        Three lemons, three flags.
        </think>
        {"answer": true, "explanation": "", "edit_prompt": ""}
    """
    members = {"answer": answer.matches, "explanation": answer.explanation, "edit_prompt": answer.edit_prompt}
    return with_reasoning(object_text(members), reasoning)


class _OffMenuError(ValueError):
    """The verdict is neither true nor false."""


def _answer(value: Json) -> tuple[R3Answer, tuple[Note, ...]]:
    if not isinstance(value, dict) or "answer" not in value:
        raise JsonError("the key 'answer' is missing")
    matches = value["answer"]
    if matches is not True and matches is not False:
        raise _OffMenuError("'answer' is neither true nor false")
    explanation, edit_prompt = [_text(value, key, needed=not matches) for key in _TEXTS]
    return R3Answer(matches, explanation, edit_prompt), () if value.keys() <= _KEYS else (Note.EXTRA_KEYS,)


def _released_answer(value: Json) -> tuple[R3Answer, tuple[Note, ...]]:
    """Return the answer by the script's rules."""
    if not isinstance(value, dict):
        raise JsonError("the answer is no JSON object")
    answer = value.get("answer", False)
    matches = answer.lower() == "true" if isinstance(answer, str) else bool(answer)
    explanation, edit_prompt = [_text(value, key, needed=False) for key in _TEXTS]
    if not matches and not _can_be_carried_out(edit_prompt):
        raise JsonError("the answer is false, and no edit instruction can be carried out")
    return R3Answer(matches, explanation, edit_prompt), () if value.keys() <= _KEYS else (Note.EXTRA_KEYS,)


def _can_be_carried_out(instruction: str) -> bool:
    """Return whether the script takes an instruction: long enough, with a verb of editing if it is short, and no template."""
    text = instruction.strip().lower()
    if len(text) < _SHORTEST or text == "remain unchanged" or _ECHO in text:
        return False
    return len(text) >= _SHORTEST_WITHOUT_VERB or _VERBS.search(text) is not None


def _text(members: dict[str, Json], key: str, *, needed: bool) -> str:
    value = members.get(key)
    if isinstance(value, str):
        return without_surrogates(value)
    if value is None and not needed:
        return ""
    raise JsonError(f"{key!r} is no text" if key in members else f"the key {key!r} is missing")
