"""The two questions of MagicBench, built from the templates in ``prompts/`` and MagicMirror's label tree.

The words are ours; what is asked follows MagicMirror, section 3.3 and appendices A.2 and A.3, and for the subject the criteria
of the released script (a whole limb and a whole hand for people, a whole limb for animals, the whole thing for objects).
"""

from dataclasses import dataclass
from functools import cached_property

from salon_judges.asking.templates import Templates
from salon_taxonomy import Taxonomy
from salon_taxonomy.protocols import Decoding, Media, Question

LONGEST_REPLY = 2048
"""Tokens of a reply at most, as in the released scripts."""


@dataclass(frozen=True)
class Questions:
    """Renders the questions; one instance serves a whole run.

    Attributes:
        templates: with the names ``subject`` and ``assessment``.
    """

    templates: Templates

    def subject(self, image: Media, *, prompt: str, subject: str, subject_class: str) -> Question:
        """Ask whether the complete subject is in the picture; answered by a last line of yes or no."""
        text = self.templates.render("subject", prompt=prompt, subject=subject, subject_class=subject_class)
        return Question((image, text), decoding=Decoding(max_tokens=LONGEST_REPLY))

    def assessment(self, image: Media, *, prompt: str) -> Question:
        """Ask what is wrong with the picture; answered by MagicMirror's grammar.

        Args:
            image: the picture.
            prompt: of the picture; empty when it is unknown.
        """
        text = self.templates.render("assessment", prompt=prompt or "(not known)", **self._labels)
        return Question((image, text), decoding=Decoding(max_tokens=LONGEST_REPLY))

    @cached_property
    def _labels(self) -> dict[str, object]:
        """What the template lists: kinds of artifact with their special cases, and the annotators' rules."""
        taxonomy = Taxonomy.load("magicmirror")
        kinds = [
            {
                "answer": kind.spelling,
                "definition": kind.definition,
                "cases": [{"answer": case.spelling, "definition": case.definition} for case in taxonomy.children(kind)],
            }
            for kind in taxonomy.tier("L2")
        ]
        return {"kinds": kinds, "guidelines": taxonomy.guidelines}
