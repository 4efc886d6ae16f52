"""Templates of pages: every value is escaped, and what acts unseen in it is written out."""

from functools import cache
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

from salon_taxonomy.visible_text import visible


@cache
def page_template(package: str, name: str) -> jinja2.Template:
    """Return a template whose every value is escaped and made visible; all pages and fragments are rendered with these.

    Args:
        package: the package that contains the file.
        name: the file.
    """
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined, finalize=_shown
    )
    return environment.from_string(read_text(package, name))


def page_macros(package: str, name: str) -> Any:
    """Return the macros of a template by their names; they return HTML. Arguments as for :func:`page_template`."""
    return page_template(package, name).module


@cache
def read_text(package: str, name: str) -> str:
    """Return the text of a file in a package: a template, a style or a script."""
    return files(package).joinpath(name).read_text(encoding="utf-8").strip()


def _shown(value: Any) -> Any:
    """Return the value as a template prints it; HTML of another template stays as it is."""
    return visible(value, prose=True) if isinstance(value, str) and not isinstance(value, Markup) else value
