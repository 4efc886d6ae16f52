"""One id per model: every printed row name resolves, no spelling means two models, ids stay as they are."""

import csv
import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from for_each import for_each
from salon_published import registry
from salon_taxonomy.errors import InputError

PUBLISHED = Path(registry.__file__).parent
DATA = PUBLISHED / "data"
ROWS_THAT_ARE_MODELS = {"generator", "assessor", "refiner"}

GENERATORS = [
    "bagel",
    "bagel-cot",
    "banana",
    "blip3-o",
    "flux-1.1-pro",
    "flux.1-dev",
    "flux.1-kontext-pro",
    "flux.1-krea-dev",
    "flux.1-schnell",
    "flux.1-unspecified",
    "gemini-2.5-flash-image",
    "gpt-image-1",
    "gpt-image-unspecified",
    "hidream-i1-dev",
    "hidream-i1-full",
    "hidream-i1-unspecified",
    "ideogram-2.0",
    "ideogram-3.0",
    "imagen-3",
    "janus-pro-7b",
    "janus-pro-unspecified",
    "kolors-1.0",
    "luma",
    "midjourney-v6.1",
    "omnigen2",
    "pixart-alpha",
    "playground-v2.5",
    "qwen-image",
    "recraft-v3-raw",
    "reve-image-1.0",
    "sd-1.5",
    "sd-2.1",
    "sd3-medium",
    "sd3-unspecified",
    "sd3.5-large",
    "sd3.5-medium",
    "sd3.5-unspecified",
    "sdxl",
    "seedream-2.1",
    "seedream-3.0",
    "show-o",
    "t2i-r1",
]


def tables_of_models() -> list[tuple[str, Path, list[str]]]:
    manifests = [tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(DATA.glob("*.toml"))]
    described = [table for manifest in manifests for table in manifest["table"] if table["rows"] in ROWS_THAT_ARE_MODELS]
    return [(table["id"], DATA / table["file"], table["keys"]) for table in described]


def one_model(**changes: object) -> registry.Model:
    return registry.Model.model_validate({"id": "a-1", "name": "A 1", "kind": "generator", **changes})


@for_each(("table", "file", "keys"), tables_of_models())
def test_every_row_that_is_a_model_resolves_to_one(table: str, file: Path, keys: list[str]) -> None:
    with file.open(encoding="utf-8", newline="") as opened:
        rows = list(csv.DictReader(opened))
    resolved = {tuple(row[key] for key in keys): registry.resolve_row({key: row[key] for key in keys}, table) for row in rows}
    assert len(resolved) == len(rows)
    assert [names for names, found in resolved.items() if found is None] == []


def test_no_two_rows_of_a_table_are_the_same_model() -> None:
    for table, file, keys in tables_of_models():
        with file.open(encoding="utf-8", newline="") as opened:
            rows = [registry.resolve_row({key: row[key] for key in keys}, table) for row in csv.DictReader(opened)]
        assert len(set(rows)) == len(rows), table


@pytest.mark.parametrize(
    ("table", "printed", "expected"),
    [
        ("r3:5", "+ Best-of-N", "qwen-image+best-of-n"),
        ("r3:5", "+ R³-Refiner", "qwen-image+r3-refiner"),
        ("r3:7", "+ Qwen3-VL-8B verifier", "qwen-image+qwen3-vl-8b-instruct"),
        ("r3:7", "+ R³-Refiner-QE", "qwen-image+r3-refiner"),
        ("r3:9b", "+ R³-Refiner-QE", "r3-refiner-qe"),
        ("r3:9a", "Baseline", None),
        ("prism:6", "+ FLUX-Reason-6M+GCOT", "bagel+flux-reason-6m-gcot"),
        ("prism:7", "+ FLUX-Reason-6M + GCoT", "bagel+flux-reason-6m-gcot"),
        ("magicmirror:4", "w/o Consistent Reward", "magicassessor-7b-without-consistency-reward"),
    ],
)
def test_a_row_that_names_only_what_was_added_means_what_its_table_says(table: str, printed: str, expected: str | None) -> None:
    assert registry.resolve(printed, table) == expected


def test_every_judge_that_is_a_model_is_known() -> None:
    assert [registry.resolve(name) for name in ("GPT-4.1", "Qwen2.5-VL-72B", "Qwen3-VL-235B", "MagicAssessor-7B")] == [
        "gpt-4.1",
        "qwen2.5-vl-72b",
        "qwen3-vl-235b",
        "magicassessor-7b",
    ]


def test_the_generators_of_the_papers_are_these_forty_two_and_those_of_the_ledger_follow() -> None:
    generators = [model.id for model in registry.models("generator")]
    assert generators[: len(GENERATORS)] == GENERATORS
    assert generators[len(GENERATORS) :] == sorted(generators[len(GENERATORS) :])


def test_ids_are_slugs_and_found_by_themselves() -> None:
    for model in registry.models():
        assert re.fullmatch(r"[a-z0-9]+(?:[.+-][a-z0-9]+)*", model.id)
        assert registry.model(model.id) is model
        assert registry.resolve(model.id) == model.id


def test_what_is_built_on_a_model_names_it() -> None:
    for model in registry.models("method"):
        if model.id == "clip-retrieval":
            continue  # pictures of a data set, found by their captions
        assert model.base is not None
        assert model.id.startswith(f"{model.base}+")
        assert registry.model(model.base).kind == "generator"


def test_a_model_whose_variant_is_open_stays_apart_from_its_siblings_and_says_why() -> None:
    left_open = [model for model in registry.models() if model.id.endswith("-unspecified")]
    assert all(model.note or re.search(r"\((?:\w+) not stated\)$", model.name) for model in left_open)
    noted = [model for model in left_open if model.note]
    assert len(noted) == 6
    assert all(any(other.family == model.family and other is not model for other in registry.models()) for model in noted)


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("FLUX.1-dev", "flux.1-dev"),
        ("Flux.1 [dev]", "flux.1-dev"),
        ("SEEDream 3.0", "seedream-3.0"),
        ("Seedream3.0", "seedream-3.0"),
        ("JanusPro-7B", "janus-pro-7b"),
        ("Bagel†", "bagel"),
        ("R ³ -Refiner-BG", "r3-refiner-bg"),
        ("SD 3.5 Large", "sd3.5-large"),
        ("SD35 Large", None),
        ("BusterX 7B", None),
        ("", None),
        ("Overall", None),
    ],
)
def test_case_spaces_dashes_and_brackets_do_not_matter_but_digits_dots_and_pluses_do(
    printed: str, expected: str | None
) -> None:
    assert registry.resolve(printed) == expected


def test_a_name_can_mean_another_model_in_a_named_table_only() -> None:
    assert registry.resolve("GPT-4o") == registry.resolve("GPT-4o", "magicmirror:1") == "gpt-4o"
    assert registry.resolve("GPT-4o", "mef:8") == "gpt-image-1"
    assert registry.resolve("+ R³-Refiner") is None


def test_a_row_that_builds_on_another_is_not_taken_for_its_base() -> None:
    assert registry.resolve_row({"model": "Bagel", "refiner": "+ R³-Refiner"}, "r3:2") == "bagel+r3-refiner"
    assert registry.resolve_row({"model": "Bagel", "refiner": None}, "r3:2") == "bagel"
    assert registry.resolve_row({"model": "FLUX.1", "refiner": "+ R³-Refiner"}, "r3:2") is None


@given(st.text(), st.text() | st.none())
def test_any_text_can_be_asked_for(printed: str, table: str | None) -> None:
    found = registry.resolve(printed, table)
    assert found is None or registry.model(found).id == found


def test_an_unknown_id_is_refused_with_ids_that_begin_alike() -> None:
    with pytest.raises(InputError, match=r"unknown model id 'flux\.9'.*flux\.1-dev"):
        registry.model("flux.9")


def test_one_spelling_for_two_models_is_refused_when_the_registry_is_made() -> None:
    with pytest.raises(InputError, match="one spelling for two models, a-1 and b") as caught:
        registry.Registry((one_model(), one_model(id="b", name="B", spellings=("[A] 1",))))
    assert caught.value.value == "[A] 1"


def test_a_spelling_of_nothing_but_dashes_and_brackets_is_refused() -> None:
    with pytest.raises(InputError, match="a spelling needs a letter or a digit"):
        registry.Registry((one_model(spellings=("- [ ]",)),))


def test_one_id_for_two_models_is_refused() -> None:
    with pytest.raises(InputError, match="two models share one id"):
        registry.Registry((one_model(), one_model(name="B")))


def test_a_base_and_an_override_must_point_to_a_model() -> None:
    with pytest.raises(InputError, match="model a-1 points to no model"):
        registry.Registry((one_model(base="nowhere"),))
    stray = registry.Override(tables=("magicmirror:1",), spelling="X", model="nowhere", reason="none")
    with pytest.raises(InputError, match="the override of 'X' points to no model"):
        registry.Registry((one_model(),), (stray,))


def test_two_overrides_of_one_spelling_in_one_table_must_agree() -> None:
    first = registry.Override(tables=("magicmirror:1", "magicmirror:2"), spelling="X", model="a-1", reason="one")
    second = registry.Override(tables=("magicmirror:2",), spelling="[x]", model="b", reason="other")
    with pytest.raises(InputError, match="one spelling for two models"):
        registry.Registry((one_model(), one_model(id="b", name="B")), (first, second))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[model", "line 1: this is not TOML"),
        ('[[model]]\nid = "A B"\nname = "x"\nkind = "generator"\n', r"column 'model\.0\.id'"),
        ('[[model]]\nid = "a"\nname = "x"\nkind = "painter"\n', r"column 'model\.0\.kind'"),
        ('[[model]]\nid = "a"\nname = "x"\nkind = "mllm"\ncolour = 1\n', r"column 'model\.0\.colour'"),
        ('[[override]]\ntables = ["four"]\nspelling = "x"\nmodel = "a"\nreason = "r"\n', r"column 'override\.0\.tables\.0'"),
    ],
)
def test_a_bad_registry_file_is_refused_with_the_entry_at_fault(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        registry.Registry.read(file)


def test_a_missing_registry_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        registry.Registry.read(tmp_path / "none.toml")
