"""Scores, weights and test points as JSON."""

from dataclasses import fields
from typing import Any

import polars as pl

from salon_ranking.files import json_text
from salon_ranking.opinion.checks import Checks
from salon_ranking.opinion.summary import MosSummary
from salon_ranking.opinion.weights import Weights


def to_json(result: MosSummary | Weights | Checks, *, confidence: float = 0.95) -> str:
    """Return a JSON object: every table as an array of rows, and how they were made. Null is what is not known."""
    if isinstance(result, Checks):
        document: dict[str, Any] = {
            "source": result.source,
            "confidence": confidence,
            "unscored": result.unscored,
            "shares": result.shares(confidence=confidence).to_dicts(),
        }
    else:
        document = {field.name: _plain(getattr(result, field.name)) for field in fields(result)}
    return json_text(document)


def _plain(value: object) -> object:
    return value.to_dicts() if isinstance(value, pl.DataFrame) else value
