"""Suites by name: entry points of the group ``salon.suites``, or a file (``./suite.py``, ``./suite.toml``).

A listing imports every installed suite; a package that is broken affects its own suite only.
"""

import inspect
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Final, cast

from salon_bench.suites.contract.declared import DeclaredSuite
from salon_bench.suites.contract.imported import TOOLS, ImportedSuite
from salon_bench.suites.contract.suite import Suite
from salon_taxonomy.digest import digest, file_sha256
from salon_taxonomy.errors import InputError, missing_path
from salon_taxonomy.plugins import checked_load, installed, module_of_file, package_of, plugin

GROUP: Final = "salon.suites"
"""The group of entry points: ``name = "package.module:suite"``."""

_METHODS: Final = ("prompts", "generations", "cases", "examine", "aggregate")
_FILES: Final = (".py", ".toml")
_MEMBERS: Final = ("name", "version", "pictures", "steps", "picture_names", "reward", *_METHODS)


@dataclass(frozen=True, slots=True)
class SuiteListing:
    """One line of ``salon bench list``.

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
    """Return the suite of a name or of a file.

    A name that ends in ``.py`` or ``.toml`` is a path; one that begins with another tool's, such as ``inspect_ai:cats``, is
    a suite whose results were imported.

    Raises:
        InputError: no installed package brings the name or two do, the entry point cannot be imported, is no suite, or has
            another name; for a file as :func:`suite_of_file`.

    Example:
        >>> try:
        ...     suite_named("no-such-suite")
        ... except InputError as error:
        ...     print(error.problem, error.value)
        no installed package brings the suite no-such-suite
    """
    if name.endswith(_FILES):
        return suite_of_file(Path(name))
    if name.startswith(tuple(f"{tool}:" for tool in TOOLS)):
        return ImportedSuite(name)
    suite = plugin(GROUP, name, Suite, members=_MEMBERS)  # type: ignore[type-abstract]
    if suite.name != name:
        raise InputError("the suite calls itself", source=_packages(name), value=suite.name, allowed=[name])
    return suite


def suite_of_file(path: Path) -> Suite:
    """Return the suite that a file defines: a declaration (``.toml``), or Python code with an object ``suite`` (``.py``).

    ``NAME-released.toml``, where there is no such file, is ``NAME.toml`` with its table ``[released]``.

    Code runs with the rights of the user. The digest of the file is part of the suite's version.

    Raises:
        InputError: the file is missing or wrong, its code fails, it has no ``suite``, or an installed suite has its name.
    """
    written = written_in(path)
    if not written.is_file():
        raise missing_path(path, "suite file")
    suite = DeclaredSuite.read(written, released=written != path) if path.suffix == ".toml" else _of_code(path.resolve())
    if suite.name in suite_names():
        raise InputError(
            "an installed suite has this name already; choose another one:", source=path, key="name", value=suite.name
        )
    return suite


def written_in(path: Path) -> Path:
    """Return the file that contains a suite: of ``NAME-released.toml``, if there is no such file, ``NAME.toml``.

    Example:
        >>> written_in(Path("posters-released.toml")).name
        'posters.toml'
    """
    plain = path.stem.removesuffix("-released")
    return path.with_stem(plain) if plain and path.suffix == ".toml" and not path.exists() else path


def file_of(suite: Suite) -> Path | None:
    """Return the file that a suite was read from; None for an installed one."""
    file = getattr(suite, "file", None)
    return file if isinstance(file, Path) else None


class _CodeSuite:
    """The suite of a Python file; the digest of the file is part of its version."""

    def __init__(self, suite: Suite, file: Path, sha256: str) -> None:
        self._suite = suite
        self.file = file
        self.version = digest("suite file", {"version": suite.version, "sha256": sha256})

    def __getattr__(self, name: str) -> Any:
        """Return a member of the suite."""
        return getattr(self.__dict__["_suite"], name)


def _of_code(path: Path) -> Suite:
    sha256 = file_sha256(path)
    hint = "A suite file defines an object named suite: docs/suites.md has an example."

    def load() -> object:
        return getattr(module_of_file(path), "suite", None)

    suite = checked_load(load, Suite, source=str(path), members=_MEMBERS, hint=hint)  # type: ignore[type-abstract]
    return cast("Suite", _CodeSuite(suite, path, sha256))


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
