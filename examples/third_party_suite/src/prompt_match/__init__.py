"""Measure how well pictures match their prompts: one question, a mean score from 0 to 10."""

from collections.abc import Sequence
from pathlib import Path

from salon_bench.suites import Case, Examination, Inquiry, SuiteBase, SuitePrompt, Templates
from salon_judges.media import PicturePolicy
from salon_taxonomy.answers import PrismAnswer, parse_prism
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Question
from salon_taxonomy.records import Prompt
from salon_taxonomy.verdict import Scored, Verdict

TEMPLATES = Templates(Path(__file__).with_name("prompts"))


class PromptMatch(SuiteBase):
    """One question per picture; cases, intervals and tables are those of `SuiteBase`."""

    name = "prompt-match"
    version = f"1-{TEMPLATES.version}"  # raise the number when parsing or counting changes
    pictures = PicturePolicy(longest_side=1024)

    def prompts(self, source: Path | None) -> Sequence[SuitePrompt]:
        """One prompt per line of a text file; a prompt's id is the number of its line."""
        if source is None or not source.is_file():
            raise InputError("the suite needs a text file with one prompt per line", source=source, hint="Give --prompts FILE.")
        lines = enumerate(source.read_text(encoding="utf-8").splitlines(), start=1)
        return [SuitePrompt(Prompt(prompt_id=str(n), suite=self.name, text=line)) for n, line in lines if line.strip()]

    def examine(self, case: Case) -> Examination:
        """Ask one question; no verdict becomes a row with the reason, never a zero."""
        question = Question((TEMPLATES.render("match", prompt=case.prompt.text), case.image))
        verdict: Verdict[PrismAnswer] = yield Inquiry("match", question, parse_prism)
        return [case.score("match", "match", Scored(verdict.value.score) if isinstance(verdict, Scored) else verdict)]


suite = PromptMatch()
