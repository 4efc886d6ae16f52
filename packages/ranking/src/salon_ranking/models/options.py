"""Which model is fitted, and how: the options that ``fit``, ``rank`` and every analysis of a fit share."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from salon_ranking.errors import OptionError
from salon_ranking.models.covariates import Covariate

Components: TypeAlias = Literal["refuse", "separate"]
Estimator: TypeAlias = Literal["maximum-likelihood", "firth"]
Ties: TypeAlias = Literal["half", "davidson", "rao-kupper"]

TOLERANCE = 1e-9
MAX_ITERATIONS = 200


@dataclass(frozen=True)
class FitOptions:
    """The arguments of :func:`salon_ranking.fit` that shape the estimate; the defaults are plain Bradley-Terry."""

    ties: Ties = "half"
    covariates: tuple[Covariate, ...] = ()
    standardize: bool = True
    estimator: Estimator = "maximum-likelihood"
    prior_ties: float = 0.0
    components: Components = "refuse"
    tolerance: float = TOLERANCE
    max_iterations: int = MAX_ITERATIONS
    ridge: float = 0.0

    @property
    def is_plain(self) -> bool:
        """Whether strengths are the only parameters."""
        return self.ties == "half" and not self.covariates

    def check(self) -> None:
        """Check names, ranges and combinations.

        Raises:
            OptionError: names the first wrong option.
        """
        for name, given, known in (
            ("components", self.components, Components),
            ("estimator", self.estimator, Estimator),
            ("tie model", self.ties, Ties),
        ):
            if given not in get_args(known):
                raise OptionError(f"unknown {name}", value=given, allowed=get_args(known))
        numbers = {"prior_ties": self.prior_ties, "ridge": self.ridge}
        check_numbers(**numbers, tolerance=self.tolerance, max_iterations=self.max_iterations)
        if self.ridge and not self.covariates:
            raise OptionError("a ridge is a penalty on coefficients; without covariates it must be 0, not", value=self.ridge)
        if self.covariates and self.ties != "half":
            hint = "Use one of them: a fit with covariates counts a tie as half a win."
            raise OptionError("covariates and tie models cannot be combined", hint=hint)
        if self.estimator == "firth" and not self.is_plain:
            hint = "Use maximum likelihood (leave out --method firth)."
            raise OptionError("Firth's estimator is for plain Bradley-Terry, without tie models and covariates", hint=hint)
        if self.estimator == "firth" and self.prior_ties > 0.0:
            hint = "Leave out prior_ties (--prior-ties), or rate by maximum likelihood."
            problem = "Firth's estimator has a prior of its own; prior_ties must be 0, not"
            raise OptionError(problem, value=self.prior_ties, hint=hint)


def parsed_covariates(covariates: Sequence[str | Covariate]) -> tuple[Covariate, ...]:
    """Parse covariates given as text.

    Raises:
        CovariateError: text that is neither one column nor a pair.
    """
    if isinstance(covariates, str):
        covariates = [covariates]
    return tuple(Covariate.parse(one) if isinstance(one, str) else one for one in covariates)


def check_numbers(**values: float) -> None:
    """Check numbers that no fit can use.

    Raises:
        OptionError: names the first of them.
    """
    for name, value in values.items():
        lowest = 0.0 if name in ("prior_ties", "ridge") else -math.inf if name == "baseline_rating" else 5e-324
        if not (math.isfinite(value) and value >= lowest):
            wanted = {
                "prior_ties": "a number of 0 or more",
                "ridge": "a number of 0 or more",
                "baseline_rating": "a finite number",
            }.get(name, "a positive number")
            raise OptionError(f"{name} must be {wanted}, not", value=value)
