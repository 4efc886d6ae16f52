"""Shared by the store's tests: an empty store, small frames for its tables."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from salon_store import ResultStore


@pytest.fixture
def store(tmp_path: Path) -> ResultStore:
    """A new, empty store."""
    return ResultStore.open(tmp_path / "results")


@pytest.fixture
def battles() -> Callable[..., pl.DataFrame]:
    """Makes ``count`` valid battles whose ids begin with ``prefix``."""

    def make(count: int = 3, prefix: str = "b") -> pl.DataFrame:
        return pl.DataFrame(
            {
                "battle_id": [f"{prefix}{number}" for number in range(count)],
                "model_a": ["flux"] * count,
                "model_b": ["sdxl"] * count,
                "winner": ["model_a"] * count,
                "rater_id": ["ann"] * count,
                "mode": ["public"] * count,
            },
            schema_overrides=dict.fromkeys(("battle_id", "model_a", "model_b", "winner", "rater_id", "mode"), pl.String),
        )

    return make
