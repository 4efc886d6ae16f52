"""Requests that are sent by halves keep no connection open, and nobody is kept out by them for long."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from io import BytesIO
from pathlib import Path

import httpx
import pytest
import uvicorn
from PIL import Image
from small_arena import Clock, write_material

from salon_arena import ArenaDatabase, WorkService, create_app, read_material, vote_service
from salon_arena.connections import LimitedProtocol
from salon_arena.errors import RefusedError
from salon_arena.service import AnswerBody


class Impatient(LimitedProtocol):
    """With times of a test."""

    headers_s = 0.5
    body_s = 0.5
    most = 12


@contextmanager
def served(service: WorkService) -> Iterator[int]:
    config = uvicorn.Config(create_app(service), port=0, http=Impatient, log_level="warning", timeout_keep_alive=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    thread.join()


WHOLE = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
HALVES = {
    "nothing": b"",
    "a part of the headers": b"GET / HTTP/1.1\r\nHost: local",
    "a part of the body": b"POST /session HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999\r\n\r\n{",
    "a part after a whole request": WHOLE + b"GET",
    "a line's end after a whole request": WHOLE + b"\r\n",
}


@pytest.mark.parametrize("half", HALVES)
def test_a_connection_with_half_a_request_is_closed(service: WorkService, half: str) -> None:
    with served(service) as port, socket.create_connection(("127.0.0.1", port)) as client:
        client.settimeout(60)
        client.sendall(HALVES[half])
        received = b""
        try:
            while part := client.recv(1 << 16):
                received += part
        except ConnectionResetError:
            pass
        assert received.startswith(b"HTTP/1.1 200") == ("whole" in half)


def test_so_many_connections_and_no_more_and_then_others_are_served(service: WorkService) -> None:
    with served(service) as port, ExitStack() as stack:
        for _ in range(40):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            client.sendall(b"GET / HTTP/1.1\r\nHost: lo")
        for _ in range(600):
            try:
                reply = httpx.get(f"http://127.0.0.1:{port}/healthz", headers={"host": "localhost"})
            except httpx.TransportError:
                time.sleep(0.05)
                continue
            break
        assert reply.status_code == 200


@pytest.mark.parametrize("reads_all", [False, True])
def test_a_file_counts_as_seen_only_if_its_bytes_left_for_the_rater(
    tmp_path: Path, clock: Clock, body: Callable[..., AnswerBody], reads_all: bool
) -> None:
    """A client that asks for the files and leaves after the headers has seen nothing, so it cannot answer."""
    pictures, prompts = write_material(tmp_path, samples=1)
    noise = BytesIO()
    Image.effect_noise((2048, 2048), 120).save(noise, "PNG", compress_level=1)
    for path in pictures.rglob("*.png"):
        path.write_bytes(noise.getvalue())
    with ArenaDatabase.open(tmp_path / "large.db") as database:
        service = vote_service(database, read_material(pictures, prompts), clock=clock)
        joined = service.people.join().result()
        task = service.lease(joined.rater_id).result()["tasks"][0]
        with served(service) as port:
            for address in task["media"]:
                with socket.create_connection(("127.0.0.1", port)) as client:
                    if not reads_all:
                        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                    lines = (f"GET {address} HTTP/1.1", "Host: localhost", f"Cookie: salon={joined.token}", "Connection: close")
                    client.sendall("".join(f"{line}\r\n" for line in (*lines, "")).encode())
                    assert client.recv(15) == b"HTTP/1.1 200 OK"
                    while reads_all and client.recv(1 << 20):
                        pass
            time.sleep(0.5)
            reply = service.answer(joined.rater_id, body(task, "left"))
            if reads_all:
                assert reply.result()["version"] == 1
            else:
                with pytest.raises(RefusedError, match="not_shown"):
                    reply.result()
