"""R³-Refiner's rewards: verdict, form of reasoning and answer, the edited picture, and both stages together.

R³-Bench, section 3.1, Equations 4 and 5, and Table 11: R = α₁·R_reason + α₂·R_rect. ``fidelity="released"`` is the released
code's rule with three defects fixed: a reply without a verdict earns 0 for its edit, a failed editor leaves no reward instead
of a low one, and an invalid item does not change other items' rewards.
"""

import asyncio
import inspect
import re
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final, Literal, Protocol, TypeAlias, get_args

from salon_judges.asking.asker import in_time
from salon_rewards.batch import GRAMMARS, Batch
from salon_rewards.callables.reward import AskingReward, RuleReward
from salon_rewards.group_mask import NO_TRUTH, Abstention, Component, Paid
from salon_rewards.illusory_edits import illusory
from salon_rewards.judge_batching import check_limits
from salon_rewards.pictures import picture
from salon_taxonomy.answers import Parsed, R3Answer
from salon_taxonomy.answers.reading import thought_letters
from salon_taxonomy.errors import InputError, member_of
from salon_taxonomy.protocols import Editor, Media
from salon_taxonomy.verdict import Reason, Unscored


@dataclass(frozen=True)
class VerdictReward(RuleReward):
    """Pay 1 when the completion's verdict on the picture (R³) is the annotated one, else 0.

    A completion without a verdict earns 0.

    Source: R³-Bench, Equation 4, the term with λ_acc. Range: 0 or 1. Column: ``matches``.

    Attributes:
        truth: the column that says whether the picture matches its prompt: true or false; a row with None has no reward.

    Example:
        >>> reply = '{"answer": false, "explanation": "Two lemons.", "edit_prompt": "Add a lemon."}'
        >>> VerdictReward()([reply, reply, "It does not match."], matches=[False, True, False])
        [1.0, 0.0, 0.0]
    """

    truth: str = "matches"
    __name__: ClassVar[str] = "verdict"
    pays_for: ClassVar[str] = "right about whether the picture shows what was asked for"
    published_in: ClassVar[str] = "R³-Bench, Eq. 4"
    columns: ClassVar[tuple[str, ...]] = ("matches",)

    def score(self, batch: Batch) -> list[Paid]:
        """1.0 or 0.0 for each completion."""
        return [
            NO_TRUTH if true is None else float(isinstance(said, Parsed) and said.answer.matches is true)
            for said, true in zip(batch.said("r3"), batch.verdicts(self.truth), strict=True)
        ]


_TAG: Final = re.compile(r"<(/?)think>", re.IGNORECASE)


@dataclass(frozen=True)
class ThinkReward(RuleReward):
    r"""Pay 1 when the completion is one ``<think>…</think>`` block and then an answer, else 0.

    The block opens the completion, is the only one, holds at least ``least_characters`` letters and digits outside of braces,
    and something stands behind it.

    Source: R³-Bench, Table 11 (think format, weight 0.1) and its template, Figure 17. Range: 0 or 1.

    Attributes:
        least_characters: letters and digits that the block needs outside of braces (an answer in it counts as none); with 0
            an empty block will do.
        opened_by_prompt: whether the chat template has written ``<think>`` already, so that the completion begins within.

    Raises:
        InputError: for a negative number of characters.

    Example:
        >>> ThinkReward()(["<think>Two lemons.</think>No.", "No.", "<think></think>No.", "<think>Two lemons.</think>"])
        [1.0, 0.0, 0.0, 0.0]
        >>> ThinkReward(opened_by_prompt=True)(["Two lemons.</think>No."])
        [1.0]
    """

    least_characters: int = 1
    opened_by_prompt: bool = False
    __name__: ClassVar[str] = "think"
    pays_for: ClassVar[str] = "one block of reasoning, then an answer"
    published_in: ClassVar[str] = "R³-Bench, Table 11"

    def __post_init__(self) -> None:
        if self.least_characters < 0:
            raise InputError("must be 0 or more", column="least_characters", value=self.least_characters)

    def score(self, batch: Batch) -> list[Paid]:
        """1.0 or 0.0 for each completion."""
        return [1.0 if self._thinks(text) else 0.0 for text in batch.texts]

    def _thinks(self, text: str) -> bool:
        pieces = _TAG.split(text, maxsplit=3)
        tags = pieces[1::2]
        if self.opened_by_prompt and tags == ["/"]:
            thought, answer = pieces[0], pieces[2]
        elif tags == ["", "/"] and not pieces[0].strip():
            thought, answer = pieces[2], pieces[4]
        else:
            return False
        return len(thought_letters(thought)) >= self.least_characters and bool(answer.strip())


@dataclass(frozen=True)
class JsonReward(RuleReward):
    """Pay 1 when the completion's answer is the JSON that was asked for, else 0; reasoning does not matter.

    Source: R³-Bench, Table 11 (JSON format, weight 0.2) and its template, Figure 17. Range: 0 or 1.

    Attributes:
        grammar: ``r3``, ``magicmirror`` or ``prism``.

    Raises:
        InputError: for another grammar.

    Example:
        >>> JsonReward()(['{"answer": true, "explanation": "", "edit_prompt": ""}', '{"answer": "maybe"}', "It matches."])
        [1.0, 0.0, 0.0]
    """

    grammar: str = "r3"
    __name__: ClassVar[str] = "json"
    pays_for: ClassVar[str] = "the answer is the JSON that was asked for"
    published_in: ClassVar[str] = "R³-Bench, Table 11"

    def __post_init__(self) -> None:
        if self.grammar not in GRAMMARS:
            raise InputError("unknown grammar", column="grammar", value=self.grammar, allowed=GRAMMARS)

    def score(self, batch: Batch) -> list[Paid]:
        """1.0 or 0.0 for each completion."""
        return [1.0 if isinstance(said, Parsed) else 0.0 for said in batch.said(self.grammar)]


Probabilities: TypeAlias = Sequence[float | Unscored]
Refusal: TypeAlias = Literal["abstain", "zero", "unchanged"]
"""What an instruction earns that the editor refuses."""
Illusory: TypeAlias = Literal["executed", "zero"]
"""Whether an instruction that rewrites the prompt is executed (Equation 5), or earns 0."""


class Certainty(Protocol):
    """How sure a policy is that pictures show what was asked for."""

    def __call__(self, prompts: Sequence[str], pictures: Sequence[Media]) -> Probabilities | Awaitable[Probabilities]:
        """Return P(verdict = true | prompt, picture) of each pair, 0 to 1, or why it is missing. May be a coroutine."""


@dataclass(frozen=True)
class RectificationReward(AskingReward):
    """Pay the policy's probability that the edited picture matches the prompt.

    | the completion                                            | earns                                      |
    | --------------------------------------------------------- | ------------------------------------------ |
    | is in no grammar, or its verdict is wrong                 | 0                                          |
    | rightly says that the picture matches                     | P(true, prompt, the picture as it is)      |
    | gives a blank instruction                                 | 0                                          |
    | gives an illusory instruction                             | as ``illusory`` says                       |
    | gives an instruction, and the editor carries it out       | P(true, prompt, the edited picture)        |
    | gives an instruction, and the editor or the policy fails  | no reward; the group abstains              |
    | gives an instruction that the editor refuses              | as ``refusal`` says                        |

    Source: R³-Bench, Equation 5. That a wrong verdict earns nothing here is the released code's rule: otherwise
    "it matches" would be paid by its own certainty; ``truth=None`` leaves this rule out. Range: 0 to 1.
    Columns: ``images``, ``text_prompt``, ``matches``.

    Attributes:
        editor: carries the instructions out.
        certainty: gives the probabilities; asked once for a whole batch.
        image: the column with the pictures that are looked at.
        prompt: the column with the texts that the pictures were to show (not the chat prompt).
        truth: the column that says whether a picture matches; None: wrong verdicts are not told from right ones.
        seed: passed to the editor.
        concurrency: how many edits are made side by side.
        timeout_s: how long one may take, in seconds.
        refusal: what a refused instruction earns. ``abstain``: its group abstains, as after a failed edit. ``zero``: 0, for
            editors that refuse only what cannot be done (``draw``). ``unchanged``: P(true) of the picture as it is, as with
            an editor that always returns a picture.
        illusory: what an instruction earns that :func:`~salon_rewards.illusory` finds to rewrite the prompt. ``executed``: it
            goes to the editor like any other (Equation 5). ``zero``: 0, and the editor is not called (ours).
        abstention: who abstains when the editor fails.
        group_size: how many completions each group has; None: told by the columns, see ``Batch.groups``.

    Raises:
        InputError: for an unknown mode of abstention, refusal or illusory, or a number that is not above 0.

    Example:
        >>> import asyncio
        >>> from dataclasses import replace
        >>> from salon_taxonomy.protocols import Edit, Media
        >>> class Painter:
        ...     name, version = "painter", "1"
        ...     async def edit(self, image, instruction, *, seed=None):
        ...         return Edit(Media.from_bytes(instruction.encode()))
        >>> reward = RectificationReward(Painter(), lambda prompts, pictures: [0.9] * len(pictures))
        >>> replies = ['{"answer": false, "explanation": "Two lemons.", "edit_prompt": "' + edit + '"}'
        ...            for edit in ("Add a lemon on the right.", "Change the prompt to two lemons.")]
        >>> columns = {"images": [b"", b""], "text_prompt": ["Three lemons."] * 2, "matches": [False] * 2}
        >>> asyncio.run(reward(replies, **columns))
        [0.9, 0.9]
        >>> asyncio.run(replace(reward, illusory="zero")(replies, **columns))
        [0.9, 0.0]
    """

    editor: Editor = field(repr=False)
    certainty: Certainty = field(repr=False)
    image: str = "images"
    prompt: str = "text_prompt"
    truth: str | None = "matches"
    seed: int | None = 0
    concurrency: int = 8
    timeout_s: float | None = 300.0
    refusal: Refusal = "abstain"
    illusory: Illusory = "executed"
    abstention: Abstention = Abstention.GROUP
    group_size: int | None = None
    __name__: ClassVar[str] = "rectification"
    pays_for: ClassVar[str] = "R³-Refiner's second stage: the policy's certainty about the picture that its instruction led to"
    published_in: ClassVar[str] = "R³-Bench, Eq. 5"
    columns: ClassVar[tuple[str, ...]] = ("matches", "images", "text_prompt")
    asks: ClassVar[str] = "editor"

    def __post_init__(self) -> None:
        object.__setattr__(self, "abstention", member_of(Abstention, self.abstention, "abstention", column="abstention"))
        for name, kinds in (("refusal", get_args(Refusal)), ("illusory", get_args(Illusory))):
            if getattr(self, name) not in kinds:
                raise InputError("unknown rule", column=name, value=getattr(self, name), allowed=kinds)
        check_limits(concurrency=self.concurrency, timeout_s=self.timeout_s)

    async def verdicts(self, batch: Batch) -> list[Paid]:
        """Return what each completion earned for itself."""
        prompts, images = batch.column(self.prompt), batch.column(self.image)
        truths = [None] * len(batch) if self.truth is None else batch.verdicts(self.truth)
        answers = {
            at: said.answer
            for at, (said, true) in enumerate(zip(batch.said("r3"), truths, strict=True))
            if isinstance(said, Parsed) and self._judged(said.answer, true)
        }
        slots = asyncio.Semaphore(self.concurrency)
        before = {at: picture(images[at], row=at + 1, column=self.image) for at in answers}
        after = await asyncio.gather(*(self._after(answer, before[at], slots) for at, answer in answers.items()))
        paid: list[Paid] = [0.0] * len(batch)
        to_score: list[tuple[int, Media]] = []
        for at, image in zip(answers, after, strict=True):
            refused = isinstance(image, Unscored) and image.reason is Reason.REJECTED
            if refused and self.refusal == "unchanged":
                image = before[at]
            if isinstance(image, Unscored):
                paid[at] = 0.0 if refused and self.refusal == "zero" else image
            else:
                to_score.append((at, image))
        probabilities = await self._probabilities([str(prompts[at]) for at, _ in to_score], [image for _, image in to_score])
        for (at, _), probability in zip(to_score, probabilities, strict=True):
            paid[at] = probability
        return paid

    def _judged(self, answer: R3Answer, true: bool | None) -> bool:
        """Return whether the answer earns what the policy thinks of a picture, and not 0 by rule."""
        if true is not None and answer.matches is not true:
            return False
        if answer.matches:
            return True
        return bool(answer.edit_prompt.strip()) and (self.illusory == "executed" or illusory(answer.edit_prompt) is None)

    async def _after(self, answer: R3Answer, image: Media, slots: asyncio.Semaphore) -> Media | Unscored:
        """Return the picture that is left when the answer's instruction has been carried out."""
        if answer.matches:
            return image
        async with slots:
            edit = await in_time(self.editor.edit(image, answer.edit_prompt, seed=self.seed), self.timeout_s, "picture")
        return edit if isinstance(edit, Unscored) else edit.image or edit.problem() or _NO_PICTURE

    async def _probabilities(self, prompts: list[str], pictures: list[Media]) -> list[Paid]:
        if not pictures:
            return []
        returned = self.certainty(prompts, pictures)
        probabilities = await returned if inspect.isawaitable(returned) else returned
        if len(probabilities) != len(pictures):
            raise InputError(f"needs {len(pictures)} probabilities, not", column="certainty", value=len(probabilities))
        return [each if isinstance(each, Unscored) else _probability(float(each)) for each in probabilities]


_NO_PICTURE: Final = Unscored(Reason.BAD_MEDIA, "the editor gave no picture")


def _probability(value: float) -> Paid:
    return value if 0 <= value <= 1 else Unscored(Reason.OFF_MENU, f"{value:g} is no probability")


Fidelity: TypeAlias = Literal["paper", "released"]
"""Whose rule: what the paper prints, or what its code does."""

_REASON_HUNDREDTHS: Final = {"paper": (70, 10, 20), "released": (90, 10, 0)}
_STAGE_WEIGHTS: Final = {"paper": (0.25, 0.75), "released": (0.2, 0.8)}


@dataclass(frozen=True)
class ReasoningReward(RuleReward):
    """Pay stage I: the verdict, the form of the reasoning, the form of the answer.

    The weights are 0.7, 0.1 and 0.2.

    Source: R³-Bench, Equation 4 and Table 11; as released 0.9 for the verdict and 0.1 for the reasoning. Range: 0 to 1.
    Column: ``matches``.

    Attributes:
        fidelity: ``paper`` or ``released``.
        truth: the column that says whether the picture matches its prompt; a row with None has no reward.

    Raises:
        InputError: for another fidelity.

    Example:
        >>> replies = ['<think>Two.</think>{"answer": true}', '{"answer": true}', '<think>Two.</think>{"answer": false}']
        >>> ReasoningReward()(replies, matches=[True, True, True])
        [1.0, 0.9, 0.1]
    """

    fidelity: Fidelity = "paper"
    truth: str = "matches"
    __name__: ClassVar[str] = "reasoning"
    pays_for: ClassVar[str] = "R³-Refiner's first stage: verdict, form of the reasoning, form of the answer"
    published_in: ClassVar[str] = "R³-Bench, Eq. 4, Table 11"
    columns: ClassVar[tuple[str, ...]] = ("matches",)

    def __post_init__(self) -> None:
        _known(self.fidelity)

    def score(self, batch: Batch) -> list[Paid]:
        """Return the weighted sum of each completion."""
        for_verdict, for_think, for_json = _REASON_HUNDREDTHS[self.fidelity]
        return [
            right
            if isinstance(right, Unscored)
            else (for_verdict * bool(right) + for_think * bool(thinks) + for_json * bool(formed)) / 100
            for right, thinks, formed in zip(*(each.paid for each in self.terms(batch)), strict=True)
        ]

    def terms(self, batch: Batch) -> tuple[Component, ...]:
        """Return verdict, think format and JSON format, each 0 or 1, with their weights (the λ of Equation 4)."""
        parts = (VerdictReward(self.truth), ThinkReward(), JsonReward())
        hundredths = _REASON_HUNDREDTHS[self.fidelity]
        return tuple(
            Component(part.__name__, weight / 100, tuple(part.score(batch)))
            for part, weight in zip(parts, hundredths, strict=True)
        )


@dataclass(frozen=True)
class HierarchicalReward(RectificationReward):
    """Pay for both stages: α₁ · :class:`ReasoningReward` + α₂ · :class:`RectificationReward`.

    Stage II as released: 0 for a wrong verdict, ``json_share`` for a right "it matches", and ``json_share`` plus the rest
    times the edit's score for a right "it does not".

    Source: R³-Bench, section 3.1 and Table 11 (α₁ = 0.25, α₂ = 0.75); as released 0.2 and 0.8. Range: 0 to 1.
    Columns: ``matches``, ``images``, ``text_prompt``.

    Attributes:
        fidelity: ``paper`` or ``released``; as released, the certainty is a share of yes answers.
        stage_weights: (α₁, α₂); None: those of the fidelity.
        json_share: of stage II, for the form of the answer; as released only. Its value is ours.

    The other attributes are those of :class:`RectificationReward`; ``truth`` is required.

    Raises:
        InputError: for an unknown fidelity, refusal or illusory, or a weight that is negative or not finite.

    Example:
        >>> import asyncio
        >>> from salon_taxonomy.protocols import Edit, Media
        >>> class Painter:
        ...     name, version = "painter", "1"
        ...     async def edit(self, image, instruction, *, seed=None):
        ...         return Edit(Media.from_bytes(instruction.encode()))
        >>> reply = '<think>Two.</think>{"answer": false, "explanation": "Two lemons.", "edit_prompt": "Add a lemon."}'
        >>> columns = {"matches": [False], "images": [b""], "text_prompt": ["Three lemons."]}
        >>> reward = HierarchicalReward(Painter(), lambda prompts, pictures: [0.8] * len(pictures))
        >>> print(round(asyncio.run(reward([reply], **columns))[0], 6))
        0.85
    """

    truth: str = "matches"
    fidelity: Fidelity = "paper"
    stage_weights: tuple[float, float] | None = None
    json_share: float = 0.05
    __name__: ClassVar[str] = "hierarchical"
    pays_for: ClassVar[str] = "both stages of R³-Refiner: the verdict, and what the edit instruction leads to"
    published_in: ClassVar[str] = "R³-Bench, Eq. 4 and 5, Table 11"

    def __post_init__(self) -> None:
        super().__post_init__()
        _known(self.fidelity)
        weights = _STAGE_WEIGHTS[self.fidelity] if self.stage_weights is None else tuple(self.stage_weights)
        if len(weights) != 2 or not all(0 <= weight < float("inf") for weight in weights):
            raise InputError("needs two finite numbers of 0 or more", column="stage_weights", value=weights)
        if not 0 <= self.json_share <= 1:
            raise InputError("must lie between 0 and 1", column="json_share", value=self.json_share)
        object.__setattr__(self, "stage_weights", weights)

    async def verdicts(self, batch: Batch) -> list[Paid]:
        """Return the weighted sum of both stages of each completion."""
        first = ReasoningReward(self.fidelity, self.truth).score(batch)
        second = await super().verdicts(batch)
        if self.fidelity == "released":
            second = [
                each if isinstance(each, Unscored) else self._released(right, said, each)
                for right, said, each in zip(VerdictReward(self.truth).score(batch), batch.said("r3"), second, strict=True)
            ]
        low, high = self.stage_weights or _STAGE_WEIGHTS[self.fidelity]
        return [
            one if isinstance(one, Unscored) else other if isinstance(other, Unscored) else low * one + high * other
            for one, other in zip(first, second, strict=True)
        ]

    def _released(self, right: Paid, outcome: object, edited: float) -> float:
        if isinstance(right, Unscored) or not right or not isinstance(outcome, Parsed):
            return 0.0
        return self.json_share if outcome.answer.matches else self.json_share + (1 - self.json_share) * edited


def _known(fidelity: str) -> None:
    if fidelity not in _STAGE_WEIGHTS:
        raise InputError("unknown fidelity", column="fidelity", value=fidelity, allowed=_STAGE_WEIGHTS)
