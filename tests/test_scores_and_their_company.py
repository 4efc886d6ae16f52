"""A score belongs to a picture and its prompt: order, batch, names and company never change it, wherever it is computed.

Every door through which a picture gets a score is in ``doors``: functions, built-in scorers, suites, rewards, adapters, HTTP.
"""

import asyncio
import base64
import json
import math
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from aiohttp import ClientSession
from aiohttp.test_utils import TestServer
from click.testing import CliRunner
from PIL import Image
from tiny_clip import save_tiny_clip

from for_each import for_each
from salon_bench.suites import suite_named
from salon_bench.suites.contract.questions import AnyScore, Expected, Form, NumberedList, Text, form_of, numbers_of
from salon_bench.suites.contract.soft_answers import Soft
from salon_console import main
from salon_judges.clients.scorer import ScorerJudge, parse_score
from salon_judges.scorers.vqa_score import VqaScore
from salon_rewards import make_reward
from salon_rewards.adapters import DDPOReward, FlowGRPOReward, VerlImageScore
from salon_rewards.callables.scorer import ScorerReward
from salon_rewards.group_mask import Abstention
from salon_rewards.serving.app import RewardServer
from salon_taxonomy.answers import Unparsed
from salon_taxonomy.protocols import Media, Question, Reply, Token
from salon_taxonomy.scorers import CheckedScorer, checked_scorer, open_scorer
from salon_taxonomy.testing import HOSTILE_REPLIES
from salon_taxonomy.verdict import Scored, Unscored

Door = Callable[[Sequence[Image.Image], Sequence[str]], list[float | None]]
COLOURS = ("red", "green", "blue", "white", "gray")
PICTURES = [Image.new("RGB", (9 + place, 8), colour) for place, colour in enumerate(COLOURS)]
PROMPTS = ["a red ball", "night", "none", "a very long text of many more words than the others have", "a red ball"]
SOURCE = '''
def light(images, prompts):
    """The light of the first pixel with the length of the prompt; no score for the prompt "none"."""
    pairs = zip(images, prompts, strict=True)
    return [None if prompt == "none" else sum(image.getpixel((0, 0))) / 765 + len(prompt) / 1e4 for image, prompt in pairs]

async def later(images, prompts):
    return light(images, prompts)

def other(images, prompts):
    return [float(len(images) + image.width) for image in images]

light.range = later.range = (0, 2)
'''


def encoded(image: Image.Image) -> bytes:
    data = BytesIO()
    image.save(data, "PNG")
    return data.getvalue()


def value(verdict: object) -> float | None:
    return verdict.value if isinstance(verdict, Scored) else None


def checked(scorer: CheckedScorer) -> Door:
    return lambda images, prompts: [value(each) for each in asyncio.run(scorer.score(images, prompts))]


def judge(scorer: CheckedScorer) -> Door:
    """A scorer as a judge that is asked about all pictures at the same time."""

    async def asked(images: Sequence[Image.Image], prompts: Sequence[str]) -> list[float | None]:
        made = ScorerJudge(scorer)
        questions = [
            Question((Media.from_bytes(encoded(i)),), prompt=prompt) for i, prompt in zip(images, prompts, strict=True)
        ]
        try:
            replies = await asyncio.gather(*map(made.ask, questions))
        finally:
            await made.close()
        return [value(parse_score(reply.text).answer.verdict) for reply in replies]  # type: ignore[union-attr]

    return lambda images, prompts: asyncio.run(asked(images, prompts))


def paid(reward: Any) -> Door:
    return lambda images, prompts: asyncio.run(reward([""] * len(images), images=list(images), prompts=list(prompts)))


def flow_grpo(reward: Any) -> Door:
    def door(images: Sequence[Image.Image], prompts: Sequence[str]) -> list[float | None]:
        scores, info = FlowGRPOReward(reward, on_unscored=-1.0)(list(images), list(prompts), [{}] * len(images))
        assert [score == -1.0 for score in scores["avg"]] == [why is not None for why in info["unscored"]]
        return [None if score == -1.0 else score for score in scores["avg"]]

    return door


def ddpo(reward: Any) -> Door:
    def door(images: Sequence[Image.Image], prompts: Sequence[str]) -> list[float | None]:
        scores, _ = DDPOReward(reward, on_unscored=-1.0)(list(images), list(prompts), [{}] * len(images))
        return [None if score == -1.0 else float(score) for score in scores]

    return door


def verl(reward: Any) -> Door:
    def door(images: Sequence[Image.Image], prompts: Sequence[str]) -> list[float | None]:
        one = VerlImageScore(reward, on_unscored=-1.0)
        told = [one("drawn", np.asarray(image), prompt) for image, prompt in zip(images, prompts, strict=True)]
        return [None if each["score"] == -1.0 else each["score"] for each in told]

    return door


def served(reward: Any) -> Door:
    async def asked(images: Sequence[Image.Image], prompts: Sequence[str]) -> list[float | None]:
        async with TestServer(RewardServer(reward).application()) as running, ClientSession() as session:
            body = {"prompts": list(prompts), "images": [base64.b64encode(encoded(image)).decode() for image in images]}
            async with session.post(running.make_url("/score"), json=body) as response:
                return (await response.json())["scores"]

    return lambda images, prompts: asyncio.run(asked(images, prompts))


class SeeingJudge:
    """A judge with log-probabilities that follow from the picture and the question alone."""

    name = version = "seeing"

    async def ask(self, question: Question) -> Reply:
        [media] = question.media
        share = int(media.sha256[:6], 16) / 16**6 / 2 + 0.3
        first = Token("Yes", math.log(share), (("Yes", math.log(share)), ("No", math.log(1 - share))))
        return Reply("Yes", tokens=(first,))

    async def close(self) -> None:
        """Nothing to release."""


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Door]:
    """Every way to the score of one function, and to the probability of a judge."""
    file = tmp_path_factory.mktemp("doors") / "metrics.py"
    file.write_text(SOURCE)
    light, later = (open_scorer(f"{file}:{name}") for name in ("light", "later"))
    small, small_later = (CheckedScorer(each.function, "small", "1", each.range, batch=2) for each in (light, later))
    reward = make_reward(f"scorer:{file}:light", abstention="alone")
    return {
        "function": checked(light),
        "async function": checked(later),
        "judge": judge(light),
        "judge, async, small batches": judge(small_later),
        "reward": paid(reward),
        "reward, small batches": paid(ScorerReward(small, abstention=Abstention.ALONE)),
        "flow-grpo": flow_grpo(reward),
        "ddpo": ddpo(reward),
        "verl": verl(reward),
        "http": served(reward),
        "vqa-score": checked(checked_scorer(VqaScore(SeeingJudge()))),
    }


NAMES = ("function", "async function", "judge", "judge, async, small batches", "reward", "reward, small batches")
NAMES += ("flow-grpo", "ddpo", "verl", "http", "vqa-score")


def near(found: Sequence[float | None], wanted: Sequence[float | None], exactness: float) -> bool:
    one, other = ([math.nan if each is None else each for each in some] for some in (found, wanted))
    return one == pytest.approx(other, rel=exactness, abs=exactness, nan_ok=True)


def hold(door: Door, exactness: float) -> list[float | None]:
    """Hold a door to the property; returns the scores of ``PICTURES``."""
    whole = door(PICTURES, PROMPTS)
    assert len({each for each in whole if each is not None}) >= 4
    for places in companies():
        found = door([PICTURES[place] for place in places], [PROMPTS[place] for place in places])
        assert near(found, [whole[place] for place in places], exactness)
    return whole


def companies() -> Iterator[list[int]]:
    """Orders, duplicates and parts of the pictures, by place."""
    yield [4, 2, 0, 3, 1]
    yield [0, 0, 1, 2, 3, 4, 4, 0]
    yield [3, 1]
    yield from ([place] for place in range(5))


@for_each("name", NAMES)
def test_a_score_does_not_depend_on_the_door_the_order_the_batch_or_the_company(doors: dict[str, Door], name: str) -> None:
    found = hold(doors[name], 1e-12)
    if name != "vqa-score":
        assert near(found, doors["function"](PICTURES, PROMPTS), 1e-12)


def test_a_score_that_follows_its_company_is_found(tmp_path: Path) -> None:
    (tmp_path / "metrics.py").write_text(SOURCE)
    with pytest.raises(AssertionError):
        hold(checked(open_scorer(f"{tmp_path / 'metrics.py'}:other")), 1e-12)


def test_scores_of_models_do_not_depend_on_order_batch_or_company(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    clip = save_tiny_clip(tmp_path / "clip")
    for name in (f"clip-score:{clip}", f"pickscore:{clip}"):
        found = hold(checked(open_scorer(name)), 1e-5)
        assert near(paid(make_reward(f"scorer:{name}"))(PICTURES, PROMPTS), found, 1e-5)


SUITE = """\
name = "lit"
[[question]]
id = "light"
ask = "How bright is it?"
answer = "score"
"""


def invoked(*words: object) -> str:
    result = CliRunner().invoke(main, [*map(str, words)])
    assert result.exit_code == 0, result.output
    return result.stdout


@for_each("suite", ["scorer", "lit.toml"])
def test_a_run_gives_each_picture_its_score_whatever_the_names_the_order_and_the_panel(
    tmp_path: Path, suite: str, doors: dict[str, Door]
) -> None:
    (tmp_path / "metrics.py").write_text(SOURCE)
    (tmp_path / "lit.toml").write_text(SUITE)
    order = (3, 0, 4, 1, 2)
    pictures = tmp_path / "pictures of ours"
    pictures.mkdir()
    (tmp_path / "prompts.csv").write_text("prompt_id,prompt\n" + "".join(f'p{place},"{PROMPTS[place]}"\n' for place in order))
    for place in order:
        PICTURES[place].save(pictures / f"p{place}.png")
    named = ("--prompts", tmp_path / "prompts.csv", "--model", "our model", "--generations", pictures)
    panel = [word for name in ("other", "light") for word in ("--scorer", f"{tmp_path / 'metrics.py'}:{name}")]
    store = ("--store", tmp_path / "store")
    told = invoked("bench", "run", tmp_path / suite if "." in suite else suite, *named, *panel, *store, "--format", "json")
    rows = map(
        json.loads, invoked("results", "export", json.loads(told)[1]["run_id"], *store, "--format", "jsonl").splitlines()
    )
    found = {row["prompt_id"]: row["value"] for row in rows if row["dimension"] == "light"}
    wanted = doors["function"](PICTURES, PROMPTS)
    assert near([found[f"p{place}"] for place in range(5)], wanted, 1e-12)


# ------------------------------------------------------------------------------------------------------------- no verdicts

EXAMPLES = Path(__file__).resolve().parents[1] / "examples" / "suites"
SCHEMA = {"type": "object", "required": ["cats"], "properties": {"cats": {"type": "integer", "minimum": 0, "maximum": 9}}}
FORMS = ("yes/no", "1-5", "0-2", "score", ["cat", "dog"], SCHEMA)
NO_VERDICTS = {
    "empty": ("", " \n\t"),
    "malformed": ("It is a lovely picture of a cat and a dog.",),
    "truncated": ('{"cats": 3', '{"justification": "cut of'),
    "off_menu": {
        "yes/no": "Answer: perhaps",
        "1-5": "Answer: 6",
        "0-2": "Answer: 3",
        "score": '{"justification": "Over the top.", "score": 11}',
        "cat, dog": "Answer: horse",
        "schema": '{"cats": -1}',
    },
}


def forms() -> Iterator[tuple[str, Form]]:
    """Every form of answer, and the forms of the example suites."""
    for answer in FORMS:
        name = answer if isinstance(answer, str) else "schema" if answer is SCHEMA else ", ".join(answer)
        yield name, form_of(answer)
    yield from (("expected", Expected().of(answer)) for answer in ("yes", "four"))
    for file in sorted(EXAMPLES.glob("*.toml")):
        for _, form in suite_named(str(file)).questions:  # type: ignore[attr-defined]
            yield file.stem, form


def test_no_declared_parser_takes_anything_else_for_a_verdict() -> None:
    tried = list(forms())
    kinds = {*Form.__subclasses__(), *(inner for kind in Form.__subclasses__() for inner in kind.__subclasses__())}
    assert {type(form) for _, form in tried} == kinds
    for name, form in tried:
        if type(form) is Text:  # any words are an answer, which later questions quote, and none is a number
            assert all(isinstance(form.parse(text), Unparsed) for text in NO_VERDICTS["empty"])
            assert all(numbers_of(form, Scored(text)) == {} for text in HOSTILE_REPLIES)
            continue
        off_menu = NO_VERDICTS["off_menu"].get(name)  # type: ignore[attr-defined]
        replies = [(text, reason) for reason in ("empty", "malformed", "truncated") for text in NO_VERDICTS[reason]]
        replies += [(text, None) for text in (*HOSTILE_REPLIES, "Answer:")] + ([(off_menu, "off_menu")] if off_menu else [])
        for reply, reason in replies:
            outcome = form.parse(reply)
            assert isinstance(outcome, Unparsed), (name, reply)
            unscored = outcome.unscored(reply)
            wanted = "not_reported" if isinstance(form, Soft) else reason  # a text has no probabilities, whatever it says
            if isinstance(form, NumberedList) and reason == "truncated":
                wanted = "malformed"  # cut JSON is no list
            assert wanted in (None, unscored.reason.value), (name, reply, unscored)
            assert set(numbers_of(form, unscored).values()) == {unscored}


def test_a_scorer_without_a_score_is_unscored_with_its_reason_in_a_declared_suite() -> None:
    def judged(reply: Reply) -> object:
        return numbers_of(AnyScore(), Scored(parse_score(reply.text).answer))[""]  # type: ignore[union-attr]

    scorer = ScorerJudge(checked_scorer(_abstaining))
    question = Question((Media.from_bytes(encoded(PICTURES[0])),), prompt="none")
    told = judged(asyncio.run(scorer.ask(question)))
    assert isinstance(told, Unscored)
    assert told.reason.value == "abstained"


def _abstaining(images: Sequence[Any], prompts: Sequence[str]) -> list[None]:
    return [None] * len(images)
