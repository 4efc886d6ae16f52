"""Measure the cost of one call of the HTTP judge, beside a bare aiohttp loop.

Run with ``python benchmarks/bench_judges.py [calls]``: 64 at once, 5 ms latency, the server in a process of its own. The third
line sends 200 KB pictures, each of them twice.
"""

import asyncio
import json
import resource
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from random import Random

import aiohttp

from salon_judges.clients import ChatSettings, OpenAICompatibleJudge, ServerLimits
from salon_taxonomy.protocols import Media, Question

CONCURRENCY = 64
PROMPT = "Judge the picture on a scale from 0 to 10, and say why. " * 8
SERVER = """
import asyncio
from salon_judges.testing.mock_server import Latency, MockServer, Script, fixed

async def main():
    reply = fixed('{"score": 7, "justification": "fine"}')
    async with MockServer(Script(rule=reply, latency=Latency.fixed(5))) as server:
        print(server.url, flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


async def measure(name: str, calls: int, call: Callable[[int], Awaitable[object]]) -> None:
    """Make the calls and print their rate and their share of this process's CPU time."""
    numbers = iter(range(calls))

    async def work() -> None:
        for number in numbers:
            await call(number)

    before, began = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    await asyncio.gather(*(work() for _ in range(CONCURRENCY)))
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(
        f"{name:24} {calls / wall:8.0f} calls/s {1000 * cpu / calls:8.3f} ms CPU/call {after.ru_maxrss / 1024:6.0f} MB at most"
    )


async def compare(url: str, calls: int) -> None:
    """The bare loop, the judge, and the judge with pictures."""
    headers = {"Content-Type": "application/json"}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=CONCURRENCY), headers=headers) as session:

        async def bare(number: int) -> None:
            body = json.dumps({"model": "m", "messages": [{"role": "user", "content": f"{PROMPT}{number}"}]}).encode()
            async with session.post(f"{url}/chat/completions", data=body) as reply:
                assert json.loads(await reply.read())["choices"]

        await measure("bare aiohttp", calls, bare)
    settings = ChatSettings(model="m", base_url=url, limits=ServerLimits(concurrency=CONCURRENCY))
    async with OpenAICompatibleJudge(settings) as judge:

        async def plain(number: int) -> None:
            assert (await judge.ask(Question((f"{PROMPT}{number}",)))).problem() is None

        await measure("judge", calls, plain)
        pictures = [Media.from_bytes(b"\x89PNG\r\n\x1a\n" + Random(number).randbytes(200_000)) for number in range(300)]

        async def shown(number: int) -> None:
            assert (await judge.ask(Question((PROMPT, pictures[number // 2])))).problem() is None

        await measure("judge, 200 KB pictures", 600, shown)


if __name__ == "__main__":
    server = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        asyncio.run(compare(server.stdout.readline().strip(), int(sys.argv[1]) if len(sys.argv) > 1 else 4000))
    finally:
        server.terminate()
        server.wait()
