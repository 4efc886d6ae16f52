"""Which models should meet next, and how many matches a leaderboard will need.

    >>> inventory = Inventory.full(["x", "y", "z"], ["a cat", "a dog"], samples=4)  # what each model made for which prompt
    >>> state = ScheduleState.of(None, inventory=inventory)                         # None: no battle yet
    >>> next_pairs(state, 100, seed=7).height                               # 100 battles to show to raters
    100

``salon_ranking.scheduling.planning.plan`` plays whole schedules among models of assumed strength and reports the matches until
intervals are narrow and neighbours are separated (``salon votes simulate``). Formulas and sources: ``docs/scheduling.md``.
"""

from salon_ranking.scheduling.inventory import Inventory
from salon_ranking.scheduling.pairs import RULES, Rule, next_pairs
from salon_ranking.scheduling.state import ScheduleState

__all__ = ["RULES", "Inventory", "Rule", "ScheduleState", "next_pairs"]
