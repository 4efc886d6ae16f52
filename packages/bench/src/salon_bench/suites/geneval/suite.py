"""GenEval-style: are the objects, counts, colours and positions of a prompt in the picture?

clauses of the metadata ──► yes-or-no questions ──► correct: 1 where every clause holds, else 0 ──► mean per task ──► their mean
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from salon_bench.suites.contract.base import SuiteBase
from salon_bench.suites.contract.questions import PictureQuestion, YesNo
from salon_bench.suites.contract.suite import Case, Examination, SuitePrompt, Summary
from salon_bench.suites.geneval.metadata import TAGS, conditions, drawn_prompts, read_metadata
from salon_judges.asking.templates import Templates
from salon_taxonomy.digest import digest
from salon_taxonomy.verdict import Scored, Unscored, Verdict

if TYPE_CHECKING:
    import polars as pl

    from salon_bench.suites.contract.tables import Line

CORRECT: Final = "correct"
"""The dimension of a picture: 1 where every clause of its prompt holds, else 0."""
_RULES_VERSION: Final = 1  # raised by hand when questions, parsers or rows change their meaning
_TEMPLATES: Final = Templates(Path(__file__).with_name("prompts"))


class GenEval(SuiteBase):
    """The suite ``geneval``; without a file of prompts it has prompts of its own about drawn shapes."""

    name = "geneval"
    version = digest("geneval", {"templates": _TEMPLATES.version, "rules": _RULES_VERSION})

    def prompts(self, source: Path | None) -> Sequence[SuitePrompt]:
        """Return the prompts of the user's ``evaluation_metadata.jsonl``, or 120 of our own about drawn shapes.

        Raises:
            InputError: the file is wrong.
        """
        return drawn_prompts(self.name) if source is None else read_metadata(source, self.name)

    def examine(self, case: Case) -> Examination:
        """Ask about each clause until one fails; a clause without a verdict leaves none, unless another one fails."""
        missing: Unscored | None = None
        outcome: Verdict[float] = Scored(1.0)
        for condition in conditions(case.facts):
            text = _TEMPLATES.render("question", question=condition.question)
            verdict: Verdict[bool] = yield PictureQuestion(condition.step, text, YesNo()).inquiry(case)
            if isinstance(verdict, Unscored):
                missing = missing or verdict
            elif verdict.value is not condition.wanted:
                outcome, missing = Scored(0.0), None
                break
        return [case.score(str(case.facts["tag"]), CORRECT, missing or outcome)]

    def aggregate(self, scores: "pl.DataFrame", assessments: "pl.DataFrame") -> Summary:
        """Return the mean over tasks, and the shares of correct pictures and prompts.

        A prompt is correct where one of its pictures is. One that no picture shows to be correct has no verdict where a picture
        has none.
        """
        import numpy as np
        import polars as pl

        from salon_bench.suites.contract.tables import interval_over_prompts, line, summary_of, words_of_intervals
        from salon_ranking.uncertainty.means import ratio_with_interval

        known = scores.drop_nulls("value")
        unscored = scores.height - known.height
        tags = [tag for tag in TAGS if tag in set(scores["task"])]
        per_task = [_task(scores, tag) for tag in tags]
        mean = ends = None
        if per_task and all(row["value"] is not None for row in per_task):
            by_prompt = (
                known.group_by("task", "prompt_id").agg(pl.col("value").sum(), pl.len().alias("rows")).sort("task", "prompt_id")
            )
            strata = np.array([tags.index(tag) for tag in by_prompt["task"]], dtype=np.int64)
            columns = by_prompt.select("value", "rows").to_numpy().astype(np.float64)
            ends = ratio_with_interval(columns, strata, within=(0.0, 1.0))[1]
            mean = float(np.mean([row["value"] for row in per_task]))
        best = (
            pl.when((pl.col("value").max() < 1) & pl.col("value").is_null().any()).then(None).otherwise(pl.col("value").max())
        )
        every = scores.group_by("prompt_id").agg(value=best)
        prompts = every.drop_nulls("value")
        share, share_ends = interval_over_prompts(CORRECT, prompts, shares={CORRECT})
        pictures, picture_ends = interval_over_prompts(CORRECT, known, shares={CORRECT})
        lines = [
            line("overall", None, mean, ends or (None, None), scored=known.height, unscored=unscored),
            *per_task,
            line("correct pictures", None, pictures, picture_ends, scored=known.height, unscored=unscored),
            line("correct prompts", None, share, share_ends, scored=prompts.height, unscored=every.height - prompts.height),
        ]
        overall = "overall: the mean over tasks; 95% interval: Student's t over the prompts of each task."
        return summary_of(lines, [overall, *words_of_intervals(scores, {CORRECT})])


def _task(scores: "pl.DataFrame", tag: str) -> "Line":
    """Return the line of one task."""
    from salon_bench.suites.contract.tables import interval_over_prompts, line

    rows = scores.filter(scores["task"] == tag)
    known = rows.drop_nulls("value")
    value, ends = interval_over_prompts(CORRECT, known, shares={CORRECT})
    return line("correct", tag, value, ends, scored=known.height, unscored=rows.height - known.height)
