"""The outcome of parsing a reply: an answer, or the reason why there is no answer.

A parser never guesses: what a grammar does not allow is :class:`Unparsed`, and what it allows although its paper writes
it differently is :class:`Parsed` with a :class:`Note`.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeAlias, TypeVar

from salon_taxonomy.verdict import Reason, Unscored

A = TypeVar("A")


class Note(StrEnum):
    """A harmless way in which a reply differed from the plainest valid one. The value is what reports show."""

    PAPER_KEY = "paper_key"
    """MagicMirror: the key was spelled ``Type of Abnormality``, as in the paper's examples."""
    RELEASED_KEY = "released_key"
    """MagicMirror: the key was spelled ``Type of Deformity``, as the released assessor writes it."""
    CHILDLESS_VALUE = "childless_value"
    """MagicMirror: an L2 label without L3 labels carried something other than ``true``; it counts as given."""
    REPEATED_LABEL = "repeated_label"
    """MagicMirror: an L3 label stood twice under its L2; it counts once."""
    TEXT_SCORE = "text_score"
    """PRISM: the score was a number written as a string, as in the paper's template."""
    TRAILING_COMMA = "trailing_comma"
    """PRISM: a comma stood before the closing brace, as in the paper's template."""
    EXTRA_KEYS = "extra_keys"
    """R³, PRISM: the reply has keys that the grammar does not know; they were left out."""
    FENCED = "fenced"
    """The JSON was inside a Markdown code fence."""
    SURROUNDED = "surrounded"
    """Other text stood before or after the JSON or the box."""
    UNFINISHED = "unfinished"
    """Another box or object was begun and never closed; the last closed one counts."""
    THINK_UNOPENED = "think_unopened"
    """``</think>`` stood without ``<think>``: chat templates often put the opening tag into the prompt."""
    THINK_REPEATED = "think_repeated"
    """The reply has several or nested blocks of reasoning; their texts are joined."""
    ANSWERED_FIRST = "answered_first"
    """MagicMirror: the box stood before the reasoning, which therefore led to nothing."""
    REPAIRED_TEXT = "repaired_text"
    """Lone surrogates, which no encoding can carry, became U+FFFD."""


@dataclass(frozen=True, slots=True)
class Parsed(Generic[A]):
    """A reply that follows its grammar.

    Attributes:
        answer: what the reply says.
        reasoning: the text that stood between ``<think>`` and ``</think>``, without surrounding white space; empty
            when nothing stood there; None when the reply had no such block.
        notes: how the reply differed from the plainest valid one, in the order in which that was seen.
    """

    answer: A
    reasoning: str | None = None
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class Unparsed:
    """A reply that does not follow its grammar.

    Attributes:
        reason: one of ``EMPTY``, ``REFUSED``, ``TRUNCATED``, ``MALFORMED``, ``OFF_MENU``.
        detail: one clause for people; never more than a few words of the reply.
        reasoning: as in :class:`Parsed`.
    """

    reason: Reason
    detail: str
    reasoning: str | None = None

    def unscored(self, raw: str | None = None) -> Unscored:
        """Return the verdict that follows from it; ``raw`` is the reply as it came.

        Example:
            >>> Unparsed(Reason.EMPTY, "the reply is empty").unscored("")
            Unscored(reason=<Reason.EMPTY: 'empty'>, detail='the reply is empty', raw='')
        """
        return Unscored(self.reason, self.detail, raw)


Outcome: TypeAlias = Parsed[A] | Unparsed
"""What every parser returns."""
