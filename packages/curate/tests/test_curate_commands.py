"""Every command refuses wrong files, options and empty input by a typed error, and writes nothing."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from curate_world import drawn, made

import salon_curate
from defaults_of import defaults_of
from salon_console import main
from salon_curate.audits import sample_audit
from salon_curate.cli import curate
from salon_curate.dataset import DataSet
from salon_curate.engine import inline
from salon_curate.pipeline import PIPELINE, read_pipeline
from salon_curate.release import release
from salon_curate.running import run
from salon_curate.selection import save_selection, select

TEXT = """
[[stage]]
use = "look"
[[stage]]
use = "duplicates"
[[stage]]
ask = "agreement"
judge = "pixels:"
when = "sharpness >= 60"
explore = 0.5
"""
OF_A_DATA_SET = {
    "import": "DATA rows.jsonl",
    "run": "DATA",
    "status": "DATA",
    "verify": "DATA",
    "plan": "DATA",
    "drift": "DATA --stage agreement",
    "yield": "DATA --where contrast>1",
    "select": "DATA --name n --where contrast>1",
    "diff": "DATA v1 v1",
    "why": "DATA k00000",
    "draw": "DATA --bucket a=contrast>1 --ratio 1 --number 2 --output o.csv",
    "audit sample": "DATA --selection v1 --name n",
    "audit score": "DATA people answers.csv",
    "cascade": "DATA --stage agreement --keeps agrees",
    "release": "DATA --selection v1 --name n",
}
WRONG = """
init birds
init x --preset nope
init x --preset flux-reason --judge nope:x
import birds rows.jsonl --prompt key
import fresh nope
import fresh empty
import fresh empty.csv
import fresh header.csv
import fresh junk.json
import fresh junk.tar
import fresh junk.parquet
import fresh rows.jsonl --format r3
import fresh rows.jsonl --format artifact-bench
import fresh rows.jsonl --pictures nope
import fresh pictures --key k
run birds --engine spark
run birds --engine inline --workers 2
run birds --shards 7-9
run birds --max-cost nan
plan birds --share nan
drift birds --stage nope
drift birds --stage duplicates
drift birds --stage look --now pixels:
drift birds --stage agreement --at-most nan
yield birds
yield birds --where contrast
yield birds --where nope>1
yield birds --where contrast>1 --page p.html
yield birds --where contrast>1 --points 5
yield birds --sweep explanation
select birds --name a/b --where contrast>1
select birds --name .. --where contrast>1
select birds --name n
diff birds v1 nope
why birds nope
draw birds --bucket a=agrees --ratio 0 --number 1 --output o.csv
draw birds --bucket a=agrees --ratio 1:1 --number 1 --output o.csv
draw birds --bucket a=agrees --ratio ² --number 1 --output o.csv
draw birds --bucket a=agrees --ratio ४ --number 1 --output o.csv
draw birds --bucket a=agrees --bucket a=NOT_agrees --ratio 1:1 --number 1 --output o.csv
run birds --shards ²
run birds --shards 0-²
run birds --shards ٠-٣
draw birds --bucket a=agrees --ratio 1 --number 900 --output o.csv
draw birds --bucket a=agrees --ratio 1 --number 1 --by explanation --output o.csv
audit sample birds --selection nope --name n
audit sample birds --selection v1 --name people
audit sample birds --selection v1 --name a/b
audit score birds nope answers.csv
audit score birds ../audits/people answers.csv
audit score birds people empty
audit score birds people empty.csv
audit score birds people header.csv
audit score birds people junk.json
audit score birds people blank.csv
cascade birds --stage look --keeps agrees
release birds --selection nope --name n
release birds --selection v1 --name r
release birds --selection v1 --name a/b
release birds --selection v1 --name n --column prompt
release birds --selection v1 --name n --split contrast
release birds --selection v1 --name n --audit nope
release birds --selection v1 --name n --min-precision nan
demo birds
""".strip().splitlines()


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a finished data set, an empty one, and wrong files."""
    monkeypatch.chdir(tmp_path)
    source = drawn(tmp_path / "in", 1)
    shutil.copy(source, "rows.jsonl")
    shutil.copytree(tmp_path / "in" / "pictures", "pictures")
    dataset = made(tmp_path / "birds", source)
    for folder, text in (("birds", TEXT), ("fresh", TEXT), ("unknown", '[[stage]]\nuse = "nope"\n'), ("damaged", TEXT)):
        if folder != "birds":
            DataSet.create(tmp_path / folder)
        (tmp_path / folder / PIPELINE).write_text(text)
    (tmp_path / "damaged" / "dataset.json").write_text("[]")
    (tmp_path / "empty").mkdir()
    for name, data in (("empty.csv", b""), ("header.csv", b"key,image\n"), ("junk.json", b"{"), ("junk.tar", b"x" * 9),
                       ("junk.parquet", b"x"), ("answers.csv", b"key,rater,accept\nnope,ann,yes\n"),
                       ("blank.csv", b"key,rater,accept\nk00000,ann,\n")):  # fmt: skip
        (tmp_path / name).write_bytes(data)
    stages = read_pipeline(tmp_path / "birds" / PIPELINE, environment={}, asks=True).stages
    run(dataset, stages, engine=inline)
    save_selection(dataset, stages, select(dataset, stages, {"lively": "contrast > 1"}, "v1"))
    sample_audit(dataset, stages, "v1", "people", per_stratum=2)
    release(dataset, stages, "v1", "r")
    return tmp_path


def files(folder):
    """The bytes of every file; caches aside, which reading makes."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.parent.name != "cache"}


def refused(words, folder):
    """Call a command that must refuse; return its message after checking that nothing was written."""
    before = files(folder)
    done = CliRunner().invoke(main, ["curate", *words])
    assert done.exit_code == 2, (words, done.output, done.exception)
    assert files(folder) == before, words
    return done.stderr


def test_every_command_refuses_a_wrong_or_empty_data_set_and_unknown_options(here):
    leaves = {name: command for name, command in curate.commands.items() if name not in ("init", "demo", "audit")}
    assert {name.split()[0] for name in OF_A_DATA_SET} == {*leaves, "audit"}
    for name, words in OF_A_DATA_SET.items():
        for dataset in ("nope", "empty", "rows.jsonl", "unknown", "damaged", "fresh"):
            if (name, dataset) not in {("import", "unknown"), ("import", "fresh"), ("status", "fresh"), ("verify", "fresh")}:
                refused([*name.split(), *words.replace("DATA", dataset).split()], here)
        refused([*name.split(), *words.replace("DATA", "birds").split(), "--nonsense"], here)
        refused(name.split(), here)


def test_wrong_files_options_and_names_are_refused(here):
    for line in WRONG:
        refused(line.split(), here)


JSON = {
    "init": "new", "run": "birds --quiet", "status": "birds", "verify": "birds", "plan": "birds",
    "drift": "birds --stage agreement", "yield": "birds --where contrast>1", "select": "birds --name n --where contrast>1",
    "diff": "birds v1 v1", "why": "birds k00000", "draw": "birds --bucket a=contrast>1 --ratio 1 --number 2 --output o.csv",
    "audit sample": "birds --selection v1 --name n --per-stratum 1", "audit score": "birds n sheet.csv",
    "cascade": "birds --stage agreement --keeps agrees", "release": "birds --selection v1 --name j",
}  # fmt: skip


def test_every_command_prints_json_for_programs_and_only_that(here):
    """The ``--format`` of ``import`` is that of its source; ``demo`` writes a page."""
    (here / "birds" / PIPELINE).write_text(TEXT.replace("sharpness >= 60", "sharpness >= 600"))
    shutil.rmtree(here / "birds" / "journals")  # so that the judge is timed again
    assert {name.split()[0] for name in JSON} == {*curate.commands} - {
        "demo",
        "import",
        "artifact-bench",
        "magicbench",
        "prism",
    }
    for name, words in JSON.items():
        if name == "audit score":
            rows = (here / "birds" / "audits" / "n" / "sheet.csv").read_text().splitlines()
            (here / "sheet.csv").write_text("\n".join([rows[0], *(row.replace(",,", ",ann,yes") for row in rows[1:])]))
        done = CliRunner().invoke(main, ["curate", *name.split(), *words.split(), "--format", "json"])
        assert done.exit_code == 0, (name, done.stderr)
        assert isinstance(json.loads(done.stdout), dict | list), name


def test_a_stage_in_a_file_of_the_working_folder_is_found_by_the_command_and_its_workers(here):
    (here / "my_own_stages.py").write_text(
        "import polars as pl\nfrom salon_curate import stage\n\n\n"
        '@stage(version="1", reads=["image"], writes={"bytes": pl.UInt32})\n'
        'def size(batch):\n    return batch.select("key", pl.col("image").bin.size().alias("bytes"))\n'
    )
    (here / "birds" / PIPELINE).write_text('[[stage]]\nuse = "my_own_stages:size"\n')
    command = [str(Path(sys.executable).with_name("salon")), "curate", "run", "birds", "--quiet", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and json.loads(done.stdout)["made"] == 2, done.stderr


def test_a_missing_or_damaged_shard_or_part_is_named_by_every_command_that_reads_it(here):
    shard = here / "birds" / "shards" / "00001.parquet"
    part = next((here / "birds" / "columns").glob("look@*/00001-*"))
    again = ["curate", "run", "birds", "--quiet", "--engine", "inline"]
    for path, data in ((shard, None), (shard, b"x"), (part, b"x")):
        whole = path.read_bytes()
        shutil.rmtree(here / "birds" / "cache", ignore_errors=True)
        path.unlink() if data is None else path.write_bytes(data)
        for words in ("why birds k00005", "select birds --name n --where contrast>1", "drift birds --stage agreement"):
            said = refused(words.split(), here)
            assert "missing" in said or "damaged" in said, (words, said)
        next((here / "birds" / "columns").glob("agreement@*/00001-*")).unlink()
        done = CliRunner().invoke(main, again)
        assert done.exit_code in (1, 2) and path.name in " ".join(done.stderr.split()), done.stderr
        path.write_bytes(whole)
        assert CliRunner().invoke(main, again).exit_code == 0


def test_a_setting_has_one_default_in_every_function_class_recipe_and_command_that_has_it():
    """A default that changes is a decision: it changes what a recipe or a command without it makes."""
    never = "asks", "explore", "keep", "needs_names", "started"
    nothing = (
        "calls",
        "completion_tokens",
        "cost_usd",
        "overhead",
        "prompt_tokens",
        "replayed",
        "row",
        "seconds",
        "seed",
        "unchanged",
    )
    assert defaults_of(salon_curate) == {
        **{name: {0} for name in (*never, *nothing)}, **{name: {1} for name in ("copies", "keys", "re_asks", "workers")},
        "attempts": {3}, "batch_size": {64}, "bits": {6}, "confidence": {0.95}, "distance": {3}, "draws": {20_000},
        "number": {50}, "per_stratum": {500}, "per_track": {50}, "points": {90}, "rows": {200}, "shard_rows": {1000},
        "share": {0.02}, "top": {10_000},
        "concurrency": {8, 16},  # of prompts that are written, of questions
        "per_category": {40, 100},  # of pictures of the demonstration, of prompts
        "start": {0, 1},  # of rows, of numbers that people read
    }  # fmt: skip
