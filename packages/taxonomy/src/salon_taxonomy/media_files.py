"""Read a file of an untrusted name: inside its folder, regular, and not too large."""

import errno
import os
import stat
from pathlib import Path
from typing import Final

from salon_taxonomy.verdict import Reason, Unscored
from salon_taxonomy.visible_text import visible

_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK  # a pipe must not make us wait for its writer


def read_inside(path: Path, root: Path, most_bytes: int) -> bytes | Unscored:
    """Return the bytes of a plain file that lies in ``root`` or below.

    A symbolic link counts as what it leads to: allowed while that lies in ``root``, or, of a copy that huggingface_hub keeps,
    among the contents of its data set (:func:`linked_folder`). The way to the file is then walked
    folder by folder without following links, so it cannot be bent aside between the check and the reading.

    Returns:
        The bytes, or ``Unscored(BAD_MEDIA)`` that says why not: outside, missing, not a plain file, empty, too large, not
        allowed, a name that no file can have. Never raises for what a file or its name is.
    """
    try:
        target = path.resolve(strict=True)
        base = _folder_of(target, root)
        if base is None:
            return bad_media("the file lies outside the folder it was named in")
        descriptor = _open_below(base, target.relative_to(base).parts)
    except (OSError, ValueError, RuntimeError) as error:  # ValueError: a NUL in the name; RuntimeError: links in a circle
        return bad_media(_why(error))
    try:
        return _read(descriptor, most_bytes)
    except OSError as error:
        return bad_media(_why(error))
    finally:
        os.close(descriptor)


def lies_inside(path: Path, root: Path) -> bool:
    """Return whether a path leads to something in ``root``, by the rule of :func:`read_inside`; nothing is opened."""
    try:
        return _folder_of(path.resolve(strict=True), root) is not None
    except (OSError, ValueError, RuntimeError):
        return False


def linked_folder(copy: Path) -> Path | None:
    """Return the folder of huggingface_hub's cache where the links of a data set's copy lead; None for any other folder.

    Example:
        >>> linked_folder(Path("hub/datasets--owner--name/snapshots/1a2b/prompts"))
        PosixPath('hub/datasets--owner--name/blobs')
        >>> linked_folder(Path("snapshots/prompts"))
    """
    caches = (each.parent for each in copy.parents if each.name == "snapshots")
    return next((cache / "blobs" for cache in caches if cache.name.startswith("datasets--")), None)


def _folder_of(target: Path, root: Path) -> Path | None:
    """Return the folder below which a resolved path may be read; None where it may not."""
    base = root.resolve(strict=True)
    if target.is_relative_to(base):
        return base
    contents = linked_folder(root.absolute())
    if contents is None or contents.is_symlink() or not target.is_relative_to(contents.resolve()):
        return None
    return contents.resolve()


def bad_media(why: str) -> Unscored:
    """Return the verdict about a file that cannot be judged; control characters are escaped, so it is safe to print."""
    return Unscored(Reason.BAD_MEDIA, visible(why[:300]))


def _open_below(base: Path, parts: tuple[str, ...]) -> int:
    folder = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for number, part in enumerate(parts, start=1):
        try:
            inner = os.open(part, _FLAGS | (os.O_DIRECTORY if number < len(parts) else 0), dir_fd=folder)
        finally:
            os.close(folder)
        folder = inner
    return folder


def _read(descriptor: int, most_bytes: int) -> bytes | Unscored:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        return bad_media("it is a folder, not a file" if stat.S_ISDIR(status.st_mode) else "it is not a plain file")
    if status.st_size > most_bytes:
        return bad_media(f"the file has {status.st_size:,} bytes; at most {most_bytes:,} are read")
    with open(descriptor, "rb", closefd=False) as file:
        content = file.read(status.st_size + 1)
    if len(content) != status.st_size:
        return bad_media("the file changed while it was read")
    return content or bad_media("the file is empty")


def _why(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno in _WORDS:
        return _WORDS[error.errno]
    if isinstance(error, OSError) and error.strerror:
        return f"the file cannot be read ({error.strerror})"
    return "links lead in a circle" if isinstance(error, RuntimeError) else "no file can have such a name"


_WORDS: Final = {
    errno.ENOENT: "there is no such file",
    errno.ENOTDIR: "there is no such file",
    errno.EACCES: "permission to read the file is denied",
    errno.EPERM: "permission to read the file is denied",
    errno.ELOOP: "links lead in a circle, or the file was replaced by a link while it was opened",
    errno.ENXIO: "it is not a plain file",
    errno.ENAMETOOLONG: "no file can have such a name",
}
