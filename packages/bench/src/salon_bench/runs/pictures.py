"""Prepare the pictures of a case for the judge: opened, checked, resized, and named by their content."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from salon_bench.runs.picture_digests import PictureDigests
from salon_bench.suites.contract.suite import Case
from salon_judges.formats.generations import PICTURE_SUFFIXES, Generated
from salon_judges.media import PictureCache, PicturePolicy, PreparedPicture
from salon_judges.media.video_container import container_of
from salon_taxonomy.digest import Digestible, digest
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Media
from salon_taxonomy.records import Generation, MediaRole
from salon_taxonomy.verdict import Unscored

_LONGEST_URI = 400


def with_pictures(case: Case, policy: PicturePolicy, cache: PictureCache) -> tuple[Case, tuple[Generation, ...]]:
    """Return the case with its media, or the problem of its first bad file; and the rows of all files.

    The rows of a bad picture have the key of its bytes, so that those of two samples stay two.

    Of a conversation a turn with a bad file is left out, as one whose file is missing.

    Reads files and decodes pictures: call it from a thread. Never raises for what a file holds.

    Raises:
        InputError: a file is another than the one that the run was planned with.
    """
    media: list[Media] = []
    rows: list[Generation] = []
    pictures: list[Generated] = []
    of_picture = replace(policy, video=None)
    for picture in (*case.given, *case.pictures):
        named, data = picture.path.suffix.lower() in PICTURE_SUFFIXES, picture.data
        is_picture = policy.mixed and (named if data is None else container_of(data) is None)
        prepared = cache.prepare(picture.path, of_picture if is_picture else policy, picture.root, picture.data)
        _refuse_another(picture, prepared)
        if isinstance(prepared, Unscored):
            if picture.turn is not None and (pictures or picture is not case.pictures[-1]):
                continue
            if picture.role != MediaRole.RESULT:
                prepared = replace(prepared, detail=f"{picture.role} {picture.path}: {prepared.detail}")
            return replace(case, problem=prepared, generation_ids=_known_id(case)), tuple(rows)
        if picture.role == MediaRole.RESULT:
            pictures.append(picture)
        media.append(replace(prepared.media, role=picture.role))
        rows.append(_row(picture, prepared))
    split, ids = len(case.given), tuple(row.generation_id for row in rows)
    with_media = replace(case, given_media=tuple(media[:split]), media=tuple(media[split:]), generation_ids=ids[split:])
    return replace(with_media, pictures=tuple(pictures)), tuple(rows)


def narrowed(policy: PicturePolicy, judge_settings: Mapping[str, Any] | None) -> PicturePolicy:
    """Return the suite's media policy narrowed to the video limits in the judge's settings.

    A judge around another one (``cache:…``) has that one's limits. A resumed or rescored run finds the same ones in its
    settings, so it asks the same questions.
    """
    if policy.video is None:
        return policy
    settings: Mapping[str, Any] = judge_settings or {}
    while "videos" not in settings and isinstance(settings.get("judge"), Mapping):
        settings = settings["judge"]
    limits = settings.get("videos")
    if not isinstance(limits, Mapping):
        return policy
    frames, pixels = limits.get("most_frames"), limits.get("most_pixels")
    return replace(policy, video=policy.video.narrowed(most_frames=frames, most_pixels=pixels))


def _refuse_another(picture: Generated, prepared: PreparedPicture | Unscored) -> None:
    """Refuse a picture that was replaced or removed since the run was planned: its rows must be of one picture."""
    if picture.sha256 is None or picture.data is not None:
        return
    now = prepared.original_sha256 if isinstance(prepared, PreparedPicture) else PictureDigests().of([picture.path])[0]
    if now != picture.sha256:
        problem = "the file was replaced, removed or added while the run was at work"
        raise InputError(
            problem, source=picture.path, hint="The same command judges the files as they are now, as another run."
        )


def _known_id(case: Case) -> tuple[str, ...]:
    """Return the key of the rows of a case's one picture, whose bytes are known; empty without one."""
    sums = [picture.sha256 for picture in case.pictures]
    return (generation_id(case.pictures[0], sums[0]),) if len(sums) == 1 and sums[0] else ()


def generation_id(picture: Generated, sha256: str) -> str:
    """Return the key of a file's rows: a digest of prompt, model, sample and the file's own bytes.

    Example:
        >>> from pathlib import Path
        >>> generation_id(Generated("cat", "our-model", 0, Path("cat.png"), Path()), "0" * 64)[:12]
        '07c10e85fc89'
    """
    name: dict[str, Digestible] = {
        "prompt": picture.prompt_id,
        "model": picture.model,
        "sample": picture.sample,
        "sha256": sha256,
    }
    if picture.turn is not None:
        name["turn"] = picture.turn
    return digest("generation", name)


def _row(picture: Generated, prepared: PreparedPicture) -> Generation:
    """Return the row of a file."""
    sha256 = prepared.original_sha256
    return Generation(
        generation_id=generation_id(picture, sha256),
        prompt_id=picture.prompt_id,
        model=picture.model,
        sample=picture.sample,
        turn=picture.turn,
        uri=_uri(picture),
        sha256=sha256,
        width=prepared.original_width,
        height=prepared.original_height,
        kind=prepared.media.kind,
        seconds=picture.seconds,
        memory_mb=picture.memory_mb,
        settings=picture.settings,
    )


def _uri(picture: Generated) -> str:
    """Return the longest form of the path that the column takes: absolute, relative, or the name."""
    below = picture.path.relative_to(picture.root) if picture.path.is_relative_to(picture.root) else picture.path
    for text in (str(picture.path.absolute()), str(below), picture.path.name):
        if len(text) <= _LONGEST_URI:
            return text.encode("utf-8", "replace").decode()
    raise InputError("a file's name is too long", source=picture.path)
