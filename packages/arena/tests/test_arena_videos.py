"""Videos in a headless Chromium: exact frames by time stamp, two players in step, nothing of the file but its pictures."""

import io
from collections.abc import Iterator
from pathlib import Path
from random import Random

import av
import pytest
from browsing import Served, context, opened
from PIL import Image, ImageDraw
from playwright.sync_api import Browser, Page
from small_arena import PROMPTS, write_prompts

from salon_arena import read_material
from salon_arena.blind import BUCKET
from salon_arena.blind_video import blind_video, filled
from salon_synthetic.videos import encode
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
                    assert shown_number(page, number) == expected, (place, time, model)
            page.evaluate("player.jump(0)")
            page.keyboard.press(".")
            page.evaluate("player.settled")
            assert page.evaluate("player.place") == 1
            page.keyboard.press(" ")
            drifts = []
            for _ in range(10):
                page.wait_for_timeout(60)
                drifts.append(page.evaluate("Math.abs(player.videos[0].currentTime - player.videos[1].currentTime)"))
            assert sorted(drifts)[len(drifts) // 2] <= 1 / 24, drifts
            assert page.evaluate("player.playing")
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
