"""Selections: conditions against a plain count, sweeps against selections, differences with their cause."""

import json
import math

import polars as pl
import pytest
from click.testing import CliRunner
from curate_world import drawn, jpeg, made
from hypothesis import given, settings
from hypothesis import strategies as st

from salon_curate import asks
from salon_curate.cli import curate
from salon_curate.engine import inline
from salon_curate.judging import judge_stage
from salon_curate.measures import fields, look
from salon_curate.pages import yield_page, yield_section
from salon_curate.pipeline import LOOK, PIPELINE
from salon_curate.running import run
from salon_curate.selection import (
    LIGHT,
    YieldCurve,
    diff,
    predicate,
    read_columns,
    save_selection,
    saved_predicates,
    select,
    sweep,
    with_readable,
)
from salon_curate.stages import Stage, stage
from salon_synthetic import PixelJudge
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


@pytest.mark.parametrize("column", [*LIGHT, "look_problem", "width"])
def test_a_condition_may_name_every_column_alone_or_beside_others(looked, column):
    frame = read_columns(looked, [look], [column, "contrast", "problem"]).collect()
    # The row whose file is no picture is out, unless a condition is about problems.
    asked_for = column in ("problem", "look_problem")
    expected = [
        value is not None and (asked_for or problem is None)
        for value, problem in zip(frame[column], frame["problem"], strict=True)
    ]
    assert select(looked, [look], {"x": f"{column} IS NOT NULL"}).mask.tolist() == expected
    both = select(looked, [look], {"x": f"{column} IS NOT NULL", "y": "contrast > 1 OR contrast IS NULL"})
    assert both.rows == len(frame) and both.kept == sum(expected)


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
    assert found.by_predicate["readable"] == (1, 0, 0)  # the conditions fail it as well
    for name, hold in zip(predicates, holds, strict=True):
        failed, null, only = found.by_predicate[name]
        assert failed + null == (~hold).sum() and null == 1 and only <= failed + null


def test_every_point_of_a_sweep_is_the_selection_at_that_threshold(looked):
    predicates = {"wide": "width >= 10", "sharp": "sharpness >= 100"}
    for curve in sweep(looked, [look], predicates, ["sharpness", "contrast"], points=7):
        others = {name: sql for name, sql in predicates.items() if curve.column not in sql}
        for at, kept in zip(curve.thresholds, curve.kept, strict=True):
            assert select(looked, [look], {**others, "at": f"{curve.column} >= {at!r}"}).kept == kept


def test_a_sweep_has_as_many_points_as_asked_for_from_the_smallest_to_the_largest_value(looked):
    values = read_columns(looked, [look], ["contrast"]).collect()["contrast"].drop_nulls()
    for points in (2, 3, 8):
        [curve] = sweep(looked, [look], {}, ["contrast"], points=points)
        assert len(curve.thresholds) == len(curve.kept) == len(curve.low) == len(curve.high) == len(curve.unknown) == points
        assert (curve.thresholds[0], curve.thresholds[-1]) == (values.min(), values.max())
        assert (curve.kept[0], curve.kept[-1]) == (len(values), (values == values.max()).sum())
    for points in (1, 0, -1):
        with pytest.raises(InputError, match="must be 2 or more"):
            sweep(looked, [look], {}, ["contrast"], points=points)


def test_a_sweep_counts_the_rows_about_which_nobody_was_asked(looked):
    """Below the threshold of a stage's ``when`` the curve is flat because the judge was not asked."""
    stage = judge_stage(asks.alignment(), PixelJudge(), when="sharpness >= 700")
    run(looked, [look, stage])
    frame = read_columns(looked, [look, stage], ["sharpness", "alignment"]).collect()
    [curve] = sweep(looked, [look, stage], {"aligned": "alignment >= 0"}, ["sharpness"], points=9)
    for at, kept, unknown in zip(curve.thresholds, curve.kept, curve.unknown, strict=True):
        rows = frame.filter(pl.col("sharpness") >= at)
        assert (kept, unknown) == (rows["alignment"].count(), rows["alignment"].null_count())
    assert curve.unknown[0] >= (frame["sharpness"] < 700).sum() > 0


ODD = [math.nan, math.inf, -math.inf, 0.1, 60.1, None, 1e30, -0.0]


def test_no_value_that_is_no_number_passes_a_threshold_and_selections_sweeps_and_drift_agree(tmp_path):
    @stage(version="1", reads=[], writes={"small": pl.Float32, "large": pl.Float64})
    def odd(batch):
        values = [ODD[int(key[1:]) % len(ODD)] for key in batch["key"]]
        return batch.select("key", pl.Series("small", values, pl.Float32), pl.Series("large", values, pl.Float64))

    import salon_curate.measures as module

    module.odd = odd
    odd = Stage(odd.name, odd.version, odd.reads, odd.writes, odd.function, "salon_curate.measures:odd")
    dataset = made(tmp_path / "d", drawn(tmp_path / "in", 2))
    run(dataset, [odd], engine=inline)
    found = read_columns(dataset, [odd], ["small", "large", "odd_problem"]).collect()
    assert not found["small"].is_nan().any() and not found["large"].is_nan().any()
    assert found.filter(pl.col("key") == "k00000")["odd_problem"].item() == "small is not a number"
    for column in ("small", "large"):
        plain = [float(value) for value in found[column].drop_nulls()]
        for at in ("-1e999", "-1", "0", "0.1", "60.1", "1e30"):
            assert select(dataset, [odd], {"x": f"{column} >= {at}"}).kept + select(
                dataset, [odd], {"x": f"{column} < {at}"}
            ).kept == len(plain), (column, at)
        [curve] = sweep(dataset, [odd], {}, [column], points=9)
        assert all(map(math.isfinite, curve.thresholds))
        assert list(curve.kept) == [sum(value >= at for value in plain) for at in curve.thresholds]
        assert [select(dataset, [odd], {"x": f"{column} >= {at!r}"}).kept for at in curve.thresholds] == list(curve.kept)


@pytest.mark.parametrize("sql", [
    "MAX(sharpness) > 5", "sharpness >= AVG(sharpness)", "COUNT(key) > 3",
    "FIRST(sharpness) > 1", "sharpness > MEDIAN(sharpness)",
    "RANK() OVER (ORDER BY sharpness) <= 3", "SUM(sharpness) OVER () > 3",
    "LAG(sharpness) OVER (ORDER BY key) > 1",
    "UNNEST(key) = 'x'", "STDDEV(contrast) < sharpness", "sharpness > 1, contrast > 2", "sharpness > 1; contrast > 2",
])  # fmt: skip
def test_a_condition_that_depends_on_other_rows_is_refused_wherever_conditions_are_read(looked, sql):
    """A selection sees all rows and a stage's ``when`` 64 at once, so such a condition would mean two things."""
    for use in (lambda: select(looked, [look], {"x": sql}), lambda: judge_stage(asks.alignment(), PixelJudge(), when=sql),
                lambda: sweep(looked, [look], {"x": sql}, ["noise"])):  # fmt: skip
        with pytest.raises(InputError, match="column 'where'"):
            use()


def test_a_selection_that_was_not_saved_is_refused_with_the_command_that_saves_it(looked):
    with pytest.raises(InputError, match="there is no saved selection 'v9'") as caught:
        saved_predicates(looked, "v9")
    assert str(caught.value).endswith(f"Save one: salon curate select {looked.folder} --name v9 --selection default")


def test_a_difference_of_selections_without_conditions_is_refused(looked):
    for old, new in (({}, {}), ({}, {"x": "contrast > 1"}), ({"x": "contrast > 1"}, {})):
        with pytest.raises(InputError, match="at least one condition"):
            diff(looked, [look], old, new)


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
        ("near_duplicate_of IS NULL", 'use = "duplicates"'),
        ("sharpness >= 'a lot'", "the condition cannot be applied"),
        ("key >= 5", "the condition cannot be applied"),
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


def test_no_name_of_a_column_is_the_title_of_an_axis_and_no_name_is_markup(tmp_path):
    """A title cannot wrap: on a phone a long one leaves no width for the plot."""
    names = ["n" * 90, "<script>alert(1)</script>", "a'b\"c", "שלום", "${x}", "</script>"]
    curves = [YieldCurve(name, 4, (1e-9, 1e12), (4, 1), (0.5, 0.1), (1.0, 0.7), (0, 2)) for name in names]
    yield_page(curves, tmp_path / "p.html")
    text = (tmp_path / "p.html").read_text()
    assert "<script>alert" not in text and text.count("</script>") == text.count("<script")
    for curve in curves:
        [figure] = yield_section([curve]).blocks
        assert curve.column in figure.caption and figure.caption.endswith("up to 2 more rows, as a judge was not asked.")
        assert curve.column not in f"{figure.chart.title} {figure.chart.across}"
        assert list(figure.chart.lines[0].points.items()) == [(1e-9, 1.0), (1e12, 0.25)]


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
    conditions = ["--where", "sharpness >= 700", "--where", "contrast > 1"]
    for words, wanted in ((conditions, "conditions"), ([*conditions, "--sweep", "noise", "--points", 5], "curves")):
        call("yield", folder, *words, "--output", tmp_path / f"{wanted}.json")
        call("yield", folder, *words, "--output", tmp_path / f"{wanted}.csv")
        document = json.loads((tmp_path / f"{wanted}.json").read_text())
        assert len(document["funnel"]["conditions"]) == 3 and len(document["curves"]) == (wanted == "curves")
        written = pl.read_csv(tmp_path / f"{wanted}.csv")
        assert len(written) == {"conditions": 3, "curves": 5}[wanted]
        assert ("threshold" in written.columns) == (wanted == "curves"), written.columns
    assert "where sharpness is at least" in (tmp_path / "curves.html").read_text()
    assert json.loads(call("why", folder, "k00002"))["stages"][0]["values"]["look_problem"]


def test_a_condition_beside_a_selection_replaces_none_whose_name_is_its_text(tmp_path):
    """The selection's condition `good` asks for more than the column of that name."""
    rows = [{"key": f"k{number}", "image": "a.png", "good": True, "score": number} for number in range(4)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "a.png").write_bytes(jpeg())
    dataset = made(tmp_path / "d", tmp_path / "rows.jsonl")
    (dataset.folder / PIPELINE).write_text(
        '[[stage]]\nuse = "fields"\nparameters = { good = "bool", score = "int" }\n'
        '[selection.default]\ngood = "good AND score >= 2"\n"score < 9" = "score < 9"\n'
    )
    run(dataset, [fields(good="bool", score="int")], engine=inline)
    words = ["yield", str(dataset.folder), "--selection", "default", "--format", "json"]
    for beside in ([], ["--where", "good"], ["--where", "good", "--where", "score < 9", "--where", "good"]):
        told = CliRunner().invoke(curate, [*words, *beside], catch_exceptions=False).output
        funnel = json.loads(told)["funnel"]
        assert funnel["kept"] == 2, beside
        assert len(funnel["conditions"]) == 3 + bool(beside)


def test_a_saved_selection_is_text_that_people_can_read_and_says_what_was_selected(tmp_path):
    dataset = made(tmp_path / "d", drawn(tmp_path / "in", 2))
    run(dataset, [look], engine=inline)
    conditions = {"größer": "contrast > 1", "nicht leer": "prompt <> 'größer'"}
    found = select(dataset, [look], conditions, "v1")
    path = save_selection(dataset, [look], found)
    text = path.read_text(encoding="utf-8")
    assert "größer" in text and "\\u" not in text and text.endswith("}\n") and len(text.splitlines()) > len(conditions)
    document = json.loads(text)
    assert document["predicates"] == with_readable([look], conditions)
    assert (document["rows"], document["kept"]) == (dataset.rows, int(found.mask.sum()))
    counts = {name: tuple(each[word] for word in ("failed", "null", "only")) for name, each in document["counts"].items()}
    assert counts == {name: tuple(each) for name, each in found.by_predicate.items()}
