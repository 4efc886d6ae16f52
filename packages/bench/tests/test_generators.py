"""``salon bench generate``: every picture once, whatever happens meanwhile, and whatever a prompt says."""

import errno
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from for_each import for_each
from salon_bench.runs import picture_job as job
from salon_bench.suites import read_generations, read_prompts
from salon_console import main
from salon_judges.clients.line_files import LineFile
from salon_judges.formats.generations import MANIFEST
from salon_judges.generators import open_generator
from salon_judges.testing.mock_server import Script, ScriptLine, ServerFault, serving
from salon_synthetic import imagine, png
from salon_taxonomy.errors import InputError, StorageError
from salon_taxonomy.testing import HOSTILE_REPLIES
from salon_taxonomy.whole_files import write_whole

PROMPTS = ["a red star", "a blue circle", "two green squares", "a pink diamond"]
PROGRAM = """\
import sys, time
from pathlib import Path
from PIL import Image, PngImagePlugin

prompt, output, seed = Path(sys.argv[1]).read_bytes(), sys.argv[2], sys.argv[3]
with Path(__file__).with_name("calls.txt").open("a") as calls:
    calls.write(f"{prompt.hex()} {seed}\\n")
time.sleep(float(Path(__file__).with_name("wait.txt").read_text()))
said = PngImagePlugin.PngInfo()
said.add_text("prompt", prompt.hex())
Image.new("RGB", (8, 8), (int(seed), 0, 0)).save(output, "PNG", pnginfo=said)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prompts.txt").write_text("".join(f"{prompt}\n" for prompt in PROMPTS))
    (tmp_path / "wait.txt").write_text("0")
    (tmp_path / "mygen.py").write_text(PROGRAM)
    return tmp_path


def salon(*words: object) -> Result:
    result = CliRunner().invoke(main, [*map(str, words)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def generate(*more: object, prompts: str = "prompts.txt") -> Result:
    return salon("bench", "generate", prompts, "--output", "pictures", *more)


def command(folder: Path) -> str:
    return f"{shlex.quote(sys.executable)} {shlex.quote(str(folder / 'mygen.py'))} {{prompt_file}} {{output}} {{seed}}"


def manifest(folder: Path) -> list[dict[str, object]]:
    lines = (folder / "pictures" / MANIFEST).read_text().splitlines()
    return sorted((json.loads(line) for line in lines), key=lambda row: (row["prompt_id"], row["sample"]))


def test_a_second_call_says_how_much_there_is_and_a_first_one_nothing(folder: Path) -> None:
    words = ("--generator", "draw:0", "--samples", 2)
    assert "continues" not in generate(*words).stderr
    (folder / "pictures" / "0002.1.png").unlink()
    assert "continues: 7 of 8 pictures done in pictures\n" in generate(*words).stderr
    assert "continues: 8 of 8 pictures done in pictures; nothing is left to do" in generate(*words).stderr


def test_generate_run_report_are_three_commands(folder: Path) -> None:
    (folder / "star.toml").write_text('name = "stars"\n[[question]]\nid = "q"\nask = "Is there a star?"\nanswer = "yes/no"\n')
    made = generate("--generator", "draw:0", "--samples", 2)
    assert (made.exit_code, "8 pictures made, 0 kept" in made.stdout) == (0, True)
    words = ("--model", "drawn", "--generations", "pictures", "--prompts", "prompts.txt", "--judge", "pixels:")
    run = salon("bench", "run", "./star.toml", *words, "--format", "json")
    assert run.exit_code == 0, run.output
    [report] = json.loads(run.stdout)
    [line] = report["models"][0]["table"]
    truths = [
        any(item.shape == "star" for item in imagine(text, seed=seed, slips=0).items) for text in PROMPTS for seed in (0, 1)
    ]
    assert (line["scored"], line["value"]) == (8, sum(truths) / 8)
    page = salon("results", "report", report["run_id"], "--output", "page.html")
    assert page.exit_code == 0, page.output
    assert "a red star" in (folder / "page.html").read_text()


def test_each_sample_has_its_seed_and_the_same_command_makes_nothing_twice(folder: Path) -> None:
    words = ("--generator", "draw:0.5", "--samples", 2, "--seed", 7)
    assert generate(*words).exit_code == 0
    rows = manifest(folder)
    assert [(row["prompt_id"], row["sample"], row["seed"]) for row in rows[:3]] == [
        ("0001", 0, 7),
        ("0001", 1, 8),
        ("0002", 0, 7),
    ]
    for row in rows:
        expected = png(imagine(str(row["prompt"]), seed=int(str(row["seed"])), slips=0.5))
        assert (folder / "pictures" / str(row["path"])).read_bytes() == expected
    before = {path: path.stat().st_mtime_ns for path in (folder / "pictures").glob("*.png")}
    assert "0 pictures made, 8 kept" in generate(*words).stdout
    assert {path: path.stat().st_mtime_ns for path in (folder / "pictures").glob("*.png")} == before
    (folder / "pictures" / "0002.1.png").unlink()
    assert "1 pictures made, 7 kept" in generate(*words).stdout
    again = manifest(folder)
    measured = {"seconds": 0, "memory_mb": 0}
    assert [row | measured for row in again] == [row | measured for row in rows]
    assert all(0 < float(str(row["seconds"])) < 60 and "settings" not in row for row in again)


def test_nobody_else_writes_the_manifest_while_lines_without_a_picture_are_taken_out(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("--generator", "draw:0.5")
    assert generate(*words).exit_code == 0
    (folder / "pictures" / str(manifest(folder)[0]["path"])).unlink()
    tried = []

    def written(path: Path, content: str | bytes, *, flushed: bool) -> None:
        if path.name == MANIFEST:
            with pytest.raises(InputError, match="another process is writing"):
                LineFile(path)
            tried.append(path)
        write_whole(path, content, flushed=flushed)

    monkeypatch.setattr(job, "write_whole", written)
    assert "1 pictures made, 3 kept" in generate(*words).stdout
    assert len(tried) == 1 and len(manifest(folder)) == 4


@pytest.mark.slow  # kills
def test_a_killed_job_goes_on_and_makes_only_what_was_in_flight_again(folder: Path) -> None:
    (folder / "wait.txt").write_text("0.03")
    start = "from salon_console import main; main()"
    words = [sys.executable, "-c", start, "bench", "generate", "prompts.txt", "--output", "pictures"]
    words += ["--command", command(folder), "--samples", "4", "--concurrency", "2"]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, start_new_session=True)
    lines = folder / "pictures" / MANIFEST
    while process.poll() is None and not (lines.exists() and lines.read_bytes().count(b"\n") >= 3):
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    kept = lines.read_bytes().count(b"\n")
    assert 3 <= kept < 16
    with lines.open("ab") as torn:
        torn.write(b'{"prompt_id": "00')
    (folder / "wait.txt").write_text("0")
    done = generate("--command", command(folder), "--samples", 4)
    assert (done.exit_code, f"{16 - kept} pictures made, {kept} kept" in done.stdout) == (0, True), done.output
    rows = manifest(folder)
    assert [(row["prompt_id"], row["sample"]) for row in rows] == [(f"{n:04d}", k) for n in range(1, 5) for k in range(4)]
    assert all((folder / "pictures" / str(row["path"])).stat().st_size for row in rows)
    calls = (folder / "calls.txt").read_text().splitlines()
    assert len(calls) <= 16 + 2
    assert len(set(calls)) == 16


HOSTILE = [
    "; touch hacked",
    "$(touch hacked) `touch hacked` && touch hacked | touch hacked",
    "--output=/etc/passwd -rf /",
    "{output} {prompt_file} {seed} {{x}} %s",
    "'\"\\ \t a\u2028b \u202e \x1b[31m",
    *HOSTILE_REPLIES[3:8],
]


def test_whatever_a_prompt_says_reaches_the_program_as_the_text_of_one_file(folder: Path) -> None:
    texts = [text for text in HOSTILE if text.strip() and text.isprintable()] + [" a\nb ", HOSTILE[4]]
    rows = [json.dumps({"prompt_id": f"../{number} ;x", "prompt": text}) for number, text in enumerate(texts)]
    (folder / "prompts.jsonl").write_text("\n".join(rows))
    made = generate("--command", command(folder), prompts="prompts.jsonl")
    assert made.exit_code == 0, made.output
    calls = [bytes.fromhex(line.split()[0]).decode() for line in (folder / "calls.txt").read_text().splitlines()]
    assert calls == [text.strip() for text in texts]
    assert not list(folder.rglob("hacked"))
    found = read_generations(folder / "pictures", "m", [f"../{number} ;x" for number in range(len(texts))])
    assert len(found) == len(texts)
    assert {file.path.parent.resolve() for each in range(len(texts)) for file in found.of(f"../{each} ;x", "m")} == {
        (folder / "pictures").resolve()
    }


@for_each(
    "template", ["mygen {prompt_file}", "mygen {output}", "{prompt_file} {output} {prompt}", "'x {prompt_file} {output}", ""]
)
def test_a_wrong_command_is_refused_before_anything_is_written(folder: Path, template: str) -> None:
    refused = generate("--command", template)
    assert (refused.exit_code, "--command" in refused.stderr, (folder / "pictures").exists()) == (2, True, False)


def test_a_program_that_does_not_exist_fails_or_writes_nothing_is_said_in_words(folder: Path) -> None:
    refused = generate("--command", "no-such-program {prompt_file} {output}")
    assert (refused.exit_code, "there is no such program 'no-such-program'" in refused.stderr) == (2, True)
    program = folder / "no program"
    program.write_text("text")
    program.chmod(0o755)
    refused = generate("--command", f"'{program}' {{prompt_file}} {{output}}")
    assert (refused.exit_code, "no program: cannot be run (Exec format error)" in refused.stderr) == (2, True), refused.output
    (folder / "mygen.py").write_text("import sys\nsys.exit('out of paint')")
    failed = generate("--command", command(folder))
    assert failed.exit_code == 1
    assert "0001, sample 0: the command ended with 1: out of paint" in failed.stderr
    assert "pictures are missing: 4 rejected" in failed.stderr
    (folder / "mygen.py").write_text("import sys\nopen(sys.argv[2], 'w').write('no picture')")
    assert "4 bad_media" in generate("--command", command(folder)).stderr
    assert manifest(folder) == []


def test_a_program_that_hangs_is_killed_with_its_children(folder: Path) -> None:
    (folder / "prompts.txt").write_text("a red star\n")
    (folder / "mygen.py").write_text(
        "import subprocess, sys\nfrom pathlib import Path\nchild = subprocess.Popen(['sleep', '600'])\n"
        "Path(__file__).with_name('child.txt').write_text(str(child.pid))\nchild.wait()"
    )
    late = generate("--command", command(folder), "--timeout", 1.5)
    assert (late.exit_code, "more than 1.5 s" in late.stderr) == (1, True)
    assert ends(int((folder / "child.txt").read_text())), "the child still runs"


def ends(process: int) -> bool:
    """Wait two seconds for the end of a process of which this one may not be the parent."""
    state = Path(f"/proc/{process}/stat")
    for _ in range(200):
        with suppress(OSError):
            if ") Z " not in state.read_text():
                time.sleep(0.01)
                continue
        return True
    return False


@pytest.mark.skipif(sys.platform != "linux", reason="other systems cannot tie a program to the process that began it")
def test_a_program_ends_when_the_process_that_began_it_is_killed(folder: Path) -> None:
    (folder / "mygen.py").write_text(
        "import os, time\nfrom pathlib import Path\nhere = Path(__file__)\n"
        "here.with_name('half').write_text(str(os.getpid()))\nhere.with_name('half').rename(here.with_name('pid.txt'))\n"
        "time.sleep(600)"
    )
    words = [sys.executable, "-c", "from salon_console import main; main()", "bench", "generate", "prompts.txt"]
    words += ["--output", "pictures", "--command", command(folder)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    while process.poll() is None and not (folder / "pid.txt").exists():
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(60)
    assert ends(int((folder / "pid.txt").read_text())), "the program still runs"


def test_a_server_draws_by_prompt_seed_and_further_fields(folder: Path) -> None:
    def draw(prompt: str, seed: int) -> bytes:
        return png(imagine(prompt, seed=seed, slips=0))

    with serving(Script((ScriptLine(fault=ServerFault.SERVER_ERROR, times=1),)), pictures=draw) as server:
        words = ("--generator", f"vllm:painter@{server.url}", "--samples", 2, "--set", "size=256x256", "--set", "steps=4")
        assert generate(*words).exit_code == 0
        body = json.loads(server.seen[-1].body)
    assert body.keys() == {"model", "prompt", "n", "seed", "size", "steps"}
    assert (body["model"], body["size"], body["steps"]) == ("painter", "256x256", 4)
    for row in manifest(folder):
        assert (folder / "pictures" / str(row["path"])).read_bytes() == draw(str(row["prompt"]), int(str(row["seed"])))


def test_what_a_server_refuses_is_missing_and_tried_again(folder: Path) -> None:
    refusal = ScriptLine(body='{"error": {"message": "not that prompt"}}', status=400, times=1)
    with serving(Script((refusal,))) as server:
        words = ("--generator", f"vllm:painter@{server.url}", "--concurrency", 1)
        failed = generate(*words)
        assert (failed.exit_code, "3 pictures made, 0 kept" in failed.stdout) == (1, True)
        assert "not that prompt" in failed.stderr
        assert "1 pictures made, 3 kept" in generate(*words).stdout


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([{"url": "https://example.com/a.png"}], "--set response_format=b64_json"),
        ([{"b64_json": "@@"}], "no base64"),
        ([{"b64_json": ""}], "is empty"),
        ([{}], "holds no picture"),
        ([], "holds no picture"),
    ],
)
def test_an_answer_without_a_usable_picture_is_paid_for_once(folder: Path, rows: list[object], problem: str) -> None:
    with serving(Script((ScriptLine(body=json.dumps({"data": rows}), status=200),))) as server:
        failed = generate("--generator", f"vllm:painter@{server.url}")
        assert server.stats.requests == len(PROMPTS)
    assert (failed.exit_code, problem in failed.stderr) == (1, True), failed.stderr


def test_a_field_that_a_server_does_not_take_is_left_out_where_it_is_null(folder: Path) -> None:
    with serving(Script(()), pictures=lambda prompt, seed: png(imagine(prompt, seed=seed, slips=0))) as server:
        assert generate("--generator", f"vllm:painter@{server.url}", "--set", "seed=null", "--set", "n=null").exit_code == 0
        assert json.loads(server.seen[-1].body).keys() == {"model", "prompt"}


def test_a_line_of_a_text_file_is_what_editors_and_other_programs_count_as_one(folder: Path) -> None:
    odd = ["a red\u2028star", "a\x0b\x0c\x1c\x1d\x1e\x85\u2029star"]
    (folder / "prompts.txt").write_text(f"\ufeff{odd[0]}\n{odd[1]}\r\n\ntwo", encoding="utf-8", newline="")
    found = [(item.prompt.prompt_id, item.prompt.text) for item in read_prompts(folder / "prompts.txt", "mine")]
    assert found == [("0001", odd[0]), ("0002", odd[1]), ("0004", "two")]


@for_each("words", [("--seed", "1"), ("--generator", "draw:0.9"), ()])
def test_a_folder_of_other_pictures_is_refused_and_left_as_it_is(folder: Path, words: tuple[str, ...]) -> None:
    assert generate("--generator", "draw:0").exit_code == 0
    before = manifest(folder)
    if not words:
        (folder / "prompts.txt").write_text("a pink star\n")
    refused = generate("--generator", "draw:0", *words)
    assert refused.exit_code == 2
    assert "sample 0 of the prompt '0001' was made with another" in refused.stderr
    assert "Give another --output" in refused.stderr
    assert manifest(folder) == before
    (folder / "prompts.txt").write_text("".join(f"{prompt}\n" for prompt in PROMPTS))


@pytest.mark.parametrize(
    ("key", "value"), [("sample", [1]), ("sample", "0"), ("prompt_id", ["a"]), ("path", 3), ("turn", None)]
)
def test_an_odd_line_of_a_manifest_is_named_and_left_as_it_is(folder: Path, key: str, value: object) -> None:
    assert generate("--generator", "draw:0").exit_code == 0
    rows = [*manifest(folder), {**manifest(folder)[0], key: value}]
    content = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "pictures" / MANIFEST).write_text(content)
    refused = generate("--generator", "draw:0")
    assert (refused.exit_code, f"line {len(rows)}, key '{key}': must be a" in refused.stderr) == (2, True), refused.output
    assert (folder / "pictures" / MANIFEST).read_text() == content


def test_a_generator_that_understands_nothing_is_not_asked_for_ever(folder: Path) -> None:
    (folder / "prompts.txt").write_text("a horse\n" * 50)
    failed = generate("--generator", "draw:")
    assert (
        failed.exit_code,
        "20 rejected (a server refused the request, or a scorer raised an error); 30 not tried" in failed.stderr,
    ) == (1, True)


@for_each("specification", ["", "draw:2", "paint:x", "vllm:", "diffusers:", "replay:x.jsonl"])
def test_an_unknown_generator_is_a_typed_error(specification: str) -> None:
    with pytest.raises(InputError):
        open_generator(specification, {})


@pytest.mark.parametrize(
    "words",
    [
        ["--generator", "draw:", "--set", "size=64"],
        ["--generator", "draw:0.3", "--dtype", "bfloat16"],
        ["--generator", "draw:", "--timeout", "3"],
        ["--generator", "vllm:m@localhost:1", "--dtype", "bfloat16"],
        ["--generator", "vllm:m@localhost:1", "--timeout", "3"],
        ["--generator", "diffusers:m", "--timeout", "3"],
        ["--command", "python {prompt_file} {output}", "--set", "size=64"],
        ["--command", "python {prompt_file} {output}", "--dtype", "bfloat16"],
    ],
)
def test_an_option_that_has_no_effect_on_the_generator_is_refused_and_nothing_is_written(
    folder: Path, words: list[str]
) -> None:
    refused = generate(*words)
    assert refused.exit_code == 2, (words, refused.output)
    assert words[2] in refused.output, refused.output
    assert not (folder / "pictures").exists()


def test_a_generator_that_cannot_be_loaded_and_a_disk_that_refuses_are_named_without_a_traceback(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for concurrency in (1, 3):
        refused = generate("--generator", "diffusers:no-such-model", "--concurrency", concurrency)
        assert refused.exit_code == 2 and "Error: " in refused.output, refused.output

        def full(*_: object) -> None:
            raise InputError("the file cannot be written (No space left on device)", source="generations.jsonl")

        with monkeypatch.context() as patched:
            patched.setattr(LineFile, "append", full)
            refused = generate("--generator", "draw:", "--concurrency", concurrency)
        assert refused.exit_code == 2 and "No space left" in refused.output, refused.output
    assert generate("--generator", "draw:").exit_code == 0


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(writes=st.lists(st.tuples(st.integers(1, 9), st.booleans()), max_size=30), threads=st.integers(1, 3))
def test_a_file_of_lines_has_the_lines_that_were_appended_whole_however_the_disk_refuses_others(
    tmp_path: Path, writes: list[tuple[int, bool]], threads: int
) -> None:
    path = tmp_path / "lines.jsonl"
    path.unlink(missing_ok=True)
    plans = iter(writes)

    def partly(descriptor: int, content: bytes) -> int:
        length, fails = next(plans, (len(content), False))
        if fails:
            raise OSError(errno.ENOSPC, "No space left on device")
        return os.write(descriptor, content[:length])

    def append(number: int) -> bytes | None:
        try:
            file.append(line := b"%d-" % number * 5)
        except (InputError, StorageError):
            return None
        return line

    file = LineFile(path)
    with pytest.MonkeyPatch.context() as patched, ThreadPoolExecutor(threads) as workers:
        patched.setattr("salon_taxonomy.locked_file.os", SimpleNamespace(**vars(os) | {"write": partly}))
        kept = [line for line in workers.map(append, range(8)) if line is not None]
    file.close()
    assert sorted(path.read_bytes().splitlines()) == sorted(kept)


def test_pictures_of_ids_that_differ_in_capitals_alone_have_files_of_their_own_on_any_file_system(folder: Path) -> None:
    ids = ["A", "a", "b.0", "B", "Bild_01", "bild_01", "Ä", "plain", "Plain2"]
    (folder / "ids.jsonl").write_text("".join(json.dumps({"prompt_id": each, "prompt": PROMPTS[0]}) + "\n" for each in ids))
    assert generate("--generator", "draw:", "--samples", 2, prompts="ids.jsonl").exit_code == 0
    lines = [json.loads(line) for line in (folder / "pictures" / MANIFEST).read_text().splitlines()]
    assert len({line["path"].casefold() for line in lines}) == len(lines) == 2 * len(ids)
    assert {line["path"] for line in lines} >= {"plain.0.png", "Plain2.1.png", "b.0.0.png"}


def test_a_picture_that_is_too_large_or_lies_elsewhere_is_not_read(folder: Path) -> None:
    (folder / "elsewhere.png").write_bytes(b"x")
    (folder / "odd.py").write_text(
        "import os, sys\n"
        "output = sys.argv[2]\n"
        "if sys.argv[3] == '0':\n    os.symlink(os.path.abspath('elsewhere.png'), output)\n"
        "else:\n    os.truncate(os.open(output, os.O_CREAT | os.O_RDWR), 1 << 40)\n"
    )
    command = f"{shlex.quote(sys.executable)} {shlex.quote(str(folder / 'odd.py'))} {{prompt_file}} {{output}} {{seed}}"
    made = generate("--command", command, "--samples", 2)
    assert made.exit_code == 1 and "outside the folder" in made.output and "at most" in made.output, made.output
