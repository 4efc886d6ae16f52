"""Sampled completions of a policy: readable or not, which verdict, what each earned."""

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from salon_taxonomy.answers import Parsed, parse_magicmirror, parse_r3
from salon_train.run.early_abort import SampledBatch


@dataclass(frozen=True, slots=True)
class ParsedCompletion:
    """The result of parsing one completion.

    Attributes:
        readable: it follows the grammar.
        verdict: a word to count it by (``normal``, ``artifact``; ``matches``, ``differs``); None when it is not readable.
    """

    readable: bool
    verdict: str | None = None


@dataclass(frozen=True, slots=True)
class SampledCompletion:
    """One completion of the policy.

    Attributes:
        example_id: of the example that was asked about.
        bucket: that the example was drawn from.
        group: which group of its batch it belongs to, from 0.
        text: of the completion.
        tokens: of the completion.
        reading: by the grammar.
        rewards: by name; None: the reward abstained for the whole group.
        total: weighted sum; None when every reward abstained.
        truth: JSON text of what is right (a refiner's: ``true`` where the picture matches); None where the data do not say.
        terms: what rewards add up from, as ``NAME/TERM``; None: the term abstained.
    """

    example_id: str
    bucket: str
    group: int
    text: str
    tokens: int
    reading: ParsedCompletion
    rewards: Mapping[str, float | None]
    total: float | None
    truth: str | None = None
    terms: Mapping[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SampledCompletions:
    """The completions of one generation batch, over all devices.

    Attributes:
        step: optimizer steps done before it.
        completions: group by group.
        abstained: completions that a reward gave no number for, before their groups followed, by reward.
        weights: of rewards in the sum, and of terms in their reward, by name.
    """

    step: int
    completions: tuple[SampledCompletion, ...]
    abstained: Mapping[str, int]
    weights: Mapping[str, float] = field(default_factory=dict)

    def metrics(self) -> dict[str, float]:
        """Return the numbers for the log: unreadable answers, verdicts, lengths, groups without variance, abstentions."""
        count = len(self.completions)
        numbers = {"answers/invalid": sum(not each.reading.readable for each in self.completions) / count}
        lengths: dict[str, list[int]] = defaultdict(list)
        for completion in self.completions:
            lengths[completion.reading.verdict or "invalid"].append(completion.tokens)
        for verdict, tokens in lengths.items():
            if verdict != "invalid":
                numbers[f"answers/{verdict}"] = len(tokens) / count
            numbers[f"answers/length_{verdict}"] = sum(tokens) / len(tokens)
        equal: dict[str, list[bool]] = defaultdict(list)
        for group in self.groups():
            totals = {each.total for each in group if each.total is not None}
            equal[group[0].bucket].append(len(totals) < 2)
        numbers |= {f"groups/zero_variance/{bucket}": sum(flags) / len(flags) for bucket, flags in sorted(equal.items())}
        return numbers | {f"rewards/{name}/abstained": times / count for name, times in self.abstained.items()}

    def groups(self) -> list[list[SampledCompletion]]:
        """Group the completions by prompt."""
        groups: dict[int, list[SampledCompletion]] = defaultdict(list)
        for completion in self.completions:
            groups[completion.group].append(completion)
        return list(groups.values())

    def batch(self) -> SampledBatch:
        """Return what the degeneration monitor needs."""
        groups = [[math.nan if each.total is None else each.total for each in group] for group in self.groups()]
        return SampledBatch(groups, sum(each.reading.readable for each in self.completions))


def read_assessment(text: str) -> ParsedCompletion:
    r"""Parse a completion in MagicMirror's grammar.

    Example:
        >>> read_assessment(r'\boxed{{"Whether Normal": true}}'), read_assessment("fine")
        (ParsedCompletion(readable=True, verdict='normal'), ParsedCompletion(readable=False, verdict=None))
    """
    outcome = parse_magicmirror(text)
    if not isinstance(outcome, Parsed):
        return ParsedCompletion(False)
    return ParsedCompletion(True, "normal" if outcome.answer.normal else "artifact")


def read_refinement(text: str) -> ParsedCompletion:
    """Parse a completion in R³-Refiner's grammar.

    Example:
        >>> read_refinement('{"answer": true}'), read_refinement("fine")
        (ParsedCompletion(readable=True, verdict='matches'), ParsedCompletion(readable=False, verdict=None))
    """
    outcome = parse_r3(text)
    if not isinstance(outcome, Parsed):
        return ParsedCompletion(False)
    return ParsedCompletion(True, "matches" if outcome.answer.matches else "differs")
