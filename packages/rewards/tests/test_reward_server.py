"""A reward over HTTP: what trainers' clients send, what hostile clients send, and another process that asks."""

import asyncio
import base64
import gzip
import json
import math
import pickle
import re
import socket
import struct
import subprocess
import sys
import time
from dataclasses import replace
from io import BytesIO
from itertools import product
from pathlib import Path
from threading import Event, Lock
from urllib.request import Request, urlopen

import pytest
from aiohttp import ClientSession, FormData, web
from aiohttp.test_utils import TestServer
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from for_each import for_each
from salon_console import main
from salon_judges.media.video_policy import VideoLimits
from salon_rewards import compose
from salon_rewards.callables.reward import RuleReward, each_paid
from salon_rewards.callables.scorer import ScorerReward
from salon_rewards.serving import app
from salon_rewards.serving.app import RequestRows, RewardServer, ServingLimits, UnscoredError, _picture
from salon_rewards.serving.cli import serve
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Film, Frame, Media
from salon_taxonomy.records import MediaKind
from salon_taxonomy.scorers import checked_scorer

CALLS: list[int] = []


def red(images, prompts):
    CALLS.append(len(images))
    if "broken" in prompts:
        raise RuntimeError("out of memory")
    wrong = {"none": None, "nan": float("nan")}
    return [wrong.get(prompt, image.getpixel((0, 0))[0] / 255) for image, prompt in zip(images, prompts, strict=True)]


red.version, red.range = "1", (0, 1)


def file_of(colour):
    encoded = BytesIO()
    Image.new("RGB", (4, 4), colour).save(encoded, "PNG")
    return encoded.getvalue()


RED, BLACK = file_of("red"), file_of("black")


def coded(data):
    return base64.b64encode(data).decode()


def asked(*requests, scorer=red, **settings):
    """The status and the answer of each (method, path, keywords), sent at the same time."""

    async def run():
        CALLS.clear()
        server = RewardServer(ScorerReward(checked_scorer(scorer)), **settings)
        async with TestServer(server.application()) as running, ClientSession() as session:

            async def one(method, path, keywords):
                async with session.request(method, running.make_url(path), **keywords) as response:
                    text = await response.text()
                    return response.status, json.loads(text) if response.content_type == "application/json" else text

            return (
                [await one(*each) for each in requests]
                if len(requests) < 5
                else await asyncio.gather(*(one(*each) for each in requests))
            )

    return asyncio.run(run())


def posted(body, path="/score", **keywords):
    return "POST", path, {"json": body, **keywords}


GOOD = {"prompts": ["a red ball", "night"], "images": [coded(RED), coded(BLACK)]}


def test_pictures_and_prompts_come_back_as_scores():
    [(status, answer)] = asked(posted(GOOD))
    assert (status, answer) == (200, {"scores": [1.0, 0.0], "unscored": [None, None], "reward": "scorer:red"})


def test_a_form_of_files_and_texts_means_the_same_as_json_and_data_urls():
    form = FormData()
    for prompt, data in zip(GOOD["prompts"], (RED, BLACK), strict=True):
        form.add_field("prompt", prompt)
        form.add_field("image", data, filename="a.png", content_type="image/png")
    urls = {"prompts": ["a", "b"], "images": ["data:image/png;base64," + coded(RED), coded(BLACK)]}
    answers = asked(("POST", "/", {"data": form}), posted(urls, "/"))
    assert [answer["scores"] for _, answer in answers] == [[1.0, 0.0]] * 2


def test_the_client_of_flow_factory_gets_its_shape_and_an_error_for_a_missing_score():
    body = {"prompt": ["a", "b"], "image": [coded(RED), coded(BLACK)], "video": None, "condition_images": None, "kwargs": None}
    good, bad = asked(posted(body, "/compute"), posted({**body, "prompt": ["a", "none"]}, "/compute"))
    assert good == (200, {"rewards": [1.0, 0.0]})
    assert bad[0] == 502
    assert "1 of 2 pictures have no reward" in bad[1]["error"]
    [(status, answer)] = asked(posted({**body, "prompt": ["a", "none"]}, "/compute"), on_unscored="mean")
    assert (status, answer) == (200, {"rewards": [1.0, 1.0]})


def test_a_missing_score_is_null_with_its_reason():
    body = {"prompts": ["none", "nan", "a"], "images": [coded(RED), coded(RED), coded(b"no picture")]}
    [(status, answer)] = asked(posted(body))
    assert (status, answer["scores"]) == (200, [None, None, None])
    assert [each["reason"] for each in answer["unscored"]] == ["abstained", "malformed", "bad_media"]


def test_requests_that_wait_are_scored_together_and_each_gets_its_own():
    requests = [posted({"prompts": ["a"], "images": [coded(RED if number % 2 else BLACK)]}) for number in range(24)]
    answers = asked(*requests)
    assert [answer["scores"] for _, answer in answers] == [[float(number % 2)] for number in range(24)]
    assert len(CALLS) < 24


def test_a_request_that_breaks_the_reward_breaks_no_other():
    requests = [posted({"prompts": ["broken" if number == 3 else "a"], "images": [coded(RED)]}) for number in range(12)]
    answers = asked(*requests)
    assert [answer["scores"] for _, answer in answers] == [[None] if number == 3 else [1.0] for number in range(12)]


@for_each("broken", [{0}, {1}, {0, 1}, {2}, set()])
@for_each("count", [1, 2, 3])
def test_a_request_that_breaks_the_reward_breaks_no_other_of_a_batch_of_any_size(count, broken):
    def reward(completions, *, prompts, **_):
        if "broken" in prompts:
            raise RuntimeError("out of memory")
        return [1.0] * len(completions)

    async def run():
        taken = [
            (RequestRows({"prompts": ["broken" if at in broken else "a"], "completions": [""]}, 1), asyncio.Future())
            for at in range(count)
        ]
        await RewardServer(reward)._answer(taken)
        return await asyncio.wait_for(asyncio.gather(*(answer for _, answer in taken), return_exceptions=True), 5)

    for at, found in enumerate(asyncio.run(run())):
        assert isinstance(found, UnscoredError) if at in broken else found == [1.0]


def too_few(values):
    return values[:-1]


def named(values):
    return {"scores": values}


def exits(values):
    raise SystemExit(3)


def raises(values):
    raise RuntimeError("out of memory")


@for_each("spoil", [too_few, named, exits, raises, str, tuple, lambda values: None, lambda values: [[each] for each in values]])
@for_each("how", ["scorer", "asynchronous scorer", "function", "composition"])
def test_no_failure_of_one_request_reaches_those_that_shared_its_batch(spoil, how):
    """Whatever the reward returns or raises where the spoiled picture is in the batch."""

    def spoiled(prompts):
        values = [float(len(prompt)) for prompt in prompts]
        return spoil(values) if "spoiled" in prompts else values

    def scorer(images, prompts):
        return spoiled(prompts)

    async def slow(images, prompts):
        await asyncio.sleep(0)
        return spoiled(prompts)

    scorer.version = slow.version = "1"

    def plain(completions, prompts, **columns):
        return spoiled(prompts)

    rewards = {
        "scorer": lambda: ScorerReward(checked_scorer(scorer)),
        "asynchronous scorer": lambda: ScorerReward(checked_scorer(slow)),
        "function": lambda: plain,
        "composition": lambda: compose([plain]),
    }
    prompts = ["a", "bb", "spoiled", "dddd"]

    async def run():
        server = RewardServer(rewards[how]())
        async with TestServer(server.application()) as running, ClientSession() as session:

            async def one(prompt):
                body = {"prompts": [prompt], "images": [coded(RED)]}
                async with session.post(running.make_url("/score"), json=body) as response:
                    return response.status, await response.json()

            answers = await asyncio.gather(*map(one, prompts))
            return answers, await one("again")

    answers, again = asyncio.run(run())
    assert again[1]["scores"] == [5.0], "the server goes on"
    for prompt, (status, answer) in zip(prompts, answers, strict=True):
        if prompt != "spoiled":
            assert (status, answer["scores"]) == (200, [float(len(prompt))]), (prompt, answer)
        elif spoil is not tuple:
            assert status >= 400 or answer["scores"] == [None], answer


class PanicError(BaseException):
    """As `PanicException` of a library in Rust (polars, tokenizers): no `Exception`."""


class UnprintableError(Exception):
    """Raises where its words are asked for."""

    def __str__(self):
        raise ValueError


RAISED = [ValueError("no"), StopIteration(), asyncio.CancelledError(), UnprintableError(), PanicError("p")]


@pytest.mark.parametrize(
    ("error", "own"),
    [*product(RAISED, [False, True]), (SystemExit(3), False)],  # a reward of Salon ends no process
    ids=lambda given: type(given).__name__ if isinstance(given, BaseException) else "a rule reward" if given else "a function",
)
def test_whatever_a_reward_raises_its_request_is_an_error_and_the_next_one_is_answered(error, own):
    async def function(completions, prompts, **columns):
        if "broken" in prompts:
            raise error
        return [1.0] * len(prompts)

    class Rule(RuleReward):
        __name__ = "rule"

        def score(self, batch):
            if "broken" in batch.columns["prompts"]:
                raise error
            return [1.0] * len(batch)

    reward = Rule() if own else function

    async def run():
        async with TestServer(RewardServer(reward).application()) as running, ClientSession() as session:
            answers = []
            for prompt in ("broken", "whole"):
                request = session.post(running.make_url("/score"), json={"prompts": [prompt]})
                async with asyncio.timeout(5), request as response:
                    answers.append((response.status, await response.json()))
        return answers

    bad, good = asyncio.run(run())
    assert (bad[0], bad[1]["error"].partition(":")[0]) == (502, "the reward failed")
    assert (good[0], good[1]["scores"]) == (200, [1.0])


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, None, 1e400])
def test_what_a_reward_pays_that_is_no_finite_number_is_null_with_a_reason_and_the_answer_is_json(value):
    async def run():
        server = RewardServer(lambda completions, **_: [value, 0.5])
        async with (
            TestServer(server.application()) as running,
            ClientSession() as session,
            session.post(running.make_url("/score"), json={"prompts": ["a", "b"]}) as response,
        ):
            return await response.text()

    found = json.loads(asyncio.run(run()), parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert found["scores"] == [None, 0.5]
    assert found["unscored"][0]["reason"] == ("abstained" if value is None else "off_menu")


@for_each("sent", ["the head", "half of the body", "half of a form", "all of it"])
def test_a_client_that_breaks_off_leaves_no_traceback_in_the_log_and_the_next_one_is_answered(sent, caplog):
    body = json.dumps(GOOD).encode()
    kind = "multipart/form-data; boundary=x" if sent == "half of a form" else "application/json"
    head = f"POST /score HTTP/1.1\r\nHost: x\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    form = b'--x\r\nContent-Disposition: form-data; name="prompt"\r\n\r\na red'
    parts = {"the head": b"", "half of the body": body[: len(body) // 2], "half of a form": form, "all of it": body}

    async def run():
        server = RewardServer(ScorerReward(checked_scorer(red)))
        runner = web.AppRunner(server.application())  # unlike that of tests it cancels no request, as the command's
        await runner.setup()
        listening = socket.create_server(("127.0.0.1", 0))
        await web.SockSite(runner, listening).start()
        address = listening.getsockname()
        async with ClientSession() as session:
            with socket.create_connection(address) as client:
                await asyncio.get_running_loop().run_in_executor(None, client.sendall, head + parts[sent])
                await asyncio.sleep(0.2)
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # closing resets it
            await asyncio.sleep(0.2)
            async with session.post(f"http://127.0.0.1:{address[1]}/score", json=GOOD) as response:
                status = response.status
        await runner.cleanup()
        return status, server._held

    assert asyncio.run(run()) == (200, 0)
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []


def test_health_and_metrics_say_how_it_goes():
    body, began = {"prompts": ["none", "a"], "images": [coded(RED)] * 2}, time.perf_counter()
    _, _, health, metrics = asked(posted(body), posted({}), ("GET", "/health", {}), ("GET", "/metrics", {}))
    assert health == (200, {"status": "ok", "reward": "scorer:red", "takes": ["images"], "waiting": 0})
    for line in (
        'salon_reward_requests_total{status="200"} 2',
        'salon_reward_requests_total{status="400"} 1',
        'salon_reward_unscored_total{reason="abstained"} 1',
        "salon_reward_pictures_total 2",
        "salon_reward_waiting 0",
    ):
        assert line in metrics[1].splitlines()
    took = re.search(r"^salon_reward_seconds_total (\S+)$", metrics[1], re.MULTILINE)
    assert took is not None and 0 < float(took[1]) < time.perf_counter() - began


class Bomb:
    """Whoever unpickles it, finds out."""

    def __reduce__(self):
        return (Path("unpickled").touch, ())


AS_JSON = {"Content-Type": "application/json"}
HALF = gzip.compress(json.dumps(GOOD).encode())[:-40]
HOSTILE = {
    "a pickle": ({"data": pickle.dumps(Bomb())}, 400, "Pickles are never read"),
    "no JSON": ({"data": b"{", "headers": AS_JSON}, 400, "is no JSON"),
    "deep JSON": ({"data": b"[" * 40_000, "headers": AS_JSON}, 400, "is no JSON"),
    "a key twice": ({"data": b'{"prompts": ["a"], "prompts": ["b"]}', "headers": AS_JSON}, 400, "occurs twice"),
    "another encoding": ({"data": '{"prompts": ["a"]}'.encode("utf-16"), "headers": AS_JSON}, 400, "is no JSON"),
    "a list": ({"json": []}, 400, "must be a JSON object"),
    "nothing": ({"json": {}}, 400, "must be a list"),
    "no prompt": ({"json": {"prompts": [], "images": []}}, 400, "must be 1 to 3"),
    "too many": ({"json": {"prompts": ["a"] * 4, "images": [coded(RED)] * 4}}, 400, "must be 1 to 3"),
    "a number for a prompt": ({"json": {"prompts": [1], "images": [coded(RED)]}}, 400, "must be a text"),
    "a number for the second prompt": ({"json": {"prompts": ["a", 1]}}, 400, "row 2"),
    "a number for the second picture": ({"json": {"prompts": ["a", "b"], "images": [coded(RED), 1]}}, 400, "row 2"),
    "no pictures": ({"json": {"prompts": ["a"]}}, 400, "'images'"),
    "another number of pictures": ({"json": {"prompts": ["a"], "images": []}}, 400, "must hold 1 values"),
    "a path": ({"json": {"prompts": ["a"], "images": ["/etc/hostname"]}}, 400, "a path or an address is not opened"),
    "a path as an object": ({"json": {"prompts": ["a"], "images": [{"path": "/etc/hostname"}]}}, 400, "bytes as base64"),
    "paths in columns": ({"json": {"prompts": ["a"], "columns": {"images": ["/etc/hostname"]}}}, 400, "outside of columns"),
    "columns of another length": ({"json": {**GOOD, "columns": {"x": [1]}}}, 400, "must hold 2 values"),
    "columns that are none": ({"json": {**GOOD, "columns": [1]}}, 400, "must be an object of lists"),
    "a video": ({"json": {"prompts": ["a"], "video": [["a"]]}}, 400, "is not looked at"),
    "a video beside pictures": ({"json": {**GOOD, "video": [["a"]]}}, 400, "is given beside 'video'"),
    "paths of sources in columns": (
        {"json": {**GOOD, "columns": {"sources": ["/etc/hostname"] * 2}}},
        400,
        "outside of columns",
    ),
    "sources that are not taken": ({"json": {**GOOD, "sources": [[coded(RED)]] * 2}}, 400, "is not looked at"),
    "sound": ({"json": {**GOOD, "audio": [[0.1]]}}, 400, "is not looked at"),
    "an unknown key": ({"json": {**GOOD, "path": "a"}}, 400, "unknown key"),
    "two names of prompts": ({"json": {**GOOD, "prompt": ["a", "b"]}}, 400, "is given beside 'prompt'"),
    "two names of pictures": ({"json": {**GOOD, "image": [coded(RED)] * 2}}, 400, "is given beside 'image'"),
    "two names in a form": ({"data": {"prompt": "a", "prompts": BytesIO(b"b")}}, 400, "is given beside 'prompt'"),
    "no gzip": ({"data": b"\x1f\x8b\x08\0broken", "headers": {**AS_JSON, "Content-Encoding": "gzip"}}, 400, ""),
    "half a gzip": ({"data": HALF, "headers": {**AS_JSON, "Content-Encoding": "gzip"}}, 400, ""),
    "no deflate": ({"data": b'{"prompts": []}', "headers": {**AS_JSON, "Content-Encoding": "deflate"}}, 400, ""),
    "a form that is no gzip": ({"data": FormData({"prompt": "a"}), "headers": {"Content-Encoding": "gzip"}}, 400, ""),
    "an unknown encoding": ({"data": b"{}", "headers": {**AS_JSON, "Content-Encoding": "x"}}, 400, ""),
    "a bomb": ({"data": gzip.compress(b"[" * 10**7), "headers": {**AS_JSON, "Content-Encoding": "gzip"}}, 413, ""),
    "too large": ({"data": b"x" * 100_000}, 413, "at most 50,000 bytes"),
    "a web page": ({"json": GOOD, "headers": {"Origin": "https://evil.example"}}, 403, "web pages"),
    "a broken form": ({"data": b"--x", "headers": {"Content-Type": "multipart/form-data; boundary=x"}}, 400, ""),
    "a form without boundary": ({"data": b"--x", "headers": {"Content-Type": "multipart/form-data"}}, 400, ""),
    "an unknown field": ({"data": {"file": BytesIO(RED)}}, 400, "unknown field"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_request_is_an_error_that_says_why_and_the_next_one_is_answered(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    keywords, status, words = HOSTILE[name]
    limits = ServingLimits(pictures=3, body_bytes=50_000)
    refused, good = asked(("POST", "/score", keywords), posted(GOOD), limits=limits)
    assert (refused[0], words in refused[1]["error"]) == (status, True), refused
    assert good[0] == 200
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", ["[]", "{}", "1", '""'])
def test_a_request_of_very_many_small_values_is_refused_before_they_are_read(value, monkeypatch):
    monkeypatch.setattr(app, "_MOST_VALUES", 1000)
    for count in (100, 400, 900, 1001):
        body = json.dumps(GOOD)[:-1] + f', "columns": {{"x": [[{",".join([value] * count)}], 0]}}}}'
        [(told, answer)] = asked(("POST", "/score", {"data": body, "headers": AS_JSON}))
        many = sum(map(body.count, "[{,")) > 1000
        assert (told, "has more than 1,000 values" in answer.get("error", "")) == ((400, True) if many else (200, False))


def test_a_server_with_a_token_answers_nobody_without_it():
    right = {"headers": {"Authorization": "Bearer 0123456789abcdef"}}
    wrong = {"headers": {"Authorization": "Bearer 0123456789abcdeg"}}
    answers = asked(
        posted(GOOD), posted(GOOD, **wrong), posted(GOOD, **right), ("GET", "/health", {}), token="0123456789abcdef"
    )
    assert [status for status, _ in answers] == [401, 401, 200, 401]


def test_a_request_of_as_many_pictures_as_are_taken_is_answered_and_a_full_queue_says_when_to_come_again():
    """Also where a request may have more rows than may wait; the header says after how many seconds."""
    body = {"prompts": ["a"] * 9, "images": [coded(RED)] * 9}
    [(status, answer)] = asked(posted(body), limits=ServingLimits(pictures=9, waiting=4))
    assert status == 200 and answer["scores"] == [1.0] * 9

    async def run():
        server = RewardServer(lambda completions, **_: (time.sleep(0.2), [1.0] * len(completions))[1],
                              limits=ServingLimits(waiting=1))  # fmt: skip
        async with TestServer(server.application()) as running, ClientSession() as session:

            async def one():
                async with session.post(running.make_url("/score"), json={"prompts": ["a"]}) as response:
                    return response.status, response.headers.get("Retry-After")

            return await asyncio.gather(*(one() for _ in range(6)))

    answers = asyncio.run(run())
    assert {status for status, _ in answers} == {200, 503}
    assert all((after == "1") == (status == 503) for status, after in answers)


def test_a_flood_of_bodies_is_turned_away_before_it_is_read(monkeypatch):
    """The bytes of all requests at hand stay below the limit, and those that were turned away are answered later."""
    limits = ServingLimits(body_bytes=200_000, held_bytes=400_000)
    held = []

    async def run():
        server = RewardServer(lambda completions, **_: (time.sleep(0.05), [1.0] * len(completions))[1], limits=limits)
        monkeypatch.setattr(server, "_scored", watched(server, held))
        body = json.dumps({"prompts": ["a"], "completions": ["x" * 150_000]}).encode()

        async def one(session, url):
            while True:
                async with session.post(url, data=body, headers=AS_JSON) as response:
                    statuses.append(response.status)
                    if response.status != 503:
                        return response.status
                    assert response.headers["Retry-After"] == "1"
                await asyncio.sleep(0.01)

        statuses = []
        async with TestServer(server.application()) as running, ClientSession() as session:
            answers = await asyncio.gather(*(one(session, running.make_url("/score")) for _ in range(12)))
        return answers, statuses, server._held

    answers, statuses, left = asyncio.run(run())
    assert answers == [200] * 12 and 503 in statuses and left == 0
    assert 0 < max(held) <= limits.held_bytes


def watched(server, held):
    scored = server._scored

    async def look(completions, columns):
        held.append(server._held)
        return await scored(completions, columns)

    return look


# ---------------------------------------------------------------------------------------------- videos, and what is beside


def film(frames, prompts, sources=None, first_frames=None):
    """How many frames each video has, 100 for each source (1,000 for each frame of a video there), 0.5 for a first one."""
    beside = [0.0] * len(frames)
    if sources is not None:
        beside = [sum(1000 * len(each) if isinstance(each, list) else 100 for each in row) for row in sources]
    first = first_frames or [None] * len(frames)
    return [len(video) + more + (one is not None) / 2 for video, more, one in zip(frames, beside, first, strict=True)]


film.version, film.frames_per_second = "1", 4


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    pytest.importorskip("av")
    from salon_synthetic.videos import write_clip

    return write_clip(tmp_path_factory.mktemp("clips") / "1.mp4", "clean", seconds=1.0).read_bytes()


def test_videos_come_as_files_lists_of_frames_or_in_a_form(clip):
    form = FormData()
    for data in (clip, clip):
        form.add_field("prompt", "a")
        form.add_field("video", data, filename="a.mp4", content_type="video/mp4")
    body = {"prompts": ["a", "b", "c"], "videos": [coded(clip), [coded(RED)] * 3, "data:video/mp4;base64," + coded(clip)]}
    answers = asked(posted(body), ("POST", "/score", {"data": form}), ("GET", "/health", {}), scorer=film)
    assert [answer["scores"] for _, answer in answers[:2]] == [[4.0, 3.0, 4.0], [4.0, 4.0]]
    assert answers[2][1]["takes"] == ["videos", "sources", "first_frames"]


def test_flow_factory_sends_videos_with_what_they_were_made_from():
    """As ``_build_payload`` of src/flow_factory/rewards/my_reward_remote.py at 696af0711dbda2d7b717970f82c1af54bdcb5eb6."""
    body = {
        "prompt": ["a", "b"],
        "image": None,
        "video": [[coded(RED)] * 2, [coded(RED)] * 3],
        "condition_images": [[coded(RED)], []],
        "condition_videos": [[], [[coded(RED)] * 2]],
        "kwargs": None,
    }
    assert asked(posted(body, "/compute"), scorer=film) == [(200, {"rewards": [102.0, 2003.0]})]
    pictures = {**body, "image": [coded(RED)] * 2, "video": None}
    assert asked(posted(pictures, "/compute")) == [(200, {"rewards": [1.0, 1.0]})], (
        "conditions that are not wanted are passed over"
    )


def test_first_frames_and_sources_have_names_for_one_and_for_several():
    body = {"prompts": ["a", "b"], "videos": [[coded(RED)]] * 2}
    several = {**body, "sources": [[coded(RED), coded(BLACK)], []], "first_frames": [coded(RED), None]}
    one = {**body, "source": [coded(RED), None], "first_frame": [coded(RED)] * 2}
    answers = asked(posted(several), posted(one), posted({**several, "source": [None] * 2}), scorer=film)
    assert [answer["scores"] for _, answer in answers[:2]] == [[201.5, 1.0], [101.5, 1.5]]
    assert answers[2][0] == 400 and "is given beside 'source'" in answers[2][1]["error"]


def test_source_videos_come_as_files_in_their_order_and_one_that_cannot_be_read_costs_its_own_row(clip):
    cut = clip[: len(clip) // 2]
    sources = [
        coded(clip),
        [coded(RED), coded(clip)],
        [coded(clip), [coded(RED)] * 2],
        None,
        coded(cut),
        [coded(b"\0\0\0 ftypisom")],
    ]
    body = {"prompts": ["a"] * len(sources), "videos": [[coded(RED)]] * len(sources), "sources": sources}
    theirs = {
        "prompt": ["a"] * 2,
        "video": [[coded(RED)]] * 2,
        "condition_videos": [[coded(clip)], []],
        "condition_images": [[]] * 2,
    }
    answers = asked(posted(body), posted(theirs), posted({**body, "first_frames": [coded(clip)] * 6}), scorer=film)
    assert answers[0][1]["scores"] == [4001.0, 4101.0, 6001.0, 1.0, None, None]
    assert {each["reason"] for each in answers[0][1]["unscored"][4:]} == {"bad_media"}
    assert answers[1][1]["scores"] == [4001.0, 1.0]
    assert answers[2][1]["scores"] == [None] * 6, "a first frame is a picture"

    def order(frames, prompts, sources):
        return [float("".join("2" if isinstance(each, list) else "1" for each in row) or 0) for row in sources]

    order.version = "1"
    rows = {"prompts": ["a"], "videos": [[coded(RED)]], "sources": [[coded(clip), coded(RED), [coded(RED)]]]}
    assert asked(posted(rows), scorer=order)[0][1]["scores"] == [212.0]


def test_several_source_videos_of_a_row_share_the_frames_of_one(clip):
    body = {"prompts": ["a", "b"], "videos": [[coded(RED)]] * 2, "sources": [[coded(clip)] * 2, [coded(clip)]]}
    [(_, answer)] = asked(posted(body), scorer=film, limits=ServingLimits(frames=4))
    assert answer["scores"] == [4001.0, 4001.0]


def noisy(*given, **settings):
    """A video of two frames of a megabyte."""
    encoded = BytesIO()
    Image.effect_noise((1024, 1024), 90).save(encoded, "PNG", compress_level=1)
    media = Media.from_bytes(encoded.getvalue())
    frames = tuple(Frame(at_s, media) for at_s in (0.0, 1.0))
    return replace(media, kind=MediaKind.VIDEO, film=Film(frames, 2.0, 2))


def test_no_more_videos_are_decoded_than_there_is_room_for_while_the_reward_is_slow(monkeypatch):
    """Of 2 MB of each of a hundred requests a slow reward made gigabytes of frames."""
    decoded, go, counts = [], Event(), []
    monkeypatch.setattr(app, "video", lambda *given, **settings: decoded.append(1) or noisy())

    def patient(frames, prompts):
        counts.append(len(decoded))
        go.wait(2 if len(counts) == 1 else 0)
        return [float(len(each)) for each in frames]

    patient.version = "1"
    body = {"prompts": ["a"], "videos": [coded(b"\0\0\0 ftypisom")]}
    limits = ServingLimits(held_bytes=4 << 20, batch=1)
    answers = asked(*[posted(body)] * 16, scorer=patient, limits=limits)
    assert answers == [(200, {"scores": [2.0], "unscored": [None], "reward": "scorer:patient"})] * 16
    assert counts[1] <= 6, "those that wait and two that are being decoded"


def test_a_request_whose_videos_become_too_many_bytes_is_refused(monkeypatch):
    monkeypatch.setattr(app, "video", noisy)
    monkeypatch.setattr(app, "_MOST_DECODED", 5 << 20)
    body = {"prompts": ["a"] * 3, "videos": [coded(b"\0\0\0 ftypisom")] * 3}
    good = {"prompts": ["a"], "videos": body["videos"][:1]}
    refused, answered = asked(posted(body), posted(good), scorer=film)
    assert (refused[0], "Send fewer videos at once" in refused[1]["error"]) == (400, True), refused
    assert (answered[0], answered[1]["scores"]) == (200, [2.0])


@pytest.mark.parametrize("role", ["sources", "source", "condition_images", "condition_videos"])
def test_source_videos_of_pictures_are_decoded_for_two_requests_at_once(clip, monkeypatch, role):
    at_work, most, lock, read = 0, 0, Lock(), app.video

    def counted(*given, **settings):
        nonlocal at_work, most
        with lock:
            at_work += 1
            most = max(most, at_work)
        time.sleep(0.05)
        try:
            return read(*given, **settings)
        finally:
            with lock:
                at_work -= 1

    def posters(images, prompts, sources):
        return [float(len(each)) for each in sources]

    posters.version = "1"
    monkeypatch.setattr(app, "video", counted)
    body = {"prompts": ["a"], "images": [coded(RED)], role: [coded(clip)] if role == "source" else [[coded(clip)]]}
    answers = asked(*[posted(body)] * 8, scorer=posters)
    assert {status for status, _ in answers} == {200}, answers
    assert most <= app._DECODING


def test_a_long_source_video_is_refused_as_a_long_result_is(clip, monkeypatch):
    monkeypatch.setattr(app, "_SERVED_VIDEOS", VideoLimits(most_seconds=0.5))
    body = {"prompts": ["a"], "videos": [[coded(RED)]], "sources": [coded(clip)]}
    [(status, answer)] = asked(posted(body), scorer=film)
    assert (status, answer["scores"]) == (200, [None]) and "s are read" in answer["unscored"][0]["detail"]


def bomb():
    """A PNG file of 60 million pixels in 60 kB."""
    encoded = BytesIO()
    Image.new("1", (10_000, 6_000)).save(encoded, "PNG")
    return encoded.getvalue()


def test_a_video_that_cannot_be_read_costs_its_own_row(clip):
    videos = [
        [coded(RED)],
        coded(clip[: len(clip) // 2]),
        coded(b"#EXTM3U\nfile:///etc/hostname"),
        coded(b"prose"),
        [coded(b"?")],
        [],
    ]
    videos += [[coded(bomb())] * 3, coded(RED)]
    [(status, answer)] = asked(posted({"prompts": ["a"] * len(videos), "videos": videos}), scorer=film)
    assert (status, answer["scores"]) == (200, [1.0] + [None] * (len(videos) - 1))
    assert {each["reason"] for each in answer["unscored"][1:]} == {"bad_media"}
    assert "at most 42,666,666 are decoded" in answer["unscored"][6]["detail"]


def test_a_long_a_large_and_a_slow_video_are_refused_by_what_their_packets_say(clip, monkeypatch):
    for name, limits in {
        "s are read": VideoLimits(most_seconds=0.5),
        "pixels; at most": VideoLimits(most_pixels=100),
        "more than 3 frames": VideoLimits(most_coded_frames=3),
    }.items():
        monkeypatch.setattr(app, "_SERVED_VIDEOS", limits)
        [(status, answer)] = asked(posted({"prompts": ["a"], "videos": [coded(clip)]}), scorer=film)
        assert (status, answer["scores"]) == (200, [None]) and name in answer["unscored"][0]["detail"]


WRONG_VIDEOS = {
    "pictures": ({"images": [coded(RED)]}, "is not looked at"),
    "both": ({"videos": [[coded(RED)]], "images": [coded(RED)]}, "is given beside 'videos'"),
    "a path": ({"videos": ["/etc/hostname"]}, "bytes as base64"),
    "a path as a frame": ({"videos": [["/etc/hostname"]]}, "bytes as base64"),
    "too many frames": ({"videos": [[coded(RED)] * 4]}, "at most 3 frames"),
    "too many sources": ({"videos": [[coded(RED)]], "sources": [[coded(RED)] * 4]}, "at most 3 frames"),
    "a number": ({"videos": [1]}, "bytes as base64"),
    "a list in a frame": ({"videos": [[[coded(RED)]]]}, "bytes as base64"),
    "another number": ({"videos": []}, "must hold 1 values"),
    "no list": ({"videos": coded(RED)}, "must be a list"),
    "other masks": ({"videos": [[coded(RED)]], "masks": [coded(RED)]}, "is not looked at"),
    "sources twice": (
        {"videos": [[coded(RED)]], "sources": [[]], "condition_images": [[]]},
        "is given beside 'condition_images'",
    ),
    "two first frames": ({"videos": [[coded(RED)]], "first_frames": [[coded(RED)] * 2]}, "takes one of the first_frames"),
    "nothing": ({}, "'videos'"),
}


@pytest.mark.parametrize("name", WRONG_VIDEOS)
def test_a_wrong_request_of_videos_names_the_field_and_the_next_one_is_answered(name):
    body, words = WRONG_VIDEOS[name]
    good = {"prompts": ["a"], "videos": [[coded(RED)] * 2]}
    refused, answered = asked(posted({"prompts": ["a"], **body}), posted(good), scorer=film, limits=ServingLimits(frames=3))
    assert (refused[0], words in refused[1]["error"]) == (400, True), refused
    assert answered == (200, {"scores": [2.0], "unscored": [None], "reward": "scorer:film"})


ANYTHING = st.recursive(
    st.none() | st.integers() | st.text(max_size=8) | st.just(coded(RED)),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(app._OWN), ANYTHING, max_size=4))
def test_whatever_stands_in_the_fields_is_rows_of_equal_length_or_a_typed_error(document):
    reward = ScorerReward(checked_scorer(film))
    try:
        rows = app._checked({"prompts": ["a", "b"], **document}, ServingLimits(), reward)
    except InputError:
        return
    assert all(len(values) == rows.count for values in rows.columns.values())
    try:
        paid = asyncio.run(each_paid(reward, rows.columns["completions"], rows.columns))
    except InputError:
        return
    assert len(paid) == rows.count


@pytest.mark.parametrize("rows", [1, 3, 4, 5, 11])
def test_a_reward_is_given_no_more_pictures_at_once_than_the_batch(rows):
    body = {
        "prompts": [f"{number % 3}" for number in range(rows)],
        "images": [coded((RED, BLACK)[number % 2]) for number in range(rows)],
    }
    answers = asked(*(posted(body) for _ in range(6)), limits=ServingLimits(batch=4))
    assert all(answer["scores"] == [1.0 - number % 2 for number in range(rows)] for _, answer in answers)
    assert max(CALLS) <= 4 and sum(CALLS) == 6 * rows


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["no-such-reward"], "there is no reward"),
        (["think", "--host", "0.0.0.0"], "other machines need a token"),
        (["think", "--parameter", "x"], "is not KEY=VALUE"),
        (["think", "--on-unscored", "drop"], "must be a finite number or"),
        (["think", "--on-unscored", "inf"], "must be a finite number or"),
        (["think", "--on-unscored", "-1e999"], "must be a finite number or"),
        (["scorer:./metrics.py:red", "--parameter", "image=photo"], "looks at the column"),
        (["think", "--token-file", "short.txt"], "at least 16 plain characters"),
    ],
)
def test_a_wrong_command_is_refused_before_it_listens(tmp_path, monkeypatch, words, problem):
    monkeypatch.chdir(tmp_path)
    Path("short.txt").write_text("secret")
    Path("metrics.py").write_text("def red(images, prompts):\n    return [1.0] * len(images)\n")
    refused = CliRunner().invoke(main, ["reward", "serve", *words])
    assert (refused.exit_code, problem in refused.output) == (2, True), refused.output


def test_the_command_limits_a_server_as_the_limits_do_by_themselves():
    defaults = {option.name: option.default for option in serve.params}
    limits = ServingLimits()
    assert (defaults["max_pictures"], defaults["concurrency"], defaults["max_body_mb"] << 20) == (
        limits.pictures, limits.concurrency, limits.body_bytes,
    )  # fmt: skip
    assert defaults["max_frames"] == limits.frames
    assert limits.pictures <= limits.waiting and limits.body_bytes <= limits.held_bytes  # the largest request fits
    for name in ServingLimits.__slots__:
        assert getattr(ServingLimits(**{name: 1}), name) == 1
        with pytest.raises(InputError, match=name):
            ServingLimits(**{name: 0})


def test_another_process_asks_the_command(tmp_path):
    (tmp_path / "metrics.py").write_text(
        "def red(images, prompts):\n    return [image.getpixel((0, 0))[0] / 255 for image in images]\n"
    )
    salon = "from salon_console import main; main()"
    command = [sys.executable, "-u", "-c", salon, "reward", "serve", "scorer:./metrics.py:red", "--port", "0"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        try:
            address = re.search(r"http://\S+/score", process.stdout.readline())[0]
            request = Request(address, json.dumps(GOOD).encode(), {"Content-Type": "application/json"})
            assert json.loads(urlopen(request, timeout=30).read())["scores"] == [1.0, 0.0]
        finally:
            process.terminate()
        assert process.wait(30) in (0, -15)


def test_a_picture_is_bytes_or_base64_alone_or_behind_the_head_of_a_data_address() -> None:
    content = b"\x89PNG bytes"
    text = base64.b64encode(content).decode()
    for picture in (content, text, f"data:image/png;base64,{text}"):
        assert _picture(picture, 1) == content
    for picture in (f"x,{text}", f"image/png;base64,{text}", "data:image/png;base64", "/etc/passwd", "é", 3, None):
        with pytest.raises(InputError, match="base64") as raised:
            _picture(picture, 7, "image")
        assert (raised.value.row, raised.value.key) == (7, "image")
