"""Probabilities of the answers of a menu, by the log-probabilities of a reply's first tokens.

Soft scores are made of them: P("yes") as in VQAScore (Lin et al. 2024, arXiv 2404.01291, section 3), the summed probability of
an answer's spellings as in Soft-TIFA (GenEval 2, arXiv 2512.16853), the mean mark of a scale. Nothing is renormalised here.

    " "  "**"  "Yes"  "."      white space and markup before the answer are skipped: what is left is P(both) · P("Yes" | both)
               "Yes" 0.80      yes  0.85
               "yes" 0.05
               "No"  0.10      no   0.10
               "The" 0.02      other 0.05, with all that was not reported
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Token

MOST_TOKENS: Final = 16
"""How many tokens of a reply are looked at."""

_BEFORE: Final = " \t\r\n\"'`*_#([{<>:ĠĊ▁"  # the last three are how tokenizers write a space and a line's end; "-" is a sign
_BEHIND: Final = " \t\r\n\"'`*_)]}<>.,:;!"
_WORD_GOES_ON: Final = re.compile(r"[^\W_ĠĊ]+|[.,–-]\d+")


@dataclass(frozen=True, slots=True)
class AnswerProbabilities:
    """How probable each answer of a menu is as the beginning of a reply.

    Attributes:
        shares: of each answer, from 0 to 1; together at most 1.
        other: 1 minus the shares: of all other words, and of tokens that were not reported.
        word: the word with which the reply does begin, in lower case; empty where there is none.
    """

    shares: Mapping[str, float]
    other: float
    word: str


def answer_probabilities(tokens: Sequence[Token], menu: Mapping[str, Sequence[str]]) -> AnswerProbabilities:
    """Return the probability of each answer of a menu as the beginning of a reply.

    The first token that is more than white space and markup is where the answer stands. Each reported token counts once: the
    alternatives of that position, and the token that was drawn. Where the drawn token is only the beginning of a word ("1" of
    "10", "no" of "nobody"), it counts for no answer.

    Args:
        tokens: of the reply, from its first; the first 16 are looked at. NaN counts as no probability, a number above 0 as 0.
        menu: the spellings of each answer; upper and lower case are the same.

    Raises:
        InputError: a spelling of one answer begins one of another ("1" and "10"): a first token cannot tell them apart.

    Example:
        >>> yes, no = ("Yes", math.log(0.8)), ("No", math.log(0.1))
        >>> reply = [Token(" ", 0.0, ((" ", 0.0),)), Token("Yes", yes[1], (yes, no, ("yes", math.log(0.05))))]
        >>> answer_probabilities(reply, {"yes": ["yes"], "no": ["no"]}).shares
        {'yes': 0.85, 'no': 0.1}
    """
    answers = answers_by_spelling(menu)
    masses: dict[str, list[float]] = {answer: [] for answer in menu}
    reach, word = 1.0, ""
    for position, token in enumerate(tokens[:MOST_TOKENS]):
        probabilities = _probabilities(token)
        behind = "".join(each.text for each in tokens[position + 1 : MOST_TOKENS])
        more = _WORD_GOES_ON.match(behind) if token.text[-1:].isalnum() else None
        for text, probability in probabilities.items():
            answer = answers.get(_word(text))
            if answer is not None and (more is None or text != token.text):
                masses[answer].append(reach * probability)
        word = _word(token.text)
        if word:
            word += "" if more is None else more[0].casefold()
            break
        reach *= probabilities.get(token.text, 0.0)
    shares = {answer: round(min(math.fsum(some), 1.0), 12) for answer, some in masses.items()}
    return AnswerProbabilities(shares, max(0.0, round(1.0 - math.fsum(shares.values()), 12)), word)


def value_probabilities(tokens: Sequence[Token], key: str, menu: Mapping[str, Sequence[str]]) -> AnswerProbabilities | None:
    """Return the probability of each answer of a menu as the value of a key, of a reply that contains a JSON object.

    Args:
        tokens: of the reply; all, or its first and last ones (``stored_tokens``). Where the key occurs twice, the last counts.
        key: of the object.
        menu: as for :func:`answer_probabilities`.

    Returns:
        None where the tokens do not contain the key.

    Raises:
        InputError: a spelling of one answer begins one of another.

    Example:
        >>> left, right = ("left", math.log(0.9)), ("right", math.log(0.1))
        >>> reply = [Token('{"verdict":', 0.0), Token(' "', 0.0), Token("left", left[1], (left, right)), Token('"}', 0.0)]
        >>> value_probabilities(reply, "verdict", {"left": ["left"], "right": ["right"]}).shares
        {'left': 0.9, 'right': 0.1}
    """
    behind = [match.end() for match in re.finditer(rf'"{re.escape(key)}"\s*:', "".join(token.text for token in tokens))]
    if not behind:
        return None
    ends = [*accumulate(len(token.text) for token in tokens)]
    value = next((place for place, end in enumerate(ends) if end > behind[-1]), len(tokens))
    if value < len(tokens) and ends[value] - len(tokens[value].text) < behind[-1]:  # it begins within the key
        value += not _word(tokens[value].text[behind[-1] - ends[value] :])
    return answer_probabilities(tokens[value:], menu)


def answers_by_spelling(menu: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the answer of each spelling, in lower case.

    Raises:
        InputError: a spelling of one answer begins one of another.

    Example:
        >>> answers_by_spelling({"1": ["1", "One"], "2": ["2"]})
        {'1': '1', 'one': '1', '2': '2'}
    """
    pairs = [(_word(spelling), answer) for answer, spellings in menu.items() for spelling in spellings]
    for first, one in pairs:
        for second, other in pairs:
            if one != other and second.startswith(first):
                problem = f"a first token cannot tell {first!r} from {second!r}, of the menu"
                hint = "Take a menu in which no answer begins another one, such as 0-9."
                raise InputError(problem, column="menu", value=list(menu), hint=hint)
    return dict(pairs)


def _probabilities(token: Token) -> dict[str, float]:
    """Return the probability of each different text at the place of a token; they add up to 1 at most."""
    logprobs: dict[str, float] = {}
    for text, logprob in ((token.text, token.logprob), *token.alternatives):
        if not math.isnan(logprob):
            logprobs[text] = max(min(logprob, 0.0), logprobs.get(text, -math.inf))
    probabilities = {text: math.exp(logprob) for text, logprob in logprobs.items()}
    whole = max(1.0, math.fsum(probabilities.values()))
    return {text: probability / whole for text, probability in probabilities.items()}


def _word(text: str) -> str:
    return text.strip().lstrip(_BEFORE).rstrip(_BEHIND).casefold()
