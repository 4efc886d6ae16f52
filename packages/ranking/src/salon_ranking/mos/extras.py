"""SciPy, when it is there: the extra ``salon-ranking[analysis]``."""

from importlib import import_module
from typing import Any

from salon_ranking.errors import MissingExtraError


def analysis(module: str, purpose: str) -> Any:
    """The module of SciPy, imported now.

    Raises:
        MissingExtraError: it is not installed; ``purpose`` says what it is needed for.

    Example:
        >>> float(analysis("scipy.special", "a t-test").ndtr(0.0))
        0.5
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        hint = "Install it: pip install 'salon-ranking[analysis]'"
        raise MissingExtraError(f"{purpose} needs the extra 'analysis', which lacks", value=error.name, hint=hint) from error
