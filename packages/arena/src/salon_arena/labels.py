"""Deal files to be labelled with a taxonomy, and what raters agree on to be verified.

    three raters ── all agree ──────────────► agreed ── two auditors accept ──► accepted
         │                                      ▲  └──── one rejects ──► rejected ─┐
         └── differ ── two more ── labels of most ┘                               ├─► an adjudicator decides ──► accepted
                           └── no label of most, though most see a fault ─────────┘

The rounds are Artifact-Bench's (section 3.3), its levels too; the guidelines of the page are MagicMirror's (appendix A.2).
"""

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, get_args

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError
from sqlalchemy import Connection

from salon_arena.errors import RefusedError
from salon_arena.material import Material
from salon_arena.rounds import ADJUDICATE, Level, RoundsTask, VotedItem, accepts, states
from salon_arena.tasks import Payload, prompt_payload
from salon_judges.formats.generations import Generated
from salon_taxonomy.taxonomy import Taxonomy

MOST_LABELS: Final = 2
"""MagicMirror: only the two most obvious issues."""
NORMAL: Final = "normal"
KINDS: Final = {"rater": "label", "auditor": "verify", "adjudicator": ADJUDICATE}
LEVELLED: Final = "artifact-bench"
"""The taxonomy whose files get a level."""
Box = tuple[float, float, float, float]


class Mark(BaseModel):
    """One label of a file.

    Attributes:
        label: its id in the taxonomy.
        where: the place and the nature of the fault, in words.
        boxes: left, top, right, bottom, as shares of the picture, each from 0 to 1.
        frames: of a video, the first and the last frame that show it; None: all, or a picture.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    label: str = Field(max_length=200)
    where: str = Field(default="", max_length=500)
    boxes: tuple[Box, ...] = Field(default=(), max_length=20)
    frames: tuple[int, int] | None = None


class Labelled(BaseModel):
    """The answer of a rater: the labels that apply; none: the file is normal.

    Attributes:
        marks: one per label.
        level: how hard the faults are to see, from L1 to L3; with Artifact-Bench's taxonomy alone.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    marks: tuple[Mark, ...] = Field(max_length=20)
    level: Level | None = None


@dataclass
class LabelItem(VotedItem):
    """What people have said of one file: its labels, and with Artifact-Bench's taxonomy its level."""

    def values(self, choice: str) -> frozenset[str]:
        """Return the labels of an answer."""
        return labels_of(choice)


class LabelTask(RoundsTask[LabelItem]):
    """Deals files to label, to auditors what is agreed, to adjudicators what is not. Methods run on the writer thread.

    Args:
        material: what is labelled.
        taxonomy: the labels.
        most: labels per file; None: any number. By default two for MagicMirror's taxonomy.
    """

    page: str = "label.html.jinja"

    def __init__(self, material: Material, taxonomy: Taxonomy, *, most: int | None = None) -> None:
        self._files = {label_subject(file): file for file in material.files}
        super().__init__(self._files, LabelItem, KINDS)
        self.taxonomy = taxonomy
        self.work = f"labels of {taxonomy.name}"
        self._material = material
        self._most = most if most is not None or taxonomy.name != "magicmirror" else MOST_LABELS
        self._levels = list(get_args(Level)) if taxonomy.name == LEVELLED else []

    @cached_property
    def _tree(self) -> list[dict[str, Any]]:
        return [
            {
                "id": label.id,
                "name": label.name,
                "definition": label.definition or "",
                "path": [each.name for each in self.taxonomy.path(label)[:-1]],
            }
            for label in self.taxonomy.answers()
            if label.id != NORMAL
        ]

    @cached_property
    def _names(self) -> dict[str, str]:
        return {entry["id"]: entry["name"] for entry in self._tree}

    def payload(self, subject: str, item: LabelItem, kind: str) -> Payload:
        """The file; for auditors what is agreed, for adjudicators what each rater said, in the order of their answers."""
        file = self._files[subject]
        payload = {**prompt_payload(self._material.prompts[file.prompt_id], (file,)), "taxonomy": self.taxonomy.name}
        if kind == KINDS["auditor"]:
            payload["proposed"] = sorted(item.agreed or ())
        elif kind == ADJUDICATE:
            payload["said"] = [json.loads(choice) for choice in item.said]
        return payload

    def shown(self, payload: Payload) -> dict[str, Any]:
        """The labels to choose from, how many, the levels; for auditors those to verify, for adjudicators what was said."""
        more = {"media_kind": self._material.kind, "labels": self._tree, "most": self._most, "levels": self._levels}
        proposed = payload.get("proposed")
        named = None if proposed is None else [self._names.get(label, label) for label in proposed]
        return {**more, "proposed": named, "said": payload.get("said")}

    def check(self, payload: Payload, choice: JsonValue) -> str:
        """Return marks with known labels, each once; for auditors ``{"accept": true}`` or false."""
        if "proposed" in payload:
            return json.dumps({"accept": accepts(choice)})
        try:
            labelled = Labelled.model_validate(choice)
        except ValidationError as error:
            raise RefusedError(422, "bad_answer") from error
        if not self.fits(labelled):
            raise RefusedError(422, "bad_answer")
        return labelled.model_dump_json()

    def fits(self, labelled: Labelled) -> bool:
        """Return whether an answer can be stored.

        Labels must be known, each there once and not too many, boxes within the picture, and a level given if one is wanted.
        """
        names = [mark.label for mark in labelled.marks]
        places = [box for mark in labelled.marks for box in mark.boxes]
        fits = len(set(names)) == len(names) and self._names.keys() >= set(names)
        fits = fits and (self._most is None or len(names) <= self._most)
        fits = fits and all(0 <= left < right <= 1 and 0 <= top < bottom <= 1 for left, top, right, bottom in places)
        fits = fits and all(mark.frames is None or 0 <= mark.frames[0] <= mark.frames[1] for mark in labelled.marks)
        return fits and (labelled.level is not None) == bool(self._levels)


def label_subject(file: Generated) -> str:
    """Return the subject of a file that is labelled."""
    return f"label\x1f{file.prompt_id}\x1f{file.model}\x1f{file.sample}"


def labels_of(choice: str) -> frozenset[str]:
    """Return the labels of a stored answer.

    Example:
        >>> labels_of('{"marks": []}')
        frozenset()
    """
    return frozenset(mark["label"] for mark in json.loads(choice)["marks"])


def label_states(connection: Connection) -> dict[str, LabelItem]:
    """Return what people have said of each file that has a settled answer, by subject."""
    return states(connection, LabelItem, KINDS)
