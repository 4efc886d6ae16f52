"""The questions of a refinement as a small suite; the fact ``ask`` chooses the question.

    reflect     does it match, what differs, what should the editor do?   rows: scores ``matches`` and ``illusory``, assessment
    check       yes or no to the prompt's questions                       row: score ``v``, the share answered rightly
    score       which score does a scorer give?                           rows as those of the suite ``scorer``
    decompose   which questions are these?                                no rows

R³-Refiner, figures 17, 19 and 20.
"""

import json
from typing import Final

from salon_bench.suites.contract.suite import Case, Examination
from salon_bench.suites.r3_bench.questions import check, decompose, reflect, words_version
from salon_bench.suites.r3_bench.reflecting import MATCHES, TAXONOMY
from salon_bench.suites.scorer import ask_for_score, score_rows
from salon_judges.clients.scorer import ScoreAnswer
from salon_rewards import illusory
from salon_taxonomy.answers import R3Answer
from salon_taxonomy.digest import digest
from salon_taxonomy.records import Record
from salon_taxonomy.verdict import Scored, Verdict

SUITE: Final = "refine"
_RULES_VERSION: Final = 1


class Turns:
    """Examines one picture, or one prompt, of a refinement."""

    version = digest("refine", {"words": words_version("reflect", "questions", "decompose"), "rules": _RULES_VERSION})

    def examine(self, case: Case) -> Examination:
        """Ask what the fact ``ask`` names; the fact ``task`` says which picture it is about."""
        task = str(case.facts["task"])
        if case.facts["ask"] == "decompose":
            yield decompose(case.prompt.text)
            return []
        if case.facts["ask"] == "check":
            questions, truth = case.facts["questions"], case.facts["answers"]
            listed = [str(each) for each in questions] if isinstance(questions, list | tuple) else []
            right = list(truth) if isinstance(truth, list | tuple) else []
            answers: Verdict[tuple[bool, ...]] = yield check(case.image, listed, step="check")
            return [case.score(task, "v", shared(answers, right))]
        if case.facts["ask"] == "score":
            scored: Verdict[ScoreAnswer] = yield ask_for_score(case.image, case.prompt.text)
            return score_rows(case, task, scored)
        verdict: Verdict[R3Answer] = yield reflect(case.image, case.prompt.text)
        if not isinstance(verdict, Scored):
            return [case.score(task, "matches", verdict)]
        rest = {"explanation": verdict.value.explanation, "edit_prompt": verdict.value.edit_prompt}
        text = json.dumps(rest, ensure_ascii=False)
        rows: list[Record] = [case.score(task, "matches", Scored(float(verdict.value.matches)))]
        if not verdict.value.matches:
            rows.append(case.score(task, "illusory", Scored(float(illusory(verdict.value.edit_prompt) is not None))))
        return [*rows, case.label(TAXONOMY, MATCHES, present=verdict.value.matches, explanation=text)]


def shared(answers: Verdict[tuple[bool, ...]], truth: list[object]) -> Verdict[float]:
    """Return the share of questions that were answered as is right.

    Example:
        >>> shared(Scored((True, False)), [True, True])
        Scored(value=0.5)
    """
    if not isinstance(answers, Scored):
        return answers
    return Scored(sum(one == other for one, other in zip(answers.value, truth, strict=True)) / len(truth))
