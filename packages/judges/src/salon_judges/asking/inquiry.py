"""One question with the parser of its answer, and generators that yield such questions."""

from collections.abc import Awaitable, Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from salon_taxonomy.answers import Outcome, Unparsed
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Question, Reply, Token
from salon_taxonomy.records import Finish
from salon_taxonomy.verdict import Reason, Unscored, Verdict

A = TypeVar("A")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Inquiry(Generic[A]):
    """One question of a suite, an ask or a reward about a case, with the parser of its reply.

    Attributes:
        step: its name, unique within the case: "subject", "assessment". Stands in ``judge_calls.step``.
        question: what the judge is asked.
        parse: reads the raw reply; never raises. A reply it cannot read is asked for again, as often as the policy allows.
        weigh: reads the log-probabilities of the reply's first tokens, in place of ``parse``; never raises. The question is
            asked once: its decoding has ``top_logprobs``, and no other reply and no restatement takes the place of the first.
        missing: why it cannot be asked; its verdict, and no judge sees it.
    """

    step: str
    question: Question
    parse: Callable[[str], Outcome[A]]
    weigh: Callable[[Sequence[Token]], Outcome[A]] | None = None
    missing: Unscored | None = None

    def read(self, reply: Reply) -> Outcome[A] | Unscored:
        """Return the answer of a reply, or the reason why it is missing.

        A reply that was cut off is read by its first tokens. One without log-probabilities has no answer, whatever it says.

        Example:
            >>> from salon_taxonomy.answers import parse_yes_or_no
            >>> Inquiry("there", Question(("Is it there?",)), parse_yes_or_no).read(Reply("yes")).answer
            True
        """
        problem = reply.problem()
        if self.weigh is None:
            return self.parse(reply.text) if problem is None else problem
        if problem is not None and not (reply.answered and reply.finish is Finish.LENGTH):
            return problem
        if not reply.tokens:
            who = "the stored reply has" if reply.cached else "the judge reports"
            return Unparsed(Reason.NOT_REPORTED, f"{who} no log-probabilities")
        return self.weigh(reply.tokens)


Inquiries: TypeAlias = Generator[Inquiry[Any], Verdict[Any], R]
"""Yields inquiries, is sent a verdict for each, returns a result. Pure: the same verdicts give the same result."""


def drive(inquiries: Inquiries[R], answer: Callable[[Inquiry[Any]], Verdict[Any]]) -> R:
    """Send the verdict of ``answer`` for every inquiry, and return the result.

    Raises:
        InputError: two inquiries of one case have the same step.
    """
    steps: set[str] = set()
    try:
        inquiry = next(inquiries)
        while True:
            inquiry = inquiries.send(answer(_new(inquiry, steps)))
    except StopIteration as end:
        result: R = end.value
        return result
    finally:
        inquiries.close()


async def drive_async(inquiries: Inquiries[R], answer: Callable[[Inquiry[Any]], Awaitable[Verdict[Any]]]) -> R:
    """Await the verdict of ``answer`` for every inquiry, and return the result.

    Raises:
        InputError: two inquiries of one case have the same step.
    """
    steps: set[str] = set()
    try:
        inquiry = next(inquiries)
        while True:
            inquiry = inquiries.send(await answer(_new(inquiry, steps)))
    except StopIteration as end:
        result: R = end.value
        return result
    finally:
        inquiries.close()


def _new(inquiry: Inquiry[Any], steps: set[str]) -> Inquiry[Any]:
    if inquiry.step in steps:
        raise InputError("two questions of one case have the same name", column="step", value=inquiry.step)
    steps.add(inquiry.step)
    return inquiry
