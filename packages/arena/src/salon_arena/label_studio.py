"""Labels as Label Studio's JSON, and back: annotations of people who labelled there count as answers of an arena.

Written and read are tasks with ``data`` and ``annotations`` (the export that Label Studio calls JSON). Of a result are read:
``taxonomy`` or ``choices`` (labels, by id, name or path), ``rectanglelabels`` (a box of a label), ``timelinelabels`` (frames
of a label) and ``textarea`` (``label: words``, or words for all labels).
"""

import base64
import json
import re
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Final, get_args
from urllib.parse import parse_qs, quote, unquote, urlsplit
from xml.etree import ElementTree

from pydantic import ValidationError
from sqlalchemy import Connection, select

from salon_arena.chain import add_row, task_digest
from salon_arena.database import ArenaDatabase
from salon_arena.labels import NORMAL, Labelled, LabelTask, Mark, label_subject
from salon_arena.material import Material
from salon_arena.rounds import Level
from salon_arena.tables import ANSWERS, ASSIGNMENTS, RATERS, SETTLED
from salon_arena.tasks import prompt_payload
from salon_console.table_rows import TableRow, UsableRows, read_each, usable_rows
from salon_judges.formats.generations import Generated
from salon_taxonomy.answers.reading import without_surrogates
from salon_taxonomy.digest import digest, file_sha256
from salon_taxonomy.errors import InputError
from salon_taxonomy.exports import to_label_studio
from salon_taxonomy.taxonomy import Taxonomy

LABELS, BOXES, FRAMES, WORDS, LEVEL = "labels", "boxes", "frames", "where", "level"
"""Names of the controls in the configuration."""
MEDIA_KEYS: Final = ("media", "image", "video")
"""The fields of a task that name its file, the first one that is there."""
_FIELDS: Final = ("prompt", "prompt_id", "model", "sample")
"""The other fields of a task."""
_UPLOADS: Final = "data/upload/"
_UPLOAD_MARK: Final = re.compile(r"^[0-9a-f]{8}-")
"""What Label Studio writes before the name of an uploaded file."""
_PERCENT: Final = 100.0
_ROUNDING: Final = 1e-6
_LONGEST_LEAD_S: Final = 7 * 24 * 3600
_NAMESPACE: Final = uuid.UUID("a7f5c0f4-3d0e-5a39-9d5e-1f1f0b6d8a11")


@dataclass(frozen=True, slots=True)
class Annotation:
    """What one person said of one file.

    Attributes:
        file: that was labelled.
        who: the person, as Label Studio's file calls them.
        answer: the labels.
        elapsed_ms: how long it took; 0 where it is not said.
    """

    file: Generated
    who: str
    answer: Labelled
    elapsed_ms: int


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did.

    Attributes:
        added: answers that are new in the database.
        present: answers that were there.
        cancelled: annotations that their author skipped.
        remarks: sentences on tasks that were left out.
    """

    added: int
    present: int
    cancelled: int
    remarks: tuple[str, ...]


# Export


@dataclass(frozen=True, slots=True)
class MediaField:
    """Where Label Studio finds the files of tasks.

    Attributes:
        key: the field of ``data`` that has the address.
        prefix: what stands before the path in the release, as ``/data/local-files/?d=release/`` or ``s3://bucket/release/``.
    """

    key: str = MEDIA_KEYS[0]
    prefix: str = ""

    def __post_init__(self) -> None:
        """Check that the key is a name of its own.

        Raises:
            InputError: it is no word, or another field of the tasks.
        """
        if not self.key.isidentifier() or self.key in _FIELDS:
            raise InputError("must be a word other than the tasks' own fields", key="media key", value=self.key, found=_FIELDS)

    def address(self, path: str) -> str:
        """Return the address of a file of the release."""
        return self.prefix + (quote(path) if self.prefix else path)


def label_studio_config(taxonomy: Taxonomy, media: MediaField | None = None) -> str:
    """Return the labelling configuration: the tree, words, and boxes or frames of each label."""
    view = ElementTree.fromstring(to_label_studio(taxonomy))  # noqa: S314 - our own text
    view[0].set("value", f"${(media or MediaField()).key}")
    kind, name = ("TimelineLabels", FRAMES) if taxonomy.media == "video" else ("RectangleLabels", BOXES)
    regions = ElementTree.SubElement(view, kind, {"name": name, "toName": "media"})
    for label in taxonomy.answers():
        if label.id != NORMAL:  # nothing is marked where all is well
            ElementTree.SubElement(regions, "Label", {"value": label.id})
    ElementTree.SubElement(view, "TextArea", {"name": WORDS, "toName": "media", "maxSubmissions": "20"})
    levels = ElementTree.SubElement(view, "Choices", {"name": LEVEL, "toName": "media", "choice": "single"})
    for level in ("L1", "L2", "L3"):
        ElementTree.SubElement(levels, "Choice", {"value": level})
    ElementTree.indent(view)
    return ElementTree.tostring(view, encoding="unicode") + "\n"


def exported_tasks(
    answers: Sequence[tuple[Any, str]], taxonomy: Taxonomy, media: MediaField | None = None
) -> list[dict[str, Any]]:
    """Return a task for each file, with an annotation for each rater.

    Args:
        answers: settled labels, each with the path of its copied file.
        taxonomy: of the labels.
        media: where Label Studio finds the files.
    """
    media_field = media or MediaField()
    tasks: dict[str, dict[str, Any]] = {}
    people: dict[str, int] = {}
    for answered, path in answers:
        [file] = answered.payload["files"]
        about = {"prompt_id": answered.payload["prompt_id"], "model": file["model"], "sample": file["sample"]}
        fields = {media_field.key: media_field.address(path), "prompt": answered.payload["prompt"], **about}
        task = tasks.setdefault(answered.subject, {"id": len(tasks) + 1, "data": fields, "annotations": []})
        annotation = {
            "id": sum(len(each["annotations"]) for each in tasks.values()) + 1,
            "completed_by": people.setdefault(answered.rater_id, len(people) + 1),
            "lead_time": answered.elapsed_ms / 1000,
            "created_at": answered.answered_at.isoformat(),
            "was_cancelled": False,
            "result": _results(Labelled.model_validate(answered.choice), taxonomy),
        }
        task["annotations"].append(annotation)
    return list(tasks.values())


def _results(answer: Labelled, taxonomy: Taxonomy) -> list[dict[str, Any]]:
    labels = [mark.label for mark in answer.marks] or ([NORMAL] if NORMAL in taxonomy else [])
    paths = [[each.id for each in taxonomy.path(label)] for label in labels]
    results = [_result(LABELS, "taxonomy", {"taxonomy": paths})] if paths else []
    for mark in answer.marks:
        for left, top, right, bottom in mark.boxes:
            box = {"x": left, "y": top, "width": right - left, "height": bottom - top}
            value = {name: side * _PERCENT for name, side in box.items()} | {"rotation": 0, "rectanglelabels": [mark.label]}
            results.append(_result(BOXES, "rectanglelabels", value))
        if mark.frames is not None:
            ranges = {"ranges": [{"start": mark.frames[0], "end": mark.frames[1]}], "timelinelabels": [mark.label]}
            results.append(_result(FRAMES, "timelinelabels", ranges))
    words = [f"{mark.label}: {mark.where}" for mark in answer.marks if mark.where]
    results += [_result(WORDS, "textarea", {"text": words})] if words else []
    return results + ([_result(LEVEL, "choices", {"choices": [answer.level]})] if answer.level else [])


def _result(name: str, kind: str, value: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": digest("region", [name, json.dumps(value)])[:10],
        "from_name": name,
        "to_name": "media",
        "type": kind,
        "value": value,
    }


# Import


def read_annotations(
    path: Path, material: Material, task: LabelTask, *, media_key: str | None = None
) -> tuple[UsableRows[list[Annotation]], int]:
    """Read the annotations of a file; returns those of each usable task, and how many were cancelled.

    A task that names no file of ``material``, or has a label, box or person that cannot be read, is left out and named.

    Args:
        path: the JSON array that Label Studio exports.
        material: the files. A task names its file by ``data.prompt_id``, ``data.model`` and ``data.sample``, or by the address
            of its medium: the end of a path or URL (``…/model/cat.png``), an upload, or a local file of Label Studio. A name
            that several models have needs the model's folder before it, or ``data.model``.
        task: says which labels fit.
        media_key: the field of ``data`` that has the address; None: the first of :data:`MEDIA_KEYS` that is there.

    Raises:
        InputError: the file is no JSON array, or none of its tasks can be used.
    """
    files = _Files(material, media_key)
    cancelled = 0
    seen: set[tuple[str, str]] = set()

    def read(row: TableRow) -> list[Annotation]:
        nonlocal cancelled
        file = files.of(row)
        annotations = row.cells.get("annotations")
        if not isinstance(annotations, list):
            raise row.problem("must be a list, not", "annotations", value=type(annotations).__name__)
        parsed = []
        for annotation in annotations:
            if not isinstance(annotation, Mapping):
                raise row.problem(
                    "contains an entry that is not an annotation:", "annotations", value=type(annotation).__name__
                )
            skipped = annotation.get("was_cancelled")
            if skipped not in (None, True, False):
                raise row.problem("was_cancelled must be true or false, not", "annotations", value=str(skipped)[:40])
            if skipped:
                cancelled += 1
                continue
            parsed.append(_annotation(row, annotation, file, task))
        keys = [(label_subject(file), one.who) for one in parsed]
        if len(set(keys)) < len(keys) or seen & set(keys):
            raise row.problem("one person labelled the file twice", "annotations")
        seen.update(keys)
        return parsed

    return usable_rows(path, read_each(path, read), what="task"), cancelled


def import_annotations(
    database: ArenaDatabase, path: Path, material: Material, task: LabelTask, *, now: int, media_key: str | None = None
) -> Imported:
    """Add people's annotations to the database as settled answers; those that are there are left out.

    Each annotator becomes a rater whose id is an HMAC of the name. An arena opened on this database continues: where three
    raters differ it asks two more.

    Args:
        database: of an arena of labels.
        path: as for :func:`read_annotations`.
        material: the files.
        task: says which labels fit.
        now: microseconds since 1970.
        media_key: as for :func:`read_annotations`.

    Raises:
        InputError: as :func:`read_annotations`, a file cannot be read, or the database holds other work; nothing is written.
        StorageError: the database cannot be written.
    """
    rows, cancelled = read_annotations(path, material, task, media_key=media_key)
    database.claim(task.work)
    annotations = [annotation for each in rows for annotation in each]
    digests: dict[Path, str] = {}
    for annotation in annotations:
        file = annotation.file.path
        if file not in digests:
            try:
                digests[file] = file_sha256(file)
            except OSError as error:
                raise InputError(f"cannot be read ({error.strerror})", source=file) from error

    def work(connection: Connection) -> int:
        return sum(_add(connection, database, each, digests[each.file.path], material, task, now) for each in annotations)

    added = database.write(work).result()
    return Imported(added, len(annotations) - added, cancelled, rows.remarks())


def _add(
    connection: Connection, database: ArenaDatabase, one: Annotation, sha256: str, material: Material, task: LabelTask, now: int
) -> bool:
    """Add one answer, its rater and its task; False if it is there."""
    rater = f"rater-{database.hmac('label-studio', one.who)[:16]}"
    subject = label_subject(one.file)
    there = (ASSIGNMENTS.c.rater_id == rater) & (ASSIGNMENTS.c.subject == subject)
    if connection.execute(select(ASSIGNMENTS.c.assignment_id).where(there)).first() is not None:
        return False
    if connection.execute(select(RATERS.c.rater_id).where(RATERS.c.rater_id == rater)).first() is None:
        add_row(connection, RATERS, {"rater_id": rater, "created_at": now, "role": "rater"})
    choice = one.answer.model_dump_json()
    answer_id = str(uuid.uuid5(_NAMESPACE, f"{database.arena_id} {rater} {subject}"))
    assignment = digest("imported", [database.arena_id, rater, subject])[:22]
    payload = {**prompt_payload(material.prompts[one.file.prompt_id], (one.file,)), "taxonomy": task.taxonomy.name}
    leased = {
        "assignment_id": assignment,
        "rater_id": rater,
        "kind": "label",
        "subject": subject,
        "payload": json.dumps(payload),
        "digests": json.dumps([sha256]),
    }
    times = {"issued_at": now, "lease_until": now, "answered_at": now}
    add_row(connection, ASSIGNMENTS, {**leased, **times, "state": "settled", "answer_id": answer_id})
    body = json.dumps({"imported": "label-studio", "choice": json.loads(choice)}, sort_keys=True)
    new = {"answer_id": answer_id, "assignment_id": assignment, "version": 1, "body": body, "choice": choice}
    new |= {"elapsed_ms": one.elapsed_ms, "received_at": now, "supersedes": None, "shown": task_digest(leased)}
    add_row(connection, ANSWERS, new)
    settled = {"assignment_id": assignment, "answer_id": answer_id, "settled_at": now, "rater_id": rater, "kind": "label"}
    add_row(connection, SETTLED, settled)
    return True


class _Files:
    """Finds the file that a task is about."""

    def __init__(self, material: Material, media_key: str | None) -> None:
        self._keys = (media_key,) if media_key is not None else MEDIA_KEYS
        self._by_key = {(file.prompt_id, file.model, file.sample): file for file in material.files}
        self._by_name: dict[str, list[Generated]] = {}
        for file in material.files:
            self._by_name.setdefault(_uploaded(file.path.name), []).append(file)

    def of(self, row: TableRow) -> Generated:
        data = row.cells.get("data")
        if not isinstance(data, Mapping):
            hint = "This looks like JSON-MIN: export the project as JSON." if "data" not in row.cells else None
            raise row.problem("must be an object, not", "data", value=type(data).__name__, hint=hint)
        if "prompt_id" in data and "model" in data:
            sample = data.get("sample", 0)
            key = (data["prompt_id"], data["model"], sample)
            hashable = all(isinstance(each, str | int) and not isinstance(each, bool) for each in key)
            file = self._by_key.get(key) if hashable else None
            if file is None:
                raise row.problem("names no file of the folder:", "data", value=str(key)[:120])
            return file
        address = next((data[key] for key in self._keys if isinstance(data.get(key), str)), None)
        if address is None:
            needed = f"needs prompt_id and model, or {' or '.join(self._keys)} with the file's path"
            raise row.problem(needed, "data", hint=f"It has: {', '.join(map(str, data))[:120]}. Name the field: --media-key.")
        matches = self._at(address, data.get("model"))
        if len(matches) != 1:
            which = "; name its model's folder or data.model" if matches else ""
            raise row.problem(f"names {len(matches)} files of the folder, not one{which}:", "data", value=address[:120])
        return matches[0]

    def _at(self, address: str, model: object) -> list[Generated]:
        """Return the files with the name of an address; of several, those of the model's folder, if it names one."""
        parts = _path_of(address).parts
        if not parts:
            return []
        name = _uploaded(parts[-1])
        if _UPLOADS in "/".join(parts[:-1]) + "/":
            name = _UPLOAD_MARK.sub("", name)
        matches = self._by_name.get(name, [])
        folder = model if isinstance(model, str) else parts[-2] if len(parts) > 1 else ""
        inside = [file for file in matches if folder in (file.model, file.path.parent.name)]
        return inside or ([] if isinstance(model, str) else matches)


def _path_of(address: str) -> PurePosixPath:
    """Return the path that an address of Label Studio names.

    It is that of a file, an upload, a local file, or an object of a bucket.

    Example:
        >>> [str(_path_of(each)) for each in ("/data/local-files/?d=runs/flux/a%20cat.png", "s3://bucket/flux/cat.png?sig=1")]
        ['runs/flux/a cat.png', '/flux/cat.png']
    """
    try:
        parts = urlsplit(address)
    except ValueError:  # such as half an IPv6 address
        return PurePosixPath()
    query = parse_qs(parts.query)
    if "fileuri" in query:  # /tasks/3/resolve/?fileuri=…: how Label Studio shows an object of a bucket
        with suppress(ValueError):
            return _path_of(base64.b64decode(query["fileuri"][0]).decode())
    return PurePosixPath(query["d"][0] if "d" in query else unquote(parts.path))


def _uploaded(name: str) -> str:
    """Return a file's name as Label Studio stores an upload of it: spaces become underscores, odd characters go."""
    return re.sub(r"[^-\w.]", "", name.strip().replace(" ", "_"))


@dataclass
class _Marks:
    """What the results of one annotation say, by label."""

    labels: list[str] = field(default_factory=list)
    boxes: dict[str, list[tuple[float, float, float, float]]] = field(default_factory=dict)
    frames: dict[str, tuple[int, int]] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    level: str | None = None


def _annotation(row: TableRow, annotation: Mapping[str, Any], file: Generated, task: LabelTask) -> Annotation:
    who = annotation.get("completed_by")
    if isinstance(who, Mapping):
        who = who.get("email") or who.get("id")
    if isinstance(who, bool) or not isinstance(who, str | int) or not str(who).strip() or len(str(who)) > 400:
        raise row.problem("names no person in completed_by", "annotations")
    if without_surrogates(str(who)) != str(who):
        raise row.problem("completed_by holds half a surrogate pair, which no encoding can carry:", "annotations", value=who)
    results = annotation.get("result")
    if not isinstance(results, list):
        raise row.problem("result must be a list, not", "annotations", value=type(results).__name__)
    marks = _Marks()
    for result in results:
        _take(row, result, marks, task.taxonomy)
    names = list(dict.fromkeys([*marks.labels, *marks.boxes, *marks.frames]))
    if marks.words and not names:
        raise row.problem("holds words without a label:", "annotations", value=marks.words[0])
    if NORMAL in names and len(names) > 1:
        raise row.problem(f"says {NORMAL} beside", "annotations", value=[name for name in names if name != NORMAL])
    names = [name for name in names if name != NORMAL]
    mark_fields = []
    for name in names:
        mine = [text.partition(":") for text in marks.words]
        where = "; ".join(tail.strip() if sign and head.strip() == name else text
                          for text, (head, sign, tail) in zip(marks.words, mine, strict=True)
                          if not sign or head.strip() == name or head.strip() not in names)  # fmt: skip
        mark_fields.append(
            {"label": name, "where": where, "boxes": marks.boxes.get(name, []), "frames": marks.frames.get(name)}
        )
    try:
        answer = Labelled(marks=tuple(Mark.model_validate(mark) for mark in mark_fields), level=marks.level)
    except ValidationError as error:
        [wrong, *_] = error.errors()
        where = f"{wrong['loc'][0]}: {wrong['msg']}"
        raise row.problem("is not a valid answer for this task:", "annotations", value=where) from error
    if not task.fits(answer):
        raise row.problem("is not a valid answer for this task:", "annotations", value=[mark.label for mark in answer.marks])
    return Annotation(file, str(who), answer, _lead_ms(row, annotation.get("lead_time")))


def _lead_ms(row: TableRow, seconds: object) -> int:
    if seconds is None:
        return 0
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < float("inf"):
        raise row.problem("lead_time must be seconds from 0, not", "annotations", value=str(seconds)[:40])
    return round(min(seconds, _LONGEST_LEAD_S) * 1000)


def _take(row: TableRow, result: object, marks: _Marks, taxonomy: Taxonomy) -> None:
    if not isinstance(result, Mapping) or not isinstance(value := result.get("value"), Mapping):
        raise row.problem("holds a result without a value", "annotations")
    kind = result.get("type")
    if kind == "taxonomy":
        for path in _texts_or_lists(row, value.get("taxonomy")):
            marks.labels.append(_label(row, path[-1] if isinstance(path, list) and path else path, taxonomy))
    elif kind == "choices" and result.get("from_name") == LEVEL:
        for level in _texts_or_lists(row, value.get("choices")):
            if level not in get_args(Level) or marks.level not in (None, level):
                both = level if marks.level is None else [marks.level, level]
                raise row.problem(f"level must be one of {', '.join(get_args(Level))}, not", "annotations", value=both)
            marks.level = level
    elif kind == "choices":
        marks.labels += [_label(row, each, taxonomy) for each in _texts_or_lists(row, value.get("choices"))]
    elif kind == "rectanglelabels":
        for name in _texts_or_lists(row, value.get("rectanglelabels")):
            marks.boxes.setdefault(_label(row, name, taxonomy), []).append(_box(row, value))
    elif kind == "timelinelabels":
        for name in _texts_or_lists(row, value.get("timelinelabels")):
            label, (first, last) = _label(row, name, taxonomy), _frames(row, value.get("ranges"))
            start, end = marks.frames.get(label, (first, last))
            marks.frames[label] = min(first, start), max(last, end)
    elif kind == "textarea":
        texts = value.get("text")
        marks.words += [str(text) for text in _texts_or_lists(row, [texts] if isinstance(texts, str) else texts)]
    else:
        raise row.problem("holds a result of an unknown type:", "annotations", value=str(kind)[:40], allowed=_TYPES)


_TYPES: Final = ("taxonomy", "choices", "rectanglelabels", "timelinelabels", "textarea")


def _texts_or_lists(row: TableRow, value: object) -> list[Any]:
    if not isinstance(value, list) or not all(isinstance(each, str | list) for each in value):
        raise row.problem("must be a list of texts or paths", "annotations", value=str(value)[:80])
    return value


def _label(row: TableRow, name: object, taxonomy: Taxonomy) -> str:
    matches = taxonomy.matches(name) if isinstance(name, str) else ()
    exact = [label for label in matches if label.id == name]
    answers = {label.id for label in taxonomy.answers()}
    answered = [label for label in exact or matches if label.id in answers]
    if len(answered) != 1:
        hint = "Label with labels.xml of `salon arena release label-studio`, or name your own labels with --taxonomy FILE."
        raise row.problem("unknown label", "annotations", value=str(name)[:80], allowed=tuple(sorted(answers)), hint=hint)
    return answered[0].id


def _box(row: TableRow, value: Mapping[str, Any]) -> tuple[float, float, float, float]:
    sides = [value.get(name) for name in ("x", "y", "width", "height")]
    numbers = [side for side in sides if isinstance(side, int | float) and not isinstance(side, bool) and abs(side) <= 1000]
    if len(numbers) < len(sides) or value.get("rotation") not in (0, None):
        raise row.problem("holds a box that is not upright, or without x, y, width and height in percent", "annotations")
    x, y, width, height = (number / _PERCENT for number in numbers)
    return x, y, _within(x + width), _within(y + height)


def _within(end: float) -> float:
    """Clamp an edge that exceeds 1 by rounding error."""
    return 1.0 if 1.0 < end < 1.0 + _ROUNDING else end


def _frames(row: TableRow, ranges: object) -> tuple[int, int]:
    ends: list[int] = []
    for span in ranges if isinstance(ranges, list) else []:
        for name in ("start", "end"):
            end = span.get(name) if isinstance(span, Mapping) else None
            if not isinstance(end, int) or isinstance(end, bool):
                raise row.problem("holds frames without start and end", "annotations")
            ends.append(end)
    if not ends:
        raise row.problem("holds frames without start and end", "annotations")
    return min(ends), max(ends)
