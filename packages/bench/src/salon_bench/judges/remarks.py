"""Remarks of wrapping judges after a run: damaged entries, files to submit, missing replies."""

from collections.abc import Iterator
from pathlib import Path

_MOST_NAMED = 3


def remarks_of(judge: object) -> list[str]:
    """Lines for people about a judge and the judges within it, each once.

    Works on what a judge has (``cache``, ``written``, ``missing``, ``unused``, ``judge``, ``routes``), so nothing is imported
    that the run did not need.

    Example:
        >>> import asyncio, tempfile
        >>> from salon_bench.judges import ChatSettings, CollectingJudge
        >>> from salon_taxonomy.protocols import Question
        >>> async def main() -> CollectingJudge:
        ...     settings = ChatSettings(model="m", base_url="http://localhost/v1")
        ...     async with CollectingJudge(settings, tempfile.mkdtemp()) as judge:
        ...         await judge.ask(Question(("Is this AI-generated?",)))
        ...         return judge
        >>> remarks_of(asyncio.run(main()))[0].rpartition("/")[2]
        'requests-001.jsonl is to be submitted as a batch'
    """
    return list(dict.fromkeys(_remarks(judge)))


def _remarks(judge: object) -> Iterator[str]:
    counts = getattr(getattr(judge, "cache", None), "counts", None)
    if counts is not None and counts.damaged:
        named = ", ".join(f"{each.path} {each.problem}" for each in counts.damaged[:_MOST_NAMED])
        yield f"{len(counts.damaged)} damaged entries of the cache were not used: {named}"
    if counts is not None and counts.not_kept:
        yield f"a reply could not be kept in the cache: {counts.not_kept}"
    written: list[Path] = getattr(judge, "written", [])
    for path in written:
        yield f"{path} is to be submitted as a batch"
    missing = getattr(judge, "missing", 0)
    if missing:
        yield f"{missing} questions were not in the recording"
    for step in sorted(getattr(judge, "unused", ())):
        yield f"the suite asked nothing at step {step!r}: the judge that was named for it was not used"
    for each in (getattr(judge, "judge", None), *getattr(judge, "routes", {}).values()):
        if each is not None:
            yield from _remarks(each)
