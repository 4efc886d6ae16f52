"""The demonstration: prompts, drawn pictures with exact truth, two judges, an audit, a release, and what each stage is worth.

prompts ──► drawn pictures (some wrong, blurred, repeated, cut off) ──► look ──► duplicates ──► cheap judge ──► expensive judge
                                                               └── truth ──► precision and recall of each stage
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, Final

from salon_console.page import PageSection, Table
from salon_curate.audits import AuditResult, sample_audit, score_audit
from salon_curate.cascade import CascadeLoss, cascade_loss
from salon_curate.dataset import DataSet, seeded_hash
from salon_curate.files import publish_text
from salon_curate.importing import import_pictures
from salon_curate.pages import write_page, yield_section
from salon_curate.pipeline import PIPELINE, read_pipeline
from salon_curate.release import Release, release
from salon_curate.running import run
from salon_curate.selection import read_columns, save_selection, select, sweep
from salon_curate.stages import Stage
from salon_taxonomy.extras import extra
from salon_taxonomy.picture_formats import open_picture
from salon_taxonomy.whole_files import new_folder, write_json_lines

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
expensive = "agrees"
"""
_ORDER: Final = ("sharp", "first", "cheap", "expensive")


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
        InputError: the folder is not empty, or the extra ``demo`` is missing.
        StorageError: it cannot be written.
    """
    extra("salon_synthetic", "demo", "salon-curate")
    with new_folder(folder):
        return _demo(folder, per_category, seed, workers)


def _demo(folder: Path, per_category: int, seed: int, workers: int) -> Demo:
    dataset = DataSet.create(folder / "dataset", "demo")
    source = draw_candidates(folder / "candidates", per_category, seed)
    import_pictures(dataset, source, licence="CC0-1.0", shard_rows=100)
    publish_text(dataset.folder / PIPELINE, PIPELINE_TEXT)
    pipeline = read_pipeline(dataset.folder / PIPELINE, environment={}, asks=True)
    run(dataset, pipeline.stages, workers=workers)
    chosen = select(dataset, pipeline.stages, pipeline.selections["default"], "default")
    save_selection(dataset, pipeline.stages, chosen)
    sampled = sample_audit(dataset, pipeline.stages, "default", "people", per_stratum=60, seed=seed)
    truth = dict(read_columns(dataset, pipeline.stages, ["truth"]).collect().iter_rows())
    answers = _rate(sampled.folder / "sheet.csv", folder / "answers.csv", truth, seed)
    audit = score_audit(dataset, "people", answers, seed=seed)
    loss = cascade_loss(dataset, pipeline.stages, "agreement", {"expensive": "agrees"})
    worth = worth_of(dataset, pipeline.stages, pipeline.selections["default"], _ORDER)
    released = release(dataset, pipeline.stages, "default", "v1", columns=["sharpness"], audit="people", split="split")
    curves = sweep(dataset, pipeline.stages, pipeline.selections["default"], ["sharpness", "contrast"], points=30)
    interval = "–" if audit.precision.low is None else f"{audit.precision.low:.3f} to {audit.precision.high:.3f}"
    facts = [("Pictures", f"{dataset.rows:,}"), ("Released", f"{sum(released.pictures.values()):,}"), ("Seed", str(seed)),
             ("Precision by the audit", f"95% interval {interval}"),
             ("Lost by the cheap judge", f"at most {loss.upper:.3f} of what it drops (95%)")]  # fmt: skip
    lead = (
        "Drawn pictures, some wrong, blurred, repeated or cut off, are filtered by measures and two judges; the truth is known."
    )
    sections = [PageSection("Funnel", (worth_table(worth),)), yield_section(curves)]
    write_page(folder / "demo.html", "From prompts to a release", lead, facts, sections)
    return Demo(dataset.rows, worth, loss, audit, released, folder / "demo.html")


def worth_of(
    dataset: DataSet, stages: Sequence[Stage], predicates: Mapping[str, str], order: Sequence[str]
) -> tuple[StageWorth, ...]:
    """Return what the conditions are worth, one after another in an order, against the column ``truth``."""
    good = read_columns(dataset, stages, ["truth"]).collect()["truth"].fill_null(value=False).to_numpy()
    worths = [StageWorth("all", len(good), float(good.mean()), 1.0)]
    for number in range(1, len(order) + 1):
        mask = select(dataset, stages, {name: predicates[name] for name in order[:number]}).mask
        both, kept = int((mask & good).sum()), int(mask.sum())
        worths.append(StageWorth(order[number - 1], kept, both / max(kept, 1), both / max(int(good.sum()), 1)))
    return tuple(worths)


def worth_table(worth: Sequence[StageWorth]) -> Table:
    """Return the funnel as a table: pictures kept, precision and recall after each condition."""
    rows = [(each.condition, f"{each.kept:,}", f"{each.precision:.3f}", f"{each.recall:.3f}") for each in worth]
    heads = ("Conditions up to", "Kept", "Precision", "Recall")
    return Table(heads, rows, frozenset(heads[1:]), "Against the truth, one condition after another")


def draw_candidates(folder: Path, per_category: int, seed: int) -> Path:
    """Write drawn pictures and ``rows.jsonl``: of every 20, one is blurred, one repeated and one cut off.

    ``truth`` is true for a whole, sharp picture that shows its prompt and is no repetition.
    """
    from salon_synthetic import generate, png

    (folder / "pictures").mkdir(parents=True)
    rows: list[dict[str, Any]] = []
    for drawn_row in generate(per_category, seed=seed):
        content, fate = damaged(png(drawn_row.shown), f"{drawn_row.idx}", seed)
        name = f"pictures/{drawn_row.idx:05d}.png"
        row = {"key": f"{drawn_row.idx:05d}", "image": name, "prompt": drawn_row.prompt, "truth": not drawn_row.findings}
        (folder / name).write_bytes(content)
        rows.append({**row, "truth": row["truth"] and fate not in ("blurred", "cut")})
        if fate == "repeated":
            rows.append({**row, "key": f"{drawn_row.idx:05d}-again", "truth": False})
    table_file = folder / "rows.jsonl"
    write_json_lines(table_file, rows)
    return table_file


def damaged(png: bytes, key: str, seed: int) -> tuple[bytes, str]:
    """Return a picture's bytes and its fate: of every 20 one ``blurred``, one ``cut``, one ``repeated``, else ``whole``."""
    from PIL import ImageFilter

    fate = ("blurred", "cut", "repeated", *["whole"] * 17)[seeded_hash(key, seed, "fate") % 20]
    if fate == "cut":
        return png[: len(png) // 2], fate
    if fate == "blurred":
        stream = BytesIO()
        open_picture(png).filter(ImageFilter.GaussianBlur(4)).save(stream, "PNG")
        return stream.getvalue(), fate
    return png, fate


def _rate(sheet: Path, answers: Path, truth: Mapping[str, bool], seed: int) -> Path:
    """Return answers of two simulated raters; each is wrong about one picture in 50."""
    lines = ["key,rater,accept"]
    with sheet.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            for rater in ("first", "second"):
                slip = seeded_hash(f"{rater} {row['key']}", seed, "slip") % 50 == 0
                accepts = bool(truth[row["key"]]) != slip
                lines.append(f"{row['key']},{rater},{'yes' if accepts else 'no'}")
    publish_text(answers, "\n".join(lines) + "\n")
    return answers
