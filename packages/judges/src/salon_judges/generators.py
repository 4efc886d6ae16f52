"""The kinds of generators: a server, a pipeline of diffusers, any command, and drawn scenes (of salon-synthetic).

Each makes pictures or videos of a prompt and of the pictures and videos that come with it, each in its role.
"""

import asyncio
import ctypes
import json
import os
import re
import shlex
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from pathlib import Path
from time import perf_counter
from typing import Any, Final, Protocol, runtime_checkable

from salon_judges.clients.pacing import Clock
from salon_judges.clients.settings import ChatSettings, without_credentials
from salon_judges.clients.specification import read_settings
from salon_judges.editors.diffusers_pipeline import LocalPipeline, decoded_picture
from salon_judges.editors.openai_compatible import ImagesServer, OpenAICompatibleEditor
from salon_judges.editors.videos_server import VideosServer
from salon_judges.media.video_container import ending_of
from salon_judges.media.video_policy import DEFAULT_VIDEO_LIMITS
from salon_taxonomy.digest import Digestible, digest
from salon_taxonomy.errors import InputError
from salon_taxonomy.extras import extra
from salon_taxonomy.media_files import read_inside
from salon_taxonomy.plugins import Closing, Managed
from salon_taxonomy.protocols import Edit, Media
from salon_taxonomy.records import CallStatus, MediaKind, MediaRole
from salon_taxonomy.verdict import Unscored

_SERVERS: Final = ("openai", "vllm", "sglang")
_HINT: Final = 'Write draw:, diffusers:MODEL, KIND:MODEL@URL, name a TOML file as judges have, or give --command "PROGRAM …".'
_PLACEHOLDER: Final = re.compile(r"\{(\w*)\}")
_NEEDED: Final = ("prompt_file", "output")
_ROLES: Final = (MediaRole.SOURCE, MediaRole.FIRST_FRAME)
_KNOWN: Final = (*_NEEDED, "seed", *_ROLES)
_LAST_WORDS: Final = 300
_SIGNAL_AT_PARENTS_DEATH: Final = 1
"""``PR_SET_PDEATHSIG`` of ``prctl``."""
_MOST_BYTES: Final = 128 << 20
"""Of a picture that a command writes."""


@runtime_checkable
class PictureGenerator(Managed, Protocol):
    """A model that makes a picture or a video from a prompt, and of what comes with it."""

    @property
    def name(self) -> str:
        """The name in tables."""

    @property
    def version(self) -> str:
        """A digest of everything that shapes its pictures."""

    async def generate(self, prompt: str, *, seed: int, given: Sequence[Media] = ()) -> Edit:
        """Make one picture or video. A failure is an ``Edit`` with its reason; no prompt raises.

        Args:
            prompt: what to make, or what to change.
            seed: of the draw.
            given: the pictures and videos that come with the prompt, checked, with their bytes and roles (``source``,
                ``first_frame``).

        Raises:
            InputError: the generator cannot take what is given.
        """


class OpenAICompatibleGenerator(ImagesServer):
    """A server: ``POST {base_url}/images/generations``, one picture per call, with the seed as the field ``seed``.

    Prompts that bring sources go to ``/images/edits``.

    ``settings.extra_body`` holds further fields (``size``, ``quality``, ``response_format``); a field that is None is left out,
    so ``seed=None`` draws from a server that takes no seed. Arguments as for
    :class:`~salon_judges.editors.openai_compatible.ImagesServer`.
    """

    kind = "generator"
    protocol = "images-generations-1"
    path = "/images/generations"
    content_type = "application/json"

    def __init__(
        self, settings: ChatSettings, environment: Mapping[str, str] | None = None, *, clock: Clock | None = None
    ) -> None:
        super().__init__(settings, environment, clock=clock)
        self._editor = OpenAICompatibleEditor(settings, environment, clock=clock)

    async def close(self) -> None:
        """Close all connections; the next request opens new ones."""
        await super().close()
        await self._editor.close()

    async def generate(self, prompt: str, *, seed: int, given: Sequence[Media] = ()) -> Edit:
        """Return the server's picture, or why it failed.

        Raises:
            InputError: a file is given that is no source.
        """
        _refuse_others(given, MediaRole.SOURCE)
        if given:
            try:
                return await self._editor.edit(given[0], prompt, seed=seed, further=given[1:])
            except InputError as error:  # a format that servers do not take; other prompts may have others
                return Edit(None, CallStatus.REJECTED, self.version, error=str(error))
        fields = {"model": self.settings.model, "prompt": prompt, "n": 1, "seed": seed, **self.settings.extra_body}
        return await self.request(json.dumps({key: value for key, value in fields.items() if value is not None}).encode())


class DiffusersGenerator(LocalPipeline):
    """Any pipeline of diffusers, called with ``prompt``, ``generator`` and, where the prompt brings pictures, ``image``.

    Args:
        model: a folder, or a name on the Hugging Face hub.
        makes: pictures, or videos with the rate of :func:`~salon_judges.editors.diffusers_pipeline.frame_rate`.
        options: as for ``LocalPipeline``, with its other arguments.
    """

    kind = "generator"

    def __init__(self, model: str, *, makes: MediaKind = MediaKind.IMAGE, **options: Any) -> None:
        super().__init__(model, **options)
        self.makes = makes

    async def generate(self, prompt: str, *, seed: int, given: Sequence[Media] = ()) -> Edit:
        """Return the pipeline's picture or video, or why it failed.

        Raises:
            InputError: the pipeline cannot be loaded, takes no picture though one is given, or does not say how many frames a
                second has; a video is given.
        """
        _refuse_others(given, *(_ROLES if self.makes == MediaKind.VIDEO else _ROLES[:1]))
        pictures = [await asyncio.to_thread(decoded_picture, each) for each in given]
        if not pictures:
            return await self.run(seed, prompt=prompt)
        return await self.run(seed, prompt=prompt, image=pictures if len(pictures) > 1 else pictures[0])


class CommandGenerator(Closing):
    """Runs a program once per picture: ``mygen {prompt_file} {output}``, and where wanted ``{seed}``, ``{source}``.

    The template is split into words as a shell would do it, and then each placeholder is filled in; no shell is started, and
    the prompt is in a file, so nothing that a prompt says becomes a word of the command. The program writes one picture to
    ``{output}``, or one video, and exits with 0. ``{source}`` and ``{first_frame}`` are copies of what the prompt brings; a
    word with one of them is there once for each file.

    Args:
        template: the command.
        timeout_s: of one picture, in seconds; then the program and its children are killed.
        makes: pictures or videos; ``{output}`` ends in ``.png`` or ``.mp4``, and any format that suites read counts.
        working: where each picture has a folder of its own while it is made; None: where the system has temporary ones.

    Raises:
        InputError: the template cannot be split, lacks a placeholder or has an unknown one, or there is no such program.
    """

    def __init__(
        self,
        template: str,
        *,
        timeout_s: float = 600.0,
        makes: MediaKind = MediaKind.IMAGE,
        working: Path | None = None,
    ) -> None:
        try:
            self._words = shlex.split(template)
        except ValueError as error:
            raise InputError(
                f"the command cannot be split into words ({error}):", source="--command", value=template
            ) from error
        named = [name for word in self._words for name in _PLACEHOLDER.findall(word)]
        for name in named:
            if name not in _KNOWN:
                raise InputError("unknown placeholder", source="--command", value=f"{{{name}}}", allowed=_placeholders(_KNOWN))
        for name in _NEEDED:
            if name not in named:
                raise InputError("the command lacks", source="--command", value=f"{{{name}}}", allowed=_placeholders(_KNOWN))
        if shutil.which(self._words[0]) is None:
            raise InputError("there is no such program", source="--command", value=self._words[0])
        if not 0 < timeout_s < float("inf"):
            raise InputError("must be above 0 and finite, not", source="--timeout", value=timeout_s)
        self._timeout_s = timeout_s
        self._makes = makes
        self._working = None if working is None else working.absolute()
        self._roles = [role for role in _ROLES if role.value in named]
        self.name = Path(self._words[0]).name
        of_videos = {"makes": makes.value} if makes == MediaKind.VIDEO else {}
        self.version = digest("generator", {"kind": "command", "words": list(self._words), **of_videos})

    async def generate(self, prompt: str, *, seed: int, given: Sequence[Media] = ()) -> Edit:
        """Return what the program wrote; ``REJECTED`` where it failed, ``TIMEOUT`` where it took too long.

        Raises:
            InputError: the program cannot be started, or the command does not name the role of a file that is given.
        """
        _refuse_others(given, *self._roles)
        for role in self._roles:
            if not any(each.role == role for each in given):
                return Edit(
                    None, CallStatus.REJECTED, self.version, error=f"the prompt brings no {role}, which the command takes"
                )
        began = perf_counter()
        if self._working is not None:
            self._working.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="salon-generate-", dir=self._working) as folder:
            wanted = "video.mp4" if self._makes == MediaKind.VIDEO else "picture.png"
            prompt_file, output, log = (Path(folder, name) for name in ("prompt.txt", wanted, "log"))
            prompt_file.write_text(prompt, encoding="utf-8", newline="")
            filled = {"prompt_file": [str(prompt_file)], "output": [str(output)], "seed": [str(seed)]}
            for number, media in enumerate(given):
                content = media.data or b""
                path = Path(folder, f"{media.role}-{number}.{ending_of(content)}")
                path.write_bytes(content)
                filled.setdefault(str(media.role), []).append(str(path))
            words = [text for word in self._words for text in _filled(word, filled)]
            code = await self._run(words, log)
            latency_ms = (perf_counter() - began) * 1000
            if code is None:
                problem = f"the command took more than {self._timeout_s:g} s"
                return Edit(None, CallStatus.TIMEOUT, self.version, latency_ms, problem)
            most = DEFAULT_VIDEO_LIMITS.most_bytes if self._makes == MediaKind.VIDEO else _MOST_BYTES
            data = read_inside(output, Path(folder), most)
            if code or isinstance(data, Unscored):
                last_words = log.read_bytes()[-_LAST_WORDS:].decode("utf-8", "replace").strip()
                lacks = f"the command wrote no {self._makes} ({data.detail})" if isinstance(data, Unscored) else ""
                what = f"the command ended with {code}" if code else lacks
                return Edit(
                    None, CallStatus.REJECTED, self.version, latency_ms, f"{what}: {last_words}" if last_words else what
                )
        return Edit(Media.from_bytes(data, self._makes), version=self.version, latency_ms=latency_ms)

    async def _run(self, words: list[str], log: Path) -> int | None:
        """Return the exit code; None after a time-out."""
        with log.open("wb") as log_file:
            try:
                process = await asyncio.create_subprocess_exec(
                    *words,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=log_file,
                    stderr=log_file,
                    start_new_session=True,
                    preexec_fn=_end_with_parent(),
                )
            except OSError as error:  # no picture can be made
                raise InputError(f"cannot be run ({error.strerror})", source=words[0], hint="Is it a program?") from error
            try:
                return await asyncio.wait_for(process.wait(), self._timeout_s)
            except TimeoutError:
                return None
            finally:
                if process.returncode is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    await process.wait()

    async def close(self) -> None:
        """Do nothing: nothing is open."""


def _end_with_parent() -> Callable[[], object] | None:
    """Return what a new process calls so that Linux kills it when its parent is killed; None on other systems."""
    if sys.platform != "linux":
        return None
    return partial(ctypes.CDLL(None).prctl, _SIGNAL_AT_PARENTS_DEATH, int(signal.SIGKILL))


def open_generator(
    specification: str,
    environment: Mapping[str, str],
    *,
    options: Mapping[str, Digestible] | None = None,
    dtype: str | None = None,
    makes: MediaKind = MediaKind.IMAGE,
    jobs: Path | None = None,
) -> PictureGenerator:
    """Return the generator that a text or a TOML file means. Nothing is sent or loaded before its first picture.

    Args:
        specification: ``draw:`` (or ``draw:0.3``, the chance of a slip), ``diffusers:MODEL``, ``KIND:MODEL@URL`` with KIND as
            for judges, or a TOML file with the settings of a server.
        environment: where secrets are found; a command line passes ``os.environ``.
        options: further arguments of the pipeline's call, or fields of the request: ``num_inference_steps``, ``size``.
        dtype: of a pipeline: ``bfloat16``.
        makes: pictures or videos.
        jobs: of a server of videos: as for ``VideosServer``.

    Raises:
        InputError: for an unknown kind, wrong settings, an option without effect, or a secret that is not set.

    Example:
        >>> open_generator("vllm:qwen-image@localhost:8000", {}).name
        'qwen-image'
    """
    kind, colon, rest = specification.partition(":")
    if kind == "draw":
        _refuse_unused(specification, {"--set": options, "--dtype": dtype})
        generator: PictureGenerator
        try:
            draw = extra("salon_synthetic.generator", "draw", "salon-judges")
            generator = draw.DrawGenerator(*([float(rest)] if rest else []), makes=makes)
            return generator
        except ValueError as error:
            raise InputError("the chance of a slip is a number from 0 to 1, not", source="draw:", value=rest) from error
    if kind == "diffusers" and rest:
        return DiffusersGenerator(rest, makes=makes, dtype=dtype, options=options)
    if not (specification.endswith(".toml") or (colon and kind in _SERVERS)):
        allowed = ("draw", "diffusers", *_SERVERS)
        raise InputError("no such generator", value=without_credentials(specification), allowed=allowed, hint=_HINT)
    settings = read_settings(specification)
    if not isinstance(settings, ChatSettings):
        source = without_credentials(specification)
        raise InputError("is no server that makes pictures", source=source, key="kind", value=settings.kind, allowed=_SERVERS)
    _refuse_unused(specification, {"--dtype": dtype})
    body = {**settings.extra_body, **(options or {})}
    settings = settings.model_copy(update={"extra_body": body})
    if makes == MediaKind.VIDEO:
        return VideosServer(settings, environment, jobs=jobs)
    return OpenAICompatibleGenerator(settings, environment)


def _refuse_unused(specification: str, options: Mapping[str, object]) -> None:
    """Refuse an option that would be ignored."""
    for option, value in options.items():
        if value:
            problem = "has no effect on the generator"
            raise InputError(problem, source=option, value=without_credentials(specification), hint=f"Leave {option} out.")


def _refuse_others(files: Sequence[Media], *roles: MediaRole) -> None:
    """Refuse a file that the generator would not see."""
    other = next((each for each in files if each.role not in roles), None)
    if other is not None:
        problem = "is a file of the prompts that this generator does not take; its column:"
        hint = "A --command takes {source} and {first_frame}; a first_frame needs --video."
        raise InputError(problem, source=other.uri, value=other.role, allowed=roles, hint=hint)


def _filled(word: str, values: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a word of a command with its placeholders filled in, once for each value of the one with the most."""
    parts = _PLACEHOLDER.split(word)  # texts and names in turn
    count = max((len(values[name]) for name in parts[1::2]), default=1)
    filled = ([values[name][number % len(values[name])] for name in parts[1::2]] for number in range(count))
    return ["".join(text for pair in zip_longest(parts[::2], texts, fillvalue="") for text in pair) for texts in filled]


def _placeholders(names: tuple[str, ...]) -> list[str]:
    return [f"{{{name}}}" for name in names]
