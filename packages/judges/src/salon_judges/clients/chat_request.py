"""The body of ``POST /chat/completions`` for a question, as bytes.

Pictures are spliced in as the bytes they already are: base64 needs no escaping, and a megabyte of it is not walked again for
every question about the same picture. All else goes through ``json``, so no text of a prompt can change the structure.
"""

import json
from typing import Any

from salon_judges.clients.pictures import PictureParts
from salon_judges.clients.settings import ChatSettings, JsonMode
from salon_judges.clients.videos import video_parts
from salon_taxonomy.protocols import Decoding, Media, Question
from salon_taxonomy.records import MediaKind

_SEPARATORS = (",", ":")


class ChatRequests:
    """Writes requests for one judge.

    Args:
        settings: the judge's.
        pictures: where encoded pictures are kept.

    Example:
        >>> import asyncio
        >>> settings = ChatSettings(model="m", base_url="http://localhost/v1")
        >>> pieces = asyncio.run(ChatRequests(settings, PictureParts()).write(Question(("Is it real?",))))
        >>> json.loads(b"".join(pieces))["messages"]
        [{'role': 'user', 'content': 'Is it real?'}]
    """

    def __init__(self, settings: ChatSettings, pictures: PictureParts) -> None:
        self._settings = settings
        self._pictures = pictures
        self._head = b'{"model":%b,"messages":[' % _json(settings.model)
        self._tails: dict[tuple[Decoding, int | None], tuple[bytes, Any]] = {}

    async def write(self, question: Question) -> list[bytes]:
        """Yield the pieces of the body in order; each picture is a piece of its own.

        A video becomes the pieces of its frames, or one of its own (``ChatSettings.videos``).

        Raises:
            InputError: for media that this judge cannot be shown (see :meth:`PictureParts.part`).
        """
        system = b"" if question.system is None else b'{"role":"system","content":%b},' % _json(question.system)
        if len(question.parts) == 1 and isinstance(question.parts[0], str):
            content = _json(question.parts[0])
            return [b'%b%b{"role":"user","content":%b}]%b' % (self._head, system, content, self._tail(question))]
        pieces: list[bytes] = []
        text = b'%b%b{"role":"user","content":[' % (self._head, system)
        for number, part in enumerate(question.parts):
            comma = b"," if number else b""
            if isinstance(part, Media):
                for piece in await self._media_parts(part):
                    pieces += [text + comma, piece]
                    text, comma = b"", b","
            else:
                text += b'%b{"type":"text","text":%b}' % (comma, _json(part))
        return [*pieces, b"%b]}]%b" % (text, self._tail(question))]

    async def _media_parts(self, media: Media) -> list[bytes]:
        if media.kind == MediaKind.VIDEO:
            return await video_parts(media, self._settings.videos, self._pictures)
        return [await self._pictures.part(media)]

    def decoding(self, question: Question) -> Decoding:
        """Return the decoding of a question, overridden by the judge's own."""
        own = self._settings.decoding.model_dump(exclude_none=True, exclude={"omit"})
        return Decoding(**{name: own.get(name, getattr(question.decoding, name)) for name in Decoding.__slots__})

    def _tail(self, question: Question) -> bytes:
        """Return the part of a body after the messages; the last few are cached, because similar questions share it."""
        schema = question.response_schema
        key = (question.decoding, None if schema is None else id(schema))
        cached = self._tails.get(key)
        if cached is not None and cached[1] is schema:
            return cached[0]
        fields = _json({**self._drawing(self.decoding(question)), **self._format(question), **self._settings.extra_body})
        tail = b"," + fields[1:] if len(fields) > 2 else b"}"
        if len(self._tails) >= 64:
            self._tails.clear()
        self._tails[key] = (tail, schema)
        return tail

    def _drawing(self, decoding: Decoding) -> dict[str, Any]:
        omitted = self._settings.decoding.omit
        fields: dict[str, Any] = {"temperature": decoding.temperature, "top_p": decoding.top_p}
        fields["max_tokens"] = decoding.max_tokens
        if decoding.seed is not None:
            fields["seed"] = decoding.seed
        if decoding.stop:
            fields["stop"] = list(decoding.stop)
        sent = {name: value for name, value in fields.items() if name not in omitted}
        if "max_tokens" in sent:
            sent[self._settings.tokens_field.value] = sent.pop("max_tokens")
        if decoding.top_logprobs:
            sent |= {"logprobs": True, "top_logprobs": decoding.top_logprobs}
        return sent

    def _format(self, question: Question) -> dict[str, Any]:
        schema = question.response_schema
        if schema is None:
            return {}
        match self._settings.json_mode:
            case JsonMode.JSON_SCHEMA:
                named = {"name": "reply", "schema": schema, "strict": True}
                return {"response_format": {"type": "json_schema", "json_schema": named}}
            case JsonMode.JSON_OBJECT:
                return {"response_format": {"type": "json_object"}}
            case JsonMode.STRUCTURED_OUTPUTS:
                return {"structured_outputs": {"json": schema}}
            case JsonMode.GUIDED_JSON:
                return {"guided_json": schema}
            case JsonMode.NONE:
                return {}


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=_SEPARATORS).encode("ascii")
