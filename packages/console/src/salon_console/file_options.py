"""Parameter types for paths, and the rule that no output of a command replaces an input.

A command declares each path that it reads or adds to as :class:`InputPath` and each file that it replaces as
:class:`OutputPath`. While click reads the arguments, every path is compared with those before it, so that a command
that would destroy its own input stops before it has read or written anything. Paths are compared as files, not as text:
``./votes.csv``, a symbolic link and a hard link are the same as ``votes.csv``.
"""

import os
import re
import stat
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import rich_click as click

from salon_console.hub_files import SCHEME, hub_file
from salon_console.table_files import check_ending
from salon_taxonomy.errors import InputError, missing_path, refuse_device
from salon_taxonomy.store_address import is_url

_LONGEST_PATH = 200
_LONGEST_NAME = 255
_SEEN = "salon_console.file_options.seen"
_TABLES = {".arrow", ".csv", ".duckdb", ".gz", ".json", ".jsonl", ".ndjson", ".parquet", ".tsv"}
"""Endings of the files of a folder that a command may read as one table."""

_OF_A_STORE = {"store.json", "catalog.duckdb", "journal", "set-aside", ".cache", ".locks"}
"""What a result store consists of beside the folders of its tables."""


class _Named(NamedTuple):
    """A path, its name on the command line, and whether a folder there is read as one table."""

    name: str
    path: Path
    tables: bool = False


class InputPath(click.Path):
    """Parameter type of a path that a command reads or appends to.

    A file, a folder, a pattern or a result store; ``-`` is standard input. An address of a data set on the Hugging Face hub
    (``hf://datasets/OWNER/NAME/PATH``) is fetched, and becomes the path of the copy.

    Args:
        tables: a folder is read as one table, so that its files are inputs too; the URL of a result store stays a text.
        made: the path may be missing: the command makes it, or says itself how to.
        settings: as for ``click.Path``; the value is a ``pathlib.Path`` unless ``path_type`` differs.
    """

    def __init__(self, *, tables: bool = False, made: bool = False, **settings: Any) -> None:
        super().__init__(**{"path_type": Path, **settings})
        self.tables = tables
        self.made = made

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path, or the URL of a result store.

        Raises:
            InputError: the path is missing, a folder in place of a file or a file in place of a folder; an output before it
                names the same file; or the hub does not give the file.
        """
        if isinstance(value, str) and value.startswith(SCHEME) and not (ctx and ctx.resilient_parsing):
            value = str(hub_file(value))
        if self.tables and is_url(value):
            return value
        if str(value) != "-" and not (ctx and ctx.resilient_parsing):
            _refuse_unusable(value, param, ctx)
            self._check(Path(value), f"{param.opts[0]}: {param.help}" if isinstance(param, click.Option) else "")
        path = super().convert(value, param, ctx)
        if str(path) != "-":
            _compare("inputs", _Named(_name(param, ctx), Path(str(path)), self.tables), ctx)
        return path

    def _check(self, path: Path, meaning: str) -> None:
        """Refuse a path that is missing or of the wrong kind, with what is there and what the option means."""
        try:
            mode = path.stat().st_mode
        except (FileNotFoundError, NotADirectoryError) as error:
            if self.made or (not path.is_symlink() and any(sign in path.name for sign in "*?[")):
                return
            what = "file or folder" if self.file_okay and self.dir_okay else "file" if self.file_okay else "folder"
            raise missing_path(path, what, meaning=meaning) from error
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"cannot be read ({reason})", source=str(path)[:_LONGEST_PATH], hint=meaning or None) from error
        refuse_device(path)
        is_folder = stat.S_ISDIR(mode)
        if is_folder and not self.dir_okay:
            raise InputError("is a folder, not a file", source=path, hint=f"Name one of its files. {meaning}".strip())
        if not is_folder and not self.file_okay:
            raise InputError("is a file, not a folder", source=path, hint=f"Its folder is {path.parent}. {meaning}".strip())


class RunOrFile(InputPath):
    """Parameter type of a run's id or of a table with a run's rows.

    A table is compared with outputs as any input. The value stays a text."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, made=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the text.

        Raises:
            InputError: it is a file that an output before it names.
        """
        try:
            is_file = Path(value).is_file()
        except (OSError, ValueError):  # no file can have such a name
            is_file = False
        return str(super().convert(value, param, ctx)) if is_file else value


class StorePath(InputPath):
    """A result store: a directory, or a URL (``s3://bucket/prefix``), which stays a text."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(made=True, **settings)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the directory's path, or the URL."""
        return value if is_url(value) else super().convert(value, param, ctx)


class OutputPath(click.Path):
    """A file or folder that a command makes or replaces; by default a file.

    Args:
        endings: those that the file's name may have; None: any, and the folder need not exist.
        what: what a message calls the file.
        settings: as for ``click.Path``.
    """

    def __init__(self, *, endings: tuple[str, ...] | None = None, what: str = "output", **settings: Any) -> None:
        super().__init__(**{"path_type": Path, "dir_okay": False, **settings})
        self.endings = endings
        self.what = what

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path.

        Raises:
            InputError: an input or another output before it names the same file, or its ending is not allowed.
        """
        if not (ctx and ctx.resilient_parsing):
            _refuse_unusable(value, param, ctx)
        path = super().convert(value, param, ctx)
        if self.endings is not None and not (ctx and ctx.resilient_parsing):
            check_ending(Path(str(path)), self.endings, self.what)
        _compare("outputs", _Named(_name(param, ctx), Path(str(path))), ctx)
        return path


def refuse_overwriting(outputs: Mapping[str, Path], inputs: Mapping[str, Path]) -> None:
    """Refuse outputs that would replace an input, or each other; each path by what a message calls it.

    A folder includes the tables in it and any new one there, a pattern the files that it matches.

    Raises:
        InputError: names the output, and the input or output that is the same file.

    Example:
        >>> refuse_overwriting({"--output": Path("./votes.csv")}, {"INPUT": Path("votes.csv")})
        Traceback (most recent call last):
        ...
        salon_taxonomy.errors.InputError: --output: would overwrite INPUT, the same file: 'votes.csv'
        Nothing was written. Choose another name.
    """
    named = [_Named(name, path) for name, path in outputs.items()]
    for number, output in enumerate(named):
        for name, path in inputs.items():
            _check_input(output, _Named(name, path, tables=True))
        for other in named[:number]:
            _check_output(output, other)


def _refuse_unusable(value: str | Path, param: click.Parameter | None, ctx: click.Context | None) -> None:
    """Refuse a name that no file can have, or that tables and databases cannot take.

    Raises:
        InputError: the path is empty, a part of it is too long, or its bytes are no UTF-8.
    """
    path = Path(value)
    if value == "":
        raise InputError(
            "an empty name names no file or folder", source=_name(param, ctx), hint="The folder you are in is '.'."
        )
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        problem = "the name is no UTF-8, which tables and databases need"
        raise InputError(problem, source=str(path), hint="Rename the file or folder.") from error
    if any(len(part.encode()) > _LONGEST_NAME for part in path.parts):
        problem = f"a name of a file or folder has at most {_LONGEST_NAME} bytes"
        raise InputError(problem, source=str(path)[:_LONGEST_PATH])


def _compare(kind: str, new: _Named, ctx: click.Context | None) -> None:
    """Compare a path of the command line with those before it."""
    if ctx is None or ctx.resilient_parsing:
        return
    seen: dict[str, list[_Named]] = ctx.meta.setdefault(_SEEN, {"inputs": [], "outputs": []})
    if kind == "inputs":
        for output in seen["outputs"]:
            _check_input(output, new)
    else:
        for read in seen["inputs"]:
            _check_input(new, read)
        for output in seen["outputs"]:
            _check_output(new, output)
    seen[kind].append(new)


def _name(param: click.Parameter | None, ctx: click.Context | None) -> str:
    """Return the name of a parameter on the command line: its option, or the metavar of its argument."""
    if param is None or ctx is None or isinstance(param, click.Option):
        return param.opts[0] if param else ""
    return param.make_metavar(ctx).strip("[].…")


def _check_input(output: _Named, read: _Named) -> None:
    """Refuse an output that is one of the files behind an input."""
    written = _identity(output.path)
    if _is_inside(output.path, read) or any(written == _identity(file) for file in _files(read.path)):
        raise _refusal(output, read)


def _is_inside(output: Path, read: _Named) -> bool:
    """Return whether an output would be a table of the folder, or a file of the store, that is read."""
    if _is_of_store(output, read.path):
        return True
    if not (read.tables and read.path.is_dir() and output.suffix.lower() in _TABLES):
        return False
    folder, path = _real(read.path), _real(output)
    if not path.is_relative_to(folder):
        return False
    if path.is_file() or path.parent == folder:
        return True
    # Folders within a folder are read only where it holds no table itself.
    return not any(file.suffix.lower() in _TABLES for file in folder.iterdir() if file.is_file())


def _is_of_store(output: Path, store: Path) -> bool:
    """Return whether an output is one of the files and folders of which a result store consists."""
    if not (store / "store.json").is_file():
        return False
    folder, path = _real(store), _real(output)
    if not path.is_relative_to(folder) or path == folder:
        return False
    from salon_taxonomy.records import TABLES  # loads pydantic

    return path.relative_to(folder).parts[0] in {*_OF_A_STORE, *TABLES}


def _check_output(output: _Named, other: _Named) -> None:
    """Refuse two outputs that are the same file."""
    if _identity(output.path) == _identity(other.path):
        raise _refusal(output, other)


def _refusal(output: _Named, other: _Named) -> InputError:
    problem = f"would overwrite {other.name}, the same file:"
    if other.path.is_dir() and not output.path.exists():
        problem = f"would become a file of {other.name}, the folder {str(other.path)!r}:"
    return InputError(problem, source=output.name, value=str(output.path), hint="Nothing was written. Choose another name.")


def _files(read: Path) -> Iterator[Path]:
    """Yield the path itself, and what it finds where it is a pattern."""
    yield read
    if not read.exists() and any(sign in read.name for sign in "*?["):
        yield from read.parent.glob(re.sub(r"\*+", "*", read.name))


def _identity(path: Path) -> tuple[object, ...]:
    """Return a key that all names of one file share.

    Device and inode of the file or, if it does not exist yet, of its folder.
    """
    try:
        real = _real(path)
        if real.exists():
            status = real.stat()
            # Two outputs may both go to /dev/null.
            return (status.st_dev, status.st_ino) if real.is_file() or real.is_dir() else (object(),)
        folder = real.parent.stat()
        return folder.st_dev, folder.st_ino, unicodedata.normalize("NFC", real.name)
    except (OSError, ValueError):  # the folder is missing, or the name cannot be one; what opens it will say so
        return (path.absolute(),)


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
