"""The installed suites: entry points of the group ``salon.suites``, of this package and of others.

A listing imports every suite; a package that is broken affects its own suite only.
"""

import inspect
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Final

from salon_bench.suites.contract.suite import Suite
from salon_taxonomy.errors import InputError
from salon_taxonomy.plugins import installed, package_of, plugin

GROUP: Final = "salon.suites"
"""The group of entry points: ``name = "package.module:suite"``."""

_METHODS: Final = ("prompts", "generations", "cases", "examine", "aggregate")
_MEMBERS: Final = ("name", "version", "pictures", "steps", "picture_names", "reward", *_METHODS)


@dataclass(frozen=True, slots=True)
class SuiteListing:
    """One line of ``salon bench suites``.

    Attributes:
        name: what ``salon bench run`` calls it.
        package: the distribution that brings it, and its version: ``salon-bench 0.1.0``.
        version: the suite's own version; None when it could not be loaded.
        summary: the first line of its module's documentation; empty when it has none.
        problem: why it could not be loaded; None when it could.
    """

    name: str
    package: str
    version: str | None
    summary: str
    problem: str | None = None


def suite_names() -> list[str]:
    """Return the names of all installed suites, in alphabetical order."""
    return installed(GROUP)


def suite_named(name: str) -> Suite:
    """Import and return one suite.

    Raises:
        InputError: no installed package brings the name or two do, the entry point cannot be imported, is no suite, or has
            another name.

    Example:
        >>> try:
        ...     suite_named("no-such-suite")
        ... except InputError as error:
        ...     print(error.problem, error.value)
        no installed package brings no-such-suite
    """
    suite = plugin(GROUP, name, Suite, members=_MEMBERS)  # type: ignore[type-abstract]
    if suite.name != name:
        raise InputError("the suite calls itself", source=_packages(name), value=suite.name, allowed=[name])
    return suite


def suites() -> list[SuiteListing]:
    """Return all installed suites by name, the broken ones with the reason; imports every one of them."""
    return [_listing(name) for name in suite_names()]


def _listing(name: str) -> SuiteListing:
    try:
        suite = suite_named(name)
    except InputError as error:
        return SuiteListing(name, _packages(name), None, "", str(error).replace("\n", " "))
    about = inspect.getdoc(inspect.getmodule(type(suite))) or ""
    return SuiteListing(name, _packages(name), suite.version, about.partition("\n")[0])


def _packages(name: str) -> str:
    return ", ".join(sorted({package_of(entry) for entry in entry_points(group=GROUP) if entry.name == name}))
