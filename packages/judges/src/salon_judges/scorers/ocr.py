"""The scorer ``ocr``: is the text in the picture the one that its prompt puts in quotation marks?

    quoted_texts(prompt) ──► what must be there ──┐
    RapidOCR             ──► what is there ───────┴──► compare ──► share of the characters, or of the words (``ocr:words``)

A second, objective score beside a judge's; needs the extra ``ocr``.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from importlib.metadata import version
from typing import Any, Final

import numpy as np

from salon_judges.scorers.text_matching import compare, quoted_texts
from salon_taxonomy.digest import digest
from salon_taxonomy.errors import InputError
from salon_taxonomy.extras import extra
from salon_taxonomy.plugins import ScorerKind
from salon_taxonomy.verdict import Reason, Scored, Unscored, Verdict

_RULES_VERSION: Final = 1  # raised by hand when matching or quoting changes its meaning
_MEASURES: Final = ("characters", "words")
Read = Callable[[Any], Sequence[str]]
"""Returns the lines of text in a PIL image, in reading order."""


class OcrScorer:
    """Scores the share of the quoted text that is read, 0 to 1; none without quotes in the prompt.

    Args:
        measure: ``characters`` (one less the edits needed, by the characters expected) or ``words``.
        read: reads the pictures; default: RapidOCR with the models that its wheel brings, on the processor.
        read_version: what the readings depend on; default: RapidOCR's version.

    Raises:
        InputError: the measure is unknown, or the extra ``ocr`` is not installed.
    """

    range = (0.0, 1.0)
    higher_is_better = True

    def __init__(self, measure: str = "characters", read: Read | None = None, read_version: str = "") -> None:
        if measure not in _MEASURES:
            raise InputError("is not measured:", source="ocr", value=measure, allowed=_MEASURES)
        if read is None:
            extra("rapidocr", "ocr", "salon-judges")
            extra("onnxruntime", "ocr", "salon-judges")
            read_version = f"rapidocr-{version('rapidocr')}"
        self.name = "ocr" if measure == "characters" else f"ocr-{measure}"
        self.version = digest("text check", {"reader": read_version, "rules": _RULES_VERSION})
        self._measure, self._read = measure, read or self._rapidocr

    def __call__(self, images: Sequence[Any], prompts: Sequence[str]) -> list[Verdict[float]]:
        """Return the share of each picture's expected text that was read, or the reason for a missing score."""
        return [self._score(image, quoted_texts(prompt)) for image, prompt in zip(images, prompts, strict=True)]

    def _score(self, image: Any, expected: tuple[str, ...]) -> Verdict[float]:
        if not expected:
            return Unscored(Reason.ABSTAINED, "the prompt puts no text in quotation marks")
        return Scored(round(getattr(compare(expected, self._read(image)), self._measure), 9))

    def _rapidocr(self, image: Any) -> Sequence[str]:
        """Return the lines from top to bottom, and from left to right where they are side by side."""
        pixels = np.asarray(image.convert("RGB"))[:, :, ::-1]  # the engine wants blue first
        result = self._engine(np.ascontiguousarray(pixels))
        if result.txts is None:
            return ()
        return tuple(text for _, text in sorted(zip(map(_position, result.boxes), result.txts, strict=True)))

    @cached_property
    def _engine(self) -> Any:
        settings = {
            "Global.log_level": "critical",
            # one thread adds in one order, so the same picture reads the same
            "EngineConfig.onnxruntime.intra_op_num_threads": 1,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        }
        return extra("rapidocr", "ocr", "salon-judges").RapidOCR(params=settings)


def _position(box: Any) -> tuple[int, float]:
    """Return a line's row, in halves of its height, and its left edge."""
    corners = np.asarray(box, dtype=np.float64)
    top, left = corners[:, 1].min(), corners[:, 0].min()
    height = max(corners[:, 1].max() - top, 1.0)
    return round(float(top / (height / 2))), float(left)


def _open(text: str, _: Mapping[str, str]) -> OcrScorer:
    return OcrScorer(text or "characters")


kind: Final = ScorerKind("ocr", _open)
"""The entry point ``ocr`` of the group ``salon.scorers``."""
