"""Reasoning–answer contradiction: a thought that says one thing before an answer that says another.

MagicMirror, section 3.1, pays for the two agreeing, and asks another model. This is the cheap half of that
question, for watching: it reads what a reasoning claims by a lexicon (``lexicon.py``), with negation, suppositions and
conclusions, and says nothing where it is unsure.

    reasoning ──► clauses ──► claims (flawed, of which kinds | sound) ──► the reading ──► against the answer's labels

A refiner's thought claims that the picture shows what was asked for, or that it does not (``match_claims.py``); what it is held
against is the verdict.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from salon_rewards.monitors.batch import Answer, StepBatch
from salon_rewards.monitors.clauses import clauses
from salon_rewards.monitors.lexicon import (
    CONCLUSIONS,
    COUNTS,
    FLAWS,
    NEGATORS,
    NUMBERS,
    ORDINALS,
    OTHER,
    PARTS,
    PHRASES,
    SOUND,
    SUBJECTS,
    TELLING,
    UNASSERTED,
)
from salon_rewards.monitors.match_claims import claimed_match
from salon_rewards.monitors.pool import PooledMonitor
from salon_rewards.monitors.reading import Reading, Thresholds
from salon_taxonomy.answers import MagicMirrorAnswer, R3Answer  # noqa: F401 - the first is in the examples

LONGEST_REASONING: Final = 2_000
"""Characters; of longer reasonings the last so many are read, as conclusions stand at the end."""
MOST_REASONINGS: Final = 128
"""Of more in one reading, every second, third, … is looked at."""
FALSE_POSITIVE_RATE: Final = 0.1
"""How often the reader may be mistaken about a reasoning that agrees with its answer: the upper end for the labelled set."""
_REACH: Final = 5
"""Words that a negation reaches over."""


class Contradiction(StrEnum):
    """In which way a reasoning contradicts its answer."""

    SOUND = "sound"
    """The reasoning finds nothing wrong, and the answer says that something is (R³: that the picture does not match)."""
    FLAWED = "flawed"
    """The reasoning finds something wrong, and the answer says that nothing is (R³: that the picture matches)."""
    OTHER_KIND = "other_kind"
    """The reasoning finds something wrong with other things than the answer names."""


@dataclass(frozen=True, slots=True)
class FaultClaim:
    """What a reasoning claims.

    Attributes:
        flawed: that something is wrong; False: that nothing is; None: nothing that could be read.
        kinds: the L2 labels that its flaws may belong to; empty where that could not be read.
    """

    flawed: bool | None
    kinds: frozenset[str] = frozenset()


def claimed(reasoning: str) -> FaultClaim:
    """Return what a reasoning claims about its picture, as far as a lexicon can tell.

    Example:
        >>> claimed("The hand has six fingers.")
        FaultClaim(flawed=True, kinds=frozenset({'L2: Abnormal Human Anatomy'}))
        >>> claimed("No deformed hands; the light is natural.").flawed
        False
        >>> claimed("A street with two cars.").flawed
    """
    flawed: bool | None = None
    kinds: set[str] = set()
    subjects: set[str] = set()
    for clause in clauses(reasoning[-LONGEST_REASONING:].lower().replace("’", "'")):
        here = {SUBJECTS[word] for word in clause if word in SUBJECTS}
        says, implied = _says(clause)
        concludes = not CONCLUSIONS.isdisjoint(clause)
        if says is False:
            if concludes:
                flawed, kinds = False, set()
            elif flawed is None:
                flawed = False
        elif says:
            flawed = True
            kinds |= implied | (here or (subjects if not implied else set()))
        if here:
            subjects = here
    return FaultClaim(flawed, frozenset(kinds) if flawed else frozenset())


def contradiction(reasoning: str, answer: Answer) -> Contradiction | None:
    """Return how a reasoning contradicts the answer after it; None where it does not, or where it is unclear.

    Example:
        >>> str(contradiction("The hand has six fingers.", MagicMirrorAnswer(normal=True)))
        'flawed'
        >>> contradiction("Five fingers on each hand; all is natural.", MagicMirrorAnswer(normal=True))
        >>> str(contradiction("The second lemon is missing.", R3Answer(matches=True)))
        'flawed'
    """
    if isinstance(answer, R3Answer):
        matches = claimed_match(reasoning)
        if matches is None or matches == answer.matches:
            return None
        return Contradiction.FLAWED if answer.matches else Contradiction.SOUND
    claim = claimed(reasoning)
    if claim.flawed is None:
        return None
    if claim.flawed == answer.normal:
        return Contradiction.FLAWED if answer.normal else Contradiction.SOUND
    named = answer.labels.keys()
    if claim.kinds and named and OTHER not in named and claim.kinds.isdisjoint(named) and OTHER not in claim.kinds:
        return Contradiction.OTHER_KIND
    return None


class ReasoningContradiction(PooledMonitor[Contradiction | None]):
    """The share of completions whose reasoning contradicts their labels or their verdict, as :func:`contradiction` finds them.

    A gauge, not a judge: it misses part of them (see the docs for what it finds of a labelled set). An alarm also needs the
    lower end of Wilson's interval, over pictures, to be above the reader's own mistakes.

    Args:
        warn: 0.2: twice what those mistakes explain.
        stop: 0.5: every second thought has nothing to do with what is answered.

    Example:
        >>> text = r'<think>The hand has six fingers.</think>\\boxed{{"Whether Normal": true}}'
        >>> seen = ReasoningContradiction().look(StepBatch.read([text] * 40, step=0))
        >>> seen.value, seen.detail
        (1.0, 'reasoning against answer: 0 sound, 40 flawed, 0 other_kind of 40')
    """

    name = "reasoning_contradiction"
    own = Thresholds(0.2, 0.5)

    def look(self, batch: StepBatch) -> Reading:
        """Return the reading of one step."""
        whole = [
            (item.group, item.reasoning, item.answer)
            for item in batch.completions
            if item.reasoning is not None and item.answer is not None
        ]
        looked_at = whole[:: -(-len(whole) // MOST_REASONINGS)] if whole else whole
        return self._detected(
            batch,
            [((batch.step, group), contradiction(text, answer)) for group, text, answer in looked_at],
            what="completions with reasoning and answer",
            false_positive_rate=FALSE_POSITIVE_RATE,
            unreadable=len(batch.completions) - len(whole),
            detail=_counted,
        )


def _counted(share: float, contradictions: Sequence[Contradiction | None]) -> str:
    counts = ", ".join(f"{contradictions.count(kind)} {kind}" for kind in Contradiction)
    return f"reasoning against answer: {counts} of {len(contradictions)}"


def _says(clause: list[str]) -> tuple[bool | None, set[str]]:
    """Return whether a clause says that something is wrong (with the kinds its words imply), that all is well, or neither."""
    if TELLING.isdisjoint(clause) or not UNASSERTED.isdisjoint(clause):
        return None, set()
    flawed, sound = False, False
    implied: set[str] = set()
    reach = 0
    for index, word in enumerate(clause):
        if word not in TELLING:
            reach -= 1
            continue
        if word in NEGATORS:
            reach = _REACH + 1
            if word in ("no", "without") and index + 1 < len(clause) and clause[index + 1] in PARTS:
                flawed = True
                reach = 0
            continue
        reach -= 1
        following = clause[index + 1] if index + 1 < len(clause) else ""
        kind: str | None = None
        if word in FLAWS:
            marks, kind = True, FLAWS[word]
        elif (word, following) in PHRASES:
            marks, kind = True, PHRASES[word, following]
        elif (word, following) in ORDINALS:
            marks = True
        elif word in NUMBERS and following in COUNTS and NUMBERS[word] in COUNTS[following][1]:
            marks, kind = True, COUNTS[following][0]
        elif word in SOUND:
            if reach > 0:
                flawed = True
            else:
                sound = True
            continue
        else:
            continue
        if marks and reach > 0:
            sound = True
        else:
            flawed = True
            implied |= {kind} if kind is not None else set()
    return (True, implied) if flawed else (False, set()) if sound else (None, set())
