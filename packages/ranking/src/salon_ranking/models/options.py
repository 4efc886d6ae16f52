"""Which model is fitted, and how: the options that ``fit``, ``rank`` and every analysis of a fit share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal, TypeAlias

from salon_ranking.errors import OptionError
from salon_ranking.models.covariates import Covariate
from salon_ranking.options import Options, PriorTies, Range

Components: TypeAlias = Literal["refuse", "separate"]
Estimator: TypeAlias = Literal["maximum-likelihood", "firth"]
Ties: TypeAlias = Literal["half", "davidson", "rao-kupper"]

TOLERANCE = 1e-9
MAX_ITERATIONS = 200


@dataclass(frozen=True, kw_only=True)
class FitOptions(Options):
    """A model and how it is fitted; the defaults are plain Bradley-Terry by maximum likelihood.

    Attributes:
        ties: half a win for each model, or a parameter for ties: ``"davidson"`` or ``"rao-kupper"``.
        covariates: columns of the battles, as ``"column"`` (a property of the battle, an advantage of model_a) or
            ``"x_a,x_b"`` (properties of the two sides, whose difference is taken). Text becomes categories; see
            :func:`salon_ranking.models.covariates.terms_of`. ``"side_a_shown"`` (left, right) tests for position bias.
        standardize: divide covariates that are numbers by their standard deviation.
        ridge: penalty ``ridge / 2 · Σ β²`` on the coefficients, which are then finite even where covariates are collinear or
            predict battles without error.
        estimator: ``"firth"`` reduces the bias of maximum likelihood. It counts weights as battles: weights that are all
            ten times as large leave a tenth of the correction. A tie is half a win in its penalty too.
        prior_ties: give every model this many drawn battles against one fixed opponent of mean strength. Then finite
            ratings always exist, pulled towards the middle. They do not count as ties of a tie model; coefficients have
            no prior.
        components: what to do when no finite ratings exist: refuse, or rate each strongly connected component by
            itself, leaving out the battles between components.
        baseline: the model whose rating is fixed; by default the lowest rated of those that have at least the median
            number of matches (MEF advises a low-ranked one).
        baseline_rating: its rating.
        start: log-strengths to start from, by model (0 for others), such as those of an earlier fit: they change the number
            of iterations, not the answer. Tie models and covariates do not use them.
        tolerance: largest slope of the log-likelihood per match at which the fit has converged.
        max_iterations: a fit that has not converged after so many ends, and reports it.
    """

    ties: Ties = "half"
    covariates: Sequence[str | Covariate] = ()
    standardize: bool = True
    ridge: Annotated[float, Range(0, 1e9)] = 0.0
    estimator: Estimator = "maximum-likelihood"
    prior_ties: PriorTies = 0.0
    components: Components = "refuse"
    baseline: str | None = None
    baseline_rating: Annotated[float, Range(-1e12, 1e12)] = 1000.0
    start: Mapping[str, float] | None = None
    tolerance: Annotated[float, Range(0, is_open=True)] = TOLERANCE
    max_iterations: Annotated[int, Range(0, 1e9)] = MAX_ITERATIONS

    @cached_property
    def parsed_covariates(self) -> tuple[Covariate, ...]:
        """The covariates; those given as text are parsed."""
        return tuple(Covariate.parse(one) if isinstance(one, str) else one for one in self.covariates)

    @property
    def is_plain(self) -> bool:
        """Whether strengths are the only parameters."""
        return self.ties == "half" and not self.covariates

    def check(self) -> None:
        """Check combinations of options.

        Raises:
            OptionError: names the first that cannot be combined.
            CovariateError: text that is neither one column nor a pair.
        """
        super().check()
        _ = self.parsed_covariates
        if self.ridge and not self.covariates:
            raise OptionError("a ridge is a penalty on coefficients; without covariates it must be 0, not", value=self.ridge)
        if self.covariates and self.ties != "half":
            hint = "Use one of them: a fit with covariates counts a tie as half a win."
            raise OptionError("covariates and tie models cannot be combined", hint=hint)
        if self.estimator == "firth" and not self.is_plain:
            hint = "Use maximum likelihood (leave out --estimator firth)."
            raise OptionError("Firth's estimator is for plain Bradley-Terry, without tie models and covariates", hint=hint)
        if self.estimator == "firth" and self.prior_ties > 0.0:
            hint = "Leave out prior_ties (--prior-ties), or rate by maximum likelihood."
            problem = "Firth's estimator has a prior of its own; prior_ties must be 0, not"
            raise OptionError(problem, value=self.prior_ties, hint=hint)
