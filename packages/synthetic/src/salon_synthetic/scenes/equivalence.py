"""Whether two explanations name the same mismatches: by the words for what was asked for and what it is about."""

import re
from typing import Final

from salon_synthetic.scenes.reading import RELATION
from salon_synthetic.scenes.vocabulary import COLOUR_WORDS, NUMBER_WORDS, SHAPE_WORDS, SIZE_WORDS, TEXTURE_WORDS

_SENTENCES: Final = re.compile(r"[.;\n]+")
_ASKED: Final = re.compile(r"\b(?:not|no|n't|instead of|rather than|missing|lacks|without)\b")
_OUGHT: Final = re.compile(r"\b(?:should|must|ought to) (?:be|have)\b(?P<asked>.*?)(?=\b(?:not|instead|rather|but)\b|,|$)")
_WORDS: Final = re.compile(r"[a-z]+")
_LONGEST: Final = 4000
_TERMS: Final = {**COLOUR_WORDS, **TEXTURE_WORDS, **SIZE_WORDS, **SHAPE_WORDS}


def same_mismatch(one: str, other: str) -> bool:
    """Return whether every sentence of each explanation has a sentence of the same meaning in the other.

    Two sentences mean the same when they name the same thing as asked for ("not red", "instead of red", "should be red"), and
    what else they name has a word in common. Sentences without any word for a scene say nothing and are passed over.

    Example:
        >>> same_mismatch("The star is blue, not red.", "The star should be red instead of blue.")
        True
        >>> same_mismatch("The star is blue, not red.", "I see a blue star rather than red.")
        True
        >>> same_mismatch("The star is blue, not red.", "The circle is blue, not red. The star is small, not large.")
        False
    """
    first, second = _mismatches(one), _mismatches(other)
    if not first or not second:
        return False
    return all(any(_alike(a, b) for b in second) for a in first) and all(any(_alike(a, b) for b in first) for a in second)


def _mismatches(text: str) -> list[tuple[frozenset[str], frozenset[str]]]:
    """For every sentence: what was asked for, and what else it names."""
    mismatches = []
    for sentence in _SENTENCES.split(text[:_LONGEST].lower()):
        ought, asked = _OUGHT.search(sentence), _ASKED.search(sentence)
        if ought:
            before, after = f"{sentence[: ought.start()]} {sentence[ought.end() :]}", ought["asked"]
        else:
            before, after = (sentence[: asked.start()], sentence[asked.end() :]) if asked else (sentence, "")
        terms = _terms(after), _terms(before)
        if any(terms):
            mismatches.append(terms)
    return mismatches


def _terms(text: str) -> frozenset[str]:
    relations = {f"relation {match.lastgroup}" for match in RELATION.finditer(text)}
    words = _WORDS.findall(RELATION.sub(" ", text))
    numbers = {f"number {word}" for word in words if word in NUMBER_WORDS}
    known = (_TERMS.get(word) or _TERMS.get(word.removesuffix("s")) or _TERMS.get(word.removesuffix("es")) for word in words)
    return frozenset({str(term) for term in known if term is not None} | relations | numbers)


def _alike(a: tuple[frozenset[str], frozenset[str]], b: tuple[frozenset[str], frozenset[str]]) -> bool:
    """Return the same was asked for (of a relation, the relation alone), and there is a word in common beside it."""
    asked = _core(a[0])
    if asked != _core(b[0]):
        return False
    first, second = (a[0] | a[1]) - asked, (b[0] | b[1]) - asked
    return not (first or second) or bool(first & second)


def _core(asked: frozenset[str]) -> frozenset[str]:
    return frozenset(term for term in asked if term.startswith("relation")) or asked
