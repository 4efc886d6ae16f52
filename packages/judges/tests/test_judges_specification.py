"""Which judge a text or a file means, and what is said of one that means none."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from salon_judges import clients
from salon_judges.clients import ChatSettings, open_judge, open_settings, read_settings, restore_settings
from salon_judges.clients.specification import OTHER_KEY, judge_kind, judge_kinds
from salon_taxonomy.errors import InputError
from salon_taxonomy.plugins import ManagedJudge
from salon_taxonomy.protocols import Judge

WHOLE = """\
kind = "vllm"
model = "Qwen/Qwen2.5-VL-7B-Instruct"
base_url = "http://gpu:8000/v1"
api_key_env = "GPU_KEY"
json_mode = "structured_outputs"

[decoding]
temperature = 0.2
omit = ["top_p"]

[limits]
concurrency = 8
requests_per_minute = 300

[prices]
prompt_usd_per_million = 2.5
completion_usd_per_million = 10

[extra_body]
repetition_penalty = 1.05
"""


def chat(specification: str) -> ChatSettings:
    found = read_settings(specification)
    assert isinstance(found, ChatSettings)
    return found


def from_file(tmp_path: Path, text: str) -> ChatSettings:
    file = tmp_path / "judge.toml"
    file.write_text(text, encoding="utf-8")
    return chat(str(file))


def test_a_judge_within_another_may_be_a_file_as_well(tmp_path: Path) -> None:
    settings = from_file(tmp_path, WHOLE)
    for within in ("cache:replies", "batch:calls", "cache:replies=batch:calls"):
        assert read_settings(f"{within}={tmp_path / 'judge.toml'}").title == settings.title


@pytest.mark.parametrize(
    ("text", "model", "url"),
    [
        ("openai:gpt-4.1", "gpt-4.1", "https://api.openai.com/v1"),
        ("openai:m@http://host:8000/v1", "m", "http://host:8000/v1"),
        ("openai:m@https://host/api/v1/", "m", "https://host/api/v1"),
        ("openai:m@http://host:8000", "m", "http://host:8000/v1"),
        ("openai:qwen/qwen2.5-vl:free@https://host/api/v1", "qwen/qwen2.5-vl:free", "https://host/api/v1"),
        ("openai:claude@20250101", "claude@20250101", "https://api.openai.com/v1"),
        ("openai:claude@20250101@http://h/v1", "claude@20250101", "http://h/v1"),
        ("vllm:m", "m", "http://127.0.0.1:8000/v1"),
        ("vllm:org/m@gpu:8001", "org/m", "http://gpu:8001/v1"),
        ("vllm:m@gpu", "m", "http://gpu/v1"),
        ("vllm:m@[::1]:8001", "m", "http://[::1]:8001/v1"),
        ("sglang:m", "m", "http://127.0.0.1:30000/v1"),
        ("llama.cpp:m@localhost:8080/v1", "m", "http://localhost:8080/v1"),
    ],
)
def test_a_short_text_names_kind_model_and_place(text: str, model: str, url: str) -> None:
    found = chat(text)
    assert (found.kind, found.model, found.base_url) == (text.partition(":")[0], model, url)


def test_the_providers_own_key_goes_to_the_provider_only() -> None:
    assert (chat("openai:m").api_key_env, chat("openai:m").api_key_required) == ("OPENAI_API_KEY", True)
    other = chat("openai:m@https://elsewhere/v1")
    assert (other.api_key_env, other.api_key_required) == (OTHER_KEY, False)
    with pytest.raises(InputError, match="OPENAI_API_KEY"):
        open_judge("openai:m", {})
    assert isinstance(open_judge("vllm:m", {}), ManagedJudge)
    assert isinstance(open_judge("vllm:m", {}), Judge)


@pytest.mark.parametrize(
    "text", ["", "gpt-4", "nonsense:m", "openai:", "vllm:m@", "vllm:@gpu", "openai:m@localhost:8000", "openai:m@ftp://h/v1"]
)
def test_a_text_that_names_no_judge_is_explained(text: str) -> None:
    with pytest.raises(InputError) as caught:
        read_settings(text)
    assert str(caught.value)


def test_an_address_without_http_is_answered_with_the_two_ways_to_write_it() -> None:
    with pytest.raises(InputError, match=r"openai:MODEL@http://HOST:PORT/v1, or vllm:MODEL@HOST:PORT"):
        read_settings("openai:m@localhost:8000")


@given(st.text(max_size=40), st.sampled_from(["", "openai:", "vllm:", "openai:m@http://", "vllm:m@"]))
def test_no_text_raises_anything_else(text: str, start: str) -> None:
    try:
        assert read_settings(start + text).version
    except InputError as error:
        assert str(error).isprintable() or "\n" in str(error)


def test_a_file_says_everything(tmp_path: Path) -> None:
    found = from_file(tmp_path, WHOLE)
    assert (found.kind, found.decoding.temperature, found.limits.concurrency, found.api_key_env) == ("vllm", 0.2, 8, "GPU_KEY")
    assert found.prices is not None
    assert found.extra_body == {"repetition_penalty": 1.05}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("model = ", "line 1: this is not TOML"),
        ('kind = "vllm"\n', "key 'model': Field required"),
        ('model = "m"\nkind = "magic"\n', "line 2, key 'kind': no such kind of judge 'magic'"),
        ('model = "m"\n\nmodle = "x"\n', "line 3, key 'modle': unknown key"),
        ('model = "m"\n[limits]\nconcurrency = 0\n', "line 3, key 'limits.concurrency'"),
        ('model = "m"\n[limits]\nspeed = 3\n', "line 3, key 'limits.speed': unknown key"),
        ('model = "m"\n[limits]\ntimeout_s = inf\n', "line 3, key 'limits.timeout_s'"),
        ('model = "m"\njson_mode = "xml"\n', "line 2, key 'json_mode'"),
        ('model = "m"\nbase_url = "http://h/v1?api-version=3"\n', "line 2, key 'base_url': must hold no query"),
        ('model = "m"\nbase_url = "http://h/v1/chat/completions"\n', "must end before /chat/completions"),
        ('model = "m"\n[extra_body]\nstream = true\n', "line 2, key 'extra_body': stream cannot be set here"),
        ('model = "m"\n[headers]\nX-Api-Key = "s3cret-value"\n', "secret_headers"),
        ('model = "m"\n[headers]\n"bad name" = "x"\n', "not the name of a header"),
        ('model = "m"\n[limits]\ntimeout_s = 10\ndeadline_s = 5\n', "must not be below"),
        ('model = "m"\napi_key_env = "sk-0123456789"\n', "line 2, key 'api_key_env'"),
        ("a = " + "[" * 3000, "nested too deeply"),
    ],
)
def test_what_is_wrong_in_a_file_is_named_by_line_and_key(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        from_file(tmp_path, text)
    assert said in str(caught.value)
    assert "judge.toml" in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        'model = "m"\napi_key = "sk-0123456789abcdef"\n',
        'model = "m"\napi_key_env = "sk-0123456789abcdef"\n',
        'model = "m"\n[headers]\nAuthorization = "Bearer sk-0123456789abcdef"\n',
        'model = "m"\nbase_url = "http://me:sk-0123456789abcdef@host/v1"\n',
        'model = "m"\n[secret_headers]\nX-Key = "sk-0123456789abcdef"\n',
    ],
)
def test_a_secret_in_the_wrong_place_is_refused_and_not_shown(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError) as caught:
        from_file(tmp_path, text)
    assert "sk-0123" not in str(caught.value) + repr(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "openai:m@http://me:sk-0123456789@host/v1",
        "openai:m@n@http://me:sk-0123456789@host/v1",
        "openai:http://me:sk-0123456789@host/v1",
        "vllm:http://me:sk-0123456789@host/v1",
        "vllm:m@me:sk-0123456789@host:8000",
        "vllm:@me:sk-0123456789@host:8000",
    ],
)
def test_a_password_in_an_address_is_refused_and_not_shown(text: str) -> None:
    with pytest.raises(InputError) as caught:
        read_settings(text)
    assert "sk-0123" not in str(caught.value)
    assert "sk-0123" not in str(caught.value.__cause__)


def test_a_file_that_is_missing_or_no_text_is_explained(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        read_settings(str(tmp_path / "none.toml"))
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not UTF-8 text"):
        read_settings(str(tmp_path / "bytes.toml"))


def test_settings_are_stored_and_restored_without_secrets(tmp_path: Path) -> None:
    found = from_file(tmp_path, WHOLE)
    stored = json.dumps(found.model_dump(mode="json"))
    restored = restore_settings(json.loads(stored))
    assert restored == found
    judge = open_settings(restored, {"GPU_KEY": "sk-0123456789abcdef"})
    assert judge.version == found.version
    assert "sk-0123" not in stored


@pytest.mark.parametrize("document", [{}, {"kind": 3}, {"kind": "vllm"}, {"kind": "none", "model": "m"}])
def test_stored_settings_that_are_none_are_explained(document: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        restore_settings(document)


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({"base_url": "http://elsewhere/v1"}, True),
        ({"limits": {"concurrency": 3, "attempts": 1, "timeout_s": 9}}, True),
        ({"api_key_env": "OTHER"}, True),
        ({"prices": {"prompt_usd_per_million": 1, "completion_usd_per_million": 1}}, True),
        ({"name": "referee"}, True),
        ({"kind": "vllm"}, True),
        ({"model": "other"}, False),
        ({"decoding": {"temperature": 0.5}}, False),
        ({"json_mode": "none"}, False),
        ({"extra_body": {"min_p": 0.1}}, False),
        ({"headers": {"OpenAI-Beta": "2"}}, False),
    ],
)
def test_the_version_changes_with_what_shapes_replies_and_with_nothing_else(change: dict[str, Any], same: bool) -> None:
    plain = ChatSettings(model="m", base_url="http://h/v1")
    assert (ChatSettings(**{"model": "m", "base_url": "http://h/v1", **change}).version == plain.version) is same


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        ChatSettings(model="m", base_url="http://h/v1").model = "other"  # type: ignore[misc]


def test_every_kind_is_its_own_name() -> None:
    assert all(judge_kind(name).name == name for name in judge_kinds())


def test_settings_are_read_without_the_http_client() -> None:
    code = "import sys; from salon_judges.clients import read_settings as read; read('vllm:m'); print('aiohttp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_every_name_of_the_table_of_contents_can_be_imported() -> None:
    assert all(getattr(clients, name) is not None for name in clients.__all__)
    assert set(clients.__all__) <= set(dir(clients))
    with pytest.raises(AttributeError):
        clients.nothing  # noqa: B018
