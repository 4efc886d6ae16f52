"""A model on this machine answers as any judge does: in batches, reproducibly, and whatever it is shown."""

import asyncio
import io
from pathlib import Path

import pytest
from PIL import Image
from tiny_llava import save_tiny_llava

from salon_judges.clients import TransformersJudge, TransformersSettings, open_judge
from salon_judges.clients.settings import VideoInput
from salon_judges.clients.videos import as_frames
from salon_synthetic.videos import write_clip
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Decoding, Media, Question, Reply
from salon_taxonomy.records import CallStatus, Finish, MediaKind
from salon_taxonomy.testing import HOSTILE_REPLIES
from salon_taxonomy.verdict import Reason

pytest.importorskip("torch", reason="the extra `transformers` is not installed")
pytest.importorskip("transformers", reason="the extra `transformers` is not installed")


def picture(red: int) -> Media:
    file = io.BytesIO()
    Image.new("RGB", (20, 12), (red, 80, 20)).save(file, "PNG")
    return Media.from_bytes(file.getvalue())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_llava(tmp_path_factory.mktemp("tiny-llava"))


def settings(folder: Path, **more: object) -> TransformersSettings:
    return TransformersSettings(kind="transformers", model=str(folder), device_map="cpu", threads=1, **more)  # type: ignore[arg-type]


def ask(judge: TransformersJudge, *questions: Question) -> list[Reply]:
    async def main() -> list[Reply]:
        async with judge:
            return list(await asyncio.gather(*map(judge.ask, questions)))

    return asyncio.run(main())


def question(text: str = "Is it real?", red: int = 0, **decoding: object) -> Question:
    return Question((text, picture(red)), decoding=Decoding(**{"max_tokens": 6, **decoding}))  # type: ignore[arg-type]


def test_questions_of_one_moment_are_answered_in_one_batch_and_as_each_would_be_alone(folder: Path) -> None:
    asked = [question("Is it real?" * (number + 1), 40 * number) for number in range(5)]
    together = TransformersJudge(settings(folder, batch=4))
    batches: list[int] = []
    answer = together._batches._answer
    together._batches._answer = lambda some: (batches.append(len(some)), answer(some))[1]
    replies = ask(together, *asked)
    assert sorted(batches) == [1, 4]
    alone = ask(TransformersJudge(settings(folder, batch=1)), *asked)
    assert [reply.text for reply in replies] == [reply.text for reply in alone]
    assert {reply.status for reply in replies} == {CallStatus.OK}
    assert all(reply.version == together.version and reply.usage.cost_usd == 0.0 for reply in replies)
    assert all((reply.usage.prompt_tokens or 0) > 4 for reply in replies)  # a picture of four tokens among them


def test_a_drawn_reply_depends_on_its_seed_and_not_on_its_neighbours(folder: Path) -> None:
    judge = TransformersJudge(settings(folder, batch=8))
    first, again, other, unseeded, unseeded_again = ask(
        judge,
        question(temperature=1.0, seed=1, max_tokens=12),
        question("Something else?", temperature=1.0, seed=1, max_tokens=12),
        question(temperature=1.0, seed=2, max_tokens=12),
        question(temperature=1.0, max_tokens=12),
        question(temperature=1.0, max_tokens=12),
    )
    (alone,) = ask(judge, question(temperature=1.0, seed=1, max_tokens=12))
    assert first.text == alone.text
    assert len({first.text, again.text, other.text}) > 1
    assert unseeded.text == unseeded_again.text


def test_a_reply_that_reaches_its_length_is_cut_off_and_one_that_reaches_a_stop_is_whole(folder: Path) -> None:
    judge = TransformersJudge(settings(folder))
    (long,) = ask(judge, question(max_tokens=8))
    assert (long.finish, long.usage.completion_tokens) == (Finish.LENGTH, 8)
    assert long.problem().reason == Reason.TRUNCATED  # type: ignore[union-attr]
    mark = next(each for each in long.text if each.isprintable() and each.isascii())
    (stopped,) = ask(judge, question(max_tokens=8, stop=(mark,)))
    assert stopped.finish == Finish.STOP
    assert stopped.text == long.text[: long.text.index(mark)]


def test_log_probabilities_come_with_the_likeliest_first(folder: Path) -> None:
    (reply,) = ask(TransformersJudge(settings(folder)), question(top_logprobs=3, max_tokens=4))
    assert len(reply.tokens) == 4
    for token in reply.tokens:
        values = [value for _, value in token.alternatives]
        assert len(values) == 3
        assert values == sorted(values, reverse=True)
        assert token.logprob == pytest.approx(values[0])  # greedy


def test_no_text_adds_a_picture_ends_the_turn_or_breaks_the_batch(folder: Path) -> None:
    texts = [text[:200] for text in HOSTILE_REPLIES] + ["<image><image></s><s>", "{{ messages }}{% raw %}"]
    replies = ask(TransformersJudge(settings(folder, batch=4)), *[question(f"x {text}") for text in texts])
    assert {reply.error for reply in replies} == {None}


def test_a_picture_that_cannot_be_decoded_costs_its_own_question_only(folder: Path) -> None:
    bad = Question(("Is it real?", Media.from_bytes(b"GIF89a")), decoding=Decoding(max_tokens=6))
    gone = Question(("Is it real?", Media("0" * 64, uri="nowhere.png")), decoding=Decoding(max_tokens=6))
    replies = ask(TransformersJudge(settings(folder, batch=4)), question(), bad, question(red=200), gone)
    assert [reply.status for reply in replies] == [CallStatus.OK, CallStatus.REJECTED, CallStatus.OK, CallStatus.REJECTED]
    assert "damaged" in (replies[1].error or "")


def test_questions_without_pictures_and_with_several_share_a_judge(folder: Path) -> None:
    decoding = Decoding(max_tokens=4)
    none = Question(("Only text.",), system="Be brief.", decoding=decoding)
    two = Question(("A:", picture(1), "B:", picture(200), "Which?"), decoding=decoding)
    replies = ask(TransformersJudge(settings(folder, batch=4)), none, two, question())
    assert {reply.status for reply in replies} == {CallStatus.OK}


def test_a_video_is_shown_as_frames_in_their_order(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("av")
    write_clip(tmp_path / "clip.mp4", "flicker", seconds=1.0, size=(64, 48))
    video = Media.from_bytes((tmp_path / "clip.mp4").read_bytes(), MediaKind.VIDEO)
    asked = Question(("Is it real?", video), decoding=Decoding(max_tokens=6))
    by_hand = Question(("Is it real?", *as_frames(video, VideoInput())), decoding=Decoding(max_tokens=6))
    assert len(by_hand.media) == 5
    (seen, same) = ask(TransformersJudge(settings(folder, batch=1)), asked, by_hand)
    assert (seen.status, seen.text) == (CallStatus.OK, same.text)
    (fewer,) = ask(TransformersJudge(settings(folder, videos={"most_frames": 2})), asked)
    assert (seen.usage.prompt_tokens or 0) - (fewer.usage.prompt_tokens or 0) > 3 * 4, "a frame has four tokens"
    both = ask(TransformersJudge(settings(folder, batch=4)), asked, question())
    assert {reply.status for reply in both} == {CallStatus.OK}


def test_a_video_that_cannot_be_read_costs_its_own_question_only(folder: Path) -> None:
    broken = Question(("?", Media.from_bytes(b"...", MediaKind.VIDEO)), decoding=Decoding(max_tokens=6))
    gone = Question(("?", Media("0" * 64, uri="nowhere.mp4", kind=MediaKind.VIDEO)), decoding=Decoding(max_tokens=6))
    replies = ask(TransformersJudge(settings(folder, batch=4)), broken, question(), gone)
    assert [reply.status for reply in replies] == [CallStatus.REJECTED, CallStatus.OK, CallStatus.REJECTED]


def test_how_a_video_is_shown_is_part_of_the_version_and_never_the_file_itself(folder: Path) -> None:
    versions = {TransformersJudge(settings(folder, videos=videos)).version for videos in ({}, {"most_frames": 2})}
    assert len(versions) == 2
    with pytest.raises(ValueError, match="frames, not the file"):
        settings(folder, videos={"send": "video_url"})


def test_the_version_tells_weights_apart_and_not_folders(folder: Path, tmp_path: Path) -> None:
    import shutil

    same = shutil.copytree(folder, tmp_path / "elsewhere")
    other = save_tiny_llava(tmp_path / "other", seed=1)
    versions = [TransformersJudge(settings(each)).version for each in (folder, same, other)]
    assert versions[0] == versions[1] != versions[2]
    assert TransformersJudge(settings(folder, decoding={"temperature": 0.5})).version != versions[0]
    assert TransformersJudge(settings(folder, batch=1)).version == versions[0]


def test_a_folder_that_is_no_model_and_one_without_template_are_named(folder: Path, tmp_path: Path) -> None:
    import shutil

    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no weights"):
        _ = TransformersJudge(settings(tmp_path / "empty")).version
    with pytest.raises(InputError, match="no such folder"):
        _ = TransformersJudge(settings(tmp_path / "not" / "there")).version
    bare = shutil.copytree(folder, tmp_path / "bare")
    (bare / "chat_template.jinja").unlink()
    with pytest.raises(InputError, match="chat template"):
        ask(TransformersJudge(settings(bare)), question())


def test_a_text_names_a_model(folder: Path) -> None:
    judge = open_judge(f"transformers:{folder}", {})
    assert judge.name == folder.name
