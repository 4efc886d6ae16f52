"""A judge in this process on vLLM: any vision-language model that ``vllm.LLM`` loads, on one GPU or several.

Needs vLLM (``pip install vllm``, on a machine with a GPU). Questions that are asked at the same time go to ``LLM.chat`` as one
batch, each with decoding of its own. It has been tested against a stub with vLLM's documented interface, not on a GPU.
"""

import base64
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from salon_judges.clients.local_generation import one_line
from salon_judges.clients.local_judge import LocalJudge, ModelInMemory, answered_in_halves
from salon_judges.clients.local_settings import VllmOfflineSettings
from salon_taxonomy.errors import InputError
from salon_taxonomy.picture_formats import format_of
from salon_taxonomy.protocols import Decoding, Media, Question, Reply, Token, Usage
from salon_taxonomy.records import Finish

_FAILURES: Final = (RuntimeError, ValueError, LookupError, TypeError, OSError)
"""What vLLM raises for a question that does not suit the model: a prompt that is too long, a picture that it cannot open."""
_FINISHES: Final = {"stop": Finish.STOP, "length": Finish.LENGTH}


class VllmOfflineJudge(LocalJudge[VllmOfflineSettings]):
    """Answers with vLLM in this process. Arguments and errors as for :class:`~.local_judge.LocalJudge`.

    Replies with a temperature above 0 are drawn with the question's seed. Greedy replies may differ in rare digits with the
    batch they fall into. A question's JSON schema is enforced (``structured_outputs``).
    """

    protocol = "vllm-offline-1"
    needed = ("vllm",)
    install = (
        "Install it on a machine with a GPU: pip install vllm. Or start `vllm serve`, and name the judge vllm:MODEL@host:8000."
    )

    def __repr__(self) -> str:
        """Return the model and the number of its GPUs."""
        return f"VllmOfflineJudge({self.settings.model!r} on {self.settings.tensor_parallel} GPUs)"

    def company(self, decoding: Decoding) -> Hashable:
        """Return one key for all: each question has its own decoding."""
        return None

    def loaded(self) -> ModelInMemory:
        """Load the model into vLLM.

        Raises:
            InputError: it cannot be loaded.
        """
        vllm = import_module("vllm")
        settings = self.settings
        more = {"max_model_len": settings.max_model_len, "limit_mm_per_prompt": {"image": settings.most_pictures}}
        try:
            engine = vllm.LLM(
                model=settings.model,
                revision=settings.revision,
                dtype=settings.dtype,
                tensor_parallel_size=settings.tensor_parallel,
                gpu_memory_utilization=settings.gpu_memory,
                **more,
            )
        except _FAILURES as error:
            raise InputError(f"the model cannot be loaded ({one_line(error)})", value=settings.model) from error
        return _Engine(engine, vllm)


@dataclass(frozen=True, slots=True)
class _Engine:
    """``vllm.LLM`` and its module."""

    engine: Any
    vllm: Any

    def answer(self, asked: Sequence[tuple[Question, Decoding]]) -> list[Reply]:
        return answered_in_halves(asked, self._chat, _FAILURES, one_line)

    def _chat(self, asked: Sequence[tuple[Question, Decoding]]) -> list[Reply]:
        messages = [messages_of(question) for question, _ in asked]
        drawing = [self._drawing(question, decoding) for question, decoding in asked]
        outputs = self.engine.chat(messages, drawing, use_tqdm=False)
        return [_reply(output, decoding) for output, (_, decoding) in zip(outputs, asked, strict=True)]

    def _drawing(self, question: Question, decoding: Decoding) -> Any:
        options: dict[str, Any] = {
            "temperature": decoding.temperature,
            "top_p": decoding.top_p,
            "max_tokens": decoding.max_tokens,
            "seed": decoding.seed,
            "stop": list(decoding.stop) or None,
            "logprobs": decoding.top_logprobs or None,
        }
        if question.response_schema is not None:
            structured = import_module("vllm.sampling_params").StructuredOutputsParams
            options["structured_outputs"] = structured(json=dict(question.response_schema))
        return self.vllm.SamplingParams(**options)


def messages_of(question: Question) -> list[dict[str, Any]]:
    """Return a question as the messages of OpenAI's chat format, its pictures as data URLs.

    Raises:
        ValueError: a picture cannot be read, or is in a format that cannot be sent.

    Example:
        >>> messages_of(Question(("Is it real?",), system="You are a judge."))[1]
        {'role': 'user', 'content': [{'type': 'text', 'text': 'Is it real?'}]}
    """
    system = [] if question.system is None else [{"role": "system", "content": question.system}]
    content = [_picture(part) if isinstance(part, Media) else {"type": "text", "text": part} for part in question.parts]
    return [*system, {"role": "user", "content": content}]


def _picture(media: Media) -> dict[str, Any]:
    data = media.data if media.data is not None else Path(media.uri or "").read_bytes()
    kind = format_of(data)
    if kind is None or not kind.sendable:
        raise ValueError("only PNG, JPEG and WebP pictures can be shown")
    return {"type": "image_url", "image_url": {"url": f"data:{kind.media_type};base64,{base64.b64encode(data).decode()}"}}


def _reply(output: Any, decoding: Decoding) -> Reply:
    completion = output.outputs[0]
    usage = Usage(len(output.prompt_token_ids or ()), len(completion.token_ids), 0.0)
    finish = _FINISHES.get(completion.finish_reason, Finish.UNKNOWN)
    tokens = _tokens(completion, decoding.top_logprobs) if completion.logprobs and decoding.top_logprobs else ()
    return Reply(completion.text, finish=finish, usage=usage, tokens=tokens)


def _tokens(completion: Any, top: int) -> tuple[Token, ...]:
    tokens = []
    for token, row in zip(completion.token_ids, completion.logprobs, strict=False):
        ranked = sorted(row.values(), key=lambda candidate: -candidate.logprob)[:top]
        others = tuple((candidate.decoded_token or "", float(candidate.logprob)) for candidate in ranked)
        tokens.append(Token(row[token].decoded_token or "", float(row[token].logprob), others))
    return tuple(tokens)
