"""The closed loop of the drawn world: votes of simulated raters, the stages of a run, and what a second call makes again."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch")

import numpy as np
import torch
from PIL import Image
from safetensors.torch import save_file

from for_each import for_each
from salon_console import main
from salon_taxonomy.errors import InputError
from salon_train.data.preferences import read_preferences
from salon_train.demo import loop
from salon_train.demo.captions import CaptionSettings, learn_captions
from salon_train.demo.loop import LoopArm, LoopSettings, run_loop
from salon_train.demo.raters import RaterSettings, ink
from salon_train.demo.shapes import HELD_OUT, LEARNED, PROMPTS, Obedience, TinyUNet, teach
from salon_train.image_policy.policy import draw_with
from salon_train.image_policy.preferences import PreferenceSettings
from salon_train.image_policy.small import ImitationSettings
from salon_train.image_policy.training import RewardSettings
from salon_train.models.tiny import build_tiny_clip
from salon_train.seeds import generator_of
from studies import loop as study

TINY = LoopSettings(
    width=8,
    start=ImitationSettings(steps=4, batch=8, lessons=32),
    votes=24,
    captions=CaptionSettings(steps=2, batch=8),
    epochs=1,
    preferences=PreferenceSettings(steps=2, pairs=4),
    reward=RewardSettings(steps=2, group=2, ways=4, window=2),
    every=1,
    per_prompt=2,
    check=24,
)
"""Seconds; too small to learn."""


@pytest.fixture(autouse=True)
def alone(one_thread: None) -> None:
    """One thread."""


@given(st.floats(-1, 1), st.floats(0, 1), st.floats(0, 1), st.integers(0, 2**31))
def test_votes_have_the_chance_that_the_page_states(gap: float, ink: float, other: float, seed: int) -> None:
    first, second = (torch.full((400, 3, 2, 2), 1 - each) for each in (ink, other))
    raters, gaps = RaterSettings(spread=0.0), torch.full((400,), gap)
    share = raters.vote(first, second, gaps, torch.Generator().manual_seed(seed)).float().mean()
    chance = 1 / (1 + torch.exp(torch.tensor(-(4 * gap + 8 * (ink - other)))))
    assert abs(share - chance) < 0.15  # six standard errors of 400 votes


def test_a_tiny_loop_runs_to_its_end_and_makes_nothing_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = run_loop(tmp_path, seed=0, settings=TINY)
    assert [row["arm"] for row in found["arms"]] == [arm.value for arm in LoopArm]
    base = found["arms"][0]
    assert base["gain"][0] == 0.0 and base["rating"] == 1000
    assert {row["scorer"] for row in found["accuracy"]} == {"reward model", "truth", "mean rater"}
    assert {point["step"] for point in found["points"]} == {0, 1, 2}
    starts = [point for point in found["points"] if point["step"] == 0]
    assert all(start | {"arm": ""} == starts[0] | {"arm": ""} for start in starts), "all begin with the base"
    own = tmp_path / "seed-0"
    rows = (own / "votes" / "pairs.csv").read_text().splitlines()[1:]
    assert len(rows) == TINY.votes and all(any(prompt in row for prompt in LEARNED) for row in rows)
    monkeypatch.setattr(loop, "learner_of", None)
    monkeypatch.setattr(loop, "_voted", None)
    assert run_loop(tmp_path, seed=0, settings=TINY) == found
    moved = shutil.copytree(tmp_path, tmp_path.with_name("moved"))
    assert run_loop(moved, seed=0, settings=TINY) == found, "a folder may be moved"
    (own / "round.json").write_text("{")
    with pytest.raises(InputError, match="cannot be read"):
        run_loop(tmp_path, seed=0, settings=TINY)
    with pytest.raises(InputError, match="other settings"):
        run_loop(tmp_path, seed=0, settings=LoopSettings())


def test_the_command_prints_arms_accuracy_and_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "QUICK", TINY)
    run = CliRunner().invoke(main, ["train", "loop", str(tmp_path), "--quick", "--format", "json"])
    assert run.exit_code == 0 and "Loading weights" not in run.output, run.output
    found = json.loads(run.stdout)
    assert [row["arm"] for row in found["arms"]] == [arm.value for arm in LoopArm]
    run = CliRunner().invoke(main, ["train", "loop", str(tmp_path), "--quick"])
    assert run.exit_code == 0 and "reward model" in run.output and "grpo-truth" in run.output


@pytest.fixture
def drawn_arms(tmp_path: Path) -> Path:
    """The folder of a seed, with a random network for every arm and a reward model that is none."""
    for number, arm in enumerate(LoopArm):
        torch.manual_seed(number)
        save_file(TinyUNet(TINY.width).state_dict(), tmp_path / f"{arm}.safetensors")
    return tmp_path


def means(values: torch.Tensor, prompts: Sequence[str], chosen: Sequence[str]) -> float:
    return float(values[torch.tensor([prompt in chosen for prompt in prompts])].mean())


def test_votes_to_learn_from_are_about_pairs_of_the_bases_pictures(drawn_arms: Path) -> None:
    loop._collect(drawn_arms, 3, TINY, lambda _: None)
    file = drawn_arms / "votes" / "pairs.csv"
    pairs = read_preferences(file)
    asked = [LEARNED[number % len(LEARNED)] for number in range(TINY.votes)]
    assert sorted(pair.prompt for pair in pairs) == sorted(asked)
    sides = [{int(picture.name[:6]) for picture in (pair.chosen, pair.rejected)} for pair in pairs]
    assert all(len(number) == 1 and asked[next(iter(number))] == pair.prompt for number, pair in zip(sides, pairs, strict=True))
    start = torch.randn((2 * TINY.votes, 3, 16, 16), generator=generator_of(2**30 + 6))
    base = loop._policy(drawn_arms, LoopArm.BASE, TINY)
    first, second = draw_with(base, [*asked, *asked], start, steps=4, at_once=250)[1].chunk(2)
    for number in (0, 7, 23):
        for side, pictures in (("a", first), ("b", second)):
            read = np.asarray(Image.open(file.parent / f"{number:06d}{side}.png")).astype(int)
            assert np.abs(read - pictures[number].permute(1, 2, 0).numpy() * 255).max() < 0.51
    before = file.read_bytes()
    loop._collect(drawn_arms, 4, TINY, lambda _: None)
    assert file.read_bytes() == before, "what is there is not made again"


def test_the_last_round_measures_every_arm_on_one_noise(drawn_arms: Path) -> None:
    rows = loop._last_round(drawn_arms, 3, TINY)
    asked = [prompt for prompt in PROMPTS for _ in range(TINY.per_prompt)]
    start = torch.randn((len(asked), 3, 16, 16), generator=generator_of(2**30 + 3 * 2**28 + 6))
    truth = {}
    for row, arm in zip(rows, LoopArm, strict=True):
        drawn = draw_with(loop._policy(drawn_arms, arm, TINY), asked, start, steps=4, at_once=250)[1]
        images = [Image.fromarray(each) for each in (drawn * 255).round().to(torch.uint8).permute(0, 2, 3, 1).numpy()]
        truth[arm] = torch.tensor(Obedience()(images, asked))
        assert (row["arm"], row["truth"][0]) == (arm.value, pytest.approx(float(truth[arm].mean())))
        assert row["learned"][0] == pytest.approx(means(truth[arm], asked, LEARNED))
        assert row["held_out"][0] == pytest.approx(means(truth[arm], asked, HELD_OUT))
        assert row["gain"][0] == pytest.approx(float((truth[arm] - truth[LoopArm.BASE]).mean()))
        assert row["ci_low"] <= row["rating"] <= row["ci_high"] and 0 < row["win_rate"] < 1
    assert rows[0]["rating"] == 1000 and sum(row["win_rate"] for row in rows) == pytest.approx(2.5)


def test_accuracy_is_the_share_of_fresh_votes_for_the_higher_score(drawn_arms: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    truth = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [1.0, 0.5]] * 6)
    pictures = torch.rand((2, len(truth), 3, 2, 2), generator=torch.Generator().manual_seed(0))
    wins, seeds = torch.tensor([True, True, False, True] * 6), []

    def voted(folder: Path, prompts: Sequence[str], settings: LoopSettings, *, seed: int):
        seeds.append((seed, set(prompts) <= set(LEARNED), len(prompts)))
        return pictures[0], pictures[1], truth, wins

    monkeypatch.setattr(loop, "_voted", voted)
    monkeypatch.setattr(loop, "adapted", lambda name: None)
    monkeypatch.setattr(loop, "_scores", lambda model, drawn, prompts: ink(drawn))
    rows = loop._accuracy(drawn_arms, 5, TINY)
    assert seeds == [(2**30 + 2**28 + 20, True, 24), (2**30 + 2**28 + 22, False, 24)]
    assert [(row["scorer"], row["prompts"]) for row in rows] == [
        (scorer, among) for among in ("learned", "held_out") for scorer in ("reward model", "truth", "mean rater")]  # fmt: skip
    inks = ink(pictures[0]) - ink(pictures[1])
    gaps = {"reward model": inks, "truth": truth[:, 0] - truth[:, 1], "mean rater": 4 * (truth[:, 0] - truth[:, 1]) + 8 * inks}
    for row in rows:
        gap = gaps[row["scorer"]]
        right = sum(0.5 if value == 0 else float((value > 0) == won) for value, won in zip(gap, wins, strict=True)) / len(wins)
        assert row["accuracy"][0] == pytest.approx(right)


def test_an_interval_over_prompts_is_students_t_and_stays_within_its_range() -> None:
    prompts = [*"aabbcdefghij"]
    values = torch.tensor([0.0, 1.0, 1.0, 1.0, *[1.0] * 7, 0.0])
    estimate, low, high = loop._over_prompts(values, prompts)
    assert estimate == pytest.approx(10 / 12) and 0.0 <= low < estimate < high == 1.0
    gain = loop._over_prompts(values - 1, prompts, differences=True)
    assert gain == pytest.approx([-2 / 12, low - 1, gain[2]]) and gain[2] > 0
    assert loop._over_prompts(values - 2, prompts, differences=True)[1] == -1.0


@for_each("seed", [-1, 2**63, 10**20])
def test_a_seed_that_no_ranking_takes_is_refused_before_anything_is_learned(seed: int, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"seed must (be|lie between) 0"):
        run_loop(tmp_path / "loop", seed=seed, settings=TINY)
    assert not (tmp_path / "loop").exists()


def test_the_study_tells_arms_accuracy_and_alarms_and_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "QUICK", TINY)
    words = [str(tmp_path), "--votes", "24", "--seeds", "1"]
    run = CliRunner().invoke(study.main, words)
    assert run.exit_code == 0, run.output
    assert all(word in run.output for word in ("grpo-truth", "reward model", "truth_fell_at"))
    monkeypatch.setattr(study, "learner_of", None)
    assert CliRunner().invoke(study.main, words).stdout == run.stdout, "a finished study learns nothing again"


def test_the_truth_has_fallen_where_five_steps_are_a_tenth_below_the_first_ten() -> None:
    assert study.fell_at([1.0] * 20) is None
    assert study.fell_at([1.0] * 15 + [0.5] * 5) == 16, "two of five at one half are a fifth less"
    assert study.fell_at([0.0] * 20) is None


def test_each_word_of_the_tiny_clip_is_one_token(tmp_path: Path) -> None:
    from transformers import AutoProcessor

    build_tiny_clip(tmp_path, PROMPTS, seed=0)
    tokenizer = AutoProcessor.from_pretrained(tmp_path).tokenizer
    assert [len(tokenizer(prompt)["input_ids"]) for prompt in PROMPTS] == [5] * len(PROMPTS)
    with pytest.raises(InputError, match="needs texts"):
        build_tiny_clip(tmp_path, [], seed=0)


@pytest.mark.parametrize(
    ("votes", "steps", "below"),
    [
        pytest.param(300, 100, 0.1, marks=pytest.mark.slow),
        pytest.param(5000, 600, 0.056, marks=[pytest.mark.study, pytest.mark.timeout(1800)]),
    ],
)
def test_a_reward_model_that_knows_captions_is_near_the_mean_rater_and_beats_one_that_does_not(
    votes: int, steps: int, below: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The votes are about the teacher's pictures, in place of the base's: the base need not be trained.

    The aim is 0.03 below the mean rater in the mean of seeds. One seed on 1,200 votes has a standard error of 0.013, and two
    of it are allowed; measured with 5,000 votes: 0.036.
    """
    monkeypatch.setattr(loop, "_voted", about_lessons)
    gaps = {}
    for known in (0, steps):
        settings = LoopSettings(votes=votes, captions=CaptionSettings(steps=known), check=1200)
        folder = tmp_path / str(known)
        loop._collect(folder, 0, settings, lambda _: None)
        loop._learn_reward(folder, 0, settings, lambda _: None)
        rows = {row["scorer"]: row["accuracy"][0] for row in loop._accuracy(folder, 0, settings) if row["prompts"] == "learned"}
        gaps[known] = rows["reward model"] - rows["mean rater"]
    assert gaps[steps] > gaps[0] + 0.03
    assert gaps[steps] > -below


def about_lessons(
    _: Path, prompts: Sequence[str], settings: LoopSettings, *, seed: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """As ``_voted``, about pictures of the teacher."""
    turns = len(PROMPTS) * 2 * -(-len(prompts) // len(set(prompts)))
    pictures, captions = teach(turns, seed=seed, wrong=settings.start.wrong)
    of = {prompt: [place for place, each in enumerate(captions) if each == prompt] for prompt in set(prompts)}
    sides = [(pictures[[of[prompt].pop() for prompt in prompts]] / 2 + 0.5).mul(255).round() / 255 for _ in range(2)]
    truth = torch.stack([loop._scores(loop.adapted(loop.TRUTH), each, prompts) for each in sides], 1)
    chance = torch.Generator().manual_seed(seed)
    return *sides, truth, settings.raters.vote(*sides, truth[:, 0] - truth[:, 1], chance)


def test_captions_are_learned_from_pictures_that_show_them(tmp_path: Path) -> None:
    build_tiny_clip(tmp_path, PROMPTS, seed=0)
    pictures, captions = teach(160, seed=0, wrong=0.0)
    untaught = learn_captions(tmp_path, pictures / 2 + 0.5, captions, CaptionSettings(steps=0), seed=0)
    first = learn_captions(tmp_path, pictures / 2 + 0.5, captions, CaptionSettings(steps=1), seed=0)
    last = learn_captions(tmp_path, pictures / 2 + 0.5, captions, CaptionSettings(steps=60, batch=32), seed=0)
    assert untaught == float("inf") and 2.0 < first < 4.0, "about log 16 before anything is learned"
    assert last < 1.5


@pytest.mark.study  # the whole experiment, at the size of --quick
@pytest.mark.timeout(3000)
def test_votes_teach_a_reward_model_and_the_truth_teaches_the_policy(tmp_path: Path) -> None:
    found = run_loop(tmp_path, seed=0, settings=loop.QUICK)
    told = {(row["scorer"], row["prompts"]): row["accuracy"][0] for row in found["accuracy"]}
    assert 0.55 < told["reward model", "learned"] < told["mean rater", "learned"] + 0.05
    assert found["arms"][-1]["arm"] == LoopArm.GRPO_TRUTH and found["arms"][-1]["gain"][1] > 0
