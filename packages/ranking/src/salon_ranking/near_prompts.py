"""Prompts that are nearly one, which no split may divide: of one text, of almost the same words, or about one picture."""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import ceil
from typing import Final

_NEAR: Final = 0.9
"""Words that two prompts share, as a share of the different words of both, from which they are near duplicates."""
_SPACELESS: Final = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+)"
)
"""Characters of scripts that put no spaces between words: Thai, Lao, Burmese, Khmer, Japanese and Chinese."""


class _Kept(dict[int, int | str | None]):
    """A table for ``str.translate`` that a rule fills as characters occur."""

    def __init__(self, rule: Callable[[str], str | None]) -> None:
        self._rule = rule

    def __missing__(self, code: int) -> int | str | None:
        self[code] = kept = self._rule(chr(code))
        return kept


_SEEN: Final = _Kept(
    lambda character: None if unicodedata.category(character) == "Cf" or "\ufe00" <= character <= "\ufe0f" else character
)
_OF_WORDS: Final = _Kept(
    lambda character: character if character.isalnum() or unicodedata.category(character)[0] == "M" else " "
)


def comparable_text(text: str) -> str:
    """Return a prompt's text without what makes no other prompt: case, spaces, invisible characters and Unicode form.

    Example:
        >>> comparable_text(" A  red cat ") == comparable_text("a re\\u200bd CAT")
        True
    """
    return " ".join(unicodedata.normalize("NFKC", text.translate(_SEEN)).casefold().split())


def near_groups(prompts: Sequence[str], pictures: Iterable[Sequence[str]] = ()) -> dict[str, str]:
    """Return a name of each prompt's group: the first text of the group in alphabetical order, as :func:`comparable_text`.

    Two prompts are in one group if nine of ten of their different words are the same, in whatever order and with whatever
    punctuation, if a picture is of both, or if a third prompt is near to both. In scripts without spaces every two neighbouring
    characters are a word.

    Args:
        prompts: texts; may repeat.
        pictures: of each prompt, in the order of the prompts; none: no pictures are looked at.

    Example:
        >>> groups = near_groups(["A cat, sleeping.", "a cat sleeping", "a dog"])
        >>> groups["A cat, sleeping."] == groups["a cat sleeping"], groups["a dog"]
        (True, 'a dog')
    """
    parents: dict[str, str] = {}

    def root(name: str) -> str:
        while (above := parents.setdefault(name, name)) != name:
            parents[name] = name = parents[above]
        return name

    def join(one: str, other: str) -> None:
        first, second = sorted((root(one), root(other)))
        parents[second] = first

    texts = [comparable_text(prompt) for prompt in prompts]
    seen: dict[str, str] = {}
    for text, own in zip(texts, pictures, strict=False):
        for picture in own:
            join(text, seen.setdefault(picture, text))
    for one, other in _near(sorted(set(texts))):
        join(one, other)
    return {prompt: root(text) for prompt, text in zip(prompts, texts, strict=True)}


def _near(texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield pairs of texts that share enough words.

    Of two sets of words that share a share s of their union, each of n words, the n - ⌈s · n⌉ + 1 rarest of either have a word
    in common (Chaudhuri, Ganti and Kaushik 2006, doi:10.1109/ICDE.2006.9): only such pairs are compared.
    """
    words = {text: frozenset(_words(text)) or frozenset((text,)) for text in texts}
    different: dict[frozenset[str], str] = {}
    for text, own in words.items():
        if own in different:
            yield different[own], text
        different.setdefault(own, text)
    common = Counter(word for own in different for word in own)
    by_word: dict[tuple[str, int], list[frozenset[str]]] = defaultdict(list)
    for own in sorted(different, key=len):
        count = len(own)
        rarest = sorted(own, key=lambda word: (common[word], word))[: count - _least(_NEAR * count) + 1]
        sizes = range(_least(_NEAR * count), count + (_shared(count, count) < count))
        compared: set[frozenset[str]] = set()
        for word in rarest:
            for other in (other for size in sizes for other in by_word[word, size]):
                if other not in compared:
                    compared.add(other)
                    if len(own & other) >= _NEAR * len(own | other):
                        yield different[own], different[other]
        for word in rarest:
            by_word[word, count].append(own)


def _words(text: str) -> Iterator[str]:
    """Yield the words of a comparable text; of a script without spaces every two neighbouring characters."""
    for part in text.translate(_OF_WORDS).split():
        for number, run in enumerate(_SPACELESS.split(part)):
            if number % 2 and len(run) > 1:
                yield from (run[place : place + 2] for place in range(len(run) - 1))
            elif run:
                yield run


def _shared(one: int, other: int) -> int:
    """Return how many words two sets of these sizes must share; of equal sizes, all of them means the same set."""
    return _least(_NEAR / (1 + _NEAR) * (one + other))


def _least(number: float) -> int:
    """Return the least whole number that is not below, rounding of floats aside."""
    return ceil(number - 1e-9)
