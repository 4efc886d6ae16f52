"""Sign-in with passwords and through a provider on this machine; logs of requests hold no secret."""

import asyncio
import contextlib
import hashlib
import hmac
import json
import re
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import uvicorn
from browsing import Served, context
from playwright.sync_api import Browser, Page
from playwright.sync_api import Route as AskedFor
from small_arena import MODELS, Clock
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient
from starlette.types import ASGIApp, Receive, Scope, Send
from test_arena_pages import faults_in_every_look

from for_each import for_each
from salon_arena import ArenaDatabase, Material, RefusedError, WorkService, create_app, vote_service
from salon_arena.app import csrf_token
from salon_arena.log import open_log
from salon_arena.people import forget
from salon_arena.signin import Oidc, OidcSettings, Passwords, add_account
from salon_taxonomy.errors import InputError

pytest.importorskip("argon2", reason="the extra salon-arena[passwords]")
pytest.importorskip("joserfc", reason="the extra salon-arena[oidc]")
PASSWORD = "correct horse battery"


def signed(header: dict[str, Any], claims: dict[str, Any], key: Any) -> str:
    """A token signed as its header says: by a key, for HS256 by the text of its public part, for others not at all."""
    from joserfc import jws

    head, body = (urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in (header, claims))
    if header["alg"] == "RS256":
        return jws.serialize_compact(header, json.dumps(claims), key)
    seal = hmac.digest(key.as_pem(private=False), head + b"." + body, "sha256") if header["alg"] == "HS256" else b""
    return b".".join([head, body, urlsafe_b64encode(seal).rstrip(b"=")]).decode()


class Provider:
    """A provider on this machine.

    ``header`` and ``claims`` are what its next token says beside the usual, ``names`` what its configuration says;
    ``answers`` are what it answers instead, by path.
    """

    def __init__(self) -> None:
        from joserfc.jwk import RSAKey

        self.key = RSAKey.generate_key(2048, {"kid": "one", "use": "sig", "alg": "RS256"})
        self.signs_with = self.key
        self.code = "the-code"
        self.header: dict[str, Any] = {}
        self.claims: dict[str, Any] = {}
        self.names: dict[str, Any] = {}
        self.answers: dict[str, ASGIApp] = {}
        self.asked: dict[str, str] = {}
        routes = [
            Route("/.well-known/openid-configuration", self.configuration),
            Route("/authorize", self.authorize),
            Route("/token", self.token, methods=["POST"]),
            Route("/keys", lambda _: JSONResponse({"keys": [self.key.as_dict(private=False)]})),
        ]
        app = Starlette(routes=routes)

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            await self.answers.get(scope.get("path", ""), app)(scope, receive, send)

        config = uvicorn.Config(answer, port=0, log_level="error", access_log=False, lifespan="off")
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, daemon=True)
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)
        self.address = f"http://127.0.0.1:{self.server.servers[0].sockets[0].getsockname()[1]}"

    def configuration(self, _: Request) -> Response:
        names = {"authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "keys"}
        endpoints = {key: f"{self.address}/{name}" for key, name in names.items()}
        return JSONResponse({"issuer": self.address, **endpoints, **self.names})

    def authorize(self, request: Request) -> Response:
        self.asked = dict(request.query_params)
        return RedirectResponse(f"{self.asked['redirect_uri']}?code={self.code}&state={self.asked['state']}", 303)

    async def token(self, request: Request) -> Response:
        form = {key: values[0] for key, values in parse_qs((await request.body()).decode()).items()}
        proof = urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).rstrip(b"=").decode()
        if form["code"] != self.code or proof != self.asked["code_challenge"]:
            return JSONResponse({"error": "invalid_grant"}, 400)
        now = int(time.time())
        usual = {"iss": self.address, "aud": "arena", "sub": "ann", "nonce": self.asked["nonce"], "exp": now + 60, "iat": now}
        made = signed({"alg": "RS256", "kid": "one", **self.header}, {**usual, **self.claims}, self.signs_with)
        return JSONResponse({"access_token": "x", "token_type": "Bearer", "id_token": made})

    def close(self) -> None:
        self.server.should_exit = True
        self.thread.join()


@pytest.fixture(autouse=True)
def cheap_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashes of passwords that cost a thousandth of what they cost outside of tests."""
    from argon2 import PasswordHasher

    monkeypatch.setattr("salon_arena.signin._hasher", lambda: PasswordHasher(time_cost=1, memory_cost=64, parallelism=1))


class Stuck:
    """What signs nobody in until it is let go, and counts how many wait in it."""

    def __init__(self) -> None:
        self.go, self.inside, self.most = threading.Event(), 0, 0

    def wait(self, *_: Any) -> Any:
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.go.wait(60)
        self.inside -= 1
        raise RefusedError(403, "wrong")

    sign_in = start = finish = wait


@for_each(
    ("method", "path", "body"),
    [
        ("POST", "/login", {"name": "ann", "password": PASSWORD}),
        ("GET", "/oidc/start", None),
        ("POST", "/oidc/finish", {"code": "c", "state": "s"}),
    ],
)
def test_sign_ins_from_everywhere_that_hang_stop_nobody_from_voting(
    service: WorkService, method: str, path: str, body: dict[str, str] | None
) -> None:
    """A hash takes 64 MiB and a provider may be silent: few sign-ins run at once, and votes have other threads."""
    import asyncio

    import httpx

    stuck = Stuck()
    session = service.people.join().result()
    app = create_app(service, hosts=["127.0.0.1"], passwords=stuck, oidc=stuck)  # type: ignore[arg-type]

    def client_from(address: str, **cookies: str) -> httpx.AsyncClient:
        transport = httpx.ASGITransport(app, client=(address, 1))
        return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", cookies=cookies)

    async def attack() -> tuple[httpx.Response, list[httpx.Response]]:
        calls = []
        for number in range(200):
            stranger = client_from(f"203.{number}.113.9", **{"salon-oidc": "s.n.v"})
            own = body and {**body, **({"name": f"ann{number}"} if "name" in body else {})}
            calls.append(asyncio.create_task(stranger.request(method, path, json=own)))
        await asyncio.wait(calls, timeout=10, return_when=asyncio.FIRST_COMPLETED)  # the first that is refused
        csrf = {"x-csrf-token": csrf_token(session.token)}
        tasks = await asyncio.wait_for(
            client_from("198.51.100.7", salon=session.token).post("/tasks", json={}, headers=csrf), 10
        )
        stuck.go.set()
        return tasks, await asyncio.gather(*calls)

    try:
        tasks, answers = asyncio.run(attack())
    finally:
        stuck.go.set()
    assert tasks.status_code == 200 and tasks.json()["tasks"]
    assert 0 < stuck.most <= 4
    assert {answer.status_code for answer in answers} == {403, 429}


@pytest.fixture
def provider() -> Iterator[Provider]:
    made = Provider()
    yield made
    made.close()


def oidc_of(service: WorkService, provider: Provider) -> Oidc:
    settings = OidcSettings(provider.address, "arena", "a-secret", "http://127.0.0.1/oidc/callback")
    return Oidc(service.database, settings, invited=service.people.invited)


def client_of(service: WorkService, **settings: Any) -> TestClient:
    return TestClient(create_app(service, hosts=["127.0.0.1"], **settings), base_url="http://127.0.0.1", follow_redirects=False)


def went_to_provider(client: TestClient, provider: Provider) -> dict[str, str]:
    """Start a sign-in, let the provider send the browser back, and return what it brings."""
    import httpx

    started = client.get("/oidc/start")
    assert started.status_code == 303 and started.headers["location"].startswith(f"{provider.address}/authorize")
    back = httpx.get(started.headers["location"], verify=False).headers["location"]
    assert client.get(f"/oidc/callback?{urlsplit(back).query}").status_code == 200
    return {key: values[0] for key, values in parse_qs(urlsplit(back).query).items()}


def test_a_password_signs_in_and_neither_name_nor_password_is_kept(
    service: WorkService, database: ArenaDatabase, clock: Clock
) -> None:
    rater = add_account(database, "Ann@Example.org", PASSWORD, "auditor", clock.now)
    for name, password in (("ann@example.org ", "x" * 20), ("", "x" * 20), ("bob", "short")):
        with pytest.raises(InputError):
            add_account(database, name, password, "rater", clock.now)
    client = client_of(service, passwords=Passwords(database))
    assert client.get("/").headers["location"] == "/login"
    assert client.post("/session", json={"consent": service.people.consent_version}).status_code == 401
    for name, password in (("ann@example.org", "wrong password"), ("nobody", PASSWORD)):
        reply = client.post("/login", json={"name": name, "password": password})
        assert (reply.status_code, reply.json()) == (403, {"error": "wrong"})
    tokens = []
    for _ in range(2):
        assert client.post("/login", json={"name": "ANN@example.org", "password": PASSWORD}).status_code == 200
        tokens.append(client.cookies["salon"])
    assert tokens[0] != tokens[1]  # a new secret at each sign-in
    assert "data-version" in client.get("/").text  # signed in, asked for consent
    assert client.post("/session", json={"consent": service.people.consent_version}).status_code == 200
    assert service.people.rater_of(tokens[1]) == rater
    assert (
        client.post(
            "/login", json={"name": "ann@example.org", "password": PASSWORD}, headers={"origin": "http://x"}
        ).status_code
        == 403
    )
    statuses = [client.post("/login", json={"name": "ann@example.org", "password": "wrong"}).status_code for _ in range(25)]
    assert statuses[-1] == 429
    stored = Path(database.place).read_bytes() + Path(f"{database.place}-wal").read_bytes()
    assert b"ann@example" not in stored.lower() and PASSWORD.encode() not in stored and b"$argon2id$" in stored
    assert database.write(lambda c: forget(c, rater)).result()
    with pytest.raises(RefusedError, match="403 wrong"):
        Passwords(database).sign_in("ann@example.org", PASSWORD, clock.now)


def test_a_name_has_one_limit_however_it_is_spelled_and_wherever_it_comes_from(
    service: WorkService, database: ArenaDatabase, clock: Clock
) -> None:
    rater = add_account(database, "Rene\u0301", PASSWORD, "admin", clock.now)
    assert Passwords(database).sign_in(" REN\u00c9", PASSWORD, clock.now).rater_id == rater  # é as one character and as two
    app = create_app(service, hosts=["127.0.0.1"], passwords=Passwords(database))
    statuses = []
    for number in range(21):
        client = TestClient(app, base_url="http://127.0.0.1", client=(f"10.0.{number}.1", 1))
        name = " " * number + ("Ren\u00e9" if number % 2 else "rene\u0301")
        statuses.append(client.post("/login", json={"name": name, "password": "wrong password"}).status_code)
    assert statuses == [403] * 20 + [429]


def test_a_provider_signs_a_person_in_as_the_same_rater_each_time(service: WorkService, provider: Provider) -> None:
    raters = []
    for _ in range(2):
        client = client_of(service, oidc=oidc_of(service, provider))
        body = went_to_provider(client, provider)
        assert client.post("/oidc/finish", json=body).status_code == 200
        raters.append(service.people.returning(client.cookies["salon"]))
        assert client.post("/oidc/finish", json=body).json() == {"error": "state"}  # used up
    assert raters[0] is not None and raters[0] == raters[1]
    assert provider.asked["code_challenge_method"] == "S256" and provider.asked["scope"] == "openid"
    stored = Path(service.database.place).read_bytes() + Path(f"{service.database.place}-wal").read_bytes()
    assert provider.address.encode() not in stored and b"a-secret" not in stored


@pytest.mark.parametrize(
    "claims",
    [
        *({"nonce": "other"}, {"aud": "other"}, {"iss": "https://other"}, {"exp": 1}, {"sub": None}, {"nonce": None}),
        *({"azp": "other"}, {"aud": ["arena", "other"], "azp": "other"}),
        *({"iat": 2**40}, {"nbf": 2**40}, {"exp": "soon"}, {"sub": 7}, {"sub": "a\ud800"}, {"aud": []}, {"aud": ["other"]}),
    ],
)
def test_a_token_for_another_time_person_or_place_is_refused(
    service: WorkService, provider: Provider, claims: dict[str, Any]
) -> None:
    provider.claims = claims
    client = client_of(service, oidc=oidc_of(service, provider))
    reply = client.post("/oidc/finish", json=went_to_provider(client, provider))
    assert (reply.status_code, reply.json()) == (403, {"error": "provider"}) and "salon" not in client.cookies


def test_a_foreign_key_a_foreign_browser_and_a_wrong_code_are_refused(service: WorkService, provider: Provider) -> None:
    from joserfc.jwk import RSAKey

    client = client_of(service, oidc=oidc_of(service, provider))
    body = went_to_provider(client, provider)
    stranger = client_of(service, oidc=oidc_of(service, provider))
    assert stranger.post("/oidc/finish", json=body).json() == {"error": "state"}
    went_to_provider(stranger, provider)
    assert stranger.post("/oidc/finish", json=body).json() == {"error": "state"}
    body = went_to_provider(client, provider)
    assert client.post("/oidc/finish", json={**body, "code": "another"}).json() == {"error": "provider"}
    body = went_to_provider(client, provider)
    provider.signs_with = RSAKey.generate_key(2048, {"kid": "one"})
    assert client.post("/oidc/finish", json=body).json() == {"error": "provider"}
    with pytest.raises(InputError, match="https"):
        OidcSettings("http://login.example.org", "arena", "x", "y")


@for_each("header", [{"alg": "none"}, {"alg": "HS256"}, {"kid": "two"}, {"alg": ["RS256"]}, {"alg": "none", "kid": {}}])
def test_a_token_that_is_not_signed_by_a_key_of_the_provider_is_refused(
    service: WorkService, provider: Provider, header: dict[str, Any]
) -> None:
    client = client_of(service, oidc=oidc_of(service, provider))
    provider.header = header
    reply = client.post("/oidc/finish", json=went_to_provider(client, provider))
    assert (reply.status_code, reply.json()) == (403, {"error": "provider"}) and "salon" not in client.cookies


def test_a_provider_whose_clock_is_ahead_signs_in_and_what_it_says_of_a_person_gives_no_rights(
    service: WorkService, provider: Provider
) -> None:
    now = int(time.time())
    provider.claims = {"iat": now + 30, "nbf": now + 30, "email_verified": False, "role": "admin", "groups": ["admin"]}
    client = client_of(service, oidc=oidc_of(service, provider))
    assert client.post("/oidc/finish", json=went_to_provider(client, provider)).status_code == 200
    assert client.get("/admin").status_code == 404


def test_a_new_key_of_the_provider_is_found_beside_keys_that_nobody_here_understands(
    service: WorkService, provider: Provider
) -> None:
    from joserfc.jwk import RSAKey

    client = client_of(service, oidc=oidc_of(service, provider))
    provider.signs_with = RSAKey.generate_key(2048, {"kid": "two", "use": "sig"})
    strange = [{"kty": "AKP", "kid": "a"}, {"kty": "EC", "crv": "P-999", "x": "x", "y": "y"}, {"kty": "RSA", "n": 5}, 7]
    provider.header = {"kid": "two"}
    keys = json.dumps({"keys": [*strange, provider.signs_with.as_dict(private=False)]})
    for blanks, status in ((2_000_000, 403), (2000, 200)):  # no more than a megabyte is read
        body = went_to_provider(client, provider)
        provider.answers["/keys"] = Response(" " * blanks + keys)
        assert client.post("/oidc/finish", json=body).status_code == status


FAILING: list[ASGIApp] = [
    *(HTMLResponse("<h1>Down</h1>", 503), HTMLResponse("<h1>Sign in</h1>"), RedirectResponse("file:///etc/passwd")),
    *(Response(b"[" * 200_000), Response(b"x", headers={"content-encoding": "gzip"}), JSONResponse([])),
    *(JSONResponse({"id_token": token, "keys": token}) for token in (7, "é.é.é", "W10.e30.e30")),
]


def test_a_provider_that_fails_signs_nobody_in_and_is_no_defect_of_the_arena(service: WorkService, provider: Provider) -> None:
    client = client_of(service, oidc=oidc_of(service, provider))
    for number, failing in enumerate(FAILING):
        provider.answers = {"/.well-known/openid-configuration": failing}
        assert client.get("/oidc/start").status_code == 503, number
    for number, failing in enumerate(FAILING):
        for path in ("/token", "/keys"):
            provider.answers = {}
            body = went_to_provider(client, provider)
            provider.answers = {path: failing}
            reply = client.post("/oidc/finish", json=body)
            assert (reply.status_code, reply.json()) == (403, {"error": "provider"}), (number, path)


def test_a_provider_that_says_a_byte_at_a_time_keeps_nobody_waiting(
    database: ArenaDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = []

    async def drip(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            for part in (b"HTTP/1.1 200 OK\r\nx: ", *[b"y"] * 400, b"\r\ncontent-length: 2\r\n\r\n{}"):
                writer.write(part)
                await writer.drain()
                said.append(part)
                await asyncio.sleep(0.02)
        writer.close()

    async def start() -> None:
        async with await asyncio.start_server(drip, "127.0.0.1", 0) as server:
            host, port = server.sockets[0].getsockname()
            oidc = Oidc(database, OidcSettings(f"http://{host}:{port}", "arena", "a-secret", "http://x/"), invited=False)
            with pytest.raises(RefusedError, match="503 provider"):
                await asyncio.to_thread(oidc.start)

    monkeypatch.setattr("salon_arena.signin._TIMEOUT_S", 0.5)
    asyncio.run(start())
    assert 0 < len(said) < 400


def test_a_configuration_that_leads_elsewhere_is_refused(service: WorkService, provider: Provider) -> None:
    client = client_of(service, oidc=oidc_of(service, provider))
    for endpoint in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
        for address in ("http://[", "http://a.example.org/", "javascript:alert(1)", "file:///etc/passwd", "https://\ud800/", 7):
            provider.names = {endpoint: address}
            reply = client.get("/oidc/start")
            assert (reply.status_code, 'data-error="provider"' in reply.text) == (503, True), (endpoint, address)


def test_who_is_not_signed_in_by_the_provider_sees_a_page_that_says_so(service: WorkService, provider: Provider) -> None:
    client = client_of(service, oidc=oidc_of(service, provider), passwords=Passwords(service.database))
    refused = client.get("/oidc/callback?error=access_denied&error_description=<script>&state=x")
    assert 'data-error="denied"' in refused.text and "script&" not in refused.text and "access_denied" not in refused.text
    provider.answers = {"/.well-known/openid-configuration": HTMLResponse("Down", 503)}
    down = client.get("/oidc/start")
    assert (down.status_code, 'data-error="provider"' in down.text, 'id="password"' in down.text) == (503, True, True)
    script = client.get("/static/login.js").text
    assert re.search(r"\bdenied: ", script) and re.search(r"\bprovider: ", script)


def test_a_code_may_be_long_and_the_providers_address_keeps_its_own_query(service: WorkService, provider: Provider) -> None:
    client = client_of(service, oidc=oidc_of(service, provider))
    provider.names = {"authorization_endpoint": f"{provider.address}/authorize?tenant=a%20b"}
    body = went_to_provider(client, provider)
    assert provider.asked["tenant"] == "a b" and provider.asked["client_id"] == "arena"
    provider.code = "c" * 5000
    assert provider.code in client.get("/oidc/callback", params={"code": provider.code, "state": body["state"]}).text
    assert client.post("/oidc/finish", json={**body, "code": provider.code}).status_code == 200


@for_each(
    "issuer", ["https://[", "https://", "ftp://127.0.0.1", "https://a.org:99999", "https://a\n.org", "http://localhost.a.org"]
)
def test_an_issuer_that_is_no_https_address_is_refused(issuer: str) -> None:
    with pytest.raises(InputError, match="--oidc-issuer: the issuer must be an https:// address, not"):
        OidcSettings(issuer, "arena", "x", "y")


def test_an_experts_first_sign_in_needs_an_invite(tmp_path: Path, material: Material, provider: Provider) -> None:
    with ArenaDatabase.open(tmp_path / "experts.db", mode="expert") as database:
        service = vote_service(database, material)
        for invite, status in ((None, 403), (service.people.invite().result(), 200), (None, 200)):
            client = client_of(service, oidc=oidc_of(service, provider))
            body = {**went_to_provider(client, provider), "invite": invite}
            assert client.post("/oidc/finish", json=body).status_code == status


def test_the_log_has_a_line_per_request_and_no_token_model_or_body(service: WorkService, tmp_path: Path) -> None:
    with open_log(tmp_path / "arena.log") as log:
        client = client_of(service, log=log)
        reply = client.post("/session", json={"consent": service.people.consent_version})
        headers = {"x-csrf-token": reply.json()["csrf"]}
        [task, *_] = client.post("/tasks", json={}, headers=headers).json()["tasks"]
        assert client.get(task["media"][0]).status_code == 200
        assert client.get("/none?secret=word").status_code == 404
        secrets = [client.cookies["salon"], reply.json()["csrf"], task["assignment"], "secret", "testclient", *MODELS]
    text = (tmp_path / "arena.log").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert [(line["method"], line["route"], line["status"]) for line in lines] == [
        ("POST", "session", 200),
        ("POST", "tasks", 200),
        ("GET", "media", 200),
        ("GET", "none", 404),
    ]
    assert all({"at", "event", "ms"} <= line.keys() for line in lines) and not any(word in text for word in secrets)


@pytest.mark.browser
def test_a_person_signs_in_on_the_page_by_password(browser: Browser, tmp_path: Path, material: Material) -> None:
    with ArenaDatabase.open(tmp_path / "arena.db") as database:
        add_account(database, "ann", PASSWORD, "rater", 1)
        served = Served(tmp_path, service=vote_service(database, material), passwords=Passwords(database))
        with context(browser, served, 360, bypass_csp=True) as (person, heard):
            page = person.new_page()
            page.goto(served.address)
            assert page.url.endswith("/login") and faults_in_every_look(page) == []
            page.get_by_label("Name").fill("ann")
            page.get_by_label("Password").fill("wrong password")
            page.keyboard.press("Enter")
            page.wait_for_function("() => document.querySelector('#message').textContent.includes('wrong')")
            page.get_by_label("Password").fill(PASSWORD)
            page.keyboard.press("Enter")
            page.get_by_role("button", name="I agree").click()
            page.wait_for_selector(".stage.shown")
            assert [text for text in heard if "403" not in text] == []
        served.close()


@pytest.mark.browser
def test_a_person_signs_in_on_the_page_through_a_provider_of_another_site(
    browser: Browser, tmp_path: Path, material: Material, provider: Provider
) -> None:
    with ArenaDatabase.open(tmp_path / "arena.db") as database:
        service = vote_service(database, material)
        settings = OidcSettings(provider.address, "arena", "a-secret", "")
        served = Served(tmp_path, service=service, oidc=Oidc(database, settings, invited=False))
        served.address = served.address.replace("127.0.0.1", "localhost")  # not the provider's site
        object.__setattr__(settings, "redirect", f"{served.address}/oidc/callback")
        with context(browser, served) as (person, heard):
            page = person.new_page()
            page.goto(f"{served.address}/oidc/callback?error=access_denied")
            page.locator("#message", has_text="Your organisation did not sign you in.").wait_for()
            page.get_by_role("link", name="Sign in with your organisation").click()
            page.get_by_role("button", name="I agree").click()
            page.wait_for_selector(".stage.shown")
            assert [text for text in heard if not text.startswith(f"{provider.address}/authorize")] == []
            [session] = [cookie for cookie in person.cookies() if cookie["name"] == "salon"]
            assert session["httpOnly"] and session["sameSite"] == "Strict"
        served.close()


@pytest.mark.browser
@for_each("way_in", ["password", "nothing"])
def test_a_form_sends_nothing_before_its_script_has_come(
    browser: Browser, tmp_path: Path, material: Material, way_in: str
) -> None:
    """The policy forbids a form to be sent, so a press before the page listens would be lost without a word."""
    with ArenaDatabase.open(tmp_path / "arena.db") as database:
        passwords = Passwords(database) if way_in == "password" else None
        served = Served(tmp_path, service=vote_service(database, material), passwords=passwords)
        waiting: list[AskedFor] = []
        with context(browser, served, 360) as (person, heard):
            held = [True]
            person.route(re.compile(r"\.js"), lambda asked: waiting.append(asked) if held else asked.continue_())
            page = person.new_page()
            page.goto(served.address, wait_until="commit")
            button = page.get_by_role("button", name="Sign in" if passwords else "I agree")
            button.wait_for()
            assert button.is_disabled()
            if passwords:
                page.get_by_label("Name").fill("ann")
                page.get_by_label("Password").fill("wrong password")
                page.get_by_label("Password").press("Enter")
            while not waiting:
                page.wait_for_timeout(20)
            assert heard == []
            held.clear()
            for script in waiting:
                script.continue_()
            button.click()
            if passwords:
                page.locator("#message", has_text=re.compile("not valid, or|is wrong")).wait_for()
                assert page.url.endswith("/login")
            else:
                page.wait_for_selector(".stage.shown")
            assert [text for text in heard if "403" not in text] == []
        served.close()


@pytest.mark.browser
def test_an_answer_of_an_ended_session_is_kept_and_arrives_after_its_person_has_signed_in_again(
    browser: Browser, tmp_path: Path, material: Material, clock: Clock
) -> None:
    with ArenaDatabase.open(tmp_path / "arena.db") as database:
        service = vote_service(database, material, clock=clock)
        for name in ("ann", "bob"):
            add_account(database, name, PASSWORD, "rater", clock.now)
        served = Served(tmp_path, service=service, passwords=Passwords(database))

        def sign_in(page: Page, name: str = "ann") -> None:
            page.locator("#name").fill(name)
            page.locator("#password").fill(PASSWORD)
            page.get_by_role("button", name="Sign in").click()

        with context(browser, served) as (rater, _):
            page = rater.new_page()
            page.goto(served.address)
            sign_in(page)
            page.get_by_role("button", name="I agree").click()
            page.wait_for_selector(".stage.shown")
            page.keyboard.press("1")
            served.wait_for_answers(1)
            page.wait_for_selector(".stage.shown")
            clock.forward(3601)
            page.keyboard.press("2")
            page.wait_for_selector("#login")
            assert len(served.answers()) == 1
            sign_in(page, "bob")  # whose session cannot send it
            with page.expect_response("**/answers") as refused:
                page.get_by_role("button", name="I agree").click()
            assert refused.value.status == 404
            page.wait_for_selector(".stage.shown")
            assert page.locator("#progress").text_content() == "0 votes"
            page.get_by_role("button", name="Sign out").click()
            page.locator("#go").click()
            page.wait_for_selector("#login")
            assert len(served.answers()) == 1
            sign_in(page)
            assert [choice for _, choice in served.wait_for_answers(2)] == ["left", "right"]
        served.close()
