"""``examples/small_bench``: its README's commands run from drawing to the page, twice with the same numbers."""

import json
import re
import shlex
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result

from salon_bench.runs import checkpoint
from salon_console import main

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "small_bench"
COMMANDS = re.findall(r"^\$ (.*)$", (EXAMPLE / "README.md").read_text(encoding="utf-8"), re.MULTILINE)


def salon(line: str) -> Result:
    result = CliRunner().invoke(main, shlex.split(line)[1:], catch_exceptions=False)
    assert result.exit_code == 0, f"{line}\n{result.output}"
    return result


def prepared(folder: Path) -> None:
    done = subprocess.run([sys.executable, EXAMPLE / "prepare.py", folder], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder after all commands of the README."""
    folder = tmp_path_factory.mktemp("example") / "work"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoint, "fold_apart", checkpoint.fold_here)  # a process for each costs more than these runs
        assert COMMANDS[:2] == ["python prepare.py work", "cd work"]
        prepared(folder)
        patch.chdir(folder)
        names: dict[str, str] = {}
        for line in COMMANDS[2:]:
            for word, run_id in names.items():
                line = re.sub(rf"\b{word}\b", run_id, line)
            result = salon(line)
            if line == "salon bench runs":
                ids = re.findall(r"^ (\S+-[0-9a-f]{8})", result.stdout, re.MULTILINE)
                names = {
                    ("PRISM" if each.startswith("prism") else "-".join(each.split("-")[:2]).replace("-", "_").upper()): each
                    for each in ids
                }
        return folder


def read_replies(file: Path) -> dict[bytes, bytes]:
    with closing(sqlite3.connect(file)) as database:
        return dict(database.execute("SELECT key, body FROM replies"))


@pytest.mark.slow  # judges all pictures of the example
def test_both_suites_judge_all_pictures_and_count_what_they_could_not_read(work: Path) -> None:
    rows = pl.read_csv(work / "verdicts.csv")
    assert rows.height == 24
    assert rows.filter(pl.col("subject_model") == "steady")["alignment"].to_list() == [10.0] * 12
    hasty = rows.filter(pl.col("subject_model") == "hasty")
    assert hasty["alignment_unscored"].drop_nulls().to_list() == ["malformed", "malformed"]
    assert hasty["alignment"].drop_nulls().max() < 10.5
    assert hasty["alignment"].drop_nulls().mean() < 8.0
    store = shlex.quote(str(work / "results"))
    calls = salon(f"salon store sql {store} \"SELECT count(*) n FROM judge_calls WHERE step LIKE '%#2'\" --format json")
    assert json.loads(calls.stdout) == [{"n": 6}]  # each unread reply was asked for once more


def test_magicbenchs_scores_are_what_the_drawn_mistakes_make_them(work: Path) -> None:
    [board] = json.loads(
        salon(f"salon results leaderboard magicbench --store {shlex.quote(str(work / 'results'))} --format json").stdout
    )
    scores = {(row["model"], row["metric"]): row for row in board["rows"] if row["group"] is None}
    assert {
        metric: scores["steady", metric]["value"] for metric in ("overall", "human", "animal", "object", "interaction")
    } == dict.fromkeys(("overall", "human", "animal", "object", "interaction"), 100.0)
    # 12 pictures: 4 as asked, 4 with an artifact (2 of them an interaction), 2 without subject, 2 noise
    overall = scores["hasty", "overall"]
    assert (overall["value"], overall["scored"], overall["unscored"]) == (pytest.approx(40.0), 10, 2)
    assert scores["hasty", "interaction"]["value"] == pytest.approx(80.0)


def test_the_page_holds_every_picture_and_reply(work: Path) -> None:
    page = (work / "page.html").read_text(encoding="utf-8")
    assert page.count('<img src="data:image/webp;base64,') == 48  # 24 pictures in each of two suites
    assert "I see only noise and would rather not say." in page
    assert "unscored: <bdi>malformed</bdi>" in page
    assert "Wilson&#39;s score intervals" in page
    assert (work / "compared.html").read_text(encoding="utf-8").count("<article") == 6  # of 10 scored pairs 4 are equal


def test_the_same_commands_elsewhere_record_the_same_replies(work: Path, tmp_path: Path) -> None:
    prepared(tmp_path)
    one, other = (read_replies(folder / "replies" / "replies.sqlite3") for folder in (work, tmp_path))
    assert one == other
