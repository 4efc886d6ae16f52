"""A judge behind an OpenAI-compatible server: vLLM, SGLang, llama.cpp, or a hosted API.

Question ── chat_request ──► bytes ── calling (pacing, endpoint, retrying) ──► Reply
"""

from collections.abc import Mapping
from typing import Self

from salon_judges.clients.chat_request import ChatRequests
from salon_judges.clients.endpoint import Endpoint
from salon_judges.clients.pacing import Clock, SystemClock
from salon_judges.clients.pictures import PictureParts
from salon_judges.clients.retry import Calls
from salon_judges.clients.secrets import Secrets
from salon_judges.clients.settings import ChatSettings
from salon_taxonomy.errors import InputError
from salon_taxonomy.plugins import Closing
from salon_taxonomy.protocols import Question, Reply


class OpenAICompatibleJudge(Closing):
    """Asks ``POST {base_url}/chat/completions``; every failure is a :class:`~salon_taxonomy.protocols.Reply`.

    Args:
        settings: everything but the secrets.
        environment: where the secrets are found that the settings name.
        pictures: encoded pictures, to be shared with other judges; its own by default.
        clock: tells the time; a test's need not wait.

    Attributes:
        settings: as given.
        pacing: how fast the server is asked; ``pacing.places.limit`` is the number at once at the moment.

    Raises:
        InputError: when a secret that the settings name is not in the environment.

    Example:
        >>> import asyncio
        >>> from salon_judges.testing.mock_server import MockServer
        >>> async def main() -> str:
        ...     async with MockServer() as server:
        ...         settings = ChatSettings(model="mock", base_url=server.url)
        ...         async with OpenAICompatibleJudge(settings) as judge:
        ...             return (await judge.ask(Question(("Is this AI-generated?",)))).text
        >>> asyncio.run(main())
        'ok'
    """

    def __init__(
        self,
        settings: ChatSettings,
        environment: Mapping[str, str] | None = None,
        *,
        pictures: PictureParts | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.settings = settings
        self._version = settings.version
        clock = clock or SystemClock()
        self._requests = ChatRequests(settings, pictures or PictureParts())
        self._secrets = Secrets.of(settings, environment or {})
        self._endpoint = Endpoint(settings, self._secrets, self._version, clock)
        self._calls = Calls(settings.limits, self._endpoint.post, clock)
        self.pacing = self._calls.pacing

    @property
    def name(self) -> str:
        """What tables call it."""
        return self.settings.title

    @property
    def version(self) -> str:
        """See :attr:`ChatSettings.version`."""
        return self._version

    def __repr__(self) -> str:
        """Return name, address and version; no secrets."""
        return f"OpenAICompatibleJudge({self.name!r} at {self.settings.base_url}, version {self._version})"

    def __reduce__(self) -> tuple[type[Self], tuple[ChatSettings]]:
        """Pickle by settings; a judge with a key is refused, because the file would contain the key.

        Raises:
            InputError: for a judge with secrets.
        """
        if self._secrets.headers:
            hint = "Open it again where it is needed: open_judge(…, environment)."
            raise InputError("a judge with a key cannot be pickled", value=self.name, hint=hint)
        return type(self), (self.settings,)

    def hide(self, text: str) -> str:
        """Return the text without the keys that this judge sends."""
        return self._secrets.hide(text)

    async def close(self) -> None:
        """Close all connections; the next question opens new ones."""
        await self._endpoint.close()

    async def ask(self, question: Question) -> Reply:
        """Answer one question, in as many attempts as it takes and the limits allow.

        Raises:
            InputError: for a question with media that this judge cannot be shown.
        """
        pieces = await self._requests.write(question)
        most_tokens = self._requests.decoding(question).max_tokens if self.settings.limits.tokens_per_minute else 0
        return await self._calls.reply(pieces, most_tokens)
