"""Publishing on the Hugging Face hub: the folders that are made, and the real client against a stub of the hub on loopback."""

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from salon_console import main
from salon_console.hub_publishing import push
from salon_taxonomy.errors import InputError

TOKEN = "hf_secretsecretsecretsecret"
HOSTILE = '"]: {x}\n--- <script>alert(1)</script> # \u202e'


class Hub(BaseHTTPRequestHandler):
    """The routes of an upload; what came is in ``taken``, and ``refusal`` is the status of every answer unless it is 200."""

    taken: list[tuple[str, str, str]]
    files: dict[str, bytes]
    refusal = 200

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        type(self).taken.append((self.path, self.headers.get("Authorization") or "", body))
        answer: dict[str, object] = {"errors": [], "warnings": []}
        if self.path.endswith("/preupload/main"):
            listed = [
                {"path": file["path"], "uploadMode": "regular", "shouldIgnore": False} for file in json.loads(body)["files"]
            ]
            answer = {"files": listed}
        elif self.path.endswith("/commit/main"):
            for line in map(json.loads, body.splitlines()):
                if line["key"] == "file":
                    type(self).files[line["value"]["path"]] = base64.b64decode(line["value"]["content"])
            place = self.path.removeprefix("/api/").removesuffix("/commit/main")
            address = f"{self.endpoint}/{place}/commit/{'a' * 40}"
            answer = {"success": True, "commitOid": "a" * 40, "commitUrl": address, "hookOutput": ""}
        elif self.path == "/api/repos/create":
            asked = json.loads(body)
            folder = {"dataset": "datasets/", "space": "spaces/"}.get(asked.get("type") or "", "")
            answer = {"url": f"{self.endpoint}/{folder}{asked.get('organization', 'owner')}/{asked['name']}"}
        if self.refusal != 200:
            answer = {"error": f"no right for {self.headers.get('Authorization')}"}
        data = json.dumps(answer).encode()
        self.send_response(self.refusal)
        self.send_header("Content-Type", "application/json")
        if self.refusal != 200:
            self.send_header("X-Error-Message", f"no right for {TOKEN}")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"  # type: ignore[attr-defined]

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, type[Hub]]]:
    pytest.importorskip("huggingface_hub")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)  # tests never leave the machine: loopback alone
    kind = type("Hub", (Hub,), {"taken": [], "files": {}})
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", kind
    server.shutdown()
    server.server_close()


def salon(*words: object, **environment: str) -> Result:
    return CliRunner().invoke(main, ["results", *map(str, words)], env=environment)


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    folder = tmp_path / "tables"
    folder.mkdir()
    (folder / "votes.csv").write_text("model_a,model_b,winner\nx,y,tie\nx,y,model_a\n")
    (folder / "rows.jsonl").write_text('{"a": 1}\n')
    (folder / ".token").write_text(TOKEN)
    return folder


def front_matter(text: str) -> dict[str, str]:
    top = text.split("---\n")[1]
    return dict(line.split(": ", 1) for line in top.splitlines())


def test_a_space_has_its_page_its_files_and_its_settings(tmp_path: Path) -> None:
    (tmp_path / "board.html").write_text("<!doctype html>")
    (tmp_path / "board.csv").write_text("model\n")
    done = salon("space", tmp_path / "board.html", tmp_path / "board.csv", "--output", tmp_path / "s", "--title", HOSTILE)
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in (tmp_path / "s").iterdir()) == ["README.md", "board.csv", "index.html"]
    text = (tmp_path / "s" / "README.md").read_text("utf-8")
    found = front_matter(text)
    assert (found["sdk"], found["app_file"], found["pinned"]) == ("static", '"index.html"', "false")
    assert json.loads(found["title"]).startswith('"]: {x}')
    assert "\u202e" not in text
    for words in ((tmp_path / "board.csv",), (tmp_path / "board.html", tmp_path / "s" / "README.md")):
        wrong = salon("space", *words, "--output", tmp_path / "t", "--title", "a")
        assert (wrong.exit_code, (tmp_path / "t").exists()) == (2, False)


def test_a_card_names_every_table_with_its_columns(tables: Path) -> None:
    done = salon("card", tables, "--title", HOSTILE, "--license", "cc-by-4.0", "--about", "Votes\nof people.")
    assert done.exit_code == 0, done.output
    text = (tables / "README.md").read_text("utf-8")
    found = front_matter(text)
    assert json.loads(found["configs"]) == [
        {"config_name": "rows", "data_files": "rows.jsonl"},
        {"config_name": "votes", "data_files": "votes.csv"},
    ]
    assert (json.loads(found["size_categories"]), json.loads(found["license"])) == (["n<1K"], "cc-by-4.0")
    assert "| model\\_a | String |" in text or "| model_a | String |" in text
    assert "Votes of people." in text
    assert salon("card", tables.parent, "--title", "a").exit_code == 2


def test_a_push_makes_the_repository_and_sends_the_files_once(tables: Path, hub: tuple[str, type[Hub]]) -> None:
    endpoint, kind = hub
    listed = salon("push", tables, "owner/votes", "--dry-run")
    assert ("rows.jsonl" in listed.stdout, ".token" in listed.stdout, kind.taken) == (True, False, [])
    early = salon("push", tables, "owner/votes", HF_TOKEN=TOKEN, HF_ENDPOINT=endpoint)
    assert (early.exit_code, "salon results card" in early.stderr, kind.taken) == (2, True, [])
    salon("card", tables, "--title", "Votes")
    done = salon("push", tables, "owner/votes", "--private", "--message", "June", HF_TOKEN=TOKEN, HF_ENDPOINT=endpoint)
    assert done.exit_code == 0, done.output
    assert f"Pushed to {endpoint}/datasets/owner/votes" in done.stderr
    assert kind.files == {path.name: path.read_bytes() for path in tables.iterdir() if not path.name.startswith(".")}
    made = json.loads(next(body for path, _, body in kind.taken if path == "/api/repos/create"))
    assert (made["name"], made["organization"], made["type"]) == ("votes", "owner", "dataset")
    assert "private" in (made.get("visibility"), made.get("private") and "private")
    assert {given for path, given, _ in kind.taken if "validate" not in path} == {f"Bearer {TOKEN}"}
    assert TOKEN not in done.output + "".join(body for _, _, body in kind.taken)


def test_a_space_is_pushed_as_static(tmp_path: Path, hub: tuple[str, type[Hub]]) -> None:
    endpoint, kind = hub
    (tmp_path / "board.html").write_text("<!doctype html>")
    salon("space", tmp_path / "board.html", "--output", tmp_path / "s", "--title", "Board")
    done = salon("push", tmp_path / "s", "owner/board", "--type", "space", HF_TOKEN=TOKEN, HF_ENDPOINT=endpoint)
    assert done.exit_code == 0, done.output
    made = json.loads(next(body for path, _, body in kind.taken if path == "/api/repos/create"))
    assert (made["type"], made["sdk"]) == ("space", "static")
    assert sorted(kind.files) == ["README.md", "index.html"]


def test_a_refusal_of_the_hub_is_explained_without_the_token(tables: Path, hub: tuple[str, type[Hub]]) -> None:
    endpoint, kind = hub
    kind.refusal = 403
    salon("card", tables, "--title", "Votes")
    done = salon("push", tables, "owner/votes", HF_TOKEN=TOKEN, HF_ENDPOINT=endpoint)
    assert (done.exit_code, "the hub did not take the files" in done.stderr) == (2, True)
    assert TOKEN not in done.output
    with pytest.raises(InputError, match="did not take") as raised:
        push(tables, "owner/votes", "dataset", token=TOKEN, endpoint="http://127.0.0.1:9")
    assert TOKEN not in str(raised.value)
    with pytest.raises(InputError, match="no such folder"):
        push(tables / "none", "owner/votes", "dataset", token=TOKEN, endpoint=endpoint)
    (tables / "out.csv").symlink_to(Path(__file__))
    with pytest.raises(InputError, match="leads out of the folder"):
        push(tables, "owner/votes", "dataset", token=TOKEN, endpoint=endpoint)
