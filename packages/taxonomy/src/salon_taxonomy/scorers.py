"""Load a scorer by its text, call it, and check what it returns.

    mypkg.metrics:clip_score      a function of an installed module, or a class, which is made without arguments
    ./metrics.py:clip_score       the same of a file
    clip-score:FOLDER             an entry point of the group ``salon.scorers``, with the settings that it takes

    open_scorer ──► CheckedScorer ── score(images, prompts) ──► Scored | Unscored for each picture

A plain function is enough: its version is a digest of the file that defines it and of its name there, and its range is unknown.
Attributes say more: ``clip_score.range = (0, 2.5)``; also ``name``, ``version``, ``higher_is_better`` and ``batch``.

The names of its parameters say what it takes: ``score(images, prompts)`` rates pictures, ``score(frames, prompts)`` videos,
each a list of frames. Further parameters are the media beside the result: ``sources`` and ``references``, a list for each
row, ``masks`` and ``first_frames``, one or None. A parameter without a default needs them.
"""

import asyncio
import importlib
import inspect
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from numbers import Real
from pathlib import Path
from traceback import format_exception_only
from types import ModuleType
from typing import Any, Final

from salon_taxonomy.digest import Digestible, digest, file_sha256
from salon_taxonomy.errors import InputError, missing_path, picture_failures
from salon_taxonomy.media_files import read_inside
from salon_taxonomy.picture_colours import to_srgb, upright
from salon_taxonomy.picture_decoding import DEFAULT_LIMITS, decode
from salon_taxonomy.plugins import (
    SCORERS,
    ScorerKind,
    checked_load,
    in_thread,
    installed,
    module_of_file,
    no_exit,
    own_file_hint,
    plugin,
)
from salon_taxonomy.protocols import Media
from salon_taxonomy.records import MediaKind, MediaRole
from salon_taxonomy.verdict import Reason, Scored, Unscored, Verdict

UNBOUNDED: Final = (-math.inf, math.inf)
"""The range of a scorer that states none."""

IMAGES: Final = "images"
FRAMES: Final = "frames"
BESIDE: Final[Mapping[str, MediaRole]] = {
    "sources": MediaRole.SOURCE,
    "references": MediaRole.REFERENCE,
    "masks": MediaRole.MASK,
    "first_frames": MediaRole.FIRST_FRAME,
}
"""The parameters of a scorer for media beside the result, with their roles."""

SEVERAL: Final = ("sources", "references")
"""Those that are a list for each row; of a scorer of videos they may be videos."""
_BATCH: Final = 16
_BATCH_OF_VIDEOS: Final = 4
_FRAMES_PER_SECOND: Final = 5.0
_FASTEST: Final = 1000
_LONGEST_NAME: Final = 200
_HINT: Final = "Write MODULE:FUNCTION, ./FILE.py:FUNCTION, or the name of an installed scorer."


@dataclass(frozen=True, slots=True)
class CheckedScorer:
    """A scorer whose attributes are known to be right, and whose results are checked.

    Attributes:
        function: takes pictures or videos, prompts and what else ``takes`` names; returns scores or an awaitable of them.
        name: what tables call it.
        version: a digest of everything that shapes its scores.
        range: the lowest and the highest possible score; infinite where there is no bound.
        higher_is_better: whether a higher score is a better picture.
        batch: how many pictures or videos it is given at once.
        takes: ``images`` or ``frames``, then the media beside the result, keys of :data:`BESIDE`.
        optional: those of ``takes`` that may be missing.
        frames_per_second: how densely a video's file is sampled for it.

    Example:
        >>> from PIL import Image
        >>> def brightness(images, prompts):
        ...     return [sum(image.resize((1, 1)).getpixel((0, 0))) / 765 for image in images]
        >>> brightness.version, brightness.range = "1", (0, 1)
        >>> white, none = asyncio.run(checked_scorer(brightness).score([Image.new("RGB", (8, 8), "white"), b"?"], ["", ""]))
        >>> white, none.reason.value
        (Scored(value=1.0), 'bad_media')
    """

    function: Callable[..., Any] = field(repr=False)
    name: str
    version: str
    range: tuple[float, float] = UNBOUNDED
    higher_is_better: bool = True
    batch: int = _BATCH
    takes: tuple[str, ...] = (IMAGES,)
    optional: frozenset[str] = frozenset()
    frames_per_second: float = _FRAMES_PER_SECOND

    def __call__(self, images: Sequence[Any], prompts: Sequence[str], **beside: Sequence[Any]) -> Any:
        """Return what the function returns, unchecked."""
        return self.function(images, prompts, **beside)

    @property
    def of_videos(self) -> bool:
        """Whether it rates videos, not pictures."""
        return self.takes[0] == FRAMES

    @property
    def bounded(self) -> bool:
        """Whether both ends of the range are known."""
        return all(map(math.isfinite, self.range))

    def scaled(self, value: float) -> float | None:
        """Return a score as a share of the range, 1 is best; None for a scorer without both bounds.

        Example:
            >>> CheckedScorer(min, "error", "1", range=(0, 4), higher_is_better=False).scaled(1.0)
            0.75
        """
        if not self.bounded:
            return None
        lowest, highest = self.range
        share = (value - lowest) / (highest - lowest)
        return share if self.higher_is_better else 1 - share

    async def score(
        self, images: Sequence[object], prompts: Sequence[str], beside: Mapping[str, Sequence[object]] | None = None
    ) -> list[Verdict[float]]:
        """Return a verdict for each picture or video, whatever the scorer returns and a picture holds.

        A function that is no coroutine runs in a thread, so other work continues meanwhile. A row for which a batch gives no
        score by a failure (an exception, another number of results, a dictionary) is given again alone, so that no row lacks
        a score because of another one.

        Args:
            images: PIL images, ``Media``, or encoded bytes; brought to RGB, upright, transparent parts on white. Of a scorer of
                videos each is a list of them, or ``Media`` with a film. ``Unscored`` stays as it is.
            prompts: the text of each picture.
            beside: for names of :data:`BESIDE` as many values as pictures: a picture, a list of them, or None. A source of a
                scorer of videos may itself be a list of frames. Names that the scorer does not take are not looked at.

        Returns:
            ``Unscored`` with the reason ``bad_media`` for a row with a picture that cannot be read, which the scorer never
            sees; ``abstained`` where it returned None, ``off_menu`` outside of its range, ``malformed`` for anything that is no
            finite number or the wrong number of results, ``rejected`` where it raised.

        Raises:
            InputError: there are not as many values as pictures, media that the scorer needs are missing, a picture where it
                rates videos or a video where it rates pictures, or the scorer itself raises it: its weights cannot be loaded.

        Example:
            >>> from PIL import Image
            >>> def kept(images, prompts, sources):
            ...     return [float(image.tobytes() == source[0].tobytes()) for image, source in zip(images, sources)]
            >>> kept.version = "1"
            >>> white, black = Image.new("RGB", (8, 8), "white"), Image.new("RGB", (8, 8))
            >>> asyncio.run(checked_scorer(kept).score([white, white], ["a", "b"], {"sources": [[white], [black]]}))
            [Scored(value=1.0), Scored(value=0.0)]
        """
        columns: dict[str, Sequence[object]] = {"prompts": prompts}
        for name in self.takes[1:]:
            if beside is not None and beside.get(name) is not None:
                columns[name] = beside[name]
            elif name not in self.optional:
                hint = 'A suite file shows them, for example: shows = ["source", "result"]. A reward takes them as a column.'
                raise InputError(f"{self.name} needs {name} beside the {self.takes[0]}", column=name, hint=hint)
        for name, values in columns.items():
            if len(values) != len(images):
                problem = f"needs {len(images)} {name}, one for each picture, not"
                raise InputError(problem, column=name, value=len(values))
        rows = [
            self._opened(image, {name: values[number] for name, values in columns.items()}, number + 1)
            for number, image in enumerate(images)
        ]
        readable = [number for number, row in enumerate(rows) if not isinstance(row, Unscored)]
        verdicts = await self._verdicts([rows[number] for number in readable])
        told = dict(zip(readable, verdicts, strict=True))
        return [told.get(number, row) for number, row in enumerate(rows)]

    def _opened(self, image: object, beside: Mapping[str, object], number: int) -> Any:
        """Return the media of one row, opened, by the scorer's parameters; ``Unscored`` where one is unreadable."""
        if isinstance(image, Unscored):
            return image
        if _is_video(image) is not self.of_videos:
            kinds = ("videos", "pictures") if self.of_videos else ("pictures", "videos")
            hint = "A scorer of videos is a function (frames, prompts)." if not self.of_videos else None
            raise InputError(f"{self.name} rates {kinds[0]}, not {kinds[1]}", row=number, column=self.takes[0], hint=hint)
        row: dict[str, Any] = {self.takes[0]: opened_video(image) if self.of_videos else opened_picture(image)}
        for name, value in beside.items():
            if name == "prompts":
                row[name] = value
                continue
            listed = value if isinstance(value, list | tuple) else [] if value is None else [value]
            opened = [opened_video(each) if self.of_videos and _is_video(each) else opened_picture(each) for each in listed]
            wrong = next((each for each in opened if isinstance(each, Unscored)), None)
            if wrong is not None:
                row[name] = Unscored(wrong.reason, f"{BESIDE[name]}: {wrong.detail}")
            elif name in SEVERAL:
                row[name] = opened
            elif len(opened) > 1:
                raise InputError(
                    f"{self.name} takes one of the {name} for each row, not", row=number, column=name, value=len(opened)
                )
            else:
                row[name] = opened[0] if opened else None
            if not opened and name not in self.optional:
                row[name] = Unscored(Reason.BAD_MEDIA, f"{BESIDE[name]}: there is none")
        return next((each for each in row.values() if isinstance(each, Unscored)), row)

    async def _verdicts(self, rows: list[dict[str, Any]]) -> list[Verdict[float]]:
        """Return the scores of readable rows. After a call that failed, each is tried alone."""
        if not rows:
            return []
        [returned] = await asyncio.gather(self._returned(rows), return_exceptions=True)
        if isinstance(returned, BaseException) and not _is_own_failure(returned):
            raise returned
        verdicts = checked_scores(returned, len(rows), self.range)
        for number, verdict in enumerate(verdicts if len(rows) > 1 else ()):
            if isinstance(verdict, Unscored) and verdict.reason in (Reason.MALFORMED, Reason.REJECTED):
                [verdicts[number]] = await self._verdicts([rows[number]])
        return verdicts

    async def _returned(self, rows: list[dict[str, Any]]) -> object:
        """Return the results as Python's own numbers; reading those of a GPU can raise what went wrong there."""
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        images, prompts = columns.pop(self.takes[0]), columns.pop("prompts")

        def call() -> object:
            returned = self.function(images, prompts, **columns)
            return returned if isinstance(returned, Awaitable) else _plain(returned)

        returned = await in_thread(call)
        if not isinstance(returned, Awaitable):
            return returned
        with no_exit():
            return _plain(await returned)


def _is_own_failure(error: BaseException) -> bool:
    """Return whether the scorer failed, and not the whole work: a cancellation from outside never arrives as a result."""
    return isinstance(error, Exception | asyncio.CancelledError) and not isinstance(error, InputError)


def _plain(returned: object) -> object:
    """Return arrays, tensors and scalars of NumPy or torch, also those in a list, as lists and numbers of Python."""
    values = returned.tolist() if callable(getattr(returned, "tolist", None)) else returned  # type: ignore[attr-defined]
    if isinstance(values, str | bytes) or not isinstance(values, Sequence):
        return values
    return [value.item() if getattr(value, "ndim", None) == 0 else value for value in values]


def checked_scores(returned: object, count: int, bounds: tuple[float, float] = UNBOUNDED) -> list[Verdict[float]]:
    """Return a verdict for each of ``count`` pictures from what a scorer returned, or the exception that it raised.

    A number that stands alone is the score of a picture that is alone.

    Example:
        >>> [getattr(each, "value", each) for each in checked_scores([0.5, 1], 2)]
        [0.5, 1.0]
        >>> [each.reason.value for each in checked_scores([None, 7, float("nan")], 3, (0, 1))]
        ['abstained', 'off_menu', 'malformed']
        >>> checked_scores([0.5], 2)[1].detail
        'the scorer returned 1 results for 2 pictures'
    """
    if isinstance(returned, BaseException):
        words = "".join(format_exception_only(returned)).strip()  # also of an exception whose own words raise
        return [Unscored(Reason.REJECTED, f"the scorer raised {words}")] * count
    values = _plain(returned)
    if count == 1 and isinstance(values, Real):
        values = [values]
    if isinstance(values, str | bytes) or not isinstance(values, Sequence):
        words = f"the scorer returned {type(returned).__name__}, not a list of {count} numbers"
        return [Unscored(Reason.MALFORMED, words)] * count
    if len(values) != count:
        words = f"the scorer returned {len(values)} results for {count} pictures"
        return [Unscored(Reason.MALFORMED, words)] * count
    return [_checked(value, bounds) for value in values]


def _checked(value: object, bounds: tuple[float, float]) -> Verdict[float]:
    if isinstance(value, Unscored):
        return value
    if isinstance(value, Scored):
        value = value.value
    if value is None:
        return Unscored(Reason.ABSTAINED, "the scorer gave no score")
    if not isinstance(value, Real):
        return Unscored(Reason.MALFORMED, f"the scorer gave {type(value).__name__} where a number belongs")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        return Unscored(Reason.MALFORMED, f"the scorer gave {number}")
    lowest, highest = bounds
    if not lowest <= number <= highest:
        return Unscored(Reason.OFF_MENU, f"the score {number:g} is outside of its range {lowest:g} to {highest:g}")
    return Scored(number)


def opened_picture(image: object) -> Any:
    """Return a picture as a new PIL image in RGB, or ``Unscored``.

    It is upright and in sRGB, with transparent parts on white, as a judge sees it.

    Args:
        image: a PIL image, ``Media``, or the bytes of a file. Needs Pillow.
    """
    try:
        from PIL import Image
    except ImportError as error:
        raise InputError("scorers need Pillow", hint="uv pip install './packages/taxonomy[pictures]'") from error
    if isinstance(image, Media):
        path = Path(str(image.uri))
        image = image.data if image.data is not None else read_inside(path, path.parent, DEFAULT_LIMITS.most_bytes)
    if isinstance(image, Unscored):
        return image
    if isinstance(image, bytes | bytearray):
        decoded = decode(bytes(image))
        return decoded if isinstance(decoded, Unscored) else decoded.image.convert("RGB")
    if not isinstance(image, Image.Image):
        return Unscored(Reason.BAD_MEDIA, f"{type(image).__name__} is no picture")
    if image.width * image.height > DEFAULT_LIMITS.most_pixels:
        return Unscored(Reason.BAD_MEDIA, f"the picture has more than {DEFAULT_LIMITS.most_pixels:,} pixels")
    try:
        image.load()
        picture = to_srgb(upright(image)[0]).image
        return picture.convert("RGB")  # a copy: what a scorer does to it is not done to the caller's
    except picture_failures() as error:
        return Unscored(Reason.BAD_MEDIA, f"the picture cannot be read ({str(error) or type(error).__name__})")


def _is_video(media: object) -> bool:
    return isinstance(media, list | tuple) or (isinstance(media, Media) and media.kind == MediaKind.VIDEO)


def opened_video(video: object) -> Any:
    """Return the frames of a video as new PIL images, each as :func:`opened_picture` returns it, or ``Unscored``.

    Args:
        video: a list of frames, or ``Media`` whose ``film`` was taken.

    Example:
        >>> from PIL import Image
        >>> [frame.mode for frame in opened_video([Image.new("L", (8, 8))] * 2)], opened_video([]).detail
        (['RGB', 'RGB'], 'the video has no frames')
    """
    if isinstance(video, Media):
        if video.film is None:
            return Unscored(Reason.BAD_MEDIA, "no frames were taken from the video")
        video = [frame.image for frame in video.film.frames]
    frames = [opened_picture(frame) for frame in video] if isinstance(video, list | tuple) else []
    wrong = next((number for number, frame in enumerate(frames) if isinstance(frame, Unscored)), None)
    if wrong is not None:
        return Unscored(frames[wrong].reason, f"frame {wrong + 1}: {frames[wrong].detail}")
    return frames or Unscored(Reason.BAD_MEDIA, "the video has no frames")


def open_scorer(specification: str, environment: Mapping[str, str] | None = None) -> CheckedScorer:
    """Load the scorer that a text names; nothing is called yet.

    Args:
        specification: ``MODULE:FUNCTION``, ``./FILE.py:FUNCTION``, or ``NAME`` or ``NAME:SETTINGS`` of an installed scorer.
        environment: where an installed scorer finds secrets; None: nowhere.

    Raises:
        InputError: there is no such scorer, its code cannot be imported, or an attribute of it is wrong.

    Example:
        >>> try:
        ...     open_scorer("no_such_module:score")
        ... except InputError as error:
        ...     print(error.problem)
        cannot be imported (ModuleNotFoundError: No module named 'no_such_module')
    """
    word, colon, rest = specification.partition(":")
    if word in installed(SCORERS):
        kind = plugin(SCORERS, word, object)
        if isinstance(kind, ScorerKind):
            return checked_scorer(kind.open(rest, environment or {}), source=specification)
        if rest:
            raise InputError("takes no settings after its name", source=word, value=rest)
        return checked_scorer(kind, source=specification, name=word)
    module, colon, attribute = specification.rpartition(":")
    if not colon or not module or not attribute:
        own = f"Name its function too: {specification}:FUNCTION" if Path(specification).suffix == ".py" else ""
        hint = own or own_file_hint(specification) or _HINT
        raise InputError("no such scorer", value=specification, allowed=installed(SCORERS) or None, hint=hint)
    return checked_scorer(loaded(module, attribute), source=specification, name=attribute)


def checked_scorer(scorer: object, *, source: str | None = None, name: str | None = None) -> CheckedScorer:
    """Return a function, a class or a :class:`~salon_taxonomy.protocols.Scorer` with its attributes checked.

    Args:
        scorer: is called with pictures or videos, prompts, and the media that its parameters name; a class is first made
            without arguments.
        source: names it in messages.
        name: what it was loaded by, which is part of the version: one file may define several scorers. Its name in tables,
            where it has none of its own.

    Raises:
        InputError: it cannot be called, an attribute is wrong, or it has neither a version nor a source file.
    """
    if isinstance(scorer, CheckedScorer):
        return scorer
    function = _made(scorer, source) if isinstance(scorer, type) else scorer
    if not callable(function):
        raise InputError(
            "a scorer is a function (images, prompts) -> scores, not", source=source, value=type(function).__name__
        )
    own = getattr(function, "name", None) or name or getattr(function, "__name__", None) or type(function).__name__
    if not isinstance(own, str) or not 0 < len(own) <= _LONGEST_NAME or not own.isprintable():
        raise InputError("must be a short text, not", source=source, key="name", value=own)
    takes, optional = _parameters(function, source)
    usual = _BATCH_OF_VIDEOS if takes[0] == FRAMES else _BATCH
    upward, batch = getattr(function, "higher_is_better", True), getattr(function, "batch", usual)
    rate = getattr(function, "frames_per_second", _FRAMES_PER_SECOND)
    if not isinstance(upward, bool):
        raise InputError("must be True or False, not", source=source, key="higher_is_better", value=upward)
    if not isinstance(batch, int) or batch < 1:
        raise InputError("must be 1 or more, not", source=source, key="batch", value=batch)
    if not isinstance(rate, int | float) or not 0 < rate <= _FASTEST:
        raise InputError(f"must be above 0 and at most {_FASTEST}, not", source=source, key="frames_per_second", value=rate)
    bounds = _range(getattr(function, "range", None), source)
    shaping: dict[str, Digestible] = {
        "name": name or own,
        "version": _version(function, source),
        "range": [str(end) for end in bounds],
        "higher_is_better": upward,
    }
    if takes[0] == FRAMES:
        shaping["frames_per_second"] = str(rate)
    return CheckedScorer(function, own, digest("scorer", shaping), bounds, upward, batch, takes, optional, float(rate))


def _parameters(function: Callable[..., Any], source: str | None) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return what a scorer takes, and what of it may be missing; by its attribute ``takes``, else by its parameters' names.

    Raises:
        InputError: it does not take two arguments, takes the prompts first, or needs a parameter that no scorer is given.
    """
    own = getattr(function, "takes", None)
    if own is not None:
        takes = tuple(own) if isinstance(own, list | tuple) else ()
        if not takes or takes[0] not in (IMAGES, FRAMES) or not set(takes[1:]) <= BESIDE.keys():
            allowed = (IMAGES, FRAMES, *BESIDE)
            raise InputError(
                "must be a tuple of names, images or frames first, not", source=source, key="takes", value=own, allowed=allowed
            )
        return takes, frozenset()
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a function of C
        return (IMAGES,), frozenset()
    parameters = list(signature.parameters.values())
    in_order = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    takes_two = len(in_order) > 1 or any(each.kind == each.VAR_POSITIONAL for each in parameters)
    if not takes_two or [each.name for each in in_order[1:2]] in ([IMAGES], [FRAMES]):
        problem = "a scorer is a function (images, prompts) or (frames, prompts), in this order; it is"
        raise InputError(
            problem, source=source, value=str(signature), hint="Each is a list of a batch's rows; return a number for each."
        )
    first = FRAMES if parameters and parameters[0].name == FRAMES else IMAGES
    beside = [each for each in parameters[2:] if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
    unknown = next((each.name for each in beside if each.name not in BESIDE and each.default is each.empty), None)
    if unknown is not None:
        problem = "a scorer is a function (images, prompts) or (frames, prompts) and media beside them; it needs"
        raise InputError(problem, source=source, value=unknown, allowed=tuple(BESIDE))
    named = [each for each in beside if each.name in BESIDE]
    return (first, *(each.name for each in named)), frozenset(each.name for each in named if each.default is not each.empty)


def loaded(module: str, attribute: str) -> object:
    """Return an attribute of a module, by the module's dotted name or its file (``./metrics.py``).

    Raises:
        InputError: the module cannot be imported, or has no such attribute.
    """
    if module.endswith(".py") and not Path(module).is_file():
        raise missing_path(module, meaning=_HINT)
    load = partial(module_of_file, Path(module)) if module.endswith(".py") else partial(importlib.import_module, module)
    hint = "A file is named ./FILE.py:FUNCTION; a module must be installed or on PYTHONPATH."
    loaded_object: object = checked_load(load, ModuleType, source=module, hint=hint)
    for name in attribute.split("."):
        if not hasattr(loaded_object, name):
            there = [each for each, value in vars(loaded_object).items() if callable(value) and not each.startswith("_")]
            nothing = None if there else "It defines no function and no class."
            raise InputError("has no such function", source=module, value=attribute, allowed=there or None, hint=nothing)
        loaded_object = getattr(loaded_object, name)
    return loaded_object


def _made(kind: type, source: str | None) -> object:
    try:
        return kind()
    except Exception as error:  # code of a user
        problem = f"cannot be made without arguments ({type(error).__name__}: {error})"
        raise InputError(
            problem, source=source, value=kind.__name__, hint="Name a function, or a class without any."
        ) from error


def _range(value: object, source: str | None) -> tuple[float, float]:
    if value is None:
        return UNBOUNDED
    ends = tuple(value) if isinstance(value, list | tuple) else ()
    if len(ends) != 2 or not all(isinstance(end, Real) for end in ends) or not ends[0] < ends[1]:
        hint = "Write range = (0, 1), the lower end first; math.inf where there is no bound."
        raise InputError("must be the lowest and the highest score, not", source=source, key="range", value=value, hint=hint)
    return float(ends[0]), float(ends[1])


def _version(scorer: object, source: str | None) -> str:
    """Return the scorer's own version, else a digest of the file that defines it."""
    own = getattr(scorer, "version", None)
    if isinstance(own, str) and own:
        return own
    if own is not None:
        raise InputError("must be a text, not", source=source, key="version", value=own)
    unwrapped: Any = inspect.unwrap(scorer) if callable(scorer) else scorer
    while hasattr(unwrapped, "func"):  # functools.partial
        unwrapped = unwrapped.func
    try:
        file = inspect.getsourcefile(unwrapped if inspect.isroutine(unwrapped) else type(unwrapped))
        if file is not None and Path(file).is_file():
            return file_sha256(file)
    except TypeError:
        pass
    hint = 'Give it one: clip_score.version = "1", raised with every change of its scores.'
    raise InputError("has no version, and no source file to make one of", source=source, key="version", hint=hint)
