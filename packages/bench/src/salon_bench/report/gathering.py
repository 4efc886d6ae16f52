"""Gather the content of a page about runs: every picture of every model, with its verdicts, by prompt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, TypedDict

import polars as pl

from salon_bench.report.thumbnails import SIDE, NoThumbnail, Thumbnail, thumbnails
from salon_bench.runs.judged_files import JudgedFile, folders_of, given_files
from salon_bench.runs.status import RunStatus, run_status
from salon_bench.runs.view import RunView, SubjectSummary
from salon_bench.suites.contract.suite import Suite, whole_case_id
from salon_taxonomy import Taxonomy
from salon_taxonomy.enums import MediaRole
from salon_taxonomy.errors import InputError
from salon_taxonomy.store_address import StoreAddress

MOST_PICTURES: Final = 1000
LONGEST_REPLY: Final = 4000
_NO_FILE: Final = NoThumbnail("there is no picture")
_ROLES: Final = tuple(role.value for role in MediaRole)
_SEVERAL: Final = NoThumbnail("about several pictures at once")


@dataclass(frozen=True, slots=True)
class ShownReply:
    """One attempt of one question, with its reply and status. ``cut``: characters of the text that are left out."""

    step: str
    attempt: int
    status: str
    parse_status: str | None
    text: str | None
    cut: int
    error: str | None


@dataclass(frozen=True, slots=True)
class Number:
    """A row of ``scores`` about a picture: a value, or the reason why it is missing."""

    task: str
    dimension: str
    value: float | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class ShownLabel:
    """A label that was given, in the words of its taxonomy, with its explanation."""

    name: str
    explanation: str | None


@dataclass(frozen=True, slots=True)
class Card:
    """One picture of a column (or none, or several judged together) with its verdicts.

    ``names`` are those of several pictures, in the same order; empty for one.
    """

    column: int
    sample: int
    pictures: tuple[Thumbnail | NoThumbnail, ...]
    names: tuple[str, ...]
    numbers: tuple[Number, ...]
    labels: tuple[ShownLabel, ...]
    replies: tuple[ShownReply, ...]
    turn: int | None = None


@dataclass(frozen=True, slots=True)
class PromptGroup:
    """A prompt and the cards of all columns. ``text`` is None when the store does not have it; ``remark`` follows it."""

    prompt_id: str
    tasks: tuple[str, ...]
    text: str | None
    cards: tuple[Card, ...]
    remark: str = ""


@dataclass(frozen=True, slots=True)
class RunColumn:
    """A model in a run; ``summary`` is None when its suite is not installed here."""

    run: RunStatus
    model: str
    judge: str
    judge_version: str
    summary: SubjectSummary | None
    scored: int
    unscored: int


@dataclass(frozen=True, slots=True)
class SuiteGallery:
    """All runs of one suite.

    Attributes:
        suite: its name.
        columns: models in runs, in the order of the runs.
        prompts: by id.
        left_out: pictures beyond the number that was asked for.
        elsewhere: replies on no card, because they name no picture.
    """

    suite: str
    columns: tuple[RunColumn, ...]
    prompts: tuple[PromptGroup, ...]
    left_out: int
    elsewhere: int


class PageLimits(TypedDict, total=False):
    """The limits of :func:`gather` by name."""

    most_pictures: int
    side: int
    only: Mapping[str, str] | None


def gather(
    store: StoreAddress,
    run_ids: Sequence[str],
    *,
    most_pictures: int = MOST_PICTURES,
    side: int = SIDE,
    only: Mapping[str, str] | None = None,
) -> list[SuiteGallery]:
    """Read runs for a page, a gallery for each suite.

    Args:
        store: the results' directory.
        run_ids: which runs; each counts once.
        most_pictures: of each suite; whole prompts are taken in order until there are so many.
        side: longest side of the small pictures.
        only: show no other prompts, in this order, by id, each with a remark; None: all, in the order of their ids.

    Raises:
        InputError: no run is named, or one is not there or has no scores yet.
        SalonError: for a directory that is no store.
    """
    if not run_ids:
        raise InputError("name a run", hint="salon bench runs lists them.")
    views = [RunView(store, run_status(store, run_id)) for run_id in dict.fromkeys(run_ids)]
    suites = dict.fromkeys(each.status.suite for each in views)
    return [_gallery(name, [each for each in views if each.status.suite == name], most_pictures, side, only) for name in suites]


def _gallery(suite: str, runs: Sequence[RunView], most: int, side: int, only: Mapping[str, str] | None) -> SuiteGallery:
    for run in runs:
        if not run.scores.height:
            raise InputError("the run holds no scores yet", value=run.run_id, hint="salon bench runs says how far it is.")
    columns = [column for each in runs for column in _columns(each)]
    places = {(each.run.run_id, each.model): number for number, each in enumerate(columns)}
    rows = pl.concat([each.scores for each in runs]).filter(pl.col("prompt_id").is_not_null())
    key = ["prompt_id", "run_id", "subject_model", "generation_id"]
    cards = rows.group_by(key).agg(pl.struct("task", "dimension", "value", "unscored_reason").alias("numbers"))
    cards = cards.sort(key, nulls_last=True)
    wanted = cards
    if only is not None:
        prompt_ids = pl.DataFrame({"prompt_id": [*only]}, schema={"prompt_id": pl.String})
        wanted = prompt_ids.join(cards, on="prompt_id", maintain_order="left_right")
    kept = _first_prompts(wanted, most)
    maker = _CardMaker(runs, kept, cards, side, suite)
    groups: dict[str, list[Card]] = {}
    for row in kept.iter_rows(named=True):
        groups.setdefault(row["prompt_id"], []).append(maker.card(row, places[row["run_id"], row["subject_model"]]))
    texts: dict[str, str] = {}
    for run in reversed(runs):
        texts |= run.prompts
    remarks = only or {}
    prompts = tuple(
        _group(prompt_id, of_prompt, texts.get(prompt_id), remarks.get(prompt_id, ""))
        for prompt_id, of_prompt in groups.items()
    )
    return SuiteGallery(suite, tuple(columns), prompts, wanted.height - kept.height, maker.elsewhere)


def _columns(run: RunView) -> list[RunColumn]:
    try:
        numbers = {each.model: each for each in run.summaries()}
    except InputError:  # a suite of another package, or of another version: the rows are shown all the same
        numbers = {}
    columns = []
    for name in run.models:
        mine = run.of(name)
        first = mine.row(0, named=True)
        scored = mine["value"].count()
        columns.append(
            RunColumn(
                run.status, name, first["judge"], first["judge_version"] or "", numbers.get(name), scored, mine.height - scored
            )
        )
    return columns


def _first_prompts(cards: pl.DataFrame, most: int) -> pl.DataFrame:
    """Return the cards of whole prompts in order, up to ``most`` cards; at least one prompt."""
    counts = cards.group_by("prompt_id", maintain_order=True).len().with_columns(before=pl.col("len").cum_sum() - pl.col("len"))
    fits = counts.filter((pl.col("before") + pl.col("len") <= most) | (pl.col("before") == 0))
    return cards.filter(pl.col("prompt_id").is_in(fits["prompt_id"].implode()))


def _group(prompt_id: str, cards: list[Card], text: str | None, remark: str) -> PromptGroup:
    tasks = sorted({number.task for card in cards for number in card.numbers})
    in_order = tuple(sorted(cards, key=lambda card: (card.column, card.sample, card.turn or 0)))
    return PromptGroup(prompt_id, tuple(tasks), text, in_order, remark)


class _CardMaker:
    """Makes cards from rows, with their labels, replies and pictures; ``every`` also has the cards that are not shown."""

    def __init__(
        self,
        runs: Sequence[RunView],
        cards: pl.DataFrame,
        every: pl.DataFrame,
        side: int,
        suite: str,
    ) -> None:
        self._suite = suite
        known = _suite_of(runs[0])
        self._names: tuple[str, ...] = tuple(known.picture_names) if known else ()
        wanted = pl.concat([cards["generation_id"].drop_nulls(), self._whole_cases(cards)]).unique().implode()
        whole = pl.col("prompt_id").is_in(cards["prompt_id"].unique().implode()) if self._names else pl.lit(False)
        calls = pl.concat([each.calls for each in runs])
        self._given = _given_files(calls)
        digests = sorted({sha256 for files in self._given.values() for _, sha256 in files})
        of_prompts = pl.col("sha256").is_in(digests)
        generations = runs[0].read("generations").filter(pl.col("generation_id").is_in(wanted) | whole | of_prompts).collect()
        self._generations = {row["generation_id"]: row for row in generations.iter_rows(named=True)}
        sources = [_source(row) for row in self._generations.values()]
        folders = {each.run_id: each.generation_folders for each in runs}
        self._small = thumbnails(sources, side, folders_of(folder for each in folders.values() for folder in each))
        self._pictures_of = _WholeCases(generations, folders, self._small)
        self._labels = _by_card(pl.concat([each.assessments for each in runs]), wanted)
        alone = calls.filter(pl.col("generation_id").is_null())
        self.elsewhere = alone.filter(~pl.col("case_id").is_in(self._whole_cases(every).implode())).height
        calls = calls.with_columns(generation_id=pl.coalesce("generation_id", "case_id"))
        self._calls = _by_card(calls.sort("step", "attempt", nulls_last=True), wanted)
        self._steps = {step: place for place, step in enumerate(known.steps if known else ())}

    def _whole_cases(self, cards: pl.DataFrame) -> pl.Series:
        """Return the cases about everything that a model has for a prompt, where the suite has such cases."""
        rows = cards.filter(pl.col("generation_id").is_null()).iter_rows(named=True) if self._names else ()
        case_ids = [whole_case_id(self._suite, row["prompt_id"], row["subject_model"]) for row in rows]
        return pl.Series("generation_id", case_ids, dtype=pl.String)

    def card(self, row: Mapping[str, Any], column: int) -> Card:
        """Return the card of a row in a column."""
        generation = self._generations.get(row["generation_id"])
        together = () if row["generation_id"] is not None or not self._names else self._pictures_of.pictures(row)
        about = row["generation_id"] or whole_case_id(self._suite, row["prompt_id"], row["subject_model"])
        key = (row["run_id"], about)
        files = [] if together else self._files_given(row)
        numbers = sorted(
            (Number(each["task"], each["dimension"], each["value"], each["unscored_reason"]) for each in row["numbers"]),
            key=lambda each: (each.task, each.dimension),
        )
        labels = {
            ShownLabel(_label_name(each["taxonomy"], each["label"]), each["explanation"])
            for each in self._labels.get(key, ())
            if each["present"]
        }
        return Card(
            column,
            0 if generation is None else generation["sample"],
            together or (*(picture for _, picture in files), self._picture(row["generation_id"], numbers)),
            (*(name for name, _ in files), MediaRole.RESULT) if files else _names(self._names, len(together)),
            tuple(numbers),
            tuple(sorted(labels, key=lambda each: (each.name, each.explanation or ""))),
            tuple(self._reply(each) for each in sorted(self._calls.get(key, ()), key=self._asking_order)),
            None if generation is None else generation["turn"],
        )

    def _files_given(self, row: Mapping[str, Any]) -> list[tuple[str, Thumbnail | NoThumbnail]]:
        """Return role and thumbnail of each file that came with the prompt and was shown beside the card's picture."""
        shown_files = self._given.get((row["run_id"], row["generation_id"]), [])
        of_prompt = [each for each in self._generations.values() if each["prompt_id"] == row["prompt_id"]]
        known = {each["sha256"]: each for each in of_prompt}
        files = [each for each in sorted(shown_files, key=lambda each: _ROLES.index(each[0])) if each[1] in known]
        return [(role.replace("_", " "), self._small[_source(known[sha256])]) for role, sha256 in files]

    def _picture(self, generation_id: str | None, numbers: Sequence[Number]) -> Thumbnail | NoThumbnail:
        """Return the thumbnail of a row, or the reason for none: no readable file, or several pictures."""
        generation = self._generations.get(generation_id or "")
        if generation is not None:
            return self._small[_source(generation)]
        return _SEVERAL if generation_id is None and any(each.value is not None for each in numbers) else _NO_FILE

    def _asking_order(self, call: Mapping[str, Any]) -> int:
        """Return the position of a call in the suite's order of asking; unknown steps last."""
        return self._steps.get(str(call["step"]).partition("#")[0], len(self._steps))

    def _reply(self, call: Mapping[str, Any]) -> ShownReply:
        text, most = call["response_text"], LONGEST_REPLY
        cut = max(len(text or "") - most, 0)
        text_shown = text[:most] if cut else text
        return ShownReply(
            call["step"] or "", call["attempt"], call["status"], call["parse_status"], text_shown, cut, call["error"]
        )


class _WholeCases:
    """Finds the pictures of a card about all that a model made for a prompt."""

    def __init__(
        self,
        generations: pl.DataFrame,
        folders: Mapping[str, Sequence[Path]],
        small: Mapping[JudgedFile, Thumbnail | NoThumbnail],
    ) -> None:
        self._folders = folders
        self._small = small
        self._rows: dict[str, list[dict[str, Any]]] = {}
        for row in generations.sort("sample", "uri").iter_rows(named=True):
            self._rows.setdefault(row["prompt_id"], []).append(row)

    def pictures(self, card: Mapping[str, Any]) -> tuple[Thumbnail | NoThumbnail, ...]:
        """Return one picture for each sample; none where no sample is known.

        Those of the run's own folder count, by any model (a picture before an edit is not the model's), else those of
        the model; of several files under one number, one that can be shown.
        """
        pictures: dict[int, Thumbnail | NoThumbnail] = {}
        rows = self._rows.get(card["prompt_id"], [])
        folders = [folder.absolute() for folder in self._folders[card["run_id"]]]
        mine = [row for row in rows if any(Path(row["uri"]).is_relative_to(folder) for folder in folders)]
        for row in mine or [row for row in rows if row["model"] == card["subject_model"]]:
            picture = self._small[_source(row)]
            if not isinstance(pictures.get(row["sample"]), Thumbnail):
                pictures[row["sample"]] = picture
        return tuple(pictures.values())


def _names(names: Sequence[str], count: int) -> tuple[str, ...]:
    """Return the names of several pictures; a single one needs none.

    Example:
        >>> _names(("before", "after"), 3), _names(("before", "after"), 1)
        (('before', 'after', '3'), ())
    """
    return tuple(names[place] if place < len(names) else str(place + 1) for place in range(count)) if count > 1 else ()


def _suite_of(run: RunView) -> Suite | None:
    """Return the suite of a run; None where it is not installed, or its file is gone."""
    try:
        return run.suite
    except InputError:
        return None


def _given_files(calls: pl.DataFrame) -> dict[tuple[str, str], list[tuple[str, str]]]:
    """Return, by run and picture, role and SHA-256 of each file that questions about the picture showed beside it."""
    files_by_case: dict[tuple[str, str], dict[tuple[str, str], None]] = {}
    for row in calls.drop_nulls(("shown", "generation_id")).iter_rows(named=True):
        files = dict.fromkeys(each for each in given_files(row["shown"]) if each[0] in _ROLES)
        files_by_case.setdefault((row["run_id"], row["generation_id"]), {}).update(files)
    return {case: list(files) for case, files in files_by_case.items()}


def _source(generation: Mapping[str, Any]) -> JudgedFile:
    return JudgedFile(generation["uri"], generation["sha256"])


def _by_card(rows: pl.DataFrame, wanted: pl.Series) -> dict[tuple[str, str], list[dict[str, Any]]]:
    by_card: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows.filter(pl.col("generation_id").is_in(wanted)).iter_rows(named=True):
        by_card.setdefault((row["run_id"], row["generation_id"]), []).append(row)
    return by_card


@cache
def _label_name(taxonomy: str, label: str) -> str:
    """Return the label in its taxonomy's words; the id where the taxonomy is not one of ours."""
    if taxonomy not in Taxonomy.names():
        return f"{taxonomy}: {label}"
    try:
        entry = Taxonomy.load(taxonomy).find(label)
    except InputError:
        return label
    return entry.name if entry.tier is None else f"{entry.tier}: {entry.name}"
