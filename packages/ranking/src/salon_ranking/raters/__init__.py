"""Find raters who answer without looking, with the reason, and rank models without their battles.

    report = check_raters(battles)             # one row per rater: anchors, speed, repetition, side, consensus
    report.flagged, report.findings            # ids, and one row per reason with value and threshold
    exclude_flagged(battles, report).kept      # the battles of all others; what was left out is counted
    read_flags(Path("raters.csv"))             # the flags of a report that a person has checked
    qualify(votes, reference)                  # do experts know the agreed answers?
    audit_sample(battles, share=0.25)          # what to judge again

Every threshold is in :class:`RaterPolicy`. Nothing is deleted. ``docs/raters.md``.
"""

from salon_ranking.raters.audit import audit_sample
from salon_ranking.raters.exclusion import Exclusion, exclude_flagged
from salon_ranking.raters.flags import Flags, read_flags
from salon_ranking.raters.policy import RaterPolicy, RaterReason
from salon_ranking.raters.qualification import qualify
from salon_ranking.raters.rater_report import RaterReport, check_raters
from salon_ranking.raters.votes import Votes

__all__ = [
    "Exclusion",
    "Flags",
    "RaterPolicy",
    "RaterReason",
    "RaterReport",
    "Votes",
    "audit_sample",
    "check_raters",
    "exclude_flagged",
    "qualify",
    "read_flags",
]
