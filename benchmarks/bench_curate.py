"""Curation: throughput of `look`, overhead and workers, start-up, 6 million rows, near-duplicates.

    uv run --all-packages --group benchmark pytest benchmarks/bench_curate.py -o python_files='bench_*.py' -m '' -n 0 -s

Bars are on 2 idle cores; each row prints what it measured. Faults at scale are a study of the tests:

    SALON_CURATE_PICTURES=200000 uv run pytest -m study -n 0 -s packages/curate/tests/test_curate_faults.py
"""

import json
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import asdict
from io import BytesIO
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

from salon_curate.dataset import BATCH_ROWS, DataSet, Picture
from salon_curate.engine import _ENVIRONMENT, embedded, inline
from salon_curate.measures import _measured, look
from salon_curate.pipeline import PIPELINE
from salon_curate.planning import actual, plan, wall_seconds
from salon_curate.running import run
from salon_curate.selection import diff, select, sweep
from salon_curate.stages import Stage, expected_parts
from salon_curate.tasks import ShardTask
from salon_ranking.near_duplicates import near_duplicates

MILLIONS = 6_000_000
SIX = ("imagination", "entity", "text_rendering", "style", "affection", "composition")


def told(what: str, value: object, bar: str) -> None:
    print(f"\n{what}: {value} (bar: {bar})")


def photograph(seed: int, size: int = 512) -> bytes:
    """A JPEG of about 80 KB at 512 × 512."""
    small = np.random.default_rng(seed).integers(0, 255, (64, 64, 3), dtype=np.uint8)
    stream = BytesIO()
    Image.fromarray(small).resize((size, size), Image.Resampling.BICUBIC).save(stream, "JPEG", quality=88)
    return stream.getvalue()


def made(folder: Path, count: int, shard_rows: int = 250) -> DataSet:
    dataset = DataSet.create(folder)
    photographs = [photograph(seed) for seed in range(50)]
    dataset.add((Picture(f"k{n:07d}", photographs[n % 50]) for n in range(count)), "drawn", "folder", shard_rows=shard_rows)
    return dataset


def bare_loop(dataset: DataSet) -> list[dict[str, object]]:
    """Measure every picture with the code of `look`, reading as many at once; write nothing."""
    found = []
    for shard in dataset.shards:
        for start in range(0, shard.rows, BATCH_ROWS):
            rows = pl.scan_parquet(dataset.shard_path(shard.name)).slice(start, BATCH_ROWS).select("image").collect()
            found += [_measured(data, None) for data in rows["image"]]
    return found


def test_look_reaches_its_rate_with_little_overhead_and_two_workers_help(tmp_path):
    seconds = {"bare": [], "inline": []}
    for number in range(6):  # in turn; the first of each warms up
        dataset = made(tmp_path / f"bare{number}", 500)
        for name, work in (("bare", bare_loop), ("inline", lambda given: run(given, [look], engine=inline))):
            began = time.process_time()
            work(dataset)
            seconds[name].append(time.process_time() - began)
    bare, inlined = (statistics.median(each[1:]) for each in seconds.values())
    wall, spent = {}, 0.0
    for workers in (1, 2):
        copy = made(tmp_path / f"w{workers}", 2000)
        began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        run(copy, [look], engine=embedded, workers=workers)
        wall[workers], after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        spent += after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    told("look, pictures per second of one core (processor time of workers, start included)", round(4000 / spent), "≥ 250")
    told("overhead over a bare loop", f"{inlined / bare - 1:.1%}", "≤ 15%")
    told("2 workers against 1", f"{wall[1] / wall[2]:.2f} x", "≥ 1.7 x, on two idle cores")


@pytest.mark.timeout(3600)
def test_memory_of_a_worker(tmp_path):
    code = (
        "import json, sys; from pathlib import Path; "
        "from salon_curate.engine import answer_to; from salon_curate.tasks import ShardTask; "
        "[answer_to(ShardTask(**each)) for each in json.load(sys.stdin)]; print(Path('/proc/self/status').read_text())"
    )
    for count in (2_000, 20_000):
        dataset = made(tmp_path / f"{count}", count, 1000)
        parts = expected_parts(dataset, [look])["look"]
        tasks = [ShardTask(str(dataset.folder), look.where, "look", {}, shard.name, shard.rows, {}, part)
                 for shard, (part, _) in zip(dataset.shards, parts, strict=True)]  # fmt: skip
        command = ["env", *_ENVIRONMENT, sys.executable, "-c", code]
        given = json.dumps([asdict(task) for task in tasks])
        done = subprocess.run(command, input=given, capture_output=True, text=True, check=True)
        peak = next(int(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("VmHWM"))
        told(f"largest resident size of a worker, {count:,} pictures", f"{peak / 1024:.0f} MB", "≤ 150 MB, and flat")


def test_memory_of_the_driver_and_of_the_process_of_a_stage_over_all_shards(tmp_path):
    """`look` is made already, with random hashes: its pictures' bytes are no part of the question."""
    code = (
        "import resource, sys; from pathlib import Path; from salon_curate import DataSet, look, run; "
        "from salon_curate.duplicates_and_splits import duplicates, split; "
        "run(DataSet.open(Path(sys.argv[1])), [look, duplicates, split]); "
        "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')), "
        "resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    peaks = []
    for count in (2_000, 200_000):
        dataset = looked(tmp_path / f"{count}", count)
        command = [sys.executable, "-c", code, str(dataset.folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        peaks.append([int(each) / 1024 for each in done.stdout.split()])
        told(f"largest resident size, {count:,} pictures: driver", f"{peaks[-1][0]:.0f} MB", "≤ 250 MB")
        told("process of `duplicates` and of `split`", f"{peaks[-1][1]:.0f} MB", "≤ 150 MB")
    told("driver, 200,000 pictures against 2,000", f"{peaks[1][0] / peaks[0][0] - 1:+.1%}", "≤ 10%")


def looked(folder: Path, count: int, rows: int = 1000) -> DataSet:
    """A data set of one picture many times, with random hashes as the parts of `look`."""
    dataset, generator, picture = DataSet.create(folder), np.random.default_rng(0), photograph(0, 16)
    dataset.add((Picture(f"k{n:07d}", picture) for n in range(count)), "drawn", "folder", shard_rows=rows)
    for shard, (part, _) in zip(dataset.shards, expected_parts(dataset, [look])["look"], strict=True):
        hashes = pl.Series("phash", generator.integers(0, 2**63, shard.rows, dtype=np.uint64))
        nothing = [pl.lit(None, kind).alias(name) for name, kind in look.writes.items() if name != "phash"]
        frame = pl.DataFrame({"key": dataset.keys(shard), "phash": hashes}).with_columns(
            *nothing, look_problem=pl.lit(None, pl.String)
        )
        look.write(dataset.folder / part, frame.select("key", *look.writes, "look_problem"), shard.name)
    return dataset


def test_nothing_pending_starts_fast_and_imports_no_engine(tmp_path):
    dataset = DataSet.create(tmp_path / "d")
    tiny = photograph(0, 16)
    dataset.add((Picture(f"k{n}", tiny) for n in range(3000)), "drawn", "folder", shard_rows=1)
    (dataset.folder / PIPELINE).write_text('[[stage]]\nuse = "look"\n')
    run(dataset, [look], engine=inline)
    code = (
        "import sys, time; began = time.perf_counter(); from pathlib import Path; import salon_curate; "
        "imported = time.perf_counter() - began; from salon_curate import DataSet, look, run; "
        f"result = run(DataSet.open(Path({str(dataset.folder)!r})), [look]); "
        "print(imported, time.perf_counter() - began, result.kept, [m for m in ('ray',) if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported, whole, kept, engines = done.stdout.split(maxsplit=3)
    told("import salon_curate", f"{float(imported):.3f} s", "≤ 0.3 s")
    told(f"run with nothing pending, {kept} shards", f"{float(whole):.2f} s", "≤ 1 s")
    told("engines imported", engines.strip(), "[]")


@pytest.fixture(scope="module")
def six_millions(tmp_path_factory):
    """Six million rows with six scores and a hash, written as the cached columns of a data set without pictures."""
    folder = tmp_path_factory.mktemp("million")
    dataset = DataSet.create(folder / "d")
    generator = np.random.default_rng(0)
    rows = 100_000
    shards = []
    for number in range(MILLIONS // rows):
        keys = pl.Series("key", np.arange(number * rows, (number + 1) * rows)).cast(pl.String)
        nothing = {name: pl.Series(name, [None], dtype=pl.String) for name in ("sha256", "source", "prompt", "problem", "meta")}
        frame = pl.DataFrame({"key": keys}).with_columns(**{name: pl.lit(None, pl.String) for name in nothing})
        frame.with_columns(image=pl.lit(None, pl.Binary)).write_parquet(_made(dataset.shard_path(f"{number:05d}")))
        from salon_curate.dataset import Shard

        shards.append(Shard(f"{number:05d}", rows, 0, f"{number:064x}"))
    dataset.shards = shards
    dataset.save()
    scores = Stage("scores", "1", (), dict.fromkeys(SIX, pl.UInt8), lambda batch: batch, "bench:scores")
    for shard in shards:
        frame = pl.DataFrame({name: generator.integers(1, 11, rows, dtype=np.uint8) for name in SIX})
        path = dataset.folder / scores.part(shard, [])
        keys = pl.read_parquet(dataset.shard_path(shard.name), columns=["key"])["key"]
        scores.write(_made(path), frame.insert_column(0, keys).with_columns(scores_problem=pl.lit(None, pl.String)), shard.name)
    select(dataset, [scores], {"style": "style >= 5"})  # the first use keeps the columns together
    return dataset, scores


def _made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def test_six_million_rows_are_tuned_swept_and_compared_in_seconds(six_millions):
    dataset, scores = six_millions
    where = {name: f"{name} >= 7" for name in SIX}
    began = time.perf_counter()
    kept = select(dataset, [scores], where).kept
    told(f"re-tune six thresholds over 6 M rows ({kept:,} kept)", f"{time.perf_counter() - began:.2f} s", "≤ 2 s")
    began = time.perf_counter()
    sweep(dataset, [scores], where, SIX, points=90)
    told("sweep 6 x 90", f"{time.perf_counter() - began:.2f} s", "≤ 10 s")
    began = time.perf_counter()
    diff(dataset, [scores], where, {**where, "style": "style >= 6"})
    told("diff", f"{time.perf_counter() - began:.2f} s", "≤ 10 s")


def test_near_duplicates_of_six_million_hashes():
    generator = np.random.default_rng(0)
    hashes = np.frombuffer(generator.bytes(8 * MILLIONS), dtype=np.uint64).copy()
    planted = generator.choice(MILLIONS, 60_000, replace=False)
    for one, other in planted.reshape(-1, 2):
        hashes[other] = hashes[one] ^ sum(np.uint64(1) << np.uint64(bit) for bit in generator.choice(64, 3, replace=False))
    began = time.perf_counter()
    found = near_duplicates(hashes, 3)
    seconds = time.perf_counter() - began
    pairs = planted.reshape(-1, 2)
    assert (found[pairs[:, 0]] == found[pairs[:, 1]]).all()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    told("near-duplicates within 3 bits, 6 M hashes, 30,000 planted pairs all found", f"{seconds:.1f} s", "≤ 60 s")
    told("largest resident size of this process", f"{peak:.2f} GB", "≤ 2 GB")


def test_k_means_selects_from_ten_thousand_prompts_of_each_of_seven_tracks():
    """PRISM-Bench's real size (section 3.1): of 7 tracks the 10,000 best prompts each, k = 50, embeddings of 50 themes."""
    from salon_curate.construction.prism_selection import Candidate, select_all
    from salon_judges.formats.prism_tracks import Track

    class Made:
        def embed(self, texts):
            generator = np.random.default_rng(len(texts))
            themes = generator.normal(size=(50, 384))
            points = themes[[int(text.split()[1]) for text in texts]] + 0.5 * generator.normal(size=(len(texts), 384))
            return points / np.linalg.norm(points, axis=1, keepdims=True)

    tracks = list(Track)[:7]
    candidates = [Candidate(f"theme {number % 50} prompt {number} of {track}", track, number % 10 + 1.0)
                  for track in tracks for number in range(10_000)]  # fmt: skip
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    found = select_all(candidates, Made())
    told("k-means, 7 x 10,000 prompts of 384 dimensions, k = 50", f"{time.process_time() - began:.1f} processor s", "-")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    told("its largest resident size (before)", f"{peak / 2**20:.2f} GB ({before / 2**20:.2f} GB)", "-")
    for chosen in found.values():
        assert len({int(each.candidate.text.split()[1]) for each in chosen}) == len(chosen) == 50


def test_a_planned_wall_is_that_of_a_real_run_with_two_workers(tmp_path):
    """Compare three whole runs with plans of a tenth just before."""
    for number in range(3):
        dataset, other = (made(tmp_path / f"{name}{number}", 5000, 100) for name in ("planned", "run"))
        planned = plan(dataset, [look], share=0.1, workers=2)
        expected = wall_seconds(planned, [look], workers=2)
        began = time.perf_counter()
        run(other, [look], engine=embedded, workers=2)
        wall = time.perf_counter() - began
        told("planned wall of look with 2 workers, from 10% of the shards", f"{expected:.2f} s", f"{wall:.2f} s")
        bytes_read = actual(other, [look])[0].totals["bytes_read"].value
        told("bytes planned against the run's", planned[0].totals["bytes_read"].value / bytes_read, "0.9 to 1.1")
