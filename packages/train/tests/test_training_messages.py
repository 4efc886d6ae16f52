"""Examples become chat messages and data sets that a real processor and TRL's own preparation take."""

import json
import subprocess
import sys

import pytest
from datasets import Dataset
from PIL import Image
from trl.data_utils import prepare_multimodal_messages

from for_each import for_each
from salon_synthetic.artifacts import draw_examples
from salon_taxonomy.answers import MAGICMIRROR_MENU, Artifact, MagicMirrorAnswer, parse_magicmirror, parse_magicmirror_json
from salon_taxonomy.errors import InputError
from salon_taxonomy.testing import HOSTILE_REPLIES
from salon_taxonomy.training_example import TrainingExample
from salon_train.data import Wording, answered, asked, grpo_dataset, question_of, sft_dataset, token_lengths

EXAMPLES = list(draw_examples(6, seed=3))
BROKEN = MagicMirrorAnswer(False, (Artifact("L2: Abnormal Object Morphology"),))


@for_each("prompt", HOSTILE_REPLIES)
@for_each("wording", ["full", "short", "bare", "Asked for {prompt}: {prompt}?"])
def test_a_hostile_prompt_stands_in_the_question_and_nothing_is_raised(prompt, wording):
    assert isinstance(question_of(prompt, wording), str)


def test_the_whole_question_is_the_one_that_the_suite_asks():
    from salon_bench.suites.magicbench import MagicBench
    from salon_taxonomy.protocols import Media

    assert question_of("a cat", Wording.FULL) == MagicBench().questions.assessment(Media.from_bytes(b""), prompt="a cat").text


@pytest.mark.parametrize("wording", ["full", "short"])
def test_every_label_stands_in_the_question_and_its_examples_of_answers_can_be_read(wording):
    text = question_of("a cat", wording)
    assert all(label in text for l2, cases in MAGICMIRROR_MENU.items() for label in (l2, *cases))
    boxes = [line for line in text.splitlines() if line.startswith("\\boxed{")]
    assert [parse_magicmirror(box).answer.normal for box in boxes] == [True, False]
    assert "a cat" in text


def test_wordings_get_shorter_and_the_bare_one_leaves_the_prompt_out():
    lengths = [len(question_of("a cat", wording)) for wording in Wording]
    assert lengths == sorted(lengths, reverse=True)
    assert "cat" not in question_of("a cat", "bare")
    assert question_of(None, "About {prompt}") == "About (not known)"


def test_an_empty_wording_is_refused():
    with pytest.raises(InputError, match="wording"):
        question_of("a cat", " ")


@pytest.mark.parametrize(
    "answer", [BROKEN, MagicMirrorAnswer(True), MagicMirrorAnswer(False)], ids=["broken", "normal", "unsaid"]
)
@pytest.mark.parametrize("reasoning", ["The cup has two handles.", None])
def test_what_should_be_answered_is_read_back_as_the_truth(answer, reasoning):
    (message,) = answered(TrainingExample("1", b"", answer, reasoning=reasoning))
    read = parse_magicmirror(message["content"])
    assert read.answer == answer
    assert read.reasoning == (reasoning or "")
    (short,) = answered(TrainingExample("1", b"", answer, reasoning=reasoning), reasoning=False)
    assert parse_magicmirror(short["content"]).reasoning is None


def test_grpo_rows_hold_what_rewards_are_given():
    data = grpo_dataset(EXAMPLES, wording="bare")
    assert data.column_names == ["prompt", "images", "truth", "example_id", "bucket", "buckets", "hard_positive"]
    for row, example in zip(data, EXAMPLES, strict=True):
        assert parse_magicmirror_json(row["truth"]).answer == example.truth
        assert (row["example_id"], row["bucket"], tuple(row["buckets"])) == (
            example.example_id,
            example.buckets[0],
            example.buckets,
        )
        assert row["prompt"] == asked(example, "bare")
        assert row["hard_positive"] is example.hard_positive
        assert row["images"][0].mode == "RGB"


def test_trl_puts_the_picture_into_the_users_message():
    row = sft_dataset(EXAMPLES)[0]
    (message,) = prepare_multimodal_messages(row["prompt"], images=row["images"])
    assert [part["type"] for part in message["content"]] == ["image", "text"]


def test_sft_rows_hold_prompt_and_completion_and_may_be_reasoned_alone():
    plain = TrainingExample("plain", EXAMPLES[0].image, EXAMPLES[0].truth)
    data = sft_dataset([*EXAMPLES, plain])
    assert data.column_names[:3] == ["prompt", "completion", "images"]
    assert parse_magicmirror(data[0]["completion"][0]["content"]).reasoning == EXAMPLES[0].reasoning
    assert len(data) == 7
    assert len(sft_dataset([*EXAMPLES, plain], only_reasoned=True)) == 6
    with pytest.raises(InputError, match="there is no example with reasoning"):
        sft_dataset([plain], only_reasoned=True)
    with pytest.raises(InputError, match="there is no example"):
        grpo_dataset([])


def test_reasoning_with_a_think_tag_is_refused():
    with pytest.raises(InputError, match="no think tag"):
        sft_dataset([TrainingExample("1", b"", BROKEN, reasoning="</think> ha")])


def test_pictures_on_the_disk_stay_there_unless_they_are_made_smaller(tmp_path):
    Image.new("RGBA", (40, 20)).save(tmp_path / "1.png")
    example = TrainingExample("1.png", tmp_path / "1.png", BROKEN)
    whole, small = grpo_dataset([example]), grpo_dataset([example], longest_side=10)
    (tmp_path / "1.png").rename(tmp_path / "2.png")
    assert small[0]["images"][0].size == (10, 5)
    with pytest.raises(FileNotFoundError):
        whole[0]
    with pytest.raises(InputError, match=r"the picture cannot be used .*: '1.png'"):
        grpo_dataset([example], longest_side=10)
    with pytest.raises(InputError, match="column 'images'"):
        grpo_dataset([TrainingExample("2", b"no picture", BROKEN)], longest_side=10)


class Words:
    """A tokenizer that counts words, with a chat template."""

    chat_template = "there is one"

    def apply_chat_template(self, messages, **_):
        return {"input_ids": [len(word) for message in messages for word in message["content"].split()]}


def test_prompts_are_held_against_a_limit_of_tokens():
    rows = [{"prompt": [{"role": "user", "content": "word " * count}], "example_id": f"e{count}"} for count in (3, 9, 5)]
    lengths = token_lengths(rows, Words(), limit=4)
    assert (lengths.rows, lengths.longest, lengths.longest_row, lengths.over, lengths.first_over) == (
        3,
        9,
        "e9",
        2,
        ("e9", "e5"),
    )
    assert lengths.mean == pytest.approx(17 / 3)
    with pytest.raises(InputError, match=r"row 2, column 'prompt': has 9 tokens; at most 4 are allowed: 'e9'"):
        token_lengths(rows, Words(), limit=4, strict=True)
    assert token_lengths([], Words()).longest_row is None


def test_a_completion_is_counted_with_its_prompt():
    row = {"prompt": [{"role": "user", "content": "a b"}], "completion": [{"role": "assistant", "content": "c d e"}]}
    assert token_lengths([row], Words()).longest == 5


def test_a_processor_without_chat_template_is_refused():
    with pytest.raises(InputError, match="no chat template"):
        token_lengths([{"prompt": [{"role": "user", "content": "x"}]}], object())


def test_a_real_processor_counts_the_picture_too_and_a_tokenizer_the_text_alone(tmp_path):
    from transformers import AutoProcessor

    from salon_train.models import TinyShape, build_tiny_model

    shape = TinyShape(image_size=32, vision_width=32, vision_layers=1, text_width=32, text_layers=1)
    build_tiny_model(tmp_path, [question_of(None, "bare")], seed=1, shape=shape)
    processor = AutoProcessor.from_pretrained(tmp_path)
    rows = grpo_dataset(EXAMPLES[:2], wording="bare")
    whole = token_lengths(rows, processor)
    text = token_lengths(rows.remove_columns("images"), processor.tokenizer)
    assert whole.longest > text.longest > 0
    learned = token_lengths(sft_dataset(EXAMPLES[:2], wording="bare"), processor)
    assert learned.longest > whole.longest


def test_rows_kept_on_the_disk_are_those_in_memory_and_errors_are_the_same(tmp_path):
    here, there = grpo_dataset(EXAMPLES), grpo_dataset(EXAMPLES, folder=tmp_path / "rows")
    assert there.features == here.features
    assert there.remove_columns("images").to_list() == here.remove_columns("images").to_list()
    broken = [*EXAMPLES, TrainingExample("2", b"no picture", BROKEN)]
    with pytest.raises(InputError, match="the picture cannot be used"):
        grpo_dataset(broken, longest_side=10, folder=tmp_path / "broken")


def test_messages_need_no_torch():
    code = "from salon_train.data import asked, read_examples, count, sft_dataset; import sys; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_a_data_set_is_the_same_after_it_was_written(tmp_path):
    data = grpo_dataset(EXAMPLES, wording="short", longest_side=32)
    data.save_to_disk(str(tmp_path / "out"))
    back = Dataset.load_from_disk(str(tmp_path / "out"))
    assert json.dumps(back.remove_columns("images").to_list()) == json.dumps(data.remove_columns("images").to_list())
    assert back[0]["images"][0].size == (32, 32)
