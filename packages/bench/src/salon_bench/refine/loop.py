"""The reason–reflect–rectify loop and its baselines, as functions over three steps.

    refine      judge ──► matches? stop : editor carries out its instruction ──► judge …   at most ``most_rounds`` edits
    verifier    the same with a judge that was not trained for it
    resubmit    the editor receives the prompt itself, ``most_rounds`` times; no judge is asked
    best_of_n   ``candidates`` edits with other seeds; an external scorer chooses, the first picture among them

R³-Refiner, section 3.1 (the loop, at most two rounds), Table 5 (best of N) and Table 7 (prompt resubmission, pretrained
verifier).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from salon_bench.refine.items import RefineItem
from salon_rewards import illusory
from salon_taxonomy.answers import R3Answer
from salon_taxonomy.errors import InputError
from salon_taxonomy.verdict import Scored, Unscored, Verdict


class Method(StrEnum):
    """How pictures are made better. The value is its name on the command line and in tables."""

    REFINE = "refine"
    VERIFIER = "verifier"
    RESUBMIT = "resubmit"
    BEST_OF_N = "best-of-n"


class Stopped(StrEnum):
    """Why the work on a picture ended."""

    MATCHES = "matches"
    """The judge sees nothing left to change."""
    MAX_ROUNDS = "max_rounds"
    """The last round was used."""
    NO_VERDICT = "no_verdict"
    """The judge, or the scorer, gave no verdict."""
    NO_EDIT = "no_edit"
    """The editor gave no picture."""
    CHOSEN = "chosen"
    """The scorer chose among the candidates."""


@dataclass(frozen=True, slots=True)
class Round:
    """One picture with its verdict, score and edit.

    Attributes:
        number: 0 is the picture that was given.
        picture: the file.
        verdict: what the judge said about it; None when it was not asked.
        score: what the scorer said about it: 0 to 1, or a scorer's own unit, higher is better; None when it was not asked.
        instruction: what the editor was then told; None when it was not.
        edit: the next picture, or the reason against it; None without an instruction.
    """

    number: int
    picture: Path
    verdict: Verdict[R3Answer] | None = None
    score: Verdict[float] | None = None
    instruction: str | None = None
    edit: Verdict[Path] | None = None


@dataclass(frozen=True, slots=True)
class Trace:
    """Everything that happened to one picture.

    Attributes:
        item: what was to be refined.
        rounds: in order, the first about the given picture.
        final: the picture that the method ends with.
        stopped: why it ended.
        checked: the share of the prompt's questions that the first and the final picture answer rightly, or their scores; None
            without a check.
    """

    item: RefineItem
    rounds: tuple[Round, ...]
    final: Path
    stopped: Stopped
    checked: tuple[Verdict[float], Verdict[float]] | None = None

    @property
    def edits(self) -> int:
        """How many pictures were made."""
        return sum(isinstance(each.edit, Scored) for each in self.rounds)

    @property
    def final_round(self) -> int:
        """The number of the round that the final picture is from."""
        return next(each.number for each in self.rounds if each.picture == self.final)

    @property
    def why(self) -> str | None:
        """The reason of the first missing verdict, score or picture; None when nothing is missing."""
        asked = (one for each in self.rounds for one in (each.verdict, each.score, each.edit))
        return next((str(one.reason) for one in asked if isinstance(one, Unscored)), None)

    @property
    def illusory(self) -> int:
        """How many of the judge's instructions rewrite the prompt instead of the picture."""
        answers = [each.verdict.value for each in self.rounds if isinstance(each.verdict, Scored)]
        return sum(not each.matches and illusory(each.edit_prompt) is not None for each in answers)


class RefineSteps(Protocol):
    """What a method may do. Nothing here raises for what a judge or an editor did."""

    async def reflect(self, item: RefineItem, picture: Path, number: int) -> Verdict[R3Answer]:
        """Ask the judge about a picture."""

    async def change(self, item: RefineItem, picture: Path, instruction: str, number: int) -> Verdict[Path]:
        """Have a picture changed; ``number`` is that of the new picture."""

    async def rate(self, item: RefineItem, picture: Path, number: int) -> Verdict[float]:
        """Ask the scorer how much of the prompt a picture shows; higher is better."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How far a method goes.

    Attributes:
        most_rounds: edits one after the other, of ``refine``, ``verifier`` and ``resubmit``; 2 in the paper.
        candidates: edits side by side, of ``best-of-n``.

    Raises:
        InputError: for a number below 1.
    """

    most_rounds: int = 2
    candidates: int = 4

    def __post_init__(self) -> None:
        for name in ("most_rounds", "candidates"):
            if getattr(self, name) < 1:
                raise InputError("must be 1 or more, not", column=name, value=getattr(self, name))


async def refine(item: RefineItem, first: Path, steps: RefineSteps, effort: Effort) -> Trace:
    """Run the reason–reflect–rectify loop; the last picture is judged as well, so the trace says whether it matches."""
    rounds: list[Round] = []
    picture = first
    for number in range(effort.most_rounds + 1):
        verdict = await steps.reflect(item, picture, number)
        if not isinstance(verdict, Scored):
            return _ended(item, rounds, Round(number, picture, verdict), Stopped.NO_VERDICT)
        if verdict.value.matches:
            return _ended(item, rounds, Round(number, picture, verdict), Stopped.MATCHES)
        if number == effort.most_rounds:
            break
        instruction = verdict.value.edit_prompt
        edit = await steps.change(item, picture, instruction, number + 1)
        this = Round(number, picture, verdict, instruction=instruction, edit=edit)
        if not isinstance(edit, Scored):
            return _ended(item, rounds, this, Stopped.NO_EDIT)
        rounds.append(this)
        picture = edit.value
    return _ended(item, rounds, Round(effort.most_rounds, picture, verdict), Stopped.MAX_ROUNDS)


async def resubmit(item: RefineItem, first: Path, steps: RefineSteps, effort: Effort) -> Trace:
    """Tell the editor the prompt itself, again and again."""
    rounds: list[Round] = []
    picture = first
    for number in range(effort.most_rounds):
        edit = await steps.change(item, picture, item.prompt, number + 1)
        this = Round(number, picture, instruction=item.prompt, edit=edit)
        if not isinstance(edit, Scored):
            return _ended(item, rounds, this, Stopped.NO_EDIT)
        rounds.append(this)
        picture = edit.value
    return _ended(item, rounds, Round(effort.most_rounds, picture), Stopped.MAX_ROUNDS)


async def best_of_n(item: RefineItem, first: Path, steps: RefineSteps, effort: Effort) -> Trace:
    """Make candidates and keep the one with the highest score; the earliest among equals, the given picture before all.

    A candidate without a score is not chosen; when nothing has a score, the given picture stays.
    """
    rounds = [Round(0, first, score=await steps.rate(item, first, 0))]
    for number in range(1, effort.candidates + 1):
        edit = await steps.change(item, first, item.prompt, number)
        if isinstance(edit, Scored):
            score = await steps.rate(item, edit.value, number)
            rounds.append(Round(number, edit.value, score=score, instruction=item.prompt, edit=edit))
        else:
            rounds.append(Round(number, first, instruction=item.prompt, edit=edit))
    scored = [(each.score.value, -each.number, each.picture) for each in rounds if isinstance(each.score, Scored)]
    final = max(scored)[2] if scored else first
    return Trace(item, tuple(rounds), final, Stopped.CHOSEN if scored else Stopped.NO_VERDICT)


class Work(Protocol):
    """A method as a function."""

    async def __call__(self, item: RefineItem, first: Path, steps: RefineSteps, effort: Effort) -> Trace:
        """Work on one picture."""


METHODS: Mapping[Method, Work] = {
    Method.REFINE: refine,
    Method.VERIFIER: refine,
    Method.RESUBMIT: resubmit,
    Method.BEST_OF_N: best_of_n,
}
"""Every method by its name."""


def _ended(item: RefineItem, rounds: list[Round], last: Round, why: Stopped) -> Trace:
    return Trace(item, (*rounds, last), last.picture, why)
