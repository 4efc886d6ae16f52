"""Do 95% intervals of tie models and of coefficients hold the truth in 95% of simulated leagues?

The study (1,000 leagues per world) runs with ``-m study``; add ``-s`` to see its table. A short version always runs.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import polars as pl
import pytest
from ranked import contextual, tied

from salon_ranking import Battles
from salon_ranking.models.ties import outcome_chances

LEAGUES, MODELS, REPLICATES = 1000, 5, 400
TRUTH = np.linspace(0.6, -0.6, MODELS)
NAMES = np.array([f"m{number}" for number in range(MODELS)])
COVARIATES = ("detail_a,detail_b", "side_a_shown")
EFFECTS = np.array([0.5, 0.3])
KINDS = ("sandwich", "percentile", "bca")


@dataclass(frozen=True)
class World:
    """A model, and what battles hang together by: values of no, one or two columns, with tastes of their own."""

    model: str
    values: tuple[int, ...] = ()
    spread: float = 0.0
    kinds: tuple[str, ...] = KINDS

    @property
    def name(self) -> str:
        how = ("", ", clusters", ", two-way")[len(self.values)]
        return f"{self.model}{how}{'' if self.spread or not self.values else ', no effect'}"

    @property
    def columns(self) -> tuple[str, ...]:
        return ("prompt", "rater")[: len(self.values)]

    def league(self, rng: np.random.Generator, battles: int) -> Battles:
        codes = [rng.integers(0, count, battles) for count in self.values]
        tastes = [self.spread * rng.normal(size=(count, MODELS))[code] for count, code in zip(self.values, codes, strict=True)]
        local = np.broadcast_to(TRUTH + sum(tastes), (battles, MODELS))
        a = rng.integers(0, MODELS, battles)
        b = (a + rng.integers(1, MODELS, battles)) % MODELS
        gap = local[np.arange(battles), a] - local[np.arange(battles), b]
        columns: dict[str, np.ndarray] = {"model_a": NAMES[a], "model_b": NAMES[b]}
        if self.model == "contextual":
            detail = rng.normal(size=(2, battles))
            left = rng.random(battles) < 0.5
            gap = gap + EFFECTS[0] * (detail[0] - detail[1]) + EFFECTS[1] * np.where(left, 1, -1)
            won = rng.random(battles) < 1 / (1 + np.exp(-gap))
            winner = np.where(won, "model_a", "model_b")
            columns |= {"detail_a": detail[0], "detail_b": detail[1], "side_a_shown": np.where(left, "left", "right")}
        else:
            win, tie, _ = outcome_chances(self.model, gap, 0.8 if self.model == "davidson" else 1.6)
            draw = rng.random(battles)
            winner = np.where(draw < win, "model_a", np.where(draw < win + tie, "tie", "model_b"))
        frame = pl.DataFrame({**columns, "winner": winner, **dict(zip(self.columns, codes, strict=True))})
        return Battles.from_frame(frame, cluster_by=self.columns or None)

    def intervals(self, battles: Battles, kind: str, seed: int) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Estimates and ends of the ratings (without the baseline) and of the further parameters."""
        asked = {"interval": kind, "cluster": bool(self.values), "replicates": REPLICATES, "seed": seed, "baseline": NAMES[-1]}
        if self.model == "contextual":
            fitted = contextual(battles, COVARIATES, standardize=False, **asked)
            table = fitted.coefficients
            further = tuple(table[name].to_numpy() for name in ("estimate", "ci_low", "ci_high"))
        else:
            fitted = tied(battles, self.model, **asked)
            further = tuple(np.array([x]) for x in (fitted.tie["estimate"], fitted.tie["ci_low"], fitted.tie["ci_high"]))
        ratings = tuple(x[:-1] for x in (fitted.ratings, fitted.ci_low, fitted.ci_high))
        return {"ratings": ratings, "coefficients" if self.model == "contextual" else "tie parameter": further}


WORLDS = tuple(
    World(model, values, spread, kinds)
    for model in ("davidson", "rao-kupper", "contextual")
    for values, spread, kinds in [
        ((), 0.0, KINDS),
        ((100,), 0.5, KINDS),
        ((100, 40), 0.0, KINDS[:2]),
        ((100, 40), 0.5, KINDS[:2]),
    ]
)


@cache
def population(world: World) -> dict[str, np.ndarray]:
    """What endlessly many battles would give."""
    large = World(world.model, tuple(100_000 for _ in world.values), world.spread)
    battles = large.league(np.random.default_rng(1), 1_000_000)
    unclustered = Battles.from_frame(battles.frame)
    found = World(world.model).intervals(unclustered, "sandwich", 0)
    return {name: values[0] for name, values in found.items()}


def coverage(world: World, kind: str, leagues: int) -> dict[str, float]:
    """The share of leagues and parameters whose interval holds the truth."""
    rng, truth = np.random.default_rng(0), population(world)
    held: dict[str, list[np.ndarray]] = {name: [] for name in truth}
    battles = 1_200 if world.values else 500
    for number in range(leagues):
        for name, (_, low, high) in world.intervals(world.league(rng, battles), kind, number).items():
            held[name].append((low <= truth[name]) & (truth[name] <= high))
    return {name: float(np.mean(found)) for name, found in held.items()}


@pytest.fixture(scope="module")
def printed() -> Iterator[Callable[[str, float], None]]:
    """Collects lines of the table, and prints it at the end."""
    lines: list[str] = []
    yield lambda name, share: lines.append(f"{name:60} {100 * share:5.1f}%")
    if lines:
        sys.stdout.write("\n".join(["", *lines, ""]))


@pytest.mark.study
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_95_percent_intervals_cover_the_truth_in_93_to_97_percent_of_leagues(
    world: World, printed: Callable[[str, float], None]
):
    for kind in world.kinds:
        for name, share in coverage(world, kind, LEAGUES).items():
            printed(f"{kind}: {world.name}: {name}", share)
            assert 0.93 <= share <= 0.97, (kind, name, share)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", ["davidson", "contextual"])
def test_intervals_of_a_few_leagues_hold_the_truth_about_as_often_as_they_say(kind: str, model: str):
    for name, share in coverage(World(model), kind, 40).items():
        assert share >= 0.86, name
