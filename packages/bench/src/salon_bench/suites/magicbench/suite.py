"""MagicBench: is the subject there, and is anything wrong with the picture?

    picture ── "subject" ──► yes ── "assessment" ──► labels ──► rows of scores and assessments
                   └───────► no: an artifact of its class; assessed no further (paper) or all the same (released)

MagicMirror, section 3.3. The paper asks a general model about the subject and its own assessor about the rest;
the steps carry those names so that a run can send each to another judge.
"""

from collections.abc import Sequence
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from salon_bench.suites.contract.base import SuiteBase, given
from salon_bench.suites.contract.suite import Case, Examination, Inquiry, SuitePrompt, Summary
from salon_bench.suites.magicbench.fidelity import CountingRules, parse_assessment
from salon_bench.suites.magicbench.questions import Questions
from salon_judges.asking.templates import Templates
from salon_judges.formats.magicbench_prompts import read_prompts
from salon_judges.formats.magicbench_subjects import COUNTED_LABELS, Dimension
from salon_judges.media import PicturePolicy
from salon_taxonomy import Taxonomy
from salon_taxonomy.answers import MagicMirrorAnswer, parse_yes_or_no
from salon_taxonomy.answers.reading import Fidelity, checked_fidelity
from salon_taxonomy.digest import Digestible, digest
from salon_taxonomy.errors import InputError
from salon_taxonomy.records import Record
from salon_taxonomy.verdict import Reason, Scored, Unscored, Verdict

if TYPE_CHECKING:
    import polars as pl


_RULES_VERSION = 1  # raised by hand when parsers or rows change their meaning
_TEMPLATES = ("subject", "assessment")
_PIXELS = 1280 * 28 * 28  # what the released scripts show their model at most


class MagicBench(SuiteBase):
    """The suite; two of them are installed: ``magicbench`` (the paper's rules) and ``magicbench-released`` (the script's).

    Args:
        fidelity: whose rules count.
        templates: a folder with ``subject.jinja`` and ``assessment.jinja``, for an assessor that was trained on other words;
            default: ours. The folder's content is part of the version.

    Raises:
        InputError: the fidelity is unknown, or the folder lacks a template.
    """

    steps = ("subject", "assessment")
    """The steps that :meth:`examine` asks; each may have a judge of its own."""

    pictures = PicturePolicy(most_pixels=_PIXELS)
    """As many pixels as the released scripts show; smaller pictures are not made larger."""

    def __init__(self, fidelity: Fidelity = "paper", *, templates: Path | None = None) -> None:
        self.fidelity = checked_fidelity(fidelity)
        self.rules = CountingRules.of(self.fidelity)
        self._folder = templates or Path(__file__).with_name("prompts")
        missing = [name for name in _TEMPLATES if not (self._folder / f"{name}.jinja").is_file()]
        if missing:
            raise InputError("the folder of templates lacks", source=self._folder, value=f"{missing[0]}.jinja")

    @property
    def name(self) -> str:
        """``magicbench``, or ``magicbench-released``."""
        return "magicbench" if self.fidelity == "paper" else "magicbench-released"

    @cached_property
    def version(self) -> str:
        """A digest of templates, label tree, rules and parsers."""
        labels = Taxonomy.load("magicmirror").model_dump_json(include={"labels", "guidelines"})
        templates = {name: self.questions.templates.texts[name] for name in _TEMPLATES}
        whole: dict[str, Digestible] = {"templates": templates, "labels": labels, "fidelity": self.fidelity}
        return digest("magicbench", {**whole, "rules": _RULES_VERSION})

    @cached_property
    def questions(self) -> Questions:
        """The two questions, with their templates compiled once."""
        return Questions(Templates(self._folder))

    def prompts(self, source: Path | None) -> Sequence[SuitePrompt]:
        """Return the prompts of a file; Salon ships none.

        Raises:
            InputError: without a file, or when it is wrong.
        """
        hint = (
            "Give the released file (prompts/subject_prompt800.jsonl of the authors' repository) with --prompts, "
            "or make an own one: salon curate magicbench compose --output prompts.jsonl"
        )
        file = given(source, "MagicBench needs a file of prompts", hint)
        return read_prompts(file)

    def examine(self, case: Case) -> Examination:
        """Ask for the subject, then for artifacts; the rows have the dimensions of :class:`Dimension`.

        A dimension that was not asked about has no row: a picture without its subject is assessed no further.
        """
        text, subject = case.prompt.text, str(case.facts["subject"])
        subject_class = str(case.facts["class"])
        question = self.questions.subject(case.image, prompt=text, subject=subject, subject_class=subject_class)
        present: Verdict[bool] = yield Inquiry("subject", question, parse_yes_or_no)
        assessment: Verdict[MagicMirrorAnswer] | None = None
        if isinstance(present, Scored) and (present.value or self.rules.assess_without_subject):
            question = self.questions.assessment(case.image, prompt=text)
            assessment = yield Inquiry("assessment", question, partial(parse_assessment, rules=self.rules))
        return self._rows(case, present, assessment)

    def aggregate(self, scores: "pl.DataFrame", assessments: "pl.DataFrame") -> Summary:
        """Return the five scores and the eight sub-scores (see :func:`~.scoring.summarize`)."""
        from salon_bench.suites.magicbench.scoring import summarize

        return summarize(scores, self.fidelity)

    def _rows(self, case: Case, present: Verdict[bool], assessment: Verdict[MagicMirrorAnswer] | None) -> list[Record]:
        task = str(case.facts["detail_class"])
        rows: list[Record] = [case.score(task, Dimension.SUBJECT, present)]
        if assessment is not None:
            rows.append(case.score(task, Dimension.NORMAL, _normal(assessment)))
            rows += [case.score(task, dimension, _free_of(label, assessment)) for dimension, label in COUNTED_LABELS.items()]
            if isinstance(assessment, Scored):
                rows += _labels(case, assessment.value)
        rows.append(case.score(task, Dimension.OVERALL, _overall(present, assessment, self.rules)))
        return rows


def _normal(assessment: Verdict[MagicMirrorAnswer]) -> Verdict[float]:
    return Scored(float(assessment.value.normal)) if isinstance(assessment, Scored) else assessment


def _free_of(label: str, assessment: Verdict[MagicMirrorAnswer]) -> Verdict[float]:
    return Scored(float(label not in assessment.value.labels)) if isinstance(assessment, Scored) else assessment


def _overall(present: Verdict[bool], assessment: Verdict[MagicMirrorAnswer] | None, rules: CountingRules) -> Verdict[float]:
    """Return what one picture adds to the Overall score."""
    if isinstance(present, Unscored):
        return present
    if present.value:
        return _normal(assessment) if assessment is not None else Unscored(Reason.ABSTAINED, "no judge was asked")
    if rules.need_readable_assessment and isinstance(assessment, Unscored):
        return assessment
    return Scored(0.0)


def _labels(case: Case, answer: MagicMirrorAnswer) -> list[Record]:
    """Return the verdict, and every label that was given, by their ids in the label tree."""
    names = ["normal" if answer.normal else "artifact"]
    for l2, cases in answer.labels.items():
        names += [_ids()[l2], *(_ids()[l2, l3] for l3 in cases)]
    return [case.label("magicmirror", label, present=True) for label in names]


@cache
def _ids() -> dict[str | tuple[str, str], str]:
    """Return the ids of the kinds by spelling, and of special cases by kind and case."""
    taxonomy = Taxonomy.load("magicmirror")
    ids: dict[str | tuple[str, str], str] = {}
    for kind in taxonomy.tier("L2"):
        ids[kind.spelling] = kind.id
        ids.update({(kind.spelling, child.spelling): child.id for child in taxonomy.children(kind)})
    return ids
