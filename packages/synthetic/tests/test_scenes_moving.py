"""Scenes that move: the exact truth of planted violations, and what the pixel judge sees of it in encoded videos."""

import asyncio
import hashlib
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageEnhance

from for_each import for_each
from salon_judges.media import VideoPolicy, sample_video
from salon_synthetic import PixelJudge
from salon_synthetic.generator import DrawGenerator
from salon_synthetic.scenes.moving import RULES, Motion, Violation, answered, imagine_clip, reads_clip
from salon_synthetic.scenes.scene import GAP
from salon_synthetic.scenes.vocabulary import CANVAS, NUMBER_WORDS, Colour, Shape
from salon_synthetic.videos import CLIP_KINDS, ClipKind, Shot, clip_frames, shot_frames, write_shots
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


MOVING = "Two red stars move {}, then a blue circle appears, and an object appears."
QUESTIONS = (
    "Does the red star appear before the blue circle?",
    "Does the blue circle move without a jump?",
    "Is there a star?",
)


def test_a_clip_is_the_same_while_the_rules_have_their_name() -> None:
    """Other clips for a seed need another name of the rules: a generator's version is a digest of it."""
    whole = hashlib.sha256()
    for motion in Motion:
        for seed in range(12):
            scenes = imagine_clip(MOVING.format(motion), seed=seed, slips=0.6).scenes(11)
            truths = [answered(question, scenes) for question in (*QUESTIONS, *asked("red star", motion).values())]
            whole.update(f"{[scene.model_dump_json() for scene in scenes]} {truths}".encode())
    assert (RULES, whole.hexdigest()[:8]) == ("moving-1", "9fb2a7b2")


BALLS = {"clean": "b6fdc688", "flicker": "86182ec8", "pop": "31c7361c", "morph": "fc1ea805", "freeze": "2e78a2b4"}
"""Of each kind of clip: the digest of all that is drawn of two seeds."""


@for_each("kind", CLIP_KINDS)
def test_a_clip_of_a_ball_is_drawn_the_same_in_every_version(monkeypatch: pytest.MonkeyPatch, kind: ClipKind) -> None:
    whole = hashlib.sha256()

    def recorded(name: str):
        def record(_: object, *values: object, **options: object) -> Image.Image:
            numbers = [round(value, 6) for part in values for value in (part if isinstance(part, tuple) else (part,))]
            whole.update(f"{name} {numbers} {sorted(options.items())}".encode())
            return Image.new("RGB", (1, 1))

        return record

    for shape in ("rectangle", "ellipse", "rounded_rectangle"):
        monkeypatch.setattr(ImageDraw.ImageDraw, shape, recorded(shape))
    monkeypatch.setattr(ImageEnhance.Brightness, "enhance", recorded("light"))
    frames = [frame for seed in (1, 2, 3, 6) for frame in clip_frames(kind, 7, size=(120, 70), seed=seed)]
    assert len(frames) == 28 and whole.hexdigest()[:8] == BALLS[kind]


def test_the_ball_rolls_from_left_to_right_and_breaks_the_rule_of_its_kind() -> None:
    def ball(frame: Image.Image, ground: np.ndarray) -> tuple[float, int]:
        differs = (np.abs(np.asarray(frame).astype(int) - ground) > 30).any(2)
        return (float(np.nonzero(differs)[1].mean()) if differs.any() else -1.0, int(differs.sum()))

    clips = {kind: list(clip_frames(kind, 9, seed=2)) for kind in CLIP_KINDS}
    first, last = (np.asarray(clips["clean"][number]).astype(int) for number in (0, -1))
    ground = np.concatenate([last[:, :80], first[:, 80:]], axis=1)  # without the ball, which begins left and ends right
    seen = {kind: [ball(frame, ground) for frame in frames] for kind, frames in clips.items()}
    across = [x for x, _ in seen["clean"]]
    assert across == pytest.approx([160 * (0.15 + 0.7 * number / 8) for number in range(9)], abs=1)
    assert [pixels == 0 for _, pixels in seen["pop"]] == [3 <= number < 6 for number in range(9)]
    assert [x for x, _ in seen["freeze"]] == pytest.approx([24] * 4 + [136] * 5, abs=1)
    (_, first_size), *_, (_, last_size) = seen["morph"]
    assert last_size / first_size == pytest.approx(4 / 3.14, abs=0.1)  # a circle has become a square


def test_shots_pan_by_a_tenth_of_their_width_a_second_and_black_ones_show_nothing() -> None:
    size, rate = (100, 40), 10
    still, moving, black = (
        [np.asarray(frame) for frame in shot_frames([Shot(2.0, 3, kind)], rate, size)] for kind in ("still", "moving", "black")
    )
    assert [len(frames) for frames in (still, moving, black)] == [20] * 3
    assert all((frame == still[0]).all() for frame in still) and not np.any(black)
    for number, frame in enumerate(moving):
        assert (frame[:, : 100 - number] == moving[0][:, number:]).all()
    whole = [np.asarray(frame) for frame in shot_frames([Shot(0.3, 1), Shot(0.2, 2, "black")], rate, size)]
    assert [bool(frame.any()) for frame in whole] == [True, True, True, False, False]
    long = list(shot_frames([Shot(12.0, 1)], 1, size))
    assert (np.asarray(long[10]) == np.asarray(long[11])).all() and (np.asarray(long[9]) != np.asarray(long[10])).any()


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
