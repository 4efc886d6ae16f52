"""A full disk or a reader that left is one message or none; errors of the same number from elsewhere stay what they are."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
import rich_click as click
from click.testing import CliRunner

from salon_console import SalonGroup

SALON = "import sys; from salon_console import main; main(prog_name='salon')"
FULL = Path("/dev/full")
COMMANDS = [
    ["--help"],
    ["--version"],
    ["taxonomy", "--help"],
    ["taxonomy", "list"],
    ["taxonomy", "list", "--format", "json"],
    ["taxonomy", "show", "magicmirror"],
    ["taxonomy", "show", "mef", "--format", "json"],
    ["completion", "bash"],
]


def salon(arguments: list[str], stdout: int, *options: str, **environment: str) -> tuple[int, str]:
    """Exit code and standard error of ``salon`` with this file as its standard output."""
    command = [sys.executable, *options, "-c", SALON, *arguments]
    environment = {"PYTHONUNBUFFERED": "", **environment}
    done = subprocess.run(
        command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False, env={**os.environ, **environment}
    )
    return done.returncode, done.stderr


@pytest.mark.skipif(not FULL.exists(), reason="no /dev/full on this machine; Linux has one and makes this run")
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_full_disk_is_one_message(arguments: list[str]) -> None:
    with FULL.open("w") as full:
        assert salon(arguments, full.fileno()) == (
            1,
            "Error: standard output cannot be written (No space left on device)\n",
        )


@pytest.mark.parametrize("arguments", COMMANDS[::3], ids=" ".join)
def test_a_reader_that_left_is_no_matter_to_speak_of(arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        assert salon(arguments, writing) == (1, "")
    finally:
        os.close(writing)


@pytest.mark.skipif(not FULL.exists(), reason="no /dev/full on this machine; Linux has one and makes this run")
@pytest.mark.parametrize("how", [["-u"], ["-X", "utf8=0"]])
def test_neither_unbuffered_nor_plain_ascii_output_escapes(how: list[str]) -> None:
    with FULL.open("w") as full:
        code, said = salon(["taxonomy", "list", "--format", "json"], full.fileno(), *how, LC_ALL="C", PYTHONCOERCECLOCALE="0")
    assert (code, said.count("\n")) == (1, 1)


def test_what_is_written_is_whole_and_follows_what_was_written_before() -> None:
    code = "import sys; sys.stdout.write('before é\\n'); from salon_console import main\n"
    code += "try: main(['taxonomy', 'show', 'r3', '--format', 'json-schema'])\nfinally: sys.stdout.write('after\\n')"
    done = subprocess.run([sys.executable, "-X", "utf8", "-c", code], capture_output=True, check=False)
    lines = done.stdout.decode().splitlines()
    assert (lines[0], lines[1], lines[-2], lines[-1]) == ("before é", "{", "}", "after")
    assert (done.returncode, done.stderr) == (0, b"")


def test_closed_standard_output_is_no_trouble() -> None:
    code = "import sys; sys.stdout = None; from salon_console import main; main(['taxonomy', 'list'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_the_same_error_from_elsewhere_is_not_taken_for_standard_outputs(number: int) -> None:
    code = f"""
import rich_click as click
from salon_console import SalonGroup
@click.command(cls=SalonGroup)
def main(): pass
@main.command()
def write(): raise OSError({number}, "elsewhere", "store.parquet")
main(["write"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    said = (
        "store.parquet: cannot be written (elsewhere). Free the disk"
        if number == errno.ENOSPC
        else "elsewhere: 'store.parquet'"
    )
    assert said in done.stderr.splitlines()[-1]


def test_a_broken_connection_is_said_and_not_passed_over_in_silence() -> None:
    @click.command(cls=SalonGroup)
    def group() -> None:
        pass

    @group.command()
    def ask() -> None:
        raise BrokenPipeError(errno.EPIPE, "the server hung up")

    done = CliRunner().invoke(group, ["ask"])
    assert done.exit_code == 1
    assert "the server hung up" in done.stderr
