"""Files of data sets on the Hugging Face hub, by address: ``hf://datasets/OWNER/NAME/PATH``, or ``…/NAME@REVISION/PATH``.

Every command that reads a file takes such an address instead of a path. The file is fetched once into the cache of
huggingface_hub, under the commit that the hub names; the copy is what the command reads and a run remembers.
"""

import re
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from salon_taxonomy.errors import InputError
from salon_taxonomy.media_files import linked_folder

SCHEME: Final = "hf://"
_ADDRESS: Final = re.compile(
    r"hf://datasets/(?P<owner>[\w.-]+)/(?P<name>[\w.-]+?)(?:@(?P<revision>[\w./%-]+?))?/(?P<path>[^/\s][^\0\n]*)"
)
_HINT: Final = "Write hf://datasets/OWNER/NAME/PATH, or hf://datasets/OWNER/NAME@REVISION/PATH."
_INSTALL: Final = "Install it: pip install huggingface-hub. Or download the file, and name your copy."
_UNREACHED: Final = "Check the address and the network (HF_TOKEN for a private or gated data set), or name your own copy."
_UNANSWERED: Final = "it does not answer, or HF_HUB_OFFLINE is set, and the cache has no copy"
_LONGEST: Final = 200
_PATIENCE_S: Final = 5.0
"""How long the hub may take for its first answer; then the copy in the cache counts."""


def hub_file(address: str) -> Path:
    """Fetch a file or folder of a data set into the cache, and return the path of the copy.

    A path with an ending is a file; any other one is a folder, which is fetched with all its files.

    Raises:
        InputError: the address is malformed, huggingface_hub is not installed, or the hub does not give the file: no network,
            no such data set, revision or path, or no right to read it.

    Example:
        >>> hub_file("hf://spaces/owner/name/prompts.csv")
        Traceback (most recent call last):
        ...
        salon_taxonomy.errors.InputError: not the address of a file of a data set: 'hf://spaces/owner/name/prompts.csv'
        Write hf://datasets/OWNER/NAME/PATH, or hf://datasets/OWNER/NAME@REVISION/PATH.
    """
    match = _ADDRESS.fullmatch(address)
    if match is None or ".." in match["path"].split("/"):
        raise InputError("not the address of a file of a data set:", value=address, hint=_HINT)
    try:
        hub, errors = import_module("huggingface_hub"), import_module("huggingface_hub.errors")
    except ImportError as error:
        raise InputError("an address of the hub needs huggingface_hub", value=address, hint=_INSTALL) from error
    name = f"{match['owner']}/{match['name']}"
    source: dict[str, Any] = {"repo_id": name, "repo_type": "dataset", "revision": match["revision"]}
    path = match["path"].rstrip("/")
    source["local_files_only"] = not _reached(hub, errors, hub.hf_hub_url(filename=path, **source))
    try:
        if Path(path).suffix:
            return Path(hub.hf_hub_download(filename=path, **source))
        copy = Path(hub.snapshot_download(allow_patterns=[f"{path}/*"], **source)) / path
    except (OSError, ValueError, errors.EntryNotFoundError) as error:
        message = (str(error).strip().splitlines() or [type(error).__name__])[0][:_LONGEST]
        why = _UNANSWERED if source["local_files_only"] else f"{type(error).__name__}: {message}"
        problem = f"cannot be fetched from the hub ({why})"
        raise InputError(problem, source=address, hint=_UNREACHED) from error
    if not copy.is_dir():
        raise InputError("the data set has no such folder", source=address, value=path, hint=_UNREACHED)
    return copy


def fetch_beside(copy: Path) -> None:
    """Fetch a file into a data set's copy, where another file of it names this one; any other path is left alone.

    Args:
        copy: where the file would lie, below ``datasets--OWNER--NAME/snapshots/COMMIT``.

    Raises:
        InputError: the hub does not give the file.

    Example:
        >>> fetch_beside(Path("pictures/1.png"))
    """
    if linked_folder(copy) is None or copy.exists() or not copy.suffix:  # without an ending it would be a whole folder
        return
    position = next(number for number, part in enumerate(copy.parts) if part == "snapshots")
    owner, name = copy.parts[position - 1].removeprefix("datasets--").split("--", 1)
    commit, *path = copy.parts[position + 1 :]
    hub_file(f"{SCHEME}datasets/{owner}/{name}@{commit}/{'/'.join(path)}")


def _reached(hub: ModuleType, errors: ModuleType, url: str) -> bool:
    """Return whether the hub answers; tried once, because a download without a network retries for half a minute."""
    http = import_module(type(hub.get_session()).__module__.partition(".")[0])  # httpx, or its successor
    try:
        hub.get_hf_file_metadata(url, timeout=_PATIENCE_S)
    except (errors.HfHubHTTPError, errors.EntryNotFoundError):
        return True
    except (OSError, http.TransportError):  # offline by wish (HF_HUB_OFFLINE), no network, no such host, no answer in time
        return False
    return True
