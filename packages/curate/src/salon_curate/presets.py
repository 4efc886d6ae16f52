"""Pipelines of the papers to start from."""

from importlib.resources import files

from salon_taxonomy.errors import InputError

PRESETS = ("flux-reason", "r3-data", "magicdata")


def preset_text(name: str) -> str:
    """Return the pipeline.toml of a preset.

    Raises:
        InputError: there is no such preset.
    """
    if name not in PRESETS:
        raise InputError("there is no such preset:", column="preset", value=name, allowed=PRESETS)
    return (files("salon_curate") / "preset_files" / f"{name}.toml").read_text(encoding="utf-8")
