"""Parts of the package that may not be installed: SciPy (``salon-ranking[analysis]``) and pages (``salon-ranking[report]``)."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from salon_ranking.errors import MissingExtraError


def analysis(module: str, purpose: str) -> Any:
    """Import a module of SciPy.

    Raises:
        MissingExtraError: it is not installed; ``purpose`` says what it is needed for.

    Example:
        >>> float(analysis("scipy.special", "a t-test").ndtr(0.0))
        0.5
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        hint = "In a clone of Salon: uv pip install './packages/ranking[analysis]'"
        raise MissingExtraError(f"{purpose} needs the extra 'analysis', which lacks", value=error.name, hint=hint) from error


@contextmanager
def drawing() -> Iterator[None]:
    """Import what the extra ``salon-ranking[report]`` installs.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("salon_"):  # not an extra: our own mistake
            raise
        hint = "In a clone of Salon: uv pip install './packages/ranking[report]'"
        raise MissingExtraError("pages and charts need the extra 'report', which lacks", value=error.name, hint=hint) from error
