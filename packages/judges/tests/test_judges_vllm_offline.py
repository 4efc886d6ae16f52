"""The judge on vLLM in this process, against a stub with the interface that vLLM documents; it has not run on a GPU."""

import asyncio
import base64
import sys
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from PIL import Image

from for_each import for_each
from salon_judges.clients import open_judge
from salon_judges.clients.local_vllm import VllmOfflineJudge
from salon_synthetic.videos import write_clip
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Decoding, Judge, Media, Question, Reply
from salon_taxonomy.records import CallStatus, Finish, MediaKind
from salon_taxonomy.testing import HOSTILE_REPLIES

WRITTEN = BytesIO()
Image.new("RGB", (8, 8), "teal").save(WRITTEN, "PNG")
PICTURE = Media.from_bytes(WRITTEN.getvalue())


@dataclass
class Logprob:
    logprob: float
    rank: int
    decoded_token: str


@dataclass
class SamplingParams:
    """The fields that vLLM documents and the judge uses; another one would be a TypeError, as there."""

    temperature: float = 1.0
    top_p: float = 1.0
    max_tokens: int | None = 16
    seed: int | None = None
    stop: list[str] | None = None
    logprobs: int | None = None
    structured_outputs: Any = None


@dataclass
class StructuredOutputsParams:
    json: dict[str, Any] | None = None


@dataclass
class Completion:
    text: str
    token_ids: list[int]
    logprobs: list[dict[int, Logprob]] | None
    finish_reason: str


@dataclass
class RequestOutput:
    prompt_token_ids: list[int]
    outputs: list[Completion]


@dataclass
class Stub:
    """``vllm`` with an engine that answers with the question's last words, and counts its batches."""

    batches: list[list[tuple[list[dict[str, Any]], SamplingParams]]] = field(default_factory=list)
    made_with: dict[str, Any] = field(default_factory=dict)

    def module(self) -> ModuleType:
        stub = self

        class LLM:
            def __init__(self, **given: Any) -> None:
                if given["model"] == "broken":
                    raise ValueError("no such architecture")
                stub.made_with = given

            def chat(self, messages: Any, sampling_params: Any, use_tqdm: bool = True) -> list[RequestOutput]:
                assert use_tqdm is False
                stub.batches.append(list(zip(messages, sampling_params, strict=True)))
                texts = [_text(each) for each in messages]
                if any("too long" in text for text in texts):
                    raise ValueError("The decoder prompt is longer than the maximum model length")
                return [_output(text, params) for text, params in zip(texts, sampling_params, strict=True)]

        module = ModuleType("vllm")
        module.__spec__ = ModuleSpec("vllm", None)
        module.LLM, module.SamplingParams = LLM, SamplingParams  # type: ignore[attr-defined]
        return module


def _text(messages: list[dict[str, Any]]) -> str:
    return " ".join(part["text"] for part in messages[-1]["content"] if part["type"] == "text")


def _output(text: str, params: SamplingParams) -> RequestOutput:
    whole = text.rpartition("say: ")[2]
    cut = whole[: params.max_tokens]
    row = {7: Logprob(-0.1, 1, "yes"), 8: Logprob(-2.3, 2, "no")}
    rows = [row] * len(cut) if params.logprobs else None
    made = Completion(cut, [7] * len(cut), rows, "length" if len(whole) > len(cut) else "stop")
    return RequestOutput([1, 2, 3], [made])


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Stub:
    made = Stub()
    sampling = ModuleType("vllm.sampling_params")
    sampling.StructuredOutputsParams = StructuredOutputsParams  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "vllm", made.module())
    monkeypatch.setitem(sys.modules, "vllm.sampling_params", sampling)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "model.safetensors").write_bytes(b"weights")
    monkeypatch.chdir(tmp_path)
    return made


def asked(*questions: Question, specification: str = "vllm-offline:model") -> list[Reply]:
    async def main() -> list[Reply]:
        async with open_judge(specification, {}) as judge:
            assert isinstance(judge, Judge)
            return list(await asyncio.gather(*map(judge.ask, questions)))

    return asyncio.run(main())


def test_questions_go_to_the_engine_as_one_batch_each_with_its_own_decoding(stub: Stub) -> None:
    schema = {"type": "object", "properties": {"score": {"type": "integer"}}}
    plain = Question((PICTURE, "say: yes"), system="You are a judge.")
    drawn = Question(("say: no",), decoding=Decoding(temperature=0.7, max_tokens=2, stop=("\n",)), response_schema=schema)
    first, second = asked(plain, drawn)
    assert (first.text, first.status, first.finish, first.usage.prompt_tokens) == ("yes", CallStatus.OK, Finish.STOP, 3)
    assert second.text == "no"
    [batch] = stub.batches
    (messages, params), (_, others) = batch
    assert messages[0] == {"role": "system", "content": "You are a judge."}
    url = messages[1]["content"][0]["image_url"]["url"]
    assert base64.b64decode(url.removeprefix("data:image/png;base64,")) == PICTURE.data
    assert (params.temperature, params.max_tokens, params.structured_outputs) == (0.0, 1024, None)
    assert (others.temperature, others.max_tokens, others.stop) == (0.7, 2, ["\n"])
    assert others.structured_outputs == StructuredOutputsParams(json=schema)
    assert isinstance(others.seed, int)


def test_log_probabilities_come_with_their_alternatives(stub: Stub) -> None:
    [reply] = asked(Question(("say: y",), decoding=Decoding(max_tokens=1, top_logprobs=2)))
    [token] = reply.tokens
    assert (token.text, token.logprob, token.alternatives) == ("yes", -0.1, (("yes", -0.1), ("no", -2.3)))


def test_a_reply_that_was_cut_off_says_so(stub: Stub) -> None:
    [reply] = asked(Question(("say: a long story",), decoding=Decoding(max_tokens=4)))
    assert (reply.text, reply.finish) == ("a lo", Finish.LENGTH)


def test_a_question_that_the_model_cannot_take_costs_its_own_reply_alone(stub: Stub) -> None:
    text = Media.from_bytes(b"no picture")
    replies = asked(*(Question((part, "say: yes") if part else ("say: yes",)) for part in ("", "too long ", text, "")))
    assert [reply.status for reply in replies] == [CallStatus.OK, CallStatus.REJECTED, CallStatus.REJECTED, CallStatus.OK]
    assert "longer than the maximum" in (replies[1].error or "")
    assert "PNG, JPEG and WebP" in (replies[2].error or "")


def test_a_video_is_shown_as_frames(stub: Stub, tmp_path: Path) -> None:
    pytest.importorskip("av")
    write_clip(tmp_path / "clip.mp4", "flicker", seconds=1.0, size=(64, 48))
    video = Media.from_file(tmp_path / "clip.mp4", MediaKind.VIDEO, frames_per_second=2)
    [reply] = asked(Question((video, "say: yes")))
    assert reply.text == "yes"
    [[(messages, _)]] = stub.batches
    assert sum(part["type"] == "image_url" for part in messages[0]["content"]) == 2


def test_a_file_names_gpus_memory_and_lengths(stub: Stub, tmp_path: Path) -> None:
    keys = {"model": '"model"', "tensor_parallel": 4, "gpu_memory": 0.8, "max_model_len": 8192, "most_pictures": 2}
    lines = [f"{name} = {value}" for name, value in {"kind": '"vllm-offline"', **keys}.items()]
    (tmp_path / "judge.toml").write_text("\n".join(lines))
    asked(Question(("say: yes",)), specification="judge.toml")
    given = {name: stub.made_with[name] for name in ("tensor_parallel_size", "gpu_memory_utilization", "max_model_len")}
    assert given == {"tensor_parallel_size": 4, "gpu_memory_utilization": 0.8, "max_model_len": 8192}
    assert stub.made_with["limit_mm_per_prompt"] == {"image": 2}


def test_what_shapes_the_replies_shapes_the_version(stub: Stub, tmp_path: Path) -> None:
    first = open_judge("vllm-offline:model", {}).version
    (tmp_path / "judge.toml").write_text('kind = "vllm-offline"\nmodel = "model"\ntensor_parallel = 2\n')
    assert open_judge("judge.toml", {}).version == first
    (tmp_path / "judge.toml").write_text('kind = "vllm-offline"\nmodel = "model"\n[decoding]\ntemperature = 0.5\n')
    assert open_judge("judge.toml", {}).version != first
    (tmp_path / "model" / "model.safetensors").write_bytes(b"other weights")
    assert open_judge("vllm-offline:model", {}).version != first


@for_each("reply", HOSTILE_REPLIES)
def test_whatever_the_model_writes_comes_back_as_text(stub: Stub, reply: str) -> None:
    [made] = asked(Question((f"say: {reply}",), decoding=Decoding(max_tokens=1_000_000)))
    assert made.text == reply


def test_without_vllm_and_without_weights_the_error_says_what_to_do(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    (Path("broken")).mkdir()
    (Path("broken") / "model.safetensors").write_bytes(b"")
    settings = VllmOfflineJudge(open_judge("vllm-offline:model", {}).settings.model_copy(update={"model": "broken"}))  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="cannot be loaded \\(no such architecture\\)"):
        asyncio.run(settings.ask(Question(("x",))))
    monkeypatch.delitem(sys.modules, "vllm")
    with pytest.raises(InputError, match="pip install vllm"):
        open_judge("vllm-offline:model", {})
