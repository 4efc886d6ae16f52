"""The small language of the drawn world's reasoning, and its judge."""

from for_each import for_each
from salon_synthetic.artifacts import KINDS, REASONS, SOUND, consistent, draw_examples
from salon_taxonomy.answers import Artifact, MagicMirrorAnswer
from salon_taxonomy.testing import HOSTILE_REPLIES

HAND = MagicMirrorAnswer(False, (KINDS["extra-finger"].artifact,))
NORMAL = MagicMirrorAnswer(True)


@for_each("number", range(len(HOSTILE_REPLIES)))
def test_a_spoiled_reply_supports_no_answer(number):
    reply = HOSTILE_REPLIES[number]
    assert not consistent(reply, NORMAL)
    assert not consistent(reply, HAND)
    assert not consistent(reply, MagicMirrorAnswer(False))


def test_every_sentence_is_there_once():
    sentences = [*REASONS.values(), *SOUND.values()]
    assert len({sentence.casefold() for sentence in sentences}) == len(sentences)
    assert REASONS.keys() == KINDS.keys()


@for_each("name", list(KINDS))
def test_a_kinds_sentence_supports_its_own_labels_alone(name):
    artifact = KINDS[name].artifact
    assert consistent(REASONS[name], MagicMirrorAnswer(False, (artifact,)))
    assert not consistent(REASONS[name], NORMAL)
    assert not consistent(REASONS[name], MagicMirrorAnswer(False))
    other = Artifact("L2: Other Irrationalities")
    assert not consistent(REASONS[name], MagicMirrorAnswer(False, (artifact, other)))


def test_every_drawn_example_supports_itself():
    for example in draw_examples(200, seed=2, size=16):
        assert consistent(example.reasoning, example.truth)


def test_case_space_and_line_breaks_do_not_matter_but_every_label_does():
    text = "  the hand has  five fingers.\nthe object is WHOLE "
    assert consistent(text, NORMAL)
    both = MagicMirrorAnswer(False, (KINDS["sunken"].artifact, KINDS["extra-finger"].artifact))
    reasoning = f"{REASONS['extra-finger']} {REASONS['sunken']}"
    assert consistent(reasoning, both)
    assert not consistent(reasoning, HAND)
    assert not consistent(f"{SOUND[KINDS['sunken'].subject]} {REASONS['extra-finger']}", NORMAL)
    assert not consistent("I like this picture.", NORMAL)
