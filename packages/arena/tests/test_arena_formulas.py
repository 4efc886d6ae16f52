"""A name that a spreadsheet would run as a formula is the same name in every file of a release, once it is read."""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from small_arena import Clock, seen, write_material

from salon_arena import ArenaDatabase, read_material, vote_service
from salon_arena.release import release
from salon_arena.service import AnswerBody
from salon_console import main
from salon_console.table_files import csv_cell, csv_text, encoded

NAMES = ("=cmd|x", "+sum", "-model", "@home", "'=quoted", "''=twice", "'tis", "-80", "plain")
texts = st.text(alphabet="=+-@'\t\r1.%a", max_size=6)


@given(texts)
def test_a_cell_is_its_text_again_and_no_formula(text: str) -> None:
    cell = csv_cell(text)
    assert csv_text(cell) == text
    assert not cell.startswith(("=", "@", "\t", "\r")) and not (cell.startswith(("+", "-")) and "a" in cell)


@given(st.lists(texts.filter(lambda text: "\r" not in text and text), min_size=1, max_size=5))
def test_every_table_of_values_escapes_as_one_cell_does(names: list[str]) -> None:
    import csv
    import io

    rows = list(csv.reader(io.StringIO(encoded([{"model": name} for name in names], "csv").decode())))[1:]
    assert [cell for (cell,) in rows] == [csv_cell(name) for name in names]


@pytest.mark.parametrize("pair", [NAMES[:5], NAMES[4:]])
def test_both_files_of_a_release_rank_the_same_names(
    tmp_path: Path, body: Callable[..., AnswerBody], clock: Clock, pair: tuple[str, ...]
) -> None:
    material = read_material(*write_material(tmp_path, models=pair, samples=1))
    with ArenaDatabase.open(tmp_path / "arena.db") as database:
        service = vote_service(database, material, clock=clock)
        rater = service.people.join().result().rater_id
        for turn in range(36):
            service.answer(rater, body(seen(service, rater), ["left", "right", "both_good"][turn % 3])).result()
        release(database, "votes", tmp_path / "votes")
    ranked = {}
    for ending in ("csv", "parquet"):
        path = tmp_path / "votes" / f"battles.{ending}"
        reply = CliRunner().invoke(main, ["votes", "rank", str(path), "--interval", "anytime", "--format", "json"])
        assert reply.exit_code == 0, reply.output
        ranked[ending] = [(row["model"], row["rating"]) for board in json.loads(reply.stdout) for row in board["rows"]]
    assert ranked["csv"] == ranked["parquet"] and {model for model, _ in ranked["csv"]} == {*pair}
    frame = pl.read_parquet(tmp_path / "votes" / "battles.parquet")
    assert {*frame["model_a"], *frame["model_b"]} == {*pair}
