"""Read the JSON Lines of a run that may still be running; a torn last line is counted."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from salon_taxonomy.answers.strict_json import Json, JsonError, strict_json
from salon_taxonomy.errors import InputError

LAST_STEP = 2**53
"""No run is longer; floats hold every step up to here."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """One object.

    Attributes:
        number: of its line, from 1.
        offset: of its line in the file, in bytes.
        step: of its key ``step``.
        values: all of it.
    """

    number: int
    offset: int
    step: int
    values: dict[str, Json]


@dataclass(slots=True)
class LogLines:
    """The objects of a file, read one at a time.

    A last line without its line break that is no object is still being written, or was cut off by a kill: it is left out. So
    is what a resumed run went on writing behind: the line then ends with a whole object, which begins with ``first``.

    Args:
        path: of the file.
        first: the key that every object begins with.

    Attributes:
        torn: the lines of which something was left out, so far.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "log.jsonl"
        >>> _ = path.write_text('{"what": "started", "step": 0}\\n{"what": "lea{"what": "resumed", "step": 0}\\n{"what": "le')
        >>> lines = LogLines(path, first="what")
        >>> [line.values["what"] for line in lines], lines.torn
        (['started', 'resumed'], [2, 3])
    """

    path: Path
    first: str
    torn: list[int] = field(default_factory=list)

    def __iter__(self) -> Iterator[LogLine]:
        """From the first line on.

        Raises:
            InputError: the file cannot be read, or a line is no object with a step; it names the line.
        """
        self.torn = []
        offset = 0
        try:
            with self.path.open("rb") as file:
                for number, line in enumerate(file, start=1):
                    if line.strip() and (values := self._values(line, number)) is not None:
                        yield LogLine(number, offset, self._step(values, number), values)
                    offset += len(line)
        except OSError as error:
            raise InputError(f"cannot be read ({error.strerror})", source=self.path) from error

    def at(self, offset: int) -> dict[str, Json]:
        """Return the object of the line that begins at an offset, which has been read before."""
        with self.path.open("rb") as file:
            file.seek(offset)
            return self._values(file.readline(), 0) or {}

    def _values(self, line: bytes, number: int) -> dict[str, Json] | None:
        try:
            value = strict_json(line.decode("utf-8"))
            if isinstance(value, dict):
                return value
            problem = "is no JSON object"
        except UnicodeDecodeError as error:
            problem = f"is not UTF-8 at byte {error.start}"
        except JsonError as error:
            problem = f"is no JSON object ({error})"
        if (behind := self._behind(line)) is not None or not line.endswith(b"\n"):
            self.torn.append(number)
            return behind
        hint = "Take the line out of a copy of the folder to see the rest."
        raise InputError(problem, source=self.path, line=number, hint=hint)

    def _behind(self, line: bytes) -> dict[str, Json] | None:
        """Return the whole object at the end of a line, behind one that was cut off."""
        start = line.rfind(f'{{"{self.first}": '.encode())
        if start <= 0:
            return None
        try:
            value = strict_json(line[start:].decode("utf-8"))
        except (UnicodeDecodeError, JsonError):
            return None
        return value if isinstance(value, dict) else None

    def _step(self, values: dict[str, Json], number: int) -> int:
        step = values.get("step")
        if isinstance(step, bool) or not isinstance(step, int) or not 0 <= step <= LAST_STEP:
            raise InputError("must be a whole number of 0 or more", source=self.path, line=number, key="step", value=step)
        return step
