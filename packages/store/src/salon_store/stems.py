"""A run's id as the beginning of a file name: of its parts and of its journal."""

from hashlib import sha256
from urllib.parse import quote

from salon_taxonomy.errors import InputError

_LONGEST_RUN = 120


def file_stem(run_id: str) -> str:
    """A run's id as the beginning of a file name: percent-encoded, never hidden, never a path, at most 120 characters.

    Ids that are longer keep their beginning and end in a digest of the whole.

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
