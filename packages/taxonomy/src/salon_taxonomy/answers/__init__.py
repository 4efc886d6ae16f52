"""What a model's reply says, read by the four answer grammars of the field.

Every ``parse_…`` takes the raw text of one reply and returns :class:`Parsed` or :class:`Unparsed`; none raises on any
text, and each takes time linear in its length. Every ``render_…`` writes the text that its parser reads back.

    grammar            parse                    render                the answer
    MagicMirror        parse_magicmirror        render_magicmirror    MagicMirrorAnswer
    … bare JSON        parse_magicmirror_json   magicmirror_json      MagicMirrorAnswer
    Artifact-Bench 1   parse_yes_no             –                     YesNoAnswer
    Artifact-Bench 2   parse_video_choice       –                     VideoChoiceAnswer
    Artifact-Bench 3   parse_option_letters     –                     OptionLettersAnswer
    R³                 parse_r3                 render_r3             R3Answer
    PRISM-Bench        parse_prism              render_prism          PrismAnswer

and by the generic forms, for questions of one's own:

    yes or no          parse_yes_or_no          –                     bool
    a label of a menu  parse_choice             –                     str
    a mark of a scale  parse_scale              –                     int
    words              parse_text               –                     str
    a numbered list    parse_list               –                     a tuple of str
    a JSON object      parse_object             –                     what the caller makes of it
    … one of its keys  parse_value              –                     what the caller makes of it
    one of two         parse_pair_verdict       –                     SideVerdict

``answer_probabilities`` reads the log-probabilities of a reply's first tokens instead of its text, ``value_probabilities``
those behind a key of a JSON object.

Example:
    >>> parse_prism('{"justification": "One finger too many.", "score": 7}')
    Parsed(answer=PrismAnswer(score=7.0, justification='One finger too many.'), reasoning=None, notes=())
    >>> parse_prism('{"justification": "One fin').reason
    <Reason.TRUNCATED: 'truncated'>
"""

from salon_taxonomy.answers.artifact_bench import (
    OptionLettersAnswer,
    VideoChoiceAnswer,
    YesNoAnswer,
    parse_option_letters,
    parse_video_choice,
    parse_yes_no,
)
from salon_taxonomy.answers.forms import (
    OffMenuError,
    parse_choice,
    parse_list,
    parse_object,
    parse_scale,
    parse_text,
    parse_value,
    parse_yes_or_no,
)
from salon_taxonomy.answers.magicmirror import (
    MAGICMIRROR_MENU,
    Artifact,
    MagicMirrorAnswer,
    magicmirror_json,
    parse_magicmirror,
    parse_magicmirror_json,
    render_magicmirror,
)
from salon_taxonomy.answers.outcome import Note, Outcome, Parsed, Unparsed
from salon_taxonomy.answers.pair_verdict import SideVerdict, parse_pair_verdict
from salon_taxonomy.answers.prism import PrismAnswer, parse_prism, render_prism
from salon_taxonomy.answers.probabilities import AnswerProbabilities, answer_probabilities, value_probabilities
from salon_taxonomy.answers.r3 import R3Answer, parse_r3, render_r3
from salon_taxonomy.answers.reading import Fidelity

__all__ = [
    "MAGICMIRROR_MENU",
    "AnswerProbabilities",
    "Artifact",
    "Fidelity",
    "MagicMirrorAnswer",
    "Note",
    "OffMenuError",
    "OptionLettersAnswer",
    "Outcome",
    "Parsed",
    "PrismAnswer",
    "R3Answer",
    "SideVerdict",
    "Unparsed",
    "VideoChoiceAnswer",
    "YesNoAnswer",
    "answer_probabilities",
    "magicmirror_json",
    "parse_choice",
    "parse_list",
    "parse_magicmirror",
    "parse_magicmirror_json",
    "parse_object",
    "parse_option_letters",
    "parse_pair_verdict",
    "parse_prism",
    "parse_r3",
    "parse_scale",
    "parse_text",
    "parse_value",
    "parse_video_choice",
    "parse_yes_no",
    "parse_yes_or_no",
    "render_magicmirror",
    "render_prism",
    "render_r3",
    "value_probabilities",
]
