"""The credential, and the broker tokens that it is exchanged for. Renewal happens here."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ._backoff import Backoff
from ._http import Http, TemporaryError, log
from .errors import AuthenticationError, NotFoundError, RequestError, UnreachableError

RENEW_AFTER = 0.75
"""The part of a token's life after which a new one is asked for."""
MAXIMUM_LISTED = 999


@dataclass(frozen=True)
class Credential:
    """An API key, or the name and the password of a user."""

    api_key: str | None = field(default=None, repr=False)
    username: str | None = None
    password: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        has_user = self.username is not None and self.password is not None
        if (self.api_key is not None) == has_user:
            raise ValueError("give either api_key, or username and password")


def credential_of(api_key: str | None, username: str | None, password: str | None) -> Credential:
    """The credential that was given, or that of the environment. Raises `ValueError`."""
    if api_key is None and username is None and password is None:
        api_key = os.environ.get("FIELDGATE_API_KEY")
        if api_key is None:
            username, password = os.environ.get("FIELDGATE_USER"), os.environ.get("FIELDGATE_PASSWORD")
    return Credential(api_key=api_key, username=username, password=password)


@dataclass(frozen=True)
class BrokerToken:
    """A token, with its times by the monotonic clock."""

    jwt: str = field(repr=False)
    renew_at: float
    """Seconds of `time.monotonic` at which the next token is due."""

    @property
    def is_due(self) -> bool:
        """True when a new token is to be asked for."""
        return time.monotonic() >= self.renew_at


class Access:
    """Everything that needs the credential: requests, tokens, and the look-up of names."""

    def __init__(
        self,
        http: Http,
        credential: Credential,
        *,
        organization: str | None,
        token_seconds: int,
        patience_seconds: float | None,
        scope: Mapping[str, object] | None = None,
    ) -> None:
        self.http = http
        self._scope = scope or {}
        self._credential = credential
        self._wanted = organization
        self._token_seconds = token_seconds
        self._patience = patience_seconds
        self._session: str | None = None
        self._token: BrokerToken | None = None
        self._organization_id: str | None = None
        self._turn = asyncio.Lock()

    async def ask(
        self, method: str, path: str, *, body: object = None, query: Mapping[str, str] | None = None
    ) -> Mapping[str, Any]:
        """Sends a request with the credential until it is answered. Raises the refusal."""
        backoff, since = Backoff(), time.monotonic()
        while True:
            try:
                return await self._ask_once(method, path, body, query)
            except TemporaryError as error:
                await self._be_patient(error, backoff, since)

    async def _be_patient(self, error: TemporaryError, backoff: Backoff, since: float) -> None:
        wait = backoff.wait(error.retry_after)
        if self._patience is not None and time.monotonic() + wait - since > self._patience:
            raise UnreachableError(error.code, error.sentence) from error
        log.warning("request.waits code=%s seconds=%.1f: %s", error.code, wait, error.sentence)
        await asyncio.sleep(wait)

    async def _ask_once(
        self, method: str, path: str, body: object, query: Mapping[str, str] | None
    ) -> Mapping[str, Any]:
        bearer = await self._bearer()
        try:
            return await self.http.ask(method, path, bearer=bearer, body=body, query=query)
        except AuthenticationError:
            # A session ends by its time or by a revocation. The password may still be good.
            if self._credential.api_key is not None:
                raise
            if bearer == self._session:
                self._session = None
            return await self.http.ask(method, path, bearer=await self._bearer(), body=body, query=query)

    async def _bearer(self) -> str:
        if self._credential.api_key is not None:
            return self._credential.api_key
        async with self._turn:
            if self._session is None:
                self._session = await self._log_in()
            return self._session

    async def _log_in(self) -> str:
        login = {"username": self._credential.username, "password": self._credential.password}
        answer = await self.http.ask("POST", "/api/internal/login", body=login)
        if answer.get("is2faRequired") is True:
            raise AuthenticationError(
                "second_factor", "the user has a second factor, for which no program can answer: use an API key"
            )
        return str(answer["jwt"])

    async def broker_token(self) -> BrokerToken:
        """The present token, or a new one where that is due."""
        if self._token is None or self._token.is_due:
            own = {"organizationId": await self.organization_id(), "ttlInSeconds": str(self._token_seconds)}
            body = {**self._scope, **own}
            asked_at = time.monotonic()
            answer = await self.ask("POST", "/api/mosquitto-auth/login", body=body)
            jwt = str(answer["jwtMqttAuth"])
            # A life counts from the beginning of a second (RFC 7519 §2), so up to one is lost.
            life = max(_life_of(jwt, self._token_seconds) - 1, 0.5)
            self._token = BrokerToken(jwt, asked_at + life * RENEW_AFTER)
        return self._token

    def forget_token(self, token: BrokerToken) -> None:
        """The broker refused this token: the next one is a new one."""
        if self._token is token:
            self._token = None

    async def organization_id(self) -> str:
        """The id of the wanted organization, or of the only one."""
        if self._organization_id is None:
            self._organization_id = await self._find_organization()
        return self._organization_id

    async def _find_organization(self) -> str:
        if self._wanted is not None and self._wanted.isdigit():
            return self._wanted
        found = await self._list("/api/organizations")
        if self._wanted is None:
            if len(found) == 1:
                return str(found[0]["id"])
            names = ", ".join(str(one["name"]) for one in found[:10])
            raise RequestError("organization_missing", f"name one of the organizations: {names or 'there is none'}")
        for one in found:
            if self._wanted in (one["name"], one["displayName"]):
                return str(one["id"])
        raise NotFoundError("organization_not_found", f"the credential has no organization {self._wanted}")

    async def applications(self) -> Sequence[Mapping[str, Any]]:
        """All applications of the organization."""
        return await self._list("/api/applications", {"organizationID": await self.organization_id()})

    async def application_id(self, wanted: str) -> str:
        """The id of an application that is named by its id or its name."""
        found = await self.applications()
        for member in ("id", "name"):
            for one in found:
                if one[member] == wanted:
                    return str(one["id"])
        raise NotFoundError("application_not_found", f"the organization has no application {wanted}")

    async def _list(self, path: str, query: Mapping[str, str] | None = None) -> Sequence[Mapping[str, Any]]:
        found: list[Mapping[str, Any]] = []
        while True:
            page = {"limit": str(MAXIMUM_LISTED), "offset": str(len(found)), **(query or {})}
            answer = await self.ask("GET", path, query=page)
            found.extend(answer["result"])
            if len(answer["result"]) < MAXIMUM_LISTED:
                return found

    async def application_topic(self, application_id: str) -> str:
        """The Topic Filter of all events of an application (endpoint 5)."""
        query = {"applicationId": application_id, "organizationId": await self.organization_id()}
        answer = await self.ask("GET", "/api/mosquitto-auth/subscribe-application-events", query=query)
        return _quoted(str(answer["topic"]))

    async def device_topic(self, dev_eui: str) -> str:
        """The Topic Filter of all events of a device (endpoint 6)."""
        query = {"devEui": dev_eui, "organizationId": await self.organization_id()}
        answer = await self.ask("GET", "/api/mosquitto-auth/subscribe-device-events", query=query)
        return _quoted(str(answer["topic"][-1]))

    async def broker_address(self) -> tuple[str, int]:
        """Host and port of MQTT over TLS, as the service tells them."""
        answer = await self.ask("GET", "/api/internal/deployment")
        return str(answer["mqttsHost"]), int(answer["mqttsPort"])


def _quoted(sentence: str) -> str:
    """The topic at the end of a sentence, which stands in single quotes."""
    return sentence[sentence.index("'") + 1 : sentence.rindex("'")]


def _life_of(jwt: str, wanted: int) -> float:
    """Seconds between `iat` and `exp` of a JWT (RFC 7519 §4.1); `wanted` where they can't be read."""
    try:
        middle = jwt.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(middle + "=" * (-len(middle) % 4)))
        return float(claims["exp"] - claims["iat"])
    except (IndexError, KeyError, TypeError, ValueError):
        return float(wanted)
