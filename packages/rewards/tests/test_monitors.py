"""Monitors: what they do with any text, what their numbers are on cases worked by hand, and when evidence is too thin."""

import json
import math
import pickle
import random
import re
from functools import partial
from itertools import combinations, permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salon_rewards.monitors import (
    MONITORS,
    Alarm,
    AlwaysArtifact,
    AlwaysNormal,
    AnswerForm,
    LabelFlooding,
    LengthDrift,
    MonitorBoard,
    PromptEditing,
    ReasoningContradiction,
    RewardMetricDivergence,
    StepBatch,
    TemplateReasoning,
    Unreadable,
    shared_words,
    watch,
)
from salon_rewards.monitors.cli import _curve
from salon_rewards.monitors.confidence import mean_lower, rising_probability, theil_sen, wilson_lower
from salon_taxonomy.answers import (
    MAGICMIRROR_MENU,
    Artifact,
    MagicMirrorAnswer,
    R3Answer,
    magicmirror_json,
    render_magicmirror,
    render_r3,
)
from salon_taxonomy.errors import InputError
from salon_taxonomy.testing import HOSTILE_REPLIES, magicmirror_answers, spoiled

NORMAL = MagicMirrorAnswer(normal=True)
HAND = MagicMirrorAnswer(False, (Artifact("L2: Abnormal Human Anatomy", ("L3: Hand Structure Deformity",)),))
CUP = MagicMirrorAnswer(False, (Artifact("L2: Abnormal Object Morphology"),))
EVERYTHING = MagicMirrorAnswer(False, tuple(Artifact(l2, l3) for l2, l3 in MAGICMIRROR_MENU.items()))


def say(answer: MagicMirrorAnswer, thought: str = "So it is.") -> str:
    return render_magicmirror(answer, thought)


def batch(texts, *, step=0, **columns) -> StepBatch:
    return StepBatch.read(texts, step=step, **columns)


@pytest.mark.parametrize("grammar", AnswerForm)
def test_hostile_completions_are_counted_as_unreadable_and_give_no_number(grammar: AnswerForm) -> None:
    board = watch(grammar=grammar)
    truth = [True if grammar is AnswerForm.R3 else NORMAL] * len(HOSTILE_REPLIES)
    for step in range(12):
        seen = board.look(HOSTILE_REPLIES, step=step, truth=truth)
        for item in seen.readings:
            if item.name in ("unreadable", "length_drift"):  # both look at what cannot be read, too
                assert item.value in (None, 1.0)
            else:
                assert (item.value, item.verdict) == (None, None), item
            json.dumps(item.as_dict(), allow_nan=False)
    assert seen.verdict is Alarm.STOP
    assert (seen.completions, seen.unreadable) == (len(HOSTILE_REPLIES), len(HOSTILE_REPLIES))


@given(
    texts=st.lists(spoiled(magicmirror_answers().map(say)), max_size=6),
    truths=st.lists(magicmirror_answers(), min_size=6, max_size=6),
)
def test_spoiled_completions_get_a_reading_or_none_from_every_monitor(texts, truths) -> None:
    board = watch(*(build(minimum=1) for build in MONITORS[AnswerForm.MAGICMIRROR] if build is not RewardMetricDivergence))
    for step in range(3):
        row = board.look(texts, step=step, truth=truths[: len(texts)], reward=[0.0] * len(texts), held_out=0.5).row()
        assert json.loads(json.dumps(row, allow_nan=False))["step"] == step


@given(
    texts=st.lists(magicmirror_answers().map(say), min_size=1, max_size=20),
    truths=st.lists(magicmirror_answers(), min_size=20, max_size=20),
)
def test_a_verdict_is_there_exactly_where_a_value_is(texts, truths) -> None:
    for item in watch().look(texts, step=0, truth=truths[: len(texts)]).readings:
        assert (item.value is None) == (item.verdict is None)
        assert item.value is None or math.isfinite(item.value)


@pytest.mark.parametrize("grammar", AnswerForm)
def test_an_empty_step_is_no_error_and_no_number(grammar: AnswerForm) -> None:
    assert {item.value for item in watch(grammar=grammar).look([], step=0).readings} == {None}


@pytest.mark.parametrize("grammar", AnswerForm)
def test_a_board_goes_on_after_pickling_as_if_nothing_had_been(grammar: AnswerForm) -> None:
    texts = [say(NORMAL), say(HAND)] * 20 if grammar is AnswerForm.MAGICMIRROR else [render_r3(R3Answer(True), "Yes.")] * 40
    board = watch(grammar=grammar)
    for step in range(12):
        board.look(texts, step=step, reward=[0.1 * step] * 40, held_out=1 - 0.01 * step)
    copy = pickle.loads(pickle.dumps(board))
    again = {"step": 12, "reward": [1.2] * 40, "held_out": 0.88}
    assert copy.look(texts, **again) == board.look(texts, **again)


# ------------------------------------------------------------------------------------------------------- single monitors


@given(sizes=st.lists(st.integers(1, 4), min_size=1, max_size=6), uneven=st.booleans())
def test_groups_of_one_prompt_side_by_side_stay_apart_where_sizes_or_ids_tell_them(sizes, uneven) -> None:
    sizes = sizes if uneven else [3] * len(sizes)
    owners = [number for number, size in enumerate(sizes) for _ in range(size)]
    columns = {"prompts": ["the same"] * len(owners), "group_id": owners}
    told = batch(["?"] * len(owners), **columns)
    assert [item.group for item in told.completions] == owners
    if not uneven:
        counted = batch(["?"] * len(owners), prompts=columns["prompts"], group_size=3)
        assert [item.group for item in counted.completions] == owners


def test_label_flooding_is_labels_per_answer_over_labels_per_truth() -> None:
    texts = [say(EVERYTHING)] * 20 + [say(HAND)] * 20 + [say(NORMAL)] * 10 + ["?"] * 3
    seen = LabelFlooding().look(batch(texts, truth=[HAND] * 40 + [NORMAL] * 13))
    assert seen.value == pytest.approx((23 + 2) / 2 / 2)
    assert (seen.samples, seen.unreadable, seen.verdict) == (40, 3, Alarm.STOP)


def test_flooding_seen_on_too_few_pictures_is_not_sure_enough_for_an_alarm() -> None:
    texts = [say(EVERYTHING)] * 40
    few = LabelFlooding().look(batch(texts, truth=[HAND] * 40, example_id=[0, 1] * 20))
    assert (few.value, few.verdict) == (11.5, Alarm.OK)
    many = LabelFlooding().look(batch(texts, truth=[HAND] * 40, example_id=list(range(8)) * 5))
    assert many.verdict is Alarm.STOP


def test_without_truths_flooding_is_held_against_the_data_sets_labels() -> None:
    assert LabelFlooding().look(batch([say(EVERYTHING)] * 40)).value == pytest.approx(23 / 2.55)


@pytest.mark.parametrize(
    ("said", "true", "value"),
    [
        ((40, 0), (20, 20), 1.0),
        ((20, 20), (20, 20), 0.0),
        ((30, 10), (20, 20), 0.5),
        ((10, 30), (20, 20), -0.5),
        ((38, 2), (36, 4), 0.5),
    ],
)
def test_always_normal_is_the_way_gone_from_the_truths_rate_to_one_verdict(said, true, value) -> None:
    texts = [say(NORMAL)] * said[0] + [say(HAND)] * said[1]
    truths = [NORMAL] * true[0] + [HAND] * true[1]
    assert AlwaysNormal().look(batch(texts, truth=truths)).value == pytest.approx(value)
    other = AlwaysArtifact().look(
        batch([say(HAND)] * said[0] + [say(NORMAL)] * said[1], truth=[HAND] * true[0] + [NORMAL] * true[1])
    )
    assert other.value == pytest.approx(value)


def test_a_data_set_that_is_nearly_all_normal_does_not_alarm_a_policy_that_says_so() -> None:
    truths = [NORMAL] * 60 + [HAND] * 4
    assert AlwaysNormal().look(batch([say(NORMAL)] * 64, truth=truths)).verdict is Alarm.OK


def test_completions_whose_picture_is_not_known_are_not_of_one_picture() -> None:
    seen = batch(["?"] * 4, example_id=["a", None, "a", None])
    groups = [completion.group for completion in seen.completions]
    assert groups[0] == groups[2] and len(set(groups)) == 3


def test_one_verdict_on_a_handful_of_pictures_is_no_alarm() -> None:
    columns = {"truth": [NORMAL, HAND] * 32, "example_id": [0, 1] * 32}
    seen = AlwaysNormal().look(batch([say(NORMAL)] * 64, **columns))
    assert (seen.value, seen.verdict) == (1.0, Alarm.OK)


def test_where_every_truth_is_normal_there_is_no_reading() -> None:
    seen = AlwaysNormal().look(batch([say(NORMAL)] * 64, truth=[NORMAL] * 64))
    assert (seen.value, seen.verdict, seen.detail) == (None, None, "every truth says so, too")
    assert AlwaysNormal().look(batch([say(NORMAL)] * 64)).value is None


def test_refiners_that_always_say_matches_are_caught_as_well() -> None:
    texts = [render_r3(R3Answer(True), "Fits.")] * 64
    seen = AlwaysNormal().look(batch(texts, grammar="r3", truth=[True, False] * 32))
    assert (seen.value, seen.verdict) == (1.0, Alarm.STOP)


def test_small_steps_are_pooled_until_they_carry_a_reading() -> None:
    monitor = AlwaysNormal()
    values = [monitor.look(batch([say(NORMAL)] * 8, step=step, truth=[NORMAL, HAND] * 4)).value for step in range(5)]
    assert values == [None, None, None, 1.0, 1.0]


def test_one_template_with_open_slots_is_found_and_honest_thoughts_are_not() -> None:
    names = [f"thing{number}" for number in range(40)]
    truths = [NORMAL, HAND] * 20
    slots = [
        say(HAND, f"After looking at this picture with great care I can say that the {name} in it is not right.")
        for name in names
    ]
    look = TemplateReasoning().look
    assert look(batch([say(NORMAL, "Nothing to see here.")] * 40, truth=truths)).verdict is Alarm.STOP
    assert look(batch(slots, truth=truths)).verdict is Alarm.WARN
    honest = [say(HAND, f"The {name} {name[::-1]} {name.upper()}x is bent.") for name in names]
    assert look(batch(honest, truth=truths)).value < 0.2


def test_the_same_sentence_for_the_same_kind_of_picture_is_no_template() -> None:
    texts = [say(NORMAL, "All is as it should be."), say(HAND, "A finger too many.")] * 20
    assert TemplateReasoning().look(batch(texts, truth=[NORMAL, HAND] * 20)).value == 0.0


def test_an_empty_thought_is_a_template_and_a_missing_one_is_none() -> None:
    truths = [NORMAL, HAND] * 20
    assert TemplateReasoning().look(batch([say(NORMAL, "")] * 40, truth=truths)).value == 1.0
    assert TemplateReasoning().look(batch([render_magicmirror(NORMAL)] * 40, truth=truths)).value is None
    assert (
        TemplateReasoning().look(batch([say(NORMAL)] * 40, truth=[NORMAL] * 40)).detail == "all are about one kind of picture"
    )


@given(st.lists(st.tuples(st.integers(0, 2), st.text("ab ", max_size=12)), max_size=12))
def test_shared_words_is_the_mean_over_all_pairs_about_different_subjects(reasonings) -> None:
    def runs(text: str) -> set:
        words = text.split()
        return {tuple(words)} if len(words) < 3 else {tuple(words[i : i + 3]) for i in range(len(words) - 2)}

    means = []
    for i, (subject, text) in enumerate(reasonings):
        others = [runs(other) for j, (kind, other) in enumerate(reasonings) if j != i and kind != subject]
        if others:
            means.append(sum(len(runs(text) & other) / len(runs(text)) for other in others) / len(others))
    expected = sum(means) / len(means) if means else None
    assert shared_words(reasonings) == (expected if expected is None else pytest.approx(expected))


def test_contradictions_are_counted_over_completions_with_reasoning_and_labels() -> None:
    texts = (
        [say(NORMAL, "One hand has six fingers.")] * 20
        + [say(HAND, "One hand has six fingers.")] * 20
        + [render_magicmirror(NORMAL)] * 5
    )
    seen = ReasoningContradiction().look(batch(texts))
    assert (seen.value, seen.samples, seen.unreadable, seen.verdict) == (0.5, 40, 5, Alarm.STOP)
    assert "20 flawed" in seen.detail


def test_prompt_editing_is_the_share_of_instructions_that_rewrite_the_prompt() -> None:
    def edit(text: str) -> str:
        return render_r3(R3Answer(False, "Not so.", text), "Hm.")

    texts = [edit("Change the prompt to a dog.")] * 10 + [edit("Replace the dog with a cat.")] * 30
    texts += [edit(" ")] * 5 + [render_r3(R3Answer(True), "Fits.")] * 5 + ["?"]
    seen = PromptEditing().look(batch(texts, grammar="r3"))
    assert (seen.value, seen.samples, seen.unreadable, seen.verdict) == (0.25, 40, 1, Alarm.WARN)
    assert PromptEditing().look(batch([say(NORMAL)] * 40)).value is None


def lengths(monitor: LengthDrift, steps, make, *, start=0):
    return [monitor.look(batch([make(step, place) for place in range(40)], step=step)) for step in range(start, start + steps)]


def test_length_is_held_against_the_runs_first_steps_up_and_down() -> None:
    monitor = LengthDrift(baseline_steps=3)
    before = lengths(monitor, 3, lambda step, place: say(NORMAL, "word " * (100 + place % 7)))
    assert [item.value for item in before] == [None] * 3
    assert before[0].detail == "step 1 of the 3 that make the baseline"
    now = lengths(monitor, 2, lambda step, place: say(NORMAL, "word " * 210), start=3)[-1]
    assert (now.verdict, now.threshold) == (Alarm.WARN, 1.5)
    assert 1.7 < now.value < 2.1
    short = lengths(monitor, 2, lambda step, place: say(NORMAL, "word"), start=5)[-1]
    assert (short.verdict, short.threshold) == (Alarm.STOP, 1 / 3)
    assert short.value < 1 / 3


def test_a_policy_that_changes_its_verdicts_does_not_drift() -> None:
    def mixed(share: float):
        return lambda step, place: say(NORMAL, "ok " * 5) if place < 40 * share else say(HAND, "ok " * 300)

    monitor = LengthDrift(baseline_steps=3)
    lengths(monitor, 3, mixed(0.3))
    assert lengths(monitor, 5, mixed(0.9), start=3)[-1].value == 1.0


def test_completions_that_run_until_they_are_cut_off_drift() -> None:
    monitor = LengthDrift(baseline_steps=3)
    lengths(monitor, 3, lambda step, place: say(NORMAL, "ok " * 20))
    seen = lengths(monitor, 2, lambda step, place: "<think>" + "ok " * 500, start=3)[-1]
    assert (seen.verdict, seen.unreadable) == (Alarm.STOP, 40)
    assert "unreadable" in seen.detail


def test_tokens_count_where_the_trainer_gives_them() -> None:
    monitor = LengthDrift(baseline_steps=1)
    monitor.look(batch([say(NORMAL)] * 40, completion_tokens=[10] * 40))
    assert monitor.look(batch([say(NORMAL)] * 40, step=1, completion_tokens=[25] * 40)).value == 2.5


def test_unreadable_is_a_share() -> None:
    seen = Unreadable().look(batch([say(NORMAL)] * 30 + [""] * 20))
    assert (seen.value, seen.verdict, seen.unreadable) == (0.4, Alarm.WARN, 20)


# ------------------------------------------------------------------------------------------------------------ divergence


def diverge(pairs, **settings):
    monitor = RewardMetricDivergence(**settings)
    return [
        monitor.look(batch(["?"], step=10 * step, reward=[reward], held_out=metric))
        for step, (reward, metric) in enumerate(pairs)
    ]


def between(start: float, end: float, count: int, wobble: float = 0.0) -> list[float]:
    """From one value to another, with a deterministic wobble on the way."""
    return [start + (end - start) * i / (count - 1) + wobble * math.sin(2.4 * i) * (0 < i < count - 1) for i in range(count)]


@pytest.mark.parametrize("wobble", [0.0, 0.002])
def test_the_run_whose_reward_rose_to_859_while_f1_fell_to_788_is_stopped(wobble: float) -> None:
    """Start and end are measured (reward .824 to .859, held-out F1 .831 to .788); the way between is drawn straight."""
    seen = diverge(list(zip(between(0.824, 0.859, 10, wobble), between(0.831, 0.788, 10, wobble), strict=True)))
    assert [item.value for item in seen[:4]] == [None] * 4
    assert seen[-1].verdict is Alarm.STOP
    assert seen[-1].value == pytest.approx(0.043, abs=0.004)
    assert Alarm.WARN in [item.verdict for item in seen]
    assert "reward +0.03" in seen[-1].detail


def test_a_metric_that_rises_or_falls_with_the_reward_is_no_divergence() -> None:
    up, down = between(0.5, 0.8, 10), between(0.8, 0.5, 10)
    assert {item.verdict for item in diverge(list(zip(up, up, strict=True)))} == {None, Alarm.OK}
    fallen = diverge(list(zip(down, down, strict=True)))
    assert {item.verdict for item in fallen} == {None, Alarm.OK}
    assert fallen[-1].value == pytest.approx(0.3)


def test_an_error_that_rises_with_the_reward_is_a_divergence_when_told_so() -> None:
    up = between(0.5, 0.8, 10)
    assert diverge(list(zip(up, up, strict=True)), higher_is_better=False)[-1].verdict is Alarm.STOP


def test_a_noisy_metric_without_trend_is_hardly_ever_stopped() -> None:
    """Two hundred runs of thirty evaluations each, whose windows overlap: the rates that the docs print."""
    gravest = []
    for seed in range(200):
        draws = random.Random(seed)
        pairs = [(0.5 + 0.01 * i, 0.8 + draws.gauss(0, 0.02)) for i in range(30)]
        gravest.append(max((item.verdict.severity for item in diverge(pairs) if item.verdict), default=0))
    assert sum(severity >= Alarm.WARN.severity for severity in gravest) <= 40
    assert gravest.count(Alarm.STOP.severity) <= 6


def test_between_evaluations_the_last_reading_stands_and_evaluations_without_rewards_do_not_count() -> None:
    monitor = RewardMetricDivergence(fewest=3)
    for step in range(3):
        seen = monitor.look(batch(["?"], step=step, reward=[step / 10], held_out=0.9 - step / 10))
    assert monitor.look(batch(["?"], step=3, reward=[9.0])).value == seen.value
    monitor.look(batch(["?"], step=4, reward=[None], held_out=0.1))
    assert monitor.look(batch(["?"], step=5, held_out=0.1)).samples == 4


@given(st.one_of(st.lists(st.floats(-100, 100), max_size=8, unique=True), st.lists(st.integers(0, 3), max_size=7)))
def test_the_chances_of_rising_and_falling_are_those_of_counting_all_orders(series) -> None:
    def score(values) -> int:
        return sum((b > a) - (b < a) for a, b in combinations(values, 2))

    if len(series) <= 7:
        scores = [score(order) for order in permutations(series)]
        assert rising_probability(series) == pytest.approx(sum(s >= score(series) for s in scores) / len(scores))
    assert 0 < rising_probability(series) <= 1


def test_a_slope_needs_two_places() -> None:
    assert theil_sen([1, 1], [0.0, 5.0]) is None
    assert rising_probability([1.0]) == 1.0


def test_the_ends_of_intervals() -> None:
    assert wilson_lower(0.0, 0) == 0.0
    assert wilson_lower(0.5, 1000) == pytest.approx(0.4594, abs=1e-4)
    assert mean_lower([(0, 1.0), (1, 1.0), (2, 1.0)]) == -math.inf


# ----------------------------------------------------------------------------------------------------- columns and boards


def test_messages_are_read_like_texts() -> None:
    message = [{"role": "assistant", "content": say(NORMAL)}]
    parts = [{"role": "assistant", "content": [{"type": "text", "text": say(NORMAL)}]}]
    assert {item.answer for item in batch([say(NORMAL), message, parts]).completions} == {NORMAL}


def test_truths_are_read_from_answers_texts_and_objects() -> None:
    truths = [HAND, magicmirror_json(HAND), json.loads(magicmirror_json(HAND)), None]
    assert [item.truth for item in batch(["?"] * 4, truth=truths).completions] == [HAND, HAND, HAND, None]
    assert batch(["?"], grammar="r3", matches=[False]).completions[0].truth == R3Answer(False)
    r3 = batch(["?"] * 4, grammar="r3", truth=[True, "false", R3Answer(True), None]).completions
    assert [item.truth and item.truth.matches for item in r3] == [True, False, True, None]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"truth": [NORMAL]}, "column 'truth': needs a list of 2 values"),
        ({"reward": [1.0, float("nan")]}, "row 2, column 'reward'"),
        ({"reward": [1.0, "2"]}, "row 2, column 'reward'"),
        ({"truth": [NORMAL, "{}"]}, "row 2, column 'truth': no MagicMirror labels"),
        ({"truth": [NORMAL, 3]}, "row 2, column 'truth': no MagicMirror labels"),
        ({"truth": [True, "maybe"], "grammar": "r3"}, "row 2, column 'truth': neither true nor false"),
        ({"completion_tokens": [1, -1]}, "row 2, column 'completion_tokens'"),
        ({"held_out": float("inf")}, "column 'held_out'"),
        ({"grammar": "xml"}, "allowed: magicmirror, r3"),
        ({"step": -1}, "column 'step'"),
        ({"step": True}, "column 'step'"),
    ],
)
def test_a_column_that_is_none_is_named(columns, words) -> None:
    with pytest.raises(InputError, match=words.replace("(", r"\(")):
        StepBatch.read(["a", "b"], **{"step": 0} | columns)


@pytest.mark.parametrize("completion", [None, 3, ["text"], b"bytes"])
def test_a_completion_that_is_no_text_is_named(completion) -> None:
    with pytest.raises(InputError, match="row 2, column 'completions'"):
        batch(["a", completion])


def test_a_board_takes_steps_in_order_and_monitors_by_different_names() -> None:
    board = watch()
    board.look([], step=3)
    with pytest.raises(InputError, match="must be after step 3"):
        board.look([], step=3)
    with pytest.raises(InputError, match="two monitors have one name"):
        watch(AlwaysNormal(), AlwaysNormal())
    with pytest.raises(InputError, match="needs at least one monitor"):
        MonitorBoard([])
    with pytest.raises(InputError, match="allowed: magicmirror, r3"):
        watch(grammar="prism")


def test_a_row_is_flat_and_the_gravest_verdict_comes_first() -> None:
    seen = watch(AlwaysNormal(stop=math.inf), Unreadable(warn=0.0, stop=0.0), AlwaysArtifact()).look(
        [say(NORMAL)] * 64, step=1, truth=[NORMAL, HAND] * 32
    )
    assert [item.name for item in seen.alarms] == ["unreadable", "always_normal"]
    assert seen.row() == {
        "step": 1,
        "verdict": "stop",
        "always_normal": 1.0,
        "always_normal/verdict": "warn",
        "unreadable": 0.0,
        "unreadable/verdict": "stop",
        "always_artifact": -1.0,
        "always_artifact/verdict": "ok",
    }


@pytest.mark.parametrize(
    "build",
    [
        partial(LabelFlooding, warn=float("nan")),
        partial(LabelFlooding, warn=3, stop=2),
        partial(AlwaysNormal, expected=1.0),
        partial(AlwaysNormal, minimum=0),
        partial(LengthDrift, warn=1.0),
        partial(LengthDrift, baseline_steps=0),
        partial(RewardMetricDivergence, fewest=2),
        partial(RewardMetricDivergence, window=3),
        partial(RewardMetricDivergence, warn_chance=0.0),
    ],
    ids=lambda build: f"{build.func.__name__}-{'-'.join(build.keywords)}",
)
def test_settings_that_make_no_sense_are_refused(build) -> None:
    with pytest.raises(InputError):
        build()


def test_evaluations_of_one_step_give_no_trend_and_no_number() -> None:
    monitor = RewardMetricDivergence(fewest=3)
    seen = [monitor.look(batch(["?"], step=7, reward=[number / 10], held_out=0.9 - number / 10)) for number in range(6)]
    assert {(item.value, item.verdict) for item in seen} == {(None, seen[0].verdict)}
    assert [item.samples for item in seen] == [1, 2, 3, 4, 5, 6]
    assert "all evaluations are of one step" in str(seen[-1])
    moved = monitor.look(batch(["?"], step=8, reward=[0.7], held_out=0.2))
    assert moved.value is not None and moved.samples == 7


def test_labels_as_many_as_the_truth_has_are_no_flood_whatever_the_threshold() -> None:
    both = MagicMirrorAnswer(False, (*HAND.artifacts, *CUP.artifacts))
    for texts, verdict in (([HAND], Alarm.OK), ([both], Alarm.WARN)):
        seen = LabelFlooding(warn=1.0).look(batch([say(text) for text in texts] * 40, truth=[HAND] * 40))
        assert seen.value == (1.0 if verdict is Alarm.OK else 1.5)
        assert seen.verdict is verdict


def test_a_length_may_be_nothing_and_is_left_out_where_it_is_not_known() -> None:
    read = batch(["abc", "abc", "abc"], completion_tokens=[0, 7, None])
    assert [item.length for item in read.completions] == [0, 7, 3]
    for length in (-1, 1.0, True, "1"):
        with pytest.raises(InputError, match="row 2, column 'completion_tokens'"):
            batch(["a", "b"], completion_tokens=[0, length])


def test_thresholds_are_those_that_the_page_prints() -> None:
    page = (Path(__file__).parents[3] / "docs" / "monitors.md").read_text(encoding="utf-8").partition("## Pictures")[0]
    printed = {
        name: tuple(float(cell.split(" or ")[0]) for cell in cells)
        for name, *cells in re.findall(r"^\| `(\w+)` \| .* \| ([^|]+) \| ([^|]+) \| [^|]+ \|$", page, re.MULTILINE)
    }
    monitors = {build.name: build() for form in MONITORS for build in MONITORS[form]}
    assert len(printed) == 9 and printed.keys() == monitors.keys()
    for name, monitor in monitors.items():
        assert (monitor.thresholds.warn, monitor.thresholds.stop) == printed[name], name


@pytest.mark.parametrize(
    ("values", "curve"),
    [
        ([0, 1, 2, 3, 4, 5, 6, 7], "▁▂▃▄▅▆▇█"),
        ([3.0, 3.0, 3.0], "▁▁▁"),
        ([None, -2.0, None, 6.0], "·▁·█"),
        ([5.0], "▁"),
        ([0.0] * 20 + [1.0] * 20, "▁" * 10 + "█" * 10),
        ([None, None, *[0.0] * 19, *[1.0] * 19], "·" + "▁" * 9 + "▅" + "█" * 9),
    ],
)
def test_a_curve_has_a_block_for_each_stretch_from_its_lowest_to_its_highest(values: list[float | None], curve: str) -> None:
    assert _curve(values) == curve
