"""A small suite for the runner's tests: two questions about each of many cases, of which the second depends on the first."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from salon_bench.suites.contract.base import SuiteBase
from salon_bench.suites.contract.suite import Case, Examination, Inquiry, SuitePrompt, Summary, one_picture_cases
from salon_judges.formats.generations import Generations
from salon_judges.media import PicturePolicy
from salon_taxonomy.answers.outcome import Outcome, Parsed, Unparsed
from salon_taxonomy.digest import digest
from salon_taxonomy.protocols import Question
from salon_taxonomy.records import Prompt
from salon_taxonomy.verdict import Reason, Scored


def parse_number(reply: str) -> Outcome[int]:
    """A whole number of at most nine digits and nothing else."""
    text = reply.strip()
    if not text:
        return Unparsed(Reason.EMPTY, "the reply is empty")
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        return Unparsed(Reason.MALFORMED, "the reply is no number")
    return Parsed(int(text))


@dataclass(frozen=True)
class NumberSuite(SuiteBase):
    """Asks for a number, then for another one that names the first; the score is their sum."""

    prompts_wanted: int = 10
    with_pictures: bool = False
    name: str = "numbers"
    version: str = "1"
    pictures: PicturePolicy = field(default_factory=PicturePolicy)

    def prompts(self, source: Path | None) -> Sequence[SuitePrompt]:
        return [
            SuitePrompt(Prompt(prompt_id=f"p{number:05d}", suite=self.name, text=f"prompt {number}"))
            for number in range(self.prompts_wanted)
        ]

    def cases(self, prompts: Sequence[SuitePrompt], generations: Generations) -> Iterable[Case]:
        if self.with_pictures:
            yield from one_picture_cases(self.name, prompts, generations)
            return
        for item in prompts:
            yield Case(digest("case", item.prompt.prompt_id), self.name, "subject", item.prompt)

    def examine(self, case: Case) -> Examination:
        parts = (f"First: {case.prompt.text}", *case.media)
        first = yield Inquiry("first", Question(parts), parse_number)
        row = case.score("sum", "first", first)
        if not isinstance(first, Scored):
            return [row, case.score("sum", "total", first)]
        second = yield Inquiry("second", Question((f"Second: {case.prompt.text} after {first.value}",)), parse_number)
        total = Scored(float(first.value + second.value)) if isinstance(second, Scored) else second
        return [row, case.score("sum", "total", total)]

    def aggregate(self, scores: pl.DataFrame, assessments: pl.DataFrame) -> Summary:
        totals = scores.filter(pl.col("dimension") == "total")
        scored = totals["value"].drop_nulls()
        row = {
            "metric": ["mean total"],
            "group": [None],
            "value": [scored.mean()],
            "ci_low": [None],
            "ci_high": [None],
            "scored": [len(scored)],
            "unscored": [totals.height - len(scored)],
        }
        return Summary(pl.DataFrame(row, schema_overrides={"value": pl.Float64}))
