"""DPG-Bench: a dense prompt as a graph of yes-or-no questions about its picture.

A question whose parent counts as no counts as no.

questions of a prompt ──► yes or no, parents first ──► share of yes per picture ──► mean per prompt ──► mean over prompts
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from salon_bench.suites.contract.base import SuiteBase, given
from salon_bench.suites.contract.questions import PictureQuestion, YesNo, ask_all, under_parents
from salon_bench.suites.contract.suite import Case, Examination, RewardSpec, SuitePrompt, Summary
from salon_bench.suites.dpg_bench.question_file import read_questions
from salon_judges.asking.templates import Templates
from salon_taxonomy.digest import Digestible, digest
from salon_taxonomy.records import Score
from salon_taxonomy.verdict import Scored, Unscored, Verdict

if TYPE_CHECKING:
    import polars as pl

SCORE: Final = "score"
"""The dimension of a picture: the share of its prompt's questions that count as yes."""
_RULES_VERSION: Final = 1  # raised by hand when questions, parsers or rows change their meaning
_TEMPLATES: Final = Templates(Path(__file__).with_name("prompts"))
_HINT: Final = "Give dpg_bench.csv of the authors' repository (ELLA, folder dpg_bench) with --prompts."


class DpgBench(SuiteBase):
    """The suite; two of them are installed: ``dpg-bench`` and ``dpg-bench-released``.

    Args:
        released: ask every question, and give categories by the raw answers, as the authors' script does.
    """

    def __init__(self, *, released: bool = False) -> None:
        self._released = released
        self.reward = RewardSpec(of=_worth)
        whole: dict[str, Digestible] = {"templates": _TEMPLATES.version, "rules": _RULES_VERSION, "released": released}
        self.version = digest("dpg-bench", whole)

    @property
    def name(self) -> str:
        """``dpg-bench``, or ``dpg-bench-released``."""
        return "dpg-bench-released" if self._released else "dpg-bench"

    def prompts(self, source: Path | None) -> Sequence[SuitePrompt]:
        """Return the prompts of the user's ``dpg_bench.csv``; Salon ships none.

        Raises:
            InputError: without a file, or when it is wrong.
        """
        return read_questions(given(source, "DPG-Bench needs its file of questions", _HINT), self.name)

    def examine(self, case: Case) -> Examination:
        """Ask the questions of the prompt; the rows are one for each question and the picture's score."""
        facts: Any = case.facts["questions"]
        asked = [_question(fact) for fact in facts]
        sent = [replace(each, needs=()) for each in asked] if self._released else asked
        raw: Mapping[str, Verdict[bool]] = yield from ask_all(case, sent)
        counted = _counted(asked, raw)
        verdicts_shown = raw if self._released else counted
        rows = [
            case.score(str(fact["category"]), each.step, verdicts_shown[each.step])
            for fact, each in zip(facts, asked, strict=True)
        ]
        missing = next((verdict for verdict in counted.values() if isinstance(verdict, Unscored)), None)
        yes = sum(isinstance(verdict, Scored) and verdict.value for verdict in counted.values())
        return [*rows, case.score(self.name, SCORE, missing or Scored(yes / len(counted)))]

    def aggregate(self, scores: "pl.DataFrame", assessments: "pl.DataFrame") -> Summary:
        """Return the mean score over prompts, and the share of yes by category.

        A prompt's score is the mean over its pictures.

        Shares are over all questions of all pictures, as in the authors' script; times 100 they are the paper's.
        """
        import polars as pl

        from salon_bench.suites.contract.tables import interval_over_prompts, line, summary_of
        from salon_ranking.uncertainty.means import mean_with_interval

        pictures = scores.filter(pl.col("dimension") == SCORE)
        known = pictures.drop_nulls("value")
        means = known.group_by("prompt_id").agg(pl.col("value").mean())["value"].to_list()
        overall = mean_with_interval(means, within=(0.0, 1.0))
        lines = [line("overall", None, *overall, scored=known.height, unscored=pictures.height - known.height)]
        facts = scores.filter(pl.col("dimension") != SCORE)
        facts = facts.with_columns(broad=pl.col("task").str.split("-").list.first().str.strip_chars())
        for metric, column in (("category", "broad"), ("detailed category", "task")):
            for group in facts[column].unique().sort():
                rows = facts.filter(pl.col(column) == group)
                answered = rows.drop_nulls("value")
                value, ends = interval_over_prompts(metric, answered)
                lines.append(line(metric, group, value, ends, scored=answered.height, unscored=rows.height - answered.height))
        return summary_of(lines, ["95% intervals: Student's t over prompts."])


def _question(fact: Mapping[str, Any]) -> PictureQuestion:
    text = _TEMPLATES.render("question", question=fact["question"])
    return PictureQuestion(f"question-{fact['id']}", text, YesNo(), tuple(f"question-{parent}" for parent in fact["parents"]))


def _counted(asked: Sequence[PictureQuestion], raw: Mapping[str, Verdict[bool]]) -> dict[str, Verdict[bool]]:
    """Return what each answer counts as: no below a parent that counts as no; without a verdict below one without."""
    counted: dict[str, Verdict[bool]] = {}
    for question in asked:
        counted[question.step] = under_parents(raw[question.step], [counted[name] for name in question.needs])
    return counted


def _worth(row: Score) -> float | None:
    return row.value if row.dimension == SCORE else None
