"""Prompt match: how well do pictures show what they were made for? One question; the score is a mean from 0 to 10."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import polars as pl

from salon_bench.media import PicturePolicy
from salon_bench.suites import Case, Examination, Generations, Inquiry, SuitePrompt, Summary, Templates, one_picture_cases
from salon_taxonomy.answers import PrismAnswer, parse_prism
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Question
from salon_taxonomy.records import Prompt
from salon_taxonomy.verdict import Scored, Verdict

TEMPLATES = Templates(Path(__file__).with_name("prompts"))


class PromptMatch:
    """The suite; any object with these members is one."""

    name = "prompt-match"
    version = f"1-{TEMPLATES.version}"  # raise the number when parsing or counting changes
    pictures = PicturePolicy(longest_side=1024)

    def prompts(self, source: Path | None) -> Sequence[SuitePrompt]:
        """One prompt per line of a text file; a prompt's id is the number of its line."""
        if source is None or not source.is_file():
            raise InputError("the suite needs a text file with one prompt per line", source=source, hint="Give --prompts FILE.")
        lines = enumerate(source.read_text(encoding="utf-8").splitlines(), start=1)
        return [SuitePrompt(Prompt(prompt_id=str(n), suite=self.name, text=line)) for n, line in lines if line.strip()]

    def cases(self, prompts: Sequence[SuitePrompt], generations: Generations) -> Iterable[Case]:
        """A case for every picture, and one for every picture that is missing."""
        return one_picture_cases(self.name, prompts, generations)

    def examine(self, case: Case) -> Examination:
        """Ask one question; no verdict becomes a row with the reason, never a zero."""
        question = Question((TEMPLATES.render("match", prompt=case.prompt.text), case.image))
        verdict: Verdict[PrismAnswer] = yield Inquiry("match", question, parse_prism)
        return [case.score("match", "match", Scored(verdict.value.score) if isinstance(verdict, Scored) else verdict)]

    def aggregate(self, scores: pl.DataFrame, assessments: pl.DataFrame) -> Summary:
        """The mean over all pictures that have a verdict; null when none has."""
        values = scores["value"].drop_nulls()
        row = {"metric": "match", "group": None, "value": values.mean(), "ci_low": None, "ci_high": None}
        return Summary(pl.DataFrame([{**row, "scored": len(values), "unscored": scores.height - len(values)}]))


suite = PromptMatch()
