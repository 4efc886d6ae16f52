"""``salon bench generate`` makes edits and videos: sources go in, each result once and whole, whatever the other side does."""

import hashlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner, Result
from hypothesis import example, given
from hypothesis import strategies as st
from PIL import Image

from for_each import for_each
from salon_bench.runs.picture_job import WORKING
from salon_bench.viewer.cases import CASE
from salon_bench.viewer.pages import case_page
from salon_bench.viewer.store_tables import StoreTables
from salon_console import main
from salon_judges.clients.chat_reply import NoCompletion
from salon_judges.editors.videos_server import JOBS, read_job
from salon_judges.formats.generations import MANIFEST
from salon_judges.generators import _filled
from salon_judges.media.video_container import outline
from salon_judges.media.video_policy import DEFAULT_VIDEO_LIMITS
from salon_judges.testing.mock_server import Script, ScriptLine, serving
from salon_judges.testing.mock_server.server import read_form
from salon_store import ResultStore
from salon_synthetic import Item, Scene, png
from salon_synthetic.scenes.drawing import read_scene
from salon_synthetic.videos import write_clip
from salon_taxonomy.testing import HOSTILE_REPLIES
from salon_taxonomy.verdict import Unscored

PROGRAM = """\
import shutil, sys, time
from pathlib import Path

here = Path(__file__).parent
output, *files = sys.argv[2:]
with (here / "calls.txt").open("a") as calls:
    calls.write(" ".join([Path(sys.argv[1]).read_text(), *(Path(file).suffix for file in files)]) + "\\n")
content = Path(files[0]).read_bytes() if files and output.endswith(".png") else (here / "clip.mp4").read_bytes()
half = len(content) // 2
with open(output, "wb") as written:
    written.write(content[:half])
    written.flush()
    time.sleep(float((here / "wait.txt").read_text()))
    written.write(content[half:])
"""


def picture(colour: str) -> bytes:
    stream = BytesIO()
    Image.new("RGB", (16, 16), colour).save(stream, "PNG")
    return stream.getvalue()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two prompts with their sources, a clip, and a program that copies its source or the clip."""
    monkeypatch.chdir(tmp_path)
    for name, colour in (("cup.png", "red"), ("table.png", "blue")):
        Path(name).write_bytes(picture(colour))
    prompts(
        {"prompt_id": "one", "prompt": "make it green", "source": "cup.png"},
        {"prompt_id": "two", "prompt": "set the table", "source": ["table.png", "cup.png"]},
    )
    Path("mygen.py").write_text(PROGRAM)
    Path("wait.txt").write_text("0")
    write_clip(Path("clip.mp4"), "clean", seconds=0.5)
    return tmp_path


def prompts(*rows: Mapping[str, object]) -> None:
    Path("prompts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def salon(*words: object) -> Result:
    result = CliRunner().invoke(main, [*map(str, words)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def generate(*more: object, file: str = "prompts.jsonl") -> Result:
    return salon("bench", "generate", file, "--output", "made", *more)


def program(*placeholders: str, file: str = "mygen.py") -> str:
    program = shlex.join([sys.executable, str(Path(file).absolute())])
    return f"{program} {{prompt_file}} {{output}} {' '.join(placeholders)}"


def manifest() -> list[dict[str, object]]:
    lines = Path("made", MANIFEST).read_text().splitlines()
    return sorted((json.loads(line) for line in lines), key=lambda row: (row["prompt_id"], row["sample"]))


def test_a_command_sees_each_source_as_a_word_and_its_digest_is_in_the_manifest(folder: Path) -> None:
    made = generate("--command", program("{source}"))
    assert made.exit_code == 0, made.output
    red, blue = picture("red"), picture("blue")
    assert sorted(Path("calls.txt").read_text().splitlines()) == ["make it green .png", "set the table .png .png"]
    one, two = manifest()
    assert (one["source_sha256"], two["source_sha256"]) == ([sha256(red)], [sha256(blue), sha256(red)])
    assert Path("made", str(two["path"])).read_bytes() == blue
    assert "0 pictures made, 2 kept" in generate("--command", program("{source}")).stdout
    Path("cup.png").write_bytes(picture("black"))
    refused = generate("--command", program("{source}"))
    assert (refused.exit_code, "was made with another source sha256" in refused.stderr) == (2, True), refused.output
    assert manifest() == [one, two]


def test_a_folder_of_files_named_by_prompt_is_what_is_animated_or_edited(folder: Path) -> None:
    Path("lines.txt").write_text("make it green\nset the table\n")
    Path("frames/0002").mkdir(parents=True)
    for name in ("0001.png", "0002/0.png", "0002/1.png"):
        Path("frames", name).write_bytes(picture("red"))
    made = generate("--source", "frames", "--command", program("{source}"), file="lines.txt")
    assert (made.exit_code, [len(row["source_sha256"]) for row in manifest()]) == (0, [1, 2]), made.output  # type: ignore[arg-type]
    videos = ("--video", "--source", "frames", "--command", program("{first_frame}"), "--output", "videos")
    assert "2 videos made, 0 kept" in salon("bench", "generate", "lines.txt", *videos).stdout
    assert {path.name for path in Path("videos").glob("*.mp4")} == {"0001.0.mp4", "0002.0.mp4"}
    Path("frames/0001.png").unlink()
    refused = salon("bench", "generate", "lines.txt", "--source", "frames", "--command", program("{source}"), "--output", "no")
    assert (refused.exit_code, "has no file for the prompt '0001'" in refused.stderr) == (2, True), refused.output
    assert not Path("no").exists()
    twice = generate("--source", "frames", "--command", program("{source}"))
    assert (twice.exit_code, "frames" in twice.stderr) == (2, True)


@for_each("column", ["source", "first_frame"])
def test_a_missing_file_is_named_by_row_and_column_before_anything_is_made(folder: Path, column: str) -> None:
    prompts({"prompt": "one", column: "cup.png"}, {"prompt": "two", column: "gone.png"})
    refused = generate("--command", program(f"{{{column}}}"), "--video")
    assert refused.exit_code == 2
    assert all(word in refused.stderr for word in ("prompts.jsonl", "2", column, "gone.png")), refused.stderr
    assert not Path("made").exists() and not Path("calls.txt").exists()


def test_a_source_that_is_a_bomb_or_gone_or_text_fails_alone_with_its_reason(folder: Path) -> None:
    bomb = BytesIO()
    Image.new("1", (9_000, 9_000)).save(bomb, "PNG")
    Path("bomb.png").write_bytes(bomb.getvalue())
    Path("text.png").write_text("no picture")
    prompts(*({"prompt_id": name, "prompt": name, "source": f"{name}.png"} for name in ("bomb", "text", "cup")))
    failed = generate("--command", program("{source}"))
    assert (failed.exit_code, [row["prompt_id"] for row in manifest()]) == (1, ["cup"])
    assert "bomb, sample 0: source: " in failed.stderr and "text, sample 0: source: the file is none of" in failed.stderr
    assert "2 bad_media" in failed.stderr
    assert Path("calls.txt").read_text().splitlines() == ["cup .png"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--command", "{program}"), "'source'"),
        (("--generator", "vllm:m@127.0.0.1:1", "--source", "nowhere"), "nowhere"),
    ],
)
def test_what_does_not_fit_the_prompts_is_refused(folder: Path, words: tuple[str, ...], problem: str) -> None:
    refused = generate(*(word.replace("{program}", program()) for word in words))
    assert (refused.exit_code, problem in refused.stderr) == (2, True), refused.output
    assert not Path("calls.txt").exists()


HOSTILE_VIDEOS = {
    "text": ("open(sys.argv[2], 'w').write('no video')", "none of the video containers"),
    "picture": ("shutil.copy('cup.png', sys.argv[2])", "none of the video containers"),
    "half": ("data = open('clip.mp4', 'rb').read(); open(sys.argv[2], 'wb').write(data[:-300])", "cut off"),
    "noise": (
        "d = bytearray(open('clip.mp4', 'rb').read()); i = d.index(b'mdat') + 8; d[i:i + 1500] = b'\\xff' * 1500; "
        "open(sys.argv[2], 'wb').write(d)",
        "bad_media",
    ),
    "huge": ("os.truncate(os.open(sys.argv[2], os.O_CREAT | os.O_RDWR), 1 << 40)", "at most"),
    "playlist": ("open(sys.argv[2], 'w').write('#EXTM3U\\n/etc/passwd')", "none of the video containers"),
    "endless": ("f = open(sys.argv[2], 'wb')\nwhile True: f.write(b'0' * 1000); f.flush(); time.sleep(0.01)", "more than 1 s"),
    "nothing": ("pass", "the command wrote no video"),
}


@for_each("kind", list(HOSTILE_VIDEOS))
def test_what_is_no_whole_video_is_a_failure_and_no_file(folder: Path, kind: str) -> None:
    code, problem = HOSTILE_VIDEOS[kind]
    Path("odd.py").write_text(f"import os, shutil, sys, time\n{code}\n")
    prompts({"prompt": "a ball"})
    failed = generate("--video", "--timeout", 1, "--command", program(file="odd.py"))
    assert (failed.exit_code, problem in failed.stderr) == (1, True), failed.output
    assert manifest() == [] and [path.name for path in Path("made").iterdir()] == [MANIFEST]


def test_a_draw_edit_changes_the_scene_and_a_scripted_judge_and_the_viewer_see_source_and_result(folder: Path) -> None:
    Path("star.png").write_bytes(png(Scene(items=[Item(shape="star", colour="blue", x=40, y=40)])))
    prompts({"prompt_id": "one", "prompt": "Make the blue star red.", "source": "star.png"})
    assert generate("--generator", "draw:").exit_code == 0
    [row] = manifest()
    assert read_scene(Path("made", str(row["path"])).read_bytes()).items[0].colour == "red"
    Path("edits.toml").write_text(
        'name = "edits"\nprompts = "prompts.jsonl"\nshows = ["source", "result"]\n'
        '[[question]]\nid = "done"\nask = "Was it done? {prompt}"\nanswer = "1-5"\n'
    )
    with serving(Script((ScriptLine("Answer: 5"),))) as server:
        run = salon(
            *("bench", "run", "./edits.toml", "--model", "ours", "--generations", "made", "--judge", f"vllm:mock@{server.url}")
        )
        assert run.exit_code == 0, run.output
        asked = server.seen[-1].body
    assert asked.count(b"image_url") >= 2
    scores = ResultStore.open(folder / "results", read_only=True).read("scores").collect()
    assert scores["value"].to_list() == [5.0]
    query = {name: [str(value)] for name, value in scores.select(CASE).row(0, named=True).items()}
    assert "Make the blue star red." in case_page(StoreTables(folder / "results"), query)


def test_a_scorer_is_given_the_source_beside_the_edit_and_videos_as_frames_by_a_suite_file(folder: Path) -> None:
    Path("star.png").write_bytes(png(Scene(items=[Item(shape="star", colour="blue", x=40, y=40)])))
    prompts({"prompt_id": "one", "prompt": "Make the blue star red.", "source": "star.png"})
    assert generate("--generator", "draw:").exit_code == 0
    Path("mine.py").write_text(
        "def changed(images, prompts, sources):\n"
        "    return [float(image.tobytes() != source.tobytes()) for image, [source] in zip(images, sources)]\n"
        "def alone(images, prompts):\n    return [1.0] * len(images)\n"
        "def length(frames, prompts):\n    return [len(each) for each in frames]\n"
        "changed.version = alone.version = length.version = '1'\n"
    )
    ask = '[[question]]\nid = "mine"\nask = "How good is it?"\nanswer = "score"\n'
    Path("edits.toml").write_text('name = "edits"\nprompts = "prompts.jsonl"\nshows = ["source", "result"]\n' + ask)
    run = ("bench", "run", "./edits.toml", "--model", "ours", "--generations", "made")
    assert salon(*run, "--scorer", "./mine.py:changed").exit_code == 0
    refused = salon(*run, "--scorer", "./mine.py:alone")
    assert refused.exit_code == 2 and "the scorer takes no" in refused.stderr and "sources" in refused.stderr
    Path("clips.toml").write_text('name = "clips"\nframes_per_second = 5.0\n' + ask)
    Path("clips.txt").write_text("A red star moves up.\n")
    assert generate("--video", "--generator", "draw:0", "--output", "clips", file="clips.txt").exit_code == 0
    run = ("bench", "run", "./clips.toml", "--prompts", "clips.txt", "--model", "ours", "--generations", "clips")
    assert salon(*run, "--scorer", "./mine.py:length").exit_code == 0
    scores = ResultStore.open(folder / "results", read_only=True).read("scores").sort("suite").collect()
    assert scores["value"].drop_nulls().to_list() == [10.0, 1.0]


def test_videos_of_a_suite_are_made_judged_and_viewed_without_a_further_option(folder: Path) -> None:
    Path("motion.toml").write_text(
        'name = "motion"\nprompts = "prompts.jsonl"\nframes_per_second = 2.0\nshows = ["first_frame", "result"]\n'
        '[[question]]\nid = "moves"\nask = "Does it move?"\nanswer = "yes/no"\n'
    )
    prompts({"prompt_id": "one", "prompt": "a ball", "first_frame": "cup.png"})
    command = ("--suite", "./motion.toml", "--command", program("{first_frame}"))
    made = generate(*command)
    assert (made.exit_code, "1 videos made" in made.stdout) == (0, True), made.output
    [row] = manifest()
    assert row["path"] == "one.0.mp4" and row["first_frame_sha256"] == [sha256(picture("red"))]
    with serving(Script((ScriptLine("Answer: yes"),))) as server:
        judge = f"vllm:mock@{server.url}"
        run = salon("bench", "run", "./motion.toml", "--model", "ours", "--generations", "made", "--judge", judge)
        assert run.exit_code == 0, run.output
    store = ResultStore.open(folder / "results", read_only=True)
    assert store.read("scores").collect()["value"].to_list() == [1.0]
    kinds = store.read("generations").collect().select("model", "kind").rows()
    assert sorted((model, str(kind)) for model, kind in kinds) == [("first_frame", "image"), ("ours", "video")]
    query = {name: [str(v)] for name, v in store.read("scores").collect().select(CASE).row(0, named=True).items()}
    assert "a ball" in case_page(StoreTables(folder / "results"), query)


def test_the_suites_of_the_examples_take_the_folder_as_it_is(folder: Path) -> None:
    suites = Path(__file__).parents[3] / "examples/suites"
    for name in ("Basic", "captions"):
        Path(name).mkdir()
    Path("cup.png").rename("Basic/cup.png")
    edit = {"prompt": "make the cup green", "id": "cup.png", "edit_type": "adjust"}
    Path("Basic/basic_edit.json").write_text(json.dumps({"1082": edit}))
    Path("captions/all.csv").write_text("caption\na ball rolls over a meadow\n")
    marks = json.dumps({"done": 5, "natural": 4, "intact": 3})
    for suite, source, placeholder, answer, path, best in (
        ("imgedit_bench", "Basic", "{source}", marks, "1082.0.png", 4.0),
        ("videophy2", "captions", "", "Answer: 5", "0001.0.mp4", 1.0),
    ):
        file, output = suites / f"{suite}.toml", ("--output", suite)
        made = salon("bench", "generate", source, "--suite", file, "--command", program(placeholder), *output)
        assert (made.exit_code, Path(suite, path).exists()) == (0, True), made.output
        with serving(Script((ScriptLine(answer),))) as server:
            words = ("--prompts", source, "--model", "ours", "--generations", suite, "--judge", f"vllm:m@{server.url}")
            run = salon("bench", "run", file, *words, "--store", f"{suite}-results")
        assert run.exit_code == 0, run.output
        scores = ResultStore.open(folder / f"{suite}-results", read_only=True).read("scores").collect()
        assert scores.filter(dimension="overall")["value"].to_list() == [best]


def test_an_images_server_gets_sources_as_a_form_and_prompts_without_one_as_json(folder: Path) -> None:
    prompts(
        {"prompt_id": "a", "prompt": "make it green", "source": "cup.png"},
        {"prompt_id": "b", "prompt": "set the table", "source": ["table.png", "cup.png"]},
        {"prompt_id": "c", "prompt": "a red star"},
    )
    with serving(Script()) as server:
        made = generate("--generator", f"vllm:painter@{server.url}", "--concurrency", 1, "--set", "size=16x16")
        assert made.exit_code == 0, made.output
        seen = list(server.seen)
    assert [request.path for request in seen] == ["/v1/images/edits", "/v1/images/edits", "/v1/images/generations"]
    one, two = (read_form(request.headers["content-type"], request.body) for request in seen[:2])
    assert (one["image"], one["seed"], one["size"]) == (picture("red"), b"0", b"16x16")
    assert seen[1].body.count(b'name="image"') == 2 and two["image"] == picture("red")
    with serving(Script(), pictures=lambda *_: picture("red")) as server:
        generate("--generator", f"openai:painter@{server.url}", "--concurrency", 1, "--output", "others")
        assert server.seen[1].body.count(b'name="image[]"') == 2


def test_a_source_in_a_format_that_servers_do_not_take_fails_alone(folder: Path) -> None:
    Image.new("RGB", (16, 16), "red").save("cup.bmp")
    prompts(*({"prompt_id": name, "prompt": name, "source": f"cup.{name}"} for name in ("bmp", "png")))
    with serving(Script()) as server, video_server(Videos(Path("clip.mp4").read_bytes())) as videos:
        for words in (("--generator", f"vllm:m@{server.url}"), ("--video", "--generator", judge_file(videos.url))):
            failed = generate(*words, "--output", words[0].strip("-"))
            assert (failed.exit_code, "1 rejected" in failed.stderr) == (1, True), failed.output
            assert "bmp, sample 0: " in failed.stderr and "only PNG, JPEG and WebP" in failed.stderr
            assert "1 pictures made" in failed.stdout or "1 videos made" in failed.stdout


@dataclass
class Videos:
    """A videos server whose jobs are done at the second look."""

    content: bytes
    fail: str = ""
    answer: bytes | None = None
    hold: bool = False
    created: list[tuple[str, bytes]] = field(default_factory=list)
    looks: dict[str, int] = field(default_factory=dict)
    url: str = ""
    forget: bool = False
    own: list[bytes] = field(default_factory=list)
    """What each job renders, in the order of the jobs; those behind render ``content``."""

    def reply(self, method: str, path: str, kind: str, body: bytes) -> tuple[int, bytes]:
        if self.answer is not None:
            return 200, self.answer
        if method == "POST":
            self.created.append((kind, body))
            job_id = f"video_{len(self.created)}"
            self.looks[job_id] = 0
            return 200, json.dumps({"id": job_id, "object": "video", "status": "queued", "progress": 0}).encode()
        job_id, _, rest = path.removeprefix("/v1/videos/").partition("/")
        if job_id not in self.looks or (self.forget and job_id == "video_1"):
            return 404, b'{"error": {"message": "no such job"}}'
        if rest == "content":
            number = int(job_id.partition("_")[2])
            return 200, self.own[number - 1] if number <= len(self.own) else self.content
        self.looks[job_id] += 1
        done = self.looks[job_id] > 1 and not self.hold
        status = ("failed" if self.fail else "completed") if done else "in_progress"
        error = {"message": self.fail} if self.fail and done else None
        return 200, json.dumps({"id": job_id, "object": "video", "status": status, "error": error}).encode()


@contextmanager
def video_server(videos: Videos) -> Iterator[Videos]:
    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, reply = videos.reply(self.command, self.path, self.headers.get("Content-Type", ""), body)
            self.send_response(status)
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        do_GET = do_POST = _answer  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    videos.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield videos
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def judge_file(url: str, kind: str = "vllm", **limits: float) -> str:
    lines = "".join(f"{name} = {value}\n" for name, value in {"first_wait_s": 0.01, "attempts": 2, **limits}.items())
    Path("painter.toml").write_text(f'kind = "{kind}"\nmodel = "wan"\nbase_url = "{url}"\n[limits]\n{lines}')
    return "painter.toml"


@for_each("kind", ["vllm", "sglang"])
def test_a_videos_server_is_asked_polled_and_its_file_kept_as_it_is(folder: Path, kind: str) -> None:
    Path("plain.txt").write_text("a ball rolls\n")
    with video_server(Videos(Path("clip.mp4").read_bytes())) as server:
        painter = judge_file(server.url, kind)
        words = ("--video", "--generator", painter, "--set", "fps=16", "--samples", 2, "--concurrency", 1)
        made = generate(*words, file="plain.txt")
        assert made.exit_code == 0, made.output
        assert "0 videos made, 2 kept" in generate(*words, file="plain.txt").stdout
        prompts({"prompt": "a ball rolls", "first_frame": "cup.png"})
        assert generate("--video", "--generator", painter, "--output", "animated").exit_code == 0
    for row in manifest():
        assert Path("made", str(row["path"])).read_bytes() == Path("clip.mp4").read_bytes()
    assert len(server.created) == 3
    content_type, body = server.created[0]
    fields = json.loads(body) if kind == "sglang" else {k: v.decode() for k, v in read_form(content_type, body).items()}
    assert {key: str(value) for key, value in fields.items()} == {
        "model": "wan",
        "prompt": "a ball rolls",
        "seed": "0",
        "fps": "16",
    }
    form = read_form(*server.created[2])
    assert form["input_reference"] == picture("red")
    for name in ("made", "animated"):
        Path(name).rename(f"{name}-{kind}")


HTML = b"<html><body>Welcome to the proxy</body></html>"


@pytest.mark.parametrize(
    ("server", "problem"),
    [
        (Videos(b"", answer=HTML), "not JSON"),
        (Videos(b"", answer=b'{"id": "../../v1/models", "status": "queued"}'), "names no job"),
        (Videos(b"", answer=b'{"id": 3, "status": "completed"}'), "names no job"),
        (Videos(b"", answer=b'{"id": "video_1", "st'), "not JSON"),
        (Videos(b"", answer=b"[]"), "unreachable"),
        (Videos(HTML), "none of the video containers"),
        (Videos(b""), "the video is empty"),
        (Videos(b"\0" * 3000, fail="no such words"), "the server's job failed: no such words"),
        (Videos(b"", hold=True), "is not done after 0.5 s"),
    ],
    ids=["html", "path as id", "number as id", "cut", "list", "html as video", "empty", "failed", "never done"],
)
def test_what_a_videos_server_answers_instead_of_a_video_is_a_failure_with_its_reason(
    folder: Path, server: Videos, problem: str
) -> None:
    prompts({"prompt": "a ball"})
    patience = 0.5 if server.hold else 5.0  # a busy machine takes longer than half a second for an answer
    with video_server(server):
        failed = generate("--video", "--generator", judge_file(server.url, deadline_s=patience, timeout_s=patience))
    assert (failed.exit_code, problem in failed.stderr) == (1, True), failed.output
    assert manifest() == [] and not list(Path("made").glob("*.mp4"))


@given(st.one_of(st.sampled_from(HOSTILE_REPLIES).map(lambda text: text.encode("utf-8", "replace")), st.binary(max_size=200)))
@example(b'{"id": "a/../../b", "status": "completed"}')
@example(b'{"id": "..", "status": "completed"}')
@example(b'{"id": "video_1", "status": 3}')
@example(b'{"id": "video_1", "status": "failed", "error": [1]}')
def test_no_answer_about_a_job_raises_or_leads_to_another_path(body: bytes) -> None:
    read = read_job(body)
    if not isinstance(read, NoCompletion):
        job = json.loads(read.text)
        assert not set(job["id"]) & set("/?#%\\") and not job["id"].startswith(".")
        assert isinstance(job["status"], str) and isinstance(job["error"], str)


@given(
    st.lists(st.sampled_from(["{source}", "{output}", "{seed}", "--image=", "x"]), min_size=1, max_size=4),
    st.lists(st.text(alphabet="ab{}\\$", max_size=6), min_size=1, max_size=3),
)
def test_a_word_is_there_once_for_each_source_and_what_is_filled_in_is_not_read_again(
    parts: list[str], sources: list[str]
) -> None:
    word = "".join(parts)
    words = _filled(word, {"source": sources, "output": ["{seed}"], "seed": ["7"]})
    expected = [word.format(source=source, output="{seed}", seed="7") for source in sources]
    assert words == (expected if "{source}" in word else expected[:1])


@for_each("forget", [False, True])
def test_a_job_that_was_begun_is_waited_for_and_not_paid_for_again(folder: Path, forget: bool) -> None:
    prompts({"prompt": "a ball"})
    server = Videos(Path("clip.mp4").read_bytes(), hold=True)
    with video_server(server):
        late = generate("--video", "--generator", judge_file(server.url, deadline_s=0.3, timeout_s=0.3))
        assert (late.exit_code, len(server.created)) == (1, 1), late.output
        server.hold, server.forget = False, forget
        with Path("made", JOBS).open("ab") as torn:
            torn.write(b'{"request": "')
        made = generate("--video", "--generator", judge_file(server.url))
    assert (made.exit_code, len(server.created)) == (0, 2 if forget else 1), made.output
    for path in Path("made").iterdir():
        path.unlink()


def test_a_damaged_video_is_fetched_once_more_and_then_made_anew(folder: Path) -> None:
    prompts({"prompt": "a ball"})
    server = Videos(Path("clip.mp4").read_bytes(), own=[HTML])
    with video_server(server):
        starts = [generate("--video", "--generator", judge_file(server.url)) for _ in range(3)]
    assert [start.exit_code for start in starts] == [1, 1, 0], [start.output for start in starts]
    assert (len(server.created), len(manifest())) == (2, 1)


def test_equal_prompts_without_a_seed_each_get_the_video_of_a_job_of_their_own(folder: Path) -> None:
    prompts(*({"prompt_id": f"p{number}", "prompt": "a ball"} for number in range(3)))
    drawn = [write_clip(Path(f"{number}.mp4"), "clean", seconds=0.5, seed=number).read_bytes() for number in range(4)]
    server = Videos(drawn[3], own=drawn[:3])
    words = ("--video", "--set", "seed=null", "--concurrency", 1)
    with video_server(server):
        first = generate(*words, "--limit", 1, "--generator", judge_file(server.url))
        assert first.exit_code == 0, first.output
        server.hold = True
        late = generate(*words, "--generator", judge_file(server.url, deadline_s=0.3, timeout_s=0.3))
        assert (late.exit_code, len(server.created)) == (1, 3), late.output
        server.hold = False
        made = generate(*words, "--generator", judge_file(server.url))
    assert (made.exit_code, len(server.created)) == (0, 3), made.output
    assert sorted(Path("made", str(row["path"])).read_bytes() for row in manifest()) == sorted(drawn[:3])


@pytest.mark.slow  # kills
def test_the_jobs_of_a_process_that_was_killed_are_fetched_by_the_next(folder: Path) -> None:
    prompts(*({"prompt_id": f"p{number}", "prompt": f"prompt {number}"} for number in range(4)))
    server = Videos(Path("clip.mp4").read_bytes(), hold=True)
    with video_server(server):
        words = ("--video", "--generator", judge_file(server.url), "--concurrency", "2")
        start = "from salon_console import main; main()"
        command = [sys.executable, "-c", start, "bench", "generate", "prompts.jsonl", "--output", "made", *words]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        while process.poll() is None and sum(server.looks.values()) < 3:
            time.sleep(0.005)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=60)
        assert process.returncode == -signal.SIGKILL and manifest() == []
        server.hold = False
        made = generate(*words)
    assert (made.exit_code, len(server.created), len(manifest())) == (0, 4, 4), made.output


def killed_and_resumed(kills: int, *words: str, total: int) -> int:
    """Kill the job again and again at random moments, and let it end; returns how many starts there were.

    After each kill every line has its whole file, once; in the end the files are those of a job that nobody killed, with none
    beside them.
    """
    start = "from salon_console import main; main()"
    command = [sys.executable, "-c", start, "bench", "generate", "prompts.jsonl", "--output", "made", *words]
    assert salon("bench", "generate", "prompts.jsonl", "--output", "calm", *words).exit_code == 0
    calm = {path.name: path.read_bytes() for path in Path("calm").iterdir() if path.name != MANIFEST}
    Path("calls.txt").unlink()
    Path("temporary").mkdir(exist_ok=True)
    environment = {**os.environ, "TMPDIR": str(Path("temporary").absolute())}
    lines, draw = Path("made", MANIFEST), Random(kills)
    killed = starts = 0
    while killed < kills:
        starts += 1
        assert starts <= 2 * kills + 2, "the job ended before most kills"
        before = lines.read_bytes().count(b"\n") if lines.exists() else 0
        calls = Path("calls.txt").stat().st_size if Path("calls.txt").exists() else 0
        pipes = {"stderr": subprocess.PIPE, "stdout": subprocess.PIPE}
        process = subprocess.Popen(command, start_new_session=True, env=environment, **pipes)
        while process.poll() is None and not (Path("calls.txt").exists() and Path("calls.txt").stat().st_size > calls):
            time.sleep(0.002)
        time.sleep(draw.uniform(0, 0.15))
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=60)
        killed += process.returncode == -signal.SIGKILL
        rows = [json.loads(line) for line in lines.read_bytes().split(b"\n")[:-1]] if lines.exists() else []
        assert len(rows) >= before
        for row in rows:
            content = Path("made", row["path"]).read_bytes()
            assert sha256(content) == row["sha256"]
        if len(rows) == total:
            shutil.rmtree("made")
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = manifest()
    assert len({(row["prompt_id"], row["sample"]) for row in rows}) == len(rows) == total
    made = {path.name: path.read_bytes() for path in Path("made").iterdir() if path.name != MANIFEST}
    assert made == calm, "nothing is beside the files, hidden ones included"
    for name, content in made.items():
        assert not name.endswith(".mp4") or not isinstance(outline(content, DEFAULT_VIDEO_LIMITS), Unscored)
    assert list(Path("temporary").iterdir()) == []
    return starts


def kill_words(kind: str) -> tuple[str, ...]:
    role = "source" if kind == "edits" else "first_frame"
    prompts(*({"prompt_id": f"p{number}", "prompt": f"prompt {number}", role: "cup.png"} for number in range(6)))
    Path("wait.txt").write_text("0.05")
    more = ("--video",) if kind == "videos" else ()
    return (*more, "--command", program(f"{{{role}}}"), "--samples", "2", "--concurrency", "2")


@pytest.mark.slow  # kills
@pytest.mark.parametrize("kind", ["edits", "videos"])
def test_a_killed_job_loses_doubles_and_halves_nothing(folder: Path, kind: str) -> None:
    killed_and_resumed(3, *kill_words(kind), total=12)


@pytest.mark.study  # a hundred kills, some minutes
@pytest.mark.parametrize("kind", ["edits", "videos"])
def test_fifty_kills_of_each_lose_double_and_halve_nothing(folder: Path, kind: str) -> None:
    """Prints what it measured (``-s``)."""
    began = time.monotonic()
    starts = killed_and_resumed(50, *kill_words(kind), total=12)
    print(f"\n{kind}: 50 kills in {starts} starts, {time.monotonic() - began:.0f} s, the bytes of an undisturbed job")  # noqa: T201


def test_a_file_that_was_changed_is_not_taken_for_the_one_that_was_made(folder: Path) -> None:
    Path("prompts.txt").write_text("a red star\na blue star\n")
    words = ("--generator", "draw:0", "--samples", "2")
    assert generate(*words, file="prompts.txt").exit_code == 0
    made = {path: path.read_bytes() for path in Path("made").glob("*.png")}
    changed, other = sorted(made)[1:3]
    for content in (b"", b"no picture", made[changed][:200], made[other], made[changed][:-1] + b"\0"):
        changed.write_bytes(content)
        refused = generate(*words, "--samples", "3", file="prompts.txt")
        assert refused.exit_code != 0 and f"{changed}: is not the file that was made" in refused.output
        assert {*Path("made").glob("*.png")} == {*made}, "nothing is made"
    changed.unlink()
    assert generate(*words, file="prompts.txt").exit_code == 0
    assert {path: path.read_bytes() for path in Path("made").glob("*.png")} == made


@pytest.mark.slow  # a kill
def test_what_a_killed_process_was_writing_is_gone_after_the_next_start(folder: Path) -> None:
    prompts(*({"prompt_id": f"p{number}", "prompt": f"prompt {number}", "source": "cup.png"} for number in range(2)))
    Path("wait.txt").write_text("30")
    Path("temporary").mkdir()
    start = "from salon_console import main; main()"
    words = ["--command", program("{source}"), "--concurrency", "2"]
    command = [sys.executable, "-c", start, "bench", "generate", "prompts.jsonl", "--output", "made", *words]
    environment = {**os.environ, "TMPDIR": str(Path("temporary").absolute())}
    process = subprocess.Popen(command, start_new_session=True, env=environment, stderr=subprocess.DEVNULL)
    while not (Path("calls.txt").exists() and Path("calls.txt").read_text().count("\n") == 2):
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(60)
    assert list(Path("temporary").iterdir()) == []
    assert len(list(Path("made", WORKING).iterdir())) == 2
    for name in (".p0.0.png.4711-0badcafe.tmp", ".p0.0.png.tmp", "notes.tmp"):
        Path("made", name).touch()
    Path("wait.txt").write_text("0")
    assert generate(*words).exit_code == 0
    assert {path.name for path in Path("made").iterdir()} == {MANIFEST, "p0.0.png", "p1.0.png", ".p0.0.png.tmp", "notes.tmp"}


def test_what_is_no_plain_file_in_a_folder_of_sources_is_named_before_anything_is_made(folder: Path) -> None:
    Path("lines.txt").write_text("make it green\n")
    for kind, words in {
        "link": "lies outside",
        "nothing": "no such file",
        "circle": "in a circle",
        "pipe": "not a plain file",
        "sparse": "at most",
    }.items():
        place = folder / kind / "0001.png"
        place.parent.mkdir()
        if kind == "pipe":
            os.mkfifo(place)
        elif kind == "sparse":
            place.touch()
            os.truncate(place, 1 << 40)
        else:
            place.symlink_to({"link": "/etc/passwd", "nothing": "/no/such/file", "circle": place.name}[kind])
        refused = salon("bench", "generate", "lines.txt", "--source", kind, "--command", program("{source}"), "--output", "no")
        assert refused.exit_code == 2 and words in refused.output, (kind, refused.output)
        assert not Path("no").exists()


def test_a_run_says_which_files_were_made_of_another_prompt_or_source_than_it_shows(folder: Path) -> None:
    """A line that is put into the file of prompts moves all numbers of lines behind it, which are ids."""
    ask = '[[question]]\nid = "mine"\nask = "How good is it?"\nanswer = "score"\n'
    Path("mine.py").write_text("def one(images, prompts):\n    return [1.0] * len(images)\none.version = '1'\n")
    Path("plain.toml").write_text(f'name = "plain"\n{ask}')
    Path("edits.toml").write_text(f'name = "edits"\nprompts = "prompts.jsonl"\nshows = ["source", "result"]\n{ask}')
    Path("lines.txt").write_text("A red star.\nA blue circle.\n")
    scored = ("--model", "ours", "--scorer", "./mine.py:one", "--generations")
    plain = ("bench", "run", "./plain.toml", "--prompts", "lines.txt", *scored, "plain")
    assert generate("--generator", "draw:", "--output", "plain", file="lines.txt").exit_code == 0
    assert "made of another" not in salon(*plain).stderr
    Path("lines.txt").write_text("A sofa.\nA red star.\nA blue circle.\n")
    problem = "ours: 2 files were made of another prompt than the suite has now, such as that of the prompt '0001'."
    assert problem in salon(*plain).stderr

    Path("mine.py").write_text("def one(images, prompts, sources):\n    return [1.0] * len(images)\none.version = '1'\n")
    edits = ("bench", "run", "./edits.toml", *scored, "made")
    assert generate("--command", program("{source}")).exit_code == 0
    assert "made of another" not in salon(*edits).stderr
    Path("table.png").write_bytes(picture("green"))
    problem = "ours: 1 file was made of another source than the suite has now, such as that of the prompt 'two'."
    assert problem in salon(*edits).stderr
