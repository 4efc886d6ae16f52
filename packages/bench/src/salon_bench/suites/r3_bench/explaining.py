"""Stage 3 of R³-Bench: does the policy's explanation name the annotated error? Gives S_ref.

    aligned     1 if the policy said that the picture matches, else 0                           no judge is asked
    misaligned  0 if it said so; else a judge without picture compares the two explanations     1 if equivalent
    no verdict of the policy: Unscored with its reason                                          no judge is asked

R³-Bench, Equation 2 and appendix E.1.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from salon_bench.suites.contract.suite import Case, Examination, RewardSpec, SuitePrompt, Summary
from salon_bench.suites.r3_bench.questions import equivalent
from salon_bench.suites.r3_bench.scoring import lines_of
from salon_bench.suites.r3_bench.staged import StagedSuite, said_from
from salon_judges.media import PicturePolicy
from salon_taxonomy.answers import Unparsed, parse_r3
from salon_taxonomy.digest import Digestible, digest
from salon_taxonomy.verdict import Reason, Scored, Unscored, Verdict

if TYPE_CHECKING:
    import polars as pl

    from salon_judges.formats.generations import Generations

S_REF: Final = "s_ref"


def _with_answer(case: Case, completion: str) -> Case | None:
    parsed = parse_r3(completion)
    if isinstance(parsed, Unparsed):
        return None
    answer: dict[str, Digestible] = {
        "answer": parsed.answer.matches,
        "explanation": parsed.answer.explanation,
        "edit_prompt": parsed.answer.edit_prompt,
    }
    return replace(case, facts={**case.facts, "said": answer})


class Explaining(StagedSuite):
    """The suite of the third stage; its rows are those of the first with the column ``said``."""

    name = "r3-explanations"
    words = "explanations"
    pictures = PicturePolicy()
    reward = RewardSpec(take=_with_answer)

    def cases(self, prompts: Sequence[SuitePrompt], generations: "Generations") -> Iterable[Case]:
        """Yield a case without pictures for every row and policy: the judge compares texts."""
        for policy in generations.models:
            for item in prompts:
                case_id = digest("case", {"suite": self.name, "prompt": item.prompt.prompt_id, "model": policy})
                yield Case(case_id, self.name, policy, item.prompt, facts=item.facts)

    def examine(self, case: Case) -> Examination:
        """Ask whether the explanations are equivalent, where that decides."""
        verdict = said_from(case.facts["said"])
        score: Verdict[float]
        if verdict is None:
            score = Unscored(Reason.ABSTAINED, "the policy was not asked")
        elif isinstance(verdict, Unscored):
            score = verdict
        elif case.facts["aligned"] or verdict.value.matches:
            score = Scored(float(bool(case.facts["aligned"]) and verdict.value.matches))
        elif not verdict.value.explanation.strip():
            score = Scored(0.0)
        else:
            score = yield equivalent(case.prompt.text, str(case.facts["truth"]), verdict.value.explanation)
        return [case.score(str(case.facts["category"]), S_REF, score)]

    def aggregate(self, scores: "pl.DataFrame", assessments: "pl.DataFrame") -> Summary:
        """S_ref over all rows (a row without a verdict counts 0 and is reported), and over those with a verdict."""
        from salon_bench.suites.contract.tables import summary_of

        lines = lines_of(scores, S_REF, "s_ref", "all", share=True)
        lines += lines_of(scores, S_REF, "s_ref_scored", "scored", share=True)[:1]
        note = "s_ref divides by all rows; a row without a verdict counts 0. s_ref_scored leaves it out."
        return summary_of(lines, [note])
