"""Does the answer of a completion follow its grammar: is it JSON, with the keys and kinds of values that were asked for?"""

from dataclasses import dataclass
from typing import ClassVar

from salon_rewards.abstaining import Paid
from salon_rewards.batch import GRAMMARS, Batch
from salon_rewards.callables.reward import RuleReward
from salon_taxonomy.answers import Parsed
from salon_taxonomy.errors import InputError


@dataclass(frozen=True)
class JsonReward(RuleReward):
    """1 when the completion's answer is the JSON that was asked for, else 0; whether there is reasoning does not matter.

    Source: paper 002, Table 11 (JSON format, weight 0.2) and its template, Figure 17. Range: 0 or 1.

    Attributes:
        grammar: ``r3``, ``magicmirror`` or ``prism``.

    Raises:
        InputError: for another grammar.

    Example:
        >>> JsonReward()(['{"answer": true, "explanation": "", "edit_prompt": ""}', '{"answer": "maybe"}', "It matches."])
        [1.0, 0.0, 0.0]
    """

    grammar: str = "r3"
    __name__: ClassVar[str] = "json"

    def __post_init__(self) -> None:
        if self.grammar not in GRAMMARS:
            raise InputError("unknown grammar", column="grammar", value=self.grammar, allowed=GRAMMARS)

    def score(self, batch: Batch) -> list[Paid]:
        """1.0 or 0.0 for each completion."""
        return [1.0 if isinstance(said, Parsed) else 0.0 for said in batch.said(self.grammar)]
