"""The text that a prompt requests: between quotation marks."""

import re

_QUOTED = re.compile(
    r"“([^“”\n]*)”|「([^「」\n]*)」|『([^『』\n]*)』|«([^«»\n]*)»"
    r'|"([^"\n]*)"'
    r"|(?<!\w)‘((?:[^‘’\n]|’(?=\w))+)’(?!\w)"  # an apostrophe inside a word is no closing mark
    r"|(?<!\w)'((?:[^'\n]|(?<=\w)'(?=\w))+)'(?!\w)"
)


def quoted_texts(prompt: str) -> tuple[str, ...]:
    """Return the texts in English and Chinese quotation marks that have a letter or digit.

    Marks that are nested count once, as the outer text. Time is linear in the length of the prompt but for prompts made of
    single quotation marks.

    Example:
        >>> quoted_texts("A sign that reads “Don't feed the owls” beside a mug with 'TEA'.")
        ("Don't feed the owls", 'TEA')
        >>> quoted_texts("The baker's shop; it's closed.")
        ()
    """
    found = ("".join(match.groups(default="")).strip() for match in _QUOTED.finditer(prompt))
    return tuple(text for text in found if any(character.isalnum() for character in text))
