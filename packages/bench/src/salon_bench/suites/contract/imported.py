"""The suite of rows that another tool made: its name, and means of its numbers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from salon_bench.suites.contract.base import SuiteBase
from salon_bench.suites.contract.suite import Case, Examination, SuitePrompt
from salon_taxonomy.errors import InputError

TOOLS: Final = ("inspect_ai", "lmms-eval", "evalscope")
"""The tools whose results `salon results import` reads; the first part of such a suite's name."""


class ImportedSuite(SuiteBase):
    """A task of another tool, such as ``inspect_ai:cats``; it has numbers, and asks nothing."""

    version = "imported"

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def name(self) -> str:
        """The tool and its task."""
        return self._name

    def prompts(self, source: Path | None) -> Sequence[SuitePrompt]:
        """Refuse to run.

        Raises:
            InputError: always.
        """
        raise InputError("the results of this suite were imported; it cannot be run", value=self._name)

    def examine(self, case: Case) -> Examination:
        """Ask nothing."""
        yield from ()
        return []
