"""Recompute every cell that follows from others, and say how it agrees with what the paper prints.

The manifests say which cells follow from which and by which rule (``rules.py``); nothing here knows a paper. A cell that
disagrees is a finding about the paper, reported with the likely reason that the manifest gives; it is no error.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import isinf

import polars as pl

from salon_published.inputs import InputFinder
from salon_published.manifest import Check, Derivation, Statement
from salon_published.patterns import Pattern
from salon_published.rounding import MatchWithPrinted, Recomputed, compare, decimals, quantity
from salon_published.tables import PublishedTable, table, tables
from salon_taxonomy.errors import InputError


@dataclass(frozen=True, slots=True)
class CellCheck:
    """One printed number held against its recomputation.

    ``key`` is the name of the row, or the place in the paper's text; ``reason`` is None when nothing needs explaining.
    """

    table: str
    key: str
    column: str
    rule: str
    inputs: str
    printed: str
    recomputed: Recomputed
    agreement: MatchWithPrinted
    reason: str | None = None

    def recomputed_text(self) -> str:
        """Return the recomputed value with one digit more than was printed; a range ``low … high`` where it is only bounded.

        Whole numbers beside a printed whole number stay whole.
        """
        low, high = (_digits(end, self.printed) for end in (self.recomputed.low, self.recomputed.high))
        if self.recomputed.plain is not None:
            return _digits(self.recomputed.plain, self.printed)
        if self.recomputed.low > self.recomputed.high:
            return f"none (over {low}, under {high})"
        return low if low == high else f"{low} … {high}".strip()


def _digits(value: float, printed: str) -> str:
    if isinf(value):
        return ""
    places = decimals(printed)
    return f"{value:.0f}" if places == 0 and value.is_integer() else f"{value:.{places + 1}f}"


@dataclass(frozen=True, slots=True)
class RuleSummary:
    """How many cells of one table a rule covers, and how they agree."""

    table: str
    rule: str
    cells: int
    exact: int
    within_rounding: int
    consistent: int
    disagrees: int


@dataclass(frozen=True, slots=True)
class CheckReport:
    """All recomputed cells, in the order of tables, checks, columns and rows."""

    results: tuple[CellCheck, ...]

    @property
    def findings(self) -> tuple[CellCheck, ...]:
        """The cells that disagree with their own paper."""
        return tuple(result for result in self.results if result.agreement is MatchWithPrinted.DISAGREES)

    def count(self, agreement: MatchWithPrinted) -> int:
        """Return how many cells agree in this way."""
        return sum(result.agreement is agreement for result in self.results)

    def summary(self) -> tuple[RuleSummary, ...]:
        """Return one line per table and rule, in the order of the tables."""
        tally = Counter((result.table, result.rule, result.agreement) for result in self.results)
        pairs = dict.fromkeys((result.table, result.rule) for result in self.results)
        counted = [(pair, [tally[*pair, agreement] for agreement in MatchWithPrinted]) for pair in pairs]
        return tuple(RuleSummary(*pair, sum(numbers), *numbers) for pair, numbers in counted)

    def frame(self) -> pl.DataFrame:
        """Return one row per recomputed cell; ``recomputed`` is null where the paper prints too little to recompute it."""
        rows = [
            (*(r.table, r.key, r.column, r.rule, r.inputs, r.printed), *r.recomputed.ends(), r.agreement, r.reason)
            for r in self.results
        ]
        words, numbers = ["table", "key", "column", "rule", "inputs", "printed"], ["recomputed", "low", "high"]
        schema = {**dict.fromkeys(words, pl.String), **dict.fromkeys(numbers, pl.Float64)}
        return pl.DataFrame(rows, schema={**schema, "verdict": pl.String, "reason": pl.String}, orient="row")


def check(table_id: str | None = None) -> CheckReport:
    """Recompute all derivable cells, of one table or of all.

    Raises:
        InputError: there is no such table, or a manifest points at something that does not exist.

    Example:
        >>> check("prism:3").count(MatchWithPrinted.EXACT)
        14
    """
    chosen = tables() if table_id is None else (table(table_id),)
    known = {each.id: each for each in tables()}
    return check_tables(chosen, known)


def check_tables(chosen: Sequence[PublishedTable], known: dict[str, PublishedTable]) -> CheckReport:
    """As :func:`check`, for tables at hand; ``known`` holds those that references may name."""
    results: list[CellCheck] = []
    for published in chosen:
        for entry in published.spec.check:
            results.extend(_cells_of(entry, published, known))
        results.extend(_statement_of(entry, published, known) for entry in published.spec.statement)
    return CheckReport(tuple(results))


def _cells_of(entry: Check, here: PublishedTable, known: dict[str, PublishedTable]) -> Iterator[CellCheck]:
    """Yield every cell that one check covers; cells that are empty, or miss an input, are no part of it."""
    columns = here.matching(entry.target)
    reasons = {(finding.row, finding.column): finding.reason for finding in entry.finding}
    rows = [row for row in (here.names if entry.rows is None else entry.rows) if row not in entry.except_rows]
    covered = 0
    for column, row in product(columns, rows):
        column_key = here.place(row)
        printed = here.quantity(column_key, column)
        finder = InputFinder(here, known, entry, Pattern(entry.target).capture(column) or (), column, column_key)
        recomputed = None if printed is None else finder.recompute()
        if printed is None or recomputed is None:
            continue
        covered += 1
        agreement = compare(printed, recomputed)
        reason = reasons.get((row, column)) or _general_reason(entry, agreement)
        text = here.printed[column][column_key] or ""
        yield CellCheck(here.id, row, column, entry.rule, finder.names(), text, recomputed, agreement, reason)
    if not covered:
        raise InputError(f"the check {entry.rule!r} covers no cell", source=f"manifest of {here.id}", value=entry.target)


def _statement_of(entry: Statement, here: PublishedTable, known: dict[str, PublishedTable]) -> CellCheck:
    """Return one number from the text of the paper."""
    finder = InputFinder(here, known, entry, (), "", 0)
    recomputed = finder.recompute()
    if recomputed is None:
        raise InputError("the inputs of a statement are empty", source=f"manifest of {here.id}", value=entry.name)
    agreement = compare(quantity(entry.printed), recomputed)
    reason, where = _general_reason(entry, agreement), f"(text: {entry.place})"
    return CellCheck(here.id, where, entry.name, entry.rule, finder.names(), entry.printed, recomputed, agreement, reason)


def _general_reason(entry: Derivation, agreement: MatchWithPrinted) -> str | None:
    return entry.reason if agreement is MatchWithPrinted.DISAGREES else None
