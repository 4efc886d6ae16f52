"""Selections: conditions against a plain count, sweeps against selections, differences with their cause."""

import json

import polars as pl
import pytest
from click.testing import CliRunner
from curate_world import drawn, made
from hypothesis import given, settings
from hypothesis import strategies as st

from salon_curate.cli import curate
from salon_curate.measures import look
from salon_curate.pipeline import LOOK, PIPELINE
from salon_curate.running import run
from salon_curate.selection import diff, predicate, read_columns, select, sweep
from salon_taxonomy.errors import IncompleteError, InputError


@pytest.fixture(scope="module")
def looked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("selection")
    table_file = drawn(folder / "in", 3)
    (folder / "in" / "pictures" / "00002.png").write_bytes(b"no picture")
    dataset = made(folder / "d", table_file, shard_rows=5)
    (dataset.folder / PIPELINE).write_text(LOOK + '\n[selection.default]\nsharp = "sharpness >= 700"\n')
    run(dataset, [look])
    return dataset


NUMBERS = st.sampled_from(["sharpness", "noise", "contrast", "width"])


@settings(max_examples=25)
@given(
    st.dictionaries(st.text("abc", min_size=1, max_size=2), st.tuples(NUMBERS, st.floats(-10, 3000)), min_size=1, max_size=3)
)
def test_a_selection_keeps_what_a_plain_filter_keeps(looked, conditions):
    predicates = {name: f"{column} >= {value!r}" for name, (column, value) in conditions.items()}
    frame = read_columns(looked, [look], ["sharpness", "noise", "contrast", "width"]).collect()
    holds = [(frame[column] >= value).fill_null(False) for column, value in conditions.values()]
    expected = holds[0]
    for each in holds[1:]:
        expected = expected & each
    found = select(looked, [look], predicates)
    assert found.mask.tolist() == expected.to_list() and found.kept == expected.sum()
    for name, hold in zip(predicates, holds, strict=True):
        failed, null, only = found.by_predicate[name]
        assert failed + null == (~hold).sum() and null == 1 and only <= failed + null


def test_every_point_of_a_sweep_is_the_selection_at_that_threshold(looked):
    predicates = {"wide": "width >= 10", "sharp": "sharpness >= 100"}
    for curve in sweep(looked, [look], predicates, ["sharpness", "contrast"], points=7):
        others = {name: sql for name, sql in predicates.items() if curve.column not in sql}
        for at, kept in zip(curve.thresholds, curve.kept, strict=True):
            assert select(looked, [look], {**others, "at": f"{curve.column} >= {at!r}"}).kept == kept


def test_a_difference_names_the_condition_of_every_moved_row(looked):
    old, new = {"sharp": "sharpness >= 500"}, {"sharp": "sharpness >= 900", "bright": "contrast >= 30"}
    moved = diff(looked, [look], old, new)
    before, after = select(looked, [look], old).mask, select(looked, [look], new).mask
    assert moved.left == int((before & ~after).sum()) and moved.entered == int((~before & after).sum())
    assert len(moved.keys) == moved.left + moved.entered and (moved.keys["by"] != "").all()


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("sharpness >", "no condition in SQL"),
        ("1 = 1", "names no column"),
        ("sharpness + 1", "true or false"),
        ("nothing > 1", "no stage writes the column"),
        ("image = 'x'", "no stage writes the column"),
        ("sharpness >= 'a lot'", "conditions"),
    ],
)
def test_a_wrong_condition_is_refused_by_name(looked, sql, words):
    with pytest.raises(InputError, match=words):
        select(looked, [look], {"x": sql})


def test_a_condition_reads_no_file():
    with pytest.raises(InputError):
        predicate("SELECT * FROM read_csv('/etc/passwd')")


def test_a_stage_that_has_not_finished_is_named(tmp_path):
    dataset = made(tmp_path / "d", drawn(tmp_path / "in", 1))
    with pytest.raises(IncompleteError, match=r"'look' has not finished: 2 of 2 parts.*salon curate run"):
        select(dataset, [look], {"x": "sharpness > 1"})


def test_the_commands_print_the_funnel_save_selections_and_draw_the_curves(looked, tmp_path):
    folder = str(looked.folder)

    def call(*arguments):
        done = CliRunner().invoke(curate, [str(each) for each in arguments], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output

    assert "of 24 pictures are kept" in call("yield", folder, "--selection", "default")
    call("select", folder, "--name", "a", "--selection", "default")
    call("select", folder, "--name", "b", "--where", "sharpness >= 900")
    kept = json.loads(call("yield", folder, "--selection", "b", "--format", "json"))["funnel"]["kept"]
    assert len(pl.read_parquet(looked.folder / "selections" / "b.parquet")) == kept
    assert json.loads(call("diff", folder, "a", "b", "--format", "json"))["entered"] == 0
    call("yield", folder, "--sweep", "sharpness", "--page", tmp_path / "curves.html")
    assert "sharpness, at least" in (tmp_path / "curves.html").read_text()
    assert json.loads(call("why", folder, "k00002"))["stages"][0]["values"]["look_problem"]
