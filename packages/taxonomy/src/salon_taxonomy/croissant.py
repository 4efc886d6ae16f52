"""Metadata of data sets in the Croissant 1.0 format (mlcommons.org/croissant/1.0)."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

_CONTEXT: Final[dict[str, Any]] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    **{
        name: f"cr:{name}"
        for name in (
            *("citeAs", "column", "equivalentProperty", "extract", "field", "fileProperty", "fileObject", "fileSet", "format"),
            *("includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet", "references", "regex"),
            *("repeated", "replace", "samplingRate", "separator", "source", "subField", "transform"),
        )
    },
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
}
_FORMATS: Final = {".parquet": "application/x-parquet", ".tar": "application/x-tar"}
_TYPES: Final = {str: "sc:Text", int: "sc:Integer", float: "sc:Float", bool: "sc:Boolean", bytes: "sc:ImageObject"}


def croissant(
    name: str,
    version: str,
    description: str,
    *,
    licences: Sequence[str],
    files: Mapping[str, str],
    columns: Mapping[str, type] | None = None,
) -> dict[str, Any]:
    """Return a data set's metadata: its files with their digests and, of Parquet files, the columns of their rows.

    Args:
        licences: SPDX names or addresses; empty when none is known.
        files: path from the metadata's folder → SHA-256, 64 hex digits.
        columns: name → type of a column that every Parquet file has; bytes: a picture, as ``datasets`` writes it (a struct with
            its ``bytes``). Each Parquet file is a record set whose id is its path without the ending; the id of a column is
            that, a slash, and its name. White space in ids, which readers refuse, becomes ``_``.

    Example:
        >>> files = {"pairs.parquet": "0" * 64}
        >>> made = croissant("pairs", "1.0.0", "Two votes.", licences=[], files=files, columns={"prompt": str})
        >>> made["recordSet"][0]["@id"], made["recordSet"][0]["field"][0]["dataType"]
        ('pairs', 'sc:Text')
    """
    document: dict[str, Any] = {"@context": _CONTEXT, "@type": "sc:Dataset", "conformsTo": "http://mlcommons.org/croissant/1.0"}
    document |= {"name": name, "version": version, "description": description}
    if licences:
        document["license"] = list(licences)
    document["distribution"] = [
        {"@type": "cr:FileObject", "@id": _id(path), "name": path, "contentUrl": path, "sha256": value,
         "encodingFormat": next(form for ending, form in _FORMATS.items() if path.endswith(ending))}
        for path, value in files.items()
    ]  # fmt: skip
    if columns:
        document["recordSet"] = [
            _record_set(path, path.removesuffix(".parquet"), columns) for path in files if path.endswith(".parquet")
        ]
    return document


def _record_set(path: str, name: str, columns: Mapping[str, type]) -> dict[str, Any]:
    fields = []
    for column, kind in columns.items():
        source = {"fileObject": {"@id": _id(path)}, "extract": {"column": column}}
        if kind is bytes:
            source["transform"] = {"jsonPath": "bytes"}
        fields.append(
            {"@type": "cr:Field", "@id": _id(f"{name}/{column}"), "name": column, "dataType": _TYPES[kind], "source": source}
        )
    return {"@type": "cr:RecordSet", "@id": _id(name), "name": name, "field": fields}


def _id(name: str) -> str:
    return "_".join(name.split())
