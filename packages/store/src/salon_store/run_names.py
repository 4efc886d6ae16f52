"""Run ids in the names of journals and data files."""

import re
from hashlib import sha256
from urllib.parse import quote, unquote

from salon_taxonomy.errors import InputError

_LONGEST_RUN = 120
_DATA_FILE = re.compile(r"(?:run-(?P<run>.+)|merged)-(?P<number>[0-9]{10})-(?P<sha256>[0-9a-f]{64})\.parquet", re.ASCII)


def file_stem(run_id: str) -> str:
    """Return a run's id as the beginning of a file name: percent-encoded, at most 120 characters.

    It is never hidden and never a path. Ids that are longer keep their beginning and end in a digest of the whole.

    Raises:
        InputError: for an empty id, one longer than 200 characters, or one that is not valid Unicode.

    Example:
        >>> file_stem("../2026 run/α")
        '%2E.%2F2026%20run%2F%CE%B1'
    """
    if not isinstance(run_id, str) or not 1 <= len(run_id) <= 200:
        raise InputError("a run's id has 1 to 200 characters, not", column="run_id", value=run_id)
    try:
        stem = quote(run_id, safe="")
    except UnicodeEncodeError:
        raise InputError("a run's id must be valid Unicode, not", column="run_id", value=run_id) from None
    if stem.startswith("."):
        stem = f"%2E{stem[1:]}"
    if len(stem) > _LONGEST_RUN:
        stem = f"{stem[: _LONGEST_RUN - 17]}~{sha256(run_id.encode()).hexdigest()[:16]}"
    return stem


def data_file_name(run_id: str | None, number: int, content: str) -> str:
    """Return a data file's name: run (None: several), place in the table, SHA-256 of its bytes.

    A name has letters, digits and ``-._`` only, so every engine and every object store takes it as it is. What else a
    run's id has is written as ``_`` and two hex digits.

    Example:
        >>> data_file_name("night/7", 3, "ab" * 32)[:29]
        'run-night_2F7-0000000003-abab'
    """
    run = "merged" if run_id is None else f"run-{_plain(file_stem(run_id))}"
    return f"{run}-{number:010}-{content}.parquet"


def _plain(stem: str) -> str:
    return stem.replace("_", "%5F").replace("~", "%7E").replace("%", "_")


def content_of(name: str) -> str | None:
    """Return the SHA-256 that a data file's name promises, None for the name of another file."""
    match = _DATA_FILE.fullmatch(name)
    return match["sha256"] if match else None


def number_of(name: str) -> int:
    """Return a data file's place in its table, -1 for the name of another file."""
    match = _DATA_FILE.fullmatch(name)
    return int(match["number"]) if match else -1


def run_of(name: str) -> str | None:
    """Return the run in a data file's name, None for several runs or an id that is cut off.

    Example:
        >>> run_of(data_file_name("night run", 7, "0" * 64)), run_of(data_file_name(None, 8, "0" * 64))
        ('night run', None)
    """
    match = _DATA_FILE.fullmatch(name)
    if match is None or match["run"] is None:
        return None
    run = _spelled(match["run"])
    return run if _plain(file_stem(run)) == match["run"] else None


def owner_of(name: str) -> str:
    """Return the run that a data file's rows belong to, in words.

    Example:
        >>> owner_of(data_file_name("night run", 7, "0" * 64))
        "run 'night run'"
        >>> owner_of(data_file_name(None, 8, "0" * 64))
        'several runs'
    """
    match = _DATA_FILE.fullmatch(name)
    if match is None:
        return "an unknown run"
    return "several runs" if match["run"] is None else f"run {_spelled(match['run'])!r}"


def _spelled(run: str) -> str:
    return unquote(run.replace("_", "%"))


def may_hold(name: str, run_id: str) -> bool:
    """Return whether a file of this name may have rows of the run."""
    return name.startswith((f"run-{_plain(file_stem(run_id))}-", f"run-{_plain(file_stem(run_id))}_7E", "merged-"))
