"""Files of MagicData340K's schema become examples; a row that cannot is reported with file, row, column, value, and counted."""

import json
import os
import struct
import zlib
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from for_each import for_each
from salon_taxonomy.answers import Artifact, MagicMirrorAnswer, magicmirror_json, render_magicmirror
from salon_taxonomy.errors import InputError
from salon_taxonomy.testing import HOSTILE_REPLIES
from salon_taxonomy.training_example import TrainingExample
from salon_train.data import (
    Look,
    RowFault,
    SplitExample,
    UnusableRow,
    count,
    example_rows,
    grpo_dataset,
    published_counts,
    read_examples,
)
from salon_train.sampling import Ratio

HAND = MagicMirrorAnswer(False, (Artifact("L2: Abnormal Human Anatomy", ("L3: Hand Structure Deformity",)),))
NORMAL = MagicMirrorAnswer(True)


@pytest.fixture
def folder(tmp_path) -> Path:
    for number in range(4):
        Image.new("RGB", (8, 8), (number, 0, 0)).save(tmp_path / f"{number}.png")
    return tmp_path


def written(path: Path, *rows: object) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def row(image="0.png", answer=NORMAL, **more) -> dict:
    return {"images": image, "response": magicmirror_json(answer), **more}


def unusable(path: Path, *rows: object, look=Look.EXISTS) -> UnusableRow:
    (found,) = example_rows(written(path, *rows), look=look)
    assert isinstance(found, UnusableRow)
    return found


@for_each("cell", HOSTILE_REPLIES)
def test_a_hostile_cell_of_labels_is_an_unusable_row_and_nothing_is_raised(tmp_path, cell):
    found = unusable(tmp_path / "train.jsonl", {"images": "0.png", "response": cell}, look=Look.NOT)
    assert (found.fault, found.column, found.number, found.value) == (RowFault.ROW, "response", 1, cell)
    assert len(str(found)) < 800
    assert str(found).isprintable()


@given(
    st.dictionaries(
        st.sampled_from(["images", "response", "prompt", "split", "reasoning", "hard_positive"]),
        st.from_type(type(None)) | st.booleans() | st.integers() | st.text() | st.lists(st.text()),
    )
)
@settings(deadline=None)
def test_any_row_is_an_example_or_says_why_not(tmp_path_factory, cells):
    path = written(tmp_path_factory.mktemp("rows") / "x.jsonl", cells)
    (found,) = example_rows(path, look=Look.OPENS)
    assert isinstance(found, SplitExample | UnusableRow)
    assert str(found)


def test_every_column_becomes_a_part_of_the_example(folder):
    reply = render_magicmirror(HAND, "Six fingers.")
    path = written(
        folder / "all.jsonl",
        {"images": ["0.png"], "response": reply, "prompt": "a hand", "split": "cot"},
        row("1.png", hard_positive=True, split="train"),
    )
    first, second = read_examples(path).rows
    assert first.example == TrainingExample("0.png", folder / "0.png", HAND, "a hand", "Six fingers.")
    assert (first.split, second.split) == ("cot", "train")
    assert (second.example.hard_positive, second.example.reasoning, second.example.prompt) == (True, None, None)


def test_the_split_comes_from_the_files_name_or_from_the_caller(folder):
    path = written(folder / "magic_mirror_data_test.jsonl", row())
    assert read_examples(path).rows[0].split == "test"
    assert read_examples(path, split="train").rows[0].split == "train"


@pytest.mark.parametrize(
    ("cells", "column", "value", "problem"),
    [
        ({"response": "{}"}, None, None, "has none of the columns id, image, images"),
        ({"images": "0.png"}, "response", None, "are no labels"),
        ({"images": 1.5, "response": "{}"}, "images", 1.5, "names no image"),
        (row(prompt=7), "prompt", 7, "must hold text"),
        (row(hard_positive="perhaps"), "hard_positive", "perhaps", "must be true or false"),
        (row(answer=HAND, hard_positive=True), "hard_positive", True, "a hard positive is a normal image"),
        (row("gone.png"), "images", "gone.png", "there is no such file"),
        (row("../0.png"), "images", "../0.png", "outside the folder"),
        (row("/etc/passwd"), "images", "/etc/passwd", "outside the folder"),
        (row("\x00"), "images", "\x00", "no file can have such a name"),
        (row("x" * 5000), "images", "x" * 5000, "no file can have such a name"),
        (row("."), "images", ".", "not a plain file"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_an_unusable_row_names_file_row_column_and_value(folder, cells, column, value, problem):
    found = unusable(folder / "train.jsonl", cells)
    assert (found.source.name, found.number, found.column, found.value) == ("train.jsonl", 1, column, value)
    assert problem in found.problem
    assert str(found).startswith(f"{folder}/train.jsonl, row 1" + (f", column '{column}': " if column else ": "))


def bomb() -> bytes:
    """A PNG of a hundred bytes that says it has ten billion pixels."""
    head = struct.pack(">IIBBBBB", 100_000, 100_000, 8, 0, 0, 0, 0)
    chunks = [(b"IHDR", head), (b"IDAT", zlib.compress(b"\x00")), (b"IEND", b"")]
    body = b"".join(struct.pack(">I", len(d)) + n + d + struct.pack(">I", zlib.crc32(n + d)) for n, d in chunks)
    return b"\x89PNG\r\n\x1a\n" + body


def test_pictures_that_cannot_be_opened_are_found_when_they_are_looked_at(folder):
    (folder / "bomb.png").write_bytes(bomb())
    (folder / "cut.png").write_bytes((folder / "0.png").read_bytes()[:40])
    (folder / "text.png").write_text("not a picture")
    (folder / "empty.png").write_bytes(b"")
    os.mkfifo(folder / "pipe.png")
    (folder / "out.png").symlink_to("/etc/hostname")
    names = ["bomb", "cut", "text", "empty", "pipe", "out"]
    path = written(folder / "train.jsonl", row(), *(row(f"{name}.png") for name in names))
    found = read_examples(path, look=Look.OPENS)
    assert found.unusable == {RowFault.PICTURE: 6}
    said = [each.problem for each in found.first_unusable]
    wanted = ["100,000 × 100,000 pixels", "damaged", "none of the picture formats", "empty", "not a plain file", "outside"]
    assert all(want in text for want, text in zip(wanted, said, strict=True))
    assert len(read_examples(path, look=Look.NOT).rows) == 7
    assert read_examples(path, look=Look.EXISTS).unusable == {RowFault.PICTURE: 2}


@pytest.mark.parametrize("orientation", [None, 1, 3, 6, 8])
def test_a_picture_is_measured_upright_as_it_is_learned_from(tmp_path, orientation):
    """A camera writes the sensor's rows and how to turn them; `datasets` turns them for the model that learns."""
    from salon_train.run.greedy import picture_of

    picture, exif = Image.linear_gradient("L").convert("RGB").resize((48, 32)), Image.Exif()
    if orientation is not None:
        exif[0x0112] = orientation
    picture.save(tmp_path / "0.png", exif=exif)
    example = TrainingExample("0.png", tmp_path / "0.png", NORMAL)
    learned, measured = grpo_dataset([example])[0]["images"][0], picture_of(example)
    assert measured.size == ((32, 48) if orientation in (6, 8) else (48, 32))
    assert (measured.mode, measured.tobytes()) == (learned.mode, learned.tobytes())


def test_pictures_may_stand_in_a_folder_of_their_own(folder):
    path = written(folder / "lists" / "train.jsonl", row()) if (folder / "lists").mkdir() is None else None
    with pytest.raises(InputError, match=r"there is no usable row\nThe first row that cannot be used: .*no such file"):
        read_examples(path)
    assert read_examples(path, folder).examples[0].image == folder / "0.png"
    with pytest.raises(InputError, match="there is no such folder of pictures"):
        read_examples(path, folder / "nowhere")


def test_a_picture_that_stands_twice_is_used_once(folder):
    path = written(folder / "train.jsonl", row(), row("1.png"), row())
    found = read_examples(path)
    assert [example.example_id for example in found.examples] == ["0.png", "1.png"]
    assert found.unusable == {RowFault.REPEATED: 1}
    assert "the picture also stands in row 1 of train.jsonl, with the same labels: '0.png'" in str(found.first_unusable[0])


def test_a_picture_with_two_truths_is_not_used_at_all(folder):
    path = written(folder / "train.jsonl", row(), row("1.png"), row(answer=HAND), row())
    found = read_examples(path)
    assert [example.example_id for example in found.examples] == ["1.png"]
    assert found.unusable == {RowFault.CONTRADICTION: 3}
    assert "in row 3 of train.jsonl, with other labels" in str(found.first_unusable[0])


def test_labels_in_another_order_are_no_contradiction(folder):
    several = (Artifact("L2: Abnormal Object Morphology"), *HAND.artifacts)
    one, other = MagicMirrorAnswer(False, several), MagicMirrorAnswer(False, several[::-1])
    found = read_examples(written(folder / "train.jsonl", row(answer=one), row(answer=other)))
    assert found.unusable == {RowFault.REPEATED: 1}


def test_a_copy_under_another_name_is_found_where_pictures_are_opened(folder):
    (folder / "copy.png").write_bytes((folder / "0.png").read_bytes())
    path = written(folder / "train.jsonl", row(), row("copy.png", HAND), row("1.png"))
    assert read_examples(path, look=Look.OPENS).unusable == {RowFault.CONTRADICTION: 2}
    assert not read_examples(path, look=Look.EXISTS).unusable


@pytest.mark.parametrize("look", Look)
def test_pictures_of_one_name_in_two_folders_are_two_pictures(tmp_path, look):
    files = []
    for number, answer in enumerate([NORMAL, HAND]):
        (tmp_path / str(number)).mkdir()
        Image.new("RGB", (8, 8), (number, 0, 0)).save(tmp_path / str(number) / "0.png")
        files.append(written(tmp_path / str(number) / "train.jsonl", row(answer=answer)))
    found = read_examples(files, look=look)
    assert [example.truth for example in found.examples] == [NORMAL, HAND] and not found.unusable
    assert read_examples([files[0], files[0]], look=look).unusable == {RowFault.REPEATED: 1}


def test_pictures_in_two_splits_are_counted_and_kept(folder):
    train = written(folder / "train.jsonl", row(), row("1.png"), row("2.png", HAND))
    test = written(folder / "test.jsonl", row("1.png"), row("3.png"))
    cot = written(folder / "cot.jsonl", row("2.png", HAND))
    found = read_examples([train, test, cot])
    assert len(found.rows) == 6
    assert found.shared == {("test", "train"): 1, ("cot", "train"): 1}


def test_too_many_unusable_rows_stop_the_reading_and_strict_stops_at_the_first(folder):
    path = written(folder / "train.jsonl", row(), *[row("gone.png")] * 30)
    found = read_examples(path)
    assert found.unusable == {RowFault.PICTURE: 30}
    assert len(found.first_unusable) == 20
    with pytest.raises(InputError, match=r"more than 10 rows cannot be used; reading stopped\nThe first: .*row 2"):
        read_examples(path, most_unusable=10)
    with pytest.raises(InputError, match=r"row 2, column 'images': there is no such file: 'gone.png'"):
        read_examples(path, strict=True)
    assert read_examples(path, most_unusable=None).unusable.total() == 30


def test_a_watcher_is_told_how_far_it_is(folder):
    seen = []
    read_examples(written(folder / "train.jsonl", row(), row("1.png")), watch=seen.append)
    assert seen == [1, 2]


def drawn(normal: int, hand: int, split: str = "train") -> list[SplitExample]:
    answers = [NORMAL] * normal + [HAND] * hand
    return [
        SplitExample(TrainingExample(f"{number}", b"", answer), split, Path("x"), number)
        for number, answer in enumerate(answers)
    ]


def test_counts_stand_beside_the_published_ones():
    counts = count(drawn(30, 10) + drawn(2, 3, "cot"))
    assert counts.labels.columns == ["label", "total", "share", "train", "published_train", "cot", "published_cot"]
    by_label = {line["label"]: line for line in counts.labels.to_dicts()}
    assert by_label["L3: Hand Structure Deformity"] == {
        "label": "L3: Hand Structure Deformity",
        "total": 13,
        "share": 100.0,
        "train": 10,
        "published_train": 50_959,
        "cot": 3,
        "published_cot": 269,
    }
    assert by_label["Total"]["published_train"] == 325_238


def test_buckets_say_how_often_each_example_comes_up():
    lines = {line["bucket"]: line for line in count(drawn(30, 10)).buckets.to_dicts()}
    assert lines["normal"] == {"bucket": "normal", "examples": 30, "share": 75.0, "drawn": 50.0, "passes": pytest.approx(2 / 3)}
    assert lines["L2: Abnormal Human Anatomy"]["passes"] == 0.5
    assert lines["L2: Abnormal Animal Anatomy"]["passes"] is None
    assert lines["other"]["drawn"] == 0
    other = {
        line["bucket"]: line["drawn"] for line in count(drawn(1, 1), ratio=Ratio({"normal": 1, "other": 1})).buckets.to_dicts()
    }
    assert other["other"] == other["normal"] == 50


def test_counts_without_examples_are_noughts():
    counts = count([])
    assert counts.labels["total"].sum() == 0
    assert counts.buckets["share"].to_list() == [None] * 6


@pytest.mark.parametrize("split", ["train", "test", "cot"])
def test_the_published_counts_are_table_5s(split):
    from importlib.resources import files

    lines = (files("salon_published") / "data" / "magicmirror-5.csv").read_text().splitlines()
    place = lines[0].split(",").index(next(name for name in lines[0].split(",") if name.lower() == split))
    table = {cells[0]: int(cells[place]) for cells in (line.split(",") for line in lines[1:])}
    assert published_counts(split) == table


def test_the_drawn_worlds_examples_can_be_counted():
    from salon_synthetic.artifacts import draw_examples

    rows = [SplitExample(example, None, Path("world"), 1) for example in draw_examples(60, seed=1)]
    counts = count(rows)
    assert counts.buckets["examples"].sum() >= 60
    assert counts.reasoned == 60
    assert Counter(row.example.buckets[0] for row in rows)["normal"] == counts.buckets["examples"][0]
