"""Check the options of public functions: types and ranges, read from the annotations.

A number says its range where it is declared: ``confidence: Confidence = 0.95``, or ``Annotated[float, Range(0, 1)]``. Functions
that share many options take them as one object, a frozen dataclass that inherits :class:`Options`; :func:`with_options` lets
callers write its fields as keywords.
"""

import collections.abc
import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import wraps
from inspect import Parameter, signature
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Concatenate,
    Literal,
    NamedTuple,
    ParamSpec,
    Protocol,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    overload,
)

import numpy as np

from salon_ranking.battles import Battles
from salon_ranking.errors import OptionError
from salon_ranking.files import Frame

A = TypeVar("A")
B = TypeVar("B")
P = ParamSpec("P")
R = TypeVar("R")
O_co = TypeVar("O_co", covariant=True)
OptionsT = TypeVar("OptionsT", bound="Options")
Progress: TypeAlias = Callable[[int, int], object]
"""Called now and then with the steps that are done and their number."""
_RANKINGS = "rankings"
Rankable: TypeAlias = Annotated[Battles, _RANKINGS]
"""Battles, or the pairs of rankings. Functions whose argument is ``Battles`` refuse rankings."""
Votes: TypeAlias = Battles | Frame | str | Path
"""Battles, a frame of them, or the path of a file or a result store."""


class Range(NamedTuple):
    """The numbers that an option may have; without its ends where ``is_open``."""

    least: float
    most: float = float("inf")
    is_open: bool = False

    def has(self, value: float) -> bool:
        """Return whether a number lies in the range."""
        return self.least < value < self.most if self.is_open else self.least <= value <= self.most

    def __str__(self) -> str:
        if self.most < float("inf"):
            return f"lie between {self.least:g} and {'2**63 - 1' if self.most > 1e18 else f'{self.most:.12g}'}"
        return f"be above {self.least:g}" if self.is_open else f"be {self.least:g} or more"


Confidence: TypeAlias = Annotated[float, Range(0, 1, is_open=True)]
"""Coverage of an interval."""
PriorTies: TypeAlias = Annotated[float, Range(0, 1e9)]
"""Drawn battles that every model has against one mean opponent."""
Replicates: TypeAlias = Annotated[int, Range(0, 2**31 - 1)]
"""Bootstrap replicates."""
Seed: TypeAlias = Annotated[int, Range(0, 2**63 - 1)]
"""Of random draws; equal seeds give equal results on any number of threads."""
Threads: TypeAlias = Annotated[int, Range(1, 1_000_000)]
"""Threads to work with; the result does not depend on them."""


class _Kind(NamedTuple):
    """The types that a parameter or field may have, the range of its numbers, and whether battles may be rankings."""

    types: tuple[object, ...]
    allowed: Range | None = None
    rankings: bool = False


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of a function, checked when they are made: each by its type and range, then their combinations by ``check``.

    Raises:
        OptionError: names the first wrong option.
    """

    def __post_init__(self) -> None:
        for field in fields(self):
            kind = _kind_of(field.type)
            value = _checked(field.name, getattr(self, field.name), kind)
            if isinstance(value, Iterable) and get_origin(kind.types[0]) is collections.abc.Sequence:
                value = tuple(value)
            object.__setattr__(self, field.name, value)
        self.check()

    def into(self, kind: type[OptionsT], **changes: object) -> OptionsT:
        """Return a ``kind`` of options with the values of those that both have, and changes."""
        names = {field.name for field in fields(kind)}
        shared = {field.name: getattr(self, field.name) for field in fields(self) if field.name in names}
        return kind(**{**shared, **changes})

    def check(self) -> None:
        """Check combinations of options.

        Raises:
            OptionError: names the first that cannot be combined.
        """


@dataclass(frozen=True, kw_only=True)
class WorkOptions(Options):
    """Options of long work: threads and progress.

    Attributes:
        threads: by default all processors that this process may use; the result does not depend on it.
        progress: called now and then with the steps that are done and their number.
    """

    threads: Threads | None = None
    progress: Progress | None = None


class _WithOptions(Protocol[P, O_co]):
    """Decorates functions that take battles and, last, an object of options; callers give its fields as keywords."""

    @overload
    def __call__(self, function: Callable[[Battles, Battles, O_co], R]) -> Callable[Concatenate[Votes, Votes, P], R]: ...
    @overload
    def __call__(self, function: Callable[[Battles, str, O_co], R]) -> Callable[Concatenate[Votes, str, P], R]: ...
    @overload
    def __call__(self, function: Callable[[Battles, O_co], R]) -> Callable[Concatenate[Votes, P], R]: ...
    @overload
    def __call__(self, function: Callable[[A, B, O_co], R]) -> Callable[Concatenate[A, B, P], R]: ...
    @overload
    def __call__(self, function: Callable[[A, O_co], R]) -> Callable[Concatenate[A, P], R]: ...


def with_options(kind: Callable[P, O_co]) -> _WithOptions[P, O_co]:
    """Return a decorator of functions whose last parameter is a ``kind`` of options: callers write its fields as keywords.

    The other arguments are checked as by :func:`checked`. A function whose first argument is battles takes the keywords of
    :meth:`Battles.read` too (``votes``, ``columns``, ``where``, …), for a table or path in their place.

    Args:
        kind: a frozen dataclass that inherits :class:`Options`.

    Example:
        >>> @dataclass(frozen=True, kw_only=True)
        ... class DrawOptions(Options):
        ...     seed: Seed = 0
        >>> @with_options(DrawOptions)
        ... def draw(battles: Battles, options: DrawOptions) -> tuple[int, int]:
        ...     return battles.count, options.seed
        >>> votes = {"model_a": ["x"], "model_b": ["y"], "winner": ["tie"]}
        >>> draw(votes, seed=3)
        (1, 3)
        >>> draw(votes, seed=-1)
        Traceback (most recent call last):
        ...
        salon_ranking.errors.OptionError: seed must lie between 0 and 2**63 - 1, not -1
    """

    def decorate(function: Callable[..., R]) -> Callable[..., R]:
        shape = signature(function)
        leading = list(shape.parameters.values())[:-1]
        kinds = {parameter.name: _kind_of(parameter.annotation) for parameter in leading}
        signature_shown = shape.replace(parameters=[*leading, *signature(kind).parameters.values()])

        @wraps(function)
        def call(*args: object, **keywords: object) -> R:
            reading = {name: keywords.pop(name) for name in _READING & {*keywords} if Battles in kinds[leading[0].name].types}
            arguments = signature_shown.bind(*args, **keywords).arguments
            if reading:
                arguments[leading[0].name] = battles_of(arguments[leading[0].name], **reading)
            first = [_checked(name, arguments.pop(name), kinds[name]) for name in kinds]
            return function(*first, cast("Callable[..., object]", kind)(**arguments))

        call.__dict__["__signature__"] = signature_shown
        return call

    return cast("_WithOptions[P, O_co]", decorate)


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function with its options checked first, and a frame or path in place of ``battles`` read.

    Whole numbers must be whole (``replicates=10.0`` is refused), numbers finite and in the range of their annotation, choices
    known. What only one function demands stays in that function.

    Raises:
        OptionError: names the option, its value and what is allowed.

    Example:
        >>> @checked
        ... def draw(*, seed: Seed = 0) -> int:
        ...     return seed
        >>> draw(seed=1.5)
        Traceback (most recent call last):
        ...
        salon_ranking.errors.OptionError: seed must be a whole number, not 1.5
    """
    shape = signature(function)
    variadic = (Parameter.VAR_KEYWORD, Parameter.VAR_POSITIONAL)
    kinds = {name: _kind_of(one.annotation) for name, one in shape.parameters.items() if one.kind not in variadic}

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        bound = shape.bind(*args, **kwargs)
        for name, value in bound.arguments.items():
            if name in kinds:
                bound.arguments[name] = _checked(name, value, kinds[name])
        return function(*bound.args, **bound.kwargs)

    return call


def takes_battles(function: Callable[Concatenate[Battles, P], R]) -> Callable[Concatenate[Votes, P], R]:
    """Return the function as :func:`checked`; a frame or a path in place of its first argument, ``battles``, is read.

    Example:
        >>> @takes_battles
        ... def count(battles: Battles) -> int:
        ...     return battles.count
        >>> count({"model_a": ["x"], "model_b": ["y"], "winner": ["tie"]})
        1
    """
    return cast("Callable[Concatenate[Votes, P], R]", checked(function))


_READING = {name for name, parameter in signature(Battles.read).parameters.items() if parameter.kind is Parameter.KEYWORD_ONLY}


def battles_of(votes: Votes, **reading: Any) -> Battles:
    """Return battles as they are, those of a frame, or those at a path.

    Args:
        reading: keywords of :meth:`Battles.read`.

    Raises:
        OptionError: there are keywords, and the battles are read already.
        BattleError: it is none of these; or as :meth:`Battles.from_frame` and :meth:`Battles.read`.
    """
    if isinstance(votes, Battles):
        if reading:
            hint = f"Give them where the table is read: Battles.read(path, {next(iter(reading))}=…)."
            raise OptionError("these battles are read already; there is nothing left to do for", value=[*reading], hint=hint)
        return votes
    return Battles.read(votes, **reading) if isinstance(votes, str | Path) else Battles.from_frame(votes, **reading)


def refuse_rankings(battles: Battles) -> None:
    """Refuse rankings where battles are wanted.

    Raises:
        OptionError: the battles are the pairs of rankings.
    """
    if battles.orders is not None:
        hint = "Rankings are for fit, rank and differences: `salon votes rank FILE` and `salon votes compare FILE`."
        raise OptionError("this is for battles, and the table holds rankings", source=battles.source, hint=hint)


def _kind_of(annotation: object) -> _Kind:
    """Return the types and the range of an annotation."""
    parts = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    words = [word for part in parts if get_origin(part) is Annotated for word in get_args(part)]
    allowed = [word for word in words if isinstance(word, Range)]
    types = tuple(get_args(part)[0] if get_origin(part) is Annotated else part for part in parts)
    return _Kind(types, allowed[0] if allowed else None, _RANKINGS in words)


def _checked(name: str, value: object, kind: _Kind) -> object:
    """Return the value: battles read, a whole number of another library as one of Python."""
    if value is None and NoneType in kind.types:
        return value
    if Battles in kind.types:
        battles = battles_of(cast("Votes", value))
        if not kind.rankings:
            refuse_rankings(battles)
        return battles
    wanted = [one for one in kind.types if one is not NoneType]
    if wanted == [bool]:
        if not isinstance(value, bool) and value not in (0, 1):
            raise OptionError(f"{name} must be True or False, not", value=value)
    elif wanted in ([int], [float]):
        return _number(name, value, whole=wanted == [int], allowed=kind.allowed)
    elif wanted == [str]:
        if not isinstance(value, str):
            raise OptionError(f"{name} must be text, not", value=value)
    elif len(wanted) == 1:
        _check_kind(name, value, wanted[0])
    elif {get_origin(one) for one in wanted} == {collections.abc.Sequence, np.ndarray}:
        _elements(name, value)
    return value


def _check_kind(name: str, value: object, kind: object) -> None:
    """Refuse a value that is not of a kind with parts: a choice, a function, a mapping, a sequence."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Literal and (not isinstance(value, str) or value not in parts):
        raise OptionError(f"{name} is unknown:", value=value, allowed=parts)
    if origin is collections.abc.Callable and not callable(value):
        raise OptionError(f"{name} must be a function, not", value=value)
    if origin is collections.abc.Mapping:
        if not isinstance(value, Mapping):
            raise OptionError(f"{name} must be a mapping, not", value=value)
        for key, number in value.items() if parts == (str, float) else ():
            if not isinstance(number, Real) or not math.isfinite(number):
                raise OptionError(f"{name} must hold finite numbers, not", key=str(key), value=number)
    if origin is collections.abc.Sequence:
        for element in _elements(name, value):
            if not _is_element(element, parts[0]):
                raise OptionError(f"{name} must hold {_words(parts[0])}, not", value=repr(element))


def _elements(name: str, value: object) -> Iterable[object]:
    """Return a list unchanged, and refuse other values."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise OptionError(f"{name} must be a list, not", value=repr(value))
    return value


def _is_element(value: object, kind: object) -> bool:
    """Return whether a value may be in a sequence of a kind."""
    if kind in (int, float):
        number = Integral if kind is int else Real
        return isinstance(value, number) and not isinstance(value, bool)
    known = str if get_origin(kind) is Literal else kind
    return not isinstance(known, type | UnionType) or isinstance(value, known)


def _words(kind: object) -> str:
    """Return what an error calls the elements of a sequence."""
    if kind in (int, float):
        return "whole numbers" if kind is int else "numbers"
    return "text" if kind is str or get_origin(kind) is Literal else str(getattr(kind, "__name__", kind))


def shaped(**shapes: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that checks the shapes of arrays of numbers, one letter per dimension; equal letters are equal sizes.

    None is left to the function where the argument may be None.

    Raises:
        OptionError: an argument is not numbers, or has another shape.

    Example:
        >>> @shaped(x="nk", y="n")
        ... def fitted(x: object, y: object) -> int:
        ...     return len(y)
        >>> fitted([[1.0], [2.0]], [1.0])
        Traceback (most recent call last):
        ...
        salon_ranking.errors.OptionError: y must have the shape (n), with n = 2, not (1,)
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        shape_of = signature(function)
        may_be_none = {name for name in shapes if shape_of.parameters[name].default is None}

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            bound = shape_of.bind(*args, **kwargs)
            sizes: dict[str, int] = {}
            for name, letters in shapes.items():
                value = bound.arguments.get(name)
                if value is not None or name not in may_be_none:
                    bound.arguments[name] = _array(name, value, letters, sizes)
            return function(*bound.args, **bound.kwargs)

        return call

    return decorate


def _array(
    name: str, value: object, letters: str, sizes: dict[str, int]
) -> "np.ndarray[tuple[int, ...], np.dtype[np.generic]]":
    """Return the numbers as an array of the wanted shape."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "biuf":
            array = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise OptionError(f"{name} must be numbers, not", value=repr(value)) from error
    known = dict(sizes)
    fits = array.ndim == len(letters) and all(
        known.setdefault(letter, size) == size for letter, size in zip(letters, array.shape, strict=True)
    )
    if not fits or isinstance(value, str | bytes):
        sizes_before = ", ".join(f"{letter} = {sizes[letter]}" for letter in dict.fromkeys(letters) if letter in sizes)
        wanted = f"({', '.join(letters)}){f', with {sizes_before}' if sizes_before else ''}"
        raise OptionError(f"{name} must have the shape {wanted}, not {array.shape}")
    sizes.update(known)
    return array


def _number(name: str, value: object, *, whole: bool, allowed: Range | None) -> float:
    problem = f"{name} must be a {'whole ' if whole else ''}number, not"
    if isinstance(value, bool) or not isinstance(value, Real):
        raise OptionError(problem, value=value)
    if value != value:  # NaN
        raise OptionError(f"{name} must {allowed or 'be a finite number'}, not", value=value)
    if whole and not isinstance(value, Integral):
        raise OptionError(problem, value=value)
    number = int(value) if isinstance(value, Integral) else float(value)
    if allowed is not None and not allowed.has(number):
        raise OptionError(f"{name} must {allowed}, not", value=value)
    return number


def workers(threads: int | None) -> int:
    """Return the number of threads to use; by default all processors that this process may use.

    Raises:
        OptionError: ``threads`` is not a whole number within its range.
    """
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return int(_number("threads", threads, whole=True, allowed=_kind_of(Threads).allowed))
