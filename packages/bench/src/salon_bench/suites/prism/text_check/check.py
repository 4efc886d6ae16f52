"""The text check of whole sets of pictures: rows of scores, and what they add up to."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

import polars as pl

from salon_bench.runs.pictures import with_pictures
from salon_bench.suites.contract.metrics import ratio_with_interval
from salon_bench.suites.contract.suite import Case, RunContext, Summary
from salon_bench.suites.contract.tables import line, summary_of
from salon_bench.suites.prism.scoring import POINTS
from salon_bench.suites.prism.text_check.matching import TextMatch, compare, quoted_texts
from salon_bench.suites.prism.text_check.reader import TextReader
from salon_judges.formats.prism_tracks import Track
from salon_judges.media import PictureCache, PicturePolicy
from salon_taxonomy.digest import digest
from salon_taxonomy.records import Score
from salon_taxonomy.verdict import Reason, Scored, Unscored

OCR: Final = "ocr"
"""Dimension: share of the characters asked for, times 10."""
OCR_WORDS: Final = "ocr-words"
"""Dimension: share of the words asked for, times 10."""

_RULES_VERSION = 1  # raised by hand when matching or quoting changes its meaning
_DIMENSIONS = (OCR, OCR_WORDS)


def check_text(cases: Iterable[Case], reader: TextReader, *, run_id: str = "ocr") -> Iterator[Score]:
    """Yield two rows per case of the text rendering track, in points of 10.

    A picture that is missing or damaged, and a prompt that puts no text in quotation marks, give rows with the reason.

    Args:
        cases: of the suite ``prism`` or ``prism-zh``.
        reader: what reads the pictures.
        run_id: the run under which the rows are written.
    """
    context = RunContext(run_id, reader.name, digest("text check", {"reader": reader.version, "rules": _RULES_VERSION}))
    for case in cases:
        if case.facts.get("track") == Track.TEXT_RENDERING:
            yield from _rows(replace(case, context=context), reader)


def summarize_text(scores: pl.DataFrame) -> Summary:
    """The mean of each dimension over pictures, in points of 100, with 95% intervals.

    Args:
        scores: rows of :func:`check_text`, columns as in the store; rows of other dimensions are left alone.
    """
    rows = []
    for dimension in _DIMENSIONS:
        mine = scores.filter(pl.col("dimension") == dimension)
        value = pl.col("value")
        by_prompt = mine.group_by("prompt_id").agg(total=value.sort().sum(), number=value.count()).sort("prompt_id")
        sums = by_prompt.select("total", "number").cast(pl.Float64).to_numpy()
        ends = ratio_with_interval(sums[sums[:, 1] > 0] * [POINTS, 1.0], within=(0.0, 100.0))[1]
        scored = int(sums[:, 1].sum())
        mean = POINTS * float(sums[:, 0].sum()) / scored if scored else None
        rows.append(line(dimension, str(Track.TEXT_RENDERING), mean, ends, scored=scored, unscored=mine.height - scored))
    return summary_of(rows, ("95% intervals: Student's t over prompts.",))


def _rows(case: Case, reader: TextReader) -> Iterator[Score]:
    verdict = _verdict(case, reader)
    if isinstance(verdict, Unscored):
        yield from (case.score(Track.TEXT_RENDERING, dimension, verdict) for dimension in _DIMENSIONS)
        return
    shown, match = verdict
    for dimension, share in zip(_DIMENSIONS, (match.characters, match.words), strict=True):
        yield shown.score(Track.TEXT_RENDERING, dimension, Scored(round(10.0 * share, 9)))


def _verdict(case: Case, reader: TextReader) -> tuple[Case, TextMatch] | Unscored:
    if case.problem is not None:
        return case.problem
    expected = quoted_texts(case.prompt.text)
    if not expected:
        return Unscored(Reason.ABSTAINED, "the prompt puts no text in quotation marks")
    shown, _ = with_pictures(case, PicturePolicy(), PictureCache(most_bytes=0))
    if shown.problem is not None:
        return shown.problem
    return shown, compare(expected, reader.read(shown.image.data or b""))
