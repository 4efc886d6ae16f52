"""What experiments report: intervals, rises, the paper's table beside ours, and a page that works offline."""

import json
import math
import pickle
from collections.abc import Callable, Iterator
from dataclasses import asdict, astuple
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from for_each import for_each

pytest.importorskip("trl")

from shuffled_reward import ShuffledMagicMirror

from salon_console import main
from salon_synthetic.artifacts import draw_examples
from salon_taxonomy.answers import render_magicmirror
from salon_taxonomy.errors import InputError
from salon_taxonomy.testing import HOSTILE_REPLIES
from salon_train.configuration import Configuration
from salon_train.demo import experiment
from salon_train.demo import study as studies
from salon_train.demo.consistency import RuleConsistency, supports
from salon_train.demo.experiment import Ablation, ArmNumbers
from salon_train.demo.loop import LoopSettings
from salon_train.demo.page import study_page
from salon_train.demo.pictures import Pictures, draw_pictures, missed
from salon_train.demo.recipe import QUESTION, QUICK, QUICK_WARNING, Recipe
from salon_train.demo.study import run_study
from salon_train.demo.summary import LABELS, rise
from salon_train.demo.words_study import WordSettings
from salon_train.models import TinyShape
from salon_train.over_seeds import SeedMean, SeedProgress
from salon_train.run.events import TrainingEvent
from studies.assessor import PAPER, ablation_rows, difference, direction_rows, directions

TINY = Recipe(pictures=24, reasoned=16, held_out=8)


def numbers(f1: float) -> dict[str, float | None]:
    found: dict[str, float | None] = {"f1_macro": f1, "f1_binary": f1, "normal": 0.5, "invalid": 0.0}
    found |= {"f1/macro": f1, "f1/artifact": f1, "precision/artifact": f1, "consistent": 1.0}
    return found | {f"recall/{label}": f1 for label in LABELS}


def study(arms: dict[Ablation, float], seeds: int = 3) -> list[ArmNumbers]:
    """Every arm begins at 0.2 and ends at its number, a little different by seed."""
    measured = []
    for seed in range(seeds):
        for arm, end in arms.items():
            stage = "sft" if arm is Ablation.SFT else "grpo"
            measured.append(ArmNumbers(arm, seed, stage, 0, False, numbers(0.2)))
            measured.append(ArmNumbers(arm, seed, stage, 10, True, numbers(end + 0.01 * seed), {"reward": 9.0}, 1.0, 2.0))
    return measured


@for_each("reply", HOSTILE_REPLIES)
def test_no_hostile_reply_is_consistent_and_none_raises(reply: str) -> None:
    assert RuleConsistency()([reply, [{"role": "assistant", "content": reply}]]) == [0.0, 0.0]


def test_drawn_truth_is_consistent_and_another_pictures_reasoning_is_not() -> None:
    examples = list(draw_examples(40, seed=3, balance="even"))
    assert all(supports(render_magicmirror(each.truth, each.reasoning)) for each in examples)
    wrong = next(each for each in examples if not each.truth.normal)
    assert not supports(render_magicmirror(wrong.truth, "The hand has five fingers."))


def test_the_rewards_pickle() -> None:
    for reward in (RuleConsistency(), ShuffledMagicMirror()):
        assert pickle.loads(pickle.dumps(reward)) == reward


def test_the_teacher_who_misses_artifacts_speaks_of_the_same_subject_consistently() -> None:
    for example in draw_examples(40, seed=3, balance="even"):
        said = missed(example)
        assert said.truth.normal
        assert supports(render_magicmirror(said.truth, said.reasoning))


def test_equal_seeds_draw_equal_files_and_held_out_pictures_are_others(tmp_path: Path) -> None:
    one, again = (draw_pictures(tmp_path / name, TINY, seed=4) for name in ("one", "again"))
    for file in ("train", "reasoned", "biased", "held_out"):
        assert getattr(one, file).read_bytes() == getattr(again, file).read_bytes()
    rows = {
        name: [json.loads(line) for line in getattr(one, name).open()] for name in ("train", "reasoned", "biased", "held_out")
    }
    ids = {name: [row["example_id"] for row in each] for name, each in rows.items()}
    assert ids["reasoned"] == ids["train"][:16] == ids["biased"]
    assert not set(ids["train"]) & set(ids["held_out"])
    assert rows["reasoned"] != rows["biased"]


@given(st.lists(st.floats(0.0, 1.0), min_size=2, max_size=6))
def test_an_interval_over_seeds_stays_where_shares_and_their_differences_are(values: list[float]) -> None:
    share, difference = SeedMean.of(values), SeedMean.of([value - values[0] for value in values], differences=True)
    assert 0.0 <= share.low <= share.mean + 1e-9
    assert share.mean - 1e-9 <= share.high <= 1.0
    assert -1.0 <= difference.low <= difference.high <= 1.0


def test_intervals_are_students_and_one_seed_has_none() -> None:
    three = SeedMean.of([0.2, 0.3, 0.4])
    assert three.mean == pytest.approx(0.3)
    assert three.high - three.low == pytest.approx(2 * 4.302653 * 0.1 / math.sqrt(3))
    assert math.isnan(SeedMean.of([0.2]).low)
    assert str(SeedMean.of([])) == "–"


def test_a_rise_is_taken_within_seeds() -> None:
    measured = study({Ablation.FULL: 0.6})
    assert rise(measured, Ablation.FULL).mean == pytest.approx(0.41)
    assert rise(measured, Ablation.NO_BUCKETS).seeds == 0


def test_a_difference_counts_only_seeds_that_have_both() -> None:
    measured = study({Ablation.FULL: 0.6, Ablation.NO_BUCKETS: 0.4})
    without_one = [each for each in measured if not (each.arm is Ablation.NO_BUCKETS and each.seed == 2)]
    found = difference(without_one, Ablation.NO_BUCKETS, "f1/macro")
    assert (found.seeds, round(found.mean, 6)) == (2, -0.2)


def test_directions_say_same_other_or_unclear() -> None:
    found = {
        (each.arm, each.metric): each.verdict for each in directions(study({Ablation.FULL: 0.6, Ablation.NO_BUCKETS: 0.4}))
    }
    assert found[Ablation.NO_BUCKETS, "f1/macro"] == "same"
    assert found[Ablation.NO_BUCKETS, "recall/L2: Abnormal Human Anatomy"] == "other"  # it rose in the paper
    ends = enumerate((0.4, 0.7, 0.9))
    noisy = [
        *study({Ablation.FULL: 0.6}),
        *(ArmNumbers(Ablation.SFT, seed, "sft", 1, True, numbers(end)) for seed, end in ends),
    ]
    assert {each.verdict for each in directions(noisy)} == {"unclear"}


def test_the_papers_rows_are_those_of_tables_4_and_6() -> None:
    assert PAPER[Ablation.FULL]["f1/macro"] == 0.5261
    assert PAPER[Ablation.NO_BUCKETS]["recall/L2: Irrational Element Interaction"] == 0.0097
    measured = study(dict.fromkeys(PAPER, 0.5))
    assert [row[1] for row in ablation_rows(measured)] == ["here", "paper"] * 5
    assert "Recall, Interaction" in {row[1] for row in direction_rows(directions(measured))}


def test_the_page_carries_everything_and_leaves_out_arms_that_were_not_run() -> None:
    measured = study({Ablation.SFT: 0.2, Ablation.FULL: 0.6, Ablation.IMPROVE: 0.3})
    page = study_page(measured, Recipe(), title="Learning")
    assert "after a biased cold start" in page and "after the best cold start" in page
    assert "http-equiv" in page and "https://cdn" not in page
    assert "without multi-bucket sampling" not in page


def test_the_page_of_a_quick_run_claims_nothing() -> None:
    measured = [each for each in study({Ablation.FULL: 0.6}) if each.seed == 0]
    page = study_page(measured, QUICK, title="Learning")
    assert page.index(QUICK_WARNING) < page.index("A vision-language model")
    assert "undoes" not in page and "95%" not in page and "One seed, so without intervals." in page
    whole = study_page(study({Ablation.FULL: 0.6}), Recipe(), title="Learning")
    assert QUICK_WARNING not in whole and "Means over seeds with 95% intervals." in whole


@pytest.mark.parametrize(("seeds", "processes", "column"), [((), 1, "seeds"), ((1, 1), 1, "seeds"), ((1,), 0, "processes")])
def test_a_study_without_seeds_or_processes_is_refused(
    seeds: tuple[int, ...], processes: int, column: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=column):
        run_study(tmp_path / "study", Recipe(), seeds=seeds, arms=(Ablation.FULL,), processes=processes)
    assert not (tmp_path / "study").exists()


def test_more_pictures_with_reasoning_than_pictures_are_refused() -> None:
    with pytest.raises(InputError, match="reasoned"):
        Recipe(pictures=5, reasoned=6)


def test_again_removes_what_the_seed_left_and_progress_is_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []

    def one(folder: Path, recipe: Recipe, *, seed: int, arms: object, tell: Callable[[object], object]) -> Iterator[ArmNumbers]:
        tell(SeedProgress(seed, "clean", 1, 60))
        return iter(())

    monkeypatch.setattr(studies, "run_seed", one)
    for seed in (0, 1):
        (tmp_path / f"seed-{seed}").mkdir()
        (tmp_path / f"seed-{seed}" / "left").touch()
    run_study(tmp_path, Recipe(), seeds=(0,), arms=(), again=True, tell=told.append)
    assert (tmp_path / "seed-1" / "left").exists() and not (tmp_path / "seed-0" / "left").exists()
    assert told == [SeedProgress(0, "clean", 1, 60)]


@pytest.mark.parametrize("command", ["sft", "grpo", "refiner", "demo", "tiny"])
def test_every_command_that_recommends_again_has_it(command: str) -> None:
    run = CliRunner().invoke(main, ["train", command, "--help"])
    assert run.exit_code == 0 and "--again" in run.output


@pytest.fixture
def stages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[str, Configuration]]:
    """Every stage that an experiment asks for, in place of training; each leaves a log of two measurements."""
    asked: list[tuple[str, Configuration]] = []

    def trainer(stage: str):
        def train(configuration: Configuration, *, watcher: object) -> SimpleNamespace:
            asked.append((stage, configuration))
            folder = Path(configuration.run.folder) / stage
            folder.mkdir(parents=True)
            steps = getattr(configuration, stage).steps
            rows = [
                {"what": "started", "step": 0, "steps": steps, "at": "t", "seconds": 0.0},
                {"what": "evaluated", "step": 0, "steps": steps, "at": "t", "seconds": 1.0, "f1_macro": 0.9},
                {"what": "started", "step": 0, "steps": steps, "at": "t", "seconds": 0.0},
                {"what": "evaluated", "step": 0, "steps": steps, "at": "t", "seconds": 2.0, "f1_macro": 0.1, "normal": None},
                {"what": "learned", "step": 1, "steps": steps, "at": "t", "seconds": 3.0, "loss": 1.0, "reward": 2.0},
                {"what": "saved", "step": 1, "steps": steps, "at": "t", "seconds": 3.0},
                {"what": "learned", "step": 2, "steps": steps, "at": "t", "seconds": 4.0, "loss": 2.0, "reward": None},
                {"what": "evaluated", "step": 2, "steps": steps, "at": "t", "seconds": 5.0, "f1_macro": 0.4},
            ]
            (folder / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
            return SimpleNamespace(already=len(asked) == 1)

        return train

    pictures = Pictures(*(tmp_path / f"{name}.jsonl" for name in ("train", "reasoned", "biased", "held_out")), ("answer",), {})
    monkeypatch.setattr(experiment, "draw_pictures", lambda *_, **__: pictures)
    model = SimpleNamespace(folder=tmp_path / "tiny", parameters=123456)
    monkeypatch.setattr("salon_train.models.build_tiny_model", lambda *_, **__: model)
    for stage in ("sft", "grpo"):
        monkeypatch.setattr(f"salon_train.assessor.train_{stage}", trainer(stage))
    monkeypatch.setattr(experiment._Run, "_in_detail", lambda self, stage: {"consistent": 0.75})
    return asked


def test_an_experiment_trains_each_arm_from_the_cold_start_that_is_its_own(
    stages: list[tuple[str, Configuration]], tmp_path: Path
) -> None:
    told: list[object] = []
    recipe = Recipe(sft_steps=60, bias_steps=8, grpo_steps=16, every=4, prompts=8, group=6, resampled=3.0, consistency=5.0)
    measured = list(experiment.run_seed(tmp_path, recipe, seed=7, arms=tuple(Ablation), tell=told.append))
    found = [(stage, str(Path(each.run.folder).relative_to(tmp_path)), Path(each.model.name)) for stage, each in stages]
    clean, biased = tmp_path / "clean" / "sft" / "model", tmp_path / "biased" / "sft" / "model"
    assert found == [
        ("sft", "clean", tmp_path / "tiny"),
        ("sft", "biased", clean),
        *(("grpo", name, biased) for name in ("full", "no_buckets", "no_resampling", "no_consistency")),
        ("grpo", "improve", clean),
        ("sft", "sft_more", clean),
    ]
    assert [f"{folder}/{stage}" for stage, folder, _ in found] == experiment.stages_of(tuple(Ablation))
    by_folder = {Path(each.run.folder).name: each for _, each in stages}
    steps = {name: (by_folder[name].sft.steps, by_folder[name].sft.warmup_steps, by_folder[name].sft.learning_rate)
             for name in ("clean", "biased", "sft_more")}  # fmt: skip
    assert steps == {"clean": (60, 6, 1.5e-3), "biased": (8, 0, 5e-4), "sft_more": (64, 6, 0.75e-3)}
    rows = {name: Path(each.data.train[0]).stem for name, each in by_folder.items()}
    assert rows == {"clean": "reasoned", "biased": "biased", "sft_more": "reasoned", "full": "train", "improve": "train",
                    "no_buckets": "train", "no_resampling": "train", "no_consistency": "train"}  # fmt: skip
    for name, each in by_folder.items():
        assert (each.run.seed, each.model.device, each.monitors.on_stop, each.data.question) == (7, "cpu", "log", QUESTION)
        assert (each.evaluation.batch, each.evaluation.longest, each.checkpoints.keep) == (100, 24, 1)
        section = each.sft or each.grpo
        assert each.checkpoints.every == 10 * section.steps and each.evaluation.every == max(4, section.steps // 8)
        assert each.log.every == max(1, min(5, section.steps // 6))
        if each.grpo is not None:
            assert (each.grpo.batch, each.grpo.generations, each.grpo.longest, each.grpo.top_p) == (48, 6, 24, 0.95)
            assert each.sampling.strategy == ("shuffled" if name == "no_buckets" else "multi_bucket")
            assert each.sampling.hard_positives == (1.0 if name == "no_resampling" else 3.0)
            assert [reward.weight for reward in each.reward] == ([1.0] if name == "no_consistency" else [1.0, 5.0])
        else:
            assert (each.sft.batch, each.sft.schedule, each.sft.beta2, each.sft.weight_decay) == (32, "linear", 0.98, 0.01)
    assert "cold start of 123,456 random weights" in " ".join(map(str, told)) and "misses 60%" in " ".join(map(str, told))
    assert [(each.step, each.last) for each in measured] == [(0, False), (2, True)] * 8
    first, last = measured[:2]
    assert (first.numbers, first.learned, first.wall_s, first.cpu_s) == ({"f1_macro": 0.1, "normal": None}, {}, 2.0, None)
    assert last.numbers == {"f1_macro": 0.4, "consistent": 0.75} and last.learned == {"loss": 1.5} and last.wall_s == 5.0
    assert last.cpu_s is None and all(each.cpu_s is not None for each in measured[3::2]), "the first was finished already"


def test_an_experiment_of_one_arm_trains_what_it_needs(stages: list[tuple[str, Configuration]], tmp_path: Path) -> None:
    for arm, second in ((Ablation.IMPROVE, "improve"), (Ablation.SFT, "biased"), (Ablation.SFT_MORE, "sft_more")):
        stages.clear()
        list(experiment.run_seed(tmp_path / arm.name, Recipe(), seed=0, arms=(arm,)))
        assert [Path(each.run.folder).name for _, each in stages] == ["clean", second]


def test_the_watcher_of_an_experiment_tells_how_far_a_stage_is(tmp_path: Path) -> None:
    told: list[object] = []
    run = experiment._Run(tmp_path / "no_buckets", Recipe(), None, 7, "magicmirror", told.append)  # type: ignore[arg-type]
    for what in ("started", "learned", "saved", "evaluated", "finished"):
        run.happened(TrainingEvent(what, 3, 9, {}))
    assert told == [SeedProgress(7, "no buckets", 3, 9)] * 3


def test_the_sizes_of_experiments_are_those_that_their_results_were_measured_with() -> None:
    """Docs and the lab log print numbers of these sizes; another size is another experiment."""
    sizes = {name: value for name, value in asdict(Recipe()).items() if name != "shape"}
    assert sizes == {
        "pictures": 3000, "reasoned": 3000, "held_out": 400, "difficulty": 0.0, "right_hands": 0.3, "sft_steps": 300,
        "sft_rate": 1.5e-3, "teacher_misses": 0.6, "bias_steps": 30, "bias_rate": 5e-4, "grpo_steps": 100, "grpo_rate": 1e-4,
        "prompts": 8, "group": 8, "resampled": 2.0, "consistency": 4.0, "every": 20,
    }  # fmt: skip
    changed = {name: value for name, value in asdict(QUICK).items() if value != asdict(Recipe())[name]}
    assert changed == {
        "pictures": 400, "reasoned": 400, "held_out": 80, "sft_steps": 60, "bias_steps": 8, "grpo_steps": 8, "every": 4
    }  # fmt: skip
    assert astuple(Recipe().shape) == (64, 16, 96, 3, 96, 3, 4, 1024, 512, True)
    assert astuple(TinyShape()) == (64, 8, 96, 3, 96, 3, 4, 1024, 512, True)
    loop = LoopSettings()
    assert (loop.width, loop.votes, loop.epochs, loop.learning_rate) == (32, 5000, 3, 1e-4)
    assert (loop.every, loop.per_prompt, loop.check) == (20, 16, 1200)
    assert astuple(loop.start) == (1500, 1, 64, 2e-3, 6000, 0.4) and astuple(loop.raters) == (20, 4.0, 8.0, 4.0)
    assert astuple(loop.captions) == (600, 64, 1e-3) and astuple(loop.preferences) == (120, 64, 20.0, 1e-4, False, None)
    assert astuple(loop.reward) == (120, 8, 8, 3, "cps", 0.7, 6e-4, 0.03, False, 4, None, None)
    words = WordSettings()
    assert (words.width, words.every, words.choice, words.held_out, words.pictures) == (40, 20, 60, 120, 2)
    assert astuple(words.start) == (1200, 1, 64, 2e-3, 8000, 1 / 8)
    assert astuple(words.reward) == (80, 8, 8, 3, "cps", 0.6, 2e-4, 0.02, False, 4, 12, None)
