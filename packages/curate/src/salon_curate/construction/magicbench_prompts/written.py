"""Prompts that a language model writes: each from a drawn brief, checked, asked again when it is no good.

The paper had a language model combine entities with scenes, styles and shots (MagicMirror, appendix A.7). Here any
:class:`~salon_taxonomy.protocols.Judge` does; what it cannot write is reported as ``Unscored``, never made up.
"""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from salon_curate.construction.magicbench_prompts.composer import Brief, MagicBenchPrompt, briefs
from salon_curate.construction.magicbench_prompts.library import Library
from salon_judges.asking.asker import Asker, AskPolicy, Memory
from salon_judges.asking.inquiry import Inquiry
from salon_judges.asking.templates import Templates
from salon_judges.formats.magicbench_subjects import SubCategory
from salon_taxonomy.answers import Outcome, Parsed, Unparsed
from salon_taxonomy.answers.reading import rejected, split_object
from salon_taxonomy.answers.strict_json import JsonError, strict_json
from salon_taxonomy.digest import Digestible
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Decoding, Judge, Question
from salon_taxonomy.verdict import Reason, Unscored

LONGEST_DESCRIPTION: Final = 1500
_SHORTEST_DESCRIPTION: Final = 20
_LONGEST_SUBJECT: Final = 120


@dataclass(frozen=True, slots=True)
class Missed:
    """A missing prompt: its place, and the reason why the last reply was refused."""

    category: SubCategory
    number: int
    reason: Unscored


@dataclass(frozen=True, slots=True)
class WrittenPrompts:
    """What a model wrote.

    Attributes:
        prompts: in the order of sub-categories and numbers; those that are missing leave a gap in the numbers.
        missed: the missing ones.
        calls: questions asked.
        retries: of these, questions asked again because a reply was no good or repeated an earlier prompt.
    """

    prompts: tuple[MagicBenchPrompt, ...]
    missed: tuple[Missed, ...]
    calls: int
    retries: int


def parse_written(text: str) -> Outcome[tuple[str, str]]:
    """Read a written prompt: description and subject.

    The description must be one printable paragraph of 20 to 1,500 characters that names the subject.

    Example:
        >>> parse_written('{"prompt": "An old kettle whistles on a stove.", "subject": "kettle"}').answer
        ('An old kettle whistles on a stove.', 'kettle')
        >>> parse_written('{"prompt": "An old kettle whistles on a stove.", "subject": "teapot"}').detail
        'the description does not name its subject'
    """
    opened = split_object(text)
    if isinstance(opened, Unparsed):
        return opened
    heard, fragment = opened
    try:
        value = strict_json(fragment.body)
    except JsonError as problem:
        return rejected(fragment, Reason.MALFORMED, str(problem), heard.reasoning)
    prompt, subject = (value.get("prompt"), value.get("subject")) if isinstance(value, dict) else (None, None)
    if not isinstance(prompt, str) or not isinstance(subject, str):
        return rejected(fragment, Reason.MALFORMED, "the keys 'prompt' and 'subject' must hold text", heard.reasoning)
    prompt, subject = " ".join(prompt.split()), " ".join(subject.split())
    flaw = _flaw(prompt, subject)
    return Unparsed(Reason.MALFORMED, flaw, heard.reasoning) if flaw else Parsed((prompt, subject), heard.reasoning)


async def write_with(
    judge: Judge,
    *,
    seed: int = 0,
    per_category: int = 100,
    library: Library | None = None,
    attempts: int = 3,
    concurrency: int = 8,
) -> WrittenPrompts:
    """Have a judge write the prompts whose briefs :func:`~.composer.compose` would put into words itself.

    Works in rounds: all open prompts are asked for at once, replies are taken in the order of the prompts (so the same
    replies give the same prompts), and what is malformed, failed or said before is asked for again in the next round.

    Args:
        judge: answers in text; asked at temperature 1 with a seed of its own for each question.
        attempts: rounds at most.
        concurrency: questions under way at once.

    Raises:
        InputError: as :func:`~.composer.compose`, and for attempts or concurrency below 1.

    Example:
        >>> from salon_taxonomy.testing import ReplayJudge
        >>> judge = ReplayJudge(["no"] * 8)
        >>> written = asyncio.run(write_with(judge, per_category=1, attempts=1))
        >>> len(written.prompts), len(written.missed), written.missed[0].reason.reason.value
        (0, 8, 'malformed')
    """
    for name, value in (("attempts", attempts), ("concurrency", concurrency)):
        if value < 1:
            raise InputError("must be 1 or more", column=name, value=value)
    library = library or Library.bundled()
    templates = Templates(Path(__file__).with_name("prompts"))
    wanted = {
        (category, number): brief
        for category in SubCategory
        for number, brief in enumerate(briefs(category, seed=seed, number=per_category, library=library), 1)
    }
    index_of = {key: index for index, key in enumerate(wanted)}
    asker = Asker(AskPolicy(judge, re_asks=0), concurrency=concurrency)
    done: dict[tuple[SubCategory, int], MagicBenchPrompt] = {}
    missed: dict[tuple[SubCategory, int], Unscored] = {}
    said_before: set[str] = set()
    calls = 0
    for attempt in range(attempts):
        open_keys = [key for key in wanted if key not in done]
        inquiries = [
            _inquiry(templates, wanted[key], (seed * attempts + attempt) * len(wanted) + index_of[key]) for key in open_keys
        ]
        results = await asyncio.gather(*(asker.answer(inquiry, Memory()) for inquiry in inquiries))
        calls += len(results)
        for key, result in zip(open_keys, results, strict=True):
            if isinstance(result.verdict, Unscored):
                missed[key] = result.verdict
                continue
            text, subject = result.verdict.value
            if text.casefold() in said_before:
                missed[key] = Unscored(Reason.OFF_MENU, "the description repeats an earlier one", text)
                continue
            said_before.add(text.casefold())
            done[key] = MagicBenchPrompt.of(*key, text, subject)
            missed.pop(key, None)
        if len(done) == len(wanted):
            break
    prompts = tuple(done[key] for key in wanted if key in done)
    left = tuple(Missed(*key, missed[key]) for key in wanted if key in missed)
    return WrittenPrompts(prompts, left, calls, retries=calls - len(wanted))


def _inquiry(templates: Templates, brief: Brief, seed: int) -> Inquiry[tuple[str, str]]:
    entity = brief.entity
    parts = {"doing": entity.doing, "scene": brief.scene, "style": brief.style, "shot": brief.shot}
    text = templates.render("compose", phrase=entity.phrase, **parts)
    schema: dict[str, Digestible] = {
        "type": "object",
        "properties": {"prompt": {"type": "string"}, "subject": {"type": "string"}},
        "required": ["prompt", "subject"],
        "additionalProperties": False,
    }
    decoding = Decoding(temperature=1.0, max_tokens=512, seed=seed % 2**31)
    return Inquiry("compose", Question((text,), response_schema=schema, decoding=decoding), parse_written)


def _flaw(prompt: str, subject: str) -> str | None:
    """Return why a description cannot be used; None when it can."""
    if not _SHORTEST_DESCRIPTION <= len(prompt) <= LONGEST_DESCRIPTION:
        return f"the description has {len(prompt)} characters"
    if not 0 < len(subject) <= _LONGEST_SUBJECT:
        return f"the subject has {len(subject)} characters"
    if not prompt.isprintable() or not subject.isprintable():
        return "the description holds characters that cannot be printed"
    if subject.casefold() not in prompt.casefold():
        return "the description does not name its subject"
    return None
