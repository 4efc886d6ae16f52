"""Runs `salon train …` in two real processes on loopback, quickly: everything is imported once, and forked for each run.

    python two_processes.py < '[{"arguments": ["sft", "run.toml"], "output": "folder"}, …]'

Each run is what `torchrun --nproc_per_node 2` starts, without its agent: nobody ends a process when the other one fails. In
``output`` each process leaves ``stdout.RANK``, ``stderr.RANK`` and, for the cold start, ``seen.RANK``: one line for each batch
that it was given, as the values of the first pixel of its pictures. On standard output: one list of two exit codes for each
run (negative: the signal), or null where a run was not over in time.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PATIENCE_S = 400.0


def run_in_two_processes(
    runs: Sequence[Mapping[str, Any]], *, path: Sequence[Path] = (), timeout_s: float = 800
) -> list[list[int] | None]:
    """The exit codes of both processes of each run, one run after another.

    Args:
        runs: each with ``arguments`` (of `salon train`), ``output`` (a folder), and perhaps ``environment``, and ``kill``: a
            text; both processes are killed (SIGKILL) once it stands in the file ``kill_when``.
        path: further folders that modules are imported from.
        timeout_s: of all runs together.
    """
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}
    environment["TORCH_CPP_LOG_LEVEL"] = "ERROR"  # DDP remarks that every weight has a gradient
    environment["PYTHONPATH"] = os.pathsep.join([*map(str, path), *sys.path])
    given = json.dumps([{**run, "output": str(run["output"])} for run in runs])
    command = [sys.executable, __file__]
    done = subprocess.run(command, input=given, env=environment, capture_output=True, text=True, timeout=timeout_s, check=False)
    assert done.returncode == 0, done.stderr
    codes: list[list[int] | None] = json.loads(done.stdout.splitlines()[-1])
    return codes


def said(output: Path) -> str:
    """What both processes printed, for a failing test to show."""
    return "\n".join(f"== {each.name}\n{each.read_text()}" for each in sorted(output.glob("std*")))


def _served(runs: Sequence[Mapping[str, Any]]) -> None:
    import torch

    torch.set_num_threads(1)
    sys.stdout.write(json.dumps([_run(run) for run in runs]) + "\n")


def _run(run: Mapping[str, Any]) -> list[int] | None:
    output = Path(run["output"])
    output.mkdir(parents=True, exist_ok=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    children = []
    for rank in range(2):
        child = os.fork()
        if child == 0:
            _child(rank, port, run, output)
        children.append(child)
    return _waited(children, run)


def _waited(children: Sequence[int], run: Mapping[str, Any]) -> list[int] | None:
    codes: dict[int, int] = {}
    end = time.monotonic() + PATIENCE_S
    mark = Path(run["kill_when"]) if "kill" in run else None
    while len(codes) < len(children) and time.monotonic() < end:
        for child in children:
            if child not in codes:
                over, status = os.waitpid(child, os.WNOHANG)
                if over:
                    codes[child] = os.waitstatus_to_exitcode(status)
        if mark is not None and mark.exists() and run["kill"] in mark.read_text():
            _kill(children, codes)
            mark = None
        time.sleep(0.002)
    if len(codes) == len(children):
        return [codes[child] for child in children]
    _kill(children, codes)
    for child in set(children) - codes.keys():
        os.waitpid(child, 0)
    return None


def _kill(children: Sequence[int], codes: Mapping[int, int]) -> None:
    for child in children:
        if child not in codes:
            os.kill(child, signal.SIGKILL)


def _child(rank: int, port: int, run: Mapping[str, Any], output: Path) -> None:
    for number, name in ((1, "stdout"), (2, "stderr")):
        file = os.open(output / f"{name}.{rank}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, number)
    os.environ.update({"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"})
    os.environ.update({"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), **run.get("environment", {})})
    code = 99
    try:
        from salon_console import main

        _record(output / f"seen.{rank}")
        main(["train", *run["arguments"]])
        code = 0
    except SystemExit as exit_:
        code = exit_.code if isinstance(exit_.code, int) else 98
    except BaseException:  # noqa: BLE001 - shown by the test
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _record(file: Path) -> None:
    """Write down which pictures the cold start is given."""
    from salon_train.trl.sft import WarmUpTrainer

    set_up = WarmUpTrainer.__init__

    def recorded(self: Any, *args: Any, **kwargs: Any) -> None:
        set_up(self, *args, **kwargs)
        inner = self.data_collator

        def collate(batch: list[dict[str, Any]]) -> Any:
            with file.open("a") as lines:
                lines.write(json.dumps([row["images"][0].convert("RGB").getpixel((0, 0)) for row in batch]) + "\n")
            return inner(batch)

        self.data_collator = collate

    WarmUpTrainer.__init__ = recorded  # type: ignore[method-assign]


if __name__ == "__main__":
    _served(json.load(sys.stdin))
