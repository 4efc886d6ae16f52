"""Run every example in the README files and the docs, and compare what they print with what runs.

Blocks run in order, each page in its own empty folder. A ```` ```python ```` block is executed, in one namespace per page. In
```` ```console ```` and ```` ```bash ```` blocks every line with a ``salon`` command is run; lines below a command are its
output, and it must succeed unless they hold an ``Error:``. A ```` ```text ```` block is the output of the block before it, and
what a Python block prints must be shown in one. In an output, ``…`` matches anything, within a line or, on its own line,
over many lines. A text block that is not output gives its reason in the fence: ```` ```text not run: needs a model server ````.

``python tests/test_documentation.py PAGE…`` writes the outputs of today into the pages, except those with ``…``.
"""

import contextlib
import difflib
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import click
import pytest
from click.testing import CliRunner

from salon_console import main

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted({ROOT / "README.md", *ROOT.glob("packages/*/README.md"), *ROOT.glob("docs/**/*.md")})
BLOCK = re.compile(r"^```(?P<language>\w+)(?P<note>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
RUNNABLE = {"python", "console", "bash"}
KNOWN = RUNNABLE | {"text", "toml", "json", "sql", "rust", "html", "csv"}
REASONS = ("not run: ", "shape: ")  # a command that cannot run here; a drawing, a format or a file that nothing prints


class Block(NamedTuple):
    language: str
    note: str
    body: str
    line: int
    span: tuple[int, int]  # of the body, in characters of the page


class Difference(NamedTuple):
    block: Block
    span: tuple[int, int]  # of the printed text, in characters of the page
    printed: str
    ran: str


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(m["language"], m["note"].strip(), m["body"], text.count("\n", 0, m.start()) + 1, m.span("body"))
        for m in BLOCK.finditer(text)
    ]


def tidy(text: str) -> str:
    """Text without spaces at the ends of its lines and without empty lines around it."""
    return "\n".join(line.rstrip() for line in text.splitlines()).strip("\n")


def agrees(printed: str, ran: str) -> bool:
    """Whether printed text describes an output; ``…`` in the printed text stands for anything, an empty text included."""
    expected = re.escape(f"\n{tidy(printed)}\n").replace(re.escape("\n…\n"), "\n(?:.*\n)?").replace("…", ".*?")
    return re.fullmatch(expected, f"\n{tidy(ran)}\n", re.DOTALL) is not None


def commands(block: Block) -> Iterator[tuple[list[str], str, tuple[int, int]]]:
    """Each ``salon`` command of a block, with the output printed below it and where that output is in the page."""
    prompt = "$ " if block.language == "console" else ""
    lines = block.body.splitlines(keepends=True)
    at, found = block.span[0], 0
    while found < len(lines):
        line = lines[found]
        at += len(line)
        found += 1
        while line.endswith("\\\n") and found < len(lines):
            line = line[:-2] + lines[found]
            at += len(lines[found])
            found += 1
        begin, below = at, ""
        while prompt and found < len(lines) and not lines[found].startswith(prompt):
            below += lines[found]
            at += len(lines[found])
            found += 1
        if line.startswith(prompt):
            words = shlex.split(line.removeprefix(prompt), comments=True)
            if "salon" in words:
                yield words[words.index("salon") + 1 :], below, (begin, at)


def run_page(page: Path) -> Iterator[Difference]:
    """Run a page in the current folder; yield each printed output that differs from what ran."""
    namespace: dict[str, object] = {"__name__": "example"}
    output: str | None = None
    page_blocks = blocks(page)
    for block, following in zip_longest(page_blocks, page_blocks[1:]):
        where = f"{page.name}:{block.line}"
        assert block.language in KNOWN, f"{where}: a block of an unknown language {block.language!r}"
        if block.language == "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile("\n" * block.line + block.body, str(page), "exec"), namespace)
            output = printed.getvalue()
            shown = following is not None and following.language == "text" and not following.note.startswith(REASONS)
            if output.strip() and not shown:
                yield Difference(block, (block.span[1] + 4, block.span[1] + 4), "", output)
        elif block.language in RUNNABLE:
            output = ""
            for arguments, below, span in commands(block):
                result = CliRunner().invoke(main, arguments, catch_exceptions=False)
                fails = re.search(r"^Error: ", below, re.MULTILINE) is not None
                assert (result.exit_code != 0) is fails, f"{where}: salon {shlex.join(arguments)}\n{result.output}"
                output += result.output
                if below.strip() and not agrees(below, result.output):
                    yield Difference(block, span, below, result.output)
        elif block.language == "text" and not block.note.startswith(REASONS):
            assert output is not None, f"{where}: no block printed this text; write ```text {REASONS[0]}…, {REASONS[1]}…"
            if not agrees(block.body, output):
                yield Difference(block, block.span, block.body, output)
            output = None


def report(page: Path, difference: Difference) -> str:
    lines = difflib.unified_diff(
        tidy(difference.printed).splitlines(), tidy(difference.ran).splitlines(), "printed in the page", "what ran", lineterm=""
    )
    return f"{page.relative_to(ROOT)}:{difference.block.line}\n" + "\n".join(lines)


def write_outputs(page: Path) -> list[str]:
    """Write today's outputs into a page; return the differences that a person must decide, those with ``…``."""
    text, left = page.read_text(encoding="utf-8"), []
    for difference in reversed(list(run_page(page))):
        if "…" in difference.printed:
            left.append(report(page, difference))
        else:
            begin, end = difference.span
            ran = tidy(difference.ran) + "\n"
            text = text[:begin] + (ran if difference.printed else f"\n```text\n{ran}```\n") + text[end:]
    page.write_text(text, encoding="utf-8")
    return left


REAL = {"store.md"}
"""Pages whose examples show the files of a store, ``catalog.duckdb`` among them."""
LONG = {"curate.md", "training.md", "tutorial-train.md"}
"""Pages whose examples train, or run long commands, for longer than a fast test may take; the slow step runs them."""
MARKS = [(REAL, pytest.mark.real_store), (LONG, pytest.mark.slow)]


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[mark for names, mark in MARKS if page.name in names]) for page in PAGES],
    ids=[str(page.relative_to(ROOT)) for page in PAGES],
)
def test_every_example_of_a_page_runs_and_prints_what_the_page_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Polars' own scan_delta, which a page shows, opens no path with a space.
    monkeypatch.chdir(tmp_path if " " not in str(tmp_path) else tempfile.mkdtemp(dir="/tmp"))
    monkeypatch.setenv("COLUMNS", "120")
    assert [report(page, difference) for difference in run_page(page)] == []


def test_an_output_that_differs_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1)\nprint(2)\n```\n\n```text\n1\n3\n```\n")
    assert [(d.printed, d.ran) for d in run_page(page)] == [("1\n3\n", "1\n2\n")]
    assert agrees("1\n…\n4\n", "1\n2\n3\n4\n")
    assert agrees("1\n…\n2\n", "1\n2\n")
    assert agrees("took … s", "took 3.2 s")
    assert not agrees("1\n…\n4\n", "1\n2\n3\n5\n")


def test_pages_have_examples_to_run() -> None:
    assert sum(block.language in RUNNABLE for page in PAGES for block in blocks(page)) >= 10


def test_links_between_pages_lead_somewhere() -> None:
    link = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)[^)]*\)")
    dead = [
        f"{page.relative_to(ROOT)} → {target}"
        for page in PAGES
        for target in link.findall(page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]
    assert dead == []


LINE = re.compile(r"(?:`|^\$? ?)(salon (?:[^`\n\\]|\\\n)*)", re.MULTILINE)


def unknown_words(line: str) -> Iterator[str]:
    """The words of a command line that name no command, and its options that the command lacks."""
    command: click.Command = main
    context = click.Context(main)
    for word in line.split("#")[0].replace("\\\n", " ").split()[1:]:
        if word in {"&&", "|", ";"}:
            return
        if isinstance(command, click.Group) and re.fullmatch(r"[a-z][a-z0-9-]*", word):
            found = command.get_command(context, word)
            if found is None:
                yield word
                return
            command, context = found, click.Context(found, parent=context)
        elif option := re.match(r"--[a-z][a-z-]*", word):
            known = {each for parameter in command.get_params(context) for each in (*parameter.opts, *parameter.secondary_opts)}
            if option[0] not in known | {"--help"}:
                yield option[0]


def test_commands_and_options_named_in_pages_exist() -> None:
    wrong, seen = [], 0
    for page in PAGES:
        for line in LINE.findall(page.read_text(encoding="utf-8")):
            seen += 1
            wrong += [f"{page.relative_to(ROOT)}: {word} in {line}" for word in unknown_words(line)]
    assert seen > 500
    assert list(unknown_words("salon votes runk votes.csv")) == ["runk"]
    assert list(unknown_words("salon votes rank votes.csv --by x --nothing")) == ["--nothing"]
    assert wrong == []


WRITTEN = [*PAGES, *ROOT.glob("changes/*.md"), *ROOT.glob("packages/*/src/**/*.py")]
WRITTEN += [path for ending in ("jinja", "html", "toml") for path in ROOT.glob(f"packages/*/src/**/*.{ending}")]
SPACED = re.compile(r"[0-9}…][ \u00a0\u202f]%(?=$|[^\w\s(=%}-]| (?:CI|[A-Z]?[a-z]+|[(·–])(?!\w*\())")


def test_a_percentage_has_no_space_before_its_sign() -> None:
    for space in " \u00a0\u202f":
        assert all(map(SPACED.search, (f"95{space}% interval", f"{{share:.1f}}{space}%", f"62.3{space}%.", f"a 95{space}% CI")))
    assert not any(map(SPACED.search, ("95%", "{% if a == 1 %}", "place % 4", "2 % len(rows)", "f'{when} %Y'")))
    assert len(WRITTEN) > 500
    lines = ((path, line) for path in WRITTEN for line in path.read_text(encoding="utf-8").splitlines())
    assert [f"{path.relative_to(ROOT)}: {line}" for path, line in lines if SPACED.search(line)] == []


if __name__ == "__main__":
    os.environ["COLUMNS"] = "120"
    for name in sys.argv[1:] or [str(page) for page in PAGES]:
        page = Path(name).resolve()
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            print("\n".join(write_outputs(page)))  # noqa: T201
