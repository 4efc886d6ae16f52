"""Write files whole or not at all: under another name in the same folder, then renamed.

A reader of the path finds the old content or the new one, never a part, also after a kill.
"""

import json
import os
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from salon_taxonomy.errors import InputError, cannot_write

_UNFINISHED = re.compile(r"\.(.+)\.\d+-[0-9a-f]{8}\.tmp", re.DOTALL)
"""The hidden names of :func:`replacing`."""


@contextmanager
def replacing(path: Path, *, flushed: bool = False) -> Iterator[Path]:
    """Yield a new hidden file's path; it takes the place of ``path`` when the block ends without an error.

    A device or a pipe (``/dev/stdout``) is yielded itself and stays; of a link the file that it leads to is replaced.

    Args:
        path: a file in a folder that exists.
        flushed: the file also survives a power cut once the block has ended; costs two flushes of the disk.

    Raises:
        OSError: the file cannot be written or renamed; ``path`` is as before.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "rows.csv"
        >>> with replacing(path) as unfinished:
        ...     _ = unfinished.write_text("a,b")
        >>> path.read_text(), len(list(path.parent.iterdir()))
        ('a,b', 1)
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        yield path
        return
    path = Path(os.path.realpath(path))
    unfinished = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        yield unfinished
        if flushed:
            flush(unfinished)
        unfinished.replace(path)
        if flushed:
            flush(path.parent)
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


def remove_unfinished(folder: Path, beginnings: tuple[str, ...] = ("",)) -> None:
    """Remove the files that a killed process left where :func:`replacing` was to put others; nothing else.

    Only for a process that holds the lock under which the files are written: others would lose theirs.

    Args:
        folder: may be missing.
        beginnings: only those of names that begin with one of them.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> for name in (".rows.csv.123-0badcafe.tmp", "rows.csv", ".mine.tmp"):
        ...     (folder / name).touch()
        >>> remove_unfinished(folder)
        >>> sorted(path.name for path in folder.iterdir())
        ['.mine.tmp', 'rows.csv']
    """
    with suppress(FileNotFoundError, NotADirectoryError):
        for path in folder.iterdir():
            name = _UNFINISHED.fullmatch(path.name)
            if name and name[1].startswith(beginnings):
                with suppress(OSError):
                    path.unlink()


@contextmanager
def new_folder(folder: Path) -> Iterator[None]:
    """Make a folder, or take an empty one. When the block fails, what it wrote is removed.

    Raises:
        InputError: the folder contains something, or cannot be one.
        StorageError: the disk refused a write, here or in the block.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp()) / "new"
        >>> try:
        ...     with new_folder(folder):
        ...         _ = (folder / "half").write_text("a")
        ...         raise OSError(28, "No space left on device")
        ... except Exception as error:
        ...     print(type(error).__name__, folder.exists())
        StorageError False
    """
    there, empty = folder.exists(), False
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise InputError("the folder is not empty", source=folder, hint="Name a new folder.")
        empty = True
        yield
    except BaseException as error:
        if empty and not there:
            shutil.rmtree(folder, ignore_errors=True)
        elif empty:
            _remove_contents(folder)
        if isinstance(error, OSError):
            raise cannot_write(error, folder) from error
        raise


def _remove_contents(folder: Path) -> None:
    """Empty a folder, which stays: it may be a link, a mount, or readable by its owner alone."""
    with suppress(OSError):
        for path in folder.iterdir():
            shutil.rmtree(path, ignore_errors=True)
            with suppress(OSError):
                path.unlink(missing_ok=True)


def write_whole(path: Path, content: bytes | str, *, parents: bool = False, flushed: bool = False) -> None:
    """Write a file whole or not at all; text as UTF-8, lone surrogates as question marks.

    Args:
        path: the file.
        content: all of it.
        parents: make missing folders.
        flushed: as for :func:`replacing`.

    Raises:
        InputError: there can be no such file: its folder is missing, or it is one itself.
        StorageError: the disk is full, or may not be written.

    Example:
        >>> write_whole(Path("/no/such/folder/a.txt"), "a")
        Traceback (most recent call last):
        salon_taxonomy.errors.InputError: /no/such/folder/a.txt: cannot be written (No such file or directory)
    """
    encoded = content.encode("utf-8", "replace") if isinstance(content, str) else content
    try:
        if parents:
            path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path, flushed=flushed) as unfinished:
            unfinished.write_bytes(encoded)
    except OSError as error:
        raise cannot_write(error, path) from error


def write_json_lines(path: Path, rows: Iterable[Mapping[str, object]], *, parents: bool = False) -> int:
    """Write rows as JSON Lines, whole or not at all, and return their number.

    Args:
        path: a file whose name ends in ``.jsonl``.
        rows: values of JSON.
        parents: as for :func:`write_whole`.

    Raises:
        InputError: the file's ending is not ``.jsonl``, or it cannot be written.
        TypeError: a value has no JSON form.
    """
    if path.suffix != ".jsonl":
        raise InputError("rows are written as JSON Lines:", source=path, value=path.suffix, allowed=(".jsonl",))
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    write_whole(path, "".join(lines), parents=parents)
    return len(lines)


def flush(path: Path) -> None:
    """Flush a file's bytes, or a folder's names, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
