"""Measure the cost of a sample in a whole run, beside a bare HTTP loop and inspect_ai.

Every contender is a fresh process; the mock server is another one. Not part of the tests:

    python benchmarks/bench_runner.py                     2,000 samples, 64 at once, the server takes 5 ms
    python benchmarks/bench_runner.py --pictures 300      samples with a picture of 200 KB each
    python benchmarks/bench_runner.py --only salon bare

Columns: samples per second from the start of asking to the last row, milliseconds of processor time per sample (user and
system) of the whole process and of asking alone (without imports), the same of its children (Salon folds rows into Parquet in
one), the largest resident memory of each, the seconds from the start of the process to the first request, and all of it.
inspect_ai is left out when it is not installed (`pip install inspect-ai openai`).
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve()

SERVER = """
import asyncio, sys
from salon_judges.testing.mock_server import Latency, MockServer, Script, fixed
async def main():
    reply = '{"score": 7, "justification": "One finger too many on the left hand."}'
    script = Script(rule=fixed(reply), latency=Latency.fixed(5))
    async with MockServer(script, remember=0) as server:
        first = None
        print(server.url, flush=True)
        while True:
            await asyncio.sleep(0.001)
            if server.stats.requests and first is None:
                import time
                first = time.time()
                print(first, flush=True)
asyncio.run(main())
"""

COMMON = """
import json, resource, sys, time
def report(began, extra=None):
    process = time.process_time() - began
    own, kids = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    times = {"cpu": own.ru_utime + own.ru_stime, "children": kids.ru_utime + kids.ru_stime, "cpu_asking": process}
    print(json.dumps({**times, "rss": own.ru_maxrss / 1024, "children_rss": kids.ru_maxrss / 1024, **(extra or {})}))
"""

SALON = (
    COMMON
    + """
import asyncio, sys
from pathlib import Path
from salon_judges.clients import ChatSettings, OpenAICompatibleJudge
from salon_judges.media import PicturePolicy
from salon_bench.runs.checkpoint import fold_apart
from salon_bench.runs.plan import SubjectModel, planned
from salon_bench.runs.suite_runner import Pace
from salon_bench.runs.suite_runner import execute
from salon_bench.suites.contract.base import SuiteBase
from salon_bench.suites.contract.suite import (Case, Inquiry, SuitePrompt, one_picture_cases)
from salon_judges.asking.templates import Templates
from salon_taxonomy.answers import parse_prism
from salon_taxonomy.digest import digest
from salon_taxonomy.protocols import Question
from salon_taxonomy.records import Prompt
from salon_taxonomy.verdict import Scored

url, samples, at_once, folder, store = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]), Path(sys.argv[5])
pictures = sys.argv[6] == "pictures"
words = folder / "words"

class Bench(SuiteBase):
    name, version, pictures = "bench", "1", PicturePolicy()
    def __init__(self):
        self.templates = Templates(words)
    def prompts(self, source):
        texts = [f"a cat number {n} on a red sofa" for n in range(samples)]
        return [SuitePrompt(Prompt(prompt_id=f"{n:05d}", suite="bench", text=text)) for n, text in enumerate(texts)]
    def cases(self, prompts, generations):
        if pictures:
            yield from one_picture_cases("bench", prompts, generations)
            return
        for item in prompts:
            yield Case(digest("case", item.prompt.prompt_id), "bench", "m", item.prompt)
    def examine(self, case):
        text = self.templates.render("ask", prompt=case.prompt.text)
        answer = yield Inquiry("judge", Question((text, *case.media)), parse_prism)
        return [case.score("judge", "score", Scored(answer.value.score) if isinstance(answer, Scored) else answer)]
    def aggregate(self, scores, assessments):
        raise NotImplementedError

judge = OpenAICompatibleJudge(ChatSettings(model="mock", base_url=url, limits={"concurrency": at_once}))
made = planned(Bench(), [SubjectModel("m", folder / "pictures")], judge)
began = time.process_time()
outcome = asyncio.run(execute(made, judge, store, pace=Pace(at_once), fold=fold_apart))
assert outcome.complete and outcome.progress.done == samples, outcome
report(began, {"asking": outcome.progress.seconds})
"""
)

BARE = (
    COMMON
    + """
import asyncio, base64, sys
from pathlib import Path
import aiohttp
url, samples, at_once, folder, store = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]), Path(sys.argv[5])
pictures = sys.argv[6] == "pictures"
HEADERS = {"Content-Type": "application/json"}
async def main():
    numbers = iter(range(samples))
    with store.with_suffix(".jsonl").open("w") as journal:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=at_once)) as session:
            async def worker():
                for n in numbers:
                    content = [{"type": "text", "text": f"How good is this? a cat number {n} on a red sofa"}]
                    if pictures:
                        data = base64.b64encode((folder / "pictures" / f"{n:05d}.png").read_bytes()).decode()
                        content.append({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}})
                    body = json.dumps({"model": "mock", "messages": [{"role": "user", "content": content}]}).encode()
                    async with session.post(url + "/chat/completions", data=body, headers=HEADERS) as reply:
                        document = json.loads(await reply.read())
                    text = document["choices"][0]["message"]["content"]
                    journal.write(json.dumps({"n": n, "text": text, "score": json.loads(text)["score"]}) + "\\n")
                    journal.flush()
            await asyncio.gather(*[worker() for _ in range(at_once)])
cpu, began = time.process_time(), time.perf_counter()
asyncio.run(main())
report(cpu, {"asking": time.perf_counter() - began})
"""
)

INSPECT = (
    COMMON
    + """
import os, sys
from pathlib import Path
url, samples, at_once, folder, store = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]), Path(sys.argv[5])
pictures = sys.argv[6] == "pictures"
os.environ["OPENAI_API_KEY"] = "none"
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageUser, ContentImage, ContentText, get_model
from inspect_ai.scorer import match
def sample(n):
    text = f"How good is this? a cat number {n} on a red sofa"
    if not pictures:
        return Sample(input=text, target="7")
    image = ContentImage(image=str(folder / "pictures" / f"{n:05d}.png"))
    return Sample(input=[ChatMessageUser(content=[ContentText(text=text), image])], target="7")
cpu, began = time.process_time(), time.perf_counter()
task = Task(dataset=[sample(n) for n in range(samples)], scorer=match())
model = get_model("openai/mock", base_url=url, responses_api=False)
logs = eval(task, model=model, max_connections=at_once, max_samples=at_once, display="none", log_dir=str(store))
assert logs[0].status == "success", logs[0].error
report(cpu, {"asking": time.perf_counter() - began})
"""
)
CONTENDERS = {"salon": SALON, "bare": BARE, "inspect_ai": INSPECT}


def prepare(folder: Path, samples: int, pictures: bool) -> None:
    """A template, and pictures of about 200 KB that do not compress."""
    (folder / "words").mkdir()
    (folder / "words" / "ask.jinja").write_text("How good is this, from 0 to 10?\n{{ data(prompt) }}\nAnswer in JSON.")
    (folder / "pictures").mkdir()
    if not pictures:
        (folder / "pictures" / "00000.png").write_bytes(b"")
        return
    from PIL import Image

    for number in range(samples):
        Image.frombytes("RGB", (258, 258), os.urandom(258 * 258 * 3)).save(folder / "pictures" / f"{number:05d}.png")


def measured(name: str, code: str, samples: int, at_once: int, folder: Path, mode: str) -> dict[str, float]:
    """One fresh contender against one fresh server."""
    server = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        store = folder / f"store-{name}-{time.monotonic_ns()}"
        arguments = [url, str(samples), str(at_once), str(folder), str(store), mode]
        began, wall = time.time(), time.perf_counter()
        done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
        wall = time.perf_counter() - wall
        if done.returncode != 0:
            raise SystemExit(f"{name} failed:\n{done.stderr[-3000:]}")
        first = float(server.stdout.readline())
    finally:
        server.kill()
        server.wait()
    found = json.loads(done.stdout.strip().splitlines()[-1])
    return {**found, "first": first - began, "wall": wall}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--pictures", type=int, default=0, help="so many samples with a picture each, in place of --samples")
    parser.add_argument("--repeat", type=int, default=3, help="the fastest counts")
    parser.add_argument("--only", nargs="*", choices=list(CONTENDERS), default=list(CONTENDERS))
    chosen = parser.parse_args()
    samples, mode = (chosen.pictures, "pictures") if chosen.pictures else (chosen.samples, "text")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder, samples, mode == "pictures")
        print(f"{samples} samples ({mode}), {chosen.concurrency} at once, the server takes 5 ms; best of {chosen.repeat}\n")
        heads = (("samples/s", 11), ("ms CPU", 9), ("of asking", 11), ("+children", 11), ("MB", 6), ("children", 10))
        print(" " * 12 + "".join(f"{head:>{width}}" for head, width in (*heads, ("first request s", 17), ("wall s", 9))))
        for contender in chosen.only:
            if contender == "inspect_ai" and find_spec("inspect_ai") is None:
                print(f"{contender:12} is not installed")
                continue
            code, at_once = CONTENDERS[contender], chosen.concurrency
            runs = [measured(contender, code, samples, at_once, folder, mode) for _ in range(chosen.repeat)]
            best = {key: min(run[key] for run in runs) for key in runs[0]}
            line = f"{contender:12}{samples / best['asking']:11,.0f}{best['cpu'] / samples * 1000:9.3f}"
            line += f"{best['cpu_asking'] / samples * 1000:11.3f}"
            line += f"{best['children'] / samples * 1000:11.3f}{best['rss']:6.0f}{best['children_rss']:10.0f}"
            print(line + f"{best['first']:17.2f}{best['wall']:9.2f}")


if __name__ == "__main__":
    main()
