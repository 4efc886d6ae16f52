"""``salon view RUN``: what a policy made, step by step."""

import json
from pathlib import Path

from PIL import Image

from salon_bench.viewer.row_pages import filtered_rows, row_page, rows_page
from salon_train.report.row_view import training_rows


def _run(folder: Path) -> Path:
    for stage in ("grpo", "image"):
        (folder / stage).mkdir(parents=True)
    rows = [
        {"step": step, "bucket": "hands", "completion": f"<b>{step}.{n}</b>", "truth": "normal", "reward": step / 10}
        | {"rewards": {"format": 1.0, "label/f1": None}, "completion_tokens": 4}
        for step in (0, 5)
        for n in range(2)
    ]
    text = "".join(json.dumps(row) + "\n" for row in [*rows, {"step": 5, "held_out": 0.5}])
    (folder / "grpo" / "completions.jsonl").write_text(text + '{"step": 10, "comp')  # it still writes
    (folder / "image" / "pictures").mkdir()
    Image.new("RGB", (9, 9)).save(folder / "image" / "pictures" / "step-000050.png")
    (folder / "image" / "pictures" / "step-odd.png").write_bytes(b"")
    return folder


def test_samples_and_sheets_are_rows_the_newest_first(tmp_path: Path) -> None:
    view = training_rows(_run(tmp_path / "run"))
    assert view is not None
    frame = view.rows().frame
    assert frame["step"].to_list() == [50, 5, 5, 0, 0]
    assert frame["reward_format"].to_list() == [None, 1.0, 1.0, 1.0, 1.0]
    assert [len(each) for each in frame["pictures"]] == [1, 0, 0, 0, 0]
    assert filtered_rows(view.rows(), {"is_step": ["5"]}).height == 2
    assert filtered_rows(view.rows(), {"where": ["reward > 0.4"]}).height == 2
    page = rows_page(view, {})
    assert "&lt;b&gt;5.0&lt;/b&gt;" in page and "<b>5.0" not in page
    assert "label/f1: –" in row_page(view, {"key": [frame["key"][1]]})


def test_a_sheet_is_sent_and_no_other_file(tmp_path: Path) -> None:
    folder = _run(tmp_path / "run")
    view = training_rows(folder)
    assert view is not None
    name = "image/pictures/step-000050.png"
    assert view.picture(name) == (folder / name).read_bytes()
    assert [view.picture(each) for each in ("grpo/completions.jsonl", "../run/" + name, "/etc/hostname")] == [None] * 3


def test_what_a_run_adds_is_seen_and_its_end_is_known(tmp_path: Path) -> None:
    folder = _run(tmp_path / "run")
    view = training_rows(folder / "grpo")
    assert view is not None and view.live and view.rows().frame.height == 4
    with (folder / "grpo" / "completions.jsonl").open("a") as file:
        file.write('letion": "new"}\n')
    (folder / "grpo" / "finished.json").write_text("{}")
    assert (view.rows().frame["text"][0], view.live) == ("new", False)


def test_a_folder_of_another_kind_is_none(tmp_path: Path) -> None:
    assert training_rows(tmp_path) is None
