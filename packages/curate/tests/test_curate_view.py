"""``salon view DATASET``: every picture, and the conditions that drop it."""

import json
from pathlib import Path

import pytest
from curate_world import drawn, made, tree

from salon_bench.viewer.row_pages import filtered_rows, row_page, rows_page
from salon_curate.cli.view import dataset_rows
from salon_curate.dataset import DataSet, read_rows
from salon_curate.pipeline import PIPELINE, read_pipeline
from salon_curate.running import run
from salon_curate.selection import select

CONDITIONS = {"sharp": "sharpness >= 200", "wide": "width > 1 AND NOT good"}
TEXT = '[[stage]]\nuse = "look"\n\n[[stage]]\nuse = "fields"\nparameters = { good = "bool" }\n\n[selection.default]\n'


@pytest.fixture
def dataset(tmp_path: Path) -> DataSet:
    dataset = made(tmp_path / "birds", drawn(tmp_path / "in"))
    lines = "".join(f"{name} = {json.dumps(sql)}\n" for name, sql in CONDITIONS.items())
    (dataset.folder / PIPELINE).write_text(TEXT + lines)
    return dataset


def test_a_row_says_which_conditions_drop_it_and_select_keeps_the_others(dataset: DataSet) -> None:
    stages = read_pipeline(dataset.folder / PIPELINE, environment={}).stages
    run(dataset, stages)
    view = dataset_rows(dataset.folder)
    assert view is not None
    before = tree(dataset.folder, ".")
    frame = view.rows().frame
    assert tree(dataset.folder, ".") == before  # nothing is written
    kept = (frame["selection_default"] == "kept").to_list()
    assert kept == select(dataset, stages, CONDITIONS).mask.tolist()
    assert any(kept) and not all(kept)
    for row in frame.iter_rows(named=True):
        failing = {"sharp"} if row["sharpness"] < 200 else set()
        failing |= {"wide"} if row["good"] else set()
        assert set(row["dropped_by_default"]) == failing
    wanted = {"is_dropped_by_default": ["wide"], "where": ["selection_default = 'dropped'"]}
    assert filtered_rows(view.rows(), wanted)["good"].all()
    key = frame["key"][0]
    assert key in rows_page(view, {})
    page = row_page(view, {"key": [key]})
    assert "sharpness &gt;= 200" in page and "look" in page


def test_each_row_has_its_own_picture(dataset: DataSet) -> None:
    view = dataset_rows(dataset.folder)
    assert view is not None
    for shard in dataset.shards:
        rows = read_rows(dataset.shard_path(shard.name), ["key", "image"])
        assert [view.picture(key) for key in rows["key"]] == rows["image"].to_list()
    assert view.picture("nobody") is None


def test_a_selection_whose_stages_have_not_finished_is_named_and_has_no_column(dataset: DataSet) -> None:
    view = dataset_rows(dataset.folder)
    assert view is not None
    table = view.rows()
    assert "selection_default" not in table.frame.columns
    assert any("default" in note and "not finished" in note for note in table.notes)
    assert table.frame.height == dataset.rows
    stages = read_pipeline(dataset.folder / PIPELINE, environment={}).stages
    run(dataset, stages)
    assert "selection_default" in view.rows().frame.columns  # it is read again


def test_a_folder_of_another_kind_is_none(tmp_path: Path) -> None:
    assert dataset_rows(tmp_path) is None
