"""Publishing on the Hugging Face hub: what its README says of a page and of tables."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from salon_console import main

HOSTILE = '"]: {x}\n--- <script>alert(1)</script> # \u202e'


def salon(*words: object) -> Result:
    return CliRunner().invoke(main, ["results", *map(str, words)])


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    folder = tmp_path / "tables"
    folder.mkdir()
    (folder / "votes.csv").write_text("model_a,model_b,winner\nx,y,tie\nx,y,model_a\n")
    (folder / "rows.jsonl").write_text('{"a": 1}\n')
    return folder


def front_matter(text: str) -> dict[str, str]:
    top = text.split("---\n")[1]
    return dict(line.split(": ", 1) for line in top.splitlines())


def test_the_readme_of_a_folder_with_a_page_has_the_settings_of_a_space(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "index.html").write_text("<!doctype html>")
    done = salon("card", tmp_path / "s", "--title", HOSTILE)
    assert done.exit_code == 0, done.output
    text = (tmp_path / "s" / "README.md").read_text("utf-8")
    found = front_matter(text)
    assert (found["sdk"], found["app_file"], found["pinned"]) == ("static", '"index.html"', "false")
    assert json.loads(found["title"]).startswith('"]: {x}')
    assert "\u202e" not in text


def test_columns_with_paths_of_this_machine_are_warned_of_before_they_are_sent(tables: Path) -> None:
    places = ["/home/ann/p1.png", "file:///srv/p/2.png", "C:\\\\ann\\\\3.png"]
    for number, place in enumerate(places):
        (tables / f"t{number}.jsonl").write_text(
            f'{{"uri": "p.png", "prompt": "a / b"}}\n{{"uri": "{place}", "prompt": "/ 2"}}\n'
        )
    done = salon("card", tables, "--title", "t")
    assert done.exit_code == 0, done.output
    warned = [line for line in done.stderr.splitlines() if line.startswith("Warning")]
    assert [line.split(", column")[0] for line in warned] == [f"Warning: t{number}.jsonl" for number in range(3)]
    assert all("'uri'" in line for line in warned) and places[0] in warned[0]
    for number in range(3):
        (tables / f"t{number}.jsonl").write_text('{"uri": "s3://bucket/a/b.png", "page": "https://a.example/b/c"}\n')
    assert "Warning" not in salon("card", tables, "--title", "t").stderr


def test_a_card_names_every_table_with_its_columns(tables: Path) -> None:
    done = salon("card", tables, "--title", HOSTILE, "--license", "cc-by-4.0", "--about", "Votes\nof people.")
    assert done.exit_code == 0, done.output
    text = (tables / "README.md").read_text("utf-8")
    found = front_matter(text)
    assert json.loads(found["configs"]) == [
        {"config_name": "rows", "data_files": "rows.jsonl"},
        {"config_name": "votes", "data_files": "votes.csv"},
    ]
    assert (json.loads(found["size_categories"]), json.loads(found["license"])) == (["n<1K"], "cc-by-4.0")
    assert "| model\\_a | String |" in text or "| model_a | String |" in text
    assert "Votes of people." in text
    assert salon("card", tables.parent, "--title", "a").exit_code == 2
