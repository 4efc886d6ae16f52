"""Measure whether filtering a noisily labelled set improves the model trained on it.

drawn pictures ──► a teacher who misses artifacts ──► look ──► duplicates ──► a verifier who errs at times ──► filtered
      │                                                                                       salon train sft ◄──┴── unfiltered
      └── exact labels ──► precision and recall of each stage, and held-out pictures ──► F1 of both

``python -m studies.filtering FOLDER`` takes half an hour and needs salon-train.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import click

from salon_console.output import as_json
from salon_console.page import PageSection, Table
from salon_curate.asks import agreement
from salon_curate.dataset import DataSet, refuse_full, seeded_hash
from salon_curate.demo import StageWorth, damaged, worth_of, worth_table
from salon_curate.duplicates_and_splits import duplicates
from salon_curate.files import publish_text
from salon_curate.importing import import_pictures
from salon_curate.judging import JUDGED_PICTURES, judge_stage
from salon_curate.measures import fields, look
from salon_curate.pages import write_page, yield_section
from salon_curate.running import run
from salon_curate.selection import YieldCurve, read_columns, save_selection, select, sweep
from salon_curate.stages import Stage
from salon_judges.media import prepare_bytes
from salon_taxonomy.answers import MagicMirrorAnswer, R3Answer, render_magicmirror, render_r3
from salon_taxonomy.digest import digest
from salon_taxonomy.errors import IncompleteError
from salon_taxonomy.protocols import Question, Reply
from salon_taxonomy.training_example import TrainingExample
from salon_taxonomy.verdict import Unscored
from salon_taxonomy.whole_files import write_json_lines, write_whole

CONDITIONS: Final = {"sharp": "sharpness >= 60", "first": "duplicate_of IS NULL", "verified": "agrees"}
_CONFIGURATION: Final = """[run]
folder = "{arm}"
threads = 1
seed = {seed}

[model]
name = "tiny"
device = "cpu"

[data]
train = ["{arm}.jsonl"]
held_out = ["held_out.jsonl"]
question = "What is wrong?"
reasoning = false

[sft]
steps = {steps}
batch = 32
learning_rate = 1.5e-3

[evaluation]
every = {steps}
batch = 64
longest = 48
"""


@dataclass(frozen=True, slots=True)
class StudySize:
    """How large the study is.

    Attributes:
        pictures: to label and filter, of each seed.
        held_out: to measure with, labelled exactly.
        teacher_misses: share of the artifacts that the teacher calls normal.
        verifier_errs: share of the verifier's answers that are wrong.
        steps: of SFT, the same for both sets.
    """

    pictures: int = 600
    held_out: int = 150
    teacher_misses: float = 0.6
    verifier_errs: float = 0.05
    steps: int = 120


@dataclass(frozen=True, slots=True)
class SeedResult:
    """One seed: what each condition was worth, pictures in each set, and F1 on the held-out pictures.

    ``f1`` is of artifact against normal: a model that calls every picture normal has 0.
    """

    seed: int
    worth: tuple[StageWorth, ...]
    pictures: Mapping[str, int]
    f1: Mapping[str, float]


class Verifier:
    """A simulated judge that knows the exact labels, and is wrong about a known share of the pictures.

    Args:
        truths: the true labels, as text, by the SHA-256 of a picture as judges are shown it.
        errs: the share of wrong answers, 0 to 1; which ones follows from the picture and the seed.
        seed: of the errors.
    """

    name = "verifier"

    def __init__(self, truths: Mapping[str, str], errs: float, seed: int) -> None:
        self._truths, self._errs, self._seed = truths, errs, seed
        self.version = digest("simulated verifier", {"errs": errs, "seed": seed})

    async def ask(self, question: Question) -> Reply:
        """Answer whether the labels in the question are those of its picture, in R³-Bench's form."""
        picture = question.media[0].sha256
        right = self._truths[picture] in question.text
        slips = seeded_hash(picture, self._seed, "verifier") < self._errs * 2.0**64
        answer = R3Answer(matches=True) if right != slips else R3Answer(False, "The labels differ.", "Label it again.")
        return Reply(render_r3(answer), version=self.version)


def filter_study(
    folder: Path,
    *,
    seeds: Sequence[int] = (0, 1, 2),
    size: StudySize | None = None,
    workers: int = 1,
    tell: Callable[[str], object] = print,
) -> tuple[SeedResult, ...]:
    """Filter what an unreliable teacher labelled, train on both sets with ``salon train``, and write ``filter-study.html``.

    Both sets start from the same random weights and take the same number of steps; the held-out pictures have exact labels.

    Args:
        folder: new or empty.
        seeds: of pictures, errors and weights; one result each.
        size: see :class:`StudySize`.
        workers: processes for stages without a judge; training takes one thread.
        tell: called with a line about each step.

    Raises:
        InputError: a folder is not empty.
        IncompleteError: a command of ``salon train`` failed; its message is included.
        StorageError: a file cannot be written.
    """
    refuse_full(folder)
    sizes = size or StudySize()
    results = []
    curves: list[YieldCurve] = []
    for seed in seeds:
        home = folder / f"seed{seed}"
        dataset, stages = _filtered(home, sizes, seed, workers)
        names = tuple(CONDITIONS)
        worth = worth_of(dataset, stages, CONDITIONS, names)
        counts = _training_files(home, dataset, stages)
        curves = curves or sweep(dataset, stages, CONDITIONS, ["sharpness"], points=30)
        f1 = {}
        for arm in ("unfiltered", "filtered"):
            tell(f"seed {seed}: SFT on the {counts[arm]:,} pictures of the {arm} set")
            f1[arm] = _trained(home, arm, seed, sizes)
        tell(f"seed {seed}: F1 {f1['unfiltered']:.3f} unfiltered, {f1['filtered']:.3f} filtered")
        results.append(SeedResult(seed, worth, counts, f1))
    lead = "A teacher who misses artifacts labels drawn pictures; filters decide what a model learns from."
    facts = [("Seeds", ", ".join(map(str, seeds))), ("Pictures of each seed", f"{sizes.pictures:,}")]
    sections = [*_sections(results, sizes), yield_section(curves)]
    write_page(folder / "filter-study.html", "From drawn pictures to a trained model", lead, facts, sections)
    return tuple(results)


def _filtered(home: Path, sizes: StudySize, seed: int, workers: int) -> tuple[DataSet, list[Stage]]:
    """Draw, label, import, judge and select the pictures of one seed."""
    truths = _draw_labelled(home, sizes, seed)
    dataset = DataSet.create(home / "dataset", "filter study")
    import_pictures(dataset, home / "rows.jsonl", licence="CC0-1.0", shard_rows=200)
    verifier = judge_stage(agreement(), Verifier(truths, sizes.verifier_errs, seed), when="sharpness >= 60")
    stages = [look, fields(truth="bool"), duplicates, verifier]
    result = run(dataset, stages, workers=workers)
    if result.set_aside:
        raise IncompleteError(result.set_aside[0])
    save_selection(dataset, stages, select(dataset, stages, CONDITIONS, "default"))
    return dataset, stages


def _draw_labelled(home: Path, sizes: StudySize, seed: int) -> dict[str, str]:
    """Write the pictures, ``rows.jsonl`` with the teacher's labels, and ``held_out.jsonl`` with exact ones.

    Returns:
        The true labels, as text, by the SHA-256 of a picture as judges are shown it.
    """
    from salon_synthetic.artifacts import Balance, draw_examples

    balance = Balance(dict.fromkeys(("sunken", "floating"), 0.5))  # two artifacts that few steps teach a tiny model to see
    pictures = home / "pictures"
    pictures.mkdir(parents=True)
    rows: list[dict[str, Any]] = []
    truths: dict[str, str] = {}
    normal = render_magicmirror(MagicMirrorAnswer(normal=True))
    for example in draw_examples(sizes.pictures, seed=2 * seed, balance=balance):
        key, truth = example.example_id, render_magicmirror(example.truth)
        misses = seeded_hash(key, seed, "teacher") < sizes.teacher_misses * 2.0**64
        label = normal if misses else truth
        content, fate = damaged(_bytes_of(example), key, seed)
        (pictures / f"{key}.png").write_bytes(content)
        prepared = prepare_bytes(content, JUDGED_PICTURES)
        if not isinstance(prepared, Unscored):
            truths[prepared.media.sha256] = truth
        right = label == truth and fate not in ("blurred", "cut")
        row = {"key": key, "image": f"pictures/{key}.png", "prompt": label, "truth": right}
        rows.append(row)
        if fate == "repeated":
            rows.append({**row, "key": f"{key}-again", "truth": False})
    write_json_lines(home / "rows.jsonl", rows)
    held_out = []
    for example in draw_examples(sizes.held_out, seed=2 * seed + 1, balance=balance):
        key = example.example_id
        (pictures / f"{key}.png").write_bytes(_bytes_of(example))
        held_out.append({"images": f"pictures/{key}.png", "response": render_magicmirror(example.truth), "example_id": key})
    write_json_lines(home / "held_out.jsonl", held_out)
    return truths


def _bytes_of(example: TrainingExample) -> bytes:
    if not isinstance(example.image, bytes):  # pragma: no cover - drawn pictures are bytes
        raise TypeError(example.example_id)
    return example.image


def _training_files(home: Path, dataset: DataSet, stages: Sequence[Stage]) -> dict[str, int]:
    """Write both sets in MagicData340K's schema; return their sizes. What cannot be decoded is in neither."""
    import polars as pl

    frame = read_columns(dataset, stages, ["prompt", "width"]).collect()
    kept = select(dataset, stages, CONDITIONS).mask
    readable = frame["width"].is_not_null()
    counts = {}
    for arm, mask in (("unfiltered", readable), ("filtered", readable & pl.Series(kept))):
        lines = [{"images": f"pictures/{key.removesuffix('-again')}.png", "response": said, "example_id": key}
                 for key, said, _ in frame.filter(mask).iter_rows()]  # fmt: skip
        write_json_lines(home / f"{arm}.jsonl", lines)
        counts[arm] = len(lines)
    return counts


def _trained(home: Path, arm: str, seed: int, sizes: StudySize) -> float:
    """Train with the public commands; return F1 on the held-out pictures."""
    configuration = home / f"{arm}.toml"
    publish_text(configuration, _CONFIGURATION.format(arm=arm, seed=seed, steps=sizes.steps))
    if arm == "unfiltered":  # its answers include those of the filtered set, and both arms start from these weights
        _salon(home, "train", "tiny", configuration.name, "--seed", str(seed))
    output = json.loads(_salon(home, "train", "sft", configuration.name, "--format", "json"))
    return float(output["evaluation"]["f1_binary"])


def _salon(home: Path, *words: str) -> str:
    command = [str(Path(sys.executable).with_name("salon")), *words]
    done = subprocess.run(command, cwd=home, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise IncompleteError(f"salon {' '.join(words)} failed: {done.stderr.strip()[-600:] or done.stdout.strip()[-600:]}")
    return done.stdout


def _sections(results: Sequence[SeedResult], sizes: StudySize) -> list[PageSection]:
    """Return the F1 of both models by seed, then the funnel of each seed."""
    told = (
        f"The teacher calls {sizes.teacher_misses:.0%} of the artifacts normal, the verifier errs about "
        f"{sizes.verifier_errs:.0%} of the pictures; {sizes.steps} steps of SFT from the same weights, "
        f"{sizes.held_out} held-out pictures with exact labels. F1 is of artifact against normal."
    )
    heads = ("Seed", "Set", "Pictures", "F1")
    rows = [(str(each.seed), name, f"{each.pictures[name]:,}", f"{each.f1[name]:.3f}")
            for each in results for name in ("unfiltered", "filtered")]  # fmt: skip
    table = Table(heads, rows, frozenset(heads[2:]), "F1 on held-out pictures")
    return [
        PageSection("F1", (told, table)),
        *(PageSection(f"Seed {each.seed}", (worth_table(each.worth),)) for each in results),
    ]


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="The first of three.")
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Processes of stages without a judge.")
def main(folder: Path, seed: int, workers: int) -> None:
    """Filter what an unreliable teacher labelled, and train on both sets."""
    results = filter_study(folder, seeds=range(seed, seed + 3), workers=workers, tell=click.echo)
    write_whole(folder / "numbers.json", as_json([asdict(result) for result in results]) + "\n")
    click.echo(f"page: {folder / 'filter-study.html'}")


if __name__ == "__main__":
    main()
