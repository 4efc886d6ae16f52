"""Read a configuration from a TOML file; an error names line, section, and what is allowed."""

from collections.abc import Mapping
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Final, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from salon_taxonomy.errors import InputError
from salon_taxonomy.store_address import is_url
from salon_taxonomy.toml_files import TomlLines, parse_toml, read_text
from salon_train.configuration.schema import NEAR, Configuration, ModelSection, StageConfiguration

Settings = TypeVar("Settings", bound=StageConfiguration)
_SECTIONS: Final = {
    "rows": (
        "a refiner",
        "`salon train refiner` takes it; what it made is loaded as it is: --judge transformers:FOLDER/refine/model.",
    ),
    "data": ("an assessor", "`salon train sft` and `salon train grpo` take it; a refiner's file has [rows]."),
}
"""The section that only one kind of configuration has."""


def read_configuration(path: str | Path, *, changes: Mapping[str, object] | None = None) -> Configuration:
    """Read an assessor's configuration; relative paths become absolute, from the file's own folder.

    Args:
        path: the TOML file.
        changes: settings in place of the file's, by dotted key: ``{"grpo.steps": 10}``.

    Raises:
        InputError: for the first error, with its line.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "run.toml"
        >>> _ = file.write_text('[run]\\nfolder = "out"\\n[model]\\nname = "m"\\n[data]\\ntrain = ["t.jsonl"]\\nlimits = 3\\n')
        >>> read_configuration(file)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        salon_taxonomy.errors.InputError: ...run.toml, line 7, key 'data.limits': unknown setting (allowed: train, sft, ...)
    """
    return read_as(Configuration, path, changes=changes)


def read_as(root: type[Settings], path: str | Path, *, changes: Mapping[str, object] | None = None) -> Settings:
    """Read a configuration of any stage; see :func:`read_configuration`.

    Args:
        root: the schema of the file.
        path: the TOML file.
        changes: settings in place of the file's, by dotted key.

    Raises:
        InputError: for the first error, with its line.
    """
    path = Path(path)
    if not path.exists():
        hint = f"`salon train presets {root.preset} > {path.name}` writes one to begin with."
        raise InputError("there is no such file", source=path, hint=hint)
    return parsed(read_text(path), source=path, root=root, changes=changes)


def parsed(text: str, *, source: Path, root: type[Settings], changes: Mapping[str, object] | None = None) -> Settings:
    """Parse the TOML text of a configuration; ``source`` is named in messages and resolves relative paths.

    Raises:
        InputError: as :func:`read_configuration`.
    """
    values = parse_toml(text, source=source)
    for key, value in (changes or {}).items():
        put(values, key, value)
    for section, (whose, hint) in _SECTIONS.items():
        if section in values and section not in root.model_fields and not values.keys() & (_SECTIONS.keys() - {section}):
            raise InputError(f"is the configuration of {whose}", source=source, hint=hint)
    try:
        configuration = root.model_validate(values)
    except ValidationError as error:
        raise explained(error, text, source, root, changes=changes) from error
    return root.model_validate(_absolute(configuration, source.absolute().parent))


def put(values: dict[str, Any], key: str, value: object) -> None:
    """Put one value at a dotted key."""
    *sections, name = key.split(".")
    for section in sections:
        values = values.setdefault(section, {})
        if not isinstance(values, dict):
            raise InputError("is no section of a configuration", key=key)
    values[name] = value


def dotted(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the values of nested tables by dotted key.

    Example:
        >>> dotted({"grpo": {"steps": 10}, "seed": 0})
        {'grpo.steps': 10, 'seed': 0}
    """
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict):
            flat |= dotted(value, f"{prefix}{name}.")
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def _absolute(section: BaseModel, folder: Path) -> dict[str, Any]:
    """Return the values of a configuration, with paths (``NearPath``) absolute; so is a model's name where it is a folder."""
    values: dict[str, Any] = {}
    for name, field in type(section).model_fields.items():
        value = getattr(section, name)
        if isinstance(value, BaseModel):
            values[name] = _absolute(value, folder)
        elif NEAR in field.metadata and value is not None:
            values[name] = _near(value, folder) if isinstance(value, str) else tuple(_near(each, folder) for each in value)
        elif name in section.model_fields_set:
            values[name] = value
    if isinstance(section, ModelSection) and (folder / section.name).is_dir():
        values["name"] = str(folder / section.name)
    return values


def _near(value: str, folder: Path) -> str:
    """Return a path from the folder of its file; the URL of a store stays as it is."""
    return value if is_url(value) else str(folder / value)


def explained(
    error: ValidationError,
    text: str,
    source: Path | str,
    root: type[BaseModel] = Configuration,
    *,
    changes: Mapping[str, object] | None = None,
) -> InputError:
    """Return the first fault of a TOML text as an error for people, where an editor would find it.

    Args:
        error: what pydantic says.
        text: of the file.
        source: the file.
        root: the file's schema.
        changes: what does not come from the file.
    """
    fault = error.errors()[0]
    keys = tuple(part for part in fault["loc"] if not str(part).startswith("/"))  # without the tags of unions
    key = ".".join(str(part + 1) if isinstance(part, int) else part for part in keys)
    line = _line(TomlLines.scan(text), keys)
    if key in (changes or {}):
        source, line = "--set", None
    if fault["type"] == "extra_forbidden":
        return InputError("unknown setting", source=source, line=line, key=key, allowed=_allowed(keys[:-1], root))
    if fault["type"] == "missing":
        hint = "Complete configurations to copy: salon train presets"
        return InputError("is missing", source=source, line=line, key=key, hint=hint)
    expected = fault.get("ctx", {}).get("expected", "") if fault["type"] == "literal_error" else ""
    allowed = expected.replace("'", "").replace(" or ", ", ").split(", ") if expected else None
    problem = fault["msg"].removeprefix("Value error, ")
    problem = "is not allowed:" if allowed else f"{problem[0].lower()}{problem[1:]}"
    value = fault["input"] if not isinstance(fault["input"], dict) else None
    return InputError(
        problem if allowed or value is None else f"{problem}, not",
        source=source,
        line=line,
        key=key,
        value=value,
        allowed=allowed,
    )


def _line(lines: TomlLines, keys: tuple[int | str, ...]) -> int | None:
    """Return the line of a setting, or of the nearest section around it."""
    names = [part for part in keys if isinstance(part, str)]
    index = next((part for part in keys if isinstance(part, int)), 0)
    for depth in range(len(names), 0, -1):
        table, key = ".".join(names[: depth - 1]) or None, names[depth - 1]
        line = lines.keys.get((table, index if table else 0, key)) or lines.tables.get((".".join(names[:depth]), index))
        if line is not None:
            return line
    return None


def _allowed(keys: tuple[int | str, ...], root: type[BaseModel]) -> list[str]:
    """Return the settings of the section at a place."""
    model = root
    for part in keys:
        if isinstance(part, str) and part in model.model_fields:
            section = _section(model.model_fields[part].annotation)
            if section is not None:
                model = section
    return list(model.model_fields)


def _section(annotation: Any) -> type[BaseModel] | None:
    if get_origin(annotation) is Annotated:
        return _section(get_args(annotation)[0])
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) in (Union, UnionType, tuple):
        return next((section for each in get_args(annotation) if (section := _section(each)) is not None), None)
    return None
