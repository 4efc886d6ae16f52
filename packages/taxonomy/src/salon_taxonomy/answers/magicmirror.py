r"""MagicMirror's answer: ``<think>…</think>`` and then ``\boxed{…}`` with the labels as JSON.

The grammar is MagicMirror's, appendices A.3 and A.4, with the validity rule of the released checker:
``{"Whether Normal": true}`` alone, or ``{"Whether Normal": false, "Type of Deformity": {L2: [L3, …] | true}}`` with
exactly these two keys, every L2 known, a list of that L2's own L3 names for the four L2 that have some, and any value
for the two that have none. The paper's own examples spell the second key ``Type of Abnormality``; both are read.
"""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from salon_taxonomy.answers.outcome import Note, Outcome, Parsed, Unparsed
from salon_taxonomy.answers.reading import Found, last_box, nothing_found, rejected, split_reply, without_surrogates
from salon_taxonomy.answers.rendering import with_reasoning
from salon_taxonomy.answers.strict_json import Json, JsonError, strict_json
from salon_taxonomy.errors import InputError
from salon_taxonomy.verdict import Reason

MAGICMIRROR_MENU: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "L2: Irrational Element Attributes": (
            "L3: Abnormal Material Texture",
            "L3: Abnormal Detail Drawing",
            "L3: Abnormal Element Proportion",
            "L3: Abnormal Color Combination",
        ),
        "L2: Irrational Element Interaction": (
            "L3: Abnormal Light and Shadow Effect",
            "L3: Abnormal Element Overlap",
            "L3: Abnormal Spatial Position",
        ),
        "L2: Abnormal Human Anatomy": (
            "L3: Limb Structure Deformity",
            "L3: Trunk Structure Deformity",
            "L3: Hand Structure Deformity",
            "L3: Foot Structure Deformity",
            "L3: Facial Structure Deformity",
            "L3: Abnormal Human Anatomy",
            "L3: Abnormal and Uncoordinated Posture",
        ),
        "L2: Abnormal Animal Anatomy": (
            "L3: Abnormal Limb Structure",
            "L3: Abnormal Posture Presentation",
            "L3: Abnormal Head Structure",
        ),
        "L2: Abnormal Object Morphology": (),
        "L2: Other Irrationalities": (),
    }
)
"""Each L2 label and its L3 labels, spelled and ordered as in MagicMirror, Table 5: what a model may answer."""

_NORMAL = "Whether Normal"
_RELEASED_KEY = "Type of Deformity"
_PAPER_KEY = "Type of Abnormality"

# The reply as it is asked for: one block of reasoning, one box with nothing around it, and no tag or backslash where the
# general reading would have to look twice. Possessive, so the match never turns back.
_AS_ASKED: Final = re.compile(
    r"\s*+<think>([^<]*+)</think>\s*+\\boxed\{(\s*+\{[^{}<\\]*+(?:\{[^{}<\\]*+\}[^{}<\\]*+)?\}\s*+)\}\s*+"
)
_LONGEST_KEPT: Final = 1_000
"""Characters; labels are far shorter, and the same ones come again and again."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """One L2 label and the L3 labels given under it.

    Attributes:
        l2: a key of :data:`MAGICMIRROR_MENU`, with its prefix ``"L2: "``.
        l3: labels of that L2, each once, in the order given; may be empty.

    Raises:
        InputError: for a label that is not on the menu, or stands under another L2, or twice.
    """

    l2: str
    l3: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.l2 not in MAGICMIRROR_MENU:
            raise InputError("unknown L2 label", value=self.l2, allowed=MAGICMIRROR_MENU)
        for label in self.l3:
            if label not in MAGICMIRROR_MENU[self.l2]:
                allowed = MAGICMIRROR_MENU[self.l2] or ("none",)
                raise InputError(f"unknown L3 label under {self.l2!r}", value=label, allowed=allowed)
        if len(set(self.l3)) < len(self.l3):
            raise InputError(f"an L3 label occurs twice under {self.l2!r}", value=self.l3)


@dataclass(frozen=True, slots=True)
class MagicMirrorAnswer:
    """The labels of one image, from MagicMirror's assessor or its annotators.

    Attributes:
        normal: True: nothing is wrong with the image.
        artifacts: what is wrong, in the order given, each L2 once. Always empty for a normal image; may be empty for
            another too (the released checker takes an empty ``Type of Deformity``): wrong, without a label.

    Raises:
        InputError: for a normal image with artifacts, or an L2 label that occurs twice.

    Example:
        >>> answer = MagicMirrorAnswer(False, (Artifact("L2: Abnormal Human Anatomy", ("L3: Hand Structure Deformity",)),))
        >>> answer.labels
        {'L2: Abnormal Human Anatomy': ('L3: Hand Structure Deformity',)}
    """

    normal: bool
    artifacts: tuple[Artifact, ...] = ()

    def __post_init__(self) -> None:
        if self.normal and self.artifacts:
            raise InputError("a normal image has no artifacts", value=self.artifacts[0].l2)
        if len(self.labels) < len(self.artifacts):
            raise InputError("an L2 label occurs twice", value=[artifact.l2 for artifact in self.artifacts])

    @property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """The L3 labels under each L2 that was given."""
        return {artifact.l2: artifact.l3 for artifact in self.artifacts}


def parse_magicmirror(text: str) -> Outcome[MagicMirrorAnswer]:
    r"""Read one reply of an assessor: the last brace-balanced ``\boxed{…}`` outside of the reasoning.

    A reply without ``<think>`` is read as well; ``Parsed.reasoning`` is None then. The key that a reply with artifacts
    used is in ``Parsed.notes``: :attr:`Note.RELEASED_KEY` or :attr:`Note.PAPER_KEY`.

    Example:
        >>> parse_magicmirror(r'<think>All fine.</think>\boxed{{"Whether Normal": true}}')
        Parsed(answer=MagicMirrorAnswer(normal=True, artifacts=()), reasoning='All fine.', notes=())
        >>> parse_magicmirror(r'\boxed{{"Whether Normal": True}}')
        Unparsed(reason=<Reason.MALFORMED: 'malformed'>, detail='not JSON at character 19: expecting value', reasoning=None)
    """
    asked = _AS_ASKED.fullmatch(text)
    if asked is not None and len(asked[2]) <= _LONGEST_KEPT and without_surrogates(text) is text:
        with suppress(JsonError, _OffMenuError):  # the general reading says what is wrong
            answer, notes = _known(asked[2].strip())
            return Parsed(answer, asked[1].strip(), notes)
    return _parsed(text)


def parse_magicmirror_json(text: str) -> Outcome[MagicMirrorAnswer]:
    """Read labels that stand alone, without reasoning and box, as the released data set's ``response`` column holds them.

    Example:
        >>> parse_magicmirror_json('{"Whether Normal": false, "Type of Deformity": {}}').answer
        MagicMirrorAnswer(normal=False, artifacts=())
    """
    body = text.strip()
    if not body:
        return Unparsed(Reason.EMPTY, "the text is empty")
    return _checked(Found(body, (), unfinished=False), None, ())


def magicmirror_json(answer: MagicMirrorAnswer, *, key: str = _RELEASED_KEY) -> str:
    """Return the labels alone, as strict JSON; ``key`` is ``"Type of Deformity"`` or ``"Type of Abnormality"``.

    Example:
        >>> magicmirror_json(MagicMirrorAnswer(False, (Artifact("L2: Abnormal Object Morphology"),)))
        '{"Whether Normal": false, "Type of Deformity": {"L2: Abnormal Object Morphology": true}}'
    """
    if key not in (_RELEASED_KEY, _PAPER_KEY):
        raise InputError("unknown key", value=key, allowed=(_RELEASED_KEY, _PAPER_KEY))
    if answer.normal:
        return json.dumps({_NORMAL: True})
    labels = {l2: list(l3) if MAGICMIRROR_MENU[l2] else True for l2, l3 in answer.labels.items()}
    return json.dumps({_NORMAL: False, key: labels})


def render_magicmirror(answer: MagicMirrorAnswer, reasoning: str | None = None, *, key: str = _RELEASED_KEY) -> str:
    r"""Return the whole reply; :func:`parse_magicmirror` reads it back.

    Args:
        answer: what the reply says.
        reasoning: the content of ``<think>``; None leaves the block out.
        key: as in :func:`magicmirror_json`.

    Raises:
        InputError: when the reasoning itself holds a think tag.

    Example:
        >>> print(render_magicmirror(MagicMirrorAnswer(True), "Five fingers on each hand."))
        <think>
        Five fingers on each hand.
        </think>
        \boxed{{"Whether Normal": true}}
    """
    return with_reasoning(f"\\boxed{{{magicmirror_json(answer, key=key)}}}", reasoning)


def _parsed(text: str) -> Outcome[MagicMirrorAnswer]:
    """Read a reply of any form; :func:`parse_magicmirror` takes a shorter way for replies as they are asked for."""
    heard = split_reply(text)
    if isinstance(heard, Unparsed):
        return heard
    fragment = last_box(heard.answer)
    if fragment is None:
        return nothing_found(heard, r"\boxed{")
    first = heard.reasoning is not None and heard.behind != heard.answer and last_box(heard.behind) is None
    return _checked(fragment, heard.reasoning, (*heard.notes, Note.ANSWERED_FIRST) if first else heard.notes)


def _checked(fragment: Found, reasoning: str | None, notes: tuple[Note, ...]) -> Outcome[MagicMirrorAnswer]:
    """Hold one piece of text against the released validity rule."""
    try:
        answer, seen = _known(fragment.body) if len(fragment.body) <= _LONGEST_KEPT else _answer(strict_json(fragment.body))
    except JsonError as problem:
        return rejected(fragment, Reason.MALFORMED, str(problem), reasoning)
    except _OffMenuError as problem:
        return rejected(fragment, Reason.OFF_MENU, str(problem), reasoning)
    return Parsed(answer, reasoning, (*notes, *fragment.notes, *seen))


class _OffMenuError(ValueError):
    """Well-formed JSON names something that is not on the menu."""


@lru_cache(maxsize=2_048)
def _known(body: str) -> tuple[MagicMirrorAnswer, tuple[Note, ...]]:
    """Return what short labels say; answers are immutable, so equal texts may share one."""
    return _answer(strict_json(body))


def _answer(value: Json) -> tuple[MagicMirrorAnswer, tuple[Note, ...]]:
    if not isinstance(value, dict):
        raise JsonError("the answer is no JSON object")
    if _NORMAL not in value:
        raise JsonError(f"the key {_NORMAL!r} is missing")
    normal = value[_NORMAL]
    if normal is not True and normal is not False:
        raise _OffMenuError(f"{_NORMAL!r} is {_shown(normal)}, neither true nor false")
    others = value.keys() - {_NORMAL}
    if normal:
        if others:
            raise JsonError(f"a normal image has the further key {_shown(min(others))}")
        return MagicMirrorAnswer(True), ()
    if others not in ({_RELEASED_KEY}, {_PAPER_KEY}):
        raise JsonError(f"exactly one key is required besides {_NORMAL!r}: {_RELEASED_KEY!r} or {_PAPER_KEY!r}")
    key = others.pop()
    labels = value[key]
    if not isinstance(labels, dict):
        raise JsonError(f"{key!r} is no JSON object")
    notes = {Note.RELEASED_KEY if key == _RELEASED_KEY else Note.PAPER_KEY: None}
    artifacts = tuple(_artifact(l2, given, notes) for l2, given in labels.items())
    return MagicMirrorAnswer(False, artifacts), tuple(notes)


def _artifact(l2: str, value: Json, notes: dict[Note, None]) -> Artifact:
    """Return one entry of the answer. ``notes`` is an ordered set that takes what was seen."""
    menu = MAGICMIRROR_MENU.get(l2)
    if menu is None:
        raise _OffMenuError(f"{_shown(l2)} is no L2 label")
    if not menu:
        if value is not True:
            notes[Note.CHILDLESS_VALUE] = None
        return Artifact(l2)
    if not isinstance(value, list):
        raise JsonError(f"{l2!r} needs a list of L3 labels")
    labels: dict[str, None] = {}
    for label in value:
        if not isinstance(label, str):
            raise JsonError(f"{_shown(label)} under {l2!r} is no text")
        if label not in menu:
            raise _OffMenuError(f"{_shown(label)} is no L3 label of {l2!r}")
        labels[label] = None
    if len(labels) < len(value):
        notes[Note.REPEATED_LABEL] = None
    return Artifact(l2, tuple(labels))


def _shown(value: Json) -> str:
    """Return a value as a message shows it, short whatever it is."""
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
