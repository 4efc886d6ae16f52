"""Prompts of any suite from a user's file or folder.

prompts.txt                  one prompt per line; a prompt's id is the number of its line in four digits: 0001
prompts.csv|json|jsonl|parquet
                             a table: prompt (or Prompt, text), and if wanted prompt_id; further columns are facts of the prompt
prompts/                     a folder: a prompt in each <prompt_id>.txt; a picture without one is a prompt without words
released/                    a folder of any files, with a SQL query that makes such a table of them

A row of an editing conversation has its instructions in the column ``turns``, a list of texts; it needs no ``prompt``.

A suite that shows a prompt's own pictures names their roles (``MediaRole``); then the columns of those names hold files: a path
from the folder of the table, or in Parquet the bytes, as they are or in a struct of ``bytes`` and ``path``; a list for several.
``source_sha256`` beside ``source`` is checked where it is there.
"""

import hashlib
import math
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from salon_bench.suites.contract.suite import SuitePrompt
from salon_console.table_rows import TABLE_ENDINGS, TableRow, UsableRows, unique_rows
from salon_judges.formats.generation_tables import located
from salon_judges.formats.generations import PICTURE_SUFFIXES, VIDEO_SUFFIXES, Generated, Generations, read_generations
from salon_judges.formats.suite_prompt import TURNS
from salon_judges.media.policy import DEFAULT_LIMITS
from salon_judges.media.video_policy import DEFAULT_VIDEO_LIMITS
from salon_taxonomy.digest import Digestible
from salon_taxonomy.enums import MediaRole
from salon_taxonomy.errors import InputError
from salon_taxonomy.media_files import linked_folder, read_inside
from salon_taxonomy.records import Prompt
from salon_taxonomy.verdict import Unscored

NO_WORDS: Final = "(no prompt)"
"""The text of a prompt that is a picture alone."""
LONGEST_PROMPT: Final = 8000
"""In characters; a longer text is no prompt."""
LONGEST_ID: Final = 200
"""In characters, as ``records.Key``."""
_COLUMNS: Final = ("prompt", "Prompt", "text")
_OWN: Final = ("prompt_id", *_COLUMNS)
_ENDINGS: Final = (".txt", *TABLE_ENDINGS)
_SHA256: Final = "_sha256"
"""Behind the name of a role, the column with the digests of its files."""


def read_prompts(
    source: Path, suite: str, query: str | None = None, roles: Mapping[MediaRole, bool] | None = None
) -> UsableRows[SuitePrompt]:
    """Read the prompts of a file or folder.

    Args:
        source: as in the module's description.
        suite: the suite's name, for the rows of ``prompts``.
        query: one SELECT of DuckDB over the files of the folder ``source`` (:func:`queried_rows`).
        roles: of the pictures and videos that come with a prompt; true: every prompt needs one.

    Returns:
        The prompts in the file's order, or by name; further columns are their facts. A row that cannot be used is left out and
        named. The fact of a role is the list of the SHA-256 of its files.

    Raises:
        InputError: the source is missing or of another kind, none of its rows can be used, or a row lacks a file that it needs.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "prompts.csv"
        >>> _ = path.write_text("prompt,style\\na red cube,photo\\n")
        >>> [item] = read_prompts(path, "mine")
        >>> item.prompt.prompt_id, item.prompt.text, item.facts
        ('0001', 'a red cube', {'style': 'photo'})
    """
    files = roles or {}
    if query is not None:
        return _unique(source, suite, files, queried_rows(source, query))
    if any(files.values()) and source.suffix.lower() not in TABLE_ENDINGS:
        needed = next(role for role, needed in files.items() if needed)
        hint = f"Write a table with a column {needed} of paths beside the prompts."
        raise InputError("a suite that shows files of prompts needs a table", source=source, allowed=TABLE_ENDINGS, hint=hint)
    if source.is_dir():
        usable = UsableRows(source, _folder(source, suite))
        if not usable:
            hint = f"A folder of prompts has <prompt_id>.txt, or pictures ({', '.join(PICTURE_SUFFIXES)})."
            raise InputError("there is no prompt in the folder", source=source, hint=hint)
        return usable
    if source.suffix.lower() == ".txt":
        lines = list(_lines(source, suite))
        if not lines:
            raise InputError("there is no prompt in the file", source=source)
        return UsableRows(source, lines)
    if source.suffix.lower() not in _ENDINGS:
        raise InputError("unknown kind of prompt file", source=source, value=source.suffix, allowed=_ENDINGS)
    return _unique(source, suite, files)


def with_sources(prompts: Sequence[SuitePrompt], folder: Path, *, video: bool = False) -> list[SuitePrompt]:
    """Return the prompts with the files of a folder that are named by their ids (``read_generations``).

    Args:
        prompts: all of which need a file.
        folder: of pictures and videos.
        video: videos are made: a picture is then the first frame, not a source.

    Raises:
        InputError: a prompt has no file in the folder, or brings a file already.
    """
    files = read_generations(
        folder, "source", [item.prompt.prompt_id for item in prompts], suffixes=(*PICTURE_SUFFIXES, *VIDEO_SUFFIXES)
    )
    return [replace(item, media=_sources_of(item, files, folder, video=video)) for item in prompts]


def _sources_of(item: SuitePrompt, files: Generations, folder: Path, *, video: bool) -> tuple[Generated, ...]:
    own = files.of(item.prompt.prompt_id, "source")
    if not own:
        hint = "Name files <prompt_id>.png; <prompt_id>.0.png, <prompt_id>.1.png for several."
        raise InputError("has no file for the prompt", source=folder, value=item.prompt.prompt_id, hint=hint)
    bring = [file for file in item.media if file.role in (MediaRole.SOURCE, MediaRole.FIRST_FRAME)]
    if bring:
        raise InputError("the prompts bring files of their own already:", source=folder, value=str(bring[0].path))
    digests = [_digest(file.path, file.root) for file in own]
    for file, digest in zip(own, digests, strict=True):
        if isinstance(digest, Unscored):
            raise InputError(f"{digest.detail}:", source=folder, value=str(file.path))
    pictures = {file for file in own if file.path.suffix.lower() in PICTURE_SUFFIXES}
    roles = [MediaRole.FIRST_FRAME if video and file in pictures else MediaRole.SOURCE for file in own]
    return tuple(replace(file, role=role, sha256=str(sha256)) for file, role, sha256 in zip(own, roles, digests, strict=True))


def queried_rows(folder: Path, query: str) -> list[TableRow]:
    """Return the rows that a SQL query makes of the files of a folder, in the order of their ``prompt_id``.

    Args:
        folder: of the files.
        query: one SELECT of DuckDB that reads files of the folder alone (``salon_store.query.query_folder``).

    Raises:
        InputError: ``folder`` is no folder, or the query cannot be run, or would do more than read.
    """
    from salon_store.query import query_folder  # heavy: polars

    if not folder.is_dir():
        hint = "Give --prompts FOLDER: the folder that holds the released files."
        raise InputError("the suite's query needs a folder of files", source=folder, hint=hint)
    rows = query_folder(query, folder, linked_folder(folder))
    rows.sort(key=lambda row: str(row.get("prompt_id")))
    return [TableRow(folder, number, row) for number, row in enumerate(rows, 1)]


def _unique(
    source: Path, suite: str, roles: Mapping[MediaRole, bool], rows: list[TableRow] | None = None
) -> UsableRows[SuitePrompt]:
    def read(row: TableRow) -> SuitePrompt:
        return _row(row, suite, roles)

    usable = unique_rows(source, read, lambda prompt: prompt.prompt.prompt_id, "prompt_id", what="prompt", rows=rows)
    columns = {name for role in roles for name in (role.value, role + _SHA256)}
    without = next((bad.error for bad in usable.left_out if bad.error.column in columns), None)
    if without is not None:
        raise without
    return usable


def _folder(source: Path, suite: str) -> Iterator[SuitePrompt]:
    files = {file.stem: file for file in sorted(source.iterdir()) if file.suffix.lower() in PICTURE_SUFFIXES}
    files |= {file.stem: file for file in sorted(source.iterdir()) if file.suffix.lower() == ".txt"}
    for name, file in sorted(files.items()):
        words = " ".join(_text(file).split()) if file.suffix.lower() == ".txt" else NO_WORDS
        yield SuitePrompt(Prompt(prompt_id=name, suite=suite, text=words or NO_WORDS))


def _lines(source: Path, suite: str) -> Iterator[SuitePrompt]:
    for number, line in enumerate(_text(source).split("\n"), start=1):
        if len(line) > LONGEST_PROMPT:
            raise InputError(f"has more than {LONGEST_PROMPT} characters:", source=source, line=number, value=line)
        if line.strip():
            yield SuitePrompt(Prompt(prompt_id=f"{number:04d}", suite=suite, text=line.strip()))


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", source=file) from error
    except UnicodeDecodeError as error:
        raise InputError("is not UTF-8", source=file) from error


def _row(row: TableRow, suite: str, roles: Mapping[MediaRole, bool]) -> SuitePrompt:
    column = next((name for name in _COLUMNS if name in row.cells), "prompt")
    turns = row.cells.get(TURNS)
    if isinstance(turns, list) and not (turns and all(isinstance(each, str) and each.strip() for each in turns)):
        raise row.problem("is a list of instructions, each a text, not", TURNS, value=turns)
    if isinstance(turns, list) and column not in row.cells:
        text = "\n".join(f"{number}. {instruction}" for number, instruction in enumerate(turns, 1))
    else:
        text = row.text(column)
    if len(text) > LONGEST_PROMPT:
        raise row.problem(f"has more than {LONGEST_PROMPT} characters:", column, value=text)
    cell = row.cells.get("prompt_id")
    is_number = isinstance(cell, int) and not isinstance(cell, bool)
    prompt_id = str(cell) if is_number else row.optional_text("prompt_id") or f"{row.number:04d}"
    if len(prompt_id) > LONGEST_ID:
        raise row.problem(f"has more than {LONGEST_ID} characters:", "prompt_id", value=prompt_id)
    media = tuple(file for role, needed in roles.items() for file in _files(row, prompt_id, role, needed=needed))
    digests = {role.value: [file.sha256 for file in media if file.role == role] for role in roles}
    _refuse_alike(row.cells, row)
    facts = {name: _fact(value, row, name) for name, value in row.cells.items() if name not in (*_OWN, *digests)}
    return SuitePrompt(Prompt(prompt_id=prompt_id, suite=suite, text=text), facts | digests, media)


def _files(row: TableRow, prompt_id: str, role: MediaRole, *, needed: bool) -> Iterator[Generated]:
    """Yield the files of a role of one row.

    Raises:
        InputError: a needed file is not named, or a file is missing, outside of the folder or changed.
    """
    if needed and role.value not in row.cells:
        raise row.missing(role.value)
    cells = _listed(row.cells.get(role.value))
    if needed and not cells:
        raise row.problem("has no picture or video to show", role.value)
    sums = _listed(row.cells.get(role + _SHA256))
    for number, cell in enumerate(cells):
        data = cell.get("bytes") if isinstance(cell, Mapping) else cell
        path = cell.get("path") if isinstance(cell, Mapping) and data is None else data
        if isinstance(data, bytes):
            location, root, sha256 = row.source / f"{role}-{row.number}-{number}", row.source, hashlib.sha256(data).hexdigest()
        elif isinstance(path, str):
            data = None
            location, root = located(path, row.source / "query" if row.source.is_dir() else row.source, row.number, role.value)
            digest = _digest(location, root)
            if isinstance(digest, Unscored):
                hint = f"Paths begin at the folder {root}."
                raise row.problem(f"{digest.detail}:", role.value, value=path, hint=hint)
            sha256 = digest
        else:
            raise row.problem("is neither a path nor the bytes of a file:", role.value, value=cell)
        if sums and (len(sums) != len(cells) or sums[number] != sha256):
            raise row.problem("is not the digest of the file, which is", role + _SHA256, value=sha256)
        yield Generated(prompt_id, role.value, number, location, root, sha256, role=role, data=data)


def _digest(path: Path, root: Path) -> str | Unscored:
    """Return the SHA-256 of a plain file below a folder; ``Unscored`` for one that is unreadable, elsewhere or too large."""
    most = (DEFAULT_VIDEO_LIMITS if path.suffix.lower() in VIDEO_SUFFIXES else DEFAULT_LIMITS).most_bytes
    content = read_inside(path, root, most)
    return content if isinstance(content, Unscored) else hashlib.sha256(content).hexdigest()


def _listed(cell: Any) -> list[Any]:
    """Return the values of a cell, of which a list has several."""
    return [each for each in (cell if isinstance(cell, list) else [cell]) if each not in (None, "", b"")]


def _refuse_alike(names: Iterable[object], row: TableRow, column: str | None = None) -> None:
    """Refuse names of columns or keys that are written with other code points and are the same text.

    Raises:
        InputError: names the second one.
    """
    known: set[str] = set()
    written = [str(name) for name in names]
    for name in () if all(map(str.isascii, written)) else written:
        plain = unicodedata.normalize("NFC", name)
        if plain in known:
            raise row.problem("has two names that are the same text in other code points:", column or name, value=name)
        known.add(plain)


def _fact(value: Any, row: TableRow, column: str) -> Digestible:
    if isinstance(value, list):
        return [_fact(item, row, column) for item in value]
    if isinstance(value, dict):
        _refuse_alike(value, row, column)
        return {str(name): _fact(item, row, column) for name, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        raise row.problem("is no finite number, and a missing one is an empty cell:", column, value=str(value))
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
