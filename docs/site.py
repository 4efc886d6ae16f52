"""What the site shows of its sources: reasons in fences as captions; docstrings with code instead of Sphinx roles.

In docstrings ``a, b: …`` are several arguments, and ``Example:`` is a section. Functions ``with_options`` show keywords.
``mkdocs.yml`` names both extensions.
"""

import re
from typing import Any

from griffe import Extension, Function, Object, ParameterKind
from markdown import Markdown
from markdown.extensions import Extension as MarkdownExtension
from markdown.preprocessors import Preprocessor

SEVERAL = re.compile(r"^ {4}((?:\w+, )+)(\w+): ", re.MULTILINE)
ROLE = re.compile(r":\w+:`~?(?:[\w.]+\.)?(\w+)`")
NOT_RUN = re.compile(r"^( *```+\w+) not run: ([^\n\"`]+)$")


def _one_by_one(found: re.Match[str]) -> str:
    """An entry for each argument; the last has the words."""
    *others, last = (*found[1].split(", ")[:-1], found[2])
    return "".join(f"    {name}: see `{last}`.\n" for name in others) + f"    {last}: "


class SalonDocstrings(Extension):
    """Rewrite each docstring before its sections are read, and the parameters of functions that take an object of options."""

    def on_function_instance(self, *, func: Function, **kwargs: Any) -> None:
        """Show the last parameter of a function ``with_options`` as the keywords that callers write."""
        if any(str(decorator.value).startswith("with_options(") for decorator in func.decorators):
            func.parameters[-1].kind = ParameterKind.var_keyword

    def on_instance(self, *, obj: Object, **kwargs: Any) -> None:
        """Rewrite the docstring of one module, class, function or attribute."""
        if obj.docstring is not None:
            text = ROLE.sub(r"`\1`", obj.docstring.value)
            text = SEVERAL.sub(_one_by_one, text)
            obj.docstring.value = re.sub(r"^(\s*)Example:$", r"\1Examples:", text, flags=re.MULTILINE)


class Captions(Preprocessor):
    """Turn the reason in ```` ```text not run: why ```` into the caption of its block."""

    def run(self, lines: list[str]) -> list[str]:
        """Return the lines of a page, with a title in each such fence."""
        return [NOT_RUN.sub(r'\1 title="Not run by the tests: \2"', line) for line in lines]


class FenceReasons(MarkdownExtension):
    """Add the captions before the fences are read."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 (Markdown's name)
        """Register the preprocessor ahead of SuperFences, which has priority 25."""
        md.preprocessors.register(Captions(md), "fence_reasons", 28)


def makeExtension(**settings: Any) -> FenceReasons:  # noqa: N802 (Markdown's name)
    """Return the Markdown extension of this module."""
    return FenceReasons(**settings)
