"""Which models should meet next, and how many matches a leaderboard will need.

    state = ScheduleState.of(battles, generations=generations)   # who met whom, how strong they seem, what they made
    next_pairs(state, 100, rule="mef", seed=7)                    # 100 battles to show to raters

``simulate`` plays whole schedules among models of assumed strength and reports the matches until intervals are narrow and
neighbours are separated (``salon plan``). Rules, formulas and sources: ``docs/scheduling.md``.
"""

from salon_ranking.scheduling.pairs import RULES, Rule, next_pairs
from salon_ranking.scheduling.shelf import Shelf
from salon_ranking.scheduling.state import ScheduleState

__all__ = ["RULES", "Rule", "ScheduleState", "Shelf", "next_pairs"]
