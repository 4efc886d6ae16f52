"""Battles: two files, four answers (MEF, section 5.1.1); with anchors, qualification tests and audits among them.

| kind | shown to | counts on boards |
| --- | --- | --- |
| ``battle`` | everybody | yes |
| ``anchor`` | everybody, 5% of tasks: a pair whose winner is known | no; tests raters |
| ``qualification`` | experts, before their first battle and again when the certificate ends | no |
| ``audit`` | auditors: a quarter of the experts' battles, judged again | no; tests experts |
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from pydantic import JsonValue
from sqlalchemy import Connection

from salon_arena import quality
from salon_arena.board import LiveBoard
from salon_arena.draws import PlanDraws
from salon_arena.errors import RefusedError
from salon_arena.material import KnownPair, Material
from salon_arena.planner import Planned, Planner
from salon_arena.tasks import Draft, Payload, Rater, prompt_payload, seen_among, unseen
from salon_judges.formats.generations import Generated
from salon_taxonomy.records import Mode, Side

CHOICES: Final = ("left", "right", "both_good", "both_bad")
ANCHOR_SHARE: Final = 0.05
"""MEF, sections 3 and 5.1.2."""
_TRIED: Final = 64


@dataclass(frozen=True)
class BattleRules:
    """What tests the raters of an arena.

    Attributes:
        anchors: pairs whose winner is known; one in twenty tasks is one of them.
        qualification: pairs that experts must judge as the panel did, before they vote; empty: no test.
        anchors_first: a public rater's votes count on the board after so many answered anchors.
        certified_days: after so many days an expert is tested again.
        suspended_days: how long an expert who failed a test or an audit gets no tasks.
    """

    anchors: Sequence[KnownPair] = ()
    qualification: Sequence[KnownPair] = ()
    anchors_first: int = 1
    certified_days: float = 180.0
    suspended_days: float = 7.0


@dataclass
class BattleTask:
    """Deals battles. Its methods run on the writer thread.

    Args:
        material: what is compared.
        board: the counts that the planner works from.
        mode: ``public`` or ``expert``.
        rules: see :class:`BattleRules`.
        pairs: the only pairs to deal; empty: all, as the scheduler plans.
    """

    material: Material
    board: LiveBoard
    mode: str = Mode.PUBLIC.value
    rules: BattleRules = field(default_factory=BattleRules)
    pairs: Sequence[tuple[Generated, Generated]] = ()
    page: str = "battle.html.jinja"
    work: str = "battles"

    def begin(self, draws: PlanDraws) -> None:
        """Begin the plan."""
        self._planner = Planner(self.material, self.board.counts, draws, self.pairs)
        self._draws = draws

    def standing(self, connection: Connection, rater: Rater, now: int) -> dict[str, Any]:
        """``qualifying`` with the number of pairs left, for an expert who has yet to pass; else ``work``."""
        if not self._must_qualify(connection, rater, now):
            return {"state": "work"}
        left = len(self.rules.qualification) - quality.tested(connection, rater.rater_id)
        return {"state": "qualifying", "left": left}

    def draw(self, connection: Connection, rater: Rater, missing: int, now: int) -> list[Draft]:
        """Battles and, one in twenty, anchors; for auditors what experts judged; tests for an expert who has yet to pass."""
        random = self._draws.new()
        if rater.role == "auditor":
            return quality.audits(connection, rater.rater_id, missing, self._draws, self.rules.suspended_days, now)
        if self._must_qualify(connection, rater, now):
            return self._tests(connection, rater, missing, random)
        anchors: dict[int, Draft] = {}
        used: set[str] = set()
        for position in range(missing):
            anchor = self._anchor(connection, rater, used, random) if random.random() < ANCHOR_SHARE else None
            if anchor is not None:
                anchors[position] = anchor
                used.add(anchor.subject)
        battles = self._planner.draw(connection, rater.rater_id, missing - len(anchors), used, now)
        dealt = [Draft("battle", planned.pair, self._payload(planned)) for planned in battles]
        for position, anchor in anchors.items():
            dealt.insert(position, anchor)
        return dealt

    def shown(self, payload: Payload) -> dict[str, Any]:
        """Return whether pictures or videos are compared."""
        return {"media_kind": self.material.kind}

    def check(self, payload: Payload, choice: JsonValue) -> str:
        """Return one of the four answers."""
        if not isinstance(choice, str) or choice not in CHOICES:
            raise RefusedError(422, "bad_answer")
        return choice

    def _must_qualify(self, connection: Connection, rater: Rater, now: int) -> bool:
        if self.mode != Mode.EXPERT.value or rater.role != "rater" or not self.rules.qualification:
            return False
        return not quality.certified(connection, rater.rater_id, now, self.rules.certified_days)

    def _anchor(self, connection: Connection, rater: Rater, used: set[str], random: Random) -> Draft | None:
        """Return a random anchor that the rater has not had; tried among at most 64."""
        if not self.rules.anchors:
            return None
        some = random.sample(self.rules.anchors, min(_TRIED, len(self.rules.anchors)))
        seen = seen_among(connection, rater.rater_id, [known.pair for known in some]) | used
        known = next((known for known in some if known.pair not in seen), None)
        return None if known is None else self._known("anchor", known, known.pair, random)

    def _tests(self, connection: Connection, rater: Rater, missing: int, random: Random) -> list[Draft]:
        """Return the pairs of the test that this round has not had, in the order of the file."""
        number = quality.rounds(connection, rater.rater_id) + 1
        subjects = {f"qualification\x1f{number}\x1f{known.pair}": known for known in self.rules.qualification}
        left = unseen(connection, rater.rater_id, list(subjects.items()), lambda pair: pair[0], missing)
        test = {"pairs_of_test": len(subjects), "suspended_days": self.rules.suspended_days}
        return [self._known("qualification", known, subject, random, **test) for subject, known in left]

    def _known(self, kind: str, known: KnownPair, subject: str, random: Random, **more: Any) -> Draft:
        planned = Planned(known.a, known.b, random.choice(list(Side)))
        return Draft(kind, subject, self._payload(planned, expected=known.winner.value, **more))

    def _payload(self, planned: Planned, **more: Any) -> dict[str, Any]:
        prompt_id = planned.a.prompt_id
        beside = [] if prompt_id not in self.material.beside else [self.material.beside[prompt_id]]
        return {
            **prompt_payload(self.material.prompts[prompt_id], (*planned.shown, *beside)),
            "model_a": planned.a.model,
            "model_b": planned.b.model,
            "side_a_shown": planned.model_a_shown.value,
            "plan_rule": planned.rule,
            "plan_stream": planned.stream,
            **more,
        }
