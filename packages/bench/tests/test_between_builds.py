"""Pixel measures of two builds: which files are paired, what each row holds, and what is missing instead of measured."""

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image, ImageOps
from PIL.PngImagePlugin import PngInfo

from for_each import for_each
from salon_bench.analysis.between_builds import MEASURES, PairMeasure, between, mean_psnr
from salon_judges.formats.generations import Generated, read_own_names
from salon_judges.media import VideoPolicy, sample_video
from salon_ranking.pixels import psnr, ssim
from salon_synthetic.videos import clip_frames, encode, write_clip
from salon_taxonomy.errors import InputError
from salon_taxonomy.picture_decoding import SourceLimits, decode


@pytest.fixture
def builds(tmp_path):
    """Two folders of eight pictures of four prompts; the second has noise."""
    random = np.random.default_rng(4)
    for build in ("base", "new"):
        (tmp_path / build).mkdir()
    for number in range(8):
        pixels = random.integers(30, 220, (24, 32, 3))
        name = f"p{number // 2}.{number % 2}.png"
        Image.fromarray(pixels.astype(np.uint8)).save(tmp_path / "base" / name)
        Image.fromarray((pixels + random.integers(-5, 6, pixels.shape)).astype(np.uint8)).save(tmp_path / "new" / name)
    return tmp_path


def of(builds: Path, *measures: str, **options: object) -> pl.DataFrame:
    base, new = (read_own_names(builds / build) for build in ("base", "new"))
    return between(base, new, measures or ("psnr", "ssim"), **options)


def pixels(path: Path) -> np.ndarray:
    return np.asarray(Image.open(path).convert("RGB"))


def test_rows_are_of_each_pair_and_measure_and_do_not_depend_on_threads_or_order(builds):
    seen = []
    rows = of(builds, "ssim", "psnr", progress=lambda done, number: seen.append((done, number)))
    assert seen == [(number, 8) for number in range(1, 9)]
    assert rows.select("prompt_id", "sample", "measure").rows() == [
        (f"p{number // 2}", number % 2, measure) for number in range(8) for measure in ("ssim", "psnr")
    ]
    for row in rows.iter_rows(named=True):
        a, b = (pixels(builds / build / f"{row['prompt_id']}.{row['sample']}.png") for build in ("base", "new"))
        assert row["value"] == {"ssim": ssim, "psnr": psnr}[row["measure"]](a, b)
    assert not rows["identical"].any() and rows["reason"].is_null().all() and rows["detail"].is_null().all()
    assert rows["generation_id"].n_unique() == 8
    base, new = (list(reversed(read_own_names(builds / build))) for build in ("base", "new"))
    for threads in (1, 3):
        assert between(base, new, ("ssim", "psnr"), threads=threads).equals(rows)


def test_files_and_pixels_that_are_equal_have_the_best_value_and_are_marked(builds):
    names = ("p0.0.png", "p0.1.png")
    (builds / "new" / names[0]).write_bytes((builds / "base" / names[0]).read_bytes())
    note = PngInfo()
    note.add_text("steps", "30")
    Image.open(builds / "base" / names[1]).save(builds / "new" / names[1], pnginfo=note)
    rows = of(builds, *MEASURES).filter(prompt_id="p0")
    assert rows["identical"].all() and rows["reason"].is_null().all()
    for name, values in rows.group_by("measure"):
        assert values["value"].to_list() == [MEASURES[name[0]].equal if name[0] != "psnr" else None] * 2


def test_equal_files_that_are_no_pictures_have_no_verdict(builds):
    for build in ("base", "new"):
        (builds / build / "p0.0.png").write_bytes(b"%!PS-Adobe")
    row = of(builds, "ssim").row(0, named=True)
    assert (row["value"], row["identical"], row["reason"]) == (None, False, "bad_media")
    assert row["detail"].startswith("both: the file is none of the picture formats")


def test_what_cannot_be_measured_has_a_reason_and_no_value(builds):
    (builds / "new" / "p0.0.png").write_bytes((builds / "new" / "p0.1.png").read_bytes()[:200])
    (builds / "base" / "p0.1.png").write_bytes(b"")
    Image.new("RGB", (16, 24)).save(builds / "new" / "p1.0.png")
    for build in ("base", "new"):
        Image.new("RGB", (8, 8), (len(build), 0, 0)).save(builds / build / "p1.1.png")
    (builds / "new" / "p2.0.png").unlink()
    (builds / "new" / "p2.0.png").symlink_to(builds / "base" / "p2.0.png")
    rows = of(builds, "ssim")
    found = {(row["prompt_id"], row["sample"]): row for row in rows.iter_rows(named=True)}
    missing = {key: row["detail"] for key, row in found.items() if row["reason"]}
    assert all(found[key]["value"] is None and found[key]["reason"] == "bad_media" for key in missing)
    expected = {
        ("p0", 0): "new: the file is",
        ("p0", 1): "base: the file is empty",
        ("p1", 0): "sizes differ: 32x24 and 16x24",
        ("p1", 1): "a picture needs 11 pixels or more in height and width, not 8x8",
        ("p2", 0): "new: the file lies outside the folder",
    }
    assert missing.keys() == expected.keys()
    assert [key for key, words in expected.items() if not missing[key].startswith(words)] == []
    assert found["p2", 0]["generation_id"] is None and found["p0", 1]["generation_id"] is not None


def test_pictures_that_one_side_lacks_are_refused_by_name(builds):
    (builds / "new" / "p3.1.png").unlink()
    with pytest.raises(InputError, match=r"new: lacks 1 of 8 pictures, such as sample 1 of prompt 'p3'"):
        of(builds)
    (builds / "base" / "p3.1.png").unlink()
    (builds / "base" / "p0.0.png").unlink()
    with pytest.raises(InputError, match=r"old: lacks 1 of 7 pictures, such as sample 0 of prompt 'p0'"):
        of(builds, names=("old", "new"))
    files = read_own_names(builds / "new")
    with pytest.raises(InputError, match="has two files of sample 0 of prompt 'p0'"):
        between([*files, files[0]], files)
    with pytest.raises(InputError, match="has no picture"):
        between([], [])


@for_each("wrong", [("dists",), (), "ssim"])
def test_unknown_measures_are_refused(builds, wrong):
    files = read_own_names(builds / "base")
    with pytest.raises(InputError, match="psnr, ssim, ms_ssim, colour_difference, lpips, lpips_vgg, flicker"):
        between(files, files, wrong)


def test_measures_of_ones_own_are_taken_and_a_number_that_is_none_is_no_score(builds):
    def brighter(base, new):
        return float(new.mean() - base.mean())

    rows = between(
        read_own_names(builds / "base"),
        read_own_names(builds / "new"),
        {"brighter": PairMeasure(brighter, 0.0), "broken": PairMeasure(lambda *_: math.nan, 0.0)},
    )
    of_first = [pixels(builds / build / "p0.0.png").mean() for build in ("base", "new")]
    assert rows["value"][0] == pytest.approx(of_first[1] - of_first[0])
    broken = rows.filter(measure="broken")
    assert broken["value"].is_null().all() and set(broken["detail"]) == {"the measure returned nan"}


def test_grey_pictures_and_pictures_with_transparent_parts_are_compared_as_judges_see_them(builds):
    Image.new("L", (20, 20), 100).save(builds / "base" / "p0.0.png")
    Image.new("RGBA", (20, 20), (100, 100, 100, 255)).save(builds / "new" / "p0.0.png")
    assert of(builds, "colour_difference").row(0, named=True)["identical"]
    assert of(builds, "ssim", limits=SourceLimits(most_pixels=399))["detail"][0].startswith(
        "base: the picture has 20 × 20 pixels"
    )


def frames_of(path: Path, policy: VideoPolicy) -> list[np.ndarray]:
    film = sample_video(path.read_bytes(), policy).film
    return [np.asarray(decode(frame.image.data).image.convert("RGB")) for frame in film.frames]


def test_videos_are_compared_frame_by_frame_and_flicker_is_the_change_of_the_difference(tmp_path):
    clips = [tmp_path / build / "cat.mp4" for build in ("base", "new")]
    for clip, kind in zip(clips, ("clean", "flicker"), strict=True):
        clip.parent.mkdir()
        write_clip(clip, kind, seconds=1.0, seed=3)
    rows = of(tmp_path, "psnr", "ssim", "flicker")
    base, new = (frames_of(clip, VideoPolicy(frames_per_second=10.0, quality=100)) for clip in clips)  # the clips' own rate
    values = dict(rows.select("measure", "value").rows())
    assert values["ssim"] == pytest.approx(np.mean([ssim(a, b) for a, b in zip(base, new, strict=True)]))
    assert values["psnr"] == pytest.approx(psnr(np.concatenate(base), np.concatenate(new)))
    differences = np.array(new, float) - np.array(base, float)
    assert values["flicker"] == pytest.approx(np.abs(np.diff(differences, axis=0)).mean())
    assert values["flicker"] > 0.0
    clips[1].write_bytes(clips[0].read_bytes())
    assert of(tmp_path, "psnr", "ssim", "flicker").select("value", "identical").rows() == [
        (None, True),
        (1.0, True),
        (0.0, True),
    ]
    write_clip(clips[1], "clean", seconds=2.0, seed=3)
    assert of(tmp_path)["detail"][0] == "numbers of frames differ: 60 and 120"


def test_what_happens_between_fifths_of_a_second_is_seen(tmp_path):
    """Every second frame inverted, at ten frames per second: five per second would show none of it."""
    frames = list(clip_frames("clean", 10, seed=3))
    for build in ("base", "new"):
        (tmp_path / build).mkdir()
        shown = [ImageOps.invert(one) if build == "new" and place % 2 else one for place, one in enumerate(frames)]
        encode(tmp_path / build / "cat.mp4", shown, size=(160, 120), rate=10)
    values = dict(of(tmp_path, "psnr", "flicker").select("measure", "value").rows())
    assert values["psnr"] < 12 and values["flicker"] > 50


def test_flicker_needs_a_video_of_two_frames_and_a_video_is_not_held_against_a_picture(builds):
    assert set(of(builds, "flicker")["detail"]) == {"flicker is of videos"}
    for build, kind in (("base", "clean"), ("new", "flicker")):
        write_clip(builds / build / "clip.mp4", kind, seconds=0.5, seed=3)
    short = of(builds, "flicker", frames=VideoPolicy(frames_per_second=1.0)).filter(prompt_id="clip")
    assert short["detail"].to_list() == ["flicker needs two frames or more"]
    (builds / "new" / "clip.mp4").unlink()
    Image.new("RGB", (20, 20)).save(builds / "new" / "clip.png")
    assert of(builds).filter(prompt_id="clip")["detail"][0] == "one is a picture, the other a video"


@for_each("values", [[20.0, 30.0, 41.5], [25.0, math.inf]])
def test_the_psnr_of_frames_is_that_of_their_mean_squared_error(values):
    errors = [255**2 / 10 ** (value / 10) for value in values]
    assert mean_psnr(values) == pytest.approx(10 * math.log10(255**2 / np.mean(errors)))


def test_names_of_files_say_their_prompts(tmp_path):
    for name in ("a.png", "b.2.PNG", "b.10.png", "v1.5.0.png", ".hidden", "notes.txt"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "dog").mkdir()
    (tmp_path / "dog" / "3.webp").write_bytes(b"")
    (tmp_path / "dog" / "draft.webp").write_bytes(b"")
    found = [(file.prompt_id, file.sample) for file in read_own_names(tmp_path)]
    assert sorted(found) == [("a", 0), ("b", 2), ("b", 10), ("dog", 3), ("v1.5", 0)]


def test_a_table_of_several_models_needs_the_name_of_one(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("prompt_id,path,model,sample\ncat,1.png,x,0\ncat,2.png,y,0\ncat,3.png,y,1\n")
    with pytest.raises(InputError, match=r"several models; name one \(allowed: x, y\)"):
        read_own_names(table)
    assert [file.path.name for file in read_own_names(table, "y")] == ["2.png", "3.png"]
    table.write_text("prompt_id,path\ncat,1.png\n")
    assert read_own_names(table) == (Generated("cat", "table", 0, tmp_path / "1.png", tmp_path),)


def test_a_folder_without_pictures_and_a_missing_one_are_refused(tmp_path):
    with pytest.raises(InputError, match="no picture and no video"):
        read_own_names(tmp_path)
    with pytest.raises(InputError, match="there is no such file or folder"):
        read_own_names(tmp_path / "builds")
