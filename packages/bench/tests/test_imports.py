"""Logs of inspect_ai, lmms-eval and evalscope become runs: numbers, replies and pictures of every sample."""

import base64
import json
import zipfile
from io import BytesIO
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner
from PIL import Image

from salon_bench.analysis.compare import compare
from salon_bench.analysis.leaderboard import leaderboards, number
from salon_bench.cli.results import results
from salon_bench.imports.rows import import_log, log_files, read_log
from salon_bench.runs.view import RunView
from salon_bench.suites.contract.registry import suite_named
from salon_bench.viewer.pages import case_page
from salon_bench.viewer.store_tables import StoreTables
from salon_store import ResultStore
from salon_taxonomy.errors import InputError


def _png(shade: int = 200) -> bytes:
    file = BytesIO()
    Image.new("RGB", (8, 8), (shade, 10, 10)).save(file, "PNG")
    return file.getvalue()


def _inspect(model: str = "openai/m", **first: object) -> dict[str, object]:
    """A log as inspect_ai 0.3.285 writes it, without events."""
    image = {"type": "image", "image": "attachment://d61a", "detail": "auto"}
    question = [{"id": "a", "role": "user", "content": [{"type": "text", "text": "What is shown?"}, image]}]
    answer = {"model": model, "choices": [{"message": {"role": "assistant", "content": "a dot"}}], "completion": "a dot"}
    url = "data:image/png;base64," + base64.b64encode(_png()).decode()
    scores = {
        "includes": {"value": "C", "answer": "yes", "explanation": "yes, it is", "history": []},
        "graded": {"value": "P", "answer": "yes", "explanation": "Half right. GRADE: P"},
        "parts": {"value": {"form": 2, "colour": 0.5}},
    }
    scorers = [{"name": "includes", "options": {}}, {"name": "graded", "options": {"model": "openai/judge"}}, {"name": "parts"}]
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "task": "cats",
            "task_version": 0,
            "model": model,
            "created": "2026-11-26T15:56:29+00:00",
            "scorers": scorers,
        },
        "samples": [
            {"id": 1, "epoch": 1, "input": "Is it black?", "target": "yes", "output": answer, "scores": scores, **first},
            {"id": 1, "epoch": 2, "input": "Is it black?", "output": answer, "scores": {"includes": {"value": "I"}}},
            {
                "id": "two",
                "epoch": 1,
                "input": question,
                "output": answer,
                "scores": {"includes": {"value": "N"}, "graded": {"value": "odd"}},
                "attachments": {"d61a": url},
                "metadata": {"category": "shapes"},
            },
        ],
    }


def _written(folder: Path, log: dict[str, object], name: str = "a.json") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(log))
    return path


def _values(store: Path, run_id: str) -> dict[tuple[str, str], object]:
    rows = RunView(store, run_id).scores.sort("prompt_id", "dimension")
    return {
        (row["prompt_id"], row["dimension"]): row["unscored_reason"] if row["value"] is None else row["value"]
        for row in rows.iter_rows(named=True)
    }


def test_a_log_of_inspect_ai_is_a_run_with_every_number(tmp_path: Path) -> None:
    store = tmp_path / "results"
    log = _inspect()
    log["samples"] = [each for each in log["samples"] if each["epoch"] == 1]  # type: ignore[index]
    done = import_log(read_log(_written(tmp_path, log)), store)
    assert _values(store, done.run_id) == {
        ("1", "includes"): 1.0,
        ("1", "graded"): 0.5,
        ("1", "parts.form"): 2.0,
        ("1", "parts.colour"): 0.5,
        ("two", "includes"): 0.0,
        ("two", "graded"): "off_menu",
        ("two", "parts"): "not_reported",
    }
    calls = RunView(store, done.run_id).calls
    said = dict(calls.filter(pl.col("case_id") == "1#0").select("step", "response_text").iter_rows())
    assert said == {"answer": "a dot", "includes": "yes, it is", "graded": "Half right. GRADE: P"}
    assert done.judge == "includes + graded (openai/judge) + parts"
    assert RunView(store, done.run_id).prompts == {"1": "Is it black?", "two": "What is shown?"}


def test_epochs_are_samples_and_a_picture_of_the_log_can_be_seen(tmp_path: Path) -> None:
    store = tmp_path / "results"
    done = import_log(read_log(_written(tmp_path, _inspect())), store)
    assert (done.samples, done.pictures) == (3, 1)
    picture = ResultStore.open(store).read("generations").collect().row(0, named=True)
    assert Path(picture["uri"]).read_bytes() == _png()
    assert Path(picture["uri"]).parent == tmp_path / "results-pictures"
    query = {"run_id": [done.run_id], "subject_model": ["openai/m"], "prompt_id": ["two"]}
    query |= {"generation_id": [picture["generation_id"]]}
    page = case_page(StoreTables(store), query)
    assert "What is shown?" in page
    assert "a dot" in page


def test_the_same_file_again_changes_nothing(tmp_path: Path) -> None:
    store = tmp_path / "results"
    path = _written(tmp_path, _inspect())
    first, again = (import_log(read_log(path), store) for _ in range(2))
    assert first == again
    assert RunView(store, first.run_id).scores.height == first.scored + first.unscored


def test_a_zip_of_inspect_ai_says_what_its_json_says(tmp_path: Path) -> None:
    log = _inspect()
    samples = log.pop("samples")
    with zipfile.ZipFile(tmp_path / "a.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_journal/start.json", "{}")
        for sample in samples:  # type: ignore[attr-defined]
            archive.writestr(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", json.dumps(sample))
        archive.writestr("header.json", json.dumps(log))
    whole = _written(tmp_path, {**log, "samples": samples})
    first, second = (list(read_log(path).samples) for path in (tmp_path / "a.eval", whole))
    assert first == second


def test_a_zip_that_is_packed_by_zstandard_is_read(tmp_path: Path) -> None:
    from salon_bench.imports import inspect_log

    packed = BytesIO()
    pl.DataFrame({"line": ['{"a": ', "1}"]}).write_csv(
        packed, include_header=False, quote_style="never", separator="\x1f", compression="zstd", check_extension=False
    )
    name = b"header.json"
    head = b"PK\x03\x04" + bytes(22) + len(name).to_bytes(2, "little") + bytes(2) + name
    (tmp_path / "a.eval").write_bytes(head + packed.getvalue())
    member = zipfile.ZipInfo("header.json")
    member.compress_type, member.header_offset, member.compress_size = 93, 0, len(packed.getvalue())
    assert json.loads(inspect_log._member(tmp_path / "a.eval", member)) == {"a": 1}


def _lmms(folder: Path, model: str, score: float) -> Path:
    folder = folder / model.replace("/", "__")
    folder.mkdir(parents=True)
    review = {"category": "conv", "review": f"8 {score}\nGood.", "scores": [8, score], "eval_model": "gpt-4"}
    elsewhere = {**review, "scores": [-999, -999]}
    failed = {**review, "review": "Failed to Get a Proper Review.", "scores": [-1, -1], "eval_model": "Failed Request"}
    own = {"target": "t", "doc_hash": "h", "resps": [["a dog"]], "filtered_resps": ["a dog"]}
    lines = [
        {"doc_id": 0, "input": "What is it?", **own, "judged": review, "other": elsewhere, "exact": True},
        {"doc_id": 1, "input": "And this?", **own, "judged": failed, "exact": 0.25},
    ]
    (folder / "20260102_101112_samples_llava.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "20260102_101112_results.json").write_text(json.dumps({"model_name": model, "versions": {"llava": 0.0}}))
    return folder / "20260102_101112_samples_llava.jsonl"


def test_samples_of_lmms_eval_have_a_judges_scores_and_words(tmp_path: Path) -> None:
    store = tmp_path / "results"
    done = import_log(read_log(_lmms(tmp_path, "org/a", 7)), store)
    assert (done.model, done.judge, done.suite) == ("org/a", "gpt-4", "lmms-eval:llava")
    assert _values(store, done.run_id) == {
        ("0", "judged.1"): 8.0,
        ("0", "judged.2"): 7.0,
        ("0", "exact"): 1.0,
        ("1", "judged.1"): "rejected",
        ("1", "judged.2"): "rejected",
        ("1", "exact"): 0.25,
    }
    assert "8 7\nGood." in RunView(store, done.run_id).calls["response_text"].to_list()


def test_two_models_have_a_board_and_a_comparison(tmp_path: Path) -> None:
    store = tmp_path / "results"
    runs = [import_log(read_log(_lmms(tmp_path / "logs", f"org/{name}", mark)), store) for name, mark in (("a", 7), ("b", 5))]
    [board] = leaderboards(store, suite_named("lmms-eval:llava"), metric="judged.2")
    assert [(each.model, number(each, "judged.2", "value")) for each in board.entries] == [("org/a", 7.0), ("org/b", 5.0)]
    gaps = {gap.dimension: gap.difference for gap in compare(store, *(run.run_id for run in runs)).gaps if gap.category is None}
    assert gaps["judged.2"] == 2.0


def test_reviews_of_evalscope_show_the_pictures_that_were_scored(tmp_path: Path) -> None:
    store = tmp_path / "results"
    reviews = tmp_path / "out" / "20260101" / "reviews" / "sdxl"
    reviews.mkdir(parents=True)
    (tmp_path / "red.png").write_bytes(_png())
    reports = tmp_path / "out" / "20260101" / "reports" / "sdxl"
    reports.mkdir(parents=True)
    (reports / "genai_bench.json").write_text("{}")
    scores = [
        {
            "value": {"VQAScore": 0.7},
            "prediction": str(tmp_path / "red.png"),
            "metadata": {"source": "llm_judge", "model": "j"},
        },
        {"value": {"VQAScore": 0.1, "ok": False}, "explanation": "It says no.", "main_score_name": "ok"},
    ]
    lines = [
        {"index": place, "input": f"prompt {place}", "sample_score": {"score": score, "sample_id": place, "group_id": place}}
        for place, score in enumerate(scores)
    ]
    path = reviews / "genai_bench_basic.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert log_files([tmp_path / "out"]) == [path]
    done = import_log(read_log(path), store)
    assert (done.suite, done.model, done.judge, done.pictures) == ("evalscope:genai_bench", "sdxl", "j", 1)
    assert _values(store, done.run_id) == {
        ("basic-0", "VQAScore"): 0.7,
        ("basic-1", "VQAScore"): 0.1,
        ("basic-1", "ok"): 0.0,
    }
    reply = RunView(store, done.run_id).calls.filter(pl.col("step") == "ok").row(0, named=True)
    assert reply["response_text"] == "It says no."


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.json", "[1]", "must be a JSON object"),
        ("a.json", "{", "is no JSON"),
        ("a.json", "{}", "no log of inspect_ai"),
        ("a.eval", "x", "no zip archive"),
        ("a.jsonl", '{"x": 1}\n', "is no result file"),
        ("d_samples_t.jsonl", '{"doc_id": 1, "acc": 1}\n\nnonsense\n', "line 3"),
        ("d_samples_t.jsonl", '{"doc_id": 1, "acc": "high"}\n', "has no number"),
        ("d_results.json", "{}", "no samples, only their means"),
        ("d_samples_t.jsonl", '{"doc_id": 1, "acc": 1, "input": ' + "[" * 100_000 + "\n", "is no JSON"),
        ("d_samples_t.jsonl", '{"doc_id": 1, "' + "d" * 500 + '": 1}\n', "at most 400 characters"),
        ("a.json", json.dumps(_inspect("m" * 500)), "subject_model.*at most 400 characters"),
        ("a.json", json.dumps(_inspect(epoch="x")), "epoch is no number"),
    ],
)
def test_what_is_no_log_writes_nothing(tmp_path: Path, name: str, content: str, problem: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(InputError, match=problem):
        import_log(read_log(path), tmp_path / "results")
    assert not (tmp_path / "results").exists()


def test_a_zip_with_a_damaged_sample_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.eval"
    log = _inspect()
    sample = json.dumps({"id": 1, "scores": {"includes": {"value": "C"}}})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps({key: log[key] for key in ("version", "status", "eval")}))
        archive.writestr("samples/1_epoch_1.json", sample)
    content = bytearray(path.read_bytes())
    content[content.index(b"samples/1_epoch_1.json") + 50] ^= 255
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"is damaged: samples/1_epoch_1\.json"):
        import_log(read_log(path), tmp_path / "results")
    assert not (tmp_path / "results").exists()


def test_odd_values_of_a_log_cost_no_sample(tmp_path: Path) -> None:
    """Numbers beyond a float are missing; long ids that begin alike are two; half a surrogate pair and long names are words."""
    image = {"type": "image", "image": "x" * 5000 + ".png"}
    words = [{"role": "user", "content": [{"type": "text", "text": "a\ud83d"}, image]}]
    log = _inspect(input=words, output={"choices": True}, scores={"includes": {"value": 10**400}})
    assert isinstance(log["eval"], dict)
    assert isinstance(log["samples"], list)
    log["eval"] |= {"created": "yesterday", "scorers": 3}
    log["samples"] = [{**log["samples"][0], "id": "y" * 250 + end} for end in "ab"]
    path = _written(tmp_path, log)
    done = import_log(read_log(path), tmp_path / "results")
    scores = ResultStore.open(tmp_path / "results").read("scores").filter(pl.col("dimension") == "includes").collect()
    assert (done.samples, scores.height, scores["unscored_reason"].to_list()) == (2, 2, ["malformed"] * 2)
    assert set(ResultStore.open(tmp_path / "results").read("prompts").collect()["text"]) == {"a\ufffd"}


def test_yes_and_no_count_in_any_case_as_in_inspect_ai(tmp_path: Path) -> None:
    said = {"Yes": 1.0, "TRUE": 1.0, "no": 0.0, "False": 0.0, "c": "off_menu", "0.25": 0.25}
    samples = [{"id": word, "epoch": 1, "input": "?", "scores": {"right": {"value": word}}} for word in said]
    spec = {"task": "cats", "model": "m", "scorers": [{"name": "right"}]}
    done = import_log(read_log(_written(tmp_path, {"eval": spec, "samples": samples})), tmp_path / "results")
    assert _values(tmp_path / "results", done.run_id) == {(word, "right"): value for word, value in said.items()}


def test_a_folder_that_is_named_like_a_log_is_passed_over(tmp_path: Path) -> None:
    path = _written(tmp_path, _inspect(), "logs/old.eval/run.json/a.json")
    assert log_files([tmp_path / "logs"]) == [path]


def test_the_command_imports_a_folder_and_says_what_was_left_out(tmp_path: Path) -> None:
    _written(tmp_path, {**_inspect(), "status": "error"}, "logs/a.json")
    _written(tmp_path, {"unrelated": 1}, "logs/b.json")
    done = CliRunner().invoke(results, ["import", str(tmp_path / "logs"), "--store", str(tmp_path / "results")])
    assert done.exit_code == 0, done.output
    assert "inspect_ai:cats" in done.output
    assert "ended with status 'error'" in done.stderr


def test_an_imported_suite_cannot_be_run() -> None:
    with pytest.raises(InputError, match="cannot be run"):
        suite_named("inspect_ai:cats").prompts(None)
