"""The seven tracks, two languages and two axes of PRISM-Bench, with their names in files.

PRISM-Bench, section 3. A track's id is that of the taxonomy ``prism``; the released files
write it with an underscore (``text_rendering``).
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class Track(StrEnum):
    """The seven tracks, in the order of the paper's tables; each has 100 prompts."""

    IMAGINATION = "imagination"
    ENTITY = "entity"
    TEXT_RENDERING = "text-rendering"
    STYLE = "style"
    AFFECTION = "affection"
    COMPOSITION = "composition"
    LONG_TEXT = "long-text"

    @property
    def column(self) -> str:
        """How the released files and the published tables spell it.

        Example:
            >>> Track.LONG_TEXT.column
            'long_text'
        """
        return self.value.replace("-", "_")


class Language(StrEnum):
    """The languages of the two benchmarks: PRISM-Bench and PRISM-Bench-ZH."""

    ENGLISH = "en"
    CHINESE = "zh"

    @property
    def id_ending(self) -> str:
        """What a Chinese prompt's id ends in, so that it and its English original are two prompts in one store.

        Example:
            >>> "imagination-0" + Language.CHINESE.id_ending, "imagination-0" + Language.ENGLISH.id_ending
            ('imagination-0-zh', 'imagination-0')
        """
        return "" if self is Language.ENGLISH else f"-{self}"


class Axis(StrEnum):
    """The two things that a judge is asked about each picture, and the two dimensions of its scores."""

    ALIGNMENT = "alignment"
    """Does the picture show what its prompt asks for? Judged by the track's own rubric."""
    AESTHETIC = "aesthetic"
    """Is the picture sound and well made? Judged by one rubric for all tracks."""


TRACK_SPELLINGS: Mapping[str, Track] = MappingProxyType(
    {spelling: track for track in Track for spelling in (track.value, track.column)}
)
"""Every way in which a file may spell a track."""
