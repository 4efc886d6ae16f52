"""Parquet files with a receipt in their footer: what they are, and the SHA-256 of their bytes.

The digest is that of the file with zeros in the digest's own place, so an altered file is noticed without a second file,
and the same work has the same bytes everywhere.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from salon_curate.files import publish
from salon_taxonomy.errors import InputError

RECEIPT: Final = "salon.receipt"
"""The key of the footer under which the receipt is written."""
_ZEROS: Final = "0" * 64
_DIGEST: Final = re.compile(rb'"file": "([0-9a-f]{64})"')


def publish_with_receipt(path: Path, receipt: Mapping[str, Any], write: Callable[..., object]) -> None:
    """Publish a file through ``write(temporary, metadata=…)``, and fill its digest into the receipt.

    Raises:
        StorageError: the disk is full or read-only, or the folder may not be written.
    """
    metadata = {RECEIPT: json.dumps({**receipt, "file": _ZEROS}, sort_keys=True)}

    def write_with_digest(temporary: Path) -> None:
        write(temporary, metadata=metadata)
        content = temporary.read_bytes()
        offset = content.rindex(_ZEROS.encode())
        with temporary.open("r+b") as file:
            file.seek(offset)
            file.write(hashlib.sha256(content).hexdigest().encode())

    publish(path, write_with_digest)


def is_as_written(path: Path) -> bool:
    """Return whether a file has the SHA-256 in its receipt; false without a receipt.

    Raises:
        OSError: the file cannot be read.
    """
    content = path.read_bytes()
    digests = [*_DIGEST.finditer(content)]
    if not digests:
        return False
    start, end = digests[-1].span(1)  # the footer is at the end
    return hashlib.sha256(content[:start] + _ZEROS.encode() + content[end:]).hexdigest().encode() == content[start:end]


def read_receipt(path: Path) -> dict[str, Any]:
    """Return the receipt in a file's footer.

    Raises:
        InputError: the file has none, or is damaged.
    """
    import polars as pl

    try:
        receipt: dict[str, Any] = json.loads(pl.read_parquet_metadata(path)[RECEIPT])
    except (OSError, KeyError, ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise InputError(f"has no receipt, or is damaged ({type(error).__name__})", source=path) from error
    return receipt
