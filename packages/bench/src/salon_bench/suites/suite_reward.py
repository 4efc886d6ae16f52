"""A suite's scores as a reward for a generator in training: ``make_reward("suite:prism", judge=…, source=…)``.

Installed as the entry point ``suite`` of the group ``salon.reward_sources``. A picture is examined as in a run of
the suite, by the same questions and parsers; what the judge fails to say leaves no reward, and then the whole group has none.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, Final

from salon_bench.judges.routing import judge_for
from salon_bench.media import PicturePolicy, Prepared, prepare_bytes
from salon_bench.suites.registry import suite_named
from salon_bench.suites.suite import Case, Inquiry, Judging, Suite, SuitePrompt
from salon_rewards.abstaining import Abstention, Paid, abstention_of
from salon_rewards.asking import check_limits, in_time
from salon_rewards.batch import Batch
from salon_rewards.callables.reward import AskingReward
from salon_rewards.pictures import picture
from salon_taxonomy.answers import Unparsed
from salon_taxonomy.digest import digest
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Judge, Media
from salon_taxonomy.records import Record, Score
from salon_taxonomy.verdict import Reason, Scored, Unscored, Verdict


@dataclass(frozen=True)
class SuiteReward(AskingReward):
    """What a suite scores one picture, brought to 0 … 1: the mean of its rows of scores.

    Columns: ``prompt_id`` (the suite's prompt that the picture was made for) and ``images``. The completions themselves are not
    looked at. Range: 0 to 1, as long as the suite's scores lie on ``scale``.

    Attributes:
        suite: whose questions are asked.
        judge: whoever answers them.
        source: the suite's file of prompts, where it needs one.
        dimensions: rows that count; empty: all.
        scale: the suite's lowest and highest score, which become 0 and 1: (0, 10) for ``prism``.
        image: the column with the pictures: paths, bytes, PIL images.
        prompt_id: the column with the prompts' ids.
        concurrency: how many pictures are examined side by side.
        timeout_s: how long one question may take, in seconds.
        abstention: who abstains when a verdict is missing.
        group_size: how many pictures each group has; None: told by the columns.

    Example:
        >>> import tempfile
        >>> from PIL import Image
        >>> from salon_taxonomy.testing import ReplayJudge
        >>> path = Path(tempfile.mkdtemp()) / "prompts.csv"
        >>> _ = path.write_text("prompt,track\\nA melting clock.,imagination\\n")
        >>> judge = ReplayJudge([f'{{"justification": "Seen.", "score": {score}}}' for score in (8, 7)])
        >>> reward = suite_reward("prism", {"judge": judge, "source": path, "scale": (0, 10)})
        >>> asyncio.run(reward([""], images=[Image.new("RGB", (8, 8))], prompt_id=["imagination-0"]))
        [0.75]

    Raises:
        InputError: for a scale, a limit or an abstention that is none, a suite of videos, or when the suite's
            prompts cannot be read.
    """

    suite: Suite
    judge: Judge = field(repr=False)
    source: Path | None = None
    dimensions: tuple[str, ...] = ()
    scale: tuple[float, float] = (0.0, 1.0)
    image: str = "images"
    prompt_id: str = "prompt_id"
    concurrency: int = 8
    timeout_s: float | None = 120.0
    abstention: Abstention = Abstention.GROUP
    group_size: int | None = None
    __name__: ClassVar[str] = "suite"

    def __post_init__(self) -> None:
        low, high = self.scale
        if not float("-inf") < low < high < float("inf"):
            raise InputError("needs two finite numbers, the lower first", column="scale", value=self.scale)
        check_limits(concurrency=self.concurrency, timeout_s=self.timeout_s)
        if self.suite.pictures.video is not None:
            raise InputError("a suite of videos cannot reward pictures", value=self.suite.name)
        prompts = {item.prompt.prompt_id: item for item in self.suite.prompts(self.source)}
        object.__setattr__(self, "abstention", abstention_of(self.abstention))
        object.__setattr__(self, "_prompts", prompts)
        object.__setattr__(self, "__name__", f"suite:{self.suite.name}")

    async def verdicts(self, batch: Batch) -> list[Paid]:
        """What the suite says of each picture."""
        ids, images = batch.column(self.prompt_id), batch.column(self.image)
        cases = [
            self._case(str(ids[row]), picture(images[row], row=row + 1, column=self.image), row) for row in range(len(batch))
        ]
        door = asyncio.Semaphore(self.concurrency)

        async def examined(case: Case) -> Paid:
            async with door:
                return self._value(await self._examine(case))

        return list(await asyncio.gather(*(examined(case) for case in cases)))

    def _case(self, prompt_id: str, image: Media, row: int) -> Case:
        prompts: Mapping[str, SuitePrompt] = self.__dict__["_prompts"]
        item = prompts.get(prompt_id)
        if item is None:
            problem = f"the suite {self.suite.name} has no prompt"
            raise InputError(problem, row=row + 1, column=self.prompt_id, value=prompt_id)
        prepared = _prepared(image, self.suite.pictures)
        generation = digest("generation", {"prompt": prompt_id, "sha256": image.sha256})
        return Case(
            case_id=generation,
            suite=self.suite.name,
            subject_model="policy",
            prompt=item.prompt,
            facts=item.facts,
            media=(prepared.media,) if isinstance(prepared, Prepared) else (),
            generation_ids=(generation,),
            problem=prepared if isinstance(prepared, Unscored) else None,
            judging=Judging("reward", self.judge.name, self.judge.version),
        )

    async def _examine(self, case: Case) -> Sequence[Record]:
        examination = self.suite.examine(case)
        try:
            inquiry = next(examination)
            while True:
                inquiry = examination.send(case.problem or await self._ask(inquiry))
        except StopIteration as end:
            return tuple(end.value or ())
        finally:
            examination.close()

    async def _ask(self, inquiry: Inquiry[Any]) -> Verdict[Any]:
        reply = await in_time(judge_for(self.judge, inquiry.step).ask(inquiry.question), self.timeout_s, "answer")
        if isinstance(reply, Unscored):
            return reply
        problem = reply.problem()
        if problem is not None:
            return problem
        outcome = inquiry.parse(reply.text)
        return outcome.unscored(reply.text) if isinstance(outcome, Unparsed) else Scored(outcome.answer)

    def _value(self, records: Sequence[Record]) -> Paid:
        rows = [row for row in records if isinstance(row, Score) and (not self.dimensions or row.dimension in self.dimensions)]
        lost = next((row for row in rows if row.value is None), None)
        if lost is not None:
            return Unscored(Reason(lost.unscored_reason or "abstained"), f"no {lost.dimension}")
        values = [row.value for row in rows if row.value is not None]
        if not values:
            return Unscored(Reason.NOT_REPORTED, "the suite gave no row of scores that counts")
        low, high = self.scale
        return (sum(values) / len(values) - low) / (high - low)

    def __reduce__(self) -> tuple[Any, ...]:
        """By the suite's name, as its compiled templates do not pickle."""
        return suite_reward, (self.suite.name, {name: getattr(self, name) for name in _KNOWN})


_KNOWN: Final = tuple(each.name for each in fields(SuiteReward) if each.name != "suite")


def suite_reward(name: str, parameters: Mapping[str, Any]) -> SuiteReward:
    """The reward of a suite, by the suite's name; what ``make_reward("suite:…")`` calls.

    Raises:
        InputError: for an unknown suite or parameter, or without a judge.
    """
    unknown = sorted(parameters.keys() - set(_KNOWN))
    if unknown:
        raise InputError(f"unknown parameter of suite:{name}", value=unknown[0], allowed=_KNOWN)
    if parameters.get("judge") is None:
        raise InputError("cannot be made without a judge", value=f"suite:{name}", hint=f'make_reward("suite:{name}", judge=…)')
    settled = dict(parameters)
    for key, kind in (("source", Path), ("dimensions", tuple), ("scale", tuple)):
        if settled.get(key) is not None:
            settled[key] = kind(settled[key])
    return SuiteReward(suite_named(name), **settled)


def _prepared(image: Media, policy: PicturePolicy) -> Prepared | Unscored:
    try:
        data = image.data if image.data is not None else Path(str(image.uri)).read_bytes()
    except OSError as error:
        return Unscored(Reason.BAD_MEDIA, f"cannot be read ({error.strerror})")
    return prepare_bytes(data, policy)
