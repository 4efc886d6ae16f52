"""A Postgres server of its own for a test: Debian's package `postgresql`, on a socket in a folder of its own."""

import os
import pwd
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path


def programs() -> Path | None:
    """The folder of ``initdb`` and ``pg_ctl``; None where Postgres is not installed."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return folders[-1] if folders else None


class PostgresServer:
    """A server that listens on a socket alone. Root cannot run one, so it then runs as the user ``postgres``."""

    def __init__(self) -> None:
        self._bin = programs()
        self._user = "postgres" if os.getuid() == 0 else None
        self.folder = Path(tempfile.mkdtemp(prefix="arena-postgres-"))  # pytest's own folders are closed to other users
        if self._user is not None:
            entry = pwd.getpwnam(self._user)
            os.chown(self.folder, entry.pw_uid, entry.pw_gid)
        self._run("initdb", "-D", str(self.folder / "data"), "-A", "trust", "-U", "arena", "--no-sync")
        self.start()
        self._run("createdb", "-h", str(self.folder), "-U", "arena", "arena")

    @property
    def address(self) -> str:
        """For ``--database``."""
        return f"postgresql://arena@/arena?host={self.folder}"

    def start(self) -> None:
        """Start, and wait until it answers."""
        options = f"-k {shlex.quote(str(self.folder))} -c listen_addresses=''"
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-w", "-l", str(self.folder / "log"), "-o", options, "start")

    def stop(self, mode: str = "immediate") -> None:
        """Stop; ``immediate`` is as if the power went."""
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-w", "-m", mode, "stop")

    def close(self) -> None:
        """Stop the server and remove its folder."""
        self.stop()
        shutil.rmtree(self.folder)

    def empty(self) -> None:
        """Make the database anew, empty."""
        for name in ("dropdb", "createdb"):
            self._run(name, "-h", str(self.folder), "-U", "arena", "arena")

    def _run(self, program: str, *arguments: str) -> None:
        assert self._bin is not None
        before: Sequence[str] = () if self._user is None else ("setpriv", f"--reuid={self._user}", "--clear-groups")
        subprocess.run([*before, str(self._bin / program), *arguments], check=True, capture_output=True, cwd="/", timeout=60)
