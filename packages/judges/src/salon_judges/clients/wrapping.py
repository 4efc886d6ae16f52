"""Judges around a judge: what a cache and a batch folder have in common.

Each is named ``KIND:PATH=JUDGE`` (``cache:replies=vllm:qwen@localhost:8000``) and passes for the judge within: same name,
same version, because none of them changes a reply.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import Field, SerializeAsAny

from salon_judges.clients.chat_reply import without_secrets
from salon_taxonomy.errors import InputError
from salon_taxonomy.plugins import Closing, JudgeSettings, ManagedJudge
from salon_taxonomy.protocols import Judge, Question, Reply
from salon_taxonomy.records import CallStatus


class WrappedSettings(JudgeSettings):
    """The settings of a judge around another one.

    Attributes:
        kind: ``cache`` or ``batch``.
        path: the folder that it keeps, absolute.
        judge: the settings of the judge within.
    """

    path: str = Field(min_length=1)
    judge: SerializeAsAny[JudgeSettings]

    @property
    def title(self) -> str:
        """What tables call the judge: as the judge within, unless it is named."""
        return self.name or self.judge.title

    @property
    def version(self) -> str:
        """The version of the judge within."""
        return self.judge.version


class AbsentJudge(Closing):
    """A judge that never answers, with the name and version of the one that did.

    Its replies have the status ``cancelled`` (no judge was asked), so a question is unscored as ``abstained`` and asked again
    by a later start.

    Args:
        name: of the other judge.
        version: of that judge.
        why: the error of each reply.

    Attributes:
        missing: how many questions it was asked.
    """

    def __init__(self, name: str, version: str, why: str = "no judge is asked here") -> None:
        self.name, self.version = name, version
        self.missing = 0
        self._why = why

    async def ask(self, question: Question) -> Reply:
        """Return a cancelled reply."""
        self.missing += 1
        return Reply("", CallStatus.CANCELLED, self.version, error=self._why)

    async def close(self) -> None:
        """Do nothing: nothing is open."""


class WrappedJudge(Closing):
    """Passes for the judge within, and is closed with it. Subclasses say what ``ask`` does.

    Args:
        judge: the judge within.
        name: what tables call it; None: as the judge within.

    Attributes:
        settings: of the judge within; None when it has none.
    """

    def __init__(self, judge: Judge, name: str | None = None) -> None:
        self.judge = judge
        self.settings = getattr(judge, "settings", None)
        self._name = name

    @property
    def name(self) -> str:
        """What tables call it."""
        return self._name or self.judge.name

    @property
    def version(self) -> str:
        """The version of the judge within."""
        return self.judge.version

    def __repr__(self) -> str:
        """Return the name of its class around the judge within."""
        return f"{type(self).__name__}({self.judge!r})"

    def hide(self, text: str) -> str:
        """Return the text without the secrets of the judge within."""
        return without_secrets(text, (self.judge,))

    async def close(self) -> None:
        """Close the judge within, if it can be."""
        if isinstance(self.judge, ManagedJudge):
            await self.judge.close()


def path_and_judge(kind: str, text: str) -> tuple[str, str]:
    """Take ``PATH=JUDGE`` apart; the path comes back absolute.

    Raises:
        InputError: when there is no path or no judge.
    """
    path, equals, judge = text.partition("=")
    if not path or not equals or not judge:
        hint = f"For instance {kind}:replies=vllm:qwen2.5-vl@localhost:8000."
        raise InputError(f"{kind} needs a path and the judge within, PATH=JUDGE", hint=hint)
    return str(Path(path).absolute()), judge


def within(document: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return the part of a document that holds the settings of the judge within.

    Raises:
        InputError: when it is missing or no table.
    """
    settings = document.get("judge")
    if isinstance(settings, dict):
        return settings
    raise InputError(f"{kind} needs the settings of the judge within", key="judge", hint="Write them under [judge].")


_MOST_NAMED = 3


def remarks_of(judge: object) -> list[str]:
    """Return lines for people about a judge and the judges within it, each once.

    Works on what a judge has (``cache``, ``written``, ``missing``, ``unused``, ``judge``, ``routes``), so nothing is imported
    that the run did not need.

    Example:
        >>> import asyncio, tempfile
        >>> from salon_judges.clients import ChatSettings, CollectingJudge
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
        named = ", ".join(f"{entry.path} {entry.problem}" for entry in counts.damaged[:_MOST_NAMED])
        yield f"{len(counts.damaged)} damaged entries of the cache were not used: {named}"
    if counts is not None and counts.not_kept:
        yield f"a reply could not be kept in the cache: {counts.not_kept}"
    written: list[Path] = getattr(judge, "written", [])
    for path in written:
        yield f"{path} is to be submitted as a batch"
    missing = getattr(judge, "missing", 0)
    if missing:
        yield f"{missing} questions had no reply in the cache"
    for step in sorted(getattr(judge, "unused", ())):
        yield f"the suite asked nothing at step {step!r}: the judge that was named for it was not used"
    for inner in (getattr(judge, "judge", None), *getattr(judge, "routes", {}).values()):
        if inner is not None:
            yield from _remarks(inner)
