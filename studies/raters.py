"""A simulated arena with planted careless raters: what do the checks find, and what does leaving them out change?

Attentive raters vote by Bradley-Terry with ties; each leans a little towards models of their own (taste), and now and then
slips. Careless ones come in three kinds: ``random`` picks any of the four options, ``left`` always the left picture, and
``fast`` votes at random within a second. Every rater answers the same number of battles; sides are random; every rater's
times are log-normal around a speed of their own.
"""

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from salon_ranking import Leaderboard, rank
from salon_ranking.battles import Battles
from salon_ranking.errors import OptionError
from salon_ranking.raters.exclusion import exclude_flagged
from salon_ranking.raters.policy import RaterPolicy
from salon_ranking.raters.rater_report import check_raters

CARELESS = ("random", "left", "fast")
"""The planted kinds."""
_OPTIONS = np.array(["model_a", "model_b", "both_good", "both_bad"])


@dataclass(frozen=True, slots=True)
class SimulatedRaters:
    """What is simulated.

    Attributes:
        models: equally spaced over ``spread`` Elo points.
        attentive, careless: raters of the first kind, and of each of the three others.
        votes: battles per rater.
        ties: share of ties between equal models.
        taste: standard deviation of a rater's own liking of a model, in Elo points.
        slips: share of an attentive rater's answers that are random.
        anchors: share of battles that are anchors.
        prompts: prompts; how often raters see the same thing depends on them.
        seconds: an attentive rater's typical answering time.
    """

    models: int = 12
    spread: float = 400.0
    attentive: int = 70
    careless: int = 10
    votes: int = 200
    ties: float = 0.25
    taste: float = 30.0
    slips: float = 0.03
    anchors: float = 0.05
    prompts: int = 20
    seconds: float = 9.0
    seed: int = 0

    def battles(self) -> pl.DataFrame:
        """Draw all votes, with the columns of ``Battle`` that the checks read; raters are called by their kind.

        Raises:
            OptionError: fewer than two models or one rater, or a share outside 0 to 1.
        """
        if self.models < 2 or self.attentive < 1 or self.careless < 0 or self.votes < 1 or self.prompts < 1:
            raise OptionError("an arena needs two models, one attentive rater, one vote and one prompt at least")
        if not all(0.0 <= share <= 1.0 for share in (self.ties, self.slips, self.anchors)):
            raise OptionError("ties, slips and anchors are shares from 0 to 1")
        random = np.random.default_rng(self.seed)
        kinds = ["attentive"] * self.attentive + [kind for kind in CARELESS for _ in range(self.careless)]
        strength = np.linspace(0.0, self.spread, self.models)
        return pl.concat([self._rater(f"{kind}-{number:03}", kind, strength, random) for number, kind in enumerate(kinds)])

    def _rater(self, name: str, kind: str, strength: NDArray[np.float64], random: np.random.Generator) -> pl.DataFrame:
        count = self.votes
        a = random.integers(0, self.models, count)
        b = (a + random.integers(1, self.models, count)) % self.models
        anchor = random.random(count) < self.anchors
        a_left = random.random(count) < 0.5
        liking = strength + random.normal(0.0, self.taste, self.models)
        a_better = random.random(count) < 0.5
        lead = np.where(anchor, np.where(a_better, 1000.0, -1000.0), liking[a] - liking[b])
        winner = _attentive(lead, self.ties, random)
        careless = np.full(count, kind in ("random", "fast")) | (random.random(count) < self.slips)
        winner = np.where(careless, random.choice(_OPTIONS, count), winner)
        if kind == "left":
            winner = np.where(a_left, "model_a", "model_b")
        typical = np.log(0.8 if kind == "fast" else self.seconds) + random.normal(0.0, 0.3)
        durations = np.exp(typical + random.normal(0.0, 0.5, count))
        started = np.cumsum(durations + 2.0) - durations
        names = np.array([f"model-{number:02}" for number in range(self.models)])
        expected = np.where(a_better, "model_a", "model_b")
        began, ended = ((seconds * 1e6).astype(np.int64) for seconds in (started, started + durations))
        return pl.DataFrame(
            {
                "battle_id": [f"{name}/{number}" for number in range(count)],
                "rater_id": [name] * count,
                "mode": ["public"] * count,
                "prompt_id": [f"prompt-{number}" for number in random.integers(0, self.prompts, count)],
                "model_a": names[a],
                "model_b": names[b],
                "winner": winner,
                "side_a_shown": np.where(a_left, "left", "right"),
                "is_anchor": anchor,
                "expected_winner": pl.Series(expected).zip_with(pl.Series(anchor), pl.Series([None], dtype=pl.String)),
                "started_at": pl.Series(began).cast(pl.Datetime("us", "UTC")),
                "answered_at": pl.Series(ended).cast(pl.Datetime("us", "UTC")),
            }
        )


@dataclass(frozen=True, slots=True)
class Effect:
    """What leaving out flagged raters changed.

    Attributes:
        found: careless raters that were flagged, as a share of all careless ones.
        wrongly_flagged: attentive raters that were flagged, as a share.
        width_before, width_after: mean width of the intervals in Elo points, the baseline's left out.
        separation_before, separation_after: the spread of all ratings in interval widths: (best - worst) / mean width.
        error_before, error_after: root mean square distance of the ratings, taken from their mean, to those of the attentive
            raters alone.
    """

    found: float
    wrongly_flagged: float
    width_before: float
    width_after: float
    separation_before: float
    separation_after: float
    error_before: float
    error_after: float

    @property
    def width_change(self) -> float:
        """Change of the mean width: -0.3 is 30% narrower."""
        return self.width_after / self.width_before - 1.0

    @property
    def relative_change(self) -> float:
        """Change of the mean width relative to the spread of the ratings; what matters for telling models apart."""
        return self.separation_before / self.separation_after - 1.0


def effect_of_filtering(
    arena: SimulatedRaters, policy: RaterPolicy | None = None, *, cluster: str | None = None, replicates: int = 300
) -> Effect:
    """Simulate an arena, rank it, leave out flagged raters, rank again.

    Anchors only serve to know the raters: both leaderboards are made of the other battles.

    Args:
        cluster: resample battles (None) or whole raters (``"rater_id"``).

    Raises:
        OptionError: no interval is known, as the replicates or the raters are too few.

    Example:
        >>> effect = effect_of_filtering(SimulatedRaters(models=3, attentive=8, careless=1, votes=120), replicates=40)
        >>> effect.wrongly_flagged, effect.separation_after > effect.separation_before
        (0.0, True)
    """
    battles = arena.battles()
    report = check_raters(battles, policy)
    kept = exclude_flagged(battles, report).kept.collect()
    before, after = (_board(frame, cluster, replicates, arena.seed) for frame in (battles, kept))
    attentive = _board(battles.filter(pl.col("rater_id").str.starts_with("attentive")), None, 0, arena.seed)
    careless = [name for name in battles["rater_id"].unique() if not name.startswith("attentive")]
    caught = sum(name in report.flagged for name in careless)
    return Effect(
        found=caught / len(careless) if careless else 1.0,
        wrongly_flagged=(len(report.flagged) - caught) / arena.attentive,
        width_before=_width(before),
        width_after=_width(after),
        separation_before=_spread(before) / _width(before),
        separation_after=_spread(after) / _width(after),
        error_before=_distance(before, attentive),
        error_after=_distance(after, attentive),
    )


def mean_effect(arena: SimulatedRaters, seeds: range, *, cluster: str | None = None, replicates: int = 300) -> Effect:
    """Return the mean of :func:`effect_of_filtering` over several seeds, field by field."""
    effects = [effect_of_filtering(replace(arena, seed=seed), cluster=cluster, replicates=replicates) for seed in seeds]
    names = Effect.__dataclass_fields__
    return Effect(**{name: float(np.mean([getattr(effect, name) for effect in effects])) for name in names})


def _attentive(lead: NDArray[np.float64], ties: float, random: np.random.Generator) -> NDArray[np.str_]:
    """Draw answers by Davidson's model: a tie weighs ν·√(strength of a · strength of b), with ``ties`` between equals."""
    nu = 2.0 * ties / (1.0 - ties) if ties < 1.0 else np.inf
    half = lead * np.log(10.0) / 800.0
    wins, losses = np.exp(half), np.exp(-half)
    total = wins + losses + nu
    draw = random.random(len(lead))
    tie = np.where(random.random(len(lead)) < 0.5, "both_good", "both_bad")
    return np.where(draw < wins / total, "model_a", np.where(draw < (wins + losses) / total, "model_b", tie))


def _board(battles: pl.DataFrame, cluster: str | None, replicates: int, seed: int) -> Leaderboard:
    kept = Battles.from_frame(battles.filter(~pl.col("is_anchor")), cluster_by=cluster)
    return rank(kept, baseline="model-00", replicates=replicates, seed=seed, cluster=cluster is not None)


def _width(board: Leaderboard) -> float:
    others = board.table.filter(pl.col("model") != "model-00")
    width = (others["ci_high"] - others["ci_low"]).mean()
    if not isinstance(width, float):
        raise OptionError("; ".join(board.warnings), source=board.source)
    return width


def _spread(board: Leaderboard) -> float:
    return float(np.ptp(board.table["rating"].drop_nulls().to_numpy()))


def _ratings(board: Leaderboard) -> NDArray[np.float64]:
    """Return ratings by model, taken from their mean."""
    ratings = board.table.sort("model")["rating"].to_numpy()
    return np.asarray(ratings - ratings.mean())


def _distance(board: Leaderboard, other: Leaderboard) -> float:
    return float(np.sqrt(((_ratings(board) - _ratings(other)) ** 2).mean()))
