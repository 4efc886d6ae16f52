"""The consistency reward of the drawn world: does the sentence of reasoning support the labels? Decided by rule, offline."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from salon_synthetic.artifacts import consistent
from salon_taxonomy.answers import Parsed, parse_magicmirror


def supports(text: str) -> bool:
    """Return whether a reply can be read, reasons, and its reasoning supports its answer.

    Example:
        >>> supports("<think>The hand has five fingers.</think>\\\\boxed{{\\"Whether Normal\\": true}}")
        True
        >>> supports("<think>The hand has too many fingers.</think>\\\\boxed{{\\"Whether Normal\\": true}}")
        False
        >>> supports("I think that it is fine.")
        False
    """
    outcome = parse_magicmirror(text)
    return isinstance(outcome, Parsed) and outcome.reasoning is not None and consistent(outcome.reasoning, outcome.answer)


@dataclass(frozen=True)
class RuleConsistency:
    """1 where the reasoning supports the answer, else 0; a reply that cannot be read earns 0.

    MagicMirror (appendix A.4) asks another language model; the drawn world's sentences each name one label, so a rule can tell.
    Range: 0 or 1. Columns: none.

    Example:
        >>> RuleConsistency()(["fine"], truth=["…"])
        [0.0]
    """

    __name__: ClassVar[str] = "consistency"

    def __call__(self, completions: Sequence[Any], **_: Any) -> list[float | None]:
        """Return one number per completion; a completion is a text or a list of messages."""
        texts = (each if isinstance(each, str) else each[-1]["content"] for each in completions)
        return [float(supports(text)) for text in texts]
