"""Files of labels and of MagicData340K: hostile rows first, then the forms they come in, and Table 5 from a rebuilt file."""

import json

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from row_problems import problem_of

from for_each import for_each
from salon_bench.suites.assessors import (
    MagicDataRow,
    UnreadableRow,
    labels_in,
    magicdata_rows,
    match,
    read_labels,
    statistics,
)
from salon_published import load
from salon_taxonomy.answers import (
    MAGICMIRROR_MENU,
    Artifact,
    MagicMirrorAnswer,
    Parsed,
    Unparsed,
    magicmirror_json,
    render_magicmirror,
)
from salon_taxonomy.errors import InputError
from salon_taxonomy.testing import HOSTILE_REPLIES, magicmirror_answers

NORMAL = '{"Whether Normal": true}'
HOSTILE_CELLS = [None, 7, 1.5, True, [], {}, {"Whether Normal": 1}, {"Whether Normal": True, "x": {}}, *HOSTILE_REPLIES]


def lines(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@for_each("cell", HOSTILE_CELLS)
def test_a_hostile_cell_is_no_label_and_no_exception(cell, tmp_path):
    assert isinstance(labels_in(cell), Unparsed)
    path = lines(tmp_path / "x_test.jsonl", {"images": "1.png", "response": cell}, {"images": "2.png", "response": NORMAL})
    bad, good = magicdata_rows(path)
    assert isinstance(bad, UnreadableRow)
    assert (bad.number, bad.split) == (1, "test")
    assert isinstance(good, MagicDataRow)
    assert "row 1, column 'response'" in str(read_labels(path, truth=True).left_out[0].error)
    assert isinstance(read_labels(path).outcomes["1.png"], Unparsed)


@pytest.mark.parametrize("image", [None, "", " ", [], ["a", "b"], {}, 1.5, True, 10**30])
def test_a_row_that_names_no_image_is_unreadable(image, tmp_path):
    [row] = magicdata_rows(lines(tmp_path / "x.jsonl", {"images": image, "response": NORMAL}))
    assert isinstance(row, UnreadableRow)
    assert "names no image" in row.problem


def test_a_row_without_any_known_column_says_which_are_known(tmp_path):
    [row] = magicdata_rows(lines(tmp_path / "x.jsonl", {"picture": "1.png"}))
    assert isinstance(row, UnreadableRow)
    with pytest.raises(InputError, match="'images'"):
        read_labels(lines(tmp_path / "y.jsonl", {"picture": "1.png"}))


@settings(max_examples=50)
@given(magicmirror_answers())
def test_labels_are_read_from_json_text_from_objects_and_from_whole_replies(answer):
    text = magicmirror_json(answer)
    for cell in (
        text,
        json.loads(text),
        render_magicmirror(answer, "thought"),
        magicmirror_json(answer, key="Type of Abnormality"),
    ):
        assert labels_in(cell).answer == answer


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(
        st.sampled_from(["images", "response", "split", "prompt", "reasoning"]),
        st.none() | st.text() | st.integers() | st.lists(st.text()),
    )
)
def test_any_row_is_a_row_or_an_unreadable_row(tmp_path, row):
    [found] = magicdata_rows(lines(tmp_path / "fuzz.jsonl", row))
    assert isinstance(found, MagicDataRow | UnreadableRow)


def test_a_chain_of_thought_row_keeps_its_reasoning(tmp_path):
    reply = render_magicmirror(MagicMirrorAnswer(True), "Five fingers.")
    [row] = magicdata_rows(lines(tmp_path / "CoT.jsonl", {"images": ["1.png"], "response": reply, "prompt": "A hand."}))
    assert (row.reasoning, row.split, row.prompt, row.image) == ("Five fingers.", "cot", "A hand.", "1.png")


def test_reasoning_may_stand_in_a_column_of_its_own(tmp_path):
    reply = render_magicmirror(MagicMirrorAnswer(True), "Five fingers.")
    rows = [
        {"images": "1.png", "response": NORMAL, "reasoning": "All is whole."},
        {"images": "2.png", "response": reply, "reasoning": "All is whole."},
        {"images": "3.png", "response": render_magicmirror(MagicMirrorAnswer(True), ""), "reasoning": "All is whole."},
        {"images": "4.png", "response": NORMAL, "reasoning": " "},
        {"images": "5.png", "response": NORMAL, "reasoning": None},
    ]
    read = magicdata_rows(lines(tmp_path / "x.jsonl", *rows))
    assert [row.reasoning for row in read] == ["All is whole.", "Five fingers.", "All is whole.", None, None]


@pytest.mark.parametrize("reasoning", ["So </THINK> it is.", "<think>", 7, ["All is whole."]])
def test_reasoning_that_no_answer_can_carry_makes_an_unreadable_row(tmp_path, reasoning):
    [row] = magicdata_rows(lines(tmp_path / "x.jsonl", {"images": "1.png", "response": NORMAL, "reasoning": reasoning}))
    assert isinstance(row, UnreadableRow)
    assert (row.column, row.value) == ("reasoning", reasoning)


def test_parquet_with_the_same_columns_is_read(tmp_path):
    pl.DataFrame({"images": [["1.png"]], "response": [NORMAL], "split": ["Train"]}).write_parquet(tmp_path / "part-0.parquet")
    [row] = magicdata_rows(tmp_path / "part-0.parquet")
    assert (row.image, row.split) == ("1.png", "train")


def test_parquet_with_embedded_pictures_is_read_by_their_paths(tmp_path):
    cells = {"image": [{"bytes": b"\x89PNG", "path": "1.png"}, {"bytes": b"", "path": None}], "response": [NORMAL, NORMAL]}
    pl.DataFrame(cells).write_parquet(tmp_path / "test-0.parquet")
    good, bad = magicdata_rows(tmp_path / "test-0.parquet")
    assert isinstance(good, MagicDataRow)
    assert good.image == "1.png"
    assert isinstance(bad, UnreadableRow)


def test_the_split_is_the_argument_then_the_column_then_the_files_name(tmp_path):
    rows = [{"images": "1", "response": NORMAL, "split": "cot"}, {"images": "2", "response": NORMAL}]
    path = lines(tmp_path / "train.jsonl", *rows)
    assert [row.split for row in magicdata_rows(path)] == ["cot", "train"]
    assert [row.split for row in magicdata_rows(path, split="test")] == ["test", "test"]
    both = lines(tmp_path / "train_and_test.jsonl", rows[1])
    assert [row.split for row in magicdata_rows(both)] == [None]
    with pytest.raises(InputError, match="train, test, cot"):
        list(magicdata_rows(path, split="dev"))


def test_an_image_that_stands_twice_is_a_typed_error(tmp_path):
    path = lines(tmp_path / "x.jsonl", {"id": 1, "response": NORMAL}, {"id": "1", "response": NORMAL})
    assert "row 2: the image occurs twice: '1'" in str(problem_of(read_labels, path))


def test_an_empty_file_is_a_typed_error(tmp_path):
    with pytest.raises(InputError, match="there is no row"):
        read_labels(lines(tmp_path / "x.jsonl"))


def test_answers_are_taken_from_output_before_response(tmp_path):
    row = {"images": "1", "response": NORMAL, "output": render_magicmirror(MagicMirrorAnswer(False), "odd")}
    path = lines(tmp_path / "x.jsonl", row)
    assert read_labels(path, truth=True).answers()["1"].normal is True
    assert read_labels(path).answers()["1"].normal is False


def test_a_missing_answer_is_not_reported_and_a_strange_one_is_refused(tmp_path):
    truth = read_labels(lines(tmp_path / "t.jsonl", *({"id": n, "labels": NORMAL} for n in "ab")), truth=True)
    _, answers = match(truth, read_labels(lines(tmp_path / "a.jsonl", {"id": "b", "answer": NORMAL})))
    assert isinstance(answers[0], Unparsed)
    assert answers[0].reason.value == "not_reported"
    assert isinstance(answers[1], Parsed)
    with pytest.raises(InputError, match="no truth about the image 'c'"):
        match(truth, read_labels(lines(tmp_path / "c.jsonl", {"id": "c", "answer": NORMAL})))


# ------------------------------------------------------------------------------------------------- Table 5 of the paper


def rebuilt_split(split):
    """Rows whose label counts are those that Table 5 prints for one split: labels dealt out over the artifact images."""
    table = load("magicmirror:5")
    count = {label: int(number) for label, number in zip(table["label"], table[split], strict=True)}
    artifacts = [{} for _ in range(count["Artifacts"])]
    start = 0
    for l2, cases in MAGICMIRROR_MENU.items():
        chosen = [artifacts[(start + n) % len(artifacts)] for n in range(count[l2])]
        start += count[l2]
        for image in chosen:
            image[l2] = []
        place = 0
        for l3 in cases:
            for n in range(count[l3]):
                chosen[(place + n) % len(chosen)][l2].append(l3)
            place += count[l3]
    answers = [MagicMirrorAnswer(True)] * count["Normal"]
    answers += [MagicMirrorAnswer(False, tuple(Artifact(l2, tuple(l3)) for l2, l3 in image.items())) for image in artifacts]
    return count, [{"images": f"{n}.png", "response": magicmirror_json(answer)} for n, answer in enumerate(answers)]


@pytest.mark.parametrize("split", ["test", "cot"])
def test_the_counts_of_table_5_come_back_from_a_file_that_has_them(split, tmp_path):
    count, rows = rebuilt_split(split)
    result = statistics(magicdata_rows(lines(tmp_path / f"magic_mirror_data_{split}.jsonl", *rows)))
    assert dict(zip(result.table["label"], result.table[split], strict=True)) == count
    assert result.table["label"].to_list() == load("magicmirror:5")["label"].to_list()
    assert (result.unreadable, result.artifacts_without_label) == ({}, 0)


def test_shares_are_of_the_images_with_artifacts_and_bare_artifacts_are_counted(tmp_path):
    rows = [
        {"images": "1", "response": '{"Whether Normal": false, "Type of Deformity": {"L2: Abnormal Object Morphology": true}}'},
        {"images": "2", "response": '{"Whether Normal": false, "Type of Deformity": {}}'},
        {"images": "3", "response": NORMAL},
        {"images": "4", "response": "?"},
    ]
    result = statistics(magicdata_rows(lines(tmp_path / "x.jsonl", *rows)))
    [row] = result.table.filter(pl.col("label") == "L2: Abnormal Object Morphology").iter_rows(named=True)
    assert (row["total"], row["share"], row["no_split"]) == (1, 50.0, 1)
    assert (result.artifacts_without_label, result.unreadable) == (1, {"no_split": 1})
    assert result.first_unreadable[0].number == 4
