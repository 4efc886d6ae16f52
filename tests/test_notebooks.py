"""The tutorials as notebooks: each ``docs/tutorial-NAME.md`` is also ``docs/notebooks/NAME.ipynb``, and the notebooks run.

The page is the source: its Python and console blocks are the notebook's cells, and what they print is left out. A block that
ends with ``print(result)`` ends with ``result`` there, which a notebook shows as a table with its chart.
``python tests/test_notebooks.py`` writes the notebooks.
"""

import json
import os
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TUTORIALS = sorted(ROOT.glob("docs/tutorial-*.md"))
PART = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


def notebook_of(page: Path) -> Path:
    return ROOT / "docs" / "notebooks" / f"{page.stem.removeprefix('tutorial-')}.ipynb"


def cells(text: str) -> list[tuple[str, str]]:
    """The cells of a page: ``markdown`` or ``code``, and its source."""
    found: list[tuple[str, str]] = []
    at = 0
    for part in PART.finditer(text):
        found.append(("markdown", text[at : part.start()]))
        at = part.end()
        language, note, body = part.groups()
        if language == "python":
            found.append(("code", re.sub(r"^print\((\w+)\)\n\Z", r"\1\n", body, flags=re.MULTILINE)))
        elif language == "console":
            commands = re.findall(r"^\$ ((?:[^\n]*\\\n)*[^\n]*)$", body, re.MULTILINE)
            found.append(("code", "\n".join(f"!{command}" for command in commands)))
        elif note:
            found.append(("markdown", part.group(0)))
    found.append(("markdown", text[at:]))
    tidied = [(kind, re.sub(r"</?(details|summary)[^>]*>", "", source).strip("\n")) for kind, source in found]
    linked = [
        (kind, re.sub(r"\]\((?!https?:|notebooks/)([^)]+)\)", r"](../\1)", source) if kind == "markdown" else source)
        for kind, source in tidied
    ]
    return [(kind, source) for kind, source in linked if source.strip()]


def notebook(page: Path) -> str:
    """A page as the text of a notebook without outputs."""
    made = []
    for number, (kind, source) in enumerate(cells(page.read_text(encoding="utf-8"))):
        cell: dict[str, object] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}}
        cell |= {"source": source.splitlines(keepends=True)}
        made.append(cell | ({"execution_count": None, "outputs": []} if kind == "code" else {}))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, ensure_ascii=False, indent=1) + "\n"


def test_every_tutorial_is_a_notebook() -> None:
    assert len(TUTORIALS) == 4
    assert [page.name for page in TUTORIALS if notebook_of(page).read_text(encoding="utf-8") != notebook(page)] == []
    assert sorted((ROOT / "docs/notebooks").iterdir()) == sorted(notebook_of(page) for page in TUTORIALS)


@pytest.mark.slow
@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_notebook_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbclient = pytest.importorskip("nbclient", reason="needs the group docs: uv run --all-packages --group docs pytest …")
    import nbformat

    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("PATH", os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])))
    made = nbformat.read(notebook_of(page), as_version=4)
    nbformat.validate(made)
    nbclient.NotebookClient(made, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    failed = [cell.source for cell in made.cells if "Error:" in str(cell.get("outputs"))]
    assert failed == []


if __name__ == "__main__":
    for page in TUTORIALS:
        notebook_of(page).parent.mkdir(exist_ok=True)
        notebook_of(page).write_text(notebook(page), encoding="utf-8")
