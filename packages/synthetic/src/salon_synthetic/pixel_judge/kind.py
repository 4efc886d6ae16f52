"""The entry point `pixels` of the group `salon.judges`; the judge is imported when it is opened."""

from collections.abc import Mapping
from typing import Final

from salon_synthetic.pixel_judge.settings import PixelSettings, eyes_from_text
from salon_taxonomy.plugins import JudgeKind, ManagedJudge


def _open(settings: PixelSettings, environment: Mapping[str, str]) -> ManagedJudge:
    from salon_synthetic.pixel_judge.judge import PixelJudge

    return PixelJudge(settings)


kind: Final = JudgeKind("pixels", PixelSettings, dict, eyes_from_text, _open)
"""The entry point ``pixels`` of the group ``salon.judges``."""
