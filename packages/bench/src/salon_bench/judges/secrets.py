"""Keys of an API: held for sending, never for showing."""

from collections.abc import Mapping

from salon_bench.judges.settings import ChatSettings
from salon_taxonomy.errors import InputError

_SHORTEST_HIDDEN = 10
_HIDDEN = "[secret]"


class Secrets:
    """The headers that carry secrets, and the means to keep these out of everything that is stored or shown.

    Secrets of fewer than ten characters ("EMPTY", as local servers are given) are not looked for in texts: they are no
    secrets, and a reply that happens to hold the word must stay as it is.

    Args:
        headers: name → value, complete.
        values: the secrets themselves.

    Example:
        >>> secrets = Secrets({"Authorization": "Bearer sk-0123456789"}, ("sk-0123456789",))
        >>> secrets, secrets.hide("Incorrect API key: sk-0123456789")
        (Secrets(1), 'Incorrect API key: [secret]')
    """

    def __init__(self, headers: Mapping[str, str], values: tuple[str, ...]) -> None:
        self.headers = dict(headers)
        self._values = tuple(value for value in values if len(value) >= _SHORTEST_HIDDEN)
        self._bytes = tuple(value.encode() for value in self._values)

    def __repr__(self) -> str:
        """How many headers there are, and nothing of them."""
        return f"Secrets({len(self.headers)})"

    def hide(self, text: str) -> str:
        """The text without secrets."""
        for value in self._values:
            if value in text:
                text = text.replace(value, _HIDDEN)
        return text

    def hide_bytes(self, body: bytes) -> bytes:
        """The body of a reply without secrets."""
        for value in self._bytes:
            if value in body:
                body = body.replace(value, _HIDDEN.encode())
        return body

    @classmethod
    def of(cls, settings: ChatSettings, environment: Mapping[str, str]) -> "Secrets":
        """Take the secrets that the settings name from the environment.

        Raises:
            InputError: when a variable is not set or cannot stand in a header; its value is never shown.
        """
        headers: dict[str, str] = {}
        values: list[str] = []
        if settings.api_key_env is not None and (settings.api_key_required or environment.get(settings.api_key_env)):
            key = _taken(settings.api_key_env, environment)
            headers["Authorization"] = f"Bearer {key}"
            values.append(key)
        for header, name in settings.secret_headers.items():
            headers[header] = _taken(name, environment)
            values.append(headers[header])
        return cls(headers, tuple(values))


def _taken(name: str, environment: Mapping[str, str]) -> str:
    value = environment.get(name, "").strip()
    if not value:
        raise InputError("the environment variable is not set", key=name, hint=f"Set it: export {name}=…")
    if not value.isascii() or not value.isprintable():
        raise InputError("the environment variable holds characters that no HTTP header may hold", key=name)
    return value
