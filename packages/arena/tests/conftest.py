"""What the arena's tests share: a small arena, a clock that is turned by hand, and answers."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest
from small_arena import Clock, write_material

from salon_arena import ArenaDatabase, Material, WorkService, read_material, vote_service
from salon_arena.service import AnswerBody

if TYPE_CHECKING:
    from browsing import Served


@pytest.fixture(autouse=True)
def known_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Databases of a test get the same secrets in every run, and so the same plans; no two get the same."""
    generator = Random(5)
    token = SimpleNamespace(token_hex=lambda size: generator.randbytes(size).hex())
    monkeypatch.setattr("salon_arena.database.secrets", token)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def material(tmp_path: Path) -> Material:
    return read_material(*write_material(tmp_path))


@pytest.fixture
def database(tmp_path: Path) -> Iterator[ArenaDatabase]:
    with ArenaDatabase.open(tmp_path / "arena.db") as opened:
        yield opened


@pytest.fixture
def service(database: ArenaDatabase, material: Material, clock: Clock) -> Iterator[WorkService]:
    made = vote_service(database, material, clock=clock)
    yield made


@pytest.fixture
def served(tmp_path: Path) -> Iterator["Served"]:
    from browsing import Served

    made = Served(tmp_path)
    yield made
    made.close()


@pytest.fixture
def body() -> Callable[..., AnswerBody]:
    """Makes answers with ids of their own."""
    numbers = count(1)

    def make(pair: dict[str, Any], choice: str = "left", **changed: Any) -> AnswerBody:
        fields = {
            "answer_id": UUID(int=next(numbers), version=4),
            "assignment": pair["assignment"],
            "choice": choice,
            "elapsed_ms": 900,
            "supersedes": pair["supersedes"],
        }
        return AnswerBody.model_validate({**fields, **changed})

    return make
