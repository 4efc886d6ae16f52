"""Compare the two pictures or videos of each pair of a file, in both orders or by their scores.

    a pair ─┬─ pairs        "a left", "a right": the two orders ──► scores "a is better" 1, ½, 0; of a tie "both good" 1, 0
            └─ pair-scores  "a", "b": a score for each          ──► scores "score", higher is better
                                                                └─► battles, where the pair names two models

Rows of ``scores`` have the pair's id as ``prompt_id`` and the step as ``task``. A battle is a tie where the two orders
contradict each other. What people answered is not read here: no judge can see it, and the same pairs are the same run when
people have changed their minds.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from salon_bench.suites.contract.base import SuiteBase, given
from salon_bench.suites.contract.prompt_files import LONGEST_ID, LONGEST_PROMPT, NO_WORDS
from salon_bench.suites.contract.suite import (
    Case,
    Examination,
    Inquiry,
    RewardSpec,
    SuitePrompt,
    Summary,
    whole_cases,
)
from salon_bench.suites.magic_bench_377.battles_suite import POINTS, final_of, winner_of
from salon_bench.suites.magic_bench_377.questions import OrderRule, asked
from salon_bench.suites.magic_bench_377.suite import rater
from salon_bench.suites.scorer.suite import ask_for_score
from salon_judges.asking.templates import Templates
from salon_judges.clients.scorer import ScoreAnswer
from salon_judges.formats.generation_tables import located
from salon_judges.formats.generations import Generated, Generations
from salon_judges.media import PicturePolicy, VideoPolicy
from salon_taxonomy.answers import SideVerdict, parse_pair_verdict
from salon_taxonomy.digest import digest
from salon_taxonomy.enums import MediaRole
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Media, Question
from salon_taxonomy.records import Battle, MediaKind, Mode, Prompt, Record, Side, Winner
from salon_taxonomy.verdict import Scored, Unscored, Verdict

if TYPE_CHECKING:
    import polars as pl

BETTER: Final = "a is better"
"""The dimension of a verdict: 1 picture a, ½ a tie, 0 picture b."""
GOOD: Final = "both good"
"""The dimension that says which kind of tie it is: 1 both good, 0 both bad."""
VERDICT: Final = "verdict"
"""The key of a reply's verdict."""
SCORE: Final = "score"
"""The dimension of a picture's score, in the scorer's unit; of a scorer whose lower values are better, with the other sign."""
ORDERS: Final = ("a left", "a right")
"""The steps of ``pairs``: where picture a was shown."""
SIDES: Final = ("a", "b")
"""The steps of ``pair-scores``."""
_PICTURES: Final = ("picture_a", "picture_b", "source")
_RULES: Final = 1  # raised by hand when parsers or rows change their meaning
_TEMPLATES: Final = Templates(Path(__file__).with_name("prompts"))


class _Pairs(SuiteBase):
    """What both suites share: pairs and pictures of one file, and a case for each pair."""

    pictures = PicturePolicy(video=VideoPolicy(frames_per_second=2.0), mixed=True)
    picture_names = ("a", "b", "before")

    def prompts(self, source: Path | None) -> Sequence[SuitePrompt]:
        """Read the pairs of a file (:func:`salon_ranking.agreement.read_pairs`).

        Raises:
            InputError: no file is given, or it is wrong: the row and column are named.
        """
        from salon_ranking.agreement import read_pairs  # heavy: polars

        hint = "Give a table with battle_id, prompt, picture_a, picture_b, and if wanted source, model_a, model_b."
        file = given(source, "the suite needs a file of pairs", hint)
        columns = ["battle_id", "prompt_id", "prompt", "model_a", "model_b", *_PICTURES]
        pairs = read_pairs(file).select(columns).with_row_index("row", 1).unique(columns, keep="first", maintain_order=True)
        prompts = [self._prompt(row, file) for row in pairs.iter_rows(named=True)]
        ids = [item.prompt.prompt_id for item in prompts]
        twice = next((name for name, count in Counter(ids).items() if count > 1), None)
        if twice is not None:
            raise InputError("two pairs have one id:", source=file, column="battle_id", value=twice)
        return sorted(prompts, key=lambda item: item.prompt.prompt_id)

    def _prompt(self, row: dict[str, Any], source: Path) -> SuitePrompt:
        text = (row["prompt"] or "").strip() or NO_WORDS
        for column, value, most in (("battle_id", row["battle_id"], LONGEST_ID), ("prompt", text, LONGEST_PROMPT)):
            if not value:
                raise InputError("is empty", source=source, row=row["row"], column=column)
            if len(value) > most:
                raise InputError(f"has more than {most} characters:", source=source, row=row["row"], column=column, value=value)
        for name in _PICTURES:
            if row[name]:
                located(row[name], source, row["row"], name)  # what is wrong is named by its row
        pictures = [row[name] for name in _PICTURES if row[name] or name != "source"]
        facts = {name: row[name] for name in ("prompt_id", "model_a", "model_b")}
        return SuitePrompt(Prompt(prompt_id=row["battle_id"], suite=self.name, text=text), {"pictures": pictures, **facts})

    def generations(self, source: Path, model: str, prompts: Sequence[SuitePrompt]) -> Generations:
        """Return the pictures that the pairs name: samples 0 and 1 of a pair, and 2 its source.

        Args:
            source: the file of pairs; its folder holds the pictures.
            model: the name of the whole set.
            prompts: the pairs.

        Raises:
            InputError: a picture is an address, absolute, or leads out of the folder.
        """
        return Generations(self._files(source, model, prompts))

    def _files(self, source: Path, model: str, prompts: Sequence[SuitePrompt]) -> Iterator[Generated]:
        for item in prompts:
            for number, name in enumerate(cast("list[str | None]", item.facts["pictures"])):
                if name:
                    path, root = located(name, source, 0, _PICTURES[number])
                    role = MediaRole.SOURCE if _PICTURES[number] == MediaRole.SOURCE else MediaRole.RESULT
                    yield Generated(item.prompt.prompt_id, model, number, path, root, role=role)

    def cases(self, prompts: Sequence[SuitePrompt], generations: Generations) -> Iterable[Case]:
        """Return a case for every pair; one without its pictures has a ``problem``."""

        def pictures(item: SuitePrompt) -> int:
            return len(cast("list[str | None]", item.facts["pictures"]))

        return whole_cases(self.name, prompts, generations, pictures, "a picture of the pair is missing")

    def _battle(self, case: Case, verdict: Verdict[Winner]) -> Iterator[Battle]:
        """Yield the battle of a pair with a verdict that names two models."""
        a, b, prompt = (case.facts.get(name) for name in ("model_a", "model_b", "prompt_id"))
        if not isinstance(verdict, Scored) or not a or not b or a == b:
            return
        name = rater(case.context)
        yield Battle(
            battle_id=digest("battle", {"rater": name, "suite": case.suite, "pair": case.case_id}),
            suite=case.suite,
            prompt_id=str(prompt or case.prompt.prompt_id),
            model_a=str(a),
            model_b=str(b),
            winner=verdict.value,
            rater_id=name,
            mode=Mode.JUDGE,
        )


class JudgedPairs(_Pairs):
    """The suite ``pairs``: a judge sees every pair in both orders."""

    name = "pairs"
    version = digest("pairs", {"templates": _TEMPLATES.version, "rules": _RULES, "rate": 2.0})
    steps = ORDERS
    reward = RewardSpec(why_not="it compares two pictures of a file")

    def examine(self, case: Case) -> Examination:
        """Ask for both orders."""
        rows: list[Record] = []
        winners = []
        for step in ORDERS:
            a_left = step == ORDERS[0]
            verdict: Verdict[SideVerdict] = yield Inquiry(step, _question(case, a_left=a_left), parse_pair_verdict)
            winner = winner_of(verdict, Side.LEFT if a_left else Side.RIGHT)
            winners.append(winner)
            rows.append(case.score(step, BETTER, Scored(POINTS[winner.value]) if isinstance(winner, Scored) else winner))
            if isinstance(verdict, Scored) and verdict.value in (SideVerdict.BOTH_GOOD, SideVerdict.BOTH_BAD):
                rows.append(case.score(step, GOOD, Scored(float(verdict.value is SideVerdict.BOTH_GOOD))))
        return [*rows, *self._battle(case, final_of(winners[0], winners[1], OrderRule.TIE))]

    def aggregate(self, scores: "pl.DataFrame", assessments: "pl.DataFrame") -> Summary:
        """Return the share of picture a in each order; near each other where the order does not matter."""
        from salon_bench.suites.contract.tables import mean_lines, reasons_sentence, summary_of

        own = scores.filter(dimension=BETTER)
        notes = ["A tie counts ½. Against people: salon bench audit."]
        return summary_of(mean_lines(own), [*notes, *reasons_sentence(own, "Without a verdict")])


class ScoredPairs(_Pairs):
    """The suite ``pair-scores``: a scorer gives each picture a number; the higher one is better."""

    name = "pair-scores"
    version = digest("pair-scores", {"rules": _RULES, "rate": 2.0})
    steps = SIDES
    reward = RewardSpec(why_not="the suite scorer pays single pictures")

    def examine(self, case: Case) -> Examination:
        """Ask for the score of each picture."""
        media = case.media[:2] if len(case.media) > 1 else (case.image, case.image)
        rows: list[Record] = []
        scores = []
        for step, image in zip(SIDES, media, strict=True):
            asked_for = ask_for_score(image, case.prompt.text)
            verdict: Verdict[ScoreAnswer] = yield Inquiry(step, asked_for.question, asked_for.parse)
            answer = verdict.value if isinstance(verdict, Scored) else ScoreAnswer(verdict)
            scores.append(answer.verdict)
            rows.append(case.score(step, SCORE, answer.verdict))
        return [*rows, *self._battle(case, _higher(scores[0], scores[1]))]


def _higher(a: Verdict[float], b: Verdict[float]) -> Verdict[Winner]:
    for score in (a, b):
        if isinstance(score, Unscored):
            return score
    if isinstance(a, Scored) and isinstance(b, Scored) and a.value != b.value:
        return Scored(Winner.MODEL_A if a.value > b.value else Winner.MODEL_B)
    return Scored(Winner.TIE)


def _question(case: Case, *, a_left: bool) -> Question:
    a, b = case.media[:2] if len(case.media) > 1 else (case.image, case.image)
    left, right = (a, b) if a_left else (b, a)
    before: list[str | Media] = ["Before:", case.media[2]] if len(case.media) > 2 else []
    video = left.kind == MediaKind.VIDEO
    text = _TEMPLATES.render("pair", prompt=case.prompt.text, source=bool(before), video=video)
    return asked((*before, "Left:", left, "Right:", right, text), VERDICT, {"enum": [str(each) for each in SideVerdict]})
