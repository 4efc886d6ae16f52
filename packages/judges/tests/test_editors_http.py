"""The editor behind a server: multipart there, a picture back, and every failure a value."""

import asyncio
import json

import pytest

from for_each import for_each
from salon_judges.clients import ChatSettings, ServerLimits
from salon_judges.clients.chat_reply import NoCompletion
from salon_judges.editors import OpenAICompatibleEditor, open_editor
from salon_judges.editors.openai_compatible import read_picture
from salon_judges.testing.mock_server import MockServer, Script, ScriptLine, ServerFault
from salon_judges.testing.mock_server.server import read_form
from salon_synthetic import DrawEditor, Item, Scene, png
from salon_synthetic.scenes.drawing import read_scene
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Edit, Editor, Media
from salon_taxonomy.records import CallStatus, MediaKind
from salon_taxonomy.testing import HOSTILE_REPLIES

PICTURE = Media.from_bytes(png(Scene(items=[Item(shape="star", colour="blue", x=60, y=60)])))
INSTRUCTION = 'Make the star "red".\r\n--salon-part-6f1d2c9e5b7a4380--'


def draw(data: bytes, instruction: str) -> bytes:
    made = DrawEditor()._edit(Media.from_bytes(data), instruction)
    return made.image.data if made.image else b""


def through(
    script: Script, instruction: str = INSTRUCTION, *, image: Media = PICTURE, edits=None, seed: int | None = None, **options
) -> tuple[Edit, MockServer]:
    async def main() -> tuple[Edit, MockServer]:
        async with MockServer(script, edits=edits) as server:
            limits = ServerLimits(first_wait_s=0, timeout_s=0.5, deadline_s=5, attempts=3)
            settings = ChatSettings(model="m", base_url=server.url, api_key_required=False, limits=limits, **options)
            async with OpenAICompatibleEditor(settings) as editor:
                assert isinstance(editor, Editor)
                return await editor.edit(image, instruction, seed=seed), server

    return asyncio.run(main())


def test_the_form_holds_model_instruction_picture_and_further_fields_whatever_the_instruction_says() -> None:
    made, server = through(Script(), seed=7, extra_body={"size": "512x512", "response_format": "b64_json"})
    assert made.image == PICTURE
    request = server.seen[0]
    assert request.path == "/v1/images/edits"
    fields = read_form(request.headers["content-type"], request.body)
    assert fields.keys() == {"model", "prompt", "n", "size", "response_format", "seed", "image"}
    assert fields["image"] == PICTURE.data
    assert fields["prompt"].decode().startswith('Make the star "red".')
    assert (fields["model"], fields["seed"], fields["n"]) == (b"m", b"7", b"1")


def test_what_the_server_draws_comes_back() -> None:
    made, _ = through(Script(), "Make the star red.", edits=draw)
    assert made.image is not None
    assert read_scene(made.image.data or b"").items[0].colour == "red"
    assert made.latency_ms is not None


@pytest.mark.parametrize(
    "fault", [ServerFault.TOO_MANY, ServerFault.SERVER_ERROR, ServerFault.UNAVAILABLE, ServerFault.CUT, ServerFault.WRONG_TYPE]
)
def test_a_passing_fault_is_tried_again(fault: ServerFault) -> None:
    made, server = through(Script((ScriptLine(fault=fault, times=1),)))
    assert made.image == PICTURE
    assert server.stats.requests == 2


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        (ServerFault.TOO_MANY, CallStatus.UNREACHABLE),
        (ServerFault.CUT, CallStatus.UNREACHABLE),
        (ServerFault.HANG, CallStatus.TIMEOUT),
        (ServerFault.TRUNCATED_JSON, CallStatus.UNREACHABLE),
        (ServerFault.EMPTY, CallStatus.UNREACHABLE),
    ],
)
def test_a_lasting_fault_is_an_edit_without_a_picture(fault: ServerFault, status: CallStatus) -> None:
    made, server = through(Script((ScriptLine(fault=fault),)))
    assert (made.image, made.status) == (None, status)
    assert made.problem() is not None
    assert server.stats.requests == 3


def test_a_refused_request_is_not_repeated() -> None:
    line = ScriptLine(body=json.dumps({"error": {"message": "the picture is too large"}}), status=400)
    made, server = through(Script((line,)))
    assert made.status == CallStatus.REJECTED
    assert "too large" in (made.error or "")
    assert server.stats.requests == 1


@pytest.mark.parametrize("status", [301, 401, 402, 403, 404])
def test_a_server_that_turns_everybody_away_has_refused_no_instruction(status: int) -> None:
    made, server = through(Script((ScriptLine(body='{"error": {"message": "who are you?"}}', status=status),)))
    assert made.status == CallStatus.UNREACHABLE
    assert server.stats.requests == 1


@for_each("body", [*HOSTILE_REPLIES, '{"data": []}', '{"data": [{"b64_json": "§"}]}', '{"data": [{"b64_json": ""}]}'])
def test_a_reply_without_a_picture_is_told_apart(body: str) -> None:
    assert isinstance(read_picture(body.encode("utf-8", "surrogatepass")), NoCompletion)


@pytest.mark.parametrize(
    "image", [Media.from_bytes(b"no picture"), Media("0" * 64, uri="/no/such.png"), Media.from_bytes(b"x", MediaKind.VIDEO)]
)
def test_an_image_that_cannot_be_sent_is_an_input_error(image: Media) -> None:
    with pytest.raises(InputError):
        through(Script(), image=image)


def test_a_server_is_named_as_for_judges_and_the_place_is_no_part_of_the_version() -> None:
    one, two = (open_editor(f"vllm:qwen-image-edit@{host}:8000", {}) for host in ("a", "b"))
    assert one.name == "qwen-image-edit"
    assert one.version == two.version != open_editor("vllm:other@a:8000", {}).version
    with pytest.raises(InputError, match="OPENAI_API_KEY"):
        open_editor("openai:gpt-image-1", {})
