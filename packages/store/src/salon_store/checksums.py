"""``checksums.jsonl``: which parts were written to a table, as which bytes, and what has become of them.

Each table's directory has one; the last line about a name counts. A part's line is written three times in its life:

* ``written``, flushed to the disk before the part gets its name. A crash may come in between, so this alone does not
  say that the part ever stood.
* ``standing``, after it got its name. From here on a part that is not there is *missing*. When a crash comes before
  this line, :func:`note_standing` makes up for it when the store is next opened for writing or compacted.
* ``removed``, flushed before compaction deletes it or ``verify --set-aside`` moves it away. Should a crash come before
  that, the part stands, which counts for more than this line.

Lines are added by whoever holds the table's lock, and read without it.
"""

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

from salon_store.files import publish_text
from salon_taxonomy.digest import file_sha256

CHECKSUMS = "checksums.jsonl"
State: TypeAlias = Literal["written", "standing", "removed"]
_STATES: dict[object, State] = {"written": "written", "standing": "standing", "removed": "removed"}


@dataclass(frozen=True, slots=True)
class Noted:
    """What is known of one part: file name, SHA-256 (hex), size (None in old lines), and the last known state."""

    part: str
    sha256: str
    bytes: int | None
    state: State = "written"


def noted(directory: Path) -> dict[str, Noted]:
    """Part name → what its last line says. Torn lines are left out: their part was never published."""
    found: dict[str, Noted] = {}
    try:
        lines = (directory / CHECKSUMS).read_bytes().splitlines()
    except FileNotFoundError:
        return found
    for line in lines:
        try:
            entry = json.loads(line)
            size = entry.get("bytes")
            state = _STATES.get(entry.get("state"), "written")
            found[str(entry["part"])] = Noted(
                str(entry["part"]), str(entry["sha256"]), size if isinstance(size, int) else None, state
            )
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
    return found


def note_written(path: Path, temporary: Path) -> Noted:
    """Note the bytes of ``temporary``, which is about to get the name ``path``; on the disk when this returns."""
    entry = Noted(path.name, file_sha256(temporary), temporary.stat().st_size)
    _add(path.parent, [entry])
    return entry


def note_published(directory: Path, entry: Noted) -> None:
    """Note that a part has got its name.

    The part counts already, so a disk that refuses this line (:func:`note_standing` writes it later) must not make its
    rows look as if they had not been written.
    """
    with suppress(OSError):
        _add(directory, [replace(entry, state="standing")], flush=False)


def unmarked(directory: Path) -> list[Noted]:
    """Parts that stand and whose last line does not say so: after a crash, or in a store of an older version."""
    return [entry for entry in noted(directory).values() if entry.state != "standing" and (directory / entry.part).exists()]


def note_standing(directory: Path) -> None:
    """Note of every part that stands that it does. The caller holds the table's lock."""
    entries = unmarked(directory)
    if entries:
        _add(directory, [replace(entry, state="standing") for entry in entries])


def note_removed(directory: Path, names: Iterable[str]) -> None:
    """Note that parts are about to be removed on purpose; on the disk when this returns."""
    known = noted(directory)
    entries = [replace(known[name], state="removed") for name in sorted(names) if name in known]
    if entries:
        _add(directory, entries)


def drop_removed(directory: Path, *, keep: str) -> None:
    """Drop the lines of parts that were removed on purpose, and lines that later ones replace. Holds no lock itself.

    ``keep`` is the ending of names whose lines stay whatever happened.
    """
    known = noted(directory)
    stay = [
        entry for name, entry in known.items() if entry.state != "removed" or name.endswith(keep) or (directory / name).exists()
    ]
    if len(stay) < len(known):
        publish_text(directory / CHECKSUMS, "".join(map(_line, stay)))


def _add(directory: Path, entries: Iterable[Noted], *, flush: bool = True) -> None:
    """Add lines. A line torn by a crash is closed first, so that it spoils no other."""
    with (directory / CHECKSUMS).open("a+b") as file:
        file.seek(0, os.SEEK_END)
        torn = False
        if file.tell():
            file.seek(-1, os.SEEK_END)
            torn = file.read(1) != b"\n"
        file.write((("\n" if torn else "") + "".join(map(_line, entries))).encode())
        file.flush()
        if flush:
            os.fsync(file.fileno())


def _line(entry: Noted) -> str:
    return json.dumps(asdict(entry)) + "\n"
