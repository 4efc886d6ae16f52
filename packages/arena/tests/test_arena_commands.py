"""``salon arena`` as a user calls it: served until Ctrl-C, exported, ranked; bad input named before anything is written."""

import re
import signal
import socket
import sqlite3
import subprocess
import sys
import uuid
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from click.testing import CliRunner
from small_arena import write_material

import salon_arena
from defaults_of import defaults_of
from for_each import for_each
from salon_arena import ArenaDatabase
from salon_arena.cli import _proxies
from salon_arena.people import People
from salon_console import main
from salon_taxonomy.errors import InputError
from studies.arena import simulate

SALON = [sys.executable, "-c", "from salon_console import main; main()"]


def called(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["arena", *arguments])
    return result.exit_code, result.output


def test_one_command_serves_votes_until_ctrl_c_and_prints_nothing_about_models(tmp_path: Path) -> None:
    pictures, prompts = write_material(tmp_path)
    words = ["arena", "serve", str(pictures), "--prompts", str(prompts), "--database", str(tmp_path / "a.db"), "--port", "0"]
    server = subprocess.Popen([*SALON, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert server.stdout is not None
    said = server.stdout.readline()
    found = re.search(r"http://127\.0\.0\.1:\d+", said)
    assert found, said
    with httpx.Client(base_url=found[0]) as client:
        version = re.search('data-version="([0-9a-f]+)"', client.get("/").text)[1]  # type: ignore[index]
        headers = {"x-csrf-token": client.post("/session", json={"consent": version}).json()["csrf"]}
        pair = client.post("/tasks", json={}, headers=headers).json()["tasks"][0]
        assert {client.get(file).headers["content-type"] for file in pair["media"]} == {"image/jpeg"}
        body = {"answer_id": str(uuid.uuid4()), "assignment": pair["assignment"], "choice": "left", "elapsed_ms": 7}
        assert client.post("/answers", json=body, headers=headers).json()["version"] == 1
    server.send_signal(signal.SIGINT)
    out, err = server.communicate(timeout=60)
    assert (server.returncode, out, err) == (0, "", "Stopped; every vote is in the database.\n")
    assert "canary" not in said.lower()
    code, output = called("export", "--database", str(tmp_path / "a.db"), "--store", str(tmp_path / "store"))
    assert (code, "1 answer can still be undone: export again in 10 seconds" in output) == (0, True), output


WRONG_USES = """
serve => FOLDER
serve nowhere --prompts prompts.jsonl => no such folder
serve hollow --prompts prompts.jsonl => two models
serve file.png --prompts prompts.jsonl => file.png
serve pictures --prompts none.jsonl => none.jsonl
serve pictures --prompts empty.jsonl => no prompt
serve pictures --prompts junk.jsonl => junk.jsonl
serve pictures --prompts hollow => hollow
serve pictures --prompts blank.txt => unknown kind of file
serve nowhere --prompts strange.csv --task questions => no such folder
S --task nope => nope
S --mode nope => nope
S --task checks => test points
S --task verdicts => column 'idx'
S --task questions => the column is missing
S --task mos --reference nope => no model
S --task labels --reference x => not for this --task
S --task labels --raters 2 => not for this --task
S --reference nope => no model
S --task mos --hidden-reference nope => no model
S --task realism --reference nope => no model
S --task mos --reference Canary-Beta-9c1 --hidden-reference Canary-Beta-9c1 => not both
S --task labels --taxonomy nope => no such taxonomy
S --task labels --taxonomy half.toml => half.toml
S --task labels --anchors strange.csv => not for this --task
S --anchors none.csv => none.csv
S --anchors pairs.csv => no pair
S --anchors strange.csv => no file for this prompt
S --qualification pairs.csv => no pair
S --consent none.txt => none.txt
S --consent blank.txt => no text
S --consent junk.jsonl => UTF-8
S --certified-days 0 => 0
S --raters 0 => 0
S --port 99999 => 99999
S --database text.db => not a database
S --database other.db => not of an arena
S --database hollow => hollow
S --database none/a.db => none/a.db
S --database mysql://x => postgresql://
S --database voted.db --mode expert => another mode
S --database voted.db --task mos => other work
S --database voted.db --task labels => other work
prompts --port 0 --database voted.db => other work
S --beside none.db => no such file
S --beside text.db => not a database
S --beside empty.db => holds no arena
S --oidc-issuer http://x => all three options
S --log none/x.log => none/x.log
S --oidc-issuer http://a.org --oidc-client a --oidc-secret-file file.png => https://
S --oidc-issuer https://[ --oidc-client a --oidc-secret-file prompts.jsonl => https://
S --host 0.0.0.0 => --trusted-proxy
S --proxy-address 10.0.0.1 => needs --trusted-proxy
S --trusted-proxy https://a.org/ => no host name
S --trusted-proxy a.org --proxy-address 0.0.0.0/0 => every address
S --host 999.1.1.1 --trusted-proxy a.org => cannot listen
S --trusted-proxy a.org --proxy-address proxy => no address or network
demo file.png --no-serve => file.png
demo demo --votes -1 => -1
export --store store => no such file
export --database text.db --store store => not a database
export --database other.db --store store => not of an arena
export --database empty.db --store store => holds no arena
export --database voted.db => --store
export --database voted.db --store file.png => file.png
invite --database none.db => no such file
invite --database voted.db --count 0 => 0
invite --database voted.db --role king => king
account ann --password longlonglonglong --database none.db => no such file
account ann --password short --database voted.db => 12 characters
account ann --password longlonglonglong --role king --database voted.db => king
account a\udce9 --password longlonglonglong --database voted.db => half a surrogate pair
account ann --password longlonglonglong\udce9 --database voted.db => half a surrogate pair
people --database voted.db --suspend nobody => no such rater
people --database voted.db --suspend a\udce9 => no such rater
people --database voted.db --forget a\udce9 => no such rater
people --database voted.db --suspend rater-one --days 10000000 => 0<=x<=3650
people --database voted.db --suspend rater-one --days inf => 0<=x<=3650
people --database voted.db --suspend rater-one --forget nobody => no such rater
people --database voted.db --forget rater-one --forget rater-one --suspend nobody => no such rater
people --database empty.db => holds no arena
progress --database none.db => no such file
progress --database text.db => not a database
release nope out --database voted.db => unknown form
release votes out --database voted.db => no settled answers
release votes out --database none.db => no such file
release votes full --database voted.db => is there already
release votes file.png --database voted.db => file.png
release magicmirror out --database empty.db => holds no arena
import-labels none.json I => none.json
import-labels list.json I => no task
import-labels half.json I => half.json
import-labels list.json nowhere --prompts prompts.jsonl --database new.db => no such folder
import-labels list.json pictures --prompts prompts.jsonl --taxonomy nope --database new.db => no such taxonomy
prompts --count 0 => 0
prompts --host 0.0.0.0 => this machine alone
prompts --port 0 --database text.db => not a database
verify --database text.db => not a database
backup --database voted.db pairs.csv => is there already
backup --database voted.db none/b.db => none/b.db
backup --database empty.db new.db => holds no arena
"""
"""Arguments and words of the message; S is ``serve`` with good material, I the same for ``import-labels``."""
SHORT = {"S": "serve pictures --prompts prompts.jsonl --port 0", "I": "pictures --prompts prompts.jsonl --database new.db"}
FILES = {
    "empty.jsonl": b"",
    "empty.db": b"",
    "text.db": b"no database " * 99,
    "junk.jsonl": b"\xff\x00{",
    "blank.txt": b" \n",
    "list.json": b"[]",
    "half.json": b'{"a": 1',
    "half.toml": b"name = ",
    "pairs.csv": b"prompt_id,model_a,model_b,winner\n",
    "strange.csv": b"prompt_id,model_a,model_b,winner\nx,y,z,model_a\n",
    "full/file.txt": b"x",
    "file.png": b"x",
}


def write_wrong_files(folder: Path) -> None:
    write_material(folder)
    for name, content in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    (folder / "hollow").mkdir()
    with closing(sqlite3.connect(folder / "other.db")) as other:
        other.execute("CREATE TABLE t(a)")
        other.commit()
    with ArenaDatabase.open(folder / "voted.db") as voted:
        voted.claim("battles")
        known = "INSERT INTO raters (rater_id, created_at, role, occupation) VALUES ('rater-one', 1, 'rater', 'design')"
        voted.write(lambda c: c.exec_driver_sql(known).rowcount).result()


def test_what_is_wrong_is_named_with_exit_code_2_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def content() -> dict[str, bytes]:
        found = [path for path in tmp_path.rglob("*") if not path.name.endswith(("-wal", "-shm"))]
        return {str(path): path.read_bytes() if path.is_file() else b"" for path in found}

    write_wrong_files(tmp_path)
    before = content()
    wrong = []
    for line in WRONG_USES.strip().split("\n"):
        arguments, expected = line.split(" => ")
        words = [word for part in arguments.split() for word in SHORT.get(part, part).split()]
        code, output = called(*words)
        if code != 2 or expected not in " ".join(output.split()):
            wrong.append((line, code, output))
        assert content() == before, line
    assert wrong == []


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    pictures, prompts = (str(path) for path in write_material(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        own = ["--database", str(tmp_path / "arena.db"), "--port", str(taken.getsockname()[1])]
        code, output = called("serve", pictures, "--prompts", prompts, *own)
    assert (code, "cannot listen" in output, (tmp_path / "arena.db").exists()) == (2, True, False), output


@for_each(
    ("options", "expected"),
    [
        (["--port", "0"], r"http://127\.0\.0\.1:[1-9][0-9]*/"),
        (["--port", "0", "--host", "localhost"], r"http://localhost:[1-9][0-9]*/"),
        (["--port", "0", "--trusted-proxy", "localhost"], "https://localhost/"),
        (["--port", "0", "--trusted-proxy", "localhost.example.org"], r"https://localhost\.example\.org/"),
    ],
)
def test_a_provider_sends_people_back_to_the_address_that_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], expected: str
) -> None:
    redirects = []
    monkeypatch.setattr("salon_arena.signin.Oidc", lambda _, settings, invited: redirects.append(settings.redirect))
    monkeypatch.setattr("uvicorn.Server.run", lambda *_, **__: None)
    pictures, prompts = (str(path) for path in write_material(tmp_path))
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    own = ["--database", str(tmp_path / "arena.db"), "--oidc-issuer", "https://a.org", "--oidc-client", "arena"]
    code, output = called("serve", pictures, "--prompts", prompts, *own, "--oidc-secret-file", str(secret), *options)
    printed = re.search(f"Open ({expected}) ", output)
    assert code == 0 and printed, output
    assert redirects == [f"{printed[1]}oidc/callback"]


@pytest.mark.parametrize(("problems", "shown"), [(0, 0), (1, 1), (20, 20), (21, 20), (1234, 20)])
def test_the_first_twenty_rows_that_do_not_fit_are_named_and_all_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problems: int, shown: int
) -> None:
    ArenaDatabase.open(tmp_path / "arena.db").close()
    every = tuple(f"row {number} was changed" for number in range(problems))
    verification = SimpleNamespace(answers=problems, head="", problems=every)
    monkeypatch.setattr("salon_arena.verify.verify_answers", lambda database, head=None: verification)
    code, output = called("verify", "--database", str(tmp_path / "arena.db"))
    lines = output.splitlines()
    assert (code, lines[0]) == (int(problems > 0), f"{problems:,} answers; head (none)")
    assert [line for line in lines if line in every] == [*every[:shown]]
    assert not problems or f"{problems:,} rows do not fit" in lines[-1]


def test_who_says_for_whom_a_request_came_is_this_machine_unless_addresses_are_given_and_nobody_without_a_proxy() -> None:
    assert _proxies((), None) == () and _proxies((), "arena.example.org") == ("127.0.0.1", "::1")
    assert _proxies(("172.18.0.0/16", "::2"), "arena.example.org") == ("172.18.0.0/16", "::2")
    for addresses, host in ((("::2",), None), ((), "https://x/"), (("0.0.0.0/0",), "x.org"), (("nobody",), "x.org")):
        with pytest.raises(InputError):
            _proxies(addresses, host)


@pytest.mark.parametrize("command", ["serve", "demo", "prompts"])
def test_every_server_says_where_it_is_and_neither_logs_who_asks_nor_names_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """Nor does it believe a header about who asks; the arena itself reads the proxies that it was told of."""
    import uvicorn

    from salon_arena.connections import LimitedProtocol

    configured: list[uvicorn.Config] = []
    places: list[tuple[str, int]] = []

    def run(server: uvicorn.Server, sockets: list[socket.socket]) -> None:
        configured.append(server.config)
        places.append(sockets[0].getsockname())
        raise KeyboardInterrupt

    monkeypatch.setattr(uvicorn.Server, "run", run)
    database = ["--database", str(tmp_path / "arena.db")]
    if command == "serve":
        pictures, prompts = (str(path) for path in write_material(tmp_path))
        words = [pictures, "--prompts", prompts, *database]
    else:
        words = [str(tmp_path / "demo")] if command == "demo" else database
    code, output = called(command, *words, "--port", "0")
    assert code == 0, output
    [config], [(host, port)] = configured, places
    assert f"Open http://{host}:{port}/ (Ctrl-C stops)." in output and host == "127.0.0.1"
    assert output.endswith("Stopped; every vote is in the database.\n")
    assert not (config.access_log or config.server_header or config.date_header or config.proxy_headers)
    assert (config.http, config.log_level) == (LimitedProtocol, "warning")


def test_a_setting_has_one_default_in_every_function_class_and_command_that_has_it() -> None:
    """A default that changes is a decision: it changes what an arena without it does."""
    never = "alone", "discard", "invited", "made", "secure", "sound", "tables", "unaudited"
    nothing = "last", "left_out", "prior_ties", "rated_from", "seed", "upto", "votes"
    assert defaults_of(salon_arena) == {
        **{name: {0} for name in (*never, *nothing)}, **{name: {1} for name in ("compared", "reveal")},
        **{name: {7} for name in ("days", "suspended_days")},
        **{name: {2} for name in ("needed", "raters", "answers_per_second")},
        "certified_days": {180}, "joins_per_hour": {120}, "port": {8080}, "prompts": {24},
        "anchors_first": {0, 1},  # of a board, of the arena's
        "count": {1, 377},  # of invites, of prompts to write
    }  # fmt: skip


@pytest.mark.slow
def test_the_demonstration_ranks_its_models_as_planted(tmp_path: Path) -> None:
    folder, store = str(tmp_path / "demo"), str(tmp_path / "store")
    assert called("demo", folder, "--votes", "500", "--no-serve")[0] == 0
    code, output = called("export", "--database", f"{folder}/arena.db", "--store", store)
    assert code == 0 and re.match(r"4\d\d battles added", output), output
    ranked = CliRunner().invoke(
        main, ["votes", "rank", store, "--interval", "sandwich", "--baseline", "easel", "--format", "csv"]
    )
    rows = [line.split(",") for line in ranked.output.splitlines()]
    place, low, high = (rows[0].index(name) for name in ("model", "ci_low", "ci_high"))
    found = {row[place]: (float(row[low]), float(row[high])) for row in rows[1:6]}
    assert found["atelier"][0] > found["easel"][1]
    assert found["atelier"][0] <= 1400 <= found["atelier"][1]


def test_a_simulation_over_http_finds_careless_raters_and_the_planted_order(tmp_path: Path) -> None:
    found = simulate(votes=700, raters=14, careless=0.15, malicious=0.0, models=3, prompts=60, seed=1)
    assert found.votes == 700 and found.counted < 700 * 0.95  # anchors, and what careless raters said
    assert (found.bad, found.caught) == (2, 2) and found.flagged <= 4
    assert found.error < 80 and found.models == 2
    for wrong in ({"votes": 3}, {"models": 2}, {"careless": 0.9, "malicious": 0.2}):
        with pytest.raises(InputError):
            simulate(**wrong)  # type: ignore[arg-type]


def test_experts_join_through_a_printed_invite_once(tmp_path: Path) -> None:
    database = tmp_path / "experts.db"
    ArenaDatabase.open(database, mode="expert").close()
    code, output = called("invite", "--database", str(database), "--count", "3", "--address", "https://arena.example.org/")
    links = output.split()
    assert code == 0 and len(set(links)) == 3 and all(link.startswith("https://arena.example.org/#") for link in links)
    with ArenaDatabase.open(database) as opened:
        people = People(opened, lambda: 0)
        session = people.join(invite=links[0].split("#")[1]).result()
    code, output = called("people", "--database", str(database), "--suspend", session.rater_id, "--days", "3")
    assert code == 0 and f"{session.rater_id}: rater, 0 settled; suspended until" in output
    assert called("people", "--database", str(database), "--forget", "rater-none")[0] == 2
