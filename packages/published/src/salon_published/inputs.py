"""Where the inputs of a recomputed cell stand: references of a manifest turned into numbers."""

from dataclasses import dataclass

from salon_published.manifest import Check, Derivation
from salon_published.patterns import Pattern, Reference
from salon_published.rounding import Quantity, Recomputed
from salon_published.rules import RULES, RowFormula
from salon_published.tables import PublishedTable
from salon_ranking.agreement import AgreementError
from salon_taxonomy.errors import InputError


@dataclass(frozen=True, slots=True)
class InputFinder:
    """Finds the inputs of one cell and applies the rule.

    ``here`` is the table of the cell, ``known`` every table that a reference may name, ``captured`` what the target's
    ``*`` stood for, ``target`` and ``place`` the column and row (from 0) of the cell.
    """

    here: PublishedTable
    known: dict[str, PublishedTable]
    entry: Derivation
    captured: tuple[str, ...]
    target: str
    place: int

    def names(self) -> str:
        """Return the references that are used, with ``*`` filled in."""
        return ", ".join(Pattern(text).fill(self.captured) if self.captured else text for text in self.entry.of)

    def recompute(self) -> Recomputed | None:
        """Return the recomputed value; None when an input is empty or the row does not occur in the other table.

        Raises:
            InputError: a reference names no table, column or row, or the rule does not take these inputs.
        """
        try:
            return self._apply()
        except (AgreementError, ValueError, ArithmeticError, LookupError) as error:
            problem = f"the rule {self.entry.rule!r} cannot be applied to these inputs ({error})"
            raise InputError(problem, source=f"manifest of {self.here.id}", value=self.names()) from error

    def _apply(self) -> Recomputed | None:
        rule = RULES[self.entry.rule]
        if not isinstance(rule, RowFormula):
            columns, row = self._columns()
            return rule.formula(columns, row) if columns[0] else None
        of = [item for text in self.entry.of for item in self._in_a_row(text)]
        weights = [item for weight in self.entry.weights for item in self._weight(weight)]
        quantities = [item for item in (*of, *weights) if item is not None]
        if len(quantities) != len(of) + len(weights):
            return None
        return rule.formula(quantities[: len(of)], quantities[len(of) :])

    def _weight(self, weight: str | float) -> list[Quantity | None]:
        return self._in_a_row(weight) if isinstance(weight, str) else [Quantity(weight)]

    def _in_a_row(self, text: str) -> list[Quantity | None]:
        """Return the numbers that a reference names, in its own row or in the row of the cell."""
        reference, there = self._resolve(text)
        row = reference.row
        if row is None:
            row = self.here.names[self.place]
            if there is not self.here:
                row = self.entry.row_map.get(row, row) if isinstance(self.entry, Check) else row
                if row not in there.names:
                    return [None]
        return [there.quantity(there.place(row), column) for column in self._column_names(reference, there)]

    def _columns(self) -> tuple[list[list[Quantity]], int]:
        """Return the referenced columns over the rows that all of them fill, and the cell's row index.

        The index is 0 when the cell's own row is not among them, as when two columns are correlated.
        """
        series: list[dict[str, Quantity]] = []
        for text in self.entry.of:
            reference, there = self._resolve(text)
            for column in self._column_names(reference, there):
                values = ((name, there.quantity(row, column)) for row, name in enumerate(there.names))
                series.append({name: value for name, value in values if value is not None})
        shared = [name for name in series[0] if all(name in other for other in series)]
        own = self.here.names[self.place]
        return [[values[name] for name in shared] for values in series], shared.index(own) if own in shared else 0

    def _resolve(self, text: str) -> tuple[Reference, PublishedTable]:
        reference = Reference.parse(text)
        if reference.table is None:
            return reference, self.here
        if reference.table not in self.known:
            source = f"manifest of {self.here.id}"
            raise InputError("a reference names no table", source=source, value=reference.table, allowed=self.known)
        return reference, self.known[reference.table]

    def _column_names(self, reference: Reference, there: PublishedTable) -> list[str]:
        """Return the columns of a reference: filled from the target's ``*``, or else every match but the cell's own column."""
        pattern = reference.column
        if "*" not in pattern.text or self.captured:
            return [pattern.fill(self.captured)]
        own = self.target if there is self.here and reference.row is None else None
        names = [name for name in there.matching(pattern.text) if name != own]
        if not names:
            raise InputError("a reference names no column", source=f"manifest of {self.here.id}", value=pattern.text)
        return names
