"""A run is looked at from its log alone: every way in which a log can be cut off, broken or hostile, and what the page says."""

import json
import math
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from for_each import for_each
from salon_console import main
from salon_console.line_chart import HEIGHT, WIDTH, Curve, LineChart, Threshold, Upright, ticks
from salon_taxonomy.errors import InputError
from salon_taxonomy.testing import HOSTILE_REPLIES
from salon_train.report.curve_table import curve_groups
from salon_train.report.folders import read_runs
from salon_train.report.history import State, read_history
from salon_train.report.page import training_page
from salon_train.report.samples import read_samples
from salon_train.report.settings import settings_of
from salon_train.report.summary import summary
from salon_train.report.thresholds import thresholds_of

NUMBERS = {"loss": 0.5, "reward": 3.0, "rewards/own/mean": 3.0, "rewards/own/abstained": 0.0, "answers/normal": 0.25}


def row(what: str, step: int, **facts: object) -> dict[str, object]:
    return {"what": what, "step": step, "steps": 9, "at": "2026-11-22T10:00:00.000+00:00", "seconds": step * 1.0, **facts}


def text(rows: Iterable[Mapping[str, object]]) -> str:
    return "".join(f"{json.dumps(each)}\n" for each in rows)


def write(folder: Path, rows: Iterable[Mapping[str, object]] | str | bytes, stage: str = "grpo") -> Path:
    """A run folder with one log."""
    (folder / stage).mkdir(parents=True, exist_ok=True)
    content = rows if isinstance(rows, bytes) else (rows if isinstance(rows, str) else text(rows)).encode()
    (folder / stage / "log.jsonl").write_bytes(content)
    return folder


def whole(last: int = 3, **more: Any) -> list[dict[str, object]]:
    rows = [row("started", 0), row("evaluated", 0, f1_macro=0.1, normal=0.5)]
    for step in range(1, last + 1):
        rows.append(row("watched", step - 1, verdict="ok", length_drift=1.0, **{"length_drift/verdict": "ok"}))
        rows.append(row("learned", step, **{**NUMBERS, **more}))
    return [*rows, row("evaluated", last, f1_macro=0.4, normal=0.25), row("finished", last)]


def said(folder: Path) -> str:
    (run,) = read_runs([folder])
    return next(iter(run.stages.values())).history.sentence


@for_each("reply", HOSTILE_REPLIES)
def test_hostile_words_of_a_log_and_of_completions_are_shown_and_do_nothing(reply: str, tmp_path: Path) -> None:
    odd: dict[str, Any] = {reply or "x": 1.0, f"rewards/{reply}/mean": 2.0}
    rows = [*whole(**odd), row("degenerated", 3, reason=reply, said=reply)]
    rows.insert(2, row("warned", 0, monitor=reply, verdict=reply, value=reply, threshold=None, detail=reply))
    folder = write(tmp_path / "run", rows)
    sampled = {"step": 0, "completion": reply, "truth": reply, "bucket": reply, "reward": 1, "rewards": {reply: 0.5}}
    (folder / "grpo" / "completions.jsonl").write_text(text([sampled]), encoding="utf-8")
    runs = read_runs([folder])
    page = training_page(runs, title=reply)
    page.encode()
    assert "<script" not in page.lower()
    json.dumps(summary(runs), allow_nan=False)


def test_a_finished_run_says_so_with_its_steps_and_what_it_knows(tmp_path: Path) -> None:
    folder = write(tmp_path / "run", whole())
    page = training_page(read_runs([folder]))
    assert said(folder) == "Finished: 3 of 9 steps (2026-11-22 10:00 UTC)."
    for words in ("F1 macro on held-out pictures: 0.1 → 0.4.", "Mean of the reward own", "0 throughout", "held_out/f1_macro"):
        assert words in page


def test_a_run_that_is_going_on_is_shown_without_its_torn_last_line(tmp_path: Path) -> None:
    going = text(whole()[:-2])
    for end in ('{"what": "lear', '{"what": "learned", "step": 4', "{", '{"what": "x", "s": "\\'):
        folder = write(tmp_path / "run", going + end)
        (run,) = read_runs([folder])
        history = run.stages["grpo"].history
        assert (history.state, history.step, history.torn) == (State.UNFINISHED, 3, [len(going.splitlines()) + 1])
        assert "Line 9 of its log was cut off" in training_page([run])
    whole_but_for_its_break = write(tmp_path / "run", going + json.dumps(row("learned", 4, loss=0.1)))
    assert "Not finished: 4 of 9 steps" in said(whole_but_for_its_break)


def test_a_run_that_was_given_up_shows_its_own_sentence_or_what_an_older_log_knows(tmp_path: Path) -> None:
    rows = whole()[:-2]
    loud = row("watched", 3, verdict="stop", always_normal=0.95, **{"always_normal/verdict": "stop"})
    named = row("degenerated", 3, reason="monitor always_normal", said="ended at step 3: the monitor says stop.\nChange it.")
    folder = write(tmp_path / "own", [*rows, loud, named])
    assert said(folder) == "Given up after 3 of 9 steps (2026-11-22 10:00 UTC): the monitor says stop.\nChange it."
    spoke = {"monitor": "always_normal", "value": 0.95, "verdict": "stop", "threshold": 0.9, "samples": 32, "detail": "all"}
    loud = row("watched", 3, verdict="stop", completions=64, unreadable=0, readings=[spoke, 7])
    (history,) = [run.stages["grpo"].history for run in read_runs([write(tmp_path / "long", [*rows, loud])])]
    assert history.curves["monitor/always_normal"][3] == 0.95
    assert history.alarms["always_normal"] == {3: "stop"}
    assert 3 not in history.curves.get("monitor/unreadable", {})
    older = write(tmp_path / "older", [*rows, loud, row("degenerated", 3, reason="monitor always_normal")])
    assert said(older).endswith("the monitor always_normal says stop at 0.95.")
    equal = write(tmp_path / "equal", [*rows, row("degenerated", 3, reason="equal_rewards")])
    assert said(equal).endswith("the completions of every group earned the same, so nothing was learned.")
    assert 'class="upright ended"' in training_page(read_runs([equal]))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 6), st.booleans()), max_size=4), st.integers(1, 3))
def test_a_log_with_kills_in_it_has_the_curves_of_a_run_without(
    tmp_path_factory: pytest.TempPathFactory, kills: list[tuple[int, bool]], every: int
) -> None:
    """Each call goes on from the last checkpoint and is killed so many steps later, or after the next completions as well."""
    folder = tmp_path_factory.mktemp("killed")
    last = 8

    def call(checkpoint: int, until: int) -> tuple[list[dict[str, object]], int]:
        rows = [row("resumed", checkpoint) if checkpoint else row("started", 0)]
        rows += [] if checkpoint else [row("evaluated", 0, f1_macro=0.0)]
        for step in range(checkpoint + 1, until + 1):
            rows.append(row("watched", step - 1, verdict="warn", unreadable=step / 10, **{"unreadable/verdict": "warn"}))
            rows.append(row("learned", step, loss=1 / step))
            if step % every == 0:
                rows += [row("evaluated", step, f1_macro=step / 10), row("saved", step)]
                checkpoint = step
        return rows, checkpoint

    rows, checkpoint = [], 0
    for steps, sampled in kills:
        until = min(last - 1, checkpoint + steps)
        more, after = call(checkpoint, until)
        rows += more
        if sampled:
            rows.append(row("watched", until, verdict="warn", unreadable=0.99, **{"unreadable/verdict": "warn"}))
        checkpoint = after
    more, _ = call(checkpoint, last)
    broken = read_history(write(folder / "broken", rows + more) / "grpo" / "log.jsonl", "grpo")
    straight = read_history(write(folder / "straight", call(0, last)[0]) / "grpo" / "log.jsonl", "grpo")
    assert broken.curves == straight.curves
    assert broken.alarms == straight.alarms
    assert (broken.step, broken.state) == (last, State.UNFINISHED)
    assert len(broken.moments) <= len(kills)


def test_where_a_run_was_resumed_is_marked_and_what_it_lost_is_counted(tmp_path: Path) -> None:
    rows = [row("started", 0), row("learned", 1, loss=3.0), row("learned", 2, loss=2.0), row("resumed", 1)]
    folder = write(tmp_path / "run", [*rows, row("learned", 2, loss=1.0)])
    (run,) = read_runs([folder])
    history = run.stages["grpo"].history
    assert history.curves["loss"] == {1: 3.0, 2: 1.0}
    page = training_page([run])
    assert "Upright lines: Resumed at step 1; 1 step was done again." in page
    assert 'class="upright resumed"' in page


STRANGE = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
KINDS = st.sampled_from(["started", "resumed", "learned", "evaluated", "watched", "warned", "degenerated", "finished", "other"])
NAMES = st.sampled_from(["loss", "reward", "f1_macro", "f1/<b>", "answers/x", "unreadable", "unreadable/verdict", "detail"])
ROWS = st.builds(
    lambda what, step, facts: {"what": what, "step": step, **facts},
    KINDS | st.text(max_size=3) | st.none(),
    st.integers(0, 12) | st.just(2**53) | STRANGE,
    st.dictionaries(
        NAMES | st.sampled_from(["at", "seconds", "steps"]), STRANGE | st.sampled_from(["warn", "stop"]), max_size=4
    ),
)
LINES = st.one_of(ROWS.map(json.dumps), st.text(max_size=12), STRANGE.map(json.dumps)).map(
    lambda line: line.encode("utf-8", "ignore")
)


@settings(max_examples=40, deadline=None)
@given(st.lists(ROWS.map(lambda each: json.dumps(each).encode()) | LINES | st.binary(max_size=6), max_size=12))
def test_any_log_is_shown_or_refused_by_a_line_number(tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]) -> None:
    folder = write(tmp_path_factory.mktemp("any") / "run", b"\n".join(lines))
    try:
        runs = read_runs([folder])
    except InputError as error:
        assert error.line is not None or error.problem == "nothing is logged yet"
        assert str(folder) in str(error)
        return
    json.dumps(summary(runs), allow_nan=False)
    page = training_page(runs)
    assert "<script" not in page
    assert not re.search(r'[ "M,L](nan|-?inf)[ ,"]', page)


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(st.integers(0, 2**53), st.none() | st.floats(allow_nan=False, allow_infinity=False), max_size=20),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=3),
)
def test_whatever_the_numbers_are_the_drawing_stays_in_its_box(points: dict[int, float | None], levels: list[float]) -> None:
    chart = LineChart(
        "t",
        [Curve("a", points, alarms=dict.fromkeys(list(points)[:2], "warn"))],
        levels=[Threshold(value, kind) for value, kind in zip(levels, ("warn", "stop", "warn"), strict=False)],
        uprights=[Upright(3, "resumed", "r")],
        steps=(0, max(points, default=0)),
    )
    drawing = chart.html()
    for coordinates in re.findall(r'(?: d| cx| cy| x| y)="([^"]*)"', drawing):
        numbers = [float(found) for found in re.findall(r"-?[\d.]+(?:e[-+]?\d+)?", coordinates)]
        assert all(math.isfinite(found) and -10 <= found <= max(WIDTH, HEIGHT) for found in numbers), coordinates


@settings(max_examples=300)
@given(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300), st.booleans())
def test_ticks_are_few_rise_and_hold_the_range(one: float, other: float, whole_numbers: bool) -> None:
    low, high = max(-1e150, min(one, other)), min(1e150, max(one, other))
    found = ticks(min(one, other), max(one, other), whole=whole_numbers)
    assert 1 < len(found) <= 12
    assert found == sorted(set(found))
    slack = 1e-6 * max(abs(found[0]), abs(found[-1]))
    assert found[0] - slack <= low
    assert found[-1] + slack >= high


def test_of_many_points_no_peak_is_lost() -> None:
    points: dict[int, float | None] = dict.fromkeys(range(5000), 0.0)
    points[2501] = 7.0
    drawing = LineChart("t", [Curve("a", points)], steps=(0, 4999)).html()
    assert len(drawing) < 60_000
    (path,) = re.findall(r'<path class="line c0 d0" d="(M[^"]{20,})"', drawing)
    assert min(float(found) for found in re.findall(r",([\d.]+)", path)) < 40  # the peak; the ground is at 164


def test_a_gap_is_no_line_and_a_lone_number_is_a_dot() -> None:
    drawing = LineChart("t", [Curve("a", {1: 1.0, 2: None, 3: 1.0, 4: 2.0})], steps=(0, 4)).html()
    (path,) = re.findall(r'<path class="line c0 d0" d="([^"]*)"', drawing)
    assert path.count("M") == 1
    assert drawing.count("<circle") == 3


@pytest.mark.parametrize(
    ("made", "words"),
    [
        ("missing", "missing: there is no such file or folder"),
        ("file", "file: is a file, not the folder of a run\nGive the folder of the run: "),
        (
            "empty",
            "empty: is empty: there is no log of a run (allowed: sft/log.jsonl, grpo/log.jsonl, refine/log.jsonl, image/log",
        ),
        ("other", "other: holds no log of a run (allowed: sft/log.jsonl"),
        ("begun", "log.jsonl: nothing is logged yet"),
        ("prose", "log.jsonl, line 2: is no JSON object (not JSON at character 0: expecting value)"),
        ("list", "log.jsonl, line 2: is no JSON object"),
        ("bytes", "log.jsonl, line 2: is not UTF-8 at byte 0"),
        ("wordless", "log.jsonl, line 2, key 'what': must be a word"),
        ("stepless", "log.jsonl, line 2, key 'step': must be a whole number of 0 or more"),
        ("negative", "log.jsonl, line 2, key 'step': must be a whole number of 0 or more -1"),
        ("settings", "configuration.json: is no JSON ("),
        ("thresholds", "changeable.json: holds thresholds that are refused (must not be below 'warn')"),
        ("completions", "completions.jsonl, line 1, key 'step': must be a whole number of 0 or more"),
    ],
)
def test_what_is_no_run_is_refused_with_the_place_and_exit_code_2(made: str, words: str, tmp_path: Path) -> None:
    first = text([row("started", 0)])
    broken = {"prose": "so far so good\n", "list": "[1]\n", "wordless": '{"step": 1}\n', "stepless": '{"what": "learned"}\n'}
    broken["negative"] = '{"what": "learned", "step": -1}\n'
    folder = tmp_path / made
    if made == "file":
        folder.write_text("")
    elif made == "empty":
        folder.mkdir()
    elif made == "other":
        write(folder, whole(), stage="elsewhere")
    elif made == "begun":
        write(folder, "")
    elif made == "bytes":
        write(folder, first.encode() + b"\xff\n")
    elif made in broken:
        write(folder, first + broken[made])
    elif made != "missing":
        write(folder, whole())
    if made == "settings":
        (folder / "grpo" / "configuration.json").write_text("{")
    if made == "thresholds":
        (folder / "grpo" / "changeable.json").write_text('{"monitors.thresholds.length_drift": [3, 2]}')
    if made == "completions":
        (folder / "grpo" / "completions.jsonl").write_text('{"completion": "x"}\n')
    done = CliRunner().invoke(main, ["train", "report", str(folder)])
    assert done.exit_code == 2
    assert words in done.stderr
    assert not (tmp_path / made / "report.html").exists()


def test_one_stage_may_be_given_alone_and_a_folder_only_once(tmp_path: Path) -> None:
    folder = write(tmp_path / "run", whole())
    (run,) = read_runs([folder / "grpo"])
    assert list(run.stages) == ["grpo"]
    with pytest.raises(InputError, match="occurs twice"):
        read_runs([folder, tmp_path / "run" / "grpo" / ".."])
    with pytest.raises(InputError, match="at most 8 runs stand side by side"):
        read_runs([folder] * 9)


def test_two_runs_share_their_charts_and_what_differs_in_their_settings_comes_first(tmp_path: Path) -> None:
    told = {"stage": "grpo", "grpo.temperature": 1.0, "grpo.batch": 16, "model.name": "tiny", "grpo.kl": 0.0}
    one, other = (write(tmp_path / name / "run", whole()) for name in ("a", "b"))
    (one / "grpo" / "configuration.json").write_text(json.dumps(told))
    (other / "grpo" / "configuration.json").write_text(json.dumps({**told, "grpo.temperature": 0.7}))
    runs = read_runs([one, other])
    assert [run.name for run in runs] == ["a/run", "b/run"]
    page = training_page(runs)
    assert page.index("Settings that differ between these runs") < page.index("grpo.temperature") < page.index("model.name")
    assert "1 settings as usual" in page
    assert page.count('role="img" aria-label="Loss. a/run: 0.5 at step 1') == 1
    assert settings_of(runs[1])["grpo.temperature"] == 0.7


def test_a_setting_that_one_run_was_told_and_the_other_was_not_differs_unless_its_folder_cannot_say(tmp_path: Path) -> None:
    one, other = (write(tmp_path / name, whole()) for name in ("a", "b"))
    for folder in (one, other):
        (folder / "grpo" / "configuration.json").write_text('{"stage": "grpo", "grpo.batch": 16}')
    (one / "grpo" / "changeable.json").write_text('{"monitors.thresholds.length_drift": [2, 3]}')
    assert "These runs have the same settings." in training_page(read_runs([one, other]))
    (other / "grpo" / "changeable.json").write_text('{"monitors.on": true}')
    assert "<td>monitors.thresholds.length_drift</td><td>2, 3</td><td>missing</td>" in training_page(read_runs([one, other]))


def test_thresholds_are_the_runs_own_or_those_that_its_warnings_name_or_the_monitors(tmp_path: Path) -> None:
    warned = row("warned", 1, monitor="length_drift", verdict="warn", value=0.5, threshold=0.5, detail="shorter")
    folder = write(tmp_path / "run", [*whole(), warned])

    def held() -> Any:
        (run,) = read_runs([folder])
        return thresholds_of(run.stages["grpo"])

    assert (held()["length_drift"].warn, held()["length_drift"].stop) == (2.0, 3.0)
    (folder / "grpo" / "changeable.json").write_text('{"monitors.thresholds.length_drift": [2.5, "inf"]}')
    assert (held()["length_drift"].warn, held()["length_drift"].stop) == (2.5, math.inf)
    assert list(held()) == ["length_drift"]  # others have no reading here
    page = training_page(read_runs([folder]))
    assert "warns at 2.5 and 0.4" in page
    assert "stops at" not in page


def test_completions_of_the_first_a_middle_and_the_last_step_are_sampled_evenly(tmp_path: Path) -> None:
    rows = [{"step": step, "completion": f"{step}-{place}", "reward": None} for step in range(5) for place in range(8)]
    path = tmp_path / "completions.jsonl"
    path.write_text(text([{"step": 0, "held_out": 0.5}, *rows]) + '{"step": 5, "comp', encoding="utf-8")
    assert [sample.text for sample in read_samples(tmp_path, per_step=2)] == ["0-0", "0-4", "2-0", "2-4", "4-0", "4-4"]
    assert read_samples(tmp_path / "nowhere") == []


def test_a_page_of_several_runs_needs_a_name_and_json_goes_to_the_screen(tmp_path: Path) -> None:
    one, other = (str(write(tmp_path / name, whole())) for name in ("a", "b"))
    assert CliRunner().invoke(main, ["train", "report", one, other]).exit_code == 2
    done = CliRunner().invoke(main, ["train", "report", one, other, "--format", "json"])
    found = json.loads(done.stdout)
    assert [run["name"] for run in found["runs"]] == ["a", "b"]
    assert found["runs"][0]["stages"][0]["curves"]["loss"] == [[1, 0.5], [2, 0.5], [3, 0.5]]
    written = CliRunner().invoke(main, ["train", "report", one, other, "--output", str(tmp_path / "page.html")])
    assert written.stdout == (
        "a grpo: Finished: 3 of 9 steps (2026-11-22 10:00 UTC).\nb grpo: Finished: 3 of 9 steps (2026-11-22 10:00 UTC).\n"
        f"page: {tmp_path / 'page.html'}\n"
    )
    unknown = CliRunner().invoke(main, ["train", "report", one, "--output", str(tmp_path / "page.txt")])
    assert unknown.exit_code == 2
    assert not (tmp_path / "page.txt").exists()


def test_charts_keep_their_order_their_words_and_room_for_the_rest() -> None:
    names = [f"rewards/r{number}/abstained" for number in range(12)] + ["kl", "held_out/own"]
    groups = curve_groups(names)
    assert [(group.title, len(group.names), group.left_out) for group in groups] == [
        ("own", 1, 0),
        ("Share of completions that a reward abstained from", 10, 2),
        ("Divergence from the first weights (KL)", 1, 0),
    ]


def test_no_torch_is_needed(tmp_path: Path) -> None:
    folder = write(tmp_path / "run", whole())
    program = (
        "import sys; sys.modules['torch'] = None; sys.modules['transformers'] = None; sys.modules['trl'] = None\n"
        "from salon_console import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", program, "train", "report", str(folder)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (folder / "report.html").is_file()
