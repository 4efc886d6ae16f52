"""Videos are cut at their cuts: pictures and sound in step, once, with the same bytes, each clip a row."""

import io
import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from curate_world import jpeg, tree
from hypothesis import given, settings
from hypothesis import strategies as st

from salon_curate.cli import curate
from salon_curate.clips import watch
from salon_curate.cutting import _Clips, cut, cut_at
from salon_curate.dataset import DataSet, Picture, read_rows
from salon_curate.duplicates_and_splits import duplicates, split
from salon_curate.importing import clips_of
from salon_curate.measures import look
from salon_curate.pipeline import PIPELINE
from salon_curate.running import run, verify
from salon_curate.selection import read_columns
from salon_judges.media.video_container import outline
from salon_judges.media.video_policy import DEFAULT_VIDEO_LIMITS
from salon_synthetic.videos import Shot, write_shots
from salon_taxonomy.errors import IncompleteError, InputError
from salon_taxonomy.testing import HOSTILE_REPLIES
from salon_taxonomy.verdict import Unscored


def measured(content):
    return watch.function(pl.DataFrame({"key": ["a"], "image": [content], "problem": [None]})).row(0, named=True)


def pictures(content):
    with av.open(io.BytesIO(content)) as container:
        return [frame.to_ndarray(format="gray").astype(float) for frame in container.decode(video=0)]


def loud_until(content):
    """Return when the sound of a clip, as it is played, is last above a tenth of its tone; -1 where it never is."""
    last = -1.0
    with av.open(io.BytesIO(content)) as container:
        begin = container.streams.video[0].start_time * container.streams.video[0].time_base
        for frame in container.decode(audio=0) if container.streams.audio else ():
            level = np.abs(frame.to_ndarray()).max(axis=0)
            loud = np.flatnonzero(level > 0.01)
            last = max(last, float(frame.time - begin + loud[-1] / frame.sample_rate)) if len(loud) else last
    return last


@settings(max_examples=6, deadline=None)
@given(st.lists(st.integers(4, 12), min_size=2, max_size=4), st.integers(2, 40), st.sampled_from([".mp4", ".webm", ".mkv"]))
def test_clips_have_the_pictures_of_their_shots_and_the_sound_that_was_heard_with_them(tmp_path_factory, tenths, tone, ending):
    shots = [Shot(count / 10, seed) for seed, count in enumerate(tenths, 1)]
    whole = sum(tenths) / 10
    tone_s = min(tone / 10, whole)
    path = write_shots(tmp_path_factory.mktemp("film") / f"film{ending}", shots, tone=(tone_s, -20.0))
    film = path.read_bytes()
    cuts = measured(film)["cut_times"]
    assert cuts == pytest.approx(np.cumsum(tenths)[:-1] / 10)
    clips = cut_at(film, cuts)
    assert [len(pictures(each)) for each in clips] == tenths
    shown = [picture for each in clips for picture in pictures(each)]
    assert max(np.abs(one - other).mean() for one, other in zip(shown, pictures(film), strict=True)) < 4
    for clip, begin, count in zip(clips, [0.0, *cuts], tenths, strict=True):
        now = measured(clip)
        assert (now["problem"], now["cuts"]) == (None, 0)
        assert now["duration_s"] == pytest.approx(count / 10, abs=0.01)
        left = min(tone_s - begin, count / 10)
        assert loud_until(clip) == pytest.approx(left, abs=0.03) if left > 0.03 else loud_until(clip) < 0.06
    assert cut_at(film, cuts) == clips


@pytest.mark.parametrize("ending", ["mp4", "matroska"])
@pytest.mark.parametrize("aspect", [Fraction(1), Fraction(2), Fraction(16, 11), Fraction(1, 2)])
def test_clips_keep_the_shape_of_the_videos_pixels(aspect, ending):
    film = io.BytesIO()
    with av.open(film, "w", format=ending) as container:
        stream = container.add_stream("libx264", rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        stream.codec_context.sample_aspect_ratio = aspect
        for seed in (1, 1, 1, 1, 2, 2, 2, 2):
            grey = np.random.default_rng(seed).integers(0, 255, (48, 64, 3), np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(grey, format="rgb24")))
        container.mux(stream.encode())
    whole, clips = film.getvalue(), cut_at(film.getvalue(), [0.4])
    plans = [outline(each, DEFAULT_VIDEO_LIMITS) for each in (whole, *clips)]
    assert [plan.aspect for plan in plans] == [aspect] * 3


def test_a_video_of_one_shot_stays_as_it_is_and_odd_sizes_and_turns_are_kept(tmp_path):
    one = write_shots(tmp_path / "one.mp4", [Shot(1.0, 1)]).read_bytes()
    assert cut_at(one, []) == [one]
    turned = write_shots(tmp_path / "turned.mov", [Shot(0.5, 1), Shot(0.5, 2)], rotation=90).read_bytes()

    def rotation(content):
        with av.open(io.BytesIO(content)) as container:
            return next(container.decode(video=0)).rotation

    assert {rotation(clip) for clip in cut_at(turned, [0.5])} == {rotation(turned)} != {0}


def test_what_cannot_be_cut_has_a_reason(tmp_path):
    film = write_shots(tmp_path / "film.mp4", [Shot(0.5, 1), Shot(0.5, 2)]).read_bytes()
    for odd in (b"", film[: len(film) // 2], *(text.encode() for text in HOSTILE_REPLIES[:3])):
        assert isinstance(cut_at(odd, [0.5]), Unscored)
    assert isinstance(cut_at(film, [0.5, 7.0]), Unscored)
    batch = {"image": [None, film, film], "cut_times": [[], None, [9.0]], "duration_s": [1.0, None, 1.0]}
    made = cut.function(pl.DataFrame({"key": ["a", "b", "c"], **batch}))
    assert made["clips"].to_list() == [None] * 3 and made["problem"].null_count() == 0


@pytest.fixture
def films(tmp_path):
    """Two films and a picture, of which the pipeline makes clips."""
    dataset = DataSet.create(tmp_path / "films")
    two = write_shots(tmp_path / "two.mp4", [Shot(1.0, 1), Shot(0.8, 2)], tone=(1.8, -20.0)).read_bytes()
    one = write_shots(tmp_path / "one.mp4", [Shot(1.0, 3)]).read_bytes()
    rows = [Picture("two", two, "a film"), Picture("still", jpeg()), Picture("one", one)]
    dataset.add(iter(rows), "drawn", "folder", shard_rows=2)
    (dataset.folder / PIPELINE).write_text('[[stage]]\nuse = "watch"\n\n[[stage]]\nuse = "cut"\n')
    return dataset


def test_clips_are_rows_with_where_they_come_from_and_a_second_run_has_the_same_bytes(films, tmp_path):
    shots = DataSet.create(tmp_path / "shots")
    with pytest.raises(IncompleteError, match="has not finished"):
        clips_of(films.folder, [])
    run(films, [watch, cut])
    runner = CliRunner()
    imported = runner.invoke(curate, ["import", str(shots.folder), str(films.folder), "--layout", "cuts"])
    assert imported.exit_code == 0 and "3 pictures from films (cuts), 0 with a problem" in imported.output, imported.output
    assert "1 file left out" in imported.output and "still" in imported.output
    shots = DataSet.open(shots.folder)
    rows = read_rows(shots.shard_path("00000"), ["*"]).select("key", "prompt", "meta", "image")
    assert rows["key"].to_list() == ["two#1", "two#2", "one#1"]
    meta = [json.loads(each) for each in rows["meta"]]
    assert [(each["film"], each["from_s"], each["to_s"]) for each in meta] == [
        ("two", 0, 1.0),
        ("two", 1.0, 1.8),
        ("one", 0, 1.0),
    ]
    before = tree(films.folder, "columns")
    for part in Path(films.folder, cut.folder).iterdir():
        part.unlink()
    run(films, [watch, cut])
    assert tree(films.folder, "columns") == before and not verify(films, [watch, cut])


def test_no_split_divides_the_clips_of_one_film(tmp_path):
    """They have no prompt and need not share a stretch; who learns from one has seen the film."""
    shots = DataSet.create(tmp_path / "shots")
    clips = [
        Picture(f"{film}#{place}", jpeg(seed=4 * film + place), meta={"film": film, "film_sha256": f"{film:064x}"})
        for film in range(12)
        for place in range(4)
    ]
    shots.add(iter(clips), "drawn", "cuts", shard_rows=5)
    stages = [look, duplicates, split.with_parameters(shares={"a": 0.5, "b": 0.5})]
    run(shots, stages)
    of_film: dict[str, set[str]] = {}
    for key, part in read_columns(shots, stages, ["split"]).collect().select("key", "split").iter_rows():
        of_film.setdefault(key.partition("#")[0], set()).add(part)
    assert {len(parts) for parts in of_film.values()} == {1} and set.union(*of_film.values()) == {"a", "b"}


def test_a_source_that_is_no_data_set_with_clips_is_refused(films, tmp_path):
    (films.folder / PIPELINE).write_text('[[stage]]\nuse = "watch"\n')
    with pytest.raises(InputError, match="no stage of the pipeline cuts"):
        clips_of(films.folder, [])
    with pytest.raises(InputError, match="is no data set"):
        clips_of(tmp_path, [])


def test_the_encoder_of_a_clip_ends_with_its_pictures_and_not_with_the_film(tmp_path, monkeypatch):
    """One holds 150 MB of a film of 3,840 × 2,160 pixels, and a film may have hundreds of shots."""
    film = write_shots(tmp_path / "film.mp4", [Shot(0.4, 1 + number) for number in range(8)], tone=(3.2, -20.0)).read_bytes()
    at_work = []
    see = _Clips.see

    def counted(clips, frame, at_s):
        see(clips, frame, at_s)
        at_work.append(sum(clip._pictures is not None and clip.seen for clip in clips._open.values()))

    monkeypatch.setattr(_Clips, "see", counted)
    clips = cut_at(film, [0.4 * number for number in range(1, 8)])
    assert [len(pictures(clip)) for clip in clips] == [4] * 8
    assert len(at_work) == 32 and set(at_work) == {1}


CUT_LARGE = """
import sys; from pathlib import Path; import polars as pl; from salon_curate.cutting import cut
film = Path(sys.argv[1]).read_bytes()
cut.function(pl.DataFrame({"key": ["a"], "image": [film], "cut_times": [[0.5]], "duration_s": [1.0]}))
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def test_a_film_of_4k_is_cut_in_400_megabytes_into_clips_that_look_like_it(tmp_path):
    film = write_shots(tmp_path / "film.mp4", [Shot(0.5, 1), Shot(0.5, 2)], size=(3840, 2160))
    done = subprocess.run([sys.executable, "-c", CUT_LARGE, str(film)], capture_output=True, text=True, check=True)
    assert int(done.stdout) / 1024 <= 400
    clips = cut_at(film.read_bytes(), [0.5])
    shown, given = [picture for clip in clips for picture in pictures(clip)], pictures(film.read_bytes())
    assert len(shown) == len(given) == 10
    assert max(np.mean((one - other) ** 2) for one, other in zip(shown, given, strict=True)) < 2  # 45 dB


@pytest.mark.parametrize("ending", ["mp4", "matroska"])
def test_clips_last_as_long_as_their_shots_where_a_picture_stands_at_the_end(ending):
    film = io.BytesIO()
    with av.open(film, "w", format=ending) as container:
        stream = container.add_stream("libx264", rate=25)
        stream.width, stream.height, stream.codec_context.time_base = 64, 48, Fraction(1, 90_000)
        shades = {0: 10, 40: 10, 80: 12, 3000: 200, 3040: 200, 3080: 200, 3120: 200}
        for at_ms, shade in shades.items():
            frame = av.VideoFrame.from_ndarray(np.full((48, 64, 3), shade, np.uint8), format="rgb24")
            frame.pts, frame.time_base = at_ms * 90, Fraction(1, 90_000)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    whole = measured(film.getvalue())
    assert whole["cut_times"] == [3.0]
    clips = [measured(each) for each in cut_at(film.getvalue(), [3.0])]
    assert [each["duration_s"] for each in clips] == pytest.approx([3.0, whole["duration_s"] - 3.0], abs=0.002)


@pytest.mark.parametrize("codec", [("png", "rgba"), ("libx264rgb", "rgb24")])
@pytest.mark.parametrize("size", [(63, 47), (64, 48)])
def test_clips_of_films_that_store_red_green_and_blue_have_their_colours(codec, size):
    film = io.BytesIO()
    with av.open(film, "w", format="mov") as container:
        stream = container.add_stream(codec[0], rate=10)
        (stream.width, stream.height), stream.pix_fmt = size, codec[1]
        for number in range(10):
            shown = np.full((size[1], size[0], 3), (200, 60, 20) if number < 5 else (20, 90, 220), np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(shown, format="rgb24")))
        container.mux(stream.encode())
    for clip, wanted in zip(cut_at(film.getvalue(), [0.5]), [(200, 60, 20), (20, 90, 220)], strict=True):
        with av.open(io.BytesIO(clip)) as container:
            seen = next(container.decode(video=0)).to_ndarray(format="rgb24").mean((0, 1))
        assert np.abs(seen - wanted).max() < 4


@pytest.mark.parametrize(("rate", "layout", "codec"), [
    (48_000, "stereo", "pcm_s16le"), (8_000, "mono", "pcm_s16le"), (192_000, "stereo", "pcm_s16le"),
    (48_000, "7.1", "pcm_s16le"), (48_000, "5.1", "aac"), (48_000, "7.1", "aac"),
])  # fmt: skip
def test_films_of_any_sound_are_cut_with_it(rate, layout, codec):
    """PCM in MKV has channels without names; the eight planes of 7.1 ended the process."""
    film = io.BytesIO()
    with av.open(film, "w", format="matroska") as container:
        pictures = container.add_stream("libx264", rate=10)
        pictures.width, pictures.height, pictures.pix_fmt = 64, 48, "yuv420p"
        track = container.add_stream(codec, rate=rate, layout=layout)
        tone = (np.sin(np.arange(rate) * 2 * np.pi * 440 / rate) * 8000).astype(np.int16)
        channels = av.AudioLayout(layout).nb_channels
        for number in range(10):
            shown = np.full((48, 64, 3), 20 if number < 5 else 200, np.uint8)
            container.mux(pictures.encode(av.VideoFrame.from_ndarray(shown, format="rgb24")))
            part = tone[number * rate // 10 : (number + 1) * rate // 10]
            frame = av.AudioFrame.from_ndarray(np.repeat(part, channels)[None, :], format="s16", layout=layout)
            frame.sample_rate, frame.pts, frame.time_base = rate, number * rate // 10, Fraction(1, rate)
            for piece in av.AudioResampler(track.codec_context.format.name, layout, rate).resample(frame):
                container.mux(track.encode(piece))
        container.mux(track.encode())
        container.mux(pictures.encode())
    clips = cut_at(film.getvalue(), [0.5])
    assert not isinstance(clips, Unscored)
    for clip in clips:
        now = measured(clip)
        assert (now["problem"], now["duration_s"]) == (None, pytest.approx(0.5, abs=0.01))
        assert -30 < now["loudness"] < 0
