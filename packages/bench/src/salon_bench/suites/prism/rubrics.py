"""What a judge takes points off for: seven rubrics of alignment and one of aesthetics, in English and Chinese.

Failures and their ranges are those of Tables 8 to 15 of PRISM-Bench. The English alignment rubrics are those of the taxonomy
``prism``; ``rubrics.toml`` adds the rest. All words are our own.
"""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from salon_judges.formats.prism_tracks import Language, Track
from salon_taxonomy import Taxonomy
from salon_taxonomy.label import Label


@dataclass(frozen=True, slots=True)
class RubricLine:
    """One kind of failure.

    Attributes:
        name: what it is called in the rubric's language.
        low, high: points that are taken off, of 10.
        definition: when it applies.
        points: the range in words, for the template.
    """

    name: str
    low: int
    high: int
    definition: str
    points: str


@dataclass(frozen=True, slots=True)
class Rubric:
    """By what one axis of one track is judged.

    Attributes:
        name: of the track, or of aesthetics.
        definition: what the track is about.
        criterion: the question that is answered by the score.
        deductions: in the paper's order, gravest first in most tables.
        procedure: what to do first, next, …; empty where the order is free.
    """

    name: str
    definition: str
    criterion: str
    deductions: tuple[RubricLine, ...]
    procedure: tuple[str, ...] = ()


@cache
def alignment_rubric(track: Track, language: Language) -> Rubric:
    """Return the rubric by which pictures of a track are compared with their prompts.

    Example:
        >>> rubric = alignment_rubric(Track.TEXT_RENDERING, Language.ENGLISH)
        >>> [(each.name, each.low, each.high) for each in rubric.deductions][0]
        ('Spelling or Wording Errors', 6, 8)
        >>> alignment_rubric(Track.TEXT_RENDERING, Language.CHINESE).deductions[0].points
        '扣 6 至 8 分'
    """
    label = Taxonomy.load("prism").find(track.value)
    words = _words()[language]
    procedure = tuple(words["procedure"].get(str(track), ()))
    if language is Language.ENGLISH:
        deduction_names = {each.name: (each.name, each.definition) for each in label.deductions}
        return Rubric(
            label.name, label.definition, label.criterion or "", _deductions(label, deduction_names, language), procedure
        )
    own = words["tracks"][str(track)]
    deductions = _deductions(label, own["deductions"], language)
    return Rubric(own["name"], own["definition"], own["criterion"], deductions, procedure)


@cache
def aesthetic_rubric(language: Language) -> Rubric:
    """Return the one rubric of aesthetics, the same for all tracks (Table 15).

    Example:
        >>> [(each.low, each.high) for each in aesthetic_rubric(Language.CHINESE).deductions]
        [(7, 9), (4, 6), (1, 3)]
    """
    own = _words()[language]["aesthetic"]
    deductions = tuple(
        RubricLine(each["name"], each["low"], each["high"], each["definition"], _points(each["low"], each["high"], language))
        for each in own["deductions"]
    )
    return Rubric(own["name"], own["definition"], own["criterion"], deductions)


def score_bands(language: Language) -> tuple[str, ...]:
    """Return the meaning of the scores, best first, one line each."""
    return tuple(_words()[language]["bands"])


def _deductions(label: Label, words: Any, language: Language) -> tuple[RubricLine, ...]:
    """Return a track's failures with their ranges from the taxonomy, and their words from ``words`` by the published name."""
    return tuple(
        RubricLine(words[each.name][0], each.low, each.high, words[each.name][1], _points(each.low, each.high, language))
        for each in label.deductions
    )


def _points(low: int, high: int, language: Language) -> str:
    if language is Language.CHINESE:
        return f"扣 {low} 分" if low == high else f"扣 {low} 至 {high} 分"
    return f"minus {low}" if low == high else f"minus {low} to {high}"


@cache
def _words() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("rubrics.toml").read_text(encoding="utf-8"))
