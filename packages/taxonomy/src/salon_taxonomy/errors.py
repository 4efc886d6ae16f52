"""Errors that a user can act on.

    SalonError
    ├── InputError               a file, table, option or value is wrong; nothing was written
    │   ├── TaxonomyError        a taxonomy or crosswalk is not one; ``fault`` says in which way
    │   ├── UnknownLabelError    a taxonomy has no label of that name
    │   └── AmbiguousLabelError  a taxonomy has several labels of that name
    └── IncompleteError          the command stopped before its work was done
        └── StorageError         a disk or database refused a write; the same command continues once it can write

Packages derive their own from these two, so ``except SalonError`` catches every mistake that Salon can explain and
nothing else. A command line turns any of them into one message and exit code 2 (1 for ``IncompleteError``).
"""

import difflib
import errno
import os
import re
import stat
import struct
import zlib
from collections.abc import Iterable
from contextlib import suppress
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Self, TypeVar

from salon_taxonomy.visible_text import visible

_LONGEST_VALUE = 120
_MOST_ALLOWED = 60
_MOST_NAMES = 8
_MOST_NEAR = 3
_NEAR = 0.7
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FORBIDDEN = {errno.EROFS, errno.EACCES, errno.EPERM}
_NO_LOCKS = {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS}

E = TypeVar("E", bound=StrEnum)


class SalonError(Exception):
    """The root of everything that Salon raises on purpose."""


class IncompleteError(SalonError):
    """Work was left undone; what was finished is stored and a second call continues from there."""


class StorageError(IncompleteError):
    """A file or database cannot be written or read now. Finished work is kept; the same call continues later."""

    @classmethod
    def of(cls, error: OSError, path: Path) -> Self:
        """Return the error for a file that the operating system refused, with what to do about it.

        Example:
            >>> str(StorageError.of(OSError(errno.ENOSPC, "No space left on device"), Path("a.csv")))
            'a.csv: cannot be written (No space left on device). Free the disk, then run the same command again.'
        """
        problem, remedy = "cannot be written", f"Check {path.parent}"
        if error.errno in _FULL:
            remedy = "Free the disk"
        elif error.errno in _FORBIDDEN:
            remedy = f"Make {path.parent} writable"
        elif error.errno in _NO_LOCKS:
            problem, remedy = "cannot be locked", "Move it to a file system with locks, such as a local disk"
        return cls(f"{path}: {problem} ({error.strerror or error}). {remedy}, then run the same command again.")


def is_refused_write(error: OSError) -> bool:
    """Return whether the operating system refused to write a file.

    True for a full disk, and for a file that the error names and that is not writable.

    Example:
        >>> is_refused_write(OSError(errno.EROFS, "Read-only file system", "out.csv"))
        True
        >>> is_refused_write(OSError(errno.ECONNREFUSED, "Connection refused"))
        False
    """
    return error.errno in _FULL or (error.errno in _FORBIDDEN and error.filename is not None)


class InputError(SalonError):
    """What was given is wrong; names the offender, what is allowed and what to do next.

    Args:
        problem: one clause, without a full stop: ``"unknown winner"``.
        source: the file, table or option at fault.
        row: 1-based row among the data rows (the header of a CSV file is not counted).
        line: 1-based line of a text file, where that is what an editor would show.
        column: the column of a table at fault.
        key: the key of a structured file (TOML, JSON) at fault.
        value: the offending value; shown shortened, with control characters escaped.
        allowed: the values that would have been accepted.
        found: what is there instead of something missing, such as the columns of a file.
        hint: the next thing to do, a whole sentence.

    Example:
        >>> print(InputError("unknown winner", source="votes.csv", row=3, column="winner", value="A", allowed=["tie"]))
        votes.csv, row 3, column 'winner': unknown winner 'A' (allowed: tie)
    """

    def __init__(
        self,
        problem: str,
        *,
        source: str | Path | None = None,
        row: int | None = None,
        line: int | None = None,
        column: str | None = None,
        key: str | None = None,
        value: object = None,
        allowed: Iterable[object] | None = None,
        found: Iterable[object] | None = None,
        hint: str | None = None,
    ) -> None:
        self.problem = problem
        self.source = None if source is None else str(source)
        self.row = row
        self.line = line
        self.column = column
        self.key = key
        self.value = value
        self.allowed = None if allowed is None else tuple(str(item) for item in allowed)
        self.found = None if found is None else tuple(str(item) for item in found)
        self.hint = hint
        super().__init__(str(self))

    def __str__(self) -> str:
        """Return up to three lines: where, what and what is allowed; the nearest names, if any; what to do."""
        where = [visible(self.source)] if self.source else []
        where += [f"row {self.row}"] if self.row is not None else []
        where += [f"line {self.line}"] if self.line is not None else []
        where += [f"column {_shortened(self.column)}"] if self.column is not None else []
        where += [f"key {_shortened(self.key)}"] if self.key is not None else []
        text = f"{', '.join(where)}: {self.problem}" if where else self.problem
        if self.value is not None:
            text += f" {_shortened(self.value)}"
        for words, names in (("allowed", self.allowed), ("there are", self.found)):
            if names is not None:
                listed = ", ".join(visible(item) for item in names[:_MOST_ALLOWED])
                more = len(names) - _MOST_ALLOWED
                text += f" ({words}: {listed or 'none'}{f' and {more} more' if more > 0 else ''})"
        near = did_you_mean(self.value, (*(self.allowed or ()), *(self.found or ())))
        return visible("\n".join([text, *(each for each in (near, self.hint) if each)]), prose=True)

    def at(
        self,
        *,
        source: str | Path | None = None,
        row: int | None = None,
        line: int | None = None,
        column: str | None = None,
    ) -> "InputError":
        """Return the same error with its place in an enclosing object; given fields replace the old ones.

        A row and a line are of one place, so that either replaces both.

        Example:
            >>> part = InputError("unknown winner", row=3, column="winner", value="A")
            >>> print(part.at(source="votes.csv", row=1003))
            votes.csv, row 1003, column 'winner': unknown winner 'A'
        """
        moved = row is not None or line is not None
        return InputError(
            self.problem,
            source=self.source if source is None else source,
            row=row if moved else self.row,
            line=line if moved else self.line,
            column=self.column if column is None else column,
            key=self.key,
            value=self.value,
            allowed=self.allowed,
            found=self.found,
            hint=self.hint,
        )


def member_of(kind: type[E], value: E | str, what: str, *, column: str | None = None, source: str | None = None) -> E:
    """Return the member of an enumeration that a value names.

    Args:
        kind: the enumeration.
        value: a member, or its text.
        what: the noun of the error, such as ``grammar``.
        column: of the value, for the error.
        source: of the value, for the error.

    Raises:
        InputError: it names no member: ``unknown`` and ``what``, with the value and all members.
    """
    if value not in tuple(kind):
        raise InputError(f"unknown {what}", source=source, column=column, value=value, allowed=kind)
    return kind(value)


def did_you_mean(value: object, known: Iterable[str]) -> str:
    """Return a question that names the known texts nearest to a wrong one; empty where none is near.

    Example:
        >>> did_you_mean("prizm", ["magicbench", "prism", "prism-zh"])
        "Did you mean 'prism'?"
        >>> did_you_mean("nope", ["magicbench", "prism"])
        ''
        >>> did_you_mean("shown", ["shown-careful-1a2b", "prism-ours-3c4d"])
        "Did you mean 'shown-careful-1a2b'?"
        >>> did_you_mean("053", ["set/052.jpg", "set/053.jpg"])
        "Did you mean 'set/053.jpg'?"
    """
    if not isinstance(value, str) or not value:
        return ""
    names = {name.casefold(): name for name in known}
    if value in names.values():
        return ""
    wanted = value.casefold()[:_LONGEST_VALUE]
    near = difflib.get_close_matches(wanted, names, n=_MOST_NEAR, cutoff=_NEAR)
    near = near or [name for name in names if re.match(f"(.*/)?{re.escape(wanted)}[-.]", name)][:_MOST_NEAR]
    return f"Did you mean {' or '.join(repr(names[name]) for name in near)}?" if near else ""


def cannot_write(error: OSError, path: str | Path) -> SalonError:
    """Return the error of a failed write: `StorageError` if the disk refused it, otherwise `InputError` of its path.

    Example:
        >>> type(cannot_write(OSError(errno.ENOSPC, "No space left on device"), "a.csv")).__name__
        'StorageError'
        >>> str(cannot_write(FileNotFoundError(errno.ENOENT, "No such file or directory"), "no/a.csv"))
        'no/a.csv: cannot be written (No such file or directory)'
    """
    if error.errno in _FULL | _FORBIDDEN:
        return StorageError.of(error, Path(path))
    return InputError(f"cannot be written ({error.strerror or error})", source=path)


def missing_path(path: str | Path, what: str = "file", *, meaning: str = "") -> InputError:
    """Return the error for a path that is missing or of another kind, with the names of what is there instead.

    Args:
        path: as it was given.
        what: "file", "folder" or "file or folder".
        meaning: what the path is for; a sentence at the end of the message.

    Example:
        >>> print(missing_path("no-such-folder/votes.csv"))
        no-such-folder/votes.csv: there is no such file
        There is no folder no-such-folder either.
    """
    path = Path(path)
    try:
        refuse_device(path)
    except InputError as refused:
        return refused
    if path.exists():
        kind = "folder" if path.is_dir() else "file" if path.is_file() else "pipe or a device"
        return InputError(f"is a {kind}, not a {what}", source=path, hint=meaning or None)
    next_step = f"{_instead_of(path)} {meaning}".strip()
    if path.is_symlink():
        hint = f"Give the file itself, or mend the link. {meaning}".strip()
        return InputError("is a link that leads to no file:", source=path, value=str(path.readlink()), hint=hint)
    return InputError(f"there is no such {what}", source=path, hint=next_step)


def refuse_device(path: str | Path) -> None:
    """Refuse what a reader may wait for or read for ever.

    Bytes of a device such as ``/dev/zero`` never end, and a named pipe waits for its writer. Pipes of the shell, open already
    (``/dev/stdin``, ``<(command)``), and ``/dev/null`` are read.

    Raises:
        InputError: the path leads to a device, a named pipe or a socket.

    Example:
        >>> refuse_device("/dev/zero")
        Traceback (most recent call last):
        ...
        salon_taxonomy.errors.InputError: /dev/zero: is a device, not a file
    """
    with suppress(OSError, ValueError):  # opening it says what is wrong
        status, nothing = Path(path).stat(), Path(os.devnull).stat()
        if (stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode)) and status.st_rdev != nothing.st_rdev:
            raise InputError("is a device, not a file", source=path)
        waits = stat.S_ISFIFO(status.st_mode) or stat.S_ISSOCK(status.st_mode)
        if waits and not os.path.realpath(path).startswith(_OPENED):
            hint = "Copy what it carries into a file, and give that."
            raise InputError("is a named pipe or a socket, not a file", source=path, hint=hint)


_OPENED = ("/dev/fd/", "/proc/")
"""Where the system lists the files that a process has open."""


def _instead_of(path: Path) -> str:
    """Return a sentence on what the folder of a missing path has: near names, files of its kind, or anything."""
    folder = path.parent
    try:
        names = sorted(each.name for each in folder.iterdir() if not each.name.startswith("."))
    except (FileNotFoundError, NotADirectoryError):
        return f"There is no folder {folder} either."
    except OSError as error:
        return f"The folder {folder} cannot be read ({error.strerror or error})."
    if near := did_you_mean(path.name, names):
        return near
    if same := [name for name in names if Path(name).stem == path.name]:
        return f"Did you mean {' or '.join(map(repr, same[:_MOST_NAMES]))}?"
    kind = path.suffix.lower()
    alike = [name for name in names if kind and Path(name).suffix.lower() == kind]
    names_shown = alike or names
    more = f" and {len(names_shown) - _MOST_NAMES} more" if len(names_shown) > _MOST_NAMES else ""
    here = "This folder" if folder == Path() else f"The folder {folder}"
    return f"{here} has: {', '.join(names_shown[:_MOST_NAMES])}{more}." if names_shown else f"{here} is empty."


class Fault(StrEnum):
    """In which way a taxonomy or crosswalk is not one."""

    UNREADABLE = "unreadable"
    """The file is missing, is no file, is too large or is not UTF-8."""
    BROKEN_TOML = "broken_toml"
    """The file is not TOML."""
    MISSING = "missing"
    """Something that must be there is absent or blank."""
    UNKNOWN_KEY = "unknown_key"
    """A key that means nothing here, often a misspelling."""
    WRONG_TYPE = "wrong_type"
    """A number where a text belongs, and the like."""
    BAD_VALUE = "bad_value"
    """The right type, but not an allowed value."""
    DUPLICATE_ID = "duplicate_id"
    """Two labels have one id, or two links join the same labels."""
    SAME_NAME = "same_name"
    """Two labels under one parent have the same name."""
    UNKNOWN_PARENT = "unknown_parent"
    """A label's parent is not in the taxonomy."""
    TWO_PARENTS = "two_parents"
    """A label stands under more than one parent."""
    CYCLE = "cycle"
    """A label is its own ancestor."""
    TOO_DEEP = "too_deep"
    """A label has more labels above it than a tree may have (``structure.DEEPEST``)."""
    WRONG_TIER = "wrong_tier"
    """A label's tier is not declared, or not below its parent's."""
    UNKNOWN_LABEL = "unknown_label"
    """A crosswalk speaks of a label that its taxonomy does not have."""
    CONTRADICTION = "contradiction"
    """A crosswalk says two things that cannot both hold."""


class TaxonomyError(InputError):
    """A taxonomy or crosswalk is not one. ``fault`` is the kind; the message names file, line, key and value.

    Example:
        >>> from salon_taxonomy import Taxonomy
        >>> Taxonomy.read("no-such-folder/labels.toml")
        Traceback (most recent call last):
        ...
        salon_taxonomy.errors.TaxonomyError: no-such-folder/labels.toml: there is no such file
        There is no folder no-such-folder either.
    """

    def __init__(
        self,
        fault: Fault,
        problem: str,
        *,
        source: str | Path | None = None,
        line: int | None = None,
        key: str | None = None,
        value: object = None,
        allowed: Iterable[object] | None = None,
        hint: str | None = None,
    ) -> None:
        self.fault = fault
        super().__init__(problem, source=source, line=line, key=key, value=value, allowed=allowed, hint=hint)


class UnknownLabelError(InputError):
    """A taxonomy has no label of that id, name or alias."""


class AmbiguousLabelError(InputError):
    """Several labels of a taxonomy bear that name; ``allowed`` holds their ids."""


def _shortened(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:  # Python refuses to write integers of thousands of digits
        text = f"of type {type(value).__name__}, too long to show"
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"


@cache
def picture_failures() -> tuple[type[Exception], ...]:
    """Return the exceptions that Pillow's decoders and encoders raise about damaged files. Needs Pillow.

    Named one by one, because no decoder's documentation lists them; all have been seen, most of them by tests with damaged
    files. ``Warning`` where a caller has turned warnings into errors.
    """
    from PIL.Image import DecompressionBombError

    standard = (OSError, SyntaxError, ValueError, ArithmeticError, LookupError, TypeError, AttributeError, EOFError)
    rare = (RuntimeError, AssertionError, MemoryError, Warning, struct.error, zlib.error, DecompressionBombError)
    return (*standard, *rare)
