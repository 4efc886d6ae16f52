"""``plan``: how many matches a leaderboard needs, by rule of scheduling."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Annotated

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_console import numbers
from salon_ranking.errors import OptionError
from salon_ranking.models.ratings import POINTS_PER_UNIT
from salon_ranking.options import Range, Seed, checked, shaped
from salon_ranking.scheduling.pairs import RULES, Rule
from salon_ranking.scheduling.simulation import Goals, SimulatedLeague, SimulatedState, Voting

__all__ = ["BattlePlan", "assumed_ratings", "check_models", "plan"]

Floats = NDArray[np.float64]
Progress = Callable[[int, int], object]
"""Called now and then with the thousandths of simulated leagues that are done, and of how many."""

MOST_MODELS = 300
_GROWTH = 1.12
_FIRST_PER_MODEL = 20
_PRIOR_TIES = 1.0
_MOST_LEAGUES = 1000


@dataclass(frozen=True, eq=False)
class BattlePlan:
    """What the simulation found.

    Attributes:
        table: one row per rule and goal: ``rule``, ``goal``, ``battles`` (median over the leagues; null: not reached by half
            of them within ``most_per_model``), ``fewest``, ``most`` (null: some league did not reach it), ``matches_per_model``
            (2 · battles / models), ``saved`` (share of the battles of ``uniform`` that the rule spares; null without it) and
            ``reached`` (share of the leagues).
        curve: per rule and number of battles, means over the leagues: ``rule``, ``battles``, ``matches_per_model``,
            ``leagues``, ``mean_width``, ``median_width``, ``widest`` (Elo points) and ``separated`` (share of neighbours).
        ratings: the assumed ratings in Elo points, ascending; the first is the baseline's.
    """

    table: pl.DataFrame
    curve: pl.DataFrame
    ratings: tuple[float, ...]
    voting: Voting
    goals: Goals
    leagues: int
    seed: int
    most_per_model: int

    @property
    def header(self) -> str:
        """One sentence on what was assumed."""
        spread = self.ratings[-1] - self.ratings[0]
        return (
            f"{len(self.ratings):,} models over {spread:,.0f} Elo points, {100 * self.voting.ties:.3g}% ties between equals, "
            f"{100 * self.voting.noise:.3g}% of the votes at random; {100 * self.goals.confidence:.4g}% sandwich intervals"
            f"{' for every look' if self.goals.anytime else ''} against the lowest model; medians of {self.leagues:,} "
            f"simulated leagues, seed {self.seed}."
        )


@checked
def assumed_ratings(models: int, spread: Annotated[float, Range(0, 1e6)]) -> Floats:
    """Return ratings of a league as even as normal: the middles of equal shares of a normal distribution.

    Args:
        spread: standard deviation in Elo points.

    Example:
        >>> assumed_ratings(3, 100.0).round(1).tolist()
        [-96.7, 0.0, 96.7]
    """
    if not 1 <= models <= MOST_MODELS:
        raise OptionError(f"an assumed league has 1 to {MOST_MODELS} models, not", value=models)
    normal = NormalDist()
    return spread * np.array([normal.inv_cdf((place + 0.5) / models) for place in range(models)])


@checked
@shaped(ratings="m")
def plan(
    ratings: Sequence[float] | Floats,
    *,
    rules: Sequence[Rule] = RULES,
    voting: Voting = Voting(),  # noqa: B008 - frozen
    goals: Goals = Goals(),  # noqa: B008 - frozen
    leagues: int = 5,
    seed: Seed = 0,
    most_per_model: Annotated[int, Range(1)] = 50_000,
    progress: Progress | None = None,
) -> BattlePlan:
    """Simulate schedules until the goals are met.

    Goals of a new arena: the median model's interval, and every model's, is at most ``goals.width``; and all neighbours that
    are at least ``goals.least_gap`` apart are separated with ``goals.power``. Goal of a newcomer: the middle model arrives when
    all others have intervals of ``goals.width`` by uniform matches, and its interval becomes as narrow; the battles
    are those of the whole arena since. Ratings count against the lowest model, fixed as on a
    leaderboard; its uncertainty is in every interval. Battles between checkpoints grow by 12%; where a goal is met is
    interpolated on the logarithm.

    Args:
        ratings: assumed true ratings in Elo points; 3 to 300.
        rules: what to compare.
        leagues: simulated leagues per rule.
        most_per_model: give up after so many matches per model.

    Raises:
        OptionError: an argument is outside its range.

    Example:
        >>> found = plan(assumed_ratings(4, 80), rules=["uniform"], leagues=1, goals=Goals(width=60.0))
        >>> found.table["goal"].to_list()
        ['median interval ≤ 60', 'every interval ≤ 60', 'neighbours separated (power 0.8)', "newcomer's interval ≤ 60"]
    """
    truth = np.sort(np.asarray(ratings, dtype=np.float64))
    _check(truth, rules, voting, goals, leagues, seed, most_per_model)
    runs: dict[Rule, _Runs] = {}
    done = 0
    for rule in rules:
        runs[rule] = _Runs([], [])
        for league in range(leagues):

            def tell(share: float, before: int = done) -> None:
                if progress is not None:
                    progress(1000 * before + int(1000 * share), 1000 * len(rules) * leagues)

            for newcomer, states in ((None, runs[rule].together), (len(truth) // 2, runs[rule].newcomer)):
                arena = SimulatedLeague(truth / POINTS_PER_UNIT, voting, _PRIOR_TIES, seed + league)
                states.append(_run(arena, rule, goals, len(truth), most_per_model, newcomer, tell))
            done += 1
    curve = pl.concat(_curve(rule, found.together, len(truth)) for rule, found in runs.items())
    return BattlePlan(
        _table(runs, goals, len(truth)), curve, tuple(truth.tolist()), voting, goals, leagues, seed, most_per_model
    )


@dataclass(frozen=True)
class _Runs:
    """The leagues of one rule: those in which all models began together, and those in which one came later."""

    together: list[list[SimulatedState]]
    newcomer: list[list[SimulatedState]]


def _run(
    arena: SimulatedLeague,
    rule: Rule,
    goals: Goals,
    models: int,
    most_per_model: int,
    newcomer: int | None,
    tell: Callable[[float], None],
) -> list[SimulatedState]:
    """Simulate one league until every goal is met; battles count from the newcomer's arrival."""
    most = most_per_model * models // 2
    before = 0 if newcomer is None else _settle(arena, newcomer, goals, most_per_model)
    target = max(_FIRST_PER_MODEL * models // 2, 1) if newcomer is None else _FIRST_PER_MODEL
    states: list[SimulatedState] = []
    while True:
        arena.play(rule, before + target - arena.battles)
        here = arena.checkpoint(goals, 0, newcomer)
        states.append(replace(here, battles=here.battles - before))
        tell((0.0 if newcomer is None else 0.5) + 0.5 * math.log(target) / math.log(most))
        met = here.widest <= goals.width and here.hardest <= 1.0 if newcomer is None else here.newcomer <= goals.width
        if met or target >= most:
            return states
        target = min(most, math.ceil(target * _GROWTH))


def _settle(arena: SimulatedLeague, newcomer: int, goals: Goals, most_per_model: int) -> int:
    """Give all but the newcomer intervals of the wanted width; the battles that it took."""
    step = played = 1
    arena.settle(newcomer, step)
    while arena.checkpoint(goals, 0, newcomer).widest > goals.width and played < most_per_model:
        step = math.ceil(played * (_GROWTH - 1.0))
        arena.settle(newcomer, step)
        played += step
    return arena.battles


_Measure = Callable[[SimulatedState], float]


def _measures(goals: Goals) -> list[tuple[str, _Measure]]:
    """Return each goal with a number that is at most 1 where it is met."""
    return [
        (f"median interval ≤ {goals.width:g}", lambda at: at.median_width / goals.width),
        (f"every interval ≤ {goals.width:g}", lambda at: at.widest / goals.width),
        (f"neighbours separated (power {goals.power:g})", lambda at: at.hardest),
        (f"newcomer's interval ≤ {goals.width:g}", lambda at: at.newcomer / goals.width),
    ]


def _table(runs: dict[Rule, _Runs], goals: Goals, models: int) -> pl.DataFrame:
    rows = []
    for goal, measure in _measures(goals):
        late = goal.startswith("newcomer")
        counts = {
            rule: [_crossing(run, measure) for run in (found.newcomer if late else found.together)]
            for rule, found in runs.items()
        }
        medians = {rule: _median(found) for rule, found in counts.items()}
        control = medians.get("uniform")
        for rule, reached in counts.items():
            median = medians[rule]
            met = [count for count in reached if count is not None]
            rows.append(
                {
                    "rule": rule,
                    "goal": goal,
                    "battles": median,
                    "fewest": min(met, default=None),
                    "most": max(met) if len(met) == len(reached) else None,
                    "matches_per_model": None if median is None else 2.0 * median / models,
                    "saved": None if median is None or not control else 1.0 - median / control,
                    "reached": len(met) / len(reached),
                }
            )
    whole, part = pl.Int64(), pl.Float64()
    schema = {"rule": pl.String(), "goal": pl.String(), "battles": whole, "fewest": whole, "most": whole}
    return pl.DataFrame(rows, schema={**schema, "matches_per_model": part, "saved": part, "reached": part})


def _crossing(run: list[SimulatedState], measure: _Measure) -> int | None:
    """Return battles after which the measure is at most 1, from there on; None when it never is."""
    if measure(run[-1]) > 1.0:
        return None
    last = max((at for at, checkpoint in enumerate(run) if measure(checkpoint) > 1.0), default=-1)
    here = run[last + 1]
    if last < 0:
        return here.battles
    before = run[last]
    above, below = math.log(measure(before)), math.log(measure(here))
    share = above / (above - below)
    return round(math.exp((1.0 - share) * math.log(before.battles) + share * math.log(here.battles)))


def _median(counts: list[int | None]) -> int | None:
    """Return the median, where a league that did not get there counts as later than all others."""
    ordered = sorted(counts, key=lambda count: math.inf if count is None else count)
    middle = [ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]]
    known = [count for count in middle if count is not None]
    return None if len(known) < 2 else round(sum(known) / 2)


def _curve(rule: Rule, runs: list[list[SimulatedState]], models: int) -> pl.DataFrame:
    rows = [
        (rule, at.battles, 2.0 * at.battles / models, at.mean_width, at.median_width, at.widest, at.separated)
        for run in runs
        for at in run
    ]
    measures = ["mean_width", "median_width", "widest", "separated"]
    frame = pl.DataFrame(rows, schema=["rule", "battles", "matches_per_model", *measures], orient="row")
    grouped = frame.group_by("rule", "battles", "matches_per_model").agg(
        pl.len().cast(pl.Int64).alias("leagues"), *(pl.col(name).mean() for name in measures)
    )
    return grouped.sort("battles")


def _check(
    truth: Floats, rules: Sequence[str], voting: Voting, goals: Goals, leagues: int, seed: int, most_per_model: int
) -> None:
    check_models(len(truth))
    if not np.isfinite(truth).all() or np.ptp(truth) > 4000.0:
        raise OptionError("ratings must be finite and within 4,000 points of each other")
    for rule in rules:
        if rule not in RULES:
            raise OptionError("unknown rule", value=rule, allowed=RULES)
    if not len(rules) or len(set(rules)) < len(rules):
        raise OptionError("rules must be named, each once, not", value=list(rules), allowed=RULES)
    for name, value, high in (("ties", voting.ties, 0.99), ("noise", voting.noise, 0.99)):
        if not 0.0 <= value <= high:
            raise OptionError(f"{name} must lie between 0 and {high}, not", value=value)
    for name, value in (("power", goals.power), ("confidence", goals.confidence)):
        if not 0.0 < value < 1.0:
            raise OptionError(f"{name} must lie between 0 and 1, not", value=value)
    if not (goals.width > 0.0 and math.isfinite(goals.width) and goals.least_gap >= 0.0):
        raise OptionError("width must be positive and the least gap 0 or more, not", value=(goals.width, goals.least_gap))
    if not 1 <= leagues <= _MOST_LEAGUES:
        raise OptionError(f"leagues must lie between 1 and {_MOST_LEAGUES:,}, not", value=leagues)
    if not 0 <= seed < 1 << 62:
        raise OptionError("seed must lie between 0 and 2**62 - 1, not", value=seed)
    if not _FIRST_PER_MODEL <= most_per_model <= 1_000_000:
        raise OptionError(
            f"the most matches per model must lie between {_FIRST_PER_MODEL} and 1,000,000, not", value=most_per_model
        )


@checked
def check_models(models: int) -> None:
    """Refuse a number of models that cannot be simulated.

    Raises:
        OptionError: fewer than 3 or more than ``MOST_MODELS``.
    """
    if not 3 <= models <= MOST_MODELS:
        raise OptionError(f"a simulated plan needs 3 to {MOST_MODELS} models, not", value=models)


GOAL_HEADS = ("Goal", "Rule", "Battles", "From", "To", "Matches per model", "Saved", "Reached")
"""What people call the columns of :func:`goal_rows`."""


def goal_rows(table: pl.DataFrame) -> list[tuple[str, ...]]:
    """Return the table of a plan for people, one row per goal and rule."""
    return [
        (
            row["goal"],
            row["rule"],
            *(numbers.count(row[name]) for name in ("battles", "fewest", "most")),
            numbers.rating(row["matches_per_model"]),
            numbers.share(row["saved"]),
            numbers.share(row["reached"]),
        )
        for row in table.iter_rows(named=True)
    ]
