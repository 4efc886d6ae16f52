"""Pipelines of diffusers on this machine, and the editor that runs one on a picture. Needs ``salon-judges[diffusers]``."""

import asyncio
from collections.abc import Mapping
from functools import cached_property, partial
from importlib import import_module
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
        return digest(self.kind, {"kind": "diffusers", **model, "dtype": self._dtype, "options": self._options})

    async def close(self) -> None:
        """Let go of the model."""
        self._pipeline = None

    async def run(self, seed: int | None, **inputs: object) -> Edit:
        """Call the pipeline, and return its first picture as PNG.

        ``REJECTED`` with the reason where the pipeline fails, ``UNREACHABLE`` without memory.

        Raises:
            InputError: the pipeline cannot be loaded.
        """
        self._lock = self._lock or asyncio.Lock()
        async with self._lock:
            pipeline = await asyncio.to_thread(self._loaded)
            began = perf_counter()
            called = in_thread(partial(self._called, pipeline, seed, inputs))
            [outcome] = await asyncio.gather(called, return_exceptions=True)  # pipelines raise anything on bad calls
            latency_ms = (perf_counter() - began) * 1000
        if isinstance(outcome, bytes):
            return Edit(Media.from_bytes(outcome), version=self.version, latency_ms=latency_ms)
        if not isinstance(outcome, Exception):
            raise outcome
        failed = f"the pipeline failed ({type(outcome).__name__}: {str(outcome)[:200]})"
        full = isinstance(
            outcome, MemoryError | import_module("torch").OutOfMemoryError
        )  # says nothing of the picture or the words
        return Edit(None, CallStatus.UNREACHABLE if full else CallStatus.REJECTED, self.version, latency_ms, failed)

    def _called(self, pipeline: Any, seed: int | None, inputs: Mapping[str, object]) -> bytes:
        """Return the first picture as PNG."""
        options = dict(self._options)
        if seed is not None:
            options["generator"] = import_module("torch").Generator("cpu").manual_seed(seed)
        stream = BytesIO()
        pipeline(**inputs, **options).images[0].convert("RGB").save(stream, "PNG")
        return stream.getvalue()

    def _loaded(self) -> Any:
        if self._pipeline is None:
            self._pipeline = load_pipeline(self._model, device=self._device, dtype=self._dtype)
        return self._pipeline


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
        picture = await asyncio.to_thread(_picture, image)
        return await self.run(seed, image=picture, prompt=instruction)


def _picture(image: Media) -> Any:
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
