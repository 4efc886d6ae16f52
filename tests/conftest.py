"""What the workspace's tests share: where the workspace and its packages stand."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def root() -> Path:
    """The workspace's top folder."""
    return ROOT


@pytest.fixture(scope="session")
def packages(root: Path) -> dict[str, Path]:
    """Every package by its import name, with the folder of its sources."""
    return {f"salon_{folder.name}": folder / "src" / f"salon_{folder.name}" for folder in sorted((root / "packages").iterdir())}
