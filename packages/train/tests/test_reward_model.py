"""``salon train reward-model``: losses, preference files, learning in a drawn world, kills, and the result as a scorer."""

import asyncio
import base64
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import product
from pathlib import Path
from shutil import copytree
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from aiohttp import ClientSession
from aiohttp.test_utils import TestServer
from click.testing import CliRunner
from PIL import Image
from safetensors.torch import load_file, save_file
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm
from tiny_clip import save_tiny_clip
from tiny_llava import save_tiny_llava

from for_each import for_each
from salon_console import main
from salon_judges.clients.local_generation import LocalModel
from salon_judges.clients.local_transformers import TransformersSettings
from salon_judges.scorers.reward_network import RewardNetwork
from salon_rewards import make_reward
from salon_rewards.callables.reward import RewardFunction, each_paid
from salon_rewards.serving.app import RewardServer
from salon_taxonomy.digest import file_sha256
from salon_taxonomy.errors import InputError
from salon_taxonomy.scorers import open_scorer
from salon_taxonomy.verdict import Scored, Unscored
from salon_train.configuration.reward_model import BackboneSection, RewardModelConfiguration, configured
from salon_train.configuration.schema import ModelSection
from salon_train.data.preferences import Preference, read_preferences
from salon_train.models.loading import load_processor
from salon_train.reward_model import stage
from salon_train.reward_model.held_out import held_out_numbers
from salon_train.reward_model.losses import VoteModel
from salon_train.reward_model.stage import train_reward_model
from salon_train.run.early_abort import DegeneratedError
from salon_train.run.events import TrainingEvent
from studies import ties

COLOURS = {"red": 1.0, "blue": -1.0}
GAPS = torch.linspace(-4, 4, 9)


def drawn_world(folder: Path, pairs: int, *, strength: float = 4.0, ties: float = 0.0, seed: int = 0) -> pl.DataFrame:
    """Squares between blue and red; which is better follows from the prompt. Votes by Davidson, with the true gap beside."""
    random = np.random.default_rng(seed)
    rows = []
    for number in range(pairs):
        prompt = ("red", "blue")[number % 2]
        shades, names = random.random(2), []
        for side, shade in enumerate(shades):
            names.append(f"{number}-{side}.png")
            colour = (int(255 * shade), int(255 * random.random()), int(255 * (1 - shade)))
            Image.new("RGB", (16, 16), colour).save(folder / names[-1])
        gap = strength * COLOURS[prompt] * float(shades[0] - shades[1])
        chances = np.array([np.exp(gap / 2), np.exp(-gap / 2), ties])
        won = int(random.choice(3, p=chances / chances.sum()))
        first, second = names if won != 1 else reversed(names)
        rows.append(
            {
                "prompt": f"{prompt} {number // 10 * 10}",
                "chosen": first,
                "rejected": second,
                "votes_chosen": float(won != 2),
                "votes_rejected": 0.0,
                "ties": float(won == 2),
                "split": "test" if number % 100 >= 80 else "train",
                "gap": gap if won != 1 else -gap,
            }
        )
    table = pl.DataFrame(rows)
    table.write_parquet(folder / "pairs.parquet")
    return table


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pl.DataFrame]:
    folder = tmp_path_factory.mktemp("world")
    save_tiny_clip(folder / "clip")
    return folder, drawn_world(folder, 600)


def asked(
    world: Path, output: Path, pairs: str = "pairs.parquet", backbone: Any = None, **learning: Any
) -> RewardModelConfiguration:
    return configured(
        {
            "run": {"folder": str(output)},
            "backbone": {"name": str(world / "clip"), **(backbone or {})},
            "preferences": {"file": str(world / pairs)},
            "learning": {"epochs": 3, "learning_rate": 5e-3, **learning},
            "evaluation": {"every": 1000},
            "checkpoints": {"every": 20},
        }
    )


def test_it_learns_what_people_chose_and_is_a_scorer_and_a_reward(world: tuple[Path, pl.DataFrame], tmp_path: Path):
    folder, table = world
    held_out = table.filter(split="test")
    best = (held_out["gap"] > 0).mean()
    settings = asked(folder, tmp_path, epochs=4)
    trained = train_reward_model(settings)
    assert trained.evaluation["accuracy"] >= best - 0.05, (trained.evaluation, best)
    assert trained.evaluation["accuracy_low"] < trained.evaluation["accuracy"] < trained.evaluation["accuracy_high"]
    assert trained.evaluation["ece"] < 0.12 and trained.evaluation["pairs"] == held_out.height
    rows = [json.loads(line) for line in (tmp_path / "reward-model" / "held_out.jsonl").read_text().splitlines()]
    assert np.corrcoef([row["gap"] for row in rows], held_out["gap"])[0, 1] > 0.9

    scorer = open_scorer(f"reward-model:{trained.model}")
    pictures = [
        Image.open(folder / name) for row in rows[:5] for name in (Path(row["chosen"]).name, Path(row["rejected"]).name)
    ]
    prompts = [row["prompt"] for row in rows[:5] for _ in range(2)]
    scores = np.array([each.value for each in asyncio.run(scorer.score(pictures, prompts))])
    assert scores[0::2] - scores[1::2] == pytest.approx([row["gap"] for row in rows[:5]], abs=1e-4)
    reward = make_reward(f"scorer:reward-model:{trained.model}")
    files = [str(folder / Path(row["chosen"]).name) for row in rows[:5]]
    paid = asyncio.run(reward([""] * 5, images=files, prompts=[row["prompt"] for row in rows[:5]]))
    assert paid == pytest.approx(scores[0::2].tolist(), abs=1e-4)
    assert asyncio.run(over_http(reward, files, [row["prompt"] for row in rows[:5]])) == pytest.approx(paid, abs=1e-4)
    assert train_reward_model(settings).already


async def over_http(reward: RewardFunction, files: Sequence[str], prompts: Sequence[str]) -> list[float]:
    """Return what the reward pays over HTTP."""
    images = [base64.b64encode(Path(file).read_bytes()).decode() for file in files]
    async with TestServer(RewardServer(reward).application()) as running, ClientSession() as session:
        answer = await session.post(running.make_url("/score"), json={"prompts": [*prompts], "images": images})
        scores: list[float] = (await answer.json())["scores"]
    return scores


def test_shuffled_votes_teach_nothing(world: tuple[Path, pl.DataFrame], tmp_path: Path):
    folder, table = world
    swapped = np.random.default_rng(1).random(table.height) < 0.5
    swap = pl.Series(swapped) & (pl.col("split") == "train")
    sides = {
        "chosen": pl.when(swap).then("rejected").otherwise("chosen"),
        "rejected": pl.when(swap).then("chosen").otherwise("rejected"),
    }
    table.with_columns(**sides).write_parquet(folder / "shuffled.parquet")
    trained = train_reward_model(asked(folder, tmp_path, "shuffled.parquet"))
    assert 0.35 < trained.evaluation["accuracy"] < 0.65


class _Stopping:
    """Stops a run after so many updates, as Ctrl-C does."""

    def __init__(self, after: int) -> None:
        self._after = after

    def happened(self, event: TrainingEvent) -> None:
        if event.what == "learned" and event.step == self._after:
            raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("loss", "backbone", "learning"),
    [
        ("davidson", {}, {"device_batch": 5, "schedule": "linear", "warmup_ratio": 0.5}),
        ("unsure", {"rank": 2}, {}),
        ("rao-kupper", {"rank": 0}, {"schedule": "constant"}),
    ],
)
def test_a_run_that_was_stopped_ends_with_the_same_bytes(
    loss: str,
    backbone: Mapping[str, Any],
    learning: Mapping[str, Any],
    world: tuple[Path, pl.DataFrame],
    tmp_path: Path,
):
    folder, table = world
    table.head(240).write_parquet(folder / "few.parquet")
    learning = {"loss": loss, **learning}
    whole = train_reward_model(asked(folder, tmp_path / "whole", "few.parquet", backbone, **learning)).model
    for after in (1, 25, 33):
        with pytest.raises(KeyboardInterrupt):
            train_reward_model(asked(folder, tmp_path / "cut", "few.parquet", backbone, **learning), watcher=_Stopping(after))
    cut = train_reward_model(asked(folder, tmp_path / "cut", "few.parquet", backbone, **learning)).model
    for name in ("model.safetensors", "head.safetensors", "reward_model.json"):
        assert (cut / name).read_bytes() == (whole / name).read_bytes(), name
    about = json.loads((whole / "reward_model.json").read_text())
    assert about["loss"] == loss and (about["tie"] is None) == (loss == "unsure")


def test_a_run_that_was_stopped_refuses_another_backbone_and_other_pictures_of_equal_size(
    world: tuple[Path, pl.DataFrame], tmp_path: Path
):
    folder = copytree(world[0], tmp_path / "world")
    world[1].head(240).write_parquet(folder / "few.parquet")
    with pytest.raises(KeyboardInterrupt):
        train_reward_model(asked(folder, tmp_path / "cut", "few.parquet", {"rank": 2}), watcher=_Stopping(25))
    backbone, some = folder / "clip" / "model.safetensors", Path(str(world[1]["chosen"][0]))
    for file, problem in ((backbone, "other weights of its model"), (folder / some, "or pictures")):
        content = file.read_bytes()
        file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        with pytest.raises(InputError, match=problem):
            train_reward_model(asked(folder, tmp_path / "cut", "few.parquet", {"rank": 2}))
        file.write_bytes(content)
    assert train_reward_model(asked(folder, tmp_path / "cut", "few.parquet", {"rank": 2})).resumed_from


def test_a_vision_language_model_is_a_backbone(world: tuple[Path, pl.DataFrame], tmp_path: Path):
    folder, table = world
    table.head(60).write_parquet(folder / "very-few.parquet")
    llava = save_tiny_llava(tmp_path / "llava")
    trained = train_reward_model(asked(folder, tmp_path / "run", "very-few.parquet", {"name": str(llava)}, epochs=1))
    scorer = open_scorer(f"reward-model:{trained.model}")
    pictures = [Image.open(folder / f"{number}-0.png") for number in range(3)]
    together = asyncio.run(scorer.score(pictures, ["red", "blue and a longer text", "red"]))
    alone = [
        asyncio.run(scorer.score([picture], [text]))[0]
        for picture, text in zip(pictures, ("red", "blue and a longer text", "red"), strict=True)
    ]
    assert [each.value for each in together] == pytest.approx([each.value for each in alone], abs=1e-4)
    hostile = asyncio.run(scorer.score(pictures[:2], ["<image> red", "</s><s>"]))
    assert all(isinstance(each, Scored) for each in hostile), "tokens of the model in a prompt are words"
    (folder / "token.jsonl").write_text(
        "".join(
            json.dumps({"prompt": prompt, "chosen": "0-0.png", "rejected": "0-1.png"}) + "\n" for prompt in ("<image>", "a")
        )
    )
    train_reward_model(asked(folder, tmp_path / "token", "token.jsonl", {"name": str(llava)}, epochs=1))


@pytest.mark.parametrize(
    ("pairs", "prompts", "epochs"),
    [
        pytest.param(400, "red", 6, marks=pytest.mark.slow),
        pytest.param(2000, "red|blue", 8, marks=pytest.mark.study),  # what is better turns round with the prompt
    ],
)
def test_a_vision_language_model_learns_what_people_chose(tmp_path: Path, pairs: int, prompts: str, epochs: int):
    table = drawn_world(tmp_path, pairs).filter(pl.col("prompt").str.contains(prompts))
    table.write_parquet(tmp_path / "some.parquet")
    backbone = {"name": str(save_tiny_llava(tmp_path / "llava"))}
    trained = train_reward_model(asked(tmp_path, tmp_path / "run", "some.parquet", backbone, epochs=epochs, learning_rate=3e-3))
    rows = [json.loads(line) for line in (tmp_path / "run" / "reward-model" / "held_out.jsonl").read_text().splitlines()]
    assert trained.evaluation["pairs"] == len(rows)
    assert np.corrcoef([row["gap"] for row in rows], table.filter(split="test")["gap"])[0, 1] > 0.6  # measured: .79 to .85


def test_bradley_terry_and_davidson_are_their_formulas():
    gap = GAPS.numpy().astype(np.float64)
    assert VoteModel("bradley-terry").chances(GAPS)[:, 0].numpy() == pytest.approx(expit(gap), abs=1e-6)
    model = VoteModel("davidson")
    model.tie.data.fill_(np.log(0.7))  # type: ignore[union-attr]
    strong, weak = np.exp(gap), np.ones(9)
    whole = strong + weak + 0.7 * np.sqrt(strong * weak)
    wanted = np.column_stack([strong, weak, 0.7 * np.sqrt(strong * weak)]) / whole[:, None]
    assert model.chances(GAPS).detach().numpy() == pytest.approx(wanted, abs=1e-6)


def test_rao_kupper_is_its_formula_and_ties_are_impossible_without_a_threshold():
    model = VoteModel("rao-kupper")
    model.tie.data.fill_(np.log(0.4))  # type: ignore[union-attr]
    theta, strong = np.exp(0.4), np.exp(GAPS.numpy().astype(np.float64))
    wanted = np.column_stack([strong / (strong + theta), 1 / (1 + theta * strong)])
    found = model.chances(GAPS).detach().numpy()
    assert found[:, :2] == pytest.approx(wanted, abs=1e-6) and found[:, 2] == pytest.approx(1 - wanted.sum(1), abs=1e-6)


def test_an_unsure_reward_is_the_mean_over_its_normal_distribution():
    for gap, deviation in ((0.5, 0.3), (-2.0, 1.5), (3.0, 4.0)):
        wanted = quad(lambda x, g=gap, d=deviation: expit(x) * norm.pdf(x, g, d), gap - 9 * deviation, gap + 9 * deviation)[0]
        found = VoteModel("unsure").chances(torch.tensor([gap]), torch.tensor([deviation]))[0, 0]
        assert float(found) == pytest.approx(wanted, abs=2e-3)


@pytest.mark.parametrize("loss", ["bradley-terry", "davidson", "rao-kupper", "unsure"])
def test_chances_add_up_and_turn_with_the_sides(loss: Any):
    deviation = torch.full((9,), 0.8)
    model = VoteModel(loss, 0.1)
    chances = model.chances(GAPS, deviation)
    assert chances.sum(1).tolist() == pytest.approx([1.0] * 9, abs=1e-6) and float(chances.min()) >= 0.0
    assert torch.allclose(chances[:, [1, 0, 2]], model.chances(-GAPS, deviation), atol=1e-6)
    assert (chances[:, :2].detach() >= 0.1 * (1 - chances[:, 2:].detach()) - 1e-6).all()
    votes = torch.tensor([[3.0, 1.0, 2.0]]).expand(9, 3)
    assert torch.allclose(model(GAPS, votes, deviation), model(-GAPS, votes[:, [1, 0, 2]], deviation), atol=1e-6)
    assert torch.allclose(model(GAPS, votes, deviation), model(GAPS, 7 * votes, deviation), atol=1e-6)


def pair(prompt: str, *votes: float) -> Preference:
    return Preference(prompt, Path("a.png"), Path("b.png"), (votes[0], votes[1], votes[2]), "test")


def test_held_out_numbers_are_counted_by_hand():
    pairs = [pair("p", 3, 0, 0), pair("p", 1, 3, 0), pair("q", 2, 1, 1), pair("q", 1, 1, 0), pair("r", 0, 0, 2)]
    chances = [[0.9, 0.1, 0.0], [0.8, 0.2, 0.0], [0.4, 0.4, 0.2], [0.3, 0.7, 0.0], [0.1, 0.1, 0.8]]
    found = held_out_numbers(pairs, [2.0, 1.0, 0.0, -1.0, 0.0], chances)
    assert (found["pairs"], found["accuracy"], found["accuracy_clear"]) == (2.0, pytest.approx(1.5 / 2), 1.0)
    # bins of the chance of the preferred: .9 (3 votes, share 1), .8 (4, .25), .5 (3, .5), .7 (2, .5)
    assert found["ece"] == pytest.approx((3 * 0.1 + 4 * 0.55 + 0.0 + 2 * 0.2) / 12)
    wanted = -np.log([0.9, 0.8, 0.4, 0.3, 0.8])
    wanted[1] = -(np.log(0.8) + 3 * np.log(0.2)) / 4
    wanted[2] = -(3 * np.log(0.4) + np.log(0.2)) / 4
    wanted[3] = -(np.log(0.3) + np.log(0.7)) / 2
    assert found["log_loss"] == pytest.approx(wanted.mean())
    assert held_out_numbers([], [], [])["accuracy"] is None


def test_accuracy_while_learning_is_that_of_held_out_pairs_where_all_chosen_pictures_have_more_votes():
    generator = np.random.default_rng(0)
    votes = generator.integers(1, 4, (200, 3)).astype(float)
    votes[:, 0] = votes[:, 1] + generator.integers(0, 3, 200)  # a third is undecided
    gaps = generator.normal(size=200).round(1)
    pairs = [pair(str(number), *each) for number, each in enumerate(votes)]
    found = held_out_numbers(pairs, gaps, [[0.4, 0.4, 0.2]] * 200)
    right, decided = stage.told_right(torch.tensor(gaps), torch.tensor(votes))
    assert (decided, right / decided) == (found["pairs"], pytest.approx(found["accuracy"]))
    turned = stage.told_right(torch.tensor(-gaps), torch.tensor(votes[:, [1, 0, 2]]))
    assert turned == (right, decided) and 0 < decided < 200
    assert stage.told_right(torch.zeros(2), torch.ones(2, 3)) == (0.0, 0)


def test_held_out_numbers_do_not_depend_on_order_or_names_of_prompts_and_accuracy_not_on_how_many_voted():
    random = np.random.default_rng(0)
    pairs = [pair(f"p{number % 12}", *random.integers(0, 5, 2), 1.0) for number in range(60)]
    gaps, chances = random.normal(size=60), random.dirichlet([3, 3, 1], 60)
    found = held_out_numbers(pairs, gaps, chances)
    order = random.permutation(60)
    renamed = [
        Preference(f"q{pairs[place].prompt}", *(Path(f"{side}.png") for side in "cd"), pairs[place].votes, "test")
        for place in order
    ]
    assert held_out_numbers(renamed, gaps[order], chances[order]) == pytest.approx(found)
    more = [pair(each.prompt, *(9 * votes for votes in each.votes)) for each in pairs]
    assert held_out_numbers(more, gaps, chances) == pytest.approx(found)
    assert held_out_numbers(more, 1e-6 * gaps, chances)["accuracy"] == found["accuracy"]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"chosen": "none.png"}, "column 'chosen'.*no such file"),
        ({"rejected": "a.png"}, "column 'rejected'.*is the picture that was chosen"),
        ({"prompt": " "}, "column 'prompt'"),
        ({"votes_chosen": "-1"}, "column 'votes_chosen'.*number of votes"),
        ({"votes_chosen": "nan"}, "column 'votes_chosen'.*number of votes"),
        ({"votes_chosen": "1e39"}, "column 'votes_chosen'.*at most 1e"),
        ({"votes_chosen": "0"}, "needs votes"),
        ({"split": "validation"}, "column 'split'.*train, test"),
        ({"split": "test"}, "no pair is to learn from"),
    ],
)
def test_a_wrong_pair_is_named_with_its_place(change: dict[str, str], problem: str, tmp_path: Path):
    for name in ("a.png", "b.png"):
        Image.new("RGB", (8, 8)).save(tmp_path / name)
    row = {"prompt": "cat", "chosen": "a.png", "rejected": "b.png", "votes_chosen": "1", "split": "train"} | change
    pl.DataFrame([row]).write_csv(tmp_path / "pairs.csv")
    with pytest.raises(InputError, match=problem):
        read_preferences(tmp_path / "pairs.csv")


def test_a_prompt_in_both_splits_is_refused_and_a_plain_table_is_one_vote_each(tmp_path: Path):
    for name in ("a.png", "b.png"):
        Image.new("RGB", (8, 8)).save(tmp_path / name)
    rows = [{"prompt": "cat", "chosen": "a.png", "rejected": "b.png"}]
    pl.DataFrame(rows).write_csv(tmp_path / "plain.csv")
    remarks: list[str] = []
    assert read_preferences(tmp_path / "plain.csv", remarks)[0].votes == (1.0, 0.0, 0.0) and remarks == []
    for lone in ("votes_rejected", "ties"):
        pl.DataFrame([rows[0] | {lone: 3}]).write_csv(tmp_path / "half.csv")
        with pytest.raises(InputError, match=f"row 1, column 'votes_chosen': is missing, and there is {lone}"):
            read_preferences(tmp_path / "half.csv")
    pl.DataFrame([row | {"source": "before.png"} for row in rows]).write_csv(tmp_path / "edits.csv")
    read_preferences(tmp_path / "edits.csv", remarks)
    assert remarks == ["1 of 1 pairs of edits.csv are edits; what was edited (source) is not looked at."]
    pl.DataFrame([row | {"split": split} for row in rows for split in ("train", "test")]).write_csv(tmp_path / "leak.csv")
    with pytest.raises(InputError, match=r"in both splits: '?cat"):
        read_preferences(tmp_path / "leak.csv")
    for other, problem in ((" CAT", "a prompt is in both splits"), ("dog", "a picture is in both splits")):
        leak = [rows[0] | {"split": "train"}, {"prompt": other, "chosen": "b.png", "rejected": "a.png", "split": "test"}]
        pl.DataFrame(leak).write_csv(tmp_path / "leak.csv")
        with pytest.raises(InputError, match=problem):
            read_preferences(tmp_path / "leak.csv")
    (tmp_path / "c.png").symlink_to("a.png")
    for name in ("./a.png", str(tmp_path / "a.png"), f"../{tmp_path.name}/a.png", "c.png"):
        leak = [rows[0] | {"split": "train"}, {"prompt": "dog", "chosen": "d.png", "rejected": name, "split": "test"}]
        Image.new("RGB", (8, 8)).save(tmp_path / "d.png")
        pl.DataFrame(leak).write_csv(tmp_path / "leak.csv")
        with pytest.raises(InputError, match=r"column 'rejected': a picture is in both splits"):
            read_preferences(tmp_path / "leak.csv")


def test_a_picture_that_is_not_the_one_people_voted_about_is_refused(tmp_path: Path):
    for name in ("a.png", "b.png"):
        Image.new("RGB", (8, 8), "red" if name == "a.png" else "blue").save(tmp_path / name)
    digests = {side: file_sha256(tmp_path / name) for side, name in (("chosen_sha256", "a.png"), ("rejected_sha256", "b.png"))}
    row = {"prompt": "cat", "chosen": "a.png", "rejected": "b.png"}
    for known in (digests, digests | {"rejected_sha256": None}, {"chosen_sha256": digests["chosen_sha256"]}):
        pl.DataFrame([row | known]).write_csv(tmp_path / "pairs.csv")
        assert len(read_preferences(tmp_path / "pairs.csv")) == 1
        Image.new("RGB", (8, 8), "green").save(tmp_path / "a.png")
        with pytest.raises(InputError, match=r"row 1, column 'chosen': is not the picture that was voted about.*a\.png"):
            read_preferences(tmp_path / "pairs.csv")
        Image.new("RGB", (8, 8), "red").save(tmp_path / "a.png")


def test_a_loss_without_ties_counts_a_tie_as_half_a_vote_for_either_when_held_out_too():
    found = held_out_numbers([pair("p", 3, 1, 2)], [1.0], [[0.7, 0.3, 0.0]])
    assert found["log_loss"] == pytest.approx(-(4 * np.log(0.7) + 2 * np.log(0.3)) / 6)


@pytest.mark.parametrize(("loss", "ties", "off"), [("davidson", 0.0, 0.02), ("rao-kupper", 0.0, 0.02), ("davidson", 1.5, 0.06)])
def test_the_chance_of_ties_is_that_of_the_votes_at_the_default_learning_rate(
    loss: str, ties: float, off: float, world: tuple[Path, pl.DataFrame], tmp_path: Path
):
    table = drawn_world(tmp_path, 300, ties=ties)
    configuration = asked(world[0], tmp_path / "run", backbone={"rank": 0}, loss=loss, learning_rate=1e-4)
    preferences = {"file": str(tmp_path / "pairs.parquet")}
    configuration = configured(configuration.model_dump() | {"preferences": preferences})
    train_reward_model(configuration)
    rows = [json.loads(line) for line in (tmp_path / "run" / "reward-model" / "held_out.jsonl").read_text().splitlines()]
    assert np.mean([row["chances"][2] for row in rows]) == pytest.approx(table["ties"].mean(), abs=off)


def test_a_folder_whose_files_are_damaged_or_lack_weights_is_no_reward_model(world: tuple[Path, pl.DataFrame], tmp_path: Path):
    """Weights that are missing would be drawn at random, and the reward with them."""
    RewardNetwork.begin(str(world[0] / "clip")).save(tmp_path)
    whole = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    weights = {name: value for name, value in load_file(tmp_path / "model.safetensors").items() if "text_model" not in name}
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match=r"lacks weights of the model, such as text_model\."):
        RewardNetwork.read(tmp_path)
    for name in ("model.safetensors", "head.safetensors", "config.json", "reward_model.json"):
        for content in (b"", b"no tensors", whole[name][:15], b'{"model_type": "clip", "text_config": 3}'):
            (tmp_path / "model.safetensors").write_bytes(whole["model.safetensors"])
            (tmp_path / name).write_bytes(content)
            with pytest.raises(InputError):
                RewardNetwork.read(tmp_path)
            (tmp_path / name).write_bytes(whole[name])
    assert RewardNetwork.read(tmp_path).unsure is False


class Harmful:
    """Makes a file where it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.mark,)


def with_code(folder: Path, mark: Path, *names: str) -> None:
    """Let the configurations of a folder name a module of it as their code."""
    (folder / "harmful.py").write_text(f"open({str(mark)!r}, 'w')\nclass Own: pass\n")
    kinds = ("AutoConfig", "AutoModel", "AutoModelForImageTextToText", "AutoProcessor", "AutoImageProcessor")
    for name in names:
        values = json.loads((folder / name).read_text()) | {"auto_map": dict.fromkeys(kinds, "harmful.Own")}
        values |= {"model_type": "own"} if name == "config.json" else {"processor_class": "Own"}
        (folder / name).write_text(json.dumps(values))


def test_a_folder_from_elsewhere_runs_no_code_and_nobody_is_asked_whether_it_may(
    world: tuple[Path, pl.DataFrame], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    mark, asked = tmp_path / "run", []
    monkeypatch.setattr("builtins.input", lambda *said: asked.append(said) or "y")
    RewardNetwork.begin(str(world[0] / "clip")).save(tmp_path / "whole")
    for number, names in enumerate([("config.json",), ("processor_config.json", "tokenizer_config.json"), ()]):
        folder = tmp_path / str(number)
        copytree(tmp_path / "whole", folder)
        if names:
            with_code(folder, mark, *names)
        else:
            (folder / "model.safetensors").unlink()
            torch.save(Harmful(mark), folder / "pytorch_model.bin")
        local = TransformersSettings(kind="transformers", model=str(folder))
        for load in (
            lambda folder=folder: RewardNetwork.begin(str(folder)),
            lambda folder=folder: open_scorer(f"clip-score:{folder}"),
            lambda local=local: LocalModel.load(local),
            lambda folder=folder: load_processor(ModelSection(name=str(folder)), str(folder)),
        ):
            with suppress(InputError):
                load()
        with pytest.raises(InputError):
            RewardNetwork.read(folder)
    assert asked == [] and not mark.exists()


@for_each(
    ("name", "content"),
    [
        *(("config.json", f'{{"model_type": {kind}}}') for kind in ('"encoder-decoder"', '"rag"', "3")),
        ("config.json", '{"model_type": "clip", "vision_config": {"hidden_size": 0}}'),
        *(product(("config.json", "processor_config.json", "tokenizer.json"), ("[]", "{}", "3", '"x"', "null", "[" * 100_000))),
        *(product(("tokenizer_config.json",), ("[]", "3", '"x"', "null", "[" * 100_000))),
    ],
)
def test_a_configuration_of_another_kind_is_refused_by_name(
    name: str, content: str, world: tuple[Path, pl.DataFrame], tmp_path: Path
):
    copytree(world[0] / "clip", tmp_path / "clip")
    (tmp_path / "clip" / name).write_text(content)
    with pytest.raises(InputError):
        RewardNetwork.begin(str(tmp_path / "clip"))


def test_a_reward_model_that_gives_no_number_gives_no_reward(world: tuple[Path, pl.DataFrame], tmp_path: Path):
    network = RewardNetwork.begin(str(world[0] / "clip"))
    torch.nn.init.constant_(network.head.weight, float("nan"))
    network.save(tmp_path)
    reward = make_reward(f"scorer:reward-model:{tmp_path}")
    paid = asyncio.run(each_paid(reward, [""], {"prompts": ["red 0"], "images": [Image.new("RGB", (16, 16))]}))
    assert isinstance(paid[0], Unscored) and "nan" in paid[0].detail


def test_a_run_whose_rewards_are_no_numbers_ends_in_words(world: tuple[Path, pl.DataFrame], tmp_path: Path):
    world[1].head(100).write_parquet(world[0] / "hundred.parquet")
    run = asked(world[0], tmp_path / "run", "hundred.parquet", learning_rate=1e30)
    with pytest.raises(DegeneratedError, match="ended at step"):
        train_reward_model(run.model_copy(update={"evaluation": run.evaluation.model_copy(update={"every": 1})}))
    assert not (tmp_path / "run" / "reward-model" / "model").exists()


def test_the_command_trains_and_its_refusals_name_the_option(world: tuple[Path, pl.DataFrame], tmp_path: Path):
    folder, table = world
    table.head(100).write_parquet(folder / "hundred.parquet")
    words = ["train", "reward-model", str(folder / "hundred.parquet"), "--backbone", str(folder / "clip"), "--epochs", "1"]
    result = CliRunner().invoke(main, [*words, "--output", str(tmp_path / "run"), "--format", "json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["evaluation"]["pairs"] == 20
    refused = CliRunner().invoke(main, [*words, "--set", "learning.rater_noise=0.5", "--output", str(tmp_path / "never")])
    assert refused.exit_code != 0 and "--set, key 'learning.rater_noise'" in refused.stderr
    assert not (tmp_path / "never").exists()
    refused = CliRunner().invoke(main, [*words, "--device", "abacus", "--output", str(tmp_path / "never")])
    assert refused.exit_code != 0 and "--device: unknown device 'abacus'" in refused.stderr
    (tmp_path / "none").mkdir()
    refused = CliRunner().invoke(main, [*words[:4], str(tmp_path / "none"), "--output", str(tmp_path / "never")])
    assert refused.exit_code != 0 and "cannot be loaded" in refused.stderr


def test_the_study_of_ties_draws_the_chances_that_it_says_and_prints_each_arm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ties, "_TEST", 20)
    table = ties.draw_votes(tmp_path / "votes", 400, seed=0)
    votes = table.filter(~pl.col("new"))
    near = votes.filter(pl.col("gap") < 0.5)["ties"].mean()
    assert near == pytest.approx(1 / 3, abs=0.1), "of equal walls a third is tied"
    assert votes.filter(pl.col("gap") > 2.5)["ties"].mean() < near - 0.05
    assert table.filter("new").height == 20 and table.filter("new")["ties"].sum() == 0.0
    ran = CliRunner().invoke(ties.main, [str(tmp_path), "--votes", "32", "--seeds", "1"])
    assert ran.exit_code == 0, ran.output
    assert all(arm in ran.stdout for arm in ties.ARMS)


def test_a_gap_is_the_chosen_less_the_rejected_and_as_unsure_as_a_difference(monkeypatch: pytest.MonkeyPatch):
    class Network:
        def prepared(self, pictures: list[str], prompts: list[str]) -> list[tuple[str, str]]:
            return list(zip(pictures, prompts, strict=True))

        def __call__(self, rows: list[tuple[str, str]]) -> tuple[torch.Tensor, torch.Tensor]:
            reward = torch.tensor([{"a.png": 5.0, "b.png": 2.0}[name] + len(prompt) for name, prompt in rows])
            return reward, torch.tensor([{"a.png": 3.0, "b.png": 4.0}[name] for name, _ in rows])

    monkeypatch.setattr(stage, "picture", lambda path: path.name)
    run = SimpleNamespace(_network=Network())
    gap, unsure = stage._RewardModelRun._gaps(run, [pair("p", 1, 0, 0), pair("long", 1, 0, 0), pair("q", 1, 0, 0)])  # type: ignore[arg-type]
    assert gap.tolist() == [3.0] * 3 and unsure is not None and unsure.tolist() == [5.0] * 3


@pytest.mark.parametrize(("rate", "frozen"), [(0.0, 0), (0.49, 1), (0.5, 2), (1.0, 4)])
def test_a_fix_rate_freezes_that_share_of_each_towers_first_layers_and_what_embeds(rate: float, frozen: int):
    tower = torch.nn.Module()
    tower.embeddings, tower.head = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
    tower.layers = torch.nn.ModuleList(torch.nn.Linear(2, 2) for _ in range(4))
    backbone, adapted = stage.ready_to_learn(tower, BackboneSection(name="m", fix_rate=rate))
    learns = [layer.weight.requires_grad for layer in backbone.layers]
    assert not adapted and learns == [False] * frozen + [True] * (4 - frozen)
    assert backbone.embeddings.weight.requires_grad == (rate == 0.0) and backbone.head.weight.requires_grad
    none, adapted = stage.ready_to_learn(tower, BackboneSection(name="m", rank=0))
    assert not adapted and not any(each.requires_grad for each in none.parameters())
