"""Requests that are sent by halves keep no connection open, and nobody is kept out by them for long."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import httpx
import pytest
import uvicorn

from salon_arena import WorkService, create_app
from salon_arena.connections import LimitedProtocol


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
