"""The options of ``salon votes rank`` that choose a model or method."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import rich_click as click

from salon_ranking.cli.output import Option, decorated

_OPTIONS: tuple[Option, ...] = (
    click.option(
        "--method",
        type=click.Choice(["bradley-terry", "firth", "elo"]),
        default="bradley-terry",
        show_default=True,
        help="firth: Bradley-Terry with less bias when battles are few or were planned. elo: online Elo in the order of the "
        "battles, or averaged over --orders.",
    ),
    click.option(
        "--ties",
        type=click.Choice(["half", "davidson", "rao-kupper"]),
        default="half",
        show_default=True,
        help="Half a win for each side, or a model with a parameter for ties.",
    ),
    click.option(
        "--both-bad",
        type=click.Choice(["tie", "drop", "own"]),
        default="tie",
        show_default=True,
        help="both_bad is a tie, is left out, or is left out and shown as each model's acceptability.",
    ),
    click.option(
        "--covariate",
        "covariates",
        metavar="COLUMN[,COLUMN]",
        multiple=True,
        help="Rate at equal values of a column, or of the difference of a pair like length_a,length_b. Repeatable.",
    ),
    click.option("--position-bias", is_flag=True, help="Test whether one side of the screen wins more (needs side_a_shown)."),
    click.option(
        "--standardize/--no-standardize",
        default=True,
        show_default=True,
        help="Divide covariates that are numbers by their standard deviation.",
    ),
    click.option(
        "--ridge", type=float, default=0.0, show_default=True, help="Penalty ridge/2 · Σ β² on the coefficients of covariates."
    ),
    click.option(
        "--equal-pairs",
        type=click.IntRange(1),
        metavar="N",
        help="Weigh battles by 1 / max(battles of their pair, N): all pairs with N battles or more count alike.",
    ),
    click.option("--k", type=float, default=4.0, show_default=True, help="Online Elo: most points that one battle moves."),
    click.option("--orders", type=int, default=0, show_default=True, help="Online Elo: average over so many random orders."),
    click.option(
        "--order-by", metavar="COLUMN", help="Online Elo: the time that rows must follow. Default: rows as they stand."
    ),
    click.option("--sort", is_flag=True, help="Online Elo: sort rows by --order-by instead of refusing disorder."),
    click.option("--diagnose", is_flag=True, help="Also say how well the model fits: deviance, worst pairs, cycles."),
)
_NAMES = (
    "method",
    "ties",
    "both_bad",
    "covariates",
    "position_bias",
    "standardize",
    "ridge",
    "equal_pairs",
    "k",
    "orders",
    "order_by",
    "sort",
    "diagnose",
)


def model_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options; the command gets them as one argument ``choice``, a mapping of the fields of ``ModelChoice``."""

    @wraps(command)
    def called(**arguments: Any) -> None:
        command(choice={name: arguments.pop(name) for name in _NAMES}, **arguments)

    return decorated(called, _OPTIONS)
