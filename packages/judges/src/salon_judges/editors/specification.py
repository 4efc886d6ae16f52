"""Which editor a text means: ``draw:``, ``openai:MODEL@https://host/v1``, ``diffusers:MODEL``."""

from collections.abc import Mapping
from typing import Final

from salon_judges.clients.settings import without_credentials
from salon_taxonomy.errors import InputError
from salon_taxonomy.plugins import EDITORS, EditorKind, ManagedEditor, installed, plugin

_SERVERS: Final = ("openai", "vllm", "sglang")
_KINDS: Final = (*_SERVERS, "diffusers")
_HINT: Final = "Write draw:, draw:prompt, KIND:MODEL@URL, diffusers:MODEL, or name a TOML file as judges have."


def open_editor(specification: str, environment: Mapping[str, str]) -> ManagedEditor:
    """Return the editor that a text or a TOML file means. Nothing is sent or loaded before its first edit.

    Servers are named and set up as judges are (:func:`salon_judges.clients.specification.read_settings`).

    Args:
        specification: one of the forms above.
        environment: where secrets are found; a command line passes ``os.environ``.

    Raises:
        InputError: for an unknown kind, wrong settings, or a secret that is not set.

    Example:
        >>> open_editor("draw:", {}).name
        'draw'
        >>> open_editor("vllm:qwen-image-edit@localhost:8000", {}).name
        'qwen-image-edit'
    """
    kind, colon, rest = specification.partition(":")
    if kind in installed(EDITORS) and (colon or not rest):
        return plugin(EDITORS, kind, EditorKind).open(rest, environment)
    if kind == "diffusers" and rest:
        from salon_judges.editors.diffusers_pipeline import DiffusersEditor

        return DiffusersEditor(rest)
    if specification.endswith(".toml") or (colon and kind in _SERVERS):
        return _server(specification, environment)
    raise InputError(
        "no such editor", value=without_credentials(specification), allowed=[*_KINDS, *installed(EDITORS)], hint=_HINT
    )


def _server(specification: str, environment: Mapping[str, str]) -> ManagedEditor:
    from salon_judges.clients.settings import ChatSettings
    from salon_judges.clients.specification import read_settings
    from salon_judges.editors.openai_compatible import OpenAICompatibleEditor

    settings = read_settings(specification)
    if not isinstance(settings, ChatSettings):
        raise InputError(
            "is no server that edits pictures",
            source=without_credentials(specification),
            key="kind",
            value=settings.kind,
            allowed=_SERVERS,
        )
    return OpenAICompatibleEditor(settings, environment)
