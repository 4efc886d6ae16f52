"""A scorer as a judge: ``scorer:mypkg.metrics:clip_score`` answers the question of the suite ``scorer`` with its score.

So its scores are stored, resumed, compared and put beside judges in a panel as any judge's verdicts are. Pictures that are
asked about at the same time are given to the scorer together.
"""

import asyncio
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, Final, Protocol, Self, runtime_checkable

from pydantic import Field

from salon_judges.clients.micro_batches import MicroBatches
from salon_taxonomy.answers import Outcome, Parsed, Unparsed, parse_prism
from salon_taxonomy.answers.strict_json import JsonError, strict_json
from salon_taxonomy.digest import digest
from salon_taxonomy.errors import InputError
from salon_taxonomy.plugins import SCORERS, Closing, JudgeKind, JudgeSettings, ManagedJudge, installed
from salon_taxonomy.protocols import Media, Question, Reply
from salon_taxonomy.records import CallStatus, Finish, MediaKind, MediaRole
from salon_taxonomy.scorers import BESIDE, UNBOUNDED, CheckedScorer, checked_scores, open_scorer
from salon_taxonomy.verdict import Reason, Scored, Unscored, Verdict

_HIGHEST_MARK: Final = 10.0
_READING: Final = ("transformers", "vllm-offline", "replay")
_KEEPING: Final = ("cache", "batch")
"""Kinds of judge that name a folder or file behind the colon; the second kinds may make it."""
_BEGINNING: Final = '{"name": '
_FAILED: Final = {
    Reason.REJECTED: CallStatus.REJECTED,
    Reason.TIMEOUT: CallStatus.TIMEOUT,
    Reason.UNREACHABLE: CallStatus.UNREACHABLE,
}
"""Reasons that are about the call and not about the picture, so that a later start asks again."""
_SEAL: Final = "scorer"
"""The key of a digest of the other members: a model that writes a scorer's form, whose range it may choose, cannot know it."""


class ScorerSettings(JudgeSettings):
    """Which scorer is asked.

    Attributes:
        kind: ``scorer``.
        scorer: ``MODULE:FUNCTION``, ``FILE.py:FUNCTION`` (the file absolute), or an installed scorer with its settings.
        gather_ms: how long the first picture of a batch waits for others, in milliseconds.
    """

    scorer: str = Field(min_length=1)
    gather_ms: Annotated[float, Field(ge=0, le=10_000)] = 10.0


@runtime_checkable
class Closable(Protocol):
    """A scorer that holds connections or models."""

    async def close(self) -> None:
        """Release them."""


@dataclass(frozen=True, slots=True)
class ScoreAnswer:
    """What a scorer, or a judge that gives a mark, says about one picture.

    Attributes:
        verdict: in the scorer's own unit; negated where lower is better, so that higher is better in every table.
        scaled: as a share of the range, 1 is best; None for a scorer without bounds, or without a score.
        lower_is_better: whether the verdict has the other sign than the scorer's own.
        bounded: whether a score of this scorer is a share of a range; true where a call was lost and it is unknown.
    """

    verdict: Verdict[float]
    scaled: float | None = None
    lower_is_better: bool = False
    bounded: bool = True

    @classmethod
    def of(cls, scorer: CheckedScorer, verdict: Verdict[float]) -> Self:
        """Return what a scorer's verdict means.

        Example:
            >>> error = CheckedScorer(min, "error", "1", range=(0, 4), higher_is_better=False)
            >>> ScoreAnswer.of(error, Scored(1.0))
            ScoreAnswer(verdict=Scored(value=-1.0), scaled=0.75, lower_is_better=True, bounded=True)
        """
        upward = scorer.higher_is_better
        scaled = scorer.scaled(verdict.value) if isinstance(verdict, Scored) else None
        return cls(verdict if upward else verdict.map(lambda value: -value), scaled, not upward, scorer.bounded)


class ScorerJudge(Closing):
    """Answers questions about one picture or video, its prompt and what is shown beside it with the score of a function.

    Args:
        scorer: gives the scores.
        settings: as they are stored with a run; None for a scorer that is given as an object.

    Example:
        >>> def length(images, prompts):
        ...     return [len(prompt) for prompt in prompts]
        >>> length.version = "1"
        >>> from salon_taxonomy.scorers import checked_scorer
        >>> from salon_synthetic import Scene, png
        >>> question = Question((Media.from_bytes(png(Scene())),), prompt="a cat")
        >>> parse_score(asyncio.run(ScorerJudge(checked_scorer(length)).ask(question)).text).answer.verdict
        Scored(value=5.0)
    """

    reports_tokens = False

    def __init__(self, scorer: CheckedScorer, settings: ScorerSettings | None = None) -> None:
        self.scorer = scorer
        self.settings = settings or ScorerSettings(kind="scorer", scorer=scorer.name)
        self._batches = MicroBatches(self._answer, most=scorer.batch, wait_s=self.settings.gather_ms / 1000)
        self._runner: asyncio.Runner | None = None

    @property
    def name(self) -> str:
        """What tables call it."""
        return self.settings.name or self.scorer.name

    @property
    def version(self) -> str:
        """The scorer's version."""
        return self.scorer.version

    async def ask(self, question: Question) -> Reply:
        """Return the score as JSON text; a scorer that raises, or whose judge cannot be reached, is a failed call.

        Raises:
            InputError: the question is about something else than one picture or video and its prompt, or shows beside it what
                the scorer does not take.
        """
        results = [each for each in question.media if each.role in (None, MediaRole.RESULT)]
        if any((each.kind == MediaKind.VIDEO) is not self.scorer.of_videos for each in results):
            kinds = "videos, not pictures" if self.scorer.of_videos else "pictures, not videos"
            raise InputError(f"the scorer rates {kinds}:", value=self.name)
        beside = {name: [each for each in question.media if each.role == role] for name, role in BESIDE.items()}
        beside = {name: media for name, media in beside.items() if media}
        unseen = [name for name in beside if name not in self.scorer.takes]
        if unseen:
            raise InputError("the scorer takes no", column=unseen[0], value=self.name, allowed=self.scorer.takes)
        if question.prompt is None or len(results) != 1:
            hint = "Use it with `salon bench run scorer`, `salon refine --scorer`, or as the reward scorer:NAME."
            raise InputError(
                "a scorer rates one picture against its prompt, and answers no other question:", value=self.name, hint=hint
            )
        began = perf_counter()
        verdict = await self._batches.ask(tuple(beside), (results[0], question.prompt, beside))
        latency_ms = (perf_counter() - began) * 1000
        if isinstance(verdict, Unscored) and verdict.reason in _FAILED:
            return Reply("", _FAILED[verdict.reason], self.version, error=verdict.detail, latency_ms=latency_ms)
        return Reply(self._written(verdict), version=self.version, finish=Finish.STOP, latency_ms=latency_ms)

    async def close(self) -> None:
        """Finish what is under way; the next question goes on."""
        await self._batches.close()
        runner, self._runner = self._runner, None
        if runner is not None:
            await asyncio.to_thread(self._end, runner)

    def _end(self, runner: asyncio.Runner) -> None:
        """Close the scorer, where it can be closed, and the loop that it was called in."""
        with runner:
            if isinstance(self.scorer.function, Closable):
                runner.run(self.scorer.function.close())

    def _written(self, verdict: Verdict[float]) -> str:
        document: dict[str, Any] = {
            "name": self.name,
            "range": [end if math.isfinite(end) else None for end in self.scorer.range],
            "higher_is_better": self.scorer.higher_is_better,
        }
        if isinstance(verdict, Scored):
            document["score"] = verdict.value
        else:
            document |= {"unscored": verdict.reason.value, "detail": verdict.detail}
        return json.dumps({**document, _SEAL: digest(_SEAL, document)}, ensure_ascii=False)

    def _answer(self, asked: Sequence[tuple[Media, str, Mapping[str, list[Media]]]]) -> Sequence[Verdict[float]]:
        """Score a batch, in the thread of the batches; its loop lives until :meth:`close`, with a scorer's connections."""
        if self._runner is None:
            self._runner = asyncio.Runner()
        results, prompts, media_by_name = zip(*asked, strict=True)
        beside = {name: [each[name] for each in media_by_name] for name in media_by_name[0]}
        return self._runner.run(self.scorer.score(results, prompts, beside))


def parse_score(text: str) -> Outcome[ScoreAnswer]:
    """Read the reply of a scorer, or a judge's mark from 0 to 10 (:func:`~salon_taxonomy.answers.parse_prism`).

    Example:
        >>> parse_score('{"justification": "All there.", "score": 9}').answer
        ScoreAnswer(verdict=Scored(value=9.0), scaled=0.9, lower_is_better=False, bounded=True)
    """
    answer = _score_answer(text)
    if answer is not None:
        return Parsed(answer)
    outcome = parse_prism(text)
    if isinstance(outcome, Unparsed):
        return outcome
    mark = outcome.answer.score
    return Parsed(ScoreAnswer(Scored(mark), mark / _HIGHEST_MARK), outcome.reasoning, outcome.notes)


def _score_answer(text: str) -> ScoreAnswer | None:
    """Return what a scorer's reply says. Any other text gives None, and so does a model that imitates a scorer."""
    if not text.startswith(_BEGINNING):
        return None
    try:
        document = strict_json(text)
    except JsonError:
        return None
    members = dict(document) if isinstance(document, dict) else {}
    seal = members.pop(_SEAL, None)
    try:
        if seal != digest(_SEAL, members):
            return None
    except ValueError:  # an infinite number
        return None
    ends, upward, score = members.get("range"), members.get("higher_is_better"), members.get("score")
    if not (isinstance(ends, list) and len(ends) == 2 and isinstance(upward, bool)):
        return None
    bounds = [infinite if end is None else end for end, infinite in zip(ends, UNBOUNDED, strict=True)]
    if not all(isinstance(end, int | float) for end in bounds):
        return None
    scorer = CheckedScorer(min, "", "", (float(str(bounds[0])), float(str(bounds[1]))), upward)
    if isinstance(score, int | float) and not isinstance(score, bool):
        [verdict] = checked_scores([score], 1, scorer.range)
        return ScoreAnswer.of(scorer, verdict)
    reason, detail = members.get("unscored"), members.get("detail")
    if reason not in list(Reason) or not isinstance(detail, str):
        return None
    return ScoreAnswer.of(scorer, Unscored(Reason(reason), detail))


def _completed(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document with absolute files and folders, so that a run can be resumed from any folder."""
    text = str(document.get("scorer", ""))
    source, colon, function = text.rpartition(":")
    if source.endswith(".py"):
        return {**document, "scorer": f"{Path(source).absolute()}{colon}{function}"}
    name, colon, settings = text.partition(":")
    if not colon or name not in installed(SCORERS):
        return document
    return {**document, "scorer": f"{name}:{','.join(map(_absolute, settings.split(',')))}"}


def _absolute(setting: str) -> str:
    """Return ``value``, ``key=value`` or a judge with the files and folders that it names here absolute."""
    *before, last = setting.split("=")
    kind, colon, path = last.partition(":")
    if colon and kind in _READING:
        last = f"{kind}:{_absolute_path(path)}"
    return "=".join([*map(_kept, before), _absolute_path(last)])


def _absolute_path(path: str) -> str:
    return str(Path(path).absolute()) if path and Path(path).exists() else path


def _kept(part: str) -> str:
    kind, colon, path = part.partition(":")
    return f"{kind}:{Path(path).absolute()}" if colon and kind in _KEEPING else part


def _open(settings: ScorerSettings, environment: Mapping[str, str]) -> ManagedJudge:
    return ScorerJudge(open_scorer(settings.scorer, environment), settings)


KIND: Final = JudgeKind("scorer", ScorerSettings, _completed, lambda text: {"scorer": text}, _open)
"""The kind of judge ``scorer:SPEC``."""
