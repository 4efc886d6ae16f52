"""The table of coverage has every function that prints an interval or a p-value, and its stored rows keep what is promised."""

import importlib
import inspect
import re
import typing
from collections.abc import Iterator
from pathlib import Path

import pytest

from coverage_table import DESIGNS, LEAST_COVERAGE, MOST_SIZE, RUNS, rows_of, stored
from test_public_surface import MODULES

PACKAGES = Path(__file__).parents[1] / "packages"
_SPEAKS = re.compile(r"interval|ci_low|p.?values?\b|significan|binomial", re.IGNORECASE)
_MAKES = re.compile(
    r"\b(two_sided_(?:quantiles?|tail)|(?:standard|expanded|percentile|bca|wilson)_interval|small_sample|sign_test|tails|"
    r"(?:mean|ratio|share)_with_(?:interval|wilson)|paired_bootstrap|compare_all|norm\.ppf|np\.quantile|inv_cdf|erfc|chi2\.sf|stdtr)\("
)
ELSEWHERE = {
    "salon_ranking.bca_interval": "rank, bca",
    "salon_ranking.percentile_interval": "rank, percentile",
    "salon_ranking.explain": "differences, sandwich",
    "salon_ranking.listing": "rank, sandwich",
    "salon_ranking.holm": "differences, sandwich: any pair, by Holm",
    "salon_ranking.opinion.holm": "differences, sandwich: any pair, by Holm",
    "salon_ranking.agreement.audit_judges": "ratio_with_interval",
    "salon_ranking.agreement.released_accuracy": "ratio_with_interval",
    "salon_ranking.opinion.summarise": "mean_opinion_scores, over prompts",
}
"""Functions that print what another one makes, and the row that shows it."""
NONE_OF_ITS_OWN = {
    "salon_ranking.benjamini_hochberg": "corrects given p-values; test_multiple_testing simulates the share of wrong claims",
    "salon_ranking.opinion.benjamini_hochberg": "the same function",
    "salon_ranking.online_elo": "says that its spread is no confidence interval",
    "salon_ranking.agreement.alpha": "a value; intervals are label_statistics'",
    "salon_ranking.agreement.alpha_of_ratings": "a value; intervals are label_statistics'",
    "salon_ranking.agreement.rank_stability": "the middle of rounds, not an interval of a truth; its ties are compare_all's",
}
"""Public functions whose texts speak of intervals, and have none."""
SOURCES = {
    "bench/src/salon_bench/analysis/compare.py": "paired_bootstrap",
    "bench/src/salon_bench/analysis/gate/speed.py": "paired_bootstrap",
    "bench/src/salon_bench/analysis/gate/verdicts.py": "mean_with_interval",
    "bench/src/salon_bench/analysis/set_measures.py": "mean_with_interval",
    "train/src/salon_train/reward_model/held_out.py": "ratio_with_interval",
    "bench/src/salon_bench/analysis/reliability/comparing.py": "compare_all",
    "arena/src/salon_arena/quality.py": "wilson_interval",
    "bench/src/salon_bench/suites/artifact_bench/accuracy.py": "wilson_interval",
    "bench/src/salon_bench/suites/artifact_bench/summary.py": "wilson_interval",
    "bench/src/salon_bench/suites/assessors/comparison.py": "label_statistics: Cohen κ",
    "bench/src/salon_bench/suites/assessors/evaluation.py": "label_statistics: Cohen κ",
    "bench/src/salon_bench/suites/contract/metrics.py": "ratio_with_interval",
    "bench/src/salon_bench/suites/contract/tables.py": "ratio_with_interval",
    "bench/src/salon_bench/suites/dpg_bench/suite.py": "mean_with_interval",
    "bench/src/salon_bench/suites/geneval/suite.py": "ratio_with_interval, strata",
    "bench/src/salon_bench/suites/magic_bench_377/scoring.py": "ratio_with_interval",
    "bench/src/salon_bench/suites/magicbench/scoring.py": "prism.summarize: a track",
    "bench/src/salon_bench/analysis/agreement.py": "label_statistics: Cohen κ",
    "bench/src/salon_bench/suites/prism/scoring.py": "prism.summarize: a track",
    "bench/src/salon_bench/suites/r3_bench/scoring.py": "mean_with_interval",
    "ranking/src/salon_ranking/agreement/judge_audit.py": "ratio_with_interval",
    "ranking/src/salon_ranking/uncertainty/anytime.py": "rank, anytime",
    "curate/src/salon_curate/audits.py": "salon_curate.audits",
    "curate/src/salon_curate/drift.py": "mean_with_interval",
    "curate/src/salon_curate/planning.py": "mean_with_interval",
    "curate/src/salon_curate/selection.py": "wilson_interval",
    "published/src/salon_published/ledger_consistency.py": "ratio_with_interval",
    "ranking/src/salon_ranking/agreement/bootstrap.py": "paired_bootstrap",
    "ranking/src/salon_ranking/agreement/cluster_bootstrap.py": "label_statistics: Cohen κ",  # of clusters: studies/audits.py
    "ranking/src/salon_ranking/agreement/label_intervals.py": "label_statistics: Cohen κ",
    "ranking/src/salon_ranking/correction/balance.py": "correct_ratings: a random part is doubted",
    "ranking/src/salon_ranking/correction/means.py": "correct_means",
    "ranking/src/salon_ranking/correction/parameters.py": "correct_ratings",  # ends: studies/correction_models.py
    "ranking/src/salon_ranking/correction/ratings.py": "correct_ratings",
    "ranking/src/salon_ranking/diagnostics/both_bad.py": "acceptability",
    "ranking/src/salon_ranking/diagnostics/convergence.py": "rank, sandwich",
    "ranking/src/salon_ranking/diagnostics/goodness_of_fit.py": "goodness_of_fit",
    "ranking/src/salon_ranking/leaderboard/comparison.py": "compare_votes",
    "ranking/src/salon_ranking/leaderboard/group_comparison.py": "compare_groups",
    "ranking/src/salon_ranking/leaderboard/differences.py": "differences, sandwich",
    "ranking/src/salon_ranking/leaderboard/ranking.py": "rank, covariates: the coefficient",
    "ranking/src/salon_ranking/opinion/checks.py": "Checks.shares",
    "ranking/src/salon_ranking/opinion/scores.py": "mean_opinion_scores, over prompts",
    "ranking/src/salon_ranking/opinion/significance.py": "paired_comparisons, t",
    "ranking/src/salon_ranking/opinion/weights.py": "dimension_weights",
    "ranking/src/salon_ranking/uncertainty/means.py": "ratio_with_interval",
    "ranking/src/salon_ranking/uncertainty/proportions.py": "wilson_interval",
    "ranking/src/salon_ranking/uncertainty/quantiles.py": "paired_bootstrap",
    "ranking/src/salon_ranking/uncertainty/simultaneous.py": "rank, sandwich: any false rank",
    "ranking/src/salon_ranking/uncertainty/student.py": "rank, sandwich",
    "ranking/src/salon_ranking/uncertainty/uncertainty.py": "rank, sandwich",
    "train/src/salon_train/demo/loop.py": "ratio_with_interval",
    "train/src/salon_train/over_seeds.py": "mean_with_interval",
}
"""Files that make intervals or p-values, and a row of the table that shows how they hold."""
OTHERS = {
    "ranking/src/salon_ranking/agreement/__init__.py": "names",
    "ranking/src/salon_ranking/opinion/stability.py": "how often a model would differ from itself",
    "ranking/src/salon_ranking/agreement/stability.py": "the middle of rounds, not an interval of a truth",
    "ranking/src/salon_ranking/raters": "bounds that flag a rater, by Wilson's interval or the sign test",
    "bench/src/salon_bench/analysis/gate/planning.py": "plans gates; studies/gate.py shows how the plans hold",
    "ranking/src/salon_ranking/scheduling": "plans how wide intervals will be",
}
"""Files that use the same functions for something else: where, and what."""


def speaking() -> Iterator[str]:
    """Yield public functions whose own text, or that of what they return, speaks of intervals or tests."""
    for name in MODULES:
        module = importlib.import_module(name)
        for item in sorted(module.__all__):
            function = getattr(module, item)
            if not inspect.isfunction(function):
                continue
            try:
                made = typing.get_type_hints(function).get("return")
            except Exception:  # noqa: BLE001 - names that only a type checker knows
                made = None
            texts = [inspect.getdoc(function), inspect.getdoc(made) if inspect.isclass(made) else None]
            if name.startswith("salon_ranking") and any(text and _SPEAKS.search(text) for text in texts):
                yield f"{name}.{item}"


def making() -> Iterator[str]:
    """Yield the source files that make intervals or p-values."""
    for file in sorted(PACKAGES.glob("*/src/**/*.py")):
        if _MAKES.search(file.read_text(encoding="utf-8")):
            yield file.relative_to(PACKAGES).as_posix()


def functions() -> set[str]:
    """The functions of the stored table."""
    return {row.function for row in stored()}


def test_every_public_function_with_an_interval_or_a_p_value_is_in_the_table() -> None:
    shown = functions()
    named = set(speaking())
    missing = [
        name
        for name in sorted(named - {*ELSEWHERE, *NONE_OF_ITS_OWN})
        if not any(row.split(",")[0].split(":")[0] == name.rpartition(".")[2] for row in shown)
    ]
    assert not missing, f"simulate them in tests/coverage_table.py: {missing}"
    assert {row for name, row in ELSEWHERE.items() if name in named} <= shown


def test_every_file_that_makes_intervals_or_p_values_is_shown_by_a_row() -> None:
    found = {file for file in making() if not any(file.startswith(other) for other in OTHERS)}
    assert sorted(found - set(SOURCES)) == [], "show them by a design of tests/coverage_table.py"
    assert sorted(set(SOURCES) - found) == []
    assert sorted(set(SOURCES.values()) - functions()) == []


def test_the_stored_rows_keep_what_is_promised() -> None:
    rows = stored()
    assert len(rows) > 150
    off = [(row.function, row.design, row.coverage, row.size) for row in rows if not (row.is_kept or row.too_small)]
    assert not off, f"below {LEAST_COVERAGE} or above {MOST_SIZE}: {off}"
    silent = [(row.function, row.design, row.null) for row in rows if not (row.is_given or row.too_small)]
    assert not silent
    equal = "2 models × 30 battles, equal"
    for design in ("10 clusters of 30", "15 units, normal", equal, "20 raters, one with half of 400 votes"):
        mine = [row for row in rows if row.design == design]
        assert mine, design
        assert all(row.null < 0.01 and not row.too_small for row in mine if row.null == row.null), design


def test_the_table_has_the_designs_of_the_command() -> None:
    assert {row.design for row in stored()} == {design.name for design in DESIGNS}


_SAMPLE = (
    "10 clusters of 30",
    "20 raters, one with half of 400 votes",
    "newcomer in 3 of 20 clusters",
    "10 units, marks from 1 to 5",
    "5 prompts of 2 pictures",
    "10 wins of 10 with a prior",
)


@pytest.mark.parametrize("name", _SAMPLE)
def test_a_sample_of_the_cells_holds_in_a_few_runs(name: str) -> None:
    (design,) = [design for design in DESIGNS if design.name == name]
    for row in rows_of(design, 20 / RUNS, seed=2):
        assert not row.coverage < 0.8, row
        assert not row.size > 0.2, row
