"""A suite's scores as a reward: ``make_reward("suite:prism", judge=…, source=…)``, by the name of any suite.

The entry point ``suite`` of the group ``salon.reward_sources``. What is examined follows from the suite (``RewardSpec``):

    a picture           prism, magicbench, magic-bench-377, …     a judge looks at the picture of the row
    the one who answers artifact-bench, magicdata, r3-reflect     the completion is the reply to the suite's question
    an answer, judged   r3-explanations                           a judge compares the completion with the annotation

Questions, parsers and rows are those of a run. What a judge fails to say leaves no reward, and then the whole group has none;
a completion that the suite cannot read earns 0.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Final

from salon_bench.suites.contract.registry import file_of, suite_named
from salon_bench.suites.contract.soft_answers import check_tokens
from salon_bench.suites.contract.suite import Case, Inquiry, RewardSpec, RunContext, Suite, SuitePrompt
from salon_judges.asking.asker import Asker, AskPolicy, Memory, parse_reply
from salon_judges.asking.inquiry import drive, drive_async
from salon_judges.formats.generations import Generated
from salon_judges.media import PicturePolicy, PreparedPicture, prepare_bytes
from salon_judges.media.video_container import container_of
from salon_judges.media.video_policy import DEFAULT_VIDEO_LIMITS
from salon_judges.media.video_sampling import prepare_video_bytes
from salon_rewards.batch import Batch
from salon_rewards.callables.prism import asked_for
from salon_rewards.callables.reward import AskingReward
from salon_rewards.group_mask import Abstention, Paid
from salon_rewards.judge_batching import check_judge, check_limits
from salon_rewards.pictures import picture
from salon_taxonomy.answers import Unparsed
from salon_taxonomy.digest import digest
from salon_taxonomy.enums import MediaRole
from salon_taxonomy.errors import InputError, member_of
from salon_taxonomy.media_files import read_inside
from salon_taxonomy.protocols import Judge, Media
from salon_taxonomy.records import Prompt, Record, Score
from salon_taxonomy.verdict import Reason, Scored, Unscored, Verdict


@dataclass(frozen=True)
class SuiteReward(AskingReward):
    """Reward a picture or completion by the mean of a suite's scores, from 0 to 1.

    Columns: ``prompt_id`` (the suite's prompt that the picture was made for, or its question) and for pictures ``images``, of a
    suite of videos files or their bytes; then the completions themselves are not looked at. Range: 0 to 1.

    Attributes:
        suite: whose questions are asked.
        judge: answers them; None for suites whose questions the policy answers.
        source: the suite's file of prompts, where it needs one.
        dimensions: rows that count; empty: all that the suite says are worth something.
        scale: lowest and highest score, which become 0 and 1; None: as the suite says.
        image: the column with the pictures: paths, bytes, PIL images.
        prompt_id: the column with the prompts' ids.
        prompt: the column with prompts of the moment, texts or chats, which need not be the suite's; None reads ``prompt_id``.
        facts: what the suite knows about such a prompt, the same for all: ``{"track": "style"}``.
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
        >>> reward = suite_reward("prism", {"judge": judge, "source": path})
        >>> asyncio.run(reward([""], images=[Image.new("RGB", (8, 8))], prompt_id=["imagination-0"]))
        [0.75]

    Raises:
        InputError: for a suite that no single completion can be paid by, without a judge that is needed, for a scale, a limit
            or an unknown abstention, or when the suite's prompts cannot be read.
    """

    suite: Suite
    judge: Judge | None = field(default=None, repr=False)
    source: Path | None = None
    dimensions: tuple[str, ...] = ()
    scale: tuple[float, float] | None = None
    image: str = "images"
    prompt_id: str = "prompt_id"
    prompt: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict, hash=False)
    concurrency: int = 8
    timeout_s: float | None = 120.0
    abstention: Abstention = Abstention.GROUP
    group_size: int | None = None
    __name__: ClassVar[str] = "suite"

    def __post_init__(self) -> None:
        reward: RewardSpec = self.suite.reward
        if reward.why_not is not None:
            raise InputError(f"the suite pays for no completion, as {reward.why_not}", value=f"suite:{self.suite.name}")
        if self.judge is None and not reward.answers:
            name = f"suite:{self.suite.name}"
            raise InputError("cannot be made without a judge", value=name, hint=f'make_reward("{name}", judge=…)')
        if self.judge is not None:
            check_judge(self.judge)
            check_tokens(self.suite, self.judge)
        if self.scale is not None and not float("-inf") < self.scale[0] < self.scale[1] < float("inf"):
            raise InputError("needs two finite numbers, the lower first", column="scale", value=self.scale)
        check_limits(concurrency=self.concurrency, timeout_s=self.timeout_s)
        if self.prompt is None:
            prompts = {item.prompt.prompt_id: item for item in _prompts(self.suite, self.source)}
        else:
            prompts = {}
            self._check_facts(reward)
        object.__setattr__(self, "abstention", member_of(Abstention, self.abstention, "abstention", column="abstention"))
        object.__setattr__(self, "_prompts", prompts)
        object.__setattr__(self, "_worth", reward)
        object.__setattr__(self, "__name__", f"suite:{self.suite.name}")
        picture_columns = () if reward.answers or reward.take is not None else (self.image,)
        object.__setattr__(self, "columns", (*picture_columns, self.prompt_id if self.prompt is None else self.prompt))

    @property
    def versions(self) -> tuple[str, ...]:
        """The versions of the suite, of its prompts and of the judge."""
        prompts: Mapping[str, SuitePrompt] = self.__dict__["_prompts"]
        told = digest("prompts of a reward", {name: [item.prompt.text, dict(item.facts)] for name, item in prompts.items()})
        return (self.suite.version, told, *super().versions)

    async def verdicts(self, batch: Batch) -> list[Paid]:
        """Return what the suite says of each picture or completion."""
        reward: RewardSpec = self.__dict__["_worth"]
        ids = batch.column(self.prompt_id if self.prompt is None else self.prompt)
        if reward.answers or reward.take is not None:
            cases = [self._case(ids[row], text, row) for row, text in enumerate(batch.texts)]
        else:
            images = batch.column(self.image)
            media = [picture(images[row], row=row + 1, column=self.image) for row in range(len(batch))]
            cases = [self._case(ids[row], image, row) for row, image in enumerate(media)]
        policy = AskPolicy(self.judge, 0, tolerant=True, timeout_s=self.timeout_s)
        asker, slots = Asker(policy), asyncio.Semaphore(self.concurrency)

        async def examined(case: Case, text: str) -> Paid:
            if reward.answers:
                return await self._answered(case, text)
            with_text = case if reward.take is None else reward.take(case, text)
            if with_text is None:
                return 0.0
            async with slots:
                return self._value(await self._examine(asker, with_text))

        return list(await asyncio.gather(*(examined(case, text) for case, text in zip(cases, batch.texts, strict=True))))

    async def _answered(self, case: Case, text: str) -> Paid:
        """Return what a completion is worth that answers the suite's questions itself."""
        unread: list[Unparsed] = []

        async def answer(inquiry: Inquiry[Any]) -> Verdict[Any]:
            outcome = await parse_reply(inquiry.parse, text)
            if isinstance(outcome, Unparsed):
                unread.append(outcome)
                return outcome.unscored(text)
            return Scored(outcome.answer)

        records = await drive_async(self.suite.examine(case), answer)
        return 0.0 if unread else self._value(records)

    def _check_facts(self, reward: RewardSpec) -> None:
        """Refuse prompts of the moment where the suite needs more than their texts."""
        name = f"suite:{self.suite.name}"
        if reward.answers or reward.take is not None:
            raise InputError("prompts of the moment are for suites of pictures, not", column="prompt", value=name)
        case = Case(
            "reward",
            self.suite.name,
            "policy",
            self._item("a prompt").prompt,
            facts=self.facts,
            media=(Media.from_bytes(b""),),
            generation_ids=("reward",),
            context=RunContext("reward", "policy", "policy"),
        )
        try:
            drive(self.suite.examine(case), lambda _: Unscored(Reason.ABSTAINED))
        except InputError as error:
            problem = f"prompts of the moment do not fit the suite ({error.problem})"
            hint = f"Leave out prompt: {self.prompt_id} names prompts of the suite, with all that belongs to them."
            raise InputError(problem, column="prompt", value=error.column or error.value, hint=hint) from error
        except LookupError as error:
            hint = f'make_reward("{name}", judge=…, prompt="{self.prompt}", facts={{{error.args[0]!r}: …}})'
            problem = "a prompt of the suite needs a fact that is missing:"
            raise InputError(problem, column="facts", value=error.args[0], hint=hint) from error
        except ValueError as error:
            raise InputError(f"the facts do not fit the suite ({error})", column="facts", value=dict(self.facts)) from error

    def _item(self, text: str) -> SuitePrompt:
        """Return the prompt of the moment with this text."""
        prompt_id = digest("prompt", {"suite": self.suite.name, "text": text})
        return SuitePrompt(Prompt(prompt_id=prompt_id, suite=self.suite.name, text=text), self.facts)

    def _case(self, named: Any, media: Media | str, row: int) -> Case:
        """Return the case of one row: a picture, or a completion that there is no picture of."""
        prompts: Mapping[str, SuitePrompt] = self.__dict__["_prompts"]
        item = prompts.get(str(named)) if self.prompt is None else self._item(asked_for(named))
        if item is None:
            problem = f"the suite {self.suite.name} has no prompt"
            raise InputError(problem, row=row + 1, column=self.prompt_id, value=str(named))
        prompt_id = item.prompt.prompt_id
        prepared = None if isinstance(media, str) else _prepared(media, self.suite.pictures)
        prepared_files = [] if prepared is None else [_prepared(_medium(file), self.suite.pictures) for file in item.media]
        unusable = next((each for each in (prepared, *prepared_files) if isinstance(each, Unscored)), None)
        content = media if isinstance(media, str) else media.sha256
        generation = digest("generation", {"prompt": prompt_id, "sha256": content})
        context = ("policy", "policy") if self.judge is None else (self.judge.name, self.judge.version)
        return Case(
            case_id=generation,
            suite=self.suite.name,
            subject_model="policy",
            prompt=item.prompt,
            facts=item.facts,
            media=(replace(prepared.media, role=MediaRole.RESULT),)
            if unusable is None and isinstance(prepared, PreparedPicture)
            else (),
            generation_ids=(generation,),
            given=item.media,
            given_media=tuple(
                replace(each.media, role=file.role)
                for file, each in zip(item.media, prepared_files, strict=False)
                if isinstance(each, PreparedPicture)
            ),
            problem=unusable,
            context=RunContext("reward", *context),
        )

    async def _examine(self, asker: Asker, case: Case) -> Sequence[Record]:
        replies = Memory()

        async def answer(inquiry: Inquiry[Any]) -> Verdict[Any]:
            return case.problem or (await asker.answer(inquiry, replies)).verdict

        return await drive_async(self.suite.examine(case), answer)

    def _value(self, records: Sequence[Record]) -> Paid:
        reward: RewardSpec = self.__dict__["_worth"]
        rows = [row for row in records if isinstance(row, Score) and (not self.dimensions or row.dimension in self.dimensions)]
        values: list[float] = []
        for row in rows:
            if row.value is None:
                return Unscored(Reason(row.unscored_reason or "abstained"), f"no {row.dimension}")
            value = reward.of(row)
            if value is None:
                continue
            if self.scale is not None:
                low, high = self.scale
                value = (row.value - low) / (high - low)
            elif not 0 <= value <= 1:
                problem = f"the score {row.dimension!r} of {self.suite.name} lies outside of 0 to 1: {row.value:g};"
                hint = "Say what is lowest and highest: scale=(1, 5)."
                raise InputError(problem, column="scale", value=self.scale, hint=hint)
            values.append(value)
        if not values:
            return Unscored(Reason.NOT_REPORTED, "the suite gave no row of scores that counts")
        return sum(values) / len(values)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the suite's name or file, because compiled templates do not pickle."""
        return suite_reward, (str(file_of(self.suite) or self.suite.name), {name: getattr(self, name) for name in _KNOWN})


_KNOWN: Final = tuple(each.name for each in fields(SuiteReward) if each.name != "suite")


def suite_reward(name: str, parameters: Mapping[str, Any]) -> SuiteReward:
    """Return the reward of a suite, by the suite's name; what ``make_reward("suite:…")`` calls.

    Raises:
        InputError: for an unknown suite or parameter, or as :class:`SuiteReward`.
    """
    unknown = sorted(parameters.keys() - set(_KNOWN))
    if unknown:
        raise InputError(f"unknown parameter of suite:{name}", value=unknown[0], allowed=_KNOWN)
    settled = dict(parameters)
    for key, kind in (("source", Path), ("dimensions", tuple), ("scale", tuple)):
        if settled.get(key) is not None:
            settled[key] = kind(settled[key])
    return SuiteReward(suite_named(name), **settled)


def _prompts(suite: Suite, source: Path | None) -> Sequence[SuitePrompt]:
    """Return the suite's prompts; without a file where one is needed, the message says how to give it here."""
    try:
        return suite.prompts(source)
    except InputError as error:
        if source is not None:
            raise
        hint = f'make_reward("suite:{suite.name}", source=…)' + (f"\n{error.hint}" if error.hint else "")
        raise InputError(error.problem, value=f"suite:{suite.name}", hint=hint) from error


def _medium(file: Generated) -> Media | Unscored:
    """Return a file that comes with a prompt, in memory."""
    data = read_inside(file.path, file.root, DEFAULT_VIDEO_LIMITS.most_bytes) if file.data is None else file.data
    return data if isinstance(data, Unscored) else Media.from_bytes(data)


def _prepared(media: Media | Unscored, policy: PicturePolicy) -> PreparedPicture | Unscored:
    """Return a picture, or of a suite of videos a video, ready for the judge."""
    if isinstance(media, Unscored):
        return media
    path, data = Path(str(media.uri)), media.data
    content = read_inside(path, path.parent, DEFAULT_VIDEO_LIMITS.most_bytes) if data is None else data
    if isinstance(content, Unscored):
        return content
    if policy.video is not None and (not policy.mixed or container_of(content) is not None):
        return prepare_video_bytes(content, policy.video)
    return prepare_bytes(content, policy)
