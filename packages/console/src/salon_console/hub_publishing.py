"""Publish pages as a static Space and tables as a data set with its card on the Hugging Face hub.

``space_files`` and ``card`` only make texts; ``push`` is the one function that sends anything, with the hub's own client.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from salon_console.table_files import Table
from salon_taxonomy.digest import file_sha256
from salon_taxonomy.errors import InputError, missing_path
from salon_taxonomy.visible_text import visible

RepoType: TypeAlias = Literal["dataset", "space", "model"]
_INSTALL: Final = "In a clone of Salon: uv pip install './packages/console[hub]'"
_LOG_IN: Final = "Check the network; set HF_TOKEN, or log in with `hf auth login` (with the right to write)."
_SIZES: Final = (
    (1_000, "n<1K"),
    (10_000, "1K<n<10K"),
    (100_000, "10K<n<100K"),
    (1_000_000, "100K<n<1M"),
    (10_000_000, "1M<n<10M"),
)
_READERS: Final = {".csv": "read_csv", ".jsonl": "read_ndjson", ".parquet": "read_parquet"}
_LONGEST: Final = 300


def space_readme(title: str, about: str = "") -> str:
    """Return the README of a static Space whose first page is ``index.html``.

    Args:
        title: the name of the Space's page.
        about: one paragraph below the title.

    Example:
        >>> "sdk: static" in space_readme("Votes of June")
        True
    """
    settings = {"title": visible(title), "emoji": "📊", "colorFrom": "blue", "colorTo": "gray", "app_file": "index.html"}
    top = _front_matter(settings, "sdk: static", "pinned: false")
    return f"{top}\n# {_line(title)}\n\n{_line(about) or 'A page made by Salon: it fetches nothing.'}\n"


@dataclass(frozen=True, slots=True)
class CardTable:
    """A table of a data set card: its rows, its columns with their types, and its digest."""

    name: str
    rows: int
    columns: Mapping[str, str]
    sha256: str


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
            tables.append(CardTable(path.name, frame.height, columns, file_sha256(path)))
    if not tables:
        raise InputError("there is no table in this folder", source=folder, allowed=tuple(_READERS))
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


def files_to_push(folder: Path) -> tuple[Path, ...]:
    """Return the files of a folder that are pushed: all but hidden ones, and those in hidden folders.

    Raises:
        InputError: there is no such folder or nothing in it, or a file is a link that leads out of it.
    """
    if not folder.is_dir():
        raise missing_path(folder, "folder")
    files = tuple(sorted(_shown_files(folder)))
    if not files:
        raise InputError("there is nothing to push in this folder", source=folder)
    root = folder.resolve()
    for path in files:
        if not path.resolve().is_relative_to(root):
            raise InputError("is a link that leads out of the folder:", source=path, value=str(path.resolve()))
    return files


def _shown_files(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts):
            yield path


def push(
    folder: Path,
    repository: str,
    kind: RepoType,
    *,
    private: bool = False,
    message: str = "Results by Salon",
    token: str | None = None,
    endpoint: str | None = None,
) -> str:
    """Upload the files of a folder to a Hugging Face repository in one commit; return its address.

    A missing repository is made. Files of the same name are replaced; others stay.

    Args:
        folder: what :func:`files_to_push` finds in it.
        repository: ``OWNER/NAME``.
        kind: a data set, a Space (it must be static, with an ``index.html``) or a model.
        private: only for a repository that is made now.
        message: of the commit.
        token: default: the one that the hub's client is logged in with. It is in no message of an error.
        endpoint: of another hub; default: the public one.

    Raises:
        InputError: huggingface_hub is not installed, there is no token, the folder has no ``README.md`` (a Space: no
            ``index.html``), or the hub refuses the upload.
    """
    files = files_to_push(folder)
    needed = {"dataset": ("README.md",), "space": ("README.md", "index.html"), "model": ()}[kind]
    for name in needed:
        if folder / name not in files:
            hint = f"`salon results {'space' if kind == 'space' else 'card'}` writes it."
            raise InputError(f"a {kind} needs the file", source=folder, value=name, hint=hint)
    try:
        hub, errors = import_module("huggingface_hub"), import_module("huggingface_hub.errors")
    except ImportError as error:
        raise InputError("a push needs huggingface_hub", value=repository, hint=_INSTALL) from error
    secret = token or hub.get_token()
    if not secret:
        raise InputError("there is no token for the hub", value=repository, hint=_LOG_IN)
    api = hub.HfApi(endpoint=endpoint, token=secret, library_name="salon")
    http = import_module(type(hub.get_session()).__module__.partition(".")[0])
    try:
        sdk = {"space_sdk": "static"} if kind == "space" else {}
        url = api.create_repo(repository, repo_type=kind, private=private, exist_ok=True, **sdk)
        operations = [
            hub.CommitOperationAdd(path_in_repo=path.relative_to(folder).as_posix(), path_or_fileobj=path) for path in files
        ]
        api.create_commit(repository, operations, commit_message=message, repo_type=kind)
    except (errors.HfHubHTTPError, http.TransportError, OSError, ValueError) as error:
        refusal = (str(error).strip().splitlines() or [type(error).__name__])[0].replace(secret, "[hidden]")[:_LONGEST]
        raise InputError(f"the hub did not take the files ({refusal})", value=repository, hint=_LOG_IN) from None
    return str(url)
