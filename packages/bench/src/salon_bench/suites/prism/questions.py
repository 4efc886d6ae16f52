"""The two questions of PRISM-Bench, built from the templates in ``prompts/`` and the rubrics.

What is asked follows PRISM-Bench, section 3.2 and Tables 8 to 15; the words are ours. As in the released script the text comes
before the picture, and the reply is drawn greedily.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from salon_bench.suites.prism.rubrics import aesthetic_rubric, alignment_rubric, score_bands
from salon_judges.asking.templates import Templates
from salon_judges.formats.prism_tracks import Axis, Language, Track
from salon_taxonomy.digest import Digestible
from salon_taxonomy.protocols import Decoding, Media, Question

LONGEST_REPLY = 4096
"""Tokens of a reply at most, as in the released script."""
REPLY_SCHEMA: Mapping[str, Digestible] = {
    "type": "object",
    "properties": {"justification": {"type": "string"}, "score": {"type": "number", "minimum": 0, "maximum": 10}},
    "required": ["justification", "score"],
    "additionalProperties": False,
}
"""The reply, for judges that can be held to a JSON Schema; the justification comes first, so that the score follows from it."""


@dataclass(frozen=True)
class Questions:
    """Renders the questions of one language; one instance serves a whole run.

    Attributes:
        templates: the suite's own.
        language: of the rubrics.
    """

    templates: Templates
    language: Language

    def alignment(self, image: Media, *, prompt: str, track: Track) -> Question:
        """Ask how well the picture follows its prompt."""
        rubric, bands = alignment_rubric(track, self.language), score_bands(self.language)
        return self._question(image, self._render(Axis.ALIGNMENT, prompt=prompt, rubric=rubric, bands=bands))

    def aesthetic(self, image: Media, *, prompt: str) -> Question:
        """Ask whether the picture is sound and well made."""
        return self._question(image, self._render(Axis.AESTHETIC, prompt=prompt, rubric=aesthetic_rubric(self.language)))

    def _render(self, axis: Axis, **texts: object) -> str:
        ending = "" if self.language is Language.ENGLISH else f"_{self.language}"
        return self.templates.render(f"{axis}{ending}", **texts)

    def _question(self, image: Media, text: str) -> Question:
        return Question((text, image), response_schema=REPLY_SCHEMA, decoding=Decoding(max_tokens=LONGEST_REPLY))
