"""Judges: models that answer questions about pictures.

    open_judge("vllm:Qwen/Qwen2.5-VL-7B-Instruct@localhost:8000")   or   open_judge("judge.toml")

    CachedJudge, RoutedJudge, CollectingJudge       around other judges
    TransformersJudge, OpenAICompatibleJudge        judges of their own

``OpenAICompatibleJudge`` speaks to any OpenAI-compatible server; ``ChatSettings`` are its settings without
secrets. The contract (``Judge``, ``Question``, ``Reply``) is in ``salon_taxonomy.protocols``.

Nothing is imported before it is asked for (PEP 562): settings can be read without the HTTP client.
"""

from typing import TYPE_CHECKING

from salon_taxonomy.lazy_names import lazy_names

if TYPE_CHECKING:
    from salon_judges.clients.batch_folder import BatchFolder, Ingested
    from salon_judges.clients.cache import CachedJudge, ResponseCache
    from salon_judges.clients.collecting import CollectingJudge
    from salon_judges.clients.local_settings import ReplaySettings, TransformersSettings, VllmOfflineSettings
    from salon_judges.clients.local_transformers import TransformersJudge
    from salon_judges.clients.local_vllm import VllmOfflineJudge
    from salon_judges.clients.openai_compatible import OpenAICompatibleJudge
    from salon_judges.clients.pacing import Clock, SystemClock
    from salon_judges.clients.pictures import PictureParts
    from salon_judges.clients.routing import RoutedJudge, RoutedSettings
    from salon_judges.clients.settings import ChatSettings, DecodingOverrides, JsonMode, Prices, ServerLimits, TokensField
    from salon_judges.clients.specification import open_judge, open_settings, read_judges, read_settings, restore_settings
    from salon_judges.clients.wrapping import WrappedSettings

__all__ = [
    "BatchFolder",
    "CachedJudge",
    "ChatSettings",
    "Clock",
    "CollectingJudge",
    "DecodingOverrides",
    "Ingested",
    "JsonMode",
    "OpenAICompatibleJudge",
    "PictureParts",
    "Prices",
    "ReplaySettings",
    "ResponseCache",
    "RoutedJudge",
    "RoutedSettings",
    "ServerLimits",
    "SystemClock",
    "TokensField",
    "TransformersJudge",
    "TransformersSettings",
    "VllmOfflineJudge",
    "VllmOfflineSettings",
    "WrappedSettings",
    "open_judge",
    "open_settings",
    "read_judges",
    "read_settings",
    "restore_settings",
]

_BY_MODULE = {
    "batch_folder": ("BatchFolder", "Ingested"),
    "cache": ("CachedJudge", "ResponseCache"),
    "collecting": ("CollectingJudge",),
    "local_settings": ("ReplaySettings", "TransformersSettings", "VllmOfflineSettings"),
    "local_transformers": ("TransformersJudge",),
    "local_vllm": ("VllmOfflineJudge",),
    "openai_compatible": ("OpenAICompatibleJudge",),
    "pacing": ("Clock", "SystemClock"),
    "pictures": ("PictureParts",),
    "routing": ("RoutedJudge", "RoutedSettings"),
    "settings": ("ChatSettings", "DecodingOverrides", "JsonMode", "ServerLimits", "Prices", "TokensField"),
    "specification": ("open_judge", "open_settings", "read_judges", "read_settings", "restore_settings"),
    "wrapping": ("WrappedSettings",),
}
__getattr__, __dir__ = lazy_names(globals(), _BY_MODULE)
