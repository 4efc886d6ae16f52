"""Plans against the run that follows, simulated walls against a plain clock, drift against a plain comparison."""

import asyncio
import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from curate_world import drawn, made, tree
from hypothesis import given
from hypothesis import strategies as st

from for_each import for_each
from salon_curate import asks
from salon_curate.cli import curate
from salon_curate.cli import stages as commands
from salon_curate.costs import COSTS, PartCost, recorded_costs
from salon_curate.dataset import DataSet, Shard
from salon_curate.drift import drift
from salon_curate.duplicates_and_splits import duplicates
from salon_curate.engine import inline
from salon_curate.judging import JudgedStage, judge_stage
from salon_curate.measures import look
from salon_curate.pipeline import PIPELINE
from salon_curate.planning import EstimatedTotal, actual, plan, sample_of, total_of, wall_seconds
from salon_curate.running import StageProgress, run
from salon_curate.selection import read_columns
from salon_curate.stages import DataSetStage
from salon_curate.tasks import Spent
from salon_judges.clients import CachedJudge, ChatSettings, ResponseCache, RoutedJudge
from salon_judges.clients.collecting import CollectingJudge
from salon_synthetic import PixelJudge, PixelSettings
from salon_taxonomy.errors import InputError
from salon_taxonomy.protocols import Media, Reply, Usage
from salon_taxonomy.verdict import Reason, Scored, Unscored


class Priced:
    """Answers by the question's digest, asks again for every seventh, and reports tokens and a price."""

    name, version = "priced", "v1"

    def __init__(self):
        self.asked = []

    async def ask(self, question):
        await asyncio.sleep(0)
        request = question.request_sha256()
        self.asked.append(request)
        number = int(request[:6], 16)
        text = "no" if number % 7 == 0 else json.dumps({"score": 1 + number % 10})
        return Reply(text, version=self.version, usage=Usage(900 + number % 200, 10 + number % 20, 0.001))


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return drawn(tmp_path_factory.mktemp("plan") / "in", 40)


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    return drawn(tmp_path_factory.mktemp("few") / "in", 8)


def stages_of(judge):
    return [look, duplicates, judge_stage(asks.alignment(), judge, when="contrast > 20 AND duplicate_of IS NULL")]


@pytest.mark.slow  # a plan and its whole run
def test_a_plan_of_some_shards_is_within_a_tenth_of_the_run_and_its_replies_are_not_paid_again(tmp_path, source):
    dataset, judge = made(tmp_path / "d", source, shard_rows=8), Priced()
    stages = stages_of(judge)
    planned = plan(dataset, stages, share=0.2, seed=3, engine=inline)
    assert [each.measured for each in planned] == [8, 8, 8] and len(dataset.shards) == 40
    assert 0 < len(judge.asked) < 100
    assert [each.asked for each in planned] == [0, 0, len(judge.asked)]
    assert run(dataset, stages, engine=inline).set_aside == ()
    assert len(judge.asked) == len(set(judge.asked))
    for one, other in zip(planned, actual(dataset, stages), strict=True):
        for name in ("calls", "prompt_tokens", "completion_tokens", "cost_usd", "bytes_read"):
            assert one.totals[name].value == pytest.approx(other.totals[name].value, rel=0.1), (one.stage, name)
    real = actual(dataset, stages)[2].totals
    assert real["calls"].value == len(judge.asked) and real["cost_usd"].value == pytest.approx(0.001 * len(judge.asked))
    again = plan(dataset, stages, share=0.2, seed=3, engine=inline)
    assert again[2].totals["calls"] == planned[2].totals["calls"]
    leftovers = {path.parent.name for path in (dataset.folder / "columns").rglob("*.parquet")}
    assert all(len(list((dataset.folder / "columns" / name).iterdir())) == 40 for name in leftovers)


@pytest.mark.slow
def test_intervals_of_a_plan_hold_the_total_as_often_as_they_say(tmp_path, source):
    dataset = made(tmp_path / "d", source, shard_rows=8)
    stages = stages_of(Priced())
    run(dataset, stages, engine=inline)
    truth = actual(dataset, stages)[2].totals["calls"].value
    costs, stage = recorded_costs(dataset), stages[2].identity
    covered = 0
    for seed in range(300):
        chosen = [costs[stage, shard.name] for shard in sample_of(dataset, 0.2, seed).shards]
        found = total_of(chosen, "calls", dataset.shards)
        covered += found.low <= truth <= found.high
    assert 0.9 <= covered / 300 <= 0.99


@given(st.lists(st.tuples(st.integers(1, 50), st.floats(0, 9)), min_size=2, max_size=9), st.integers(0, 9))
def test_an_interval_of_a_total_is_that_of_the_ratio_estimator_and_nothing_where_every_shard_is_known(parts, others):
    stats = pytest.importorskip("scipy.stats")
    known = [PartCost(rows, 0, 0, Spent(cost_usd=value)) for rows, value in parts]
    shards = [Shard(f"{place}", rows, 0, "") for place, rows in enumerate([*(rows for rows, _ in parts), *[7] * others])]
    rows, values = np.array(parts).T
    ratio, share = values.sum() / rows.sum(), len(parts) / len(shards)
    total = ratio * sum(shard.rows for shard in shards)
    mean_error = np.sqrt((1 - share) * np.sum((values - ratio * rows) ** 2) / (len(parts) - 1) / len(parts))
    reach = stats.t(len(parts) - 1).ppf(0.975) * mean_error * len(shards)
    found = total_of(known, "cost_usd", shards)
    assert (found.value, found.high - found.value) == pytest.approx((total, reach), abs=1e-9)
    assert found.low == pytest.approx(max(0.0, total - reach), abs=1e-9)
    assert others or found.low == found.value == found.high
    unpriced = [*known, PartCost(3, 0, 0, Spent(cost_usd=None))]
    assert total_of(unpriced, "cost_usd", shards).value is None
    alone = total_of(known[:1], "cost_usd", shards[:1])
    assert alone.low == alone.value == alone.high == pytest.approx(parts[0][1])
    assert total_of(known[:1], "cost_usd", shards).low is None


def test_a_sample_is_refused_when_it_is_none(tmp_path, source):
    dataset = made(tmp_path / "d", source, shard_rows=160)
    for share in (0.0, 1.5):
        with pytest.raises(InputError, match="at most 1"):
            sample_of(dataset, share)
    with pytest.raises(InputError, match="has no pictures"):
        sample_of(DataSet.create(tmp_path / "empty"), 0.5)


def test_costs_that_a_full_disk_cut_off_take_no_other_with_them(tmp_path, few):
    dataset = made(tmp_path / "d", few, shard_rows=8)
    plan(dataset, [look], share=0.3, engine=inline)
    path, whole = dataset.folder / COSTS, (dataset.folder / COSTS).read_bytes()
    before, parts = recorded_costs(dataset), tree(dataset.folder, "columns")
    for cut in range(1, len(whole), 37):
        path.write_bytes(whole[:cut])
        left = recorded_costs(dataset)
        for part in set(tree(dataset.folder, "columns")) - set(parts):
            (dataset.folder / part).unlink()
        run(dataset, [look], engine=inline)
        later = [shard.name for shard in dataset.shards if (look.identity, shard.name) not in before]
        assert set(recorded_costs(dataset)) == {*left, *((look.identity, name) for name in later)}


def test_a_plan_of_stored_replies_has_no_wall_and_workers_share_what_no_judge_makes(tmp_path, few):
    dataset = made(tmp_path / "d", few, shard_rows=4)
    stages = stages_of(Priced())
    plans = plan(dataset, stages, share=0.2, engine=inline)
    alone, shared = (wall_seconds(plans, stages, workers=workers) for workers in (1, 4))
    seconds = {each.stage: each.totals["seconds"].value for each in plans}
    judged = sum(seconds[stage.name] for stage in stages if isinstance(stage, DataSetStage | JudgedStage))
    assert alone == pytest.approx(sum(seconds.values()))
    assert shared == pytest.approx(judged + (alone - judged) / 4) and 0 < judged < shared < alone
    crowded = [wall_seconds(plans, stages, workers=workers) for workers in (len(dataset.shards), 500)]
    assert crowded == [pytest.approx(judged + (alone - judged) / len(dataset.shards))] * 2  # a shard has one worker
    dataset = made(tmp_path / "other", few, shard_rows=4)
    (dataset.folder / PIPELINE).write_text('[[stage]]\nuse = "look"\n[[stage]]\nask = "agreement"\njudge = "pixels:"\n')
    words = ["plan", str(dataset.folder), "--format", "json"]
    assert json.loads(CliRunner().invoke(curate, words).output)["wall_seconds"] > 0
    with (dataset.folder / PIPELINE).open("a") as file:
        file.write('when = "contrast > 0"\n')
    assert json.loads(CliRunner().invoke(curate, words).output)["wall_seconds"] is None
    assert "1 judge: not known" in CliRunner().invoke(curate, words[:2]).output


def test_drift_is_nothing_for_the_same_answers_and_what_a_plain_comparison_counts_for_others(tmp_path, few):
    dataset = made(tmp_path / "d", few, shard_rows=50)
    cheap, keen = (judge_stage(asks.agreement(), PixelJudge(PixelSettings(blur=blur)), when="contrast > 20") for blur in (6, 0))
    stages = [look, cheap]
    run(dataset, stages, engine=inline)
    before = tree(dataset.folder, ".")
    for name in ("look", "agreement"):
        same = drift(dataset, stages, name, rows=40, seed=1)
        assert all((each.changed, each.rows, each.lost, each.found) == (0, 40, 0, 0) for each in same)
        assert all(each.shift in (0.0, None) and each.low == 0 < each.high for each in same)
    found = {each.column: each for each in drift(dataset, stages, "agreement", now=keen, rows=1000)}
    assert {path: data for path, data in tree(dataset.folder, ".").items() if "cache" not in path} == {
        path: data for path, data in before.items() if "cache" not in path
    }
    other = made(tmp_path / "o", few, shard_rows=50)
    run(other, [look, keen], engine=inline)
    now = read_columns(other, [look, keen], ["agrees"]).collect()
    stored = read_columns(dataset, stages, ["agrees"]).collect()
    asked = stored["agrees"].is_not_null() & now["agrees"].is_not_null()
    changed = int((stored["agrees"] != now["agrees"]).fill_null(False).sum())
    assert found["agrees"].changed == changed > 0
    shift = (now["agrees"].filter(asked).cast(float) - stored["agrees"].filter(asked).cast(float)).mean()
    assert found["agrees"].shift == pytest.approx(shift) and found["agrees"].shift_low < shift < found["agrees"].shift_high


def test_drift_refuses_a_judge_that_answers_from_a_cache_or_a_recording(tmp_path):
    table = drawn(tmp_path / "in", 1)
    judge = CachedJudge(PixelJudge(), ResponseCache(tmp_path / "cache"))
    for replayed in (False, True):
        dataset = made(tmp_path / str(replayed), table)
        stages = [look, judge_stage(asks.agreement(), judge)]
        run(dataset, stages, engine=inline)
        if replayed:
            stages[1] = replace(stages[1], judge=CachedJudge.replay(tmp_path / "cache"))
        again = drift(dataset, stages, "agreement", now=judge_stage(asks.agreement(), PixelJudge()), rows=20)
        assert {each.changed for each in again} == {0}
        before = tree(dataset.folder, ".")
        with pytest.raises(InputError, match=r"from a cache or a recording.*'agreement'(.|\n)*--now JUDGE"):
            drift(dataset, stages, "agreement", rows=20)
        assert tree(dataset.folder, ".") == before


@pytest.mark.parametrize("wrapped", ["alone", "routed", "cached"])
def test_drift_refuses_a_judge_whose_replies_lie_in_a_batch_folder(tmp_path, few, wrapped):
    dataset = made(tmp_path / "d", few, shard_rows=160)
    stages = [look, judge_stage(asks.agreement(), PixelJudge())]
    run(dataset, stages, engine=inline)
    judge = CollectingJudge(ChatSettings(model="m", base_url="http://127.0.0.1:1"), tmp_path / "calls")
    if wrapped == "routed":
        judge = RoutedJudge({"*": judge})
    elif wrapped == "cached":
        judge = CachedJudge(judge, ResponseCache(tmp_path / "cache"))
    with pytest.raises(InputError, match="answers from a batch folder, so drift cannot be seen"):
        drift(dataset, stages, "agreement", now=judge_stage(asks.agreement(), judge))
    assert not (tmp_path / "calls").exists()


def test_drift_refuses_what_it_cannot_compare(tmp_path, few):
    dataset = made(tmp_path / "d", few, shard_rows=160)
    run(dataset, [look, duplicates], engine=inline)
    for name, now, words in (
        ("lok", None, "look"),
        ("duplicates", None, "whole data set"),
        ("look", duplicates, "other columns"),
    ):
        with pytest.raises(InputError, match=words):
            drift(dataset, [look, duplicates], name, now=now)


def test_the_commands_print_plan_and_drift(tmp_path, few):
    dataset = made(tmp_path / "d", few, shard_rows=4)
    (dataset.folder / PIPELINE).write_text('[[stage]]\nuse = "look"\n[[stage]]\nask = "agreement"\njudge = "pixels:"\n')
    folder = str(dataset.folder)

    def call(*words):
        done = CliRunner().invoke(curate, [str(each) for each in words], catch_exceptions=True)
        return done.output + str(done.exception or "")

    assert "2 of 16" in call("plan", folder) and "1 judge" in call("plan", folder, "--share", 0.2)
    assert "time with 1 worker and" in call("plan", folder) and "time with 3 workers and" in call(
        "plan", folder, "--workers", 3
    )
    assert json.loads(call("plan", folder, "--format", "json"))["stages"][1]["totals"]["calls"]["value"] == pytest.approx(64)
    assert call("run", folder, "--quiet", "--engine", "inline").startswith(
        "26 parts made, 6 were there; 0 rows without a value"
    )
    assert "agrees" in call("drift", folder, "--stage", "agreement", "--rows", 20)
    moved = call("drift", folder, "--stage", "agreement", "--now", "pixels:blur=8", "--at-most", 0.01)
    assert "is above --at-most 0.01" in moved
    assert "asks no judge" in call("drift", folder, "--stage", "look", "--now", "pixels:blur=8")


@for_each(
    ("seconds", "words"),
    [(0.04, "0.0 s"), (119.9, "119.9 s"), (120.0, "2.0 min"), (7199.0, "120.0 min"), (7200.0, "2.0 h"), (4.2e6, "1,166.7 h")],
)
def test_a_duration_is_in_the_unit_that_fits(seconds, words):
    assert commands._duration(seconds) == words


@for_each(
    ("total", "unit", "words"),
    [
        ((None,), 1.0, "–"),
        ((99.6,), 1.0, "99.6"),
        ((1234.5,), 1.0, "1,234"),
        ((2.5e6, None, None), 1e6, "2.5"),
        ((1234.0, 1234.0, 1234.0), 1.0, "1,234"),
        ((1000.0, 900.0, 1100.0), 1.0, "1,000 ± 1e+02"),
        ((2.5e6, 2.0e6, 3.0e6), 1e6, "2.5 ± 0.5"),
    ],
)
def test_a_total_has_three_digits_and_half_its_interval(total, unit, words):
    assert commands._total_of(EstimatedTotal(*total), unit) == words


@for_each(
    ("text", "shards"), [(None, None), ("0-3", range(4)), ("2", range(2, 3)), ("2-99", range(2, 5)), ("4-4", range(4, 5))]
)
def test_a_range_of_shards_is_both_ends_and_what_there_is(text, shards):
    assert commands._shard_range(text, 5) == shards


@for_each("text", ["5", "3-2", "-1", "1-", "a", "1-b", "²"])
def test_what_is_no_range_of_shards_is_refused(text):
    with pytest.raises(InputError) as raised:
        commands._shard_range(text, 5)
    assert raised.value.column == "shards"


def test_progress_is_printed_once_a_second_and_at_the_end(monkeypatch, capsys):
    now = [100.0]
    monkeypatch.setattr(commands.time, "monotonic", lambda: now[0])
    watch = commands._watcher()
    for moment, done in ((100.0, 1), (100.9, 2), (101.0, 3), (101.5, 4), (101.6, 5)):
        now[0] = moment
        watch(StageProgress("look", done, 5, 1000 * done, 5000, done - 1, 2.0 * done))
    assert capsys.readouterr().err.splitlines() == [
        "look: 1 of 5 shards, 1,000 pictures, 500/s, 8 s left, 0 without a value",
        "look: 3 of 5 shards, 3,000 pictures, 500/s, 4 s left, 2 without a value",
        "look: 5 of 5 shards, 5,000 pictures, 500/s, 4 without a value",
    ]
    watch(StageProgress("look", 0, 0, 0, 0, 0, 0.0))
    assert capsys.readouterr().err == "look: 0 of 0 shards, 0 pictures, 0/s, 0 without a value\n"


def walked(ask, answer):
    """What an ask makes of one typed answer to its first question, or of a missing one."""
    walk = ask.walk({"prompt": "A cat."}, Media.from_bytes(b"picture"))
    next(walk)
    with pytest.raises(StopIteration) as end:
        walk.send(answer)
    return end.value.value


def test_typography_passes_where_all_three_hold_and_quality_where_nothing_is_wrong():
    for number in range(8):
        legible, contrast, meaningful = (bool(number >> bit & 1) for bit in range(3))
        answer = Scored(SimpleNamespace(legible=legible, contrast=contrast, meaningful=meaningful))
        assert walked(asks.typography(), answer) == {"typography_pass": number == 7}
    missing = Unscored(Reason.TIMEOUT)
    assert walked(asks.typography(), missing) == {"typography_pass": missing}
    assert walked(asks.quality(), missing) == {"quality_pass": missing, "quality_faults": missing}
    for acceptable, faults, passes in ((True, [], True), (True, ["blur", "noise", "blur"], False), (False, [], False)):
        made = walked(asks.quality(), Scored(SimpleNamespace(acceptable=acceptable, faults=faults)))
        assert made == {"quality_pass": passes, "quality_faults": ", ".join(sorted(set(faults)))}
