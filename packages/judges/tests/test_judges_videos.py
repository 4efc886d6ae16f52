"""How a judge is shown a video: frames with their times, or the file; and that its limits are kept whoever took the frames."""

import asyncio
import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from salon_bench.runs.pictures import narrowed
from salon_judges.clients import ChatSettings
from salon_judges.clients.chat_request import ChatRequests
from salon_judges.clients.pictures import PictureParts
from salon_judges.clients.settings import VideoInput
from salon_judges.clients.specification import read_settings
from salon_judges.media import VideoPolicy, prepare_video
from salon_judges.media.policy import PicturePolicy
from salon_synthetic.videos import write_clip
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Media, Question
from salon_taxonomy.records import MediaKind

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
