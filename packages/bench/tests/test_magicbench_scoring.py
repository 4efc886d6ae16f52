"""MagicBench's scores: the paper's rules, the edge cases of the released script, and the tables that the paper printed."""

from itertools import product

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from salon_bench.suites.magicbench import COUNTED_LABELS, SubCategory, SubjectClass
from salon_bench.suites.magicbench.scoring import summarize
from salon_published import load
from salon_taxonomy.errors import InputError

FLAGS = tuple(str(dimension) for dimension in COUNTED_LABELS)
COLUMNS = ("prompt_id", "generation_id", "task", "dimension", "value", "unscored_reason")


def picture(task, *, subject=True, normal=True, flags=(), assessed=True, reason="malformed"):
    """What is said about one picture; None for what could not be had."""
    return {"task": task, "subject": subject, "normal": normal, "flags": flags, "assessed": assessed, "reason": reason}


def rows_of(pictures, per_prompt=1):
    """Rows of scores as the suite makes them, the overall verdict left out where it does not matter."""
    rows = []
    for number, each in enumerate(pictures):
        key = (f"{each['task']}-{number // per_prompt}", f"g{number}", each["task"])

        def add(dimension, value, key=key, reason=each["reason"]):
            rows.append((*key, dimension, None if value is None else float(value), reason if value is None else None))

        add("subject", each["subject"])
        if each["assessed"]:
            add("normal", each["normal"])
            for flag in FLAGS:
                add(flag, None if each["normal"] is None else flag not in each["flags"])
    return pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.String) | {"value": pl.Float64}, orient="row")


def score(summary, metric, group=None):
    [row] = summary.table.filter(pl.col("metric") == metric, pl.col("group").eq_missing(group)).iter_rows(named=True)
    return row


def values(pictures, fidelity):
    table = summarize(rows_of(pictures), fidelity).table.filter(pl.col("group").is_null())
    return dict(zip(table["metric"], table["value"], strict=True))


BOTH = pytest.mark.parametrize("fidelity", ["paper", "released"])


@BOTH
def test_the_five_scores_come_first_and_then_the_eight_sub_scores(fidelity):
    table = summarize(rows_of([picture("human_single")]), fidelity).table
    assert table["metric"][:5].to_list() == ["interaction", "human", "animal", "object", "overall"]
    assert table["group"][5:].to_list() == [str(category) for category in SubCategory]


@BOTH
def test_what_nobody_scored_has_no_value(fidelity):
    table = summarize(rows_of([picture("human_single")]), fidelity).table
    assert table.filter(pl.col("metric") == "animal")["value"].to_list() == [None, None, None]
    assert table.filter(pl.col("metric") == "animal")["ci_low"].null_count() == 3


def test_no_rows_at_all_give_an_empty_summary():
    table = summarize(rows_of([]), "paper").table
    assert table["value"].null_count() == table.height == 13


def test_an_image_without_its_subject_is_an_artifact_of_its_class_and_of_no_other():
    pictures = [picture("human_single", subject=False, assessed=False), picture("human_single")]
    assert values(pictures, "paper") == {
        "interaction": 100.0, "human": 50.0, "animal": None, "object": None, "overall": 50.0,
    }  # fmt: skip


def test_the_paper_counts_a_label_only_on_pictures_of_its_class():
    pictures = [picture("human_single"), picture("animal_multi", normal=False, flags=("human",))]
    paper = values(pictures, "paper")
    assert (paper["human"], paper["animal"], paper["overall"]) == (100.0, 100.0, 50.0)


def test_the_script_counts_a_label_on_pictures_of_every_class():
    pictures = [picture("human_single"), picture("animal_multi", normal=False, flags=("human",))]
    released = values(pictures, "released")
    assert (released["human"], released["animal"], released["overall"]) == (0.0, 100.0, 50.0)


def test_a_score_of_the_script_can_fall_below_zero():
    deformed = [picture("animal_single", normal=False, flags=("human",)) for _ in range(3)]
    assert values([picture("human_single"), *deformed], "released")["human"] == -200.0


@BOTH
def test_an_unreadable_assessment_is_in_no_denominator(fidelity):
    summary = summarize(rows_of([picture("object_multi"), picture("object_multi", normal=None)]), fidelity)
    row = score(summary, "object", "object_multi")
    assert (row["value"], row["scored"], row["unscored"]) == (100.0, 1, 1)


def test_the_script_drops_an_image_without_subject_when_its_assessment_cannot_be_read():
    pictures = [picture("object_multi"), picture("object_multi", subject=False, normal=None)]
    assert values(pictures, "released")["object"] == 100.0
    assert values(pictures, "paper")["object"] == 50.0


def test_the_script_ignores_the_labels_of_an_image_without_subject():
    odd = picture("object_multi", subject=False, normal=False, flags=("interaction", "human", "object"))
    released = values([odd, picture("human_single")], "released")
    assert released == {"interaction": 100.0, "human": 100.0, "animal": None, "object": 0.0, "overall": 50.0}


@BOTH
def test_an_artifact_without_any_label_counts_overall_and_nowhere_else(fidelity):
    scores = values([picture("human_double", normal=False)], fidelity)
    assert (scores["overall"], scores["human"], scores["interaction"]) == (0.0, 100.0, 100.0)


@BOTH
def test_an_image_whose_subject_could_not_be_verified_is_unscored(fidelity):
    summary = summarize(rows_of([picture("human_double", subject=None, assessed=False, reason="timeout")]), fidelity)
    assert score(summary, "overall")["unscored"] == 1
    assert score(summary, "overall")["value"] is None


def test_the_released_rules_refuse_rows_that_the_papers_run_left_unassessed():
    with pytest.raises(InputError, match="magicbench-released"):
        summarize(rows_of([picture("human_single", subject=False, assessed=False)]), "released")


def test_a_panels_majority_counts_and_an_even_split_is_no_verdict():
    rows = rows_of([picture("human_single"), picture("human_single")])
    split = pl.when(pl.col("generation_id") == "g0").then(0.5).otherwise(2 / 3)
    rows = rows.with_columns(pl.when(pl.col("dimension") == "normal").then(split).otherwise("value").alias("value"))
    row = score(summarize(rows, "paper"), "overall")
    assert (row["value"], row["scored"], row["unscored"]) == (100.0, 1, 1)


def test_a_score_with_flags_from_other_classes_has_a_bootstrap_and_the_others_keep_wilson():
    strangers = [picture("animal_single", normal=False, flags=("human",))] * 2
    sound = [picture("human_single")] * 20 + [picture("animal_single")] * 5
    summary = summarize(rows_of(sound + strangers), "released")
    assert score(summary, "human")["ci_low"] < score(summary, "human")["value"] == 90.0
    assert score(summary, "object")["ci_low"] is None
    assert score(summary, "overall")["ci_low"] == pytest.approx(76.63, abs=0.01)
    assert "flags on images of other classes have Student's t, bootstrap" in summary.notes[-1]
    alone = summarize(rows_of([picture("human_single")] * 20), "released")
    assert score(alone, "human")["ci_low"] == pytest.approx(83.89, abs=0.01)


def test_the_notes_say_which_rule_counted_and_why_pictures_are_left_out():
    absent = picture("human_single", subject=False, assessed=False)
    failed = picture("human_single", normal=None, reason="timeout")
    rows = rows_of([absent, failed])
    overall = rows.filter(pl.col("dimension") == "normal").with_columns(pl.lit("overall").alias("dimension"))
    notes = summarize(pl.concat([rows, overall]), "paper").notes
    assert "paper's rules" in notes[0]
    assert notes[1:3] == ("1 of 2 images lack their subject.", "Left out: 1 timeout.")
    missing = [picture("human_single", subject=None, normal=None, assessed=False, reason="bad_media")] * 3
    note = summarize(rows_of([absent, failed, *missing]), "paper").notes[1]
    assert note == "1 of 2 images lack their subject. Of 3 more it is not known: no picture, or no reply."


def test_unknown_sub_categories_and_missing_columns_are_typed_errors():
    rows = rows_of([picture("human_single")])
    with pytest.raises(InputError, match="sub-category 'video'"):
        summarize(rows.with_columns(pl.lit("video").alias("task")), "paper")
    with pytest.raises(InputError, match="unscored_reason"):
        summarize(rows.drop("unscored_reason"), "paper")


def test_rows_of_other_dimensions_are_left_alone():
    rows = rows_of([picture("human_single")])
    other = rows.with_columns(pl.lit("latency").alias("dimension"), pl.lit("x").alias("task"))
    assert summarize(pl.concat([rows, other]), "paper").table.equals(summarize(rows, "paper").table)


def test_one_picture_per_prompt_has_wilson_intervals_and_several_have_a_bootstrap():
    one = summarize(rows_of([picture("human_single")] * 20), "paper")
    assert score(one, "human")["ci_low"] == pytest.approx(83.89, abs=0.01)
    assert any("Wilson" in note for note in one.notes)
    sound, deformed = picture("human_single"), picture("human_single", normal=False, flags=("human",))
    several = summarize(rows_of([deformed, sound, sound, sound] * 10, per_prompt=4), "paper")
    assert any("bootstrap" in note for note in several.notes)
    assert (score(several, "human")["value"], score(several, "human")["ci_low"]) == (75.0, None), "prompts that are all alike"
    varied = summarize(rows_of([deformed, sound, sound, sound] * 10 + [sound] * 40, per_prompt=4), "paper")
    assert 75.0 < score(varied, "human")["ci_low"] < score(varied, "human")["value"] == 87.5
    lone = summarize(rows_of([deformed, sound, sound, sound], per_prompt=4), "paper")
    assert score(lone, "human")["ci_low"] is None, "one prompt says nothing about others"


pictures = st.builds(
    picture,
    st.sampled_from([str(category) for category in SubCategory]),
    subject=st.sampled_from([True, True, False, None]),
    normal=st.sampled_from([True, False, None]),
    flags=st.lists(st.sampled_from(FLAGS), unique=True).map(tuple),
).map(lambda each: each | ({"flags": ()} if each["normal"] is not False else {}) | {"assessed": each["subject"] is not None})


def by_the_script(pictures):
    """The authors' counting, retold row by row: the oracle of the vectorised one."""
    counts = dict.fromkeys(["interaction", "human", "animal", "object", "overall"], 0)
    valid = dict.fromkeys(counts, 0)
    for each in pictures:
        if each["subject"] is None or each["normal"] is None:
            continue
        kind = each["task"].partition("_")[0]
        for name in ("interaction", "overall", kind):
            valid[name] += 1
        flags = set(each["flags"]) if each["subject"] else {kind}
        for name in flags:
            counts[name] += 1
        counts["overall"] += not (each["subject"] and each["normal"])
    return {name: 100 * (1 - counts[name] / valid[name]) if valid[name] else None for name in counts}


@settings(max_examples=40)
@given(st.lists(pictures, max_size=30))
def test_the_released_scores_are_those_of_the_script_retold(drawn):
    assert values(drawn, "released") == pytest.approx(by_the_script(drawn))


@settings(max_examples=40)
@given(st.lists(pictures, max_size=12), st.randoms())
def test_the_order_of_the_rows_changes_nothing(drawn, random):
    rows = rows_of(drawn)
    order = list(range(rows.height))
    random.shuffle(order)
    for fidelity in ("paper", "released"):
        assert summarize(rows, fidelity).table.equals(summarize(rows[order] if order else rows, fidelity).table)


@settings(max_examples=40)
@given(st.lists(pictures, max_size=30))
def test_scored_and_unscored_add_up_to_all_pictures(drawn):
    for fidelity in ("paper", "released"):
        for row in summarize(rows_of(drawn), fidelity).table.iter_rows(named=True):
            wanted = [
                each for each in drawn if row["metric"] in ("interaction", "overall") or each["task"].startswith(row["metric"])
            ]
            wanted = [each for each in wanted if row["group"] in (None, each["task"])]
            assert row["scored"] + row["unscored"] == len(wanted)
            if row["value"] is not None and fidelity == "paper":
                assert 0 <= row["ci_low"] <= row["value"] + 1e-9
                assert row["value"] - 1e-9 <= row["ci_high"] <= 100


# ------------------------------------------------------------------------------------------------- the printed tables

COLUMN_OF = {
    SubCategory.HUMAN_SINGLE: "human.single",
    SubCategory.HUMAN_DOUBLE: "human.double",
    SubCategory.HUMAN_MULTI: "human.multiple",
    SubCategory.ANIMAL_SINGLE: "animal.single",
    SubCategory.ANIMAL_MULTI: "animal.multiple",
    SubCategory.OBJECT_SINGLE: "object.single",
    SubCategory.OBJECT_MULTI: "object.multiple",
    SubCategory.OBJECT_COMPO: "object.compose",
}
MODELS = load("magicmirror:3")["model"].to_list()


def counts_behind(printed, sizes):
    """Every (flawed, size) whose score prints as ``printed``, the largest size first."""
    found = [(round(size * (1 - printed / 100)), size) for size in sizes]
    return [(flawed, size) for flawed, size in found if f"{100 * (1 - flawed / size):.2f}" == f"{printed:.2f}"]


def pictures_behind(model):
    """Pictures that give the printed scores of one model in Tables 3 and 7."""
    [five] = load("magicmirror:3").filter(pl.col("model") == model).iter_rows(named=True)
    [eight] = load("magicmirror:7").filter(pl.col("model") == model).iter_rows(named=True)
    options = [counts_behind(eight[COLUMN_OF[category]], range(100, 89, -1)) for category in SubCategory]
    for choice in product(*options):
        behind = dict(zip(SubCategory, choice, strict=True))
        total = sum(size for _, size in choice)
        wanted = {name: counts_behind(five[name], [total]) for name in ("interaction", "overall")}
        for each in SubjectClass:
            size = sum(size for category, (_, size) in behind.items() if category.subject_class is each)
            wanted[str(each)] = counts_behind(five[str(each)], [size])
        if all(wanted.values()):
            return behind, {name: found[0][0] for name, found in wanted.items()}
    raise AssertionError(f"no counts give what is printed for {model}")


@pytest.mark.parametrize("model", MODELS)
def test_tables_3_and_7_follow_from_counts_by_the_released_rules(model):
    behind, wanted = pictures_behind(model)
    pictures = []
    for category, (flawed, size) in behind.items():
        own = str(category.subject_class)
        pictures += [picture(str(category), normal=False, flags=(own,)) for _ in range(flawed)]
        pictures += [picture(str(category)) for _ in range(size - flawed)]
    broken = [each for each in pictures if not each["normal"]]
    for each in [each for each in pictures if each["normal"]][: wanted["overall"] - len(broken)]:
        each["normal"] = False
    broken = [each for each in pictures if not each["normal"]]
    assert len(broken) == wanted["overall"]
    for name in SubjectClass:
        strangers = [each for each in broken if not each["task"].startswith(name)]
        extra = wanted[name] - sum(name in each["flags"] for each in broken)
        assert 0 <= extra <= len(strangers)
        for each in strangers[:extra]:
            each["flags"] += (str(name),)
    for each in broken[: wanted["interaction"]]:
        each["flags"] += ("interaction",)

    summary = summarize(rows_of(pictures), "released")
    [five] = load("magicmirror:3").filter(pl.col("model") == model).iter_rows(named=True)
    [eight] = load("magicmirror:7").filter(pl.col("model") == model).iter_rows(named=True)
    for name in ("interaction", "human", "animal", "object", "overall"):
        assert f"{score(summary, name)['value']:.2f}" == f"{five[name]:.2f}"
    for category, column in COLUMN_OF.items():
        assert f"{score(summary, category.subject_class, category)['value']:.2f}" == f"{eight[column]:.2f}"


def test_the_printed_human_score_of_flux_counts_a_person_on_a_picture_of_another_class():
    behind, wanted = pictures_behind("FLUX.1-dev")
    own = sum(flawed for category, (flawed, _) in behind.items() if category.subject_class is SubjectClass.HUMAN)
    assert (wanted["human"], own) == (162, 161)
