"""Suites declared in one TOML file: ``salon bench run ./posters.toml``.

    name = "posters"
    prompts = "prompts.csv"                 a file or folder beside this one (see ``prompt_files.py``)

    [[question]]
    id = "legible"
    ask = "Is the text {words} on the poster easy to read?"
    answer = "yes/no"                       or "1-5", "expected", "score", "text", "list", labels, a JSON schema

A word in braces is a column of the prompts, or ``prompt``. Every number is given with an interval. With
``shows = ["source", "result"]`` a question is about the file in the column ``source`` and what was made of it.

A table ``[released]`` has the keys that differ in the authors' script; ``./posters-released.toml`` names this second suite.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self, TypeAlias, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from salon_bench.suites.contract.base import SuiteBase, given
from salon_bench.suites.contract.formulas import Answers, Formula
from salon_bench.suites.contract.prompt_files import read_prompts
from salon_bench.suites.contract.questions import (
    UNITS,
    UNREAD,
    AnyScore,
    Expected,
    Form,
    Instead,
    NumberedList,
    PictureQuestion,
    Quotes,
    Scale,
    Shown,
    Text,
    YesNo,
    ask_all,
    contains,
    form_of,
    miswritten,
    numbers_of,
    parents_first,
    placeholders,
    with_roles,
)
from salon_bench.suites.contract.soft_answers import OFF_MENU, Soft, soft_form
from salon_bench.suites.contract.suite import Case, Examination, RewardSpec, SuitePrompt, Summary
from salon_judges.formats.generations import PICTURE_SUFFIXES, VIDEO_SUFFIXES, Generations, read_generations
from salon_judges.formats.suite_prompt import TURNS, turns_of
from salon_judges.media import PicturePolicy, VideoPolicy
from salon_taxonomy.digest import Digestible, digest
from salon_taxonomy.enums import MediaRole
from salon_taxonomy.errors import Fault, InputError
from salon_taxonomy.records import Score
from salon_taxonomy.taxonomy_file import Places
from salon_taxonomy.toml_files import parse_toml, read_text
from salon_taxonomy.verdict import Reason, Scored, Unscored, Verdict

if TYPE_CHECKING:
    import polars as pl

OVERALL: Final = "overall"
"""The dimension of the number over all questions."""
_RULES_VERSION: Final = 2  # raised by hand when instructions, parsers or rows change their meaning
_QUESTION: Final = "question"
_LATER_KEYS: Final = ("soft", "prompt", "units", "shows", "when", "part", "turn", "read", "missing", "cascade")
"""Keys of a question without which a file keeps the version that it had before they existed."""
_LATER_TABLE_KEYS: Final = ("soft", "shows", "frames_per_second", "over")
"""The same of the keys before the questions."""
_NUMBER: Final = "number"
_RELEASED: Final = "released"
_RANDOM: Final = "random"
_ALL: Final = "all"
_EACH: Final = "each"
_RATED: Final = "How well does the picture show this? {prompt}"
_INSTRUCTION: Final = "instruction"
"""The word in braces for the instruction of the turn that a question is about."""
_MOST_MARK: Final = 1_000_000
_ROUNDING: Final = 1e-9
_OF_EACH: Final = ".each"
"""In braces behind the name of a question: the item of its list that has the number of the item of ``each``."""
_BRACES: Final = "a name in braces is of letters, digits and _ alone (a - of a question is written _), without spaces"
_ITEMS: Final = (
    "An item is a text, or a table of text, needs (numbers, from 1, of other items of a yes-or-no question) and answer (which "
    'answer = "expected" expects).'
)


def _roles_of(names: list[str]) -> list[str]:
    """Check the names of roles that a file or a question shows."""
    roles = [name.removesuffix("?") for name in names]
    allowed = [role.value for role in MediaRole]
    if len(set(roles)) < len(roles) or set(roles) - set(allowed) or f"{MediaRole.RESULT}?" in names:
        listed = ", ".join(allowed)
        raise ValueError(f"must name roles, each once: {listed}; with a ? those that some prompts lack, but not the result")
    return names


def _part_of(ends: list[float]) -> list[float]:
    """Check the beginning and the end of what is shown of a video."""
    if len(ends) != 2 or not 0 <= ends[0] <= ends[1] <= 1:
        raise ValueError("must be two numbers from 0 to 1, the smaller first: the beginning and the end, by the video's length")
    return ends


def _is_mark(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, int | float) and abs(value) <= _MOST_MARK


def _read_of(pairs: list[list[Any]]) -> list[list[Any]]:
    """Check the patterns of replies and their marks."""
    from polars.exceptions import ComputeError

    for pair in pairs:
        if len(pair) != 2 or not isinstance(pair[0], str) or not _is_mark(pair[1]):
            raise ValueError('must be pairs of a pattern and a mark (at most a million), such as [["yes", 1], ["", 0]]')
        try:
            contains("", pair[0])
        except ComputeError as error:
            problem = str(error).partition("This error")[0].split("error: ")[-1].strip()
            raise ValueError(f"has a pattern that is no regular expression of Rust's syntax ({problem})") from error
    return pairs


def _missing_of(missing: object) -> object:
    """Check what a missing mark counts as."""
    if missing not in (_RANDOM, _ALL) and not _is_mark(missing):
        raise ValueError(f'must be a mark (at most a million), "{_RANDOM}" or "{_ALL}"')
    return missing


Part: TypeAlias = Annotated[list[float], AfterValidator(_part_of)]
Shows: TypeAlias = Annotated[list[str], AfterValidator(_roles_of)]
"""Roles in the order in which they are shown; those with a question mark where the prompt has them."""


def _turn_of(turn: object) -> object:
    """Check the turn of a question."""
    if turn != "each" and (isinstance(turn, bool) or not isinstance(turn, int) or turn < 1):
        raise ValueError('must be the number of a turn, from 1, or "each"')
    return turn


Turn: TypeAlias = Annotated[Any, AfterValidator(_turn_of)]


class QuestionTable(BaseModel):
    """A table ``[[question]]`` of a suite file.

    Attributes:
        id: its name in tables.
        ask: the words of the question; of ``answer = "score"`` it may be left out.
        answer: ``"yes/no"``, a scale such as ``"1-5"``, ``"expected"`` (the answer that each item names), ``"score"``, a list
            of labels, a JSON schema, or ``"text"`` or ``"list"``: words or a numbered list, which later questions quote as
            ``{id}``, or with ``each`` as ``{id.each}``, the item of the same number.
        soft: the value is the probability of yes or of the expected answer, or the mean mark, by the judge's
            log-probabilities. None: as the file says.
        score: of each label, from 0 to 1.
        each: a column with a list: the question is asked once for each item, whose text is ``{each}``. An item is a text, or a
            table of ``text``, ``needs`` (numbers, from 1, of items that must be answered by yes), ``answer`` and ``group`` (a
            text, or a list: the groups in which the item counts as well).
        needs: names of earlier yes-or-no questions: where one is answered by no, this one counts as no.
        weight: of its values in the overall mean.
        prompt: of ``answer = "score"``: the column that scorers are given in place of the prompt; texts of a list are lines.
        units: of ``answer = "score"``: the column with the number of units (words, objects) that a picture's score is the mean
            of; means over pictures are over all their units.
        shows: as of the file; empty: nothing but the replies that its text quotes; None: as the file says.
        when: a formula over the columns of the prompts; where it is false, the question is not asked. None: always.
        part: which part of videos is shown, from 0 to 1 of their length: ``[0, 0]`` is the first frame, ``[1, 1]`` the last.
            None: the whole.
        turn: of an editing conversation (the column ``turns``): the question is about this turn, from 1, or is asked about
            ``each``; then ``each`` has one item for each turn. Its ``{instruction}`` is the turn's, its result too, and its
            source is what the turn edited. None: about all results together.
        read: of yes-or-no questions and scales: pairs of a pattern (a regular expression) and a mark; the first pattern that is
            found in a reply counts, the empty one in every reply. None: the last line counts.
        missing: the mark that a reply counts as which cannot be read, ``random`` (drawn, with the seed 0), or ``all``: the
            picture has no answer to any item of the question then. None: it is unscored. A reply that never came always is.
        cascade: false: an item counts as no only where one that it needs was answered by no, not because that one counts as no.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")
    ask: str = Field(min_length=1, max_length=20_000)
    answer: Any
    soft: bool | None = None
    score: dict[str, Any] | None = None
    each: str | None = Field(default=None, min_length=1)
    needs: list[str] = []
    weight: float = Field(default=1.0, gt=0, le=1000)
    prompt: str | None = Field(default=None, min_length=1)
    units: str | None = Field(default=None, min_length=1)
    shows: Shows | None = None
    when: str | None = Field(default=None, min_length=1)
    part: Part | None = None
    turn: Turn | None = None
    read: Annotated[list[list[Any]], AfterValidator(_read_of)] | None = Field(default=None, min_length=1)
    missing: Annotated[Any, AfterValidator(_missing_of)] | None = None
    cascade: Literal[False] | None = None

    @model_validator(mode="before")
    @classmethod
    def _words_for_judges(cls, values: Any) -> Any:
        """Give ``answer = "score"`` words, which scorers do not read."""
        return {"ask": _RATED, **values} if isinstance(values, dict) and values.get("answer") == "score" else values

    @property
    def counts_unread(self) -> bool:
        """Whether an unread reply counts as a mark; ``id.unread`` is the share of those."""
        return self.missing not in (None, _ALL)

    @property
    def repeated(self) -> bool:
        """Whether it is asked several times, as ``id.1``, ``id.2``, …"""
        return self.each is not None or self.turn == _EACH


class NumberTable(BaseModel):
    """A table ``[[number]]`` of a suite file: a number of each picture by a formula (``formulas.py``).

    Attributes:
        id: its name in tables; ``overall`` for the one that pictures are ranked and paid by.
        formula: over the answers, earlier numbers and the columns of the prompt.
        range: the lowest and the highest value, outside of which there is no number; None: a reward cannot be made from it.
        units: a formula over the columns of the prompt: how often the picture counts in means. None: once.
        over: ``means``: the formula is over the means of the numbers before it, for all prompts and for each group; a picture
            has no such number, and it has no interval. None: over each picture's.
        missing: the number of a picture whose answers are missing, or ``skip``: ``min``, ``max``, ``mean`` and ``count`` leave
            missing answers out. None: the picture has no number.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")
    formula: str = Field(min_length=1)
    range: list[float] | None = Field(default=None, min_length=2, max_length=2)
    units: str | None = Field(default=None, min_length=1)
    over: Literal["means"] | None = None
    missing: Annotated[float, Field(allow_inf_nan=False)] | Literal["skip"] | None = None


class SuiteTable(BaseModel):
    """The keys of a suite file before its questions.

    Attributes:
        name: of the suite, in tables.
        summary: what it measures, one line.
        prompts: file or folder of the prompts, from the suite file's own folder.
        query: SQL that makes the prompts of the files of a folder (``prompt_files.queried_rows``).
        group: the column of the prompts by which the numbers are given as well; a list counts in several groups.
        overall: the number over all questions of a picture: the weighted ``mean`` or ``geometric_mean`` of their values from 0
            to 1, or ``all``: 1 where every value is at its best, else 0.
        soft: every question is soft that does not say otherwise; with ``first token`` by the first token of a reply alone.
        interval: ``wilson`` (shares alone), ``student`` (Student's t over prompts) or ``none``. Default: Wilson's for shares,
            Student's t for means.
        confidence: of the intervals.
        shows: the roles of the pictures and videos that questions show, in order; each but ``result`` is a column of the
            prompts (``prompt_files.py``). ``"mask?"``: where a prompt has one. None: the result alone.
        over: what means are over: all ``prompts``, or ``groups``, each of which counts alike. A group ``a/b`` is a part of
            ``a``, which is the mean of its parts, and is given, too. None: prompts.
        frames_per_second: results and files of prompts may be videos, of which so many frames are shown; None: pictures.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")
    summary: str = ""
    prompts: str | None = Field(default=None, min_length=1)
    query: str | None = Field(default=None, min_length=1)
    group: str | None = Field(default=None, min_length=1)
    overall: Literal["mean", "geometric_mean", "all"] | None = None
    soft: bool | Literal["first token"] = False
    interval: Literal["wilson", "student", "none"] | None = None
    confidence: float = Field(default=0.95, gt=0, lt=1)
    shows: Shows | None = Field(default=None, min_length=1)
    over: Literal["prompts", "groups"] | None = None
    frames_per_second: float | None = Field(default=None, gt=0, le=1000)


class DeclaredSuite(SuiteBase):
    """A suite of one TOML file.

    Args:
        table: the keys of the file.
        questions: each with the form of its answer.
        file: where it was read.
        numbers: made of their answers.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "posters.toml"
        >>> text = '[[question]]\\nid = "legible"\\nask = "Can {prompt} be read?"\\nanswer = "yes/no"'
        >>> _ = path.write_text(f'name = "posters"\\n{text}')
        >>> suite = DeclaredSuite.read(path)
        >>> suite.name, suite.steps
        ('posters', ('legible',))
    """

    def __init__(
        self,
        table: SuiteTable,
        questions: Sequence[tuple[QuestionTable, Form]],
        file: Path,
        numbers: Sequence[NumberTable] = (),
    ) -> None:
        self.table = table
        self.numbers = tuple(numbers)
        self.questions = tuple(questions)
        self.file = file.resolve()
        self.steps = tuple(question.id for question, _ in questions)
        if table.frames_per_second is not None:
            self.pictures = PicturePolicy(video=VideoPolicy(frames_per_second=table.frames_per_second), mixed=True)
        none_paid = None if any(self._spans.values()) or self._means else "no answer to its questions is a number"
        if any(number.id == OVERALL and (number.range is None or number.over) for number in numbers):
            none_paid = "its number overall has no range, or is one of means"
        if any(question.turn is not None for question, _ in questions):
            none_paid = "its questions are about turns of a conversation"
        self.reward = RewardSpec(of=self._reward, why_not=none_paid)
        self.soft_steps = tuple(question.id for question, form in questions if form.weigh is not None)
        left_out = {name for name in _LATER_TABLE_KEYS if not getattr(table, name)}
        whole: dict[str, Digestible] = {"table": table.model_dump(mode="json", exclude=left_out), "rules": _RULES_VERSION}
        asked = [
            each.model_dump(mode="json", exclude={key for key in _LATER_KEYS if getattr(each, key) is None})
            for each, _ in questions
        ]
        if numbers:
            unset = [{key for key in ("over", "missing") if getattr(each, key) is None} for each in numbers]
            whole["numbers"] = [each.model_dump(mode="json", exclude=keys) for each, keys in zip(numbers, unset, strict=True)]
        self.version = digest("declared suite", {**whole, "questions": asked})

    @property
    def name(self) -> str:
        """The name that the file gives."""
        return self.table.name

    @classmethod
    def read(cls, path: Path, *, released: bool = False) -> Self:
        """Read a suite file.

        Args:
            path: the file.
            released: take its table ``[released]``: what differs in the authors' script.

        Raises:
            InputError: names file, line, key, value and what is allowed; its hint counts the further faults.
        """
        text = read_text(path)
        document = parse_toml(text, source=path)
        changes = document.pop(_RELEASED, None)
        if released:
            document = _changed(document, changes, path)
        elif changes is not None:
            cls.read(path, released=True)  # its faults are named here, too
        places = Places(text, path)
        table = places.model(SuiteTable, {key: value for key, value in document.items() if key not in (_QUESTION, _NUMBER)})
        shows = (table.shows if table is not None else None) or []
        questions = _questions(document.get(_QUESTION), places, soft=table.soft if table is not None else False, shows=shows)
        numbers = _numbers(document.get(_NUMBER), questions, places)
        if table is not None:
            _check_together(table, questions, numbers, places)
        faults = places.faults()
        if faults:
            first = faults[0].at()
            first.hint = f"{len(faults) - 1} more in this file." if len(faults) > 1 else None
            raise first
        assert table is not None  # noqa: S101 — otherwise there are faults
        suite = cls(table, questions, path, numbers)
        if released:
            suite.file = suite.file.with_stem(f"{suite.file.stem}-{_RELEASED}")
        return suite

    def prompts(self, source: Path | None) -> Sequence[SuitePrompt]:
        """Return the prompts of the user's file, or of the one that the suite file names.

        Raises:
            InputError: the file is missing or wrong, or lacks a column that a question names.
        """
        own = None if self.table.prompts is None else self.file.parent / self.table.prompts
        hint = 'Give --prompts FILE, or write prompts = "FILE" into the suite file.'
        file = given(source or own, f"the suite {self.name} names no prompts", hint)
        prompts = read_prompts(file, self.name, self.table.query, self._given_roles)
        for item in prompts:
            self._check(item, prompts.source)
        return prompts

    def _check(self, item: SuitePrompt, source: Path) -> None:
        wanted = {
            name: question.id
            for question, _ in self.questions
            for name in (*placeholders(question.ask), *filter(None, [question.each, question.prompt, question.units]))
            if name.removesuffix(_OF_EACH) not in self._quoted
            if name != "prompt" and not (name == _EACH and question.each) and name not in self._shows(question)
            if not (name == _INSTRUCTION and question.turn)
        }
        wanted |= dict.fromkeys([TURNS for question, _ in self.questions if question.turn is not None], "turn")
        if self.table.group is not None:
            wanted[self.table.group] = "group"
            groups = item.facts.get(self.table.group)
            for group in groups if isinstance(groups, list) else [groups]:
                _check_group(group, self.table.group, source)
        for question, _ in self.questions:
            for name in miswritten(question.ask, {"prompt", *item.facts}):
                raise InputError(f"{_BRACES}; the question {question.id!r} has", source=self.file, key="ask", value=name)
        for column, where in wanted.items():
            if item.facts.get(column) in (None, "", []) or (column == TURNS and not turns_of(item.facts)):
                problem = (
                    f"the prompt {item.prompt.prompt_id!r} has nothing in the column that {self.file.name} names ({where}):"
                )
                known = ["prompt", *(name for name, value in item.facts.items() if value not in (None, "", []))]
                raise InputError(problem, source=source, column=column, value=column, allowed=known)
        for column in (question.units for question, _ in self.questions if question.units is not None):
            units = item.facts[column]
            if isinstance(units, bool) or not isinstance(units, int | float) or not 0 < units < math.inf:
                problem = f"the prompt {item.prompt.prompt_id!r}: units are a number above 0, not"
                raise InputError(problem, source=source, column=column, value=units)
        try:
            self._try_formulas(item)
        except InputError as error:
            raise InputError(
                f"the prompt {item.prompt.prompt_id!r}: {error.problem}",
                source=source,
                value=error.value,
                allowed=error.allowed,
            ) from error
        try:
            parents_first([each for _, each in self._asked(item.facts, item.prompt.text)])
        except InputError as error:
            problem = f"the prompt {item.prompt.prompt_id!r}: {error.problem}"
            raise InputError(problem, source=source, column=error.column, value=error.value, hint=_ITEMS) from error

    def _try_formulas(self, item: SuitePrompt) -> None:
        """Check every formula of a prompt, whatever its answers will be.

        Raises:
            InputError: a name is neither a number nor a column, it computes with texts, or gives units that are not above 0.
        """
        if self.table.over == "groups":
            own = item.facts.get(self.table.group or "")
            if isinstance(own, list) or any(each.groups for _, each in self._asked(item.facts, item.prompt.text)):
                raise InputError('with over = "groups" a prompt is in one group, and its items in none; look at', value=own)
        for question, _ in self.questions:
            _is_asked(question, item.facts)
        known = [question.id + name for question, form in self.questions for name in form.spans if name != UNITS]
        for number in self.numbers:
            Formula(number.formula).check(known, {} if number.over else item.facts)
            units: Verdict[float] = Scored(1.0)
            if number.units is not None and number.missing == "skip":
                Formula(number.units).check(known, item.facts)
            elif number.units is not None:
                units = Formula(number.units).value({}, item.facts)
            known.append(number.id)
            if not isinstance(units, Scored) or units.value <= 0:
                raise InputError("units are a number above 0; look at", value=number.units)

    def _made(self, case: Case, task: str, answers: dict[str, Verdict[float]]) -> list[Score]:
        """Return the rows of the numbers that formulas make of a picture's answers."""
        rows = []
        unasked = Unscored(Reason.NOT_REPORTED, "the question was not asked")
        known: dict[str, Verdict[float] | Answers] = {**dict.fromkeys(self._spans, unasked), **answers}
        several: dict[str, Answers] = {}
        for name, answer in answers.items():
            if (metric := self._metric(name)) != name:
                several[metric] = (*several.get(metric, ()), answer)
        known |= several
        for number in self.numbers:
            if number.over is not None:
                continue
            there = _present(known, number) if number.missing == "skip" else known
            verdict = _within(Formula(number.formula).value(there, case.facts), number.range)
            if isinstance(verdict, Unscored) and isinstance(number.missing, float):
                verdict = Scored(number.missing)
            known[number.id] = verdict
            rows.append(case.score(task, number.id, verdict))
            if number.units is not None:
                units = Formula(number.units).value(there if number.missing == "skip" else {}, case.facts)
                rows.append(case.score(task, number.id + UNITS, units if isinstance(verdict, Scored) else verdict))
        return rows

    def generations(self, source: Path, model: str, prompts: Sequence[SuitePrompt]) -> Generations:
        """Return the files that are named by prompt, or that a table names; with frames per second also videos."""
        suffixes = PICTURE_SUFFIXES if self.table.frames_per_second is None else (*PICTURE_SUFFIXES, *VIDEO_SUFFIXES)
        return read_generations(source, model, [item.prompt.prompt_id for item in prompts], suffixes=suffixes)

    def _shows(self, question: QuestionTable) -> dict[MediaRole, bool]:
        """Return the roles that a question shows, in order; true: the prompt must have it. Empty: the result alone."""
        names = next((each for each in (question.shows, self.table.shows) if each is not None), [MediaRole.RESULT.value])
        return {MediaRole(name.removesuffix("?")): not name.endswith("?") for name in names}

    @property
    def _given_roles(self) -> dict[MediaRole, bool]:
        """The roles of files that come with prompts; true: every prompt needs one."""
        roles: dict[MediaRole, bool] = {}
        for question, _ in self.questions:
            is_later_turn = isinstance(question.turn, int) and question.turn > 1  # its source is the result of the turn before
            for role, needed in self._shows(question).items():
                roles[role] = (needed and not (is_later_turn and role == MediaRole.SOURCE)) or roles.get(role, False)
        roles.pop(MediaRole.RESULT, None)
        return roles

    def examine(self, case: Case) -> Examination:
        """Ask every question; a number without a verdict is a row with the reason."""
        from salon_bench.suites.contract.tables import SEVERAL_GROUPS

        asked = self._asked(case.facts, case.prompt.text)
        verdicts = yield from ask_all(case, parents_first([each for _, each in asked]))
        for table, _ in self.questions:
            steps = [each.step for _, each in asked if each.missing == _ALL and self._metric(each.step) == table.id]
            lost = next((verdicts[step] for step in steps if isinstance(verdicts[step], Unscored)), None)
            verdicts |= dict.fromkeys(steps, lost) if lost is not None else {}
        group = self.name if self.table.group is None else case.facts[self.table.group]
        groups = [str(each) for each in (group if isinstance(group, list) else [group])]
        task = SEVERAL_GROUPS.join(groups)
        rows: list[Score] = []
        answers: dict[str, Verdict[float]] = {}
        worth: list[tuple[float, Verdict[float]]] = []
        for weight, question in asked:
            for name, verdict in numbers_of(question.form, verdicts[question.step]).items():
                row = case.in_turn(question.turn).score(
                    SEVERAL_GROUPS.join((*groups, *question.groups)), question.step + name, verdict
                )
                rows.append(row)
                answers[row.dimension] = verdict
                if self._spans[self._metric(row.dimension)] is not None:
                    value = Scored(self._worth(row) or 0.0) if isinstance(verdict, Scored) else verdict
                    worth.append((weight, value))
            if question.missing not in (None, _ALL):
                verdict = verdicts[question.step]
                unread = (
                    verdict.map(lambda answer: float(isinstance(answer, Instead))) if isinstance(verdict, Scored) else verdict
                )
                rows.append(case.in_turn(question.turn).score(task, question.step + UNREAD, unread))
        if self.table.overall is not None:
            rows.append(case.score(task, OVERALL, _overall(worth, self.table.overall)))
        return [*rows, *self._made(case, task, answers)]

    def _asked(self, facts: Mapping[str, Digestible], prompt: str) -> list[tuple[float, PictureQuestion]]:
        """Return the questions about a prompt's picture, each with its weight."""
        return [
            (table.weight, each)
            for table, form in self.questions
            if _is_asked(table, facts)
            for turn in _turns(table, facts)
            for each in _asked(table, form, facts, prompt, _counts(self._shows(table), facts, turn), turn, self._quoted)
        ]

    @property
    def _quoted(self) -> dict[str, str]:
        """The questions whose replies others quote, by their name in braces."""
        return _texts(self.questions)

    def aggregate(self, scores: "pl.DataFrame", assessments: "pl.DataFrame") -> Summary:
        """Return every number over all prompts, and by group, with its interval."""
        from salon_bench.suites.contract.tables import interval_over_prompts, mean_lines, summary_of, words_of_intervals

        shares = {each.id + name for each, form in self.questions for name in form.shares}
        shares |= {each.id + UNREAD for each, _ in self.questions if each.counts_unread}
        shares |= {number.id for number in self.numbers if number.over is None and Formula(number.formula).is_share}
        if self.table.overall == "all":
            shares.add(OVERALL)
        if self.table.interval == "student":
            shares = set()
        order = [OVERALL, *self._spans]
        metrics = {name: self._metric(name) for name in scores["dimension"].unique()}
        scores = scores.with_columns(scores["dimension"].replace(metrics))
        unknown = sorted({*metrics.values()} - {*order})
        scores = _weighed(scores.filter(scores["dimension"].is_in(order)), self._units)
        if self.table.over == "groups":
            scores = _groups_alike(scores)
        none = self.table.interval == "none"
        spans = {OVERALL: (0.0, 1.0), **self._spans}
        confidence = self.table.confidence
        estimate = partial(interval_over_prompts, shares=shares, spans=spans, confidence=confidence, none=none)
        lines = self._with_means(mean_lines(scores, estimate))
        lines.sort(key=lambda row: order.index(str(row["metric"])))
        notes = [] if none else [*words_of_intervals(scores, shares, self.table.confidence)]
        if unknown:
            notes.append(f"The suite's file has changed since: left out, as it no longer has them: {', '.join(unknown)}.")
        if self.table.over == "groups":
            notes.append(f"Numbers over all are means of groups ({self.table.group}), each of which counts alike.")
        for table, _ in self.questions:
            if table.counts_unread:
                what = "a random one (seed 0)" if table.missing == _RANDOM else f"{table.missing:g}"
                notes.append(f"A reply to {table.id} that cannot be read counts as a mark, {what}; {UNREAD} is their share.")
        if self.soft_steps:
            words = f"{OFF_MENU} is the probability that is on no answer of the menu"
            notes.append(f"Soft answers, by the judge's log-probabilities: {', '.join(self.soft_steps)}; {words}.")
        return replace(summary_of(lines, notes), confidence=confidence)

    def _with_means(self, lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the lines with the numbers that formulas make of the means, of all prompts and of each group."""
        whole = [*lines]
        for number in self.numbers if any(each.over for each in self.numbers) else ():
            for group in dict.fromkeys(row["group"] for row in lines) if number.over else ():
                of_group = {row["metric"]: row for row in whole if row["group"] == group}
                none = Unscored(Reason.NOT_REPORTED, "there is no mean")
                known: dict[str, Verdict[float]] = dict.fromkeys(self._spans, none)
                known |= {name: Scored(row["value"]) for name, row in of_group.items() if row["value"] is not None}
                verdict = _within(Formula(number.formula).value(known, {}), number.range)
                value = verdict.value if isinstance(verdict, Scored) else None
                counts = next(iter(of_group.values()))
                whole.append({**counts, "metric": number.id, "value": value, "ci_low": None, "ci_high": None})
        return whole

    @property
    def _spans(self) -> dict[str, tuple[float, float] | None]:
        spans = {each.id + name: span for each, form in self.questions for name, span in form.spans.items()}
        spans |= {each.id + UNREAD: None for each, _ in self.questions if each.counts_unread}
        for number in self.numbers:
            spans[number.id] = None if number.range is None else (number.range[0], number.range[1])
            if number.units is not None:
                spans[number.id + UNITS] = None
        return spans

    @property
    def _means(self) -> set[str]:
        shares = {each.id + name for each, form in self.questions for name in (*form.shares, UNREAD)}
        return set(self._spans) - shares - set(self._units)

    @property
    def _units(self) -> dict[str, str]:
        """The dimensions that count units, each with the one whose values they weigh."""
        named: list[QuestionTable | NumberTable] = [*(each for each, _ in self.questions), *self.numbers]
        return {each.id + UNITS: each.id for each in named if each.units is not None}

    def _metric(self, dimension: str) -> str:
        """Return the number that a row counts in: ``detail`` for ``detail.3``, the third item of the question ``detail``."""
        repeated = "|".join(re.escape(each.id) for each, _ in self.questions if each.repeated)
        return re.sub(rf"^({repeated})\.\d+", r"\1", dimension) if repeated else dimension

    def _worth(self, row: Score) -> float | None:
        span = self._spans.get(self._metric(row.dimension))
        return None if span is None or row.value is None else (row.value - span[0]) / (span[1] - span[0])

    def _reward(self, row: Score) -> float | None:
        if self.table.overall is not None:
            return row.value if row.dimension == OVERALL else None
        if any(number.id == OVERALL for number in self.numbers):
            return self._worth(row) if row.dimension == OVERALL else None
        if any(self._spans.values()):
            return self._worth(row)
        return row.value if self._metric(row.dimension) in self._means else None  # in units that only the user can scale


def _changed(document: Mapping[str, Any], changes: object, path: Path) -> dict[str, Any]:
    """Return a suite file's keys with those of its table ``[released]``; questions and numbers are changed by their ids.

    Raises:
        InputError: the file has no such table, it has a name, or a changed question has no id or is there twice.
    """
    if not isinstance(changes, dict):
        raise InputError("the suite file has no table of what differs in the authors' script:", source=path, key=_RELEASED)
    if "name" in changes:
        hint = f"Leave it out: the suite is called NAME-{_RELEASED}."
        raise InputError("cannot change the name:", source=path, key=_RELEASED, value=changes["name"], hint=hint)
    whole = {**document, **changes}
    if isinstance(name := document.get("name"), str):
        whole["name"] = f"{name}-{_RELEASED}"
    for key in {_QUESTION, _NUMBER} & set(changes):
        old, new = ({str(each.get("id")): each for each in _tables(of.get(key))} for of in (document, changes))
        odd = sorted(new.keys() - old.keys()) or ([] if new else [changes[key]])
        if odd:
            raise InputError(f"changes a {key} that the file does not have:", source=path, key=_RELEASED, value=odd[0])
        if len(new) < len(changes[key]):
            ids = [str(each.get("id") if isinstance(each, dict) else each) for each in changes[key]]
            odd = [each for place, each in enumerate(ids) if each not in new or each in ids[:place]]
            raise InputError(f"changes a {key} once, by its id; there is a further", source=path, key=_RELEASED, value=odd[0])
        whole[key] = [{**each, **new.get(str(each.get("id")), {})} for each in _tables(document.get(key))]
    return whole


def _tables(tables: object) -> list[dict[str, Any]]:
    return [each for each in tables if isinstance(each, dict)] if isinstance(tables, list) else []


def _present(known: Mapping[str, Verdict[float] | Answers], number: NumberTable) -> dict[str, Verdict[float] | Answers]:
    """Return the answers without those that are missing, for names that a formula reads within min, max, mean or count."""
    single = Formula(number.formula).single_names
    return {
        name: answers
        if name.replace("-", "_") in single
        else tuple(each for each in (answers if isinstance(answers, tuple) else (answers,)) if isinstance(each, Scored))
        for name, answers in known.items()
    }


def _is_asked(table: QuestionTable, facts: Mapping[str, Digestible]) -> bool:
    return table.when is None or Formula(table.when).holds(facts)


def _turns(table: QuestionTable, facts: Mapping[str, Digestible]) -> Sequence[int | None]:
    """Return the turns that a question is about; one None where it is about all of them at once."""
    if table.turn is None:
        return [None]
    return [turn for turn in range(1, len(turns_of(facts)) + 1) if table.turn in (_EACH, turn)]


def _counts(roles: Mapping[MediaRole, bool], facts: Mapping[str, Digestible], turn: int | None) -> dict[MediaRole, int]:
    """Return the number of files in each role; a role that the prompt may lack is left out at 0.

    Raises:
        KeyError: the facts know nothing of a role.
    """
    counts = {}
    for role in roles:
        if role == MediaRole.RESULT:
            files: Digestible = [None] if turn is not None else turns_of(facts) or [None]
        else:
            files = facts[role.value] if role != MediaRole.SOURCE or turn in (None, 1) else [None]
        counts[role] = len(files) if isinstance(files, list) else 1
    return {role: count for role, count in counts.items() if count or roles[role]}


def _asked(
    table: QuestionTable,
    form: Form,
    facts: Mapping[str, Digestible],
    prompt: str,
    roles: Mapping[MediaRole, int],
    turn: int | None,
    quoted: Mapping[str, str],
) -> list[PictureQuestion]:
    """Return the questions of one table about a picture or a turn: one, or one for each item.

    Raises:
        InputError: an item is neither a text nor a table of ``text`` and ``needs``, or there is not one for each turn.
    """
    instruction = None if turn is None else turns_of(facts)[turn - 1]
    words = {**facts, "prompt": prompt, **({_INSTRUCTION: instruction} if turn is not None else {})}
    of_each_turn = table.turn == _EACH and turn is not None

    def worded(text: Mapping[str, object], item: int | None = None) -> tuple[str, Shown, Quotes | None]:
        """Return the text, what is shown before it, and the replies without which both are not known."""
        of = tuple(
            (name, quoted[step], item if name.endswith(_OF_EACH) else None)
            for name in placeholders(table.ask)
            if (step := name.removesuffix(_OF_EACH)) in quoted
        )
        if of:
            return table.ask, (), Quotes(of, lambda replies: with_roles(table.ask, roles, {**words, **text, **replies}))
        shows, whole = with_roles(table.ask, roles, {**words, **text})
        return whole, shows, None

    if table.each is None:
        prompt_text = instruction if table.prompt is None else _lines(facts[table.prompt])
        own = form if table.units is None else AnyScore(cast("float", facts[table.units]))
        whole, shows, quotes = worded({})
        step = f"{table.id}.{turn}" if of_each_turn else table.id
        more: dict[str, Any] = {"part": _ends(table), "turn": turn, "quotes": quotes, **_reading(table)}
        return [PictureQuestion(step, whole, own, tuple(table.needs), prompt_text, tuple(shows), **more)]
    cell = facts[table.each]
    items = cell if isinstance(cell, list) else [cell]
    if of_each_turn and len(items) != len(turns_of(facts)):
        raise InputError("has not one item for each turn:", column=table.each, value=items)
    asked = []
    for number, item in enumerate(items, start=1):
        if of_each_turn and number != turn:
            continue
        fields = item if isinstance(item, Mapping) else {"text": item}
        text, needs = fields.get("text"), fields.get("needs") or []
        if (
            not isinstance(text, str)
            or not text.strip()
            or not isinstance(needs, list)
            or (needs and not isinstance(form, YesNo))
        ):
            raise InputError("cannot be asked about:", column=table.each, value=item)
        parents = (*table.needs, *(f"{table.id}.{parent}" for parent in needs))
        own = form if table.answer != "expected" else _expecting(form, fields.get("answer"))
        whole, shows, quotes = worded({_EACH: text}, number)
        groups = _item_groups(fields.get("group"), table.each)
        step = f"{table.id}.{number}"
        more = {"groups": groups, "part": _ends(table), "turn": turn, "quotes": quotes, **_reading(table)}
        asked.append(PictureQuestion(step, whole, own, parents, None, tuple(shows), **more))
    return asked


def _reading(table: QuestionTable) -> dict[str, Any]:
    """Return how the replies to a question are read, and what missing ones count as."""
    read = None if table.read is None else tuple((pattern, mark) for pattern, mark in table.read)
    return {"read": read, "missing": table.missing, "cascade": table.cascade is None}


def _ends(table: QuestionTable) -> tuple[float, float] | None:
    return None if table.part is None else (table.part[0], table.part[1])


def _check_group(group: object, column: str, source: Path | None = None) -> None:
    """Refuse a group whose name would be read as those of two.

    Raises:
        InputError: it is such a name.
    """
    from salon_bench.suites.contract.tables import SEVERAL_GROUPS

    if SEVERAL_GROUPS in str(group):
        hint = "Write several groups as a list."
        raise InputError(
            f"a group is one name without {SEVERAL_GROUPS!r}, not", source=source, column=column, value=group, hint=hint
        )


def _item_groups(value: object, column: str) -> tuple[str, ...]:
    groups = tuple(value) if isinstance(value, list) else () if value is None else (value,)
    if not all(isinstance(each, str) and each.strip() for each in groups):
        raise InputError("the groups of an item are texts, not", column=column, value=value)
    for group in groups:
        _check_group(group, column)
    return tuple(dict.fromkeys(groups))


def _lines(cell: Digestible) -> str:
    """Return a cell as text; each item of a list is a line."""
    return "\n".join(map(str, cell)) if isinstance(cell, list) else str(cell)


def _weighed(scores: "pl.DataFrame", units: Mapping[str, str]) -> "pl.DataFrame":
    """Return the rows with a column ``weight``: their units, or 1.

    Args:
        scores: rows of one model.
        units: the dimensions that count units, each with the one whose values they weigh.
    """
    import polars as pl

    row = ("run_id", "prompt_id", "generation_id", "judge", "dimension")
    counted = scores.filter(pl.col("dimension").is_in(list(units))).with_columns(pl.col("dimension").replace(units))
    weights = counted.select(*row, weight="value")
    return scores.join(weights, on=row, how="left", nulls_equal=True).with_columns(pl.col("weight").fill_null(1.0))


def _groups_alike(scores: "pl.DataFrame") -> "pl.DataFrame":
    """Return the rows with weights by which groups count alike in the mean over all, and so do a group's parts.

    The groups that a task is a part of are added to it: ``a/b`` counts in ``a``, too.
    """
    import polars as pl

    from salon_bench.suites.contract.tables import SEVERAL_GROUPS

    def total(*among: str) -> pl.Expr:
        return pl.col("weight").filter(pl.col("value").is_not_null()).sum().over("dimension", *among)

    paths = scores["task"].str.split("/")
    depth = paths.to_frame().select(pl.all().list.len().max()).item() or 1
    levels = {f"level {number}": paths.list.head(number).list.join("/") for number in range(depth, 0, -1)}
    weighed = scores.with_columns(**levels)
    for level in levels:
        weighed = weighed.with_columns(weight=pl.col("weight") / total(level))
    parts = [pl.col(level) for level in reversed(levels)]
    task = pl.concat_list(parts).list.unique(maintain_order=True).list.join(SEVERAL_GROUPS)
    return weighed.with_columns(task=task).drop(levels)


def _expecting(form: Form, answer: object) -> Form:
    """Return the form of a question whose items bring the expected answer, for one item."""
    own = Expected().of(answer)
    return soft_form(own, first=form.first) if isinstance(form, Soft) else own


def _within(verdict: Verdict[float], span: Sequence[float] | None) -> Verdict[float]:
    """Return the number of a formula, within its range; ``Unscored`` beyond an error of rounding."""
    if isinstance(verdict, Unscored) or span is None:
        return verdict
    value = min(max(verdict.value, span[0]), span[1])
    if abs(value - verdict.value) > _ROUNDING * (span[1] - span[0]):
        return Unscored(Reason.NOT_REPORTED, f"{verdict.value:g} lies outside of the range {span[0]:g} to {span[1]:g}")
    return Scored(value)


def _overall(worth: Sequence[tuple[float, Verdict[float]]], rule: str) -> Verdict[float]:
    """Return a picture's number over all questions; a missing verdict leaves none, unless another one decides."""
    if not worth:
        return Unscored(Reason.NOT_REPORTED, "no question was asked")
    known = [(weight, each.value) for weight, each in worth if isinstance(each, Scored)]
    if rule == "all" and any(value != 1 for _, value in known):
        return Scored(0.0)
    if rule == "geometric_mean" and any(value <= 0 for _, value in known):
        return Scored(0.0)
    missing = next((each for _, each in worth if isinstance(each, Unscored)), None)
    if missing is not None or rule == "all":
        return missing or Scored(1.0)
    whole = math.fsum(weight for weight, _ in known)
    if rule == "geometric_mean":
        return Scored(math.exp(math.fsum(weight * math.log(value) for weight, value in known) / whole))
    return Scored(math.fsum(weight * value for weight, value in known) / whole)


def _questions(tables: object, places: Places, *, soft: bool | str, shows: Sequence[str]) -> list[tuple[QuestionTable, Form]]:
    """Return the questions that are right; the faults of the others are noted."""
    if not isinstance(tables, list) or not tables:
        places.add(Fault.MISSING, "there is not one [[question]] table", key=_QUESTION)
        return []
    questions: list[tuple[QuestionTable, Form]] = []
    for index, values in enumerate(tables):
        table = places.model(QuestionTable, values, table=_QUESTION, index=index)
        if table is None:
            continue
        add = partial(places.add, Fault.BAD_VALUE, table=_QUESTION, index=index)
        try:
            form = form_of(table.answer, table.score)
            if isinstance(form, Expected) and table.each is None:
                problem = "the items of a column say what is expected; write each = COLUMN beside"
                raise InputError(problem, key="answer", value="expected")
            if table.units is not None or table.prompt is not None:
                form = _for_scorers(table, form)
            if (soft and not isinstance(form, Text)) if table.soft is None else table.soft:
                form = soft_form(form, first=isinstance(soft, str))
        except InputError as error:
            add(error.problem, key=error.key, value=error.value, allowed=error.allowed)
            continue
        spanned = any(span is not None for span in form.spans.values()) and not isinstance(form, Expected | Soft)
        if table.counts_unread and (not spanned or (isinstance(form, YesNo) and table.missing not in (_RANDOM, 0, 1))):
            add("is no mark of this answer, so nothing counts as it:", key="missing", value=table.missing)
        if table.read is not None and not isinstance(form, YesNo | Scale):
            add("is of yes-or-no questions and scales, not of this answer:", key="read", value=table.answer)
        if table.when is not None and (fault := _fault_of(table.when)) is not None:
            add(fault.problem, key="when", value=fault.value, allowed=fault.allowed)
        if table.id == OVERALL or any(table.id == other.id for other, _ in questions):
            add("is the name of another number already:", key="id", value=table.id)
        for name in placeholders(table.ask):
            if f"{name}?" in (table.shows or shows):
                add("is a role that some prompts lack, so the text cannot name it:", key="ask", value=name)
        if table.each is not None and _EACH not in placeholders(table.ask):
            add("is asked for each item of a column, so its text must contain {each}; the column:", key=_EACH, value=table.each)
        for problem, key, value in _misquoted(table, form, questions):
            add(problem, key=key, value=value)
        yes_no = tuple(other.id for other, earlier in questions if isinstance(earlier, YesNo) and not other.repeated)
        for parent in table.needs:
            if parent not in yes_no or not isinstance(form, YesNo):
                problem = "a yes-or-no question can need earlier ones, not"
                add(problem, key="needs", value=parent, allowed=yes_no)
        questions.append((table, form))
    return questions


def _texts(questions: Sequence[tuple[QuestionTable, Form]]) -> dict[str, str]:
    return {each.id.replace("-", "_"): each.id for each, form in questions if isinstance(form, Text)}


def _misquoted(
    table: QuestionTable, form: Form, earlier: Sequence[tuple[QuestionTable, Form]]
) -> Iterator[tuple[str, str, object]]:
    """Yield what is wrong with a question that quotes replies or is quoted: the problem, the key and its value."""
    if isinstance(form, Text) and table.repeated:
        yield "a reply that others quote is to one question, without each and turn:", "answer", table.answer
    names, texts = placeholders(table.ask), _texts(earlier)
    quoted = {*texts, *texts.values()}
    for name in miswritten(table.ask, quoted | {name + _OF_EACH for name in quoted} | {role.value for role in MediaRole}):
        yield f"{_BRACES}; look at", "ask", name
    lists = _texts([(each, other) for each, other in earlier if isinstance(other, NumberedList)])
    for name in names:
        if name.endswith(_OF_EACH) and (table.each is None or name.removesuffix(_OF_EACH) not in lists):
            problem = 'is the item of an earlier question\'s list (answer = "list") for each item of a column; look at'
            yield problem, "ask", name
    if table.shows == [] and not any(name.removesuffix(_OF_EACH) in texts for name in names):
        problem = 'shows nothing, so its text must quote an earlier reply (answer = "text" or "list"):'
        yield problem, "shows", table.shows


def _numbers(tables: object, questions: Sequence[tuple[QuestionTable, Form]], places: Places) -> list[NumberTable]:
    """Return the tables ``[[number]]`` that are right; the faults of the others are noted."""
    numbers: list[NumberTable] = []
    indexes: list[int] = []
    for index, values in enumerate(tables if isinstance(tables, list) else []):
        table = places.model(NumberTable, values, table=_NUMBER, index=index)
        if table is None:
            continue
        add = partial(places.add, Fault.BAD_VALUE, table=_NUMBER, index=index)
        for key, text in (("formula", table.formula), ("units", table.units)):
            if text is not None and (fault := _fault_of(text)) is not None:
                add(fault.problem, key=key, value=fault.value, allowed=fault.allowed)
        if table.range is not None and not -math.inf < table.range[0] < table.range[1] < math.inf:
            add("is a lowest and a highest number, not", key="range", value=table.range)
        if table.id in {*(each.id for each, _ in questions), *(each.id for each in numbers)}:
            add("is the name of another number already:", key="id", value=table.id)
        numbers.append(table)
        indexes.append(index)
    for position, (index, table) in enumerate(zip(indexes, numbers, strict=True)):
        for problem, name in _misread(table.formula, position, numbers, questions):
            places.add(Fault.BAD_VALUE, problem, table=_NUMBER, index=index, key="formula", value=name)
    return numbers


def _misread(
    formula: str, position: int, numbers: Sequence[NumberTable], questions: Sequence[tuple[QuestionTable, Form]]
) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a name that the formula of the number at a position reads, and the name."""
    if _fault_of(formula) is not None:
        return
    asked = [(each.id + name, each.repeated) for each, form in questions for name in form.spans]
    several = {name.replace("-", "_") for name, repeated in asked if repeated}
    of_numbers = [each.id.replace("-", "_") for each in numbers]
    every = [*(name.replace("-", "_") for name, _ in asked), *of_numbers]
    single = Formula(formula).single_names
    for name in sorted(Formula(formula).names):
        if every.count(name) > 1:
            yield "is the name of several numbers, as a formula writes - as _:", name
        elif name in several & single:
            yield "is asked for each item or turn, so a formula reads it within min, max or mean, and not here:", name
        elif name in of_numbers[position:]:
            yield "is no earlier number, and a formula reads no other one:", name


def _fault_of(formula: str) -> InputError | None:
    try:
        Formula(formula)
    except InputError as error:
        return error
    return None


def _for_scorers(table: QuestionTable, form: Form) -> Form:
    """Return the form of a question that names columns for scorers.

    Raises:
        InputError: it is not answered by a score, or is asked for each item of a column.
    """
    if not isinstance(form, AnyScore) or table.each is not None:
        key = "prompt" if table.units is None else "units"
        problem = 'belongs to answer = "score" without each, not to'
        raise InputError(f"{key} {problem}", key="answer", value=table.answer)
    return AnyScore(None if table.units is None else 1.0)


def _check_together(
    table: SuiteTable, questions: Sequence[tuple[QuestionTable, Form]], numbers: Sequence[NumberTable], places: Places
) -> None:
    """Note the faults of keys that depend on the questions."""
    if table.overall is not None and any(number.id == OVERALL for number in numbers):
        places.add(Fault.BAD_VALUE, "is a [[number]] already; leave one of both out:", key=OVERALL, value=table.overall)
    for index, (question, _) in enumerate(questions):
        if question.part is not None and table.frames_per_second is None:
            problem = "is of videos; the file needs the key frames_per_second beside:"
            places.add(Fault.BAD_VALUE, problem, table=_QUESTION, index=index, key="part", value=question.part)
    if table.over == "groups" and table.group is None:
        places.add(Fault.BAD_VALUE, "needs the key group beside:", key="over", value=table.over)
    spans = {each.id + name: span for each, form in questions for name, span in form.spans.items()}
    if table.overall is not None and questions and not any(spans.values()):
        problem = "no question has a lowest and highest value to make it from:"
        places.add(Fault.BAD_VALUE, problem, key=OVERALL, value=table.overall)
    means = sorted(set(spans) - {each.id + name for each, form in questions for name in form.shares})
    if table.interval == "wilson" and means:
        problem = f"Wilson's interval is for shares, and {means[0]!r} is a mean; got"
        places.add(Fault.BAD_VALUE, problem, key="interval", value="wilson", allowed=("student", "none"))
