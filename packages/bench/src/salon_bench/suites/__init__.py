"""Suites: what the field's benchmarks ask about a picture, and how the answers become numbers.

``suites()`` lists those of all installed packages (entry points ``salon.suites``); the contract is in ``suite.py``, one
folder holds one suite: its prompts (``*.jinja``), rules, README and tests beside it.
"""

from importlib.metadata import entry_points

from salon_bench.suites.suite import (
    Case,
    Examination,
    Inquiry,
    Judging,
    Suite,
    SuitePrompt,
    Summary,
    one_picture_cases,
)
from salon_taxonomy.errors import InputError

__all__ = [
    "Case",
    "Examination",
    "Inquiry",
    "Judging",
    "Suite",
    "SuitePrompt",
    "Summary",
    "one_picture_cases",
    "suite_named",
    "suite_names",
]

_GROUP = "salon.suites"


def suite_names() -> list[str]:
    """The names of all installed suites, in alphabetical order."""
    return sorted({entry.name for entry in entry_points(group=_GROUP)})


def suite_named(name: str) -> Suite:
    """Import and return one suite.

    Raises:
        InputError: for a name that no installed package brings, or an entry point that is no suite.
    """
    found = [entry for entry in entry_points(group=_GROUP) if entry.name == name]
    if not found:
        raise InputError("there is no suite", value=name, allowed=suite_names())
    suite = found[0].load()
    if not isinstance(suite, Suite):
        raise InputError("the entry point is no suite", source=found[0].value, value=name)
    return suite
