"""Tasks with questions about files: opinion scores of all models side by side, rankings, and yes/no checks of test points.

| task | files | questions | source |
| --- | --- | --- | --- |
| ``PanelTask`` | one sample of every model, in a random order | three dimensions, 1 to 5 | MEF, section 5.2, appendix E |
| ``RankingTask`` | one sample of three or four models, in a random order | the place of each, 1 the best | |
| ``CheckTask`` | one | each test point of the prompt, yes or no | MEF, appendix D |

With a reference (DCR), the reference's file comes first, is named so, and is not rated; with a hidden one (ACR-HR) it is rated
among the others, and scores are differences from its marks (ITU-T P.910); without one, files are rated by themselves (ACR).
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from pydantic import JsonValue

from salon_arena.errors import RefusedError
from salon_arena.material import Material
from salon_arena.rounds import RatedItem, RoundsTask
from salon_arena.tasks import Payload, prompt_payload
from salon_judges.formats.generations import Generated
from salon_taxonomy.errors import InputError
from salon_taxonomy.visible_text import visible

DIMENSIONS: Final = {
    "Prompt Following": "Does it show what the prompt asks for? Leave structure and looks aside.",
    "Structural Accuracy": "Are its objects whole and built right? Leave prompt and looks aside.",
    "Aesthetic Quality": "Are style, colour, composition and light appealing? Leave prompt and structure aside.",
}
"""MEF's three dimensions (section 5.2.1), each with the question that raters see."""
LEVELS: Final = {
    1: "Completely Unusable",
    2: "Basically Unusable",
    3: "Basically Usable",
    4: "Basically Satisfactory",
    5: "Satisfactory",
}
"""MEF, figure 15."""
YES_NO: Final = {1: "yes", 0: "no"}
RATERS_PER_ITEM: Final = 2
"""MEF, section 5.2.2."""
PLACES: Final = {1: "the best", 2: "second", 3: "third", 4: "fourth"}
"""The places of a ranking of four."""
FEWEST_RANKED: Final = 3
"""Two files are a battle."""


@dataclass(frozen=True, slots=True)
class _Item:
    """One panel or one check: what is shown, and what is asked about each file."""

    subject: str
    files: tuple[Generated, ...]
    questions: tuple[tuple[str, str], ...]


@dataclass
class FormItem(RatedItem):
    """What people have said of one panel, or of one checked file.

    Attributes:
        needed: how many people judge it.
    """

    needed: int = RATERS_PER_ITEM

    def wanted(self, role: str) -> int:
        """Return the number of raters, and 0 for other roles."""
        return self.needed if role == "rater" else 0

    @property
    def state(self) -> str:
        """``open`` or ``done``."""
        return "open" if len(self.said) < self.needed else "done"


class FormTask(RoundsTask[FormItem]):
    """Deals items until each has its raters. Its methods run on the writer thread.

    Args:
        kind: ``panel`` or ``check``.
        forms: what is to be judged.
        options: the values of an answer, and their words.
        material: where the files are from.
        raters: how many people judge each item.
        rated_from: the place of the first file that is rated: 1 behind a reference.
        hidden: the model of the hidden reference; None for panels without one.
        most: the most rated files that are shown together, drawn for each rater by itself; None: all.
    """

    page: str = "form.html.jinja"

    def __init__(
        self,
        kind: str,
        forms: Sequence[_Item],
        options: dict[int, str],
        material: Material,
        *,
        raters: int = RATERS_PER_ITEM,
        rated_from: int = 0,
        hidden: str | None = None,
        most: int | None = None,
    ) -> None:
        self._forms = {item.subject: item for item in forms}
        self._options = options
        self._material = material
        self._rated_from = rated_from
        self._hidden = hidden
        self._most = most
        self.work = f"{kind}s"
        super().__init__(self._forms, partial(FormItem, needed=raters), {"rater": kind})

    def payload(self, subject: str, item: FormItem, kind: str) -> Payload:
        """Return the files, the rated ones in a random order, and what is asked about each."""
        form = self._forms[subject]
        first, rest = form.files[: self._rated_from], form.files[self._rated_from :]
        count = len(rest) if self._most is None else min(len(rest), self._most)
        files = (*first, *self._draws.new().sample(rest, count))
        prompt = self._material.prompts[files[0].prompt_id]
        more = {"questions": form.questions, "options": self._options, "rated_from": self._rated_from, "hidden": self._hidden}
        return {**prompt_payload(prompt, files), **more}

    def shown(self, payload: Payload) -> dict[str, Any]:
        """Return questions, the values and words of answers, and which files are rated."""
        questions = [[visible(name), visible(text)] for name, text in payload["questions"]]
        options = [[int(value), words] for value, words in payload["options"].items()]
        more = {"questions": questions, "options": options, "rated_from": payload["rated_from"]}
        return {"media_kind": self._material.kind, **more}

    def check(self, payload: Payload, choice: JsonValue) -> str:
        """Return a list per rated file, with a value per question."""
        values = [int(value) for value in payload["options"]]
        rated = len(payload["files"]) - payload["rated_from"]
        if not isinstance(choice, list) or len(choice) != rated:
            raise RefusedError(422, "bad_answer")
        for answers in choice:
            fits = isinstance(answers, list) and len(answers) == len(payload["questions"])
            if not fits or any(type(value) is not int or value not in values for value in answers):  # type: ignore[union-attr]
                raise RefusedError(422, "bad_answer")
        return json.dumps(choice)


class RankingTask(FormTask):
    """Deal three or four files of a prompt; the form asks for the place of each."""

    page = "rank.html.jinja"
    remarks: tuple[str, ...] = ()
    """What is not ranked, in words."""

    def payload(self, subject: str, item: FormItem, kind: str) -> Payload:
        """Return the drawn files in a random order, and as many places as files."""
        form = super().payload(subject, item, kind)
        return {**form, "options": {place: words for place, words in PLACES.items() if place <= len(form["files"])}}

    def check(self, payload: Payload, choice: JsonValue) -> str:
        """Return the places without gaps: 1, 3, 3 is 1, 2, 2."""
        places = [place for [place] in json.loads(super().check(payload, choice))]
        order = sorted({*places})
        return json.dumps([[order.index(place) + 1] for place in places])


def panel_task(
    material: Material,
    *,
    reference: str | None = None,
    hidden: str | None = None,
    raters: int = RATERS_PER_ITEM,
    alone: bool = False,
) -> FormTask:
    """Make the task of rating all models side by side: one panel for each prompt and sample.

    Args:
        material: what is rated.
        reference: the model whose files are shown first as the reference, and not rated (DCR).
        hidden: the model whose files are rated among the others, as the hidden reference (ACR-HR); of neither: ACR.
        raters: how many people rate each panel.
        alone: without a reference, a panel may have one file though there are several models.

    Raises:
        InputError: there is no such model, both references are given, or there is no panel with two files.
    """
    if reference is not None and hidden is not None:
        raise InputError("a panel has a reference that is shown, or a hidden one, not both", value=[reference, hidden])
    needed = reference or hidden
    if needed is not None and needed not in material.models:
        raise InputError("the reference is no model of the folder:", value=needed, allowed=material.models)
    fewest = 1 if needed is None and (alone or len(material.models) == 1) else 2
    forms = []
    for (prompt_id, sample), files in _panels(material).items():
        ordered = sorted(files, key=lambda file: file.model != needed)
        if len(files) < fewest or (needed is not None and ordered[0].model != needed):
            continue
        forms.append(_Item(f"panel\x1f{prompt_id}\x1f{sample}", tuple(ordered), tuple(DIMENSIONS.items())))
    if not forms:
        raise InputError("no prompt has files of two models (or of a model and the reference)")
    shown_first = int(reference is not None)
    return FormTask("panel", forms, LEVELS, material, raters=raters, rated_from=shown_first, hidden=hidden)


def ranking_task(material: Material, *, raters: int = RATERS_PER_ITEM) -> RankingTask:
    """Make the task of ranking the files of a prompt and sample: three or four models, or a drawn four.

    Args:
        material: what is ranked.
        raters: how many people rank each prompt and sample. Of more than four models each of them gets a drawn four; all
            fours are equally likely.

    Raises:
        InputError: no prompt has files of three models.
    """
    every = _panels(material)
    panels = {key: files for key, files in every.items() if len(files) >= FEWEST_RANKED}
    if not panels:
        raise InputError("no prompt has files of three models", hint="Two are compared by --task battles.")
    question = (("Place", "Place"),)
    forms = [_Item(f"ranking\x1f{key[0]}\x1f{key[1]}", tuple(files), question) for key, files in panels.items()]
    task = RankingTask("ranking", forms, PLACES, material, raters=raters, most=len(PLACES))
    few = len(every) - len(panels)
    task.remarks = (
        f"{few:,} of {len(every):,} prompts and samples have files of fewer than three models and are not shown.",
    ) * (few > 0)
    return task


def check_task(material: Material, *, raters: int = RATERS_PER_ITEM) -> FormTask:
    """Make the task of checking test points: each file by itself, each test point of its prompt, yes or no.

    Args:
        material: what is checked.
        raters: how many people check each file.

    Raises:
        InputError: no prompt has test points.
    """
    forms = list(_checks(material))
    if not forms:
        hint = 'Add a column test_points: ["Quantity: three cats", "Colour: the cats are black"].'
        raise InputError("no prompt has test points", column="test_points", hint=hint)
    return FormTask("check", forms, YES_NO, material, raters=raters)


def _panels(material: Material) -> dict[tuple[str, int], list[Generated]]:
    """Return the files of each prompt and sample."""
    panels: dict[tuple[str, int], list[Generated]] = {}
    for file in material.files:
        panels.setdefault((file.prompt_id, file.sample), []).append(file)
    return panels


def _checks(material: Material) -> Iterator[_Item]:
    for file in material.files:
        points = material.test_points.get(file.prompt_id)
        if points:
            subject = f"check\x1f{file.prompt_id}\x1f{file.model}\x1f{file.sample}"
            yield _Item(subject, (file,), tuple(points.items()))
