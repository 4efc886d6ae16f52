"""Monitors of pictures: what moves a number and what must not, too little to read, and resumption."""

import pickle
import re
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from for_each import for_each
from salon_rewards.monitors import Alarm, AnswerForm, StepBatch, watch
from salon_taxonomy.errors import InputError
from salon_train.configuration.schema import MonitorsSection
from salon_train.demo.shapes import HELD_OUT, LEARNED
from salon_train.image_policy.picture_measures import (
    contrast,
    drift,
    grids,
    likeness,
    marks,
    saturation,
    sharpness,
    variety,
    wandering,
)
from salon_train.image_policy.picture_monitors import (
    BASELINE,
    PICTURE_MONITORS,
    WINDOW,
    PictureBatch,
    PictureBoard,
    PictureMonitor,
    PictureWatch,
)
from salon_train.run.early_abort import DegeneratedError
from salon_train.run.events import NO_WATCHER, LogFile, TrainingEvent
from salon_train.run.monitor_hook import RunWatch
from studies.image_policy import habits
from studies.image_policy.monitors import CASES, Pool, alarms, exact_interval, main, replay
from studies.image_policy.study import PolicyArm, run_image_study

Pictures = NDArray[np.float32]
STEPS = BASELINE + WINDOW
PROMPTS = ["a", "b"] * 8


def blobs(seed: int, count: int = 16, side: int = 16) -> Pictures:
    """Smooth coloured pictures with a little noise."""
    random = np.random.default_rng(seed)
    rows, columns = np.indices((side, side))
    pictures = np.ones((count, 3, side, side), np.float32)
    for picture in pictures:
        middle, colour = random.uniform(4, side - 4, 2), random.uniform(0, 0.6, 3)
        ink = np.exp(-((rows - middle[0]) ** 2 + (columns - middle[1]) ** 2) / 12)
        picture -= (ink * (1 - colour)[:, None, None]).astype(np.float32)
    return np.clip(pictures + random.normal(0, 0.02, pictures.shape), 0, 1).astype(np.float32)


def batch(step: int, pictures: Pictures, **more: object) -> PictureBatch:
    return PictureBatch(pictures, PROMPTS[: len(pictures)], StepBatch(step, AnswerForm.R3, ()), **more)  # type: ignore[arg-type]


WORD = np.pad(np.array([[1, 1, 1, 0, 1, 0, 1], [0, 1, 0, 0, 1, 1, 1], [0, 1, 0, 0, 1, 0, 1]], bool), ((12, 1), (1, 8)))
"""Two letters in a corner of 16 by 16 pixels."""


def moved(number: int) -> np.ndarray:
    """Return the word at one of 130 places."""
    return np.roll(WORD, (-(number * 5 % 13), number * 7 % 10), (0, 1))


MEASURED = {
    (6, 16, 12): (0.06873, 0.57225, 0.27484, 0.10137, 0.19728, 0.36989, 0.00923, 0.19581, 0.15514),
    (40, 70, 66): (0.06118, 0.62918, 0.28261, 0.09946, 0.11689, 0.91572, 0.00123, 0.05216, 0.26391),
    (3, 280, 300): (0.06361, 0.74859, 0.26311, 0.09424, 0.12649, 0.99307, 0.00504, 0.05251, 0.24057),
}
"""Of so many pictures of this height and width: every number, in the order of the module, drift last."""


@for_each(("sizes", "expected"), MEASURED.items())
def test_the_numbers_of_pictures_are_the_same_in_every_version(sizes: tuple[int, int, int], expected: tuple[float, ...]):
    """The thresholds of monitors were measured with these numbers."""
    (count, height, width), random = sizes, np.random.default_rng(5)
    smooth = np.indices((height, width)).sum(0)[None, None] / (height + width) * random.random((count, 3, 1, 1))
    pictures = (0.5 * smooth + 0.5 * random.random((count, 3, height, width))).astype(np.float32)
    prompts = ["a", "b", "a"] * (count // 3) + ["b"] * (count % 3)
    measures = (grids, sharpness, saturation, contrast, variety, likeness, marks, wandering)
    numbers = [*(measure(pictures, prompts) for measure in measures), drift(pictures**1.1, pictures, prompts)]
    assert numbers == pytest.approx(expected, abs=2e-5)


CHANGES: dict[str, Callable[[Pictures], Pictures]] = {
    "grids": lambda drawn: np.clip(drawn * 0.8 + 0.1 + 0.1 * (np.indices((16, 16)).sum(0) % 2 * 2 - 1), 0, 1),
    "blur": lambda drawn: np.mean([np.roll(drawn, (y, x), (2, 3)) for y in range(-2, 3) for x in range(-2, 3)], 0),
    "saturation_drift": lambda drawn: drawn * np.array([1, 0.6, 0.6])[:, None, None],
    "contrast_drift": lambda drawn: 0.5 + (drawn - 0.5) * 0.3,
    "diversity_loss": lambda drawn: drawn[[0, 1] * (len(drawn) // 2)],
    "repeated_layout": lambda drawn: drawn[[0] * len(drawn)],
    "watermarks": lambda drawn: np.where(WORD, 0.4, drawn),
    "wandering_marks": lambda drawn: np.stack([np.where(moved(number), 0.4, one) for number, one in enumerate(drawn)]),
}


@for_each("name", PICTURE_MONITORS)
def test_a_planted_change_rings_its_monitor_and_nothing_rings_before(name: str):
    monitor = PictureMonitor(name)
    for step in range(2 * STEPS):
        drawn = blobs(step)
        seen = monitor.look(batch(step, drawn if step < STEPS else CHANGES[name](drawn).astype(np.float32)))
        if step < STEPS - 1:
            assert seen.value is None and seen.verdict is None and "steps of the" in seen.detail
        elif step == STEPS - 1:
            assert seen.verdict is Alarm.OK, seen
    assert seen.verdict in (Alarm.WARN, Alarm.STOP) and seen.value is not None and seen.value > monitor.thresholds.warn, seen


@given(st.integers(0, 50))
def test_numbers_depend_on_no_order_and_no_names_and_are_within_their_bounds(seed: int):
    pictures, order = blobs(seed), np.random.default_rng(seed).permutation(16)
    prompts = [PROMPTS[place] for place in order]
    for name, kind in PICTURE_MONITORS.items():
        value, again = kind.measure(pictures, PROMPTS), kind.measure(pictures[order], prompts)
        assert value == pytest.approx(again, abs=1e-5), name
        assert value is not None and -1 <= value <= 1 + 1e-6
        assert kind.measure(pictures, [f"prompt {name}" for name in PROMPTS]) == value, "names say nothing"
    pairs = [(one, two) for one, two in combinations(range(16), 2) if PROMPTS[one] == PROMPTS[two]]
    assert variety(pictures, PROMPTS) == pytest.approx(
        np.mean([np.abs(pictures[a] - pictures[b]).mean() for a, b in pairs]), rel=1e-4
    )
    layouts = pictures.mean(1).reshape(16, 8, 2, 8, 2).mean((2, 4)).reshape(16, -1)
    others = [(one, two) for one, two in combinations(range(16), 2) if PROMPTS[one] != PROMPTS[two]]
    wanted = np.mean([np.corrcoef(layouts[a], layouts[b])[0, 1] for a, b in others])
    assert likeness(pictures, PROMPTS) == pytest.approx(wanted, abs=1e-3)


def test_what_changes_the_light_alone_is_neither_blur_nor_grid_and_blank_pictures_divide_by_nothing():
    pictures = blobs(3)
    darker = pictures * np.float32(0.5)
    assert sharpness(darker, PROMPTS) == pytest.approx(sharpness(pictures, PROMPTS), rel=1e-3)
    assert grids(darker, PROMPTS) == pytest.approx(grids(pictures, PROMPTS), rel=1e-3)
    assert contrast(darker, PROMPTS) == pytest.approx(contrast(pictures, PROMPTS) / 2, rel=1e-3)
    assert saturation(pictures.mean(1, keepdims=True).repeat(3, 1), PROMPTS) == 0
    blank = np.full((16, 3, 16, 16), 0.5, np.float32)
    for name, kind in PICTURE_MONITORS.items():
        value = kind.measure(blank, PROMPTS)
        assert value is None or np.isfinite(value), name
    assert drift(pictures, blank, PROMPTS) is None and drift(pictures, pictures, ["a"]) is None


def test_steps_with_too_few_pictures_or_of_one_prompt_give_no_value():
    board = PictureBoard()
    for step in range(STEPS + 1):
        seen = board.look(batch(step, blobs(step, count=7)))
    assert all(reading.value is None and reading.verdict is None for reading in seen.readings) and seen.verdict is Alarm.OK
    monitor = PictureMonitor("repeated_layout")
    for step in range(STEPS):
        alone = PictureBatch(blobs(step), ["a"] * 16, StepBatch(step, AnswerForm.R3, ()))
        assert monitor.look(alone).value is None


def test_a_mark_is_found_wherever_it_stands_and_a_subject_that_all_share_is_none():
    random = np.random.default_rng(0)
    for down, across in ((0, 0), (0, 8), (-12, 3)):
        marked = np.where(np.roll(WORD, (down, across), (0, 1)), 0.4, blobs(1))
        assert marks(marked.astype(np.float32), PROMPTS) > 0.3 > 0.1 > abs(marks(blobs(1), PROMPTS))
    large = np.repeat(np.repeat(np.where(WORD, 0.4, blobs(2)), 32, 2), 32, 3).astype(np.float32)
    assert marks(large, PROMPTS) > 0.2, "also where it is many pixels wide, and not in the middle"
    same = blobs(3, count=2)[[0] * 16] + random.normal(0, 0.05, (16, 3, 16, 16)).astype(np.float32)
    assert marks(same, ["a"] * 16) is None, "pictures of one prompt may be alike"


def test_a_mark_that_wanders_is_found_where_one_that_stands_is_looked_for_in_vain():
    wanders = CHANGES["wandering_marks"](blobs(1)).astype(np.float32)
    assert wandering(wanders, PROMPTS) - wandering(blobs(1), PROMPTS) > 0.1 > marks(wanders, PROMPTS) - marks(blobs(1), PROMPTS)
    stands = CHANGES["watermarks"](blobs(1)).astype(np.float32)
    assert wandering(stands, PROMPTS) >= marks(stands, PROMPTS) - 1e-6, "no shift is a shift, too"
    assert wandering(blobs(1), ["a"] * 16) is None


@given(st.integers(0, 50))
def test_shifts_are_those_of_trying_them_all(seed: int):
    drawn = blobs(seed, count=4)
    detail = drawn.mean(1)
    padded = np.pad(detail, ((0, 0), (1, 1), (1, 1)), mode="edge")
    detail = detail - np.mean([padded[:, y : y + 16, x : x + 16] for y in range(3) for x in range(3)], 0)
    detail -= detail.mean((1, 2), keepdims=True)
    detail /= np.linalg.norm(detail, axis=(1, 2), keepdims=True)
    wide = np.pad(detail, ((0, 0), (16, 16), (16, 16)))

    def best(one: int, other: int) -> float:
        shifts = ((y, x) for y in range(32) for x in range(32))
        return max(float((wide[one, y : y + 16, x : x + 16] * detail[other]).sum()) for y, x in shifts)

    names = ["a", "b", "a", "b"]
    pairs = [(0, 1), (0, 3), (1, 2), (2, 3)]
    assert wandering(drawn, names) == pytest.approx(np.mean([best(*pair) for pair in pairs]), abs=1e-5)


def test_a_large_picture_is_measured_where_its_fine_patterns_are():
    picture = np.full((8, 3, 300, 520), 0.5, np.float32)
    picture[..., ::2, ::2] += 0.1
    assert grids(picture, []) > 0.9 and variety(picture, ["a"] * 8) == 0.0


def test_a_board_that_is_kept_and_read_goes_on_where_it_was():
    one, other = PictureBoard(), PictureBoard()
    for step in range(STEPS + 4):
        if step == STEPS - 2:
            other = pickle.loads(pickle.dumps(other))
        drawn = batch(step, blobs(step))
        assert one.look(drawn) == other.look(drawn)


def test_the_held_out_number_that_falls_while_the_reward_rises_and_drift_are_read_and_a_stop_ends_the_run():
    told: list[TrainingEvent] = []

    class Heard:
        def happened(self, event: TrainingEvent) -> None:
            told.append(event)

    def watching(name: str, on_stop: Literal["log", "stop"]) -> PictureWatch:
        section = MonitorsSection(which=(name,), on_stop=on_stop)
        return PictureWatch(PictureBoard(section), section, Heard(), steps=99, metric="reward")

    watch = watching("reward_metric_divergence", "log")
    for step in range(8):
        if step:
            watch.happened(TrainingEvent("evaluated", step, 99, {"reward": 0.5 - step / 50}))
        watch.drawn(blobs(step), PROMPTS, [step / 10] * 15 + [float("nan")], step)
    begun = [event.facts for event in told if event.what == "warned"]
    assert [(fact["monitor"], fact["verdict"]) for fact in begun] == [("reward_metric_divergence", "stop")]
    last = [event for event in told if event.what == "watched"][-1]
    assert last.facts["unreadable"] == 1 and last.facts["completions"] == 16
    watch = watching("reference_drift", "stop")
    watch.measured(1.7)
    with pytest.raises(DegeneratedError, match=r"reference_drift says stop: 1\.7.*\n.*leave out --set monitors.on_stop=stop"):
        watch.drawn(blobs(9), PROMPTS, [0.9] * 16, 9)


class Harmful:
    """Makes a file where it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.mark,)


@for_each("kept", [watch(), PictureBoard()])
def test_what_monitors_have_seen_is_read_again_and_a_folder_from_elsewhere_runs_no_code(kept: Any, tmp_path: Path):
    hook = RunWatch(kept, MonitorsSection(), NO_WATCHER, steps=9, metric="reward")
    hook.happened(TrainingEvent("evaluated", 1, 9, {"reward": 0.5}))
    hook.save(tmp_path)
    file = next(tmp_path.iterdir())
    whole, mark = file.read_bytes(), tmp_path / "run"
    hook.load(tmp_path)
    hook.save(tmp_path)
    assert file.read_bytes() == whole
    calls = [Harmful(mark), (kept, [], {"x": Harmful(mark)}), [Path, print], (kept, [], LogFile)]
    for content in (*(pickle.dumps(call) for call in calls), b"", whole[:40], pickle.dumps(None), pickle.dumps((1, 2, 3))):
        file.write_bytes(content)
        with pytest.raises(InputError, match=r"monitors\.pickle.*cannot be read"):
            hook.load(tmp_path)
    assert not mark.exists()


def test_unknown_monitors_and_wrong_thresholds_are_refused():
    with pytest.raises(InputError, match=r"monitors\.which"):
        PictureBoard(MonitorsSection(which=("length_drift",)))
    with pytest.raises(InputError, match="must not be below 'warn'"):
        PictureBoard(MonitorsSection(thresholds={"blur": (1.0, 0.5)}))
    assert PictureBoard(MonitorsSection(thresholds={"blur": (0.7, 2.0)})).monitors[1].thresholds.warn == 0.7


def test_a_grid_of_another_frequency_in_each_picture_is_a_grid_too():
    waves = [np.cos(np.pi * (np.indices((16, 16)) * np.array(turn)[:, None, None]).sum(0)) for turn in ((1, 0), (0, 1), (1, 1))]
    drawn = np.stack([np.tile(0.5 + 0.2 * waves[place % 3], (3, 1, 1)) for place in range(16)]).astype(np.float32)
    assert grids(drawn, PROMPTS) > 0.9


def test_a_policy_of_habits_is_found_by_the_monitor_that_it_games_and_rewards_at_random_ring_nothing():
    assert {*habits.GAMED} >= {*PICTURE_MONITORS, "reference_drift", "reward_metric_divergence"}
    for name in ("repeated_layout", "reference_drift"):
        assert name in alarms(habits.run(habits.GAMED[name], 100)), name
    assert not alarms(habits.run(habits.GAMED["reference_drift"], 5000, shuffled=True))


def test_replays_of_the_study_are_quiet_where_nothing_is_planted_and_loud_where_something_is():
    prompts = (*LEARNED, *HELD_OUT)
    pictures = {prompt: blobs(number, count=160) for number, prompt in enumerate(prompts)}
    paid = {prompt: np.full(160, 0.5) for prompt in prompts}
    pool = Pool(pictures, pictures, paid, paid)
    assert alarms(replay(pool, 0)) == {} == alarms(replay(pool, 1, learning=True))
    for case in (CASES[0], CASES[4], CASES[6], CASES[7], CASES[8]):
        found = alarms(replay(pool, 2, planted=case))
        assert case.monitor in found and found[case.monitor][0] > 20
    first, again = ([seen.pictures for seen in replay(pool, 3)] for _ in range(2))
    assert all(np.array_equal(one, other) for one, other in zip(first, again, strict=True))
    assert exact_interval(20, 20)[1] == 1.0 and exact_interval(0, 20)[0] == 0.0


@pytest.mark.study
def test_policies_that_learn_honestly_seldom_ring_and_what_is_planted_is_found(tmp_path: Path):
    """What docs/monitors.md prints, of one seed."""
    run_image_study(tmp_path, arms=[PolicyArm.CPS])
    told = CliRunner().invoke(main, [str(tmp_path), "--seeds", "1", "--clean", "200"])
    assert told.exit_code == 0, told.output
    clean = next(line for line in told.output.splitlines() if line.startswith("clean: "))
    assert int(clean.split()[1]) <= 10, clean
    found = [line for line in told.output.splitlines() if line.startswith("planted ")]
    assert len(found) == len(CASES) and all(int(line.split(": ")[1].split()[0]) >= 19 for line in found), found


def test_thresholds_are_those_that_the_page_prints():
    page = (Path(__file__).parents[3] / "docs" / "monitors.md").read_text(encoding="utf-8").partition("## Pictures")[2]
    printed = {
        name: (float(warn), float(stop))
        for name, warn, stop in re.findall(r"^\| `(\w+)` \| .* \| ([\d.]+) \| ([\d.]+) \| [^|]+ \|$", page, re.MULTILINE)
    }
    assert {name: (kind.warn, kind.stop) for name, kind in PICTURE_MONITORS.items()}.items() <= printed.items()
    for name in PICTURE_MONITORS:
        own = PictureMonitor(name)
        assert (own.thresholds.warn, own.thresholds.stop) == printed[name]


@pytest.mark.parametrize(
    ("name", "now", "before", "change"),
    [
        ("grids", 0.6, 0.2, 0.5),
        ("blur", 0.05, 0.2, 2.0),
        ("blur", 0.2, 0.1, -1.0),
        ("saturation_drift", 0.3, 0.45, 0.15),
        ("contrast_drift", 0.05, 0.2, 2.0),
        ("contrast_drift", 0.2, 0.1, 1.0),
        ("diversity_loss", 0.05, 0.2, 0.75),
        ("diversity_loss", 0.4, 0.2, -1.0),
        ("repeated_layout", 0.9, 0.5, 0.8),
        ("watermarks", 0.28, 0.1, 0.2),
        ("wandering_marks", 0.55, 0.1, 0.5),
    ],
)
def test_what_changed_is_what_the_page_says_of_each_number(name: str, now: float, before: float, change: float):
    assert PICTURE_MONITORS[name].change(now, before) == pytest.approx(change, abs=1e-6)


def test_a_number_that_was_nothing_or_all_divides_by_nothing():
    for kind in PICTURE_MONITORS.values():
        for now in (0.0, 0.5, 1.0):
            for before in (0.0, 1.0):
                assert np.isfinite(kind.change(now, before))
