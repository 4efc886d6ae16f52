"""What every public function demands of its options before it works: one table of ranges, and types from the annotations."""

import collections.abc
import math
import operator
import os
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from inspect import Parameter, signature
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import Concatenate, Literal, NamedTuple, ParamSpec, TypeVar, Union, get_args, get_origin

import numpy as np

from salon_ranking.battles import Battles
from salon_ranking.errors import OptionError
from salon_ranking.files import Frame

P = ParamSpec("P")
R = TypeVar("R")


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


RANGES: Mapping[str, Range] = {
    "alpha": Range(0, 1, is_open=True),
    "baseline_rating": Range(-1e12, 1e12),
    "confidence": Range(0, 1, is_open=True),
    "limit": Range(0, 1),
    "max_iterations": Range(0, 1e9),
    "most": Range(0, 1e9),
    "most_effect": Range(1e-6, 1e6),
    "most_per_model": Range(1),
    "most_width": Range(1e-6, 1e6),
    "orders": Range(0),
    "prior_ties": Range(0, 1e9),
    "ridge": Range(0, 1e9),
    "replicates": Range(0, 2**31 - 1),
    "rounds": Range(1),
    "samples": Range(1, 2**32 - 1),
    "seed": Range(0, 2**63 - 1),
    "share": Range(0, 1),
    "spread": Range(0, 1e6),
    "threads": Range(1, 1_000_000),
    "threshold": Range(0),
    "tolerance": Range(0, is_open=True),
}
"""Options that mean the same in every function that has them, and what they may be."""


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function with its options checked first, and a frame or path in place of ``battles`` read.

    Whole numbers must be whole (``replicates=10.0`` is refused), numbers finite where ``RANGES`` says so, names text. What only
    one function demands stays in that function.

    Raises:
        OptionError: names the option, its value and what is allowed.

    Example:
        >>> @checked
        ... def draw(*, seed: int = 0) -> int:
        ...     return seed
        >>> draw(seed=1.5)
        Traceback (most recent call last):
        ...
        salon_ranking.errors.OptionError: seed must be a whole number, not 1.5
    """
    shape = signature(function)
    kinds = {name: _kinds(parameter) for name, parameter in shape.parameters.items()}

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        bound = shape.bind(*args, **kwargs)
        for name, value in bound.arguments.items():
            if Battles in kinds[name]:
                bound.arguments[name] = battles_of(value) if NoneType not in kinds[name] or value is not None else None
            else:
                bound.arguments[name] = _checked(name, value, kinds[name])
        return function(*bound.args, **bound.kwargs)

    return call


def takes_battles(function: Callable[Concatenate[Battles, P], R]) -> Callable[Concatenate[Battles | Frame | str | Path, P], R]:
    """Return the function as :func:`checked`; a frame or a path in place of its first argument, ``battles``, is read.

    Example:
        >>> @takes_battles
        ... def count(battles: Battles) -> int:
        ...     return battles.count
        >>> count({"model_a": ["x"], "model_b": ["y"], "winner": ["tie"]})
        1
    """
    return checked(function)  # type: ignore[arg-type]


def battles_of(given: object) -> Battles:
    """Return battles as they are, those of a frame, or those at a path.

    Raises:
        BattleError: it is none of these; or as :meth:`Battles.from_frame` and :meth:`Battles.read`.
    """
    if isinstance(given, Battles):
        return given
    return Battles.read(given) if isinstance(given, str | Path) else Battles.from_frame(given)  # type: ignore[arg-type]


def _kinds(parameter: Parameter) -> tuple[object, ...]:
    """Return the types that a parameter may have; nothing where the annotation is more than these."""
    annotation = parameter.annotation
    if parameter.kind is Parameter.VAR_KEYWORD or parameter.kind is Parameter.VAR_POSITIONAL:
        return ()
    return get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)


def _checked(name: str, value: object, kinds: tuple[object, ...]) -> object:
    """Return the value, a whole number of another library as one of Python."""
    if value is None and NoneType in kinds:
        return value
    wanted = [kind for kind in kinds if kind is not NoneType]
    if wanted == [bool]:
        if not isinstance(value, bool) and value not in (0, 1):
            raise OptionError(f"{name} must be True or False, not", value=value)
    elif wanted in ([int], [float]):
        return _number(name, value, whole=wanted == [int])
    elif wanted == [str]:
        if not isinstance(value, str):
            raise OptionError(f"{name} must be text, not", value=value)
    elif len(wanted) == 1:
        _check_kind(name, value, wanted[0])
    elif {get_origin(kind) for kind in wanted} == {collections.abc.Sequence, np.ndarray}:
        _check_list(name, value)
    return value


def _check_kind(name: str, value: object, kind: object) -> None:
    """Refuse a value that is not of a kind with parts: words, a function, a mapping, a sequence."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Literal and not isinstance(value, str):
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
        _check_list(name, value)
        for each in value:  # type: ignore[attr-defined]
            if not _is_element(each, parts[0]):
                raise OptionError(f"{name} must hold {_words(parts[0])}, not", value=repr(each))


def _check_list(name: str, value: object) -> None:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise OptionError(f"{name} must be a list, not", value=repr(value))


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
        found = np.asarray(value)
        if found.dtype.kind not in "biuf":
            found = found.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise OptionError(f"{name} must be numbers, not", value=repr(value)) from error
    known = dict(sizes)
    fits = found.ndim == len(letters) and all(
        known.setdefault(letter, size) == size for letter, size in zip(letters, found.shape, strict=True)
    )
    if not fits or isinstance(value, str | bytes):
        given = ", ".join(f"{letter} = {sizes[letter]}" for letter in dict.fromkeys(letters) if letter in sizes)
        wanted = f"({', '.join(letters)}){f', with {given}' if given else ''}"
        raise OptionError(f"{name} must have the shape {wanted}, not {found.shape}")
    sizes.update(known)
    return found


def _number(name: str, value: object, *, whole: bool) -> object:
    allowed = RANGES.get(name)
    problem = f"{name} must be a {'whole ' if whole else ''}number, not"
    if isinstance(value, bool) or not isinstance(value, Real):
        raise OptionError(problem, value=value)
    if value != value:  # NaN
        raise OptionError(f"{name} must {allowed or 'be a finite number'}, not", value=value)
    number: float = float(value)
    if whole:
        try:
            number = operator.index(value)  # type: ignore[arg-type]
        except TypeError as error:
            raise OptionError(problem, value=value) from error
    if allowed is not None and not allowed.has(number):
        raise OptionError(f"{name} must {allowed}, not", value=value)
    return number if whole else value


def workers(threads: int | None) -> int:
    """Return the number of threads to use; by default all processors that this process may use.

    Raises:
        OptionError: ``threads`` is not a whole number within its range.
    """
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    number: int = _number("threads", threads, whole=True)  # type: ignore[assignment]
    return number
