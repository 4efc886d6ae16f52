"""Videos in a headless Chromium: exact frames by time stamp, two players in step, nothing of the file but its pictures."""

import io
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from random import Random

import av
import numpy as np
import pytest
from browsing import Served, context, opened
from PIL import Image, ImageDraw
from playwright.sync_api import Browser, Page
from small_arena import PROMPTS, write_material, write_prompts

from for_each import for_each
from salon_arena import ArenaDatabase, read_material, vote_service
from salon_arena.blind import BUCKET, BlindMedia
from salon_arena.blind_video import BlindVideo, _filled, _turned, blind_video, filled
from salon_arena.cli import serve
from salon_judges.formats.generations import Generated
from salon_judges.media.video_policy import VideoPolicy
from salon_judges.media.video_sampling import sample_video
from salon_judges.media.video_sound import loudness
from salon_synthetic.videos import Shot, encode, write_shots
from salon_taxonomy.errors import InputError
from salon_taxonomy.verdict import Unscored

BITS = 6
SIZE = (192, 96)
COUNT = 40
RATES = {"24": 24, "25": 25, "29.97": None, "60": 60, "varying": None}


def numbered(count: int) -> Iterator[Image.Image]:
    """Frames that show their own number as black and white bars."""
    for number in range(count):
        image = Image.new("RGB", SIZE, (90, 90, 90))
        draw = ImageDraw.Draw(image)
        for bit in range(BITS):
            colour = (255, 255, 255) if number >> bit & 1 else (0, 0, 0)
            draw.rectangle((bit * 32, 0, bit * 32 + 31, 95), fill=colour)
        yield image


def write_numbered(path: Path, rate: str) -> list[float]:
    """A video at this rate; returns when each frame is shown, in seconds."""
    random = Random(rate)
    exact = RATES[rate]
    if exact is not None:
        encode(path, numbered(COUNT), size=SIZE, rate=exact)
        return [number / exact for number in range(COUNT)]
    stamps = [round(number * 1001 / 30) for number in range(COUNT)]
    if rate == "varying":
        stamps = [0]
        while len(stamps) < COUNT:
            stamps.append(stamps[-1] + random.choice([17, 33, 40, 80]))
    encode(path, numbered(COUNT), size=SIZE, rate=30, stamps=stamps)
    return [stamp / 1000 for stamp in stamps]


def shown_number(page: Page, video: int) -> int:
    """The number that the frame on the screen bears."""
    script = """place => {
        const video = document.querySelectorAll('.frame video')[place], canvas = document.createElement('canvas');
        canvas.width = video.videoWidth; canvas.height = video.videoHeight;
        const context = canvas.getContext("2d", { willReadFrequently: true });
        context.drawImage(video, 0, 0);
        let number = 0;
        for (let bit = 0; bit < 6; bit += 1) {
            if (context.getImageData(bit * 32 + 16, 48, 1, 1).data[0] > 127) number += 2 ** bit;
        }
        return number;
    }"""
    return int(page.evaluate(script, video))


@pytest.fixture(params=[("24", "25"), ("29.97", "60"), ("varying", "24")], ids="-".join)
def rates(request: pytest.FixtureRequest) -> tuple[str, str]:
    return request.param  # type: ignore[no-any-return]


@pytest.mark.browser
def test_every_step_shows_the_frame_of_its_time_stamp_and_both_play_in_step(
    browser: Browser, tmp_path: Path, rates: tuple[str, str]
) -> None:
    prompts = write_prompts(tmp_path)
    stamps = {}
    for model, rate in zip(("left-model", "right-model"), rates, strict=True):
        for key in PROMPTS:
            path = tmp_path / "videos" / model / f"{key}.mp4"
            path.parent.mkdir(parents=True, exist_ok=True)
            stamps[model] = write_numbered(path, rate)
    served = Served(tmp_path, read_material(tmp_path / "videos", prompts))
    try:
        with context(browser, served, reduced_motion="reduce") as (rater, heard):
            page = opened(rater, served)
            task = page.evaluate("document.querySelector('.frame video') && 1")
            assert task == 1
            query = "SELECT payload ->> '$.files[0].model' FROM assignments ORDER BY issued_at LIMIT 1"
            left = served.database.read(lambda c: c.exec_driver_sql(query).scalar_one())
            models = [left, "right-model" if left == "left-model" else "left-model"]
            times = sorted({round(time, 6) for model in models for time in stamps[model]})
            assert page.evaluate("player.times.length") == pytest.approx(len(times), abs=2)
            for place in Random(0).sample(range(len(times)), 12):
                page.evaluate("place => player.jump(place)", place)
                time = page.evaluate("player.times[player.place]")
                for number, model in enumerate(models):
                    expected = max(at for at, stamp in enumerate(stamps[model]) if stamp <= time + 1e-4)
                    for _ in range(100):  # a frame is drawn some time after the video says that it has come to it
                        if shown_number(page, number) == expected:
                            break
                        page.wait_for_timeout(20)
                    assert shown_number(page, number) == expected, (place, time, model)
            page.evaluate("player.jump(0)")
            page.keyboard.press(".")
            page.evaluate("player.settled")
            assert page.evaluate("player.place") == 1
            for _ in range(5):  # other programs may hold up one of the two for a while
                page.keyboard.press(" ")
                drifts = []
                for _ in range(10):
                    page.wait_for_timeout(60)
                    drifts.append(page.evaluate("Math.abs(player.videos[0].currentTime - player.videos[1].currentTime)"))
                assert page.evaluate("player.playing")
                if sorted(drifts)[len(drifts) // 2] <= 1 / 24:
                    break
                page.keyboard.press(" ")
                page.evaluate("player.jump(0)")
                page.evaluate("player.settled")
            assert sorted(drifts)[len(drifts) // 2] <= 1 / 24, drifts
            page.keyboard.press(" ")
            page.get_by_role("button", name="A is better").click()
            served.wait_for_answers(1)
            assert heard == []
    finally:
        served.close()


def test_blind_videos_keep_every_frame_and_stamp_and_tell_nothing_of_their_file(tmp_path: Path) -> None:
    sources = []
    for place, rate in enumerate(RATES):
        path = tmp_path / f"{place}.mp4"
        stamps = write_numbered(path, rate)
        tagged = tmp_path / f"tagged-{place}.mp4"
        with av.open(str(path)) as source, av.open(str(tagged), "w") as target:
            stream = target.add_stream_from_template(source.streams.video[0])
            target.metadata.update({"title": "Canary title", "comment": "Canary comment", "encoder": "Canary encoder"})
            stream.metadata.update({"handler_name": "Canary handler", "language": "swe"})
            for packet in source.demux(video=0):
                if packet.size:
                    packet.stream = stream
                    target.mux(packet)
        sources.append((tagged.read_bytes(), stamps))
    mixed = tmp_path / "other.webm"
    encode(mixed, numbered(COUNT), size=SIZE, rate=25)
    for group in (sources, [sources[0], (mixed.read_bytes(), [number / 25 for number in range(COUNT)])]):
        videos = [blind_video(data) for data, _ in group]
        made = filled([video for video in videos if not isinstance(video, Unscored)], BUCKET)
        assert len(made) == len(group)
        assert len({len(one.data) for one in made}) == 1 and len(made[0].data) % BUCKET == 0
        for one, (data, stamps) in zip(made, group, strict=True):
            assert list(one.frames) == pytest.approx(stamps, abs=0.001)
            for word in (b"Canary", b"x264", b"Lavf", b"Lavc", b"swe", b"libvpx", b"WEBM"):
                assert word not in one.data
            with av.open(io.BytesIO(one.data)) as copy, av.open(io.BytesIO(data)) as source:
                assert len(copy.streams) == 1
                again, before = (list(each.decode(video=0)) for each in (copy, source))
                assert [float(frame.pts * frame.time_base) for frame in again] == pytest.approx(list(one.frames))
                for frame, original in zip(again, before, strict=True):
                    assert abs(frame.to_ndarray(format="gray").astype(int) - original.to_ndarray(format="gray")).mean() < 2


def write_sounding(path: Path, rate: int, decibels: float | None, seconds: float = 2.0, sound_s: float | None = None) -> bytes:
    """A video with a tone so loud, or none: in its right channel alone where the rate is odd."""
    with av.open(str(path), "w") as container:
        video = container.add_stream("libx264", rate=20)
        video.width, video.height, video.pix_fmt = *SIZE, "yuv420p"
        sound = None if decibels is None else container.add_stream("aac", rate=rate)
        for number, image in enumerate(numbered(round(seconds * 20))):
            frame = av.VideoFrame.from_image(image)
            frame.pts, frame.time_base = number, Fraction(1, 20)
            container.mux(video.encode(frame))
        container.mux(video.encode())
        if sound is not None and decibels is not None:
            times = np.arange(round((sound_s or seconds) * rate)) / rate
            wave = (10 ** (decibels / 20) * np.sin(2 * np.pi * 997 * times)).astype(np.float32)
            heard = av.AudioFrame.from_ndarray(np.stack([wave, wave]), format="fltp", layout="stereo")
            heard.sample_rate, heard.pts, heard.time_base = rate, 0, Fraction(1, rate)
            container.mux(sound.encode(heard))
            container.mux(sound.encode())
    return path.read_bytes()


def test_with_sound_all_videos_have_one_track_as_long_as_the_picture_and_equally_loud(tmp_path: Path) -> None:
    sources = [
        write_sounding(tmp_path / "loud.mp4", 44_100, -1.0),
        write_sounding(tmp_path / "faint.webm.mp4", 32_000, -50.0),
        write_sounding(tmp_path / "long.mp4", 48_000, -20.0, sound_s=5.0),
        write_sounding(tmp_path / "short.mp4", 22_050, -20.0, sound_s=1.0),
        write_sounding(tmp_path / "mute.mp4", 48_000, None),
    ]
    told = [loudness(source) for source in sources]
    assert told == [pytest.approx(level, abs=0.2) if level is not None else None for level in (-1.0, -50.0, -20.0, -20.0, None)]
    for source in sources:
        made = blind_video(source, sound=True)
        assert not isinstance(made, Unscored)
        assert loudness(made.data) == (pytest.approx(-23, abs=0.3) if source is not sources[-1] else None)
        assert not [word for word in (b"Lavf", b"Lavc", b"x264") if word in made.data]
        with av.open(io.BytesIO(made.data)) as copy:
            (track,) = copy.streams.audio
            assert (track.codec.name, track.rate, track.channels, len(copy.streams.video)) == ("aac", 48_000, 2, 1)
            samples = sum(frame.samples for frame in copy.decode(track))
            assert samples / 48_000 == pytest.approx(2.0, abs=0.05)
        silent = blind_video(source)
        assert not isinstance(silent, Unscored) and loudness(silent.data) is None and silent.frames == made.frames


@pytest.mark.parametrize("cut", [0.3, 0.6, 0.9])
def test_sound_that_cannot_be_read_is_told_and_never_raised(tmp_path: Path, cut: float) -> None:
    whole = write_sounding(tmp_path / "whole.mp4", 44_100, -20.0)
    at = round(len(whole) * cut)
    damaged = whole[: at - 200] + Random(cut).randbytes(400) + whole[at + 200 :]
    assert isinstance(loudness(damaged), float | Unscored | None)
    assert isinstance(blind_video(damaged, sound=True), BlindVideo | Unscored)
    assert isinstance(loudness(b"no video at all"), Unscored)


def test_an_arena_stays_with_or_without_sound_as_it_began(tmp_path: Path) -> None:
    prompts = write_prompts(tmp_path)
    for model in ("one", "other"):
        for key in PROMPTS:
            (tmp_path / "videos" / model).mkdir(parents=True, exist_ok=True)
            write_sounding(tmp_path / "videos" / model / f"{key}.mp4", 44_100, -20.0, 0.5)
    material = read_material(tmp_path / "videos", prompts)
    for began in (True, False):
        with ArenaDatabase.open(tmp_path / f"{began}.db") as database:
            service = vote_service(database, material, sound=began)
            rater = service.people.join().result().rater_id
            service.lease(rater).result()
            with pytest.raises(InputError, match="is an arena that began"):
                vote_service(database, material, sound=not began)
            assert vote_service(database, material, sound=began).sound is began
    with pytest.raises(InputError, match="has no effect on pictures"):
        (tmp_path / "drawn").mkdir()
        folder, table = write_material(tmp_path / "drawn", size=32)
        arguments = [str(folder), "--prompts", str(table), "--sound", "--port", "0"]
        serve.main([*arguments, "--database", str(tmp_path / "new.db")], standalone_mode=False)


@pytest.mark.browser
def test_raters_hear_one_video_at_a_time_and_choose_the_speed(browser: Browser, tmp_path: Path) -> None:
    prompts = write_prompts(tmp_path)
    for model in ("one", "other"):
        for key in PROMPTS:
            (tmp_path / "videos" / model).mkdir(parents=True, exist_ok=True)
            write_sounding(tmp_path / "videos" / model / f"{key}.mp4", 44_100, -20.0)
    database = ArenaDatabase.open(tmp_path / "arena.db")
    served = Served(tmp_path, service=vote_service(database, read_material(tmp_path / "videos", prompts), sound=True))
    try:
        with context(browser, served) as (rater, heard):
            page = opened(rater, served)
            muted = "player.videos.map((video) => video.muted)"
            assert page.evaluate(muted) == [True, True]
            page.get_by_role("button", name="Hear A").click()
            assert page.evaluate(muted) == [False, True]
            page.keyboard.press("b")
            assert page.evaluate(muted) == [True, False]
            assert page.get_by_role("button", name="Hear B").get_attribute("aria-pressed") == "true"
            page.evaluate("player.videos[0].muted = false")
            page.wait_for_function("() => player.videos[1].muted")
            page.get_by_label("Speed").select_option("0.5")
            page.wait_for_function("() => player.videos.every((video) => Math.abs(video.playbackRate - 0.5) <= 0.06)")
            page.get_by_label("Speed").press("ArrowUp")
            assert not served.answers(), "an arrow in a menu is no vote"
            assert page.evaluate("player.videos[0].webkitAudioDecodedByteCount > 0")
            assert heard == []
    finally:
        served.close()


def test_a_file_that_is_no_video_is_not_shown(tmp_path: Path) -> None:
    path = tmp_path / "short.mp4"
    write_numbered(path, "24")
    for data in (b"no video", path.read_bytes()[:900], b""):
        assert isinstance(blind_video(data), Unscored)


MAKERS = {
    "baseline": ("libx264", {"profile": "baseline", "g": "7", "bf": "0"}, 1, 1),
    "main, BT.601, full range": ("libx264", {"profile": "main", "g": "250", "bf": "3"}, 5, 2),
    "high, level 6": ("libx264", {"profile": "high", "level": "6", "g": "12"}, 2, 1),
    "VP9": ("libvpx-vp9", {"deadline": "realtime", "cpu-used": "8"}, 1, 1),
}


def of_maker(path: Path, name: str) -> bytes:
    """The same frames as another maker's encoder writes them."""
    codec, options, space, colour_range = MAKERS[name]
    with av.open(str(path), "w", format="mp4") as target:
        stream = target.add_stream(codec, rate=25, options=dict(options))
        stream.width, stream.height = SIZE
        stream.pix_fmt = "yuv420p"
        context = stream.codec_context
        context.colorspace, context.color_range, context.color_primaries, context.color_trc = space, colour_range, space, space
        for image in numbered(COUNT):
            frame = av.VideoFrame.from_image(image).reformat(
                format="yuv420p", dst_colorspace=space, dst_color_range=colour_range
            )
            target.mux(stream.encode(frame))
        target.mux(stream.encode())
    return path.read_bytes()


def facts(data: bytes) -> list[object]:
    """All that a player can read of a stream but its pictures."""
    with av.open(io.BytesIO(data)) as source:
        stream = source.streams.video[0]
        context = stream.codec_context
        packets = [packet for packet in source.demux(stream) if packet.size]
        named = (
            "name",
            "profile",
            "level",
            "pix_fmt",
            "colorspace",
            "color_range",
            "color_primaries",
            "color_trc",
            "has_b_frames",
        )
        return [
            stream.time_base, stream.codec.name, context.extradata, [getattr(context, name, None) for name in named],
            [(packet.pts, packet.dts, packet.is_keyframe) for packet in packets], dict(source.metadata), dict(stream.metadata),
        ]  # fmt: skip


def test_videos_of_unlike_makers_are_sent_as_one_encoder_writes_them(tmp_path: Path) -> None:
    sources = [of_maker(tmp_path / f"{place}.mp4", name) for place, name in enumerate(MAKERS)]
    assert len({str(facts(data)) for data in sources}) == len(MAKERS)
    made = [blind_video(data) for data in sources]
    assert {str(facts(video.data)) for video in made if not isinstance(video, Unscored)} == {str(facts(made[0].data))}  # type: ignore[union-attr]
    for video, data in zip(made, sources, strict=True):
        assert not isinstance(video, Unscored)
        with av.open(io.BytesIO(video.data)) as sent, av.open(io.BytesIO(data)) as source:
            pairs = zip(sent.decode(video=0), source.decode(video=0), strict=True)
            apart = [
                abs(one.to_ndarray(format="gray").astype(int) - two.to_ndarray(format="gray")).mean() for one, two in pairs
            ]
        assert len(apart) == COUNT and max(apart) < 3  # whatever the numbers of the maker's colours meant


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
@pytest.mark.parametrize("aspect", [Fraction(1), Fraction(2), Fraction(1, 2)])
def test_a_video_is_sent_as_its_judges_see_it_upright_and_with_square_pixels(
    tmp_path: Path, rotation: int, aspect: Fraction
) -> None:
    path = tmp_path / "turned.mkv"
    with av.open(str(path), "w") as target:
        stream = target.add_stream("libx264", rate=10)
        stream.width, stream.height, stream.pix_fmt = *SIZE, "yuv420p"
        stream.codec_context.sample_aspect_ratio = aspect
        stream.set_display_rotation(rotation)
        image = Image.new("RGB", SIZE, (90, 90, 90))
        ImageDraw.Draw(image).rectangle((0, 0, 60, 40), fill=(200, 30, 30))
        for number in range(3):
            frame = av.VideoFrame.from_image(image)
            frame.pts, frame.time_base = number, Fraction(1, 10)
            target.mux(stream.encode(frame))
        target.mux(stream.encode())
    seen = sample_video(path.read_bytes(), VideoPolicy(most_frames=1))
    made = blind_video(path.read_bytes())
    assert not isinstance(made, Unscored) and not isinstance(seen, Unscored)
    with av.open(io.BytesIO(made.data)) as copy:
        sent = next(copy.decode(video=0))
        assert (sent.width, sent.height, sent.rotation) == (seen.width, seen.height, 0)
        shown = np.asarray(Image.open(io.BytesIO(seen.film.frames[0].image.data or b"")), int)
        assert abs(sent.to_ndarray(format="rgb24").astype(int) - shown).mean() < 4


def test_the_videos_of_a_task_get_the_longest_side_of_the_smallest(tmp_path: Path) -> None:
    sizes = {"wide": (256, 128), "small": (96, 64), "high": (64, 128), "odd": (131, 65)}
    for name, size in sizes.items():
        encode(tmp_path / f"{name}.avi", [Image.new("RGB", size, "grey")] * 3, size=(size[0] & ~1, size[1] & ~1))
    media = BlindMedia()
    for names, side in (("wide high", 128), ("wide small", 96), ("high odd", 128), ("wide", 256)):
        files = [Generated("p", name, 0, tmp_path / f"{name}.avi", tmp_path) for name in names.split()]
        made = media.prepared(files)
        assert not isinstance(made, Unscored) and len({len(data) for data in made.media}) == 1
        for data in made.media:
            with av.open(io.BytesIO(data)) as copy:
                context = copy.streams.video[0].codec_context
                assert max(context.width, context.height) == side and len(list(copy.decode(video=0))) == 3


def test_a_damaged_video_is_refused_as_its_judges_refuse_it(tmp_path: Path) -> None:
    whole = write_shots(tmp_path / "whole.mp4", (Shot(2.0, 1), Shot(1.0, 2))).read_bytes()
    refused = set()
    for part in range(1, 9):
        at = whole.index(b"mdat") + part * (len(whole) - whole.index(b"mdat")) // 10
        damaged = whole[:at] + Random(part).randbytes(60) + whole[at + 60 :]
        judged, made = sample_video(damaged, VideoPolicy()), blind_video(damaged)
        assert isinstance(judged, Unscored) == isinstance(made, Unscored), (part, judged, made)
        refused.add(isinstance(judged, Unscored) and judged.detail == made.detail)  # type: ignore[union-attr]
    assert True in refused


def test_the_last_picture_stands_as_long_as_the_file_says_and_is_heard(tmp_path: Path) -> None:
    sound = np.zeros((2, 144_000), np.float32)
    sound[:, 96_000:] = 0.1 * np.sin(np.arange(48_000) / 10)
    for container, stamps in (("mp4", range(0, 1000, 100)), ("matroska", range(0, 1000, 100)), ("mp4", [0])):
        with av.open(str(tmp_path / "held"), "w", format=container) as target:
            video, track = target.add_stream("libx264", rate=10, options={"bf": "0"}), target.add_stream("aac", rate=48_000)
            video.width, video.height, video.pix_fmt = *SIZE, "yuv420p"
            video.codec_context.time_base = Fraction(1, 1000)
            packets = []
            for stamp, image in zip(stamps, numbered(len(stamps)), strict=True):
                frame = av.VideoFrame.from_image(image)
                frame.pts, frame.time_base = stamp, Fraction(1, 1000)
                packets += video.encode(frame)
            packets += video.encode()
            packets[-1].duration = 3000 - stamps[-1]
            target.mux(packets)
            heard = av.AudioFrame.from_ndarray(sound, format="fltp", layout="stereo")
            heard.sample_rate, heard.pts, heard.time_base = 48_000, 0, Fraction(1, 48_000)
            target.mux([*track.encode(heard), *track.encode()])
        made = blind_video((tmp_path / "held").read_bytes(), sound=True)
        assert not isinstance(made, Unscored), made
        assert list(made.frames) == pytest.approx([stamp / 1000 for stamp in stamps])
        with av.open(io.BytesIO(made.data)) as copy:
            ends = [float(one.duration * one.time_base) for one in copy.streams]
        assert ends == [pytest.approx(3.0, abs=0.03)] * 2
        assert loudness(made.data) == pytest.approx(-23, abs=0.5)


HEARD = {
    "AAC": ("aac", "mp4", 48_000, "stereo", 0.0, 2.0),
    "mono, late": ("aac", "mov", 44_100, "mono", 0.4, 1.0),
    "Opus": ("libopus", "webm", 48_000, "stereo", 0.0, 2.0),
    "six channels, too long": ("flac", "matroska", 32_000, "5.1", 0.0, 4.0),
    "PCM": ("pcm_s16le", "avi", 22_050, "mono", 0.0, 1.9),
    "none": None,
}


def test_what_is_sent_with_sound_has_the_same_tracks_whatever_the_maker_did(tmp_path: Path) -> None:
    told = set()
    for name, kind in HEARD.items():
        codec, container, rate, layout, start, seconds = kind or ("", "mp4", 8000, "mono", 0.0, 1.0)
        path = tmp_path / "heard"
        with av.open(str(path), "w", format=container) as target:
            video = target.add_stream("libvpx" if container == "webm" else "libx264", rate=20)
            video.width, video.height, video.pix_fmt = *SIZE, "yuv420p"
            sound = target.add_stream(codec, rate=rate, layout=layout) if kind else None
            for number, image in enumerate(numbered(COUNT)):
                frame = av.VideoFrame.from_image(image)
                frame.pts, frame.time_base = number, Fraction(1, 20)
                target.mux(video.encode(frame))
            target.mux(video.encode())
            if sound is not None:
                wave = (8000 * np.sin(np.arange(round(seconds * rate)) * 2 * np.pi * 440 / rate)).astype(np.int16)
                channels = {"mono": 1, "stereo": 2, "5.1": 6}[layout]
                heard = av.AudioFrame.from_ndarray(np.repeat(wave, channels)[None], format="s16", layout=layout)
                heard.sample_rate, heard.pts, heard.time_base = rate, round(start * rate), Fraction(1, rate)
                target.mux(sound.encode(heard))
                target.mux(sound.encode())
        made = blind_video(path.read_bytes(), sound=True)
        assert not isinstance(made, Unscored), (name, made)
        with av.open(io.BytesIO(made.data)) as copy:
            tracks = [(one.type, one.time_base, one.start_time, one.duration, dict(one.metadata)) for one in copy.streams]
            (audio,) = copy.streams.audio
            context = audio.codec_context
            settings = (context.name, context.rate, context.layout.name, context.extradata, context.profile)
            packets = [(packet.pts, packet.dts, packet.duration) for packet in copy.demux(audio)]
            told.add(str((tracks, settings, packets, copy.duration, dict(copy.metadata))))
    assert len(told) == 1


@for_each("turns", [0, 1, 2, 3])
def test_a_frame_is_turned_with_its_colours_counter_clockwise(turns: int) -> None:
    luma, blue, red = (np.arange(count, dtype=np.uint8) + start for count, start in ((32, 16), (8, 100), (8, 200)))
    planes = luma.reshape(4, 8), blue.reshape(2, 4), red.reshape(2, 4)
    whole = np.concatenate([planes[0], np.concatenate([blue, red]).reshape(2, 8)])
    turned = _turned(av.VideoFrame.from_ndarray(whole, "yuv420p"), turns)
    expected = [np.rot90(plane, turns) for plane in planes]
    assert (turned.height, turned.width) == expected[0].shape
    pixels = turned.to_ndarray()
    assert (pixels[: turned.height] == expected[0]).all()
    assert (pixels[turned.height :].ravel() == np.concatenate([plane.ravel() for plane in expected[1:]])).all()


def test_a_file_is_filled_with_a_free_box_of_zeros_to_its_length() -> None:
    for length in (11, 12, 300):
        filled = _filled(b"abc", length)
        assert len(filled) == length and filled[:3] == b"abc" and filled[7:11] == b"free" and not any(filled[11:])
        assert int.from_bytes(filled[3:7], "big") == length - 3
