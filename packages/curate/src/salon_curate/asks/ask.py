"""An ask: its questions, and the reading of answers into typed values."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from salon_curate.judging import Examination
from salon_judges.asking.inquiry import Inquiry
from salon_judges.asking.templates import Templates
from salon_taxonomy.answers import Outcome, Parsed
from salon_taxonomy.answers.outcome import Unparsed
from salon_taxonomy.answers.reading import rejected, split_object
from salon_taxonomy.answers.strict_json import JsonError, strict_json
from salon_taxonomy.digest import Digestible, digest
from salon_taxonomy.protocols import Decoding, Media, Question
from salon_taxonomy.verdict import Reason

M = TypeVar("M", bound=BaseModel)
_OUT_OF_RANGE: Final = {"greater_than_equal", "less_than_equal", "literal_error", "enum"}


class Answer(BaseModel):
    """The JSON object of an answer; types are strict, further keys are left out."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


@dataclass(frozen=True, slots=True)
class PictureAsk:
    """Questions about one picture (see :class:`salon_curate.judging.Ask` for the fields).

    ``walk`` is the examination: a generator over a row and its picture.
    """

    name: str
    version: str
    needs: tuple[str, ...]
    writes: Mapping[str, Any]
    walk: Callable[[Mapping[str, Any], Media], Examination]

    def examine(self, row: Mapping[str, Any], image: Media) -> Examination:
        """Yield inquiries, receive a verdict for each, return the row's columns."""
        return self.walk(row, image)


def plain_name(text: str) -> str:
    """Return a text as a part of a column's name: words of letters and digits, joined by underscores.

    Example:
        >>> plain_name("text-image fit"), plain_name("…")
        ('text_image_fit', '')
    """
    return "_".join(re.findall(r"\w+", text.lower()))


@cache
def templates() -> Templates:
    """Return the templates of this package's prompts."""
    return Templates(Path(__file__).with_name("prompts"))


def ask_version(name: str, prompt: str, options: Mapping[str, Digestible]) -> str:
    """Return the version of an ask: a digest of its rules, its prompt's words and its options."""
    return digest("curate ask", {"name": name, "rules": 1, "prompt": templates().texts[prompt], **options})


def inquire(
    step: str,
    prompt: str,
    answer: type[M],
    image: Media | None,
    check: Callable[[M], str | None] | None = None,
    **texts: object,
) -> Inquiry[M]:
    """Return an inquiry with a prompt of this package that is answered by one JSON object."""
    text = templates().render(prompt, **texts)
    parts = (text,) if image is None else (image, text)
    return Inquiry(step, Question(parts, decoding=Decoding(temperature=0.0, max_tokens=2048)), reads(answer, check))


def reads(answer: type[M], check: Callable[[M], str | None] | None = None) -> Callable[[str], Outcome[M]]:
    """Return a parser of replies whose last JSON object is an ``answer``; ``check`` returns what is wrong with one.

    Example:
        >>> class Score(Answer):
        ...     score: int
        >>> reads(Score)('<think>…</think>{"score": 7}').answer.score, reads(Score)('{"score": "7"}').reason.value
        (7, 'malformed')
    """

    def parse(text: str) -> Outcome[M]:
        opened = split_object(text)
        if isinstance(opened, Unparsed):
            return opened
        heard, fragment = opened
        try:
            value = answer.model_validate(strict_json(fragment.body))
        except JsonError as problem:
            return rejected(fragment, Reason.MALFORMED, str(problem), heard.reasoning)
        except ValidationError as error:
            fault = error.errors(include_url=False, include_input=False)[0]
            reason = Reason.OFF_MENU if fault["type"] in _OUT_OF_RANGE else Reason.MALFORMED
            where = ".".join(map(str, fault["loc"]))
            return rejected(fragment, reason, f"{where}: {fault['msg'].lower()}"[:120], heard.reasoning)
        flaw = None if check is None else check(value)
        if flaw:
            return rejected(fragment, Reason.MALFORMED, flaw, heard.reasoning)
        return Parsed(value, heard.reasoning, (*heard.notes, *fragment.notes))

    return parse
