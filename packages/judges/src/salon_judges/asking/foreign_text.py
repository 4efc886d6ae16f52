"""Put foreign texts into questions as data that can never become instructions."""

import re
from typing import Final

_MARK: Final = re.compile(r"<(/?)(\s*)(data\b)", re.IGNORECASE)
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def foreign(text: object) -> str:
    """Put a foreign text between marker lines, and disarm markers and control characters in it."""
    safe = _MARK.sub(r"‹\1\2\3", _CONTROL.sub("\ufffd", str(text)))
    return f"<data>\n{safe}\n</data>"
