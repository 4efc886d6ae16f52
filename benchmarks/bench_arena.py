"""How many votes an arena takes over HTTP, how long its replies take, and how long it takes to start.

Not part of the tests; run with ``just benchmark``. Or, with rates and seconds of your own:

    python -m benchmarks.bench_arena votes --rate 300 --seconds 60
    python -m benchmarks.bench_arena first        # from the command to the first vote, with 100,000 files, twice

500 raters hold a connection each, ask for tasks as the page does (four at once, again when two are left), and vote at random
moments. Nothing fetches pictures: their cost is that of JPEG, measured by itself.
"""

import argparse
import asyncio
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

MODELS, PROMPTS, SAMPLES, RATERS = 50, 377, 4, 500
Benchmark = Callable[..., Any]


def write_material(folder: Path, models: int = MODELS, prompts: int = PROMPTS, samples: int = SAMPLES) -> None:
    """Empty files under the names that an arena looks for."""
    keys = [f"p{number:03d}" for number in range(prompts)]
    rows = [{"prompt_id": key, "prompt": f"prompt {key}", "scenario": f"s{place % 5}"} for place, key in enumerate(keys)]
    (folder / "prompts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for model in range(models):
        (made := folder / "pictures" / f"model-{model:03d}").mkdir(parents=True)
        for key in keys:
            for sample in range(samples):
                (made / f"{key}.{sample}.png").touch()


def serve(folder: Path) -> None:
    """Serve with 500 raters who have joined; prints the port and their secrets."""
    import uvicorn

    from salon_arena import ArenaDatabase, create_app, read_material, vote_service
    from salon_arena.blind import BUCKET, PICTURE_TYPE, BlindMedia, BlindSet

    pair = BlindSet((bytes(BUCKET),) * 2, PICTURE_TYPE, ("0" * 64,) * 2)
    BlindMedia.prepared = lambda self, files: pair  # type: ignore[method-assign]  # encoded before: votes are measured
    with ArenaDatabase.open(folder / "arena.db") as database:
        service = vote_service(database, read_material(folder / "pictures", folder / "prompts.jsonl"))
        tokens = [future.result().token for future in [service.people.join() for _ in range(RATERS)]]
        config = uvicorn.Config(create_app(service), port=0, access_log=False, log_level="warning", timeout_keep_alive=600)
        server = uvicorn.Server(config)

        async def run() -> None:
            serving = asyncio.create_task(server.serve())
            while not server.started:
                await asyncio.sleep(0.01)
            port = server.servers[0].sockets[0].getsockname()[1]
            sys.stdout.write(json.dumps({"port": port, "tokens": tokens}) + "\n")
            sys.stdout.flush()
            await serving

        asyncio.run(run())


async def vote(rater: Any, seed: int, pause: float, until: float) -> list[str]:
    """Vote at random moments, ``pause`` seconds apart on average; returns the acknowledged ids.

    The moments do not depend on the replies: who had to wait votes again at once.
    """
    generator = random.Random(seed)
    acknowledged = []
    await rater.open()
    moment = time.perf_counter() + generator.random() * pause
    while moment < until:
        await asyncio.sleep(moment - time.perf_counter())
        task = await rater.next()
        choice = generator.choice(["left", "right", "both_good", "both_bad"])
        acknowledged.append(await rater.answer(task, choice, 900, generator.getrandbits(128)))
        moment += generator.expovariate(1 / pause)
    rater.close()
    return acknowledged


def measure(rate: float, seconds: float) -> dict[str, float]:
    """Votes per second, and milliseconds of replies, at a wanted rate; fails if a vote was lost or doubled."""
    from salon_arena import ArenaDatabase
    from salon_arena.verify import verify_answers
    from studies.arena import HttpRater

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_material(folder)
        server = subprocess.Popen([sys.executable, __file__, "serve", name], stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        ready = json.loads(server.stdout.readline())
        raters = [HttpRater(ready["port"], token) for token in ready["tokens"]]

        async def run() -> list[str]:
            until = time.perf_counter() + seconds
            found = await asyncio.gather(*(vote(rater, seed, len(raters) / rate, until) for seed, rater in enumerate(raters)))
            return [answer for part in found for answer in part]

        used, started = _cpu_s(server.pid), time.perf_counter()
        acknowledged = asyncio.run(run())
        took, used = time.perf_counter() - started, _cpu_s(server.pid) - used
        server.terminate()
        server.wait()
        with ArenaDatabase.open(folder / "arena.db") as database:
            stored = database.read(lambda c: list(c.exec_driver_sql("SELECT answer_id FROM answers").scalars()))
            assert sorted(stored) == sorted(acknowledged), "a vote was lost or doubled"
            assert verify_answers(database).problems == ()
    result = {"votes": len(acknowledged), "votes_per_s": len(acknowledged) / took}
    result["server_cpu_ms_per_vote"] = 1000 * used / len(acknowledged)
    for path in ("/tasks", "/answers"):
        ordered = sorted(time for rater in raters for time in rater.times.get(path, []))
        result |= {f"{path} p{part}": 1000 * ordered[len(ordered) * part // 100] for part in (50, 99)}
    return result


def _cpu_s(process: int) -> float:
    """Processor time of a process so far."""
    words = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def test_votes_of_500_raters_over_http() -> None:
    found = measure(300.0, 30.0)
    sys.stdout.write(json.dumps(found) + "\n")


def test_start_with_100_000_generations(benchmark: Benchmark, tmp_path: Path) -> None:
    from salon_arena import ArenaDatabase, read_material, vote_service

    write_material(tmp_path, 50, 500, 4)

    def start() -> None:
        with ArenaDatabase.open(tmp_path / "arena.db") as database:
            service = vote_service(database, read_material(tmp_path / "pictures", tmp_path / "prompts.jsonl"))
            assert len(service.lease(service.people.join().result().rater_id).result()["tasks"]) == 4

    benchmark.pedantic(start, rounds=3)


@pytest.mark.parametrize("kind", ["mos", "labels", "realism"])
def test_the_first_tasks_of_a_rater_among_75_400_files(benchmark: Benchmark, tmp_path: Path, kind: str) -> None:
    from salon_arena import ArenaDatabase, read_material
    from salon_arena.forms import panel_task
    from salon_arena.labels import LabelTask
    from salon_arena.questions import BenchQuestionTask, realism_questions
    from salon_arena.service import WorkService
    from salon_taxonomy.taxonomy import Taxonomy

    models = 5 if kind == "realism" else MODELS  # every two models of a sample are a question
    write_material(tmp_path, models, PROMPTS * MODELS // models if kind == "realism" else PROMPTS, SAMPLES)
    material = read_material(tmp_path / "pictures", tmp_path / "prompts.jsonl")
    made = {
        "mos": lambda: panel_task(material),
        "labels": lambda: LabelTask(material, Taxonomy.load("magicmirror")),
        "realism": lambda: BenchQuestionTask(realism_questions(material)),
    }[kind]()
    with ArenaDatabase.open(tmp_path / "arena.db") as database:
        service = WorkService(database, made)
        join = lambda: ((service.people.join().result().rater_id,), {})  # noqa: E731 - before each round, not measured
        tasks = benchmark.pedantic(lambda rater: service.lease(rater).result()["tasks"], setup=join, rounds=50)
        assert len(tasks) == 4


def measure_first_vote() -> dict[str, float]:
    """Seconds and processor seconds from the command to an acknowledged vote, and the server's most memory, for two starts.

    100,000 files; the second start finds the database of the first.
    """
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        write_material(Path(name), 50, 500, 4)
        for start in ("first", "second"):
            found |= {f"{start} start: {what}": value for what, value in _vote_after_start(Path(name)).items()}
    return found


def _vote_after_start(folder: Path) -> dict[str, float]:
    """Serve, join and vote once."""
    import http.client
    import re
    import uuid

    started = time.perf_counter()
    command = [str(Path(sys.executable).with_name("salon")), "arena", "serve", str(folder / "pictures"), "--port", "0"]
    command += ["--prompts", str(folder / "prompts.jsonl"), "--database", str(folder / "arena.db")]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    address = re.search(r"http://127.0.0.1:(\d+)/", server.stdout.readline())
    assert address is not None
    found = {"serving after s": time.perf_counter() - started, "serving after processor s": _cpu_s(server.pid)}
    connection = http.client.HTTPConnection("127.0.0.1", int(address[1]))

    def ask(path: str, body: Any = None, **headers: str) -> tuple[Any, str]:
        data = None if body is None else json.dumps(body)
        connection.request("GET" if body is None else "POST", path, data, {"Content-Type": "application/json", **headers})
        reply = connection.getresponse()
        text = reply.read().decode()
        assert reply.status == 200, text
        return text, reply.getheader("set-cookie") or ""

    page, _ = ask("/")
    version = re.search(r'data-version="(\w+)"', page)
    assert version is not None
    reply, cookie = ask("/session", {"consent": version[1]})
    signed = {"Cookie": cookie.split(";")[0], "X-CSRF-Token": json.loads(reply)["csrf"]}
    task = json.loads(ask("/tasks", {}, **signed)[0])["tasks"][0]
    body = {"answer_id": str(uuid.uuid4()), "assignment": task["assignment"], "choice": "left", "elapsed_ms": 900}
    ask("/answers", body, **signed)
    found |= {"first vote after s": time.perf_counter() - started, "first vote after processor s": _cpu_s(server.pid)}
    memory = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{server.pid}/status").read_text())
    assert memory is not None
    server.terminate()
    server.wait()
    return {**found, "most memory MiB": int(memory[1]) / 1024}


@pytest.mark.parametrize("models", [50, 200])
def test_a_vote_on_the_board_after_a_million(benchmark: Benchmark, tmp_path: Path, models: int) -> None:
    from salon_arena import ArenaDatabase
    from salon_arena.board import LiveBoard

    names = [f"model-{number:03d}" for number in range(models)]
    generator = random.Random(0)
    with ArenaDatabase.open(tmp_path / "arena.db") as database:
        connection = sqlite3.connect(tmp_path / "arena.db")
        connection.execute("PRAGMA foreign_keys=OFF")
        counter = iter(range(10**9))

        def insert(count: int) -> None:
            rows = []
            for number in (next(counter) for _ in range(count)):
                a, b = generator.sample(names, 2)
                winner = "model_a" if generator.random() < 0.5 else "model_b"
                rows.append((f"t{number}", f"a{number}", 0, "r", "battle", a, b, winner, number % 2 + 1))
            columns = "assignment_id, answer_id, settled_at, rater_id, kind, model_a, model_b, winner, stream"
            connection.executemany(f"INSERT INTO settled({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
            connection.commit()

        insert(1_000_000)
        board = LiveBoard(database)
        assert board.ranked().votes == 1_000_000
        benchmark.pedantic(board.ranked, setup=lambda: insert(1), rounds=10)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["serve", "votes", "first"])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--rate", type=float, default=300.0)
    parser.add_argument("--seconds", type=float, default=30.0)
    given = parser.parse_args()
    if given.what == "serve":
        serve(given.folder)
    else:
        for key, value in (measure_first_vote() if given.what == "first" else measure(given.rate, given.seconds)).items():
            sys.stdout.write(f"{key:44} {value:,.1f}\n")
