"""Build the chat messages about a picture: the question, MagicBench's or a shorter one, and the answer.

Contents are plain texts; TRL puts the picture before the user's, and a model's own chat template does the rest.
"""

from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING

from salon_taxonomy.answers import MAGICMIRROR_MENU, render_magicmirror
from salon_taxonomy.errors import InputError
from salon_taxonomy.training_example import TrainingExample

if TYPE_CHECKING:
    from salon_bench.suites.magicbench.questions import Questions

Message = dict[str, str]
"""``role`` and ``content``."""
_NOT_KNOWN = "(not known)"
_PLACE = "{prompt}"


class Wording(StrEnum):
    """How long the question is; the answer has the same form for each."""

    FULL = "full"
    """The question that ``salon bench run magicdata`` asks: every label with its definition, the annotators' rules, the form
    of the answer. Some 1,500 tokens."""
    SHORT = "short"
    """The labels without definitions, and the form of the answer. Some 400 tokens."""
    BARE = "bare"
    """Four words, and not what the generator was told: for tiny models that learn the answers by heart."""


def question_of(prompt: str | None, wording: Wording | str = Wording.FULL) -> str:
    """Return the text of the question about a picture.

    Args:
        prompt: the generator's prompt; None when unknown.
        wording: one of :class:`Wording`, or a text of your own, in which ``{prompt}`` is replaced by the prompt.

    Raises:
        InputError: for a text that is empty.

    Example:
        >>> question_of("a cat", "bare")
        'What is wrong here?'
        >>> question_of("a cat", "It was told: {prompt}. What is wrong?")
        'It was told: a cat. What is wrong?'
        >>> print(question_of(None, Wording.SHORT).splitlines()[0])
        An image generator was told: (not known)
    """
    if wording == Wording.FULL:
        return _full(prompt or "")
    if wording == Wording.SHORT:
        return f"An image generator was told: {prompt or _NOT_KNOWN}\n{_short()}"
    if wording == Wording.BARE:
        return "What is wrong here?"
    if not wording.strip():
        raise InputError("must not be empty", column="wording", value=wording, allowed=Wording)
    return wording.replace(_PLACE, prompt or _NOT_KNOWN)


def asked(example: TrainingExample, wording: Wording | str = Wording.FULL) -> list[Message]:
    """Return the user's message.

    Example:
        >>> from salon_taxonomy.answers import MagicMirrorAnswer
        >>> asked(TrainingExample("1", b"", MagicMirrorAnswer(True)), "bare")
        [{'role': 'user', 'content': 'What is wrong here?'}]
    """
    return [{"role": "user", "content": question_of(example.prompt, wording)}]


def answered(example: TrainingExample, *, reasoning: bool = True) -> list[Message]:
    r"""Return the assistant's message, in MagicMirror's grammar.

    Args:
        example: with the truth.
        reasoning: write the example's reasoning, or empty reasoning where it has none, so that the form is always whole;
            False: the box alone.

    Raises:
        InputError: the reasoning itself holds a think tag.

    Example:
        >>> from salon_taxonomy.answers import MagicMirrorAnswer
        >>> answered(TrainingExample("1", b"", MagicMirrorAnswer(True)), reasoning=False)[0]["content"]
        '\\boxed{{"Whether Normal": true}}'
    """
    text = render_magicmirror(example.truth, (example.reasoning or "") if reasoning else None)
    return [{"role": "assistant", "content": text}]


def _full(prompt: str) -> str:
    from salon_taxonomy.protocols import Media

    return _questions().assessment(Media.from_bytes(b""), prompt=prompt).text


@cache
def _questions() -> "Questions":
    from salon_bench.suites.magicbench import MagicBench

    return MagicBench().questions


@cache
def _short() -> str:
    labels = "\n".join(f"{l2}: {', '.join(cases)}" if cases else l2 for l2, cases in MAGICMIRROR_MENU.items())
    return (
        "Is the picture physically sound? If not, say what is wrong with it. The labels, each with its special cases:\n"
        f"{labels}\n"
        "Answer with <think>what you see</think> and then a box with JSON, for a sound picture\n"
        '\\boxed{{"Whether Normal": true}}\n'
        "and for another, with a list of special cases, or true where a label has none,\n"
        '\\boxed{{"Whether Normal": false, "Type of Deformity": {"L2: Abnormal Human Anatomy": ["L3: Hand Structure Deformity"]'
        ', "L2: Abnormal Object Morphology": true}}}'
    )
