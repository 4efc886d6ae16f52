"""VideoScore2: the real loading path with tiny weights that were taught one reply, against the released script's rule."""

import asyncio
import math
import shutil
from pathlib import Path

import pytest
from PIL import Image
from tiny_qwen import save_tiny_qwen

from for_each import for_each
from salon_judges.scorers import video_score2
from salon_taxonomy.errors import InputError
from salon_taxonomy.scorers import open_scorer
from salon_taxonomy.verdict import Reason, Scored, Unscored

torch = pytest.importorskip("torch")
ANSWER = "visual quality: 4;\ntext-to-video alignment: 3,\nphysical/common-sense consistency: 2"
VIDEO = [Image.effect_noise((60, 40), 90 + 9 * at).convert("RGB") for at in range(2)]


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A model, and the authors' file with their question."""
    folder = save_tiny_qwen(tmp_path_factory.mktemp("score2"), "qwen2_5_vl")
    (folder / "vs2.py").write_text(
        'def main():\n    VS2_QUERY_TEMPLATE = Template("""Rate $t2v_prompt.""")\nraise SystemExit\n'
    )
    return folder


@pytest.fixture(scope="module")
def folder(base, tmp_path_factory):
    """A model that says :data:`ANSWER` about :data:`VIDEO`."""
    import transformers as library

    from salon_judges.scorers.video_score2 import _inputs

    folder = Path(shutil.copytree(base, tmp_path_factory.mktemp("taught") / "model"))
    processor = library.AutoProcessor.from_pretrained(folder)
    model = library.Qwen2_5_VLForConditionalGeneration.from_pretrained(folder)
    inputs = _inputs(processor, VIDEO, "Rate a red ball.")
    begun = inputs["input_ids"].shape[1]
    reply = torch.tensor([[*processor.tokenizer.encode(ANSWER), processor.tokenizer.eos_token_id]])
    whole = {key: value for key, value in inputs.items() if key not in ("input_ids", "attention_mask", "mm_token_type_ids")}
    whole["input_ids"] = torch.cat([inputs["input_ids"], reply], 1)
    whole["attention_mask"] = torch.ones_like(whole["input_ids"])
    whole["mm_token_type_ids"] = torch.cat([inputs["mm_token_type_ids"], torch.zeros_like(reply)], 1)
    labels = whole["input_ids"].clone()
    labels[:, :begun] = -100
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    torch.manual_seed(0)
    for _ in range(400):
        loss = model(**whole, labels=labels).loss
        if loss.item() < 0.01:
            break
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.save_pretrained(folder)
    return folder


def found(folder, prompt="a red ball", **changed):
    settings = {"prompts": folder / "vs2.py", "model": folder, "device": "cpu"} | changed
    text = ",".join(f"{key}={value}" for key, value in settings.items())
    return asyncio.run(open_scorer(f"video-score2:{text}").score([VIDEO], [prompt], {}))[0]


@pytest.mark.slow
def test_soft_marks_are_the_likeliest_mark_times_its_share_of_the_five(folder):
    import transformers as library

    from salon_judges.scorers.video_score2 import _DRAW, _inputs

    processor = library.AutoProcessor.from_pretrained(folder)
    model = library.Qwen2_5_VLForConditionalGeneration.from_pretrained(folder).eval()
    inputs = _inputs(processor, VIDEO, "Rate a red ball.")
    torch.manual_seed(0)
    drawn = model.generate(**inputs, **_DRAW, output_scores=True, return_dict_in_generate=True)
    ids = drawn.sequences[0, inputs["input_ids"].shape[1] :].tolist()
    assert processor.tokenizer.decode(ids, skip_special_tokens=True) == ANSWER
    wanted = []
    for mark in (4, 3, 2):
        place = next(at for at, one in enumerate(ids) if processor.tokenizer.decode([one]).strip() == str(mark))
        share = torch.log_softmax(drawn.scores[place][0], -1).exp()
        five = [float(share[processor.tokenizer.encode(str(each))[0]]) for each in range(1, 6)]
        wanted.append((five.index(max(five)) + 1) * max(five) / sum(five))
    for name, value in zip(("visual", "text", "physical"), wanted, strict=True):
        assert found(folder, dimension=name) == Scored(pytest.approx(value, abs=1e-4))
    assert found(folder) == Scored(pytest.approx(sum(wanted) / 3, abs=1e-4))
    assert found(folder) == found(folder), "the draw has a seed"


class Letters:
    """A tokenizer of characters."""

    def decode(self, ids, **_):
        return "".join(map(chr, ids))

    def encode(self, text, **_):
        return [ord(each) for each in text]


@for_each(
    ("reply", "reason"),
    [
        ("", Reason.MALFORMED),
        ("It is a good video.", Reason.MALFORMED),
        ("visual quality: 4; text-to-video alignment: 3", Reason.MALFORMED),
        (ANSWER.replace("4", "9"), Reason.OFF_MENU),
        (ANSWER.replace("2", "10"), Reason.OFF_MENU),
        (ANSWER.replace("3", "0"), Reason.OFF_MENU),
        ('{"visual quality": 4', Reason.MALFORMED),
    ],
)
def test_a_reply_without_three_marks_is_unscored(reply, reason):
    from salon_judges.scorers.video_score2 import soft_marks

    ids = Letters().encode(reply)
    marks = soft_marks(Letters(), ids, [torch.zeros(128) for _ in ids])
    assert isinstance(marks, Unscored) and marks.reason == reason


def test_the_first_digit_behind_the_words_is_the_mark_that_is_weighed():
    from salon_judges.scorers.video_score2 import soft_marks

    reply = f"I think.\n{ANSWER}"
    scores = []
    for each in reply:
        row = torch.zeros(128)
        row[ord(each)] = 3.0
        scores.append(row)
    share = math.e**3 / (math.e**3 + 4)
    marks = soft_marks(Letters(), Letters().encode(reply), scores)
    assert marks == pytest.approx({"visual": 4 * share, "text": 3 * share, "physical": 2 * share}, abs=1e-5)


def test_wrong_settings_are_named(base, tmp_path):
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "model.safetensors").write_text("no weights")
    for changed, problem in (
        ({"dimension": "fun"}, "unknown dimension"),
        ({"seed": "-1"}, "whole number from 0"),
        ({"model": tmp_path / "odd"}, "cannot be loaded"),
    ):
        with pytest.raises(InputError, match=problem):
            found(base, **changed)
    (tmp_path / "vs2.py").write_text("VS2_QUERY_TEMPLATE = 'no place'")
    with pytest.raises(InputError, match="does not hold the authors' prompt"):
        found(base, prompts=tmp_path / "vs2.py")


class Prepared:
    """A processor that keeps what it was given."""

    def apply_chat_template(self, messages, **options):
        self.messages, self.options = messages, options
        return "the text"

    def __call__(self, **inputs):
        self.inputs = inputs
        return self


@pytest.mark.parametrize(
    ("frames", "size", "shown"), [(3, (64, 48), (392, 280)), (3, (64, 32), (448, 224)), (4, (2000, 1000), (1092, 532))]
)
def test_a_video_is_shown_in_pairs_of_frames_of_a_size_within_the_released_bounds(frames, size, shown):
    """At least 128 and at most 768 squares of 28 pixels a frame, and at most nine tenths of 128,000 in all."""
    processor = Prepared()
    video_score2._inputs(processor, [Image.new("RGB", size, (10, 200, 30))] * frames, "How good?")
    [pixels], [timing] = processor.inputs["videos"], processor.inputs["video_metadata"]
    count = frames + frames % 2
    assert tuple(pixels.shape) == (count, 3, shown[1], shown[0])
    squares = shown[0] * shown[1] / 28**2
    assert 128 <= squares <= 768 and squares * count / 2 <= 128_000 * 0.9
    assert (timing.total_num_frames, timing.fps, list(timing.frames_indices)) == (count, 2.0, list(range(count)))
    assert processor.messages == [
        {"role": "user", "content": [{"type": "video"}, {"type": "text", "text": "How good?"}]}
    ] and processor.options == {"tokenize": False, "add_generation_prompt": True}
    kept = {name: value for name, value in processor.inputs.items() if name not in ("videos", "video_metadata")}
    assert kept == {"text": ["the text"], "do_resize": False, "do_sample_frames": False, "return_tensors": "pt"}
