"""Prompts chosen from a collection: one from each theme, the same on every machine."""

import json
import math
import random as standard_random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from salon_bench.suites.prism import Language, Track
from salon_curate.construction.prism_selection import (
    Candidate,
    Embedder,
    LsaEmbedder,
    SentenceEmbedder,
    read_candidates,
    select,
    select_all,
)
from salon_curate.construction.prism_selection.embedding import unit_length
from salon_curate.construction.prism_selection.selecting import key_of
from salon_taxonomy.errors import InputError
from salon_taxonomy.extras import extra

pytest.importorskip("sklearn", reason="runs with the extra selection")


class Plane:
    """An embedder of texts that are their own points: "3 4"."""

    name = "plane"

    def embed(self, texts):
        return np.array([[float(number) for number in text.split()] for text in texts])


def at(x, y, score=1.0, track=Track.STYLE):
    return Candidate(f"{x} {y}", track, score)


THEMES = [("harbour boats", "boats fishing"), ("violin concert", "strings music"), ("snow mountain", "winter peak")]
TEXTS = [f"{one} {other} number {number}" for one, other in THEMES for number in range(12)]


def test_one_prompt_of_each_theme_is_taken_the_largest_first_and_the_nearest_to_the_centre():
    near_origin = [at(x / 10, 0.0) for x in range(-3, 4)]
    far = [at(10.0, 9.9), at(10.0, 10.0), at(10.0, 10.1)]
    found = select([*far, *near_origin], Plane(), number=2)
    assert [each.candidate.text for each in found] == ["0.0 0.0", "10.0 10.0"]
    assert [each.cluster_size for each in found] == [7, 3]
    assert found[0].distance == pytest.approx(0.0)


def test_only_the_best_by_score_are_looked_at():
    best = [at(number, 0, score=9.0) for number in range(4)]
    rest = [at(number, 50, score=2.0) for number in range(100)]
    found = select([*rest, *best], Plane(), number=4, top=4)
    assert {each.candidate.text for each in found} == {each.text for each in best}


def test_texts_that_say_the_same_are_one_candidate_with_the_best_of_its_scores():
    same = [Candidate("A  Cat", Track.STYLE, 1.0), Candidate("a cat", Track.STYLE, 5.0), Candidate("A cat\n", Track.STYLE, 3.0)]
    [found] = select(same, LsaEmbedder(), number=1)
    assert found.candidate.score == 5.0
    with pytest.raises(InputError, match="2 prompts are wanted of fewer different candidates: 1"):
        select(same, LsaEmbedder(), number=2)


def test_what_one_track_takes_is_removed_from_the_others():
    texts = [f"{number} {number}" for number in range(6)]
    both = [Candidate(text, track, 1.0) for track in (Track.ENTITY, Track.LONG_TEXT) for text in texts]
    found = select_all(both, Plane(), number=3)
    assert list(found) == [Track.ENTITY, Track.LONG_TEXT]
    taken = [key_of(each.candidate.text) for chosen in found.values() for each in chosen]
    assert sorted(taken) == sorted(texts)


def test_fewer_different_points_than_themes_still_give_different_prompts():
    same = [Candidate(text, Track.STYLE, 1.0) for text in ("1 1", "1.0 1", "1 1.0", "1.0 1.0")]
    found = select(same, Plane(), number=4)
    assert len({each.candidate.text for each in found}) == 4


def test_sums_whose_order_matters_are_made_in_one_thread(monkeypatch):
    from sklearn.cluster import KMeans
    from sklearn.decomposition import TruncatedSVD
    from threadpoolctl import threadpool_info, threadpool_limits

    threads = {}
    for kind, name in ((TruncatedSVD, "fit_transform"), (KMeans, "fit")):
        fitted = getattr(kind, name)

        def noted(self, points, *rest, kind=kind, fitted=fitted):
            threads[kind] = {pool["num_threads"] for pool in threadpool_info()}
            return fitted(self, points, *rest)

        monkeypatch.setattr(kind, name, noted)
    with threadpool_limits(limits=2):
        select([Candidate(text, Track.STYLE, 1.0) for text in TEXTS], LsaEmbedder(), number=3)
    assert threads == {TruncatedSVD: {1}, KMeans: {1}}


@settings(max_examples=15, deadline=None)
@given(st.permutations(TEXTS), st.integers(0, 3))
def test_the_order_of_the_candidates_does_not_matter(texts, seed):
    def chosen(order):
        candidates = [Candidate(text, Track.STYLE, 1.0) for text in order]
        return [each.candidate.text for each in select(candidates, LsaEmbedder(), number=3, seed=seed)]

    assert chosen(texts) == chosen(TEXTS)


def test_the_bundled_embedder_finds_the_themes():
    shuffled = TEXTS[:]
    standard_random.Random(0).shuffle(shuffled)
    found = select([Candidate(text, Track.STYLE, 1.0) for text in shuffled], LsaEmbedder(), number=3)
    assert {each.candidate.text.split()[0] for each in found} == {"harbour", "violin", "snow"}
    assert [each.cluster_size for each in found] == [12, 12, 12]


def test_chinese_texts_are_compared_by_their_characters():
    texts = ["一只红猫睡在窗台上", "一只红猫坐在窗台上", "钢铁大桥跨过江面", "钢铁大桥横在江上"]
    points = LsaEmbedder(Language.CHINESE).embed(texts)
    assert points[0] @ points[1] > 0.5 > abs(points[0] @ points[2])
    points = LsaEmbedder(Language.CHINESE).embed(["猫爱鱼", "鱼怕猫", "桥跨江"])  # in common: characters, but no pair of them
    assert points[0] @ points[1] > 0.5 > abs(points[0] @ points[2])


@pytest.mark.parametrize(
    "texts", [["one"], ["", "a cat", "two dogs"], ["", " "], ["the of and", "the"], ["\ud800", "a cat"], ["x" * 100_000, "y"]]
)
def test_any_texts_get_a_finite_point_each(texts):
    points = LsaEmbedder().embed([text.encode("utf-8", "replace").decode() for text in texts])
    assert len(points) == len(texts)
    assert np.isfinite(points).all()
    length = np.linalg.norm(points, axis=1)
    assert (np.isclose(length, 1) | (length == 0)).all()


@given(st.lists(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3), min_size=1))
def test_points_of_unit_length_keep_their_direction_and_0_stays(rows):
    points = np.round(np.array(rows), 3)
    with np.errstate(all="raise"):
        scaled = unit_length(points)
    for before, after in zip(points, scaled, strict=True):
        length = math.hypot(*before)
        assert after * length == pytest.approx(before, abs=1e-6)
        assert math.hypot(*after) == pytest.approx(float(length > 0))


@pytest.mark.parametrize(("options", "problem"), [({"number": 0}, "number"), ({"top": 0}, "top"), ({"seed": -1}, "seed")])
def test_options_out_of_range_are_refused(options, problem):
    with pytest.raises(InputError, match=f"key '{problem}': must be"):
        select([at(1, 1)], Plane(), **{"number": 1, **options})


def test_an_embedder_that_gives_no_finite_points_is_refused():
    class Broken:
        name = "broken"

        def embed(self, texts):
            return np.full((len(texts), 2), np.nan)

    assert isinstance(Broken(), Embedder)
    with pytest.raises(InputError, match="no finite point for each text"):
        select([at(1, 1), at(2, 2)], Broken(), number=1)


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"prompt": "A", "track": "style"}, "column 'score': the column is missing"),
        ({"prompt": "A", "track": "style", "score": "high"}, "column 'score': must be a finite number, not 'high'"),
        ({"prompt": "A", "track": "style", "score": None}, "column 'score': must be a finite number"),
        ({"prompt": "A", "track": "style", "score": True}, "column 'score': must be a finite number, not True"),
        ({"prompt": "A", "track": "style", "score": 10**400}, "column 'score': must be a finite number"),
        ({"prompt": "A", "score": 1}, "column 'track': the column is missing"),
        ({"prompt": "A", "track": "sport", "score": 1}, "column 'track': unknown value 'sport'"),
        ({"track": "style", "score": 1}, "column 'prompt': the column is missing"),
    ],
)
def test_a_wrong_candidate_is_named_with_its_place(tmp_path, row, problem):
    path = tmp_path / "c.jsonl"
    path.write_text(json.dumps(row) + "\n")
    with pytest.raises(InputError, match=problem):
        read_candidates(path)


def test_candidates_of_one_track_may_come_without_a_track(tmp_path):
    path = tmp_path / "c.csv"
    path.write_text("prompt,score\nA,1\nB,2.5\n")
    assert [each.track for each in read_candidates(path, Track.ENTITY)] == [Track.ENTITY] * 2
    (tmp_path / "d.csv").write_text("prompt,score,track\nA,1,style\nB,2,long_text\n")
    assert [each.text for each in read_candidates(tmp_path / "d.csv", Track.LONG_TEXT)] == ["B"]
    with pytest.raises(InputError, match="there is no candidate 'entity'"):
        read_candidates(tmp_path / "d.csv", Track.ENTITY)


def test_a_missing_extra_says_what_to_type():
    with pytest.raises(InputError, match=r"uv pip install './packages/curate\[embeddings\]'"):
        extra("no_such_library", "embeddings", "salon-curate")


def test_a_sentence_transformers_model_is_loaded_from_its_folder(tmp_path):
    pytest.importorskip("sentence_transformers", reason="runs with the extra embeddings")
    from sentence_transformers import SentenceTransformer, models
    from transformers import BertConfig, BertModel, BertTokenizerFast

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *sorted({word for text in TEXTS for word in text.split()})]
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    folder = tmp_path / "bert"
    BertTokenizerFast(vocab_file=str(tmp_path / "vocab.txt")).save_pretrained(folder)
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    BertModel(BertConfig(vocab_size=len(words), **shape)).save_pretrained(folder)
    bert = models.Transformer(str(folder))
    SentenceTransformer(modules=[bert, models.Pooling(16)], device="cpu").save(str(tmp_path / "model"))

    embedder = SentenceEmbedder(tmp_path / "model", device="cpu")
    points = embedder.embed(TEXTS)
    assert points.shape == (len(TEXTS), 16)
    assert np.linalg.norm(points, axis=1) == pytest.approx(1.0)
    assert len(select([Candidate(text, Track.STYLE, 1.0) for text in TEXTS], embedder, number=5)) == 5


def test_a_folder_that_is_no_model_is_explained(tmp_path):
    pytest.importorskip("sentence_transformers", reason="runs with the extra embeddings")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError, match="the model cannot be loaded"):
        SentenceEmbedder(tmp_path, device="cpu").embed(["a"])
