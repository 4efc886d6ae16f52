"""Judges: models that answer questions about pictures.

    open_judge("vllm:Qwen/Qwen2.5-VL-7B-Instruct@localhost:8000", environment)   or   open_judge("judge.toml", environment)

``OpenAICompatibleJudge`` speaks to any OpenAI-compatible server; ``ChatSettings`` is everything it is told but for its
secrets. The contract itself (``Judge``, ``Question``, ``Reply``) stands in ``salon_taxonomy.protocols``.

Nothing is imported before it is asked for (PEP 562): settings can be read without the HTTP client.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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

_BY_MODULE = {
    "clock": ("Clock", "SystemClock"),
    "managed": ("ManagedJudge",),
    "openai_compatible": ("OpenAICompatibleJudge",),
    "pictures": ("PictureParts",),
    "pricing": ("Prices",),
    "settings": ("ChatSettings", "DecodingOverrides", "JsonMode", "JudgeSettings", "Limits", "TokensField"),
    "specification": ("open_judge", "open_settings", "read_settings", "restore_settings"),
}
_MODULE_OF = {name: module for module, names in _BY_MODULE.items() for name in names}


def __getattr__(name: str) -> object:
    """Import a name of the table of contents when it is first used."""
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Everything that there is, imported or not."""
    return sorted({*globals(), *__all__})
