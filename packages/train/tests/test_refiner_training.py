"""A refiner's training from the command line: refusals, a run of two steps, and the policy at work in ``salon refine``."""

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from salon_bench.cli.refine import refine as refine_pictures
from salon_synthetic.scenes.generating import save
from salon_taxonomy.errors import InputError
from salon_train.configuration.schema import ModelSection, SftSection
from salon_train.models import load_model
from salon_train.refiner import (
    Habits,
    Lesson,
    build_tiny_policy,
    draw_small_scenes,
    read_refiner_configuration,
    teacher_reply,
    train_refiner,
    train_warm_up,
)
from salon_train.refiner.cli import refiner
from salon_train.refiner.rows import prepare
from studies.refiner import __main__ as refiner_study
from studies.refiner import study
from studies.refiner.scene_evaluation import SceneEvaluation, evaluate_on_scenes
from studies.refiner.study import Arm, ArmResult, StudySettings, paired, run_study

CONFIGURATION = """
[run]
folder = "run"
threads = 1
[model]
name = "policy"
[rows]
file = "rows/rows.jsonl"
[editor]
name = "draw"
[refine]
steps = 2
group = 2
prompts = 2
micro_batch = 4
most_tokens = 24
most_thought = 8
kl = 0.0
learning_rate = 1e-4
refusal = "zero"
"""


@pytest.fixture
def folder(tmp_path):
    build_tiny_policy(tmp_path / "policy", seed=0)
    save(draw_small_scenes(8, seed=4), tmp_path / "rows")
    (tmp_path / "refiner.toml").write_text(CONFIGURATION)
    return tmp_path


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("group = 2", "group = 1", "line 13, key 'refine.group'"),
        ("steps = 2", "step = 2", "line 12, key 'refine.step': unknown setting"),
        ('refusal = "zero"', 'refusal = "half"', "(allowed: abstain, zero, unchanged)"),
        ("micro_batch = 4", "micro_batch = 3", "micro_batch 3 does not divide"),
        ('[editor]\nname = "draw"', "", "stage II needs a section [editor]"),
        ("kl = 0.0", 'judged_by = "questions"', "questions need a judge"),
        ("steps = 2", "stage_one = 0\nstage_two = 0", "one of the two stages must count"),
    ],
    ids=["group", "unknown", "refusal", "micro_batch", "editor", "judge", "stages"],
)
def test_a_wrong_setting_is_named_where_it_stands(tmp_path, old, new, said):
    file = tmp_path / "refiner.toml"
    file.write_text(CONFIGURATION.replace(old, new))
    with pytest.raises(InputError) as caught:
        read_refiner_configuration(file)
    assert said in str(caught.value)


def test_two_steps_give_a_policy_that_salon_refine_takes_for_a_judge(folder):
    run = CliRunner().invoke(refiner, [str(folder / "refiner.toml"), "--format", "json"], catch_exceptions=False)
    done = json.loads(run.stdout)
    assert done["steps"] == 2
    assert 0 <= done["last"]["rewards/reasoning/mean"] <= 1
    assert done["last"]["rectification/abstained"] == 0
    again = CliRunner().invoke(refiner, [str(folder / "refiner.toml"), "--format", "json"], catch_exceptions=False)
    assert json.loads(again.stdout) == {**done, "already_finished": True}
    assert "Finished before: 2 steps" in CliRunner().invoke(refiner, [str(folder / "refiner.toml")]).stdout
    judge = folder / "judge.toml"
    judge.write_text(f'kind = "transformers"\nmodel = "{done["model"]}"\ndtype = "float32"\n[decoding]\nmax_tokens = 16\n')
    options = ["--items", str(folder / "rows/rows.jsonl"), "--judge", str(judge), "--editor", "draw", "--format", "json"]
    options += ["--output", str(folder / "refined"), "--store", str(folder / "store"), "--allow-incomplete"]
    refined = CliRunner().invoke(refine_pictures, options, catch_exceptions=False)
    assert json.loads(refined.stdout)["items"] == 8


def test_a_missing_picture_is_named_before_anything_is_loaded(folder):
    next((folder / "rows/pictures").iterdir()).unlink()
    with pytest.raises(InputError, match="no such picture"):
        CliRunner().invoke(refiner, [str(folder / "refiner.toml")], catch_exceptions=False)


@pytest.mark.slow  # two studies
def test_a_study_goes_on_where_it_was_stopped_and_refuses_another_ones_folder(tmp_path):
    small = StudySettings(seeing=1, comparing=1, imitating=1, lessons=40, rows=8, held_out=6)
    small = replace(small, grpo=small.grpo.model_copy(update={"steps": 1, "prompts": 2, "micro_batch": 16, "most_tokens": 8}))
    told: list[str] = []
    first = run_study(tmp_path, seeds=[0], arms=[Arm.REASON], settings=small, told=told.append)
    again = run_study(tmp_path, seeds=[0], arms=[Arm.REASON], settings=small, told=told.append)
    assert first == again
    assert len(told) == 2
    assert [each.arm for each in again] == [Arm.COLD_START, Arm.REASON]
    with pytest.raises(InputError, match="other settings"):
        run_study(tmp_path, seeds=[0], settings=replace(small, lessons=50))


def test_the_demo_runs_the_seeds_that_were_asked_for_and_compares_rewards_within_them(tmp_path, monkeypatch):
    asked = {}

    def result(arm, seed, s_ref, s_rect):
        return ArmResult(arm, seed, SceneEvaluation(s_ref, s_rect, 0.9, 0.0, 0.0, 0, 400, 241), {}, {}, 1.0)

    def studied(folder, *, seeds, arms, settings, told, on_start):
        asked.update(seeds=list(seeds), arms=arms)
        cold = [result(Arm.COLD_START, seed, 0.7, 0.4 + seed / 100) for seed in seeds]
        return cold + [result(Arm.HRM, seed, 0.9, 0.9 + seed / 100) for seed in seeds]

    monkeypatch.setattr(refiner_study, "run_study", studied)
    command = [str(tmp_path), "--seeds", "3", "--first-seed", "10", "--arm", "hrm"]
    shown = CliRunner().invoke(refiner_study.main, command, catch_exceptions=False).stdout
    assert asked == {"seeds": [10, 11, 12], "arms": [Arm.HRM]}
    assert "hrm − cold-start" in shown
    assert "+0.500 [+0.500, +0.500]" in shown
    assert "reason" not in shown


def test_differences_are_taken_within_a_seed_and_only_where_both_were_run():
    def result(arm, seed, s_rect):
        return ArmResult(arm, seed, SceneEvaluation(0.5, s_rect, 0.9, None, None, 0, 4, 2), {}, {}, 1.0)

    results = [result(Arm.COLD_START, 0, 0.25), result(Arm.COLD_START, 1, 0.5), result(Arm.HRM, 1, 0.75)]
    assert paired(results, Arm.HRM, Arm.COLD_START) == {1: (0.0, 0.25)}


@pytest.mark.parametrize("arm", [arm for arm in Arm if arm is not Arm.COLD_START])
def test_editor_and_judge_of_every_arm_of_the_study_open(tmp_path, arm):
    prepared = prepare(study._refining(tmp_path, arm, 0, StudySettings(rows=2)), {})
    assert (prepared.editor is None) == (arm is Arm.REASON)
    assert (prepared.certainty is not None) == (arm is Arm.QUESTIONS)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_few_steps_that_reward_the_edited_picture_end_evasion_and_the_verdict_alone_does_not(tmp_path):
    """A reward for the edited picture replaces illusory instructions by edits; the verdict, right already, changes none.

    The questions about the picture are answered from its pixels: a policy that has learned eight prompts by heart cannot judge
    an edited picture itself, so what its own certainty (R_rect) teaches is left to the study.
    """
    build_tiny_policy(tmp_path / "untrained", seed=0)
    items = list(draw_small_scenes(8, seed=4, misaligned=0.6))
    save(iter(items), tmp_path / "rows")
    habits, generator = Habits(evasive_colours=0.6, evasive_shapes=0.6), random.Random(0)
    pictures = [tmp_path / "rows" / item.picture for item in items] * 20
    taught = zip(pictures, items * 20, strict=True)
    lessons = [Lesson(picture, item.prompt, teacher_reply(item, habits, generator)) for picture, item in taught]

    def run(name, policy, **sections):
        configuration = study._configuration(tmp_path / name, policy, 0, tmp_path / "rows")
        return configuration.model_copy(update=sections)

    def measured(policy):
        loaded = load_model(ModelSection(name=str(policy), device="cpu"), learning=False)
        return evaluate_on_scenes(loaded.model, loaded.processor, items)

    section = SftSection(steps=160, learning_rate=2e-3, schedule="cosine", warmup_steps=10, batch=12, beta2=0.98)
    cold = train_warm_up(run("cold", tmp_path / "untrained", sft=section), lessons).model
    before = measured(cold)
    assert before.s_ref == 1
    assert before.illusory > 0.5
    settings = study.GRPO.model_copy(update={"steps": 12, "learning_rate": 3e-4, "warmup_steps": 0})
    after = {}
    for arm in (Arm.QUESTIONS, Arm.REASON):
        refined = run(arm, cold, refine=settings.model_copy(update=study._STAGES[arm]))
        after[arm] = measured(train_refiner(refined).model)
    assert after[Arm.QUESTIONS].verdict == 1
    assert after[Arm.QUESTIONS].s_rect > before.s_rect + 0.3
    assert after[Arm.QUESTIONS].illusory < 0.2
    assert after[Arm.REASON].verdict == 1
    assert after[Arm.REASON].s_rect <= before.s_rect + 0.1
    assert after[Arm.REASON].illusory > 0.5


@pytest.mark.study
@pytest.mark.timeout(3600)
def test_the_hierarchical_reward_teaches_a_policy_to_mend_what_it_evaded(tmp_path: Path):
    cold, hrm = run_study(tmp_path, seeds=[0], arms=[Arm.HRM])
    assert hrm.last["reward"] > hrm.first["reward"]
    assert hrm.evaluation.s_ref > cold.evaluation.s_ref + 0.1
    assert hrm.evaluation.s_rect > cold.evaluation.s_rect + 0.1
