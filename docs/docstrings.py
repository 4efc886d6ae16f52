"""Docstrings as the site reads them: Sphinx roles become code, and ``Example:`` is a section of examples."""

import re
from typing import Any

from griffe import Extension, Object

ROLE = re.compile(r":\w+:`~?(?:[\w.]+\.)?(\w+)`")


class SalonDocstrings(Extension):
    """Rewrite each docstring before its sections are read."""

    def on_instance(self, *, obj: Object, **kwargs: Any) -> None:
        """Rewrite the docstring of one module, class, function or attribute."""
        if obj.docstring is not None:
            text = ROLE.sub(r"`\1`", obj.docstring.value)
            obj.docstring.value = re.sub(r"^(\s*)Example:$", r"\1Examples:", text, flags=re.MULTILINE)
