"""One case from its first question to its rows: asks the judge, asks again, remembers, and answers the suite.

suite.examine ── Inquiry ──► stored reply? ── no ──► judge.ask ──► row ──► parse ──► Scored
     ▲                           └─ yes ───────────────────────────────►    │ no: ask again ("step#2"), then the
     └──────────── Scored | Unscored ◄──────────────────────────────────────┘ extractor ("step#extract"), then Unscored
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, TypeVar

from salon_bench.runs.session import RunSession
from salon_bench.suites.contract.drive import drive_async
from salon_bench.suites.contract.suite import Case, Examination, Inquiry, RunContext
from salon_bench.suites.contract.templates import foreign
from salon_judges.clients.extraction_check import RULE as FAITHFUL
from salon_judges.clients.extraction_check import faithful
from salon_judges.clients.routing import judge_for
from salon_rewards.judge_batching import parse_reply
from salon_taxonomy.answers.outcome import Parsed, Unparsed
from salon_taxonomy.digest import Digestible, digest
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Judge, Question, Reply, Usage
from salon_taxonomy.records import CallStatus, Finish, JudgeCall, Record
from salon_taxonomy.verdict import Reason, Scored, Unscored, Verdict

REMINDER: Final = (
    "(Time {number} of asking: the reply before could not be read. Answer the question above once more, in exactly the form "
    "that it asks for.)"
)
"""Added to a question that is asked again. It makes the request a new one, so that no cache gives the same reply back."""

EXTRACTION: Final = (
    "Somebody was asked the question in the first block and gave the reply in the second. Write that reply down again in "
    "exactly the form that the question asks for. Add nothing of your own; if the reply does not answer the question, say so."
)
"""The words for a second model that is to read a reply which the parser cannot. It sees no picture."""

N = TypeVar("N", int, float)
_MOST: Final = 2**53
_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_OK_HTTP: Final = range(100, 600)


@dataclass(frozen=True, slots=True)
class AskPolicy:
    """How often a run asks, and which judge.

    Attributes:
        judge: answers the questions.
        context: the run, subject and judge that rows are written for.
        re_asks: how often a reply that cannot be read is asked for again.
        extractor: a model that restates replies which still cannot be read; None does without. A restatement that says
            what the reply does not is not taken (``salon_judges/clients/extraction_check.py``).
        replay_of: the run whose stored replies are read again, without a call; None asks the judge.
        decoding_seed: sent with every question in place of its own seed, for an independent draw; None keeps its own.
    """

    judge: Judge
    context: RunContext
    re_asks: int = 1
    extractor: Judge | None = None
    replay_of: str | None = None
    decoding_seed: int | None = None

    def __post_init__(self) -> None:
        if self.re_asks < 0:
            raise InputError("re-asks are counted from 0, not", value=self.re_asks)

    @property
    def rule(self) -> dict[str, str | int | None]:
        """What of this can change a verdict; part of the judge's version in tables."""
        extractor = None if self.extractor is None else self.extractor.version
        return {
            "re_asks": self.re_asks,
            "reminder": REMINDER,
            "extraction": f"{FAITHFUL} {EXTRACTION}" if extractor else None,
            "extractor": extractor,
        }


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The rows of a case, and the questions without a reply (they are asked again on resume)."""

    case: Case
    records: Sequence[Record]
    lost: tuple[Unscored, ...]
    verdicts: tuple[Verdict[Any], ...]


class StopAskingError(Exception):
    """A limit was reached before a question; the case is left for later. Never leaves this package."""


class Examines(Protocol):
    """The part of a suite that an examiner needs."""

    def examine(self, case: Case) -> Examination:
        """Judge one case (see :data:`~salon_bench.suites.contract.suite.Examination`)."""


class CaseRunner:
    """Examines the cases of one run; may be at work on many at once."""

    def __init__(self, suite: Examines, policy: AskPolicy, session: RunSession) -> None:
        self._suite = suite
        self._policy = policy
        self._session = session
        self._calls_of = policy.replay_of or policy.context.run_id

    async def run(self, case: Case) -> CaseResult:
        """Ask whatever the suite wants to know about a case.

        Raises:
            StopAskingError: when a limit was reached.
            InputError: for a suite that gives two questions of a case one name, or a question that the judge cannot take.
            StoreError: when replies cannot be written down.
        """
        case = replace(case, context=self._policy.context)
        lost: list[Unscored] = []
        verdicts: list[Verdict[Any]] = []

        async def answer(inquiry: Inquiry[Any]) -> Verdict[Any]:
            verdict = case.problem if case.problem is not None else await self._verdict(case, inquiry, lost)
            verdicts.append(verdict)
            return verdict

        records = await drive_async(self._suite.examine(case), answer)
        return CaseResult(case, records, tuple(lost), tuple(verdicts))

    async def _verdict(self, case: Case, inquiry: Inquiry[Any], lost: list[Unscored]) -> Verdict[Any]:
        question, unread = inquiry.question, Unparsed(Reason.ABSTAINED, "no judge was asked")
        reply = Reply("")
        judge = judge_for(self._policy.judge, inquiry.step)
        for ask in range(1, self._policy.re_asks + 2):
            step = inquiry.step if ask == 1 else f"{inquiry.step}#{ask}"
            asked = question if ask == 1 else replace(question, parts=(*question.parts, REMINDER.format(number=ask)))
            reply, outcome = await self._ask(judge, case, step, ask, asked, inquiry)
            if isinstance(outcome, Parsed):
                return Scored(outcome.answer)
            if isinstance(outcome, Unscored):
                if not reply.answered:
                    lost.append(outcome)
                return outcome
            unread = outcome
            self._session.re_asked += ask <= self._policy.re_asks
        if self._policy.extractor is not None and reply.text.strip():
            restated, outcome = await self._extract(case, inquiry, reply.text, self._policy.extractor)
            if isinstance(outcome, Parsed):
                return Scored(outcome.answer)
            if isinstance(outcome, Unscored) and not restated.answered:
                lost.append(outcome)
        return unread.unscored(reply.text)

    async def _extract(
        self, case: Case, inquiry: Inquiry[Any], text: str, extractor: Judge
    ) -> tuple[Reply, Parsed[Any] | Unparsed | Unscored]:
        parts = (EXTRACTION, foreign(inquiry.question.text), foreign(text))
        restated = replace(inquiry.question, parts=parts, system=None)
        self._session.extracted += 1
        strict = replace(inquiry, parse=faithful(inquiry.parse, text))
        return await self._ask(extractor, case, f"{inquiry.step}#extract", 0, restated, strict)

    async def _ask(
        self, judge: Judge, case: Case, step: str, ask: int, question: Question, inquiry: Inquiry[Any]
    ) -> tuple[Reply, Parsed[Any] | Unparsed | Unscored]:
        """Return the stored or new reply to a question, parsed; a new one is written before it counts."""
        if (seed := self._policy.decoding_seed) is not None:
            question = replace(question, decoding=replace(question.decoding, seed=seed))
        request = question.request_sha256()
        name: dict[str, Digestible] = {
            "run": self._calls_of,
            "case": case.case_id,
            "step": step,
            "ask": ask,
            "request": request,
        }
        call_id = digest("judge_call", name)
        known = self._session.checkpoint.known(call_id)
        if known is not None and known.answered:
            return known.reply, await _read(known.reply, inquiry)
        if self._policy.replay_of is not None:
            reply = known.reply if known else Reply("", CallStatus.CANCELLED, error="no reply to this question is stored")
            return reply, await _read(reply, inquiry)
        refusal = self._session.spending.begin_call()
        if refusal is not None:
            raise StopAskingError(refusal)
        reply = _plain(await judge.ask(question))
        self._session.spending.end_call(reply)
        outcome = await _read(reply, inquiry)
        first = known.attempts + 1 if known else 1
        attempts = [*reply.earlier, reply]
        outcomes = [await _read(each, inquiry) for each in reply.earlier] + [outcome]
        self._session.checkpoint.record(
            "judge_calls",
            [
                self._row(each, case, step, call_id, request, first + number, found)
                for number, (each, found) in enumerate(zip(attempts, outcomes, strict=True))
            ],
        )
        return reply, outcome

    def _row(
        self,
        reply: Reply,
        case: Case,
        step: str,
        call_id: str,
        request: str,
        attempt: int,
        outcome: Parsed[Any] | Unparsed | Unscored,
    ) -> JudgeCall:
        context = self._policy.context
        return JudgeCall(
            call_id=call_id,
            run_id=context.run_id,
            judge=context.judge,
            judge_version=context.judge_version,
            case_id=case.case_id,
            generation_id=case.generation_id,
            step=step,
            request_sha256=request,
            attempt=attempt,
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
            error=None if reply.error is None else _SURROGATES.sub("\ufffd", reply.error),
        )


async def _read(reply: Reply, inquiry: Inquiry[Any]) -> Parsed[Any] | Unparsed | Unscored:
    """Parse a reply, or return its problem."""
    problem = reply.problem()
    return await parse_reply(inquiry.parse, reply.text) if problem is None else problem


def _plain(reply: Reply) -> Reply:
    """Return the reply as it can be stored: without lone surrogates and impossible counts."""
    if reply.earlier:
        reply = replace(reply, earlier=tuple(_plain(each) for each in reply.earlier))
    if not reply.text.isascii() and _SURROGATES.search(reply.text):
        reply = replace(reply, text=_SURROGATES.sub("\ufffd", reply.text))
    usage = reply.usage
    sane = Usage(_within(usage.prompt_tokens), _within(usage.completion_tokens), _within(usage.cost_usd))
    latency = _within(reply.latency_ms)
    return reply if (sane, latency) == (usage, reply.latency_ms) else replace(reply, usage=sane, latency_ms=latency)


def _within(number: N | None) -> N | None:
    """A count or amount that a column can hold; None for one that cannot be meant."""
    return number if number is not None and 0 <= number < _MOST else None
