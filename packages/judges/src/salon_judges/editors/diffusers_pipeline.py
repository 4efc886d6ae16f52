"""Pipelines of diffusers on this machine, and the editor that runs one on a picture. Needs ``salon-judges[diffusers]``."""

import asyncio
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property, partial
from importlib import import_module
from inspect import Parameter, signature
from io import BytesIO
from pathlib import Path
from time import perf_counter
from typing import Any, ClassVar, Final

from salon_judges.clients.local_weights import pipeline_digest
from salon_taxonomy.digest import Digestible, digest
from salon_taxonomy.errors import InputError
from salon_taxonomy.picture_decoding import decode
from salon_taxonomy.plugins import Closing, in_thread
from salon_taxonomy.protocols import Edit, Media
from salon_taxonomy.records import CallStatus, MediaKind
from salon_taxonomy.verdict import Unscored
from salon_taxonomy.video_encoding import encode

_RATES: Final = ("fps", "frame_rate")
_MOST_FRAMES_PER_SECOND: Final = 240
_CRF: Final = "14"
"""Of x264; its default of 23 adds artifacts of its own to a video that is judged for artifacts."""
_FROM_A_PICTURE: Final = {"LTXPipeline": "LTXImageToVideoPipeline"}
"""Pipelines whose weights also animate a picture, and which `AutoPipelineForImage2Image` does not know."""
_INSTALL: Final = "In a clone of Salon: uv pip install './packages/judges[diffusers]'."


class LocalPipeline(Closing):
    """A pipeline that is loaded at first use and runs one call at a time in a thread.

    Args:
        model: a folder, or a name on the Hugging Face hub.
        device: of torch; None takes CUDA where there is one.
        dtype: the name of a torch type, such as ``bfloat16``; None keeps the pipeline's.
        options: further arguments of every call, such as ``num_inference_steps``.
        name: what tables call it; the model by default.
    """

    kind: ClassVar[str]
    """The word for it in digests."""
    makes: MediaKind = MediaKind.IMAGE
    """What its calls return."""

    def __init__(
        self,
        model: str,
        *,
        device: str | None = None,
        dtype: str | None = None,
        options: Mapping[str, Digestible] | None = None,
        name: str | None = None,
    ) -> None:
        self._model = model
        self._device = device
        self._dtype = dtype
        self._options = dict(options or {})
        self.name = name or model
        self._pipeline: Any = None
        self._lock: asyncio.Lock | None = None

    @cached_property
    def version(self) -> str:
        """Return a digest of weights (or hub name), dtype and options, independent of the folder's place.

        A folder is read to its end, once (some seconds for tens of gigabytes). The hub may change what a name means: name a
        folder where that matters.

        Raises:
            InputError: for a folder that holds no pipeline.
        """
        folder = Path(self._model)
        model: dict[str, Digestible] = {"weights": pipeline_digest(folder)} if folder.is_dir() else {"model": self._model}
        encoded = {"encoder": f"x264 crf {_CRF}"} if self.makes == MediaKind.VIDEO else {}
        return digest(self.kind, {"kind": "diffusers", **model, **encoded, "dtype": self._dtype, "options": self._options})

    async def close(self) -> None:
        """Let go of the model."""
        self._pipeline = None

    async def run(self, seed: int | None, **inputs: object) -> Edit:
        """Call the pipeline, and return its first picture as PNG, or its first video as MP4.

        A pipeline whose call takes no ``image`` is run as the one that does, with the same weights.

        ``REJECTED`` with the reason where the pipeline fails, ``UNREACHABLE`` without memory.

        Raises:
            InputError: the pipeline cannot be loaded.
        """
        self._lock = self._lock or asyncio.Lock()
        async with self._lock:
            pipeline = await asyncio.to_thread(self._ready, inputs)
            began = perf_counter()
            called = in_thread(partial(self._called, pipeline, seed, inputs))
            [outcome] = await asyncio.gather(called, return_exceptions=True)  # pipelines raise anything on bad calls
            latency_ms = (perf_counter() - began) * 1000
        if isinstance(outcome, bytes):
            return Edit(Media.from_bytes(outcome, self.makes), version=self.version, latency_ms=latency_ms)
        if not isinstance(outcome, Exception):
            raise outcome
        failed = f"the pipeline failed ({type(outcome).__name__}: {str(outcome)[:200]})"
        full = isinstance(
            outcome, MemoryError | import_module("torch").OutOfMemoryError
        )  # says nothing of the picture or the words
        return Edit(None, CallStatus.UNREACHABLE if full else CallStatus.REJECTED, self.version, latency_ms, failed)

    def _called(self, pipeline: Any, seed: int | None, inputs: Mapping[str, object]) -> bytes:
        """Return the first picture as PNG, or the first video as MP4."""
        options: dict[str, Any] = dict(self._options)
        if seed is not None:
            options["generator"] = import_module("torch").Generator("cpu").manual_seed(seed)
        if self.makes == MediaKind.VIDEO:
            rate = frame_rate(pipeline, options)
            if "fps" not in _parameters(pipeline):
                options.pop("fps", None)
            return _mp4(pipeline(**{"output_type": "pil", **inputs, **options}).frames[0], rate)
        stream = BytesIO()
        pipeline(**inputs, **options).images[0].convert("RGB").save(stream, "PNG")
        return stream.getvalue()

    def _ready(self, inputs: Mapping[str, object]) -> Any:
        """Return the pipeline for a call with these inputs, loaded at first use."""
        if self._pipeline is None:
            self._pipeline = load_pipeline(self._model, device=self._device, dtype=self._dtype)
        if self.makes == MediaKind.VIDEO:
            frame_rate(self._pipeline, self._options)
        return taking_pictures(self._pipeline) if "image" in inputs else self._pipeline


def load_pipeline(model: str, *, device: str | None = None, dtype: str | None = None, **options: object) -> Any:
    """Load a pipeline of diffusers, of any class, without progress bars.

    Args:
        model: a folder, or a name on the Hugging Face hub.
        device: of torch; None takes CUDA where there is one.
        dtype: the name of a torch type, such as ``bfloat16``; None keeps the pipeline's.
        options: further arguments of ``from_pretrained``, such as ``revision``.

    Raises:
        InputError: diffusers is not installed, or the pipeline cannot be loaded.
    """
    try:
        diffusers, torch = import_module("diffusers"), import_module("torch")
    except ImportError as error:
        raise InputError("pipelines on this machine need diffusers", value=model, hint=_INSTALL) from error
    if dtype is not None:
        options["torch_dtype"] = getattr(torch, dtype)
    bars = diffusers.utils.logging.is_progress_bar_enabled()
    diffusers.utils.logging.disable_progress_bar()
    try:
        pipeline = diffusers.DiffusionPipeline.from_pretrained(model, **options)
    except (OSError, ValueError) as error:
        raise InputError(f"no pipeline can be loaded ({str(error)[:200]})", value=model) from error
    finally:
        if bars:
            diffusers.utils.logging.enable_progress_bar()
    pipeline.set_progress_bar_config(disable=True)
    return pipeline.to(device or ("cuda" if torch.cuda.is_available() else "cpu"))


def taking_pictures(pipeline: Any) -> Any:
    """Return the pipeline of the same weights whose call takes ``image``: itself, or the image-to-image or -video one.

    Raises:
        InputError: there is no such pipeline.
    """
    if "image" in _parameters(pipeline):
        return pipeline
    diffusers, name = import_module("diffusers"), type(pipeline).__name__
    if name in _FROM_A_PICTURE:
        other = getattr(diffusers, _FROM_A_PICTURE[name])(**pipeline.components)
    else:
        try:
            other = diffusers.AutoPipelineForImage2Image.from_pipe(pipeline)
        except (ValueError, OSError, AttributeError) as error:
            problem = "is a pipeline that takes no picture; the prompts bring one"
            raise InputError(
                problem, value=name, hint="Name a model whose pipeline edits pictures or animates them."
            ) from error
    other.set_progress_bar_config(disable=True)
    return other


def frame_rate(pipeline: Any, options: Mapping[str, Any]) -> Fraction:
    """Return how many frames of a pipeline's videos are shown in a second.

    The option ``fps`` or ``frame_rate`` says it, else the default of the call's argument of that name.

    Args:
        pipeline: any callable.
        options: of its call.

    Raises:
        InputError: neither says it, or it is no number above 0 and up to 240.

    Example:
        >>> frame_rate(lambda prompt, frame_rate=25: None, {}), frame_rate(lambda prompt: None, {"fps": 23.976})
        (Fraction(25, 1), Fraction(2997, 125))
    """
    parameters = _parameters(pipeline)
    own = [parameters[name].default for name in _RATES if name in parameters]
    rate = next((options[name] for name in _RATES if name in options), own[0] if own else None)
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 < rate <= _MOST_FRAMES_PER_SECOND:
        problem = f"frames per second of this pipeline's videos are a number above 0 and up to {_MOST_FRAMES_PER_SECOND}, not"
        hint = "Write --set fps=16, or what the model's page says."
        raise InputError(problem, source=type(pipeline).__name__, key="fps", value=rate, hint=hint)
    return Fraction(rate).limit_denominator(1001)


def _parameters(pipeline: Any) -> Mapping[str, Parameter]:
    return signature(pipeline.__call__ if hasattr(pipeline, "set_progress_bar_config") else pipeline).parameters


def _mp4(frames: Sequence[Any], rate: Fraction) -> bytes:
    """Return PIL pictures as an MP4 file."""
    content = BytesIO()
    images = (frame.convert("RGB") for frame in frames)
    encode(Path("a.mp4"), images, size=frames[0].size, rate=rate, encoder_options={"crf": _CRF}, into=content)
    return content.getvalue()


class DiffusersEditor(LocalPipeline):
    """Run any image-to-image pipeline that takes a prompt, one edit at a time.

    The pipeline is whatever ``DiffusionPipeline.from_pretrained`` makes of the folder or name (InstructPix2Pix, FLUX Kontext,
    Qwen-Image-Edit, …); it is called with ``image``, ``prompt`` and, where a seed is given, ``generator``. Arguments as for
    :class:`LocalPipeline`.
    """

    kind = "editor"

    async def edit(self, image: Media, instruction: str, *, seed: int | None = None) -> Edit:
        """Return the pipeline's picture, or why it failed (:meth:`LocalPipeline.run`).

        Raises:
            InputError: for a video or a picture that cannot be decoded, and when the pipeline cannot be loaded.
        """
        picture = await asyncio.to_thread(decoded_picture, image)
        return await self.run(seed, image=picture, prompt=instruction)


def decoded_picture(image: Media) -> Any:
    """Return a picture in RGB, as pipelines take it.

    Raises:
        InputError: it is a video, or cannot be read or decoded.
    """
    if image.kind != MediaKind.IMAGE:
        raise InputError("an editor of pictures takes no video", column="image", value=image.uri)
    data = image.data
    if data is None:
        try:
            data = Path(image.uri or "").read_bytes()
        except (OSError, ValueError) as error:
            raise InputError(f"cannot be read ({type(error).__name__})", source=image.uri, column="image") from error
    decoded = decode(data)
    if isinstance(decoded, Unscored):
        raise InputError(decoded.detail, source=image.uri, column="image")
    return decoded.image.convert("RGB")
