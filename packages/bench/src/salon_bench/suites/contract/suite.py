"""What a suite is: pictures to judge, questions about them, and what the answers add up to.

    prompts × generations ── cases ──► Case ── examine ──► Inquiry ⇄ Verdict … ──► records ── aggregate ──► Summary

A suite does no I/O: :meth:`Suite.examine` is a generator that yields inquiries and receives verdicts. So
the same lines of a suite run against a live judge, against the replies of an earlier run (``rescore``), and again after
a crash (``resume``), and never see a time-out, a retry or a bad picture: those arrive as ``Unscored``.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar, runtime_checkable

from salon_judges.asking.inquiry import Inquiries
from salon_judges.asking.inquiry import Inquiry as Inquiry
from salon_judges.formats.generations import Generated, Generations
from salon_judges.formats.suite_prompt import SuitePrompt as SuitePrompt
from salon_judges.formats.suite_prompt import turns_of
from salon_judges.media import PicturePolicy
from salon_taxonomy.digest import Digestible, digest
from salon_taxonomy.enums import MediaRole
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Media
from salon_taxonomy.records import Assessment, Prompt, Record, Score
from salon_taxonomy.verdict import Reason, Scored, Unscored, Verdict

if TYPE_CHECKING:
    import polars as pl


A = TypeVar("A")


Examination: TypeAlias = Inquiries[Sequence[Record]]
"""Yields inquiries, is sent a verdict for each, returns the case's rows. Pure: the same verdicts give the same rows."""


@dataclass(frozen=True, slots=True)
class RunContext:
    """Under whose name the rows of one run are written.

    Attributes:
        run_id: the run.
        judge: the judge's name, as tables call it.
        judge_version: of judge, prompts, decoding and parsers together.
    """

    run_id: str
    judge: str
    judge_version: str


@dataclass(frozen=True, slots=True)
class Case:
    """What one examination is about: usually one picture of one model for one prompt, or those of an editing conversation.

    Attributes:
        case_id: unique in the run, the same on every machine.
        suite: the suite's name.
        subject_model: whose picture it is; for comparisons of several models the one that the case is filed under.
        prompt: what the generator was told.
        pictures: the files to be shown, in the suite's order; none for a generation that is missing.
        facts: the suite's own columns of the prompt: class, track, test points.
        media: set by the runner: the pictures, checked, resized and encoded for the judge.
        generation_ids: set by the runner: of the pictures, in the same order.
        given: the files that come with the prompt, each with its role.
        given_media: set by the runner: those files, as ``media``.
        problem: why the pictures cannot be judged (missing, damaged); then every inquiry is answered with it, unasked.
            A suite sets it for a missing generation, the runner for a file that is no picture.
        context: set by the runner.
    """

    case_id: str
    suite: str
    subject_model: str
    prompt: Prompt
    pictures: tuple[Generated, ...] = ()
    facts: Mapping[str, Digestible] = field(default_factory=dict, hash=False)
    media: tuple[Media, ...] = ()
    generation_ids: tuple[str, ...] = ()
    given: tuple[Generated, ...] = ()
    given_media: tuple[Media, ...] = ()
    problem: Unscored | None = None
    context: RunContext = RunContext("", "", "")

    @property
    def image(self) -> Media:
        """The first picture; an empty one for a case without pictures, which no judge is asked about."""
        return self.media[0] if self.media else _NO_PICTURE

    def in_role(self, role: MediaRole) -> tuple[Media, ...]:
        """Return what is shown in a role, in order; one empty picture for a case without pictures.

        Raises:
            InputError: the case has pictures, and none in this role.
        """
        media = tuple(each for each in (*self.given_media, *self.media) if (each.role or MediaRole.RESULT) == role)
        if not media and self.media:
            raise InputError("there is no picture or video in the role", column=role.value, value=self.prompt.prompt_id)
        return media or (_NO_PICTURE,)

    def in_turn(self, turn: int | None) -> "Case":
        """Return the case of one turn of an editing conversation; None: of all its turns.

        The result is the turn's, and the source what it edited: the result of the turn before. Where a picture that is to be
        shown is missing, the case has a ``problem``. Any other prompt's case is returned as it is.
        """
        turns = len(turns_of(self.facts))
        if not turns or self.problem is not None or not (self.pictures or self.media):
            return self
        index_of_turn = {file.turn: number for number, file in enumerate(self.pictures)}
        wanted = range(1, turns + 1) if turn is None else range(max(1, turn - 1), turn + 1)
        missing = next((number for number in wanted if number not in index_of_turn), None)
        if missing is not None:
            return replace(self, problem=Unscored(Reason.BAD_MEDIA, f"there is no picture of turn {missing} that can be read"))
        if turn is None:
            return self
        here = slice(index_of_turn[turn], index_of_turn[turn] + 1)
        prompt_media = self.given_media
        if turn > 1:
            before = self.media[index_of_turn[turn - 1] : index_of_turn[turn - 1] + 1]
            others = (each for each in prompt_media if each.role != MediaRole.SOURCE)
            prompt_media = (*(replace(each, role=MediaRole.SOURCE) for each in before), *others)
        return replace(
            self,
            pictures=self.pictures[here],
            media=self.media[here],
            generation_ids=self.generation_ids[here],
            given_media=prompt_media,
        )

    @property
    def generation_id(self) -> str | None:
        """The generation when the case is about exactly one, or the last one of a conversation."""
        ids = self.generation_ids
        return ids[-1] if len(ids) == 1 or (ids and all(file.turn for file in self.pictures)) else None

    def score(self, task: str, dimension: str, verdict: Verdict[float]) -> Score:
        """Return a row of ``scores`` about this case; an ``Unscored`` verdict becomes a row with its reason, true is 1."""
        return Score(
            run_id=self.context.run_id,
            suite=self.suite,
            task=task,
            subject_model=self.subject_model,
            prompt_id=self.prompt.prompt_id,
            generation_id=self.generation_id,
            dimension=dimension,
            value=float(verdict.value) if isinstance(verdict, Scored) else None,
            unscored_reason=verdict.reason.value if isinstance(verdict, Unscored) else None,
            judge=self.context.judge,
            judge_version=self.context.judge_version,
        )

    def label(self, taxonomy: str, label: str, *, present: bool, explanation: str | None = None) -> Assessment:
        """Return a row of ``assessments``: one label given to (or withheld from) the case's one generation."""
        generation = self.generation_id or self.case_id
        name = {"run": self.context.run_id, "case": self.case_id, "taxonomy": taxonomy, "label": label}
        return Assessment(
            assessment_id=digest("assessment", {**name, "judge": self.context.judge}),
            run_id=self.context.run_id,
            generation_id=generation,
            taxonomy=taxonomy,
            label=label,
            present=present,
            judge=self.context.judge,
            judge_version=self.context.judge_version,
            explanation=explanation,
        )


def whole_case_id(suite: str, prompt_id: str, model: str) -> str:
    """Return the id of the one case of a suite about everything that a model made for a prompt.

    A suite with such cases may say what its pictures are called, as ``picture_names``; then reports show them side by side.
    """
    return digest("case", {"suite": suite, "prompt": prompt_id, "model": model})


@dataclass(frozen=True, slots=True)
class Summary:
    """What a suite says about one subject in one run.

    Attributes:
        table: one row per reported number: ``metric`` (text), ``group`` (text or null), ``value`` (float; null where nothing
            could be scored), ``ci_low``, ``ci_high`` (null when there is no interval), ``scored``, ``unscored`` (counts), in
            the order in which people want to read it. Values are in the suite's own unit, higher is better unless the
            suite's README says otherwise.
        notes: sentences for people: the rule that was used, what was left out and why.
        confidence: of the intervals.
    """

    table: "pl.DataFrame"
    notes: tuple[str, ...] = ()
    confidence: float = 0.95

    @property
    def interval_name(self) -> str:
        """What tables call the intervals, as ``95% interval``."""
        return f"{100 * self.confidence:g}% interval"


def one_picture_cases(suite: str, prompts: Sequence[SuitePrompt], generations: Generations) -> Iterable[Case]:
    """Yield a case per prompt, model and sample, with all turns; a missing generation makes one with a ``problem``."""
    for model in generations.models:
        for item in prompts:
            files = generations.of(item.prompt.prompt_id, model)
            samples = [tuple(turns) for _, turns in groupby(files, lambda file: file.sample)]
            for number, pictures in enumerate(samples or [()]):
                yield Case(
                    case_id=digest("case", {"suite": suite, "prompt": item.prompt.prompt_id, "model": model, "sample": number}),
                    suite=suite,
                    subject_model=model,
                    prompt=item.prompt,
                    pictures=pictures,
                    facts=item.facts,
                    given=item.media,
                    problem=Unscored(Reason.BAD_MEDIA, "there is no picture for this prompt") if not pictures else None,
                )


def whole_cases(
    suite: str, prompts: Sequence[SuitePrompt], generations: Generations, files: Callable[[SuitePrompt], int], missing: str
) -> Iterable[Case]:
    """Yield a case per prompt and model, about all of its files; one that lacks some has a ``problem``.

    Args:
        suite: the suite's name.
        prompts: of the run.
        generations: what there is.
        files: how many files a prompt needs.
        missing: what is wrong where there are fewer.
    """
    for model in generations.models:
        for item in prompts:
            pictures = generations.of(item.prompt.prompt_id, model)
            complete = len(pictures) == files(item)
            yield Case(
                case_id=whole_case_id(suite, item.prompt.prompt_id, model),
                suite=suite,
                subject_model=model,
                prompt=item.prompt,
                pictures=pictures if complete else (),
                facts=item.facts,
                problem=None if complete else Unscored(Reason.BAD_MEDIA, missing),
            )


def as_it_is(row: Score) -> float | None:
    """Return the row's own value: a score from 0 to 1 of which more is better."""
    return row.value


@dataclass(frozen=True, slots=True)
class RewardSpec:
    """Define how a suite's rows become a reward (``make_reward("suite:NAME")``), as the attribute ``reward`` of the suite.

    A suite without one pays for pictures, by all of its rows, from 0 to 1.

    Attributes:
        of: of a row with a value, from 0 to 1, higher is better; None: the row does not count.
        answers: the suite examines the policy, not a picture: the completion is the reply to its questions.
        take: for a suite that asks a judge about an answer: the case with the completion in it, or None for one that cannot be
            read, which earns 0.
        why_not: for a suite that no single completion can be paid by: the reason, as a clause.
    """

    of: Callable[[Score], float | None] = as_it_is
    answers: bool = False
    take: Callable[[Case, str], Case | None] | None = None
    why_not: str | None = None


@runtime_checkable
class Suite(Protocol):
    """One benchmark; :class:`~salon_bench.suites.contract.base.SuiteBase` has defaults for most members."""

    @property
    def pictures(self) -> PicturePolicy:
        """How pictures are resized and encoded before a judge sees them."""

    @property
    def steps(self) -> Sequence[str]:
        """The steps of its questions, in order, for judges by step and for reports; empty: not declared."""

    @property
    def picture_names(self) -> Sequence[str]:
        """The names of the pictures of a case about several (see :func:`whole_case_id`); empty for one."""

    @property
    def reward(self) -> RewardSpec:
        """How its rows become a reward."""

    @property
    def name(self) -> str:
        """The name on the command line and in tables: ``magicbench``."""

    @property
    def version(self) -> str:
        """A digest of its prompt templates, parsers and rules; part of every judge version."""

    def prompts(self, source: Path | None) -> Sequence[SuitePrompt]:
        """Return the prompts, from the user's copy when ``source`` names one.

        Raises:
            InputError: the file is wrong, or is needed and was not given.
        """

    def generations(self, source: Path, model: str, prompts: Sequence[SuitePrompt]) -> Generations:
        """Return the files that a model made for the prompts; ``source`` is the user's folder or table.

        Raises:
            InputError: no file belongs to a prompt, or a name leads out of the folder.
        """

    def cases(self, prompts: Sequence[SuitePrompt], generations: Generations) -> Iterable[Case]:
        """Yield every case of a run, in a fixed order; a missing generation makes a case with a ``problem``."""

    def examine(self, case: Case) -> Examination:
        """Judge one case (see :data:`Examination`)."""

    def aggregate(self, scores: "pl.DataFrame", assessments: "pl.DataFrame") -> Summary:
        """Return one subject's numbers from the rows of one run (columns as in the store), whatever their order."""


_NO_PICTURE = Media.from_bytes(b"")
