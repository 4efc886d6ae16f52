"""Magic-Bench-377, pair by pair: which of two models' pictures for a prompt is better?

    two pictures ─┬─ "first":  model a on one side ──► left, right, both good, both bad ─┐
                  └─ "second": the sides exchanged ──► left, right, both good, both bad ─┴─► a battle ──► salon votes rank

MEF, section 5.1 and appendix E. People see a pair once, on random sides; a model judge may prefer a side, so
it sees each pair both ways. What two showings that contradict each other come to is a rule with a name.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from salon_bench.suites.contract.suite import Case, Examination, Inquiry, RewardSpec, SuitePrompt, Summary
from salon_bench.suites.magic_bench_377.pairing import Pair, planned_pairs
from salon_bench.suites.magic_bench_377.questions import SHOWINGS, WIN, OrderRule
from salon_bench.suites.magic_bench_377.suite import PromptFileSuite, rater
from salon_judges.formats.generations import Generated
from salon_judges.formats.magic_bench_377_prompts import SUITE
from salon_taxonomy.answers import SideVerdict, parse_pair_verdict
from salon_taxonomy.digest import digest
from salon_taxonomy.errors import InputError, member_of
from salon_taxonomy.protocols import Media
from salon_taxonomy.records import Battle, Mode, Record, Score, Side, Winner
from salon_taxonomy.verdict import Reason, Scored, Unscored, Verdict

if TYPE_CHECKING:
    import polars as pl

    from salon_judges.formats.generations import Generations


_RULES_VERSION = 1  # raised by hand when parsers or rows change their meaning
_LONGEST_OPPONENT = 360
_NO_PICTURE = Media.from_bytes(b"")
_TIES = (Winner.BOTH_GOOD, Winner.BOTH_BAD, Winner.TIE)
POINTS = {Winner.MODEL_A: 1.0, Winner.MODEL_B: 0.0, **dict.fromkeys(_TIES, 0.5)}


def combined(first: Winner, second: Winner, rule: OrderRule) -> Verdict[Winner]:
    """Return the outcome of a battle from those of its two showings.

    Two ties of different kinds are a tie by every rule: both say that no picture won.

    Example:
        >>> [combined(Winner.MODEL_A, second, OrderRule.TIE).value.value for second in (Winner.MODEL_A, Winner.MODEL_B)]
        ['model_a', 'tie']
        >>> combined(Winner.MODEL_A, Winner.BOTH_GOOD, OrderRule.UNSCORED).reason
        <Reason.ABSTAINED: 'abstained'>
    """
    if first == second:
        return Scored(first)
    if rule is OrderRule.UNSCORED and not (first in _TIES and second in _TIES):
        return Unscored(Reason.ABSTAINED, "the judge's two showings contradict each other")
    return Scored(Winner.TIE)


class MagicBench377Battles(PromptFileSuite):
    """Battles by a judge: ``magic-bench-377-battles``, ``…-battles-strict`` and ``…-battles-each``, each also with ``-zh``.

    Args:
        rule: what contradicting showings come to.
        language: as for :class:`~.suite.PromptFileSuite`.

    Raises:
        InputError: for another rule or language.
    """

    steps = SHOWINGS
    """The steps that :meth:`examine` asks; they should have the same judge."""
    reward = RewardSpec(why_not="it compares the pictures of two models; 'suite:magic-bench-377' marks one")

    def __init__(self, rule: OrderRule | str = OrderRule.TIE, language: str | None = None) -> None:
        super().__init__(language)
        self.rule = member_of(OrderRule, rule, "rule for two orders")

    @property
    def name(self) -> str:
        """``magic-bench-377-battles``, with ``-strict`` or ``-each`` for the other rules, and ``-zh`` for Chinese prompts."""
        ending = {OrderRule.TIE: "", OrderRule.UNSCORED: "-strict", OrderRule.EACH: "-each"}
        return f"{SUITE}-battles{ending[self.rule]}" + ("-zh" if self.language == "zh" else "")

    @cached_property
    def version(self) -> str:
        """A digest of the template, the rule and the parser."""
        return digest(
            self.name, {"template": self.questions.templates.texts["battle"], "rule": self.rule, "rules": _RULES_VERSION}
        )

    def cases(self, prompts: Sequence[SuitePrompt], generations: "Generations") -> Iterable[Case]:
        """Return one case for every two pictures that meet (:func:`~.pairing.planned_pairs`).

        Raises:
            InputError: for fewer than two models, or when the file lists no battle between them.
        """
        if len(generations.models) < 2:
            hint = "Give --model and --generations once for each model."
            raise InputError("a comparison needs two models or more, not", value=list(generations.models), hint=hint)
        if not any(True for item in prompts for _ in planned_pairs(item, generations)):
            raise InputError("the prompts list no battle between the models", column="battles", value=list(generations.models))
        return self._cases(prompts, generations)

    def _cases(self, prompts: Sequence[SuitePrompt], generations: "Generations") -> Iterator[Case]:
        for item in prompts:
            for pair in planned_pairs(item, generations):
                pictures = _pictures(item.prompt.prompt_id, pair, generations)
                name = {"suite": self.name, "prompt": item.prompt.prompt_id, **pair._asdict()}
                yield Case(
                    case_id=digest("case", name),
                    suite=self.name,
                    subject_model=pair.model_a,
                    prompt=item.prompt,
                    pictures=() if pictures is None else pictures,
                    facts=pair._asdict(),
                    problem=None if pictures else Unscored(Reason.BAD_MEDIA, "there are no two pictures to compare"),
                )

    def examine(self, case: Case) -> Examination:
        """Show the two pictures both ways; which comes first is drawn from the case's name, the same on every machine."""
        media = case.media if len(case.media) == 2 else (_NO_PICTURE, _NO_PICTURE)
        outcomes: list[Verdict[SideVerdict]] = []
        sides = _sides(case)
        for step, side in zip(SHOWINGS, sides, strict=True):
            left, right = media if side is Side.LEFT else reversed(media)
            question = self.questions.battle(left, right, prompt=case.prompt.text)
            outcome: Verdict[SideVerdict] = yield Inquiry(step, question, parse_pair_verdict)
            outcomes.append(outcome)
        winners = [winner_of(outcome, side) for outcome, side in zip(outcomes, sides, strict=True)]
        final = final_of(winners[0], winners[1], self.rule)
        return [*self._scores(case, outcomes, winners, final), *self._battles(case, sides, winners, final)]

    def aggregate(self, scores: "pl.DataFrame", assessments: "pl.DataFrame") -> Summary:
        """Return win rates, and how far the judge's verdicts depend on the side (see :func:`~.scoring.summarize_battles`)."""
        from salon_bench.suites.magic_bench_377.scoring import summarize_battles

        return summarize_battles(scores, self.rule)

    def _scores(
        self, case: Case, verdicts: Sequence[Verdict[SideVerdict]], winners: Sequence[Verdict[Winner]], final: Verdict[Winner]
    ) -> Iterator[Score]:
        """Yield three rows for each of the two models; what a showing brought the left picture stands with both."""
        won = _mean(winners) if self.rule is OrderRule.EACH else _points_of(final)
        for me, other in (("a", "b"), ("b", "a")):
            mine: Verdict[float] = Scored(1.0 - won.value) if isinstance(won, Scored) and me == "b" else won
            values = [(WIN, mine), *zip(SHOWINGS, map(_left, verdicts), strict=True)]
            opponent = str(case.facts[f"model_{other}"])[:_LONGEST_OPPONENT]
            task = f"against {opponent} #{case.facts[f'sample_{other}']}"
            side = "ab".index(me)
            generation = case.generation_ids[side] if len(case.generation_ids) == 2 else None
            for dimension, verdict in values:
                row = case.score(task, dimension, verdict)
                yield row.model_copy(
                    update={"subject_model": str(case.facts[f"model_{me}"]), "generation_id": generation or _stand_in(case, me)}
                )

    def _battles(
        self, case: Case, sides: Sequence[Side], winners: Sequence[Verdict[Winner]], final: Verdict[Winner]
    ) -> Iterator[Record]:
        if self.rule is not OrderRule.EACH:
            if isinstance(final, Scored):
                yield _battle(case, final.value)
            return
        for step, side, winner in zip(SHOWINGS, sides, winners, strict=True):
            if isinstance(winner, Scored):
                yield _battle(case, winner.value, step, side)


def _pictures(prompt_id: str, pair: Pair, generations: "Generations") -> tuple[Generated, ...] | None:
    """Return the two files; None when one is missing."""
    wanted = ((pair.model_a, pair.sample_a), (pair.model_b, pair.sample_b))
    files = [file for model, sample in wanted for file in generations.of(prompt_id, model) if file.sample == sample]
    return tuple(files) if len(files) == len(wanted) else None


def _sides(case: Case) -> tuple[Side, Side]:
    """Return the side of model a's picture in the first and in the second showing."""
    left_first = int(digest("side", case.case_id, length=8), 16) % 2 == 0
    return (Side.LEFT, Side.RIGHT) if left_first else (Side.RIGHT, Side.LEFT)


def winner_of(verdict: Verdict[SideVerdict], side: Side) -> Verdict[Winner]:
    """Return the winner of a showing in which model a's picture is on ``side``."""
    if isinstance(verdict, Unscored):
        return verdict
    if verdict.value in (SideVerdict.BOTH_GOOD, SideVerdict.BOTH_BAD):
        return Scored(Winner.BOTH_GOOD if verdict.value is SideVerdict.BOTH_GOOD else Winner.BOTH_BAD)
    return Scored(Winner.MODEL_A if verdict.value == str(side) else Winner.MODEL_B)


def final_of(first: Verdict[Winner], second: Verdict[Winner], rule: OrderRule) -> Verdict[Winner]:
    """Return the outcome of a battle; without both showings it has no verdict."""
    if isinstance(first, Unscored):
        return first
    return second if isinstance(second, Unscored) else combined(first.value, second.value, rule)


def _points_of(winner: Verdict[Winner]) -> Verdict[float]:
    """Return the points that an outcome gives to model a."""
    return Scored(POINTS[winner.value]) if isinstance(winner, Scored) else winner


def _mean(winners: Sequence[Verdict[Winner]]) -> Verdict[float]:
    """Return the mean of the points that two showings give to model a; a reason when one of them is missing."""
    points = [_points_of(winner) for winner in winners]
    for verdict in points:
        if isinstance(verdict, Unscored):
            return verdict
    return Scored(sum(each.value for each in points if isinstance(each, Scored)) / len(points))


def _left(verdict: Verdict[SideVerdict]) -> Verdict[float]:
    """Return the points that a showing gave to the picture on the left."""
    points: Mapping[SideVerdict, float] = {SideVerdict.LEFT: 1.0, SideVerdict.RIGHT: 0.0}
    return Scored(points.get(verdict.value, 0.5)) if isinstance(verdict, Scored) else verdict


def _stand_in(case: Case, me: str) -> str | None:
    """Tells the battles of two samples apart where no picture could be opened; None for the first sample."""
    number = case.facts[f"sample_{me}"]
    return f"{case.prompt.prompt_id[:180]}#{number}" if number else None


def _battle(case: Case, winner: Winner, showing: str | None = None, side: Side | None = None) -> Battle:
    """Return a row of ``battles``, or of one ``showing``. The same rater and pictures have the same key in every run."""
    name = rater(case.context)
    generations = case.generation_ids if len(case.generation_ids) == 2 else (None, None)
    key = {"rater": name, "suite": case.suite, "showing": showing, "pictures": [each or case.case_id for each in generations]}
    return Battle(
        battle_id=digest("battle", key),
        suite=case.suite,
        prompt_id=case.prompt.prompt_id,
        model_a=str(case.facts["model_a"]),
        model_b=str(case.facts["model_b"]),
        winner=winner,
        rater_id=name,
        mode=Mode.JUDGE,
        scenario=case.prompt.scenario,
        labels=case.prompt.labels,
        generation_a=generations[0],
        generation_b=generations[1],
        side_a_shown=side,
        weight=1.0 if showing is None else 0.5,
    )
