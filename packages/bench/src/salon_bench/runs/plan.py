"""The plan of a run: everything that can change a row, and its id.

The same plan has the same ``run_id`` on every machine, so a command that is given twice means one run. Whatever could
change a row is part of the name: suite and judge with their versions, subjects and their files, prompts, seed, limit.
"""

import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Self

from salon_bench.runs.picture_digests import PictureDigests
from salon_bench.runs.session import run_row
from salon_bench.suites.contract.dry_run import dry_run
from salon_bench.suites.contract.registry import file_of
from salon_bench.suites.contract.soft_answers import check_tokens
from salon_bench.suites.contract.suite import Case, RunContext, Suite, SuitePrompt
from salon_console.numbers import counted
from salon_console.table_rows import UsableRows, table_rows
from salon_judges.asking.asker import AskPolicy
from salon_judges.clients.routing import ELSE, RoutedJudge
from salon_judges.clients.scorer import ScorerJudge
from salon_judges.formats.generations import GIVEN, MANIFEST, Generations
from salon_judges.formats.suite_prompt import turns_of
from salon_taxonomy.digest import Digestible, digest
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Judge
from salon_taxonomy.records import Run

_UNSAFE = re.compile(r"[^a-z0-9._-]+")
_LONGEST_NAME = 30
_HEX = 8
SHARDS: Final = "shards"
"""Behind their number, a word of the id of a run that is made of shards."""


@dataclass(frozen=True, slots=True)
class SubjectModel:
    """A model under test, and the folder or table of its pictures."""

    name: str
    generations: Path


@dataclass(frozen=True, slots=True)
class RunPlan:
    """A run before it is started. Made by :func:`planned`; kept as JSON in ``runs.settings``.

    Attributes:
        suite: the suite's name.
        suite_version: of its prompts, parsers and rules.
        subjects: the models under test.
        judge: the judge's name.
        judge_settings: its settings as JSON values; never a secret.
        judge_version: of judge, suite and asking together, as rows bear it.
        judge_alone: the judge's own version.
        prompts: the user's copy of the prompts; None takes the suite's own.
        seed: of the draw that a limit makes, and of the decoding seeds of further draws.
        limit: how many prompts; None takes all.
        draw: which of several independent draws of the judge's replies this is, from 0.
        shard: which of how many shares of the prompts, from 1; None takes all of them.
        all_prompts: digest of the prompts of all shards: those with one digest make one run; empty without shards.
        re_asks: how often a reply that cannot be read is asked for again.
        extractor_settings: of the model that restates such replies; None does without.
        extractor_alone: that model's own version.
        inputs: a digest of the prompts, and of the names and contents of the files.
        left_out: sentences about the rows of the prompt file that cannot be used, and about files that were made of other
            prompts or sources than the suite's, or changed since; empty for none.
        suite_file: the file that defines the suite; None for an installed one.
    """

    suite: str
    suite_version: str
    subjects: tuple[SubjectModel, ...]
    judge: str
    judge_settings: Mapping[str, Any]
    judge_version: str
    judge_alone: str
    prompts: Path | None = None
    seed: int = 0
    limit: int | None = None
    draw: int = 0
    re_asks: int = 1
    extractor_settings: Mapping[str, Any] | None = None
    extractor_alone: str | None = None
    inputs: str = ""
    left_out: tuple[str, ...] = ()
    shard: tuple[int, int] | None = None
    all_prompts: str = ""
    suite_file: str | None = None

    @property
    def run_id(self) -> str:
        """``<suite>-<subject>-<judge>-<8 hex digits>``; the digits are of everything that could change a row."""
        share = [f"{self.shard[0]}of{self.shard[1]}"] if self.shard else []
        return self._id(self.inputs, list(self.shard or ()), share)

    @property
    def whole_id(self) -> str | None:
        """The id of the run that all shards of one suite make together; None for a run without shards."""
        if self.shard is None:
            return None
        return self._id(self.all_prompts, [self.shard[1]], [f"{self.shard[1]}{SHARDS}"])

    def _id(self, inputs: str, shard: list[int], words: list[str]) -> str:
        whole: dict[str, Digestible] = {
            "suite": [self.suite, self.suite_version],
            "subjects": [subject.name for subject in self.subjects],
            "judge": [self.judge, self.judge_version],
            "inputs": inputs,
            "seed": self.seed if self.limit is not None else None,
            "limit": self.limit,
        }
        if self.draw:
            whole["draw"] = [self.draw, self.seed]
        if shard:
            whole["shard"] = shard
        names = [self.suite, "+".join(_slug(subject.name) for subject in self.subjects)[:_LONGEST_NAME], self.judge]
        return "-".join([*map(_slug, names[:1]), names[1], _slug(names[2]), *words, digest("run", whole, length=_HEX)])

    @property
    def decoding_seed(self) -> int | None:
        """The seed of every question of this draw; None for the first draw, whose questions keep their own."""
        return int(digest("draw", [self.seed, self.draw], length=7), 16) if self.draw else None

    @property
    def context(self) -> RunContext:
        """The run id and judge that its rows are written under."""
        return RunContext(self.run_id, self.judge, self.judge_version)

    def row(self, run_id: str | None = None) -> Run:
        """Return the row of this run, or of another run with this plan, as it starts now."""
        return run_row(
            run_id or self.run_id,
            self.suite,
            subject=self.subjects[0].name if len(self.subjects) == 1 else None,
            judge=(self.judge, self.judge_version),
            seed=self.seed,
            settings=self.settings(),
        )

    def settings(self) -> str:
        """JSON text, keys in order."""
        content = {name: getattr(self, name) for name in self.__slots__ if name not in ("subjects", "prompts")}
        content["subjects"] = [[subject.name, str(subject.generations)] for subject in self.subjects]
        content["prompts"] = None if self.prompts is None else str(self.prompts)
        if self.shard:
            content["whole_id"] = self.whole_id  # by which the status of runs finds shards that belong together
        return json.dumps(content, sort_keys=True, ensure_ascii=False)

    @classmethod
    def from_settings(cls, run_id: str, text: str | None) -> Self:
        """Return the plan of a run of the store.

        Raises:
            InputError: for a run that no suite made (an import), or settings of another version.
        """
        try:
            content = json.loads(text or "")
            content.pop("whole_id", None)
            content["subjects"] = tuple(SubjectModel(name, Path(path)) for name, path in content["subjects"])
            content["prompts"] = None if content["prompts"] is None else Path(content["prompts"])
            content["left_out"] = tuple(content.get("left_out", ()))
            content["shard"] = tuple(content["shard"]) if content.get("shard") else None
            return cls(**content)
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                "this run was not made by `salon bench run`, so it cannot be started again", value=run_id
            ) from error


@dataclass(frozen=True, slots=True)
class LoadedPlan:
    """A plan with its loaded suite, prompts and pictures."""

    plan: RunPlan
    suite: Suite
    prompts: Sequence[SuitePrompt]
    generations: Generations
    digests: PictureDigests = field(default_factory=PictureDigests)


def planned(
    suite: Suite,
    subjects: Sequence[SubjectModel],
    judge: Judge,
    *,
    judge_settings: Mapping[str, Any] | None = None,
    prompts: Path | None = None,
    seed: int = 0,
    limit: int | None = None,
    draw: int = 0,
    shard: tuple[int, int] | None = None,
    re_asks: int = 1,
    extractor: Judge | None = None,
    extractor_settings: Mapping[str, Any] | None = None,
    digests: PictureDigests | None = None,
) -> LoadedPlan:
    """Read the prompts and the bytes of the pictures, and name the run.

    Args:
        suite: what is asked.
        subjects: whose pictures, and where they lie.
        judge: the judge.
        judge_settings: what a later start needs to open the judge again; without them it must be given.
        prompts: the user's copy of the prompts; None takes the suite's own.
        seed: of the draw that a limit makes, and of the decoding seeds of further draws.
        limit: how many prompts; None takes all.
        draw: which of several independent draws of the judge's replies; the first, 0, is the run without draws.
        shard: which of how many shares of the prompts, from 1: every prompt is in one of them; None takes all.
        re_asks: how often a reply that cannot be read is asked for again.
        extractor: a model that restates replies which still cannot be read.
        extractor_settings: of that model.
        digests: of pictures, with those that the store kept; None reads every picture.

    Raises:
        InputError: for no subject or one twice, a limit below 1, a draw below 0, a shard that is not 1/N to N/N or has no
            prompt, a further draw of a judge whose replies
            are not drawn (temperature 0) or whose seed is fixed, whatever is wrong with the files, and subjects that the suite
            refuses at once (a comparison of one).
    """
    names = [subject.name for subject in subjects]
    if not names or len(set(names)) < len(names):
        raise InputError("a run needs subjects with different names, not", value=names)
    if limit is not None and limit < 1:
        raise InputError("a limit counts prompts, from 1, not", value=limit)
    if draw < 0:
        raise InputError("draws are counted from 0, not", value=draw)
    if draw:
        _check_drawing(judge_settings or {})
    _check_routes(suite, judge)
    check_tokens(suite, judge)
    usable = suite.prompts(prompts)
    kept = whole = drawn(usable, limit, seed)
    if shard is not None:
        part, count = shard
        if not 1 <= part <= count or not kept[part - 1 :: count]:
            raise InputError("a shard is 1/N to N/N, with N at most the number of prompts, not", value=f"{part}/{count}")
        kept = kept[part - 1 :: count]
    ids = [item.prompt.prompt_id for item in kept]
    tables = [suite.generations(subject.generations, subject.name, whole) for subject in subjects]
    files = [file for one in tables for name in one.models for prompt_id in ids for file in one.of(prompt_id, name)]
    digests = digests or PictureDigests()
    sums = digests.of([file.path for file in files])
    changed = [one.path for one, sha256 in zip(files, sums, strict=True) if one.sha256 and sha256 and one.sha256 != sha256]
    files = [replace(file, sha256=sha256) for file, sha256 in zip(files, sums, strict=True)]
    generations = Generations(files, left_out=[path for one in tables for path in one.left_out])
    cases = suite.cases(kept, generations)  # a suite that cannot judge these subjects says so before anything is written
    _check_scorers(suite, next(iter(cases), None), judge)
    file = file_of(suite)
    plan = RunPlan(
        suite=suite.name,
        suite_file=None if file is None else str(file),
        suite_version=suite.version,
        subjects=tuple(SubjectModel(subject.name, subject.generations.absolute()) for subject in subjects),
        judge=judge.name,
        judge_settings=dict(judge_settings or {}),
        judge_version=version_of(suite, judge.version, AskPolicy(judge, re_asks, extractor)),
        judge_alone=judge.version,
        prompts=None if prompts is None else prompts.absolute(),
        seed=seed,
        limit=limit,
        draw=draw,
        shard=shard,
        re_asks=re_asks,
        extractor_settings=extractor_settings,
        extractor_alone=None if extractor is None else extractor.version,
        inputs=digest("inputs", {"prompts": [_facts(item) for item in kept], "files": _listing(generations, ids)}),
        left_out=(
            *(usable.remarks() if isinstance(usable, UsableRows) else ()),
            *(words for subject in subjects for words in _made_of_others(subject, kept)),
            *(
                [f"{counted(len(changed), 'file')} changed since the table was written, such as {changed[0].name}."]
                if changed
                else []
            ),
        ),
        all_prompts="" if shard is None else digest("prompts", [_facts(item) for item in whole]),
    )
    return LoadedPlan(plan, suite, kept, generations, digests)


def _made_of_others(subject: SubjectModel, prompts: Sequence[SuitePrompt]) -> Iterator[str]:
    """Yield sentences about files that were made from another text or source than the prompt has now.

    Numbers of lines are ids, so a line that was put into a file of prompts since moves all prompts behind it.
    """
    manifest = subject.generations / MANIFEST
    if not manifest.is_file():
        return
    items = {item.prompt.prompt_id: item for item in prompts}
    others: dict[str, list[str]] = {}
    for row in table_rows(manifest):
        item, turn = items.get(str(row.cells.get("prompt_id"))), row.cells.get("turn") or 1
        if item is None or not isinstance(turn, int):
            continue
        texts = turns_of(item.facts) or [item.prompt.text]
        digests = {role: [file.sha256 for file in item.media if file.role == role] for role in GIVEN}
        now: dict[str, object] = {"prompt": texts[turn - 1]} if turn <= len(texts) else {}
        now |= {f"{role}_sha256": sums for role, sums in digests.items() if turn == 1 and sums and None not in sums}
        for name, value in now.items():
            if row.cells.get(name) not in (None, value):
                others.setdefault(name.removesuffix("_sha256").replace("_", " "), []).append(item.prompt.prompt_id)
    for name, ids in others.items():
        files = "1 file was" if len(ids) == 1 else f"{len(ids):,} files were"
        yield f"{subject.name}: {files} made of another {name} than the suite has now, such as that of the prompt {ids[0]!r}."


def _check_routes(suite: Suite, judge: Judge) -> None:
    """Refuse routes that do not fit the steps which the suite declares (``steps``), before a judge is paid."""
    routes, steps = getattr(judge, "routes", None), suite.steps
    if not routes or not steps:
        return
    for step in sorted(set(routes) - {ELSE}):
        if step not in steps:
            raise InputError("the suite has no step", source="--judge", value=step, allowed=steps)
    for step in steps:
        if step not in routes and ELSE not in routes:
            hint = f"Add --judge {step}=SPEC, or --judge SPEC for all other steps."
            raise InputError("no judge was named for a step of the suite:", source="--judge", value=str(step), hint=hint)


def _check_scorers(suite: Suite, case: Case | None, judge: Judge) -> None:
    """Refuse a scorer for a question that is no `answer = "score"`, before any run of the command is begun."""
    routes = judge.routes if isinstance(judge, RoutedJudge) else {ELSE: judge}
    if case is None or not any(isinstance(each, ScorerJudge) for each in routes.values()):
        return
    for inquiry in dry_run(suite, case, ()).inquiries:
        step = inquiry.step.partition(".")[0]
        answering = routes.get(inquiry.step) or routes.get(step) or routes.get(ELSE)
        if isinstance(answering, ScorerJudge) and inquiry.question.prompt is None:
            problem = f"the scorer {answering.name} gives scores, and cannot answer the question"
            hint = f"Name a judge for it: --judge {step}=SPEC, beside --judge STEP=scorer:SPEC for the questions of scores."
            raise InputError(problem, source="--judge", value=str(step), hint=hint)


def _check_drawing(settings: Mapping[str, Any]) -> None:
    """Refuse further draws of judges, also within others, whose replies would all be the first one."""
    for within in (settings.get("judge"), *(settings.get("routes") or {}).values()):
        if isinstance(within, Mapping):
            _check_drawing(within)
    decoding = settings.get("decoding")
    if not isinstance(decoding, Mapping):
        return
    if not decoding.get("temperature"):
        hint = "Suites ask for the likeliest reply. Write a judge file with temperature = 0.7 or so under [decoding]."
        problem = "draws of a judge differ only at a temperature above 0, not"
        raise InputError(problem, key="decoding.temperature", value=decoding.get("temperature") or 0, hint=hint)
    if decoding.get("seed") is not None:
        hint = "Leave the seed out: each draw is sent with a seed of its own, made from --seed."
        raise InputError("every draw of a judge with a fixed seed gives the same replies", key="decoding.seed", hint=hint)


def version_of(suite: Suite, judge_version: str, policy: AskPolicy) -> str:
    """Return ``judge_version``: a digest of the judge's own version, the suite's, and the rule of asking again."""
    return digest("judging", {"judge": judge_version, "suite": suite.version, "asking": policy.rule}, length=16)


def drawn(prompts: Sequence[SuitePrompt], limit: int | None, seed: int) -> Sequence[SuitePrompt]:
    """Draw ``limit`` prompts with the seed, and return them in their own order; all of them without a limit."""
    if limit is None or limit >= len(prompts):
        return prompts
    chosen = random.Random(f"salon/{seed}").sample(range(len(prompts)), limit)  # noqa: S311  (no secret)
    return [prompts[place] for place in sorted(chosen)]


def _facts(prompt: SuitePrompt) -> Mapping[str, Digestible]:
    return {"prompt": prompt.prompt.model_dump(mode="json"), "facts": prompt.facts}


def _listing(generations: Generations, ids: Sequence[str]) -> list[Digestible]:
    """Return the paths of the files with their digests."""
    return [
        [prompt_id, model, file.sample, *([file.turn] if file.turn is not None else []), file.sha256]
        for model in generations.models
        for prompt_id in ids
        for file in generations.of(prompt_id, model)
    ]


def _slug(name: str) -> str:
    return (_UNSAFE.sub("-", name.lower()).strip("-.") or "x")[:_LONGEST_NAME]
