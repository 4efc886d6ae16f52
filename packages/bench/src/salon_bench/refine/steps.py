"""The steps of a refinement: asks judge, editor and scorer, and keeps every reply in one run."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from salon_bench.refine.items import RefineItem
from salon_bench.refine.turns import SUITE, Turns
from salon_bench.runs.edit_runner import EditRunner, EditTask
from salon_bench.runs.pictures import with_pictures
from salon_bench.runs.session import RunSession
from salon_bench.runs.suite_runner import CaseRunner
from salon_bench.suites.contract.suite import Case, RunContext
from salon_judges.asking.asker import AskPolicy
from salon_judges.clients.scorer import ScoreAnswer, ScorerJudge
from salon_judges.formats.generations import Generated
from salon_judges.media import PictureCache, PicturePolicy
from salon_taxonomy.answers import R3Answer
from salon_taxonomy.digest import Digestible, digest
from salon_taxonomy.protocols import Editor, Judge
from salon_taxonomy.records import Prompt
from salon_taxonomy.verdict import Reason, Scored, Unscored, Verdict

_PIXELS: Final = 1088 * 1088
_CACHE_BYTES: Final = 32 << 20


@dataclass(frozen=True, slots=True)
class RefineModels:
    """Who takes part.

    Attributes:
        editor: changes pictures.
        judge: says what to change; None for methods without a judge.
        scorer: answers yes/no questions about pictures, or is a :class:`~salon_judges.clients.scorer.ScorerJudge`, which scores
            them; None: nothing is scored or checked.
        re_asks: how often a reply that cannot be read is asked for again.
    """

    editor: Editor
    judge: Judge | None = None
    scorer: Judge | None = None
    re_asks: int = 1


class ModelSteps:
    """Steps for the methods of ``loop.py``; may be at work on many items at once.

    When a limit of the run was reached, whatever would need another call raises ``StopAskingError``.

    Args:
        models: editor, judge and scorer.
        run_id: under which rows are written.
        subject: what tables call the method with its models.
        folder: where pictures are kept, a folder for each item.
        session: the run.
        seed: of the first edit of an item; the next has the next number.
        concurrency: edits in flight.
    """

    def __init__(
        self,
        models: RefineModels,
        run_id: str,
        subject: str,
        folder: Path,
        session: RunSession,
        *,
        seed: int = 0,
        concurrency: int = 4,
    ) -> None:
        self._models = models
        self._subject = subject
        self._folder = folder
        self._session = session
        self._seed = seed
        self._run_id = run_id
        editing = RunContext(run_id, models.editor.name, models.editor.version)
        self._edit_runner = EditRunner(models.editor, editing, session, concurrency=concurrency)
        self._judge = self._case_runner(models.judge)
        self._scorer = self._case_runner(models.scorer)
        self._questions: dict[str, Verdict[tuple[tuple[str, ...], tuple[bool, ...]]]] = {}
        self._cache = PictureCache(_CACHE_BYTES)
        self.failed: set[str] = set()

    @property
    def scores_pictures(self) -> bool:
        """Whether the scorer is a function of picture and prompt, which needs no questions."""
        return isinstance(self._models.scorer, ScorerJudge)

    async def reflect(self, item: RefineItem, picture: Path, number: int) -> Verdict[R3Answer]:
        """Ask the judge about a picture."""
        return await self._ask(self._judge, item, "reflect", f"round {number}", picture, number, {})

    async def change(self, item: RefineItem, picture: Path, instruction: str, number: int) -> Verdict[Path]:
        """Have a picture changed."""
        folder = self._folder / item.item_id
        task = EditTask(
            prompt=_prompt(item),
            source=picture,
            instruction=instruction,
            target=folder / f"round-{number}",
            root=self._folder,
            step=f"edit-{number}",
            model=self._subject,
            sample=number,
            seed=self._seed + number - 1,
        )
        edited = await self._edit_runner.make(task)
        if edited.lost:
            self.failed.add(item.item_id)
        return edited.verdict

    async def rate(self, item: RefineItem, picture: Path, number: int) -> Verdict[float]:
        """Ask the scorer the item's questions, which it first finds itself where the item has none, or for its score."""
        return await self.check(item, picture, f"candidate {number}", number)

    async def check(self, item: RefineItem, picture: Path, task: str, number: int) -> Verdict[float]:
        """Return the same under another name: ``first`` and ``final``."""
        if self.scores_pictures:
            verdict: Verdict[ScoreAnswer] = await self._ask(self._scorer, item, "score", task, picture, number, {})
            return verdict.value.verdict if isinstance(verdict, Scored) else verdict
        asked = await self._asked(item)
        if isinstance(asked, Unscored):
            return asked
        questions, answers = asked.value
        facts: dict[str, Digestible] = {"questions": list(questions), "answers": list(answers)}
        replies: Verdict[tuple[bool, ...]] = await self._ask(self._scorer, item, "check", task, picture, number, facts)
        if isinstance(replies, Unscored):
            return replies
        return Scored(sum(one == other for one, other in zip(replies.value, answers, strict=True)) / len(answers))

    async def _asked(self, item: RefineItem) -> Verdict[tuple[tuple[str, ...], tuple[bool, ...]]]:
        if item.questions:
            return Scored((item.questions, item.answers))
        if item.item_id not in self._questions:
            questions: Verdict[tuple[str, ...]] = await self._ask(self._scorer, item, "decompose", "prompt", None, 0, {})
            yes = Scored((questions.value, (True,) * len(questions.value))) if isinstance(questions, Scored) else questions
            self._questions[item.item_id] = yes
        return self._questions[item.item_id]

    async def _ask(
        self,
        case_runner: CaseRunner | None,
        item: RefineItem,
        ask: str,
        task: str,
        picture: Path | None,
        number: int,
        facts: Mapping[str, Digestible],
    ) -> Verdict[Any]:
        """Return one question about one picture; its rows are written down, and a failed call is remembered as such."""
        if case_runner is None:
            return Unscored(Reason.ABSTAINED, "no model was given for this question")
        case_id = digest("case", {"item": item.item_id, "subject": self._subject, "ask": ask, "task": task})
        pictures_shown = (
            () if picture is None else (Generated(item.item_id, self._model(number), number, picture, self._folder),)
        )
        whole = {"ask": ask, "task": task, **facts}
        case = Case(case_id, SUITE, self._subject, _prompt(item), pictures=pictures_shown, facts=whole)
        case, generations = await asyncio.to_thread(with_pictures, case, PicturePolicy(most_pixels=_PIXELS), self._cache)
        result = await case_runner.run(case)
        if result.lost:
            self.failed.add(item.item_id)
        else:
            self._session.checkpoint.record([*generations, *result.records])
        return result.verdicts[0]

    def _model(self, number: int) -> str:
        return self._subject if number else "given"

    def _case_runner(self, judge: Judge | None) -> CaseRunner | None:
        if judge is None:
            return None
        policy = AskPolicy(judge, self._models.re_asks)
        version = digest("judging", {"judge": judge.version, "suite": Turns.version, "asking": policy.rule}, length=16)
        return CaseRunner(Turns(), policy, RunContext(self._run_id, judge.name, version), self._session)


def _prompt(item: RefineItem) -> Prompt:
    return Prompt(prompt_id=item.item_id, suite=SUITE, text=item.prompt)
