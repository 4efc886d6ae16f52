"""How a judge is shown a video: frames with their times, or the file; and that its limits are kept whoever took the frames."""

import asyncio
import base64
import json
import time
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from salon_bench.runs.pictures import narrowed
from salon_judges.clients import ChatSettings
from salon_judges.clients.chat_request import ChatRequests
from salon_judges.clients.pictures import PictureParts
from salon_judges.clients.settings import VideoInput
from salon_judges.clients.specification import read_settings
from salon_judges.media import VideoPolicy, prepare_video
from salon_judges.media.policy import PicturePolicy
from salon_judges.media.video_sampling import sample_video
from salon_synthetic.videos import write_clip
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Media, Question
from salon_taxonomy.records import MediaKind
from salon_taxonomy.verdict import Unscored

pytest.importorskip("av")


def settings(**videos: Any) -> ChatSettings:
    return ChatSettings(model="m", base_url="http://localhost/v1", videos=VideoInput(**videos))


def content(media: Media, **videos: Any) -> list[dict[str, Any]]:
    """The content of the message that asks about a video."""
    question = Question(("Video A:", media, "Is it real?"))
    body = b"".join(asyncio.run(ChatRequests(settings(**videos), PictureParts()).write(question)))
    return json.loads(body)["messages"][0]["content"]


@pytest.fixture
def video(tmp_path: Path) -> Media:
    return prepare_video(write_clip(tmp_path / "1.mp4", "clean", seconds=1), VideoPolicy(), tmp_path).media


def test_frames_stand_in_their_order_each_behind_its_time(video: Media) -> None:
    parts = content(video)
    texts = [part["text"] for part in parts if part["type"] == "text"]
    assert texts[:3] == ["Video A:", "A video of 1.0 seconds, as 5 frames in their order:", "[0.0 s]"]
    assert texts[-1] == "Is it real?"
    shown = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    assert [base64.b64decode(url.partition(",")[2]) for url in shown] == [frame.image.data for frame in video.film.frames]
    assert all(url.startswith("data:image/jpeg;base64,") for url in shown)


def test_times_can_be_left_out(video: Media) -> None:
    assert [part["type"] for part in content(video, time_stamps=False)] == ["text", "text", *["image_url"] * 5, "text"]


def test_the_file_itself_is_sent_to_servers_that_take_it(video: Media) -> None:
    _, part, _ = content(video, send="video_url")
    head, _, data = part["video_url"]["url"].partition(",")
    assert head == "data:video/mp4;base64"
    assert base64.b64decode(data) == Path(video.uri).read_bytes()


def test_a_file_that_changed_is_not_sent(video: Media) -> None:
    Path(video.uri).write_bytes(b"other")
    with pytest.raises(InputError, match="changed since"):
        content(video, send="video_url")


def test_a_judge_keeps_its_limits_whoever_took_the_frames(video: Media) -> None:
    few = content(video, most_frames=2)
    assert sum(part["type"] == "image_url" for part in few) == 2
    small = content(video, most_pixels=40 * 30)
    assert len(small[3]["image_url"]["url"]) < len(content(video)[3]["image_url"]["url"])


def test_a_video_that_nobody_sampled_is_sampled_when_it_is_asked_about(video: Media) -> None:
    bare = Media.from_file(video.uri, MediaKind.VIDEO, frames_per_second=2)
    assert sum(part["type"] == "image_url" for part in content(bare)) == 2
    assert content(replace(video, film=None)) == content(video)
    with pytest.raises(InputError, match="cannot be shown: the file is none of the video containers"):
        content(Media.from_bytes(b"no video", MediaKind.VIDEO))


def test_how_videos_are_shown_is_part_of_the_version_and_the_usual_way_changes_none() -> None:
    usual = ChatSettings(model="m", base_url="http://localhost/v1")
    versions = [usual, settings(), settings(most_frames=8), settings(send="video_url"), settings(time_stamps=False)]
    assert versions[0].version == versions[1].version
    assert len({each.version for each in versions}) == 4


def test_a_settings_file_says_how_videos_are_shown(tmp_path: Path) -> None:
    file = tmp_path / "judge.toml"
    file.write_text('kind = "vllm"\nmodel = "m"\n[videos]\nsend = "video_url"\nmost_frames = 32\n')
    assert read_settings(str(file)).videos == VideoInput(send="video_url", most_frames=32)
    file.write_text('kind = "vllm"\nmodel = "m"\n[videos]\nsend = "film"\n')
    with pytest.raises(InputError, match="videos"):
        read_settings(str(file))


def test_the_runner_takes_no_more_frames_than_the_judge_wants() -> None:
    policy = PicturePolicy(video=VideoPolicy())
    own = settings(most_frames=8, most_pixels=1000).model_dump(mode="json")
    for stored in (own, {"kind": "cache", "judge": {"kind": "record", "judge": own}}):
        assert narrowed(policy, stored).video == VideoPolicy(most_frames=8, most_pixels=1000)
    for nothing in (None, {}, {"judge": "text"}, {"videos": None}, settings().model_dump(mode="json")):
        assert narrowed(policy, nothing) == policy
    assert narrowed(PicturePolicy(), own) == PicturePolicy()


def with_cover(*, first: bool, film: bool = True) -> bytes:
    """An MP4 file of a blue film (64 × 64), if any, and a red cover (320 × 200), which may precede the film in its head."""
    import av
    from av.stream import Disposition

    file = BytesIO()
    with av.open(file, "w", format="mp4") as container:
        tracks = [(container.add_stream("libx264", rate=10), (64, 64), "blue", 10)] if film else []
        tracks.append((container.add_stream("mjpeg", rate=1), (320, 200), "red", 1))
        tracks[-1][0].disposition = Disposition.attached_pic
        for stream, size, _, _ in tracks:
            stream.width, stream.height = size
            stream.pix_fmt = "yuvj420p" if size[0] == 320 else "yuv420p"
        for stream, size, colour, count in tracks:
            for _ in range(count):
                frame = av.VideoFrame.from_image(Image.new("RGB", size, colour)).reformat(format=stream.pix_fmt)
                container.mux(stream.encode(frame))
            container.mux(stream.encode())
    return b"".join(_moved(box) if first and box[4:8] == b"moov" else box for box in _boxes(file.getvalue()))


def _boxes(data: bytes) -> list[bytes]:
    boxes = []
    while data:
        size = int.from_bytes(data[:4], "big")
        boxes.append(data[:size])
        data = data[size:]
    return boxes


def _moved(moov: bytes) -> bytes:
    order = {b"mvhd": 0, b"udta": 1}
    return moov[:8] + b"".join(sorted(_boxes(moov[8:]), key=lambda box: order.get(box[4:8], 2)))


@pytest.mark.parametrize("first", [False, True])
def test_a_cover_is_never_taken_for_the_video_wherever_it_stands(first: bool) -> None:
    film = sample_video(with_cover(first=first), VideoPolicy()).film
    sizes = {Image.open(BytesIO(frame.image.data)).size for frame in film.frames}
    assert (sizes, film.duration_s, len(film.frames)) == ({(64, 64)}, 1.0, 5)


def test_a_file_with_nothing_but_a_cover_is_no_video() -> None:
    alone = sample_video(with_cover(first=False, film=False), VideoPolicy())
    assert isinstance(alone, Unscored)
    assert "no video in the file" in alone.detail or "damaged" in alone.detail


def test_hundreds_of_streams_and_attachments_cost_no_more_than_their_bytes() -> None:
    import av

    file = BytesIO()
    with av.open(file, "w", format="matroska") as container:
        streams = [container.add_stream("mpeg4", rate=10) for _ in range(120)]
        for stream in streams:
            stream.width, stream.height, stream.pix_fmt = 32, 32, "yuv420p"
        cover = BytesIO()
        Image.new("RGB", (320, 200), "red").save(cover, "JPEG")
        for number in range(200):
            kind = "image/jpeg" if number % 2 else "application/octet-stream"
            container.add_attachment(f"{number}.jpg", kind, cover.getvalue())
        for stream in streams:
            container.mux(stream.encode(av.VideoFrame.from_image(Image.new("RGB", (32, 32), "blue"))))
            container.mux(stream.encode())
    began = time.perf_counter()
    film = sample_video(file.getvalue(), VideoPolicy()).film
    assert [Image.open(BytesIO(frame.image.data)).size for frame in film.frames] == [(32, 32)]
    assert time.perf_counter() - began < 20
