"""A run from start to end with judges that reply, fail, babble and are slow; no server."""

import asyncio
import io
import json
import os
import re
import signal
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import number_suite
import pytest
from number_suite import NumberSuite
from PIL import Image
from rich.console import Console

from for_each import for_each
from salon_bench.cli.progress_bar import Bar
from salon_bench.runs import checkpoint as checkpoint_module
from salon_bench.runs.checkpoint import RunCheckpoint
from salon_bench.runs.plan import LoadedPlan, RunPlan, SubjectModel
from salon_bench.runs.plan import planned as planned_of
from salon_bench.runs.progress import RunProgress
from salon_bench.runs.rescore import rescore
from salon_bench.runs.session import FinishedError, SessionResult, stop_on_signals
from salon_bench.runs.status import RunState, run_status
from salon_bench.runs.suite_runner import Pace, execute
from salon_bench.runs.view import RunView
from salon_bench.suites.contract.reward import SuiteReward
from salon_bench.suites.contract.suite import SuitePrompt
from salon_judges.asking.spending import RunLimits, Spending
from salon_judges.clients import CachedJudge, ChatSettings, OpenAICompatibleJudge, ResponseCache, RoutedJudge
from salon_judges.formats.generations import Generated, Generations
from salon_rewards.judge_batching import Answers
from salon_store import ResultStore
from salon_store.errors import JournalInUseError, StoreError
from salon_taxonomy.answers.outcome import Parsed
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Judge, Question, Reply, Usage
from salon_taxonomy.records import CallStatus, Finish, RunEvent
from salon_taxonomy.testing import HOSTILE_REPLIES, ReplayJudge
from salon_taxonomy.verdict import Reason, Scored, Unscored


class Numbers:
    """Answers 1 to the first question and 2 to the second, unless ``answer`` says otherwise."""

    def __init__(
        self, answer: Callable[[Question, int], Reply | None] = lambda question, times: None, wait: float = 0.0
    ) -> None:
        self.name = "numbers"
        self.version = "1"
        self.asked: list[Question] = []
        self.at_once = self.most_at_once = 0
        self._answer = answer
        self._wait = wait

    async def ask(self, question: Question) -> Reply:
        times = sum(_once(each) == _once(question) for each in self.asked)
        self.asked.append(question)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(self._wait)
        self.at_once -= 1
        usage = Usage(10, 1, 0.01)
        return self._answer(question, times) or Reply("1" if "First" in question.text else "2", usage=usage)


def _once(question: Question) -> str:
    """The question as it was asked the first time."""
    return question.text.partition("(Time")[0].strip()


def plan(prompts: int = 5, *, re_asks: int = 1, suite: NumberSuite | None = None) -> LoadedPlan:
    suite = suite or NumberSuite(prompts)
    made = RunPlan(suite.name, suite.version, (SubjectModel("subject", Path()),), "numbers", {}, "v1", "v1", re_asks=re_asks)
    return LoadedPlan(made, suite, suite.prompts(None), Generations([]))


def go(planned: LoadedPlan, judge: Numbers, store: Path, **options: object) -> SessionResult:
    return asyncio.run(execute(planned, judge, store, **options))  # type: ignore[arg-type]


def totals(store: Path, planned: LoadedPlan) -> list[float | None]:
    rows = RunView(store, planned.plan.run_id).rows("scores")
    return rows.filter(rows["dimension"] == "total").sort("prompt_id")["value"].to_list()


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "results"


class Retold(NumberSuite):
    """The prompts of ``NumberSuite`` in other words, under the same ids."""

    def prompts(self, source: Path | None) -> list[SuitePrompt]:
        made = super().prompts(source)
        texts = [f"{each.prompt.text}, retold" for each in made]
        return [SuitePrompt(one.prompt.model_copy(update={"text": text})) for one, text in zip(made, texts, strict=True)]


def test_every_run_shows_the_words_that_it_was_judged_with_though_ids_are_shared(store: Path) -> None:
    suites = (NumberSuite(3), Retold(3, version="2"), NumberSuite(2, version="3"))
    runs = [plan(suite=suite) for suite in suites]
    for planned in runs:
        go(planned, Numbers(), store)
    shown = [RunView(store, planned.plan.run_id).prompts for planned in runs]
    assert shown == [{each.prompt.prompt_id: each.prompt.text for each in planned.prompts} for planned in runs]
    stored = ResultStore.open(store).read("prompts").collect()
    assert stored.height == stored["prompt_key"].n_unique() == 6, "equal contents are stored once"


class KilledHere(BaseException):
    """Ends a start as a kill does: nothing of the run is written after it."""


@pytest.mark.parametrize("written", range(4))
def test_a_run_that_was_killed_while_it_began_knows_its_prompts_when_it_is_resumed(
    store: Path, monkeypatch: pytest.MonkeyPatch, written: int
) -> None:
    planned, note, left = plan(), RunCheckpoint.note, iter(range(written))

    def noted(self: RunCheckpoint, table: str, rows: object) -> None:
        if next(left, None) is None:
            raise KilledHere
        note(self, table, rows)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(RunCheckpoint, "note", noted)
        with pytest.raises(KilledHere):
            go(planned, Numbers(), store)
    assert go(planned, Numbers(), store).complete
    view = RunView(store, planned.plan.run_id)
    assert view.prompts == {each.prompt.prompt_id: each.prompt.text for each in planned.prompts}
    stored = ResultStore.open(store)
    for table, rows in (("runs", 1), ("prompts", 5), ("run_prompts", 5)):
        assert stored.read(table).collect().height == rows, table


def test_a_run_leaves_its_rows_its_calls_its_prompts_and_its_history(store: Path) -> None:
    planned = plan()
    outcome = go(planned, Numbers(), store)
    assert outcome.complete
    assert totals(store, planned) == [3.0] * 5
    calls = RunView(store, planned.plan.run_id).rows("judge_calls")
    assert Counter(calls["step"]) == {"first": 5, "second": 5}
    assert set(calls["parse_status"]) == {"parsed"}
    assert calls["case_id"].n_unique() == 5
    assert ResultStore.open(store).read("prompts").collect().height == 5
    events = RunView(store, planned.plan.run_id).rows("run_events").sort("at")
    assert events["kind"].to_list() == ["started", "finished"]
    found = run_status(store, planned.plan.run_id)
    assert (found.state, found.cases_done, found.cases_total, found.calls) == (RunState.FINISHED, 5, 5, 10)
    assert found.cost_usd == pytest.approx(0.1)


def test_a_finished_run_is_not_started_again_and_a_begun_one_goes_on(store: Path) -> None:
    planned = plan()
    go(planned, Numbers(), store, limits=RunLimits(calls=3))
    judge = Numbers()
    assert go(planned, judge, store).complete
    assert len(judge.asked) == 7
    with pytest.raises(FinishedError):
        go(planned, judge, store)


def test_no_reply_breaks_a_run_or_becomes_a_score(store: Path) -> None:
    count = len(HOSTILE_REPLIES)
    planned = plan(count)
    outcome = go(planned, Numbers(lambda question, times: Reply(HOSTILE_REPLIES[int(_once(question).split()[-1])])), store)
    assert outcome.complete
    assert totals(store, planned) == [None] * count
    calls = RunView(store, planned.plan.run_id).rows("judge_calls")
    assert Counter(calls["step"]) == {"first": count, "first#2": count}
    assert set(calls["parse_status"]) == {"malformed", "empty"}
    assert outcome.progress.re_asked == count


def test_a_reply_that_cannot_be_read_is_asked_for_again_with_a_reminder(store: Path) -> None:
    planned = plan(1, re_asks=2)
    judge = Numbers(lambda question, times: Reply("well…") if times < 2 and "First" in question.text else None)
    assert go(planned, judge, store).complete
    assert [question.text.partition("(Time ")[2][:1] for question in judge.asked] == ["", "2", "3", ""]
    assert len({question.request_sha256() for question in judge.asked}) == 4
    assert totals(store, planned) == [3.0]


def test_an_extractor_reads_what_the_parser_cannot(store: Path) -> None:
    planned = plan(1)
    judge = Numbers(lambda question, times: Reply("It is one.</data>") if "First" in question.text else None)
    helper = Numbers(lambda question, times: Reply("1"))
    outcome = go(planned, judge, store, extractor=helper)
    assert outcome.progress.extracted == 1
    assert totals(store, planned) == [3.0]
    assert helper.asked[0].media == ()
    assert helper.asked[0].text.count("</data>") == 2
    assert "first#extract" in set(RunView(store, planned.plan.run_id).rows("judge_calls")["step"])


def test_questions_without_a_reply_leave_their_case_open_and_a_resume_asks_them_alone(store: Path) -> None:
    planned = plan(4)
    lost = Reply("", CallStatus.TIMEOUT, error="no byte", earlier=(Reply("", CallStatus.REJECTED, http_status=500),))
    first = Numbers(lambda question, times: lost if "prompt 2" in question.text else None)
    outcome = go(planned, first, store)
    assert not outcome.complete
    assert (outcome.progress.done, outcome.progress.open) == (3, 1)
    assert outcome.progress.reasons == {Reason.TIMEOUT: 1}
    assert run_status(store, planned.plan.run_id).state == RunState.UNFINISHED
    again = Numbers()
    assert go(planned, again, store).complete
    assert len(again.asked) == 2
    assert totals(store, planned) == [3.0] * 4
    calls = RunView(store, planned.plan.run_id).rows("judge_calls")
    asked = calls.filter(calls["step"] == "first").sort("attempt").group_by("call_id").agg("attempt", "status")
    attempts = {tuple(row["attempt"]): row["status"] for row in asked.iter_rows(named=True)}
    assert attempts[(1, 2, 3)] == ["rejected", "timeout", "ok"]


def test_lost_questions_are_unscored_for_good_when_that_is_allowed(store: Path) -> None:
    planned = plan(3)
    lost = Numbers(lambda question, times: Reply("", CallStatus.UNREACHABLE) if "prompt 1" in question.text else None)
    assert go(planned, lost, store, keep_lost=True).complete is True
    rows = RunView(store, planned.plan.run_id).rows("scores")
    assert set(rows.filter(rows["value"].is_null())["unscored_reason"]) == {"unreachable"}
    assert totals(store, planned).count(None) == 1


def test_a_question_without_a_reply_of_a_run_that_was_stopped_is_asked_again_and_counts(store: Path) -> None:
    planned = plan(3)
    lost = Numbers(lambda question, times: Reply("", CallStatus.UNREACHABLE) if "prompt 0" in question.text else None)
    stopped = go(planned, lost, store, keep_lost=True, limits=RunLimits(calls=2), pace=Pace(1, 0))
    assert (stopped.complete, stopped.progress.done, stopped.progress.open) == (False, 0, 1)
    assert RunView(store, planned.plan.run_id).scores.is_empty()
    assert go(planned, Numbers(), store, keep_lost=True).complete
    assert totals(store, planned) == [3.0] * 3


@for_each("usage", [Usage(), Usage(10, None, 0.1), Usage(None, 3, 0.1)])
def test_a_limit_on_tokens_stops_at_the_first_reply_of_a_judge_that_reports_none(tmp_path: Path, usage: Usage) -> None:
    planned = plan(4)
    judge = Numbers(lambda question, times: Reply("1", usage=usage))
    outcome = go(planned, judge, tmp_path, limits=RunLimits(tokens=10**9), pace=Pace(1))
    assert (len(judge.asked), outcome.complete) == (1, False)
    assert "the judge reports no tokens" in (outcome.stopped or "")
    cached = Numbers(lambda question, times: Reply("1", usage=usage, cached=True))
    assert go(planned, cached, tmp_path, limits=RunLimits(tokens=10**9)).complete, "what nothing was asked for has no tokens"


def test_absurd_counts_and_broken_texts_of_a_judge_are_not_stored(store: Path) -> None:
    planned = plan(1)
    odd = Usage(-5, 10**30, float("nan"))
    judge = Numbers(lambda question, times: Reply("1", usage=odd, latency_ms=float("inf"), http_status=7, error="\ud800"))
    assert go(planned, judge, store).complete
    row = RunView(store, planned.plan.run_id).rows("judge_calls").row(0, named=True)
    columns = ("prompt_tokens", "completion_tokens", "cost_usd", "latency_ms", "http_status")
    assert [row[name] for name in columns] == [None] * 5
    assert row["error"] == "\ufffd"


def test_a_reply_that_was_cut_off_is_a_verdict_and_is_not_paid_for_again(store: Path) -> None:
    planned = plan(2)
    cut = Numbers(lambda question, times: Reply("1", finish=Finish.LENGTH))
    assert go(planned, cut, store).complete
    assert len(cut.asked) == 2
    rows = RunView(store, planned.plan.run_id).rows("scores")
    assert set(rows["unscored_reason"]) == {"truncated"}


@pytest.mark.parametrize(
    ("limits", "calls", "why"),
    [
        (RunLimits(calls=5), 5, "5 calls"),
        (RunLimits(cost_usd=0.05), 5, "0.05 USD"),
        (RunLimits(tokens=33), 3, "33 tokens"),
    ],
    ids=["calls", "cost", "tokens"],
)
def test_a_limit_stops_asking_and_keeps_what_was_had(store: Path, limits: RunLimits, calls: int, why: str) -> None:
    planned = plan(10)
    judge = Numbers()
    outcome = go(planned, judge, store, limits=limits, pace=Pace(1))
    assert not outcome.complete
    assert why in (outcome.stopped or "")
    assert len(judge.asked) == calls
    assert RunView(store, planned.plan.run_id).rows("judge_calls").height == calls
    event = RunView(store, planned.plan.run_id).rows("run_events").sort("at").row(-1, named=True)
    assert (event["kind"], event["calls"]) == ("stopped", calls)
    rest = Numbers()
    assert go(planned, rest, store).complete
    assert len(rest.asked) == 20 - calls


def test_the_deadline_is_measured_on_the_clock_of_the_run() -> None:
    now = [0.0]
    spending = Spending(RunLimits(seconds=10), clock=lambda: now[0])
    assert spending.begin_call() is None
    now[0] = 10.0
    assert "deadline" in (spending.begin_call() or "")


def test_a_limit_on_cost_needs_a_judge_that_says_what_it_costs(store: Path) -> None:
    free = Numbers(lambda question, times: Reply("1"))
    outcome = go(plan(3), free, store, limits=RunLimits(cost_usd=1), pace=Pace(1))
    assert "reports no cost" in (outcome.stopped or "")


@for_each("name", ["cost_usd", "tokens", "calls", "seconds"])
@for_each("value", [0, -1, float("nan"), float("inf")])
def test_a_limit_must_be_a_number_above_zero(name: str, value: float) -> None:
    with pytest.raises(InputError, match="above 0"):
        RunLimits(**{name: value})


def test_no_more_is_asked_at_once_than_was_said(store: Path) -> None:
    judge = Numbers(wait=0.002)
    go(plan(30), judge, store, pace=Pace(4))
    assert judge.most_at_once == 4


def test_ctrl_c_lets_what_is_in_flight_come_home(store: Path) -> None:
    planned = plan(50)
    said: list[int] = []
    answered: list[Question] = []

    def answer(question: Question, times: int) -> Reply | None:
        answered.append(question)
        if len(answered) == 9:
            os.kill(os.getpid(), signal.SIGINT)
        return None

    judge = Numbers(answer, wait=0.01)
    outcome = go(
        planned,
        judge,
        store,
        pace=Pace(4),
        on_start=lambda runner: stop_on_signals(runner, lambda words, number: said.append(number)),
    )
    assert outcome.stopped == "stopped by Ctrl-C"
    assert said == [signal.SIGINT]
    assert RunView(store, planned.plan.run_id).rows("judge_calls").height == len(judge.asked) <= 20
    assert go(planned, Numbers(), store).complete


def test_a_second_ctrl_c_stops_at_once_and_keeps_what_was_had(store: Path) -> None:
    planned = plan(20)

    def answer(question: Question, times: int) -> Reply | None:
        if len(judge.asked) in (5, 6):
            os.kill(os.getpid(), signal.SIGINT)
        return None

    judge = Numbers(answer, wait=0.01)
    with pytest.raises(asyncio.CancelledError):
        go(planned, judge, store, pace=Pace(1), on_start=lambda runner: stop_on_signals(runner, lambda words, number: None))
    assert RunView(store, planned.plan.run_id).rows("judge_calls").height >= 4
    rest = Numbers()
    assert go(planned, rest, store).complete
    assert totals(store, planned) == [3.0] * 20


def test_a_run_that_is_being_worked_on_is_refused_to_others(store: Path) -> None:
    planned = plan(2)
    held = RunCheckpoint.open(store, planned.plan.run_id, lambda path: None)
    with pytest.raises(JournalInUseError):
        go(planned, Numbers(), store)
    held.close()
    assert go(planned, Numbers(), store).complete


def test_a_run_can_be_seen_while_it_works_and_after_it_was_killed(store: Path) -> None:
    planned = plan(3)
    ResultStore.open(store)
    seen = []

    def look(question: Question, times: int) -> None:
        seen.append(run_status(store, planned.plan.run_id).state)

    class KilledError(Exception):
        """Stands for the end of the process."""

    def never(path: Path) -> None:
        raise KilledError

    with pytest.raises(KilledError):
        go(planned, Numbers(look), store, limits=RunLimits(calls=2), fold=never)
    assert set(seen) == {RunState.RUNNING}
    left = run_status(store, planned.plan.run_id)
    assert (left.state, left.calls) == (RunState.UNFINISHED, 2)
    judge = Numbers()
    assert go(planned, judge, store).complete
    assert len(judge.asked) == 4
    after = run_status(store, planned.plan.run_id)
    assert (after.state, after.calls) == (RunState.FINISHED, 6)


def test_the_bar_shows_cases_rate_cost_and_reasons() -> None:
    screen = io.StringIO()
    with Bar(Console(file=screen, force_terminal=True, width=120)) as bar:
        bar.progressed(RunProgress(done=30, total=60, calls=60, seconds=2.0, cost_usd=0.5, reasons={Reason.TIMEOUT: 2}))
        bar._drawn.refresh()
    for words in ("30/60", "15.0/s", "$0.50", "2 timeout"):
        assert words in screen.getvalue()


def test_a_suite_that_uses_a_name_twice_is_told_so(store: Path) -> None:
    class Twice(NumberSuite):
        def examine(self, case):
            inner = super().examine(case)
            inquiry = next(inner)
            verdict = yield inquiry
            yield replace(inner.send(verdict), step="first")
            return []

    with pytest.raises(InputError, match="same name"):
        go(plan(suite=Twice(2)), Numbers(), store)
    assert run_status(store, plan(suite=Twice(2)).plan.run_id).state == RunState.UNFINISHED


def test_a_suite_that_fails_loses_no_reply(store: Path) -> None:
    class Broken(NumberSuite):
        def examine(self, case):
            yield from super().examine(case)
            raise ZeroDivisionError("a bug of the suite")

    planned = plan(suite=Broken(3))
    judge = Numbers()
    with pytest.raises(ZeroDivisionError):
        go(planned, judge, store, pace=Pace(1))
    event = RunView(store, planned.plan.run_id).rows("run_events").sort("at").row(-1, named=True)
    assert "a bug of the suite" in event["detail"]
    mended = Numbers()
    assert go(replace(planned, suite=NumberSuite(3)), mended, store).complete
    assert len(judge.asked) + len(mended.asked) == 6


SHORT_KEY = "sesame-4711"
LONG_KEY = "hG7kP2xQ9vL4mN8sT3wZ"


def exceptions_with(key: str) -> list[BaseException]:
    return [
        RuntimeError(f"request failed: {key}"),
        ValueError({"headers": {"Authorization": f"Bearer {key}"}}),
        KeyError(key),
        InputError("the key is wrong", value=key, hint=f"Try another than {key}."),
        OSError(5, key, f"/tmp/{key}"),
        type(f"Bad_{key}", (Exception,), {})("named after it"),
        ExceptionGroup(key, [ValueError(key)]),
    ]


def own_judge(judge: Judge) -> list[Judge]:
    """The judge, and the judge within each kind of judge that can be around it."""
    folder = Path(tempfile.mkdtemp())
    cached = CachedJudge(judge, ResponseCache(folder / "replies"))
    return [judge, cached, RoutedJudge({"*": cached})]


@pytest.mark.parametrize("known", [True, False])
def test_no_key_in_the_words_of_any_exception_reaches_the_store(tmp_path: Path, known: bool) -> None:
    """A key that a judge sends is taken out at any length; any other key where it is a run of 16 characters."""
    key = SHORT_KEY if known else LONG_KEY
    settings = ChatSettings(model="numbers", base_url="http://127.0.0.1:9/v1", api_key_env="K", api_key_required=True)

    class Raising(OpenAICompatibleJudge if known else Numbers):
        failure: BaseException

        async def ask(self, question: Question) -> Reply:
            raise self.failure

    failures = exceptions_with(key)
    for number, failure in enumerate([*failures, *[failures[0]] * 2]):
        inner = Raising(settings, {"K": key}) if known else Raising()
        inner.failure = failure
        judge = own_judge(inner)[max(0, number - len(failures) + 1)]
        store = tmp_path / str(number)
        with pytest.raises(type(failure)):
            go(plan(1), judge, store)
        details = RunView(store, plan(1).plan.run_id).rows("run_events")["detail"].drop_nulls().to_list()
        assert len(details) == 1
        assert not {key} & set(re.findall(r"[\w-]+", details[0].replace("Bad_", " ")))
        assert key not in details[0]


def test_full_segments_are_folded_while_the_run_goes_on(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint_module, "SEGMENT_BYTES", 20_000)
    planned = plan(100)
    folds: list[str] = []

    def fold(path: Path) -> None:
        folds.append(threading.current_thread().name)
        ResultStore.open(path)

    assert go(planned, Numbers(), store, fold=fold).complete
    assert folds.count("salon-fold") >= 3
    assert totals(store, planned) == [3.0] * 100
    assert RunView(store, planned.plan.run_id).rows("judge_calls").height == 200


def test_a_segment_that_cannot_be_folded_stops_the_run_and_loses_no_reply(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint_module, "SEGMENT_BYTES", 20_000)
    planned, first, second = plan(100), Numbers(), Numbers()

    def fold(path: Path) -> None:
        if threading.current_thread().name == "salon-fold":
            raise StoreError("no space left")
        ResultStore.open(path)

    with pytest.raises(StoreError, match="no space left"):
        go(planned, first, store, fold=fold, pace=Pace(1))
    assert 0 < len(first.asked) < 200
    assert go(planned, second, store).complete
    assert totals(store, planned) == [3.0] * 100
    rows = RunView(store, planned.plan.run_id).rows("judge_calls")
    assert rows.height == rows["call_id"].n_unique() == 200
    # asked twice: the question whose row met the failure, and one of the next case, begun before the run knew of it
    assert 200 <= len(first.asked) + len(second.asked) <= 202


def test_bad_pictures_are_unscored_without_a_call_and_missing_ones_too(store: Path, tmp_path: Path) -> None:
    suite = NumberSuite(3, with_pictures=True)
    (tmp_path / "p00000.png").write_bytes(b"no picture")
    Image.new("RGB", (8, 8)).save(tmp_path / "p00001.png")
    files = [Generated(f"p0000{n}", "subject", 0, tmp_path / f"p0000{n}.png", tmp_path) for n in (0, 1)]
    planned = replace(plan(suite=suite), generations=Generations(files))
    judge = Numbers()
    assert go(planned, judge, store).complete
    assert len(judge.asked) == 2
    assert len(judge.asked[0].media) == 1
    rows = RunView(store, planned.plan.run_id).rows("scores")
    assert Counter(rows["unscored_reason"]) == {"bad_media": 4, None: 2}
    generation = ResultStore.open(store).read("generations").collect().row(0, named=True)
    assert (generation["width"], generation["prompt_id"]) == (8, "p00001")
    assert generation["generation_id"] in set(rows["generation_id"])


def test_a_run_that_was_rescored_is_rescored_by_the_first_ones_replies(store: Path) -> None:
    first = plan(3)
    assert go(first, Numbers(), store).complete
    run_id, rescored = first.plan.run_id, []
    for version in ("2", "3"):
        again = plan(suite=NumberSuite(3, version=version))
        rescored.append(asyncio.run(rescore(again, rescored[-1].run_id if rescored else run_id, store)))
    assert [(each.changes.same, each.changes.now_unscored) for each in rescored] == [(6, 0)] * 2
    assert [each.run_id.count("+rescore-") for each in rescored] == [1, 1]
    with pytest.raises(FinishedError):
        asyncio.run(rescore(plan(suite=NumberSuite(3, version="3")), rescored[-1].run_id, store))


def test_two_bad_samples_of_a_prompt_are_two_rows(store: Path, tmp_path: Path) -> None:
    for sample in (0, 1):
        (tmp_path / f"p00000.{sample}.png").write_bytes(b"no picture" * (sample + 1))
    Image.new("RGB", (8, 8)).save(tmp_path / "p00000.2.png")
    suite = NumberSuite(1, with_pictures=True)
    made = planned_of(suite, [SubjectModel("subject", tmp_path)], Numbers())
    assert go(made, Numbers(), store).progress.done == 3
    rows = RunView(store, made.plan.run_id).rows("scores").filter(dimension="total")
    assert Counter(rows["unscored_reason"]) == {"bad_media": 2, None: 1}


def test_a_watcher_is_told_how_it_goes(store: Path) -> None:
    class Seen:
        def __init__(self) -> None:
            self.progress: list[RunProgress] = []
            self.events: list[RunEvent] = []

        def progressed(self, progress: RunProgress) -> None:
            self.progress.append(progress)

        def happened(self, event: RunEvent) -> None:
            self.events.append(event)

    seen = Seen()
    go(plan(), Numbers(), store, watcher=seen)
    assert [event.kind.value for event in seen.events] == ["started", "finished"]
    last = seen.progress[-1]
    assert (last.done, last.total, last.calls, last.prompt_tokens) == (5, 5, 10, 100)


def by_a_run(reply: str, store: Path) -> None:
    assert go(plan(1), Numbers(lambda question, times: Reply(reply)), store).complete


def by_a_suite_as_a_reward(reply: str, store: Path) -> None:
    reward = SuiteReward(NumberSuite(1, with_pictures=True), ReplayJudge([reply, reply]), scale=(0, 2))
    picture = io.BytesIO()
    Image.new("RGB", (8, 8)).save(picture, format="PNG")
    assert asyncio.run(reward([""], images=[picture.getvalue()], prompt_id=["p00000"])) == [0.75]


def by_a_reward_that_asks(reply: str, store: Path) -> None:
    def read(text: str) -> Scored[int] | Unscored:
        found = number_suite.parse_number(text)
        return Scored(found.answer) if isinstance(found, Parsed) else found.unscored(text)

    assert asyncio.run(Answers(ReplayJudge([reply]), read).ask([Question(("How many?",))])) == [Scored(1)]


@pytest.mark.parametrize("asked", [by_a_run, by_a_suite_as_a_reward, by_a_reward_that_asks])
def test_a_long_reply_is_parsed_in_another_thread_than_the_event_loops(
    asked: Callable[[str, Path], None], store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[threading.Thread] = []
    parse = number_suite.parse_number

    def parse_and_note_the_thread(reply: str) -> object:
        threads.append(threading.current_thread())
        return parse(reply)

    monkeypatch.setattr(number_suite, "parse_number", parse_and_note_the_thread)
    asked(" " * 40_000 + "1", store)
    assert threads
    assert threading.current_thread() not in threads


def test_progress_counts_open_cases_too_in_its_rate_and_has_plain_values() -> None:
    progress = RunProgress(done=6, open=3, seconds=4.0004, reasons=Counter({Reason.TIMEOUT: 2, Reason.EMPTY: 1}))
    assert progress.rate == pytest.approx(9 / 4.0004) and RunProgress(done=6).rate == 0.0
    fields = progress.fields()
    assert (fields["rate"], fields["seconds"], fields["done"], fields["open"]) == (2.25, 4.0, 6, 3)
    assert list(fields["reasons"].items()) == [("empty", 1), ("timeout", 2)]
    assert json.loads(json.dumps(fields)) == fields
