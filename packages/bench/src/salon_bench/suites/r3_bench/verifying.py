"""Stage 4 of R³-Bench: yes/no questions about each misaligned picture before and after its edit. Gives S_rect.

    edit made        "before" and "after" are asked; (V_post − V_pre) / (1 − V_pre)
    nothing to edit  the policy said that the picture matches, so it stays as it is: 0, no judge is asked
    no verdict, or no picture from the editor: Unscored with the reason, no judge is asked

R³-Bench, Equation 3 and appendix E.2.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from salon_bench.suites.contract.suite import Case, Examination, RewardSpec, SuitePrompt, Summary, whole_case_id
from salon_bench.suites.r3_bench.questions import check
from salon_bench.suites.r3_bench.scoring import SIDES, changes, gain, lines_of
from salon_bench.suites.r3_bench.staged import MADE, NOT_NEEDED, StagedSuite
from salon_judges.formats.generations import Generated
from salon_judges.media import PicturePolicy
from salon_taxonomy.enums import MediaRole
from salon_taxonomy.verdict import Reason, Scored, Unscored, Verdict

if TYPE_CHECKING:
    import polars as pl

    from salon_judges.formats.generations import Generations

S_RECT: Final = "s_rect"
BEFORE, AFTER = SIDES
ORIGINAL_MODEL: Final = "r3-bench"
"""The model of the benchmark's own pictures in ``generations``."""
_PIXELS: Final = 1088 * 1088


class Verifying(StagedSuite):
    """The suite of the fourth stage; its rows are those of the first with the columns ``said`` and ``edit``.

    Each prompt has its original picture as sample 0 and the edited one as sample 1.
    """

    name = "r3-images"
    words = "questions"
    picture_names: Sequence[str] = ("before", "after")
    pictures = PicturePolicy(most_pixels=_PIXELS)
    reward = RewardSpec(why_not="it compares pictures before and after an edit; the reward 'rectification' has edits made")

    def cases(self, prompts: Sequence[SuitePrompt], generations: "Generations") -> Iterator[Case]:
        """Yield a case for every misaligned row: the picture before and, where there is one, after."""
        for policy in generations.models:
            for item in prompts:
                if not item.facts["aligned"]:
                    yield self._case(
                        item, policy, {each.sample: each for each in generations.of(item.prompt.prompt_id, policy)}
                    )

    def _case(self, item: SuitePrompt, policy: str, pictures: dict[int, Generated]) -> Case:
        case_id = whole_case_id(self.name, item.prompt.prompt_id, policy)
        case = Case(case_id, self.name, policy, item.prompt, facts=item.facts)
        if item.facts["edit"] != MADE:
            return case
        if set(pictures) < {0, 1}:
            return replace(case, problem=Unscored(Reason.BAD_MEDIA, "the picture before or after the edit is missing"))
        return replace(case, pictures=(replace(pictures[0], model=ORIGINAL_MODEL, role=MediaRole.SOURCE), pictures[1]))

    def examine(self, case: Case) -> Examination:
        """Ask the same questions about both pictures."""
        state = case.facts["edit"]
        task = str(case.facts["category"])
        if state == NOT_NEEDED:
            return [case.score(task, S_RECT, Scored(0.0))]
        if state != MADE:
            reason = Reason(str(state)) if state is not None else Reason.ABSTAINED
            return [case.score(task, S_RECT, Unscored(reason, "there is no edited picture"))]
        questions, truth = _listed(case.facts["questions"]), _listed(case.facts["answers"])
        shares: list[Verdict[float]] = []
        for step, image in (("before", case.image), ("after", case.media[1] if len(case.media) > 1 else case.image)):
            answers: Verdict[tuple[bool, ...]] = yield check(image, [str(each) for each in questions], step=step)
            shares.append(Scored(_share(answers.value, truth)) if isinstance(answers, Scored) else answers)
        before, after = shares
        result = after if isinstance(after, Unscored) else before
        if isinstance(before, Scored) and isinstance(after, Scored):
            result = Scored(gain(before.value, after.value))
        return [case.score(task, BEFORE, before), case.score(task, AFTER, after), case.score(task, S_RECT, result)]

    def aggregate(self, scores: "pl.DataFrame", assessments: "pl.DataFrame") -> Summary:
        """S_rect by the paper's denominator and by the released one, V before and after, and the shares of changed pictures."""
        from salon_bench.suites.contract.tables import summary_of

        lines = lines_of(scores, S_RECT, "s_rect", "all", share=False)
        lines += lines_of(scores, S_RECT, "s_rect_released", "scored", share=False)
        for dimension in (BEFORE, AFTER):
            lines += lines_of(scores, dimension, dimension, "scored", share=False)[:1]
        lines += changes(scores)
        notes = (
            "s_rect divides by all misaligned rows; a row without a verdict counts 0. s_rect_released leaves it out.",
            "A picture that the policy found nothing wrong with stays as it is: its gain is 0.",
        )
        return summary_of(lines, notes)


def _share(answers: Sequence[bool], truth: Sequence[object]) -> float:
    return sum(one == other for one, other in zip(answers, truth, strict=True)) / len(truth)


def _listed(value: object) -> Sequence[object]:
    return list(value) if isinstance(value, list | tuple) else []
