"""All agreement statistics of one table of labels: Krippendorff's α, Fleiss' κ, and Cohen's κ of every pair of raters."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from salon_console.forest_plot import ForestPlot, PlotRow
from salon_console.numbers import MISSING
from salon_console.shown_result import ResultView, ShownResult
from salon_console.table_files import Table
from salon_ranking.agreement.errors import AgreementError, UndefinedError
from salon_ranking.agreement.frames import alpha, fleiss_counts, kappas, known_values
from salon_ranking.agreement.kappa import Weights, fleiss_kappa, places_of
from salon_ranking.agreement.krippendorff import Level
from salon_ranking.agreement.label_intervals import Ends, alpha_interval, fleiss_interval, kappa_interval
from salon_ranking.files import Frame, as_lazy
from salon_ranking.options import Confidence, Replicates, Seed, checked

_ROUGH: Final = 20
"""With fewer things, 95% intervals covered 81 to 92% of the values in simulations, see ``docs/agreement.md``."""
_COLUMNS = {
    "statistic": pl.String,
    "rater_a": pl.String,
    "rater_b": pl.String,
    "value": pl.Float64,
    "ci_low": pl.Float64,
    "ci_high": pl.Float64,
    "equal": pl.Float64,
    "things": pl.Int64,
    "ratings": pl.Int64,
    "reason": pl.String,
}


@dataclass(frozen=True, eq=False)
class LabelStatistics(ShownResult):
    """How far the raters of a table of labels agree beyond chance.

    Attributes:
        table: one row per statistic: ``statistic``, ``rater_a`` and ``rater_b`` (null: all raters), ``value`` (1 for full
            agreement, 0 for chance; null where it does not exist), ``ci_low`` and ``ci_high`` (null without an interval),
            ``equal`` (share of equal labels of a pair), ``things``
            and ``ratings`` that it stands on, ``reason`` (why there is no value).
        header: how many labels, raters and things there are, and how intervals were made.
        confidence: of the intervals.
    """

    table: pl.DataFrame
    header: str
    confidence: Confidence = 0.95

    def view(self) -> ResultView:
        """Return the statistics as a table, and those that exist as a chart."""
        rows, points = [], []
        for row in self.table.iter_rows(named=True):
            name = f"{row['rater_a']}, {row['rater_b']}" if row["rater_a"] is not None else "all"
            equal = MISSING if row["equal"] is None else f"{100 * row['equal']:.1f}%"
            counts = (f"{row['things']:,}", MISSING if row["ratings"] is None else f"{row['ratings']:,}")
            value = MISSING if row["value"] is None else f"{row['value']:.3f}"
            ends = MISSING if row["ci_low"] is None else f"{row['ci_low']:.3f} – {row['ci_high']:.3f}"
            rows.append((row["statistic"], name, value, ends, equal, *counts, row["reason"] or ""))
            points.append(PlotRow(f"{row['statistic']}: {name}", row["value"], row["ci_low"], row["ci_high"]))
        interval = f"{100 * self.confidence:.4g}% CI"
        columns = ("statistic", "raters", "value", interval, "equal", "things", "ratings", "why none")
        table = Table(columns, rows, frozenset(columns[2:7]))
        return ResultView(self.header, table, ForestPlot("Agreement (0: chance, 1: full)", points, 0.0))


@checked
def label_statistics(
    frame: Frame,
    *,
    thing: str,
    rater: str,
    label: str,
    level: Level = "nominal",
    weights: Weights = "none",
    categories: Sequence[str] | None = None,
    replicates: Replicates = 1000,
    confidence: Confidence = 0.95,
    seed: Seed = 0,
) -> LabelStatistics:
    """Return Krippendorff's α, Fleiss' κ and Cohen's κ of every pair of raters, for one table of labels.

    Args:
        frame: one row per label; a rater labels a thing once. Rows with a null, NaN or blank text are left out and counted.
        thing, rater, label: the columns.
        level: how labels differ for α: any two alike (``nominal``), by their order, or by their distance; the last two need
            numbers.
        weights: of Cohen's κ; other than ``none`` they need numbers or ``categories``.
        categories: the labels from low to high.
        replicates: of the bootstrap over things, each drawn with all its labels; 0 makes no intervals.
        confidence: of the percentile intervals, between 0 and 1.
        seed: of the draws.

    Raises:
        AgreementError: a column is missing, a rater labelled a thing twice, there is no label, or a level or weight needs
            what the labels do not have.
        OptionError: replicates, confidence or seed are outside their range.

    Example:
        >>> import polars as pl
        >>> rows = {"picture": [1, 1, 2, 2, 3, 3], "rater": ["x", "y"] * 3, "says": ["ok", "ok", "bad", "bad", "ok", "bad"]}
        >>> found = label_statistics(rows, thing="picture", rater="rater", label="says")
        >>> found.table.select("statistic", pl.col("value").round(3)).rows()[-1]
        ('Cohen κ', 0.4)
    """
    rows = as_lazy(frame, error=AgreementError).collect()
    missing = [name for name in (thing, rater, label) if name not in rows.columns]
    if missing:
        hint = "Name the table's columns: `salon ratings agreement FILE --thing picture --rater who --label says`."
        raise AgreementError("missing column", source="frame", value=missing[0], found=rows.columns, hint=hint)
    used = known_values(rows.select(pl.col(thing), pl.col(rater).cast(pl.String), pl.col(label))).drop_nulls()
    if not used.height:
        raise AgreementError("there is no label in the column", source="frame", value=label)
    if level != "nominal" or (weights != "none" and categories is None):
        used = _with_numbers(used, label)
    pairs = kappas(used, thing=thing, rater=rater, label=label, weights=weights, categories=categories)
    things, ratings = used[thing].n_unique(), used.height
    drawing = _Drawing(used.select(thing=thing, rater=rater, label=label), replicates, confidence, seed)
    krippendorff: tuple[object, ...] = (None, None, None, None, things, ratings)
    why = None
    try:
        coefficient = alpha(used, thing=thing, rater=rater, value=label, level=level)
        krippendorff = (coefficient.value, *drawing.alpha(level), None, coefficient.things, coefficient.ratings)
    except UndefinedError as error:
        why = _sentence(error)
    fleiss: tuple[float | None, ...] = (None, None, None)
    why_none = None
    try:
        value = fleiss_kappa(fleiss_counts(used, thing=thing, label=label).drop("thing").to_numpy())
        fleiss = (value, *drawing.fleiss())
    except AgreementError as error:
        why_none = _sentence(error)
    cohen = f"Cohen κ{'' if weights == 'none' else f', {weights}'}"
    ends = {
        (a, b): drawing.kappa(a, b, weights, categories) if kappa is not None else (None, None)
        for a, b, kappa in pairs.select("rater_a", "rater_b", "kappa").iter_rows()
    }
    table = [
        (f"Krippendorff α, {level}", None, None, *krippendorff, why),
        ("Fleiss κ", None, None, *fleiss, None, things, ratings, why_none),
        *(
            (cohen, a, b, kappa, *ends[a, b], equal, count, 2 * count, reason)
            for a, b, count, equal, kappa, reason in pairs.iter_rows()
        ),
    ]
    left_out = rows.height - ratings
    header = f"{ratings:,} labels of {things:,} things by {used[rater].n_unique():,} raters"
    header += f"; {left_out:,} rows without a label left out" if left_out else ""
    header += f"; {drawing.words(things)}." if replicates else "."
    return LabelStatistics(pl.DataFrame(table, schema=_COLUMNS, orient="row"), header, confidence)


@dataclass(frozen=True, eq=False)
class _Drawing:
    """The bootstrap of one table of labels; ``rows`` has ``thing``, ``rater`` and ``label`` without nulls."""

    rows: pl.DataFrame
    replicates: int
    confidence: float
    seed: int

    def words(self, things: int) -> str:
        """Return how the intervals were made."""
        few = f", rough for fewer than {_ROUGH} things" if things < _ROUGH else ""
        drawn = f"{self.replicates:,} replicates, seed {self.seed}"
        return f"{100 * self.confidence:.4g}% interval: percentile bootstrap over things, {drawn}{few}"

    def alpha(self, level: Level) -> Ends:
        if not self.replicates:
            return None, None
        numeric = self.rows.schema["label"].is_numeric()
        values = (self.rows["label"] if numeric else self._codes("label")).cast(pl.Float64)
        return alpha_interval(self._codes("thing").to_numpy(), values.to_numpy(), level=level, **self._settings())

    def fleiss(self) -> Ends:
        if not self.replicates:
            return None, None
        return fleiss_interval(self._codes("thing").to_numpy(), self._codes("label").to_numpy(), **self._settings())

    def kappa(self, one: str, other: str, weights: Weights, categories: Sequence[str] | None) -> Ends:
        if not self.replicates:
            return None, None
        mine, theirs = (self.rows.filter(pl.col("rater") == name).select("thing", "label") for name in (one, other))
        both = mine.join(theirs, on="thing", how="inner", suffix="_other")
        labels = (both["label"].to_list(), both["label_other"].to_list())
        places = places_of(labels, categories, ordered=weights != "none")
        first, second = (np.array([places[label] for label in each], dtype=np.int64) for each in labels)
        return kappa_interval(first, second, len(places), weights=weights, **self._settings())

    def _codes(self, column: str) -> pl.Series:
        return self.rows[column].cast(pl.String).rank("dense").cast(pl.Int64)

    def _settings(self) -> dict[str, Any]:
        return {"replicates": self.replicates, "confidence": self.confidence, "seed": self.seed}


def _with_numbers(rows: pl.DataFrame, label: str) -> pl.DataFrame:
    """Return the rows with labels that are numbers in a text column, as a CSV file has them, as numbers."""
    if rows[label].dtype != pl.String:
        return rows
    numeric = rows[label].cast(pl.Float64, strict=False)
    return rows if numeric.null_count() else rows.with_columns(numeric)


def _sentence(error: AgreementError) -> str:
    return str(error).splitlines()[0]
