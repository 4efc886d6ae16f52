"""Scenes that move: the exact truth of planted violations, and what the pixel judge sees of it in encoded videos."""

import asyncio
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from salon_judges.media import VideoPolicy, sample_video
from salon_synthetic import PixelJudge
from salon_synthetic.generator import DrawGenerator
from salon_synthetic.scenes.moving import Motion, Violation, answered, imagine_clip, reads_clip
from salon_synthetic.scenes.scene import GAP
from salon_synthetic.scenes.vocabulary import CANVAS, NUMBER_WORDS, Colour, Shape
from salon_synthetic.videos import Shot, write_shots
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Media, Question
from salon_taxonomy.records import CallStatus, MediaKind
from salon_taxonomy.verdict import Unscored

MOVES = st.builds(
    lambda count, colour, shape, motion: (count, f"{colour} {shape}", motion),
    st.integers(1, 3),
    st.sampled_from(Colour),
    st.sampled_from([shape for shape in Shape if shape != "cross"]),
    st.sampled_from(Motion),
)


def prompt_of(count: int, name: str, motion: Motion) -> str:
    return f"{NUMBER_WORDS[count]} {name}{'s move' if count > 1 else ' moves'} {motion}."


def asked(name: str, motion: Motion) -> dict[str, str]:
    return {
        "moves": f"Does the {name} move {motion}?",
        "smoothly": f"Does the {name} move without a jump?",
        "stays": f"Is the {name} there from its first frame to the last?",
    }


@settings(max_examples=60)
@given(MOVES, st.integers(0, 2**31), st.integers(4, 40))
def test_what_obeys_its_prompt_does_so_at_every_rate(move: tuple[int, str, Motion], seed: int, frames: int) -> None:
    count, name, motion = move
    scenes = imagine_clip(prompt_of(*move), seed=seed, slips=0).scenes(frames)
    assert all(answered(question, scenes) for question in asked(name, motion).values())
    assert answered(f"Are there exactly {NUMBER_WORDS[count]} {name}s?", scenes)
    others = [other for other in Motion if other != motion]
    assert not any(answered(f"Does the {name} move {other}?", scenes) for other in others)
    for scene in scenes:
        for place, item in enumerate(scene.items):
            assert item.clear_of(scene.items[:place]), "none hides another"
            assert GAP <= item.x <= CANVAS - GAP


BREAKS = {
    Violation.STILL: {"moves"},
    Violation.BACKWARDS: {"moves"},
    Violation.VANISHES: {"stays"},
    Violation.JUMPS: {"smoothly"},
    Violation.TURNS: {"stays"},
}


@settings(max_examples=60)
@given(MOVES.filter(lambda move: move[0] == 1), st.integers(0, 2**31), st.integers(8, 40))
def test_each_violation_breaks_what_it_is_named_for_and_nothing_else(
    move: tuple[int, str, Motion], seed: int, frames: int
) -> None:
    _, name, motion = move
    clip = imagine_clip(prompt_of(*move), seed=seed, slips=1)
    violation = clip.actors[0].violation
    assert violation is not None
    broken = {key for key, question in asked(name, motion).items() if not answered(question, clip.scenes(frames))}
    assert broken == BREAKS[violation]


@given(st.integers(0, 2**31), st.integers(5, 30))
def test_the_order_of_events_is_that_of_the_prompt_unless_one_is_late(seed: int, frames: int) -> None:
    prompt = "A red star appears, then a blue circle appears, then a green square appears."
    names = ("red star", "blue circle", "green square")
    right = imagine_clip(prompt, seed=seed, slips=0).scenes(frames)
    for one, next_one in pairwise(names):
        assert answered(f"Does the {one} appear before the {next_one}?", right)
        assert not answered(f"Does the {next_one} appear before the {one}?", right)
    wrong = imagine_clip(prompt, seed=seed, slips=1)
    first, second, _ = (actor.violation for actor in wrong.actors)
    if first == Violation.LATE != second:
        assert wrong.actors[0].since > wrong.actors[1].since
        assert not answered("Does the red star appear before the blue circle?", wrong.scenes(40))


@given(st.text(max_size=80))
def test_no_text_raises_but_as_an_error_of_input(text: str) -> None:
    answered(text, imagine_clip("A red star moves up.").scenes(4))
    if not reads_clip(text):
        with pytest.raises(InputError):
            imagine_clip(text)


def test_five_objects_are_too_many_and_a_prompt_is_of_one_kind() -> None:
    with pytest.raises(InputError, match="more than 4 objects"):
        imagine_clip("Five red stars move up.")
    wrong = {(MediaKind.VIDEO, "A red star."): "prompt of a clip", (MediaKind.IMAGE, "A red star moves up."): "--video"}
    for (makes, prompt), words in wrong.items():
        made = asyncio.run(DrawGenerator(makes=makes).generate(prompt, seed=1))
        assert made.status == CallStatus.REJECTED and words in (made.error or "")


def test_the_pixel_judge_sees_in_encoded_videos_what_is_true_of_them(tmp_path: Path) -> None:
    right = total = 0
    for seed in range(12):
        motion, name = list(Motion)[seed % 4], f"{list(Colour)[seed % 7]} {('star', 'circle', 'square')[seed % 3]}"
        prompt = f"A {name} moves {motion}, and a black hexagon moves up."
        made = asyncio.run(DrawGenerator(0.7, makes=MediaKind.VIDEO).generate(prompt, seed=seed))
        assert made.image is not None and made.image.kind == MediaKind.VIDEO and made.image.data is not None
        sampled = sample_video(made.image.data, VideoPolicy(frames_per_second=5.0))
        assert not isinstance(sampled, Unscored)
        media = Media.from_bytes(made.image.data, MediaKind.VIDEO)
        object.__setattr__(media, "film", sampled.film)
        questions = [*asked(name, motion).values(), f"Is there a {name}?", "Does the black hexagon move up?"]
        reply = asyncio.run(PixelJudge().ask(Question((media, "\n".join(questions)))))
        truth = imagine_clip(prompt, seed=seed, slips=0.7).scenes(20)
        for line, question in zip(reply.text.splitlines(), questions, strict=True):
            right += line.startswith("Yes") == answered(question, truth)
            total += 1
    assert right >= total - 1, f"{right} of {total}"


def test_a_video_whose_frames_were_not_taken_is_a_rejected_call() -> None:
    made = asyncio.run(DrawGenerator(0, makes=MediaKind.VIDEO).generate("A red star moves up.", seed=0)).image
    assert made is not None
    reply = asyncio.run(PixelJudge().ask(Question((made, "Does the red star move up?"))))
    assert reply.status == CallStatus.REJECTED and "frames" in (reply.error or "")


def test_the_same_pictures_give_the_same_bytes_of_a_video_whatever_was_encoded_between(tmp_path: Path) -> None:
    drawn: dict[int, set[bytes]] = {number: set() for number in range(4)}
    for _ in range(12):
        for number, files in drawn.items():
            shots = [Shot(0.5, number), Shot(0.7, number + 1)]
            files.add(write_shots(tmp_path / "film.mp4", shots).read_bytes())
    assert [len(files) for files in drawn.values()] == [1, 1, 1, 1]
