"""Which picture was made for which prompt: a folder of files named by prompt, or a table of paths.

    pictures/0001.png, pictures/0002.1.webp     a folder: <prompt_id>[.<sample>].<extension>
    pictures/0001/0.png, pictures/0001/1.png    a folder for each prompt: <prompt_id>/<sample>.<extension>
    generations.csv|jsonl|parquet               a table: prompt_id, path, and if wanted model, sample, turn
    pictures/generations.jsonl                  a folder with such a table, as `salon bench generate` makes it

No picture is opened here: a damaged file is found when its case is prepared (``salon_judges.media``).
"""

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from salon_console.table_rows import TABLE_ENDINGS
from salon_judges.formats.generation_tables import read_table
from salon_taxonomy.enums import MediaRole
from salon_taxonomy.errors import InputError, missing_path

PICTURE_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".avif")
"""Extensions of the files that count in a folder; others are left out and counted."""
VIDEO_SUFFIXES = (".mp4", ".mov", ".mkv", ".webm", ".avi")
"""The same for videos."""

MANIFEST = "generations.jsonl"
"""The table in a folder of `salon bench generate`; it decides, instead of the names of the files."""

GIVEN = (MediaRole.SOURCE, MediaRole.FIRST_FRAME)
"""The roles of what a generator is given; references and masks are for judges."""

_LONGEST_SAMPLE = 9
_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Generated:
    """One file that a model made, or that a prompt brings along.

    Attributes:
        prompt_id: the prompt it was made for.
        model: who made it; of a file of a prompt its role.
        sample: which of several for the same prompt and model, from 0.
        turn: of an editing conversation the turn that made it, from 1; None: there was one instruction.
        path: where the file lies.
        root: the folder it must not lead out of.
        sha256: of the file, by its table or when the run was planned; empty for one that could not be read; None: unknown.
        seconds, memory_mb, settings: as of ``records.Generation``; None: unknown.
        role: why it is shown.
        data: the file's bytes, where they are a cell of a table; ``path`` is then the address of the cell.
    """

    prompt_id: str
    model: str
    sample: int
    path: Path
    root: Path
    sha256: str | None = None
    seconds: float | None = None
    memory_mb: float | None = None
    settings: str | None = None
    role: MediaRole = MediaRole.RESULT
    data: bytes | None = field(default=None, repr=False)
    turn: int | None = None


class Generations:
    """The files of one or several models, by prompt.

    Args:
        files: in any order.
        left_out: see below.
        unknown: see below.

    Attributes:
        models: whose files they are, in the order given.
        left_out: files of the folders that are no pictures or belong to no prompt, for the report.
        unknown: ids in a table for which the suite has no prompt, each once, in the table's order; their rows were left out.

    Raises:
        InputError: when two files claim the same prompt, model, sample and turn.
    """

    def __init__(self, files: Iterable[Generated], *, left_out: Sequence[Path] = (), unknown: Sequence[str] = ()) -> None:
        self._files: dict[tuple[str, str], list[Generated]] = {}
        self.models: tuple[str, ...] = ()
        self.left_out = tuple(left_out)
        self.unknown = tuple(unknown)
        for file in files:
            if file.model not in self.models:
                self.models += (file.model,)
            self._files.setdefault((file.prompt_id, file.model), []).append(file)
        for pictures in self._files.values():
            pictures.sort(key=_order)
            for one, other in pairwise(pictures):
                if _order(one) == _order(other):
                    raise InputError(
                        f"two files for sample {one.sample} of one prompt by {one.model!r}, this and",
                        source=other.path,
                        value=str(one.path),
                        hint="Several pictures for a prompt need a number: 0001.0.png, 0001.1.png.",
                    )

    def of(self, prompt_id: str, model: str) -> tuple[Generated, ...]:
        """Return the files for one prompt, by sample and turn."""
        return tuple(self._files.get((prompt_id, model), ()))

    def __len__(self) -> int:
        """Return how many files."""
        return sum(map(len, self._files.values()))


def read_generations(
    source: Path,
    model: str,
    prompt_ids: Iterable[str],
    *,
    suffixes: Collection[str] = PICTURE_SUFFIXES,
    absolute_paths: bool = False,
) -> Generations:
    """Return the files of one model: those of a folder, or those that a table names.

    In a folder the name decides. The name without its extension is a prompt's id, or an id, a dot and the number of a sample;
    an id that itself ends in a dot and a number wins. A folder in it that bears a prompt's id holds samples by number. Links
    to folders are not followed. Everything else is left out and counted. A folder with a ``generations.jsonl`` is read as that
    table.

    In a table (``.csv`` with a header, ``.jsonl``, ``.parquet``) the columns ``prompt_id`` and ``path`` must be there;
    ``sample`` (0 when absent), ``turn``, ``model``, ``seconds``, ``memory_mb`` and ``settings`` may. Where there is a column
    ``model``, only the rows of that model are taken. Other columns mean nothing here. Paths start at the table's folder
    and stay in it.

    Args:
        source: the folder or the table.
        model: whose pictures they are, as the tables of results call it.
        prompt_ids: of the suite's prompts.
        suffixes: the extensions that count in a folder, lower case.
        absolute_paths: a table may name files anywhere; each must then lie in the folder that its path names.

    Raises:
        InputError: the source is missing, or no file belongs to a prompt; a table is unreadable, lacks a column, names a path
            that leads out of its folder, or has a wrong cell (with its row and column); two files for one sample of a prompt.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> for name in ("cat.png", "dog.1.jpg", "dog.0.jpg", "notes.txt"):
        ...     _ = (folder / name).write_bytes(b"")
        >>> found = read_generations(folder, "our-model", ["cat", "dog"])
        >>> len(found), [file.path.name for file in found.of("dog", "our-model")], [path.name for path in found.left_out]
        (3, ['dog.0.jpg', 'dog.1.jpg'], ['notes.txt'])
    """
    if not model:
        raise InputError("the model needs a name", column="model", value=model)
    known = frozenset(prompt_ids)
    if (source / MANIFEST).is_file():
        return _read_table(source / MANIFEST, model, known, absolute_paths=False)
    if source.is_dir():
        return _read_folder(source, model, known, frozenset(suffixes))
    if not source.exists():
        hint = f"Give a folder of pictures, or a table of paths ({', '.join(TABLE_ENDINGS)})."
        raise missing_path(source, "file or folder", meaning=hint)
    return _read_table(source, model, known, absolute_paths=absolute_paths)


def _order(file: Generated) -> tuple[int, int]:
    return file.sample, file.turn or 0


def read_own_names(source: Path, model: str | None = None) -> tuple[Generated, ...]:
    """Return all files of a folder, or all rows of a table, without a list of prompts: their own names say the prompts.

    A table is read as by :func:`read_generations`. In a folder, a file's name without its extension is the prompt's id, with
    the number of a sample after a dot or without; a folder in it is a prompt, and holds samples by number. Pictures and
    videos count, by their extensions.

    Args:
        source: the folder or the table.
        model: whose files of a table; None: the only model.

    Raises:
        InputError: as of :func:`read_generations`; or a table has several models and none is named.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> for name in ("cat.png", "dog.1.jpg", "dog.0.jpg", "notes.txt"):
        ...     _ = (folder / name).write_bytes(b"")
        >>> [(file.prompt_id, file.sample) for file in read_own_names(folder)]
        [('cat', 0), ('dog', 0), ('dog', 1)]
    """
    suffixes = (*PICTURE_SUFFIXES, *VIDEO_SUFFIXES)
    table = source / MANIFEST if (source / MANIFEST).is_file() else source
    if source.is_dir() and table == source:
        ids = _own_names(source, suffixes)
        models = []
    elif not source.exists():
        raise missing_path(source, "file or folder", meaning=f"Give a folder, or a table ({', '.join(TABLE_ENDINGS)}).")
    else:
        rows = list(read_table(table))
        ids = [row.prompt_id for row in rows]
        models = sorted({row.model for row in rows if row.model is not None})
    if model is None and len(models) > 1:
        raise InputError("the table has several models; name one", source=table, column="model", allowed=models)
    whose = model or (models[0] if models else source.stem)
    files = read_generations(source, whose, ids, suffixes=suffixes)
    return tuple(file for prompt_id in dict.fromkeys(ids) for file in files.of(prompt_id, whose))


def _own_names(source: Path, suffixes: Collection[str]) -> list[str]:
    """Return the prompts that the names of files and folders claim, by name."""
    ids = []
    for entry in _entries(source):
        path = Path(entry.name)
        if entry.is_dir(follow_symlinks=False):
            ids.append(entry.name)
        elif path.suffix.lower() in suffixes:
            head, dot, tail = path.stem.rpartition(".")
            ids.append(head if dot and head and _sample_of(head, tail) else path.stem)
    if not ids:
        raise InputError("the folder has no picture and no video", source=source, allowed=suffixes)
    return ids


def _read_folder(source: Path, model: str, known: frozenset[str], suffixes: frozenset[str]) -> Generations:
    files: list[Generated] = []
    left_out: list[Path] = []
    for prompt_id, name, folder in _named(source, known):
        stem, dot, suffix = name.rpartition(".")
        claimed = _claimed(stem, known) if prompt_id is None else _sample_of(prompt_id, stem)
        if claimed is None or dot + suffix.lower() not in suffixes:
            left_out.append(folder / name)
        else:
            files.append(Generated(claimed[0], model, claimed[1], folder / name, source))
    if not files:
        raise InputError(
            f"none of the {len(left_out):,} files here is named after a prompt",
            source=source,
            value=[path.name for path in left_out[:3]] or None,
            allowed=(f"{prompt_id}.png" for prompt_id in sorted(known)[:_SHOWN]),
            hint="Name files <prompt_id>.png, <prompt_id>.<sample>.png or <prompt_id>/<sample>.png, or give a table of paths.",
        )
    return Generations(files, left_out=left_out)


def _named(source: Path, known: frozenset[str]) -> Iterator[tuple[str | None, str, Path]]:
    """Prompt, name and folder of every file, by name. The prompt is None in no folder of its own, "" in an unknown one."""
    for entry in _entries(source):
        if not entry.is_dir(follow_symlinks=False):
            yield None, entry.name, source
        elif entry.name in known:
            for inner in _entries(entry.path):
                yield entry.name, inner.name, source / entry.name
        else:
            yield None, "", source / entry.name


def _entries(folder: Path | str) -> "list[os.DirEntry[str]]":
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        raise InputError(f"the folder cannot be read ({error.strerror})", source=str(folder)) from error


def _claimed(stem: str, known: frozenset[str]) -> tuple[str, int] | None:
    """Return prompt and sample that a file's name claims; None when it names no prompt."""
    if stem in known:
        return stem, 0
    head, dot, tail = stem.rpartition(".")
    return _sample_of(head, tail) if dot and head in known else None


def _sample_of(prompt_id: str, number: str) -> tuple[str, int] | None:
    plain = number.isascii() and number.isdigit() and len(number) <= _LONGEST_SAMPLE
    return (prompt_id, int(number)) if plain else None


def _read_table(source: Path, model: str, known: frozenset[str], *, absolute_paths: bool) -> Generations:
    rows = list(read_table(source, absolute_paths=absolute_paths))
    models = sorted({row.model for row in rows if row.model is not None})
    if models and model not in models:
        raise InputError("the table has no rows of the model", source=source, column="model", value=model, allowed=models)
    mine = [row for row in rows if row.model in (None, model)]
    unknown = dict.fromkeys(row.prompt_id for row in mine if row.prompt_id not in known)
    files = [
        Generated(
            row.prompt_id,
            model,
            row.sample,
            row.path,
            row.root,
            row.sha256,
            seconds=row.seconds,
            memory_mb=row.memory_mb,
            settings=row.settings,
            turn=row.turn,
        )
        for row in mine
        if row.prompt_id in known
    ]
    if not files:
        raise InputError(
            f"none of the {len(mine):,} rows belongs to a prompt of the suite",
            source=source,
            column="prompt_id",
            value=list(unknown)[:3] or None,
            allowed=sorted(known),
        )
    return Generations(files, left_out=[row.path for row in mine if row.prompt_id not in known], unknown=list(unknown))
