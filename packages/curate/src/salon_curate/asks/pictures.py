"""Asks that score a picture: characteristics, quality, typography, alignment with a caption, agreement with a prompt, edits."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Final, Literal

import polars as pl
from pydantic import Field

from salon_curate.asks.ask import Answer, PictureAsk, ask_version, inquire, reads, templates
from salon_curate.judging import JUDGED_PICTURES, Examination
from salon_judges.asking.inquiry import Inquiry
from salon_judges.media import prepare_bytes
from salon_taxonomy.answers import R3Answer, parse_r3
from salon_taxonomy.enums import MediaRole
from salon_taxonomy.protocols import Decoding, Media, Question
from salon_taxonomy.verdict import Reason, Scored, Unscored, Verdict

CHARACTERISTICS: Final[Mapping[str, str]] = {
    "imagination": "what could not exist: impossible physics, surreal or dreamlike ideas",
    "entity": "a particular person, place, work or thing that knowledge of the world is needed to recognise",
    "text_rendering": "words or letters that are meant to be read",
    "style": "a recognisable manner: a school of art, a technique, a photographic or graphic look",
    "affection": "a feeling or mood that the picture conveys",
    "composition": "several things in a deliberate arrangement: their places, their order, how they act on each other",
}
"""The six characteristics of FLUX-Reason-6M (section 2.1), explained in words of Salon's own."""


class _Score(Answer):
    score: Annotated[int, Field(ge=1, le=10)]


class _Quality(Answer):
    faults: list[Literal["blur", "noise", "distortion"]]
    acceptable: bool


class _Typography(Answer):
    legible: bool
    contrast: bool
    meaningful: bool


class _Editing(Answer):
    followed: bool
    kept: bool
    explanation: str


def value_of(verdict: Verdict[Any], name: str) -> Any:
    """Return a member of the answer, or the verdict itself when it is unscored."""
    return getattr(verdict.value, name) if isinstance(verdict, Scored) else verdict


def characteristics() -> PictureAsk:
    """Return the ask for six scores from 1 to 10, one question each: columns named as the characteristics."""

    def walk(row: Mapping[str, Any], image: Media) -> Examination:
        scores = {}
        for name, meaning in CHARACTERISTICS.items():
            words = name.replace("_", " ")
            verdict = yield inquire(name, "characteristic", _Score, image, name=words, meaning=meaning)
            scores[name] = value_of(verdict, "score")
        return scores

    version = ask_version("characteristics", "characteristic", {"meanings": dict(CHARACTERISTICS)})
    return PictureAsk("characteristics", version, (), dict.fromkeys(CHARACTERISTICS, pl.UInt8), walk)


def quality() -> PictureAsk:
    """Return the ask for faults: columns ``quality_pass`` and ``quality_faults`` (names with commas between)."""

    def walk(row: Mapping[str, Any], image: Media) -> Examination:
        verdict = yield inquire("quality", "quality", _Quality, image)
        if not isinstance(verdict, Scored):
            return {"quality_pass": verdict, "quality_faults": verdict}
        answer: _Quality = verdict.value
        return {
            "quality_pass": answer.acceptable and not answer.faults,
            "quality_faults": ", ".join(sorted(set(answer.faults))),
        }

    writes = {"quality_pass": pl.Boolean, "quality_faults": pl.String}
    return PictureAsk("quality", ask_version("quality", "quality", {}), (), writes, walk)


def typography() -> PictureAsk:
    """Return the ask for text in the picture: column ``typography_pass``, true when it is legible, distinct and meaningful."""

    def walk(row: Mapping[str, Any], image: Media) -> Examination:
        verdict = yield inquire("typography", "typography", _Typography, image)
        if not isinstance(verdict, Scored):
            return {"typography_pass": verdict}
        answer: _Typography = verdict.value
        return {"typography_pass": answer.legible and answer.contrast and answer.meaningful}

    return PictureAsk("typography", ask_version("typography", "typography", {}), (), {"typography_pass": pl.Boolean}, walk)


def alignment(caption: str = "prompt") -> PictureAsk:
    """Return the ask how well a caption fits, from 1 to 10: column ``alignment``. ``caption`` is the column of the text."""

    def walk(row: Mapping[str, Any], image: Media) -> Examination:
        if not row[caption]:
            return {"alignment": Unscored(Reason.ABSTAINED, "the row has no caption")}
        verdict = yield inquire("alignment", "alignment", _Score, image, caption=row[caption])
        return {"alignment": value_of(verdict, "score")}

    version = ask_version("alignment", "alignment", {"caption": caption})
    return PictureAsk("alignment", version, (caption,), {"alignment": pl.UInt8}, walk)


def agreement(prompt: str = "prompt") -> PictureAsk:
    """Return the ask whether a picture shows its prompt: columns ``agrees``, ``explanation``, ``edit_prompt`` (R³-Bench's)."""
    names = ("agrees", "explanation", "edit_prompt")

    def walk(row: Mapping[str, Any], image: Media) -> Examination:
        if not row[prompt]:
            return dict.fromkeys(names, Unscored(Reason.ABSTAINED, "the row has no prompt"))
        text = templates().render("agreement", prompt=row[prompt])
        question = Question((image, text), decoding=Decoding(temperature=0.0, max_tokens=2048))
        verdict = yield Inquiry("agreement", question, parse_r3)
        if not isinstance(verdict, Scored):
            return dict.fromkeys(names, verdict)
        answer: R3Answer = verdict.value
        return {"agrees": answer.matches, "explanation": answer.explanation, "edit_prompt": answer.edit_prompt}

    version = ask_version("agreement", "agreement", {"prompt": prompt})
    writes = {"agrees": pl.Boolean, "explanation": pl.String, "edit_prompt": pl.String}
    return PictureAsk("agreement", version, (prompt,), writes, walk)


def editing(instruction: str = "prompt") -> PictureAsk:
    """Return the ask about an edit and its source: columns ``edit_followed``, ``edit_kept``, ``edit_explanation``.

    ``instruction`` is the column of the text. The judge is shown the picture that was edited, then the result.
    """
    names = ("edit_followed", "edit_kept", "edit_explanation")

    def walk(row: Mapping[str, Any], image: Media) -> Examination:
        if row["edited"] is None or not row[instruction]:
            return dict.fromkeys(names, Unscored(Reason.ABSTAINED, "the row is no edit, or has no instruction"))
        source = prepare_bytes(row["edited"], JUDGED_PICTURES)
        if isinstance(source, Unscored):
            return dict.fromkeys(names, source)
        text = templates().render("editing", instruction=row[instruction])
        parts = (replace(source.media, role=MediaRole.SOURCE), replace(image, role=MediaRole.RESULT), text)
        question = Question(parts, decoding=Decoding(temperature=0.0, max_tokens=2048))
        verdict = yield Inquiry("editing", question, reads(_Editing))
        return {f"edit_{name}": value_of(verdict, name) for name in ("followed", "kept", "explanation")}

    version = ask_version("editing", "editing", {"instruction": instruction})
    writes = {"edit_followed": pl.Boolean, "edit_kept": pl.Boolean, "edit_explanation": pl.String}
    return PictureAsk("editing", version, ("edited", instruction), writes, walk)
