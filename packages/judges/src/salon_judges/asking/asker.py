"""From an inquiry to a verdict: the one place where Salon asks a judge.

Inquiry ──► stored reply? ── no ──► spending ──► judge of the step ──► kept ──► parse ──► Scored
                └─ yes ──────────────────────────────────────────────────────►    │ cannot be read: asked again ("step#2"),
                                                                                  │ then the extractor, then Unscored
                                                                                  └ no reply: lost, asked again next time

A reply is kept before it counts. What the status of a call settles is in :class:`~salon_taxonomy.protocols.CallOutcome`.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from salon_judges.asking.extraction_check import RULE as FAITHFUL
from salon_judges.asking.extraction_check import faithful
from salon_judges.asking.foreign_text import foreign
from salon_judges.asking.inquiry import Inquiry
from salon_judges.asking.spending import Spending
from salon_judges.asking.stored_tokens import stored_tokens
from salon_taxonomy.answers import Parsed, Unparsed
from salon_taxonomy.answers.reading import without_surrogates
from salon_taxonomy.errors import InputError, SalonError
from salon_taxonomy.protocols import CallOutcome, Judge, Question, Reply, Usage
from salon_taxonomy.records import CallStatus
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

A = TypeVar("A")
T = TypeVar("T")
N = TypeVar("N", int, float)
_LONG: Final = 1 << 15
_MOST: Final = 2**53


class StopAskingError(Exception):
    """A limit was reached before a question; what is asked about is left for later. Never leaves Salon."""


@dataclass(frozen=True, slots=True)
class AskPolicy:
    """Who is asked, how often, and for how long.

    Attributes:
        judge: answers the questions; None: stored replies are read again, and nothing is asked.
        re_asks: how often a reply that cannot be read is asked for again.
        extractor: a model that restates replies which still cannot be read; None does without. A restatement that says
            what the reply does not is not taken (``extraction_check.py``).
        decoding_seed: sent with every question in place of its own seed, for an independent draw; None keeps its own.
        tolerant: an exception of the judge's, or its silence for ``timeout_s``, is a missing verdict, so that a training run
            continues; otherwise an exception ends the asking.
        timeout_s: how long a tolerant policy waits for a reply, in seconds; None: as long as the judge likes.
        edits: the judge is an editor: what it refused is not asked for again, and it reports neither tokens nor cost.
    """

    judge: Judge | None
    re_asks: int = 1
    extractor: Judge | None = None
    decoding_seed: int | None = None
    tolerant: bool = False
    timeout_s: float | None = None
    edits: bool = False

    def __post_init__(self) -> None:
        if self.re_asks < 0:
            raise InputError("re-asks are counted from 0, not", value=self.re_asks)

    def settles(self, reply: Reply) -> bool:
        """Return whether a call is not made again on a later start."""
        return reply.answered or (self.edits and reply.outcome is CallOutcome.REFUSED)

    @property
    def rule(self) -> dict[str, str | int | None]:
        """Return what of this can change a verdict; part of the judge's version in tables."""
        extractor = None if self.extractor is None else self.extractor.version
        return {
            "re_asks": self.re_asks,
            "reminder": REMINDER,
            "extraction": f"{FAITHFUL} {EXTRACTION}" if extractor else None,
            "extractor": extractor,
        }


@dataclass(frozen=True, slots=True)
class Call:
    """One question as it is sent.

    Attributes:
        step: of the inquiry, with ``#2`` when it is asked again, or ``#extract``.
        ask: 1 for the first time, 2 for the next; 0 for the extractor.
        question: as it is sent.
        request: the SHA-256 of the question.
        judge: who is asked.
    """

    step: str
    ask: int
    question: Question
    request: str
    judge: Judge | None


class ReadReply(NamedTuple):
    """A reply, and what the parser made of it."""

    reply: Reply
    outcome: "Outcome"


Outcome: TypeAlias = Parsed[Any] | Unparsed | Unscored
"""What a parser made of a reply, or why there is no whole reply."""


@dataclass(frozen=True, slots=True)
class StoredReply:
    """The stored state of one question: its attempts, and the reply or the last failure."""

    attempts: int
    reply: Reply

    @property
    def answered(self) -> bool:
        """Whether the judge replied; a reply that was cut off or cannot be parsed is one too."""
        return self.reply.answered


class Replies(Protocol):
    """Where the replies about one case are kept: a run's checkpoint, a shard's journal, memory."""

    def key(self, call: Call) -> str:
        """Return the name of a call; two calls of one name are one, and share a reply."""

    def known(self, key: str) -> StoredReply | None:
        """Return what was learned about a call before; None: it was never made."""

    def keep(self, key: str, call: Call, attempts: Sequence[ReadReply], *, first: int) -> None:
        """Write down all attempts of a call, counted from ``first``, the last of which is the reply."""


@dataclass(frozen=True, slots=True)
class InquiryResult(Generic[A]):
    """A verdict, and whether it is missing because no reply came: then the question is asked again next time."""

    verdict: Verdict[A]
    lost: bool = False


class Asker:
    """Asks one judge by one policy, about many cases at once.

    Args:
        policy: who is asked, and how often.
        spending: what may be spent, and where calls are counted; None: without limits.
        concurrency: calls that are open at once; None: as many as there are inquiries.

    Example:
        >>> from salon_taxonomy.answers import parse_prism
        >>> from salon_taxonomy.testing import ReplayJudge
        >>> asker = Asker(AskPolicy(ReplayJudge(["A fine one.", '{"justification": "A fine one.", "score": 7}'])))
        >>> inquiry = Inquiry("beauty", Question(("How beautiful is it?",)), parse_prism)
        >>> asyncio.run(asker.answer(inquiry, Memory())).verdict.value.score
        7.0
        >>> asker.spending.re_asked
        1
    """

    def __init__(self, policy: AskPolicy, spending: Spending | None = None, *, concurrency: int | None = None) -> None:
        self.policy = policy
        self.spending = spending or Spending()
        self._slots = None if concurrency is None else asyncio.Semaphore(concurrency)
        self._open: dict[str, asyncio.Task[ReadReply]] = {}

    async def answer(self, inquiry: Inquiry[A], replies: Replies) -> InquiryResult[A]:
        """Return the verdict on an inquiry.

        Raises:
            StopAskingError: a limit was reached.
            InputError: for a question that the judge cannot take; not of a tolerant policy.
            SalonError: a reply cannot be written down.
        """
        if inquiry.missing is not None:
            return InquiryResult(inquiry.missing)
        policy, question, unread = self.policy, inquiry.question, Unparsed(Reason.ABSTAINED, "no judge was asked")
        judge = None if policy.judge is None else judge_for(policy.judge, inquiry.step)
        text = ""
        for ask in range(1, policy.re_asks + 2):
            step = inquiry.step if ask == 1 else f"{inquiry.step}#{ask}"
            asked = question if ask == 1 else replace(question, parts=(*question.parts, REMINDER.format(number=ask)))
            reply, outcome = await self._ask(judge, step, ask, asked, inquiry.read, replies)
            if isinstance(outcome, Parsed):
                return InquiryResult(Scored(outcome.answer))
            if isinstance(outcome, Unscored):
                return InquiryResult(outcome, lost=not policy.settles(reply))
            if inquiry.weigh is not None:
                return InquiryResult(outcome.unscored(reply.text))
            unread, text = outcome, reply.text
            self.spending.re_asked += ask <= policy.re_asks
        if policy.extractor is None or not text.strip():
            return InquiryResult(unread.unscored(text))
        parts = (EXTRACTION, foreign(question.text), foreign(text))
        restated = replace(question, parts=parts, system=None)
        self.spending.extracted += 1
        strict = replace(inquiry, parse=faithful(inquiry.parse, text)).read
        reply, outcome = await self._ask(policy.extractor, f"{inquiry.step}#extract", 0, restated, strict, replies)
        if isinstance(outcome, Parsed):
            return InquiryResult(Scored(outcome.answer))
        return InquiryResult(unread.unscored(text), lost=isinstance(outcome, Unscored) and not reply.answered)

    async def _ask(
        self, judge: Judge | None, step: str, ask: int, question: Question, read: Callable[[Reply], Any], replies: Replies
    ) -> ReadReply:
        """Return the stored or new reply to a question, parsed."""
        if (seed := self.policy.decoding_seed) is not None:
            question = replace(question, decoding=replace(question.decoding, seed=seed))
        call = Call(step, ask, question, question.request_sha256(), judge)
        key = replies.key(call)
        known = replies.known(key)
        if known is not None and self.policy.settles(known.reply):
            return await _read(known.reply, read)
        if self.policy.judge is None or judge is None:
            reply = known.reply if known else Reply("", CallStatus.CANCELLED, error="no reply to this question is stored")
            return await _read(reply, read)
        if key not in self._open:  # an equal question that is open already is waited for
            self._open[key] = asyncio.ensure_future(self._call(judge, call, key, known, read, replies))
            self._open[key].add_done_callback(lambda _: self._open.pop(key, None))
        return await self._open[key]

    async def _call(
        self, judge: Judge, call: Call, key: str, known: StoredReply | None, read: Callable[[Reply], Any], replies: Replies
    ) -> ReadReply:
        if self._slots is not None:
            await self._slots.acquire()
        try:
            refusal = self.spending.begin_call()
            if refusal is not None:
                raise StopAskingError(refusal)
            reply = await self._reply(judge, call.question)
        except _NoReplyError as error:
            return ReadReply(Reply("", CallStatus.CANCELLED, error=error.why.detail), error.why)
        finally:
            if self._slots is not None:
                self._slots.release()
        self.spending.end_call(reply, metered=not self.policy.edits)
        last = await _read(reply, read)
        attempts = [*[await _read(each, read) for each in reply.earlier], last]
        replies.keep(key, call, attempts, first=known.attempts + 1 if known else 1)
        return last

    async def _reply(self, judge: Judge, question: Question) -> Reply:
        if not self.policy.tolerant:
            return storable(await judge.ask(question))
        reply = await in_time(judge.ask(question), self.policy.timeout_s, "answer")
        if isinstance(reply, Unscored):
            raise _NoReplyError(reply)
        return storable(reply)


class _NoReplyError(Exception):
    """The judge failed or was silent for too long, and the policy is tolerant."""

    def __init__(self, why: Unscored) -> None:
        super().__init__(why.detail)
        self.why = why


class Memory:
    """Answers that were read, by question, in memory; a missing verdict is not remembered, so that it is asked again.

    Args:
        most: how many are remembered; the ones used longest ago go first.
    """

    def __init__(self, most: int = 20_000) -> None:
        self.most = most
        self._replies: OrderedDict[str, Reply] = OrderedDict()

    def key(self, call: Call) -> str:
        """Return the judge's version with the request."""
        return f"{'' if call.judge is None else call.judge.version} {call.request}"

    def known(self, key: str) -> StoredReply | None:
        """Return a reply that was read before."""
        reply = self._replies.get(key)
        if reply is None:
            return None
        self._replies.move_to_end(key)
        return StoredReply(1, reply)

    def keep(self, key: str, call: Call, attempts: Sequence[ReadReply], *, first: int) -> None:
        """Remember a reply that could be read."""
        reply, outcome = attempts[-1]
        if isinstance(outcome, Parsed):
            self._replies[key] = reply
            while len(self._replies) > self.most:
                self._replies.popitem(last=False)


def judge_for(judge: Judge, step: str) -> Judge:
    """Return the judge of a step: the judge itself, unless it leaves steps to others (``judge_of``)."""
    judge_of: Callable[[str], Judge] | None = getattr(judge, "judge_of", None)
    return judge if judge_of is None else judge_of(step)


async def in_time(call: Awaitable[T], timeout_s: float | None, what: str) -> T | Unscored:
    """Return what a judge or an editor gives, or why it gives nothing.

    Args:
        call: the question, under way.
        timeout_s: how long it may take, in seconds; None: as long as it likes.
        what: is waited for.

    Example:
        >>> async def sleepy() -> str:
        ...     await asyncio.sleep(60)
        ...     return "awake"
        >>> asyncio.run(in_time(sleepy(), 0.01, "answer")).detail
        'no answer in 0.01 s'
    """
    try:
        return await asyncio.wait_for(call, timeout_s)
    except TimeoutError:
        # The call may time out by itself, also without a limit here.
        return Unscored(Reason.TIMEOUT, f"no {what} in time" if timeout_s is None else f"no {what} in {timeout_s:g} s")
    except InputError as error:
        return Unscored(Reason.BAD_MEDIA, str(error))
    except (SalonError, OSError) as error:
        return Unscored(Reason.UNREACHABLE, f"{type(error).__name__}: {error}")


async def parse_reply(parse: Callable[[str], T], text: str) -> T:
    """Parse the text of a reply; more than 32,768 characters in a worker thread, so that the event loop continues.

    Args:
        parse: the parser; it must not depend on the thread.
        text: what a judge or a policy wrote.
    """
    return parse(text) if len(text) <= _LONG else await asyncio.to_thread(parse, text)


def storable(reply: Reply) -> Reply:
    """Return the reply as it can be stored: without lone surrogates and impossible counts, with 32 tokens at most."""
    if reply.earlier:
        reply = replace(reply, earlier=tuple(storable(each) for each in reply.earlier))
    text, error = without_surrogates(reply.text), None if reply.error is None else without_surrogates(reply.error)
    if (text, error) != (reply.text, reply.error):
        reply = replace(reply, text=text, error=error)
    if reply.tokens:
        reply = replace(reply, tokens=stored_tokens(reply.tokens))
    usage = reply.usage
    sane = Usage(_within(usage.prompt_tokens), _within(usage.completion_tokens), _within(usage.cost_usd))
    latency = _within(reply.latency_ms)
    return reply if (sane, latency) == (usage, reply.latency_ms) else replace(reply, usage=sane, latency_ms=latency)


async def _read(reply: Reply, read: Callable[[Reply], Any]) -> ReadReply:
    """Read a reply; a long one in a worker thread, so that the event loop continues."""
    return ReadReply(reply, read(reply) if len(reply.text) <= _LONG else await asyncio.to_thread(read, reply))


def _within(number: N | None) -> N | None:
    """Return a count or amount that a column can hold; None for one that cannot be meant."""
    return number if number is not None and 0 <= number < _MOST else None
