"""Stage 1 of R³-Bench: the model under test looks at each picture and says whether, why and what to change.

    picture + prompt ──► {"answer", "explanation", "edit_prompt"} ──► a row of scores (is the verdict right?) and one of
                                                                      assessments (the whole reply)

The judge of this run is the policy under test. R³-Bench, section 2.1.
"""

import json
from typing import TYPE_CHECKING, Final

from salon_bench.suites.contract.suite import Case, Examination, RewardSpec, Summary
from salon_bench.suites.r3_bench.questions import reflect
from salon_bench.suites.r3_bench.scoring import lines_of
from salon_bench.suites.r3_bench.staged import StagedSuite
from salon_judges.media import PicturePolicy
from salon_rewards import illusory
from salon_taxonomy.answers import R3Answer
from salon_taxonomy.answers.reading import Fidelity, checked_fidelity
from salon_taxonomy.records import Record
from salon_taxonomy.verdict import Scored, Verdict

if TYPE_CHECKING:
    import polars as pl


VERDICT: Final = "verdict"
"""The dimension: 1 when the policy's verdict is the annotated one, else 0."""
ILLUSORY: Final = "illusory"
"""The dimension: 1 when the instruction rewrites the prompt instead of the picture; only where one was given."""
TAXONOMY: Final = "r3"
MATCHES: Final = "matches"
"""The label: present when the policy says that the picture matches; the explanation is the rest of its reply, as JSON."""
_PIXELS: Final = 1088 * 1088  # R³-Bench, Table 11


class Reflecting(StagedSuite):
    """The suite of the first stage: ``r3-reflect``, and ``r3-reflect-released`` with the script's reading of replies.

    Args:
        fidelity: which rules read replies (:func:`salon_taxonomy.answers.parse_r3`).

    Raises:
        InputError: for another fidelity.
    """

    words = "reflect"
    pictures = PicturePolicy(most_pixels=_PIXELS)
    reward = RewardSpec(lambda row: row.value if row.dimension == VERDICT else None, answers=True)

    def __init__(self, fidelity: Fidelity = "paper") -> None:
        self.fidelity = checked_fidelity(fidelity)

    @property
    def name(self) -> str:
        """As the entry points call it."""
        return f"r3-reflect{'-released' * (self.fidelity == 'released')}"

    def examine(self, case: Case) -> Examination:
        """Ask the policy once."""
        verdict: Verdict[R3Answer] = yield reflect(case.image, case.prompt.text, fidelity=self.fidelity)
        category = str(case.facts["category"])
        if not isinstance(verdict, Scored):
            return [case.score(category, VERDICT, verdict)]
        answer = verdict.value
        text = json.dumps({"explanation": answer.explanation, "edit_prompt": answer.edit_prompt}, ensure_ascii=False)
        rows: list[Record] = [case.score(category, VERDICT, Scored(float(answer.matches is case.facts["aligned"])))]
        if not answer.matches:
            rows.append(case.score(category, ILLUSORY, Scored(float(illusory(answer.edit_prompt) is not None))))
        return [*rows, case.label(TAXONOMY, MATCHES, present=answer.matches, explanation=text)]

    def aggregate(self, scores: "pl.DataFrame", assessments: "pl.DataFrame") -> Summary:
        """Verdict accuracy over the rows with a verdict, in all and per category, and the share of illusory instructions."""
        from salon_bench.suites.contract.tables import summary_of

        lines = lines_of(scores, VERDICT, "verdict_accuracy", "scored", share=True)
        lines += lines_of(scores, ILLUSORY, "illusory", "scored", share=True)[:1]
        note = "illusory: share of the instructions that rewrite the prompt instead of the picture; lower is better."
        return summary_of(lines, [note])
