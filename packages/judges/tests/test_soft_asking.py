"""A question that is weighed: its reply's first tokens count, it is asked once, and stored tokens give the same value."""

import asyncio
import json
import math
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from for_each import for_each
from salon_judges.asking.asker import Asker, AskPolicy, Memory, storable
from salon_judges.asking.inquiry import Inquiry
from salon_judges.asking.stored_tokens import stored_tokens, tokens_of, tokens_text
from salon_judges.clients import BatchFolder, CachedJudge, ChatSettings, CollectingJudge, ResponseCache
from salon_judges.clients.reply_documents import ReplyDocument
from salon_taxonomy.answers import Outcome, Parsed, Unparsed, answer_probabilities, parse_yes_or_no
from salon_taxonomy.protocols import Decoding, Question, Reply, Token
from salon_taxonomy.records import CallStatus, Finish
from salon_taxonomy.testing import ReplayJudge
from salon_taxonomy.verdict import Reason, Scored, Unscored, Verdict

YES = Token("Yes", math.log(0.75), (("Yes", math.log(0.75)), ("No", math.log(0.25))))
QUESTION = Question(("Is it there?",), decoding=Decoding(max_tokens=16, top_logprobs=20))


def weigh(tokens: tuple[Token, ...]) -> Outcome[float]:
    shares = answer_probabilities(tokens, {"yes": ["yes"], "no": ["no"]}).shares
    return Parsed(shares["yes"]) if sum(shares.values()) else Unparsed(Reason.OFF_MENU, "neither")


SOFT: Inquiry[float] = Inquiry("there", QUESTION, parse_yes_or_no, weigh)  # type: ignore[arg-type]


def asked(judge: ReplayJudge, **more: object) -> Verdict[float]:
    return asyncio.run(Asker(AskPolicy(judge, **more)).answer(SOFT, Memory())).verdict  # type: ignore[arg-type]


@for_each(
    ("reply", "wanted"),
    [
        (Reply("Yes", tokens=(YES,)), 0.75),
        (Reply("Yes, it is", finish=Finish.LENGTH, tokens=(YES,)), 0.75),
        (Reply("no", tokens=(YES,)), 0.75),
        (Reply("Yes"), Reason.NOT_REPORTED),
        (Reply("Yes", finish=Finish.LENGTH), Reason.NOT_REPORTED),
        (Reply("Yes", finish=Finish.FILTERED, tokens=(YES,)), Reason.REFUSED),
        (Reply("", CallStatus.TIMEOUT, tokens=(YES,)), Reason.TIMEOUT),
        (Reply("It", tokens=(Token("It", 0.0),)), Reason.OFF_MENU),
    ],
)
def test_the_tokens_of_the_one_reply_decide_and_never_its_words(reply, wanted):
    judge, extractor = ReplayJudge([reply]), ReplayJudge([])
    verdict = asked(judge, re_asks=3, extractor=extractor)
    assert (verdict.value if isinstance(verdict, Scored) else verdict.reason) == wanted
    assert (len(judge.asked), len(extractor.asked)) == (1, 0)


def test_a_stored_reply_without_tokens_says_that_it_is_the_stored_one():
    verdict = asked(ReplayJudge([Reply("Yes", cached=True)]))
    assert isinstance(verdict, Unscored)
    assert verdict.detail == "the stored reply has no log-probabilities"


WORDS = st.text(st.characters(), max_size=4)
TOKENS = st.lists(
    st.builds(Token, WORDS, st.floats(), st.lists(st.tuples(WORDS, st.floats()), max_size=4).map(tuple)), max_size=40
)


@given(TOKENS)
def test_what_a_store_a_cache_and_a_journal_keep_of_tokens_is_what_counted(tokens):
    live = storable(Reply("x", tokens=tuple(tokens))).tokens
    assert len(live) <= 32
    text = tokens_text(live)
    assert tokens_of(text) == live
    assert text is None or text.encode()
    cached = ReplyDocument.model_validate_json(ReplyDocument.of(Reply("x", tokens=tuple(tokens))).model_dump_json()).reply()
    assert storable(cached).tokens == live == stored_tokens(live)


@for_each(
    "text", ["", "[", "7", '"yes"', "[1]", "[[1]]", '[["a", "b", []]]', '[["a", -1, [1]]]', '{"a": 1}', "[" * 10_000, None, 7]
)
def test_a_damaged_text_has_no_tokens(text):
    assert tokens_of(text) == ()


def test_a_cache_gives_back_a_reply_that_was_cut_off_behind_its_answer(tmp_path: Path):
    whole, bare = Reply("Yes, it", finish=Finish.LENGTH, tokens=(YES,)), Reply("Yes, it", finish=Finish.LENGTH)
    long = Reply("Yes, it" * 40, finish=Finish.LENGTH, tokens=(YES,) * 40)  # cut off, whatever else it reports
    for number, (reply, calls) in enumerate(((whole, 1), (bare, 2), (long, 2))):
        judge = ReplayJudge([reply, reply], version=str(number))
        cache = CachedJudge(judge, ResponseCache(tmp_path))
        replies = [asyncio.run(cache.ask(QUESTION)) for _ in range(2)]
        assert len(judge.asked) == calls
        assert replies[1].tokens == reply.tokens


def test_a_batch_brings_the_log_probabilities_home(tmp_path: Path):
    settings = ChatSettings(model="m", base_url="https://api.example.com/v1")

    async def ask() -> Reply:
        async with CollectingJudge(settings, tmp_path / "calls") as judge:
            return await judge.ask(QUESTION)

    asyncio.run(ask())
    request = json.loads((tmp_path / "calls/requests-001.jsonl").read_text())
    assert (request["body"]["logprobs"], request["body"]["top_logprobs"]) == (True, 20)
    pairs = [{"token": text, "logprob": logprob} for text, logprob in YES.alternatives]
    choice = {
        "message": {"content": "Yes"},
        "finish_reason": "stop",
        "logprobs": {"content": [{**pairs[0], "top_logprobs": pairs}]},
    }
    line = {"custom_id": request["custom_id"], "response": {"status_code": 200, "body": {"choices": [choice]}}, "error": None}
    (tmp_path / "output.jsonl").write_text(json.dumps(line))
    opened = BatchFolder(tmp_path / "calls")
    opened.ingest([tmp_path / "output.jsonl"])
    opened.close()
    assert asyncio.run(ask()).tokens == (YES,)
