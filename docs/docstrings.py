"""Docstrings as the site reads them: Sphinx roles become code, ``a, b: …`` are several arguments, ``Example:`` is a section."""

import re
from typing import Any

from griffe import Extension, Object

SEVERAL = re.compile(r"^ {4}((?:\w+, )+)(\w+): ", re.MULTILINE)
ROLE = re.compile(r":\w+:`~?(?:[\w.]+\.)?(\w+)`")


def _one_by_one(found: re.Match[str]) -> str:
    """An entry for each argument; the last has the words."""
    *others, last = (*found[1].split(", ")[:-1], found[2])
    return "".join(f"    {name}: see `{last}`.\n" for name in others) + f"    {last}: "


class SalonDocstrings(Extension):
    """Rewrite each docstring before its sections are read."""

    def on_instance(self, *, obj: Object, **kwargs: Any) -> None:
        """Rewrite the docstring of one module, class, function or attribute."""
        if obj.docstring is not None:
            text = ROLE.sub(r"`\1`", obj.docstring.value)
            text = SEVERAL.sub(_one_by_one, text)
            obj.docstring.value = re.sub(r"^(\s*)Example:$", r"\1Examples:", text, flags=re.MULTILINE)
