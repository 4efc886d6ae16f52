"""How much of an expected text was read: characters by edit distance, whole words, and the rules of papers.

All but the rules of LongText-Bench and OneIG-Bench ignore what OCR cannot be trusted with: case, punctuation, spacing, and
forms of one character (Unicode NFKC).
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_WORD = re.compile(r"[一-鿿㐀-䶿぀-ヿ]|[^\W_一-鿿㐀-䶿぀-ヿ]+")  # a Han or Kana character is a word of its own
_LONGEST_EXPECTED = 2_000
_LONGEST_READ = 20_000


@dataclass(frozen=True, slots=True)
class TextMatch:
    """How much of what was expected was read, from 0 (nothing) to 1 (all of it).

    Attributes:
        characters: 1 - (edits needed / characters expected), at least 0.
        words: share of the expected words that were read.
    """

    characters: float
    words: float


def compare(expected: Sequence[str], lines: Sequence[str]) -> TextMatch:
    """Look for the expected texts in the lines that were read.

    Characters: for each expected text the least number of insertions, deletions and replacements that turn it into some
    stretch of all that was read (Sellers 1980, doi:10.1016/0196-6774(80)90016-4), so other text in the picture costs nothing;
    edits of all texts over characters of all texts. Words: each word that was read can be found once.

    Args:
        expected: at least one text with a letter or digit.
        lines: in reading order.

    Raises:
        ValueError: when nothing is expected.

    Example:
        >>> compare(["Fresh Bread"], ["FRESH", "Braed daily"])
        TextMatch(characters=0.8, words=0.5)
        >>> compare(["每日新鲜面包"], ["每日新鲜面包店"])
        TextMatch(characters=1.0, words=1.0)
    """
    wanted = [plain(text)[:_LONGEST_EXPECTED] for text in expected]
    length = sum(map(len, wanted))
    if not length:
        raise ValueError("nothing is expected: the texts hold no letter or digit")
    read = plain("".join(lines))[:_LONGEST_READ]
    edits = sum(min(edits_within(text, read), len(text)) for text in wanted)
    needed, there = Counter(words(" ".join(expected))), Counter(words(" ".join(lines)))
    return TextMatch(1.0 - edits / length, (needed & there).total() / needed.total())


def similarity(expected: Sequence[str], lines: Sequence[str]) -> float:
    """Return 1 less the normalised edit distance of all that is expected and all that was read, from 0 to 1.

    The distance is Levenshtein's over the longer of both, so other text in the picture and another order of the texts cost.

    Example:
        >>> similarity(["OPEN"], ["Open"]), similarity(["OPEN"], ["open", "late"]), similarity(["OPEN"], [])
        (1.0, 0.5, 0.0)
    """
    wanted, read = (plain("".join(texts))[:_LONGEST_READ] for texts in (expected, lines))
    return 1.0 - int(_edits(wanted, read)[-1]) / max(len(wanted), len(read), 1)


def longtext_share(expected: Sequence[str], lines: Sequence[str]) -> float | None:
    """Return the share of the expected words, or for Chinese characters, that were read, by LongText-Bench's rule.

    As its script has it: only letters (Latin, French accents, Chinese) and digits count, words end at spaces alone, English is
    compared in lower case and Chinese as it is written, each unit that was read is found once, and order is free. Here a text
    with a Chinese character is Chinese. None: nothing that is expected counts.

    Geng et al. 2025, X-Omni (arXiv 2507.22058); the ``textbench`` of X-Omni-Team/X-Omni.

    Example:
        >>> longtext_share(["CENTRAL PARK - 2 BLOCKS"], ["central-park 2 blocks"]), longtext_share(["清茶 A"], ["清a"])
        (0.5, 0.3333333333333333)
    """
    wanted, read = (_NOT_IN_LONGTEXT.sub("", " ".join(texts)) for texts in (expected, lines))
    units = _characters if any(character >= "一" for character in wanted) else _lower_words
    needed, there = Counter(units(wanted)), Counter(units(read))
    return (needed & there).total() / needed.total() if needed else None


def oneig_edits(expected: Sequence[str], lines: Sequence[str]) -> float:
    """Return the edits from what was read to what is expected, by OneIG-Bench's rule: Levenshtein's distance in characters.

    As its script has it: only letters (Latin, French accents, Chinese) and digits count, case counts, a run of white space is
    one space, and a text with a Chinese character has none.

    Chang et al. 2025, OneIG-Bench (arXiv 2506.07977); ``scripts/text`` of OneIG-Bench/OneIG-Benchmark.

    Example:
        >>> oneig_edits(["OPEN", "9 - 5"], ["Open 9-5"])
        4.0
    """
    wanted, read = _oneig(expected), _oneig(lines)
    return float(_edits(wanted, read)[-1])


def oneig_words(expected: Sequence[str], lines: Sequence[str]) -> float | None:
    """Return the share of the expected words, or for Chinese characters, that were read, by OneIG-Bench's rule.

    Words end at spaces and keep their case; each that was read is found once, in any order. None: nothing that is expected
    counts. Source as for :func:`oneig_edits`.

    Example:
        >>> oneig_words(["OPEN", "9 - 5"], ["Open 9-5"]), oneig_words(["清茶 A"], ["清a"])
        (0.0, 0.3333333333333333)
    """
    wanted, read = _oneig(expected), _oneig(lines)
    counts = [Counter(text if _chinese(wanted) else text.split()) for text in (wanted, read)]
    return (counts[0] & counts[1]).total() / counts[0].total() if counts[0] else None


def _oneig(texts: Sequence[str]) -> str:
    kept = _NOT_IN_LONGTEXT.sub("", " ".join(texts))
    return ("" if _chinese(kept) else " ").join(kept.split())


def _chinese(text: str) -> bool:
    return any("一" <= character <= "龥" for character in text)


_NOT_IN_LONGTEXT = re.compile(r"[^一-龥a-zA-Z0-9\sàâäéèêëîïôöùûüçÀÂÄÉÈÊËÎÏÔÖÙÛÜÇ]")


def _characters(text: str) -> Sequence[str]:
    return "".join(text.split())


def _lower_words(text: str) -> Sequence[str]:
    return text.lower().split()


def plain(text: str) -> str:
    """Return letters and digits alone, in one case.

    Example:
        >>> plain("Ｈello, World!")
        'helloworld'
    """
    return "".join(character for character in _folded(text) if character.isalnum())


def words(text: str) -> list[str]:
    """Words in one case; every Chinese character is one.

    Example:
        >>> words("Don't 停 here")
        ['dont', '停', 'here']
    """
    return _WORD.findall(re.sub(r"['’]", "", _folded(text)))


def edits_within(pattern: str, text: str) -> int:
    """Return the fewest edits that turn the pattern into a stretch of the text; at most the pattern's length.

    Example:
        >>> edits_within("bread", "freshbraed"), edits_within("abc", "")
        (2, 3)
    """
    return int(_edits(pattern, text, anywhere=True).min())


def _edits(pattern: str, text: str, *, anywhere: bool = False) -> npt.NDArray[np.int64]:
    """Return the fewest edits from the pattern to the first 0, 1, … characters of the text, or to a stretch that ends there.

    Returns:
        Shape (characters of the text + 1,).
    """
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    steps = np.arange(len(codes) + 1)
    row = steps * (not anywhere)
    for code in np.frombuffer(pattern.encode("utf-32-le", "surrogatepass"), dtype=np.uint32):
        below = row + 1
        below[1:] = np.minimum(below[1:], row[:-1] + (codes != code))
        row = np.minimum.accumulate(below - steps) + steps  # and letters of the text may be left out
    return row


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


_QUOTED = re.compile(
    r"“([^“”\n]*)”|「([^「」\n]*)」|『([^『』\n]*)』|«([^«»\n]*)»"
    r'|"([^"\n]*)"'
    r"|(?<!\w)‘((?:[^‘’\n]|’(?=\w))+)’(?!\w)"  # an apostrophe inside a word is no closing mark
    r"|(?<!\w)'((?:[^'\n]|(?<=\w)'(?=\w))+)'(?!\w)"
)


def quoted_texts(prompt: str) -> tuple[str, ...]:
    """Return the texts in English and Chinese quotation marks that have a letter or digit.

    Marks that are nested count once, as the outer text. Time is linear in the length of the prompt but for prompts made of
    single quotation marks.

    Example:
        >>> quoted_texts("A sign that reads “Don't feed the owls” beside a mug with 'TEA'.")
        ("Don't feed the owls", 'TEA')
        >>> quoted_texts("The baker's shop; it's closed.")
        ()
    """
    return with_letters("".join(match.groups(default="")) for match in _QUOTED.finditer(prompt))


def with_letters(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the texts that have a letter or digit, without the spaces around them.

    Example:
        >>> with_letters([" TEA ", "!"])
        ('TEA',)
    """
    return tuple(text.strip() for text in texts if any(character.isalnum() for character in text))
