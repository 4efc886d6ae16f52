"""Running stages: the same bytes from every engine and after every kill, contracts, shards set aside, a full disk."""

import io
import math
import os
import pkgutil
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from inspect import signature
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import scipy.fft
from click.testing import CliRunner
from curate_world import alive, drawn, made, tree, workers_of
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from for_each import for_each
from salon_curate.cli import curate
from salon_curate.dataset import DataSet
from salon_curate.duplicates_and_splits import duplicates
from salon_curate.engine import embedded, inline
from salon_curate.measures import _field, fields, look, phash, text_share
from salon_curate.pipeline import BUILT_IN, PIPELINE, read_pipeline
from salon_curate.ray_engine import engine_named
from salon_curate.running import StageProgress, run, status, verify
from salon_curate.stages import Stage, stage
from salon_taxonomy.errors import InputError, StorageError

SLOW = """
import os, time, polars as pl
from salon_curate.stages import dataset_stage, stage

@stage(version="1", reads=["image"], writes={"size": pl.UInt32})
def slow(batch):
    print("words of a stage that are no answer", flush=True)
    time.sleep(0.15)
    return batch.select("key", pl.col("image").bin.size().cast(pl.UInt32).alias("size"))

@stage(version="1", reads=["image"], writes={"size": pl.UInt32})
def poison(batch):
    if "k00005" in batch["key"].to_list():
        os.kill(os.getpid(), 9)
    return slow.function(batch)

@stage(version="1", reads=["image"], writes={"size": pl.UInt32})
def raising(batch):
    if "k00005" in batch["key"].to_list():
        raise RuntimeError("no luck with five")
    return slow.function(batch)

@dataset_stage(version="1", reads=["size"], writes={"rank": pl.UInt32})
def ranked(rows):
    if "KILLED" in os.environ:
        os.kill(os.getpid(), 9)
    return rows.select("key", pl.col("size").rank("ordinal").alias("rank"))
"""


@pytest.fixture
def stages_on_the_path(tmp_path, monkeypatch):
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "slow_stages.py").write_text(SLOW)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "modules"))
    monkeypatch.syspath_prepend(str(tmp_path / "modules"))


@pytest.mark.slow  # processes of every engine
def test_every_engine_and_number_of_workers_gives_the_same_bytes(tmp_path):
    source = drawn(tmp_path / "in", 2)
    found = []
    for name, engine, workers in (("a", inline, 1), ("b", embedded, 1), ("c", embedded, 2)):
        dataset = made(tmp_path / name, source)
        result = run(dataset, [look, fields(good="bool"), duplicates], engine=engine, workers=workers)
        assert (result.made, result.kept, result.set_aside) == (12, 0, ())
        found.append(tree(dataset.folder, "columns") | tree(dataset.folder, "shards"))
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == 16


@pytest.mark.slow  # Ray starts eight processes
def test_ray_gives_the_bytes_of_the_embedded_engine(tmp_path):
    if find_spec("ray") is None:  # not imported here: what the engine sets before its import must be seen to work
        pytest.skip("runs where ray is installed")
    source = drawn(tmp_path / "in", 1)
    own, other = made(tmp_path / "a", source), made(tmp_path / "b", source)
    run(own, [look, duplicates], engine=embedded, workers=2)
    result = run(other, [look, duplicates], engine=engine_named("ray"), workers=2)
    assert (result.made, result.set_aside) == (4, ())
    assert tree(own.folder, "columns") == tree(other.folder, "columns")


def test_an_engine_that_is_not_installed_or_unknown_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    for name, words in (("ray", r"packages/curate\[ray\]"), ("spark", "embedded, inline, ray")):
        with pytest.raises(InputError, match=words):
            engine_named(name)


def test_only_a_changed_stage_and_what_reads_it_run_again(tmp_path):
    @stage(version="1", reads=["contrast"], writes={"dull": pl.Boolean})
    def dull(batch: pl.DataFrame, below: float = 1.0) -> pl.DataFrame:
        return batch.select("key", (pl.col("contrast") < below).alias("dull"))

    import salon_curate.measures as module

    module.dull = dull  # where another process would import it from
    dull = Stage(dull.name, dull.version, dull.reads, dull.writes, dull.function, "salon_curate.measures:dull")
    dataset = made(tmp_path / "d", drawn(tmp_path / "in", 1))
    first = run(dataset, [look, dull, fields(good="bool")], engine=inline)
    again = run(dataset, [look, dull.with_parameters(below=5.0), fields(good="bool")], engine=inline)
    assert (first.made, again.made, again.kept) == (6, 2, 4)


def test_a_stage_that_drops_reorders_or_mistypes_rows_is_refused(tmp_path):
    import salon_curate.measures as module

    dataset = made(tmp_path / "d", drawn(tmp_path / "in", 1))
    wrong = {
        "dropping": lambda batch: batch.head(1).select("key", pl.lit(1).alias("n")),
        "turning": lambda batch: batch.reverse().select("key", pl.lit(1).alias("n")),
        "lacking": lambda batch: batch.select("key"),
        "negative": lambda batch: batch.select("key", pl.lit(-1).alias("n")),
        "fraction": lambda batch: batch.select("key", pl.lit(1.5).alias("n")),
        "nothing": lambda _: None,
        "dictionary": lambda batch: {"key": batch["key"], "n": 1},
        "lazy": lambda batch: batch.lazy().select("key", pl.lit(1).alias("n")),
        "series": lambda batch: batch["key"],
        "two_problems": lambda batch: batch.select("key", n=1, problem=None, two_problems_problem=None),
        "list_of_problems": lambda batch: batch.select("key", n=1, problem=pl.lit([1])),
        "objects": lambda batch: batch.select("key").with_columns(pl.Series("n", [object()] * len(batch), dtype=pl.Object)),
    }
    for name, function in wrong.items():
        made_stage = Stage(name, "1", ("image",), {"n": pl.UInt8}, function, f"salon_curate.measures:{name}")
        setattr(module, name, made_stage)
        result = run(dataset, [made_stage], engine=inline)
        assert result.made == 0 and len(result.set_aside) == 2
        assert name in result.set_aside[0]
        assert status(dataset, [made_stage])[0].done == 0


@pytest.mark.parametrize(("name", "words"), [("poison", "died 3 times (signal 9)"), ("raising", "no luck with five")])
def test_a_shard_that_kills_or_fails_its_worker_is_set_aside_and_the_others_are_done(tmp_path, stages_on_the_path, name, words):
    dataset = made(tmp_path / "d", drawn(tmp_path / "in", 2))
    (dataset.folder / PIPELINE).write_text(f'[[stage]]\nuse = "slow_stages:{name}"\n')
    done = CliRunner().invoke(curate, ["run", str(dataset.folder), "--workers", "2"])
    assert "3 parts made" in done.output
    assert words in done.stderr
    assert "not finished: 1 shard;" in str(done.exception)


def test_progress_and_result_count_each_shard_its_rows_and_its_problems_once(tmp_path, stages_on_the_path):
    """Also of a run that continues, and of a shard that a stage fails on."""
    from slow_stages import raising

    table = drawn(tmp_path / "in", 2)
    (tmp_path / "in" / "pictures" / "00001.png").write_bytes(b"no picture")
    dataset = made(tmp_path / "d", table, shard_rows=5)
    sizes = [shard.rows for shard in dataset.shards]
    every, first = range(len(sizes)), range(1)
    assert len(sizes) > 2
    for shards, todo, kept, aside, problems in (
        (first, {"look": [0], "raising": [0]}, 0, 0, 1),
        (None, {"look": every[1:], "raising": every[1:]}, 2, 1, 0),
        (None, {"raising": [1]}, 2 * len(sizes) - 1, 1, 0),
    ):
        seen = []
        note = lambda each, seen=seen: seen.append(replace(each))  # noqa: E731
        result = run(dataset, [look, raising], engine=inline, shards=shards, watch=note)
        expected = [
            (name, done, len(of), sum(sizes[each] for each in of[:done]), sum(sizes[each] for each in of),
             problems if name == "look" else 0)
            for name, of in todo.items() for done in range(1, len(of) + 1)
        ]  # fmt: skip
        assert [(e.stage, e.done, e.total, e.rows, e.rows_total, e.problems) for e in seen] == expected
        assert (result.made, result.kept) == (len(expected) - aside, kept)
        assert (result.problems, len(result.set_aside), result.stopped) == (problems, aside, None)


@given(st.integers(0, 500), st.integers(0, 500), st.just(0.0) | st.floats(1e-9, 1e6))
def test_the_time_that_is_left_is_that_of_the_rest_at_the_rate_so_far(rows, rest, seconds):
    progress = StageProgress("look", 1, 2, rows, rows + rest, 0, seconds)
    assert progress.pictures_per_second * seconds == pytest.approx(rows if seconds else 0)
    assert progress.eta_seconds == (pytest.approx(seconds * rest / rows) if rows else None)


def test_a_stage_over_all_shards_has_a_process_of_its_own_and_its_death_is_named(tmp_path, stages_on_the_path, monkeypatch):
    dataset = made(tmp_path / "d", drawn(tmp_path / "in", 1))
    words = ["run", str(dataset.folder), "--quiet"]
    (dataset.folder / PIPELINE).write_text("".join(f'[[stage]]\nuse = "slow_stages:{name}"\n' for name in ("slow", "ranked")))
    monkeypatch.setenv("KILLED", "1")
    done = CliRunner().invoke(curate, words)
    assert done.output.startswith("2 parts made") and "shard all: its worker died 3 times (signal 9)" in done.stderr
    assert "not finished: 2 shards;" in str(done.exception)
    monkeypatch.delenv("KILLED")
    assert CliRunner().invoke(curate, words).output.startswith("2 parts made, 2 were there; 0 rows without a value")


@pytest.mark.slow  # kills at length
def test_killed_drivers_and_workers_leave_no_orphan_and_the_end_has_the_same_bytes(tmp_path, stages_on_the_path):
    source = drawn(tmp_path / "in", 2)
    calm, disturbed = made(tmp_path / "a", source, shard_rows=1), made(tmp_path / "b", source, shard_rows=1)
    for dataset in (calm, disturbed):
        (dataset.folder / PIPELINE).write_text('[[stage]]\nuse = "slow_stages:slow"\n')
    command = [str(Path(sys.executable).with_name("salon")), "curate", "run", "--workers", "2"]
    subprocess.run([*command, str(calm.folder)], check=True, capture_output=True)
    random.seed(5)
    for kill in ("driver", "worker"):
        process = subprocess.Popen([*command, str(disturbed.folder)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        before = len(tree(disturbed.folder, "columns"))
        while len(tree(disturbed.folder, "columns")) < before + 2 and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        crew = workers_of(process.pid)
        if kill == "driver":
            process.kill()
            process.wait()
            gone = time.monotonic() + 20
            while any(map(alive, crew)):
                assert time.monotonic() < gone, "a worker outlives its driver"
                time.sleep(0.02)
        else:
            for pid in crew[:1]:
                os.kill(pid, signal.SIGKILL)
            assert process.wait(timeout=120) == 0
    subprocess.run([*command, str(disturbed.folder)], check=True, capture_output=True)
    assert tree(calm.folder, "columns") == tree(disturbed.folder, "columns")
    assert len(tree(calm.folder, "columns")) == 16


def test_a_disk_that_refuses_is_named_and_the_run_continues_later(tmp_path, monkeypatch):
    dataset = made(tmp_path / "d", drawn(tmp_path / "in", 1))
    real, calls = os.fsync, []

    def full(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) > 2:
            raise OSError(28, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match=r"columns/look@\d+/00001-.*No space left on device.*same command again"):
        run(dataset, [look], engine=inline)
    monkeypatch.setattr(os, "fsync", real)
    result = run(dataset, [look], engine=inline)
    assert (result.made, result.kept) == (1, 1)
    assert verify(dataset, [look]) == []


def test_verify_names_every_changed_shard_and_part(tmp_path):
    dataset = made(tmp_path / "d", drawn(tmp_path / "in", 1))
    run(dataset, [look], engine=inline)
    part = next((dataset.folder / look.folder).glob("00000-*"))
    part.write_bytes(part.read_bytes()[:-40])
    shard = dataset.shard_path("00001")
    shard.write_bytes(shard.read_bytes() + b"x")
    found = verify(DataSet.open(dataset.folder), [look])
    assert any(part.name in each for each in found) and any("00001.parquet: has changed" in each for each in found)


def test_verify_names_every_flipped_bit_that_changes_a_value_and_raises_nothing(tmp_path):
    dataset = made(tmp_path / "d", drawn(tmp_path / "in", 1), shard_rows=8)
    run(dataset, [look], engine=inline)
    part, shard = next((dataset.folder / look.folder).iterdir()), dataset.shard_path("00000")
    whole, values, generator = part.read_bytes(), pl.read_parquet(part), random.Random(3)
    for place in sorted(generator.sample(range(len(whole)), 250)):
        part.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << generator.randrange(8)]) + whole[place + 1 :])
        if not verify(dataset, [look]):
            assert pl.read_parquet(part).equals(values), place
    receipt = pl.read_parquet_metadata(io.BytesIO(whole))["salon.receipt"]
    others = [pl.DataFrame({"a": [1]}), pl.DataFrame({"key": ["k"]}), values.drop("noise"), values.reverse(), values.head(3)]
    for path in (part, shard):
        path.unlink()
        for frame in others:
            for text in (receipt, "[]", "{}", "1", '{"stage": "look"}', None):
                frame.write_parquet(path, metadata={} if text is None else {"salon.receipt": text})
                assert any(path.name in each for each in verify(dataset, [look])), (frame, text)
        for data in (b"", b"PAR1", b"x" * 999):
            path.write_bytes(data)
            assert any(path.name in each for each in verify(dataset, [look]))
        path.unlink()
        path.mkdir()
        assert any(path.name in each for each in verify(dataset, [look]))
        path.rmdir()
        path.symlink_to(path)
        assert any(path.name in each for each in verify(dataset, [look]))
        path.unlink()
        part.write_bytes(whole)


def test_a_shard_or_part_of_another_length_is_named_before_its_rows_stand_beside_others(tmp_path):
    dataset = made(tmp_path / "d", drawn(tmp_path / "in", 1))
    reading = Stage(
        "reading",
        "1",
        ("width",),
        {"n": pl.UInt32},
        lambda batch: batch.select("key", n="width"),
        "salon_curate.measures:reading",
    )
    import salon_curate.measures as module

    module.reading = reading
    run(dataset, [look], engine=inline)
    shard, part = dataset.shard_path("00000"), next((dataset.folder / look.folder).glob("00001-*"))
    for path in (shard, part):
        whole = path.read_bytes()
        for rows in (3, 5):
            frame = pl.read_parquet(path)
            pl.concat([frame, frame])[:rows].write_parquet(path, metadata={"salon.receipt": "{}"})
            try:
                result = run(dataset, [look, reading], engine=inline)
            except InputError as error:
                assert path.name in str(error)
            else:
                assert any(path.name in each for each in result.set_aside), result
                assert status(dataset, [look, reading])[1].done < 2
            path.write_bytes(whole)
    assert run(dataset, [look, reading], engine=inline).set_aside == ()


def numbers_of_recipes() -> Iterator[tuple[str, str, str]]:
    """Each number that a pipeline can have: the TOML before it, the TOML after it, and a value that is allowed."""
    judged = "[[stage]]\nask = 'quality'\njudge = 'pixels:'\nwhen = 'sharpness >= 80'\n"
    yield f"{judged}explore = ", "", "1.0"
    for key in ("re_asks", "concurrency", "seed"):
        yield f"{judged}explore = 0.5\n{key} = ", "", "3"
    yield "[[stage]]\nask = 'captions'\njudge = 'pixels:'\noptions = { style = ", " }", "10"
    for use, where in BUILT_IN.items():
        found = pkgutil.resolve_name(where)
        for key, parameter in signature(found.function).parameters.items() if isinstance(found, Stage) else ():
            if "int" in str(parameter.annotation):
                yield f"[[stage]]\nuse = '{use}'\nparameters = {{ {key} = ", " }", "7"
            elif "float" in str(parameter.annotation):
                yield f"[[stage]]\nuse = '{use}'\nparameters = {{ {key} = {{ a = 0.5, b = ", " } }", "0.5"


def test_every_number_of_a_recipe_is_checked_when_it_is_read(tmp_path):
    recipe, bounded = tmp_path / PIPELINE, 0
    for before, after, right in numbers_of_recipes():
        recipe.write_text(f"{before}{right}{after}")
        read_pipeline(recipe, environment={})
        too_large = [f"{right}1"] if right != "3" and "seed" not in before else []
        bounded += len(too_large)
        for wrong in ("-1", "nan", "-inf", "'3'", "true", "[]", *too_large):
            recipe.write_text(f"{before}{wrong}{after}")
            with pytest.raises(InputError, match=rf"{PIPELINE}, .*key '"):
                read_pipeline(recipe, environment={})
    assert bounded == 4


def test_a_pipeline_that_contradicts_itself_is_refused(tmp_path):
    dataset = made(tmp_path / "d", drawn(tmp_path / "in", 1))
    for stages, words in (
        ([look, look], "one name"),
        ([look, look.with_parameters("look2")], "two stages write one column"),
        ([look.with_parameters("x"), Stage("y", "1", ("nothing",), {}, look.function, "a:b")], "reads a column"),
    ):
        with pytest.raises(InputError, match=words):
            run(dataset, stages, engine=inline)


def share_by_hand(pixels):
    """``text_share`` of a small picture in plain loops: cells of 16 × 16 at full, half and a quarter of the size."""
    height, width = pixels.shape
    covered = np.zeros((height // 16, width // 16), bool)
    for scale in (1, 2, 4):
        grey = np.asarray(Image.fromarray(pixels).reduce(scale) if scale > 1 else Image.fromarray(pixels)).astype(int)
        down, across = grey.shape[0] // 16, grey.shape[1] // 16
        like_text = np.zeros((down, across), bool)
        for row in range(down):
            for column in range(across):
                rising = falling = even = 0
                for y in range(16 * row, 16 * row + 16):
                    for x in range(16 * column, 16 * column + 16):
                        step = grey[y, x] - grey[y, x - 1] if x else 0
                        rising, falling, even = rising + (step > 40), falling + (step < -40), even + (abs(step) < 12)
                fewer, more = sorted((rising, falling))
                like_text[row, column] = fewer >= 8 and 2 * fewer >= more and even >= 0.4 * 256
        for row in range(down):
            for column in range(across):
                beside = (column and like_text[row, column - 1]) or (column + 1 < across and like_text[row, column + 1])
                if like_text[row, column] and beside:
                    covered[row * scale : (row + 1) * scale, column * scale : (column + 1) * scale] = True
    return float(covered.mean())


def writing(strokes, up, down, stairs, waves, wave):
    """Two cells beside each other, shape (16, 32).

    In ``strokes`` rows a stroke rises by ``up`` and falls by ``down``, in ``stairs`` rows it rises twice and falls once, and
    ``waves`` pixels differ from those beside them by ``wave``.
    """
    pixels = np.full((16, 32), 100, int)
    for row in range(min(16, strokes + stairs)):
        for left in (0, 16):
            if row < strokes:
                pixels[row, left + 6] += up
                pixels[row, left + 7 :] += up - down
            else:
                pixels[row, left + 6 : left + 9] += [up, 2 * up, 0]
    for place in range(waves):
        for left in (0, 16):
            pixels[place % 16, left + (2, 4, 9, 11, 13)[place // 16]] += wave
    return pixels.astype(np.uint8)


def test_the_share_of_writing_is_that_of_plain_loops_at_every_edge_of_its_rules():
    draw = random.Random(5)
    shares = Counter(
        compared(
            writing(
                draw.choice((0, 7, 8, 9)), *(draw.randint(39, 43) for _ in range(2)), draw.choice((0, 4, 8, 9)),
                draw.choice((0, draw.randint(60, 80))), draw.choice((10, 11, 12, 13)),
            )
        )
        for _ in range(900)
    )  # fmt: skip
    assert min(shares[0.0], shares[1.0]) > 50, shares


@for_each(
    ("strokes", "step", "flat", "share"),
    [(8, 41, 0, 1.0), (7, 41, 0, 0.0), (8, 40, 0, 0.0), (8, 41, 11, 1.0), (8, 41, 12, 0.0), (4, 200, 0, 0.0)],
)
def test_a_cell_is_writing_from_eight_strokes_of_more_than_forty_on_an_even_ground(strokes, step, flat, share):
    """The ground may rise or fall by 11 from pixel to pixel; two cells of 16 by 16 side by side."""
    cell = np.full((16, 16), 100, np.int16)
    for number in range(strokes):  # short strokes of one pixel: one edge rises, one falls
        cell[number, 6] += step
    cell[:, ::2] += flat
    assert text_share(Image.fromarray(np.tile(cell, (1, 2)).astype(np.uint8))) == share
    assert text_share(Image.fromarray(cell.astype(np.uint8))) == 0.0, "one cell alone is none"


@for_each(("height", "width"), [(3, 3), (20, 31), (300, 270), (257, 40)])
def test_what_look_measures_is_what_its_definitions_say(height, width):
    """Laplacian, Immerkær's estimator and the cosine transform of float64, pixel by pixel."""
    random = np.random.default_rng(height)
    ramp = np.add.outer(np.arange(height), np.arange(width)) * 150 / (height + width)
    pixels = (ramp + random.integers(0, 90, (height, width))).astype(np.uint8)
    content = io.BytesIO()
    Image.fromarray(pixels).save(content, "PNG")
    [row] = look.function(pl.DataFrame({"key": ["k"], "image": [content.getvalue()], "problem": [None]})).rows(named=True)
    plain = pixels.astype(np.float64)
    edges = 4 * plain[1:-1, 1:-1] - plain[:-2, 1:-1] - plain[2:, 1:-1] - plain[1:-1, :-2] - plain[1:-1, 2:]
    top, left = max(0, (height - 256) // 2), max(0, (width - 256) // 2)
    middle = plain[top : top + 256, left : left + 256]
    windows = np.lib.stride_tricks.sliding_window_view(middle, (3, 3))
    noise = np.abs((windows * np.array([[1, -2, 1], [-2, 4, -2], [1, -2, 1]])).sum((2, 3))).mean() * math.sqrt(math.pi / 2) / 6
    assert (row["width"], row["height"], row["problem"]) == (width, height, None)
    assert row["sharpness"] == pytest.approx(edges.var(), rel=1e-4)
    assert row["noise"] == pytest.approx(noise, rel=1e-4)
    assert row["contrast"] == pytest.approx(plain.std(), rel=1e-4)
    likeness = np.asarray(Image.fromarray(pixels).resize((32, 32), Image.Resampling.BOX)).astype(np.float64)
    low = scipy.fft.dctn(likeness, type=2)[:8, :8].ravel()
    above = low - np.median(low[1:])
    clear = [number for number, height in enumerate(above) if abs(height) > 0.5]
    assert len(clear) > 30 and all(row["phash"] >> number & 1 == (above[number] > 0) for number in clear)


@for_each("tile", [1, 2, 4, 16])
def test_a_picture_that_repeats_itself_has_one_hash_on_every_machine(tile):
    """Equal frequencies are no matter of rounding: sums of whole numbers, here one by one, have no order."""
    cosines = [[round(math.cos(math.pi * (2 * p + 1) * f / 64) * 2**20) for p in range(32)] for f in range(8)]
    for seed in range(4):
        grey = np.tile(np.random.default_rng(seed).integers(0, 256, (tile, tile)), (32 // tile, 32 // tile)).astype(np.uint8)
        rows = [[sum(c * int(v) for c, v in zip(wave, line, strict=True)) for wave in cosines] for line in grey]
        low = [sum(c * line[f] for c, line in zip(wave, rows, strict=True)) for wave in cosines for f in range(8)]
        assert phash(grey) == sum(1 << number for number, value in enumerate(low) if value > sorted(low[1:])[31])
        assert tile > 1 or phash(grey) == 1


@for_each(("height", "width"), [(1, 1), (2, 9), (9, 2)])
def test_a_picture_without_a_pixel_inside_its_border_has_neither_edges_nor_noise_nor_writing(height, width):
    pixels = np.random.default_rng(width).integers(0, 256, (height, width), np.uint8)
    content = io.BytesIO()
    Image.fromarray(pixels).save(content, "PNG")
    [row] = look.function(pl.DataFrame({"key": ["k"], "image": [content.getvalue()], "problem": [None]})).rows(named=True)
    assert (row["sharpness"], row["noise"], row["text_share"], row["width"], row["height"]) == (0, 0, 0, width, height)
    assert row["contrast"] == pytest.approx(pixels.std(), rel=1e-4)


@for_each(
    ("kind", "values"),
    [
        ("float", {"7.5": 7.5, " 1e3 ": 1000.0, 3: 3.0, "nan": None, "inf": None, True: None, "x": None, "[1]": None}),
        ("int", {"7": 7, "7.0": 7, "7.5": None, "+3": 3, False: None, "1e400": None}),
        ("int", {-(2**63): -(2**63), -(2**63) - 1: None, 2**63: None, 2**63 - 1: 2**63 - 1}),
        ("bool", {"yes": True, "TRUE": True, "1": True, "no": False, "0": False, "maybe": None, True: True, 0: False}),
        ("text", {"a": "a", 3: "3", True: "true"}),
    ],
)
def test_a_field_is_read_as_its_type_or_is_null(kind, values):
    for value, expected in values.items():
        found = _field(value, kind)
        assert found == expected and type(found) is type(expected), value
    assert _field(None, kind) is None


def compared(pixels):
    for each in (pixels, 255 - pixels):
        share = text_share(Image.fromarray(each))
        assert share == share_by_hand(each)
    return share


@settings(max_examples=10)
@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 3), st.sampled_from([11, 12, 13, 39, 40, 41, 42, 80])), max_size=60),
    st.integers(0, 255),
)
def test_the_share_of_writing_is_that_of_plain_loops_at_every_scale(strokes, ground):
    pixels = np.full((64, 64), ground, np.uint8)
    for column, wide, step in strokes:
        pixels[:, column : column + 1 + wide] = min(255, ground + step)
    compared(pixels)
