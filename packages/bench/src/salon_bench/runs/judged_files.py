"""Files that were judged: where they lay, and the very bytes, if they are still there."""

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from salon_judges.media.policy import DEFAULT_LIMITS
from salon_taxonomy.enums import MediaRole
from salon_taxonomy.media_files import read_inside
from salon_taxonomy.verdict import Unscored

_SHOWN: Final = re.compile(r'\["(\w+)", "([0-9a-f]{64})"\]')


@dataclass(frozen=True, slots=True)
class JudgedFile:
    """A judged file: where it lay, and the hash of what was judged (``generations.uri``, ``generations.sha256``)."""

    uri: str
    sha256: str

    def read(self, bases: Sequence[Path]) -> bytes | str:
        """Return the very bytes that were judged, or why they cannot be read, a clause.

        Args:
            bases: where a relative path may start.
        """
        if "://" in self.uri:
            return "the file is not on this machine"
        problem = "there is no such file"
        for path in dict.fromkeys(base / self.uri for base in bases):  # an absolute path stays what it is
            content = read_inside(path, Path(path.anchor), DEFAULT_LIMITS.most_bytes)
            if path.parent.is_file():
                return "it came as bytes in a table, which is not opened again"
            if isinstance(content, Unscored):
                problem = content.detail or problem
            elif hashlib.sha256(content).hexdigest() == self.sha256:
                return content
            else:
                problem = "the file has changed since it was judged"
        return problem


def given_files(shown: str) -> list[tuple[str, str]]:
    """Return role and SHA-256 of the files that a question showed beside the result, in its order.

    Args:
        shown: of ``judge_calls``; another text holds none.

    Example:
        >>> given_files(f'[["source", "{"a" * 64}"], ["result", "{"b" * 64}"]]')[0][0], given_files("nonsense")
        ('source', [])
    """
    return [(role, sha256) for role, sha256 in _SHOWN.findall(shown) if role != MediaRole.RESULT]


def folders_of(generations: Iterable[Path]) -> list[Path]:
    """Return the base folders for relative paths of judged files: these folders and all above them."""
    return [folder for each in generations for folder in (each, *each.parents)]
