"""PRISM-Bench: alignment and aesthetics of pictures on seven tracks, in English or Chinese.

    picture ── "alignment" ──► score by the track's rubric ──┐
       └─────── "aesthetic" ──► score by the one rubric ─────┴──► two rows of scores, 0 to 10

PRISM-Bench, section 3.
"""

from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from salon_bench.suites.contract.base import SuiteBase, given
from salon_bench.suites.contract.suite import Case, Examination, Inquiry, RewardSpec, SuitePrompt, Summary
from salon_bench.suites.prism.fidelity import CountingRules, parse_score
from salon_bench.suites.prism.prompt_file import read_prompts
from salon_bench.suites.prism.questions import Questions
from salon_bench.suites.prism.rubrics import aesthetic_rubric, alignment_rubric, score_bands
from salon_console.table_rows import UsableRows
from salon_judges.asking.templates import Templates
from salon_judges.formats.prism_tracks import Axis, Language, Track
from salon_judges.media import PicturePolicy
from salon_taxonomy.answers import PrismAnswer
from salon_taxonomy.answers.reading import Fidelity, checked_fidelity
from salon_taxonomy.digest import Digestible, digest
from salon_taxonomy.errors import member_of
from salon_taxonomy.verdict import Scored, Verdict

if TYPE_CHECKING:
    import polars as pl


_RULES_VERSION = 2  # raised by hand when parsers or rows change their meaning


class PrismBench(SuiteBase):
    """The suite; four of them are installed: ``prism`` and ``prism-zh``, and each with ``-released``.

    Args:
        language: of the prompts and rubrics.
        fidelity: whose rules count.

    Raises:
        InputError: the language or the fidelity is unknown.
    """

    pictures = PicturePolicy()
    """As they are: the released script shows pictures in full size."""

    def __init__(self, language: Language | str = Language.ENGLISH, fidelity: Fidelity = "paper") -> None:
        self.language = member_of(Language, language, "language")
        self.fidelity = checked_fidelity(fidelity)
        self.rules = CountingRules.of(self.fidelity)

    reward = RewardSpec(lambda row: None if row.value is None else row.value / 10)

    @property
    def name(self) -> str:
        """``prism`` or ``prism-zh``, with ``-released`` where the script's rules count."""
        language = "" if self.language is Language.ENGLISH else f"-{self.language}"
        return f"prism{language}" + ("" if self.fidelity == "paper" else "-released")

    @cached_property
    def version(self) -> str:
        """A digest of templates, rubrics, rules and parsers."""
        language = self.questions.language
        rubrics = [repr(alignment_rubric(track, language)) for track in Track]
        words: dict[str, Digestible] = {
            "templates": dict(self.questions.templates.texts),
            "rubrics": [*rubrics, repr(aesthetic_rubric(language)), *score_bands(language)],
        }
        return digest("prism", {**words, "language": str(self.language), "fidelity": self.fidelity, "rules": _RULES_VERSION})

    @cached_property
    def questions(self) -> Questions:
        """The two questions, with their templates compiled once."""
        language = Language.ENGLISH if self.rules.english_rubrics else self.language
        return Questions(Templates(Path(__file__).with_name("prompts")), language)

    def prompts(self, source: Path | None) -> UsableRows[SuitePrompt]:
        """Return the prompts of a file or folder (see :func:`~.prompt_file.read_prompts`); Salon ships none.

        Raises:
            InputError: without a source, or when it is wrong.
        """
        hint = (
            f"Give the released folder captions/{self.language} of the authors' repository with --prompts, "
            f"or make an own file: salon curate prism compose --output prompts.jsonl --language {self.language}"
        )
        file = given(source, "PRISM-Bench needs a file of prompts", hint)
        return read_prompts(file, self.language)

    def examine(self, case: Case) -> Examination:
        """Ask for alignment, then for aesthetics; one row of scores each, in points of 10, under the track as task."""
        track, prompt = Track(str(case.facts["track"])), case.prompt.text
        parse = partial(parse_score, rules=self.rules)
        question = self.questions.alignment(case.image, prompt=prompt, track=track)
        alignment: Verdict[PrismAnswer] = yield Inquiry(Axis.ALIGNMENT, question, parse)
        question = self.questions.aesthetic(case.image, prompt=prompt)
        aesthetic: Verdict[PrismAnswer] = yield Inquiry(Axis.AESTHETIC, question, parse)
        verdicts = {Axis.ALIGNMENT: alignment, Axis.AESTHETIC: aesthetic}
        return [case.score(track, axis, _points(verdict)) for axis, verdict in verdicts.items()]

    def aggregate(self, scores: "pl.DataFrame", assessments: "pl.DataFrame") -> Summary:
        """Return overall and per track, alignment, aesthetics and their average (see :func:`~.scoring.summarize`)."""
        from salon_bench.suites.prism.scoring import summarize

        return summarize(scores, self.fidelity)


def _points(verdict: Verdict[PrismAnswer]) -> Verdict[float]:
    return Scored(verdict.value.score) if isinstance(verdict, Scored) else verdict
