"""The questions of Magic-Bench-377, built from the templates in ``prompts/``; the words are ours.

MEF: test points in appendix D, the three dimensions of marks in section 5.2 and Figure 15, battles in section 5.1
and appendix E.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from salon_bench.suites.magic_bench_377.replies import HIGHEST, LOWEST
from salon_judges.asking.templates import Templates
from salon_judges.formats.magic_bench_377_labels import points
from salon_taxonomy.answers import SideVerdict
from salon_taxonomy.digest import Digestible
from salon_taxonomy.protocols import Decoding, Media, Question

LONGEST_REPLY: Final = 1024
"""Tokens of a reply at most."""
TEST_POINTS: Final = "test_points"
"""The task of rows of ``scores`` that hold a test point: ``salon ratings pass-rates STORE --task test_points``."""
MOS: Final = "mos"
"""The task of rows of ``scores`` that hold a mark."""
WIN: Final = "win"
"""The dimension of rows of ``scores`` that say what a battle brought a model: 1, 0.5 or 0."""
SHOWINGS: Final = ("first", "second")
"""The steps; and the dimensions of rows that say what the left picture got in a showing: 1, 0.5 or 0."""


class OrderRule(StrEnum):
    """What a battle comes to when its two showings name different winners, or a winner and a tie."""

    TIE = "tie"
    """A tie: what depends on the side decides nothing. The default; the paper, whose raters are people, is silent."""
    UNSCORED = "unscored"
    """No verdict (``abstained``): the battle has no row, and is counted."""
    EACH = "each"
    """Each showing is a battle of its own, of weight ½, so that checks of raters see the side."""


class MarkDimension(StrEnum):
    """The three dimensions of marks (section 5.2)."""

    PROMPT_FOLLOWING = "Prompt Following"
    STRUCTURAL_ACCURACY = "Structural Accuracy"
    AESTHETIC_QUALITY = "Aesthetic Quality"

    @property
    def template(self) -> str:
        """The name of its template.

        Example:
            >>> MarkDimension.PROMPT_FOLLOWING.template
            'prompt_following'
        """
        return self.lower().replace(" ", "_")


@dataclass(frozen=True)
class Questions:
    """Renders the questions; one instance serves a whole run.

    Attributes:
        templates: with the names ``check``, ``battle`` and one for each dimension.
    """

    templates: Templates

    def check(self, image: Media, *, prompt: str, point: str, demand: str) -> Question:
        """Does the picture meet one demand in full?

        Args:
            image: the picture.
            prompt: what the generator was told.
            point: the id of the test point.
            demand: what exactly must be there; empty where the prompt itself says it.
        """
        label = points()[point]
        text = self.templates.render("check", prompt=prompt, demand=demand, point=label.name, definition=label.definition)
        return asked((image, text), "satisfied", {"type": "boolean"})

    def mark(self, image: Media, dimension: MarkDimension, *, prompt: str) -> Question:
        """Ask which mark from 1 to 5 the picture deserves in one dimension."""
        text = self.templates.render(dimension.template, prompt=prompt)
        return asked((image, text), "score", {"type": "integer", "minimum": LOWEST, "maximum": HIGHEST})

    def battle(self, left: Media, right: Media, *, prompt: str) -> Question:
        """Ask which of two pictures is better."""
        text = self.templates.render("battle", prompt=prompt)
        parts = ("Left picture:", left, "Right picture:", right, text)
        return asked(parts, "verdict", {"enum": [str(each) for each in SideVerdict]})


def asked(parts: tuple[str | Media, ...], key: str, verdict: Mapping[str, Digestible]) -> Question:
    """Return a question whose reply is a JSON object: ``reason``, and ``verdict``'s kind of value under ``key``."""
    schema: dict[str, Digestible] = {
        "type": "object",
        "properties": {"reason": {"type": "string"}, key: verdict},
        "required": ["reason", key],
        "additionalProperties": False,
    }
    return Question(parts, response_schema=schema, decoding=Decoding(max_tokens=LONGEST_REPLY))
