"""How the pixel judge is named: ``pixels:``, ``pixels:blur=2``, ``pixels:width=64,colour_blind``."""

from typing import Annotated, Any

from pydantic import Field

from salon_synthetic.pixel_judge.eyes import Eyes
from salon_taxonomy.digest import digest
from salon_taxonomy.errors import InputError
from salon_taxonomy.plugins import JudgeSettings

RULES = "pixels-1"
"""Raised when the same eyes come to see otherwise, or to answer otherwise from what they see."""
_HINT = "Write pixels:, or some of width=8…256, blur=0…32 and colour_blind, with commas: pixels:width=64,blur=1."


class PixelSettings(JudgeSettings):
    """The judge that sees by rules; see :class:`~salon_synthetic.pixel_judge.eyes.Eyes` for what the fields do.

    Example:
        >>> PixelSettings(width=64).title, PixelSettings(blur=2.0).version == PixelSettings(blur=2.0, name="hazy").version
        ('pixels:width=64', True)
    """

    kind: str = "pixels"
    width: Annotated[int, Field(ge=8, le=256)] = 256
    blur: Annotated[float, Field(ge=0, le=32)] = 0.0
    colour_blind: bool = False

    @property
    def eyes(self) -> Eyes:
        """What it sees with."""
        return Eyes(self.width, self.blur, self.colour_blind)

    @property
    def title(self) -> str:
        """Its name, or what it is called on the command line."""
        words = [f"width={self.width}"] if self.width != Eyes().width else []
        words += [f"blur={self.blur:g}"] if self.blur else []
        words += ["colour_blind"] if self.colour_blind else []
        return self.name or "pixels" + (f":{','.join(words)}" if words else "")

    @property
    def version(self) -> str:
        """A digest of its eyes and of the rules."""
        return digest("judge", {"rules": RULES, **self.model_dump(mode="json", exclude={"name", "kind"})})


def eyes_from_text(text: str) -> dict[str, Any]:
    """Return the settings that stand after ``pixels:``.

    Raises:
        InputError: for a word that is none of them, or a value that is no number.

    Example:
        >>> eyes_from_text("width=64,colour_blind")
        {'width': 64, 'colour_blind': True}
    """
    settings: dict[str, Any] = {}
    for word in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = word.partition("=")
        if name not in ("width", "blur", "colour_blind") or bool(equals) == (name == "colour_blind"):
            raise InputError(
                "unknown word for the pixel judge", value=word, allowed=["width=N", "blur=X", "colour_blind"], hint=_HINT
            )
        try:
            settings[name] = True if not equals else int(value) if name == "width" else float(value)
        except ValueError as error:
            raise InputError("must be a number", key=name, value=value, hint=_HINT) from error
    return settings
