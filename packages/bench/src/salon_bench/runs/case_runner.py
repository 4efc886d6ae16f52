"""One case from its first question to its rows: the suite's questions, the run's replies, the rows of ``judge_calls``."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from salon_bench.runs.checkpoint import RunCheckpoint
from salon_bench.runs.session import RunSession
from salon_bench.suites.contract.suite import Case, Examination, RunContext
from salon_judges.asking.asker import Asker, AskPolicy, Call, ReadReply, StoredReply
from salon_judges.asking.inquiry import Inquiry, drive_async
from salon_taxonomy.answers import Parsed
from salon_taxonomy.digest import Digestible, digest
from salon_taxonomy.records import Finish, JudgeCall, Record
from salon_taxonomy.verdict import Unscored, Verdict

_OK_HTTP: Final = range(100, 600)


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The rows of a case, and the questions without a reply (they are asked again on resume)."""

    case: Case
    records: Sequence[Record]
    lost: tuple[Unscored, ...]
    verdicts: tuple[Verdict[Any], ...]


class Examines(Protocol):
    """The part of a suite that an examiner needs."""

    def examine(self, case: Case) -> Examination:
        """Judge one case (see :data:`~salon_bench.suites.contract.suite.Examination`)."""


class CaseRunner:
    """Examines the cases of one run; may be at work on many at once.

    Args:
        suite: whose questions are asked.
        policy: who is asked, and how often.
        context: the run and judge that rows are written for.
        session: the run.
        replies_of: the run whose stored replies are read; None: this one.
    """

    def __init__(
        self, suite: Examines, policy: AskPolicy, context: RunContext, session: RunSession, *, replies_of: str | None = None
    ) -> None:
        self._suite = suite
        self._context = context
        self._session = session
        self._replies_of = replies_of or context.run_id
        self._asker = Asker(policy, session.spending)

    async def run(self, case: Case) -> CaseResult:
        """Ask whatever the suite wants to know about a case.

        Raises:
            StopAskingError: when a limit was reached.
            InputError: for a suite that gives two questions of a case one name, or a question that the judge cannot take.
            StoreError: when replies cannot be written down.
        """
        case = replace(case, context=self._context)
        replies = CaseReplies(case, self._session.checkpoint, self._context, self._replies_of)
        lost: list[Unscored] = []
        verdicts: list[Verdict[Any]] = []

        async def answer(inquiry: Inquiry[Any]) -> Verdict[Any]:
            if case.problem is not None:
                verdict: Verdict[Any] = case.problem
            else:
                given = await self._asker.answer(inquiry, replies)
                verdict = given.verdict
                if given.lost and isinstance(verdict, Unscored):
                    lost.append(verdict)
            verdicts.append(verdict)
            return verdict

        records = tuple(await drive_async(self._suite.examine(case), answer) or ())
        return CaseResult(case, records, tuple(lost), tuple(verdicts))


@dataclass(frozen=True, slots=True)
class CaseReplies:
    """The replies about one case, in the journal of its run."""

    case: Case
    checkpoint: RunCheckpoint
    context: RunContext
    replies_of: str

    def key(self, call: Call) -> str:
        """Return the id of the call: a digest of run, case, step and request."""
        name: dict[str, Digestible] = {
            "run": self.replies_of,
            "case": self.case.case_id,
            "step": call.step,
            "ask": call.ask,
            "request": call.request,
        }
        return digest("judge_call", name)

    def known(self, key: str) -> StoredReply | None:
        """Return what an earlier start learned."""
        return self.checkpoint.known(key)

    def keep(self, key: str, call: Call, attempts: Sequence[ReadReply], *, first: int) -> None:
        """Write a row for each attempt; they outlive this process when this returns."""
        case = self.case
        numbered = enumerate(attempts, start=first)
        rows = [call_row(attempt, key, call, at, self.context, case.case_id, case.generation_id) for at, attempt in numbered]
        self.checkpoint.record("judge_calls", rows)


def call_row(
    attempt: ReadReply,
    call_id: str,
    call: Call,
    number: int,
    context: RunContext,
    case_id: str,
    generation_id: str | None = None,
) -> JudgeCall:
    """Return the row of one attempt of a call."""
    reply, outcome = attempt
    return JudgeCall(
        call_id=call_id,
        run_id=context.run_id,
        judge=context.judge,
        judge_version=context.judge_version,
        case_id=case_id,
        generation_id=generation_id,
        step=call.step,
        request_sha256=call.request,
        attempt=number,
        status=reply.status,
        finish=None if reply.finish == Finish.UNKNOWN else reply.finish,
        cached=reply.cached,
        http_status=reply.http_status if reply.http_status in _OK_HTTP else None,
        latency_ms=reply.latency_ms,
        prompt_tokens=reply.usage.prompt_tokens,
        completion_tokens=reply.usage.completion_tokens,
        cost_usd=reply.usage.cost_usd,
        response_text=reply.text if reply.answered or reply.text else None,
        parse_status="parsed" if isinstance(outcome, Parsed) else outcome.reason.value,
        error=reply.error,
    )
