"""Audits: people look at a sample, and the answer is carried over to the whole data set with intervals.

The sample is stratified: by the decision (kept or dropped) and, where a condition says so, by nearness to a threshold. Each
stratum is weighted by its true size, so a sample of 500 kept and 500 dropped pictures does not pretend that the data set is
half and half.
"""

import csv
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from salon_curate.dataset import DataSet, checked_name, read_rows, seeded_hash
from salon_curate.files import media_ending, publish, publish_text
from salon_curate.selection import read_columns, saved_predicates, select, state_of
from salon_curate.stages import Stage
from salon_taxonomy.digest import Digestible, digest
from salon_taxonomy.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

DRAWS: Final = 20_000
_SAMPLE_FOLDER: Final = "pictures/sample"
_BLANK_FOLDER: Final = "pictures/blank"
"""Blank pictures in place of every twentieth one, shown beside the sample in an arena; who accepts one was not looking."""
_BLANK_EVERY: Final = 20
_TEST_POINT: Final = "accept"
"""The name of the question in the arena."""
QUESTION: Final = "the picture is whole and shows what its prompt asks for"
_ACCEPT: Final = {
    "1": True,
    "true": True,
    "yes": True,
    "accept": True,
    "0": False,
    "false": False,
    "no": False,
    "reject": False,
}


@dataclass(frozen=True, slots=True)
class Sampled:
    """A sample that was drawn: its folder, its pictures, and the strata with their sizes in data set and sample."""

    folder: Path
    pictures: int
    strata: Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A share of the population with its 95% interval; None where the sample says nothing about it."""

    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class AuditResult:
    """What an audit says about a selection.

    A picture is good when every one of its raters accepts it. Intervals are equal-tailed 95% intervals of Jeffreys'
    posterior in each stratum, weighted by the strata's sizes (20,000 seeded draws), and wide enough to contain their estimate:
    where all rated pictures are good the upper end is 1, where none is the lower end is 0.

    Attributes:
        selection: that was audited; ``predicates`` are its conditions.
        rated: pictures with an answer; ``missing`` have none.
        agreement: of the decision with people, over the whole data set.
        precision: share of the kept pictures that are good (positive predictive value).
        negative_value: share of the dropped pictures that are not good (negative predictive value).
        recall: share of the good pictures that are kept.
        kappa: Cohen's κ of the first two raters of each picture, by name; None with fewer than two, or where it does not exist.
        careless: raters of an arena who accepted a blank picture; their answers count until you remove them.
        state: digest of the pictures and parts that the conditions read when the sample was drawn.
    """

    selection: str
    predicates: Mapping[str, str]
    rated: int
    missing: int
    agreement: Estimate
    precision: Estimate
    negative_value: Estimate
    recall: Estimate
    kappa: float | None
    careless: tuple[str, ...]
    state: str


def sample_audit(
    dataset: DataSet,
    stages: Sequence[Stage],
    selection: str,
    name: str,
    *,
    per_stratum: int = 500,
    near: str | None = None,
    question: str = QUESTION,
    seed: int = 0,
) -> Sampled:
    """Draw an audit's sample and write it for people: a sheet and an arena's folder.

    Raters see neither the decision nor the stratum, and the order is random. In the arena's pages:
    ``salon arena serve audits/NAME/pictures --prompts audits/NAME/prompts.jsonl --task checks``.

    Args:
        selection: of a saved selection.
        name: of the audit, a folder below ``audits/``.
        per_stratum: pictures of each stratum, or all where it has fewer.
        near: SQL: rows close to a threshold become strata of their own.
        question: that raters answer with yes or no.
        seed: of the sample; a larger ``per_stratum`` keeps the smaller sample.

    Raises:
        InputError: there is no such selection, an audit of this name exists, or ``per_stratum`` is below 1.
        StorageError: the folder cannot be written.
    """
    import numpy as np

    if per_stratum < 1:
        raise InputError("must be 1 or more", column="per_stratum", value=per_stratum)
    folder = dataset.folder / "audits" / checked_name(name, "audits")
    if (folder / "plan.json").exists():  # written last: without it a sample was interrupted
        raise InputError("there is an audit of this name", source=folder, hint="Choose another name.")
    shutil.rmtree(folder, ignore_errors=True)
    predicates = saved_predicates(dataset, selection)
    dataset.refuse_changed()
    kept = select(dataset, stages, predicates, selection).mask
    close = np.zeros(len(kept), dtype=np.bool_) if near is None else select(dataset, stages, {"near": near}).mask
    rows = read_columns(dataset, stages, ["prompt", "sha256"]).collect()
    order = np.array([seeded_hash(key, seed, "audit") for key in rows["key"]], dtype=np.uint64)
    strata: dict[str, tuple[int, int]] = {}
    chosen: list[tuple[int, str]] = []
    for decision, decided in (("kept", kept), ("dropped", ~kept)):
        for stratum, inside in ((f"{decision}, near a threshold", close), (decision, ~close)):
            places = np.flatnonzero(decided & inside)
            if not len(places):
                continue
            drawn = places[np.argsort(order[places], kind="stable")[:per_stratum]]
            strata[stratum] = (len(places), len(drawn))
            chosen += [(int(place), stratum) for place in drawn]
    chosen.sort(key=lambda pair: order[pair[0]])
    sample = rows[[place for place, _ in chosen]].select("key", "sha256", "prompt")
    # Answers about several audits of one name may lie in one arena or store: only equal audits (of a copy) share names.
    own: dict[str, Digestible] = {
        "sample": [list(row) for row in sample.iter_rows()], "question": question, "predicates": predicates,
        "strata": strata, "near": near, "seed": seed, "per_stratum": per_stratum,
    }  # fmt: skip
    mark = digest("curate audit sample", own, length=8)
    pictures = {f"{name}-{mark}-{number:05d}": place for number, (place, _) in enumerate(chosen)}
    _write_for_raters(dataset, folder, pictures, sample, question)
    plan = {
        "selection": selection, "predicates": predicates, "state": state_of(dataset, stages, predicates), "near": near,
        "seed": seed, "strata": strata,
        "stratum": {key: stratum for key, (_, stratum) in zip(sample["key"], chosen, strict=True)},
        "pictures": dict(zip(pictures, sample["key"], strict=True)),
    }  # fmt: skip
    publish_text(folder / "plan.json", json.dumps(plan, indent=1, ensure_ascii=False) + "\n")
    return Sampled(folder, len(chosen), strata)


def _write_for_raters(
    dataset: DataSet, folder: Path, pictures: Mapping[str, int], sample: "pl.DataFrame", question: str
) -> None:
    """Write the sample's pictures, the sheet and the arena's prompts.

    Args:
        pictures: the name of each picture → its row in the data set, in the order of ``sample``.
    """
    sheet: list[dict[str, str]] = []
    arena: list[dict[str, Any]] = []
    for (picture, number), (key, prompt) in zip(pictures.items(), sample.select("key", "prompt").iter_rows(), strict=True):
        ending = _write_picture(dataset, number, folder / _SAMPLE_FOLDER / picture)
        sheet.append({"key": key, "picture": f"{_SAMPLE_FOLDER}/{picture}{ending or ''}"})
        if ending not in (None, ".bin"):  # a file that is no picture is on the sheet alone
            text = prompt or "(a picture without a prompt)"
            if len(arena) % _BLANK_EVERY == 0:
                _write_blank(folder / _BLANK_FOLDER / f"{picture}.png")
            arena.append({"prompt_id": picture, "prompt": text, "test_points": [f"{_TEST_POINT}: {question}"]})
    table = StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(["key", "picture", "rater", "accept"])
    writer.writerows([each["key"], each["picture"], "", ""] for each in sheet)
    publish_text(folder / "sheet.csv", table.getvalue())
    publish_text(folder / "prompts.jsonl", "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in arena))


def score_audit(dataset: DataSet, name: str, answers: Path, *, seed: int = 0, draws: int = DRAWS) -> AuditResult:
    """Score people's answers and write ``result.json`` into the audit's folder.

    Args:
        name: of the audit.
        answers: a CSV table with ``key``, ``rater`` and ``accept`` (true/false, yes/no, accept/reject, 1/0), one row per rater
            and picture, where an empty ``accept`` counts as missing; or the result store that an arena exported its checks to.
        seed: of the intervals' draws.

    Raises:
        InputError: there is no such audit, no answer is about it, a key is not in its sample, an answer is unknown, or a rater
            answers twice.
    """
    folder = dataset.folder / "audits" / checked_name(name, "audits")
    try:
        plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        there = sorted(each.parent.name for each in folder.parent.glob("*/plan.json"))
        hint = f"Draw one: salon curate audit sample {dataset.folder} --selection default --name {name}"
        raise InputError("there is no audit", source=folder.parent, value=name, found=there, hint=hint) from error
    rated = _collected(answers, plan["stratum"], plan["pictures"])
    if not rated:
        raise InputError("contains no answer about a picture of the audit", source=answers, value=name)
    sizes = {stratum: size for stratum, (size, _) in plan["strata"].items()}
    counts = dict.fromkeys(sizes, (0, 0))
    for key, answers_of in rated.items():
        good, number = counts[plan["stratum"][key]]
        counts[plan["stratum"][key]] = (good + all(answers_of.values()), number + 1)
    estimated = estimates(sizes, counts, seed=seed, draws=draws)
    missing = len(plan["stratum"]) - len(rated)
    careless = _careless(answers, plan["pictures"]) if answers.is_dir() else ()
    result = AuditResult(
        plan["selection"], plan["predicates"], len(rated), missing, *estimated, _kappa(rated), careless, plan["state"]
    )
    publish_text(folder / "result.json", json.dumps(asdict(result), indent=1, ensure_ascii=False) + "\n")
    return result


def estimates(
    sizes: Mapping[str, int], counts: Mapping[str, tuple[int, int]], *, seed: int = 0, draws: int = DRAWS
) -> tuple[Estimate, Estimate, Estimate, Estimate]:
    """Return agreement, precision, negative value and recall of a decision, from the good pictures of each stratum.

    Args:
        sizes: rows of the data set in each stratum; names begin with ``kept`` or ``dropped``.
        counts: (good, rated) of each stratum.
        seed: of the draws.

    Example:
        >>> sizes, counts = {"kept": 7500, "dropped": 2500}, {"kept": (480, 500), "dropped": (30, 500)}
        >>> agreement, precision, _, recall = estimates(sizes, counts)
        >>> round(precision.value, 3), round(agreement.value, 3), round(recall.value, 3)
        (0.96, 0.955, 0.98)
    """
    import numpy as np

    generator = np.random.default_rng(seed)
    point = {name: good / rated if rated else np.nan for name, (good, rated) in counts.items()}
    drawn = {name: generator.beta(good + 0.5, rated - good + 0.5, draws) for name, (good, rated) in counts.items()}

    def numbers(good: Mapping[str, Any]) -> "list[NDArray[np.float64] | float]":
        kept = sum(sizes[name] for name in sizes if name.startswith("kept"))
        dropped = sum(sizes.values()) - kept
        weighted = {name: size * good[name] for name, size in sizes.items() if size}
        good_kept = sum(each for name, each in weighted.items() if name.startswith("kept"))
        good_dropped = sum(each for name, each in weighted.items() if not name.startswith("kept"))
        bad_dropped = dropped - good_dropped
        total = good_kept + good_dropped
        with np.errstate(invalid="ignore", divide="ignore"):
            return [
                (good_kept + bad_dropped) / max(kept + dropped, 1),
                good_kept / kept if kept else np.nan,
                bad_dropped / dropped if dropped else np.nan,
                np.divide(good_kept, total),
            ]

    values, samples = numbers(point), numbers(drawn)
    estimated = []
    for value, sample in zip(values, samples, strict=True):
        if not np.all(np.isfinite(sample)) or not np.isfinite(value):
            estimated.append(Estimate(None, None, None))
            continue
        low, high = np.quantile(sample, [0.025, 0.975])
        estimated.append(Estimate(float(value), min(float(low), float(value)), max(float(high), float(value))))
    return (estimated[0], estimated[1], estimated[2], estimated[3])


def _kappa(rated: Mapping[str, Mapping[str, bool]]) -> float | None:
    from salon_ranking.agreement import UndefinedError, cohen_kappa

    pairs = [[said for _, said in sorted(given.items())[:2]] for given in rated.values() if len(given) > 1]
    if not pairs:
        return None
    try:
        return cohen_kappa([first for first, _ in pairs], [second for _, second in pairs])
    except UndefinedError:
        return None


_Answer: TypeAlias = tuple[int, str, str, str]
"""Row, key, rater, and what was said."""


def _collected(path: Path, known: Mapping[str, str], pictures: Mapping[str, str]) -> dict[str, dict[str, bool]]:
    """Return the answers by key and rater, from a sheet or an arena's store."""
    rows = _of_arena(path, pictures) if path.is_dir() else _of_sheet(path)
    answers: dict[str, dict[str, bool]] = {}
    for row, key, rater, text in rows:
        if key not in known:
            raise InputError("the key is not in the audit's sample:", source=path, row=row, column="key", value=key)
        if text not in _ACCEPT:
            raise InputError("unknown answer", source=path, row=row, column="accept", value=text, allowed=_ACCEPT)
        of_picture = answers.setdefault(key, {})
        if rater in of_picture:
            raise InputError("a rater answers twice:", source=path, row=row, column="rater", value=rater)
        of_picture[rater] = _ACCEPT[text]
    return answers


def _of_sheet(path: Path) -> Iterator[_Answer]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:  # spreadsheets begin with a mark
            reader = csv.DictReader(file)
            missing = {"key", "rater", "accept"} - set(reader.fieldnames or ())
            if missing:
                raise InputError(
                    "the table lacks the column", source=path, value=sorted(missing)[0], found=reader.fieldnames or ()
                )
            for row, line in enumerate(reader, 1):
                if answer := (line["accept"] or "").strip().lower():
                    yield row, line["key"], line["rater"], answer
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"cannot be read ({error})", source=path) from error


def _of_arena(path: Path, pictures: Mapping[str, str]) -> Iterator[_Answer]:
    for row, (picture, rater, value, blank) in enumerate(_arena_checks(path, pictures), 1):
        if not blank:
            yield row, pictures[picture], rater, f"{value:g}"


def _careless(path: Path, pictures: Mapping[str, str]) -> tuple[str, ...]:
    """Return the raters who accepted a blank picture of this audit."""
    checks = _arena_checks(path, pictures)
    return tuple(sorted({rater for _, rater, value, blank in checks if blank and value == 1}))


def _arena_checks(path: Path, pictures: Mapping[str, str]) -> list[tuple[str, str, float, bool]]:
    """Return picture, rater, value and whether the picture was blank: this audit's checks in a result store."""
    import polars as pl

    from salon_store import ResultStore

    scores = ResultStore.open(path, create=False, read_only=True).read("scores")
    own = (pl.col("dimension") == _TEST_POINT) & pl.col("value").is_not_null() & pl.col("prompt_id").is_in(list(pictures))
    blank = pl.col("subject_model") == Path(_BLANK_FOLDER).name
    return scores.filter(own).select("prompt_id", "judge", "value", blank).sort("prompt_id", "judge").collect().rows()


def _write_blank(path: Path) -> None:
    from PIL import Image

    publish(path, lambda target: Image.new("L", (256, 256), 128).save(target, "PNG"))


def _write_picture(dataset: DataSet, row: int, path: Path) -> str | None:
    """Write one picture of the sample; return the ending of its name, None where the row has no picture."""
    for shard in dataset.shards:
        if row < shard.rows:
            break
        row -= shard.rows
    else:
        raise InputError("no such row", value=row)
    content: bytes | None = read_rows(dataset.shard_path(shard.name), ["image"], row, 1).item()
    if content is None:
        return None
    ending = f".{media_ending(content)}"
    publish(path.with_name(path.name + ending), lambda temporary: temporary.write_bytes(content))
    return ending
