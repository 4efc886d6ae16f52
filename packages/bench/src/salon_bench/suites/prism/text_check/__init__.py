"""Compare the text in a picture with the requested one by OCR: a second score of text rendering.

    quoted_texts(prompt) ──► what must be there ──┐
    reader.read(picture) ──► what is there ───────┴──► compare(expected, lines) ──► characters, words

The scores are dimensions of their own (``ocr`` and ``ocr-words``) and never part of alignment or aesthetics.
:class:`OcrReader` needs the extra ``ocr``; any object that fits :class:`TextReader` will do.
"""

from salon_bench.suites.prism.text_check.check import OCR, OCR_WORDS, check_text, summarize_text
from salon_bench.suites.prism.text_check.matching import TextMatch, compare, quoted_texts
from salon_bench.suites.prism.text_check.reader import OcrReader, TextReader

__all__ = [
    "OCR",
    "OCR_WORDS",
    "OcrReader",
    "TextMatch",
    "TextReader",
    "check_text",
    "compare",
    "quoted_texts",
    "summarize_text",
]
