"""Clips: imported as pictures are, decoded once, measured as drawn; what is no video is a reason."""

import io
import json
import tarfile
from itertools import combinations, pairwise
from pathlib import Path

import av
import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from curate_world import jpeg, tree
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from pyarrow.parquet import ParquetFile

from for_each import for_each
from salon_curate import asks
from salon_curate.cli import curate
from salon_curate.clips import _grids, _middle_rows, _Seen, timeline, watch
from salon_curate.dataset import DataSet, Picture
from salon_curate.duplicates_and_splits import components, duplicates, longest_run, split, stretches
from salon_curate.edits import edit
from salon_curate.importing import import_pictures
from salon_curate.judging import judge_stage
from salon_curate.measures import laplacian, look, phash
from salon_curate.release import release
from salon_curate.running import run, verify
from salon_curate.selection import read_columns, save_selection, select
from salon_curate.stages import expected_parts
from salon_judges.clients.settings import VideoInput
from salon_judges.clients.videos import as_frames
from salon_judges.media.video_policy import DEFAULT_VIDEO_LIMITS
from salon_synthetic import PixelJudge
from salon_synthetic.videos import CLIP_KINDS, Shot, encode, shot_frames, write_clip, write_shots
from salon_taxonomy.picture_formats import open_picture
from salon_taxonomy.protocols import Question, Reply
from salon_taxonomy.records import CallStatus, MediaKind

THREE = (Shot(1.0, 1), Shot(1.0, 2, "still"), Shot(0.5, kind="black"))


def measured(content):
    return watch.function(pl.DataFrame({"key": ["a"], "image": [content], "problem": [None]})).row(0, named=True)


def frames_of(content):
    """The luma of every frame, 0 to 255, by the plainest use of PyAV: the oracle."""
    with av.open(io.BytesIO(content)) as container:
        coded = [frame.to_ndarray(format="yuv420p")[: frame.height] for frame in container.decode(video=0)]
    return [np.rint((luma.astype(float) - 16) * 255 / 219).clip(0, 255).astype(np.uint8) for luma in coded]


@pytest.mark.parametrize("ending", [".mp4", ".mov", ".mkv", ".webm", ".avi"])
def test_a_drawn_clip_measures_as_it_was_drawn(tmp_path, ending):
    clip = write_shots(tmp_path / f"a{ending}", THREE, tone=(2.5, -23.0))
    row = measured(clip.read_bytes())
    assert (row["frames"], row["duration_s"], row["frame_width"], row["frame_height"]) == (25, pytest.approx(2.5), 160, 120)
    assert row["fps"] == pytest.approx(10.0) and row["problem"] is None
    assert (row["cuts"], row["cut_times"]) == (2, pytest.approx([1.0, 2.0]))
    assert row["black_share"] == pytest.approx(0.2)
    assert 0.3 <= row["frozen_share"] <= 0.6 + 1e-6  # still and black; some encoders sharpen a still picture for a few frames
    assert row["sound"] and row["loudness"] == pytest.approx(-23.0, abs=0.1)
    assert len(row["frame_hashes"]) == 25
    shown = frames_of(clip.read_bytes())
    assert row["brightness"] == pytest.approx(np.mean(shown), abs=1.0)  # the grid sees a row of each cell
    grids = [_grids(_middle_rows(luma))[0] for luma in shown]
    far = [(one ^ phash(grid)).bit_count() for one, grid in zip(row["frame_hashes"], grids, strict=True)]
    assert max(far[:20]) <= 2, far  # levels are rounded before the mean here, after it there


def test_what_a_drawn_clip_lacks_is_zero_or_null(tmp_path):
    rows = {kind: measured(write_clip(tmp_path / f"{kind}.mp4", kind).read_bytes()) for kind in CLIP_KINDS}
    for kind, row in rows.items():
        assert (row["cuts"], row["black_share"], row["sound"], row["loudness"]) == (0, 0.0, False, None), kind
    assert rows["freeze"]["frozen_share"] == 1.0 > rows["clean"]["frozen_share"] == 0.0
    assert rows["flicker"]["motion"] > 10 * rows["clean"]["motion"]
    quiet = write_clip(tmp_path / "quiet.mp4", "clean", tone=(2.0, -200.0))
    assert (measured(quiet.read_bytes())["sound"], measured(quiet.read_bytes())["loudness"]) == (True, -70.0)


def test_a_varying_rate_counts_time_and_not_frames(tmp_path):
    """Ten frames in the first second, then one that stands for two seconds."""
    shots = (Shot(1.0, 1), Shot(0.2, kind="black"))
    clip = write_shots(tmp_path / "a.mp4", shots, stamps=[*range(0, 1000, 100), 1000, 3000])
    row = measured(clip.read_bytes())
    assert row["frames"] == 12 and row["black_share"] > 0.6
    assert len(row["frame_hashes"]) == round(row["duration_s"] * 10)
    assert len(set(row["frame_hashes"][10:])) == 1


@settings(max_examples=60)
@given(hnp.arrays(np.uint8, st.tuples(st.integers(1, 90), st.integers(1, 90))))
def test_a_grid_is_the_mean_of_a_run_of_pixels_of_one_row(luma):
    height, width = luma.shape
    grid = _grids(np.concatenate([np.zeros_like(_middle_rows(luma)), _middle_rows(luma)]))[1]
    for down in range(0, 32, 7):
        for across in range(0, 32, 5):
            first, last = across * width // 32, (across + 1) * width // 32
            run_of_pixels = luma[(2 * down + 1) * height // 64, first : max(last, first + 1)]
            assert grid[down, across] == int(run_of_pixels.mean() + 0.5)


GRIDS = hnp.arrays(np.uint8, st.tuples(st.integers(1, 30), st.just(32), st.just(32)),
                   elements=st.sampled_from([0, 1, 30, 200, 255]))  # fmt: skip


@settings(max_examples=80)
@given(GRIDS, st.randoms(use_true_random=False))
def test_a_timeline_agrees_with_plain_loops_and_is_of_shares(grids, chance):
    times = np.cumsum([0.0, *(chance.choice([0.04, 0.1, 0.5]) for _ in grids[1:])])
    shown = timeline(list(times), grids, float(times[-1]) + 0.1)
    spans = [later - at for at, later in zip(times, [*times[1:], times[-1] + 0.1], strict=True)]
    steps = [np.abs(a.astype(int) - b.astype(int)).mean() for a, b in pairwise(grids)]
    black = sum(span for span, grid in zip(spans, grids, strict=True) if (grid <= 25).mean() >= 0.98)
    assert shown["black_share"] == pytest.approx(black / sum(spans))
    cuts = [times[n + 1] for n in range(1, len(steps) - 1)
            if steps[n] >= 12 and steps[n] > 3 * max(steps[n - 1], steps[n + 1])]  # fmt: skip
    assert shown["cut_times"] == pytest.approx(cuts) and shown["cuts"] == len(cuts)
    assert 0.0 <= shown["frozen_share"] <= 1.0 and 0.0 <= shown["brightness"] <= 255.0 and shown["motion"] >= 0.0
    moments = [sum(at <= number / 10 + 1e-6 for at in times) - 1 for number in range(len(shown["samples"]))]
    assert shown["samples"].tolist() == moments
    light = sum(span * grid.mean() for span, grid in zip(spans, grids, strict=True)) / sum(spans)
    assert shown["brightness"] == pytest.approx(light)
    shots = [sum(times[moment] >= cut for cut in cuts) for moment in moments]
    pairs = [(a, b) for (a, b), (shot, other) in zip(pairwise(moments), pairwise(shots), strict=True) if shot == other]
    moved = [np.abs(grids[a].astype(int) - grids[b].astype(int)).mean() for a, b in pairs]
    assert shown["motion"] == pytest.approx(np.mean(moved) if moved else 0.0)
    assert shown["frozen_share"] == pytest.approx(min(1.0, frozen_by_hand(times, grids) / sum(spans)))


def frozen_by_hand(times, grids):
    stood, ends, first = 0.0, [*times, times[-1] + 0.1], 0
    while first < len(grids):
        last = first
        while last + 1 < len(grids) and np.abs(grids[first].astype(int) - grids[last + 1].astype(int)).mean() <= 0.255:
            last += 1
        seconds = ends[last + 1] - ends[first]
        stood += seconds if last > first and seconds >= 0.5 - 1e-6 else 0.0
        first = last + 1
    return stood


@for_each(("gap", "share"), [(0.24, 0.0), (0.25, 1.0), (0.3, 1.0)])
def test_two_frames_are_frozen_from_half_a_second_and_differ_by_at_most_a_thousandth_of_white(gap, share):
    grids = np.full((2, 32, 32), 60, np.uint8)
    assert timeline([0.0, gap], grids, 2 * gap)["frozen_share"] == pytest.approx(share)
    for cells, still in ((261, share), (262, 0.0)):  # 0.255 of 1,024 cells that differ by one
        changed = grids.copy()
        changed[1].reshape(-1)[:cells] += 1
        assert timeline([0.0, gap], changed, 2 * gap)["frozen_share"] == pytest.approx(still)


@for_each(("level", "cells", "share"), [(25, 1024, 1.0), (26, 1024, 0.0), (25, 1004, 1.0), (25, 1003, 0.0)])
def test_a_frame_is_black_where_98_percent_of_it_is_at_most_a_tenth_of_white(level, cells, share):
    grids = np.full((1, 1024), 200, np.uint8)
    grids[0, :cells] = level
    assert timeline([0.0], grids.reshape(1, 32, 32), 1.0)["black_share"] == share


@for_each(("step", "beside", "cuts"), [(12, 0, 1), (11, 0, 0), (31, 10, 1), (30, 10, 0)])
def test_a_cut_is_a_step_of_twelve_that_is_over_three_times_those_beside_it(step, beside, cuts):
    levels = [100, 100 + beside, 100 + beside + step, 100 + 2 * beside + step]
    grids = np.repeat(np.array(levels, np.uint8), 1024).reshape(4, 32, 32)
    shown = timeline([0.0, 0.1, 0.2, 0.3], grids, 0.4)
    assert (shown["cuts"], shown["cut_times"]) == (cuts, [0.2] * cuts)


def folder_of_clips(folder):
    folder.mkdir()
    for number in range(3):
        write_shots(folder / f"{number}.mp4", [Shot(0.5, number), Shot(0.5, number + 10)])
    (folder / "cut.mp4").write_bytes((folder / "0.mp4").read_bytes()[:-900])
    (folder / "empty.webm").write_bytes(b"")
    (folder / "playlist.mp4").write_text("#EXTM3U\nfile:///etc/passwd\n")
    (folder / "head.mkv").write_bytes(b"\x1aE\xdf\xa3" + b"\0" * 50)
    (folder / "still.jpg").write_bytes(jpeg())
    return folder


def test_clips_and_pictures_lie_in_one_data_set_and_each_stage_measures_its_own(tmp_path):
    dataset = DataSet.create(tmp_path / "d")
    source = import_pictures(dataset, folder_of_clips(tmp_path / "in"), shard_rows=3)
    assert (source.rows, source.problems) == (8, 2)  # what is no video by its head: the playlist and the empty file
    assert run(dataset, [look, watch]).set_aside == () and verify(dataset, [look, watch]) == []
    columns = ["problem", "look_problem", "watch_problem", "cuts", "width"]
    rows = {
        key: rest for key, *rest in read_columns(dataset, [look, watch], columns).select("key", *columns).collect().iter_rows()
    }
    for number in range(3):
        assert rows[f"{number}.mp4"] == [None, "the row is a video, which the stage watch measures", None, 1, None]
    assert rows["still.jpg"] == [None, None, "the row is a picture, which the stage look measures", None, 64]
    for key in ("cut.mp4", "empty.webm", "playlist.mp4", "head.mkv"):
        assert rows[key][2] and rows[key][3] is None, key
    assert select(dataset, [look, watch], {"all": "key IS NOT NULL"}).kept == 4
    chosen = select(dataset, [look, watch], {"cut": "cuts = 1"}, "v1")
    save_selection(dataset, [look, watch], chosen)
    written = release(dataset, [look, watch], "v1", "v1", columns=["duration_s"], form="webdataset")
    assert sum(written.pictures.values()) == 3
    with tarfile.open(next((written.folder / "data").iterdir())) as archive:
        assert {name.rpartition(".")[2] for name in archive.getnames()} == {"mp4", "json", "txt"}


def test_a_table_and_an_archive_name_clips_too(tmp_path):
    clips = folder_of_clips(tmp_path / "in")
    (clips / "rows.jsonl").write_text("".join(json.dumps({"key": f"k{n}", "video": f"{n}.mp4", "prompt": "a pan"}) + "\n"
                                              for n in range(3)))  # fmt: skip
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for number in range(3):
            archive.add(clips / f"{number}.mp4", f"k{number}.mp4")
    kept = []
    for name, source in (("table", clips / "rows.jsonl"), ("tar", tmp_path / "a.tar")):
        dataset = DataSet.create(tmp_path / name)
        assert import_pictures(dataset, source).problems == 0
        kept.append(pl.read_parquet(dataset.shard_path("00000"), columns=["key", "image", "sha256"]))
    assert kept[0].equals(kept[1])


def test_large_clips_are_read_a_few_at_a_time(tmp_path):
    """Twenty files of 1 MiB or more lie in several row groups, and a stage is given as few."""
    source = tmp_path / "in"
    source.mkdir()
    clip = write_shots(tmp_path / "a.mp4", [Shot(0.5, 1)]).read_bytes()
    for number in range(20):
        rest = b"\0\0\0\x08free" * (1 << 17) + b"\0\0\0\x09free" + bytes([number])
        (source / f"{number:02d}.mp4").write_bytes(clip + rest)
    dataset = DataSet.create(tmp_path / "d")
    import_pictures(dataset, source)
    sizes = [len(rows) for rows in watch.batches(str(dataset.folder), "00000", 20, {})]
    assert sum(sizes) == 20 and max(sizes) <= 16
    assert ParquetFile(dataset.shard_path("00000")).num_row_groups == 2


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_damage_anywhere_in_a_clip_is_a_measure_or_a_reason_and_never_an_error(clip_bytes, data):
    content = bytearray(clip_bytes)
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] = data.draw(st.integers(0, 255))
    row = measured(bytes(content[: data.draw(st.integers(len(content) // 2, len(content)))]))
    assert (row["frames"] is None) == (row["problem"] is not None)


@pytest.fixture(scope="module")
def clip_bytes(tmp_path_factory):
    return write_shots(tmp_path_factory.mktemp("clip") / "a.mp4", THREE, tone=(2.5, -20.0)).read_bytes()


def test_import_and_run_as_commands_give_the_same_bytes_with_any_number_of_workers(tmp_path):
    clips = folder_of_clips(tmp_path / "in")
    trees = []
    for workers in ("1", "2"):
        folder = tmp_path / f"d{workers}"
        for words in (["init", folder], ["import", folder, clips, "--shard-rows", "3"]):
            assert CliRunner().invoke(curate, [str(each) for each in words], catch_exceptions=False).exit_code == 0
        (folder / "pipeline.toml").write_text('[[stage]]\nuse = "watch"\n')
        done = CliRunner().invoke(curate, ["run", str(folder), "--workers", workers, "--quiet"], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        trees.append(tree(folder, "columns"))
    assert trees[0] == trees[1] and len(trees[0]) == 3
    assert Path(folder, "dataset.json").exists()


SHOWN = json.dumps({"faults": [], "acceptable": True})


def test_a_judge_is_shown_the_frames_of_a_clip_in_their_order_and_its_reply_is_typed(tmp_path):
    clips = tmp_path / "in"
    clips.mkdir()
    write_shots(clips / "a.mp4", [Shot(1.0, 1), Shot(1.0, kind="black")])
    (clips / "b.mp4").write_bytes((clips / "a.mp4").read_bytes()[:-900])
    dataset = DataSet.create(tmp_path / "d")
    import_pictures(dataset, clips)
    seen = []

    class Sees:
        name = version = "sees"

        async def ask(self, question):
            [media] = question.media
            seen.append((media, as_frames(media, VideoInput())))
            return Reply(SHOWN, version=self.version)

    stage = judge_stage(asks.quality(), Sees())
    run(dataset, [stage])
    rows = read_columns(dataset, [stage], ["quality_pass", "quality_problem"]).collect().rows()
    assert rows[0] == ("a.mp4", True, None)
    assert rows[1][1] is None and rows[1][2].startswith("bad_media: ")
    [(media, parts)] = seen
    assert media.kind is MediaKind.VIDEO and media.data == (clips / "a.mp4").read_bytes()
    assert parts[0] == "A video of 2.0 seconds, as 10 frames in their order:"
    dark = [open_picture(each.data).convert("L").getextrema()[1] < 25 for each in parts if not isinstance(each, str)]
    assert dark == [False] * 5 + [True] * 5
    run(dataset, [judge_stage(asks.quality(), Sees(), name="again")])
    assert len(seen) == 2  # another stage, another journal


@pytest.mark.parametrize("text", ["", "A fine clip!", '{"faults": [], "accep', '{"faults": ["shaky"], "acceptable": true}'])
def test_a_reply_about_a_clip_that_cannot_be_read_is_a_reason(tmp_path, text):
    clips = tmp_path / "in"
    clips.mkdir()
    write_shots(clips / "a.mp4", [Shot(0.5, 1)])
    dataset = DataSet.create(tmp_path / "d")
    import_pictures(dataset, clips)

    class Says:
        name = version = "says"

        async def ask(self, question):
            return Reply(text, version=self.version)

    stage = judge_stage(asks.quality(), Says())
    assert run(dataset, [stage]).problems == 1
    [(_, value, problem)] = read_columns(dataset, [stage], ["quality_pass", "quality_problem"]).collect().rows()
    assert value is None and problem


class PicturesAlone(PixelJudge):
    async def ask(self, question: Question) -> Reply:
        if any(media.kind == MediaKind.VIDEO for media in question.media):
            return Reply("", CallStatus.REJECTED, self.version, error="this judge sees pictures alone")
        return await super().ask(question)


def test_a_judge_that_sees_pictures_alone_leaves_its_shard_unfinished_and_says_why(tmp_path):
    clips = tmp_path / "in"
    clips.mkdir()
    write_shots(clips / "a.mp4", [Shot(0.5, 1)])
    (clips / "rows.jsonl").write_text(json.dumps({"key": "a", "video": "a.mp4", "prompt": "two red circles"}) + "\n")
    dataset = DataSet.create(tmp_path / "d")
    import_pictures(dataset, clips / "rows.jsonl")
    stage = judge_stage(asks.agreement(), PicturesAlone())
    [reason] = run(dataset, [stage]).set_aside
    assert "this judge sees pictures alone" in reason


def test_a_clip_that_is_cut_out_of_another_encoded_again_and_resized_is_found_with_its_place(tmp_path):
    clips = tmp_path / "in"
    clips.mkdir()
    long = [Shot(3.0, 1), Shot(4.0, 2), Shot(3.0, 3)]
    write_shots(clips / "a.mp4", long, rate=20)
    part = list(shot_frames(long, 20, (160, 120)))[91:131]  # 4.55 to 6.55 s
    small = [frame.resize((96, 72)) for frame in part]
    encode(clips / "b.webm", iter(small), size=(96, 72), rate=20)
    first = next(shot_frames(long, 20, (160, 120)))
    other = list(shot_frames([Shot(3.0, 9)], 20, (160, 120)))
    encode(clips / "c.mp4", iter([first, *other]), size=(160, 120), rate=20)  # shares its first frame alone
    for name, seed in (("d.mp4", 20), ("e.mp4", 21)):
        write_shots(clips / name, [Shot(2.0, kind="black"), Shot(2.0, seed)])  # share black alone
    (clips / "f.mp4").write_bytes(b"\0\0\0\x20ftypisom")
    dataset = DataSet.create(tmp_path / "d")
    import_pictures(dataset, clips, shard_rows=2)
    run(dataset, [watch, stretches])
    columns = ["stretch_of", "stretch_s", "stretch_at_s", "stretch_of_at_s"]
    rows = {key: rest for key, *rest in read_columns(dataset, [watch, stretches], columns).collect().iter_rows()}
    assert {key for key, rest in rows.items() if rest[0]} == {"b.webm"}
    of, seconds, at, of_at = rows["b.webm"]
    assert (of, at) == ("a.mp4", pytest.approx(0.0, abs=0.2))
    assert seconds >= 1.7 and of_at - at == pytest.approx(4.55, abs=0.11)


@settings(max_examples=60)
@given(st.lists(st.sampled_from([0, 1, 0xFF, 0xFF00FF, 2**60 - 1]), max_size=9),
       st.lists(st.sampled_from([0, 0xFF, 0x1FF]), max_size=9))  # fmt: skip
def test_the_longest_run_agrees_with_all_pairs_of_places(one, other):
    runs = [0]
    for a in range(len(one)):
        for b in range(len(other)):
            length = 0
            while a + length < len(one) and b + length < len(other):
                left, right = one[a + length], other[b + length]
                if not left or not right or (left ^ right).bit_count() > 6:
                    break
                length += 1
            runs.append(length)
    length, at, of_at = longest_run(np.array(one, np.uint64), np.array(other, np.uint64))
    assert length == max(runs) and (length > 0 or (at, of_at) == (0, 0))
    for step in range(length):
        assert (one[at + step] ^ other[of_at + step]).bit_count() <= 6


@given(st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=3), max_size=12), st.integers(0, 3))
def test_clips_that_stretches_connect_are_one_group_and_in_one_split(scenes, seed):
    """A scene is 2 s of hashes; clips that show one scene share it, also by way of a third clip."""
    chance = np.random.default_rng(0)
    shown = chance.integers(1, 2**63, (6, 20), dtype=np.uint64)
    keys = [f"c{number:02}" for number in range(len(scenes))]
    hashes = [np.concatenate([shown[scene] for scene in clip]).tolist() for clip in scenes]
    frame = pl.DataFrame({"key": keys, "frame_hashes": hashes}, schema={"key": pl.String, "frame_hashes": pl.List(pl.UInt64)})
    made = stretches.function(frame)
    group = dict(made.select("key", "stretch_group").iter_rows())
    reach = {key: {key} for key in keys}
    for _ in keys:
        for one, mine in zip(keys, scenes, strict=True):
            for other, theirs in zip(keys, scenes, strict=True):
                if set(mine) & set(theirs):
                    reach[one] |= reach[other]
    assert group == {key: min(of) if len(of) > 1 else None for key, of in reach.items()}
    empty = pl.lit(None, pl.String)
    rows = frame.select("key", prompt=empty, duplicate_of=empty, near_duplicate_of=empty).join(made, on="key")
    where = dict(split.function(split.prepare(rows), {"train": 0.5, "held": 0.5}, seed=seed).iter_rows())
    assert all(len({where[each] for each in of}) == 1 for of in reach.values())


@for_each(("bits", "nearest", "found"), [(3, 3, True), (6, 3, True), (6, 4, False), (4, 4, False), (7, 3, False)])
def test_clips_are_compared_where_samples_differ_in_three_bits_and_share_samples_of_at_most_six(bits, nearest, found):
    shown = np.random.default_rng(1).integers(1, 2**57, 15, dtype=np.uint64)
    far = np.array([2**nearest - 1, *[2**bits - 1] * 14], np.uint64) << np.uint64(57)
    clips = pl.DataFrame({"key": ["a", "b"], "frame_hashes": [shown.tolist(), (shown ^ far).tolist()]},
                         schema={"key": pl.String, "frame_hashes": pl.List(pl.UInt64)})  # fmt: skip
    made = stretches.function(clips).rows(named=True)
    where = {"stretch_of": "a", "stretch_s": 1.5, "stretch_at_s": 0.0, "stretch_of_at_s": 0.0} if found else {}
    assert made[1] == {**dict.fromkeys(stretches.writes), **where, "key": "b", "stretch_group": "a" if found else None}
    assert made[0]["stretch_of"] is None and (made[0]["stretch_group"] == "a") is found


def test_the_split_of_a_pipeline_reads_stretches_where_they_are(tmp_path):
    dataset = DataSet.create(tmp_path / "films")
    shots = [Shot(2.5, 1)]
    whole = write_shots(tmp_path / "one.mp4", shots).read_bytes()
    again = write_shots(tmp_path / "two.mp4", [Shot(2.0, 7), *shots]).read_bytes()
    dataset.add(iter([Picture(f"{name}{number}", content) for number in range(3) for name, content in
                      (("one", whole), ("two", again))]), "drawn", "folder", shard_rows=2)  # fmt: skip
    without = [look, duplicates, split]
    parts = expected_parts(dataset, without)["split"]
    stages = [watch, look, duplicates, stretches, split.with_parameters(shares={"a": 0.5, "b": 0.5})]
    run(dataset, stages)
    found = read_columns(dataset, stages, ["split", "stretch_group"]).collect()
    assert found["split"].n_unique() == 1 and set(found["stretch_group"]) == {"one0"}
    assert [part.path for part in expected_parts(dataset, without)["split"]] == [part.path for part in parts]


@given(hnp.arrays(np.uint8, st.tuples(st.integers(3, 20), st.integers(3, 20))), st.data())
def test_the_edges_of_some_rows_are_those_of_the_whole_picture(luma, data):
    rows = data.draw(st.lists(st.integers(1, len(luma) - 2), min_size=1))
    plain = np.pad(luma.astype(int), 1)
    beside = plain[:-2, 1:-1] + plain[2:, 1:-1] + plain[1:-1, :-2] + plain[1:-1, 2:]
    edges = (4 * luma.astype(int) - beside)[:, 1:-1]
    assert laplacian(luma, np.array(rows)).tolist() == edges[rows].tolist()
    assert laplacian(luma.astype(np.int16)).tolist() == edges[1:-1].tolist()


@for_each(
    ("measure", "content", "words"),
    [(look, None, "there is no picture"), (watch, None, "there is no video"), (edit, None, "there is no picture"),
     (watch, jpeg(), "the row is a picture, which the stage look measures"), (edit, jpeg(), "the row is no edit")],
)  # fmt: skip
def test_a_row_that_a_stage_has_nothing_to_measure_of_has_the_reason_of_the_import_or_the_stages_own(measure, content, words):
    reasons = [None, "cut off in the archive"]
    types = {"key": pl.String, "image": pl.Binary, "edited": pl.Binary, "problem": pl.String}
    rows = [("0", content, None, reasons[0]), ("1", content, None, reasons[1])]
    found = measure.function(pl.DataFrame(rows, schema=types, orient="row"))
    assert found["problem"].to_list() == [words, reasons[1]]
    assert found.select(*measure.writes).null_count().row(0) == (2,) * len(measure.writes)


@for_each(("kind", "full"), [("gray", True), ("yuvj420p", True), ("yuv420p", False)])
def test_the_sharpness_of_a_frame_is_that_of_its_levels_from_black_to_white(kind, full):
    levels = np.random.default_rng(2).integers(0, 256, (64, 64)).astype(np.uint8)
    coded = levels if full else np.rint(levels.astype(float) * 219 / 255 + 16).astype(np.uint8)
    planes = coded if kind == "gray" else np.concatenate([coded, np.full((32, 64), 128, np.uint8)])
    seen = _Seen()
    seen.see(av.VideoFrame.from_ndarray(planes, format=kind), 0.0)
    rows = levels.astype(float)
    edges = 4 * rows[1:-1, 1:-1] - rows[:-2, 1:-1] - rows[2:, 1:-1] - rows[1:-1, :-2] - rows[1:-1, 2:]
    assert seen.sharpness == [pytest.approx(edges[::8].var(), rel=1e-5 if full else 0.01)]


def test_sound_lasts_as_long_as_a_video_may_and_not_a_sample_longer():
    longest, rate = DEFAULT_VIDEO_LIMITS.most_seconds, 8000
    for samples, fits in ((1024, True), (1025, False)):
        seen = _Seen()
        seen._heard_s = longest - 1024 / rate  # both are exact in binary
        piece = av.AudioFrame.from_ndarray(np.zeros((1, samples), np.float32), "fltp", "mono")
        piece.sample_rate = rate
        if fits:
            seen.hear(piece)
        else:
            with pytest.raises(ValueError, match=f"lasts over {longest:,.0f} s"):
                seen.hear(piece)


@given(st.integers(0, 8).flatmap(lambda rows: st.lists(
    st.lists(st.none() | st.integers(0, 5), min_size=rows, max_size=rows), min_size=1, max_size=3)))  # fmt: skip
def test_rows_that_share_a_label_of_any_column_are_one_component_also_by_way_of_others(columns):
    heads = [*range(len(columns[0]))]
    for _ in heads:
        for labels in columns:
            for one, other in combinations(range(len(heads)), 2):
                if labels[one] is not None and labels[one] == labels[other]:
                    heads[one] = heads[other] = min(heads[one], heads[other])
    assert components([pl.Series(labels, dtype=pl.Int64) for labels in columns]).tolist() == heads


def test_sharpness_is_measured_once_a_second_and_times_never_go_back():
    seen = _Seen()
    for number in range(26):
        frame = av.VideoFrame.from_ndarray(np.full((64, 64), 10 * number, np.uint8), format="gray")
        seen.see(frame, -0.01 if number == 0 else number / 10 if number != 7 else 0.55)
    assert len(seen.sharpness) == 3 and len(seen.times) == 26
    assert seen.times[:9] == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.6, 0.8])
    assert seen.grids()[:, 0, 0].tolist() == [min(255, 10 * number) for number in range(26)]
