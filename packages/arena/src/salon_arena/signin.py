"""Sign-in for arenas that give people accounts: with a password, or through OpenID Connect.

Both are extras (``salon-arena[passwords]``, ``salon-arena[oidc]``). An account holds no name and no mail address: its key is
an HMAC of the name, or of issuer and subject. A browser gets the arena's own session; the provider's tokens are not kept.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from sqlalchemy import Connection, insert, select

from salon_arena.chain import add_row
from salon_arena.database import ArenaDatabase
from salon_arena.errors import RefusedError
from salon_arena.people import ROLES, Session, add_rater, add_session
from salon_arena.tables import ACCOUNTS, RATERS
from salon_taxonomy.errors import InputError

if TYPE_CHECKING:
    from argon2 import PasswordHasher

SHORTEST_PASSWORD: Final = 12
"""In characters (NIST SP 800-63B asks for 8; with no second factor we ask for more)."""
_TIMEOUT_S: Final = 10.0
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
    """Return a name as it is compared: without spaces at its ends, upper and lower case alike.

    Example:
        >>> plain_name(" Ann ")
        'ann'
    """
    return name.strip().casefold()


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
        parts = urlsplit(self.issuer)
        if parts.scheme != "https" and parts.hostname not in ("127.0.0.1", "localhost"):
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
            import authlib.integrations.httpx_client  # noqa: F401 - says at the start that it is missing
        except ModuleNotFoundError as error:
            hint = "uv pip install './packages/arena[oidc]'"
            raise InputError("sign-in through OpenID Connect needs the package authlib", value=error.name, hint=hint) from error
        self._database = database
        self._settings = settings
        self._invited = invited
        self._lock = Lock()
        self._found: Mapping[str, Any] | None = None

    def start(self) -> tuple[str, dict[str, str]]:
        """Return the provider's address to go to, and what the browser must bring back: state, nonce, verifier."""
        kept = {"state": secrets.token_urlsafe(24), "nonce": secrets.token_urlsafe(24), "verifier": secrets.token_urlsafe(48)}
        with self._client() as client:
            address, _ = client.create_authorization_url(
                self._provider()["authorization_endpoint"],
                state=kept["state"],
                nonce=kept["nonce"],
                code_verifier=kept["verifier"],
            )
        return address, kept

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
        from authlib.integrations.base_client import OAuthError
        from httpx import HTTPError
        from joserfc import jwt
        from joserfc.errors import JoseError
        from joserfc.jwk import KeySet

        provider = self._provider()
        try:
            with self._client() as client:
                token = client.fetch_token(provider["token_endpoint"], code=code, code_verifier=kept["verifier"])
                keys = client.request("GET", provider["jwks_uri"], withhold_token=True).raise_for_status().json()
            token_read = jwt.decode(token["id_token"], KeySet.import_key_set(keys), algorithms=list(_SIGNED_WITH))
            jwt.JWTClaimsRegistry(
                iss={"essential": True, "value": self._settings.issuer},
                aud={"essential": True, "value": self._settings.client_id},
                nonce={"essential": True, "value": kept["nonce"]},
                sub={"essential": True},
                exp={"essential": True},
            ).validate(token_read.claims)
        except (OAuthError, HTTPError, JoseError, KeyError, TypeError, ValueError) as error:
            raise RefusedError(403, "provider") from error
        return dict(token_read.claims)

    def _session(self, connection: Connection, person: str, invite: str | None, now: int) -> Session:
        rater = connection.execute(select(ACCOUNTS.c.rater_id).where(ACCOUNTS.c.key == person)).scalar_one_or_none()
        if rater is None:
            rater = f"rater-{secrets.token_hex(8)}"
            add_rater(connection, rater, now, invite=invite, invited=self._invited)
            connection.execute(insert(ACCOUNTS), {"key": person, "rater_id": rater})
        return _new_session(connection, rater, now)

    def _client(self) -> Any:
        from authlib.integrations.httpx_client import OAuth2Client

        return OAuth2Client(
            client_id=self._settings.client_id,
            client_secret=self._settings.client_secret,
            redirect_uri=self._settings.redirect,
            scope="openid",
            code_challenge_method="S256",
            timeout=_TIMEOUT_S,
        )

    def _provider(self) -> Mapping[str, Any]:
        """Return the provider's addresses, asked for once; they must name the issuer that was given."""
        import httpx

        with self._lock:
            if self._found is None:
                address = f"{self._settings.issuer.rstrip('/')}/.well-known/openid-configuration"
                try:
                    configuration = httpx.get(address, timeout=_TIMEOUT_S).raise_for_status().json()
                    fits = configuration["issuer"] == self._settings.issuer
                    fits = fits and all(isinstance(configuration[name], str) for name in _ENDPOINTS)
                except (httpx.HTTPError, KeyError, TypeError, ValueError) as error:
                    raise RefusedError(503, "provider") from error
                if not fits:
                    raise RefusedError(503, "provider")
                self._found = configuration
            return self._found


_ENDPOINTS: Final = ("authorization_endpoint", "token_endpoint", "jwks_uri")


def _new_session(connection: Connection, rater_id: str, now: int) -> Session:
    """Return a session with a new secret."""
    session = Session(rater_id, secrets.token_urlsafe(32))
    add_session(connection, session, now)
    return session
