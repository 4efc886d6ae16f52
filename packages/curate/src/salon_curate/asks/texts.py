"""Asks that write: a caption for each label, the generation chain of thought, translations that keep strings."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

import polars as pl
from pydantic import Field

from salon_curate.asks.ask import Answer, PictureAsk, ask_version, inquire, plain_name
from salon_curate.asks.pictures import CHARACTERISTICS, value_of
from salon_curate.judging import Examination
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Media
from salon_taxonomy.verdict import Reason, Unscored

Text = Annotated[str, Field(min_length=1, max_length=20_000)]
_QUOTED: Final = re.compile(
    r"(?<![A-Za-z0-9])\"([^\"\n]{1,200})\"|“([^”\n]{1,200})”|(?<![A-Za-z0-9])'([^'\n]{2,200})'(?![a-z])|‘([^’\n]{1,200})’"
)
"""A mark behind a letter or digit opens nothing: it is an apostrophe (the boys' shirts), inches or feet."""
_FOCUS: Final[Mapping[str, str]] = {
    "imagination": "what could not exist, and how it fits the rest of the scene",
    "entity": "who or what is shown: names where they are certain, and the attributes that identify them",
    "text_rendering": "every word in the picture verbatim in quotation marks, its lettering, material and place",
    "style": "technique, manner and visual motifs",
    "affection": "the mood, and what conveys it: faces, light, colours",
    "composition": "the arrangement: where everything stands relative to the rest, in prepositions",
}


class _Caption(Answer):
    caption: Text


class _Plan(Answer):
    plan: Text


class _Translation(Answer):
    translation: Text


def captions(**thresholds: Annotated[float, Field(ge=0, le=10)]) -> PictureAsk:
    """Return the ask for one caption per label: columns ``caption_<label>``, null where the label is not given.

    Args:
        thresholds: label → the lowest score that gives it, 0 to 10. The paper prints none: they are yours to choose.

    Raises:
        InputError: no label, or an unknown one.

    Example:
        >>> captions(style=7, entity=6).needs
        ('style', 'entity')
    """
    if not thresholds or set(thresholds) - set(CHARACTERISTICS):
        raise InputError("labels and their lowest scores must be given:", column="thresholds", value=sorted(thresholds),
                         allowed=CHARACTERISTICS)  # fmt: skip

    def walk(row: Mapping[str, Any], image: Media) -> Examination:
        captions: dict[str, Any] = {f"caption_{label}": None for label in thresholds}
        for label, least in thresholds.items():
            if row[label] is not None and row[label] >= least:
                verdict = yield inquire(label, "caption", _Caption, image, focus=_FOCUS[label])
                captions[f"caption_{label}"] = value_of(verdict, "caption")
        return captions

    version = ask_version("captions", "caption", {"focus": dict(_FOCUS), "thresholds": dict(thresholds)})
    return PictureAsk("captions", version, tuple(thresholds), {f"caption_{label}": pl.String for label in thresholds}, walk)


def reasoning(labels: Sequence[str] = ()) -> PictureAsk:
    """Return the ask for the generation chain of thought: column ``reasoning``, from the picture and all its captions.

    Args:
        labels: of the captions; default: all six.
    """
    names = tuple(labels) or tuple(CHARACTERISTICS)
    needs = tuple(f"caption_{label}" for label in names)

    def walk(row: Mapping[str, Any], image: Media) -> Examination:
        present = [(label, row[column]) for label, column in zip(names, needs, strict=True) if row[column]]
        if not present:
            return {"reasoning": Unscored(Reason.ABSTAINED, "the row has no caption")}
        verdict = yield inquire("reasoning", "reasoning", _Plan, image, captions=present)
        return {"reasoning": value_of(verdict, "plan")}

    return PictureAsk(
        "reasoning", ask_version("reasoning", "reasoning", {"labels": list(names)}), needs, {"reasoning": pl.String}, walk
    )


def translation(column: str, language: str = "Chinese", keep: bool = False) -> PictureAsk:
    """Return the ask for a translation: column ``<column>_<language>``.

    Args:
        column: of the text.
        language: in English words.
        keep: strings in quotation marks are written in the picture and must come back unchanged; a translation that loses one
            is asked for again, and is no answer if it stays lost.

    Raises:
        InputError: the language has no letter.

    Example:
        >>> list(translation("prompt", "Traditional Chinese").writes)
        ['prompt_traditional_chinese']
    """
    if not plain_name(language):
        raise InputError("name a language in English words", column="language", value=language)
    target = f"{column}_{plain_name(language)}"

    def walk(row: Mapping[str, Any], image: Media) -> Examination:
        text = row[column]
        if not text:
            return {target: None}
        kept = quoted(text) if keep else ()

        def lost(answer: _Translation) -> str | None:
            gone = next((string for string in kept if string not in answer.translation), None)
            return None if gone is None else f"the string {gone[:40]!r} is not kept"

        verdict = yield inquire("translation", "translation", _Translation, None, lost, text=text, language=language, kept=kept)
        return {target: value_of(verdict, "translation")}

    rules = {"quotes": 2} if keep else {}
    version = ask_version("translation", "translation", {"column": column, "language": language, "keep": keep, **rules})
    return PictureAsk(f"{column}_translation", version, (column,), {target: pl.String}, walk)


def quoted(text: str) -> tuple[str, ...]:
    """Return the strings in quotation marks, each once, in order.

    Example:
        >>> quoted('A sign says "OPEN" and "24 h"; it\\'s "OPEN" all day.')
        ('OPEN', '24 h')
    """
    return tuple(dict.fromkeys(next(filter(None, groups)) for groups in _QUOTED.findall(text)))
