"""The fixed words in columns of result tables; apart from ``records.py``, so that reading votes needs no pydantic."""

from enum import StrEnum


class Winner(StrEnum):
    """The outcome of a battle. ``both_good`` and ``both_bad`` are MEF's two kinds of tie; ``tie`` says no more."""

    MODEL_A = "model_a"
    MODEL_B = "model_b"
    BOTH_GOOD = "both_good"
    BOTH_BAD = "both_bad"
    TIE = "tie"


class Mode(StrEnum):
    """Who decided a battle. ``derived`` battles compare two published or measured scores, without a vote."""

    EXPERT = "expert"
    PUBLIC = "public"
    JUDGE = "judge"
    DERIVED = "derived"


class Side(StrEnum):
    """Where a picture stood on the rater's screen."""

    LEFT = "left"
    RIGHT = "right"


class MediaKind(StrEnum):
    """What a generation is."""

    IMAGE = "image"
    VIDEO = "video"


class MediaRole(StrEnum):
    """Why a picture or video is shown. The words are columns of prompts, names in suite files, and in ``judge_calls.shown``."""

    SOURCE = "source"
    """What is to be edited; several have an order."""
    REFERENCE = "reference"
    """What the result is held against: the truth, a style, a subject."""
    MASK = "mask"
    """Where the source may change."""
    FIRST_FRAME = "first_frame"
    """The picture that a video starts from."""
    RESULT = "result"
    """What the model under test made."""


class CallStatus(StrEnum):
    """How a call to a judge ended, before its reply was parsed."""

    OK = "ok"
    TIMEOUT = "timeout"
    UNREACHABLE = "unreachable"
    REJECTED = "rejected"
    CANCELLED = "cancelled"


class Finish(StrEnum):
    """Why a reply ended."""

    STOP = "stop"
    """The judge was done."""
    LENGTH = "length"
    """``Decoding.max_tokens`` was reached."""
    FILTERED = "filtered"
    """The judge's provider withheld the rest."""
    UNKNOWN = "unknown"
    """Unknown."""


class RunEventKind(StrEnum):
    """What happened to a run."""

    STARTED = "started"
    RESUMED = "resumed"
    STOPPED = "stopped"
    """Work was left: a budget, a deadline, Ctrl-C, or calls that failed for good."""
    FINISHED = "finished"
