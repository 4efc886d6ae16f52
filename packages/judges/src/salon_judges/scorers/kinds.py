"""The built-in scorers and their settings; nothing is loaded before the first picture.

    clip-score      2.5 · max(cos, 0)            Hessel et al. 2021, CLIPScore, Eq. 1
    pickscore       exp(logit scale) · cos       Kirstain et al. 2023, Pick-a-Pic
    aesthetic       linear layers on CLIP        improved-aesthetic-predictor
    hpsv2           cos, by open_clip            Wu et al. 2023, Human Preference Score v2
    hpsv3           the package ``hpsv3``        Ma et al. 2025, HPSv3
    image-reward    the package ``ImageReward``  Xu et al. 2023, ImageReward
    video-reward    heads on Qwen2-VL            Liu et al. 2025, VideoReward (``qwen_rewards.py``)
    edit-reward     heads on Qwen2.5-VL          Wu et al. 2025, EditReward (``qwen_rewards.py``)
    video-score2    marks of a Qwen2.5-VL        He et al. 2025, VideoScore2 (``video_score2.py``)
    reward-model    your own, of votes           ``salon train reward-model`` (``reward_network.py``)
    vqa-score       P("yes") of a judge          Lin et al. 2024, VQAScore (``vqa_score.py``)

Settings stand after the colon: one value alone, or ``key=value,key=value``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any, Final, TypeAlias

from salon_judges.clients.local_weights import weights_digest
from salon_taxonomy.digest import Digestible, digest, file_sha256
from salon_taxonomy.errors import InputError
from salon_taxonomy.plugins import ScorerKind
from salon_taxonomy.scorers import FRAMES, IMAGES, UNBOUNDED

Score: TypeAlias = Callable[..., list[float]]
"""Scores a batch of PIL images, or videos as lists of them, with their prompts and the media beside them."""

_SHARED: Final = ("device", "dtype")
_FILES: Final = ("head", "checkpoint", "config", "med_config", "prompts")
_PROCESSOR: Final = ("processor_config.json", "preprocessor_config.json")
_DTYPES: Final = ("float32", "float16", "bfloat16")


@dataclass(frozen=True, slots=True)
class Published:
    """How one published scorer is set up.

    Attributes:
        name: of the scorer.
        main: the setting that a value without a key means.
        load: names the function that makes the scoring function of settings, ``module:name``; it imports the heavy libraries.
        defaults: settings that need not be given; None: may be missing.
        needs: modules that must be installed, with what installs them.
        range: of its scores.
        formula: raised when the same weights begin to give other scores.
        takes: the media that it is given, as :class:`~salon_taxonomy.scorers.CheckedScorer` has them.
        frames_per_second: how densely the file of a video is sampled.
    """

    name: str
    main: str
    load: str
    defaults: Mapping[str, str | None]
    needs: Mapping[str, str]
    range: tuple[float, float] = UNBOUNDED
    formula: int = 1
    takes: tuple[str, ...] = (IMAGES,)
    frames_per_second: float = 2.0


class ModelScorer:
    """A published scorer with its settings; loads its model at the first picture, once.

    Args:
        published: which one.
        settings: complete.
    """

    def __init__(self, published: Published, settings: Mapping[str, str]) -> None:
        self.name = published.name
        self.range = published.range
        self.higher_is_better = True
        self.takes, self.frames_per_second = published.takes, published.frames_per_second
        self._published = published
        self._settings = settings
        self._score: Score | None = None
        self._loading = Lock()

    @cached_property
    def version(self) -> str:
        """A digest of the weights, the number format and the formula; the same wherever the files lie."""
        shaping: dict[str, Digestible] = {"scorer": self.name, "formula": self._published.formula}
        for key, value in self._settings.items():
            if key in _FILES:
                shaping[key] = file_sha256(value)
            elif key == "model":
                shaping[key] = weights_digest(value, self._settings.get("revision"))
            elif key not in ("device", "revision"):
                shaping[key] = value
        return digest("scorer", shaping)

    def __call__(self, images: Sequence[Any], prompts: Sequence[str], **beside: Sequence[Any]) -> list[float]:
        """Return the score of each picture or video; one call at a time."""
        with self._loading:
            if self._score is None:
                module, _, function = self._published.load.partition(":")
                self._score = getattr(import_module(module), function)(self._settings)
            return self._score(images, prompts, **beside)


def settings_of(published: Published, text: str) -> dict[str, str]:
    """Return the complete settings that the text after the colon means.

    Raises:
        InputError: an unknown key, a missing one, a file that does not exist, or a library that is not installed.

    Example:
        >>> settings_of(PUBLISHED["clip-score"], "laion/clip,device=cuda")["model"]
        'laion/clip'
    """
    chosen: dict[str, str] = {}
    for setting in filter(None, text.split(",")):
        key, equals, value = setting.partition("=")
        if not equals:
            key, value = published.main, setting
        chosen[key] = value
    allowed = (*published.defaults, *_SHARED)
    unknown = sorted(chosen.keys() - set(allowed))
    if unknown:
        raise InputError("unknown setting of a scorer", source=published.name, key=unknown[0], allowed=allowed)
    settings = {"device": "auto", "dtype": "float32"} | {k: v for k, v in published.defaults.items() if v is not None} | chosen
    if "processor" not in chosen and any((Path(settings.get("model", "")) / file).is_file() for file in _PROCESSOR):
        settings.pop("processor", None)  # the model's folder has its own
    if settings["dtype"] not in _DTYPES:
        raise InputError("must be one of", source=published.name, key="dtype", value=settings["dtype"], allowed=_DTYPES)
    lacking = [key for key, value in published.defaults.items() if value == "" and not settings.get(key)]
    if lacking:
        hint = f"Write {published.name}:{lacking[0]}=FILE; docs/scorers.md says where the weights are."
        raise InputError("needs a file of weights", source=published.name, key=lacking[0], hint=hint)
    for key in _FILES:
        if settings.get(key) and not Path(settings[key]).is_file():
            raise InputError("there is no such file", source=published.name, key=key, value=settings[key])
    for module, hint in published.needs.items():
        if find_spec(module) is None:
            raise InputError(f"needs {module}, which is not installed", source=published.name, hint=hint)
    return {key: value for key, value in settings.items() if value}


def _kind(name: str) -> ScorerKind:
    published = PUBLISHED[name]
    return ScorerKind(name, lambda text, environment: ModelScorer(published, settings_of(published, text)))


_TRANSFORMERS: Final = dict.fromkeys(("torch", "transformers"), "uv pip install './packages/judges[transformers]'")
PUBLISHED: Final[Mapping[str, Published]] = {
    each.name: each
    for each in (
        Published(
            "clip-score",
            "model",
            "salon_judges.scorers.clip_models:clip_score",
            {"model": "openai/clip-vit-base-patch32", "processor": None, "revision": None},
            _TRANSFORMERS,
            (0.0, 2.5),
        ),
        Published(
            "pickscore",
            "model",
            "salon_judges.scorers.clip_models:pick_score",
            {
                "model": "yuvalkirstain/PickScore_v1",
                "processor": "laion/CLIP-ViT-H-14-laion2B-s32B-b79K",
                "revision": None,
            },
            _TRANSFORMERS,
        ),
        Published(
            "aesthetic",
            "head",
            "salon_judges.scorers.clip_models:aesthetic",
            {"head": "", "model": "openai/clip-vit-large-patch14", "processor": None, "revision": None},
            _TRANSFORMERS,
        ),
        Published(
            "hpsv2",
            "checkpoint",
            "salon_judges.scorers.clip_models:hpsv2",
            {"checkpoint": "", "architecture": "ViT-H-14"},
            dict.fromkeys(("torch", "open_clip"), "uv pip install './packages/judges[open-clip]'"),
            (-1.0, 1.0),
            formula=2,
        ),
        Published(
            "hpsv3",
            "checkpoint",
            "salon_judges.scorers.own_packages:hpsv3",
            {"checkpoint": None, "config": None},
            {"hpsv3": "pip install hpsv3"},
            UNBOUNDED,
        ),
        Published(
            "image-reward",
            "name",
            "salon_judges.scorers.own_packages:image_reward",
            {"name": "ImageReward-v1.0", "med_config": None},
            {"ImageReward": "pip install image-reward"},
        ),
        Published(
            "video-reward",
            "checkpoint",
            "salon_judges.scorers.qwen_rewards:video_reward",
            {
                "checkpoint": "",
                "config": "",
                "prompts": "",
                "model": "Qwen/Qwen2-VL-2B-Instruct",
                "dimension": "Overall",
                "revision": None,
            },
            _TRANSFORMERS,
            takes=(FRAMES,),
        ),
        Published(
            "edit-reward",
            "checkpoint",
            "salon_judges.scorers.qwen_rewards:edit_reward",
            {"checkpoint": "", "prompts": "", "model": "Qwen/Qwen2.5-VL-7B-Instruct", "revision": None},
            _TRANSFORMERS,
            takes=(IMAGES, "sources"),
        ),
        Published(
            "video-score2",
            "prompts",
            "salon_judges.scorers.video_score2:video_score2",
            {"prompts": "", "model": "TIGER-Lab/VideoScore2", "dimension": "mean", "seed": "0", "revision": None},
            _TRANSFORMERS,
            (0.0, 5.0),
            takes=(FRAMES,),
        ),
        Published(
            "reward-model",
            "model",
            "salon_judges.scorers.reward_network:reward_model",
            {"model": ""},
            _TRANSFORMERS,
        ),
    )
}
"""The published scorers that load a model, by name."""

clip_score: Final = _kind("clip-score")
pickscore: Final = _kind("pickscore")
aesthetic: Final = _kind("aesthetic")
hpsv2: Final = _kind("hpsv2")
hpsv3: Final = _kind("hpsv3")
image_reward: Final = _kind("image-reward")
video_reward: Final = _kind("video-reward")
edit_reward: Final = _kind("edit-reward")
video_score2: Final = _kind("video-score2")
reward_model: Final = _kind("reward-model")
