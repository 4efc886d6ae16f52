"""Texts of strangers for models on this machine: what would be a special token of the model is broken into words."""

from typing import Any, Final

_BREAK: Final = "\u200b"
"""Put into special tokens of a text, so that they are plain words."""


def disarmed(processor: Any, text: str) -> str:
    """Return a text with the special tokens of a processor ("<image>", "<|im_end|>") broken, without lone surrogates."""
    text = text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    for token in _special(processor):
        if token in text:
            text = text.replace(token, f"{token[0]}{_BREAK}{token[1:]}")
    return text


def _special(processor: Any) -> list[str]:
    tokenizer = processor.tokenizer
    added = [str(token) for token in tokenizer.get_added_vocab()]
    named = [getattr(processor, name, None) for name in ("image_token", "video_token")]
    every = {*tokenizer.all_special_tokens, *added, *(name for name in named if isinstance(name, str))}
    return sorted((token for token in every if len(token) > 1 and not token.isalnum()), key=lambda token: (-len(token), token))
