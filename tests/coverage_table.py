"""How often every interval holds the truth, and every test claims something false: one table, made by one command.

``python tests/coverage_table.py`` simulates all designs below and writes the table into ``docs/coverage.md``. ``--only WORD``
does so for some of the designs; with ``--share 0.1``, a tenth of their runs, their rows are printed instead.
``tests/test_coverage_table.py`` checks that every public function with an interval or a p-value has a row, that the stored rows
keep the promise, and a sample of the cells.
"""

import argparse
import math
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from salon_bench.suites.prism.scoring import summarize as prism_summary
from salon_ranking import (
    Battles,
    acceptability,
    compare_groups,
    compare_votes,
    correct_means,
    correct_ratings,
    differences,
    fit,
    goodness_of_fit,
    rank,
)
from salon_ranking.agreement import compare_all, label_statistics, paired_bootstrap
from salon_ranking.errors import RankingError
from salon_ranking.models.ties import outcome_chances
from salon_ranking.opinion import (
    Checks,
    MosRatings,
    dimension_weights,
    fit_logistic,
    mean_opinion_scores,
    paired_comparisons,
)
from salon_ranking.opinion.logistic import degrees_of
from salon_ranking.uncertainty.means import mean_with_interval, ratio_with_interval
from salon_ranking.uncertainty.proportions import sign_test, wilson_interval
from salon_ranking.uncertainty.student import two_sided_quantiles

PAGE = Path(__file__).parents[1] / "docs" / "coverage.md"
COMMAND = "python tests/coverage_table.py"
LEAST_COVERAGE, MOST_SIZE = 0.93, 0.065
RUNS = 4000
"""Of each design."""
Rng = np.random.Generator
Floats = np.ndarray


@dataclass
class Tally:
    """What the intervals and tests of one function did in one design.

    Attributes:
        held, known, null: intervals that hold the truth, that were given, and that were not.
        false, tests: tests of true hypotheses that reject, and how many there were; of corrected tests and of ranks, studies
            with any false claim, and studies.
    """

    held: int = 0
    known: int = 0
    null: int = 0
    false: int = 0
    tests: int = 0

    def ends(self, low: Any, high: Any, truth: Any) -> None:
        """Count intervals; None and NaN are none."""
        low, high = (np.atleast_1d(np.array(end, dtype=np.float64)) for end in (low, high))
        known = ~(np.isnan(low) | np.isnan(high))
        slack = 1e-12 * np.maximum(1.0, np.abs(np.broadcast_to(truth, low.shape)))
        self.held += int((known & (low <= truth + slack) & (truth - slack <= high)).sum())
        self.known += int(known.sum())
        self.null += int((~known).sum())

    def p_values(self, values: Any) -> None:
        """Count tests of true hypotheses at 5%; those without a p-value do not count."""
        p = np.atleast_1d(np.array(values, dtype=np.float64))
        p = p[~np.isnan(p)]
        self.false += int((p < 0.05).sum())
        self.tests += len(p)

    def claim(self, is_false: bool) -> None:
        """Count a study that makes any false claim."""
        self.false += bool(is_false)
        self.tests += 1

    @property
    def coverage(self) -> float:
        """The share of the given intervals that hold the truth; NaN without any."""
        return self.held / self.known if self.known else math.nan

    @property
    def size(self) -> float:
        """The share of tests that claim something false; NaN without any."""
        return self.false / self.tests if self.tests else math.nan

    @property
    def missing(self) -> float:
        """The share of intervals that were not given; NaN without any."""
        made = self.known + self.null
        return self.null / made if made else math.nan


Tallies = dict[str, Tally]
Study = Callable[[Rng, Tallies], None]


@dataclass(frozen=True)
class Design:
    """A kind of study, and the functions that are tried on it.

    Attributes:
        too_small: why intervals may be missing, or be far off, in this design; empty: they must not.
    """

    name: str
    study: Study
    too_small: str = ""


# ------------------------------------------------------------------------------------------------------------- leagues


@dataclass(frozen=True)
class League:
    """Votes among equal models: every cluster has tastes of its own.

    Attributes:
        battles: of each cluster.
        spread: standard deviation of a cluster's strengths.
        newcomer: the clusters in which the first model plays; empty: in all.
    """

    models: int
    battles: tuple[int, ...]
    spread: float = 0.0
    newcomer: tuple[int, ...] = ()
    ties: float = 0.0

    def frame(self, rng: Rng) -> pl.DataFrame:
        """Draw the votes."""
        cluster = np.repeat(np.arange(len(self.battles)), self.battles)
        lowest = np.where(np.isin(cluster, self.newcomer) | (not self.newcomer), 0, 1)
        a = lowest + rng.integers(0, 1 << 30, len(cluster)) % (self.models - lowest)
        b = lowest + (a - lowest + 1 + rng.integers(0, 1 << 30, len(cluster)) % (self.models - lowest - 1)) % (
            self.models - lowest
        )
        tastes = self.spread * rng.normal(size=(len(self.battles), self.models))
        gap = tastes[cluster, a] - tastes[cluster, b]
        winner = np.where(rng.random(len(cluster)) < 1 / (1 + np.exp(-gap)), "model_a", "model_b")
        if self.ties:
            win, tie, _ = outcome_chances("davidson", gap, self.ties)
            drawn = rng.random(len(cluster))
            winner = np.where(drawn < win, "model_a", np.where(drawn < win + tie, "tie", "model_b"))
        names = np.array([f"m{number}" for number in range(self.models)])
        return pl.DataFrame({"model_a": names[a], "model_b": names[b], "winner": winner, "cluster": cluster})


def leaderboards(league: League, kinds: tuple[str, ...], by: str | None = "cluster", **options: Any) -> Study:
    """A study in which equal models are rated, compared and put in order."""

    def study(rng: Rng, tallies: Tallies) -> None:
        frame = league.frame(rng)
        if by == ("cluster", "prompt"):
            frame = frame.with_columns(prompt=pl.Series(rng.integers(0, 60, frame.height)))
        battles = Battles.from_frame(frame, cluster_by=by, weight=options.get("weight"))
        _rated(battles, kinds, tallies, {name: value for name, value in options.items() if name != "weight"})

    return study


def _rated(battles: Battles, kinds: tuple[str, ...], tallies: Tallies, options: dict[str, Any]) -> None:
    seed = battles.count  # any number
    for kind in kinds:
        try:
            board = rank(battles, interval=kind, replicates=400, seed=seed, baseline="m1", ranks=True, **options).table
        except RankingError:
            continue  # no finite estimate: nothing is printed
        others = board.filter(pl.col("model") != "m1")
        tallies[f"rank, {kind}"].ends(others["ci_low"], others["ci_high"], 1000.0)
        tallies[f"rank, {kind}: any false rank"].claim(
            bool(((board["rank_low"] > 1) | (board["rank_high"] < board.height)).any())
        )
        if kind != "bca":
            table = differences(battles, interval=kind, replicates=400, seed=seed, **options).table
            own = table.filter((pl.col("model_a") == "m0") | (pl.col("model_b") == "m0"))
            tallies[f"differences, {kind}"].ends(own["ci_low"], own["ci_high"], 0.0)
            tallies[f"differences, {kind}: each pair"].p_values(own["p_value"])
            tallies[f"differences, {kind}: any pair, by Holm"].claim(bool(table["significant"].fill_null(False).any()))


def unequal_pair(rng: Rng, tallies: Tallies) -> None:
    """Two models, 30 battles, of which the first wins half to four in five: of one share coverage is a step function."""
    share = rng.uniform(0.5, 0.8)
    truth = 1000 + 400 * math.log10(share / (1 - share))
    won = rng.random(30) < share
    battles = Battles.from_frame(
        pl.DataFrame({"model_a": ["m0"] * 30, "model_b": ["m1"] * 30, "winner": np.where(won, "model_a", "model_b")})
    )
    for kind, estimator in (("percentile", "maximum-likelihood"), ("sandwich", "maximum-likelihood"), ("sandwich", "firth")):
        try:
            board = rank(battles, interval=kind, estimator=estimator, baseline="m1").table  # type: ignore[arg-type]
        except RankingError:
            continue  # one side won all
        row = board.filter(model="m0").row(0, named=True)
        name = f"rank, {kind}" + (", Firth" if estimator == "firth" else "")
        tallies[name].ends(row["ci_low"], row["ci_high"], truth)


def long_weights(rng: Rng, tallies: Tallies) -> None:
    """Five models, 200 battles whose weights have a long tail."""
    frame = League(5, (200,)).frame(rng).with_columns(weight=pl.Series(np.clip(rng.lognormal(0, 1.5, 200), 0.01, 100)))
    _rated(Battles.from_frame(frame, weight="weight"), ("sandwich",), tallies, {})


def tie_parameter(nu: float, battles: int) -> Study:
    """A study in which a tie parameter is estimated."""

    def study(rng: Rng, tallies: Tallies) -> None:
        frame = League(4, (battles,), ties=nu).frame(rng)
        for model, truth in (("davidson", nu), ("rao-kupper", 1 + nu)):
            try:
                found = rank(Battles.from_frame(frame), ties=model, interval="sandwich").parameters.row(0, named=True)
            except RankingError:
                continue
            tallies[f"rank, ties {model}: the parameter"].ends(found["ci_low"], found["ci_high"], truth)

    return study


def position_bias(rng: Rng, tallies: Tallies) -> None:
    """One of 20 raters gives half of 400 votes; raters lean to a side, on average to neither."""
    league = League(4, (200, *[11] * 18, 2), spread=0.5)
    frame = league.frame(rng)
    lean = rng.normal(0, 0.5, 20)[frame["cluster"].to_numpy()]
    left = rng.random(frame.height) < 0.5
    won = rng.random(frame.height) < 1 / (1 + np.exp(-np.where(left, lean, -lean)))
    frame = frame.with_columns(
        winner=pl.Series(np.where(won, "model_a", "model_b")), side_a_shown=pl.Series(np.where(left, "left", "right"))
    )
    board = rank(Battles.from_frame(frame, cluster_by="cluster"), covariates=["side_a_shown"], baseline="m1")
    row = board.parameters.row(0, named=True)
    tallies["rank, covariates: the coefficient"].ends(row["ci_low"], row["ci_high"], 0.0)
    tallies["rank, covariates: the coefficient"].p_values(row["p_value"])


def two_sets(first: League, second: League) -> Study:
    """A study in which two sets of votes are compared."""

    def study(rng: Rng, tallies: Tallies) -> None:
        frames = [league.frame(rng) for league in (first, second)]
        frames[1] = frames[1].with_columns(pl.col("cluster") + 1000)
        try:
            table = compare_votes(*(Battles.from_frame(frame, cluster_by="cluster") for frame in frames)).table
        except RankingError:
            return
        tallies["compare_votes"].ends(table["ci_low"], table["ci_high"], 0.0)
        tallies["compare_votes"].p_values(table["p_value"])
        tallies["compare_votes: any model, by Holm"].claim(bool((table["p_holm"] < 0.05).fill_null(False).any()))

    return study


def shared_raters(league: League, halves: bool) -> Study:
    """A study in which every rater votes in two groups, or each in one, and the groups are compared."""

    def study(rng: Rng, tallies: Tallies) -> None:
        frame = league.frame(rng)
        group = pl.col("cluster") % 2 if halves else pl.Series(rng.integers(0, 2, frame.height))
        battles = Battles.from_frame(frame.with_columns(scenario=pl.format("g{}", group)), cluster_by="cluster")
        try:
            table = compare_groups(battles, "scenario", replicates=0).table
        except RankingError:
            return
        tallies["compare_groups"].ends(table["difference_low g1"], table["difference_high g1"], 0.0)
        tallies["compare_groups"].p_values(table["p_value g1"])
        tallies["compare_groups: any model, by Holm"].claim(bool((table["p_holm g1"] < 0.05).fill_null(False).any()))

    return study


def judged_league(
    models: int, votes: int, guessed: float, by: tuple[str, ...] = (), ties: float = 0.0, unequal: bool = False
) -> Study:
    """A study in which a judge with its own taste for each model decides ten times the battles that people vote on."""

    def study(rng: Rng, tallies: Tallies) -> None:
        battles = 10 * votes
        prompts = np.arange(battles) % 40 if by else np.arange(battles)
        strengths = np.zeros(models) if by or ties else rng.normal(0, 0.5, models)
        tastes = 0.5 * rng.normal(size=(40, models)) if by else np.zeros((1, models))
        a = rng.integers(0, models, battles)
        b = (a + rng.integers(1, models, battles)) % models
        of_prompt = tastes[prompts % len(tastes)]
        row = np.arange(battles)
        latent = strengths[a] - strengths[b] + of_prompt[row, a] - of_prompt[row, b] + rng.logistic(size=battles)
        leaning = rng.normal(0, 0.5, models)
        judge = np.where(rng.random(battles) < guessed, rng.random(battles) < 0.5, latent + leaning[a] - leaning[b] > 0)
        names = np.array([f"m{number:02d}" for number in range(models)])
        winner = np.where(rng.random(battles) < ties, "tie", np.where(latent > 0, "model_a", "model_b"))
        frame = pl.DataFrame({"battle_id": row, "prompt_id": prompts, "model_a": names[a], "model_b": names[b]})
        frame = frame.with_columns(pl.col("battle_id", "prompt_id").cast(pl.String))
        chance = np.where(judge == (a < b), 0.05, 0.15) if unequal else np.full(battles, 0.1)
        shown = rng.random(battles) < chance if unequal else np.isin(row, rng.choice(battles, votes, replace=False))
        people = frame.with_columns(winner=pl.Series(winner), chance=pl.Series(chance)).filter(pl.Series(shown))
        judged = frame.with_columns(winner=pl.Series(np.where(judge, "model_a", "model_b")))
        parts = Battles.from_frame(people, cluster_by=by), Battles.from_frame(judged)
        try:
            found = correct_ratings(*parts, baseline="m00", probability="chance" if unequal else None)
        except RankingError:
            return
        table = found.table.filter(pl.col("model") != "m00").sort("model")
        if not unequal:
            tallies["correct_ratings: a random part is doubted"].claim(any("random" in text for text in found.warnings))
        truth = 1000 + 400 / math.log(10) * (strengths[1:] - strengths[0])
        for kind, low, high in (("", "ci_low", "ci_high"), (": people alone", "people_low", "people_high")):
            for place in range(models - 1):
                tallies[f"correct_ratings{kind}"].ends(table[low][place], table[high][place], truth[place])

    return study


def judged_pictures(
    models: int, marks: int, noise: float, by: tuple[str, ...] = (), kind: str = "numbers", unequal: bool = False
) -> Study:
    """A study in which a judge with a taste for each model scores ten times the pictures that people mark; all are equal."""

    def study(rng: Rng, tallies: Tallies) -> None:
        pictures = 10 * marks
        number = np.arange(pictures)
        prompts, model = (number // models) % (40 if by else pictures), number % models
        raters = rng.integers(0, 20, pictures)
        hard = 0.5 * rng.normal(size=pictures) if not by else 0.5 * rng.normal(size=40)
        people = hard[prompts] + rng.normal(size=pictures)
        judge = people + rng.normal(0, 0.5, models)[model] + noise * rng.normal(size=pictures)
        if "rater_id" in by:
            people += 0.5 * rng.normal(size=20)[raters]
        truth = 0.0
        if kind == "yes or no":
            people, judge, truth = (people > 0).astype(float), (judge > 0).astype(float), 0.5
        frame = pl.DataFrame(
            {
                "generation_id": number.astype(str),
                "prompt_id": prompts.astype(str),
                "model": np.array([f"m{one:02d}" for one in range(models)])[model],
            }
        )
        chance = np.where(judge > 0, 0.05, 0.15) if unequal else np.full(pictures, 0.1)
        shown = rng.random(pictures) < chance if unequal else np.isin(number, rng.choice(pictures, marks, replace=False))
        marked = frame.with_columns(value=people, chance=chance, rater_id=raters.astype(str)).filter(pl.Series(shown))
        options: dict[str, Any] = {"cluster_by": by, "probability": "chance" if unequal else None, "baseline": "m00"}
        try:
            board = correct_means(marked, frame.with_columns(value=judge), **options)
        except RankingError:
            return
        if not unequal:
            tallies["correct_means: a random part is doubted"].claim(any("random" in text for text in board.warnings))
        names = {"": ("ci_low", "ci_high"), ": people alone": ("people_low", "people_high")}
        for name, (low, high) in names.items():
            for row in board.table.iter_rows(named=True):
                tallies[f"correct_means{name}"].ends(row[low], row[high], truth)
        for row in board.table.filter(pl.col("model") != "m00").iter_rows(named=True):
            tallies["correct_means: difference"].ends(row["difference_low"], row["difference_high"], 0.0)

    return study


def all_won(rng: Rng, tallies: Tallies) -> None:
    """A model that wins 10 of 10 against one of equals who play each other, with a prior."""
    rest = League(3, (60,)).frame(rng).drop("cluster")
    wins = pl.DataFrame({"model_a": ["m9"] * 10, "model_b": ["m0"] * 10, "winner": ["model_a"] * 10})
    board = rank(Battles.from_frame(pl.concat([rest, wins])), prior_ties=1, interval="sandwich", baseline="m1").table
    row = board.filter(model="m9").row(0, named=True)
    tallies["rank, sandwich, a prior"].ends(row["ci_low"], row["ci_high"], 1000 + 400 / math.log(10) * rng.normal(2, 1))


def fit_of_pairs(models: int, battles: int) -> Study:
    """A study in which the model of goodness of fit is true."""

    def study(rng: Rng, tallies: Tallies) -> None:
        try:
            drawn = Battles.from_frame(League(models, (battles,)).frame(rng))
            found = goodness_of_fit(drawn, fit(drawn))
        except RankingError:
            return
        tallies["goodness_of_fit"].p_values(found.p_value)

    return study


@cache
def ledger_pairs() -> pl.DataFrame:
    """The battles of the ledger's board of videos from text."""
    from salon_published.ledger import compared_scores, ledger_battles

    return ledger_battles(compared_scores("text-to-video")).select("model_a", "model_b", "suite")


def ledger_of_equals(rng: Rng, tallies: Tallies) -> None:
    """The pairs of the ledger, with equal models and sources that have tastes of their own."""
    from salon_published.ledger import PRIOR_TIES

    pairs = ledger_pairs()
    models, suites = sorted({*pairs["model_a"], *pairs["model_b"]}), sorted(set(pairs["suite"]))
    tastes = rng.normal(0, 0.7, (len(suites), len(models)))
    of = pairs["suite"].replace_strict(suites, range(len(suites)), return_dtype=pl.Int64).to_numpy()
    a, b = (
        pairs[side].replace_strict(models, range(len(models)), return_dtype=pl.Int64).to_numpy()
        for side in ("model_a", "model_b")
    )
    won = rng.random(pairs.height) < 1 / (1 + np.exp(tastes[of, b] - tastes[of, a]))
    battles = Battles.from_frame(pairs.with_columns(winner=pl.Series(np.where(won, "model_a", "model_b"))), cluster_by="suite")
    baseline = pl.concat([pairs["model_a"], pairs["model_b"]]).mode().sort()[0]
    board = rank(battles, baseline=baseline, prior_ties=PRIOR_TIES, interval="sandwich").table
    others = board.filter(pl.col("model") != baseline)
    tallies["ledger_board"].ends(others["ci_low"], others["ci_high"], 1000.0)


# ------------------------------------------------------------------------------------------------------- scores of units

LIKERT = ((1.0, 2.0, 3.0, 4.0, 5.0), (0.05, 0.1, 0.5, 0.25, 0.1))


def drawn_units(kind: str, count: int, rng: Rng) -> tuple[Floats, float]:
    """Draw scores of units, and return their mean in the population."""
    if kind == "marks from 1 to 5":
        values, chances = LIKERT
        return rng.choice(values, p=chances, size=count), float(np.dot(values, chances))
    if kind == "long tail":
        return rng.exponential(size=count), 1.0
    return rng.normal(size=count), 0.0


def means(kind: str, count: int) -> Study:
    """A study of a mean over units, and of the difference of two systems on the same units."""

    def study(rng: Rng, tallies: Tallies) -> None:
        values, truth = drawn_units(kind, count, rng)
        tallies["mean_with_interval"].ends(*mean_with_interval(values.tolist())[1], truth)
        rows = rng.integers(1, 4, count).astype(float)
        noise = drawn_units(kind, count, rng)[0] - truth
        tallies["ratio_with_interval"].ends(*ratio_with_interval(np.column_stack([(truth + noise) * rows, rows]))[1], truth)
        other, third = (drawn_units(kind, count, rng)[0] for _ in range(2))
        found = paired_bootstrap(values, other, replicates=400)
        tallies["paired_bootstrap"].ends(found.ci_low, found.ci_high, 0.0)
        tallies["paired_bootstrap"].claim(found.significant)
        for one in compare_all(np.stack([values, other, third], axis=1), replicates=400, threads=1):
            tallies["compare_all"].ends(one.ci_low, one.ci_high, 0.0)
            tallies["compare_all"].claim(one.significant)

    return study


def strata(count: int) -> Study:
    """A mean over six tasks of some prompts each, as GenEval's."""

    def study(rng: Rng, tallies: Tallies) -> None:
        of = np.repeat(np.arange(6), count)
        values = rng.random(len(of)) < np.linspace(0.3, 0.8, 6)[of]
        ends = ratio_with_interval(np.column_stack([values, np.ones(len(of))]).astype(float), of)[1]
        tallies["ratio_with_interval, strata"].ends(*ends, 0.55)

    return study


def prism(count: int) -> Study:
    """PRISM-Bench with some prompts in each of seven tracks."""
    from salon_judges.formats.prism_tracks import Track

    def study(rng: Rng, tallies: Tallies) -> None:
        values = rng.choice(LIKERT[0], p=LIKERT[1], size=(7, count, 2)) * 2.0
        rows = [
            (f"{track}-{prompt}", str(track), dimension, float(values[place, prompt, axis]))
            for place, track in enumerate(Track)
            for prompt in range(count)
            for axis, dimension in enumerate(("alignment", "aesthetic"))
        ]
        frame = pl.DataFrame(rows, ["prompt_id", "task", "dimension", "value"], orient="row")
        frame = frame.with_columns(unscored_reason=pl.lit(None, pl.String), generation_id=pl.col("prompt_id"))
        table = prism_summary(frame, replicates=300).table
        truth = 20.0 * float(np.dot(*LIKERT))
        for name, rows_ in (
            ("a track", table.filter(pl.col("group").is_not_null())),
            ("all tracks", table.filter(pl.col("group").is_null())),
        ):
            tallies[f"prism.summarize: {name}"].ends(rows_["ci_low"], rows_["ci_high"], truth)

    return study


# --------------------------------------------------------------------------------------------------------------- opinion


def marks_frame(marks: list[list[float]], model: str = "m", low: float = -60.0, high: float = 60.0) -> pl.DataFrame:
    """Evaluations of each prompt as a table of ratings."""
    rows = [
        (f"{model}-{p}-{k}", f"p{p}", f"{model}-{p}-{k}", model, value)
        for p, own in enumerate(marks)
        for k, value in enumerate(own)
    ]
    frame = pl.DataFrame(rows, ["rating_id", "prompt_id", "generation_id", "model", "value"], orient="row")
    return frame.with_columns(dimension=pl.lit("beauty"), scale_min=pl.lit(low), scale_max=pl.lit(high), rater_id=pl.lit("r"))


def opinions(counts: tuple[int, ...]) -> Study:
    """Mean opinion scores: so many evaluations of each prompt. Repeated, the truth is about these prompts; else about all."""

    def study(rng: Rng, tallies: Tallies) -> None:
        quality = rng.normal(0, 5, len(counts))
        frames = [
            marks_frame([list(quality[place] + rng.normal(0, 3, count)) for place, count in enumerate(counts)], model)
            for model in "mn"
        ]
        ratings = MosRatings.from_frame(pl.concat(frames))
        within = max(counts) > 1
        for row in mean_opinion_scores(ratings, replicates=300).iter_rows(named=True):
            name = "within prompts" if within else "over prompts"
            tallies[f"mean_opinion_scores, {name}"].ends(row["ci_low"], row["ci_high"], quality.mean() if within else 0.0)
        for test in ("within-prompts",) if within else ("t", "wilcoxon"):
            tallies[f"paired_comparisons, {test}"].p_values(paired_comparisons(ratings, test=test)["p"])

    return study


def marks_of_five(count: int) -> Study:
    """Mean opinion scores from 1 to 5, one evaluation of each prompt."""

    def study(rng: Rng, tallies: Tallies) -> None:
        frame = marks_frame([[mark] for mark in rng.choice(LIKERT[0], p=LIKERT[1], size=count)], low=1.0, high=5.0)
        row = mean_opinion_scores(MosRatings.from_frame(frame), replicates=300).row(0, named=True)
        tallies["mean_opinion_scores, over prompts"].ends(row["ci_low"], row["ci_high"], float(np.dot(*LIKERT)))

    return study


@cache
def rated_pictures() -> tuple[MosRatings, Floats]:
    """Marks of 4 models' pictures of 60 prompts in two dimensions, and the standardized differences' source."""
    rng = np.random.default_rng(5)
    frames = []
    for place, dimension in enumerate(("beauty", "detail")):
        for model in range(4):
            frame = marks_frame([[float(value)] for value in rng.normal(0, 5, 60)], f"m{model}")
            frames.append(frame.with_columns(pl.col("rating_id") + f"-{place}", dimension=pl.lit(dimension)))
    return MosRatings.from_frame(pl.concat(frames)), rng.normal(size=1)


def weights(raters: tuple[int, ...]) -> Study:
    """Weights of dimensions that have no effect; raters lean to the one or the other dimension, on average to none."""
    x_of = cache(lambda: rated_pictures()[0])

    def study(rng: Rng, tallies: Tallies) -> None:
        ratings, rater = x_of(), np.repeat(np.arange(len(raters)), raters)
        a, prompt = rng.integers(0, 4, len(rater)), rng.integers(0, 60, len(rater))
        b = (a + rng.integers(1, 4, len(rater))) % 4
        marks = ratings.scored.filter(dimension="beauty").sort("model", "prompt_id")["value"].to_numpy().reshape(4, 60) / 5
        order = np.argsort(np.argsort([f"p{number}" for number in range(60)]))
        gap = marks[a, order[prompt]] - marks[b, order[prompt]]
        won = rng.random(len(rater)) < 1 / (1 + np.exp(-0.5 * rng.normal(size=len(raters))[rater] * gap))
        frame = pl.DataFrame(
            {
                "model_a": [f"m{number}" for number in a],
                "model_b": [f"m{number}" for number in b],
                "prompt_id": [f"p{number}" for number in prompt],
                "rater": [f"r{number}" for number in rater],
                "winner": np.where(won, "model_a", "model_b"),
            }
        )
        found = dimension_weights(Battles.from_frame(frame), ratings, interactions=False, cluster="rater")
        tallies["dimension_weights"].ends(found.table["ci_low"], found.table["ci_high"], 0.0)
        tallies["dimension_weights: coefficients"].ends(found.coefficients["ci_low"], found.coefficients["ci_high"], 0.0)
        x = np.column_stack([gap, rng.normal(size=len(rater))])
        logistic = fit_logistic(x, won.astype(float), ["a", "b"], rater)
        reach = two_sided_quantiles(0.05, degrees_of(logistic, np.eye(2))) * np.sqrt(np.diag(logistic.covariance))
        tallies["fit_logistic"].ends(logistic.estimate - reach, logistic.estimate + reach, 0.0)

    return study


# --------------------------------------------------------------------------------------------------- agreement and shares


def labelled(rng: Rng, things: int, noise: float) -> pl.DataFrame:
    """Draw labels of three raters from 0 to 2, of whom each guesses now and then."""
    worth = rng.integers(0, 3, things)
    labels = np.where(rng.random((3, things)) < noise, rng.integers(0, 3, (3, things)), worth)
    rater, thing = (axis.ravel() for axis in np.indices(labels.shape))
    return pl.DataFrame({"thing": thing, "rater": rater, "label": labels.ravel()})


@cache
def agreement_of_all(noise: float) -> tuple[float, ...]:
    """What endlessly many things would give."""
    known = label_statistics(
        labelled(np.random.default_rng(9), 60_000, noise), thing="thing", rater="rater", label="label", replicates=0
    )
    return tuple(known.table["value"].to_list())


def labels(things: int, noise: float) -> Study:
    """Krippendorff's α, Fleiss' κ and Cohen's κ of three raters."""

    def study(rng: Rng, tallies: Tallies) -> None:
        found = label_statistics(
            labelled(rng, things, noise), thing="thing", rater="rater", label="label", replicates=800, seed=things
        )
        for row, truth in zip(found.table.iter_rows(named=True), agreement_of_all(noise), strict=True):
            name = "label_statistics: " + {"alpha": "α", "fleiss": "Fleiss' κ"}.get(
                str(row["statistic"]).split()[0].lower(), str(row["statistic"])
            )
            if row["value"] is not None:
                tallies[name.split(",")[0]].ends(row["ci_low"], row["ci_high"], truth)

    return study


def shares(trials: int) -> Study:
    """Shares, over all true values from .1 to .9: of one value coverage is a step function of the number of trials."""

    def study(rng: Rng, tallies: Tallies) -> None:
        truth = rng.uniform(0.1, 0.9, 10)
        low, high = wilson_interval(rng.binomial(trials, truth), np.full(10, trials))
        for place in range(10):
            tallies["wilson_interval"].ends(low[place], high[place], truth[place])
        tallies["sign_test"].p_values(sign_test(rng.binomial(trials, 0.5, 10), np.full(10, trials)))

    return study


def checks(trials: int) -> Study:
    """Shares of satisfied checks, and of battles that were not judged both-bad."""

    def study(rng: Rng, tallies: Tallies) -> None:
        truth = rng.uniform(0.1, 0.9)
        met = (rng.random(trials) < truth).astype(int)
        frame = pl.DataFrame({"model": ["x"] * trials, "test_point": ["hands"] * trials, "satisfied": met})
        row = Checks.from_frame(frame).shares().row(0, named=True)
        tallies["Checks.shares"].ends(row["ci_low"], row["ci_high"], truth)
        winner = np.where(met == 1, "model_a", "both_bad")
        battles = pl.DataFrame({"model_a": ["x"] * trials, "model_b": ["y"] * trials, "winner": winner})
        for found in acceptability(Battles.from_frame(battles)).iter_rows(named=True):
            tallies["acceptability"].ends(found["ci_low"], found["ci_high"], truth)

    return study


# --------------------------------------------------------------------------------------------------------------- designs


def audit(rated: int) -> Study:
    """An audit of a selection: so many kept and dropped pictures are rated again."""

    def study(rng: Rng, tallies: Tallies) -> None:
        from salon_curate.audits import estimates

        kept, dropped = rng.uniform(0.6, 0.95), rng.uniform(0.1, 0.5)
        counts = {"kept": (int(rng.binomial(rated, kept)), rated), "dropped": (int(rng.binomial(rated, dropped)), rated)}
        found = estimates({"kept": 7000, "dropped": 3000}, counts, draws=2000)
        truths = (0.7 * kept + 0.3 * (1 - dropped), kept, 1 - dropped, 0.7 * kept / (0.7 * kept + 0.3 * dropped))
        for one, truth in zip(found, truths, strict=True):
            tallies["salon_curate.audits"].ends(one.low, one.high, truth)

    return study


_DOMINANT = (200, *[11] * 18, 2)
_BOTH = ("sandwich", "percentile")
_FEW = "fewer than 4 degrees of freedom: a warning names them"
_LONG_TAIL = "a long tail over few units: a mean's t holds the truth too seldom, and no interval knows it"
DESIGNS = (
    Design("2 models × 30 battles, equal", leaderboards(League(2, (30,)), ("sandwich", "percentile", "bca"), by=None)),
    Design("2 models × 30 battles, one wins half to four in five", unequal_pair),
    Design("6 models, 300 battles", leaderboards(League(6, (300,)), ("sandwich", "percentile", "bca"), by=None)),
    Design("6 models, 300 battles, for every look", leaderboards(League(6, (300,)), ("anytime",), by=None)),
    Design("30 clusters of 20, for every look", leaderboards(League(5, (20,) * 30, 0.5), ("anytime",))),
    Design("3 clusters of 40", leaderboards(League(4, (40,) * 3, 0.5), _BOTH), _FEW),
    Design("5 clusters of 30", leaderboards(League(4, (30,) * 5, 0.5), _BOTH), _FEW),
    Design("10 clusters of 30", leaderboards(League(5, (30,) * 10, 0.5), _BOTH)),
    Design("20 raters, one with half of 400 votes", leaderboards(League(5, _DOMINANT, 0.5), _BOTH)),
    Design("newcomer in 2 of 20 clusters", leaderboards(League(6, (30,) * 20, 0.7, (3, 11)), _BOTH), _FEW),
    Design("newcomer in 3 of 20 clusters", leaderboards(League(6, (30,) * 20, 0.7, (3, 8, 11)), _BOTH), _FEW),
    Design("newcomer in 5 of 20 clusters", leaderboards(League(6, (30,) * 20, 0.7, (1, 3, 8, 11, 17)), _BOTH)),
    Design(
        "20 raters, one with half, and 60 prompts",
        leaderboards(League(4, _DOMINANT, 0.5), _BOTH, by=("cluster", "prompt")),
    ),
    Design("20 raters, one with half, Firth", leaderboards(League(4, _DOMINANT, 0.5), ("sandwich",), estimator="firth")),
    Design("20 raters, one with half, ties", leaderboards(League(4, _DOMINANT, 0.5, ties=0.6), ("sandwich",), ties="davidson")),
    Design("20 raters, one with half, a prior", leaderboards(League(4, _DOMINANT, 0.5), ("sandwich",), prior_ties=1.0)),
    Design("weights with a long tail", long_weights),
    Design("position bias, one rater with half of 400 votes", position_bias),
    Design("few ties (ν = .05, 150 battles)", tie_parameter(0.05, 150)),
    Design("ties (ν = .5, 100 battles)", tie_parameter(0.5, 100)),
    Design("two sets of votes in 10 clusters each", two_sets(League(4, (30,) * 10, 0.5), League(4, (30,) * 10, 0.5))),
    Design(
        "two sets, each with one rater of half of the votes",
        two_sets(League(4, _DOMINANT, 0.5), League(4, _DOMINANT, 0.5)),
    ),
    Design("two groups, 20 raters in both", shared_raters(League(4, (30,) * 20, 0.5), halves=False)),
    Design("two groups, one rater with half of 400 votes in both", shared_raters(League(4, _DOMINANT, 0.5), halves=False)),
    Design("two groups of 10 raters each", shared_raters(League(4, (30,) * 20, 0.5), halves=True)),
    *(
        Design(
            f"{models} models, {votes} votes of {10 * votes:,}, {guessed:.0%} guessed", judged_league(models, votes, guessed)
        )
        for models, votes in ((6, 100), (6, 400), (20, 400))
        for guessed in (0.65, 0.3, 0.05)
    ),
    Design("6 models, 400 votes of 4,000, ties", judged_league(6, 400, 0.3, ties=0.2)),
    Design("6 models, 400 votes of 4,000, 40 prompts", judged_league(6, 400, 0.3, by=("prompt_id",))),
    Design("6 models, 400 votes of 4,000, unequal chances", judged_league(6, 400, 0.3, unequal=True)),
    *(
        Design(f"{models} models, {marks} marks of {10 * marks:,}, {kind} judge", judged_pictures(models, marks, noise))
        for models, marks in ((6, 120), (6, 400), (20, 400))
        for kind, noise in (("good", 0.3), ("fair", 1.0), ("poor", 3.0))
    ),
    Design("6 models, 400 marks of 4,000, yes or no", judged_pictures(6, 400, 0.5, kind="yes or no")),
    Design("6 models, 400 marks of 4,000, 40 prompts", judged_pictures(6, 400, 0.5, by=("prompt_id",))),
    Design(
        "6 models, 400 marks of 4,000, 40 prompts and 20 raters", judged_pictures(6, 400, 0.5, by=("prompt_id", "rater_id"))
    ),
    Design("6 models, 400 marks of 4,000, unequal chances", judged_pictures(6, 400, 0.5, unequal=True)),
    Design("10 wins of 10 with a prior", all_won, "one side won every battle: no data bound it"),
    Design("videos from text in the ledger", ledger_of_equals, _FEW),
    Design("6 models, 600 battles, fit", fit_of_pairs(6, 600)),
    Design(
        "6 models, 60 battles, fit",
        fit_of_pairs(6, 60),
        "few battles of a pair: the χ² distribution does not hold, and there is no p-value",
    ),
    *(
        Design(
            f"{count} units, {kind}",
            means(kind, count),
            "fewer than 5 units" if count < 5 else _LONG_TAIL if kind == "long tail" else "",
        )
        for kind, counts in (
            ("normal", (2, 4, 5, 7, 10, 15, 30)),
            ("marks from 1 to 5", (3, 5, 7, 10, 15, 30)),
            ("long tail", (15, 30)),
        )
        for count in counts
    ),
    *(Design(f"6 tasks of {count} prompts", strata(count), "one prompt a task" if count == 1 else "") for count in (1, 4, 15)),
    *(
        Design(f"7 tracks of {count} prompts", prism(count), "fewer than 5 prompts a track" if count < 5 else "")
        for count in (1, 3, 15)
    ),
    Design("one of 40 prompts has a second picture", opinions((2, *[1] * 39))),
    Design("3 prompts of 2 pictures", opinions((2,) * 3)),
    Design("5 prompts of 2 pictures", opinions((2,) * 5)),
    Design("15 prompts of 3 pictures", opinions((3,) * 15)),
    *(
        Design(f"{count} prompts of one picture", opinions((1,) * count), "fewer than 5 prompts" if count < 5 else "")
        for count in (4, 8, 15)
    ),
    Design("15 prompts of one picture, marks from 1 to 5", marks_of_five(15)),
    Design("12 raters of 30 votes", weights((30,) * 12)),
    Design("20 raters, one with half, weights of dimensions", weights((200, *[11] * 18, 2))),
    *(
        Design(
            f"{things} things, {100 * noise:.0f}% guessed",
            labels(things, noise),
            "fewer than 20 things" if things < 20 else "",
        )
        for things, noise in ((4, 0.5), (10, 0.5), (20, 0.5), (50, 0.3))
    ),
    *(Design(f"{trials} trials", shares(trials)) for trials in (5, 15, 30, 120)),
    *(Design(f"{trials} checks", checks(trials)) for trials in (15, 60)),
    *(Design(f"audit of {rated} kept and {rated} dropped pictures", audit(rated)) for rated in (15, 60)),
)


# --------------------------------------------------------------------------------------------------------------- the table


@dataclass(frozen=True)
class Row:
    """One row of the table; NaN where there is nothing to say."""

    function: str
    design: str
    coverage: float
    size: float
    null: float
    runs: int
    too_small: str = field(default="")

    @property
    def is_kept(self) -> bool:
        """Whether coverage and size are what is promised, but for two standard errors of so many runs."""
        error = 2 * math.sqrt(0.05 * 0.95 / self.runs)
        return not (self.coverage < LEAST_COVERAGE - error or self.size > MOST_SIZE + error)

    @property
    def is_given(self) -> bool:
        """Whether there are intervals at all."""
        return not self.null > 0.5


def rows_of(design: Design, share: float = 1.0, seed: int = 1) -> list[Row]:
    """Simulate a design."""
    tallies: Tallies = defaultdict(Tally)
    runs = max(int(RUNS * share), 1)
    for number in range(runs):
        design.study(np.random.default_rng([seed, number]), tallies)
    return [
        Row(function, design.name, one.coverage, one.size, one.missing, runs, design.too_small)
        for function, one in sorted(tallies.items())
    ]


_START, _END = "<!-- the table: written by the command -->", "<!-- end of the table -->"


def written(rows: list[Row], made: str) -> str:
    """Return the table as Markdown, below a line that says how it was made."""

    def share(value: float) -> str:
        return "–" if math.isnan(value) else f"{100 * value:.1f}%"

    lines = [
        _START,
        "",
        made,
        "",
        "| function | design | coverage | false | null | runs | too small |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in sorted(rows, key=lambda row: (row.function, row.design)):
        numbers = (share(row.coverage), share(row.size), share(row.null), f"{row.runs:,}")
        lines.append(f"| {' | '.join((row.function, row.design, *numbers, row.too_small))} |")
    return "\n".join([*lines, "", _END])


def stored() -> list[Row]:
    """Return the rows that the page holds."""
    text = PAGE.read_text(encoding="utf-8")
    table = text[text.index(_START) : text.index(_END)].splitlines()

    def cells(line: str) -> Iterator[str]:
        return (cell.strip() for cell in line.strip("|").split("|"))

    def number(cell: str) -> float:
        return math.nan if cell == "–" else float(cell.removesuffix("%")) / 100

    found = []
    for line in table:
        if line.startswith("| ") and not line.startswith(("| function", "| ---")):
            function, design, coverage, size, null, runs, too_small = cells(line)
            found.append(
                Row(function, design, number(coverage), number(size), number(null), int(runs.replace(",", "")), too_small)
            )
    return found


def main() -> None:
    """Simulate all designs and write, or print, the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="of the runs")
    parser.add_argument("--only", default="", help="designs whose name has this in it; the other rows stay")
    asked = parser.parse_args()
    begun, rows = time.monotonic(), []
    for design in DESIGNS:
        if asked.only in design.name:
            start = time.monotonic()
            rows += rows_of(design, asked.share)
            sys.stderr.write(f"{design.name}: {time.monotonic() - start:.0f} s\n")
    scale = "" if asked.share == 1.0 else f" --share {asked.share:g}"
    minutes = (time.monotonic() - begun) / 60
    made = f"`{COMMAND}{scale}`, {datetime.now(UTC):%d %B %Y}, {minutes:.0f} minutes on one core."
    if asked.only and asked.share < 1.0:
        sys.stdout.write(written(rows, made) + "\n")
        return
    text = PAGE.read_text(encoding="utf-8")
    if asked.only:  # the other rows stay
        again = {row.design for row in rows}
        names = {design.name for design in DESIGNS}
        rows += [row for row in stored() if row.design in names - again]
        made = next(line for line in text.splitlines() if line.startswith(f"`{COMMAND}"))
    table = written(rows, made)
    PAGE.write_text(text[: text.index(_START)] + table + text[text.index(_END) + len(_END) :], encoding="utf-8")


if __name__ == "__main__":
    main()
