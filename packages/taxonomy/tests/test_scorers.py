"""Scorers: any function of pictures and prompts is loaded and called, and nothing that it returns by mistake is a score."""

import asyncio
import math
import pickle
from dataclasses import replace
from decimal import Decimal
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from salon_taxonomy import scorers
from salon_taxonomy.errors import InputError
from salon_taxonomy.plugins import ScorerKind
from salon_taxonomy.protocols import Film, Frame, Media, Question, Scorer
from salon_taxonomy.records import MediaKind
from salon_taxonomy.scorers import CheckedScorer, checked_scorer, checked_scores, open_scorer
from salon_taxonomy.verdict import Reason, Scored, Unscored

WHITE = Image.new("RGB", (4, 4), "white")


def scored(function, count=3, images=None, **attributes):
    for name, value in ({"version": "1"} | attributes).items():
        setattr(function, name, value)
    shown = [WHITE] * count if images is None else images
    return asyncio.run(checked_scorer(function).score(shown, ["a cat"] * len(shown)))


def raising(error):
    def function(images, prompts):
        raise error

    return function


async def slow(images, prompts):
    await asyncio.sleep(0)
    return [0.5 for _ in images]


MADE = {
    "list": [0.5, 1, True],
    "tuple": (0.5, 1.0, 1.0),
    "array": np.array([0.5, 1, 1], dtype=np.float32),
    "scalars": [np.float32(0.5), np.array(1.0), np.int64(1)],
}
NO_SCORES = {
    "nothing": (None, Reason.MALFORMED),
    "a text": ("123", Reason.MALFORMED),
    "bytes": (b"123", Reason.MALFORMED),
    "a dict": ({"score": 1}, Reason.MALFORMED),
    "a generator": ((each for each in (1, 2, 3)), Reason.MALFORMED),
    "too few": ([0.5, 0.5], Reason.MALFORMED),
    "too many": ([0.5] * 4, Reason.MALFORMED),
    "none at all": ([], Reason.MALFORMED),
    "a column": (np.ones((3, 1)), Reason.MALFORMED),
    "scores and information": (([0.5] * 3, {}), Reason.MALFORMED),
    "texts": (["0.5"] * 3, Reason.MALFORMED),
    "complex numbers": ([1j] * 3, Reason.MALFORMED),
    "not a number": ([math.nan] * 3, Reason.MALFORMED),
    "infinity": ([math.inf, -math.inf, 10**400], Reason.MALFORMED),
    "outside of the range": ([1.01, -0.01, 10**300], Reason.OFF_MENU),
    "no score": ([None] * 3, Reason.ABSTAINED),
}


@pytest.mark.parametrize("name", MADE)
def test_any_list_of_numbers_is_scores(name):
    assert [each.value for each in scored(lambda images, prompts: MADE[name], range=(0, 1))] == [0.5, 1.0, 1.0]


@pytest.mark.parametrize("returned", [0.5, np.array(0.5)], ids=["a number", "a scalar array"])
def test_a_number_that_stands_alone_is_the_score_of_each_picture_that_is_given_again_alone(returned):
    sizes = []

    def number(images, prompts):
        sizes.append(len(images))
        return returned

    assert [each.value for each in scored(number, range=(0, 1))] == [0.5] * 3
    assert sizes == [3, 1, 1, 1]


@pytest.mark.parametrize("name", NO_SCORES)
def test_what_is_no_list_of_numbers_within_the_range_is_never_a_score(name):
    returned, reason = NO_SCORES[name]
    found = scored(lambda images, prompts: returned, range=(0, 1))
    assert [each.reason for each in found] == [reason] * 3
    assert all(each.detail for each in found)


@given(st.recursive(st.none() | st.floats() | st.integers() | st.text() | st.booleans() | st.just(Decimal(1)), st.lists))
def test_whatever_a_scorer_returns_becomes_one_verdict_for_each_picture_within_the_range(returned):
    found = checked_scores(returned, 3, (-2.0, 2.0))
    assert len(found) == 3
    assert all(isinstance(each, Unscored) or (-2 <= each.value <= 2) for each in found)


class UnprintableError(Exception):
    """Raises where its words are asked for."""

    def __str__(self):
        raise ValueError


class Unreadable(list):
    """Results whose computation failed, as those of a GPU do when they are read."""

    ndim = 0

    def __len__(self):
        raise RuntimeError("the device failed")

    tolist = item = __len__


RAISED = (ValueError("no"), MemoryError("full"), TimeoutError(), SystemError("no"), StopIteration(), UnprintableError())
UNREADABLE = (Unreadable(), [1.0, Unreadable(), 1.0])


@pytest.mark.parametrize("error", [*RAISED, asyncio.CancelledError()], ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("awaited", [False, True], ids=["function", "coroutine"])
def test_a_scorer_that_raises_leaves_no_score_and_the_reason(error, awaited):
    async def later(images, prompts):
        raise error

    found = scored(later if awaited else raising(error))
    assert {each.reason for each in found} == {Reason.REJECTED}
    assert type(error).__name__ in found[0].detail or isinstance(error, StopIteration)


@pytest.mark.parametrize("returned", UNREADABLE)
def test_results_that_raise_when_they_are_read_leave_no_score_and_the_reason(returned):
    found = scored(lambda images, prompts: returned)
    assert {each.reason for each in found} == {Reason.REJECTED}
    assert "the device failed" in found[0].detail


@pytest.mark.parametrize("returned", [0.5, np.float32(0.5), np.array(0.5), [0.5], np.array([0.5])])
def test_the_score_of_a_picture_that_is_alone_in_its_batch_may_be_a_number_alone(returned):
    assert scored(lambda images, prompts: returned, count=1) == [Scored(0.5)]


def test_what_a_scorer_does_to_its_pictures_changes_no_picture_of_the_caller():
    def spoil(images, prompts):
        for image in images:
            image.paste("black", (0, 0, 4, 4))
            image.thumbnail((1, 1))
            image.close()
        return [1.0] * len(images)

    given = [Image.new(mode, (4, 4), "white") for mode in ("RGB", "L", "RGBA", "P")]
    before = [(image.size, image.tobytes()) for image in given]
    assert scored(spoil, images=given) == [Scored(1.0)] * 4
    assert [(image.size, image.tobytes()) for image in given] == before


def test_a_scorer_that_cannot_work_at_all_stops_the_work():
    with pytest.raises(InputError, match="no weights"):
        scored(raising(InputError("no weights")))


def test_a_scorer_may_give_reasons_of_its_own():
    missing = Unscored(Reason.REFUSED, "the judge declined")
    assert scored(lambda images, prompts: [Scored(0.5), missing, Scored(7.0)], range=(0, 1))[:2] == [Scored(0.5), missing]
    assert scored(lambda images, prompts: [Scored(7.0)] * 3, range=(0, 1))[0].reason == Reason.OFF_MENU


def test_one_wrong_score_costs_its_own_picture_only():
    found = scored(lambda images, prompts: [1.0, math.nan, 2.0])
    assert (found[0], found[2], found[1].reason) == (Scored(1.0), Scored(2.0), Reason.MALFORMED)


def test_a_coroutine_function_is_awaited():
    assert scored(slow) == [Scored(0.5)] * 3


def test_pictures_that_cannot_be_read_are_not_shown_and_the_others_are_upright_rgb(tmp_path):
    seen = []

    def look(images, prompts):
        seen.extend(
            (image.mode, image.size, image.getpixel((0, 0)), prompt) for image, prompt in zip(images, prompts, strict=True)
        )
        return [1.0] * len(images)

    look.version = "1"
    Image.new("RGBA", (4, 4), (0, 0, 0, 0)).save(tmp_path / "clear.png")
    turned = Image.new("RGB", (8, 4), "red")
    turned.save(tmp_path / "turned.jpg", exif=_sideways())
    shown = [
        Media.from_bytes(b"no picture"),
        Media.from_file(tmp_path / "clear.png"),
        (tmp_path / "turned.jpg").read_bytes(),
        7,
    ]
    found = asyncio.run(checked_scorer(look).score(shown, ["a", "b", "c", "d"]))
    assert [getattr(each, "reason", None) for each in found] == [Reason.BAD_MEDIA, None, None, Reason.BAD_MEDIA]
    assert seen[0] == ("RGB", (4, 4), (255, 255, 255), "b")
    assert (seen[1][:2], seen[1][3]) == (("RGB", (4, 8)), "c")


def _sideways():
    exif = Image.Exif()
    exif[0x0112] = 6
    return exif


def test_prompts_of_another_number_are_refused():
    def function(images, prompts):
        return [1.0]

    function.version = "1"
    with pytest.raises(InputError, match="needs 1 prompts, one for each picture, not"):
        asyncio.run(checked_scorer(function).score([WHITE], []))


# --------------------------------------------------------------------------------------------------------------- loading

SOURCE = """
def length(images, prompts):
    return [float(len(prompt)) for prompt in prompts]

class Same:
    name, version, range, higher_is_better, batch = "same", "7", (0, 1), False, 4
    def __call__(self, images, prompts):
        return [0.25] * len(images)

class Needs:
    def __init__(self, weights):
        self.weights = weights

number = 7
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "metrics.py"
    path.write_text(SOURCE)
    return path


def test_a_plain_function_of_a_file_is_a_scorer_and_every_change_of_the_file_another_version(file, tmp_path):
    first = open_scorer(f"{file}:length")
    assert isinstance(first, Scorer)
    assert (first.name, first.range, first.higher_is_better) == ("length", (-math.inf, math.inf), True)
    other = tmp_path / "copy.py"
    other.write_text(SOURCE)
    changed = tmp_path / "changed.py"
    changed.write_text(SOURCE + "\n# another one\n")
    assert open_scorer(f"{other}:length").version == first.version != open_scorer(f"{changed}:length").version


ALIKE = """
from functools import partial

def one(images, prompts): return [0.1] * len(images)
def other(images, prompts): return [0.2] * len(images)
small, large = (lambda images, prompts, v=v: [v] * len(images) for v in (0.3, 0.4))

def base(images, prompts, value): return [value] * len(images)
first, second = partial(base, value=0.5), partial(base, value=0.6)

class Fixed:
    def __init__(self, value): self.value = value
    def __call__(self, images, prompts): return [self.value] * len(images)
clip, siglip = Fixed(0.7), Fixed(0.8)

class Named(Fixed):
    name = version = "1"
model, larger = Named(0.9), Named(1.0)
"""


def test_scorers_of_one_file_are_told_apart_by_their_versions_and_names(tmp_path):
    (tmp_path / "alike.py").write_text(ALIKE)
    names = ["one", "other", "small", "large", "first", "second", "clip", "siglip", "model", "larger"]
    loaded = [open_scorer(f"{tmp_path}/alike.py:{name}") for name in names]
    assert len({each.version for each in loaded}) == len(names)
    assert [each.name for each in loaded] == [*names[:-2], "1", "1"]


def test_attributes_say_the_name_the_version_and_the_range(file):
    found = open_scorer(f"{file}:Same")
    assert (found.name, found.range, found.higher_is_better, found.batch) == ("same", (0.0, 1.0), False, 4)
    assert found.scaled(0.25) == 0.75


def test_a_function_of_an_installed_module_is_named_with_a_colon():
    assert open_scorer("statistics:correlation").name == "correlation"


WRONG = {
    "no-colon": "no such scorer",
    "no_module:score": "cannot be imported",
    "nowhere.py:score": "nowhere.py: there is no such file",
    "FILE:absent": "has no such function",
    "FILE:number": "a scorer is a function",
    "FILE:Needs": "cannot be made without arguments",
    "math:atan2": "has no version, and no source file",
}


@pytest.mark.parametrize("specification", WRONG)
def test_a_scorer_that_cannot_be_loaded_is_an_error_that_says_why(file, specification):
    with pytest.raises(InputError, match=WRONG[specification]):
        open_scorer(specification.replace("FILE", str(file)))


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("range", (1, 0)),
        ("range", (1, 1)),
        ("range", (0, math.nan)),
        ("range", 3),
        ("range", ("a", "b")),
        ("version", 3),
        ("name", "a\nb"),
        ("higher_is_better", "no"),
        ("batch", 0),
    ],
)
def test_a_wrong_attribute_is_an_error_that_names_it(attribute, value):
    def function(images, prompts):
        return []

    setattr(function, attribute, value)
    with pytest.raises(InputError) as raised:
        checked_scorer(function)
    assert raised.value.key == attribute


def test_a_question_for_a_scorer_has_a_digest_of_its_own_and_others_keep_theirs():
    plain = Question(("Is this AI-generated?", Media.from_bytes(b"...")))
    assert plain.request_sha256()[:8] == "2087f3e6"
    assert Question(plain.parts, prompt="a cat").request_sha256() != Question(plain.parts, prompt="").request_sha256()


def test_checked_scorers_of_importable_functions_pickle():
    found = open_scorer("statistics:correlation")
    assert pickle.loads(pickle.dumps(found)) == found
    assert isinstance(found, CheckedScorer)


@pytest.mark.parametrize("environment", [{"KEY": "secret"}, {}, None])
def test_a_kind_of_scorers_is_given_its_settings_and_the_caller_s_environment_alone(monkeypatch, environment):
    seen = []

    def opened(text, secrets):
        seen.append((text, dict(secrets)))
        return with_version

    def with_version(images, prompts):
        return [1.0 for _ in images]

    with_version.version = "1"
    monkeypatch.setenv("KEY", "of the process")
    monkeypatch.setattr(scorers, "installed", lambda group: ["kind"])
    monkeypatch.setattr(scorers, "plugin", lambda group, name, expected: ScorerKind("kind", opened))
    assert isinstance(open_scorer("kind:model:a", environment), CheckedScorer)
    assert seen == [("model:a", environment or {})]


def test_a_score_is_a_share_of_the_range_from_its_worst_to_its_best_end():
    for upward in (None, True, False):
        scorer = CheckedScorer(min, "error", "1", range=(1, 5), **({} if upward is None else {"higher_is_better": upward}))
        shares = [scorer.scaled(value) for value in (1, 2, 5)]
        assert shares == ([1.0, 0.75, 0.0] if upward is False else [0.0, 0.25, 1.0])
    assert CheckedScorer(min, "error", "1").scaled(0.5) is None


def test_what_is_printed_of_a_scorer_is_the_same_in_every_process():
    one, other = (CheckedScorer(lambda images, prompts: [], "error", "1") for _ in range(2))
    assert repr(one) == repr(other)


def test_a_function_that_is_missing_is_answered_with_those_that_there_are(tmp_path):
    (tmp_path / "some.py").write_text("import math\nnumber = 3\ndef _own(): ...\ndef first(): ...\nclass Second: ...\n")
    (tmp_path / "none.py").write_text("number = 3\n")
    with pytest.raises(InputError) as raised:
        open_scorer(f"{tmp_path}/some.py:absent")
    assert (list(raised.value.allowed), raised.value.hint) == (["first", "Second"], None)
    with pytest.raises(InputError) as raised:
        open_scorer(f"{tmp_path}/none.py:absent")
    assert raised.value.allowed is None and "no function" in raised.value.hint


# ------------------------------------------------------------------------------------------------ videos, and media beside


BLACK = Image.new("RGB", (4, 4))


def versioned(function):
    function.version = "1"
    return checked_scorer(function)


def verdicts(function, images, **beside):
    found = asyncio.run(versioned(function).score(images, [str(number) for number in range(len(images))], beside))
    return [each.value if isinstance(each, Scored) else each.reason for each in found]


@given(st.lists(st.integers(1, 5), min_size=1, max_size=6))
def test_a_scorer_of_frames_is_given_every_frame_of_each_video_in_order(lengths):
    def shown(frames, prompts):
        assert [len(each) for each in frames] == lengths
        return [sum(2**at * (frame.getpixel((0, 0))[0] > 0) for at, frame in enumerate(video)) for video in frames]

    videos = [[WHITE if (row + at) % 2 else BLACK for at in range(count)] for row, count in enumerate(lengths)]
    expected = [sum(2**at for at in range(count) if (row + at) % 2) for row, count in enumerate(lengths)]
    assert verdicts(shown, videos) == expected


def test_a_video_comes_as_frames_or_as_media_with_a_film_and_one_that_cannot_be_read_costs_its_own_row():
    def count(frames, prompts):
        return [len(each) for each in frames]

    frame = Frame(0.0, Media.from_bytes(png_of(WHITE)))
    film = Media.from_bytes(b"video", MediaKind.VIDEO)
    videos = [
        [WHITE, png_of(BLACK), frame.image],
        replace(film, film=Film((frame, frame), 1.0, 2)),
        [WHITE, b"?"],
        [],
        film,
        Unscored(Reason.TIMEOUT),
    ]
    assert verdicts(count, videos) == [3.0, 2.0, *[Reason.BAD_MEDIA] * 3, Reason.TIMEOUT]
    found = asyncio.run(versioned(count).score(videos, [""] * 6))
    assert found[2].detail.startswith("frame 2: the file is none of the picture formats")


def png_of(image):
    encoded = BytesIO()
    image.save(encoded, "PNG")
    return encoded.getvalue()


def test_a_video_for_a_scorer_of_pictures_and_a_picture_for_one_of_videos_are_refused():
    with pytest.raises(InputError, match="rates pictures, not videos") as raised:
        verdicts(lambda images, prompts: [1.0] * len(images), [WHITE, [WHITE]])
    assert (raised.value.row, raised.value.column) == (2, "images")
    for picture in (WHITE, b"?", Media.from_bytes(b"?")):
        with pytest.raises(InputError, match="rates videos, not pictures"):
            verdicts(lambda frames, prompts: [1.0] * len(frames), [picture])


def test_media_beside_the_result_are_lists_or_one_and_only_those_asked_for_are_read():
    def rate(images, prompts, sources, masks, first_frames=None, weight=2):
        assert first_frames is None
        return [len(source) + 10 * (mask is not None) for source, mask in zip(sources, masks, strict=True)]

    beside = {"sources": [WHITE, [WHITE, png_of(BLACK)], [b"?"], []], "masks": [BLACK] * 4, "references": ["never looked at"]}
    assert verdicts(rate, [WHITE] * 4, **beside) == [11.0, 12.0, Reason.BAD_MEDIA, Reason.BAD_MEDIA]
    with pytest.raises(InputError, match="needs sources beside the images"):
        verdicts(rate, [WHITE], masks=[BLACK])
    with pytest.raises(InputError, match="needs 2 sources, one for each picture"):
        verdicts(rate, [WHITE] * 2, sources=[WHITE], masks=[BLACK] * 2)
    with pytest.raises(InputError, match="takes one of the masks") as raised:
        verdicts(rate, [WHITE] * 2, sources=[WHITE] * 2, masks=[BLACK, [BLACK] * 2])
    assert (raised.value.row, raised.value.column) == (2, "masks")


def test_a_source_may_be_a_video_for_a_scorer_of_videos_alone():
    def count(frames, prompts, sources):
        return [next(len(each) if isinstance(each, list) else 0 for each in row) for row in sources]

    assert verdicts(count, [[WHITE]] * 2, sources=[[[BLACK] * 3], [BLACK]]) == [3.0, 0.0]
    assert verdicts(lambda images, prompts, sources: [1.0], [WHITE], sources=[[[BLACK] * 3]]) == [Reason.BAD_MEDIA]


class Names:
    version = "1"
    takes = ("frames", "first_frames")

    def __call__(self, *given, **beside):
        return [float(first is not None) for first in beside["first_frames"]]


@pytest.mark.parametrize(
    "function",
    [lambda images: [], lambda: [], lambda prompts, images: [], lambda prompt, frames: [], lambda images, *, prompts: []],
)
def test_what_cannot_take_pictures_and_then_prompts_is_refused_before_it_is_called(function):
    function.version = "1"
    with pytest.raises(InputError, match=r"\(images, prompts\) or \(frames, prompts\), in this order; it is '\("):
        checked_scorer(function)
    for right in (lambda images, prompts: [], lambda pictures, texts=None: [], lambda *both: [], lambda a, /, b: []):
        right.version = "1"
        assert checked_scorer(right).takes == ("images",)


def test_the_parameters_or_the_attribute_takes_say_what_a_scorer_takes():
    def edited(images, prompts, sources, references=None):
        return []

    assert (versioned(edited).takes, versioned(edited).optional) == (("images", "sources", "references"), {"references"})
    assert checked_scorer(Names()).takes == ("frames", "first_frames")
    assert checked_scorer(Names()).batch == 4 < versioned(edited).batch
    found = asyncio.run(checked_scorer(Names()).score([[WHITE]] * 2, [""] * 2, {"first_frames": [WHITE, None]}))
    assert [found[0], found[1].reason] == [Scored(1.0), Reason.BAD_MEDIA]
    with pytest.raises(InputError, match="media beside them; it needs") as raised:
        versioned(lambda images, prompts, audio: [])
    assert raised.value.value == "audio"
    for wrong in ("images", (), ("sources",), ("images", "audio"), 3):
        with pytest.raises(InputError, match="images or frames first"):
            checked_scorer(type("Wrong", (), {"version": "1", "takes": wrong, "__call__": lambda self, a, b: []})())
    for rate in (0, -1, math.inf, "fast"):
        with pytest.raises(InputError, match="at most 1000"):
            checked_scorer(type("Wrong", (), {"version": "1", "frames_per_second": rate, "__call__": lambda self, a, b: []})())


def test_a_scorer_gets_sixteen_pictures_or_four_videos_at_once_and_five_frames_of_a_second_where_it_says_nothing():
    def of_pictures(images, prompts):
        return []

    def of_videos(frames, prompts):
        return []

    of_pictures.version = of_videos.version = "1"
    assert [checked_scorer(each).batch for each in (of_pictures, of_videos)] == [16, 4]
    assert checked_scorer(of_videos).frames_per_second == 5.0
    for rate, allowed in ((1000, True), (1000.5, False), (0, False), (0.1, True)):
        of_videos.frames_per_second = rate
        if allowed:
            assert checked_scorer(of_videos).frames_per_second == rate
        else:
            with pytest.raises(InputError, match="at most 1000"):
                checked_scorer(of_videos)
    for length, allowed in ((200, True), (201, False), (0, True)):
        of_pictures.name = "n" * length
        if allowed:
            assert checked_scorer(of_pictures).name == ("n" * length or "of_pictures")
        else:
            with pytest.raises(InputError, match="short text"):
                checked_scorer(of_pictures)


def test_a_scorer_shows_its_name_and_not_its_code():
    def plain(images, prompts):
        return []

    plain.version = "1"
    assert "function" not in repr(checked_scorer(plain)) and "name='plain'" in repr(checked_scorer(plain))
