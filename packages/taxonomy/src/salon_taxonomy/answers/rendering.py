"""What all written replies share: the reasoning block, and JSON that no reader mistakes for one."""

import json
from collections.abc import Mapping

from salon_taxonomy.errors import InputError

_TAGS = ("<think>", "</think>")


def with_reasoning(answer: str, reasoning: str | None) -> str:
    """Return the answer behind its reasoning; without a block when ``reasoning`` is None.

    Raises:
        InputError: when the reasoning holds a think tag; a reader would end the block there.
    """
    if reasoning is None:
        return answer
    if any(tag in reasoning.lower() for tag in _TAGS):
        raise InputError("the reasoning must hold no think tag", column="reasoning", value=reasoning)
    return f"<think>\n{reasoning}\n</think>\n{answer}"


def object_text(members: Mapping[str, object]) -> str:
    """Return the JSON object on one line, letters of all scripts unescaped, think tags escaped."""
    text = json.dumps(members, ensure_ascii=False, allow_nan=False)
    # "<" stands only within strings, where its escape means the same.
    return text.replace("<", "\\u003c") if any(tag in text.lower() for tag in _TAGS) else text
