"""Suites: what the field's benchmarks ask about a picture, and how the answers become numbers.

``suites()`` lists those of all installed packages (entry points ``salon.suites``); the contract is in ``suite.py``, one
folder holds one suite: its prompts (``*.jinja``), rules, README and tests beside it. ``rehearse`` tries one without a judge.
"""

from salon_bench.suites.generations import Generated, Generations, read_generations
from salon_bench.suites.registry import SuiteListing, suite_named, suite_names, suites
from salon_bench.suites.rehearsal import Rehearsal, rehearse, shape
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
from salon_bench.suites.templates import Templates

__all__ = [
    "Case",
    "Examination",
    "Generated",
    "Generations",
    "Inquiry",
    "Judging",
    "Rehearsal",
    "Suite",
    "SuiteListing",
    "SuitePrompt",
    "Summary",
    "Templates",
    "one_picture_cases",
    "read_generations",
    "rehearse",
    "shape",
    "suite_named",
    "suite_names",
    "suites",
]
