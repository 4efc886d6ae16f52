"""Videos are sampled by their time stamps, whatever their rate; what is no whole video is named and never raises."""

import hashlib
import os
import struct
from dataclasses import astuple
from fractions import Fraction
from io import BytesIO
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from for_each import for_each
from salon_bench.report.thumbnails import NoThumbnail, Thumbnail, thumbnails
from salon_bench.runs.judged_files import JudgedFile
from salon_console import main
from salon_judges.media import PictureCache, PicturePolicy, VideoLimits, VideoPolicy, prepare_video, sample_video
from salon_judges.media.contact_sheet import contact_sheet
from salon_judges.media.video_container import container_of
from salon_judges.media.video_policy import DEFAULT_VIDEO_LIMITS, thinned, times_at
from salon_judges.media.video_sampling import SampledVideo
from salon_synthetic.videos import clip_frames, encode, write_clip
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Film, Frame, Media, Question
from salon_taxonomy.records import MediaKind
from salon_taxonomy.verdict import Reason, Unscored

av = pytest.importorskip("av")
POLICY = VideoPolicy()


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clips")
    for ending in ("mp4", "mov", "mkv", "webm", "avi"):
        write_clip(folder / f"ball.{ending}", "pop")
    write_clip(folder / "fast.mp4", "pop", seconds=4, container_options={"movflags": "faststart"})
    return folder


def sampled(data: bytes, policy: VideoPolicy = POLICY) -> SampledVideo:
    found = sample_video(data, policy)
    assert isinstance(found, SampledVideo), found
    return found


def refused(data: bytes, limits: VideoLimits | None = None) -> str:
    found = sample_video(data, POLICY, limits=limits or VideoLimits())
    assert isinstance(found, Unscored)
    assert found.reason is Reason.BAD_MEDIA
    return found.detail


def colour(video: SampledVideo, place: int, at: tuple[int, int]) -> tuple[int, int, int]:
    return Image.open(BytesIO(video.film.frames[place].image.data)).convert("RGB").getpixel(at)


def is_blue(pixel: tuple[int, int, int]) -> bool:
    return pixel[2] > 180 and pixel[2] > pixel[0]


# ------------------------------------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "none of the video containers"),
        (b"\x89PNG\r\n\x1a\n" + b"0" * 99, "none of the video containers"),
        (b"#EXTM3U\n#EXTINF:1,\nhttp://localhost/x.ts\n", "none of the video containers"),
        (b"ffconcat version 1.0\nfile /etc/passwd\n", "none of the video containers"),
        (b"\x00\x00\x00\x18ftypisom" + b"\x00" * 99, "cut off or damaged"),
        (b"\x1aE\xdf\xa3" + b"\xff" * 99, "cut off or damaged"),
        (b"RIFF\x00\x00\x00\x00AVI " + b"\x00" * 99, "cut off or damaged"),
    ],
)
def test_what_is_no_video_is_named(data: bytes, why: str) -> None:
    assert why in refused(data)


@pytest.mark.parametrize("name", ["ball.mp4", "ball.mov", "ball.mkv", "ball.webm", "ball.avi", "fast.mp4"])
@pytest.mark.parametrize("share", [0.3, 0.6, 0.85])
def test_a_video_that_breaks_off_is_refused(clips: Path, name: str, share: float) -> None:
    data = (clips / name).read_bytes()
    assert refused(data[: int(len(data) * share)])


def test_a_damaged_picture_is_refused(clips: Path) -> None:
    data = bytearray((clips / "fast.mp4").read_bytes())
    middle = len(data) // 2
    data[middle : middle + 200] = bytes(byte ^ 0x5A for byte in data[middle : middle + 200])
    assert "damaged" in refused(bytes(data)) or "decoded" in refused(bytes(data))


def test_sound_without_a_picture_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "sound.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("aac", rate=8000, layout="mono")
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
        frame.sample_rate, frame.pts = 8000, 0
        container.mux(stream.encode(frame))
        container.mux(stream.encode())
    assert refused(path.read_bytes()) == "the file has sound only, no picture"


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        (VideoLimits(most_pixels=100), "160 × 120"),
        (VideoLimits(most_seconds=1.0), "lasts 2.0 s"),
        (VideoLimits(most_coded_frames=7), "more than 7 frames"),
    ],
)
def test_a_video_that_is_too_large_is_refused_before_it_is_decoded(clips: Path, limits: VideoLimits, why: str) -> None:
    assert why in refused((clips / "ball.mp4").read_bytes(), limits)


def test_files_that_must_not_be_read_are_named(clips: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.mp4").touch()
    (tmp_path / "link.mp4").symlink_to(clips / "ball.mp4")
    os.mkfifo(tmp_path / "pipe.mp4")
    names = ("empty.mp4", "link.mp4", "pipe.mp4", "gone.mp4", "a\0b.mp4", ".")
    details = [prepare_video(tmp_path / name, POLICY, tmp_path) for name in names]
    assert all(isinstance(each, Unscored) and each.reason is Reason.BAD_MEDIA for each in details)
    assert [each.detail for each in details[:2]] == ["the file is empty", "the file lies outside the folder it was named in"]
    large = prepare_video(clips / "ball.mp4", POLICY, clips, limits=VideoLimits(most_bytes=10))
    assert isinstance(large, Unscored) and "at most 10 are read" in large.detail


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_no_damage_raises(clips: Path, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(["ball.mp4", "ball.mkv", "ball.webm", "ball.avi"]))
    whole = bytearray((clips / name).read_bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    found = sample_video(bytes(whole), POLICY)
    assert isinstance(found, SampledVideo) or found.reason is Reason.BAD_MEDIA


# ---------------------------------------------------------------------------------------------------------- what is sampled


@pytest.mark.parametrize("ending", ["mp4", "mov", "mkv", "webm", "avi"])
def test_every_container_gives_the_same_times(clips: Path, ending: str) -> None:
    video = sampled((clips / f"ball.{ending}").read_bytes())
    assert [frame.at_s for frame in video.film.frames] == pytest.approx([k / 5 for k in range(10)])
    assert (video.width, video.height, video.film.at_rate) == (160, 120, 10)
    assert video.film.duration_s == pytest.approx(2.0, abs=0.05)


def test_each_frame_is_what_a_player_shows_at_that_moment(tmp_path: Path) -> None:
    stamps = [0, 100, 150, 900, 1000, 1900]
    shades = [0, 50, 100, 150, 200, 250]
    images = (Image.new("RGB", (64, 48), (shade,) * 3) for shade in shades)
    encode(tmp_path / "v.mp4", images, size=(64, 48), stamps=stamps)
    video = sampled((tmp_path / "v.mp4").read_bytes())
    shown = [max(k for k, stamp in enumerate(stamps) if stamp <= 1000 * frame.at_s + 0.5) for frame in video.film.frames]
    seen = [round(colour(video, place, (30, 20))[0] / 50) for place in range(len(shown))]
    assert seen == shown
    assert video.film.frames[-1].at_s >= 1.8
    assert video.film.frames[1].image is video.film.frames[4].image, "a picture that stands is encoded once"


@pytest.mark.parametrize(("matrix", "sky"), [((0, 65536, -65536, 0), "right"), ((0, -65536, 65536, 0), "left")])
def test_a_video_is_shown_as_its_rotation_says(tmp_path: Path, matrix: tuple[int, ...], sky: str) -> None:
    data = bytearray(write_clip(tmp_path / "a.mp4", "clean").read_bytes())
    at = data.index(b"tkhd") + 4 + 40
    a, b, c, d = matrix
    data[at : at + 36] = struct.pack(">9i", a, b, 0, c, d, 0, 0, 0, 1 << 30)  # QuickTime's matrix, 16.16 fixed point
    video = sampled(bytes(data))
    assert (video.width, video.height) == (120, 160)
    assert "turned upright" in video.film.notes
    assert is_blue(colour(video, 0, (116 if sky == "right" else 3, 80)))
    assert not is_blue(colour(video, 0, (3 if sky == "right" else 116, 80)))


def test_a_missing_duration_is_noted_and_made_up_for(tmp_path: Path) -> None:
    write_clip(tmp_path / "live.mkv", "clean", container_options={"live": "1"})
    video = sampled((tmp_path / "live.mkv").read_bytes())
    assert video.film.notes == ("the file does not say how long it is",)
    assert len(video.film.frames) == 10


def test_frames_are_thinned_evenly_and_that_is_noted(clips: Path) -> None:
    video = sampled((clips / "fast.mp4").read_bytes(), POLICY.narrowed(most_frames=4, most_pixels=80 * 60))
    assert [frame.at_s for frame in video.film.frames] == pytest.approx([0.0, 1.2, 2.6, 3.8])
    assert video.film.notes == ("4 of 20 frames, evenly thinned",)
    assert Image.open(BytesIO(video.film.frames[0].image.data)).size == (80, 60)


def test_the_popping_ball_is_seen_to_go_and_come(clips: Path) -> None:
    video = sampled((clips / "fast.mp4").read_bytes())
    reds = [_odd_pixels(frame.image.data) for frame in video.film.frames]
    assert min(reds[7:13]) == 0 and max(reds[7:13]) < min(*reds[:6], *reds[14:])


def _odd_pixels(data: bytes) -> int:
    """Pixels that are neither sky, meadow nor sun."""
    image = Image.open(BytesIO(data)).convert("RGB").crop((0, 70, 160, 120))
    return sum(abs(r - 80) + abs(g - 150) + abs(b - 70) > 90 for r, g, b in image.get_flattened_data())


@given(st.integers(0, 300), st.integers(1, 50))
def test_thinning_keeps_order_both_ends_and_even_steps(count: int, most: int) -> None:
    kept = thinned(range(count), most)
    assert len(kept) == min(count, most)
    assert kept == sorted(set(kept))
    if len(kept) > 1:
        steps = {later - earlier for earlier, later in pairwise(kept)}
        assert (kept[0], kept[-1]) == (0, count - 1)
        assert max(steps) - min(steps) <= 1


@given(st.floats(0.1, 60), st.floats(0, 600))
def test_times_start_at_nought_and_end_within_the_video(rate: float, duration: float) -> None:
    times = times_at(rate, duration)
    assert times[0] == 0
    assert len(times) == 1 or times[-1] < duration
    assert times[-1] + 1 / rate >= duration * (1 - 1e-6) - 1e-6


# -------------------------------------------------------------------------------------------------- on its way to a judge


def test_a_prepared_video_refers_to_its_file_and_says_what_is_wanted_of_it(clips: Path) -> None:
    cache = PictureCache()
    policy = PicturePolicy(video=POLICY)
    ready, again = (cache.prepare(clips / "ball.mp4", policy, clips) for _ in range(2))
    assert ready is again and cache.decoded == 1
    assert cache.bytes > sum(len(frame.image.data) for frame in ready.media.film.frames)
    assert ready.media.kind is MediaKind.VIDEO and ready.media.data is None
    assert (ready.media.frames_per_second, ready.media.most_pixels) == (5.0, POLICY.most_pixels)
    assert isinstance(PictureCache().prepare(clips / "ball.mp4", PicturePolicy(), clips), Unscored), (
        "no suite of pictures takes it"
    )


def test_the_same_video_wanted_otherwise_is_another_question(clips: Path) -> None:
    ways = [POLICY, VideoPolicy(frames_per_second=2), VideoPolicy(most_pixels=1000), POLICY.narrowed(most_frames=2)]
    media = [prepare_video(clips / "ball.mp4", way, clips).media for way in ways]
    requests = [Question((each, "Is it real?")).request_sha256() for each in media]
    assert len(set(requests)) == 3
    assert requests[0] == requests[3], "how many frames a judge takes is part of the judge's version, not of the question"


def test_contact_sheets_are_bounded_and_show_every_kept_frame(clips: Path) -> None:
    film = sampled((clips / "fast.mp4").read_bytes()).film
    sheet = Image.open(BytesIO(contact_sheet(film, columns=4, width=400, most_frames=7)))
    assert sheet.size == (400, 4 + 2 * (71 + 14 + 4))
    tall = Image.open(BytesIO(contact_sheet(film, columns=1, width=4096, most_frames=400)))
    assert tall.height <= 8192
    with pytest.raises(InputError, match="columns"):
        contact_sheet(film, columns=0)


def test_drawn_clips_are_the_same_for_the_same_seed() -> None:
    first, again, other = ([each.tobytes() for each in clip_frames("flicker", 3, seed=seed)] for seed in (1, 1, 2))
    assert first == again != other
    with pytest.raises(InputError, match="clean, flicker, pop, morph, freeze"):
        next(clip_frames("melt", 3))


def test_only_three_containers_are_ever_opened() -> None:
    assert {
        container_of(start + b"\0" * 20) for start in (b"ID3", b"OggS", b"FLV\1", b"\0\0\1\xba", b"G@\0\x10", b"<SMIL")
    } == {None}


@pytest.mark.parametrize("wrong", [{"frames_per_second": 0}, {"most_pixels": 0}, {"most_frames": 0}, {"quality": 101}])
def test_a_policy_with_an_impossible_number_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        VideoPolicy(**wrong)


def test_a_page_shows_a_video_as_a_sheet_of_its_frames_and_names_what_it_cannot_show(clips: Path, tmp_path: Path) -> None:
    (tmp_path / "cut.mp4").write_bytes((clips / "fast.mp4").read_bytes()[:1500])
    sources = [
        JudgedFile(str(path), hashlib.sha256(path.read_bytes()).hexdigest())
        for path in (clips / "fast.mp4", tmp_path / "cut.mp4")
    ]
    whole, cut = (thumbnails(sources, side=300)[source] for source in sources)
    assert isinstance(whole, Thumbnail) and whole.url.startswith("data:image/webp;base64,") and whole.width == 300
    assert isinstance(cut, NoThumbnail) and "cut off" in cut.why


# ------------------------------------------------------------------------------------------------- bad files by the command


def too_fast(path: Path) -> None:
    """Three frames of a millionth of a second each: the file's own edit list leaves none of them."""
    with av.open(path, "w") as container:
        stream = container.add_stream("libx264", rate=1_000_000)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for number in range(3):
            frame = av.VideoFrame.from_image(Image.new("RGB", (64, 48), (80 * number, 0, 0)))
            frame.pts = number
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


BAD = {
    "text.mp4": (lambda path: path.write_text("I am a text. " * 50), "none of the video containers"),
    "empty.mp4": (lambda path: path.write_bytes(b""), "is empty"),
    "missing.mp4": (lambda path: None, "no such file"),
    "folder.mp4": (lambda path: path.mkdir(), "is a folder"),
    "loop.mp4": (lambda path: path.symlink_to(path), "levels of symbolic links"),
    "dangling.mp4": (lambda path: path.symlink_to("nowhere.mp4"), "a link that leads to no file"),
    "fast.mp4": (too_fast, "not to be shown"),
}


@pytest.mark.parametrize("name", BAD)
def test_the_command_names_a_file_that_is_no_video_and_writes_nothing(tmp_path: Path, name: str) -> None:
    make, why = BAD[name]
    make(tmp_path / name)
    shown = CliRunner().invoke(main, ["bench", "contact-sheet", str(tmp_path / name), "--output", str(tmp_path / "sheet.jpg")])
    assert shown.exit_code == 2
    assert name in shown.output
    assert why in shown.output
    assert not (tmp_path / "sheet.jpg").exists()


@pytest.mark.parametrize(("codec", "ending", "pixel"), [("png", "mov", "rgb24"), ("mjpeg", "avi", "yuvj420p")])
@pytest.mark.parametrize("stated", [(64, 64), (2000, 1000)])
def test_a_picture_over_the_limit_is_not_decoded_whatever_the_head_and_the_pictures_before_it_say(
    tmp_path: Path, codec: str, ending: str, pixel: str, stated: tuple[int, int]
) -> None:
    limits = VideoLimits(most_pixels=500_000)
    for sizes, readable in (([(64, 64)] * 4, True), ([(64, 64)] * 3 + [(2000, 1000)], False), ([(2000, 1000)] * 4, False)):
        path = tmp_path / f"pictures.{ending}"
        with av.open(str(path), "w") as target:
            stream = target.add_stream(codec, rate=10)
            stream.width, stream.height, stream.pix_fmt = *stated, pixel
            for number, size in enumerate(sizes):
                content = BytesIO()
                Image.new("RGB", size).save(content, "PNG" if codec == "png" else "JPEG")
                packet = av.Packet(content.getvalue())
                packet.stream, packet.pts, packet.dts, packet.duration = stream, number, number, 1
                packet.time_base, packet.is_keyframe = Fraction(1, 10), True
                target.mux(packet)
        seen = sample_video(path.read_bytes(), VideoPolicy(most_frames=1), limits=limits)
        assert isinstance(seen, Unscored) is not readable, (sizes, seen)


@pytest.mark.parametrize("distance", [1, 5, 250])
@pytest.mark.parametrize("cut", [1, 7, 20])
def test_a_clip_that_was_trimmed_without_encoding_it_again_is_read_from_its_first_shown_picture(
    tmp_path: Path, distance: int, cut: int
) -> None:
    path = tmp_path / "trimmed.mp4"
    with av.open(str(path), "w") as target:  # pictures before 0 are in the file, and its edit list hides them
        stream = target.add_stream("libx264", rate=20, options={"g": str(distance), "bf": "0"})
        stream.width, stream.height, stream.pix_fmt = 64, 64, "yuv420p"
        for number in range(40):
            frame = av.VideoFrame.from_image(Image.new("RGB", (64, 64), (5 * number,) * 3))
            frame.pts, frame.time_base = number - cut, Fraction(1, 20)
            target.mux(stream.encode(frame))
        target.mux(stream.encode())
    film = sampled(path.read_bytes(), VideoPolicy(frames_per_second=20)).film
    shades = [np.asarray(Image.open(BytesIO(frame.image.data or b""))).mean() for frame in film.frames]
    assert shades == pytest.approx([5 * number for number in range(cut, 40)], abs=4)


@pytest.mark.parametrize("ending", ["avi", "mp4", "mkv"])
@pytest.mark.parametrize(("codec", "between"), [("libx264", "0"), ("libx264", "3"), ("mpeg4", "2")])
def test_pictures_come_in_the_order_in_which_they_are_shown_whatever_the_order_of_decoding(
    tmp_path: Path, ending: str, codec: str, between: str
) -> None:
    path = tmp_path / f"b.{ending}"
    with av.open(str(path), "w") as target:
        stream = target.add_stream(codec, rate=20, options={"bf": between})
        stream.width, stream.height, stream.pix_fmt = 64, 64, "yuv420p"
        for number in range(40):
            frame = av.VideoFrame.from_image(Image.new("RGB", (64, 64), (5 * number,) * 3))
            frame.pts, frame.time_base = number, Fraction(1, 20)
            target.mux(stream.encode(frame))
        target.mux(stream.encode())
    film = sampled(path.read_bytes(), VideoPolicy(frames_per_second=20)).film
    shades = [np.asarray(Image.open(BytesIO(frame.image.data or b""))).mean() for frame in film.frames]
    assert shades[:38] == pytest.approx([5 * number for number in range(38)], abs=6)


@pytest.mark.parametrize("container", ["matroska", "webm", "mp4", "mov"])
def test_a_video_whose_clock_begins_elsewhere_is_the_same_video(container: str, tmp_path: Path) -> None:
    """As programs write that cut a stretch out of a recording and keep its time stamps."""
    import av

    films, lengths = [], []
    for start in (0, 5_000, 3_600_000):
        path = tmp_path / "clip"
        with av.open(str(path), "w", format=container) as target:
            stream = target.add_stream("libvpx" if container == "webm" else "libx264", rate=10)
            stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
            stream.codec_context.time_base = Fraction(1, 1000)
            for number in range(20):
                frame = av.VideoFrame.from_image(Image.new("RGB", (64, 48), (12 * number, 90, 90)))
                frame.pts, frame.time_base = start + 100 * number, Fraction(1, 1000)
                target.mux(stream.encode(frame))
            target.mux(stream.encode())
        video = sampled(path.read_bytes())
        films.append([(frame.at_s, colour(video, place, (5, 5))[0]) for place, frame in enumerate(video.film.frames)])
        lengths.append(video.film.duration_s)
    assert len(films[0]) == 10 and all(film == films[0] for film in films)
    assert [red // 24 for _, red in films[0]] == pytest.approx(range(10), abs=1)
    assert lengths == [pytest.approx(2.0, abs=0.07)] * 3
    assert refused(path.read_bytes()[: path.stat().st_size // 2])


@for_each(
    ("name", "allowed", "refused"),
    [
        ("frames_per_second", (1e-9, 1000), (0, -1.0, 1000.001)),
        ("most_pixels", (1, 10**9), (0, -1)),
        ("most_frames", (1, 10**9, None), (0, -1)),
        ("quality", (1, 100), (0, 101)),
    ],
)
def test_a_policy_takes_what_lies_within_its_ranges_and_names_what_does_not(name, allowed, refused):
    for value in allowed:
        assert getattr(VideoPolicy(**{name: value}), name) == value
    for value in refused:
        with pytest.raises(InputError) as raised:
            VideoPolicy(**{name: value})
        assert (raised.value.column, raised.value.value) == (name, value)


def test_what_a_video_is_held_to_where_nothing_is_said():
    assert astuple(VideoPolicy()) == (5.0, 602_112, None, 92)
    assert astuple(DEFAULT_VIDEO_LIMITS) == (256 * 1024**2, 36_000_000, 600.0, 72_000)


@for_each(("frames", "columns"), [(7, 3), (4, 8), (5, 1), (12, 4)])
def test_a_contact_sheet_shows_each_frame_at_its_place_with_its_second_below(frames: int, columns: int) -> None:
    def colour(number: int) -> tuple[int, int, int]:
        return (20 * number, 255 - 20 * number, 128)

    def jpeg(number: int) -> bytes:
        stream = BytesIO()
        Image.new("RGB", (80, 40), colour(number)).save(stream, "JPEG", quality=95)
        return stream.getvalue()

    shown = tuple(Frame(number / 4, Media.from_bytes(jpeg(number))) for number in range(frames))
    film = Film(shown, frames / 4, frames)
    sheet = np.asarray(Image.open(BytesIO(contact_sheet(film, columns=columns, width=420, most_frames=frames)))).astype(int)
    across = min(columns, frames)
    wide = (420 - 4) // across - 4
    high, down = round(wide / 2), -(-frames // across)
    assert sheet.shape == (4 + down * (high + 18), 420, 3)
    for number in range(frames):
        top, left = 4 + number // across * (high + 18), 4 + number % across * (wide + 4)
        cell = sheet[top + 3 : top + high - 3, left + 3 : left + wide - 3]
        assert np.abs(cell.mean((0, 1)) - colour(number)).max() < 6
        label = sheet[top + high + 1 : top + high + 14, left : left + 24]
        assert label.max() > 150 and (label.max(2) < 60).mean() > 0.5, "a light second on the dark ground"
    if frames % across:
        assert sheet[-high - 10 : -20, -wide + 5 :].max() < 60, "what is left over is empty"


@for_each(("name", "least", "most"), [("columns", 1, 64), ("width", 64, 4096), ("most_frames", 1, 400)])
def test_a_contact_sheet_takes_what_lies_within_its_ranges(clips: Path, name: str, least: int, most: int) -> None:
    film = sampled((clips / "fast.mp4").read_bytes()).film
    for value in (least, most):
        assert contact_sheet(film, **{"width": 128, name: value})
    for value in (least - 1, most + 1):
        with pytest.raises(InputError, match=f"between {least} and {most}") as raised:
            contact_sheet(film, **{name: value})
        assert (raised.value.column, raised.value.value) == (name, value)
