"""Whatever a client sends is never answered with 5xx: each route, header, path part, query and body that the server reads."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote_to_bytes, urlencode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from postgres_server import PostgresServer, programs
from small_arena import seen, write_material
from starlette.applications import Starlette
from starlette.routing import Route

from salon_arena import ArenaDatabase, create_app, read_material, vote_service
from salon_arena.app import csrf_token
from salon_arena.signin import Passwords, add_account

HEADERS = ("origin", "host", "cookie", "content-type", "x-csrf-token", "sec-fetch-site", "x-forwarded-for", "range", "accept")
FIELDS = (
    *("consent", "invite", "occupation", "name", "password", "code", "state", "answer_id", "assignment", "choice"),
    *("elapsed_ms", "supersedes", "action", "rater", "days", "role"),
)


class Fuzzed:
    """An arena with accounts, an admin and a session of each, asked without a network."""

    def __init__(self, folder: Path, place: Path | str, *, accounts: bool) -> None:
        self.database = ArenaDatabase.open(place)
        material = read_material(*write_material(folder))
        self.service = vote_service(self.database, material)
        add_account(self.database, "ann", "a long password", "rater", 1)
        self.tokens = ["", ""]
        passwords = Passwords(self.database) if accounts else None
        self.app: Starlette = create_app(
            self.service,
            hosts=["*"],
            answers_per_second=1e9,
            joins_per_hour=10**9,
            passwords=passwords,
            proxies=("127.0.0.1",),
        )
        self.routes = sorted({route.path for route in self.app.routes if isinstance(route, Route)})

    def token(self, who: int) -> str:
        """A session of a rater or an admin; a new one when requests have ended it."""
        people = self.service.people
        if people.rater_of(self.tokens[who]) is None:
            code = people.invite("admin").result() if who else None
            self.tokens[who] = people.join(invite=code).result().token
            if not who:
                rater = people.rater_of(self.tokens[0]) or ""
                self.task = seen(self.service, rater)
        return self.tokens[who]

    def ask(self, method: str, path: bytes, query: bytes, headers: list[tuple[bytes, bytes]], body: bytes) -> int:
        scope = {
            "type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "http_version": "1.1", "method": method,
            "path": path.decode("utf-8", "replace"), "raw_path": path, "query_string": query, "headers": headers,
            "scheme": "http", "server": ("arena.test", 80), "client": ("127.0.0.1", 1), "root_path": "",
        }  # fmt: skip
        statuses: list[int] = []

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def work() -> None:
            try:
                await self.app(scope, receive, send)
            except Exception:
                if statuses and statuses[0] < 500:
                    raise

        asyncio.run(work())
        return statuses[0]


@pytest.fixture(scope="module", params=["open", "accounts", "postgres"])
def arena(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fuzzed]:
    folder = tmp_path_factory.mktemp("fuzzed")
    with ExitStack() as stack:
        place: Path | str = folder / "arena.db"
        if request.param == "postgres":
            if programs() is None:
                pytest.skip("needs Debian's package postgresql")
            server = PostgresServer()
            stack.callback(server.close)
            place = server.address
        fuzzed = Fuzzed(folder, place, accounts=request.param == "accounts")
        stack.callback(fuzzed.database.close)
        yield fuzzed


texts = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        ["9" * 5000, "-1", "0", "../..", "\0", "http://[", "a\ud800".encode("utf-8", "surrogatepass").decode("latin-1")]
    ),
    st.from_regex(r"[0-9]{1,400}", fullmatch=True),
)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=8,
)
bodies = st.one_of(
    st.binary(max_size=60),
    st.dictionaries(st.sampled_from(FIELDS), values, max_size=6).map(lambda each: json.dumps(each).encode("utf-8", "replace")),
    st.sampled_from(
        [b"[" * 20_000, b'{"choice": ' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"}", b'{"assignment": "\\ud800"}']
    ),
)
headers = st.dictionaries(
    st.sampled_from(HEADERS), st.one_of(texts, st.just("application/json"), st.just("arena.test")), max_size=4
)


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    route=st.integers(0, 100), parts=st.lists(texts, min_size=2, max_size=2), query=st.dictionaries(texts, texts, max_size=2),
    method=st.sampled_from(["GET", "POST", "HEAD", "PUT"]), head=headers, body=bodies, who=st.integers(0, 2),
    real=st.booleans(), raw=st.binary(max_size=12),
)  # fmt: skip
def test_nothing_that_is_sent_is_answered_with_5xx(
    arena: Fuzzed,
    route: int,
    parts: list[str],
    query: dict[str, str],
    method: str,
    head: dict[str, str],
    body: bytes,
    who: int,
    real: bool,
    raw: bytes,
) -> None:
    template = arena.routes[route % len(arena.routes)]
    token = arena.token(max(0, who - 1))
    task = arena.task["assignment"] if real else quote(parts[0], errors="replace")
    path = template.replace("{task}", task).replace("{place}", quote(parts[1], errors="replace")).replace("{name}", task)
    sent = {"host": "arena.test", "content-type": "application/json"}
    if who:
        sent |= {"cookie": f"salon={token}", "x-csrf-token": csrf_token(token)}
        sent |= {"sec-fetch-site": "same-origin"} if method == "POST" else {}
    sent |= head
    raw_headers = [(name.encode(), value.encode("utf-8", "replace")) for name, value in sent.items()]
    asked = urlencode(query, errors="replace").encode() + (b"&scenario=" + raw if real else b"")
    status = arena.ask(method, unquote_to_bytes(path), asked, raw_headers, body)
    assert status < 500, (method, path, asked, sent, body[:200])


def test_a_path_part_of_five_thousand_digits_and_a_broken_origin_are_refused(arena: Fuzzed) -> None:
    token = arena.token(0)
    own = [(b"host", b"arena.test"), (b"cookie", f"salon={token}".encode()), (b"content-type", b"application/json")]
    own.append((b"x-csrf-token", csrf_token(token).encode()))
    for task in ("T", arena.task["assignment"]):
        assert arena.ask("GET", f"/media/{task}/{'9' * 5000}".encode(), b"", own, b"") == 404
    assert arena.ask("POST", b"/tasks", b"", [*own, (b"origin", b"http://[")], b"{}") == 403
    assert arena.ask("POST", b"/tasks", b"", [*own, (b"origin", b"http://arena.test")], b"{}") == 200
