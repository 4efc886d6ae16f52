"""Edits that were made before, from a folder: ``edits.jsonl`` and the pictures beside it."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from salon_taxonomy.digest import digest, file_sha256
from salon_taxonomy.errors import InputError, cannot_write
from salon_taxonomy.plugins import Closing, ManagedEditor
from salon_taxonomy.protocols import Edit, Media
from salon_taxonomy.records import CallStatus

EDITS_FILE = "edits.jsonl"


def edit_key(image: Media, instruction: str, seed: int | None) -> str:
    """By what a recorded edit is found again: the picture's bytes, the instruction and the seed."""
    return digest("edit", {"image": image.sha256, "instruction": instruction, "seed": seed})


class ReplayEditor(Closing):
    """Gives what was recorded for the same picture, instruction and seed; anything else is refused.

    Args:
        folder: as :class:`RecordingEditor` writes it.
        name: what tables call it; the recorded editor's name by default.

    Raises:
        InputError: when the folder holds no readable recording.
    """

    def __init__(self, folder: str | Path, *, name: str | None = None) -> None:
        self._folder = Path(folder)
        self._rows = _read(self._folder / EDITS_FILE)
        first = next(iter(self._rows.values()), {})
        self.name = name or str(first.get("editor", "replay"))
        self.version = digest("editor", {"kind": "replay", "edits": file_sha256(self._folder / EDITS_FILE)})

    async def edit(self, image: Media, instruction: str, *, seed: int | None = None) -> Edit:
        """Return the recorded edit; ``REJECTED`` for a missing one, ``UNREACHABLE`` where its picture has changed."""
        row = self._rows.get(edit_key(image, instruction, seed))
        if row is None:
            return Edit(None, CallStatus.REJECTED, self.version, error="no such edit was recorded")
        if row["picture"] is None:
            return Edit(None, CallStatus(row["status"]), self.version, error=row["error"])
        try:
            data = await asyncio.to_thread((self._folder / f"{row['picture']}.png").read_bytes)
        except OSError as error:
            return Edit(None, CallStatus.UNREACHABLE, self.version, error=f"the recorded picture is gone ({error.strerror})")
        found = Media.from_bytes(data)
        if found.sha256 != row["picture"]:
            return Edit(None, CallStatus.UNREACHABLE, self.version, error="the recorded picture was changed")
        return Edit(found, version=self.version)

    async def close(self) -> None:
        """Nothing is held open."""


class RecordingEditor(Closing):
    """Passes everything on to another editor and keeps what came, line by line, so that a break costs nothing.

    Args:
        editor: makes the edits. One that can be closed is closed with this one.
        folder: made if it is missing; a recording there goes on.

    Raises:
        InputError: when the folder cannot be made.

    Example:
        >>> import tempfile
        >>> from salon_synthetic import DrawEditor
        >>> from salon_synthetic import Scene, png
        >>> folder, picture = tempfile.mkdtemp(), Media.from_bytes(png(Scene()))
        >>> made = asyncio.run(RecordingEditor(DrawEditor(), folder).edit(picture, "Add a star."))
        >>> again = asyncio.run(ReplayEditor(folder).edit(picture, "Add a star."))
        >>> made.image == again.image, ReplayEditor(folder).name
        (True, 'draw')
    """

    def __init__(self, editor: ManagedEditor, folder: str | Path) -> None:
        self._editor = editor
        self._folder = Path(folder)
        self.name = editor.name
        self.version = editor.version
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot be made ({error.strerror})", source=self._folder) from error

    async def edit(self, image: Media, instruction: str, *, seed: int | None = None) -> Edit:
        """The other editor's edit.

        Raises:
            InputError: when it cannot be written down.
        """
        made = await self._editor.edit(image, instruction, seed=seed)
        try:
            self._keep(image, instruction, seed, made)
        except OSError as error:
            raise cannot_write(error, self._folder) from error
        return made

    async def close(self) -> None:
        """Close the other editor."""
        await self._editor.close()

    def _keep(self, image: Media, instruction: str, seed: int | None, made: Edit) -> None:
        picture = None
        if made.image is not None:
            data = made.image.data or Path(made.image.uri or "").read_bytes()
            picture = made.image.sha256
            (self._folder / f"{picture}.png").write_bytes(data)
        row = {
            "key": edit_key(image, instruction, seed),
            "editor": self.name,
            "version": made.version,
            "image": image.sha256,
            "instruction": instruction,
            "seed": seed,
            "status": made.status.value,
            "error": made.error,
            "picture": picture,
        }
        with (self._folder / EDITS_FILE).open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


def _read(path: Path) -> dict[str, Mapping[str, Any]]:
    """Rows by key; of a key that stands twice the last one that made a picture, else the last."""
    rows: dict[str, Mapping[str, Any]] = {}
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("no recorded edits can be read", source=path, hint="Record some with RecordingEditor.") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            if number == len(lines):
                break  # a line that a break cut off
            raise InputError("is no JSON", source=path, line=number) from error
        _checked(row, path, number)
        if row["picture"] is not None or rows.get(row["key"], row)["picture"] is None:
            rows[row["key"]] = row
    return rows


def _checked(row: object, path: Path, line: int) -> None:
    if not isinstance(row, dict):
        raise InputError("must be a JSON object", source=path, line=line)
    for key in ("key", "status", "picture", "error"):
        value = row.get(key)
        if not (isinstance(value, str) or (value is None and key in ("picture", "error"))):
            raise InputError("must hold text", source=path, line=line, key=key, value=value)
    name = row["picture"]
    if name is not None and (len(name) != 64 or set(name) - set("0123456789abcdef")):
        raise InputError("must be a SHA-256 in hex digits", source=path, line=line, key="picture", value=name)
    if row["status"] not in set(CallStatus) or (row["status"] == CallStatus.OK) != (name is not None):
        raise InputError("does not fit the picture", source=path, line=line, key="status", value=row["status"])
