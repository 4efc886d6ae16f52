"""A judge that is not asked twice: equal questions share one reply, across runs, processes and machines.

The key is the judge's version and the question's ``request_sha256``: everything that can change the reply. Only whole
replies are kept, never a failure, a refusal, or a text that was cut off.
"""

import asyncio

from salon_bench.judges.cache import ResponseCache
from salon_bench.judges.wrapping import WrappedJudge
from salon_taxonomy.protocols import Judge, Question, Reply, Usage


class CachedJudge(WrappedJudge):
    """Looks into a cache before it asks. Equal questions that are asked at the same time make one call.

    A reply that nothing was sent for has ``cached`` set and costs 0 tokens and 0 USD. When the one call of several equal
    questions fails, they fail together; it is not tried again for each of them.

    Args:
        judge: the judge within.
        cache: where replies are kept; many judges may share one.
        name: what tables call it; None: as the judge within.

    Example:
        >>> import tempfile
        >>> from salon_taxonomy.testing import ReplayJudge
        >>> judge = CachedJudge(ReplayJudge(["yes"]), ResponseCache(tempfile.mkdtemp()))
        >>> question = Question(("Is this AI-generated?",))
        >>> replies = [asyncio.run(judge.ask(question)) for _ in range(2)]
        >>> [(reply.text, reply.cached) for reply in replies]
        [('yes', False), ('yes', True)]
    """

    def __init__(self, judge: Judge, cache: ResponseCache, name: str | None = None) -> None:
        super().__init__(judge, name)
        self.cache = cache
        self._flights: dict[str, asyncio.Future[Reply | None]] = {}

    async def ask(self, question: Question) -> Reply:
        """The kept reply, or the judge's.

        Raises:
            InputError: as the judge within.
        """
        request = question.request_sha256()
        while (flight := self._flights.get(request)) is not None:
            reply = await asyncio.shield(flight)
            if reply is not None:
                self.cache.counts.hits += 1
                return _shared(reply)
        found = self.cache.find(self.version, request)
        if found is not None:
            self.cache.counts.hits += 1
            return found
        self.cache.counts.misses += 1
        flight = self._flights[request] = asyncio.get_running_loop().create_future()
        landed: Reply | None = None
        try:
            landed = await self.judge.ask(question)
            self.cache.keep(self.version, request, landed)
            return landed
        finally:
            del self._flights[request]
            flight.set_result(landed)  # None: this caller was cancelled, or the question refused; the next one asks


def _shared(reply: Reply) -> Reply:
    return Reply(
        reply.text,
        reply.status,
        reply.version,
        reply.finish,
        usage=Usage(0, 0, 0.0),
        tokens=reply.tokens,
        http_status=reply.http_status,
        error=reply.error,
        cached=True,
    )
