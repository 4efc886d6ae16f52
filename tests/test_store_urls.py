"""Every command that reads or writes a store takes a URL, and does over S3's protocol what it does in a directory."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from itertools import count
from pathlib import Path

import click
import polars as pl
import pytest
from click.testing import CliRunner
from PIL import Image

from salon_bench.runs.status import RunState, run_status, run_statuses
from salon_bench.runs.view import RunView
from salon_console import main
from salon_console.file_options import InputPath, StorePath
from salon_judges.testing.mock_server import Asked, Latency, MockServer, Script, serving
from salon_store import ResultStore
from salon_store.places import place_of

NUMBERS = count()
TRACKS = ("imagination", "entity", "text_rendering", "style", "affection", "composition", "long_text")


@pytest.fixture
def url(bucket: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """An empty prefix of a bucket; this machine's journals are below ``tmp_path``."""
    for name, value in bucket.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return f"s3://bucket/urls-{next(NUMBERS)}"


def parameters(command: click.Command, words: tuple[str, ...] = ("salon",)) -> list[tuple[str, click.Parameter]]:
    """Every parameter of a command and of all beneath it, with the words that call it."""
    found = [(" ".join(words), parameter) for parameter in command.params]
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None, name
            found += parameters(inner, (*words, name))
    return found


def takes_a_store(words: str, parameter: click.Parameter) -> bool:
    """Whether a parameter is a store, or a table that may be one: by its name or by what the help says of it."""
    described = getattr(parameter, "help", None) or ""
    if parameter.name in ("store", "directory") and words != "salon quickstart":
        return True
    return isinstance(parameter.type, InputPath) and re.search(r"\bor a (result )?store\b", described) is not None


def test_every_parameter_that_takes_a_store_takes_a_url() -> None:
    stores = [(words, parameter) for words, parameter in parameters(main) if takes_a_store(words, parameter)]
    assert len(stores) >= 30
    for words, parameter in stores:
        context = click.Context(click.Command(words))
        for address in ("s3://bucket/results", "gs://bucket/results", "az://container/results"):
            assert parameter.type.convert(address, parameter, context) == address, (words, parameter.opts)
    options = [(words, one) for words, one in parameters(main) if "--store" in one.opts]
    assert {words for words, one in options if not isinstance(one.type, StorePath)} == set()


def test_every_command_that_ranks_reads_a_store_at_a_url(url: str) -> None:
    pairs = [("x", "y", "model_a"), ("y", "z", "model_b"), ("x", "z", "tie"), ("z", "x", "model_b"), ("y", "x", "model_b")]
    rows = [
        {"battle_id": f"b{turn}-{place}", "prompt_id": f"p{turn}", "model_a": a, "model_b": b, "winner": winner}
        | {"rater_id": f"r{turn % 3}", "mode": "public"}
        for turn in range(12)
        for place, (a, b, winner) in enumerate([*pairs, ("z", "y", "model_b")])
    ]
    ResultStore.open(url).append("battles", pl.DataFrame(rows), run_id="votes")
    for words in (["votes", "rank", url, "--bootstrap", "20", "--store", url], ["votes", "raters", url, "--store", url]):
        done = CliRunner().invoke(main, words, prog_name="salon")
        assert done.exit_code == 0, (words, done.output)
    board = ResultStore.open(url, read_only=True).read("leaderboards").collect()
    assert sorted(board["model"]) == ["x", "y", "z"]
    missing = CliRunner().invoke(main, ["votes", "rank", f"{url}-missing"], prog_name="salon")
    assert (missing.exit_code, "is no result store" in missing.output) == (2, True)


# ------------------------------------------------------------------------------------------------------- a run in a bucket


def bench_files(folder: Path, prompts: int) -> list[str]:
    """Prompts and drawn pictures of PRISM-Bench; returns the options that name them."""
    rows = [
        {"prompt_id": f"{TRACKS[place % 7]}-{place}", "track": TRACKS[place % 7], "prompt": f"Picture {place}."}
        for place in range(prompts)
    ]
    (folder / "prompts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "ours").mkdir()
    for place, row in enumerate(rows):
        Image.new("RGB", (16, 16), (place, 2 * place, 90)).save(folder / "ours" / f"{row['prompt_id']}.png")
    return ["--model", "ours", "--generations", str(folder / "ours"), "--prompts", str(folder / "prompts.jsonl")]


def score(asked: Asked) -> str:
    """A score that depends on the question alone."""
    return json.dumps({"justification": "drawn", "score": 1 + sum(asked.text.encode()) % 10})


def salon(*words: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", "from salon_console import main; main(prog_name='salon')", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ.copy())


def answered(*words: str) -> str:
    process = salon(*words)
    out, err = process.communicate(timeout=250)
    assert process.returncode == 0, (words, out, err)
    return out


def killed_after(requests: int, server: MockServer, words: list[str]) -> None:
    """Start a command and kill it after so many requests to the judge."""
    before = server.stats.requests
    process = salon(*words)
    while server.stats.requests < before + requests and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    _, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL, err


def judge_file(folder: Path, server: MockServer) -> list[str]:
    path = folder / "judge.toml"
    path.write_text(f'model = "mock"\nbase_url = "{server.url}"\n\n[limits]\nconcurrency = 4\n')
    return ["--judge", str(path)]


@pytest.mark.slow
def test_a_run_in_a_bucket_is_killed_resumed_reported_and_asked(url: str, tmp_path: Path) -> None:
    files = bench_files(tmp_path, 21)
    with serving(Script(rule=score, latency=Latency.fixed(40))) as server:
        words = ["bench", "run", "prism", *files, *judge_file(tmp_path, server), "--store", url]
        killed_after(20, server, words)
        paid = server.stats.paid
        assert 0 < paid < 42
        answered(*words)
        assert server.stats.paid <= 42 + 4  # what was in flight at the kill
    (run_id,) = ResultStore.open(url, read_only=True).read("runs").collect()["run_id"]
    assert run_status(url, run_id).state == RunState.FINISHED
    scores = ResultStore.open(url, read_only=True).read("scores").collect()
    assert (scores.height, scores["value"].null_count()) == (42, 0)
    answered("results", "report", run_id, "--store", url, "--output", str(tmp_path / "page.html"))
    assert run_id in (tmp_path / "page.html").read_text()
    assert json.loads(answered("store", "sql", url, "SELECT count(*) AS n FROM scores", "--format", "json")) == [{"n": 42}]
    assert run_id in answered("bench", "runs", "--store", url)
    assert answered("results", "leaderboard", "prism", "--store", url)
    assert place_of(url).layout.root.is_relative_to(tmp_path / "home")
    assert not list(place_of(url).layout.journals.glob("*.jsonl"))


@pytest.mark.slow
@pytest.mark.parametrize("place", ["directory", "bucket"])
def test_three_shards_of_which_one_is_killed_are_one_run_for_every_reader(url: str, tmp_path: Path, place: str) -> None:
    store = url if place == "bucket" else str(tmp_path / "results")
    files = bench_files(tmp_path, 21)
    with serving(Script(rule=score, latency=Latency.fixed(40))) as server:
        words = ["bench", "run", "prism", *files, *judge_file(tmp_path, server), "--store", store]
        others = [salon(*words, "--shard", f"{number}/3") for number in (1, 2)]
        killed_after(8, server, [*words, "--shard", "3/3"])
        for process in others:
            out, err = process.communicate(timeout=250)
            assert process.returncode == 0, (out, err)
        begun = {each.run_id: each for each in run_statuses(store)}
        (whole,) = (each for each in begun.values() if each.parts)
        assert (whole.state, len(whole.parts)) != (RunState.FINISHED, 3)
        answered(*words, "--shard", "3/3")
        assert server.stats.paid <= 42 + 4
        answered(*words)  # the same without shards, for comparison
    assert run_status(store, whole.run_id).state == RunState.FINISHED
    listed = json.loads(answered("bench", "runs", "--store", store, "--format", "json"))
    (alone,) = (each["run_id"] for each in listed if not each["parts"] and not each["part_of"])
    rows = [RunView(store, each).scores.drop("run_id") for each in (whole.run_id, alone)]
    assert rows[0].equals(rows[1])
    assert rows[0].height == 42
    board = json.loads(answered("results", "leaderboard", "prism", "--store", store, "--format", "json"))
    assert [note for note in board[0]["notes"] if "1 older result" in note]
    compared = json.loads(answered("results", "compare", whole.run_id, alone, "--store", store, "--format", "json"))
    assert (compared["prompts"], compared["changed"]) == (21, 0)
    answered("results", "report", whole.run_id, "--store", store, "--output", str(tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text()
    assert whole.run_id in page
    assert page.count("data:image/") >= 21
