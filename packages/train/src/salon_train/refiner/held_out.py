"""How good a refiner is on held-out rows while it learns: its verdicts, and whether its instructions are ones.

What is measured here asks neither the editor nor the policy's own certainty, which the reward is made of: only whether the
verdict is right and, of a picture that does not match, whether the instruction edits it, and not the prompt. Whether an edit
mends is what ``salon bench r3-bench`` measures, with judges.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Final

from salon_rewards import illusory
from salon_taxonomy.answers import Parsed, R3Answer, parse_r3
from salon_train.refiner.rows import RefinerRow, question_text
from salon_train.run.completion_parsing import read_refinement
from salon_train.run.greedy import opened
from salon_train.run.held_out import HeldOut

METRIC: Final = "helpful"
"""Of a refiner's evaluation, what the monitors hold against its reward."""


@dataclass(frozen=True, slots=True)
class HeldOutReplies(HeldOut[RefinerRow]):
    """A refiner's replies to held-out rows."""

    def metrics(self) -> dict[str, float | None]:
        """Return the numbers that are logged during training; None where one is undefined.

        ``verdict`` is the share of right verdicts and ``helpful`` the share of replies that are right and, where the picture
        does not match, say how to edit it (no blank instruction, none that rewrites the prompt). Both are means of the shares
        over aligned and over misaligned rows, so one verdict for all earns 0.5 at most. ``matches`` and ``invalid`` are
        shares of the replies, ``illusory`` a share of the instructions, ``length_…`` mean tokens by what was said.
        """
        answers = [outcome.answer if isinstance(outcome := parse_r3(text), Parsed) else None for text in self.texts]
        pairs = list(zip(self.rows, answers, strict=True))
        instructions = [each.edit_prompt for each in answers if each is not None and not each.matches]
        numbers: dict[str, float | None] = {
            "helpful": _balanced([(row, _right(row, answer) and _acts(answer)) for row, answer in pairs]),
            "verdict": _balanced([(row, _right(row, answer)) for row, answer in pairs]),
            "matches": fmean(answer is not None and answer.matches for answer in answers),
            "illusory": fmean(illusory(each) is not None for each in instructions) if instructions else None,
            "invalid": fmean(answer is None for answer in answers),
        }
        lengths: dict[str, list[int]] = defaultdict(list)
        for text, tokens in zip(self.texts, self.tokens, strict=True):
            lengths[read_refinement(text).verdict or "invalid"].append(tokens)
        return numbers | {f"length_{verdict}": fmean(tokens) for verdict, tokens in sorted(lengths.items())}


def asked_about(row: RefinerRow) -> tuple[str, Any]:
    """Return the question about a row, and its picture (PIL)."""
    return question_text(row.prompt), opened(row.picture.read_bytes())


def _right(row: RefinerRow, answer: R3Answer | None) -> bool:
    return answer is not None and answer.matches is row.matches


def _acts(answer: R3Answer | None) -> bool:
    """It passes the picture, or says how to edit it."""
    return answer is not None and (
        answer.matches or (bool(answer.edit_prompt.strip()) and illusory(answer.edit_prompt) is None)
    )


def _balanced(flags: Sequence[tuple[RefinerRow, bool]]) -> float | None:
    """Return the mean, over aligned and misaligned rows, of the flagged share; None without rows."""
    kinds = [[flag for row, flag in flags if row.matches is matches] for matches in (True, False)]
    shares = [fmean(kind) for kind in kinds if kind]
    return fmean(shares) if shares else None
