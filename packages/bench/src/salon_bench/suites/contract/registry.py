"""Which suites are installed: entry points of the group ``salon.suites``, of this package and of anybody's.

Listing them imports nothing but the one that is asked for, and a package that is broken costs its own suite only.
"""

import inspect
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points

from salon_bench.suites.contract.suite import Suite
from salon_taxonomy.errors import InputError

GROUP = "salon.suites"
"""The group of entry points: ``name = "package.module:suite"``."""

_MEMBERS = ("name", "version", "pictures", "prompts", "cases", "examine", "aggregate")


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
    """The names of all installed suites, in alphabetical order."""
    return sorted({entry.name for entry in entry_points(group=GROUP)})


def suite_named(name: str) -> Suite:
    """Import and return one suite.

    Raises:
        InputError: for a name that no installed package brings or that two bring, an entry point that cannot be imported,
            is no suite, or calls itself by another name.

    Example:
        >>> try:
        ...     suite_named("no-such-suite")
        ... except InputError as error:
        ...     print(error.problem, error.value)
        there is no suite no-such-suite
    """
    found = [entry for entry in entry_points(group=GROUP) if entry.name == name]
    if not found:
        hint = "Suites of other packages appear once those are installed: pip install PACKAGE."
        raise InputError("there is no suite", value=name, allowed=suite_names(), hint=hint)
    if len({entry.value for entry in found}) > 1:
        packages = [_package(entry) for entry in found]
        raise InputError("several packages bring a suite of this name:", value=name, allowed=packages, hint="Uninstall one.")
    return _loaded(found[0])


def suites() -> list[SuiteListing]:
    """All installed suites by name, the broken ones with the reason; imports every one of them."""
    return [_listing(name) for name in suite_names()]


def _listing(name: str) -> SuiteListing:
    package = ", ".join(sorted({_package(entry) for entry in entry_points(group=GROUP) if entry.name == name}))
    try:
        suite = suite_named(name)
    except InputError as error:
        return SuiteListing(name, package, None, "", str(error).replace("\n", " "))
    about = inspect.getdoc(inspect.getmodule(type(suite))) or ""
    return SuiteListing(name, package, suite.version, about.partition("\n")[0])


def _loaded(entry: EntryPoint) -> Suite:
    source = f"{_package(entry)}, {entry.value}"
    try:
        suite = entry.load()
    except Exception as error:  # somebody else's code: importing it may raise anything
        problem = f"the suite cannot be imported ({type(error).__name__}: {error})"
        raise InputError(problem, source=source, value=entry.name, hint=_mend(entry, error)) from error
    if not isinstance(suite, Suite):
        lacks = [member for member in _MEMBERS if not hasattr(suite, member)]
        raise InputError("the entry point is no suite; it lacks", source=source, value=lacks or type(suite).__name__)
    if suite.name != entry.name:
        raise InputError("the suite calls itself", source=source, value=suite.name, allowed=[entry.name])
    return suite


def _mend(entry: EntryPoint, error: Exception) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name and not entry.module.startswith(error.name):
        return f"It needs the module {error.name!r}, which is not installed; see what {_package(entry)} offers as extras."
    return "Update or uninstall the package that brings it; other suites are not concerned."


def _package(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else "an unnamed package"
