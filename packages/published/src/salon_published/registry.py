"""Who is who in the published tables: one id per model, whatever a paper calls it.

``models.toml`` holds the models of the papers, their spellings and, where one spelling means different things in different
tables, the overrides with their reasons; ``models.csv`` holds the further models of the ledger, one a line. Both are checked
as a whole when they are read: an unknown key, a second model with the same id or spelling, or an override that points nowhere
is an ``InputError`` that names the entry.

Example:
    >>> resolve("Flux.1 [dev]"), resolve("FLUX.1-dev"), resolve("flux one dev")
    ('flux.1-dev', 'flux.1-dev', None)
    >>> resolve("GPT-4o", "magicmirror:1"), resolve("GPT-4o", "mef:4")
    ('gpt-4o', 'gpt-image-1')
"""

import csv
import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from salon_taxonomy.errors import InputError
from salon_taxonomy.toml_files import read_toml

ModelKind = Literal["generator", "mllm", "assessor", "refiner", "method", "human", "unnamed"]
"""What a row of a published table can be. ``method`` is a generator with something built on it by a paper (fine-tuning, a
refiner, best-of-N, another model that rewrites its prompts) and is never counted as a generator; ``human`` is the row of the
human experts, ``unnamed`` a generator under a code name."""

_Key = TypeVar("_Key")
_DATA = Path(__file__).parent / "models.toml"
_LEDGER = Path(__file__).parent / "models.csv"
_SLUG = r"^[a-z0-9]+(?:[.+-][a-z0-9]+)*$"
_IGNORED = re.compile(r"[\s\-‐‑‒–—―−_()\[\]{}†‡]+")
_TABLE = r"^[a-z][a-z0-9-]*:\d+[a-z]?$"
_NAME_KEYS = ("model", "method", "variant", "training")
_ADDED_KEYS = ("refiner",)


class Model(BaseModel):
    """One model, or one system that a paper lists beside models.

    Attributes:
        id: stable slug; ``+`` joins a base and what was built on it, ``-unspecified`` marks a variant left open.
        name: the name to show.
        kind: see ``ModelKind``.
        maker: who made it; ``None`` where no paper needs it (methods, refiners, assessors).
        family: the name that its siblings share, or ``None``.
        released: the month in which the public could first use it, ``"2025-08"``; ``None`` where it is not known.
        weights: ``open`` if anybody can download them, ``closed`` if not, ``None`` where that is not known.
        size: billions of parameters of the network that makes the picture, as its name or its maker states; ``None`` where
            neither does, or where it is not known.
        spellings: other ways in which the papers write the name.
        base: the id of the model that this one was built on, or ``None``.
        note: why it is, or is not, the same as a neighbour; ``None`` where nothing had to be decided.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[str, Field(pattern=_SLUG, max_length=80)]
    name: Annotated[str, Field(min_length=1, max_length=200)]
    kind: ModelKind
    maker: str | None = None
    family: str | None = None
    released: Annotated[str, Field(pattern=r"^20\d\d-(0[1-9]|1[0-2])$")] | None = None
    weights: Literal["open", "closed"] | None = None
    size: Annotated[float, Field(gt=0)] | None = None
    spellings: tuple[str, ...] = ()
    base: str | None = None
    note: str | None = None


class Override(BaseModel):
    """What one spelling means in the named tables, and there only.

    Attributes:
        tables: ids of tables, such as ``"mef:4"``.
        spelling: the name as those tables print it.
        model: the id that it means there.
        reason: why, in one sentence.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    tables: Annotated[tuple[Annotated[str, Field(pattern=_TABLE)], ...], Field(min_length=1)]
    spelling: Annotated[str, Field(min_length=1)]
    model: str
    reason: Annotated[str, Field(min_length=1)]


class Registry:
    """All models of a registry file, with the two look-ups that the tables need.

    Args:
        models: in the order of the file; ids and spellings must be free of collisions.
        overrides: see ``Override``.
        source: the file to name in errors.

    Raises:
        InputError: an id given twice, an empty spelling, one spelling for two ids, a ``base`` or an override that
            points to no model.
    """

    def __init__(
        self, models: tuple[Model, ...], overrides: tuple[Override, ...] = (), *, source: str | Path = "models.toml"
    ) -> None:
        self.models = models
        self.overrides = overrides
        self._source = source
        self._by_id: dict[str, Model] = {}
        self._by_spelling: dict[str, str] = {}
        self._by_table: dict[tuple[str, str], str] = {}
        for model in models:
            if model.id in self._by_id:
                raise InputError("two models share one id", source=source, column="id", value=model.id)
            self._by_id[model.id] = model
        for model in models:
            self._check_known(model.base, "base", f"model {model.id}")
            for spelling in (model.id, model.name, *model.spellings):
                if not normal_form(spelling):
                    raise InputError("a spelling needs a letter or a digit", source=source, column="spellings", value=spelling)
                self._claim(self._by_spelling, normal_form(spelling), model.id, spelling)
        for override in overrides:
            self._check_known(override.model, "model", f"the override of {override.spelling!r}")
            for table in override.tables:
                self._claim(self._by_table, (table, normal_form(override.spelling)), override.model, override.spelling)

    @classmethod
    def read(cls, path: str | Path, lines: str | Path | None = None) -> Self:
        """Return the registry of one TOML file, and of the further models of a CSV file (:func:`read_models`).

        Raises:
            InputError: the file cannot be read or is not a registry; the message names the entry and the key.
        """
        content = read_toml(path)
        try:
            parsed = _File.model_validate(content)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise InputError(f"bad entry, {first['msg']}", source=path, column=where, value=first["input"]) from error
        further = () if lines is None else read_models(lines)
        return cls((*parsed.model, *further), parsed.override, source=path)

    def get(self, identifier: str) -> Model:
        """Return the model with this id.

        Raises:
            InputError: the id is unknown; the message lists ids that begin alike.
        """
        model = self._by_id.get(identifier)
        if model is None:
            alike = [known for known in self._by_id if known[:3] == identifier.casefold()[:3]]
            raise InputError(
                "unknown model id",
                source=self._source,
                value=identifier,
                allowed=alike or self._by_id,
                hint="To find an id by a printed name, ask registry.resolve(name).",
            )
        return model

    def resolve(self, printed: str, table: str | None = None) -> str | None:
        """Return the id of a printed name, in the given table, else anywhere; ``None`` if unknown."""
        key = normal_form(printed)
        if table is not None and (table, key) in self._by_table:
            return self._by_table[table, key]
        return self._by_spelling.get(key)

    def _check_known(self, identifier: str | None, column: str, owner: str) -> None:
        if identifier is not None and identifier not in self._by_id:
            raise InputError(f"{owner} points to no model", source=self._source, column=column, value=identifier)

    def _claim(self, owners: dict[_Key, str], key: _Key, identifier: str, spelling: str) -> None:
        if owners.setdefault(key, identifier) != identifier:
            raise InputError(
                f"one spelling for two models, {owners[key]} and {identifier}",
                source=self._source,
                column="spellings",
                value=spelling,
                hint="Give one of them a name of its own, or say with an [[override]] in which tables it means which.",
            )


class _File(BaseModel):
    """The shape of ``models.toml``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: tuple[Model, ...] = ()
    override: tuple[Override, ...] = ()


def normal_form(printed: str) -> str:
    """Return what counts in a name: case, spaces, dashes, underscores, brackets and daggers do not; digits, dots and ``+`` do.

    Example:
        >>> normal_form("Flux.1 Kontext [pro]†"), normal_form("R³-Refiner (QE)")
        ('flux.1kontextpro', 'r3refinerqe')
    """
    return _IGNORED.sub("", unicodedata.normalize("NFKC", printed).casefold())


@cache
def registry() -> Registry:
    """Return the registry that comes with the published tables; read and checked once."""
    return Registry.read(_DATA, _LEDGER)


def read_models(path: str | Path) -> tuple[Model, ...]:
    """Return the models of a CSV file: id, name, kind, maker, released, weights, size, base, spellings (joined by ``;``).

    Raises:
        InputError: the file cannot be read, or a line is no model; names row, column and value.
    """
    try:
        lines = list(csv.DictReader(Path(path).read_text(encoding="utf-8").splitlines(), strict=True))
    except (OSError, csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"the models cannot be read ({error})", source=path) from error
    return tuple(_model_of(line, row, path) for row, line in enumerate(lines, start=1))


def _model_of(line: Mapping[str, str], row: int, path: str | Path) -> Model:
    spellings = tuple(word for word in (line.get("spellings") or "").split(";") if word)
    try:
        return Model.model_validate({key: value for key, value in line.items() if value} | {"spellings": spellings})
    except ValidationError as error:
        first = error.errors()[0]
        column = ".".join(str(part) for part in first["loc"])
        raise InputError(first["msg"], source=path, row=row, column=column, value=first["input"]) from error


def models(kind: ModelKind | None = None) -> tuple[Model, ...]:
    """Return all models, or those of one kind, in the order of ``models.toml``.

    Example:
        >>> [model.id for model in models("human")]
        ['human-expert']
    """
    return tuple(model for model in registry().models if kind in (None, model.kind))


def model(identifier: str) -> Model:
    """Return the model with this id.

    Raises:
        InputError: the id is unknown.

    Example:
        >>> model("sdxl").family
        'Stable Diffusion XL'
    """
    return registry().get(identifier)


def resolve(printed: str, table: str | None = None) -> str | None:
    """Return the id of the model that a paper calls ``printed``; ``None`` if no model has that name.

    Args:
        printed: the name as printed; ``normal_form`` says what may differ.
        table: the id of its table (``"r3:9b"``); some names mean another model there.

    Example:
        >>> resolve("SEEDream 3.0"), resolve("Bagel + R³-Refiner"), resolve("Overall")
        ('seedream-3.0', 'bagel+r3-refiner', None)
    """
    return registry().resolve(printed, table)


def resolve_row(keys: Mapping[str, str | None], table: str | None = None) -> str | None:
    """Return the id of the model that one row of a table is about; ``None`` if its keys name no model.

    A table whose rows build on other rows has the base in ``model`` and what was added in ``refiner``; both together are
    the name. Keys that say something else about the row (``group``, ``creator``, ``n``, …) are left out.

    Args:
        keys: the key cells of the row by column name; an empty cell or ``None`` is a cell that the paper leaves empty.
        table: the id of the table.

    Example:
        >>> resolve_row({"model": "Bagel", "refiner": "+ R³-Refiner"}, "r3:2")
        'bagel+r3-refiner'
        >>> resolve_row({"label": "Negation"}) is None
        True
    """
    name = next((keys[key] for key in _NAME_KEYS if keys.get(key)), None)
    if name is None:
        return None
    added = [cell for key in _ADDED_KEYS if (cell := keys.get(key))]
    return resolve(" ".join([name, *added]), table)
