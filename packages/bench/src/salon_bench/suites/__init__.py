"""Suites: what the field's benchmarks ask about a picture, and how the answers become numbers.

``suites()`` lists those of all installed packages (entry points ``salon.suites``); ``contract`` contains what they share. A
folder is one suite: its prompts (``*.jinja``), rules and README. ``dry_run`` tries a suite without a judge.
"""

from salon_bench.suites.contract.base import SuiteBase
from salon_bench.suites.contract.dry_run import SuiteDryRun, dry_run, shape
from salon_bench.suites.contract.prompt_files import read_prompts
from salon_bench.suites.contract.registry import SuiteListing, suite_named, suite_names, suites
from salon_bench.suites.contract.suite import (
    Case,
    Examination,
    Inquiry,
    RunContext,
    Suite,
    SuitePrompt,
    Summary,
    one_picture_cases,
)
from salon_judges.asking.foreign_text import foreign
from salon_judges.asking.templates import Templates
from salon_judges.formats.generations import Generated, Generations, read_generations

__all__ = [
    "Case",
    "Examination",
    "Generated",
    "Generations",
    "Inquiry",
    "RunContext",
    "Suite",
    "SuiteBase",
    "SuiteDryRun",
    "SuiteListing",
    "SuitePrompt",
    "Summary",
    "Templates",
    "dry_run",
    "foreign",
    "one_picture_cases",
    "read_generations",
    "read_prompts",
    "shape",
    "suite_named",
    "suite_names",
    "suites",
]
