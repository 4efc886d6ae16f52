"""A scorer of pictures or videos as a reward: ``make_reward("scorer:mypkg.metrics:clip_score")``, by the text of any scorer.

The entry point ``scorer`` of the group ``salon.reward_sources``. The same function, loaded and checked by the same code, is a
suite of salon-bench (``salon bench run scorer``), so a reward is the number that the benchmark reports.
"""

import asyncio
import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from salon_rewards.batch import Batch
from salon_rewards.callables.prism import asked_for
from salon_rewards.callables.reward import AskingReward
from salon_rewards.group_mask import Abstention, Paid
from salon_rewards.pictures import picture_or_video, shown, video
from salon_taxonomy.errors import InputError, member_of
from salon_taxonomy.records import MediaKind
from salon_taxonomy.scorers import IMAGES, SEVERAL, CheckedScorer, open_scorer
from salon_taxonomy.verdict import Scored, Unscored

VIDEOS: Final = "videos"
"""The column with the videos of a batch."""


@dataclass(frozen=True)
class ScorerReward(AskingReward):
    """Pay a scorer's score of the picture or video of each row; the completions do not matter.

    Columns: ``images`` (paths, bytes, PIL images), of a scorer of videos ``videos`` (those of files, or lists of frames), then
    ``prompts``, and of ``sources``, ``references``, ``masks`` and ``first_frames`` those that the scorer takes; of a scorer of
    videos, sources and references may be videos, too. Range: that of the scorer, negated where lower is better; 0 to 1 with
    ``scale``.

    Attributes:
        scorer: gives the scores, in batches of its own size.
        image: the column with a picture or video for each completion; empty: ``images``, or ``videos`` of a scorer of videos.
        prompt: the column with the text that each picture was made for, texts or chats, whose last message counts.
        scale: lowest and highest score, which become 0 and 1 (1 and 0 where lower is better); None: the score as it is.
        abstention: who abstains when a picture has no score.
        group_size: how many pictures each group has; None: told by the columns.
        specification: the text that the scorer was loaded by; None for one that was given as an object.

    Raises:
        InputError: for a wrong scale or an unknown abstention.

    Example:
        >>> import asyncio
        >>> from PIL import Image
        >>> from salon_taxonomy.scorers import checked_scorer
        >>> def brightness(images, prompts):
        ...     return [image.convert("L").resize((1, 1)).getpixel((0, 0)) for image in images]
        >>> brightness.version = "1"
        >>> reward = ScorerReward(checked_scorer(brightness), scale=(0, 255))
        >>> asyncio.run(reward(["", ""], images=[Image.new("RGB", (8, 8), c) for c in ("white", "black")], prompts=["a", "b"]))
        [1.0, 0.0]
    """

    scorer: CheckedScorer
    image: str = ""
    prompt: str = "prompts"
    scale: tuple[float, float] | None = None
    abstention: Abstention = Abstention.GROUP
    group_size: int | None = None
    specification: str | None = None
    __name__: ClassVar[str] = "scorer"

    def __post_init__(self) -> None:
        if self.scale is not None and not float("-inf") < self.scale[0] < self.scale[1] < float("inf"):
            raise InputError("needs two finite numbers, the lower first", column="scale", value=self.scale)
        object.__setattr__(self, "image", self.image or (VIDEOS if self.scorer.of_videos else IMAGES))
        object.__setattr__(self, "abstention", member_of(Abstention, self.abstention, "abstention", column="abstention"))
        object.__setattr__(self, "__name__", f"scorer:{self.scorer.name}")
        needed = (each for each in self.scorer.takes[1:] if each not in self.scorer.optional)
        object.__setattr__(self, "columns", (self.image, self.prompt, *needed))

    @property
    def takes(self) -> tuple[str, ...]:
        """The columns of media that it looks at: ``images`` or ``videos`` (or what ``image`` names), then those beside."""
        return (self.image, *self.scorer.takes[1:])

    @property
    def versions(self) -> tuple[str, ...]:
        """The version of the scorer."""
        return (self.scorer.version,)

    async def verdicts(self, batch: Batch) -> list[Paid]:
        """Return what the scorer gives each picture or video, or why it gives nothing."""
        results, prompts = batch.column(self.image), [asked_for(prompt) for prompt in batch.column(self.prompt)]
        optional = {name for name in self.scorer.optional if batch.columns.get(name) is None}
        beside = {name: batch.column(name) for name in self.scorer.takes[1:] if name not in optional}
        paid: list[Paid] = []
        for start in range(0, len(results), self.scorer.batch):
            rows = range(start, min(start + self.scorer.batch, len(results)))
            opened, others = await asyncio.to_thread(self._opened, rows, results, beside)
            scores = await self.scorer.score(opened, prompts[rows.start : rows.stop], others)
            paid += [self._worth(each.value) if isinstance(each, Scored) else each for each in scores]
        return paid

    def _opened(
        self, rows: range, results: Sequence[Any], beside: Mapping[str, Sequence[Any]]
    ) -> tuple[list[Any], dict[str, list[Any]]]:
        """Return the media of some rows as the scorer takes them."""
        opened = [self._result(results[row], row + 1) for row in rows]
        return opened, {name: [self._beside(values[row], row + 1, name) for row in rows] for name, values in beside.items()}

    def _result(self, value: Any, row: int) -> Any:
        if isinstance(value, Unscored):
            return value
        if self.scorer.of_videos:
            return video(value, frames_per_second=self.scorer.frames_per_second, row=row, column=self.image)
        if (isinstance(value, list | tuple) and len(value) > 1) or getattr(value, "kind", None) == MediaKind.VIDEO:
            hint = "A scorer of videos is a function (frames, prompts)."
            raise InputError(f"{self.__name__} rates pictures, not videos", row=row, column=self.image, hint=hint)
        return shown(value, row=row, column=self.image)

    def _beside(self, value: Any, row: int, name: str) -> Any:
        """Return the sources, or another role, of one row: None, a picture, or a list; of a scorer of videos also of videos."""

        def one(value: Any) -> Any:
            if isinstance(value, Unscored):
                return value
            if self.scorer.of_videos and name in SEVERAL:
                rate = self.scorer.frames_per_second
                return picture_or_video(value, frames_per_second=rate, row=row, column=name)
            return self._result(value, row) if isinstance(value, list | tuple) else shown(value, row=row, column=name)

        return [one(each) for each in value] if isinstance(value, list | tuple) else None if value is None else one(value)

    def _worth(self, score: float) -> float:
        if self.scale is None:
            return score if self.scorer.higher_is_better else -score
        lowest, highest = self.scale
        share = min(max((score - lowest) / (highest - lowest), 0.0), 1.0)
        return share if self.scorer.higher_is_better else 1 - share

    def __reduce__(self) -> tuple[Any, ...]:
        """By the scorer's text where it was loaded by one, as the functions of files do not pickle."""
        if self.specification is None:
            return type(self), tuple(getattr(self, each.name) for each in dataclasses.fields(self))
        return scorer_reward, (self.specification, {name: getattr(self, name) for name in _KNOWN})


_KNOWN: Final = ("image", "prompt", "scale", "abstention", "group_size")


def scorer_reward(specification: str, parameters: Mapping[str, Any]) -> ScorerReward:
    """Return the reward of a scorer, by the scorer's text; what ``make_reward("scorer:…")`` calls.

    Raises:
        InputError: the scorer cannot be loaded, a parameter is unknown, or as :class:`ScorerReward`.
    """
    unknown = sorted(parameters.keys() - set(_KNOWN))
    if unknown:
        raise InputError(f"unknown parameter of scorer:{specification}", value=unknown[0], allowed=_KNOWN)
    settled = dict(parameters)
    if settled.get("scale") is not None:
        settled["scale"] = tuple(settled["scale"])
    return ScorerReward(open_scorer(specification), specification=specification, **settled)
