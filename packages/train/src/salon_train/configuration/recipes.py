"""The recipes that come with Salon: configurations to begin with, and files for ``accelerate launch``.

Each preset names the paper and table that its numbers are from; what no paper prints says so beside it.
"""

from importlib.resources import files
from importlib.resources.abc import Traversable

from salon_taxonomy.errors import InputError


def preset_names() -> tuple[str, ...]:
    """Return the names of the presets, in alphabetical order.

    Example:
        >>> "magicmirror-7b" in preset_names()
        True
    """
    return _stems(_folder(), ".toml")


def preset(name: str) -> str:
    """Return one preset, as TOML text.

    Raises:
        InputError: for an unknown name.

    Example:
        >>> preset("magicmirror-7b").splitlines()[0]
        "# MagicMirror: the paper's assessor, Qwen2.5-VL-7B with adapters. Cold start, then GRPO."
    """
    return _text(_folder(), ".toml", name, "preset")


def launch_names() -> tuple[str, ...]:
    """Return the names of the files for ``accelerate launch --config_file``."""
    return _stems(_folder() / "launch", ".yaml")


def launch(name: str) -> str:
    """Return one file for ``accelerate launch --config_file``, as YAML text.

    Raises:
        InputError: for an unknown name.
    """
    return _text(_folder() / "launch", ".yaml", name, "way to launch")


def about(name: str) -> str:
    """Return what a preset is, in one line: its first comment."""
    return preset(name).splitlines()[0].removeprefix("# ")


def _folder() -> Traversable:
    return files("salon_train.configuration") / "presets"


def _stems(folder: Traversable, ending: str) -> tuple[str, ...]:
    return tuple(sorted(each.name.removesuffix(ending) for each in folder.iterdir() if each.name.endswith(ending)))


def _text(folder: Traversable, ending: str, name: str, kind: str) -> str:
    names = _stems(folder, ending)
    if name not in names:
        raise InputError(f"there is no such {kind}:", value=name, allowed=names)
    return (folder / f"{name}{ending}").read_text(encoding="utf-8")
