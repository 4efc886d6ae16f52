"""The papers' pipelines as presets: they are read, run end to end, and their printed numbers and open thresholds are marked."""

import itertools
import json
import re
import tomllib

import pytest
from curate_world import drawn, made

from salon_curate.judging import JudgedStage
from salon_curate.pipeline import PIPELINE, judge_line, read_pipeline
from salon_curate.presets import PRESETS, preset_text
from salon_curate.running import run, status
from salon_curate.selection import select
from salon_ranking.uncertainty.proportions import wilson_interval
from salon_taxonomy.errors import InputError
from salon_taxonomy.testing import ReplayJudge

ANSWER = {
    "score": 8, "faults": [], "acceptable": True, "legible": True, "contrast": True, "meaningful": True,
    "caption": 'A sign says "OPEN".', "plan": "First the sign.", "translation": '牌子上写着 "OPEN"。', "answer": True,
    "explanation": "", "edit_prompt": "",
}  # fmt: skip


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_runs_end_to_end_and_its_selections_apply(name, tmp_path):
    dataset = made(tmp_path / "d", drawn(tmp_path / "in", 1))
    path = dataset.folder / PIPELINE
    path.write_text(judge_line("pixels:") + preset_text(name))
    pipeline = read_pipeline(path, environment={})
    text = "<think>Seen.</think>" + json.dumps(ANSWER)
    for stage in pipeline.stages:
        if isinstance(stage, JudgedStage):
            object.__setattr__(stage, "judge", ReplayJudge(itertools.repeat(text)))
    result = run(dataset, pipeline.stages)
    assert result.set_aside == () and all(each.complete for each in status(dataset, pipeline.stages))
    for predicates in pipeline.selections.values():
        assert 0 <= select(dataset, pipeline.stages, predicates).kept <= 8


@pytest.mark.parametrize("name", PRESETS)
def test_every_threshold_of_a_preset_is_marked_as_the_user_s_to_choose(name):
    lines = preset_text(name).splitlines()
    for number, line in enumerate(lines):
        code, _, comment = line.partition("#")
        if re.search(r"(>=|<=|>|<|= )\s*\d", code) and "explore" not in code:
            above = lines[number - 1] if number else ""
            assert "yours" in comment or "yours" in above, line
    assert tomllib.loads(preset_text(name))["selection"]


PRINTED = {
    "flux-reason": {"8", "6", "20", "1", "10"},  # million candidates, kept and captions; scores from 1 to 10
    "r3-data": {"40,000", "24,925", "62.3", "1", "2", "3"},  # candidates, kept, per cent; stages 1 to 3
    "magicdata": {"50,000", "7", "343,269", "325,238", "17,366", "342,604", "1,294", "343,898", "173,768", "169,501"},
}


@pytest.mark.parametrize("name", PRESETS)
def test_every_number_in_a_preset_s_words_is_one_of_those_that_are_checked_here(name):
    for line in preset_text(name).splitlines():
        words = re.sub(r"(sections?|appendix) [A-Z]?[\d.]+( to [\d.]+)?(, B(\.\d)?)?", "", line.partition("#")[2])
        words = re.sub(r"(appendix )?\b[AB](\.\d)?\b|R3|SAM3|MagicData340K|FLUX-Reason-6M", "", words)
        assert set(re.findall(r"\d[\d,.]*\d|\d", words)) <= PRINTED[name], line


def test_the_printed_numbers_are_those_of_the_papers_and_their_arithmetic():
    flux, r3, magic = map(preset_text, PRESETS)
    assert "8 million" in flux and "6 million" in flux and "20 million" in flux
    assert "24,925" in r3 and "62.3%" in r3 and round(100 * 24_925 / 40_000, 1) == 62.3
    assert all(each in magic for each in ("343,269", "325,238", "17,366", "342,604", "343,898"))
    assert 325_238 + 17_366 == 342_604 and 342_604 + 1_294 == 343_898
    assert 173_768 + 169_501 == 343_269
    assert 7 * (50 + 50) == 700 and 1_000 + 300 == 1_300  # PRISM-Bench's prompts; R³-Bench's candidates for the experts
    # 95% of 500 kept and 500 rejected pictures (B.4) may be 90% of the kept or of the rejected: of 75% kept it bounds little
    assert (0.75 * 0.9 + 0.25 * 1.0, 0.75 * 1.0 + 0.25 * 0.9) == (0.925, 0.975)
    low, high = wilson_interval([480], [500])  # 96% of 500 chains of thought (B.5)
    assert (round(100 * low[0], 1), round(100 * high[0], 1)) == (93.9, 97.4)
    low, high = wilson_interval([950], [1000])  # 95% of 1,000 audited pictures (FLUX-Reason-6M, appendix B.4)
    assert (round(100 * low[0], 1), round(100 * high[0], 1)) == (93.5, 96.2)
    # 128 A100s over four months against the printed 15,000 A100 days, and the cost of one of 8 million candidates
    assert round(15_000 / 128, 1) == 117.2 and round(15_000 * 86_400 / 8_000_000) == 162


def test_an_unknown_preset_is_refused():
    with pytest.raises(InputError, match="flux-reason"):
        preset_text("flux")
