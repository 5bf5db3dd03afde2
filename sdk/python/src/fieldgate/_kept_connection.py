"""A connection that is kept: links follow one another, through restarts, cut networks and the ends of tokens."""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from dataclasses import dataclass
from typing import Any, Protocol

from ._access import Access, BrokerToken
from ._backoff import Backoff
from ._http import CertificateError, log
from ._link import Link, LinkClosed, LinkSettings, Opening, Packet
from .errors import AuthenticationError, RequestError, TakenOverError, UnreachableError

STEADY_SECONDS = 1.0
"""A link that has lived for this long after its subscriptions ends the growth of the waits."""
MAXIMUM_REFUSED_TOKENS = 3
"""Fresh tokens that the broker may refuse in a row before the credential counts as refused."""
LONG_SECONDS = 4.0
"""Waits from this length on are told as warnings, which Python prints by default."""
CROWDED_SECONDS = 3.0
"""The shortest wait after a refusal by a limit of the organization."""

BAD_CREDENTIALS = 0x86
NOT_AUTHORIZED = 0x87
TAKEN_OVER = 0x8E
ADMINISTRATIVE = 0x98
CROWDED = frozenset({0x97, 0x9F})
FOR_GOOD = {0x84: "protocol_version", 0x85: "client_id_invalid", 0x8C: "authentication_method"}


@dataclass(frozen=True)
class Identity:
    """The name of a Session, and its bounds."""

    client_id: str
    session_expiry_seconds: int
    receive_maximum: int


class LinkUser(Protocol):
    """The part that uses the links."""

    async def begins(self) -> bool:
        """A new link is about to be opened. True: it begins with an empty Session (Clean Start)."""
        ...

    def received(self, link: Link, packet: Packet) -> None:
        """A PUBLISH has come."""
        ...

    async def connected(self, link: Link, has_session: bool) -> None:
        """The link is open, and `has_session` tells whether the broker had kept the Session."""
        ...

    async def lives(self, link: Link) -> None:
        """Runs while the link lives. The link is replaced when this returns."""
        ...


class KeptConnection:
    """Opens links, one after the other, for as long as `run` runs."""

    def __init__(
        self,
        access: Access,
        settings: LinkSettings,
        identity: Identity,
        user: LinkUser,
        *,
        patience_seconds: float | None,
    ) -> None:
        self._access = access
        self._settings = settings
        self._identity = identity
        self._user = user
        self._patience = patience_seconds
        self._refused_tokens = 0
        self._good_at = time.monotonic()
        self._token = BrokerToken("", 0.0)
        self._subscribed_at: float | None = None
        self._has_opened = False

    async def run(self) -> None:
        """Ends by cancellation, or by a `FieldgateError` when no further try can help."""
        backoff = Backoff()
        while True:
            self._subscribed_at = None
            least = 0.0
            try:
                await self._run_link()
                self._good_at = time.monotonic()
                continue
            except LinkClosed as closed:
                least = self._judge(closed)
                sentence = closed.sentence
            except OSError as error:
                if isinstance(error, ssl.SSLCertVerificationError) and not self._has_opened:
                    raise CertificateError(error) from error
                sentence = f"{self._settings.host}:{self._settings.port}: {error}"
            if self._subscribed_at is not None and time.monotonic() - self._subscribed_at > STEADY_SECONDS:
                backoff.reset()
            wait = backoff.wait(least)
            if self._patience is not None and time.monotonic() + wait - self._good_at > self._patience:
                raise UnreachableError("unreachable", sentence)
            level = logging.INFO if wait < LONG_SECONDS else logging.WARNING
            log.log(level, "connection.waits client_id=%s seconds=%.2f: %s", self._identity.client_id, wait, sentence)
            await asyncio.sleep(wait)

    async def _run_link(self) -> None:
        """One link, from CONNECT until it is over or due to be replaced."""
        token = await self._access.broker_token()
        identity = self._identity
        opening = Opening(
            client_id=identity.client_id,
            token=token.jwt,
            clean_start=await self._user.begins(),
            session_expiry_seconds=identity.session_expiry_seconds,
            receive_maximum=identity.receive_maximum,
        )
        link = Link(self._settings, opening, lambda packet: self._user.received(link, packet))
        self._token = token
        try:
            has_session = await link.open()
            self._refused_tokens = 0
            self._has_opened = True
            self._good_at = time.monotonic()
            log.info("connection.opened client_id=%s session_present=%s", identity.client_id, has_session)
            await self._user.connected(link, has_session)
            self._subscribed_at = time.monotonic()
            await self._live(link)
        except LinkClosed as closed:
            if closed.reason_code in (BAD_CREDENTIALS, NOT_AUTHORIZED, ADMINISTRATIVE):
                self._access.forget_token(self._token)
            raise
        finally:
            await link.close()

    async def _live(self, link: Link) -> None:
        """Returns when the link is to be replaced. Raises `LinkClosed` when it is over."""
        tasks = [asyncio.create_task(self._user.lives(link)), asyncio.create_task(self._renew(link))]
        try:
            ends: list[asyncio.Future[Any]] = [link.closed, *tasks]
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            self._good_at = time.monotonic()
            if link.closed.done():
                raise link.closed.result()
            for task in tasks:
                if task.done():
                    task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _renew(self, link: Link) -> None:
        """Renews the token on the live link, again and again (AUTH, MQTT 5.0 §4.12.1)."""
        while True:
            await asyncio.sleep(max(0.0, self._token.renew_at - time.monotonic()))
            self._token = await self._access.broker_token()
            await link.renew(self._token.jwt)
            log.info("token.renewed client_id=%s", self._identity.client_id)

    def _judge(self, closed: LinkClosed) -> float:
        """The shortest wait in seconds before the next try. Raises where no try can help."""
        code = closed.reason_code
        if code == TAKEN_OVER:
            raise TakenOverError("session_taken_over", "another program connected with the same session name")
        if code in FOR_GOOD:
            raise RequestError(FOR_GOOD[code], closed.sentence)
        if code in (BAD_CREDENTIALS, NOT_AUTHORIZED):
            self._refused_tokens += 1
            if self._refused_tokens > MAXIMUM_REFUSED_TOKENS:
                raise AuthenticationError("token_refused", f"the broker refuses fresh tokens: {closed.sentence}")
        return CROWDED_SECONDS if code in CROWDED else 0.0
