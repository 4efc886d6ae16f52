"""Puts the pictures of a case before the judge: opened, checked, resized, and named by their content."""

from dataclasses import replace

from salon_bench.media import PicturePolicy
from salon_bench.suites.generations import Generated
from salon_bench.suites.suite import Case
from salon_taxonomy.digest import digest
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Media
from salon_taxonomy.records import Generation
from salon_taxonomy.verdict import Reason, Unscored

_LONGEST_URI = 400


def with_pictures(case: Case, policy: PicturePolicy) -> tuple[Case, tuple[Generation, ...]]:
    """The case with ``media`` and ``generation_ids`` set, or with the problem of its first bad picture; and its rows.

    Reads files and decodes pictures: call it from a thread. Never raises for what a file holds.
    """
    media: list[Media] = []
    rows: list[Generation] = []
    for picture in case.pictures:
        prepared = _prepared(picture, policy)
        if isinstance(prepared, Unscored):
            return replace(case, problem=prepared), tuple(rows)
        media.append(prepared[0])
        rows.append(prepared[1])
    return replace(case, media=tuple(media), generation_ids=tuple(row.generation_id for row in rows)), tuple(rows)


def _prepared(picture: Generated, policy: PicturePolicy) -> tuple[Media, Generation] | Unscored:
    try:
        media = Media.from_bytes(picture.path.read_bytes())
    except OSError as error:
        return Unscored(Reason.BAD_MEDIA, f"{picture.path}: {error.strerror}")
    return media, generation_row(picture, media.sha256)


def generation_row(picture: Generated, sha256: str, width: int | None = None, height: int | None = None) -> Generation:
    """The row of a file; its key is a digest of prompt, model, sample and the file's own bytes."""
    name = {"prompt": picture.prompt_id, "model": picture.model, "sample": picture.sample, "sha256": sha256}
    return Generation(
        generation_id=digest("generation", name),
        prompt_id=picture.prompt_id,
        model=picture.model,
        sample=picture.sample,
        uri=_uri(picture),
        sha256=sha256,
        width=width,
        height=height,
    )


def _uri(picture: Generated) -> str:
    """The path, as far as the column takes it: the whole, else below the folder, else the file's name."""
    below = picture.path.relative_to(picture.root) if picture.path.is_relative_to(picture.root) else picture.path
    for text in (str(picture.path), str(below), picture.path.name):
        if len(text) <= _LONGEST_URI:
            return text.encode("utf-8", "replace").decode()
    raise InputError("a file's name is too long", source=picture.path)
