"""Contracts of the judges, editors and scorers that installed packages bring through entry points.

    [project.entry-points."salon.judges"]
    pixels = "salon_synthetic.pixel_judge.kind:kind"      a JudgeKind
    [project.entry-points."salon.editors"]
    draw = "salon_synthetic.draw_editor.editor:kind"          an EditorKind
    [project.entry-points."salon.scorers"]
    clip-score = "my_metrics:clip_score"                      a function, a Scorer or a ScorerKind

The name of the entry point is the word before the colon on a command line: ``--judge pixels:blur=2``.
"""

import asyncio
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.machinery import SourceFileLoader
from importlib.metadata import EntryPoint, entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import Any, Final, Protocol, Self, TypeVar, runtime_checkable

from pydantic import BaseModel, ConfigDict, Field

from salon_taxonomy.digest import digest, file_sha256
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Editor, Judge, Scorer

JUDGES: Final = "salon.judges"
"""The group of entry points whose objects are :class:`JudgeKind`."""
EDITORS: Final = "salon.editors"
"""The group of entry points whose objects are :class:`EditorKind`."""
SCORERS: Final = "salon.scorers"
"""The group of entry points whose objects are functions, :class:`Scorer` or :class:`ScorerKind`."""

_OWN_FILES: Final = (".py", ".toml")
_Kind = TypeVar("_Kind")
T = TypeVar("T")


class Closing(ABC):
    """A judge or an editor that ``async with`` closes; resources open at first use.

    Example:
        >>> import asyncio
        >>> class Door(Closing):
        ...     async def close(self) -> None:
        ...         print("closed")
        >>> async def main() -> None:
        ...     async with Door() as door:
        ...         print(type(door).__name__)
        >>> asyncio.run(main())
        Door
        closed
    """

    @abstractmethod
    async def close(self) -> None:
        """Release every resource; the next use opens it again."""

    async def __aenter__(self) -> Self:
        """Return the object itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close it."""
        await self.close()


@runtime_checkable
class Managed(Protocol):
    """What ``async with`` closes: :class:`Closing`, or anything with its methods."""

    async def close(self) -> None:
        """Release connections, models and files; the next use opens them again."""

    async def __aenter__(self) -> Self:
        """Return the object itself."""

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close it."""


@runtime_checkable
class ManagedJudge(Judge, Managed, Protocol):
    """A :class:`~salon_taxonomy.protocols.Judge` that is closed when the run ends: ``async with open_judge(…) as judge``."""


@runtime_checkable
class ManagedEditor(Editor, Managed, Protocol):
    """An :class:`~salon_taxonomy.protocols.Editor` that is closed at the end: ``async with open_editor(…) as editor``."""


class JudgeSettings(BaseModel):
    """Settings that every kind of judge has. They contain no secret, so they can be stored and printed.

    Attributes:
        kind: the kind of judge: the name of a :class:`JudgeKind`.
        name: the judge's name in tables.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, hide_input_in_errors=True)

    kind: str
    name: str | None = Field(default=None, min_length=1, max_length=400)

    @property
    def title(self) -> str:
        """The name in tables; without one, the kind."""
        return self.name or self.kind

    @property
    def version(self) -> str:
        """A digest of everything that shapes the replies."""
        return digest("judge", self.model_dump(mode="json", exclude={"name"}))


@dataclass(frozen=True, slots=True)
class JudgeKind:
    """One kind of judge: how its settings are read and how it is opened.

    Attributes:
        name: the word before the colon on a command line, and ``kind`` in a file.
        settings: the model of its settings; its field ``kind`` is the name.
        completed: fills in the values that a file may leave out.
        from_text: the settings that the text after the colon means, as a file would give them.
        open: makes the judge, given its settings and the environment in which secrets are found.
    """

    name: str
    settings: type[JudgeSettings]
    completed: Callable[[dict[str, Any]], dict[str, Any]]
    from_text: Callable[[str], dict[str, Any]]
    open: Callable[[Any, Mapping[str, str]], ManagedJudge]


@dataclass(frozen=True, slots=True)
class EditorKind:
    """One kind of editor.

    Attributes:
        name: the word before the colon on a command line.
        open: makes the editor, given the text after the colon and the environment in which secrets are found.
    """

    name: str
    open: Callable[[str, Mapping[str, str]], ManagedEditor]


@dataclass(frozen=True, slots=True)
class ScorerKind:
    """One kind of scorer that takes settings, such as the weights of a model.

    Attributes:
        name: the word before the colon on a command line.
        open: makes the scorer, given the text after the colon and the environment in which secrets are found.
    """

    name: str
    open: Callable[[str, Mapping[str, str]], Scorer]


def installed(group: str) -> list[str]:
    """Return the names that installed packages bring in a group of entry points, in alphabetical order."""
    return sorted({entry.name for entry in entry_points(group=group)})


def plugin(group: str, name: str, expected: type[_Kind], *, members: Sequence[str] = ()) -> _Kind:
    """Import the object that an entry point names.

    Args:
        group: of entry points.
        name: of the entry point.
        expected: the type or the runtime-checkable protocol of the object.
        members: of a protocol, to name those that the object lacks.

    Raises:
        InputError: no package brings the name, two packages bring different objects, the import fails, or the object is of
            another type.

    Example:
        >>> try:
        ...     plugin(JUDGES, "no-such-judge", JudgeKind)
        ... except InputError as error:
        ...     print(error.problem, error.value)
        no installed package brings the judge no-such-judge
    """
    entries = {entry.value: entry for entry in entry_points(group=group) if entry.name == name}
    if not entries:
        problem = f"no installed package brings the {group.removeprefix('salon.').removesuffix('s')}"
        if hint := own_file_hint(name):
            raise InputError(problem, value=name, hint=hint)
        hint = "Install the package that brings it, or name a file of your own with its ending."
        raise InputError(problem, value=name, allowed=installed(group), hint=hint)
    if len(entries) > 1:
        packages = sorted(map(package_of, entries.values()))
        raise InputError("several packages bring this name:", source=group, value=name, allowed=packages, hint="Uninstall one.")
    [entry] = entries.values()
    source = f"{group}, {name} = {entry.value} ({package_of(entry)})"
    return checked_load(entry.load, expected, source=source, members=members, value=name, hint=partial(_hint, entry))


def own_file_hint(name: str) -> str:
    """Return a sentence about files of the working folder that have this name and an ending; empty without one."""
    own = sorted(f"./{file.name}" for ending in _OWN_FILES for file in Path().glob(f"*{ending}") if file.stem == name)
    return f"A file of your own is named with its ending: {' or '.join(own)}" if own else ""


def checked_load(
    load: Callable[[], object],
    expected: type[_Kind],
    *,
    source: str,
    members: Sequence[str] = (),
    value: str | None = None,
    hint: str | Callable[[Exception], str],
) -> _Kind:
    """Run foreign code that makes an object, and check the object's type.

    Args:
        load: imports the code and returns the object.
        expected: the type or the runtime-checkable protocol of the object.
        source: where the code is, for messages.
        members: of a protocol, to name those that the object lacks.
        value: the name of the object, for messages.
        hint: what to do when the import fails; a function receives the error.

    Raises:
        InputError: the import fails, or the object is of another type.
    """
    try:
        loaded = load()
    except Exception as error:  # foreign code: importing it may raise anything
        problem = f"cannot be imported ({type(error).__name__}: {error})"
        next_step = hint if isinstance(hint, str) else hint(error)
        raise InputError(problem, source=source, value=value, hint=next_step) from error
    if not isinstance(loaded, expected):
        lacking = [member for member in members if not hasattr(loaded, member)]
        what = f"is no {expected.__name__}; it lacks" if lacking else f"must be of type {expected.__name__}, not"
        hint_text = hint if isinstance(hint, str) else None
        raise InputError(what, source=source, value=lacking or type(loaded).__name__, hint=hint_text)
    return loaded


class _SourceAsItIs(SourceFileLoader):
    """Compiles the text each time: Python's own cache takes another text of one length, in one second, for the same."""

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


def module_of_file(path: Path) -> ModuleType:
    """Import a Python file once for each content that it has, under a name of its own.

    Raises:
        OSError: the file cannot be read; and whatever its code raises.
    """
    path = path.absolute()
    name = f"salon_file_{digest('file', [str(path), file_sha256(path)])}"
    if name not in sys.modules:
        spec = spec_from_file_location(name, path, loader=_SourceAsItIs(name, str(path)))
        assert spec is not None and spec.loader is not None  # noqa: S101 — the file ends in .py
        sys.modules[name] = module_from_spec(spec)
        try:
            spec.loader.exec_module(sys.modules[name])
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


@contextmanager
def no_exit() -> Iterator[None]:
    """Turn ``SystemExit`` and a panic of Rust in a user's or a library's code into RuntimeError.

    Neither is an ``Exception``: they would end the event loop or the task that called the code, and a server with it.

    Example:
        >>> with no_exit():
        ...     sys.exit(3)
        Traceback (most recent call last):
        ...
        RuntimeError: SystemExit: 3
    """
    try:
        yield
    except (Exception, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError):
        raise
    except BaseException as error:
        raise RuntimeError(f"{type(error).__name__}: {error}") from error


async def in_thread(call: Callable[[], T]) -> T:
    """Run the code of a user or a library in a thread and return its result.

    What it raises is raised; StopIteration becomes RuntimeError, because asyncio cannot pass it on and would wait for ever, and
    so do SystemExit and a panic of Rust (:func:`no_exit`).

    Example:
        >>> asyncio.run(in_thread(lambda: next(iter([]))))
        Traceback (most recent call last):
        ...
        RuntimeError: generator raised StopIteration
    """

    def once() -> Iterator[T]:
        with no_exit():
            result = call()
        yield result

    return await asyncio.to_thread(next, once())


def package_of(entry: EntryPoint) -> str:
    """Return the distribution that brings an entry point, with its version.

    Example:
        >>> package_of(EntryPoint("mine", "module:name", JUDGES))
        'an unnamed package'
    """
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else "an unnamed package"


def _hint(entry: EntryPoint, error: Exception) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name and not entry.module.startswith(error.name):
        return f"It needs the module {error.name!r}, which is not installed; see what {package_of(entry)} offers as extras."
    return "Update or uninstall the package that brings it; the others still work."
