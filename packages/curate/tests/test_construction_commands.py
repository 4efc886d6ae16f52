"""``salon curate prism | magicbench``: what the commands write, print and refuse."""

import json

import pytest
from click.testing import CliRunner

from salon_bench.suites import magicbench as magicbench_suite
from salon_bench.suites.prism import Language, read_prompts
from salon_curate.cli.construction import magicbench, prism
from salon_judges.testing.mock_server import Script, serving
from salon_taxonomy.errors import IncompleteError, InputError


def run(group, *arguments):
    return CliRunner().invoke(group, [str(argument) for argument in arguments])


def test_compose_writes_a_file_that_the_suite_reads_and_the_same_one_again(tmp_path):
    done = run(magicbench, "compose", "--output", tmp_path / "a.jsonl", "--per-category", 2, "--seed", 3)
    assert done.exit_code == 0
    assert "16 prompts" in done.output
    run(magicbench, "compose", "--output", tmp_path / "b.jsonl", "--per-category", 2, "--seed", 3)
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    assert len(magicbench_suite.read_prompts(tmp_path / "a.jsonl")) == 16


@pytest.mark.parametrize(
    "arguments", [[], ["--output", "p.jsonl", "--seed", "-1"], ["--output", "p.jsonl", "--per-category", "0"]]
)
def test_compose_refuses_wrong_options(arguments):
    assert run(magicbench, "compose", *arguments).exit_code == 2


def test_compose_into_another_kind_of_file_is_a_typed_error(tmp_path):
    assert isinstance(run(magicbench, "compose", "--output", tmp_path / "p.csv").exception, InputError)


def test_a_language_model_writes_the_prompts_through_a_server(tmp_path):
    def write(asked):
        return json.dumps(
            {"prompt": f"A brass kettle marked {asked.sha256[:12]} steams on a stove.", "subject": "brass kettle"}
        )

    with serving(Script(rule=write)) as server:
        spec = f"vllm:writer@{server.url}"
        done = run(magicbench, "compose", "--output", tmp_path / "w.jsonl", "--per-category", 2, "--judge", spec)
    assert done.exit_code == 0
    assert "16 prompts" in done.output
    assert "16 calls, 0 asked again" in done.output
    assert magicbench_suite.read_prompts(tmp_path / "w.jsonl")[0].facts["subject"] == "brass kettle"


def test_prompts_that_a_model_cannot_write_are_left_out_and_the_command_is_incomplete(tmp_path):
    with serving(Script()) as server:
        spec = f"vllm:writer@{server.url}"
        arguments = ["--output", tmp_path / "w.jsonl", "--per-category", 1, "--judge", spec]
        done = run(magicbench, "compose", *arguments)
    assert isinstance(done.exception, IncompleteError)
    assert "8 prompts are missing; the first, human_single 1: malformed" in str(done.exception)
    assert "24 calls, 16 asked again" in done.output


def test_an_unknown_writer_is_a_typed_error_and_writes_nothing(tmp_path):
    assert isinstance(run(magicbench, "compose", "--output", tmp_path / "w.jsonl", "--judge", "oracle:x").exception, InputError)
    assert list(tmp_path.iterdir()) == []


def test_compose_writes_prompts_that_the_suite_reads(tmp_path):
    path = tmp_path / "zh.jsonl"
    result = run(prism, "compose", "--output", path, "--language", "zh", "--per-track", 2, "--track", "long_text")
    assert result.exit_code == 0
    assert result.output == f"2 prompts in 1 tracks: {path}\n"
    assert len(read_prompts(path, Language.CHINESE)) == 2


def test_select_writes_prompts_that_the_suite_reads(tmp_path):
    pytest.importorskip("sklearn", reason="runs with the extra selection")
    table = tmp_path / "captions.csv"
    table.write_text(
        "prompt,score\n" + "".join(f"a {word} on a hill,{place}\n" for place, word in enumerate(["cat", "ship", "oak"]))
    )
    path = tmp_path / "sampled.jsonl"
    assert run(prism, "select", table, "--output", path, "--track", "style", "--number", 2).exit_code == 0
    assert [each.facts["track"] for each in read_prompts(path, Language.ENGLISH)] == ["style", "style"]
    assert json.loads(path.read_text().splitlines()[0])["source"] == "sampled"


def test_a_collection_that_does_not_exist_is_an_input_error(tmp_path):
    result = run(prism, "select", tmp_path / "a.csv", "--output", tmp_path / "b.jsonl")
    assert isinstance(result.exception, InputError) and "there is no such file" in str(result.exception)
