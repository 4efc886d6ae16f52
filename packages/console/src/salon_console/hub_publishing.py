"""READMEs that the Hugging Face hub reads: of a static Space, and the card of a data set of tables."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from salon_console.table_files import Table
from salon_taxonomy.digest import file_sha256
from salon_taxonomy.errors import InputError, missing_path
from salon_taxonomy.visible_text import visible

_SIZES: Final = (
    (1_000, "n<1K"),
    (10_000, "1K<n<10K"),
    (100_000, "10K<n<100K"),
    (1_000_000, "100K<n<1M"),
    (10_000_000, "1M<n<10M"),
)
_READERS: Final = {".csv": "read_csv", ".jsonl": "read_ndjson", ".parquet": "read_parquet"}
_LONGEST: Final = 300
_PATH: Final = r"^(?:(?:file://)?/[^/\s]+/|(?:file:///)?[A-Za-z]:[\\/])"
"""An absolute path of a machine, also as a file URL."""


def space_readme(title: str, about: str = "", license_: str | None = None) -> str:
    """Return the README of a static Space whose first page is ``index.html``.

    Args:
        title: the name of the Space's page.
        about: one paragraph below the title.
        license_: as the hub spells it.

    Example:
        >>> "sdk: static" in space_readme("Votes of June")
        True
    """
    settings = {"title": visible(title), "emoji": "📊", "colorFrom": "blue", "colorTo": "gray", "app_file": "index.html"}
    if license_ is not None:
        settings["license"] = license_
    top = _front_matter(settings, "sdk: static", "pinned: false")
    return f"{top}\n# {_line(title)}\n\n{_line(about) or 'A page made by Salon: it fetches nothing.'}\n"


@dataclass(frozen=True, slots=True)
class CardTable:
    """A table of a data set card: its rows, its columns with their types, and its digest.

    Attributes:
        paths: the columns with absolute paths of this machine, which say who works where; each with the first of its paths.
    """

    name: str
    rows: int
    columns: Mapping[str, str]
    sha256: str
    paths: Mapping[str, str] = field(default_factory=dict)


def card_tables(folder: Path) -> tuple[CardTable, ...]:
    """Read the tables of a folder (``.csv``, ``.jsonl``, ``.parquet``), by name; folders within it are left alone.

    Raises:
        InputError: there is no such folder or no table in it, or a table cannot be read.
    """
    try:
        import polars as pl
    except ModuleNotFoundError as error:
        raise InputError("a card needs a package that is missing:", value="polars", hint="pip install polars") from error
    if not folder.is_dir():
        raise missing_path(folder, "folder")
    tables = []
    for path in sorted(folder.iterdir()):
        if path.suffix in _READERS and path.is_file() and not path.name.startswith("."):
            try:
                frame = getattr(pl, _READERS[path.suffix])(path)
            except (pl.exceptions.PolarsError, OSError) as error:
                problem = str(error).splitlines()[0][:_LONGEST]
                raise InputError(f"cannot be read ({problem})", source=path) from error
            columns = {name: str(kind) for name, kind in frame.schema.items()}
            texts = [column.drop_nulls() for column in frame.iter_columns() if column.dtype == pl.String]
            paths = {
                column.name: str(matches[0]) for column in texts if (matches := column.filter(column.str.contains(_PATH))).len()
            }
            tables.append(CardTable(path.name, frame.height, columns, file_sha256(path), paths))
    if not tables:
        sendable = "A release of `salon curate release` has its card: hf upload NAME FOLDER --repo-type dataset"
        hint = sendable if (folder / "README.md").is_file() else None
        raise InputError("there is no table in this folder", source=folder, allowed=tuple(_READERS), hint=hint)
    return tuple(tables)


def card(tables: Sequence[CardTable], *, title: str, license_: str | None = None, about: str = "") -> str:
    """Return a data set card: settings for the hub, then every table with rows, columns and digest.

    Args:
        tables: at least one; each becomes a configuration with the name of its file.
        title: the name of the data set.
        license_: as the hub spells it, such as ``cc-by-4.0``.
        about: where the rows come from, and what they may be used for.

    Example:
        >>> print(card([CardTable("votes.csv", 2, {"winner": "String"}, "0" * 64)], title="Votes").splitlines()[1])
        pretty_name: "Votes"
    """
    rows = max(table.rows for table in tables)
    settings: dict[str, Any] = {"pretty_name": visible(title)}
    if license_ is not None:
        settings["license"] = license_
    settings["size_categories"] = [next((name for most, name in _SIZES if rows < most), "n>10M")]
    settings["tags"] = ["salon"]
    settings["configs"] = [{"config_name": Path(table.name).stem, "data_files": table.name} for table in tables]
    listed = [(table.name, f"{table.rows:,}", str(len(table.columns)), table.sha256) for table in tables]
    files = Table(("file", "rows", "columns", "sha256"), listed, frozenset({"rows", "columns"}))
    parts = [
        _front_matter(settings),
        f"# {_line(title)}",
        _line(about) or "Rows written by Salon.",
        "## Files",
        files.markdown(),
    ]
    for table in tables:
        columns = Table(("column", "type"), list(table.columns.items()))
        parts += [f"## {_line(table.name)}", columns.markdown()]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _front_matter(settings: Mapping[str, Any], *plain: str) -> str:
    """Return settings, then plain lines, between the marks of YAML; every value is JSON, which YAML contains."""
    lines = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in settings.items()]
    return "\n".join(["---", *lines, *plain, "---", ""])


def _line(text: str) -> str:
    """Return a text of a user as one line of Markdown."""
    return " ".join(visible(text, prose=True).split())
