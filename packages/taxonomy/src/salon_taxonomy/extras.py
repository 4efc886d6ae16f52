"""Modules of optional dependencies: imported when needed, with an install hint when missing."""

import importlib
from types import ModuleType

from salon_taxonomy.errors import InputError


def extra(module: str, name: str, package: str) -> ModuleType:
    """Import a module that the extra ``name`` of ``package`` installs.

    Raises:
        InputError: when it is not installed; says what to type.

    Example:
        >>> extra("json", "ocr", "salon-judges").loads("[1]")
        [1]
        >>> try:
        ...     extra("no_such_module", "ocr", "salon-judges")
        ... except InputError as error:
        ...     print(error.hint)
        In a clone of Salon: uv pip install './packages/judges[ocr]'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        hint = f"In a clone of Salon: uv pip install './packages/{package.removeprefix('salon-')}[{name}]'"
        raise InputError(f"this needs the extra {name!r} of {package}; there is no module", value=module, hint=hint) from error
