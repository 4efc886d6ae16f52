"""Are the differences between models more than chance, and would fewer items rank them alike?

R³-Bench, appendix C.3 and Table 10: paired bootstrap over items with shared indices (B = 1,000, seed 42), 95%
intervals; 500 stratified subsamples per size, Kendall's τ against the full ranking, with and without ties.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from salon_bench.analysis.reliability.score_table import ScoreTable
from salon_console.forest_plot import ForestPlot, PlotRow
from salon_console.shown_result import ResultView, ShownResult
from salon_console.table_files import Table
from salon_ranking.agreement import Difference, Stability, UndefinedError, compare_all, rank_stability

REPLICATES = 1000
ROUNDS = 500
SEED = 42


@dataclass(frozen=True, slots=True)
class RankedSubject:
    """One model.

    Attributes:
        model: its name.
        value: the mean over all items.
        rank: 1 is best; equal values share the better rank.
        rank_with_ties: 1 + the number of models that are better by more than chance.
    """

    model: str
    value: float
    rank: int
    rank_with_ties: int


@dataclass(frozen=True, slots=True)
class SubjectComparison(ShownResult):
    """The ranking, differences and stability of one table of scores.

    Attributes:
        standings: best first.
        differences: of every pair, better first, most different first.
        stability: of the ranking under subsampling; None when all models are equal, or no sizes were asked for.
    """

    standings: tuple[RankedSubject, ...]
    differences: tuple[Difference, ...]
    stability: Stability | None

    def view(self) -> ResultView:
        """Return the differences of all pairs as a table and a chart; the standings are in ``standings``."""
        columns = ("better", "worse", "difference", "low", "high", "significant")
        rows = [
            (
                each.first,
                each.second,
                *(f"{value:.4f}" for value in (each.value, each.ci_low, each.ci_high)),
                "yes" if each.significant else "no",
            )
            for each in self.differences
        ]
        points = [PlotRow(f"{each.first} − {each.second}", each.value, each.ci_low, each.ci_high) for each in self.differences]
        return ResultView("", Table(columns, rows, frozenset(columns[2:5])), ForestPlot("Difference of means", points, 0.0))


def competition_ranks(values: Mapping[str, float]) -> dict[str, int]:
    """Return ranks from 1, the highest value first; equal values share the better rank, and the next one is skipped.

    Example:
        >>> competition_ranks({"a": 0.62, "b": 0.62, "c": 0.58})
        {'a': 1, 'b': 1, 'c': 3}
    """
    return {name: 1 + sum(other > value for other in values.values()) for name, value in values.items()}


def compare(
    table: ScoreTable,
    *,
    sizes: Sequence[int] | None = None,
    replicates: int = REPLICATES,
    rounds: int = ROUNDS,
    confidence: float = 0.95,
    seed: int = SEED,
) -> SubjectComparison:
    """Compare all models of a table.

    Args:
        table: scores on the same items.
        sizes: items per subsample, strata kept in proportion; default: a quarter, a half and three quarters of all.
        replicates: of the bootstrap; all pairs share the resampled items.
        rounds: subsamples per size.
        confidence: of the intervals.
        seed: of every draw.

    Raises:
        OptionError: an argument is out of its range (a size above the number of items).

    Example:
        >>> import numpy as np
        >>> values = np.array([[1.0, 0.2], [0.9, 0.1], [0.8, 0.3], [1.0, 0.0], [0.9, 0.4]])
        >>> table = ScoreTable("match", "j", ("a", "b"), tuple("12345"), ("t",) * 5, values, 0, {"a": 0, "b": 0})
        >>> found = compare(table, sizes=[2], rounds=20)
        >>> [(each.model, each.rank_with_ties) for each in found.standings], found.stability.sizes[0].exact
        ([('a', 1), ('b', 2)], 1.0)
    """
    pairs = compare_all(table.values, table.models, replicates=replicates, confidence=confidence, seed=seed)
    differences = [each if each.value >= 0 else _turned(each) for each in pairs]
    worse_than = {each.second: 0 for each in differences} | dict.fromkeys(table.models, 0)
    for difference in differences:
        worse_than[difference.second] += difference.significant
    means = table.means
    ranks = competition_ranks(means)
    order = sorted(means, key=lambda model: (-means[model], model))
    standings = tuple(RankedSubject(each, means[each], ranks[each], 1 + worse_than[each]) for each in order)
    count = len(table.items)
    asked = sizes if sizes is not None else sorted({max(1, count * part // 4) for part in (1, 2, 3)})
    return SubjectComparison(
        standings,
        tuple(sorted(differences, key=lambda difference: -difference.value)),
        _stability(table, asked, replicates=replicates, rounds=rounds, confidence=confidence, seed=seed),
    )


def _stability(
    table: ScoreTable, sizes: Sequence[int], *, replicates: int, rounds: int, confidence: float, seed: int
) -> Stability | None:
    if not sizes:
        return None
    how = {"rounds": rounds, "replicates": replicates, "seed": seed}
    try:
        return rank_stability(table.values, sizes, strata=table.strata, systems=table.models, confidence=confidence, **how)
    except UndefinedError:
        return None


def _turned(difference: Difference) -> Difference:
    """Return the same pair the other way round."""
    return Difference(
        value=-difference.value,
        ci_low=-difference.ci_high,
        ci_high=-difference.ci_low,
        items=difference.items,
        confidence=difference.confidence,
        replicates=difference.replicates,
        seed=difference.seed,
        degenerate=difference.degenerate,
        first=difference.second,
        second=difference.first,
    )
