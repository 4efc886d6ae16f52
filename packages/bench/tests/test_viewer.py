"""``salon view``: what a page shows is what the store and its journals hold; nothing else is reached, and nothing runs."""

import asyncio
import hashlib
import html
import itertools
import os
import re
import shutil
import statistics
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode

import polars as pl
import pytest
from aiohttp.test_utils import TestClient, TestServer
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from salon_bench.cli.view import rows_of
from salon_bench.report.thumbnails import NoThumbnail
from salon_bench.viewer.app import Viewer
from salon_bench.viewer.battles import BattleView
from salon_bench.viewer.cases import _LONGEST, CaseFilter, choices, disagreements, filtered, run_cases
from salon_bench.viewer.pages import case_page, cases_page, runs_page
from salon_bench.viewer.row_pages import _same_value, filtered_rows
from salon_bench.viewer.small_copies import SmallCopies
from salon_bench.viewer.store_tables import StoreTables
from salon_console import main
from salon_console.row_view import RowTable
from salon_store import ResultStore
from salon_store.recording import open_journal
from salon_synthetic.videos import write_clip
from salon_taxonomy.errors import InputError
from salon_taxonomy.records import Battle, Score
from salon_taxonomy.visible_text import visible

HOSTILE = "a\u202eb<script>alert(1)</script>\x1b[31m'\"&amp;"
SHOWN = r"a\u202eb&lt;script&gt;"


def score(
    prompt: str, model: str, dimension: str, value: float | None, *, run: str = "one", judge: str = "j"
) -> dict[str, Any]:
    return {
        "run_id": run,
        "suite": "su",
        "task": f"task {prompt[-1]}",
        "subject_model": model,
        "prompt_id": prompt,
        "generation_id": f"{model}/{prompt}",
        "dimension": dimension,
        "value": value,
        "unscored_reason": None if value is not None else "timeout",
        "judge": judge,
        "judge_version": "1",
    }


def run_row(name: str) -> dict[str, Any]:
    return {"run_id": name, "suite": "su", "judge": "j", "judge_version": "1", "source": "made", "salon_version": "0.1"}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Two runs over the same four pictures: the judges differ on one; one verdict is missing; names are hostile."""
    folder = tmp_path / "pictures"
    folder.mkdir()
    opened = ResultStore.open(tmp_path / "store")
    models, prompts = ("brush", HOSTILE), ("p0", "p1")
    generations = []
    for number, (model, prompt) in enumerate((m, p) for m in models for p in prompts):
        path = folder / f"{number}.png"
        Image.new("RGB", (64, 48), (40 * number, 90, 120)).save(path)
        generations.append(
            {"generation_id": f"{model}/{prompt}", "prompt_id": prompt, "model": model, "sample": 0, "kind": "image",
             "uri": str(path), "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
        )  # fmt: skip
    opened.append("generations", pl.DataFrame(generations), run_id="one")
    opened.append("runs", pl.DataFrame([run_row("one"), run_row("two")]), run_id="one")
    first = [score(p, m, d, 1.0 if m == "brush" else 0.0) for m in models for p in prompts for d in ("subject", HOSTILE)]
    first[0] = score("p0", "brush", "subject", None)
    second = [score(p, m, "subject", 1.0, run="two", judge="k") for m in models for p in prompts]
    opened.append("scores", pl.DataFrame(first + second, infer_schema_length=None), run_id="one")
    text = [{"prompt_id": p, "suite": "su", "text": f"A {HOSTILE} cat, {p}", "prompt_key": "0" * 64} for p in prompts]
    opened.append("prompts", pl.DataFrame(text), run_id="one")
    call = {"call_id": "c", "run_id": "one", "judge": "j", "judge_version": "1", "generation_id": "brush/p0", "step": HOSTILE,
            "request_sha256": "0" * 64, "attempt": 1, "status": "ok", "cached": False,
            "response_text": f"I say {HOSTILE}"}  # fmt: skip
    opened.append("judge_calls", pl.DataFrame([call]), run_id="one")
    label = {"assessment_id": "a", "run_id": "one", "generation_id": "brush/p1", "taxonomy": "t", "label": HOSTILE,
             "present": True, "judge": "j", "judge_version": "1", "explanation": HOSTILE}  # fmt: skip
    opened.append("assessments", pl.DataFrame([label]), run_id="one")
    vote = {"prompt_id": "p0", "suite": "su", "model_a": "brush", "rater_id": "ann", "mode": "public", "scenario": HOSTILE}
    votes = [
        vote | {"battle_id": "b0", "model_b": HOSTILE, "winner": "model_a", "labels": [], "generation_a": "brush/p0"},
        vote | {"battle_id": "b1", "model_b": "gone", "winner": "tie", "labels": [HOSTILE], "rater_id": "bob"},
    ]
    opened.append("battles", pl.DataFrame(votes, infer_schema_length=None), run_id="one")
    return tmp_path / "store"


def asked(viewer: Viewer, *requests: tuple[str, str, dict[str, str]]) -> list[tuple[int, str, dict[str, str]]]:
    """The answers of a served viewer: status, text and headers."""

    async def work() -> list[tuple[int, str, dict[str, str]]]:
        answers = []
        async with TestClient(TestServer(viewer.app(), host="127.0.0.1")) as client:
            for method, path, headers in requests:
                reply = await client.request(method, path, headers=headers)
                answers.append((reply.status, (await reply.read()).decode("utf-8", "replace"), dict(reply.headers)))
        return answers

    return asyncio.run(work())


def pages_of(store: Path, tmp_path: Path, *paths: str) -> list[str]:
    viewer = Viewer(StoreTables(store), SmallCopies(tmp_path / "copies"), token="t")
    return [text for _, text, _ in asked(viewer, *(("GET", f"/t/{path}", {}) for path in paths))]


CASE_ADDRESS = "case?run_id=one&subject_model=brush&prompt_id=p0&generation_id=brush/p0"


def test_the_page_of_a_case_plays_the_video_that_was_judged_and_none_that_was_exchanged(store: Path, tmp_path: Path) -> None:
    path = write_clip(tmp_path / "pictures" / "new.mp4", "pop")
    clip = path.read_bytes()
    row = {"generation_id": "brush/new", "prompt_id": "p0", "model": "brush", "sample": 1, "kind": "video", "uri": str(path),
           "sha256": hashlib.sha256(clip).hexdigest()}  # fmt: skip
    opened = ResultStore.open(store)
    opened.append("generations", pl.DataFrame([row]), run_id="one")
    opened.append("scores", pl.DataFrame([score("p0", "brush", "subject", 1.0) | {"generation_id": "brush/new"}]), run_id="one")
    [page] = pages_of(store, tmp_path, "case?run_id=one&subject_model=brush&prompt_id=p0&generation_id=brush/new")
    assert page.count("<video controls") == 1 and 'src="picture?id=brush%2Fnew&amp;size=clip"' in page
    viewer = Viewer(StoreTables(store), SmallCopies(tmp_path / "copies"), token="t")
    assert viewer.small_picture("brush/new", "clip") == clip
    assert "<video" not in pages_of(store, tmp_path, CASE_ADDRESS)[0]
    assert isinstance(viewer.small_picture("brush/p0", "clip"), NoThumbnail), "a picture is no video"
    path.write_bytes(clip + b"\0")
    assert isinstance(viewer.small_picture("brush/new", "clip"), NoThumbnail), "only the bytes that were judged"


def test_a_player_gets_the_range_of_a_video_that_it_asks_for(store: Path, tmp_path: Path) -> None:
    path = write_clip(tmp_path / "pictures" / "new.mp4", "pop")
    size, digest = path.stat().st_size, hashlib.sha256(path.read_bytes()).hexdigest()
    row = {
        "generation_id": "v",
        "prompt_id": "p0",
        "model": "brush",
        "sample": 1,
        "kind": "video",
        "uri": str(path),
        "sha256": digest,
    }
    ResultStore.open(store).append("generations", pl.DataFrame([row]), run_id="one")
    viewer = Viewer(StoreTables(store), SmallCopies(tmp_path / "copies"), token="t")
    ranges = {None: (200, 0, size), "bytes=0-9": (206, 0, 10), "bytes=4-": (206, 4, size), "bytes=-3": (206, size - 3, size)}
    wrong = {f"bytes={size}-": 416, "bytes=9-3": 416, "lines=1-2": 416}
    requests = [("GET", "/t/picture?id=v&size=clip", {} if words is None else {"Range": words}) for words in (*ranges, *wrong)]
    answers = asked(viewer, *requests)
    for (status, begin, end), (seen, _, headers) in zip(ranges.values(), answers, strict=False):
        assert (seen, int(headers["Content-Length"]), headers["Content-Type"]) == (status, end - begin, "video/mp4")
        assert headers["Accept-Ranges"] == "bytes"
        assert headers.get("Content-Range") == (f"bytes {begin}-{end - 1}/{size}" if status == 206 else None)
    assert [status for status, *_ in answers[len(ranges) :]] == [*wrong.values()]
    icon, missing = asked(viewer, ("GET", "/favicon.ico", {}), ("GET", "/t/picture?id=gone&size=clip", {}))
    assert (icon[0], missing[0]) == (204, 200) and "no such picture" in missing[1]


def test_a_filter_that_nobody_would_type_is_refused(store: Path) -> None:
    tables = StoreTables(store)
    for length, long in ((_LONGEST, False), (_LONGEST + 1, True)):
        query = {"run": ["one"], "model": ["m" * length]}
        if long:
            with pytest.raises(InputError, match="is too long") as raised:
                cases_page(tables, query)
            assert (raised.value.column, raised.value.value) == ("model", "m" * 40 + "…")
        else:
            assert "0 of 4 cases" in cases_page(tables, query)


def test_every_page_shows_hostile_names_texts_and_replies_as_text(store: Path, tmp_path: Path) -> None:
    for page in pages_of(
        store, tmp_path, "", "run?run=one", "run?run=one&run=two&beside=1", CASE_ADDRESS, "battles", "row?key=b0"
    ):
        assert "<script>alert" not in page and "\u202e" not in page and "\x1b" not in page
        assert re.findall(r"<script[^>]*>", page) == ['<script type="module" src="static/viewer.js">']
    for page in pages_of(store, tmp_path, "run?run=one", CASE_ADDRESS, "battles", "row?key=b0"):
        assert SHOWN in page


def test_without_the_token_or_under_another_name_there_is_nothing_and_nothing_can_be_sent(store: Path, tmp_path: Path) -> None:
    viewer = Viewer(StoreTables(store), SmallCopies(tmp_path / "copies"))
    assert len(viewer.token) >= 20
    whole = f"/{viewer.token}/"
    answers = asked(
        viewer,
        ("GET", "/", {}),
        ("GET", "/run?run=one", {}),
        ("GET", f"/{viewer.token[:-1]}/", {}),
        ("GET", whole, {"Host": "evil.example:80"}),
        ("POST", whole, {}),
        ("DELETE", f"{whole}run", {}),
        ("GET", f"{whole}static/../app.py", {}),
        ("GET", f"{whole}static/app.py", {}),
        ("GET", whole, {}),
    )
    assert [status for status, _, _ in answers] == [404, 404, 404, 421, 405, 405, 404, 404, 200]
    for status, text, headers in answers:
        assert "default-src 'none'" in headers["Content-Security-Policy"] and headers["Cache-Control"] == "private, no-store"
        assert status == 200 or ("brush" not in text and viewer.token not in text)


def test_what_is_no_request_for_a_page_is_answered_alike_and_repeated_nowhere(
    store: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    viewer = Viewer(StoreTables(store), SmallCopies(tmp_path / "copies"), token="secrettoken")
    whole, host = b"GET /secrettoken/", b"Host: 127.0.0.1\r\n"
    requests = [
        (b"%s HTTP/1.1\r\n%s" % (whole, host), 200),
        (b"%srun?run=one&text=%s HTTP/1.1\r\n%s" % (whole, b"%e9" * 600, host), 200),
        (b"%srun?%s HTTP/1.1\r\n%s" % (whole, b"&".join(b"run=%s" % (b"%F0" * 800) for _ in range(8)), host), 404),
        (b"HEAD /secrettoken/ HTTP/1.1\r\n%s" % host, 405),
        (b"OPTIONS /secrettoken/ HTTP/1.1\r\n%s" % host, 405),
        (b"%s HTTP/1.0\r\n" % whole, 421),
        (b"%s HTTP/1.1\r\nHost:\r\n" % whole, 421),
        (b"%s HTTP/1.1\r\n" % whole, 400),
        (b"%s HTTP/1.1\r\n%sHost: evil.example\r\n" % (whole, host), 400),
        (b"%s<script> HTTP/9.9\r\n%s" % (whole, host), 400),
        (b"%s?%s HTTP/1.1\r\n%s" % (whole, b"a" * 300_000, host), 400),
        (b"%srun?run=\x00 HTTP/1.1\r\n%s" % (whole, host), 400),
        (b"GET http://[evil/secrettoken/ HTTP/1.1\r\n%s" % host, 400),
        (b"GET http://evil.example/secrettoken/ HTTP/1.1\r\nHost: evil.example\r\n", 421),
        (b"\x16\x03\x01\x02", 400),
        (b"%s HTTP/1.1\r\n%sExpect: other\r\n" % (whole, host), 417),
    ]

    async def answers() -> list[bytes]:
        async with viewer.served(0) as address:
            port = int(address.split(":")[2].split("/")[0])

            async def answer(request: bytes) -> bytes:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                with suppress(ConnectionError):  # refused before it was read whole
                    writer.write(request + b"Connection: close\r\n\r\n")
                    await writer.drain()
                reply = await asyncio.wait_for(reader.read(), 10)
                writer.close()
                return reply

            return [await answer(request) for request, _ in requests]

    for (request, status), reply in zip(requests, asyncio.run(answers()), strict=True):
        assert int(reply.split()[1]) == status, (request[:80], reply[:80])
        assert b"default-src 'none'" in reply and b"Cross-Origin-Resource-Policy: same-origin" in reply, request[:80]
        assert status == 200 or b"secrettoken" not in reply, request[:80]
    assert caplog.text == "" and capfd.readouterr() == ("", "")


NAMES = st.sampled_from(
    ["run", "runs", "model", "task", "question", "verdict", "reason", "label", "differs", "text", "where", "page", "beside",
     "run_id", "prompt_id", "subject_model", "generation_id", "id", "group", "size", "f_run", "f_where", "f_page", "query",
     "people", "disagree", "key", "is_models", "is_won", "is_labels", "f_is_won"]
)  # fmt: skip
WORDS = st.one_of(
    st.sampled_from(["one", "two", "brush", "p0", "brush/p0", "1", "0", "unscored", "1e400", "nan", "-5", "١", "b0"]),
    st.sampled_from(["value > 0", "1) --", "') OR 1=1", "(SELECT 1)", "winner = 'tie'", "weight", "COUNT(*)"]),
    st.text(max_size=20),
)  # fmt: skip
PAIRS = st.lists(st.tuples(NAMES, WORDS), max_size=6)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["", "run", "case", "board", "picture", "battles", "row"]), st.lists(st.tuples(NAMES, WORDS), max_size=6)
)
def test_no_address_ends_in_a_defect(store: Path, page: str, query: list[tuple[str, str]]) -> None:
    text = urlencode([(name, word.encode("utf-8", "replace").decode()) for name, word in query])
    viewer = Viewer(StoreTables(store), SmallCopies(store.parent / "copies"), token="t")
    [(status, answer, _)] = asked(viewer, ("GET", f"/t/{page}?{text}", {}))
    assert status in (200, 404), (status, answer)


@st.composite
def filters(draw: st.DrawFn) -> CaseFilter:
    pick = lambda *values: draw(st.sampled_from(("", *values)))  # noqa: E731
    return CaseFilter(
        model=draw(st.sampled_from([(), ("brush",), (HOSTILE,), ("brush", HOSTILE)])),
        task=pick("task 0", "task 1", "other"),
        question=pick("subject", HOSTILE, "other"),
        verdict=pick("1", "0.0", "0.5", "unscored"),
        reason=pick("timeout", "other"),
        label=pick(HOSTILE, "other"),
        differs=draw(st.booleans()),
        people=draw(st.booleans()),
        disagree=draw(st.booleans()),
        text=pick("CAT, P0", "p1", "dog"),
        where=pick("value = 1", "judge = 'k' OR value IS NULL"),
    )


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(filters(), st.sampled_from([["one"], ["two"], ["one", "two"]]))
def test_a_filter_lets_through_what_a_plain_reading_of_it_says(store: Path, wanted: CaseFilter, runs: list[str]) -> None:
    tables = StoreTables(store)
    cases = run_cases(tables, runs)

    def holds(case: dict[str, Any]) -> bool:
        def chip_fits(chip: dict[str, Any]) -> bool:
            value = chip["value"]
            fits = not wanted.task or chip["task"] == wanted.task
            fits &= not wanted.question or chip["dimension"] == wanted.question
            fits &= not wanted.reason or chip["reason"] == wanted.reason
            if wanted.verdict:
                fits &= value is None if wanted.verdict == "unscored" else value == float(wanted.verdict)
            return fits

        where = {
            "": True,
            "value = 1": any(chip["value"] == 1 for chip in case["chips"]),
            "judge = 'k' OR value IS NULL": case["run_id"] == "two" or any(chip["value"] is None for chip in case["chips"]),
        }[wanted.where]
        return (
            (not wanted.model or case["subject_model"] in wanted.model)
            and any(map(chip_fits, case["chips"]))
            and (not wanted.label or wanted.label in (case["labels"] or []))
            and (not wanted.differs or case["differs"])
            and (not wanted.people or case["people"])
            and (not wanted.disagree or bool(case["disagree"]))
            and (not wanted.text or wanted.text.lower() in f"{case['text']}\n{case['prompt_id']}".lower())
            and where
        )

    expected = [case for case in cases.iter_rows(named=True) if holds(case)]
    assert filtered(tables, cases, wanted).rows(named=True) == expected


def test_cases_hold_every_score_once_and_say_where_judges_differ(store: Path) -> None:
    tables = StoreTables(store)
    cases = run_cases(tables, ["one"])
    scores = ResultStore.open(store).read("scores").filter(pl.col("run_id") == "one").collect()
    assert cases.height == 4 and cases["chips"].list.len().sum() == scores.height
    differing = set(cases.filter("differs")["generation_id"])
    assert differing == {f"{HOSTILE}/p0", f"{HOSTILE}/p1"}  # brush/p0 has one verdict and one that is missing
    offered = choices(cases)
    assert offered.models == [(HOSTILE, 2), ("brush", 2)] and offered.reasons == [("timeout", 1)] and offered.differing == 2


def test_a_run_that_goes_on_is_seen_from_its_journal_and_counts_once_when_it_is_folded(store: Path) -> None:
    tables = StoreTables(store)
    assert run_cases(tables, ["one"]).height == 4
    journal = open_journal(store, "one")
    assert journal is not None
    more = [
        Score.model_validate(score("p2", "brush", "subject", 1.0)),
        Score.model_validate(score("p1", "brush", "subject", 1.0)),
    ]
    journal.add("scores", more)
    live = run_cases(tables, ["one"])
    assert live.height == 5 and live.filter(prompt_id="p1", subject_model="brush")["chips"].list.len().item() == 2
    assert "running" in runs_page(tables) and "data-live" in cases_page(tables, {"run": ["one"]})
    journal.leave()
    ResultStore.open(store)
    assert run_cases(tables, ["one"]).drop("sample").equals(live.drop("sample"))
    assert "data-live" not in cases_page(tables, {"run": ["one"]})


def test_a_picture_is_the_one_that_was_judged_made_small_once(store: Path, tmp_path: Path) -> None:
    viewer = Viewer(StoreTables(store), SmallCopies(tmp_path / "copies"), token="t")
    first, again, unknown, odd = asked(
        viewer,
        ("GET", "/t/picture?id=brush/p0&size=small", {}),
        ("GET", "/t/picture?id=brush/p0&size=small", {}),
        ("GET", "/t/picture?id=nobody&size=small", {}),
        ("GET", "/t/picture?id=brush/p0&size=huge", {}),
    )
    assert first[2]["Content-Type"] == "image/webp" and first[1] == again[1]
    assert len(list((tmp_path / "copies").rglob("*.webp"))) == 1
    assert "no such picture" in unknown[1] and odd[0] == 404
    (tmp_path / "pictures" / "1.png").write_bytes((tmp_path / "pictures" / "0.png").read_bytes())
    [changed] = asked(viewer, ("GET", "/t/picture?id=brush/p1&size=small", {}))
    assert "has changed since it was judged" in changed[1] and changed[2]["Content-Type"].startswith("image/svg+xml")


def test_the_folder_of_copies_keeps_to_its_size_from_the_first_copy_on(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "copies"
    (folder / "aa").mkdir(parents=True)
    for number in range(6):
        path = folder / "aa" / f"{'.half.tmp' if number == 1 else number}.webp"
        path.write_bytes(b"x" * 1000)
        os.utime(path, (number, number))
    (folder / "aa" / "7.webp").symlink_to("removed by another viewer")
    monkeypatch.setattr("salon_bench.viewer.small_copies._MOST_BYTES", 2900)
    pages_of(store, tmp_path, "picture?id=brush/p0&size=small")
    kept = [path for path in folder.rglob("*.webp") if path.exists()]
    assert {"4", "5"} < {path.stem for path in kept} and len(kept) == 3


def test_a_folder_of_copies_that_cannot_be_used_hides_no_picture(store: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("/dev/full")
    for folder in (tmp_path / "file", tmp_path / "file" / "below", tmp_path / "link", Path("/proc/none"), Path("/dev/full")):
        viewer = Viewer(StoreTables(store), SmallCopies(folder), token="t")
        [(status, _, headers)] = asked(viewer, ("GET", "/t/picture?id=brush/p0&size=small", {}))
        assert (status, headers["Content-Type"]) == (200, "image/webp"), folder


EVERY_PAGE = (
    "",
    "battles",
    "row?key=b0",
    "run?run=one",
    "run?run=one&where=value=1",
    CASE_ADDRESS,
    "board?id=x",
    "picture?id=brush/p0&size=small",
)


def test_a_store_that_is_damaged_or_removed_under_the_viewer_is_said_to_be_so(store: Path, tmp_path: Path) -> None:
    def removed(folder: Path) -> None:
        shutil.rmtree(folder)

    def cut(folder: Path) -> None:
        for path in folder.glob("*.parquet"):
            path.write_bytes(path.read_bytes()[:-100])

    def altered(folder: Path) -> None:
        for path in folder.glob("*.parquet"):
            content, status = path.read_bytes(), path.stat()
            path.write_bytes(content[:-60] + b"\xff" * 52 + content[-8:])
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    damages = [
        (".", removed),
        ("scores", cut),
        ("battles", altered),
        ("runs", altered),
        ("scores", altered),
        ("generations", altered),
    ]
    for table, damage in [*damages, ("judge_calls", altered), ("prompts", removed)]:
        copy = tmp_path / f"{table}-{damage.__name__}"
        shutil.copytree(store, copy)
        viewer = Viewer(StoreTables(copy), SmallCopies(tmp_path / "copies"), token="t")
        damage(copy / table)
        answers = asked(viewer, *(("GET", f"/t/{page}", {}) for page in EVERY_PAGE))
        assert {status for status, _, _ in answers} <= {200, 404}, (table, damage, [answer[:2] for answer in answers])


def test_what_many_ask_at_once_is_made_once_and_again_when_rows_come(store: Path) -> None:
    tables, made = StoreTables(store), list[int]()

    def make() -> int:
        made.append(1)
        sum(range(100_000))  # so that others come meanwhile
        return len(made)

    def ask(state: int) -> int:
        return tables.kept(("name",), state, make)

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(ask, [1] * 30)) == {1}
        assert set(pool.map(ask, [2] * 30)) == {2}


class Form(HTMLParser):
    """What a page's form would send: fields by name, each with all values that can be chosen; and the links."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.fields: dict[str, list[str]] = {}
        self.links: list[str] = []
        self._select = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self._select = given["name"] if tag == "select" else self._select
        name = {"option": self._select, "input": given.get("name", "")}.get(tag)
        if name and given.get("value"):  # a browser sends every line feed as CR LF
            self.fields.setdefault(name, []).append(re.sub("\r\n?|\n", "\r\n", given["value"]))
        if tag == "a":
            self.links.append(given["href"])


ODD = (HOSTILE, "javascript:alert(1)", "x\ny\r\nz", "a%41+b c&d?e/f#g", "//evil.example/", " \ufeff ", r"a\u202eb")


def test_whatever_a_name_is_its_run_its_filters_and_its_cases_can_be_reached(tmp_path: Path) -> None:
    opened = ResultStore.open(tmp_path / "odd")
    opened.append("runs", pl.DataFrame([run_row(name) for name in ODD]), run_id="r")
    rows = [
        score("p0", name, name, 1 / 3, run=run) | {"task": name, "prompt_id": name, "generation_id": name}
        for run, name in itertools.product(ODD, ODD)
    ]
    unscored = {"value": None, "judge": "other"}
    missing = [row | unscored | {"unscored_reason": name, "generation_id": name} for row, name in zip(rows, ODD, strict=False)]
    opened.append("scores", pl.DataFrame(rows + missing, infer_schema_length=None), run_id="r")
    labels = [
        {"assessment_id": name, "run_id": HOSTILE, "generation_id": name, "taxonomy": "t", "label": name, "present": True,
         "judge": "j", "judge_version": "1"} for name in ODD
    ]  # fmt: skip
    opened.append("assessments", pl.DataFrame(labels), run_id="r")
    tables = StoreTables(tmp_path / "odd")
    runs = Form(runs_page(tables)).fields["run"]
    assert len(runs) == len(ODD)
    for run in runs:
        page = cases_page(tables, {"run": [run]})
        assert "7 of 7 cases" in page, run
        form = Form(page)
        assert len(form.fields["run"]) == 1 and set(form.fields) >= {"model", "task", "question", "verdict"}
        addresses = [link.partition("?") for link in form.links]
        assert {name for name, _, _ in addresses} == {"run", "case", ".", "#content"}
        [first, *_] = [query for name, _, query in addresses if name == "case"]
        assert "as they came" in case_page(tables, parse_qs(first))
    form = Form(cases_page(tables, {"run": [HOSTILE]}))
    assert set(form.fields) >= {"reason", "label"}
    for name in ("model", "task", "question", "verdict", "reason", "label"):
        for value in form.fields[name]:
            page = cases_page(tables, {"run": form.fields["run"], name: [value]})
            assert re.search(r'role="status">[1-7] of 7 cases', page) or value == "unscored", (name, value)
            assert page.count(" selected>") == 1, (name, value)


def test_a_prompt_is_the_one_that_the_run_had_though_other_suites_have_its_id(tmp_path: Path) -> None:
    opened = ResultStore.open(tmp_path / "ids")
    prompts = [("a", "k1", "first of a"), ("a", "k2", "second of a"), ("b", "k3", "of b"), ("c", None, "of c")]
    frame = pl.DataFrame([{"prompt_id": "p0", "suite": suite, "prompt_key": key, "text": text} for suite, key, text in prompts])
    opened.append("prompts", frame, run_id="r")
    runs = {"old": ("a", "k1"), "new": ("a", "k2"), "other": ("b", "k3"), "imported": ("b", None), "variant": ("c-zh", None)}
    keys = [{"run_id": run, "prompt_id": "p0", "prompt_key": key} for run, (_, key) in runs.items() if key]
    opened.append("run_prompts", pl.DataFrame(keys), run_id="r")
    rows = [score("p0", "m", "q", 1.0, run=run) | {"suite": suite} for run, (suite, _) in runs.items()]
    rows.append(score("p0", "m", "q", 1.0, run="unknown") | {"suite": "d"})
    opened.append("scores", pl.DataFrame(rows), run_id="r")
    cases = run_cases(StoreTables(tmp_path / "ids"), [*runs, "unknown"])
    assert dict(cases.select("run_id", "text").iter_rows()) == {
        "old": "first of a", "new": "second of a", "other": "of b", "imported": "of b", "variant": "of c", "unknown": None
    }  # fmt: skip


def test_a_run_in_shards_is_one_column_and_its_cases_lead_from_one_to_the_next(tmp_path: Path) -> None:
    opened = ResultStore.open(tmp_path / "shards")
    settings = [f'{{"whole_id": "all", "shard": [{part}, 2]}}' for part in (1, 2)]
    runs = [run_row(f"shard{part}") | {"settings": text} for part, text in enumerate(settings)]
    opened.append("runs", pl.DataFrame(runs), run_id="r")
    rows = [score(f"p{number}", "brush", "q", 1.0, run=f"shard{number % 2}") for number in range(6)]
    opened.append("scores", pl.DataFrame(rows), run_id="r")
    tables = StoreTables(tmp_path / "shards")
    page = cases_page(tables, {"run": ["all"], "beside": ["1"]})
    assert page.count('<th scope="col"><bdi>') == 1 and page.count("<article") == 6
    address = next(link for link in Form(cases_page(tables, {"run": ["all"]})).links if link.startswith("case?"))
    prompts = []
    for _ in range(6):
        query = parse_qs(address.partition("?")[2])
        prompts += query["prompt_id"]
        later = re.search(r'rel="next" href="([^"]*)"', case_page(tables, query))
        address = html.unescape(later[1]) if later else ""
    assert prompts == [f"p{number}" for number in range(6)] and not address


def test_a_rescored_run_shows_the_replies_that_were_read_again(store: Path) -> None:
    opened = ResultStore.open(store)
    again = "one+rescore-2"
    opened.append("runs", pl.DataFrame([run_row(again)]), run_id=again)
    opened.append("scores", pl.DataFrame([score("p0", "brush", "subject", 1.0, run=again)]), run_id=again)
    query = {"run_id": [again], "subject_model": ["brush"], "prompt_id": ["p0"], "generation_id": ["brush/p0"]}
    assert "I say " in case_page(StoreTables(store), query)


def test_a_page_stays_small_however_much_there_is_of_one_picture(tmp_path: Path) -> None:
    opened = ResultStore.open(tmp_path / "large")
    opened.append("runs", pl.DataFrame([run_row("one")]), run_id="one")
    rows = [score("p0", "m", f"question {number:05}", 1.0) for number in range(10_000)]
    rows += [score("p1", "m", "q", 1.0) | {"generation_id": f"sample {number:05}"} for number in range(3_000)]
    opened.append("scores", pl.DataFrame(rows), run_id="one")
    text = [{"prompt_id": "p0", "suite": "su", "text": "word " * 200_000, "prompt_key": "k"}]
    opened.append("prompts", pl.DataFrame(text), run_id="one")
    call = {"run_id": "one", "judge": "j", "judge_version": "1", "generation_id": "m/p0", "step": "s",
            "request_sha256": "0" * 64, "attempt": 1, "status": "ok", "cached": False}  # fmt: skip
    calls = [call | {"call_id": f"{number}", "response_text": "reply"} for number in range(2_000)]
    opened.append("judge_calls", pl.DataFrame(calls), run_id="one")
    tables = StoreTables(tmp_path / "large")
    beside = {"run": ["one"], "beside": ["1"]}
    case = {"run_id": ["one"], "subject_model": ["m"], "prompt_id": ["p0"], "generation_id": ["m/p0"]}
    first, second, third, one = (
        cases_page(tables, {"run": ["one"]}),
        cases_page(tables, beside),
        cases_page(tables, beside | {"page": ["2"]}),
        case_page(tables, case),
    )
    assert max(map(len, (first, second, third, one))) < 1_000_000
    assert "and 9960 more" in first and "More samples than fit" in third
    assert "the first 500 of 10,000 verdicts, the first 500 of 2,000 replies" in one


@pytest.mark.parametrize("settings", ['{"whole_id": "a"', '{"whole_id": "a"}', '{"whole_id": "a", "shard": 7}'])
def test_a_run_whose_settings_are_no_plan_is_listed_as_it_is(store: Path, settings: str) -> None:
    ResultStore.open(store).append("runs", pl.DataFrame([{**run_row("odd"), "settings": settings}]), run_id="odd")
    assert "odd" in runs_page(StoreTables(store))


def test_wrong_addresses_say_what_is_wrong(store: Path, tmp_path: Path) -> None:
    tables = StoreTables(store)
    with pytest.raises(InputError, match="one to 8 runs"):
        cases_page(tables, {})
    with pytest.raises(InputError, match="there is no run"):
        cases_page(tables, {"run": ["three"]})
    with pytest.raises(InputError, match="is no number"):
        cases_page(tables, {"run": ["one"], "verdict": ["good"]})
    [page] = pages_of(store, tmp_path, "run?run=one&where=valu+%3C+1")
    assert "valu" in page and "0 of 4 cases" in page and 'role="alert"' in page


def test_runs_beside_each_other_have_a_column_for_each_model_and_run(store: Path) -> None:
    page = cases_page(StoreTables(store), {"run": ["one", "two"], "beside": ["1"]})
    assert page.count('<th scope="col"><bdi>') == 4 and page.count('<th scope="row">') == 2
    assert page.count("<article") == 8


def test_battles_show_both_pictures_and_are_found_by_pair_winner_rater_category_prompt_and_sql(
    store: Path, tmp_path: Path
) -> None:
    view = BattleView(StoreTables(store))
    frame = view.rows().frame
    pictures = {
        row["key"]: [(one["name"], one["id"], one["chosen"]) for one in row["pictures"]] for row in frame.rows(named=True)
    }
    assert pictures == {
        "b0": [("brush", "brush/p0", True), (HOSTILE, f"{HOSTILE}/p0", False)],  # the model's only picture of the prompt
        "b1": [("brush", "brush/p0", False), ("gone", None, False)],
    }
    for query, keys in (
        ({}, ["b0", "b1"]),
        ({"is_models": ["brush"]}, ["b0", "b1"]),
        ({"is_models": ["brush", "gone"]}, ["b1"]),
        ({"is_models": [visible(HOSTILE)]}, ["b0"]),
        ({"is_won": ["tie"]}, ["b1"]),
        ({"is_rater_id": ["ann"], "is_won": ["brush"]}, ["b0"]),
        ({"is_rater_id": ["ann"], "is_won": ["tie"]}, []),
        ({"is_scenario": [HOSTILE], "text": ["CAT, p0"]}, ["b0", "b1"]),
        ({"is_labels": [HOSTILE]}, ["b1"]),
        ({"text": ["no such"]}, []),
        ({"where": ["winner = 'tie' AND generation_a IS NULL"]}, ["b1"]),
    ):
        assert sorted(filtered_rows(view.rows(), query)["key"]) == keys, query
    page, one, wrong = pages_of(
        store, tmp_path, "battles?is_models=brush", "row?key=b0&f_is_won=brush", "battles?where=nonsense"
    )
    assert page.count("<article") == 2 and page.count('class="chosen"') == 1 and "and model" in page
    assert "decided by ann (public)" in one and 'rel="next"' not in one
    pair = next(link for link in Form(one).links if link.count("is_models=") == 2)
    assert sorted(filtered_rows(view.rows(), parse_qs(pair.partition("?")[2]))["key"]) == ["b0"]
    assert 'role="alert"' in wrong and "nonsense" in wrong


def test_the_page_of_a_battle_says_who_decided_it_when_and_what_was_shown_where(store: Path) -> None:
    noon = datetime(2026, 1, 2, 12, 0, 4, 500_000, tzinfo=UTC)
    vote = {
        "prompt_id": "p0",
        "suite": "su",
        "model_a": "brush",
        "model_b": "pen",
        "rater_id": "cleo",
        "mode": "expert",
        "labels": [],
    }
    anchor = {"is_anchor": True, "expected_winner": "model_a", "weight": 0.5, "plan_rule": "uniform", "side_a_shown": "right"}
    began = {"started_at": noon - timedelta(seconds=4.5)}
    votes = [
        vote | {"battle_id": "c0", "winner": "model_b", "answered_at": noon} | anchor | began,
        vote | {"battle_id": "c1", "winner": "tie", "answered_at": noon, "is_anchor": False, "weight": 1.0},
    ]
    ResultStore.open(store).append("battles", pl.DataFrame(votes, infer_schema_length=None), run_id="one")
    view = BattleView(StoreTables(store))
    [first], [second] = view.details("c0"), view.details("c1")
    assert first.heading == "brush against pen: pen"
    assert first.facts.split(" · ") == [
        "decided by cleo (expert)", "2026-01-02 12:00 UTC", "after 4.5 s", "brush was shown on the right",
        "a control pair: expected brush", "weight 0.5", "planned by uniform"]  # fmt: skip
    assert second.facts.split(" · ") == ["decided by cleo (expert)", "2026-01-02 12:00 UTC"]


def test_a_value_leads_to_all_rows_that_have_it_where_there_is_one_to_choose() -> None:
    values = {"rater": "ann", "labels": ["a", "b"], "free": "x"}
    table = RowTable(pl.DataFrame([values]), {"rater": "Rater", "labels": "Labels"}, ())

    def leads(**changed: object) -> list[str]:
        row = values | changed
        return [_same_value(table, row, name, "battles") for name in values]

    rater, labels, free = leads()
    assert parse_qs(rater.partition("?")[2]) == {"is_rater": ["ann"]} and rater.startswith("battles?")
    assert parse_qs(labels.partition("?")[2]) == {"is_labels": ["a", "b"]} and free == ""
    assert leads(rater=None, labels=[], free=None) == ["", "", ""]


def test_a_battle_of_a_journal_is_seen_at_once(store: Path) -> None:
    view = BattleView(StoreTables(store))
    journal = open_journal(store, "vote")
    assert journal is not None and view.rows().frame.height == 2
    row = {"battle_id": "b2", "model_a": "x", "model_b": "y", "winner": "model_b", "rater_id": "cy", "mode": "expert"}
    journal.add("battles", [Battle.model_validate(row)])
    assert view.rows().frame.height == 3
    journal.leave()


SCORED = {"run_id": pl.String, "judge_version": pl.String, "generation_id": pl.String, "dimension": pl.String, "value": float}


def medians_differ(people: list[float], judges: list[float]) -> bool:
    return bool(people) and bool(judges) and statistics.median(people) != statistics.median(judges)


MARKS = st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("qr"), st.sampled_from([0.0, 1.0])), max_size=16)


@given(MARKS, MARKS)
def test_people_and_judges_differ_in_a_question_where_their_medians_do(
    people: list[tuple[str, str, float]], judges: list[tuple[str, str, float]]
) -> None:
    rows = [("arena-1", None, *mark) for mark in people] + [("one", "1", *mark) for mark in judges]
    scores = pl.DataFrame(rows, schema=SCORED, orient="row")
    differing = set(disagreements(scores, ratings_of([])).iter_rows())
    expected = {
        (picture, question)
        for picture, question in itertools.product("abcd", "qr")
        if medians_differ(*([value for p, q, value in marks if (p, q) == (picture, question)] for marks in (people, judges)))
    }
    assert differing == expected


def ratings_of(rows: list[tuple[str, str, float]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"generation_id": pl.String, "dimension": pl.String, "value": float}, orient="row")


@given(st.permutations(range(6)), st.floats(0.5, 20), st.floats(-5, 5))
def test_ratings_differ_from_judges_whatever_the_scale_where_one_is_above_the_middle_and_the_other_below(
    order: list[int], factor: float, shift: float
) -> None:
    scores = pl.DataFrame([("one", "1", f"{n}", "q", float(n)) for n in range(6)], schema=SCORED, orient="row")
    ratings = ratings_of([(f"{n}", "q", factor * place + shift) for n, place in enumerate(order)])
    differing = {picture for picture, _ in disagreements(scores, ratings).iter_rows()}
    assert differing == {f"{n}" for n, place in enumerate(order) if (n < 3) != (place < 3)}


def test_people_stand_beside_judges_on_a_pictures_page_and_are_a_filter(store: Path, tmp_path: Path) -> None:
    opened = ResultStore.open(store)
    person = {"run_id": "arena-1", "suite": "arena", "task": "test_points", "judge": f"ann {HOSTILE}", "judge_version": None}
    marks = [score("p0", HOSTILE, "subject", 0.0) | person, score("p1", "brush", "subject", 0.0) | person]
    opened.append("scores", pl.DataFrame(marks, infer_schema_length=None), run_id="arena-1")
    rating = {"rating_id": "r", "prompt_id": "p0", "generation_id": "brush/p0", "model": "brush", "dimension": "beauty",
              "value": 4, "scale_min": 1, "scale_max": 5, "rater_id": "bob"}  # fmt: skip
    opened.append("ratings", pl.DataFrame([rating]), run_id="arena-1")
    tables = StoreTables(store)
    cases = run_cases(tables, ["one"])
    assert set(cases.filter("people")["generation_id"]) == {f"{HOSTILE}/p0", "brush/p1", "brush/p0"}
    # The judges of p0 say 0 and 1, their median is ½: the person differs from it, and at p1 from both.
    assert set(cases.filter(pl.col("disagree").list.len() > 0)["generation_id"]) == {f"{HOSTILE}/p0", "brush/p1"}
    assert set(cases.filter("differs")["generation_id"]) == {f"{HOSTILE}/p0", f"{HOSTILE}/p1"}  # of judges alone
    page, case, rated = pages_of(store, tmp_path, "run?run=one&disagree=1", CASE_ADDRESS.replace("p0", "p1"), CASE_ADDRESS)
    assert page.count("<article") == page.count(">people and judges differ</span>") == 2
    assert case.count(">person</span>") == 1 and 'class="differs"' in case and SHOWN in case
    assert "rating: beauty" in rated and "4 of 1 to 5" in rated


@pytest.fixture
def boards(tmp_path: Path) -> Iterator[Path]:
    from salon_ranking import Battles, rank

    votes = pl.DataFrame({"model_a": ["x"] * 9, "model_b": ["y"] * 9, "winner": ["model_a"] * 5 + ["model_b"] * 4})
    board = rank(Battles.from_frame(votes), replicates=0)
    ResultStore.open(tmp_path / "boards").append("leaderboards", board.records("mine"), run_id="r")
    yield tmp_path / "boards"


def test_leaderboards_are_pages_with_their_intervals(boards: Path, tmp_path: Path) -> None:
    [front] = pages_of(boards, tmp_path, "")
    found = re.search(r'href="(board\?[^"]*)"', front)
    assert found is not None
    [page] = pages_of(boards, tmp_path, found[1].replace("&amp;", "&"))
    assert page.count("<circle") == 2 and "Elo" in page
    assert "battles?" not in page


def test_a_model_of_a_board_leads_to_its_own_battles(tmp_path: Path) -> None:
    from salon_ranking import Battles, rank

    votes = pl.DataFrame(
        {"model_a": ["x & y", "x & y", "z"], "model_b": ["z", "w", "w"], "winner": ["model_a", "model_b", "model_a"]}
    )
    store = ResultStore.open(tmp_path / "store")
    store.append("leaderboards", rank(Battles.from_frame(votes), replicates=0).records("mine"), run_id="r")
    battle = {"rater_id": "r", "mode": "public", "is_anchor": False, "weight": 1.0}
    rows = [row | battle | {"battle_id": str(number)} for number, row in enumerate(votes.iter_rows(named=True))]
    store.append("battles", pl.DataFrame(rows), run_id="r")
    [front] = pages_of(tmp_path / "store", tmp_path, "")
    [board] = pages_of(tmp_path / "store", tmp_path, html.unescape(re.findall(r'href="(board[^"]*)"', front)[0]))
    links = [html.unescape(link) for link in re.findall(r'href="(battles[^"]*)"', board)]
    assert len(links) == 3
    shown = pages_of(tmp_path / "store", tmp_path, *links)
    assert [page.count("<article") for page in shown] == [2, 2, 2]
    assert "x &amp; y" in shown[links.index("battles?is_models=x+%26+y")]


def test_a_folder_that_another_package_made_is_shown_by_it(store: Path, tmp_path: Path) -> None:
    (tmp_path / "grpo").mkdir()
    (tmp_path / "grpo" / "completions.jsonl").write_text('{"step": 1, "completion": "words"}\n')
    view = rows_of(tmp_path)
    assert view is not None and view.rows().frame["text"].to_list() == ["words"]
    assert rows_of(store) is None
    assert rows_of("s3://bucket/results") is None


def test_the_folder_around_a_store_names_it(store: Path) -> None:
    with pytest.raises(InputError, match=f"salon view {re.escape(str(store))}"):
        rows_of(store.parent)


def test_a_part_is_written_as_files_whose_links_lead_to_files(store: Path, tmp_path: Path) -> None:
    [run_id, *_] = ResultStore.open(store).read("runs").collect()["run_id"].sort()
    folder = tmp_path / "chosen"
    done = CliRunner().invoke(main, ["view", str(store), "--export", str(folder), "--page", f"http://h/token/run?run={run_id}"])
    assert done.exit_code == 0, done.output
    pages = {path.name: path.read_text() for path in folder.glob("*.html")}
    assert len(pages) > 2 and "index.html" in pages
    reached = set()
    for text in pages.values():
        assert "<script" not in text and "<form" not in text and "data-live" not in text
        links = re.findall(r'(?:href|src)="([^"#][^"]*)"', text)
        assert all((folder / link).is_file() for link in links), links
        reached |= set(links)
    assert {*pages} - {"index.html"} <= reached
    assert list(folder.glob("pictures/*"))
    again = CliRunner().invoke(main, ["view", str(store), "--export", str(folder)])
    assert (again.exit_code, "is there already" in again.output) == (2, True)
    wrong = ((["--page", "run"], "without --export"), (["--export", str(tmp_path / "x"), "--page", "no"], "no page"))
    for words, problem in wrong:
        refused = CliRunner().invoke(main, ["view", str(store), *words])
        assert (refused.exit_code, problem in refused.output, (tmp_path / "x").exists()) == (2, True, False), refused.output


def test_a_whole_store_is_written_with_its_runs_and_their_pictures(store: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["view", str(store), "--export", str(tmp_path / "all")])
    assert done.exit_code == 0, done.output
    front = (tmp_path / "all" / "index.html").read_text()
    runs = ResultStore.open(store).read("runs").collect()["run_id"]
    assert all(run_id in front for run_id in runs) and front.count('href="page-') >= len(runs) > 0
    assert not re.search("<form|<input|<button", front) and list((tmp_path / "all").glob("pictures/*"))


def test_an_export_of_too_many_pages_writes_nothing(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("salon_bench.viewer.export.MOST_PAGES", 2)
    refused = CliRunner().invoke(main, ["view", str(store), "--export", str(tmp_path / "all")])
    assert (refused.exit_code, (tmp_path / "all").exists()) == (2, False)
    assert "more than 2 pages" in refused.output


def test_a_mark_of_one_is_a_number_and_a_share_of_one_a_yes(tmp_path: Path) -> None:
    opened = ResultStore.open(tmp_path / "marks")
    rows = [score(prompt, "m", "beauty", mark) for prompt, mark in (("p0", 1.0), ("p1", 4.0))]
    opened.append("scores", pl.DataFrame([*rows, score("p0", "m", "there", 1.0)]), run_id="one")
    opened.append("runs", pl.DataFrame([run_row("one")]), run_id="one")
    page = cases_page(StoreTables(tmp_path / "marks"), {"run": ["one"]})
    kinds = re.findall(r'chip (\w+)" [^>]*><bdi>(\w+)</bdi> <b><bdi>([^<]+)', page)
    assert sorted(kinds) == [("number", "beauty", "1"), ("number", "beauty", "4"), ("yes", "there", "1")]


def test_a_store_of_published_tables_opens_with_its_boards(tmp_path: Path) -> None:
    store = ResultStore.open(tmp_path / "store")
    rows = [{"run_id": f"published-{name}", "suite": "B", "source": "a paper", "salon_version": "0"} for name in "ab"]
    store.append("runs", pl.DataFrame(rows), run_id="published")
    battles = {
        "battle_id": ["1"],
        "model_a": ["x"],
        "model_b": ["y"],
        "winner": ["tie"],
        "rater_id": ["r"],
        "mode": ["derived"],
    }
    store.append("battles", pl.DataFrame(battles), run_id="published")
    assert "no verdict about a single picture" in cases_page(StoreTables(store.path), {"run": ["published-a"]})
    page = runs_page(StoreTables(store.path))
    assert "has no runs yet" in page
    assert "2 imported tables of many models" in page and page.index("1 battle<") < page.index("published-a")
    assert "vote" not in page and "pages of judged pictures" not in page
    label = {"assessment_id": "a", "run_id": "r", "generation_id": "g", "taxonomy": "t", "label": "l", "present": True,
             "judge": "j", "judge_version": "1"}  # fmt: skip
    store.append("assessments", pl.DataFrame([label]), run_id="r")
    assert "on the pages of judged pictures (here 1 label)" in runs_page(StoreTables(store.path))
