"""Keep the answers of gates in a result store, and show how measures moved over builds.

Each gate is one row per measure of the store's table ``gates``.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Final

import polars as pl
import polars.selectors as cs

from salon_bench.analysis.gate.gate import Gate
from salon_bench.analysis.gate.plan import GatePlan
from salon_bench.analysis.gate.verdicts import PASSING
from salon_console.line_chart import Curve, LegendEntry, LineChart, Threshold
from salon_console.numbers import MISSING, counted
from salon_console.page import Figure, PageSection, render_page
from salon_console.table_files import Maker, Table
from salon_taxonomy.digest import digest
from salon_taxonomy.errors import InputError
from salon_taxonomy.records import GateRow
from salon_taxonomy.store_address import StoreAddress

_NULLS: Final = {"model": pl.String, "faster": pl.Float64}
_MEANS: Final = {"base": "base_mean", "new": "new_mean"}


def gate_rows(
    gate: Gate,
    base: pl.DataFrame,
    new: pl.DataFrame,
    plan: GatePlan,
    *,
    further: Sequence[pl.DataFrame] = (),
    faster: float | None = None,
    at: datetime | None = None,
) -> pl.DataFrame:
    """Return the rows of a gate for the table ``gates`` of a result store.

    Args:
        gate: the answer.
        base, new: the scores that it was made from.
        plan: the plan that they were held against.
        further: what else it was made from: measures of pictures, battles.
        faster: how many times faster the new build is; None: unknown.
        at: when, with a time zone; None: now.

    Example:
        >>> from salon_bench.analysis.gate.gate import gate
        >>> common = {"run_id": "r", "suite": "s", "task": "t", "dimension": "beauty", "subject_model": "m", "judge": "j"}
        >>> common |= {"judge_version": "1", "generation_id": "g"}
        >>> scores = pl.DataFrame([{**common, "prompt_id": f"p{k}", "value": k % 3} for k in range(60)])
        >>> plan = GatePlan({}, margin=0.5)
        >>> gate_rows(gate(scores, scores, plan), scores, scores, plan).select("model", "measure", "verdict", "prompts").rows()
        [('m', 'beauty', 'not worse', 60)]
    """
    plan_id = digest("gate plan", asdict(plan))
    speed = [] if faster is None else [faster]  # a gate whose times became known is another one
    suites = new.group_by("dimension").agg(pl.col("suite").sort().first()).rename({"dimension": "measure"})
    columns: dict[str, Any] = {
        "gate_id": digest("gate", [gate.base, gate.new, *map(_content, (base, new, *further)), plan_id, *speed]),
        "gated_at": at or datetime.now(UTC),
        "base": gate.base,
        "new": gate.new,
        "model": new["subject_model"].cast(pl.String).first(),
        "plan_id": plan_id,
        "level": gate.level,
        "faster": faster,
    }
    table = gate.table.rename(_MEANS).join(suites, on="measure", how="left", maintain_order="left")
    constants = [pl.lit(value, _NULLS.get(name)).alias(name) for name, value in columns.items()]
    return table.with_columns(constants).select(list(GateRow.model_fields))


def _content(rows: pl.DataFrame) -> str:
    """Return a digest of rows that does not depend on their order, nor on that of the columns."""
    text = rows.select((~cs.nested()).cast(pl.String))
    return hashlib.sha256(text.select(sorted(text.columns)).sort(pl.all()).write_csv().encode()).hexdigest()


def keep_gate(rows: pl.DataFrame, store: StoreAddress) -> int | None:
    """Add the rows of a gate to a store.

    Returns:
        How many are new to it; None where there is no store.

    Raises:
        SalonError: the store cannot be written.
    """
    from salon_store.plugins import open_sink

    sink = open_sink(store)
    return None if sink is None else sink("gates", rows, "gate")


@dataclass(frozen=True, eq=False)
class GateHistory:
    """The last gates of a store, oldest first.

    Attributes:
        table: rows of ``gates``, ``number`` (which gate, from 1) in front and times as texts (ISO 8601, UTC).
    """

    table: pl.DataFrame

    @property
    def header(self) -> str:
        """One sentence: how many gates, and how to read them."""
        gates = counted(self.table["number"].n_unique(), "gate")
        return f"{gates}, oldest first; differences from each one's own base, in margins: below −1 is worse."

    def cells(self, frame: pl.DataFrame) -> Table:
        """Return rows of the table as people read them."""
        columns = ("gate", "when", "base", "new", "measure", "verdict", "difference", "ends", "margin")
        rows = []
        for row in frame.iter_rows(named=True):
            difference, low, high = _in_margins(row)
            ends = MISSING if low is None or high is None else f"{low:+.2f} – {high:+.2f}"
            delta = MISSING if difference is None else f"{difference:+.2f}"
            names = (row["base"], row["new"], row["measure"], row["verdict"])
            rows.append(
                (f"{row['number']}", row["gated_at"][:16].replace("T", " "), *names, delta, ends, f"{row['margin']:.4g}")
            )
        return Table(columns, rows, frozenset(("gate", *columns[6:])))

    def chart(self) -> LineChart:
        """Return the differences in margins over gates, one line with its ends for each measure."""
        several = self.table["model"].n_unique() > 1
        lines: list[Curve] = []
        for (model, measure), part in self.table.group_by("model", "measure", maintain_order=True):
            values = {row["number"]: _in_margins(row) for row in part.iter_rows(named=True)}
            band = {at: (low, high) for at, (_, low, high) in values.items() if low is not None and high is not None}
            name = f"{model}, {measure}" if several else str(measure)
            lines.append(Curve(name, {at: difference for at, (difference, _, _) in values.items()}, len(lines), band=band))
        keys = [LegendEntry(line.label, line.colour) for line in lines]
        return LineChart("Difference in margins", lines, keys, [Threshold(-1.0, "warn")], across="Gate")

    @property
    def speeds(self) -> pl.DataFrame:
        """Quality against speed: a row for each gate with a speed.

        ``number``, ``model``, ``new``, ``faster``, ``worst`` (the measure that fell most, in margins), ``fell`` (by how many
        margins; above 0: all rose), ``failing`` (measures that did not pass), and ``best`` (no other gate of the model's is
        by the same plan is both as fast and as good, and better in one).
        """
        margins = self.table.with_columns(fell=pl.col("difference") / pl.col("margin")).sort(
            "number", "fell", "measure", nulls_last=True
        )
        rows = margins.group_by("number", maintain_order=True).agg(
            pl.col("model", "new", "faster", "plan_id").first(),
            worst=pl.col("measure").first(),
            fell=pl.when(pl.col("fell").is_not_null().all()).then(pl.col("fell").first()).first(),
            failing=(~pl.col("verdict").is_in(PASSING)).sum(),
        )
        known = rows.drop_nulls(["faster", "fell"])
        points = known.select("model", "plan_id", "faster", "fell").rows()
        best = [
            all(other[:2] != own[:2] or other == own or other[2] < own[2] or other[3] < own[3] for other in points)
            for own in points
        ]
        return known.drop("plan_id").with_columns(best=pl.Series(best, dtype=pl.Boolean))

    def page(self) -> str:
        """Return one page: the chart and the table, and quality against speed where speeds are known."""
        sections = [PageSection("Drift", (Figure(self.chart(), self.header, self.cells(self.table)),))]
        rows = self.speeds
        if rows.height:
            columns = ("gate", "model", "new", "times as fast", "fell most", "by, in margins", "not passed", "best")
            cells = [
                (f"{gate}", model or MISSING, new, f"{faster:.3g}", worst, f"{fell:+.2f}", f"{failing}", "yes" if best else "")
                for gate, model, new, faster, worst, fell, failing, best in rows.rows()
            ]
            lines = [
                Curve(f"{new} (gate {gate})", {faster: fell}, 0 if best else 1)
                for gate, _, new, faster, _, fell, _, best in rows.rows()
            ]
            keys = [LegendEntry("best", 0), LegendEntry("others", 1)]
            chart = LineChart("Worst difference, in margins", lines, keys, [Threshold(-1.0, "warn")], across="Times as fast")
            caption = (
                "Each build by speed and the measure that fell most; best: none of its model and plan is as fast and as good."
            )
            table = Table(columns, cells, frozenset(("gate", *columns[3:4], *columns[5:7])))
            sections.append(PageSection("Quality against speed", (table, Figure(chart, caption))))
        return render_page("Gates", lead="How builds moved.", facts=[], sections=sections)

    def makers(self) -> dict[str, Maker]:
        """Return what makes the page and the files of the chart, by their ending."""
        chart = self.chart()
        return {".html": self.page, ".svg": chart.svg, ".png": chart.png}


def _in_margins(row: Mapping[str, Any]) -> tuple[float | None, float | None, float | None]:
    difference, low, high = (None if row[name] is None else row[name] / row["margin"] for name in ("difference", "low", "high"))
    return difference, low, high


def read_gates(store: StoreAddress, *, measures: Sequence[str] = (), last: int = 10) -> GateHistory:
    """Return the last gates of a store.

    Args:
        store: the result store.
        measures: those to look at; empty: all.
        last: how many gates, those without the measures not counted.

    Raises:
        InputError: there is no store, it has no gates, or none of a measure.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from salon_store import ResultStore
        >>> folder = Path(tempfile.mkdtemp()) / "results"
        >>> rows = [{"gate_id": f"g{k}", "gated_at": datetime(2026, 1, k, tzinfo=UTC), "difference": -0.1 * k} for k in (1, 2)]
        >>> common = {"base": "b", "new": "n", "model": "m", "plan_id": "p", "measure": "text", "verdict": "not worse"}
        >>> common |= {"margin": 0.5, "level": 0.05, "prompts": 60, "low": -0.4, "high": 0.2}
        >>> _ = ResultStore.open(folder).append("gates", pl.DataFrame([row | common for row in rows]), run_id="gate")
        >>> read_gates(folder).cells(read_gates(folder, last=1).table).rows[0][3:8]
        ('n', 'text', 'not worse', '-0.40', '-0.80 – +0.40')
    """
    from salon_store import ResultStore

    rows = ResultStore.open(store, create=False, read_only=True).read("gates").collect()
    if not rows.height:
        raise InputError("the store has no gates", source=store, hint="`salon results gate BASE NEW --store` keeps them.")
    for name in measures:
        if name not in rows["measure"]:
            raise InputError(
                "the store has no gates of the measure", source=store, value=name, allowed=rows["measure"].unique().sort()
            )
    rows = rows.filter(pl.col("measure").is_in(list(measures))) if measures else rows
    ids = rows.sort("gated_at", "gate_id").unique("gate_id", keep="first", maintain_order=True)["gate_id"].tail(last)
    order = pl.DataFrame({"gate_id": ids}).with_row_index("number", 1)
    table = order.join(rows, on="gate_id").sort("number", "model", "measure").select("number", *GateRow.model_fields)
    return GateHistory(table.with_columns(pl.col("gated_at").dt.strftime("%Y-%m-%dT%H:%M:%SZ")))
