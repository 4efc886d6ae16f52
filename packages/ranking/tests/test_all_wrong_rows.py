"""Every kind of mistake in a file of votes, rater votes, ratings or checks is reported in one go: first rows, and counts."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from salon_ranking import Battles
from salon_ranking.errors import RankingError
from salon_ranking.opinion import Checks, MosRatings
from salon_ranking.raters import Votes

ROWS = 30
VOTES = {
    "battle_id": [f"b{number}" for number in range(ROWS)],
    "prompt_id": [f"p{number % 5}" for number in range(ROWS)],
    "rater_id": ["r1", "r2", "r3"] * 10,
    "model_a": ["x", "y", "z"] * 10,
    "model_b": ["y", "z", "x"] * 10,
    "winner": ["model_a", "model_b", "tie"] * 10,
    "weight": ["1"] * ROWS,
    "mode": ["expert", "public"] * 15,
    "side_a_shown": ["left", "right"] * 15,
    "is_anchor": ["false"] * ROWS,
    "expected_winner": ["tie"] * ROWS,
    "started_at": ["2026-01-01T12:00:00Z"] * ROWS,
    "answered_at": ["2026-01-01T12:00:05Z"] * ROWS,
}
MARKS = {
    "rating_id": [f"m{number}" for number in range(ROWS)],
    "prompt_id": [f"p{number}" for number in range(ROWS)],
    "generation_id": [f"g{number}" for number in range(ROWS)],
    "model": ["x", "y", "z"] * 10,
    "dimension": ["beauty"] * ROWS,
    "value": ["3"] * ROWS,
    "scale_min": ["1"] * ROWS,
    "scale_max": ["5"] * ROWS,
    "rater_id": ["ann"] * ROWS,
}
CHECKS = {"model": ["x", "y", "z"] * 10, "test_point": ["hands"] * ROWS, "satisfied": ["1"] * ROWS}
OF_BATTLES = {
    ("winner", "nobody"): "unknown winner",
    ("winner", None): "no winner",
    ("model_a", None): "no model name",
    ("model_b", " "): "empty model name",
}


@dataclass(frozen=True)
class Kind:
    """A kind of file: its rows, its reader, and what makes a row wrong with the words for it."""

    rows: dict[str, list[str]]
    read: Callable[[Path], object]
    mistakes: dict[tuple[str, str | None], str]


KINDS = {
    "votes": Kind(
        VOTES,
        Battles.read,
        {**OF_BATTLES, ("weight", "-1"): "a weight that cannot be used", ("weight", "much"): "the weight is no number"},
    ),
    "rater votes": Kind(
        VOTES,
        Votes.read,
        {
            **OF_BATTLES,
            ("rater_id", None): "no rater",
            ("mode", "machine"): "unknown value",
            ("side_a_shown", "middle"): "unknown value",
            ("expected_winner", "nobody"): "unknown value",
            ("started_at", "yesterday"): "cannot be read",
            ("answered_at", "2025-01-01T12:00:00Z"): "answered before it was started",
            ("is_anchor", "perhaps"): "cannot be read",
        },
    ),
    "ratings": Kind(
        MARKS,
        MosRatings.read,
        {
            ("model", None): "is not given",
            ("rater_id", " "): "is blank",
            ("rating_id", "m0"): "occurred before",
            ("value", "good"): "is no number",
            ("value", "nan"): "is not finite",
            ("value", "6"): "is off its scale",
            ("scale_max", "7"): "differs within its dimension",
            ("scale_min", "5"): "is not below scale_max",
        },
    ),
    "checks": Kind(
        CHECKS, Checks.read, {("model", None): "is not given", ("satisfied", "perhaps"): "is neither true nor false"}
    ),
}


@settings(max_examples=15, deadline=None, derandomize=True)
@given(st.data())
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_every_kind_of_mistake_is_named_at_its_first_row_and_counted(
    tmp_path_factory: pytest.TempPathFactory, ending: str, name: str, data: st.DataObject
) -> None:
    kind = KINDS[name]
    chosen = data.draw(st.lists(st.sampled_from(list(kind.mistakes)), unique=True, min_size=1))
    places = data.draw(st.permutations(range(1, ROWS)))
    rows: dict[str, list[str | None]] = {column: [*values] for column, values in kind.rows.items()}
    where: dict[tuple[str, str | None], list[int]] = {}
    for number, (column, value) in enumerate(chosen):
        where[column, value] = sorted(places[2 * number : 2 * number + 2])  # two rows of each kind
        for place in where[column, value]:
            rows[column][place] = value
    path = tmp_path_factory.mktemp("wrong") / f"rows.{ending}"
    frame = pl.DataFrame(rows)
    _ = frame.write_csv(path) if ending == "csv" else frame.write_parquet(path)
    with pytest.raises(RankingError) as caught:
        kind.read(path)
    error, said = caught.value, " ".join(str(caught.value).split())
    for mistake, (first, _) in where.items():
        problem = kind.mistakes[mistake]
        (one,) = (each for each in error.wrong if each.column == mistake[0] and problem in each.problem)
        assert one.row == first + 1
        assert f"row {one.row}, column '{one.column}': {one.problem}" in said
        assert one.rows >= 2
    assert len(error.wrong) >= len(chosen)
    assert error.row == min(one.row for one in error.wrong)
    kind.read(_written(kind.rows, path))


def _written(rows: dict[str, list[str]], path: Path) -> Path:
    good = path.with_name("good.csv")
    pl.DataFrame(rows).write_csv(good)
    return good


@pytest.mark.parametrize(("name", "needed"), [("votes", 3), ("rater votes", 4), ("ratings", 9)])
def test_all_missing_columns_are_named_at_once(tmp_path: Path, name: str, needed: int) -> None:
    path = tmp_path / "rows.csv"
    pl.DataFrame({"other": ["x"]}).write_csv(path)
    with pytest.raises(RankingError, match="missing column") as caught:
        KINDS[name].read(path)
    first, *others = str(caught.value).split("Missing too: ")
    assert (first.count("column '"), others[0].split(".")[0].count("'") // 2) == (1, needed - 1)
