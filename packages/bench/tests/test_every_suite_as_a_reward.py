"""Every installed suite by name as a reward: good beats bad, nothing leaves 0 to 1, and what cannot be paid is refused."""

import asyncio
import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from PIL import Image

from for_each import for_each
from salon_bench.suites import suite_names
from salon_bench.suites.contract.reward import SuiteReward
from salon_rewards import make_reward
from salon_taxonomy.answers import R3Answer, render_r3
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Question, Reply
from salon_taxonomy.testing import HOSTILE_REPLIES, ReplayJudge

HAND = '{"Whether Normal": false, "Type of Deformity": {"L2: Abnormal Human Anatomy": ["L3: Hand Structure Deformity"]}}'
FLOOD = '{"Whether Normal": false, "Type of Deformity": {"L2: Abnormal Object Morphology": true}}'
NORMAL = '{"Whether Normal": true}'
PRISM = ["prism", "prism-released", "prism-zh", "prism-zh-released"]
MAGICBENCH = ["magicbench", "magicbench-released"]
VIDEOS = ["artifact-bench", "artifact-bench-released", "artifact-bench-both-orders"]
BATTLES = [f"magic-bench-377-battles{way}{language}" for way in ("", "-each", "-strict") for language in ("", "-zh")]
PAIRS = [*BATTLES, "r3-images"]
POINTS = ["magic-bench-377", "magic-bench-377-zh"]
PICTURES = [*PRISM, *MAGICBENCH, *POINTS]
ANSWERS = [*VIDEOS, "magicdata", "r3-reflect", "r3-reflect-released"]


def boxed(labels: str) -> str:
    return f"<think>I look.</think>\\boxed{{{labels}}}"


def png() -> bytes:
    encoded = io.BytesIO()
    Image.new("RGB", (16, 16), "red").save(encoded, format="PNG")
    return encoded.getvalue()


class Critic:
    """Finds everything as good, or as bad, as the suite's scale has it."""

    name = version = "critic"

    def __init__(self, *, kind: bool) -> None:
        self.kind = kind
        self.asked = 0

    async def ask(self, question: Question) -> Reply:
        self.asked += 1
        text = question.text
        if "\\boxed" in text:
            return Reply(boxed(NORMAL if self.kind else HAND))
        if '"justification"' in text:
            return Reply(json.dumps({"justification": "Seen.", "score": 10 if self.kind else 0}))
        if '"equivalent"' in text:
            return Reply(json.dumps({"equivalent": self.kind}))
        if '"satisfied"' in text:
            return Reply(json.dumps({"reason": "Seen.", "satisfied": self.kind}))
        if '"score"' in text:
            return Reply(json.dumps({"reason": "Seen.", "score": 5 if self.kind else 1}))
        return Reply("It is plain to see.\n" + ("Yes" if self.kind else "No"))


@pytest.fixture
def sources(tmp_path: Path) -> Mapping[str, tuple[Path, str]]:
    """For every suite a file with one prompt or question, and its id."""

    def written(name: str, rows: list[dict[str, object]]) -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    (tmp_path / "a.png").write_bytes(png())
    prism = written("prism.jsonl", [{"prompt_id": "p", "track": "style", "prompt": "A red sign."}])
    subject = {"subject": "a guard", "class": "human", "detail_class": "human_single"}
    magicbench = written("magicbench.jsonl", [{"prompt_id": "p", "prompt_t2i": "A guard.", **subject}])
    points = tmp_path / "points.csv"
    points.write_text("prompt_id,prompt,labels,scenario,test_points\np,Three gems.,Style,Art,Quantity: three gems\n")
    points_zh = tmp_path / "points-zh.csv"
    points_zh.write_text(
        "prompt_id,prompt,labels,scenario,test_points\np,三颗宝石。,Style,Art,Quantity: three gems\n", encoding="utf-8"
    )
    video = written(
        "video.jsonl", [{"task_type": 1, "sample_id": "7", "video_path": ["a.mp4"], "answer": "yes", "level": "easy"}]
    )
    labels = written("labels.jsonl", [{"images": "a.png", "response": boxed(HAND)}])
    r3 = {"idx": 0, "original_prompt": "Three lemons.", "bad_image": "a.png", "answer": False, "explanation": "Two lemons."}
    asked = {"yn_question_list": ["Are there lemons?"], "yn_answer_list": ["yes"]}
    rows = written("rows.jsonl", [{**r3, "category": "numeracy", "generated_qa": asked}])
    return {
        **dict.fromkeys(PRISM, (prism, "p")),
        **dict.fromkeys(MAGICBENCH, (magicbench, "p")),
        **{name: (points_zh if name.endswith("-zh") else points, "p") for name in (*POINTS, *BATTLES)},
        **dict.fromkeys(VIDEOS, (video, "rvac-7")),
        "magicdata": (labels, "a.png"),
        **dict.fromkeys(["r3-reflect", "r3-reflect-released", "r3-explanations", "r3-images"], (rows, "0")),
    }


@pytest.fixture
def made(sources: Mapping[str, tuple[Path, str]]) -> Callable[..., Callable[..., list[float | None]]]:
    """Makes the reward of a suite; what is made takes completions, and shows a picture beside each where one is wanted."""

    def make(name: str, judge: object = None) -> Callable[..., list[float | None]]:
        source, prompt = sources[name]
        reward = make_reward(f"suite:{name}", judge=judge, source=source)
        assert isinstance(reward, SuiteReward)

        def paid(*completions: str) -> list[float | None]:
            pictures = {"images": [png()] * len(completions)} if name in PICTURES else {}
            given = reward(list(completions), prompt_id=[prompt] * len(completions), **pictures)
            return list(asyncio.run(given))

        return paid

    return make


RIGHT = {
    **dict.fromkeys(VIDEOS, "<think>The ball jumps.</think>answer: yes"),
    "magicdata": boxed(HAND),
    **dict.fromkeys(
        ["r3-reflect", "r3-reflect-released"], render_r3(R3Answer(False, "Two lemons.", "Add a lemon."), "I count.")
    ),
}
WRONG = {
    **dict.fromkeys(VIDEOS, "<think>The ball jumps.</think>answer: no"),
    "magicdata": boxed(FLOOD),
    **dict.fromkeys(["r3-reflect", "r3-reflect-released"], render_r3(R3Answer(True), "I count.")),
}


def test_every_installed_suite_is_spoken_of_here() -> None:
    known = [name for name in suite_names() if name.startswith(("prism", "magic", "artifact-bench", "r3-"))]
    assert sorted([*PICTURES, *ANSWERS, *PAIRS, "r3-explanations"]) == known


@pytest.mark.parametrize("name", PICTURES)
def test_a_suite_of_pictures_pays_from_0_to_1_and_the_better_picture_more(name: str, made: Callable[..., object]) -> None:
    assert made(name, Critic(kind=True))("") == [1.0]
    assert made(name, Critic(kind=False))("") == [0.0 if name not in MAGICBENCH[1:] else pytest.approx(0.43, abs=0.1)]


@pytest.mark.parametrize("name", ["prism", "magicbench", "magic-bench-377", "r3-explanations"])
@for_each("reply", HOSTILE_REPLIES)
def test_a_judges_hostile_reply_is_no_reward(name: str, reply: str, made: Callable[..., object]) -> None:
    assert made(name, ReplayJudge([reply] * 8))(RIGHT["r3-reflect"]) == [None]


@pytest.mark.parametrize("name", ANSWERS)
def test_a_suite_that_examines_the_one_who_answers_reads_the_completion_and_asks_nobody(
    name: str, made: Callable[..., object]
) -> None:
    right, wrong = made(name)(RIGHT[name], WRONG[name])
    assert right == 1.0
    assert wrong == (0.0 if name != "magicdata" else 0.25)  # "artifact" is right; two labels are missed, one is extra


@pytest.mark.parametrize("name", ["artifact-bench", "magicdata", "r3-reflect", "r3-explanations"])
@for_each("reply", HOSTILE_REPLIES)
def test_a_hostile_completion_earns_nothing_and_nobody_is_asked(name: str, reply: str, made: Callable[..., object]) -> None:
    assert made(name, ReplayJudge([]))(reply) == [0.0]


def test_an_explanation_is_held_against_the_annotated_one_by_a_judge(made: Callable[..., object]) -> None:
    kind, strict = Critic(kind=True), Critic(kind=False)
    assert made("r3-explanations", kind)(RIGHT["r3-reflect"], WRONG["r3-reflect"]) == [1.0, 0.0]
    assert made("r3-explanations", strict)(RIGHT["r3-reflect"]) == [0.0]
    assert (kind.asked, strict.asked) == (1, 1)


@pytest.mark.parametrize("name", PAIRS)
def test_a_suite_that_compares_pictures_is_refused_before_anybody_is_asked(name: str, made: Callable[..., object]) -> None:
    with pytest.raises(InputError, match="the suite pays for no completion, as it compares"):
        made(name, Critic(kind=True))


def test_a_suite_without_its_file_says_how_to_give_it() -> None:
    with pytest.raises(InputError, match=r'make_reward\("suite:magicdata", source=…\)'):
        make_reward("suite:magicdata")
