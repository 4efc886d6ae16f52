"""Battles, the pairwise comparisons with their winners: read, checked, encoded and counted."""

from salon_ranking.battles.battles import ALIKE, ANCHOR, PAIR_WEIGHT, Anchors, Battles, cluster_columns, planned_by

__all__ = ["ALIKE", "ANCHOR", "PAIR_WEIGHT", "Anchors", "Battles", "cluster_columns", "planned_by"]
