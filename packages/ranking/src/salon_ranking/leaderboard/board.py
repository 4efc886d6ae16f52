"""Leaderboards of any model: a ranked table, the further parameters, and how both were made."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from salon_console import numbers
from salon_console.forest_plot import ForestPlot, PlotRow
from salon_console.numbers import counted
from salon_console.shown_result import ResultView, ShownResult
from salon_console.table_files import Table, write_table
from salon_ranking.errors import OptionError
from salon_ranking.leaderboard.excluded import ExcludedRaters
from salon_ranking.leaderboard.options import RankOptions
from salon_ranking.models.covariates import SHOWN_LEFT
from salon_ranking.models.ratings import RANK_DIGITS
from salon_ranking.options import checked
from salon_ranking.uncertainty.uncertainty import method_of
from salon_taxonomy.digest import digest

NOT_GIVEN = "(not given)"
"""The group of battles whose grouping column is null."""
_SOLVER = "rust"
"""The column ``solver`` of a result store, which has had no other value."""
_MADE = (
    *(
        "source",
        "group",
        "battles",
        "rankings",
        "baselines",
        "baseline_rating",
        "prior_ties",
        "tolerance",
        "converged",
        "iterations",
    ),
    *("gradient_norm", "log_likelihood", "replicates", "degenerate", "unconverged", "seed", "confidence", "cluster", "weight"),
    *("left_out", "interval", "estimator", "ties", "covariates", "standardized", "ridge", "planned", "excluded", "remarks"),
    *("warnings", "header", "ci_method"),
)
"""How a board was made, for JSON: the same names for every method."""
TIE_MODELS = {"half": "Bradley-Terry", "davidson": "Davidson", "rao-kupper": "Rao-Kupper"}


@dataclass(frozen=True, eq=False)
class Leaderboard(ShownResult):
    """A ranked table and how it was made.

    Attributes:
        table: one row per model, best first, with the columns ``rank`` (1 is best; equal ratings share a rank; counted
            within a component), ``model``, ``rating``, ``standard_error`` (of the rating beside the baseline's), ``ci_low``,
            ``ci_high`` (Elo points; null where no interval is known),
            ``matches``, ``wins``, ``ties``, ``losses`` (sums of weights), ``win_rate`` ((wins + ties/2) / matches),
            ``replicates_used`` (replicates in which the model had a finite rating and a chain of battles joined it to the
            baseline) and ``component`` (null for a model whose battles were all judged both-bad and taken out: it is last and
            has no rating); of sandwiches with clusters or weights also ``degrees``, the degrees of freedom of Student's t; when
            asked for, also ``rank_low`` and ``rank_high``, the best and the worst rank that all ranks together allow.
        parameters: the parameters beside strengths, of each component: ``component``, ``term`` (ν, κ or a covariate),
            ``estimate`` (of a covariate: log-odds for one unit, or one standard deviation where ``scale`` is not 1),
            ``standard_error``, ``ci_low``, ``ci_high``, ``degrees`` (of freedom of Student's t; null: the normal
            distribution), ``z`` and ``p_value`` (two-sided Wald test that a coefficient is 0),
            ``scale`` (what a covariate was divided by), ``elo`` (a coefficient in Elo points). Null where not known; no
            rows for plain Bradley-Terry.
        source: where the battles came from.
        group: the value of the grouping column; None is all battles.
        battles: number of battles; of rankings, of the pairs that they compare.
        rankings: number of rankings; None: the board is of battles.
        baselines: per component, the model whose rating is fixed at ``baseline_rating``, without an interval's width.
        options: the model, its prior and baseline, and the kind of interval that was made: a sandwich also where percentiles
            were asked for and too many replicates of every component are degenerate.
        log_likelihood: at the estimate, with the weights and without the prior.
        replicates: bootstrap replicates that were drawn; 0 without intervals, and for analytic ones.
        degenerate: replicates (of the worst component) without a finite estimate; they count beyond both ends of an
            interval.
        unconverged: replicates whose fit did not reach the tolerance; they are in the intervals.
        cluster: the column whose values were resampled as a whole (two, joined by "and"); None: single battles were.
        planned: battles whose pair was chosen by earlier votes, by rule and streams ("proportional in 2 streams"). Battles
            without ``plan_rule``, and those of the rule ``uniform``, are not among them.
        left_out: battles between models of different components.
        remarks: what the header says of how the battles were read; of a group: of all groups together.
        excluded: flagged raters whose battles are not in the board (of all groups together); None: raters were not checked.
        warnings: what to know before the intervals are believed, one sentence each: few clusters, replicates or battles; who
            has no interval, and why; models without a rating.
    """

    table: pl.DataFrame
    parameters: pl.DataFrame
    options: RankOptions
    source: str
    group: str | None
    battles: int
    baselines: tuple[str, ...]
    converged: bool
    iterations: int
    gradient_norm: float
    log_likelihood: float
    replicates: int
    degenerate: int
    unconverged: int
    cluster: str | None
    weight: str | None
    left_out: int
    planned: Mapping[str, int] = field(default_factory=dict)
    rankings: int | None = None
    excluded: ExcludedRaters | None = None
    remarks: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def view(self) -> ResultView:
        """Return the header, the table as people read it, and the ratings with their intervals as a chart."""
        return ResultView(self.header, self._cells(), self.plot(), tuple(f"Warning: {said}" for said in self.warnings))

    def save(self, path: str | Path) -> None:
        """Write the board to a file, which is replaced; the ending of its name says the kind.

        ``csv``, ``json``, ``parquet``: the values; ``md``, ``tex``, ``html``: the table; ``svg``, ``png``: the chart.

        Raises:
            InputError: the ending is unknown, the folder is missing, or the file cannot be written.

        Example:
            >>> import tempfile
            >>> from salon_ranking import Battles, rank
            >>> votes = pl.DataFrame({"model_a": ["x", "y"], "model_b": ["y", "x"], "winner": ["tie", "tie"]})
            >>> path = Path(tempfile.mkdtemp()) / "board.csv"
            >>> rank(Battles.from_frame(votes), replicates=0).save(path)
            >>> pl.read_csv(path)["model"].to_list()
            ['x', 'y']
        """
        if not isinstance(path, str | Path):
            raise OptionError("is not a path:", value=repr(path))
        view = self.view()
        write_table(Path(path), view.table, self.table, made=view.makers())

    def plot(self, *, names: Mapping[str, str] | None = None) -> ForestPlot:
        """Return ratings as points and their intervals as bars, best on top; models without an interval stand below the others.

        Args:
            names: what to call the models; default: as the table does.

        Raises:
            OptionError: the names are no mapping.

        Example:
            >>> from salon_ranking import Battles, rank
            >>> votes = pl.DataFrame({"model_a": ["x", "y"], "model_b": ["y", "x"], "winner": ["tie", "tie"]})
            >>> [row.name for row in rank(Battles.from_frame(votes), replicates=0).plot().rows]
            ['x', 'y']
        """
        if names is not None and not isinstance(names, Mapping):
            raise OptionError("names must be a mapping, not", value=names)
        rated = self.table.filter(pl.col("rating").is_not_null()).sort("rating", descending=True, maintain_order=True)
        rows = [
            PlotRow((names or {}).get(model, model), *ends)
            for model, *ends in rated.select("model", "rating", "ci_low", "ci_high").iter_rows()
        ]
        known, unknown = ([row for row in rows if (row.low is None) == missing] for missing in (False, True))
        between = [PlotRow("No interval is known:", None)] if known and unknown else []
        reference = self.options.baseline_rating if self.baselines else None
        return ForestPlot("Elo", [*known, *between, *unknown], reference, self.ci_method or "")

    def _cells(self) -> Table:
        """Return one row per model, with columns for components, ranks and listing where there are."""
        several, with_ranks = self.components > 1, "rank_low" in self.table.columns
        with_listing = "listed" in self.table.columns
        columns = (
            *(["group"] if several else []),
            "rank",
            "model",
            "Elo",
            f"{100 * self.options.confidence:.4g}% CI",
            *(["ranks"] if with_ranks else []),
            "matches",
            "win rate",
            *(["width", "one match", "listed"] if with_listing else []),
        )
        rows = [
            (
                *([numbers.MISSING if row["component"] is None else str(row["component"] + 1)] if several else []),
                *numbers.rating_cells(row),
                *([numbers.interval(row["rank_low"], row["rank_high"])] if with_ranks else []),
                numbers.count(row["matches"]),
                numbers.share(row["win_rate"]),
                *(numbers.listing_cells(row) if with_listing else []),
            )
            for row in self.table.iter_rows(named=True)
        ]
        return Table(columns, rows, frozenset(columns) - {"model", "listed"})

    @property
    def ci_method(self) -> str | None:
        """How the intervals were made; None without intervals."""
        return method_of(self.options.kind, self.cluster, self.replicates)

    def made(self) -> dict[str, object]:
        """Return how the board was made, for JSON: all fields but the tables, with ``header`` and ``ci_method``."""
        return made_of(self, self.options, standardized=self.options.standardize)

    @property
    def model(self) -> str:
        """The model and what its ratings maximise, in words."""
        if self.rankings is not None:
            return "Plackett-Luce maximum likelihood, ties half a win, 400·log10 scale"
        how = "maximum likelihood" if self.options.estimator == "maximum-likelihood" else "with Firth's bias reduction"
        tie = "ties half a win" if self.options.ties == "half" else self._tie_parameter
        return f"{TIE_MODELS[self.options.ties]} {how}, {tie}, 400·log10 scale"

    @property
    def _tie_parameter(self) -> str:
        rows = self.parameters.select("term", "estimate", "standard_error").rows()
        values = [f"{value:.4g}" + ("" if error is None else f" (standard error {error:.3g})") for _, value, error in rows]
        return f"{rows[0][0] if rows else 'tie parameter'} = {', '.join(values)}"

    @property
    def covariates(self) -> tuple[str, ...]:
        """The columns that the ratings are controlled for, as ``"x"`` or ``"x_a,x_b"``."""
        return tuple(covariate.text for covariate in self.options.parsed_covariates)

    @property
    def controlled(self) -> str:
        """The covariates that ratings are controlled for, in words; empty: none."""
        if not self.covariates:
            return ""
        scaled = self.options.standardize and (self.parameters["scale"] != 1.0).any()
        names = ", ".join(covariate.name for covariate in self.options.parsed_covariates)
        ridge = f", ridge {self.options.ridge:g} on the coefficients" if self.options.ridge else ""
        return f"controlled for {names}" + (" (numbers per standard deviation)" if scaled else "") + ridge

    @property
    def position_bias(self) -> pl.DataFrame:
        """Whether the left side wins more often: one row per component; no rows unless ``side_a_shown`` is a covariate.

        ``left_share`` is the chance of the left one of two equally strong models (½: no bias), ``ci_low`` and ``ci_high`` its
        interval, ``z`` and ``p_value`` the test that it is ½.
        """
        bias = self.parameters.filter(pl.col("term") == SHOWN_LEFT)
        shares = {
            name: pl.Series(1.0 / (1.0 + np.exp(-bias[column].to_numpy())), dtype=pl.Float64).fill_nan(None)
            for name, column in (("left_share", "estimate"), ("ci_low", "ci_low"), ("ci_high", "ci_high"))
        }
        return bias.select("component").with_columns(**shares, z=bias["z"], p_value=bias["p_value"])

    @property
    def planning(self) -> str:
        """How many battles were chosen by earlier votes, by which rule, and what that does to the ratings; empty: none."""
        if not self.planned:
            return ""
        how = ", ".join(f"{count:,} by {rule}" for rule, count in self.planned.items())
        sentence = f"{sum(self.planned.values()):,} of {counted(self.battles, 'battle')} chosen by earlier votes ({how})"
        if self.options.estimator != "firth":
            return f"{sentence}, which spreads the ratings too far: rate with --estimator firth"
        one = not all(rule.endswith("2 streams") for rule in self.planned)
        return f"{sentence}{', which spreads the ratings too far where there is one stream' if one else ''}"

    @property
    def components(self) -> int:
        """Number of groups of models that are ranked each by itself; 1 when all can be compared."""
        return self.table["component"].drop_nulls().n_unique()

    @property
    def header(self) -> str:
        """One or two sentences on how the table was made, with everything that could not be rated counted."""
        title = self.source if self.group is None else f"{self.source}, {self.group}"
        votes = counted(self.battles, "battle")
        if self.rankings is not None:
            votes = f"{counted(self.rankings, 'ranking')} ({counted(self.battles, 'pair')})"
        parts = [f"{title}: {votes}, {counted(self.table.height, 'model')}"]
        parts.append(self.model)
        if self.controlled:
            parts.append(self.controlled)
        if self.weight is not None:
            parts.append(f"weighted by {self.weight}")
        if self.options.prior_ties:
            parts.append(f"prior: drawn battles per model against a mean opponent: {self.options.prior_ties:g}")
        if self.planned:
            parts.append(self.planning)
        parts.append(f"{' and '.join(self.baselines[:3]) or 'nobody'} fixed at {self.options.baseline_rating:g}")
        if self.ci_method is not None:
            drawn = f", {self.replicates:,} replicates, seed {self.options.seed}" if self.replicates else ""
            parts.append(f"{100 * self.options.confidence:.4g}% interval: {self.ci_method}{self.looks}{drawn}{self._freedom}")
            unknown = self.table.filter(pl.col("rating").is_not_null() & pl.col("ci_low").is_null()).height
            if self.table["ci_low"].null_count() == self.table.height:
                parts.append("no interval is known")
            elif unknown:
                parts.append(f"{counted(unknown, 'model')} {'has' if unknown == 1 else 'have'} no interval")
        if "rank_low" in self.table.columns:
            how = "Šidák's correction" if self.options.interval == "anytime" else "largest studentized difference"
            parts.append(f"rank intervals: simultaneous, {how}")
        if self.degenerate:
            parts.append(f"{self.degenerate:,} degenerate replicates without a finite estimate")
        if self.unconverged:
            parts.append(f"{self.unconverged:,} replicates did not converge")
        if self.components > 1:
            between = f"{counted(self.left_out, 'battle' if self.rankings is None else 'pair')} between them left out"
            parts.append(f"{self.components} components are ranked each by itself, {between}")
        if not self.converged:
            parts.append(f"NOT CONVERGED after {self.iterations} iterations (gradient {self.gradient_norm:.1e})")
        sentence = "; ".join(parts) + "."
        if self.remarks:
            sentence += f" {'' if self.group is None else 'In all groups together: '}{'; '.join(self.remarks)}."
        if self.excluded is None:
            return sentence
        return f"{sentence} {'' if self.group is None else 'In all groups together: '}{self.excluded.sentence}"

    @property
    def looks(self) -> str:
        """What to put after the method of intervals that hold at every look; else empty."""
        return " (holds at every look)" if self.options.interval == "anytime" else ""

    @property
    def _freedom(self) -> str:
        """The degrees of freedom of a sandwich of clusters, in words."""
        return freedom_of(self.table["degrees"]) if "degrees" in self.table.columns else ""

    @property
    def maximised(self) -> str:
        """What the ratings maximise, for a result store: the estimator, the model of ties or rankings, and the covariates."""
        if self.rankings is not None:
            return f"{self.options.estimator}; plackett-luce"
        controlled = f"covariates {' '.join(self.covariates)}" if self.covariates else ""
        tied = self.options.ties if self.options.ties != "half" else ""
        return "; ".join(part for part in (self.options.estimator, tied, controlled) if part)

    @checked
    def records(self, board: str = "overall") -> pl.DataFrame:
        """Return the table in the columns of the result store's ``leaderboards``, without models alone in their component.

        The key of the board is a digest of its content, so the same battles ranked the same way keep the same key.
        """
        options = self.options
        rated = self.table.filter(pl.col("rating").is_not_null() | pl.col("component").is_null())
        how = {
            "board": board,
            "group": self.group,
            "models": rated["model"].to_list(),
            "ratings": rated["rating"].round(RANK_DIGITS).to_list(),
            "intervals": [rated[end].round(RANK_DIGITS).to_list() for end in ("ci_low", "ci_high")],
            "matches": rated["matches"].to_list(),
            "method": [self.ci_method, self.replicates, options.seed, options.confidence, _SOLVER, options.prior_ties],
        }
        if self.maximised != "maximum-likelihood":
            how["estimator"] = self.maximised
        if self.parameters.height:
            how["parameters"] = self.parameters["estimate"].round(RANK_DIGITS).to_list()
        if self.excluded is not None:  # only then, so that boards of all battles keep the keys that they had
            how["excluded_by"] = self.excluded.report_id
        constants: dict[str, pl.Expr] = {
            "leaderboard_id": pl.lit(digest("leaderboard", how)),
            "board": pl.lit(board),
            "group": pl.lit(self.group, dtype=pl.String),
            "confidence": pl.lit(self.options.confidence if self.ci_method else None, dtype=pl.Float64),
            "ci_method": pl.lit(self.ci_method, dtype=pl.String),
            "baseline": pl.lit(self.baselines[0] if self.baselines else None, dtype=pl.String),
            "solver": pl.lit(_SOLVER),
            "estimator": pl.lit(self.maximised),
            "replicates": pl.lit(self.replicates, dtype=pl.Int64),
            "seed": pl.lit(self.options.seed if self.replicates else None, dtype=pl.Int64),
            "excluded_by": pl.lit(None if self.excluded is None else self.excluded.report_id, dtype=pl.String),
        }
        from salon_taxonomy.records import LeaderboardRow  # brings pydantic, which ratings alone do not need

        return rated.with_columns(**constants).select(list(LeaderboardRow.model_fields))


def freedom_of(degrees: pl.Series) -> str:
    """Return the lowest and highest degrees of freedom in words, to put after a method's name; or an empty text.

    Example:
        >>> freedom_of(pl.Series([3.44, 19.0, None])), freedom_of(pl.Series([None], dtype=pl.Float64))
        (', 3.4 to 19 degrees of freedom', '')
    """
    known = sorted({f"{value:.1f}".removesuffix(".0") for value in degrees.drop_nulls()}, key=float)
    return f", {' to '.join(dict.fromkeys([known[0], known[-1]]))} degrees of freedom" if known else ""


def made_of(*parts: object, **known: object) -> dict[str, object]:
    """Return how a board or table was made, for JSON, under the same names for every method.

    Args:
        parts: each name is looked up in the first of them that has it.
        known: names whose value is given.
    """
    options = {}
    for name in _MADE:
        value = known[name] if name in known else next((getattr(one, name) for one in parts if hasattr(one, name)), None)
        options[name] = asdict(value) if isinstance(value, ExcludedRaters) else value
    return options
