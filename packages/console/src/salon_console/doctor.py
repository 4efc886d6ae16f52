"""``salon doctor``: which packages and extras are installed, and whether each package can work on this machine."""

import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import Distribution, PackageNotFoundError, distribution, entry_points
from pathlib import Path
from typing import Any, Final

import rich_click as click

from salon_console.commands import COMMANDS
from salon_console.options import FORMAT, output_option
from salon_console.output import as_json, deliver, print_parts
from salon_console.table_files import Table
from salon_taxonomy.visible_text import visible

_CHECKS: Final = "salon.checks"
"""Entry-point group of functions without arguments that return a :class:`MachineCheck`."""
_EXTRA: Final = re.compile(r"""extra\s*==\s*["']([^"']+)["']""")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class MachineCheck:
    """The result of one package's check of this machine.

    Attributes:
        done: what works, in a few words: "train".
        tables: header and rows of each table that people see.
        fields: the same for programs.
        problems: what prevents the work, each with what to do about it; empty when nothing does.
    """

    done: str
    tables: Sequence[tuple[Sequence[str], Sequence[Sequence[str]]]] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)
    problems: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class _Package:
    name: str
    version: str | None
    missing: Mapping[str, tuple[str, ...]]
    """Distributions that an extra needs and that are not installed, by extra; extras that are complete are left out."""

    @property
    def source(self) -> str:
        """The package's folder in a clone, from which its extras are installed."""
        return f"./packages/{self.name.removeprefix('salon-')}"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@output_option(what="Also write the table of packages to this file")
@FORMAT
@click.pass_context
def doctor(context: click.Context, form: str, output: Path | None) -> None:
    """Check the installation: packages, extras, and whether each package can work on this machine.

    With salon-train installed, one real train step is run on every device (some seconds). Exits with 1 when a package that
    is installed cannot work here; an absent package or extra is no fault.

    \b
    Example:
      salon doctor
      salon doctor --format json
    """
    packages = [_package(name) for name in COMMANDS]
    checks = dict(_checks())
    problems = [problem for check in checks.values() for problem in check.problems]
    document = {
        "python": platform.python_version(),
        "packages": [asdict(each) for each in packages],
        "checks": {name: {"ready": not check.problems, **check.fields} for name, check in checks.items()},
        "problems": problems,
    }
    lines = [
        (each.name, each.version or "not installed", ", ".join(f"{each.source}[{extra}]" for extra in each.missing))
        for each in packages
    ]
    table = Table(("package", "version", "extras that are not installed"), lines)
    values = [{"name": each.name, "version": each.version, "missing": list(each.missing)} for each in packages]
    deliver(table, values, form=form, output=output, show=lambda: _print(table, checks), json=lambda: as_json(document))
    if problems:
        context.exit(1)


def _print(packages: Table, checks: Mapping[str, MachineCheck]) -> None:
    print_parts(f"Python {platform.python_version()} on {platform.system()} {platform.machine()}", packages)
    for check in checks.values():
        for header, rows in check.tables:
            print_parts("", Table(tuple(header), rows))
        for problem in check.problems:
            click.echo(f"missing: {visible(problem)}", err=True)
        click.echo(f"{'not ' if check.problems else ''}ready to {check.done}")


def _checks() -> Iterator[tuple[str, MachineCheck]]:
    for entry in sorted(entry_points(group=_CHECKS), key=lambda entry_point: entry_point.name):
        try:
            yield entry.name, entry.load()()
        except (ImportError, AttributeError) as error:
            yield entry.name, MachineCheck(entry.name, problems=[f"{entry.value} cannot be loaded ({error}): reinstall it"])


def _package(name: str) -> _Package:
    try:
        installed = distribution(name)
    except PackageNotFoundError:
        return _Package(name, None, {})
    wanted: dict[str, list[str]] = {}
    for extra, needed in _needs(installed):
        if not _installed(needed):
            wanted.setdefault(extra, []).append(needed)
    return _Package(name, installed.version, {extra: tuple(names) for extra, names in sorted(wanted.items())})


def _needs(package: Distribution) -> Iterator[tuple[str, str]]:
    """Yield each extra with the name of a distribution that it needs."""
    for requirement in package.requires or ():
        text, _, marker = requirement.partition(";")
        extra, name = _EXTRA.search(marker), _NAME.match(text)
        if extra is not None and name is not None:
            yield extra[1], name[0]


def _installed(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True
