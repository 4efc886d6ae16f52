"""Rewards of pictures and videos as trainers of image policies take them: sync, batched, every picture with a number.

FlowGRPOReward       Flow-GRPO     reward_fn(images, prompts, metadata) -> ({"avg": …, NAME: …}, {…})
DDPOReward           DDPO          reward_fn(images, prompts, metadata) -> (scores, {…})
VerlImageScore       verl-omni     compute_score(data_source, solution_image, ground_truth, extra_info) -> {"score": …}
flow_factory_reward  Flow-Factory  a class of reward model, named in its configuration

These trainers know no missing reward; ``on_unscored`` of an adapter chooses what is paid for one:

    mean      the mean of the scored pictures of the same prompt, which has no advantage in GRPO; of the batch, where its
              whole prompt has no score
    nan       NaN, for a loop that masks it
    raise     nothing: ``UnscoredError``
    a number  that number
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from salon_rewards.adapters.blocking import waited
from salon_rewards.callables.reward import RewardFunction, each_paid
from salon_rewards.callables.scorer import VIDEOS
from salon_rewards.group_mask import Paid
from salon_taxonomy.errors import InputError, SalonError
from salon_taxonomy.media_files import bad_media
from salon_taxonomy.scorers import IMAGES
from salon_taxonomy.verdict import Unscored

POLICIES: Final = ("mean", "nan", "raise")
"""What ``on_unscored`` may be, beside a number."""

_TOLERANCE: Final = 0.1
_CHANNELS: Final = (1, 3, 4)
_RGB: Final = 3
_SEEN_LAST: Final = (1, _RGB)
"""Channels at the end, as verl-omni's own scorers tell them."""
_FRAMES: Final = 4
"""The dimensions of a video."""
_VERL_MEDIA: Final = {"source_img": "sources", "target_img": "references"}
"""Pictures in verl-omni's extra information, with the columns that they become."""


class UnscoredError(SalonError):
    """A picture has no reward, and the adapter was made with ``on_unscored="raise"``."""


@dataclass(frozen=True)
class PictureReward:
    """What the adapters of image trainers have in common: a reward, and what is paid where it has no score.

    Attributes:
        reward: any of Salon's that looks at the columns ``images`` or ``videos``, and ``prompts``.
        on_unscored: ``mean``, ``nan``, ``raise`` or a number; see the module.

    Raises:
        InputError: for another policy.
    """

    reward: RewardFunction
    on_unscored: str | float = "mean"

    def __post_init__(self) -> None:
        number = isinstance(self.on_unscored, int | float) and math.isfinite(self.on_unscored)
        if not number and self.on_unscored not in POLICIES:
            raise InputError(
                "must be a number or a word that is allowed, not",
                column="on_unscored",
                value=self.on_unscored,
                allowed=POLICIES,
            )

    @property
    def __name__(self) -> str:
        """What the reward is called."""
        return self.reward.__name__

    @property
    def of_videos(self) -> bool:
        """Whether the reward rates videos; one that does not say rates pictures."""
        return VIDEOS in getattr(self.reward, "takes", ())

    def made_from(self, values: Any) -> list[Any]:
        """Return what each result was made from: pictures, and for a reward of videos also videos.

        Raises:
            InputError: as of :func:`pictures_of` and :func:`videos_of`.
        """
        if not self.of_videos:
            return pictures_of(values)
        return [
            [videos_of([value])[0]]
            if isinstance(value, list | tuple) or getattr(value, "ndim", 0) >= _FRAMES
            else pictures_of([value])[0]
            for value in _listed(values)
        ]

    def paid(
        self, images: Any, prompts: Sequence[str], columns: Mapping[str, Any]
    ) -> tuple[list[float], list[Unscored | None]]:
        """Return a number for each picture or video, and why it is not its own score where it is not.

        Raises:
            InputError: the pictures cannot be taken, the reward rates videos and they are pictures or the other way round, or a
                column has another length.
            UnscoredError: a score is missing, and the policy is ``raise``.
        """
        pictures = videos_of(images) if self.of_videos else pictures_of(images)
        texts = [str(prompt) for prompt in prompts]
        if len(texts) != len(pictures):
            raise InputError(f"needs {len(pictures)} values, one for each picture, not", column="prompts", value=len(texts))
        columns = {**columns, VIDEOS if self.of_videos else IMAGES: pictures, "prompts": texts}
        sound = [number for number, picture in enumerate(pictures) if not isinstance(picture, Unscored)]
        whole = {name: values for name, values in columns.items() if len(values) == len(pictures)}
        arguments = columns | {name: [values[number] for number in sound] for name, values in whole.items()}
        scores = waited(each_paid(self.reward, [""] * len(sound), arguments)) if sound else []
        paid: list[Paid] = list(pictures)
        for number, score in zip(sound, scores, strict=True):
            paid[number] = score
        return settled(paid, texts, self.on_unscored), [each if isinstance(each, Unscored) else None for each in paid]


@dataclass(frozen=True)
class FlowGRPOReward(PictureReward):
    """A reward for Flow-GRPO's ``reward_fn``, in place of its ``multi_score`` (arXiv 2505.05470).

    Columns of the reward come from the rows of ``metadata``, and ``sources`` from ``ref_images``.

    Example:
        >>> import numpy as np
        >>> from salon_rewards.callables.scorer import ScorerReward
        >>> from salon_taxonomy.scorers import checked_scorer
        >>> def red(images, prompts):
        ...     return [image.getpixel((0, 0))[0] / 255 for image in images]
        >>> red.version = "1"
        >>> reward_fn = FlowGRPOReward(ScorerReward(checked_scorer(red)))
        >>> reward_fn(np.full((2, 8, 8, 3), 255, np.uint8), ["a", "b"], [{}, {}])
        ({'avg': [1.0, 1.0], 'scorer:red': [1.0, 1.0]}, {'unscored': [None, None]})
    """

    def __call__(
        self, images: Any, prompts: Sequence[str], metadata: Any = None, ref_images: Any = None, only_strict: bool = True
    ) -> tuple[dict[str, list[float]], dict[str, list[str | None]]]:
        """Return the scores under ``avg`` and under the reward's name, and the reasons of those that are missing.

        Args:
            images: tensors of shape (pictures, channels, height, width) from 0 to 1 or of bytes, arrays of bytes of shape
                (pictures, height, width, channels), or PIL images; of videos (videos, frames, channels, height, width), or a
                list of lists of frames.
            prompts: the text of each picture.
            metadata: a mapping for each picture; its keys become columns.
            ref_images: the picture that each was made from, or None.
            only_strict: not looked at.
        """
        columns = columns_of(metadata)
        if ref_images is not None:
            columns["sources"] = self.made_from(ref_images)
        scores, why = self.paid(images, prompts, columns)
        return {"avg": scores, self.__name__: list(scores)}, {"unscored": reasons(why)}


@dataclass(frozen=True)
class DDPOReward(PictureReward):
    """A reward for loops such as DDPO's (arXiv 2305.13301), which take a function of pictures, prompts and metadata.

    Example:
        >>> from PIL import Image
        >>> from salon_rewards.callables.scorer import ScorerReward
        >>> from salon_taxonomy.scorers import checked_scorer
        >>> def nothing(images, prompts):
        ...     return [1.0, None, 3.0][: len(images)]
        >>> nothing.version = "1"
        >>> DDPOReward(ScorerReward(checked_scorer(nothing)))([Image.new("RGB", (8, 8))] * 3, ["a"] * 3, [{}] * 3)
        ([1.0, 2.0, 3.0], {'unscored': [None, 'abstained', None]})
    """

    def __call__(
        self, images: Any, prompts: Sequence[str], metadata: Any = None
    ) -> tuple[list[float], dict[str, list[str | None]]]:
        """Return the scores, and the reasons of those that are missing; arguments as those of :class:`FlowGRPOReward`."""
        scores, why = self.paid(images, prompts, columns_of(metadata))
        return scores, {"unscored": reasons(why)}


@dataclass(frozen=True)
class VerlImageScore(PictureReward):
    """A reward for the ``custom_reward_function`` of verl-omni's visual reward manager: a picture, or a video's frames.

    A reward of pictures pays a video the mean of its frames; a reward of videos is given them together. ``source_img`` and
    ``target_img`` of the extra information are the columns ``sources`` and ``references``. There are no neighbours to take a
    mean of where a score is missing, so the policy is ``raise`` (the default), ``nan`` or a number.

    Raises:
        InputError: for the policy ``mean``, or an unknown one.

    Example:
        >>> import numpy as np
        >>> from salon_rewards.callables.scorer import ScorerReward
        >>> from salon_taxonomy.scorers import checked_scorer
        >>> def words(images, prompts):
        ...     return [len(prompt.split()) for prompt in prompts]
        >>> words.version = "1"
        >>> compute_score = VerlImageScore(ScorerReward(checked_scorer(words)))
        >>> compute_score("drawn", np.zeros((8, 8, 3), np.uint8), "a red ball")
        {'score': 3.0, 'abstained': 0.0}
    """

    on_unscored: str | float = "raise"

    def __post_init__(self) -> None:
        if self.on_unscored == "mean":
            problem = "one picture at a time has no mean; must be a number or a word that is allowed, not"
            raise InputError(problem, column="on_unscored", value="mean", allowed=("nan", "raise"))
        super().__post_init__()

    def __call__(
        self,
        data_source: object,
        solution_image: Any,
        ground_truth: str,
        extra_info: Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> dict[str, float]:
        """Return the score of one picture or video; ``abstained`` is the share of its frames that the policy has paid.

        Args:
            data_source: becomes a column.
            solution_image: a tensor of bytes, or of numbers from 0 to 1: (channels, height, width), (frames, channels, height,
                width), (channels, frames, height, width), or one of them with the channels last; with 1 in front of it or not.
                1 or 3 at the end are channels; else, where both of the first two numbers may be channels, 3 in front are,
                unless the second is 3 too.
            ground_truth: the text that the picture was made for.
            extra_info: becomes columns.
            settings: verl's own; not looked at.
        """
        frames: list[Any] = [solution_image] if self.of_videos else _frames(solution_image)
        facts = {**(extra_info or {}), "data_source": data_source}
        for theirs, ours in _VERL_MEDIA.items():
            if facts.get(theirs) is not None:
                [facts[ours]] = self.made_from([facts[theirs]])
        columns = {key: [value] * len(frames) for key, value in facts.items()}
        scores, why = self.paid(frames, [ground_truth] * len(frames), columns)
        missing = sum(each is not None for each in why)
        return {"score": sum(scores) / len(scores), "abstained": missing / len(scores)}


def flow_factory_reward(reward: RewardFunction, on_unscored: str | float = "mean") -> type:
    """Return a class of pointwise reward model for Flow-Factory's configuration.

    Write it into a module of your own, ``SalonReward = flow_factory_reward(make_reward("scorer:…"))``, and name
    ``reward_model: "my_module.SalonReward"``. Needs Flow-Factory, and its torch.

    Raises:
        InputError: Flow-Factory is not installed, or for an unknown policy.
    """
    adapter = PictureReward(reward, on_unscored)
    try:
        from flow_factory.rewards import PointwiseRewardModel, RewardModelOutput
    except ImportError as error:
        raise InputError(f"needs Flow-Factory ({error})", value="flow_factory.rewards") from error

    def call(
        self: Any,
        prompt: Sequence[str],
        image: Any = None,
        video: Any = None,
        audio: Any = None,
        condition_images: Any = None,
        condition_videos: Any = None,
        **columns: Any,
    ) -> Any:
        """Return the rewards of a batch."""
        wanted, results, other = ("video", video, image) if adapter.of_videos else ("image", image, video)
        if results is None:
            rates = f"{adapter.__name__} rates {'videos' if adapter.of_videos else 'pictures'}"
            raise InputError(rates if other is None else f"{rates}, and was given the other", column=wanted)
        lists = {key: value for key, value in columns.items() if isinstance(value, list) and len(value) == len(prompt)}
        conditions = [each for each in (condition_images, condition_videos) if each is not None]
        if conditions:
            lists["sources"] = [[item for each in conditions for item in each[row]] for row in range(len(prompt))]
        scores, why = adapter.paid(results, prompt, lists if audio is None else {**lists, "audio": audio})
        return RewardModelOutput(rewards=scores, extra_info={"unscored": reasons(why)})

    fields: tuple[str, ...] = ("prompt", "video" if adapter.of_videos else "image")
    if "sources" in getattr(reward, "takes", ()):
        fields = (*fields, "condition_images")
    body = {"required_fields": fields, "use_tensor_inputs": False, "__call__": call, "__doc__": call.__doc__}
    return type("SalonReward", (PointwiseRewardModel,), body)


# ------------------------------------------------------------------------------------------------------------ the pieces


def settled(paid: Sequence[Paid], prompts: Sequence[str], on_unscored: str | float) -> list[float]:
    """Return a number for each picture, by the policy where it has none of its own.

    Raises:
        UnscoredError: the policy is ``raise`` and a score is missing, or it is ``mean`` and every score is.

    Example:
        >>> from salon_taxonomy.verdict import Reason
        >>> settled([1.0, Unscored(Reason.EMPTY), 3.0, 8.0], ["a", "a", "a", "b"], "mean")
        [1.0, 2.0, 3.0, 8.0]
    """
    missing = [each for each in paid if isinstance(each, Unscored)]
    if not missing:
        return [each for each in paid if not isinstance(each, Unscored)]
    if on_unscored == "raise":
        words = f"{len(missing)} of {len(paid)} pictures have no reward; the first: {missing[0].reason} ({missing[0].detail})"
        raise UnscoredError(words)
    if on_unscored != "mean":
        number = math.nan if on_unscored == "nan" else float(on_unscored)
        return [number if isinstance(each, Unscored) else each for each in paid]
    by_prompt: dict[str, list[float]] = {}
    for prompt, reward in zip(prompts, paid, strict=True):
        if not isinstance(reward, Unscored):
            by_prompt.setdefault(prompt, []).append(reward)
    everything = [score for scores in by_prompt.values() for score in scores]
    if not everything:
        raise UnscoredError(f"none of {len(paid)} pictures has a reward; the first: {missing[0].reason} ({missing[0].detail})")
    means = {prompt: math.fsum(scores) / len(scores) for prompt, scores in by_prompt.items()}
    whole = math.fsum(everything) / len(everything)
    return [
        means.get(prompt, whole) if isinstance(each, Unscored) else each for prompt, each in zip(prompts, paid, strict=True)
    ]


def reasons(why: Sequence[Unscored | None]) -> list[str | None]:
    """Return the reason of each missing score; None where there is a score."""
    return [None if each is None else each.reason.value for each in why]


def columns_of(metadata: Any) -> dict[str, list[Any]]:
    """Return the rows of metadata as columns; keys that a row lacks are None there.

    Example:
        >>> columns_of([{"prompt_id": "a"}, {"prompt_id": "b", "tag": 1}])
        {'prompt_id': ['a', 'b'], 'tag': [None, 1]}
    """
    if metadata is None or isinstance(metadata, str | bytes | Mapping):
        return {}
    rows = [row if isinstance(row, Mapping) else {} for row in metadata]
    return {key: [row.get(key) for row in rows] for key in dict.fromkeys(key for row in rows for key in row)}


def pictures_of(images: Any) -> list[Any]:
    """Return the pictures of a batch: PIL images, paths and bytes as they are, arrays and tensors as PIL images.

    A picture with a number that is not finite is ``Unscored``: a policy that diverged drew it.

    Args:
        images: a tensor of shape (pictures, channels, height, width), an array of shape (pictures, height, width, channels), or
            a list of such pictures, PIL images, paths or encoded bytes. Numbers are bytes, or from 0 to 1.

    Raises:
        InputError: another shape, or numbers that are neither.
    """
    for row, image in enumerate(_listed(images), start=1):
        if isinstance(image, list | tuple) or getattr(image, "ndim", 0) >= _FRAMES:
            raise InputError("the reward rates pictures, not videos", row=row, column="images")
    return [_picture(image, row) for row, image in enumerate(images, start=1)]


def videos_of(videos: Any) -> list[Any]:
    """Return the videos of a batch, each as a list of frames, whose arrays and tensors are PIL images.

    A video with a frame that has a number that is not finite is ``Unscored``. Paths and bytes stay as they are.

    Args:
        videos: a tensor of shape (videos, frames, channels, height, width), or a list of such videos, lists of frames, paths or
            encoded bytes; shapes of one video as :class:`VerlImageScore` takes them.

    Raises:
        InputError: another shape, a picture, or numbers that are neither bytes nor from 0 to 1.

    Example:
        >>> import numpy as np
        >>> [frame.size for frame in videos_of(np.zeros((1, 2, 8, 9, 3), np.uint8))[0]]
        [(9, 8), (9, 8)]
    """
    rows: list[Any] = []
    for row, video in enumerate(_listed(videos), start=1):
        if callable(getattr(video, "convert", None)) or getattr(video, "ndim", _FRAMES) < _FRAMES:
            raise InputError("the reward rates videos, not pictures", row=row, column=VIDEOS)
        if isinstance(video, list | tuple) or hasattr(video, "ndim"):
            frames = [_picture(frame, row) for frame in _frames(video)]
            rows.append(next((frame for frame in frames if isinstance(frame, Unscored)), frames))
        else:
            rows.append(video)
    return rows


def _listed(images: Any) -> Any:
    if isinstance(images, str | bytes) or not hasattr(images, "__len__"):
        raise InputError("must be a list, an array or a tensor of pictures, not", column="images", value=type(images).__name__)
    return images


def _frames(image: Any) -> list[Any]:
    """Return the frames of one picture or video, each of shape (channels, height, width) where they come as a tensor.

    Raises:
        InputError: a shape that is neither.
    """
    if not hasattr(image, "ndim"):
        return list(image) if isinstance(image, list | tuple) else [image]
    tensor = callable(getattr(image, "detach", None))
    frames = image
    while frames.ndim > _FRAMES and frames.shape[0] == 1:
        frames = frames[0]
    if frames.ndim not in (_FRAMES - 1, _FRAMES) or 0 in frames.shape:
        raise InputError("must be a picture or the frames of one video, not", column="solution_image", value=tuple(image.shape))
    if not tensor:
        return [frames] if frames.ndim < _FRAMES else list(frames)
    ahead = [size in _CHANNELS for size in frames.shape[: frames.ndim - 2]]
    if frames.shape[-1] in _SEEN_LAST or not any(ahead):
        frames = frames.movedim(-1, -3)
    elif frames.ndim == _FRAMES and (not ahead[1] or (frames.shape[0] == _RGB != frames.shape[1])):
        frames = frames.movedim(0, 1)
    return [frames] if frames.ndim < _FRAMES else list(frames)


def _picture(image: Any, row: int) -> Any:
    if not hasattr(image, "ndim"):
        return image
    import numpy as np
    from PIL import Image

    tensor = callable(getattr(image, "detach", None))
    if tensor:
        image = image.detach().cpu()
        image = (image.float() if image.is_floating_point() else image).numpy()
    if image.ndim != 3 or image.shape[0 if tensor else 2] not in _CHANNELS or 0 in image.shape:
        wanted = "(channels, height, width)" if tensor else "(height, width, channels)"
        raise InputError(f"a picture has the shape {wanted}, not", row=row, column="images", value=tuple(image.shape))
    if tensor:
        image = image.transpose(1, 2, 0)
    if image.dtype != np.uint8:
        if not np.isfinite(image).all():
            return bad_media("the picture has numbers that are not finite")
        lowest, highest = float(image.min()), float(image.max())
        if not (lowest >= -_TOLERANCE and highest <= 1 + _TOLERANCE):
            hint = "Pictures from -1 to 1: pass images / 2 + 0.5."
            bounds = f"{lowest:g} to {highest:g}"
            raise InputError(
                "a picture's numbers are bytes, or from 0 to 1, not", row=row, column="images", value=bounds, hint=hint
            )
        image = (image * 255).round().clip(0, 255).astype(np.uint8)
    return Image.fromarray(image[:, :, 0] if image.shape[2] == 1 else image)
