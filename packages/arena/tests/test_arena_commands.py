"""``salon arena`` as a user calls it: served until Ctrl-C, exported, ranked; bad input named before anything is written."""

import re
import signal
import socket
import subprocess
import sys
import uuid
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner
from small_arena import write_material

from salon_arena import ArenaDatabase
from salon_arena.people import People
from salon_arena.simulate import simulate
from salon_taxonomy.cli import main
from salon_taxonomy.errors import InputError

SALON = [sys.executable, "-c", "from salon_taxonomy.cli import main; main()"]


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
        assert client.get(pair["media"][0]).headers["content-type"] == "image/jpeg"
        body = {"answer_id": str(uuid.uuid4()), "assignment": pair["assignment"], "choice": "left", "elapsed_ms": 7}
        assert client.post("/answers", json=body, headers=headers).json()["version"] == 1
    server.send_signal(signal.SIGINT)
    out, err = server.communicate(timeout=60)
    assert (server.returncode, out, err) == (0, "", "Stopped; every vote is in the database.\n")
    assert "canary" not in said.lower()
    code, output = called("export", "--database", str(tmp_path / "a.db"), "--store", str(tmp_path / "store"))
    assert (code, "tasks wait" in output) == (0, True)


def test_what_cannot_be_served_is_refused_by_name_before_anything_is_written(tmp_path: Path) -> None:
    pictures, prompts = (str(path) for path in write_material(tmp_path))
    database = tmp_path / "arena.db"
    taken = socket.create_server(("127.0.0.1", 0))
    own = ["--database", str(database)]
    for words, expected in (
        (["serve", pictures, "--prompts", prompts, "--host", "0.0.0.0", *own], "--trusted-proxy"),
        (["serve", pictures, "--prompts", prompts, "--proxy-address", "10.0.0.1", *own], "needs --trusted-proxy"),
        (
            ["serve", pictures, "--prompts", prompts, "--trusted-proxy", "a.org", "--proxy-address", "0.0.0.0/0", *own],
            "every address",
        ),
        (["serve", pictures, "--prompts", prompts, "--trusted-proxy", "a.org", "--proxy-address", "proxy", *own], "no address"),
        (["serve", str(tmp_path / "none"), "--prompts", prompts, *own], "no such folder"),
        (["serve", pictures, "--prompts", str(tmp_path / "none.jsonl"), *own], "none.jsonl"),
        (["export", *own, "--store", str(tmp_path / "store")], "no such file"),
        (["demo", str(tmp_path / "demo"), "--host", "0.0.0.0"], "this machine alone"),
    ):
        code, output = called(*words)
        assert (code, expected in output) == (2, True), output
    assert not database.exists() and not (tmp_path / "store").exists() and not (tmp_path / "demo").exists()
    code, output = called("serve", pictures, "--prompts", prompts, "--port", str(taken.getsockname()[1]), *own)
    assert (code, "cannot listen" in output) == (2, True), output
    taken.close()


@pytest.mark.slow
def test_the_demonstration_ranks_its_models_as_planted(tmp_path: Path) -> None:
    folder, store = str(tmp_path / "demo"), str(tmp_path / "store")
    assert called("demo", folder, "--votes", "500", "--no-serve")[0] == 0
    code, output = called("export", "--database", f"{folder}/arena.db", "--store", store)
    assert code == 0 and re.match(r"4\d\d battles added", output), output
    ranked = CliRunner().invoke(main, ["rank", store, "--interval", "sandwich", "--baseline", "easel", "--format", "csv"])
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
