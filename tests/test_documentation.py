"""Every example in the README files and the docs runs: Python blocks in one namespace per page, console blocks in order.

A ```` ```python ```` block is executed; the lines of a ```` ```console ```` block that start with ``$ salon`` are run by
the command line, each in the page's own empty folder, and must succeed. A ```` ```text ```` block is not run.
"""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from salon_taxonomy.cli import main

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted({ROOT / "README.md", *ROOT.glob("packages/*/README.md"), *ROOT.glob("docs/**/*.md")})
BLOCK = re.compile(r"^```(?P<language>\w+)[^\n]*\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
RUNNABLE = {"python", "console"}
KNOWN = RUNNABLE | {"text", "toml", "json", "sql", "bash", "rust", "html", "csv"}


def blocks(page: Path) -> list[tuple[str, str, int]]:
    """Language, body and line of every fenced block."""
    text = page.read_text(encoding="utf-8")
    return [(m["language"], m["body"], text.count("\n", 0, m.start()) + 1) for m in BLOCK.finditer(text)]


def commands(body: str) -> list[list[str]]:
    """The ``salon`` command lines of a console block; a trailing backslash continues a line."""
    joined = body.replace("\\\n", " ")
    lines = [line.removeprefix("$ ") for line in joined.splitlines() if line.startswith("$ ")]
    return [shlex.split(line) for line in lines if line.startswith("salon ")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_example_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    namespace: dict[str, object] = {"__name__": "example"}
    for language, body, line in blocks(page):
        assert language in KNOWN, f"{page.name}:{line}: a block of an unknown language {language!r}"
        if language == "python":
            exec(compile("\n" * line + body, str(page), "exec"), namespace)
        elif language == "console":
            for command in commands(body):
                result = CliRunner().invoke(main, command[1:], catch_exceptions=False)
                assert result.exit_code == 0, f"{page.name}:{line}: {shlex.join(command)}\n{result.output}"


def test_pages_have_examples_to_run() -> None:
    assert sum(language in RUNNABLE for page in PAGES for language, _, _ in blocks(page)) >= 10


def test_links_between_pages_lead_somewhere() -> None:
    link = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)[^)]*\)")
    dead = [
        f"{page.relative_to(ROOT)} → {target}"
        for page in PAGES
        for target in link.findall(page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]
    assert dead == []
