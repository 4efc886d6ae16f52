"""How long a file takes to arrive does not tell which model made it."""

import http.client
import random
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from salon_arena import ArenaDatabase, WorkService, create_app, read_material, vote_service
from studies.arena import served

HEAVY, LIGHT = "heavy", "light"


def auc(first: list[float], second: list[float]) -> float:
    """The chance that a time of the first list is longer than one of the second, ties a half."""
    times = np.concatenate([first, second])
    order = times.argsort(kind="stable")
    ranks = np.empty(len(times))
    ranks[order] = np.arange(1, len(times) + 1)
    return float((ranks[: len(first)].sum() - len(first) * (len(first) + 1) / 2) / (len(first) * len(second)))


def write_unlike_models(folder: Path, prompts: int) -> None:
    """One model's files are large, noisy and PNG, the other's small, flat and WebP."""
    generator = np.random.default_rng(0)
    noise = Image.fromarray(generator.integers(0, 256, (192, 256, 3), dtype=np.uint8))
    flat = Image.new("RGB", (64, 48), (90, 120, 200))
    rows = []
    for model, picture, ending in ((HEAVY, noise, "png"), (LIGHT, flat, "webp")):
        (folder / "pictures" / model).mkdir(parents=True)
        for number in range(prompts):
            picture.save(folder / "pictures" / model / f"p{number}.{ending}")
    rows = [f'{{"prompt_id": "p{number}", "prompt": "p{number}"}}\n' for number in range(prompts)]
    (folder / "prompts.jsonl").write_text("".join(rows))


def times_of(service: WorkService, tasks: int, seed: int = 0) -> dict[str, list[float]]:
    """Seconds that each file took to arrive over HTTP, by model; which of the two is asked for first is drawn."""
    generator = random.Random(seed)
    found: dict[str, list[float]] = {HEAVY: [], LIGHT: []}
    session = service.people.join().result()
    with served(create_app(service)) as port:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        headers = {"Cookie": f"salon={session.token}"}
        for _ in range(tasks):
            task = service.lease(session.rater_id).result()["tasks"][0]
            models = [file["model"] for file in service.payload_of(task["assignment"])["files"]]
            for place in generator.sample((0, 1), 2):
                started = time.perf_counter()
                connection.request("GET", task["media"][place], headers=headers)
                reply = connection.getresponse()
                assert reply.read() and reply.status == 200
                found[models[place]].append(time.perf_counter() - started)
            service.database.write(
                lambda c, name=task["assignment"]: (
                    c.exec_driver_sql("UPDATE assignments SET state = 'void' WHERE assignment_id = ?", (name,)).rowcount
                )
            ).result()
    return found


@pytest.mark.study
@pytest.mark.timeout(3600)
def test_latency_does_not_classify_the_model(tmp_path: Path) -> None:
    tasks = 3000
    write_unlike_models(tmp_path, tasks)
    with ArenaDatabase.open(tmp_path / "arena.db") as database:
        service = vote_service(database, read_material(tmp_path / "pictures", tmp_path / "prompts.jsonl"))
        found = times_of(service, tasks)
    area = auc(found[HEAVY], found[LIGHT])
    sys.stdout.write(f"area under the curve {area:.4f}\n")
    assert abs(area - 0.5) <= 0.02, area


def test_the_area_under_the_curve_is_that_of_all_pairs() -> None:
    generator = random.Random(0)
    first, second = ([generator.random() + shift for _ in range(30)] for shift in (0.2, 0.0))
    pairs = [(one > other) + 0.5 * (one == other) for one in first for other in second]
    assert auc(first, second) == pytest.approx(sum(pairs) / len(pairs))


def test_files_of_unlike_models_arrive_alike_in_length_type_and_headers(tmp_path: Path) -> None:
    write_unlike_models(tmp_path, 4)
    with ArenaDatabase.open(tmp_path / "arena.db") as database:
        service = vote_service(database, read_material(tmp_path / "pictures", tmp_path / "prompts.jsonl"))
        session = service.people.join().result()
        with served(create_app(service)) as port:
            connection = http.client.HTTPConnection("127.0.0.1", port)
            for task in service.lease(session.rater_id).result()["tasks"]:
                replies = []
                for address in task["media"]:
                    connection.request("GET", address, headers={"Cookie": f"salon={session.token}"})
                    reply = connection.getresponse()
                    replies.append((len(reply.read()), sorted(reply.getheaders())))
                assert replies[0] == replies[1]
