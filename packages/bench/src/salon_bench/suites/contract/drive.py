"""Drive the generator of a suite: answer each inquiry, and return the rows of the case."""

from collections.abc import Awaitable, Callable
from typing import Any

from salon_bench.suites.contract.suite import Examination, Inquiry
from salon_taxonomy.errors import InputError
from salon_taxonomy.records import Record
from salon_taxonomy.verdict import Verdict


def drive(examination: Examination, answer: Callable[[Inquiry[Any]], Verdict[Any]]) -> tuple[Record, ...]:
    """Send the verdict of ``answer`` for every inquiry, and return the rows.

    Raises:
        InputError: two inquiries of one case have the same step.
    """
    steps: set[str] = set()
    try:
        inquiry = next(examination)
        while True:
            inquiry = examination.send(answer(_new(inquiry, steps)))
    except StopIteration as end:
        return tuple(end.value or ())
    finally:
        examination.close()


async def drive_async(
    examination: Examination, answer: Callable[[Inquiry[Any]], Awaitable[Verdict[Any]]]
) -> tuple[Record, ...]:
    """Await the verdict of ``answer`` for every inquiry, and return the rows.

    Raises:
        InputError: two inquiries of one case have the same step.
    """
    steps: set[str] = set()
    try:
        inquiry = next(examination)
        while True:
            inquiry = examination.send(await answer(_new(inquiry, steps)))
    except StopIteration as end:
        return tuple(end.value or ())
    finally:
        examination.close()


def _new(inquiry: Inquiry[Any], steps: set[str]) -> Inquiry[Any]:
    if inquiry.step in steps:
        raise InputError("a suite gave two questions of one case the same name", column="step", value=inquiry.step)
    steps.add(inquiry.step)
    return inquiry
