"""Modules that the extras of salon-bench bring: imported when they are needed, explained when they are missing."""

import importlib
from types import ModuleType

from salon_taxonomy.errors import InputError


def extra(module: str, name: str) -> ModuleType:
    """A module that the extra ``name`` of salon-bench brings.

    Raises:
        InputError: when it is not installed; says what to type.

    Example:
        >>> extra("json", "selection").loads("[1]")
        [1]
        >>> try:
        ...     extra("no_such_module", "selection")
        ... except InputError as error:
        ...     print(error.hint)
        Install it with: pip install 'salon-bench[selection]'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        hint = f"Install it with: pip install 'salon-bench[{name}]'"
        raise InputError(
            f"this needs the extra {name!r} of salon-bench; there is no module", value=module, hint=hint
        ) from error
