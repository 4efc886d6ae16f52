"""A judge per step of a suite: one finds the subject, another one its artifacts.

    salon bench run magicbench … --judge subject=openai:gpt-4o --judge assessment=vllm:assessor@localhost:8000

A suite names its questions (``Inquiry.step``), so a judge for each step is chosen by that name. One run, one set of rows:
the version is made of every route's, and every call's own row says which step it was.
"""

import re
from collections.abc import Mapping
from typing import Any

from pydantic import Field, SerializeAsAny

from salon_judges.clients.chat_reply import without_secrets
from salon_taxonomy.digest import Digestible, digest
from salon_taxonomy.errors import InputError
from salon_taxonomy.plugins import Closing, JudgeSettings, ManagedJudge
from salon_taxonomy.protocols import Judge, Question, Reply

ELSE = "*"
"""The route of every step that has none of its own."""
_STEP = re.compile(r"(?P<step>[A-Za-z][A-Za-z0-9_-]*|\*)=(?P<judge>.+)", re.DOTALL)


class RoutedSettings(JudgeSettings):
    """Which judge is asked at which step.

    Attributes:
        kind: ``routed``.
        routes: step → settings of its judge; ``*`` is all other steps.
    """

    routes: dict[str, SerializeAsAny[JudgeSettings]] = Field(min_length=1)

    @property
    def title(self) -> str:
        """``step=judge`` of every route, unless it is named."""
        return self.name or title_of({step: route.title for step, route in self.routes.items()})

    @property
    def version(self) -> str:
        """A digest of the versions of all routes."""
        return version_of({step: route.version for step, route in self.routes.items()})


class RoutedJudge(Closing):
    """Sends each step of a suite to the judge that was named for it.

    Args:
        routes: step → judge; ``*`` for all other steps.
        name: what tables call it; None: ``step=judge`` of every route.

    Attributes:
        settings: of the route with the most room for requests at once, to be paced by; None when none has any.
        unused: steps with a route of their own that were not asked so far; perhaps misspelled.

    Raises:
        InputError: without a route.

    Example:
        >>> import asyncio
        >>> from salon_taxonomy.testing import ReplayJudge
        >>> judge = RoutedJudge({"subject": ReplayJudge(["yes"], name="small"), "*": ReplayJudge(["no"], name="large")})
        >>> judge.name, judge.judge_of("subject").name, judge.judge_of("assessment").name
        ('*=large+subject=small', 'small', 'large')
    """

    def __init__(self, routes: Mapping[str, Judge], name: str | None = None) -> None:
        if not routes:
            raise InputError("a routed judge needs at least one route")
        self.routes = dict(routes)
        settings: list[Any] = [getattr(judge, "settings", None) for judge in routes.values()]
        limited = [route for route in settings if hasattr(route, "limits")]
        self.settings = max(limited, key=lambda route: route.limits.concurrency, default=None)
        self.unused = set(self.routes) - {ELSE}
        self._name = name or title_of({step: judge.name for step, judge in routes.items()})
        self._version = version_of({step: judge.version for step, judge in routes.items()})

    @property
    def name(self) -> str:
        """What tables call it."""
        return self._name

    @property
    def version(self) -> str:
        """A digest of the versions of all routes."""
        return self._version

    def judge_of(self, step: str) -> Judge:
        """Return the judge of a step.

        Raises:
            InputError: for a step that has no route.
        """
        whole = step.partition(".")[0]  # detail.3 is the third item of the question detail
        self.unused -= {step, whole}
        judge = self.routes.get(step) or self.routes.get(whole) or self.routes.get(ELSE)
        if judge is None:
            hint = f"Add --judge {step}=SPEC, or --judge SPEC for all other steps."
            raise InputError("no judge was named for this step of the suite", value=step, allowed=self.routes, hint=hint)
        return judge

    async def ask(self, question: Question) -> Reply:
        """Return the reply of the judge for all other steps; a question without a step is asked here.

        Raises:
            InputError: when there is no such judge.
        """
        return await self.judge_of(ELSE).ask(question)

    def hide(self, text: str) -> str:
        """Return the text without the secrets of any route."""
        return without_secrets(text, self.routes.values())

    async def close(self) -> None:
        """Close every route."""
        for judge in self.routes.values():
            if isinstance(judge, ManagedJudge):
                await judge.close()


def step_and_judge(text: str) -> tuple[str | None, str]:
    """Take ``STEP=JUDGE`` apart; a text without a step is a judge for all steps.

    Example:
        >>> step_and_judge("subject=openai:gpt-4o"), step_and_judge("cache:replies=openai:gpt-4o")
        (('subject', 'openai:gpt-4o'), (None, 'cache:replies=openai:gpt-4o'))
    """
    match = _STEP.fullmatch(text)
    return (match["step"], match["judge"]) if match else (None, text)


def title_of(names: Mapping[str, str]) -> str:
    """Return ``step=judge+step=judge``, in the order of the steps."""
    return "+".join(f"{step}={names[step]}" for step in sorted(names))


def version_of(versions: Mapping[str, str]) -> str:
    """Return a digest of the versions of all routes."""
    routes: dict[str, Digestible] = dict(versions)
    return digest("routed", routes)
