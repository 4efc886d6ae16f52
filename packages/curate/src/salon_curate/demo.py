"""The demonstration: prompts, drawn pictures with exact truth, two judges, an audit, a release, and what each stage is worth.

prompts ──► drawn pictures (some wrong, blurred, repeated, cut off) ──► look ──► duplicates ──► cheap judge ──► dear judge
                                                               └── truth ──► precision and recall of each stage
"""

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from salon_curate.audits import AuditResult, sample_audit, score_audit
from salon_curate.cascade import CascadeLoss, cascade_loss
from salon_curate.dataset import DataSet, seeded_hash
from salon_curate.files import publish_text
from salon_curate.importing import import_pictures
from salon_curate.pages import curve_chart, write_page
from salon_curate.pipeline import PIPELINE, Pipeline, read_pipeline
from salon_curate.release import Release, release
from salon_curate.running import run
from salon_curate.selection import save_selection, select, sweep, table

if TYPE_CHECKING:
    from PIL.Image import Image

PIPELINE_TEXT: Final = """# The demonstration's pipeline: two pixel judges, of which the first is cheap and short-sighted.
[[stage]]
use = "look"

[[stage]]
use = "fields"
parameters = { truth = "bool" } # known because the pictures are drawn; used to measure, never to select

[[stage]]
use = "duplicates"

[[stage]]
use = "split"
parameters = { shares = { train = 0.8, test = 0.2 } }

[[stage]]
ask = "agreement"
judge = "pixels:width=96"
prefix = "cheap_"
when = "sharpness >= 60 AND duplicate_of IS NULL"

[[stage]]
ask = "agreement"
judge = "pixels:"
when = "cheap_agrees"
explore = 0.1

[selection.default]
sharp = "sharpness >= 60"
first = "duplicate_of IS NULL"
cheap = "cheap_agrees"
dear = "agrees"
"""
_ORDER: Final = ("sharp", "first", "cheap", "dear")


@dataclass(frozen=True, slots=True)
class StageWorth:
    """What the conditions up to one were worth against the truth: pictures kept, precision, and recall of the good ones."""

    condition: str
    kept: int
    precision: float
    recall: float


@dataclass(frozen=True, slots=True)
class Demo:
    """What the demonstration measured; ``page`` shows it."""

    pictures: int
    worth: tuple[StageWorth, ...]
    loss: CascadeLoss
    audit: AuditResult
    release: Release
    page: Path


def demo(folder: Path, *, per_category: int = 40, seed: int = 0, workers: int = 1) -> Demo:
    """Build a small data set from prompts to a release, offline, and measure every stage against the exact truth.

    Args:
        folder: a new folder for pictures, data set and page.
        per_category: drawn pictures of each of the eight categories of prompts.
        seed: of every draw.
        workers: processes.

    Raises:
        InputError: the folder is not empty.
        StorageError: it cannot be written.
    """
    dataset = DataSet.create(folder / "dataset", "demo")
    source = draw_candidates(folder / "candidates", per_category, seed)
    import_pictures(dataset, source, licence="CC0-1.0", shard_rows=100)
    publish_text(dataset.folder / PIPELINE, PIPELINE_TEXT)
    pipeline = read_pipeline(dataset.folder / PIPELINE, environment={}, asks=True)
    run(dataset, pipeline.stages, workers=workers)
    chosen = select(dataset, pipeline.stages, pipeline.selections["default"], "default")
    save_selection(dataset, pipeline.stages, chosen)
    sampled = sample_audit(dataset, pipeline.stages, "default", "people", per_stratum=60, seed=seed)
    truth = dict(table(dataset, pipeline.stages, ["truth"]).collect().iter_rows())
    answers = _rate(sampled.folder / "sheet.csv", folder / "answers.csv", truth, seed)
    audit = score_audit(dataset, "people", answers, seed=seed)
    loss = cascade_loss(dataset, pipeline.stages, "agreement_explored", {"dear": "agrees"})
    worth = worth_of(dataset, pipeline, pipeline.selections["default"])
    released = release(dataset, pipeline.stages, "default", "v1", columns=["sharpness"], audit="people", split="split")
    curves = sweep(dataset, pipeline.stages, pipeline.selections["default"], ["sharpness", "contrast"], points=30)
    rows = "".join(
        f"<tr><td>{each.condition}</td><td>{each.kept}</td><td>{each.precision:.3f}</td><td>{each.recall:.3f}</td></tr>"
        for each in worth
    )
    html = f"<table><tr><th>conditions up to</th><th>kept</th><th>precision</th><th>recall</th></tr>{rows}</table>"
    write_page([curve_chart(curve) for curve in curves], "From prompts to a release", folder / "demo.html", html)
    return Demo(dataset.rows, worth, loss, audit, released, folder / "demo.html")


def worth_of(dataset: DataSet, pipeline: Pipeline, predicates: Mapping[str, str]) -> tuple[StageWorth, ...]:
    """Return what the conditions are worth, one after another, against the column ``truth``."""
    good = table(dataset, pipeline.stages, ["truth"]).collect()["truth"].fill_null(value=False).to_numpy()
    found = [StageWorth("all", len(good), float(good.mean()), 1.0)]
    for number in range(1, len(_ORDER) + 1):
        names = _ORDER[:number]
        mask = select(dataset, pipeline.stages, {name: predicates[name] for name in names}).mask
        both = int((mask & good).sum())
        found.append(StageWorth(names[-1], int(mask.sum()), both / max(int(mask.sum()), 1), both / max(int(good.sum()), 1)))
    return tuple(found)


def draw_candidates(folder: Path, per_category: int, seed: int) -> Path:
    """Write drawn pictures and ``rows.jsonl``: of every 20, one is blurred, one repeated and one cut off.

    ``truth`` is true for a whole, sharp picture that shows its prompt and is no repetition.
    """
    from salon_synthetic import drawn, generate

    (folder / "pictures").mkdir(parents=True)
    rows: list[dict[str, Any]] = []
    for item in generate(per_category, seed=seed):
        fate = seeded_hash(f"{item.idx}", seed, "fate") % 20
        image = drawn(item.shown)
        name = f"pictures/{item.idx:05d}.png"
        row = {"key": f"{item.idx:05d}", "image": name, "prompt": item.prompt, "truth": not item.findings}
        data = _png(image, blurred=fate == 0)
        (folder / name).write_bytes(data[: len(data) // 2] if fate == 1 else data)
        rows.append({**row, "truth": row["truth"] and fate not in (0, 1)})
        if fate == 2:
            rows.append({**row, "key": f"{item.idx:05d}-again", "truth": False})
    table_file = folder / "rows.jsonl"
    publish_text(table_file, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return table_file


def _png(image: "Image", *, blurred: bool) -> bytes:
    from PIL import ImageFilter

    stream = BytesIO()
    (image.filter(ImageFilter.GaussianBlur(4)) if blurred else image).save(stream, "PNG")
    return stream.getvalue()


def _rate(sheet: Path, answers: Path, truth: Mapping[str, bool], seed: int) -> Path:
    """Answers of two simulated raters; each is wrong about one picture in 50."""
    lines: Sequence[str] = ["key,rater,accept"]
    with sheet.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            for rater in ("first", "second"):
                slip = seeded_hash(f"{rater} {row['key']}", seed, "slip") % 50 == 0
                lines = [*lines, f"{row['key']},{rater},{'yes' if bool(truth[row['key']]) != slip else 'no'}"]
    publish_text(answers, "\n".join(lines) + "\n")
    return answers
