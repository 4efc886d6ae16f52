"""Logs of inspect_ai: ``.eval`` (a zip archive) and ``.json``.

A score is ``{"value": …, "answer": …, "explanation": …}``. As in inspect_ai, C counts 1, P counts 0.5, I and N (no answer)
count 0. A value with several names becomes a number for each.
"""

import io
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import polars as pl

from salon_bench.imports.log import (
    ForeignLog,
    LogSample,
    asked,
    fields_of,
    image_addresses,
    items_of,
    json_object,
    number,
    picture,
)
from salon_taxonomy.digest import digest
from salon_taxonomy.errors import InputError
from salon_taxonomy.verdict import Reason

_WORDS: Final = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
_TRUTHS: Final = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
"""Words in any case, as inspect_ai reads them."""
_ZSTANDARD: Final = 93
"""The compression of ``.eval`` files; the zip module of Python reads it from 3.14 on."""
_NAME: Final = "header.json"


def read_inspect(path: Path) -> ForeignLog:
    """Read a log of inspect_ai.

    Raises:
        InputError: the file is no such log, or has no samples.
    """
    if path.suffix == ".eval":
        header, samples = _archive(path)
    else:
        header = json_object(path.read_bytes(), path)
        samples = iter(items_of(header.pop("samples", None)))
    spec = header.get("eval")
    if not isinstance(spec, Mapping) or not isinstance(spec.get("task"), str) or not isinstance(spec.get("model"), str):
        raise InputError("is no log of inspect_ai: it has no eval with task and model", source=path)
    scorers = [each for each in items_of(spec.get("scorers")) if isinstance(each, Mapping)]
    names = [str(each.get("name")) for each in scorers]
    judges = [f"{name} ({model})" if (model := _model(each)) else name for name, each in zip(names, scorers, strict=True)]
    status = header.get("status")
    facts = [spec.get("task_version"), *names, *(str(_model(each)) for each in scorers)]
    return ForeignLog(
        "inspect_ai",
        path,
        spec["task"],
        spec["model"],
        " + ".join(judges)[:400] or "no scorer",
        digest("scorers", [str(each) for each in facts])[:12],
        _moment(spec.get("created")),
        (_sample(each, names, path) for each in samples),
        () if status in ("success", None) else (f"{path.name}: the evaluation ended with status {status!r}",),
    )


def _moment(text: object) -> datetime | None:
    with suppress(ValueError, TypeError):
        return datetime.fromisoformat(text)  # type: ignore[arg-type]
    return None


def _archive(path: Path) -> tuple[dict[str, Any], Iterator[Any]]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = {each.filename: each for each in archive.infolist()}
    except (zipfile.BadZipFile, OSError) as error:
        raise InputError("is no log of inspect_ai: it is no zip archive", source=path) from error
    if _NAME not in members:
        hint = "An evaluation that still runs has no header yet; wait for its end."
        raise InputError(f"is no finished log of inspect_ai: it has no {_NAME}", source=path, hint=hint)
    samples = [each for name, each in members.items() if re.fullmatch(r"samples/.*\.json", name)]
    return json_object(_member(path, members[_NAME]), path), (json_object(_member(path, each), path) for each in samples)


def _member(path: Path, member: zipfile.ZipInfo) -> str | bytes:
    try:
        return _unpacked(path, member)
    except (OSError, zipfile.BadZipFile, zlib.error, RuntimeError, UnicodeDecodeError, pl.exceptions.PolarsError) as error:
        raise InputError(f"is damaged: {member.filename} cannot be unpacked", source=path) from error


def _unpacked(path: Path, member: zipfile.ZipInfo) -> str | bytes:
    if member.compress_type != _ZSTANDARD:
        with zipfile.ZipFile(path) as archive:
            return archive.read(member)
    with path.open("rb") as file:
        file.seek(member.header_offset)
        local = file.read(30)
        file.seek(int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little"), 1)
        packed = file.read(member.compress_size)
    return "\n".join(pl.read_lines(io.BytesIO(packed)).to_series().to_list())  # polars unpacks Zstandard


def _model(scorer: Mapping[str, Any]) -> str | None:
    model = fields_of(scorer.get("options")).get("model")
    model = model.get("model") if isinstance(model, Mapping) else model
    return model if isinstance(model, str) else None


def _sample(sample: object, scorers: list[str], path: Path) -> LogSample:
    if not isinstance(sample, Mapping) or "id" not in sample:
        raise InputError("holds a sample without an id", source=path)
    epoch = sample.get("epoch") or 1
    if not isinstance(epoch, int):
        raise InputError("holds a sample whose epoch is no number:", source=path, value=epoch)
    scores = fields_of(sample.get("scores"))
    numbers: dict[str, float | Reason] = {}
    replies: dict[str, str] = {}
    for name in dict.fromkeys([*scorers, *scores]):
        score = scores.get(name)
        value = score.get("value") if isinstance(score, Mapping) else score
        several = value.items() if isinstance(value, Mapping) else [(None, value)]
        named = {name if key is None else f"{name}.{key}": _value(each) for key, each in several}
        numbers |= named
        words = score.get("explanation") if isinstance(score, Mapping) else None
        if isinstance(words, str) and words.strip():
            replies |= dict.fromkeys(list(named)[:1], words)
    output = fields_of(sample.get("output"))
    messages = [fields_of(choice).get("message") for choice in items_of(output.get("choices"))]
    attachments = fields_of(sample.get("attachments"))
    addresses = [*image_addresses(messages), *image_addresses(sample.get("input"))]
    pictures = [picture(attachments.get(each.removeprefix("attachment://"), each), path.parent) for each in addresses]
    category = fields_of(sample.get("metadata")).get("category")
    return LogSample(
        str(sample["id"]),
        epoch - 1,
        asked(sample.get("input")),
        category if isinstance(category, str) and category else None,
        numbers,
        replies,
        str(output.get("completion") or "") or asked(messages),
        next((each for each in pictures if each), None),
    )


def _value(value: object) -> float | Reason:
    if isinstance(value, str):
        try:
            word = _WORDS.get(value, _TRUTHS.get(value.lower()))
            return word if word is not None else number(float(value)) or 0.0
        except ValueError:
            return Reason.OFF_MENU
    return Reason.NOT_REPORTED if (known := number(value)) is None else known
