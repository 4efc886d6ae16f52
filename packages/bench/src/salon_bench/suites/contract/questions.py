"""Ask questions about a picture that are answered by yes or no, a mark, a label or a JSON object.

A form says how a reply must end, reads it (``salon_taxonomy.answers``), and turns the answer into numbers. Declarative
suites (``declared.py``) and suites whose questions differ from prompt to prompt ask by :func:`ask_all`.
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, TypeAlias

from salon_bench.suites.contract.suite import Case, Inquiry
from salon_judges.asking.foreign_text import foreign
from salon_judges.clients.scorer import ScoreAnswer, parse_score
from salon_taxonomy.answers import (
    OffMenuError,
    Outcome,
    Parsed,
    Unparsed,
    parse_choice,
    parse_list,
    parse_object,
    parse_scale,
    parse_text,
    parse_yes_or_no,
)
from salon_taxonomy.answers.strict_json import Json, JsonError
from salon_taxonomy.enums import MediaKind, MediaRole
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Decoding, Media, Question, Token
from salon_taxonomy.verdict import Reason, Scored, Unscored, Verdict

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

NUMBER_WORDS: Final = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
UNREAD: Final = ".unread"
"""The number beside a question whose unread replies count as a mark: 1 where one did."""
_UNREAD: Final = (Reason.EMPTY, Reason.REFUSED, Reason.TRUNCATED, Reason.MALFORMED, Reason.OFF_MENU)
UNITS: Final = ".units"
"""The number beside a score of a question with ``units``: how many units the score is the mean of."""
_PLACEHOLDER: Final = re.compile(r"\{(\w+(?:\.each)?)\}")
_BRACED: Final = re.compile(r"\{\s*([^{}]*?)\s*\}")
_SCALE: Final = re.compile(r"(-?[0-9]{1,3})-([0-9]{1,3})")
_NUMBERS: Final = ("number", "integer", "boolean")
_OFF_MENU: Final = ("enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_MOST_COUNTED: Final = 1000
_KINDS: Final = (
    '"yes/no"',
    'a scale such as "1-5"',
    '"expected"',
    '"score"',
    '"text"',
    '"list"',
    "a list of labels",
    "a table with a JSON schema",
)


class Form(ABC):
    """The form of an answer."""

    @property
    @abstractmethod
    def instruction(self) -> str:
        """The sentence behind the question that says how the reply must end."""

    @property
    @abstractmethod
    def spans(self) -> Mapping[str, tuple[float, float] | None]:
        """The numbers of an answer: their names, each with its lowest and highest value, or None without such limits.

        The name of the main number is empty.
        """

    shares: frozenset[str] = frozenset()
    """The names of the numbers that are 0 or 1."""
    for_scorers: bool = False
    """Whether a scorer can answer, from the picture and the prompt alone."""
    decoding: Decoding = Decoding()
    """How the reply is drawn."""

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """The JSON schema of the reply, for judges that follow one; None for prose."""
        return None

    @property
    def weigh(self) -> Callable[[Sequence[Token]], Outcome[Any]] | None:
        """The reader of the reply's log-probabilities; None: its text is read."""
        return None

    @abstractmethod
    def parse(self, text: str) -> Outcome[Any]:
        """Read a reply; never raises."""

    @abstractmethod
    def values(self, answer: Any) -> Mapping[str, float | Verdict[float]]:
        """Return the numbers of an answer by name; one that the answer lacks is left out."""


@dataclass(frozen=True)
class YesNo(Form):
    """Yes is 1, no is 0.

    Example:
        >>> YesNo().values(YesNo().parse("Answer: yes").answer)
        {'': 1.0}
    """

    shares = frozenset({""})

    @property
    def instruction(self) -> str:
        """See :class:`Form`."""
        return 'End with a line "Answer: yes" or "Answer: no".'

    @property
    def spans(self) -> Mapping[str, tuple[float, float] | None]:
        """See :class:`Form`."""
        return {"": (0.0, 1.0)}

    def parse(self, text: str) -> Outcome[bool]:
        """Read a reply (``parse_yes_or_no``)."""
        return parse_yes_or_no(text)

    def values(self, answer: bool) -> Mapping[str, float]:
        """Return 1 for yes and 0 for no."""
        return {"": float(answer)}


@dataclass(frozen=True)
class Scale(Form):
    """A whole mark from ``lowest`` to ``highest``."""

    lowest: int
    highest: int

    @property
    def instruction(self) -> str:
        """See :class:`Form`."""
        return f'End with a line "Answer: N", where N is a whole number from {self.lowest} to {self.highest}.'

    @property
    def spans(self) -> Mapping[str, tuple[float, float] | None]:
        """See :class:`Form`."""
        return {"": (self.lowest, self.highest)}

    def parse(self, text: str) -> Outcome[int]:
        """Read a reply (``parse_scale``)."""
        return parse_scale(text, self.lowest, self.highest)

    def values(self, answer: int) -> Mapping[str, float]:
        """Return the mark."""
        return {"": float(answer)}


@dataclass(frozen=True)
class Expected(Form):
    """1 for the answer that an item of ``each`` expects, 0 for another one.

    Attributes:
        answer: ``yes``, ``no`` or a digit; empty in the suite file, where the items bring it.

    Example:
        >>> four = Expected().of("four")
        >>> four.values(four.parse("Answer: 4").answer), four.values(four.parse("Answer: 12").answer)
        ({'': 1.0}, {'': 0.0})
    """

    answer: str = ""
    shares = frozenset({""})

    def of(self, answer: object) -> Self:
        """Return the form for an item's answer.

        Raises:
            InputError: it is neither yes nor no nor a whole number from 0 to 9, as a digit or a word.
        """
        word = str(answer).strip().casefold()
        word = str(NUMBER_WORDS.index(word)) if word in NUMBER_WORDS else word
        if word not in ("yes", "no") and not (len(word) == 1 and word in "0123456789"):
            allowed = ("yes", "no", "a whole number from 0 to 9")
            raise InputError("the answer that an item expects is", column="answer", value=answer, allowed=allowed)
        return type(self)(word)

    @property
    def instruction(self) -> str:
        """See :class:`Form`."""
        return f'End with a line "Answer: X", where X is {"a whole number" if self.answer.isdigit() else "yes or no"}.'

    @property
    def spans(self) -> Mapping[str, tuple[float, float] | None]:
        """See :class:`Form`."""
        return {"": (0.0, 1.0)}

    def parse(self, text: str) -> Outcome[str]:
        """Read a reply (``parse_yes_or_no``, ``parse_scale``)."""
        outcome = parse_scale(text, 0, _MOST_COUNTED) if self.answer.isdigit() else parse_yes_or_no(text)
        if isinstance(outcome, Unparsed):
            return outcome
        answer = {True: "yes", False: "no"}[outcome.answer] if isinstance(outcome.answer, bool) else str(outcome.answer)
        return Parsed(answer, outcome.reasoning, outcome.notes)

    def values(self, answer: str) -> Mapping[str, float]:
        """Return 1 for the expected answer and 0 for another one."""
        return {"": float(answer == self.answer)}


@dataclass(frozen=True)
class AnyScore(Form):
    """A scorer's score in its own unit, negated where lower is better; or a judge's mark from 0 to 10.

    Attributes:
        units: of how many units (words, objects) the score is the mean; None: pictures count alike.
    """

    units: float | None = None
    for_scorers = True

    @property
    def instruction(self) -> str:
        """See :class:`Form`."""
        form = '{"justification": "one sentence", "score": N}'
        return f"Answer with JSON and nothing else: {form}, where N is a number from 0 (worst) to 10 (best)."

    @property
    def spans(self) -> Mapping[str, tuple[float, float] | None]:
        """See :class:`Form`."""
        return {"": None} if self.units is None else {"": None, UNITS: None}

    def parse(self, text: str) -> Outcome[ScoreAnswer]:
        """Read a reply (``parse_score``)."""
        return parse_score(text)

    def values(self, answer: ScoreAnswer) -> Mapping[str, float | Verdict[float]]:
        """Return the score, or the reason for a missing one, and the units of a score."""
        if self.units is None:
            return {"": answer.verdict}
        return {"": answer.verdict, UNITS: self.units if isinstance(answer.verdict, Scored) else answer.verdict}


@dataclass(frozen=True)
class Text(Form):
    """A reply in words, which later questions quote; no number."""

    instruction = "Answer in plain words."
    spans: ClassVar[Mapping[str, tuple[float, float] | None]] = {}

    def parse(self, text: str) -> Outcome[Any]:
        """Read a reply (``parse_text``)."""
        return parse_text(text)

    def values(self, answer: Any) -> Mapping[str, float]:
        """Return no number."""
        return {}


@dataclass(frozen=True)
class NumberedList(Text):
    """A numbered list, which later questions quote, whole or item by item; its number is how many items it has.

    Example:
        >>> NumberedList().values(NumberedList().parse("1. A dog runs. 2. It lies down.").answer)
        {'': 2.0}
    """

    instruction = 'Answer with a numbered list and nothing else: lines "1. …", "2. …".'
    spans: ClassVar[Mapping[str, tuple[float, float] | None]] = {"": None}

    def parse(self, text: str) -> Outcome[tuple[str, ...]]:
        """Read a reply (``parse_list``)."""
        return parse_list(text)

    def values(self, answer: tuple[str, ...]) -> Mapping[str, float]:
        """Return the number of items."""
        return {"": float(len(answer))}


@dataclass(frozen=True)
class Choice(Form):
    """One of some labels.

    ``=label`` is 1 for the chosen label and 0 for the others; the main number is its score where labels have scores.

    Attributes:
        labels: two or more.
        score: of each label, from 0 to 1; empty: labels have no scores.
    """

    labels: tuple[str, ...]
    score: Mapping[str, float] = field(default_factory=dict, hash=False)

    @property
    def instruction(self) -> str:
        """See :class:`Form`."""
        return f'End with a line "Answer: X", where X is one of: {"; ".join(self.labels)}.'

    @property
    def spans(self) -> Mapping[str, tuple[float, float] | None]:
        """See :class:`Form`."""
        main: dict[str, tuple[float, float] | None] = {"": (0.0, 1.0)} if self.score else {}
        return main | dict.fromkeys(f"={label}" for label in self.labels)

    @cached_property
    def shares(self) -> frozenset[str]:  # type: ignore[override]
        """See :class:`Form`."""
        return frozenset(f"={label}" for label in self.labels)

    def parse(self, text: str) -> Outcome[str]:
        """Read a reply (``parse_choice``)."""
        return parse_choice(text, self.labels)

    def values(self, answer: str) -> Mapping[str, float]:
        """Return 1 for the chosen label and 0 for the others, and the score."""
        main = {"": float(self.score[answer])} if self.score else {}
        return main | {f"={label}": float(label == answer) for label in self.labels}


@dataclass(frozen=True)
class Fields(Form):
    """A JSON object; ``.key`` is the number of each top-level property that is a number or a boolean.

    Attributes:
        json_schema: the schema (draft 2020-12), with at least one such property.
    """

    json_schema: Mapping[str, Any] = field(hash=False)

    @property
    def instruction(self) -> str:
        """See :class:`Form`."""
        return f"Answer with one JSON object and nothing else, by this JSON schema:\n{json.dumps(self.json_schema)}"

    @property
    def schema(self) -> Mapping[str, Any]:
        """See :class:`Form`."""
        return self.json_schema

    @property
    def spans(self) -> Mapping[str, tuple[float, float] | None]:
        """See :class:`Form`."""
        return {f".{name}": _span(property_) for name, property_ in self._numbers.items()}

    @cached_property
    def shares(self) -> frozenset[str]:  # type: ignore[override]
        """See :class:`Form`."""
        return frozenset(f".{name}" for name, property_ in self._numbers.items() if property_["type"] == "boolean")

    def parse(self, text: str) -> Outcome[Mapping[str, Json]]:
        """Read a reply (``parse_object``); a value outside of an enumeration or a limit is off the menu."""
        return parse_object(text, self._checked)

    def values(self, answer: Mapping[str, Json]) -> Mapping[str, float]:
        """Return the numbers of the object."""
        numbers = ((name, answer.get(name)) for name in self._numbers)
        return {f".{name}": float(value) for name, value in numbers if isinstance(value, int | float)}

    def _checked(self, members: dict[str, Json]) -> Mapping[str, Json]:
        try:
            errors = list(self._validator.iter_errors(members))
        except RecursionError as deep:  # a schema that contains itself has no depth of its own
            raise JsonError("the object is nested too deeply") from deep
        for error in sorted(errors, key=lambda error: error.validator in _OFF_MENU):
            where = ".".join(map(str, error.absolute_path)) or "the object"
            problem = f"{where}: {error.message[:120]}"
            raise OffMenuError(problem) if error.validator in _OFF_MENU else JsonError(problem)
        return members

    @cached_property
    def _validator(self) -> "Validator":
        from jsonschema import Draft202012Validator
        from referencing import Registry

        return Draft202012Validator(self.json_schema, registry=Registry())  # a registry of its own fetches nothing

    @cached_property
    def _numbers(self) -> Mapping[str, Any]:
        properties = self.json_schema.get("properties", {})
        return {name: each for name, each in properties.items() if isinstance(each, Mapping) and each.get("type") in _NUMBERS}


def form_of(answer: object, score: Mapping[str, float] | None = None) -> Form:
    """Return the form that a suite file names.

    Args:
        answer: ``"yes/no"``, a scale such as ``"1-5"``, ``"expected"``, ``"score"``, ``"text"``, ``"list"``, a list of labels,
            or a JSON schema.
        score: of each label, from 0 to 1.

    Raises:
        InputError: names the key, the value and what is allowed.

    Example:
        >>> form_of("1-5")
        Scale(lowest=1, highest=5)
    """
    if score is not None and not isinstance(answer, list):
        raise InputError("only labels have scores; the answer is", key="score", value=answer)
    if answer == "yes/no":
        return YesNo()
    if answer == "expected":
        return Expected()
    if answer == "score":
        return AnyScore()
    if answer in ("text", "list"):
        return Text() if answer == "text" else NumberedList()
    if isinstance(answer, str) and (match := _SCALE.fullmatch(answer)) and int(match[1]) < int(match[2]):
        return Scale(int(match[1]), int(match[2]))
    if isinstance(answer, list):
        return _choice(answer, score)
    if isinstance(answer, Mapping):
        return _fields(answer)
    raise InputError("unknown form of answer", key="answer", value=answer, allowed=_KINDS)


def _choice(labels: list[object], score: Mapping[str, float] | None) -> Choice:
    texts = [label.strip() for label in labels if isinstance(label, str) and "\n" not in label]
    if len(texts) < len(labels) or len({text.lower() for text in texts if text}) < max(2, len(labels)):
        raise InputError("labels are two or more different texts of one line, not", key="answer", value=labels)
    for label in texts:
        outcome = parse_choice(f"Answer: {label}", texts)
        answer = outcome.answer if isinstance(outcome, Parsed) else "nothing"
        if answer != label:
            raise InputError(f"a reply with this label would be read as {answer}:", key="answer", value=label)
    if score is None:
        return Choice(tuple(texts))
    if set(score) != set(texts):
        odd = sorted(set(score) ^ set(texts))
        raise InputError("every label needs one score; look at", key="score", value=odd[0], allowed=texts)
    for label, value in score.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise InputError("a score is a number from 0 to 1, not", key="score", value={label: value})
    return Choice(tuple(texts), dict(score))


def _fields(schema: Mapping[str, Any]) -> Fields:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        where = ".".join(map(str, error.absolute_path)) or "its top"
        raise InputError(f"is no JSON schema; at {where}: {error.message[:200]}", key="answer") from error
    try:
        json.dumps(schema, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"cannot be written as JSON ({error})", key="answer") from error
    _check_references(schema)
    form = Fields(dict(schema))
    if schema.get("type") != "object" or not form.spans:
        problem = 'a JSON schema needs type = "object" and a property whose type is one of'
        raise InputError(problem, key="answer", value=list(_NUMBERS))
    return form


def _check_references(schema: Mapping[str, Any]) -> None:
    """Refuse references to what the schema does not contain: a reply would find them, in the middle of a run.

    Raises:
        InputError: names the reference.
    """
    from referencing import Registry
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    resolver = Registry().resolver_with_root(DRAFT202012.create_resource(schema))
    waiting: list[Any] = [schema]
    while waiting:
        value = waiting.pop()
        waiting += value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
        for reference in (value.get("$ref"), value.get("$dynamicRef")) if isinstance(value, Mapping) else ():
            try:
                resolver.lookup(reference if isinstance(reference, str) else "#")
            except Unresolvable as error:
                raise InputError("there is no such place in the JSON schema:", key="answer", value=reference) from error


def _span(property_: Mapping[str, Any]) -> tuple[float, float] | None:
    if property_["type"] == "boolean":
        return 0.0, 1.0
    low, high = property_.get("minimum"), property_.get("maximum")
    return (float(low), float(high)) if low is not None and high is not None and low < high else None


def contains(text: str, pattern: str) -> bool:
    """Return whether a reply matches a regular expression in Rust's syntax, in time linear in the reply's length.

    With Python's expressions one reply, whose words the judge chooses, may take years.

    Raises:
        polars.exceptions.ComputeError: the pattern is no regular expression, or looks ahead or behind.

    Example:
        >>> contains("Score: 4", "[0-5]"), contains("a" * 10_000, "(a+)+$b")
        (True, False)
    """
    import polars as pl

    return bool(pl.Series([text.encode(errors="replace").decode()]).str.contains(pattern)[0])


class Instead(float):
    """The mark that an unread reply counts as: of all the numbers of an answer; 0 is no."""


Shown: TypeAlias = Sequence[str | MediaRole]
"""What precedes a question's text: roles, each with all of its media, and texts between them."""


@dataclass(frozen=True, slots=True)
class Quotes:
    """Replies to earlier questions that a question's text contains.

    Attributes:
        of: the name in braces, the question whose reply is quoted, and the item of its list, from 1; None: all of the reply.
        worded: makes what is shown and the text from the replies by name.
    """

    of: tuple[tuple[str, str, int | None], ...]
    worded: Callable[[Mapping[str, str]], tuple[Shown, str]]

    def replies(self, verdicts: Mapping[str, Verdict[Any]]) -> dict[str, str] | Unscored | None:
        """Return the words of each name; the reason where a reply is missing, None where a list has no such item."""
        words: dict[str, str] = {}
        for name, step, item in self.of:
            verdict = verdicts[step]
            if isinstance(verdict, Unscored):
                return verdict
            lines = verdict.value if isinstance(verdict.value, tuple) else ()
            if item is not None and item > len(lines):
                return None
            numbered = "\n".join(f"{number}. {line}" for number, line in enumerate(lines, start=1))
            words[name] = lines[item - 1] if item is not None else numbered or verdict.value
        return words


@dataclass(frozen=True, slots=True)
class PictureQuestion:
    """One question about a picture.

    Attributes:
        step: its name within the case.
        text: the question without the sentence about the answer; ready to be sent.
        form: of the answer.
        needs: names of earlier yes-or-no questions: where one is answered by no, this one counts as no and is not asked.
        prompt: what scorers are given as the picture's prompt; None: the prompt of the case.
        shows: what precedes the text: roles, each with all of its media, and texts between them.
        groups: in which its values count as well.
        part: of a video, from 0 to 1 of its length, that is shown; None: the whole.
        turn: of an editing conversation the turn that it is about (``Case.in_turn``); None: all.
        quotes: replies that are in its text and what is shown, which are made when they are known; None: it has none.
        read: patterns, each with the mark that a reply with it counts as; the first one that is found counts. None: ``form``
            reads the reply.
        missing: the mark that a reply counts as which cannot be read, or ``random``: a whole mark of the form's, drawn with
            the seed 0. None: it has no number; ``all``: nor have the other items of its question.
        cascade: whether a question that it needs counts as no because of another one; false: only when answered by no.
    """

    step: str
    text: str
    form: Form
    needs: tuple[str, ...] = ()
    prompt: str | None = None
    shows: tuple[str | MediaRole, ...] = (MediaRole.RESULT,)
    groups: tuple[str, ...] = ()
    part: tuple[float, float] | None = None
    turn: int | None = None
    quotes: Quotes | None = None
    read: tuple[tuple[str, float], ...] | None = None
    missing: float | str | None = None
    cascade: bool = True

    @property
    def follows(self) -> tuple[str, ...]:
        """The names of the questions that are asked before it."""
        return self.needs if self.quotes is None else (*self.needs, *(step for _, step, _ in self.quotes.of))

    def inquiry(self, case: Case) -> Inquiry[Any]:
        """Return what the judge is asked about a case."""
        schema = None if self.form.schema is None else dict(self.form.schema)
        shown_parts = [case.in_role(each) if isinstance(each, MediaRole) else (each,) for each in self.shows]
        parts = (*(self._cut(part) for parts in shown_parts for part in parts), f"{self.text}\n{self.form.instruction}")
        prompt = (self.prompt or case.prompt.text) if self.form.for_scorers else None
        question = Question(parts, response_schema=schema, decoding=self.form.decoding, prompt=prompt)
        return Inquiry(self.step, question, self._parse, self.form.weigh)

    def _parse(self, text: str) -> Outcome[Any]:
        for pattern, mark in self.read or ():
            if contains(text, pattern):
                return Parsed(bool(mark) if isinstance(self.form, YesNo) else mark)
        return self.form.parse(text) if self.read is None else Unparsed(Reason.MALFORMED, "contains no pattern of read")

    def instead(self, verdict: Verdict[Any], case: Case) -> Verdict[Any]:
        """Return the verdict, or the mark that an unread reply counts as; one that never came has none."""
        if self.missing in (None, "all") or isinstance(verdict, Scored) or verdict.reason not in _UNREAD:
            return verdict
        if self.missing != "random":
            return Scored(Instead(self.missing or 0))
        lowest, highest = next(span for span in self.form.spans.values() if span is not None)
        return Scored(Instead(Random(f"0/{case.case_id}/{self.step}").randint(int(lowest), int(highest))))  # noqa: S311 — no secret

    def _cut(self, part: "str | Media") -> "str | Media":
        if self.part is None or isinstance(part, str) or part.kind != MediaKind.VIDEO:
            return part
        return replace(part, part=self.part, film=None if part.film is None else part.film.within(self.part))


def ask_all(case: Case, questions: Sequence[PictureQuestion]) -> Generator[Inquiry[Any], Verdict[Any], dict[str, Verdict[Any]]]:
    """Ask the questions in order, and return the verdict of each by its name.

    A question whose parent (``needs``) is answered by no counts as no, unasked. Where a parent has no verdict, the question is
    asked: no counts as no, and yes leaves no verdict. A question about a turn without a picture is not asked, nor is one that
    quotes a missing reply; of an item that a list lacks, a yes-or-no question counts as no. Without ``cascade`` all are asked.
    """
    verdicts: dict[str, Verdict[Any]] = {}
    raw: dict[str, Verdict[Any]] = {}
    for question in questions:
        known = verdicts if question.cascade else raw  # a parent that was not asked was not answered by no
        parents = [known[name] for name in question.needs if name in known]
        if question.cascade and any(isinstance(parent, Scored) and not parent.value for parent in parents):
            verdicts[question.step] = Scored(False)
            continue
        if question.quotes is not None:
            replies = question.quotes.replies(verdicts)
            if not isinstance(replies, dict):
                absent = (
                    Scored(False) if isinstance(question.form, YesNo) else Unscored(Reason.NOT_REPORTED, "the list is shorter")
                )
                verdicts[question.step] = replies or absent
                raw |= {} if replies is None else {question.step: replies}
                continue
            shows, text = question.quotes.worded(replies)
            question = replace(question, shows=tuple(shows), text=text)
        mine = case.in_turn(question.turn)
        if mine.problem is None or case.problem is not None:
            verdict = yield question.inquiry(mine)
        else:
            verdict = yield Inquiry(question.step, Question((question.text,)), question.form.parse, missing=mine.problem)
        raw[question.step] = question.instead(verdict, case)
        verdicts[question.step] = under_parents(raw[question.step], parents)
    return verdicts


def parents_first(questions: Sequence[PictureQuestion]) -> list[PictureQuestion]:
    """Return the questions in their order, except that each comes behind those that it needs.

    Raises:
        InputError: a question needs one that does not exist, or questions need each other in a circle.

    Example:
        >>> child, parent = PictureQuestion("q.1", "Is it red?", YesNo(), ("q.2",)), PictureQuestion("q.2", "A star?", YesNo())
        >>> [each.step for each in parents_first([child, parent])]
        ['q.2', 'q.1']
    """
    names = [each.step for each in questions]
    ordered: dict[str, PictureQuestion] = {}
    while len(ordered) < len(names):
        waiting = [each for each in questions if each.step not in ordered]
        ready = next((each for each in waiting if all(name in ordered for name in each.follows)), None)
        if ready is None:
            strange = sorted({name for each in waiting for name in each.follows} - set(names))
            problem = "is needed and does not exist:" if strange else "needs itself, by way of others:"
            raise InputError(problem, key="needs", value=strange[0] if strange else waiting[0].step)
        ordered[ready.step] = ready
    return list(ordered.values())


def under_parents(verdict: Verdict[bool], parents: Sequence[Verdict[bool]]) -> Verdict[bool]:
    """Return what the answer to a yes-or-no question counts as, given what its parents count as.

    Example:
        >>> under_parents(Scored(True), [Scored(True), Scored(False)])
        Scored(value=False)
    """
    if any(isinstance(parent, Scored) and not parent.value for parent in parents):
        return Scored(False)
    missing = next((parent for parent in parents if isinstance(parent, Unscored)), None)
    return missing if missing is not None and isinstance(verdict, Scored) and verdict.value else verdict


def numbers_of(form: Form, verdict: Verdict[Any]) -> dict[str, Verdict[float]]:
    """Return the numbers of a verdict by name; without a verdict, or without that number, each has a reason."""
    if isinstance(verdict, Unscored):
        return dict.fromkeys(form.spans, verdict)
    if isinstance(verdict.value, Instead):
        return dict.fromkeys(form.spans, Scored(float(verdict.value)))
    values = form.values(verdict.value)
    absent = Unscored(Reason.NOT_REPORTED, "the answer has no such number")
    numbers = {name: value if isinstance(value, Scored | Unscored) else Scored(value) for name, value in values.items()}
    return {name: numbers.get(name, absent) for name in form.spans}


def placeholders(text: str) -> list[str]:
    """Return the names in braces of a question's text, each once.

    Example:
        >>> placeholders("Does {subject} look like {prompt}?")
        ['subject', 'prompt']
    """
    return list(dict.fromkeys(_PLACEHOLDER.findall(text)))


def miswritten(text: str, names: Container[str]) -> list[str]:
    """Return the words in braces that are one of these names, but for spaces or hyphens that keep them from being replaced.

    Example:
        >>> miswritten("Is { subject } there, {subject}? {1}", ["subject"])
        [' subject ']
    """
    matches = (match for match in _BRACED.finditer(text) if match[1] in names and not _PLACEHOLDER.fullmatch(match[0]))
    return [match[0][1:-1] for match in matches]


def with_roles(ask: str, roles: Mapping[MediaRole, int], words: Mapping[str, object]) -> tuple[list[str | MediaRole], str]:
    """Return what precedes a question's last text, and that text.

    A role that the text names in braces is shown there; the others come first, each behind its name where there are several.

    Args:
        ask: the text of the question.
        roles: in their order, each with its number of pictures and videos.
        words: of the other names in braces.

    Example:
        >>> roles = {MediaRole.SOURCE: 2, MediaRole.RESULT: 1}
        >>> with_roles("Is the cat gone?", roles, {})[0]
        ['Sources 1 to 2, in order:', <MediaRole.SOURCE: 'source'>, 'Result:', <MediaRole.RESULT: 'result'>]
        >>> with_roles("Before: {source} After: {result} Is the cat gone?", roles, {})
        (['Before:', <MediaRole.SOURCE: 'source'>, 'After:', <MediaRole.RESULT: 'result'>], 'Is the cat gone?')
    """
    named = "|".join(roles) or "$^"
    pieces = re.split(rf"\{{({named})\}}", ask)
    shows: list[str | MediaRole] = []
    for role, count in roles.items():
        if role not in pieces[1::2]:
            words_of = role.replace("_", " ").capitalize()
            label = f"{words_of}:" if count == 1 else f"{words_of}s 1 to {count}, in order:"
            shows += [label, role] if len(roles) > 1 else [role]
    for text, name in zip(pieces[::2], pieces[1::2], strict=False):
        shows += [filled(text.strip(), words)] if text.strip() else []
        shows.append(MediaRole(name))
    return shows, filled(pieces[-1].strip() if len(pieces) > 1 else ask, words)


def filled(text: str, words: Mapping[str, object]) -> str:
    """Return a question's text with the words of each name in braces between markers, as data.

    Example:
        >>> print(filled("Is it there: {subject} Look closely.", {"subject": "a cat"}))
        Is it there: <data>
        a cat
        </data> Look closely.
    """
    return _PLACEHOLDER.sub(lambda match: foreign(words[match[1]]), text)
