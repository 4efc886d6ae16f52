"""The hierarchical reward of R³-Refiner: a verdict that is right, and an edit after which the policy itself sees a match.

    R_reason = 0.7 [v̂ = v] + 0.1 [<think> block] + 0.2 [JSON object]                                 weight α₁ = 0.25
    R_rect   = P(v̂ = true | P, I¹),  I¹ what a frozen editor makes of â                               weight α₂ = 0.75

Paper 002, section 3.1, Equations 4 and 5, Table 11. What R_rect does where the equations are silent:

    the reply holds no verdict, or a wrong one      0
    a right "matches"                               nothing is edited, I¹ = I⁰: P(v̂ = true | P, I⁰)
    a right "does not match", blank instruction     0
    … that rewrites the prompt (illusory)           0, and the editor is not told
    … that the editor refuses                       as ``refusal`` says
    … when the editor fails                         None for the whole group of that prompt, and counted

Zero for a wrong verdict is the released code's. A lone None would be 0 to TRL, so it is the group that abstains.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Protocol

from salon_rewards import illusory
from salon_taxonomy.answers import Parsed, R3Answer, parse_r3
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Edit, Media
from salon_taxonomy.records import CallStatus
from salon_train.refining.editor_pool import EditorPool
from salon_train.refining.policy_verifier import Verifier

Completion = str | Sequence[Mapping[str, Any]]

STAGE_ONE: Final = 0.25
STAGE_TWO: Final = 0.75
"""α₁ and α₂ of Table 11: the trainer's ``reward_weights``."""


class Refusal(StrEnum):
    """What an instruction is worth that the editor understood to be impossible, or did not understand (``REJECTED``)."""

    ABSTAIN = "abstain"
    """The group abstains, as for a lost call: of a server nobody knows whose fault the refusal is."""
    NOTHING = "nothing"
    """0: of an editor that refuses only what cannot be done, such as ``draw``."""


@dataclass(frozen=True, slots=True)
class ReasonWeights:
    """What the parts of R_reason are worth (Table 11).

    Raises:
        InputError: for a negative weight.
    """

    accuracy: float = 0.7
    think: float = 0.1
    json: float = 0.2

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if not 0 <= getattr(self, name) < float("inf"):
                raise InputError("a weight must be a finite number of 0 or more", column=name, value=getattr(self, name))


class ReasonReward:
    """Stage I, 0 to 1: the verdict and the form of the reply.

    Example:
        >>> reward = ReasonReward()
        >>> said = '<think>A cat.</think>{"answer": true, "explanation": "", "edit_prompt": ""}'
        >>> reward([said, said, "It matches."], matches=[True, False, True])
        [1.0, 0.3, 0.0]
    """

    __name__ = "reason"

    def __init__(self, weights: ReasonWeights = ReasonWeights()) -> None:
        self.weights = weights

    def __call__(self, completions: Sequence[Completion], *, matches: Sequence[bool], **columns: Any) -> list[float]:
        """One reward for each completion.

        Args:
            completions: replies, or messages of which the last is one.
            matches: the true verdict of each.
            columns: whatever else the trainer passes.
        """
        return [self._one(parse_r3(reply_text(said)), truth) for said, truth in zip(completions, matches, strict=True)]

    def _one(self, heard: Any, truth: bool) -> float:
        weights = self.weights
        earned = weights.think * (heard.reasoning is not None)
        if isinstance(heard, Parsed):
            earned += weights.json + weights.accuracy * (heard.answer.matches is truth)
        return round(earned, 9)


@dataclass(slots=True)
class RectificationCounts:
    """What became of the completions that were scored so far.

    Attributes:
        scored: completions that have a reward.
        edited: of these, the editor made a picture.
        illusory: of these, the instruction rewrote the prompt.
        refused: the editor said that it cannot be done.
        failed: calls to the editor that were lost.
        abstained: completions of groups that abstained.
    """

    scored: int = 0
    edited: int = 0
    illusory: int = 0
    refused: int = 0
    failed: int = 0
    abstained: int = 0


class Scorer(Protocol):
    """How good edited pictures are; R_rect's own is the policy's :class:`~.policy_verifier.Verifier`."""

    def __call__(self, prompts: Sequence[str], pictures: Sequence[bytes]) -> Sequence[float | None]:
        """A value of 0 to 1 for each; None where it could not be had."""


class RectificationReward:
    """Stage II, 0 to 1: the instruction is carried out, and the policy looks at what came of it.

    Args:
        editors: who edits.
        verifier: who looks: P(v̂ = true) for prompts and pictures; a ``None`` of it is a failed call.
        refusal: what a refused instruction is worth.
    """

    __name__ = "rectification"

    def __init__(self, editors: EditorPool, verifier: Verifier | Scorer, *, refusal: Refusal = Refusal.ABSTAIN) -> None:
        if refusal not in tuple(Refusal):
            raise InputError("unknown worth of a refusal", column="refusal", value=refusal, allowed=tuple(Refusal))
        self.editors = editors
        self.verifier = verifier
        self.refusal = Refusal(refusal)
        self.counts = RectificationCounts()

    def __call__(
        self,
        completions: Sequence[Completion],
        *,
        asked: Sequence[str],
        picture: Sequence[str | bytes],
        matches: Sequence[bool],
        example_id: Sequence[str],
        log_metric: Callable[[str, float], None] | None = None,
        **columns: Any,
    ) -> list[float | None]:
        """One reward for each completion; None for every member of a group in which a call was lost.

        Args:
            completions: replies, or messages of which the last is one.
            asked: the prompt that the picture was made for.
            picture: the picture's path, or its bytes.
            matches: the true verdict.
            example_id: completions with the same id are one group.
            log_metric: TRL's; gets the shares of what happened.
            columns: whatever else the trainer passes.
        """
        rows = [
            _Row(_instruction(reply_text(said), truth), prompt, _media(shown))
            for said, prompt, shown, truth in zip(completions, asked, picture, matches, strict=True)
        ]
        told = [row for row in rows if isinstance(row.instruction, str) and illusory(row.instruction) is None]
        for row, edit in zip(told, self.editors.carry_out([(row.media, str(row.instruction)) for row in told]), strict=True):
            row.edit = edit
        looked = [row for row in rows if row.shown is not None]
        values = self.verifier([row.prompt for row in looked], [row.shown or b"" for row in looked]) if looked else []
        for row, value in zip(looked, values, strict=True):
            row.value, row.lost = value, value is None
        lost = {name for name, row in zip(example_id, rows, strict=True) if self._lost(row)}
        self._count(rows, example_id, lost, log_metric)
        return [None if name in lost else row.value for name, row in zip(example_id, rows, strict=True)]

    def _lost(self, row: "_Row") -> bool:
        if row.edit is None or row.edit.image is not None:
            return row.lost
        return row.edit.status != CallStatus.REJECTED or self.refusal is Refusal.ABSTAIN

    def _count(
        self,
        rows: "Sequence[_Row]",
        names: Sequence[str],
        lost: set[str],
        log_metric: Callable[[str, float], None] | None,
    ) -> None:
        told = [row for row in rows if isinstance(row.instruction, str)]
        evasive = sum(illusory(str(row.instruction)) is not None for row in told)
        refused = sum(row.edit is not None and row.edit.status == CallStatus.REJECTED for row in rows)
        edited = sum(row.edit is not None and row.edit.image is not None for row in rows)
        failed = sum(row.edit is not None for row in rows) - edited - refused + sum(row.lost for row in rows)
        abstained = sum(name in lost for name in names)
        mine = self.counts
        mine.scored += len(rows) - abstained
        mine.edited += edited
        mine.illusory += evasive
        mine.refused += refused
        mine.failed += failed
        mine.abstained += abstained
        if log_metric is not None and rows:
            log_metric("refiner/edited", edited / len(rows))
            log_metric("refiner/refused", refused / len(rows))
            log_metric("refiner/editor_failed", failed / len(rows))
            log_metric("refiner/abstained", abstained / len(rows))
            if told:
                log_metric("refiner/illusory", evasive / len(told))


@dataclass(slots=True)
class _Row:
    """One completion: what it tells the editor (True: a right "matches", None: nothing that could be paid for)."""

    instruction: str | bool | None
    prompt: str
    media: Media
    edit: Edit | None = None
    value: float | None = 0.0
    lost: bool = False

    @property
    def shown(self) -> bytes | None:
        """The picture to look at; None when there is none."""
        if self.instruction is True:
            return self.media.data
        return None if self.edit is None or self.edit.image is None else _data(self.edit.image)


def reply_text(completion: Completion) -> str:
    """The reply of a completion: itself, or the content of its last message."""
    if isinstance(completion, str):
        return completion
    content = completion[-1]["content"]
    return content if isinstance(content, str) else "".join(part.get("text") or "" for part in content)


def _instruction(reply: str, truth: bool) -> str | bool | None:
    heard = parse_r3(reply)
    if not isinstance(heard, Parsed) or heard.answer.matches is not truth:
        return None
    said: R3Answer = heard.answer
    return True if said.matches else said.edit_prompt.strip() or None


def _media(picture: str | bytes) -> Media:
    return Media.from_bytes(picture if isinstance(picture, bytes) else Path(picture).read_bytes())


def _data(media: Media) -> bytes:
    return media.data if media.data is not None else Path(str(media.uri)).read_bytes()
