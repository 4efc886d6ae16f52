"""The five taxonomies that come with the package against the papers: names, counts, shares, and the sums between them."""

import math

import pytest

from salon_taxonomy import Grammar, Taxonomy


def names(labels) -> list[str]:
    return [label.name for label in labels]


def test_the_five_taxonomies_come_with_the_package() -> None:
    assert Taxonomy.names() == ("artifact-bench", "magicmirror", "mef", "prism", "r3")


@pytest.mark.parametrize("name", Taxonomy.names())
def test_every_label_is_defined_once_and_every_text_is_our_own_sentence(name: str) -> None:
    taxonomy = Taxonomy.load(name)
    definitions = [label.definition for label in taxonomy.labels]
    assert len(set(definitions)) == len(definitions)
    assert all(text.endswith((".", "?")) and len(text) > 15 for text in definitions)
    assert taxonomy.source is not None
    assert taxonomy.source.where


class TestMagicMirror:
    """MagicMirror, Table 5."""

    tree = Taxonomy.load("magicmirror")

    def test_it_has_two_six_and_seventeen_labels(self) -> None:
        assert [len(self.tree.tier(tier)) for tier in ("L1", "L2", "L3")] == [2, 6, 17]
        assert [len(self.tree.children(label)) for label in self.tree.tier("L2")] == [4, 3, 7, 3, 0, 0]
        assert names(self.tree.roots()) == ["Normal", "Artifact"]
        assert len(self.tree.guidelines) == 5

    def test_its_names_are_those_of_the_table(self) -> None:
        assert names(self.tree.tier("L2")) == [
            "Irrational Element Attributes",
            "Irrational Element Interaction",
            "Abnormal Human Anatomy",
            "Abnormal Animal Anatomy",
            "Abnormal Object Morphology",
            "Other Irrationalities",
        ]
        assert names(self.tree.children("L2: Abnormal Human Anatomy")) == [
            "Limb Structure Deformity",
            "Trunk Structure Deformity",
            "Hand Structure Deformity",
            "Foot Structure Deformity",
            "Facial Structure Deformity",
            "Abnormal Human Anatomy",
            "Abnormal and Uncoordinated Posture",
        ]

    def test_normal_and_artifact_make_the_totals_of_every_set(self) -> None:
        normal, artifact = (self.tree.find(id_).counts for id_ in ("normal", "artifact"))
        for key in ("all", "train", "test", "cot"):
            assert normal[key] + artifact[key] == self.tree.counts[key]

    def test_the_paper_leaves_665_images_with_artifacts_in_neither_set(self) -> None:
        normal, artifact = (self.tree.find(id_).counts for id_ in ("normal", "artifact"))
        assert normal["all"] == normal["train"] + normal["test"]
        assert artifact["all"] - artifact["train"] - artifact["test"] == 665

    def test_the_supports_of_the_four_main_kinds_are_those_of_the_test_set(self) -> None:
        supports = {label.id: label.counts["test"] for label in self.tree.tier("L2")}
        assert supports["irrational-element-interaction"] == 3004
        assert supports["abnormal-human-anatomy"] == 5645
        assert supports["abnormal-animal-anatomy"] == 1324
        assert supports["abnormal-object-morphology"] == 1842

    def test_no_case_is_more_frequent_than_its_kind(self) -> None:
        for kind in self.tree.tier("L2"):
            for case in self.tree.children(kind):
                assert all(case.counts[key] <= kind.counts[key] for key in ("all", "train", "test", "cot")), case.id

    def test_printed_shares_follow_from_the_counts_but_for_one(self) -> None:
        artifacts = self.tree.find("artifact").counts["all"]
        strays = []
        for label in (*self.tree.tier("L2"), *self.tree.tier("L3")):
            exact, printed = 100 * label.counts["all"] / artifacts, label.shares["of_artifacts"]
            digits = len(str(printed).partition(".")[2])
            cut = math.floor(exact * 10**digits) / 10**digits
            if not (math.isclose(printed, cut) or math.isclose(printed, round(exact, digits))):
                strays.append(label.id)
        assert strays == ["trunk-structure-deformity"]

    def test_two_labels_share_a_name_and_are_told_apart_by_their_answers(self) -> None:
        both = self.tree.matches("Abnormal Human Anatomy")
        assert [label.tier for label in both] == ["L2", "L3"]
        assert self.tree.find("L3: Abnormal Human Anatomy") == both[1]


class TestArtifactBench:
    """Artifact-Bench, section 3.1 and the released label names."""

    tree = Taxonomy.load("artifact-bench")

    def test_it_has_three_domains_twelve_families_and_thirty_leaves(self) -> None:
        assert [len(self.tree.tier(tier)) for tier in ("domain", "family", "leaf")] == [3, 12, 30]
        assert len(self.tree.leaves()) == 30
        assert [len(self.tree.children(domain)) for domain in self.tree.roots()] == [3, 5, 4]
        assert all(self.tree.children(family) for family in self.tree.tier("family"))

    def test_its_families_are_those_of_the_paper(self) -> None:
        assert names(self.tree.tier("family")) == [
            *("Color & Exposure", "Camera & Lens", "Image Quality & Texture"),
            *("Identity", "Morphology", "Spatial Depth", "Functional Structure", "Optical Consistency"),
            *("Motion", "Causality", "Commonsense", "Scene Continuity"),
        ]

    def test_its_leaves_are_those_that_were_released(self) -> None:
        released = (
            "Color and Exposure Anomaly · Inconsistent Blur · Depth and Perspective Distortion · Texture Inconsistency · "
            "Oversmoothing · Flickering and Noise · Text and Symbol Unreadable · Feature Instability · Canonical Appearance "
            "Violation · Biological Anatomy Violation · Unnatural Morphing · Abnormal Multi-Object Merging/Splitting · Spatial "
            "Clipping · Occlusion Failure · Spatial Coherence · Non-Biological Structural Loss · Reflection Inconsistency · "
            "Refraction Distortion · Lighting and Shadow Inconsistency · Baked-in Lighting · Unnatural Biological Motion · "
            "Dynamic and Kinematic Inconsistency · Abnormal Facial Expression · Identical Multi-Subject Motion · "
            "Action Without Consequence · Consequence Without Valid Action · Irreversibility Violation · "
            "Action-Context Mismatch · Abnormal Object Disappearance/Appearance · Cross-Shot Coherence"
        )
        assert names(self.tree.leaves()) == released.split(" · ")

    def test_its_tasks_make_1100_questions(self) -> None:
        assert sum(self.tree.counts.values()) == 1100


class TestR3:
    """R³-Bench, Figure 3 and Table 1."""

    tree = Taxonomy.load("r3")

    def test_its_eight_categories_make_670_items(self) -> None:
        counts = {label.name: label.counts["test"] for label in self.tree.labels}
        assert counts == {
            "Color": 97,
            "Complex": 94,
            "Non-Spatial": 49,
            "Numeracy": 96,
            "Object": 71,
            "Shape": 92,
            "Spatial": 101,
            "Texture": 70,
        }
        assert sum(counts.values()) == self.tree.counts["test"] == 670
        assert self.tree.counts["misaligned"] + self.tree.counts["aligned"] == 670


class TestPrism:
    """PRISM-Bench, appendix B.1 and Tables 8-14."""

    tree = Taxonomy.load("prism")

    def test_it_has_six_characteristics_and_long_text(self) -> None:
        assert names(self.tree.tier("characteristic")) == [
            *("Imagination", "Entity", "Text rendering", "Style", "Affection", "Composition"),
        ]
        assert names(self.tree.tier("track")) == ["Long text"]

    def test_every_track_has_a_hundred_prompts_of_two_kinds(self) -> None:
        for track in self.tree.labels:
            assert dict(track.counts) == {"prompts": 100, "sampled": 50, "composed": 50}
        assert self.tree.counts["prompts"] == 700

    def test_every_track_has_its_criterion_and_its_deductions(self) -> None:
        ranges = {label.id: [(item.low, item.high) for item in label.deductions] for label in self.tree.labels}
        assert ranges == {
            "imagination": [(4, 6), (3, 5), (2, 4), (1, 3)],
            "entity": [(4, 6), (3, 5), (2, 4), (1, 3)],
            "text-rendering": [(6, 8), (3, 5), (3, 5), (2, 4)],
            "style": [(5, 7), (4, 6), (2, 4), (1, 3)],
            "affection": [(6, 8), (3, 5), (3, 5), (2, 4), (2, 4)],
            "composition": [(3, 5), (3, 5), (2, 4), (2, 4), (1, 2)],
            "long-text": [(5, 7), (3, 5), (2, 4), (1, 1)],
        }
        assert all(label.criterion for label in self.tree.labels)
        assert [label.source for label in self.tree.labels] == [f"Table {number}" for number in range(8, 15)]


class TestMef:
    """MEF, Tables 1, 2, 8, 11 and 12."""

    tree = Taxonomy.load("mef")

    def test_its_scenarios_share_all_the_prompts(self) -> None:
        shares = {label.name: label.shares["prompts"] for label in self.tree.tier("scenario")}
        assert shares == {"Film": 20, "Art": 21, "Entertainment": 12, "Aesthetic Design": 25, "Functional Design": 22}
        assert sum(shares.values()) == 100

    def test_its_thirteen_capability_shares_are_those_of_table_2(self) -> None:
        capabilities = [label for label in self.tree.walk("objective-capability") if label.shares]
        assert {label.name: label.shares["prompts"] for label in capabilities} == {
            "Quantity": 4,
            "Attribute": 9,
            "Relation": 12,
            "Action / State": 10,
            "Style": 64,
            "Aesthetic": 35,
            "Atmosphere": 6,
            "Multi-Entity Feature Matching": 8,
            "Layout & Typography": 5,
            "Anti-Realism": 8,
            "Negation": 2,
            "Pronoun Reference": 1,
            "Consistency": 2,
        }

    def test_a_prompt_has_one_to_four_capabilities_on_average(self) -> None:
        shares = [label.shares["prompts"] for label in self.tree.walk("objective-capability") if label.shares]
        assert 100 <= sum(shares) <= 400

    def test_its_twenty_one_test_points_stand_in_the_order_of_table_8(self) -> None:
        assert names(self.tree.tagged("test-point")) == [
            *("Text", "Quantity", "Facial Expression", "Texture", "Size"),
            *("Comparative Relation", "Compositional Relation", "Content Relation", "Similarity Relation"),
            *("Full-body Action", "Partial Action", "Animal Action", "Contact Interaction", "Non-contact Interaction", "State"),
            *("Multi-Entity Feature Matching", "Layout & Typography", "Anti-Realism"),
            *("Negation", "Pronoun Reference", "Consistency"),
        ]
        by_category = [len([p for p in self.tree.walk(c) if "test-point" in p.tags]) for c in self.tree.tier("category")]
        assert by_category == [15, 3, 3]

    def test_table_1_has_its_fourteen_capabilities_in_the_tree(self) -> None:
        rows = ["Entity", "Quantity", "Attribute", "Relation", "Action/State", "Style", "Aesthetic", "Atmosphere"]
        rows += [
            "Negation",
            "Consistency",
            "Multi-Entity Feature Matching",
            "Layout & Typography",
            "Anti-Realism",
            "Pronoun Reference",
        ]
        assert {self.tree.tier_of(self.tree.find(row)) for row in rows} == {"item"}


def test_each_taxonomy_is_answered_in_its_papers_grammar() -> None:
    assert {name: Taxonomy.load(name).grammar for name in Taxonomy.names()} == {
        "magicmirror": Grammar.TREE,
        "artifact-bench": Grammar.LETTERS,
        "r3": Grammar.REFINE,
        "prism": Grammar.SCORE,
        "mef": Grammar.LABELS,
    }
