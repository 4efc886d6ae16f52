"""A canary key that servers echo as servers write texts, whole or cut, is in no reply, file, page, log or message."""

import asyncio
import base64
import codecs
import hashlib
import json
import logging
import re
import threading
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from string import ascii_letters, digits
from urllib.parse import quote, unquote_to_bytes

import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from number_suite import NumberSuite
from r3_world import png

from for_each import for_each
from salon_bench.suites.contract import registry
from salon_console import main
from salon_judges.clients import ChatSettings, OpenAICompatibleJudge, ServerLimits, open_judge
from salon_judges.clients.secrets import Secrets
from salon_judges.clients.settings import without_opaque
from salon_judges.clients.specification import read_judges
from salon_judges.editors.specification import open_editor
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Question, Reply

CANARY = "sk-canary/Zq7+vT9<x&Y=Lm4%pN2'Rk8~Wd5_Jh3-Gs6.Fb1:Qc0;Ue9/Ta8"
KEYS = st.text(ascii_letters + digits + "-_.~/+=:", min_size=20, max_size=80).filter(lambda key: len(set(key)) > 10)


def escaped(text: str) -> str:
    return "".join(f"\\u{ord(c):04x}" for c in text)


ENCODINGS: dict[str, Callable[[str], str]] = {
    "plain": lambda key: key,
    "upper": str.upper,
    "json": escaped,
    "json slash": lambda key: key.replace("/", "\\/"),
    "json twice": lambda key: escaped(key).replace("\\", "\\\\"),
    "json some": lambda key: "".join(escaped(c) if n % 5 == 0 else c for n, c in enumerate(key)),
    "python": lambda key: "".join(f"\\\\x{ord(c):02x}" for c in key),
    "percent": quote,
    "percent all": lambda key: "".join(f"%{ord(c):02X}" for c in key),
    "percent twice": lambda key: quote(quote(key, safe=""), safe=""),
    **{f"base64 {n}": lambda key, n=n: base64.b64encode(b"-" * n + key.encode()).decode() for n in range(3)},
    **{f"base64url {n}": lambda key, n=n: base64.urlsafe_b64encode(b"-" * n + key.encode()).decode() for n in range(3)},
    "percent of base64": lambda key: quote(base64.b64encode(f"user:{key}".encode()), safe=""),
}
"""How a server may write the key into a JSON text."""

OPAQUE: dict[str, Callable[[bytes], str]] = {
    "plain": bytes.decode,
    "rot13": lambda key: codecs.encode(key.decode(), "rot13"),
    "compressed": lambda key: base64.b64encode(zlib.compress(key)).decode(),
    "digest": lambda key: hashlib.sha256(key).hexdigest(),
    "xor": lambda key: base64.b64encode(bytes(byte ^ 85 for byte in key)).decode(),
    "base32": lambda key: base64.b32encode(key).decode(),
}
"""Ways to write a key that leave one long run; most of them :meth:`Secrets.hide` does not know."""
WIDTHS = (0, 240, 281, 299, 560)


def response(status: str, body: str | bytes, *head: str) -> bytes:
    content = body if isinstance(body, bytes) else body.encode()
    lines = (f"HTTP/1.1 {status}", f"Content-Length: {len(content)}", "Connection: close", *head)
    return "\r\n".join((*lines, "", "")).encode() + content


def message(content: str, more: str = "") -> str:
    return f'{{"choices": [{{"message": {{{content}}}, "finish_reason": "stop"{more}}}]}}'


KINDS_OF_ANSWER: dict[str, Callable[[str], bytes]] = {
    "401": lambda text: response("401 Unauthorized", f'{{"error": {{"message": "{text}", "code": "{text}"}}}}'),
    "400": lambda text: response("400 Bad Request", f'{{"detail": "{text}"}}'),
    "422 list": lambda text: response("422 No", f'{{"detail": [{{"input": "{text}"}}]}}'),
    "500": lambda text: response("500 Oh", f"<html><body>{text}</body></html>"),
    "502 utf-16": lambda text: response("502 Oh", text.encode("utf-16")),
    "reason": lambda text: response(f"403 {text}", ""),
    "malformed": lambda text: response("200 OK", f'{{"choices": [{{"message": "{text}'),
    "no choices": lambda text: response("200 OK", f'{{"id": "{text}", "error": "{text}"}}'),
    "error as 200": lambda text: response("200 OK", f'{{"error": {{"message": "{text}", "code": 400}}}}'),
    "answer": lambda text: response("200 OK", message(f'"content": "{text}"')),
    "answer utf-16": lambda text: response("200 OK", message(f'"content": "{text}"').encode("utf-16")),
    "reasoning": lambda text: response("200 OK", message(f'"reasoning_content": "{text}", "content": "3"')),
    "refusal": lambda text: response("200 OK", message(f'"refusal": "{text}"')),
    "parts": lambda text: response(
        "200 OK", message(f'"content": ["{text[:-30]}", {{"text": "{text[-30:]}"}}]' if "\\" not in text else '"content": ""')
    ),
    "tokens": lambda text: response(
        "200 OK", message('"content": "3"', f', "logprobs": {{"content": [{{"token": "{text}", "logprob": -1}}]}}')
    ),
    "redirect": lambda text: response("302 Found", "", f"Location: http://elsewhere/{text}"),
    "retry": lambda text: response("429 Busy", f'{{"message": "{text}"}}', f"Retry-After: {text}", f"X-Request-Id: {text}"),
    "bad head": lambda text: f"HTTP/1.1 200 OK\r\nX-{text} no colon\r\n\r\n".encode(),
    "no http": lambda text: f"{text}\r\n\r\n".encode(),
    "bad chunk": lambda text: f"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{text}\r\n".encode(),
}
"""What a server answers around a text that holds the key, success or failure."""


def leaks(data: bytes, key: str = CANARY, depth: int = 3) -> bytes | None:
    """A piece of twelve characters of the key in the data, or in any of its decodings; none of it is Salon's code."""
    pieces = [key[at : at + 12].lower().encode() for at in range(len(key) - 11)]
    seen: set[bytes] = set()
    layer = {data}
    for _ in range(depth):
        for view in layer - seen:
            low = view.lower()
            if found := next((piece for piece in pieces if piece in low), None):
                return found
        seen, layer = seen | layer, {decoded for view in layer - seen for decoded in decodings(view)}
    return None


def decodings(view: bytes) -> Iterator[bytes]:
    yield unquote_to_bytes(view)
    yield re.sub(rb"\\+u00(..)|\\+x(..)", lambda m: _byte(m[1] or m[2]), view).replace(b"\\/", b"/")
    yield re.sub(rb"[\x00-\x20]|\\+u0000|\\+x00", b"", view)
    for run in re.findall(rb"[A-Za-z0-9+/_-]{16,}", view):
        for skipped in range(4):
            whole = run[skipped:].translate(bytes.maketrans(b"-_", b"+/"))
            yield base64.b64decode(whole[: len(whole) // 4 * 4])


def _byte(digits: bytes) -> bytes:
    return bytes.fromhex(digits.decode()) if re.fullmatch(rb"[0-9a-fA-F]{2}", digits) else b""


def asked(key: str, answers: list[bytes]) -> list[Reply]:
    """The replies to one question after the other, from a server that gives these answers in their order."""

    async def run() -> list[Reply]:
        waiting = iter(answers)

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(re.search(rb"(?i)content-length: (\d+)", head)[1]))
            writer.write(next(waiting))
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        settings = ChatSettings(model="m", base_url=url, api_key_env="KEY", limits=ServerLimits(attempts=1, timeout_s=5))
        async with server, OpenAICompatibleJudge(settings, {"KEY": key}) as judge:
            return [await judge.ask(Question(("?",))) for _ in answers]

    return asyncio.run(run())


@for_each("kind", KINDS_OF_ANSWER)
def test_no_reply_contains_a_piece_of_the_key(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    """However the key is written, how much of it, and wherever the text is cut: in no reply, no error and no log."""
    caplog.set_level(logging.DEBUG)

    @settings(max_examples=6)
    @given(st.data(), KEYS)
    @example(None, CANARY)
    def check(data: st.DataObject | None, key: str) -> None:
        cut = slice(None) if data is None else slice(data.draw(st.integers(0, 20)), len(key) - data.draw(st.integers(0, 20)))
        width = 0 if data is None else data.draw(st.sampled_from(WIDTHS))
        written = [encode(key[cut]) for encode in ENCODINGS.values()]
        replies = asked(key, [KINDS_OF_ANSWER[kind]("." * width + text + "." * 40) for text in written])
        for encoding, reply in zip(ENCODINGS, replies, strict=True):
            stored = json.dumps(asdict(reply), default=str)
            assert leaks(stored.encode(), key) is None, (encoding, stored)
        assert leaks(caplog.text.encode(), key) is None

    check()


@given(KEYS, st.data())
def test_every_twelve_characters_of_a_key_are_hidden_and_nothing_else(key: str, data: st.DataObject) -> None:
    key = key[: data.draw(st.sampled_from([10, 11, 12, 13, 80]))]
    cuts = st.tuples(st.integers(0, len(key)), st.integers(0, len(key))).map(lambda ends: key[min(ends) : max(ends)])
    chunks = st.one_of(
        st.just(key),
        cuts,
        cuts.map(str.upper),
        cuts.map(str.lower),
        st.text(st.characters(exclude_characters="%\\"), max_size=8),
    )
    text = "".join(data.draw(st.lists(chunks, max_size=8)))
    secrets = Secrets({}, (key,))
    assert secrets.hide(text) == without(key, text)
    least = min(12, len(key))
    shortest = {secrets.hide(f"<{key[start : start + least]}>") for start in range(len(key) - least + 1)}
    assert shortest == {"<[secret]>"}


def without(key: str, text: str) -> str:
    """Character by character: each that is in a run of twelve of the key, or in all of a shorter one, is taken out."""
    width = min(12, len(key))
    runs = {key[at : at + width].lower() for at in range(len(key) - width + 1)}
    low = "".join(sign.lower() if sign.isascii() else sign for sign in text)
    inside = {at + step for at in range(len(low)) if low[at : at + width] in runs for step in range(width)}
    return "".join(
        "" if at in inside and at - 1 in inside else "[secret]" if at in inside else sign for at, sign in enumerate(text)
    )


@given(st.text(max_size=50))
def test_a_text_without_the_key_stays_as_it_is(text: str) -> None:
    secrets = Secrets({"Authorization": "Basic dXNlcjpwYXNzLTEyMzQ1"}, (CANARY, "EMPTY", "Basic dXNlcjpwYXNzLTEyMzQ1"))
    for whole in (text, "50% of 3 &lt; 4 \\u0041 \\n EMPTY \ud800", base64.b64encode(bytes(range(256))).decode()):
        assert secrets.hide(whole) == whole
    assert secrets.hide("user:pass-12345 and pass-12345") == "[secret] and [secret]"


READABLE = [
    "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4900 in the messages).",
    "The model `Qwen/Qwen2.5-VL-72B-Instruct-AWQ` does not exist.",
    "Cannot connect to host 127.0.0.1:43211 ssl:default [Connect call failed ('127.0.0.1', 43211)]",
    "Invalid value: 'image_url.url'. Supported: response_format.json_schema.strict, max_completion_tokens",
    "Rate limit reached for gpt-4o-mini-2024-07-18 in organization on tokens per min (TPM): Limit 200000",
    "Qwen2VLForConditionalGeneration is unknown; see https://docs.example.com/en/latest/models/supported_models.html",
    "insufficient_quota: check your plan: https://platform.example.com/docs/guides/error-codes/api-errors.",
    '{"object":"error","message":"The model does not exist.","type":"NotFoundError","param":null,"code":404}',
    "CUDA out of memory. Tried to allocate 2.00GiB (GPU 0; 79.15GiB total)",
    "模型不存在,请检查模型名称是否正确以及您是否有权限访问",
]


@pytest.mark.parametrize("text", READABLE)
def test_messages_of_servers_stay_readable(text: str) -> None:
    assert without_opaque(text) == text


@given(st.text(alphabet=ascii_letters + digits, min_size=40, max_size=80), st.sampled_from(sorted(OPAQUE)))
def test_no_long_run_without_words_leaves_in_a_message(key: str, way: str) -> None:
    """The rule knows no key and no encoding: it is asked with random keys in encodings that nothing here decodes."""
    assume(len(set(key)) > 20)
    written = OPAQUE[way](key.encode())
    assert written not in without_opaque(f"Incorrect API key provided: {written}.")


# ------------------------------------------------------------------------------------------------------- what is stored


@pytest.mark.parametrize(
    "more",
    [
        {"headers": {"X-Team-Id": CANARY}},
        {"headers": {"User-Agent": "sk-0123456789abcdefghij"}},
        {"extra_body": {"api_key": CANARY}},
        {"extra_body": {"metadata": [{"Authorization": CANARY}]}},
        {"extra_body": {"access_token": CANARY}},
        {"extra_body": {"user": "sk-0123456789abcdefghij"}},
        {"extra_body": {"user": "h7Gk2PxQ9vL4mN8sR3tB"}},
        *({"extra_body": {name: "hunter2"}} for name in ("pass", "sig", "access", "x-sig", "my_pass", "sid")),
        {"base_url": f"http://h/v1;key={CANARY}"},
        {"base_url": "http://h/a;key=hunter2/v1"},
        {"model": f"m?key={CANARY}"},
        {"name": "sk-0123456789abcdefghij"},
    ],
)
def test_settings_that_would_store_a_secret_are_refused_without_repeating_it(more: dict[str, object], tmp_path: Path) -> None:
    settings = {"model": "m", "base_url": "http://h/v1", **more}
    with pytest.raises(ValueError, match=r"secret|\?") as caught:
        ChatSettings.model_validate(settings)
    assert leaks(str(caught.value).encode()) is None
    assert "0123456789abcdef" not in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_the_value_of_the_keys_own_variable_is_refused_wherever_it_is_written() -> None:
    key = "purple.horse/17.staple"
    for more in ({"extra_body": {"user": key}}, {"model": key}, {"name": key[:20]}):
        settings = ChatSettings.model_validate({"model": "m", "base_url": "http://h/v1", "api_key_env": "KEY", **more})
        with pytest.raises(InputError, match="secret") as caught:
            OpenAICompatibleJudge(settings, {"KEY": key})
        assert "17" not in str(caught.value)


def test_usual_fields_of_servers_are_not_taken_for_secrets() -> None:
    fields = {"max_tokens": 5, "skip_special_tokens": False, "stop_token_ids": [1], "prompt_cache_key": "a", "top_k": 4}
    words = {"draft_model": "Qwen/Qwen2.5-VL-72B-Instruct-AWQ", "chat_template": "{{ messages }}", "provider": {"order": ["a"]}}
    assert ChatSettings(model="m", base_url="http://h/v1", extra_body={**fields, **words}).extra_body["top_k"] == 4


SECRET_URLS = [
    f"{start}{place}"
    for start in ("openai:m@", "vllm:m@", "openai:", "vllm:", "", "cache:folder=openai:m@", "subject=vllm:m@", "nonsense:m@")
    for place in (
        f"https://host/v1?key={CANARY}",
        f"https://host/v1#{CANARY}",
        f"https://host/v1;key={CANARY}",
        f"/tmp/{CANARY.replace('/', '')}.toml",
        f"https://user:{CANARY}@host/v1",
        f"https://{CANARY}@host/v1",
        f"user:{CANARY}@host:80/v1",
        f"host:80/v1?key={CANARY}",
        f"ftp://host?{CANARY}",
        f"?{CANARY}",
    )
]


@for_each("text", SECRET_URLS)
def test_a_refused_address_does_not_repeat_its_secret(text: str) -> None:
    for use in (lambda: open_judge(text, {}), lambda: read_judges([text]), lambda: open_editor(text, {})):
        try:
            use()
        except InputError as error:
            assert leaks(str(error).encode()) is None, str(error)
        else:
            pytest.fail(f"taken: {text}")


@pytest.mark.parametrize("text", SECRET_URLS[::9])
def test_a_command_does_not_repeat_the_secret_of_a_refused_address(text: str) -> None:
    result = CliRunner().invoke(main, ["bench", "run", "prism", "--judge", text, "--model", "s", "--generations", "."])
    assert result.exit_code == 2
    assert leaks(result.output.encode()) is None, result.output


# ---------------------------------------------------------------------------------------------------------- whole runs


@pytest.fixture
def echo() -> Iterator[str]:
    """The address of a server that sends the key back in another way each time, and at times an answer in between."""
    ways = [(kind, name) for name in ENCODINGS for kind in KINDS_OF_ANSWER if kind != "retry"]
    number = count()

    class Echo(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            assert CANARY in self.headers["Authorization"]
            at = next(number)
            kind, name = ways[at * 7 % len(ways)]
            self.wfile.write(KINDS_OF_ANSWER[kind]("." * WIDTHS[at % len(WIDTHS)] + ENCODINGS[name](CANARY)))
            self.close_connection = True

        def log_message(self, *words: object) -> None:
            """Nothing to the screen."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    server.shutdown()
    server.server_close()


@pytest.mark.slow  # whole runs, every byte of them searched
def test_whole_runs_write_the_key_nowhere(echo: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suite = NumberSuite(30, with_pictures=True)
    monkeypatch.setattr(registry, "suite_named", lambda name: suite)
    monkeypatch.setattr("salon_bench.runs.view.suite_named", lambda name: suite)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SALON_JUDGE_API_KEY", CANARY)
    Path("pictures").mkdir()
    for number in range(30):
        Path("pictures", f"p{number:05}.png").write_bytes(png("blue"))
    Path("judge.toml").write_text(
        f'kind = "vllm"\nmodel = "m"\nbase_url = "{echo}"\n[limits]\nattempts = 2\nfirst_wait_s = 0.0\n'
    )
    Path("items.csv").write_text("id,prompt,image\none,a red square,pictures/p00000.png\ntwo,a cat,pictures/p00001.png\n")
    said = []

    def salon(*words: str) -> None:
        result = CliRunner().invoke(main, [*words])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        assert result.exit_code != 2, result.output
        said.append(result.output)

    run = ("bench", "run", "numbers", "--model", "s", "--generations", "pictures", "--allow-incomplete")
    salon(*run, "--store", "results", "--judge", "judge.toml")
    salon(*run, "--store", "others", "--judge", "cache:replies=judge.toml")
    salon("bench", "runs", "--store", "results")
    calls = pl.read_parquet([*Path("results").rglob("judge_calls/**/*.parquet")])
    assert calls.height >= 30  # one per picture; how many more depends on which of them meets which answer, so on the order
    assert calls["error"].drop_nulls().str.contains("secret").any()
    for run_id in calls["run_id"].unique():
        salon("results", "report", run_id, "--store", "results", "--output", f"{run_id}.html")
    method = ("--max-rounds", "2", "--judge", "judge.toml", "--editor", "judge.toml", "--output", "refined")
    salon("refine", "--items", "items.csv", *method, "--store", "results", "--allow-incomplete")
    assert leaks("".join(said).encode()) is None
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {".parquet", ".html", ".sqlite3"} <= {path.suffix for path in files}
    for path in files:
        data = path.read_bytes()
        if path.suffix == ".html":  # without the chart library, which is the same in every page
            data = re.sub(rb"<script>(?:(?!</script>).){100000,}</script>", b"", data, flags=re.DOTALL)
        assert leaks(data, depth=1 if path.suffix in (".png", ".parquet") else 3) is None, path
        if path.suffix == ".parquet":
            rows = pl.read_parquet(path).write_json()
            assert leaks(rows.encode()) is None, path
