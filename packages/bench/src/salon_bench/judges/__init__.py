"""Judges: models that answer questions about pictures.

    open_judge("vllm:Qwen/Qwen2.5-VL-7B-Instruct@localhost:8000", environment)   or   open_judge("judge.toml", environment)

``OpenAICompatibleJudge`` speaks to any OpenAI-compatible server; ``ChatSettings`` is everything it is told but for its
secrets. The contract itself (``Judge``, ``Question``, ``Reply``) stands in ``salon_taxonomy.protocols``.
"""

from salon_bench.judges.clock import Clock, SystemClock
from salon_bench.judges.managed import ManagedJudge
from salon_bench.judges.openai_compatible import OpenAICompatibleJudge
from salon_bench.judges.pictures import PictureParts
from salon_bench.judges.pricing import Prices
from salon_bench.judges.settings import ChatSettings, DecodingOverrides, JsonMode, JudgeSettings, Limits, TokensField
from salon_bench.judges.specification import open_judge, open_settings, read_settings, restore_settings

__all__ = [
    "ChatSettings",
    "Clock",
    "DecodingOverrides",
    "JsonMode",
    "JudgeSettings",
    "Limits",
    "ManagedJudge",
    "OpenAICompatibleJudge",
    "PictureParts",
    "Prices",
    "SystemClock",
    "TokensField",
    "open_judge",
    "open_settings",
    "read_settings",
    "restore_settings",
]
