"""Released sets of preferences are read as their authors wrote them; TRL's collator reads what is written for it."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from PIL import Image

from salon_ranking.agreement import AgreementError
from salon_ranking.preferences import trl_rows
from salon_taxonomy.errors import InputError
from salon_train.data.preferences import EncodedPicture, picture, read_preferences


def drawn(shade: int, kind: str = "png") -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (16, 16), (shade, 10, 200)).save(stream, kind)
    return stream.getvalue()


def placed(folder: Path, *names: str) -> None:
    for number, name in enumerate(names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(drawn(40 * number))


def written(folder: Path, name: str, rows: list[dict[str, Any]]) -> Path:
    path = folder / name
    if path.suffix == ".parquet":
        pl.DataFrame(rows).write_parquet(path)
    elif path.suffix == ".csv":
        pl.DataFrame(rows).write_csv(path)
    else:
        path.write_text(json.dumps(rows))
    return path


def told(path: Path) -> list[tuple[str, str, str, tuple[float, float, float]]]:
    root = f"{path.parent}/"
    return sorted(
        (pair.prompt, str(pair.chosen).removeprefix(root), str(pair.rejected).removeprefix(root), pair.votes)
        for pair in read_preferences(path)
    )


def test_hpdv3_prefers_path1_and_has_votes_where_they_are_known(tmp_path: Path):
    placed(tmp_path, *(f"images/{name}.jpg" for name in "abcdef"))
    rows = [
        {"prompt": "a cat", "choice_dist": [12, 7], "confidence": 0.99, "path1": "images/a.jpg", "path2": "images/b.jpg"},
        {"prompt": "a dog", "choice_dist": [1, 8], "confidence": 0.99, "path1": "images/d.jpg", "path2": "images/c.jpg"},
        {"prompt": "the sea", "choice_dist": None, "confidence": None, "path1": "images/e.jpg", "path2": "images/f.jpg"},
    ]
    models = {"model1": "midjourney", "model2": "midjourney"}
    assert told(written(tmp_path, "all.json", [row | models for row in rows])) == [
        ("a cat", "images/a.jpg", "images/b.jpg", (12.0, 7.0, 0.0)),
        ("a dog", "images/d.jpg", "images/c.jpg", (8.0, 1.0, 0.0)),
        ("the sea", "images/e.jpg", "images/f.jpg", (1.0, 0.0, 0.0)),
    ]
    test = [{name: row[name] for name in ("prompt", "path1", "path2")} | models for row in rows]
    assert [row[1:3] for row in told(written(tmp_path, "test.json", test))] == [
        ("images/a.jpg", "images/b.jpg"),
        ("images/d.jpg", "images/c.jpg"),
        ("images/e.jpg", "images/f.jpg"),
    ]


def test_imagerewarddb_metadata_gives_all_pairs_of_a_prompt(tmp_path: Path):
    names = [f"images/train/train_1/{name}.webp" for name in "abc"]
    placed(tmp_path, *names)
    ranks = [2, 1, 2]
    rows = [
        {
            "image_path": name,
            "prompt_id": "0-0",
            "prompt": "a cat",
            "image_amount_in_total": 3,
            "rank": rank,
            "overall_rating": 5,
        }
        for name, rank in zip(names, ranks, strict=True)
    ]
    for name in ("metadata-train.parquet", "train_1.json"):
        found = told(written(tmp_path, name, rows))
        assert [row[1:] for row in found if row[3][2] == 0] == [
            (names[1], names[0], (1.0, 0.0, 0.0)),
            (names[1], names[2], (1.0, 0.0, 0.0)),
        ]
        assert [({*row[1:3]}, row[3]) for row in found if row[3][2]] == [({names[0], names[2]}, (0.0, 0.0, 1.0))]


def test_pick_a_pic_has_its_pictures_inside_and_rows_without_a_label_teach_nothing(tmp_path: Path):
    def row(number: int, label: float, *, has_label: bool = True) -> dict[str, Any]:
        pictures = {f"jpg_{side}": drawn(100 * number + side, "jpeg") for side in (0, 1)}
        uids = {f"image_{side}_uid": f"u{number}{side}" for side in (0, 1)}
        facts = {"label_0": label, "label_1": 1 - label, "has_label": has_label, "are_different": True, "user_id": 3}
        return {"caption": f"cat {number}", **pictures, **uids, **facts}

    path = written(
        tmp_path, "test-00000-of-00014.parquet", [row(0, 1.0), row(1, 0.0), row(2, 0.5), row(2, 1.0, has_label=False)]
    )
    assert told(path)[:2] == [("cat 0", "u00", "u01", (1.0, 0.0, 0.0)), ("cat 1", "u11", "u10", (1.0, 0.0, 0.0))]
    assert [pair[3] for pair in told(path)[2:]] == [(0.0, 0.0, 1.0)]
    first = read_preferences(path)[1]
    assert isinstance(first.chosen, EncodedPicture) and picture(first.chosen).getpixel((8, 8))[0] == pytest.approx(101, abs=4)
    broken = {**row(0, 1.0), "jpg_0": b"no picture"}
    unreadable = read_preferences(written(tmp_path, "broken.parquet", [broken]))[0].chosen
    with pytest.raises(InputError, match="u00: cannot be used as a picture"):
        picture(unreadable)
    outside = {name: value for name, value in row(0, 1.0).items() if not name.startswith("jpg")}
    with pytest.raises(InputError, match="no such picture"):
        read_preferences(written(tmp_path, "no_images.parquet", [outside]))


def test_bad_rows_are_named_and_videos_refused(tmp_path: Path):
    placed(tmp_path, "a.jpg", "b.jpg")
    row = {"prompt": "a cat", "path1": "a.jpg", "path2": "b.jpg", "choice_dist": [3, 1]}
    for change, error, problem in (
        ({"path2": "gone.jpg"}, InputError, "pair 2 has no such picture.*gone.jpg"),
        ({"path2": "a.jpg"}, InputError, "pair 2 has one picture twice"),
        ({"choice_dist": [3, "1"]}, AgreementError, "row 2, column 'choice_dist'"),
        ({"prompt": " "}, AgreementError, "row 2, column 'prompt'"),
    ):
        with pytest.raises(error, match=problem):
            read_preferences(written(tmp_path, "all.json", [row, row | change]))
    bad = [{"path2": "gone.jpg"}, {"path2": "a.jpg"}, {"choice_dist": [3, "1"]}, {"prompt": " "}]
    remarks: list[str] = []
    assert len(read_preferences(written(tmp_path, "all.json", [row, *(row | change for change in bad)]), remarks)) == 1
    assert remarks[0] == "2 of 5 rows of all.json cannot be used and are left out:"
    assert {line.partition(":")[0] for line in remarks[1:3]} == {"row 4", "row 5"}
    assert remarks[3].startswith("2 of 3 pairs of all.json lack a picture and are left out: ") and "gone.jpg" in remarks[3]
    with pytest.raises(InputError, match="row 1, column 'prompt'"):
        read_preferences(written(tmp_path, "all.json", [row | {"prompt": None}] * 3), [])
    pair = read_preferences(written(tmp_path, "all.json", [row]))[0]
    files = [tmp_path / "a.jpg", tmp_path / "b.jpg"]
    assert (pair.identity, pair.pictures) == (["a cat", *map(str, files), 3, 1, 0, "train"], files)
    video = {"path_A": "a.mp4", "path_B": "b.mp4", "prompt": "a cat runs", "VQ": "A", "MQ": "same", "TA": "B", "fps_A": 8}
    with pytest.raises(InputError, match="pairs of videos"):
        read_preferences(written(tmp_path, "data.csv", [video]))


def test_trl_reads_the_messages_with_the_pictures_in_their_places(training_ground: Path, tmp_path: Path):
    trl = pytest.importorskip("trl.trainer.dpo_trainer")
    from datasets import Image as Pictures
    from datasets import List, load_dataset
    from transformers import AutoProcessor
    from trl.data_utils import is_conversational, prepare_multimodal_messages

    placed(tmp_path, "a.png", "b.png")
    pair = {"prompt": "a cat", "chosen": str(tmp_path / "a.png"), "rejected": str(tmp_path / "b.png"), "margin": 1.0}
    rows = trl_rows(pl.DataFrame([pair | {"split": "train", "chosen_model": "x", "rejected_model": "y"}]))
    path = tmp_path / "judge.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    data = load_dataset("json", data_files=str(path), cache_dir=str(tmp_path / "cache"), split="train")
    example = data.cast_column("images", List(Pictures()))[0]
    assert is_conversational(example)
    content = prepare_multimodal_messages(example["prompt"], images=example["images"])[0]["content"]
    assert [part["type"] for part in content] == ["image", "image", "text"]
    left = np.asarray(content[0]["image"].convert("RGB"))[0, 0, 0]
    assert left == (0 if '"left"' in example["chosen"][0]["content"] else 40)
    batch = trl.DataCollatorForVisionPreference(AutoProcessor.from_pretrained(training_ground / "tiny"))([example])
    assert batch["pixel_values"].shape[0] == 4, "two pictures for chosen, and two for rejected"
