"""Docstrings as the site reads them: Sphinx roles become code, ``a, b: …`` are two arguments, ``Example:`` is a section."""

import re
from typing import Any

from griffe import Extension, Object

PAIR = re.compile(r"^( {4})(\w+), (\w+): ", re.MULTILINE)
ROLE = re.compile(r":\w+:`~?(?:[\w.]+\.)?(\w+)`")


class SalonDocstrings(Extension):
    """Rewrite each docstring before its sections are read."""

    def on_instance(self, *, obj: Object, **kwargs: Any) -> None:
        """Rewrite the docstring of one module, class, function or attribute."""
        if obj.docstring is not None:
            text = ROLE.sub(r"`\1`", obj.docstring.value)
            text = PAIR.sub(r"\1\2: see `\3`.\n\1\3: ", text)
            obj.docstring.value = re.sub(r"^(\s*)Example:$", r"\1Examples:", text, flags=re.MULTILINE)
