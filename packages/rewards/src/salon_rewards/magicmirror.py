"""MagicMirror's multi-level reward: is the answer readable, is the verdict right, are the labels right.

MagicMirror, section 3.1 and appendix A.4, Equations 3 and 5; the constants are those of the released code. A
level pays only when the one above it did:

    format ──► L1 (normal or not) ──► L2 (kinds of artifact) ──► L3 (special cases of the kinds that both name)
      8             4                      2                          1          at most 15; 12 for a normal image

Beside them stands the consistency of reasoning and answer, which another model judges. Where that model gives no
verdict, the total is ``Unscored``: a trainer then leaves the completion (and its group) out instead of paying 0.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Literal, TypeAlias, cast

from salon_rewards.group_mask import Paid
from salon_taxonomy.answers import MAGICMIRROR_MENU, MagicMirrorAnswer, Note, Outcome, Parsed, Unparsed
from salon_taxonomy.answers.reading import thought_letters
from salon_taxonomy.errors import InputError, member_of
from salon_taxonomy.verdict import Reason, Scored, Unscored, Verdict

# Equation 5 in tenths, so that sums of labels are exact: 0.6 for each correct one, 0.3 off for each missed or extra one.
_CORRECT_TENTHS = 6
_WRONG_TENTHS = 3


ReasoningRule: TypeAlias = Literal["content", "paper", "optional"]
LEAST_LETTERS = 2
"""Letters and digits that reasoning needs, two of them different, by the rule ``content``; two are a word in Chinese."""
REASONING_RULES: Mapping[ReasoningRule, str] = MappingProxyType(
    {
        "content": "one <think> block before the answer, with words in it that are not the answer",
        "paper": "a <think> block before the answer; its content does not matter",
        "optional": "none",
    }
)
"""Which reasoning ``format`` asks for. ``paper`` is appendix A.4 to the letter, where another model looks at the content
(the consistency reward); without that model a policy learns to leave the block empty, so ``content`` is the default."""


class ConsistencyMode(StrEnum):
    """What the verdict on consistency does to the total."""

    TERM = "term"
    """It is one more weighted term (Equation 3)."""
    GATE = "gate"
    """An inconsistent completion earns nothing at all ("nullified", appendix A.4); a consistent one what it earned."""


@dataclass(frozen=True, slots=True)
class MagicMirrorWeights:
    """What each component is worth. The first four are the released code's; the last is ours, as the paper prints none.

    Raises:
        InputError: for a weight that is negative or not finite.
    """

    format: float = 8.0
    l1: float = 4.0
    l2: float = 2.0
    l3: float = 1.0
    consistency: float = 1.0

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if not 0 <= getattr(self, name) < math.inf:
                raise InputError("a weight must be a finite number of 0 or more", column=name, value=getattr(self, name))


@dataclass(frozen=True, slots=True)
class MagicMirrorReward:
    """What one completion earned, component by component. Frozen; equal inputs give equal rewards.

    Attributes:
        format: 1.0 when the completion follows the grammar, else 0.0.
        l1: 1.0 when it is right about normal or not.
        l2: from 0 to 1, see :func:`label_score`; 0 for a normal image.
        l3: from 0 to 1, the same over the L3 labels of those L2 that both name; 0 where those have none.
        consistency: ``Scored`` 1.0 or 0.0; ``Unscored`` when the judge gave no verdict; None when no judge was asked.
        total: the weighted sum; ``Unscored`` exactly when it hangs on a verdict on consistency that is not there.
        mode: how consistency entered the total.
        weights: what each component was worth.
        flaw: why ``format`` is 0; None when it is 1.
    """

    format: float
    l1: float
    l2: float
    l3: float
    consistency: Verdict[float] | None
    total: Verdict[float]
    mode: ConsistencyMode
    weights: MagicMirrorWeights
    flaw: Unparsed | None = None

    def as_dict(self) -> dict[str, object]:
        """Return plain values for JSON; a missing component is None beside ``…_unscored``, its reason.

        Example:
            >>> truth = MagicMirrorAnswer(normal=True)
            >>> magicmirror_reward(Parsed(truth, "Fine."), truth).as_dict()["total"]
            12.0
        """
        flaw = None if self.flaw is None else {"reason": str(self.flaw.reason), "detail": self.flaw.detail}
        return {
            "format": self.format,
            "l1": self.l1,
            "l2": self.l2,
            "l3": self.l3,
            "consistency": self.consistency.value if isinstance(self.consistency, Scored) else None,
            "consistency_unscored": str(self.consistency.reason) if isinstance(self.consistency, Unscored) else None,
            "total": self.total.value if isinstance(self.total, Scored) else None,
            "total_unscored": str(self.total.reason) if isinstance(self.total, Unscored) else None,
            "mode": str(self.mode),
            "weights": {name: getattr(self.weights, name) for name in MagicMirrorWeights.__slots__},
            "flaw": flaw,
        }


def magicmirror_reward(
    answer: Outcome[MagicMirrorAnswer],
    truth: MagicMirrorAnswer,
    *,
    consistency: Verdict[bool] | None = None,
    mode: ConsistencyMode = ConsistencyMode.TERM,
    weights: MagicMirrorWeights = MagicMirrorWeights(),
    reasoning: ReasoningRule = "content",
) -> MagicMirrorReward:
    r"""Return the multi-level reward of one completion (MagicMirror, appendix A.4).

    Args:
        answer: the completion as ``parse_magicmirror`` read it.
        truth: what the annotators say.
        consistency: another model's verdict on whether the reasoning supports the answer; None when no judge was asked.
        mode: whether that verdict is a term of the sum or a gate before it.
        weights: what each component is worth.
        reasoning: which reasoning the format asks for, a key of :data:`REASONING_RULES`.

    Raises:
        InputError: for an unknown mode or rule.

    Returns:
        The components and the total: 0 to 15 (12 for a normal image) with the default weights, without consistency.

    Example:
        >>> from salon_taxonomy.answers import Artifact, parse_magicmirror
        >>> truth = MagicMirrorAnswer(False, (Artifact("L2: Abnormal Human Anatomy", ("L3: Hand Structure Deformity",)),))
        >>> answer = parse_magicmirror(
        ...     '<think>A foot has six toes.</think>\\boxed{{"Whether Normal": false, '
        ...     '"Type of Deformity": {"L2: Abnormal Human Anatomy": ["L3: Foot Structure Deformity"]}}}'
        ... )
        >>> reward = magicmirror_reward(answer, truth)
        >>> reward.format, reward.l1, reward.l2, reward.l3, reward.total
        (1.0, 1.0, 1.0, 0.0, Scored(value=14.0))
    """
    mode = member_of(ConsistencyMode, mode, "mode of consistency", column="mode")
    flaw = reasoning_flaw(answer, reasoning_rule(reasoning)) if isinstance(answer, Parsed) else None
    if flaw is not None:
        answer = Unparsed(Reason.MALFORMED, flaw)
    if isinstance(answer, Unparsed):
        # Nothing is paid for, so nothing hangs on consistency; a judge that gave no verdict is reported all the same.
        judged = consistency if isinstance(consistency, Unscored) else None if consistency is None else Scored(0.0)
        return MagicMirrorReward(0.0, 0.0, 0.0, 0.0, judged, Scored(0.0), mode, weights, answer)
    _, l1, l2, l3 = magicmirror_levels(answer.answer, truth)
    earned = weights.format + weights.l1 * l1 + weights.l2 * l2 + weights.l3 * l3
    judged = None if consistency is None else consistency.map(float)
    return MagicMirrorReward(1.0, l1, l2, l3, judged, _total(earned, judged, mode, weights), mode, weights)


def reasoning_flaw(answer: Parsed[MagicMirrorAnswer], rule: ReasoningRule) -> str | None:
    r"""Return what the reasoning of a completion lacks by a rule of :data:`REASONING_RULES`; None if nothing.

    Example:
        >>> from salon_taxonomy.answers import parse_magicmirror
        >>> empty = parse_magicmirror(r'<think>.</think>\boxed{{"Whether Normal": true}}')
        >>> reasoning_flaw(empty, "content")
        'the reasoning holds no words'
        >>> reasoning_flaw(empty, "paper")
    """
    if rule == "optional":
        return None
    if answer.reasoning is None:
        return "there is no <think> block in the reply"
    if Note.ANSWERED_FIRST in answer.notes:
        return "the answer stands before the reasoning"
    if rule == "paper":
        return None
    if Note.THINK_REPEATED in answer.notes:
        return "there is more than one <think> block in the reply"
    letters = thought_letters(answer.reasoning)
    return "the reasoning holds no words" if len(letters) < LEAST_LETTERS or len(set(letters)) == 1 else None


def reasoning_rule(rule: str) -> ReasoningRule:
    """Check the name of a rule.

    Raises:
        InputError: for another name.
    """
    if rule not in REASONING_RULES:
        raise InputError("unknown rule for the reasoning", column="reasoning", value=rule, allowed=REASONING_RULES)
    return cast("ReasoningRule", rule)


def magicmirror_levels(answer: MagicMirrorAnswer, truth: MagicMirrorAnswer) -> tuple[float, float, float, float]:
    """Return format, L1, L2 and L3 of an answer that follows the grammar; the gates between them are applied.

    Example:
        >>> magicmirror_levels(MagicMirrorAnswer(True), MagicMirrorAnswer(True))
        (1.0, 1.0, 0.0, 0.0)
    """
    if answer.normal != truth.normal:
        return 1.0, 0.0, 0.0, 0.0
    if truth.normal:
        return 1.0, 1.0, 0.0, 0.0
    l2 = _l2(answer, truth)
    return 1.0, 1.0, l2, _l3(answer, truth) if l2 else 0.0


def label_score(correct: int, missed: int, extra: int) -> float:
    """Return the score of labels against the truth.

    1 if equal, else 0.6 c − 0.3 (m + e), within 0 and 1.

    MagicMirror, Equation 5, with the constants of the released code. Two empty sets score 0: nothing was found.

    Args:
        correct: c, labels that both have.
        missed: m, labels that only the truth has.
        extra: e, labels that only the answer has.

    Example:
        >>> label_score(1, 0, 0), label_score(1, 1, 0), label_score(1, 1, 1), label_score(2, 0, 1), label_score(0, 0, 0)
        (1.0, 0.3, 0.0, 0.9, 0.0)
    """
    wrong = missed + extra
    if correct > 0 and not wrong:
        return 1.0
    return min(max(_CORRECT_TENTHS * correct - _WRONG_TENTHS * wrong, 0), 10) / 10


def _l2(answer: MagicMirrorAnswer, truth: MagicMirrorAnswer) -> float:
    """Return the L2 reward of an answer that is right about normal or not."""
    labels, true = answer.labels.keys(), truth.labels.keys()
    return label_score(len(labels & true), len(true - labels), len(labels - true))


def _l3(answer: MagicMirrorAnswer, truth: MagicMirrorAnswer) -> float:
    """Return the L3 reward: labels pooled over the L2 that both name; 0 where these have no L3 labels."""
    correct = missed = extra = 0
    for l2 in answer.labels.keys() & truth.labels.keys():
        if MAGICMIRROR_MENU[l2]:
            labels, true = set(answer.labels[l2]), set(truth.labels[l2])
            correct += len(labels & true)
            missed += len(true - labels)
            extra += len(labels - true)
    return label_score(correct, missed, extra)


def with_consistency(earned: float, judged: Paid, mode: ConsistencyMode, weight: float) -> Paid:
    """Return the total of an answer that follows the grammar; where consistency decides nothing, its absence changes nothing.

    Args:
        earned: the weighted sum of the four levels.
        judged: 1 for consistent, 0 for inconsistent, or why the judge gave no verdict.
        mode: whether it is a term of the sum or a gate before it.
        weight: of the term.

    Example:
        >>> with_consistency(12.0, 1.0, ConsistencyMode.TERM, 1.0), with_consistency(12.0, 0.0, ConsistencyMode.GATE, 1.0)
        (13.0, 0.0)
    """
    decides = earned > 0 if mode is ConsistencyMode.GATE else weight > 0
    if not decides:
        return earned
    if isinstance(judged, Unscored):
        return judged
    return earned * judged if mode is ConsistencyMode.GATE else earned + weight * judged


def _total(earned: float, judged: Verdict[float] | None, mode: ConsistencyMode, weights: MagicMirrorWeights) -> Verdict[float]:
    if judged is None:
        return Scored(earned)
    consistency = judged.value if isinstance(judged, Scored) else judged
    total = with_consistency(earned, consistency, mode, weights.consistency)
    if isinstance(total, Unscored):
        return Unscored(total.reason, f"no verdict on consistency: {total.detail or total.reason}", total.raw)
    return Scored(total)
