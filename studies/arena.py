"""Simulated raters of known quality vote over HTTP; what the arena concludes is compared with what is true.

Good raters answer by planted strengths. Careless ones answer fast and at random. Malicious ones always favour one model. All go
through the requests of the pages, the scheduler, the anchors and the live checks: ``python -m studies.arena``.
"""

import asyncio
import json
import random
import tempfile
import threading
import time
import uuid
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from salon_arena.app import create_app, csrf_token
from salon_arena.battles import BattleRules
from salon_arena.database import ArenaDatabase
from salon_arena.demo import simulated_choice
from salon_arena.material import KnownPair, read_material
from salon_arena.quality import LiveChecks, flagged
from salon_arena.service import WorkService, vote_service
from salon_synthetic.scenes.drawing import png
from salon_synthetic.scenes.scene import Scene
from salon_taxonomy.errors import InputError
from salon_taxonomy.records import Winner

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.applications import Starlette

_STEP_US: Final = 50_000
_FEW: Final = 2


@dataclass(frozen=True, slots=True)
class SimulatedArena:
    """What a simulation found.

    Attributes:
        votes: that were acknowledged.
        counted: of them on the board at the end.
        error: root mean square of the differences between rated and planted strengths, in Elo points, both centred.
        covered: models, but for the fixed one, whose planted strength lies in the 95% interval.
        models: how many that could be.
        flagged: raters that the checks flagged.
        caught: of them careless or malicious.
        bad: careless or malicious raters who voted.
    """

    votes: int
    counted: int
    error: float
    covered: int
    models: int
    flagged: int
    caught: int
    bad: int


class HttpRater:
    """One connection that asks and votes as the page does.

    Args:
        port: of the arena, on this machine.
        token: the secret of a session.
    """

    def __init__(self, port: int, token: str) -> None:
        self._port = port
        self._head = f"Host: 127.0.0.1\r\nCookie: salon={token}\r\nX-CSRF-Token: {csrf_token(token)}\r\n"
        self._tasks: list[dict[str, Any]] = []
        self.times: dict[str, list[float]] = {}
        """Seconds that each reply took, by path."""

    async def open(self) -> None:
        """Connect."""
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)

    async def next(self) -> dict[str, Any] | None:
        """Return the next task; None when the arena has none for this rater."""
        if len(self._tasks) <= _FEW:
            self._tasks = (await self._post("/tasks", {}))["tasks"]
        return self._tasks.pop(0) if self._tasks else None

    async def answer(self, task: Mapping[str, Any], choice: str, elapsed_ms: int, number: int) -> str:
        """Fetch the files, and send an answer with an id made of ``number``; returns the id when it was acknowledged."""
        for address in task["media"]:
            await self._ask(f"GET {address}", "/media", b"")
        body = {"answer_id": str(uuid.UUID(int=number, version=4)), "choice": choice, "elapsed_ms": elapsed_ms}
        reply = await self._post("/answers", {**body, "assignment": task["assignment"]})
        return str(reply["answer_id"])

    async def _post(self, path: str, body: object) -> dict[str, Any]:
        reply: dict[str, Any] = json.loads(await self._ask(f"POST {path}", path, json.dumps(body).encode()))
        return reply

    async def _ask(self, request: str, path: str, body: bytes) -> bytes:
        """Send a request and return the body of its reply; the time it took is noted for ``path``."""
        head = f"{request} HTTP/1.1\r\n{self._head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        started = time.perf_counter()
        self._writer.write(head.encode() + body)
        status = int((await self._reader.readline()).split()[1])
        length = 0
        while (line := await self._reader.readline()) != b"\r\n":
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        reply = await self._reader.readexactly(length)
        self.times.setdefault(path, []).append(time.perf_counter() - started)
        if status != 200:
            raise ConnectionError(f"{path}: {status} {reply[:200]!r}")
        return reply

    def close(self) -> None:
        """Close the connection."""
        self._writer.close()


def simulate(
    *,
    votes: int = 6000,
    raters: int = 100,
    careless: float = 0.1,
    malicious: float = 0.05,
    models: int = 6,
    prompts: int = 200,
    seed: int = 0,
) -> SimulatedArena:
    """Let raters of known quality vote over HTTP in a new arena, and compare its conclusions with the truth.

    Args:
        votes: how many, at least one per rater.
        raters: how many, at least 2.
        careless: share of raters who answer fast and at random.
        malicious: share of raters who always favour the weakest model.
        models: how many, at least 3; strengths lie evenly from 1,000 to 1,300 Elo points.
        prompts: how many.
        seed: of everything but the order in which replies arrive.

    Raises:
        InputError: a number is too small, or a share is outside [0, 1].
    """
    for name, value, least in (("votes", votes, raters), ("raters", raters, 2), ("models", models, 3), ("prompts", prompts, 1)):
        if value < least:
            raise InputError(f"{name} must be {least:,} or more, not", value=value)
    if careless < 0 or malicious < 0 or careless + malicious > 1:
        raise InputError("careless and malicious must be shares whose sum is at most 1, not", value=(careless, malicious))
    strengths = {f"model-{number:02d}": 1000.0 + 300.0 * number / (models - 1) for number in range(models)}
    clock = _Clock()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_material(folder, strengths, prompts)
        material = read_material(folder / "pictures", folder / "prompts.jsonl")
        files = {(file.model, file.prompt_id): file for file in material.files}
        worst, best = min(strengths, key=strengths.__getitem__), max(strengths, key=strengths.__getitem__)
        anchors = [KnownPair(files[best, key], files[worst, key], Winner.MODEL_A) for key in material.prompts]
        with ArenaDatabase.open(folder / "arena.db") as database:
            rules = BattleRules(anchors=anchors)
            service = vote_service(database, material, rules=rules, seed=seed, clock=clock)
            sessions = [service.people.join().result() for _ in range(raters)]
            kinds = _kinds(raters, careless, malicious)
            application = create_app(service, answers_per_second=1e9)
            with served(application) as port:
                clients = [HttpRater(port, session.token) for session in sessions]
                crowd = _Crowd(service, clock, strengths, worst, seed)
                vote_count = asyncio.run(crowd.vote(clients, kinds, votes))
            clock.now += 11_000_000
            service.settle_due().result()
            bad = {session.rater_id for session, kind in zip(sessions, kinds, strict=True) if kind != "good"}
            return _concluded(database, service, strengths, bad, vote_count)


@contextmanager
def served(application: "Starlette") -> "Iterator[int]":
    """Serve an application on a free port of this machine; yields the port."""
    import uvicorn

    config = uvicorn.Config(  # no date, as of the command: it differs between two replies at the turn of a second
        application, port=0, log_level="warning", access_log=False, timeout_keep_alive=600, date_header=False
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    thread.join()


class _Clock:
    """Microseconds that the simulation moves."""

    def __init__(self) -> None:
        self.now = 1_700_000_000_000_000

    def __call__(self) -> int:
        return self.now


class _Crowd:
    """Decides what each rater answers, and how fast."""

    def __init__(self, service: WorkService, clock: _Clock, strengths: Mapping[str, float], favoured: str, seed: int) -> None:
        self._service = service
        self._clock = clock
        self._strengths = strengths
        self._favoured = favoured
        self._seed = seed
        self._left = 0

    async def vote(self, raters: list[HttpRater], kinds: list[str], votes: int) -> int:
        """Let all raters vote concurrently until so many votes are cast; return how many were acknowledged."""
        self._left = votes
        counts = await asyncio.gather(*(self._one(number, rater, kinds[number]) for number, rater in enumerate(raters)))
        return sum(counts)

    async def _one(self, number: int, rater: HttpRater, kind: str) -> int:
        generator = random.Random(f"rater {self._seed} {number}")  # noqa: S311 - simulated answers, no secret
        acknowledged = 0
        await rater.open()
        while self._left > 0:
            self._left -= 1
            task = await rater.next()
            if task is None:
                break
            self._clock.now += _STEP_US
            payload = self._service.payload_of(task["assignment"])
            left, right = (file["model"] for file in payload["files"])
            elapsed = int(generator.lognormvariate(5.5 if kind == "careless" else 8.3, 0.3))
            await rater.answer(task, self._choice(generator, kind, left, right), elapsed, generator.getrandbits(128))
            acknowledged += 1
        rater.close()
        return acknowledged

    def _choice(self, generator: random.Random, kind: str, left: str, right: str) -> str:
        if kind == "careless":
            return generator.choice(("left", "right", "both_good", "both_bad"))
        if kind == "malicious" and self._favoured in (left, right):
            return "left" if left == self._favoured else "right"
        return simulated_choice(generator, self._strengths[left], self._strengths[right])


def _kinds(raters: int, careless: float, malicious: float) -> list[str]:
    bad = ["careless"] * round(raters * careless) + ["malicious"] * round(raters * malicious)
    return [*bad, *["good"] * (raters - len(bad))]


def _write_material(folder: Path, strengths: Mapping[str, float], prompts: int) -> None:
    keys = [f"p{number:04d}" for number in range(prompts)]
    rows = ({"prompt_id": key, "prompt": f"prompt {key}"} for key in keys)
    (folder / "prompts.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    picture = png(Scene())
    for model in strengths:
        (model_folder := folder / "pictures" / model).mkdir(parents=True)
        for key in keys:
            (model_folder / f"{key}.png").write_bytes(picture)


def _concluded(
    database: ArenaDatabase, service: WorkService, strengths: Mapping[str, float], bad: set[str], vote_count: int
) -> SimulatedArena:
    board = service.task.board
    if board is None:
        raise TypeError("battles have a board")
    LiveChecks(database, board.refresh).run()
    flagged_raters = database.read(flagged)
    ranked = board.ranked()
    rows = [row for row in ranked.rows if row["rating"] is not None]
    if not rows:
        raise InputError(f"too few votes for a board: {ranked.reason}", value=vote_count)
    shift = sum(row["rating"] - strengths[row["model"]] for row in rows) / len(rows)
    error = (sum((row["rating"] - strengths[row["model"]] - shift) ** 2 for row in rows) / len(rows)) ** 0.5
    [base] = [row["model"] for row in rows if row["model"] in (ranked.board.baselines if ranked.board else ())]
    inside = [
        row["ci_low"] <= 1000.0 + strengths[row["model"]] - strengths[base] <= row["ci_high"]
        for row in rows
        if row["model"] != base
    ]
    return SimulatedArena(
        vote_count, ranked.votes, error, sum(inside), len(inside), len(flagged_raters), len(flagged_raters & bad), len(bad)
    )


@click.command()
@click.option("--votes", type=int, default=6000, show_default=True, help="How many.")
@click.option("--raters", type=int, default=100, show_default=True, help="How many vote side by side.")
@click.option("--careless", type=float, default=0.1, show_default=True, help="Share of raters who answer fast, at random.")
@click.option("--malicious", type=float, default=0.05, show_default=True, help="Share who always favour the weakest model.")
@click.option("--models", type=int, default=6, show_default=True, help="How many, from 1,000 to 1,300 Elo points.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of material, plan and answers.")
def main(**options: Any) -> None:
    """Let raters of known quality vote over HTTP, and compare what the arena concludes with the truth."""
    result = simulate(**options)
    click.echo(f"{result.votes:,} votes; {result.counted:,} count on the board.")
    click.echo(f"{result.flagged:,} raters flagged; {result.caught:,} of {result.bad:,} careless or malicious ones among them.")
    click.echo(f"Ratings are {result.error:.1f} Elo points from the true strengths of the simulated models (root mean square).")
    click.echo(f"{result.covered:,} of {result.models:,} strengths lie in their 95% intervals.")


if __name__ == "__main__":
    main()
