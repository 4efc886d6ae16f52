"""Packages whose table of contents imports nothing before it is asked for (PEP 562)."""

from collections.abc import Callable, Iterable, Mapping, MutableMapping
from importlib import import_module


def lazy_names(
    namespace: MutableMapping[str, object], by_module: Mapping[str, Iterable[str]]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and the ``__dir__`` of a package.

    Args:
        namespace: the package's ``globals()``; a name that was asked for is kept there.
        by_module: the names that each module of the package brings.

    Example:
        >>> package = {"__name__": "salon_taxonomy"}
        >>> get, names = lazy_names(package, {"verdict": ["Scored", "Reason"]})
        >>> get("Scored").__name__, "Reason" in names(), "Reason" in package
        ('Scored', True, False)
    """
    package = str(namespace["__name__"])
    module_of = {name: module for module, names in by_module.items() for name in names}

    def get(name: str) -> object:
        """Import a name of the table of contents when it is first used."""
        module = module_of.get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        namespace[name] = value = getattr(import_module(f"{package}.{module}"), name)
        return value

    def names() -> list[str]:
        """Return everything that there is, imported or not."""
        return sorted({*namespace, *module_of})

    return get, names
