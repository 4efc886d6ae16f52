"""Addresses of the hub, against a stub of its protocol on loopback; and what is said without it."""

import hashlib
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from for_each import for_each
from salon_console.file_options import InputPath
from salon_console.hub_files import hub_file
from salon_console.hub_publishing import CardTable, card
from salon_taxonomy.errors import InputError

FILES = {"prompts.csv": b"prompt\na red star\n", "texts/one.txt": b"a blue circle", "texts/two.txt": b"a star"}
COMMIT = "a" * 40


class Hub(BaseHTTPRequestHandler):
    """The two routes that a download asks: the list of files, and a file with its commit and tag."""

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        if self.path.startswith("/api/datasets/owner/set"):
            siblings = [{"rfilename": name} for name in FILES]
            tree = [{"type": "file", "path": name, "size": len(data), "oid": name} for name, data in FILES.items()]
            body = tree if "/tree/" in self.path else {"id": "owner/set", "sha": COMMIT, "siblings": siblings}
            self._send(json.dumps(body).encode(), {"Content-Type": "application/json"})
            return
        data = FILES.get(self.path.rpartition(f"/resolve/{COMMIT}/")[2]) or FILES.get(self.path.rpartition("/resolve/main/")[2])
        if not self.path.startswith("/datasets/owner/set/") or data is None:
            missing = "EntryNotFound" if "/owner/set/" in self.path else "RepoNotFound"
            self._send(b"", {"X-Error-Code": missing, "X-Error-Message": "not here"}, 404)
            return
        self._send(data, {"ETag": f'"{hashlib.sha1(data).hexdigest()}"', "X-Repo-Commit": COMMIT})

    def _send(self, body: bytes, headers: dict[str, str], status: int = 200) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def fetched(addresses: list[str], home: Path, endpoint: str, *, offline: bool = False) -> list[list[str]]:
    """What each address gives, in a process of its own: the library reads its environment when it is imported."""
    pytest.importorskip("huggingface_hub")
    code = (
        "import sys\nfrom salon_taxonomy.errors import InputError\nfrom salon_console.hub_files import hub_file\n"
        "for address in sys.argv[1:]:\n    try:\n        print(hub_file(address))\n"
        "    except InputError as error:\n        print('Error', error)\n    print('--')"
    )
    words = [sys.executable, "-c", code, *addresses]
    done = subprocess.run(words, env=reached(endpoint, home, offline=offline), capture_output=True, text=True, check=True)
    return [part.splitlines() for part in done.stdout.split("--\n")[:-1]]


def reached(endpoint: str, home: Path, *, offline: bool = False) -> dict[str, str]:
    """The environment of a process that reaches the stub alone."""
    own = {"HF_ENDPOINT": endpoint, "HF_HOME": str(home), "HF_HUB_DISABLE_XET": "1", "HF_HUB_OFFLINE": str(int(offline))}
    return {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")} | own


def test_what_the_hub_has_is_fetched_once_and_what_it_lacks_is_said_with_the_address(tmp_path: Path, endpoint: str) -> None:
    have = ["hf://datasets/owner/set/prompts.csv", "hf://datasets/owner/set@main/texts"]
    lack = [f"hf://datasets/{path}" for path in ("owner/set/none.csv", "owner/other/prompts.csv", "owner/set/nothing")]
    [file], [folder], *errors = fetched([*have, *lack], tmp_path, endpoint)
    assert Path(file).read_bytes() == FILES["prompts.csv"]
    assert COMMIT in file
    assert {f"texts/{path.name}": path.read_bytes() for path in Path(folder).iterdir()} == {
        name: data for name, data in FILES.items() if name.startswith("texts/")
    }
    for address, (first, *rest) in zip(lack, errors, strict=True):
        assert first.startswith(f"Error {address}: ")
        assert "or name your own copy" in rest[-1]
    [again], (first, *rest) = fetched([have[0], lack[0]], tmp_path, endpoint, offline=True)
    assert again == file
    assert "cannot be fetched from the hub (it does not answer, or HF_HUB_OFFLINE is set, and the cache has no copy)" in first
    assert "Check the address and the network" in rest[-1]


def test_what_a_table_of_the_hub_names_is_fetched_too(tmp_path: Path, endpoint: str) -> None:
    pytest.importorskip("huggingface_hub")
    code = """
from salon_console.hub_files import hub_file
from salon_judges.formats.generation_tables import located
from salon_taxonomy.errors import InputError
from salon_taxonomy.media_files import read_inside
table = hub_file("hf://datasets/owner/set/prompts.csv")
for name in ("texts/one.txt", "hf://datasets/owner/set/texts/two.txt", "texts/one.txt"):
    print(read_inside(*located(name, table, 1, "source"), 100).decode())
print(read_inside(*located("texts", table, 1, "source"), 100).detail)
for name in ("texts/three.txt", "../secret", "http://127.0.0.1/a.png", "hf://datasets/owner/set/texts"):
    try:
        located(name, table, 1, "source")
    except InputError as error:
        print(error.problem)
"""
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, env=reached(endpoint, tmp_path), capture_output=True, text=True, check=True)
    *read, folder, missing, outside, other, whole = done.stdout.splitlines()
    assert folder == "it is a folder, not a file" and whole.startswith("is an address")
    assert read == ["a blue circle", "a star", "a blue circle"]
    assert missing.startswith("cannot be fetched from the hub")
    assert outside.startswith("leads out of the table's folder") and other.startswith("is an address")


def test_without_a_network_the_hub_is_asked_once_and_the_copy_in_the_cache_counts(
    tmp_path: Path, endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = pytest.importorskip("huggingface_hub")
    have = ["hf://datasets/owner/set/prompts.csv", "hf://datasets/owner/set/texts"]
    copies = fetched(have, tmp_path, endpoint)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    asked: list[str] = []

    def unreached(url: str, timeout: float) -> None:
        asked.append(url)
        http = sys.modules[type(hub.get_session()).__module__.partition(".")[0]]
        raise http.ConnectError("no network")

    def waited(*_: object) -> None:
        raise AssertionError("a download was tried again")

    monkeypatch.setattr(hub, "get_hf_file_metadata", unreached)
    monkeypatch.setattr("time.sleep", waited)
    for download in ("hf_hub_download", "snapshot_download"):
        monkeypatch.setattr(hub, download, partial(getattr(hub, download), cache_dir=tmp_path / "hub"))
    assert [[str(hub_file(address))] for address in have] == copies
    with pytest.raises(InputError, match=r"none\.csv: .* the hub \(it does not answer"):
        hub_file("hf://datasets/owner/set/none.csv")
    assert len(asked) == 3


def test_without_the_library_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(InputError, match="pip install huggingface-hub"):
        hub_file("hf://datasets/owner/set/prompts.csv")


@for_each(
    "address",
    ["hf://", "hf://datasets/a", "hf://datasets/a/b", "hf://models/a/b/c", "hf://datasets/a/b/../../c", "hf://datasets/a/b/"],
)
def test_what_is_no_address_of_a_file_is_refused(address: str) -> None:
    with pytest.raises(InputError, match="OWNER/NAME/PATH"):
        hub_file(address)


def test_a_command_reads_the_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    (tmp_path / "copy.csv").touch()

    def fetch(address: str) -> Path:
        asked.append(address)
        return tmp_path / "copy.csv"

    @click.command()
    @click.argument("table", type=InputPath())
    def show(table: Path) -> None:
        click.echo(str(table))

    monkeypatch.setattr("salon_console.file_options.hub_file", fetch)
    result = CliRunner().invoke(show, ["hf://datasets/owner/set/prompts.csv"])
    assert (result.output.strip(), asked) == (str(tmp_path / "copy.csv"), ["hf://datasets/owner/set/prompts.csv"])


@for_each("rows", [0, 999, 1_000, 9_999, 10_000, 99_999, 100_000, 999_999, 1_000_000, 9_999_999, 10_000_000, 10**9])
def test_a_card_names_the_range_that_holds_the_rows_of_its_largest_table(rows: int) -> None:
    tables = [CardTable("small.csv", 0, {}, "0" * 64), CardTable("large.csv", rows, {"a": "String"}, "0" * 64)]
    lines = card(tables, title="Votes").splitlines()
    (named,) = json.loads(next(line for line in lines if line.startswith("size_categories")).partition(": ")[2])
    ends = [int(end[:-1]) * {"K": 1_000, "M": 1_000_000}[end[-1]] for end in re.findall(r"\d+[KM]", named)]
    low, high = (0, ends[0]) if named.startswith("n<") else (ends[0], 10**12) if named.startswith("n>") else ends
    assert low <= rows < high, named
    assert "Rows written by Salon." in lines and "Of June." in card(tables, title="Votes", about="Of\nJune.").splitlines()
    assert not any(line.startswith("license") for line in lines)
    assert 'license: "mit"' in card(tables, title="Votes", license_="mit").splitlines()
