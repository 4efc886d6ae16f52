"""The small language in which the drawn world reasons, and a judge of it that works by rule."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from salon_synthetic.artifacts.kinds import KINDS, SOUND
from salon_taxonomy.answers import MagicMirrorAnswer

REASONS: Mapping[str, str] = MappingProxyType({name: kind.reason for name, kind in KINDS.items()})
"""The sentence of every kind of artifact."""
_LABELS = {kind.reason.rstrip(".").casefold(): kind.artifact for kind in KINDS.values()}
_SOUND = {sentence.rstrip(".").casefold() for sentence in SOUND.values()}


def consistent(reasoning: str, answer: MagicMirrorAnswer) -> bool:
    """Test whether the sentences support the labels, in place of MagicMirror's consistency judge (appendix A.4).

    Supported are labels that are exactly those which the sentences name, both levels; a normal answer needs a sentence that
    says that something is right, and none that names an artifact. Sentences outside of the small language count for
    nothing, so prose of another kind supports no answer.

    Example:
        >>> from salon_taxonomy.answers import Artifact
        >>> consistent("The hand has five fingers.", MagicMirrorAnswer(True))
        True
        >>> consistent("The hand has too many fingers.", MagicMirrorAnswer(True))
        False
        >>> consistent("A thing floats in the air.", MagicMirrorAnswer(False, (Artifact("L2: Abnormal Object Morphology"),)))
        False
    """
    sentences = [" ".join(part.split()).casefold() for part in re.split(r"[.\n]", reasoning)]
    named: dict[str, set[str]] = {}
    for sentence in sentences:
        if (artifact := _LABELS.get(sentence)) is not None:
            named.setdefault(artifact.l2, set()).update(artifact.l3)
    if answer.normal:
        return not named and any(sentence in _SOUND for sentence in sentences)
    return bool(named) and named == {l2: set(l3) for l2, l3 in answer.labels.items()}
