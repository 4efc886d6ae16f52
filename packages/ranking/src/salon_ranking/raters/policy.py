"""Thresholds by which raters are flagged.

The kinds of check are MEF's (section 5.1.2: anchors, speed, repeated options, expert qualification), with two of our own
(side, consensus). The paper gives numbers for speed (three standard deviations), repetition ("dozens") and qualification
(85%, κ 0.8); the others are declared here.
"""

from dataclasses import dataclass, fields
from enum import StrEnum
from numbers import Real
from typing import Literal, TypeAlias

from salon_ranking.errors import OptionError

SpeedScale: TypeAlias = Literal["robust", "classic"]
Consensus: TypeAlias = Literal["majority", "model"]


class RaterReason(StrEnum):
    """Why a rater is flagged. The value names the check, its columns and its findings."""

    MISSED_ANCHORS = "missed_anchors"
    """Anchors, pairs with a known answer, were answered otherwise."""
    TOO_FAST = "too_fast"
    """Answers came much faster than those of the cohort."""
    REPEATED_OPTION = "repeated_option"
    """The same option on the screen was chosen many times in a row."""
    ONE_SIDED = "one_sided"
    """One side of the screen won far more often than the other."""
    AGAINST_CONSENSUS = "against_consensus"
    """Others who saw the same things answered otherwise."""
    UNQUALIFIED = "unqualified"
    """An expert did not pass the qualification test."""


@dataclass(frozen=True, slots=True)
class RaterPolicy:
    """Thresholds by which a rater is flagged.

    Attributes:
        checks: the checks to make.
        confidence: of the Wilson intervals of shares. A share below its threshold flags only when the whole interval is.
        anchor_share: share of anchors that must be answered as expected.
        anchor_minimum: fewer anchors than this decide nothing.
        anchor_wanted: share of battles that should be anchors; a report says when they are fewer than half of that.
        speed_sigmas: how many standard deviations below the cohort's mean log time is too fast.
        speed_ratio: and the typical time must be at most this share of the cohort's, so that a cohort that answers like
            clockwork flags no rater over a second.
        speed_minimum: fewer timed answers than this decide nothing.
        speed_cohort: a cohort (all raters of one mode) of fewer raters decides nothing.
        speed_scale: ``robust``: median and 1.4826 · median absolute deviation of the raters' mean log times, which careless
            raters cannot shift; ``classic``: mean and standard deviation, which can flag none of ten raters or fewer.
        run_length: how many times in a row the same option is too often; None: so often that the share of that option
            among other raters makes it less probable than ``run_probability``.
        side_alpha: level of the two-sided binomial test of left against right, Holm-corrected over raters.
        side_excess: and the share of left must be at least this far from one half.
        consensus: ``majority``: of the other raters of the same pair of pictures; ``model``: the favourite by Bradley-Terry
            ratings of all battles (the rater's own among them).
        consensus_skill: how far from chance (0) to what is usual (1) the agreement must reach. Chance is what the rater's own
            shares of answers would meet, with ``model`` one half; usual is the median of the raters' kappas, with
            ``model`` what the fitted probabilities promise.
        consensus_minimum: fewer shared things than this decide nothing.
        consensus_others: answers of others that make a majority.
        qualification_share: share of reference answers that an expert must match.
        qualification_kappa: Cohen's κ that an expert must exceed.
    """

    checks: tuple[RaterReason, ...] = tuple(RaterReason)
    confidence: float = 0.95
    anchor_share: float = 0.75
    anchor_minimum: int = 3
    anchor_wanted: float = 0.05
    speed_sigmas: float = 3.0
    speed_ratio: float = 0.5
    speed_minimum: int = 5
    speed_cohort: int = 8
    speed_scale: SpeedScale = "robust"
    run_length: int | None = 24
    run_probability: float = 1e-6
    side_alpha: float = 0.01
    side_excess: float = 0.15
    consensus: Consensus = "majority"
    consensus_skill: float = 0.5
    consensus_minimum: int = 20
    consensus_others: int = 2
    qualification_share: float = 0.85
    qualification_kappa: float = 0.8

    def __post_init__(self) -> None:
        """Refuse values outside their range.

        Raises:
            OptionError: names the field.
        """
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(field.default, float | int) and (isinstance(value, bool) or not isinstance(value, Real | None)):
                raise OptionError(f"{field.name} must be a number, not", value=value)
            if field.name in _OPEN_SHARES and not 0.0 < value < 1.0:
                raise OptionError(f"{field.name} must lie between 0 and 1, not", value=value)
            if field.name in _SHARES and not 0.0 <= value <= 1.0:
                raise OptionError(f"{field.name} must lie from 0 to 1, not", value=value)
            if field.name in _COUNTS and not value >= 1:
                raise OptionError(f"{field.name} must be 1 or more, not", value=value)
        if not self.speed_sigmas > 0.0:
            raise OptionError("speed_sigmas must be above 0, not", value=self.speed_sigmas)
        if self.run_length is not None and self.run_length < 2:
            raise OptionError("run_length must be 2 or more, not", value=self.run_length)
        if self.speed_scale not in ("robust", "classic"):
            raise OptionError("unknown speed_scale", value=self.speed_scale, allowed=("robust", "classic"))
        if self.consensus not in ("majority", "model"):
            raise OptionError("unknown consensus", value=self.consensus, allowed=("majority", "model"))
        unknown = [check for check in self.checks if check not in list(RaterReason)]
        if unknown:
            raise OptionError("unknown check", value=unknown[0], allowed=RaterReason)


_OPEN_SHARES = {"confidence", "run_probability", "side_alpha"}
_SHARES = {
    "anchor_share",
    "anchor_wanted",
    "speed_ratio",
    "side_excess",
    "consensus_skill",
    "qualification_share",
    "qualification_kappa",
}
_COUNTS = {"anchor_minimum", "speed_minimum", "speed_cohort", "consensus_minimum", "consensus_others"}
