"""The pools that prompts are composed from: ``pools.toml``, every entry in English and Chinese."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from salon_judges.formats.prism_tracks import Language

Entry: TypeAlias = tuple[str, str]
"""The same in English and Chinese."""


@cache
def pool(table: str, kind: str, name: str) -> tuple[Entry, ...]:
    """Return one pool.

    Example:
        >>> pool("affection", "pools", "emotions")[1]
        ('joy', '喜悦')
    """
    return tuple((english, chinese) for english, chinese in _file()[table][kind][name])


@cache
def pools(table: str, kind: str) -> tuple[tuple[Entry, ...], ...]:
    """Return all pools of one kind, in the file's order.

    Example:
        >>> sum(len(group) for group in pools("style", "styles"))
        25
    """
    return tuple(pool(table, kind, name) for name in _file()[table][kind])


@cache
def sentence(table: str, name: str) -> Entry:
    """Return how a prompt is put together, with a place for each draw."""
    english, chinese = _file()[table]["sentences"][name]
    return english, chinese


@cache
def things() -> tuple[dict[str, str], ...]:
    """Return what is counted in composition: singular, plural, Chinese name and its measure word."""
    return tuple(dict(each) for each in _file()["composition"]["things"]["names"])


def in_language(entry: Entry, language: Language) -> str:
    """Return one side of an entry.

    Example:
        >>> in_language(("joy", "喜悦"), Language.CHINESE)
        '喜悦'
    """
    return entry[0 if language is Language.ENGLISH else 1]


@cache
def _file() -> Any:
    return tomllib.loads(Path(__file__).with_name("pools.toml").read_text(encoding="utf-8"))
