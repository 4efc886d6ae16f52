"""Leagues: the models that can be compared with each other, and their battles."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from salon_ranking import _core
from salon_ranking.battles import Battles
from salon_ranking.battles.battles import ALIKE
from salon_ranking.errors import BattleError, UnknownModelError, UnratableError
from salon_ranking.models.options import Components, Estimator

_MOST_NAMED = 5


@dataclass(frozen=True, eq=False)
class League:
    """Models that can be compared with each other: indices into all models, and their battles."""

    members: NDArray[np.int64]
    cells: _core.Cells


def check_battles(battles: Battles, baseline: str | None = None) -> None:
    """Check that there are battles, also of the named baseline.

    Raises:
        BattleError: there are no battles.
        UnknownModelError: the baseline has no battle.
    """
    if battles.count == 0:
        hint = f"{'; '.join(battles.remarks)}." if battles.remarks else None
        raise BattleError("there are no battles", source=battles.source, hint=hint)
    if baseline is not None and baseline not in battles.models:
        raise UnknownModelError("unknown baseline", source=battles.source, value=baseline, allowed=battles.models)


def leagues_of(
    battles: Battles, prior_ties: float, components: Components, estimator: Estimator = "maximum-likelihood"
) -> tuple[NDArray[np.int64], list[League]]:
    """Return the component of every model, and each component of at least two models as a league.

    Raises:
        BattleError: there are no battles.
        UnratableError: the models cannot all be compared, and ``components`` is ``"refuse"``.
    """
    check_battles(battles)
    component = components_of(battles.cells, estimator)
    if prior_ties > 0.0 or not component.any():
        whole = League(np.arange(len(battles.models)), battles.cells)
        return np.zeros_like(component), [whole]
    if components == "refuse":
        raise _unratable(battles, component, estimator)
    sizes = np.bincount(component)
    members = [np.flatnonzero(component == number) for number in range(np.count_nonzero(sizes > 1))]
    return component, [League(indices, battles.cells.among(indices.tolist())) for indices in members]


def components_of(cells: _core.Cells, estimator: Estimator) -> NDArray[np.int64]:
    """Return the number of each model's component, the largest first: models whose differences have finite estimates."""
    if estimator != "firth":
        return cells.components()
    joined = cells.joined()
    order = np.argsort(-np.bincount(joined), kind="stable")
    return np.argsort(order)[joined]


def default_baseline(cells: _core.Cells, log_strengths: NDArray[np.float64]) -> int:
    """Return the lowest rated of the models that have at least the median number of matches."""
    matches = cells.records()[0]
    settled = np.flatnonzero(matches >= np.median(matches))
    # Rounded, so that among equals it is the first by name, whatever the last digits are.
    return int(settled[np.argmin(log_strengths[settled].round(9))])


def _unratable(battles: Battles, component: NDArray[np.int64], estimator: Estimator) -> UnratableError:
    """Name the models that keep the ratings from being finite."""
    _, wins, ties, losses = battles.cells.records()
    reduced = estimator == "firth"
    winners = np.flatnonzero((losses == 0) & (ties == 0) & (not reduced))
    losers = np.flatnonzero((wins == 0) & (ties == 0) & (not reduced))
    problems = []
    if len(winners):
        problems.append(f"won all of their battles: {_listed(battles, winners)}")
    if len(losers):
        problems.append(f"lost all of their battles: {_listed(battles, losers)}")
    order = np.argsort(component, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(component[order])) + 1)
    if len(groups) > 1 + len(winners) + len(losers) or not problems:
        listed = "; ".join(f"{{{_listed(battles, group)}}}" for group in groups[:_MOST_NAMED])
        more = f"; and {len(groups) - _MOST_NAMED} more" if len(groups) > _MOST_NAMED else ""
        apart = "never met" if reduced else "do not both win and lose against each other"
        problems.append(f"groups that {apart}: {listed}{more}")
    fewest = len(groups) - 1 if reduced else _fewest_votes(battles, component)
    votes = "1 more vote" if fewest == 1 else f"{fewest:,} more votes"
    hint = (
        f"{votes} between these groups can be enough (`salon votes next` plans them). Until then, rate each connected group by "
        f"itself (--components separate){'' if reduced else ', or give every model a few drawn battles (--prior-ties 1)'}."
    )
    hint = "\n".join([hint, *(remark for remark in battles.remarks if remark.startswith(ALIKE))])
    error = UnratableError(f"too few votes yet; {'; '.join(problems)}", source=battles.source, hint=hint)
    error.groups = tuple(tuple(battles.models[number] for number in group) for group in groups)
    return error


def _fewest_votes(battles: Battles, component: NDArray[np.int64]) -> int:
    """Return how few decided votes can join all components, so that each both wins and loses against the rest.

    Eswaran and Tarjan (1976, doi:10.1137/0205044): the larger of the numbers of components without a win over another and
    without a loss to another.
    """
    first, second, outcome, _, _, weight = battles.cells.columns()
    one, other = component[first], component[second]
    apart = (one != other) & (weight > 0)  # between components every battle is won by the same one
    winner, loser = np.where(outcome == 0, one, other)[apart], np.where(outcome == 0, other, one)[apart]
    count = int(component.max()) + 1
    return count - min(len(np.unique(winner)), len(np.unique(loser)))


def _listed(battles: Battles, numbers: NDArray[np.int64]) -> str:
    names = [repr(battles.models[number]) for number in numbers[:_MOST_NAMED]]
    more = f" and {len(numbers) - _MOST_NAMED} more" if len(numbers) > _MOST_NAMED else ""
    return ", ".join(names) + more
