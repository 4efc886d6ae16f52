"""The scorer ``ocr``: is the text in the picture the one that its prompt asks for?

    quotation marks or a pattern in the prompt ──► what must be there ──┐
    RapidOCR                                   ──► what is there ───────┴──► a measure ──► 0 to 1

    ocr                     ocr:words                 a measure of the text in quotation marks
    ocr:words,pattern=.+    ocr:pattern=says: (.*)    of what a regular expression finds: every line, or the rest of a line
    ocr:line                ocr:words,line            the whole picture is one line of text

A second, objective score beside a judge's; needs the extra ``ocr``.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from importlib.metadata import version
from typing import Any, Final

import numpy as np

from salon_judges.scorers.text_matching import (
    compare,
    longtext_share,
    oneig_edits,
    oneig_words,
    quoted_texts,
    similarity,
    with_letters,
)
from salon_taxonomy.digest import Digestible, digest
from salon_taxonomy.errors import InputError
from salon_taxonomy.extras import extra
from salon_taxonomy.plugins import ScorerKind
from salon_taxonomy.verdict import Reason, Scored, Unscored, Verdict

_RULES_VERSION: Final = 1  # raised by hand when matching or quoting changes its meaning
_MEASURES: Final[Mapping[str, Callable[[Sequence[str], Sequence[str]], float | None]]] = {
    "characters": lambda expected, lines: compare(expected, lines).characters,
    "words": lambda expected, lines: compare(expected, lines).words,
    "exact": lambda expected, lines: float(compare(expected, lines).characters == 1),
    "similarity": similarity,
    "longtext": longtext_share,
    "oneig-edits": oneig_edits,
    "oneig-complete": lambda expected, lines: float(oneig_edits(expected, lines) == 0),
    "oneig-words": oneig_words,
}
_COUNTS: Final = ("oneig-edits",)
"""The measures that count edits: from 0 without end, and fewer are better."""
_PATTERN: Final = "pattern="
_MOST_EXPECTED: Final = 20_000
"""Characters of all texts of a prompt: the time grows with them times those that were read."""
Read = Callable[[Any], Sequence[str]]
"""Returns the lines of text in a PIL image, in reading order."""


class OcrScorer:
    """Scores how much of the text that a prompt asks for is read, 0 to 1 but for edits; no score where it asks for none.

    Args:
        measure: ``characters`` (one less the edits needed, by the characters expected), ``words``, ``exact`` (1 where every
            text is read without an edit, else 0), ``similarity`` (one less the normalised edit distance: other text in the
            picture costs), ``longtext`` (the rule of LongText-Bench), or ``oneig-edits`` (their number, fewer are better),
            ``oneig-complete`` (1 without an edit, else 0) and ``oneig-words`` (the rules of OneIG-Bench).
        read: reads the pictures; default: RapidOCR with the models that its wheel brings, on the processor.
        read_version: what the readings depend on; default: RapidOCR's version.
        pattern: a regular expression that finds the texts in the prompt (its last group that matched, if it has groups);
            empty: they are between quotation marks.
        line: recognise the whole picture as one line of text, without looking for the places of texts: for pictures of one
            line, which may be as small as 12 by 28 pixels. Plays no part with ``read``.

    Raises:
        InputError: the measure is unknown, the pattern is wrong, or the extra ``ocr`` is not installed.
    """

    def __init__(
        self,
        measure: str = "characters",
        read: Read | None = None,
        read_version: str = "",
        pattern: str = "",
        line: bool = False,
    ) -> None:
        if measure not in _MEASURES:
            raise InputError("is not measured:", source="ocr", value=measure, allowed=tuple(_MEASURES))
        try:
            self._pattern = re.compile(pattern) if pattern else None
        except re.error as error:
            raise InputError(f"is no regular expression ({error}):", source="ocr", key="pattern", value=pattern) from error
        if read is None:
            extra("rapidocr", "ocr", "salon-judges")
            extra("onnxruntime", "ocr", "salon-judges")
            read_version = f"rapidocr-{version('rapidocr')}{', one line' if line else ''}"
        self.name = "ocr" if measure == "characters" else f"ocr-{measure}"
        shaping: dict[str, Digestible] = {"reader": read_version, "rules": _RULES_VERSION}
        self.version = digest("text check", shaping | ({"pattern": pattern} if pattern else {}))
        self.range = (0.0, math.inf if measure in _COUNTS else 1.0)
        self.higher_is_better = measure not in _COUNTS
        self._measure, self._read = _MEASURES[measure], read or (self._line if line else self._rapidocr)
        # lines are padded to this width at least, for a height of 48; RapidOCR's 320 takes three times as long for short lines
        self._shape: dict[str, Any] = {"Rec.rec_img_shape": [3, 48, 48]} if line else {}

    def __call__(self, images: Sequence[Any], prompts: Sequence[str]) -> list[Verdict[float]]:
        """Return how much of each picture's expected text was read, or the reason for a missing score."""
        return [self._score(image, self._expected(prompt)) for image, prompt in zip(images, prompts, strict=True)]

    def _expected(self, prompt: str) -> tuple[str, ...]:
        if self._pattern is None:
            return quoted_texts(prompt)
        return with_letters(match[match.lastindex or 0] for match in self._pattern.finditer(prompt))

    def _score(self, image: Any, expected: tuple[str, ...]) -> Verdict[float]:
        asked = sum(map(len, expected))
        if asked > _MOST_EXPECTED:
            return Unscored(
                Reason.ABSTAINED, f"the prompt asks for {asked:,} characters; at most {_MOST_EXPECTED:,} are looked for"
            )
        share = self._measure(expected, self._read(image)) if expected else None
        if share is None:
            where = "puts no text in quotation marks" if self._pattern is None else "has no text where the pattern looks for it"
            return Unscored(Reason.ABSTAINED, f"the prompt {where}")
        return Scored(round(share, 9))

    def _rapidocr(self, image: Any) -> Sequence[str]:
        """Return the lines from top to bottom, and from left to right where they are side by side."""
        pixels = np.asarray(image.convert("RGB"))[:, :, ::-1]  # the engine wants blue first
        result = self._engine(np.ascontiguousarray(pixels))
        if result.txts is None:
            return ()
        return tuple(text for _, text in sorted(zip(map(_position, result.boxes), result.txts, strict=True)))

    def _line(self, image: Any) -> Sequence[str]:
        """Return the line that the recogniser reads in the whole picture."""
        pixels = np.ascontiguousarray(np.asarray(image.convert("RGB"))[:, :, ::-1])
        result = self._engine(pixels, use_det=False, use_cls=False, use_rec=True)
        return () if result.txts is None else tuple(result.txts)

    @cached_property
    def _engine(self) -> Any:
        settings: dict[str, Any] = {
            "Global.log_level": "critical",
            # one thread adds in one order, so the same picture reads the same
            "EngineConfig.onnxruntime.intra_op_num_threads": 1,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        } | self._shape
        return extra("rapidocr", "ocr", "salon-judges").RapidOCR(params=settings)


def _position(box: Any) -> tuple[int, float]:
    """Return a line's row, in halves of its height, and its left edge."""
    corners = np.asarray(box, dtype=np.float64)
    top, left = corners[:, 1].min(), corners[:, 0].min()
    height = max(corners[:, 1].max() - top, 1.0)
    return round(float(top / (height / 2))), float(left)


def _open(text: str, environment: Mapping[str, str]) -> OcrScorer:
    options, named, pattern = text.partition(_PATTERN)
    if named and (not pattern or not f",{options}".endswith(",")):
        raise InputError("is written MEASURE,line,pattern=EXPRESSION, not", source="ocr", value=text)
    parts = [part for part in options.removesuffix(",").split(",") if part]
    line = "line" in parts[-1:]
    return OcrScorer(",".join(parts[: len(parts) - line]) or "characters", pattern=pattern, line=line)


kind: Final = ScorerKind("ocr", _open)
"""The entry point ``ocr`` of the group ``salon.scorers``."""
