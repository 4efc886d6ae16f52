"""Read soft answers (``soft = true``): P(yes), P(expected answer), the mean mark of a scale.

The judge's log-probabilities are read (``salon_taxonomy.answers.answer_probabilities``), never its words: a judge that reports
none gives no verdict. Where less than half of the probability is on the menu, the judge does not answer the question, and there
is no verdict either.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from salon_bench.suites.contract.questions import NUMBER_WORDS, Expected, Form, Scale, YesNo
from salon_bench.suites.contract.suite import Suite
from salon_judges.asking.asker import judge_for
from salon_taxonomy.answers import Outcome, Parsed, Unparsed, answer_probabilities
from salon_taxonomy.answers.probabilities import MOST_TOKENS, answers_by_spelling
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Decoding, Judge, Token
from salon_taxonomy.verdict import Reason

OFF_MENU: Final = ".off_menu"
"""The number beside a soft value: the probability that is on no answer of the menu."""
_ON_MENU: Final = 0.5
_LONGEST_SHOWN: Final = 40
_ALTERNATIVES: Final = 20  # what servers report at most
_DECODING: Final = Decoding(max_tokens=MOST_TOKENS, top_logprobs=_ALTERNATIVES)
_YES_NO: Final[Mapping[str, Sequence[str]]] = {"yes": ("yes",), "no": ("no",)}
_SOFT_FORMS: Final = ('"yes/no"', 'a scale such as "1-5"', '"expected"')


class SoftAnswer(NamedTuple):
    """The value of a soft answer, and the probability that is on no answer of the menu."""

    value: float
    off_menu: float


@dataclass(frozen=True)
class Soft(Form):
    """The probabilities of the answers of a menu, as one number.

    Attributes:
        menu: the spellings of each answer.
        worth: of each answer; the value is their mean, weighted by probability.
        mean: divide by the probability of the whole menu, as the mean mark of a scale needs.
        allowed: which answers there are, in the instruction.
        first: read the first token alone, whatever it is; none of it need be on the menu.
    """

    menu: Mapping[str, Sequence[str]] = field(hash=False)
    worth: Mapping[str, float] = field(hash=False)
    allowed: str
    mean: bool = False
    first: bool = False
    decoding = _DECODING

    @property
    def instruction(self) -> str:
        """See :class:`Form`."""
        return f"Answer with {self.allowed}, and nothing else."

    @property
    def spans(self) -> Mapping[str, tuple[float, float] | None]:
        """See :class:`Form`."""
        return {"": self._ends, OFF_MENU: None}

    @property
    def _ends(self) -> tuple[float, float]:
        return (min(self.worth.values()), max(self.worth.values())) if self.mean else (0.0, 1.0)

    @property
    def weigh(self) -> Callable[[Sequence[Token]], Outcome[SoftAnswer]]:
        """See :class:`Form`."""
        return self._weigh

    def parse(self, text: str) -> Outcome[SoftAnswer]:
        """Return no answer: a text has no probabilities."""
        return Unparsed(Reason.NOT_REPORTED, "a text alone has no log-probabilities")

    def values(self, answer: SoftAnswer) -> Mapping[str, float]:
        """Return the value, and the probability off the menu."""
        return {"": answer.value, OFF_MENU: answer.off_menu}

    def _weigh(self, tokens: Sequence[Token]) -> Outcome[SoftAnswer]:
        probabilities = answer_probabilities(tokens[:1] if self.first else tokens, self.menu)
        on_menu = math.fsum(probabilities.shares.values())
        accepted = self.first and tokens and (on_menu > 0 or not self.mean)
        if on_menu < _ON_MENU and not accepted and not (self.menu is _NUMBERS and _is_number(probabilities.word)):
            beginning = f"the reply begins with {probabilities.word[:_LONGEST_SHOWN]!r}"
            return Unparsed(Reason.OFF_MENU, f"{on_menu:.3f} of the probability is on {', '.join(self.menu)}; {beginning}")
        value = math.fsum(self.worth[answer] * share for answer, share in probabilities.shares.items())
        lowest, highest = self._ends  # rounding leads beyond them by a digit
        value = min(max(value / on_menu if self.mean else value, lowest), highest)
        return Parsed(SoftAnswer(value, probabilities.other))


def soft_form(form: Form, *, first: bool = False) -> Soft:
    """Return the soft form of a question: P(yes), P(expected answer), or the mean mark.

    P(yes) and P(expected answer) are not renormalised: no answer of the menu gains by what is off it.

    Args:
        form: of the answer.
        first: read the first token of a reply alone, also where it is white space or no answer.

    Raises:
        InputError: the form has no soft one, or one mark of the scale begins another one ("1" and "10").

    Example:
        >>> one, two = ("4", math.log(0.6)), ("5", math.log(0.2))
        >>> soft_form(Scale(1, 5)).weigh([Token("4", one[1], (one, two))]).answer
        SoftAnswer(value=4.25, off_menu=0.2)
    """
    match form:
        case YesNo():
            return Soft(_YES_NO, {"yes": 1.0, "no": 0.0}, 'one word, "yes" or "no"', first=first)
        case Scale(lowest, highest):
            marks = range(lowest, highest + 1)
            scale = {str(mark): _spellings(mark) for mark in marks}
            answers_by_spelling(scale)
            worth = {str(mark): float(mark) for mark in marks}
            return Soft(scale, worth, f"one whole number from {lowest} to {highest}", mean=True, first=first)
        case Expected(answer):
            menu, allowed = (_YES_NO, 'one word, "yes" or "no"') if answer in _YES_NO else (_NUMBERS, "one whole number")
            return Soft(menu, {other: float(other == answer) for other in menu}, allowed, first=first)
    raise InputError("the answer to a soft question is", key="answer", allowed=_SOFT_FORMS)


def check_tokens(suite: Suite, judge: Judge) -> None:
    """Refuse judges that never report log-probabilities (``reports_tokens = False``) for suites with soft questions.

    Raises:
        InputError: names the judge and the question.
    """
    for step in getattr(suite, "soft_steps", ()):
        asked = judge_for(judge, step)
        while (within := getattr(asked, "judge", None)) is not None:
            asked = within
        decoding = getattr(getattr(asked, "settings", None), "decoding", None)
        if not getattr(asked, "reports_tokens", True) or getattr(decoding, "top_logprobs", None) == 0:
            problem = f"the question {step!r} of {suite.name} is soft, and this judge reports no log-probabilities:"
            hint = "Take a judge that does (vllm:, sglang:, openai:, transformers:), or leave out soft = true."
            raise InputError(problem, source="--judge", value=judge.name, hint=hint)


def _spellings(number: int) -> tuple[str, ...]:
    return (str(number), NUMBER_WORDS[number]) if 0 <= number < len(NUMBER_WORDS) else (str(number),)


_NUMBERS: Final[Mapping[str, Sequence[str]]] = {str(number): _spellings(number) for number in range(10)}


_LARGER: Final = re.compile(
    r"ten|eleven|twelve|(thir|four|fif|six|seven|eigh|nine)teen|(twen|thir|for|fif|six|seven|eigh|nine)ty|hundred"
)


def _is_number(word: str) -> bool:
    """Return whether a word is a number that the menu of one-digit numbers lacks: an answer, and another one."""
    return (word.isdecimal() and word not in _NUMBERS) or _LARGER.fullmatch(word) is not None
