"""The options of a fit and its intervals, for every command that rates models; each becomes a field of ``RankOptions``."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import rich_click as click

from salon_console.options import several
from salon_ranking.cli.output import CONFIDENCE, Option, seed_option

THREADS: Option = click.option("--threads", type=int, help="Default: all processors. The result does not depend on it.")
BASELINE: Option = click.option(
    "--baseline", metavar="NAME", help="Fix this model at 1000. Default: the lowest rated well-played model."
)
BOTH_BAD: Option = click.option(
    "--both-bad",
    type=click.Choice(["tie", "drop", "own"]),
    default="tie",
    show_default=True,
    help="both_bad is a tie, is left out, or is left out and shown as each model's acceptability.",
)
CLUSTER: Option = click.option(
    "--cluster",
    metavar="COLUMN",
    multiple=True,
    help="Votes with the same value (a prompt, a rater) may depend on each other. Give it twice for two-way clusters.",
)
TIES: Option = click.option(
    "--ties",
    type=click.Choice(["half", "davidson", "rao-kupper"]),
    default="half",
    show_default=True,
    help="Half a win for each side, or a model with a parameter for ties.",
)
COVARIATE: Option = click.option(
    "--covariate",
    "covariates",
    metavar="COLUMN[,COLUMN]",
    multiple=True,
    help="Rate at equal values of a column, or of the difference of a pair like length_a,length_b; side_a_shown tests "
    "whether one side of the screen wins more. Repeatable.",
)
_MODEL: tuple[Option, ...] = (
    click.option(
        "--estimator",
        type=click.Choice(["maximum-likelihood", "firth"]),
        default="maximum-likelihood",
        show_default=True,
        help="firth: with less bias when battles are few or were planned.",
    ),
    TIES,
    COVARIATE,
    click.option(
        "--prior-ties",
        type=float,
        default=0.0,
        show_default=True,
        help="Drawn battles given to every model against a mean opponent.",
    ),
)
_PENALTY: tuple[Option, ...] = (
    click.option(
        "--ridge", type=float, default=0.0, show_default=True, help="Penalty ridge/2 · Σ β² on the coefficients of covariates."
    ),
    click.option(
        "--components",
        type=click.Choice(["refuse", "separate"]),
        default="refuse",
        show_default=True,
        help="When battles do not connect all models by wins and losses: stop, or rank each group by itself.",
    ),
)
_INTERVALS: tuple[Option, ...] = (
    CONFIDENCE,
    click.option(
        "--interval",
        type=click.Choice(["percentile", "bca", "sandwich", "anytime"]),
        help="Bootstrap percentiles, the same corrected for bias and skewness, analytic, or analytic for boards that are "
        "looked at while votes come in. Default: percentile; sandwich for rankings, and for --ties, --covariate and "
        "--estimator firth, whose refits are slow.",
    ),
    click.option(
        "--bootstrap", "replicates", type=int, default=1000, show_default=True, help="Replicates for the intervals; 0: none."
    ),
    seed_option("intervals"),
)


def _collected(options: tuple[Option, ...]) -> Option:
    """Return a decorator that adds options; the command gets them as the mapping ``fit``, by the fields of ``RankOptions``."""

    def bare() -> None: ...

    names = [parameter.name for parameter in vars(several(*options)(bare))["__click_params__"]]

    def with_options(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def called(**arguments: Any) -> None:
            fit = {name: arguments.pop(name) for name in names}
            command(fit={**arguments.pop("fit", {}), **fit}, **arguments)

        return several(*options)(called)

    return with_options


rank_options = _collected((BASELINE, *_MODEL, *_PENALTY, *_INTERVALS, THREADS))
"""Everything that shapes a leaderboard, as ``fit``."""
model_options = _collected(_MODEL)
interval_options = _collected(_INTERVALS)
baseline_option = _collected((BASELINE,))
