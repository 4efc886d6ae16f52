"""The ``salon papers`` commands: what they print, in which form, and how they refuse."""

import csv
import dataclasses
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from salon_console import main
from salon_published import check, load, table, tables


def salon(*words: str) -> Result:
    return CliRunner().invoke(main, ["papers", *words])


def test_list_names_every_table_with_its_size() -> None:
    result = salon("show")
    assert result.exit_code == 0
    assert all(each.id in result.stdout for each in tables())
    about = json.loads(salon("show", "--format", "json").stdout)
    assert about[0] | {"caption": ""} == {
        "id": "magicmirror:1",
        "paper": "MagicMirror",
        "title": tables()[0].paper.title,
        "caption": "",
        "rows": 8,
        "columns": 9,
        "derived_cells": 56,
    }


def test_numbers_of_a_listing_and_of_a_check_are_flush_right(tmp_path: Path) -> None:
    for words, ruler in (
        (["show"], "| --- | --- | --- | ---: | ---: |"),
        (["check", "prism:3", "--all"], "| --- | --- | --- | --- | ---: | ---: | --- |"),
    ):
        assert salon(*words, "--output", str(tmp_path / "table.md")).exit_code == 0
        assert (tmp_path / "table.md").read_text("utf-8").splitlines()[1] == ruler


def test_show_prints_digits_as_printed_in_every_form() -> None:
    assert "62.16" in salon("show", "magicmirror:3").stdout
    rows = list(csv.reader(io.StringIO(salon("show", "prism:5", "--format", "csv").stdout)))
    assert rows[0][:2] == ["model", "imagination.alignment"] and "90.30" in rows[6]
    markdown = salon("show", "r3:9a", "--format", "markdown").stdout.splitlines()
    assert markdown[1] == "| --- | ---: | ---: | ---: |"
    assert markdown[2] == "| Baseline | 0.793 | 0.654 | 0.314 |"
    assert json.loads(salon("show", "magicmirror:3", "--format", "json").stdout)["rows"] == load("magicmirror:3").to_dicts()


def test_wide_tables_keep_their_cells_in_one_piece() -> None:
    lines = salon("show", "prism:1").stdout.splitlines()
    assert any("GPT-Image-1 [High]" in line and line.rstrip().endswith("86.3") for line in lines)


def test_check_lists_what_disagrees_and_succeeds() -> None:
    result = salon("check", "artifact-bench:2")
    assert result.exit_code == 0
    assert "Human Expert" in result.stdout and "Gemini" not in result.stdout
    assert result.stdout.endswith("80 cells: exact 71, within rounding 6, consistent 0, disagrees 3\n")


def test_check_shows_every_cell_when_asked() -> None:
    assert salon("check", "prism:3", "--all").stdout.count("exact") >= 14
    cells = json.loads(salon("check", "prism:3", "--all", "--format", "json").stdout)["cells"]
    assert len(cells) == 14 and {cell["verdict"] for cell in cells} == {"exact"}


def test_check_as_json_has_the_findings_and_a_summary() -> None:
    report = json.loads(salon("check", "--format", "json").stdout)
    assert len(report["cells"]) == len(check().findings)
    assert sum(line["disagrees"] for line in report["summary"]) == len(report["cells"])


@pytest.mark.parametrize("command", ["show", "check"])
def test_an_unknown_table_exits_2_and_offers_close_ids(command: str) -> None:
    result = salon(command, "prsm:1")
    assert result.exit_code == 2
    assert "no such published table 'prsm:1' (allowed: prism:1" in result.stderr
    assert result.stdout == ""


def test_the_number_of_numpys_threads_changes_no_digit_of_a_board() -> None:
    words = [
        sys.executable,
        "-c",
        "import salon_console; salon_console.main()",
        "papers",
        "board",
        "text-to-image",
        "--format",
        "json",
    ]
    boards = []
    for threads in ("1", None):
        environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
        environment |= {} if threads is None else {"OPENBLAS_NUM_THREADS": threads}
        done = subprocess.run(words, env=environment, capture_output=True, check=True)
        boards.append(done.stdout)
    assert boards[0] == boards[1]


def test_a_name_that_a_spreadsheet_would_run_is_a_text_in_every_csv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sheet = table("vmbench:1")
    name = '=HYPERLINK("https://evil.example")'
    hostile = dataclasses.replace(sheet, keys=((name,), *sheet.keys[1:]), names=(name, *sheet.names[1:]))
    monkeypatch.setattr("salon_published.table", lambda _: hostile)
    printed = salon("show", "vmbench:1", "--format", "csv")
    assert salon("show", "vmbench:1", "--output", str(tmp_path / "out.csv")).exit_code == 0
    for text in (printed.stdout, (tmp_path / "out.csv").read_text(encoding="utf-8")):
        rows = list(csv.reader(io.StringIO(text)))
        assert rows[1][0] == f"'{name}"
        assert rows[1][1] == sheet.printed["overall"][0]
