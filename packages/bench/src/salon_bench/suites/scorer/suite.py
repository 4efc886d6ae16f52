"""One score for each picture and its prompt: by a function, a built-in scorer, or a judge's mark.

    rows  NAME (or -NAME, where lower is better)   the score in the scorer's own unit
          scaled                                   its share of the range from 0 to 1, for scorers with two bounds

Scores of different scorers have different units, so each has a dimension of its own; ``scaled`` is what a panel of scorers and
judges has in common.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from salon_bench.suites.contract.base import SuiteBase, given
from salon_bench.suites.contract.prompt_files import read_prompts
from salon_bench.suites.contract.suite import Case, Examination, Inquiry, RewardSpec, SuitePrompt, Summary
from salon_judges.asking.templates import Templates
from salon_judges.clients.scorer import ScoreAnswer, parse_score
from salon_judges.media import PicturePolicy
from salon_taxonomy.protocols import Media, Question
from salon_taxonomy.records import Score
from salon_taxonomy.verdict import Scored, Verdict

if TYPE_CHECKING:
    import polars as pl

SCALED: Final = "scaled"
_RULES: Final = 2
_TEMPLATES: Final = Templates(Path(__file__).with_name("prompts"))


def ask_for_score(image: Media, prompt: str) -> Inquiry[ScoreAnswer]:
    """Return the question about one picture; a scorer reads ``Question.prompt``, a judge the words."""
    return Inquiry("score", Question((_TEMPLATES.render("score", prompt=prompt), image), prompt=prompt), parse_score)


def score_rows(case: Case, task: str, verdict: Verdict[ScoreAnswer]) -> list[Score]:
    """Return the rows of one answer: the score in its own unit, and its share of a bounded range."""
    answer = verdict.value if isinstance(verdict, Scored) else ScoreAnswer(verdict)
    judge = case.context.judge
    name = f"scorer {judge}" if judge == SCALED or judge.startswith("-") else judge  # both mean something else in tables
    own = f"-{name}" if answer.lower_is_better else name
    rows = [case.score(task, own, answer.verdict)]
    if not isinstance(answer.verdict, Scored):
        rows += [case.score(task, SCALED, answer.verdict)] if answer.bounded else []
    elif answer.scaled is not None:
        rows.append(case.score(task, SCALED, Scored(answer.scaled)))
    return rows


class ScorerSuite(SuiteBase):
    """One question for each picture, and the means of its answers."""

    name = "scorer"
    version = f"{_RULES}-{_TEMPLATES.version}"
    pictures = PicturePolicy()
    steps = ("score",)
    reward = RewardSpec(of=lambda row: row.value if row.dimension == SCALED else None)

    def prompts(self, source: Path | None) -> Sequence[SuitePrompt]:
        """Read the prompts of a file or folder (:func:`~salon_bench.suites.contract.prompt_files.read_prompts`).

        Raises:
            InputError: no file is given, it cannot be read, or none of its rows is a prompt.
        """
        hint = "Give --prompts FILE: a text file with one prompt for each line, or a table with the column prompt."
        return read_prompts(given(source, "the suite needs the prompts of the pictures", hint), self.name)

    def examine(self, case: Case) -> Examination:
        """Ask one question; a missing score becomes a row with its reason."""
        verdict: Verdict[ScoreAnswer] = yield ask_for_score(case.image, case.prompt.text)
        return score_rows(case, "score", verdict)

    def aggregate(self, scores: "pl.DataFrame", assessments: "pl.DataFrame") -> Summary:
        """Return the mean of every scorer in its own unit, and of the scores as shares of their ranges."""
        import polars as pl

        from salon_bench.suites.contract.tables import mean_lines, reasons_sentence, summary_of

        shares, own = scores.filter(pl.col("dimension") == SCALED), scores.filter(pl.col("dimension") != SCALED)
        lines = mean_lines(own)
        if shares["value"].is_not_null().any():
            several = own["dimension"].n_unique() > 1
            lines = [*mean_lines(shares), *lines] if several else [*lines, *mean_lines(shares)]
        notes = ["95% intervals: percentile bootstrap over pictures, 1000 replicates, seed 0; none from a single picture."]
        lower = sorted(name[1:] for name in own["dimension"].unique() if name.startswith("-"))
        notes += [f"Lower is better for {name}: its scores have the other sign here." for name in lower]
        return summary_of(lines, [*notes, *reasons_sentence(own, "Without a score")])


suite = ScorerSuite()
