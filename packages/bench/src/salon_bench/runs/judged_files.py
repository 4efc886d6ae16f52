"""Files that were judged: where they lay, and the very bytes, if they are still there."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from salon_judges.media.policy import DEFAULT_LIMITS
from salon_taxonomy.media_files import read_inside
from salon_taxonomy.verdict import Unscored


@dataclass(frozen=True, slots=True)
class JudgedFile:
    """A judged file: where it lay, and the hash of what was judged (``generations.uri``, ``generations.sha256``)."""

    uri: str
    sha256: str

    def read(self, bases: Sequence[Path]) -> bytes | str:
        """Return the very bytes that were judged, or why they cannot be had, a clause.

        Args:
            bases: where a relative path may start.
        """
        if "://" in self.uri:
            return "the file is not on this machine"
        problem = "there is no such file"
        for path in dict.fromkeys(base / self.uri for base in bases):  # an absolute path stays what it is
            content = read_inside(path, Path(path.anchor), DEFAULT_LIMITS.most_bytes)
            if isinstance(content, Unscored):
                problem = content.detail or problem
            elif hashlib.sha256(content).hexdigest() == self.sha256:
                return content
            else:
                problem = "the file has changed since it was judged"
        return problem


def folders_of(generations: Iterable[Path]) -> list[Path]:
    """Return the base folders for relative paths of judged files: these folders and all above them."""
    return [folder for each in generations for folder in (each, *each.parents)]
