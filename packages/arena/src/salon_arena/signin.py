"""Sign-in for arenas that give people accounts: with a password, or through OpenID Connect.

Both are extras (``salon-arena[passwords]``, ``salon-arena[oidc]``). An account holds no name and no mail address: its key is
an HMAC of the name, or of issuer and subject. A browser gets the arena's own session; the provider's tokens are not kept.
"""

import asyncio
import hashlib
import json
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, Final
from unicodedata import normalize
from urllib.parse import urlencode, urlsplit

from sqlalchemy import Connection, insert, select

from salon_arena.chain import add_row
from salon_arena.database import ArenaDatabase
from salon_arena.errors import RefusedError
from salon_arena.people import ROLES, Session, add_rater, add_session
from salon_arena.tables import ACCOUNTS, RATERS
from salon_taxonomy.answers.reading import without_surrogates
from salon_taxonomy.errors import InputError

if TYPE_CHECKING:
    from ssl import SSLContext

    from argon2 import PasswordHasher
    from joserfc.jwk import KeySet

SHORTEST_PASSWORD: Final = 12
"""In characters (NIST SP 800-63B asks for 8; with no second factor we ask for more)."""
_TIMEOUT_S: Final = 10.0
_MOST_CONTENT: Final = 1 << 20
"""Bytes that a provider's answer may have."""
_LEEWAY_S: Final = 60
"""How far the provider's clock may be from ours."""
_SIGNED_WITH: Final = ("RS256", "ES256", "PS256", "EdDSA")


def _hasher() -> "PasswordHasher":
    try:
        from argon2 import PasswordHasher
    except ModuleNotFoundError as error:
        hint = "uv pip install './packages/arena[passwords]'"
        raise InputError("passwords need the package argon2-cffi", value=error.name, hint=hint) from error
    return PasswordHasher()


def add_account(database: ArenaDatabase, name: str, password: str, role: str, now: int) -> str:
    """Make a rater with a name and a password; returns the rater's id.

    Args:
        database: the arena's.
        name: for sign-in; kept as an HMAC alone, upper and lower case alike.
        password: at least 12 characters; kept as an Argon2id hash.
        role: of :data:`salon_arena.people.ROLES`.
        now: microseconds since 1970.

    Raises:
        InputError: the name is empty or taken, the password too short, the role unknown, or argon2 is not installed.
    """
    for words, what in ((name, "name"), (password, "password")):
        if without_surrogates(words) != words:
            raise InputError(f"the {what} holds half a surrogate pair, which no encoding can carry")
    if not name.strip() or len(name) > 200:
        raise InputError("a name has 1 to 200 characters", value=name[:40])
    if not SHORTEST_PASSWORD <= len(password) <= 1000:
        raise InputError(f"a password has at least {SHORTEST_PASSWORD} characters")
    if role not in ROLES:
        raise InputError("unknown role", value=role, allowed=ROLES)
    hashed = _hasher().hash(password)
    rater = f"rater-{secrets.token_hex(8)}"
    key = _name_key(database, name)

    def work(connection: Connection) -> str:
        if connection.execute(select(ACCOUNTS.c.rater_id).where(ACCOUNTS.c.key == key)).first() is not None:
            raise InputError("there is an account of this name:", value=name)
        add_row(connection, RATERS, {"rater_id": rater, "created_at": now, "role": role})
        connection.execute(insert(ACCOUNTS), {"key": key, "rater_id": rater, "password": hashed})
        return rater

    return database.write(work).result()


def plain_name(name: str) -> str:
    """Return a name as it is compared: trimmed, upper and lower case alike, in NFC.

    Example:
        >>> plain_name(" Ann ")
        'ann'
    """
    return normalize("NFC", normalize("NFC", name).strip().casefold())


def _name_key(database: ArenaDatabase, name: str) -> str:
    return database.hmac("account", plain_name(name))


class Passwords:
    """Checks names and passwords. Safe to use from several threads.

    Args:
        database: the arena's.
    """

    def __init__(self, database: ArenaDatabase) -> None:
        self._database = database
        self._hasher = _hasher()
        self._unknown = self._hasher.hash(secrets.token_urlsafe(16))

    def sign_in(self, name: str, password: str, now: int) -> Session:
        """Make a new session for a name and its password; an unknown name takes as long as a wrong password.

        Raises:
            RefusedError: 403 ``wrong`` for both.
        """
        from argon2.exceptions import VerificationError

        key = _name_key(self._database, name)
        query = select(ACCOUNTS.c.rater_id, ACCOUNTS.c.password).where(ACCOUNTS.c.key == key)
        row = self._database.read(lambda connection: connection.execute(query).first())
        known = row is not None and row.password is not None
        try:
            self._hasher.verify(row.password if row is not None and known else self._unknown, password)
        except VerificationError as error:
            raise RefusedError(403, "wrong") from error
        if row is None or not known:
            raise RefusedError(403, "wrong")
        rater: str = row.rater_id
        return self._database.write(lambda connection: _new_session(connection, rater, now)).result()


@dataclass(frozen=True, slots=True)
class OidcSettings:
    """Where people sign in.

    Attributes:
        issuer: address of the provider; HTTPS, or on this machine.
        client_id: of the arena at the provider.
        client_secret: given by the provider.
        redirect: address of the arena's ``/oidc/callback``.
    """

    issuer: str
    client_id: str
    client_secret: str
    redirect: str

    def __post_init__(self) -> None:
        """Refuse an issuer that is neither HTTPS nor on this machine."""
        if not _is_protected(self.issuer):
            raise InputError("the issuer must be an https:// address, not", source="--oidc-issuer", value=self.issuer)


class Oidc:
    """Sign-in through one provider: code flow with PKCE, state and nonce. Safe to use from several threads.

    Args:
        database: the arena's.
        settings: where people sign in.
        invited: a person's first sign-in needs an invite.
    """

    def __init__(self, database: ArenaDatabase, settings: OidcSettings, *, invited: bool) -> None:
        try:
            import httpx
            import joserfc  # noqa: F401 - says at the start that it is missing
        except ModuleNotFoundError as error:
            hint = "uv pip install './packages/arena[oidc]'"
            raise InputError("sign-in through OpenID Connect needs the package", value=error.name, hint=hint) from error
        self._database = database
        self._settings = settings
        self._invited = invited
        self._lock = Lock()
        self._trusted = httpx.create_ssl_context()
        self._found: Mapping[str, Any] | None = None

    def start(self) -> tuple[str, dict[str, str]]:
        """Return the provider's address to go to, and what the browser must bring back: state, nonce, verifier."""
        kept = {"state": secrets.token_urlsafe(24), "nonce": secrets.token_urlsafe(24), "verifier": secrets.token_urlsafe(48)}
        proof = urlsafe_b64encode(hashlib.sha256(kept["verifier"].encode()).digest()).rstrip(b"=").decode()
        query = {"response_type": "code", "client_id": self._settings.client_id, "redirect_uri": self._settings.redirect}
        query |= {"scope": "openid", "state": kept["state"], "nonce": kept["nonce"]}
        query |= {"code_challenge": proof, "code_challenge_method": "S256"}
        address = self._provider()["authorization_endpoint"]
        return f"{address}{'&' if '?' in address else '?'}{urlencode(query)}", kept

    def finish(self, code: str, state: str, kept: Mapping[str, str], invite: str | None, now: int) -> Session:
        """Exchange the provider's code, check its token, and make a session for the person.

        Raises:
            RefusedError: 403 ``state`` when the browser did not start this sign-in, ``provider`` when the provider's answer
                does not hold, ``invite`` when a first sign-in has no unused invite.
        """
        if not kept.get("state") or not secrets.compare_digest(state.encode(), kept["state"].encode()):
            raise RefusedError(403, "state")
        claims = self._claims(code, kept)
        person = self._database.hmac("oidc", f"{self._settings.issuer}\x1f{claims['sub']}")
        return self._database.write(lambda connection: self._session(connection, person, invite, now)).result()

    def _claims(self, code: str, kept: Mapping[str, str]) -> Mapping[str, Any]:
        from joserfc import jwt
        from joserfc.errors import JoseError

        provider, client = self._provider(), self._settings
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": client.redirect}
        form |= {"code_verifier": kept["verifier"]}
        try:
            token = self._fetched("POST", provider["token_endpoint"], data=form, auth=(client.client_id, client.client_secret))
            keys = _understood(self._fetched("GET", provider["jwks_uri"])["keys"])
            token_read = jwt.decode(token["id_token"], keys, algorithms=list(_SIGNED_WITH))
            jwt.JWTClaimsRegistry(
                leeway=_LEEWAY_S,
                iss={"essential": True, "value": client.issuer},
                aud={"essential": True, "value": client.client_id},
                azp={"value": client.client_id},
                nonce={"essential": True, "value": kept["nonce"]},
                sub={"essential": True},
                exp={"essential": True},
            ).validate(token_read.claims)
            token_read.claims["sub"].encode()
        except (JoseError, AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
            raise RefusedError(403, "provider") from error
        return token_read.claims

    def _session(self, connection: Connection, person: str, invite: str | None, now: int) -> Session:
        rater = connection.execute(select(ACCOUNTS.c.rater_id).where(ACCOUNTS.c.key == person)).scalar_one_or_none()
        if rater is None:
            rater = f"rater-{secrets.token_hex(8)}"
            add_rater(connection, rater, now, invite=invite, invited=self._invited)
            connection.execute(insert(ACCOUNTS), {"key": person, "rater_id": rater})
        return _new_session(connection, rater, now)

    def _provider(self) -> Mapping[str, Any]:
        """Return the provider's addresses, asked for once; they must name the issuer that was given."""
        with self._lock:
            if self._found is None:
                address = f"{self._settings.issuer.rstrip('/')}/.well-known/openid-configuration"
                try:
                    configuration = self._fetched("GET", address)
                    fits = configuration["issuer"] == self._settings.issuer
                    fits = fits and all(_is_protected(configuration[name]) for name in _ENDPOINTS)
                except (KeyError, ValueError) as error:
                    raise RefusedError(503, "provider") from error
                if not fits:
                    raise RefusedError(503, "provider")
                self._found = configuration
            return self._found

    def _fetched(self, method: str, address: str, **request: Any) -> Mapping[str, Any]:
        """Return the JSON object that a provider answers with.

        Raises:
            ValueError: it cannot be reached, or answers with an error, anything else, too much or too slowly.
        """
        import httpx

        request |= {"headers": {"accept": "application/json", "accept-encoding": "identity"}}
        try:
            answer = json.loads(asyncio.run(asyncio.wait_for(_content(method, address, self._trusted, request), _TIMEOUT_S)))
        except (httpx.HTTPError, httpx.InvalidURL, RecursionError, TimeoutError) as error:
            raise ValueError(str(error)) from error
        if not isinstance(answer, dict):
            raise ValueError("not a JSON object")
        return answer


async def _content(method: str, address: str, trusted: "SSLContext", request: Mapping[str, Any]) -> bytes:
    """Return what is at an address, of at most a megabyte."""
    import httpx

    content = b""
    async with httpx.AsyncClient(verify=trusted) as client, client.stream(method, address, timeout=None, **request) as reply:
        reply.raise_for_status()
        async for part in reply.aiter_bytes():
            content += part
            if len(content) > _MOST_CONTENT:
                raise ValueError("more than a provider says")
    return content


_ENDPOINTS: Final = ("authorization_endpoint", "token_endpoint", "jwks_uri")


def _is_protected(address: object) -> bool:
    """Return whether something is an address that is HTTPS, or on this machine."""
    if not isinstance(address, str) or not address.isprintable():
        return False
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port  # read, they are checked
    except ValueError:
        return False
    return bool(host) if parts.scheme == "https" else parts.scheme == "http" and host in ("127.0.0.1", "localhost")


def _understood(keys: Any) -> "KeySet":
    """Return the keys of a provider that can be read; others are for others (RFC 7517, section 5)."""
    from joserfc.errors import JoseError
    from joserfc.jwk import JWKRegistry, KeySet

    read = []
    for key in keys:
        with suppress(JoseError, AttributeError, KeyError, TypeError, ValueError):
            read.append(JWKRegistry.import_key(key))
    return KeySet(read)


def _new_session(connection: Connection, rater_id: str, now: int) -> Session:
    """Return a session with a new secret."""
    session = Session(rater_id, secrets.token_urlsafe(32))
    add_session(connection, session, now)
    return session
