"""A suite's scores as a reward: hostile replies first; the suite's own questions, its scale, and groups that abstain."""

import asyncio
import gc
import io
import json
import logging
import pickle
import warnings

import pytest
from PIL import Image

from for_each import for_each
from salon_bench.suites.contract.reward import suite_reward
from salon_judges.clients import open_judge
from salon_judges.testing.mock_server import Script, fixed, serving
from salon_rewards import ConsistencyReward, JudgedScoreReward, MagicMirrorJudged, make_reward
from salon_synthetic import Item, PixelJudge, Scene
from salon_synthetic import png as drawn
from salon_taxonomy.errors import InputError
from salon_taxonomy.testing import HOSTILE_REPLIES, ReplayJudge


def score(points: float) -> str:
    return json.dumps({"justification": "Seen.", "score": points})


def png(colour: str) -> bytes:
    encoded = io.BytesIO()
    Image.new("RGB", (16, 16), colour).save(encoded, format="PNG")
    return encoded.getvalue()


class MuteJudge:
    name = version = "mute"

    async def ask(self, question):
        raise ConnectionResetError


@pytest.fixture
def prompts(tmp_path):
    path = tmp_path / "prompts.jsonl"
    rows = [{"prompt_id": f"p{number}", "track": "style", "prompt": "A red sign."} for number in range(2)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def prism(judge, prompts, **more):
    return make_reward("suite:prism", judge=judge, source=str(prompts), scale=[0, 10], concurrency=1, **more)


def paid(reward, *images, ids=("p0", "p1")):
    return asyncio.run(reward([""] * len(images), images=list(images), prompt_id=list(ids)[: len(images)]))


@for_each("reply", HOSTILE_REPLIES)
def test_a_hostile_reply_is_no_reward(reply, prompts):
    assert paid(prism(ReplayJudge([reply, score(8)]), prompts), png("red")) == [None]


def test_the_mean_of_the_suites_rows_is_brought_to_its_scale(prompts):
    judge = ReplayJudge([score(8), score(5), score(10), score(10)])
    reward = prism(judge, prompts)
    assert reward.__name__ == "suite:prism"
    assert paid(reward, png("red"), [Image.new("RGB", (8, 8))]) == [0.65, 1.0]
    assert all("A red sign." in question.text for question in judge.asked[::2])
    assert paid(prism(ReplayJudge([score(8), score(5)]), prompts, dimensions=["alignment"]), png("red")) == [0.8]


def test_a_picture_that_is_none_is_not_asked_about_and_takes_its_group_out(prompts):
    judge = ReplayJudge([score(8), score(8)])
    reward = prism(judge, prompts)
    assert paid(reward, png("red"), b"no picture", ids=("p0", "p0")) == [None, None]
    assert len(judge.asked) == 2
    assert paid(prism(ReplayJudge([score(8), score(8)]), prompts), png("red"), b"no picture") == [0.8, None]


def test_what_is_wrong_is_named(prompts):
    with pytest.raises(InputError, match=r"row 1, column 'prompt_id': the suite prism has no prompt 'p9'"):
        paid(prism(ReplayJudge([]), prompts), png("red"), ids=("p9",))
    with pytest.raises(InputError, match="no installed package brings the suite 'nothing'"):
        make_reward("suite:nothing", judge=ReplayJudge([]))
    with pytest.raises(InputError, match="cannot be made without a judge"):
        suite_reward("prism", {"source": prompts})
    with pytest.raises(InputError, match="unknown parameter of suite:prism 'juge'"):
        suite_reward("prism", {"juge": 1})
    with pytest.raises(InputError, match="needs two finite numbers"):
        suite_reward("prism", {"judge": ReplayJudge([]), "source": prompts, "scale": (1, 1)})


@pytest.mark.parametrize(
    ("wrong", "words"),
    [({"timeout_s": 0}, "column 'timeout_s': must be above 0"), ({"abstention": "some"}, "unknown abstention 'some'")],
    ids=["time", "abstention"],
)
def test_limits_and_abstentions_that_are_none_are_refused(prompts, wrong, words):
    with pytest.raises(InputError, match=words):
        prism(ReplayJudge([]), prompts, **wrong)


def test_it_pickles(prompts):
    again = pickle.loads(pickle.dumps(suite_reward("prism", {"judge": MuteJudge(), "source": prompts})))
    assert again.__name__ == "suite:prism"
    assert paid(again, png("red")) == [None]


def test_every_reward_that_asks_takes_its_judge_as_a_text_and_leaves_no_session_open(prompts, caplog, monkeypatch):
    """One call after another, each in an event loop of its own, as trainers call rewards; nothing is closed by hand."""
    monkeypatch.setenv("SALON_JUDGE_API_KEY", "sk-of-the-environment")
    truth = '{"Whether Normal": true}'
    completion = "<think>Fine.</think>\\boxed{" + truth + "}"
    rows = {"prompt_id": ["p0"], "images": [png("red")], "truth": [truth]}
    kinds = {"suite:prism": {"source": prompts}, "judged_score": {"rubric": "Deduct."}, "consistency": {}, "magicmirror": {}}
    with serving(Script(rule=fixed('{"consistent": true, "justification": "", "score": 8}'))) as server:
        judge = f"openai:mock@{server.url}"
        with warnings.catch_warnings(record=True) as warned, caplog.at_level(logging.ERROR, logger="asyncio"):
            warnings.simplefilter("always", ResourceWarning)
            for name, more in kinds.items():
                reward = make_reward(name, judge=judge, **more)
                for at in range(2):
                    (paid,) = asyncio.run(reward([completion + " " * at], **rows))
                    assert paid is not None, name
                del reward
                gc.collect()
    assert [str(each.message) for each in warned if "client session" in str(each.message)] == []
    assert [record.message for record in caplog.records if "client session" in record.message] == []


@pytest.mark.parametrize(
    "make",
    [
        lambda judge, _: ConsistencyReward(judge),
        lambda judge, _: MagicMirrorJudged(judge),
        lambda judge, _: JudgedScoreReward(judge, "Deduct."),
        lambda judge, prompts: suite_reward("prism", {"judge": judge, "source": prompts}),
    ],
    ids=["consistency", "magicmirror", "judged_score", "suite"],
)
@pytest.mark.parametrize("judge", ["openai:gpt", 3, object()], ids=["text", "number", "object"])
def test_what_cannot_be_asked_is_refused_when_the_reward_is_made(make, judge, prompts):
    with pytest.raises(InputError, match="a judge is an object with a method ask, not"):
        make(judge, prompts)


def test_a_judge_is_opened_with_the_secrets_of_the_environment(monkeypatch):
    monkeypatch.delenv("SALON_JUDGE_API_KEY", raising=False)
    assert open_judge("vllm:m@localhost:1").name == "m"


# --------------------------------------------------------------------------------------------------- prompts of the moment


def momentary(judge, name="suite:prism", **more):
    more = {"facts": {"track": "style"}, "scale": [0, 10], "concurrency": 1} | more
    return make_reward(name, judge=judge, prompt="prompts", **more)


@for_each("reply", ["", "It is lovely.", '{"justification": "cut of', score(11)])
def test_a_prompt_that_the_suite_has_not_is_asked_about_and_a_hostile_reply_is_no_reward(reply):
    judge = ReplayJudge([reply, score(8), score(6), score(6)])
    reward = momentary(judge)
    pictures = [png("red"), png("blue")]
    found = asyncio.run(reward(["", ""], images=pictures, prompts=["three lemons", [{"role": "user", "content": "a cat"}]]))
    assert found[0] is None
    assert any("three lemons" in question.text for question in judge.asked)
    assert pickle.loads(pickle.dumps(momentary(open_judge("vllm:x")))).prompt == "prompts"


def test_the_mark_of_a_judge_is_a_reward_for_any_prompt_without_a_file():
    reward = momentary(ReplayJudge([score(9)]), "suite:scorer", facts={}, scale=None)
    assert asyncio.run(reward([""], images=[png("red")], prompts=["three lemons"])) == [0.9]


@for_each(
    ("name", "facts", "words"),
    [
        ("suite:prism", {}, "needs a fact that is missing"),
        ("suite:prism", {"track": "no-such-track"}, "facts"),
        ("suite:magicdata", {}, "suites of pictures"),
    ],
)
def test_facts_that_the_suite_needs_are_asked_for_when_the_reward_is_made(name, facts, words):
    with pytest.raises(InputError, match=words):
        momentary(ReplayJudge([]), name, facts=facts)


LABELS, SCORE, YES = '["photo", "painting"]', '"score"', '"yes/no"'


@pytest.mark.parametrize(
    ("answers", "more", "wanted"),
    [
        ((YES,), {}, 1.0),
        ((SCORE,), {"scale": [0, 10]}, 0.8),
        ((SCORE, SCORE), {"scale": [0, 10]}, 0.8),
        ((SCORE, YES), {}, 1.0),
        ((SCORE,), {}, "scale=(1, 5)"),
        ((LABELS,), {}, "pays for no completion"),
    ],
)
def test_a_suite_file_pays_for_its_questions_or_says_that_none_can_be_paid_for(tmp_path, answers, more, wanted):
    tables = [f'[[question]]\nid = "q{at}"\nask = "Which?"\nanswer = {answer}\n' for at, answer in enumerate(answers)]
    file = tmp_path / "suite.toml"
    file.write_text('name = "mine"\n' + "".join(tables))
    replies = {YES: "Answer: yes", SCORE: score(8), LABELS: "Answer: photo"}
    judge = ReplayJudge([replies[answer] for answer in answers])

    def pay():
        reward = make_reward(f"suite:{file}", judge=judge, prompt="prompts", **more)
        return asyncio.run(reward([""], images=[png("red")], prompts=["A red sign."]))

    if isinstance(wanted, str):
        with pytest.raises(InputError) as refused:
            pay()
        assert wanted in str(refused.value)
    else:
        assert pay() == [wanted]


@for_each("shows", [["source", "result"], ["result", "source"], ["reference", "source", "result"]])
def test_an_edit_is_paid_for_by_its_result_whatever_is_shown_beside_it(shows, tmp_path):
    star = {colour: drawn(Scene(items=[Item(shape="star", colour=colour, x=128, y=128)])) for colour in ("blue", "red")}
    (tmp_path / "before.png").write_bytes(star["blue"])
    given = [role for role in shows if role != "result"]
    row = {"prompt_id": "p0", "prompt": "Make it red."} | dict.fromkeys(given, "before.png")
    (tmp_path / "edits.jsonl").write_text(json.dumps(row) + "\n")
    suite = tmp_path / "edits.toml"
    suite.write_text(
        f'name = "edits"\nprompts = "edits.jsonl"\nshows = {json.dumps(shows)}\n\n'
        '[[question]]\nid = "done"\nask = "Is there a red star?"\nanswer = "yes/no"\n'
    )
    reward = make_reward(f"suite:{suite}", judge=PixelJudge())
    assert paid(reward, star["red"], star["blue"], ids=("p0", "p0")) == [1.0, 0.0]
