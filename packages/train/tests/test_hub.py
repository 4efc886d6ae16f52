"""A model's name on a hub that hangs, refuses or answers: said at once, and what is in the cache is loaded all the same."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from salon_synthetic import imagine, png
from salon_taxonomy.errors import InputError
from salon_train.assessor.dry_run import dry_run
from salon_train.configuration import read_configuration
from salon_train.configuration.reward_model import configured
from salon_train.models import hub
from salon_train.reward_model.stage import train_reward_model

SFT = "[sft]\nsteps = 2\nbatch = 8\n"

pytestmark = [pytest.mark.usefixtures("one_thread")]


@contextmanager
def listening(answer: bytes | None) -> Iterator[tuple[str, list[socket.socket]]]:
    """A server on this machine that says the same to everybody, or takes calls and says nothing; its address and calls."""
    server = socket.create_server(("127.0.0.1", 0))
    calls: list[socket.socket] = []

    def serve() -> None:
        while True:
            try:
                call, _ = server.accept()
            except OSError:
                return
            calls.append(call)
            if answer is not None:
                call.recv(65536)
                call.sendall(answer)
                call.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.getsockname()[1]}", calls
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join()
        for call in calls:
            call.close()


@pytest.fixture
def online(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    """Lets the libraries ask a hub at an address, with an empty cache and little patience."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(hub, "PATIENCE_S", 0.2)

    def at(address: str) -> None:
        monkeypatch.setattr(constants, "ENDPOINT", address)
        template = f"{address}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)

    return at


def planned(written: Callable[..., Path], name: str) -> tuple[str, ...]:
    return dry_run(read_configuration(written("on-a-hub", model=name, more=SFT)), "sft", {}).notes


def test_a_hub_that_hangs_is_asked_once_and_the_error_says_what_to_set(
    written: Callable[..., Path], online: Callable[[str], None]
) -> None:
    with listening(None) as (address, calls):
        online(address)
        with pytest.raises(InputError) as error:
            planned(written, "nobody/nothing")
        assert len(calls) <= 2  # a client may open a second connection for one question; transformers would open dozens
    said = str(error.value)
    assert f"the model cannot be found (the hub at {address} does not answer: ReadTimeout; it is not in the cache)" in said
    assert "key 'model.name'" in said
    assert all(word in said for word in ("HF_HUB_OFFLINE=1", "HTTPS_PROXY", "HF_ENDPOINT", "hf download"))


def test_a_hub_that_refuses_connections_leaves_known_models_to_be_planned(
    written: Callable[..., Path], online: Callable[[str], None]
) -> None:
    with listening(None) as (address, _):
        pass
    online(address)
    notes = planned(written, "Qwen/Qwen2.5-VL-7B-Instruct")
    assert "The model is not on this machine" in notes[0]
    assert notes[1].startswith(f"The hub at {address} does not answer: ConnectError. Name a folder, or download")


def test_a_hub_that_answers_is_asked_for_the_model_itself(
    written: Callable[..., Path], online: Callable[[str], None], training_ground: Path
) -> None:
    with listening(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n") as (address, calls):
        online(address)
        assert hub.hub_problem("nobody/nothing") is None
        assert hub.hub_problem(str(training_ground / "tiny")) is None
        asked = len(calls)
        with pytest.raises(InputError, match="the model cannot be found") as error:
            planned(written, "nobody/nothing")
        assert len(calls) > asked + 1
    assert "does not answer" not in str(error.value)


def test_training_with_a_hub_that_hangs_ends_before_the_first_step_as_the_dry_run_does(
    written: Callable[..., Path], online: Callable[[str], None]
) -> None:
    from salon_train.assessor import train_sft

    with listening(None) as (address, calls):
        online(address)
        with pytest.raises(InputError, match=r"the processor cannot be loaded \(the hub at .* does not answer"):
            train_sft(read_configuration(written("hung", model="nobody/nothing", more=SFT)))
        assert len(calls) <= 2


def test_what_is_in_the_cache_is_loaded_though_the_hub_hangs(
    written: Callable[..., Path], online: Callable[[str], None], training_ground: Path, tmp_path: Path
) -> None:
    import shutil

    saved = tmp_path / "cache/models--some--tiny"
    shutil.copytree(training_ground / "tiny", saved / "snapshots/abc")
    (saved / "refs").mkdir()
    (saved / "refs/main").write_text("abc")
    with listening(None) as (address, calls):
        online(address)
        plan = dry_run(read_configuration(written("cached", model="some/tiny", more=SFT)), "sft", {})
        assert len(calls) <= 2
    assert plan.own_configuration
    assert plan.tokens is not None


def test_a_reward_model_asks_a_hub_that_hangs_once_too(tmp_path: Path, online: Callable[[str], None]) -> None:
    rows = ["prompt_id,prompt,chosen,rejected,split"]
    for number, split in enumerate(("train", "train", "test")):
        for side in ("good", "bad"):
            (tmp_path / f"{side}{number}.png").write_bytes(png(imagine("a red star", seed=number)))
        rows.append(f"p{number},{number} red stars,good{number}.png,bad{number}.png,{split}")
    (tmp_path / "pairs.csv").write_text("\n".join(rows) + "\n")
    document = {"run": {"folder": str(tmp_path / "run")}, "preferences": {"file": str(tmp_path / "pairs.csv")}}
    with listening(None) as (address, calls):
        online(address)
        with pytest.raises(InputError, match="does not answer: ReadTimeout") as error:
            train_reward_model(configured({**document, "backbone": {"name": "nobody/nothing"}}))
        assert len(calls) <= 2
    assert "key 'backbone.name'" in str(error.value) and "hf download" in str(error.value)
