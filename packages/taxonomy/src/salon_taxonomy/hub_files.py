"""Files of data sets on the Hugging Face hub, by address: ``hf://datasets/OWNER/NAME/PATH``, or ``…/NAME@REVISION/PATH``.

Every command that reads a file takes such an address instead of a path. The file is fetched once into the cache of
huggingface_hub, under the commit that the hub names; the copy is what the command reads and a run remembers.
"""

import re
from importlib import import_module
from pathlib import Path
from typing import Final

from salon_taxonomy.errors import InputError

SCHEME: Final = "hf://"
_ADDRESS: Final = re.compile(
    r"hf://datasets/(?P<owner>[\w.-]+)/(?P<name>[\w.-]+?)(?:@(?P<revision>[\w./%-]+?))?/(?P<path>[^/\s][^\0\n]*)"
)
_HINT: Final = "Write hf://datasets/OWNER/NAME/PATH, or hf://datasets/OWNER/NAME@REVISION/PATH."
_INSTALL: Final = "Install it: pip install huggingface-hub. Or download the file, and name your copy."
_UNREACHED: Final = "Check the address and the network (HF_TOKEN for a private or gated data set), or name your own copy."
_LONGEST: Final = 200


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
    found = _ADDRESS.fullmatch(address)
    if found is None or ".." in found["path"].split("/"):
        raise InputError("not the address of a file of a data set:", value=address, hint=_HINT)
    try:
        hub, errors = import_module("huggingface_hub"), import_module("huggingface_hub.errors")
    except ImportError as error:
        raise InputError("an address of the hub needs huggingface_hub", value=address, hint=_INSTALL) from error
    place = {"repo_id": f"{found['owner']}/{found['name']}", "repo_type": "dataset", "revision": found["revision"]}
    path = found["path"].rstrip("/")
    try:
        if Path(path).suffix:
            return Path(hub.hf_hub_download(filename=path, **place))
        copy = Path(hub.snapshot_download(allow_patterns=[f"{path}/*"], **place)) / path
    except (OSError, ValueError, errors.EntryNotFoundError) as error:
        said = (str(error).strip().splitlines() or [type(error).__name__])[0][:_LONGEST]
        problem = f"cannot be fetched from the hub ({type(error).__name__}: {said})"
        raise InputError(problem, source=address, hint=_UNREACHED) from error
    if not copy.is_dir():
        raise InputError("the data set has no such folder", source=address, value=path, hint=_UNREACHED)
    return copy
