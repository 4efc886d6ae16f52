"""The defaults of a package: of its functions, classes, stages and commands, read from files that are run for it."""

import runpy
from collections import defaultdict
from collections.abc import Iterator
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import Any

import click


def defaults_of(package: ModuleType) -> dict[str, set[float]]:
    """Return the numbers and truth values that each parameter, field or option has where it is left out."""
    defaults: dict[str, set[float]] = defaultdict(set)
    for path in sorted(Path(str(package.__file__)).parent.rglob("*.py")):
        # Run for itself: what stands in the file counts, whichever modules other tests have imported or replaced.
        for value in runpy.run_path(str(path)).values():
            for parameter, default in _defaults(value):
                if isinstance(default, bool | int | float):
                    defaults[parameter].add(default)
    return defaults


def _defaults(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, click.Command):
        yield from ((str(option.name), option.default) for option in value.params)
    function = getattr(value, "function", value)  # of a stage
    if callable(function) and getattr(function, "__module__", None) == "<run_path>":
        try:
            yield from ((each.name, each.default) for each in signature(function).parameters.values())
        except ValueError:
            return
