"""The one file of this package that touches torch: loads a vision-language model and lets it write replies, in batches.

Torch comes with an extra, so it is imported where it is used.
"""

import threading
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import TYPE_CHECKING, Any, Self

from jinja2 import TemplateError

from salon_judges.clients.local_judge import answered_in_halves
from salon_judges.clients.special_tokens import disarmed
from salon_taxonomy.errors import InputError
from salon_taxonomy.picture_decoding import decode
from salon_taxonomy.protocols import Decoding, Media, Question, Reply, Token, Usage
from salon_taxonomy.records import Finish
from salon_taxonomy.verdict import Unscored

if TYPE_CHECKING:
    from collections.abc import Iterator

    import torch

    from salon_judges.clients.local_settings import TransformersSettings

_LONGEST_ERROR = 300
_LOADING = threading.Lock()
_FAILURES = (RuntimeError, ValueError, LookupError, TypeError, TemplateError)
"""What processors, chat templates and models raise for a question that does not suit them."""


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model and its processor; used by one thread."""

    model: Any
    processor: Any

    @classmethod
    def load(cls, settings: "TransformersSettings") -> Self:
        """Load model and processor; no code of the model's folder is run.

        Raises:
            InputError: when they cannot be loaded, or the processor has no chat template.
        """
        import torch
        from transformers import AutoModelForImageTextToText, AutoProcessor

        processors: Any = AutoProcessor  # transformers types neither
        models: Any = AutoModelForImageTextToText
        source = str(Path(settings.model)) if Path(settings.model).is_dir() else settings.model
        try:
            with _LOADING:
                if settings.threads is not None:
                    torch.set_num_threads(settings.threads)
                processor = processors.from_pretrained(source, revision=settings.revision, trust_remote_code=False)
                model = models.from_pretrained(
                    source,
                    revision=settings.revision,
                    dtype=settings.dtype,
                    device_map=settings.device_map,
                    trust_remote_code=False,
                )
        except (OSError, ImportError, UnpicklingError, *_FAILURES) as error:
            raise InputError(f"the model cannot be loaded ({one_line(error)})", value=settings.model) from error
        if not getattr(processor, "chat_template", None):
            hint = "Save one with the processor (chat_template.jinja)."
            raise InputError("the processor of this model has no chat template", value=settings.model, hint=hint)
        processor.tokenizer.padding_side = "left"
        if processor.tokenizer.pad_token_id is None:
            processor.tokenizer.pad_token = processor.tokenizer.eos_token
        model.eval()  # no dropout
        return cls(model, processor)

    def answer(self, asked: Sequence[tuple[Question, Decoding]]) -> list[Reply]:
        """Return one reply for each question, in order; all have one decoding."""
        decoding = asked[0][1]
        return answered_in_halves(asked, lambda some: self._generate([each for each, _ in some], decoding), _FAILURES, one_line)

    def _generate(self, questions: Sequence[Question], decoding: Decoding) -> list[Reply]:
        import torch

        prompts = [self.prompt_text(question) for question in questions]
        pictures = [[opened(media) for media in question.media] for question in questions]
        arguments: dict[str, Any] = {"text": prompts, "padding": True, "return_tensors": "pt"}
        if any(pictures):
            arguments["images"] = pictures if all(pictures) else [each for some in pictures for each in some]
        inputs = self.processor(**arguments).to(self.model.device)
        if "pixel_values" in inputs:
            inputs["pixel_values"] = inputs["pixel_values"].to(self.model.dtype)
        with torch.inference_mode(), _seeded(decoding, self.model.device):
            generated = self.model.generate(**inputs, **self._drawing(decoding))
        start = inputs["input_ids"].shape[1]
        read = inputs["attention_mask"].sum(dim=1).tolist()
        logits = torch.stack(generated.logits, dim=1).float().log_softmax(-1) if decoding.top_logprobs else None
        return [
            self._reply(generated.sequences[row, start:].tolist(), None if logits is None else logits[row], read[row], decoding)
            for row in range(len(questions))
        ]

    def prompt_text(self, question: Question) -> str:
        """Return a question as the model reads it, up to where its reply begins; the processor makes tokens of it."""
        content: list[dict[str, str]] = [
            {"type": "image"} if isinstance(part, Media) else {"type": "text", "text": disarmed(self.processor, part)}
            for part in question.parts
        ]
        messages: list[dict[str, Any]] = [{"role": "user", "content": content}]
        if question.system is not None:
            system = [{"type": "text", "text": disarmed(self.processor, question.system)}]
            messages.insert(0, {"role": "system", "content": system})
        text: str = self.processor.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        return text

    def _drawing(self, decoding: Decoding) -> dict[str, Any]:
        tokenizer = self.processor.tokenizer
        drawn: dict[str, Any] = {
            "max_new_tokens": decoding.max_tokens,
            "do_sample": decoding.temperature > 0,
            "return_dict_in_generate": True,
            "output_logits": decoding.top_logprobs > 0,
            "pad_token_id": tokenizer.pad_token_id,
            "num_beams": 1,
            "top_k": None,
            "temperature": None,
            "top_p": None,
            "repetition_penalty": 1.0,
        }
        if decoding.temperature > 0:
            drawn |= {"temperature": decoding.temperature, "top_p": decoding.top_p, "top_k": 0}
        if decoding.stop:
            drawn |= {"stop_strings": list(decoding.stop), "tokenizer": tokenizer}
        return drawn

    def _reply(self, written: list[int], logprobs: "torch.Tensor | None", read: int, decoding: Decoding) -> Reply:
        tokenizer = self.processor.tokenizer
        ends = self._ends()
        length = next((position for position, token in enumerate(written) if token in ends), len(written))
        ended = length < len(written)
        text = tokenizer.decode(written[:length], skip_special_tokens=True)
        stops = [position for stop in decoding.stop if (position := text.find(stop)) >= 0]
        stopped = bool(stops)
        if stopped:
            text, ended = text[: min(stops)], False
        finish = Finish.STOP if ended or stopped or length < decoding.max_tokens else Finish.LENGTH
        tokens = () if logprobs is None else self._tokens(written[:length], logprobs, decoding.top_logprobs)
        return Reply(text, finish=finish, usage=Usage(read, length + ended, 0.0), tokens=tokens)

    def _ends(self) -> set[int]:
        end = self.model.generation_config.eos_token_id
        ends = set(end) if isinstance(end, list) else {end}
        return {each for each in (*ends, self.processor.tokenizer.eos_token_id) if each is not None}

    def _tokens(self, written: list[int], logprobs: "torch.Tensor", top: int) -> tuple[Token, ...]:
        tokenizer = self.processor.tokenizer
        tokens = []
        for token, row in zip(written, logprobs, strict=False):
            values, places = row.topk(min(top, row.shape[-1]))
            others = [(tokenizer.decode([place]), value) for place, value in zip(places.tolist(), values.tolist(), strict=True)]
            tokens.append(Token(tokenizer.decode([token]), row[token].item(), tuple(others)))
        return tuple(tokens)


@contextmanager
def _seeded(decoding: Decoding, device: "torch.device") -> "Iterator[None]":
    """Draw with the decoding's seed, and leave torch's own state as it was."""
    if decoding.temperature == 0 or decoding.seed is None:
        yield
        return
    import torch

    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(decoding.seed)
        yield


def opened(media: Media) -> Any:
    """Return a picture as processors take it (PIL, RGB).

    Raises:
        ValueError: when it cannot be read or decoded.
    """
    try:
        data = media.data if media.data is not None else Path(media.uri or "").read_bytes()
    except OSError as error:
        raise ValueError(f"the picture cannot be read ({error})") from error
    decoded = decode(data)
    if isinstance(decoded, Unscored):
        raise ValueError(decoded.detail)
    return decoded.image


def one_line(error: BaseException) -> str:
    """Return an error as one line of at most 300 characters."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text[:_LONGEST_ERROR]
