"""The client: one credential, one organization, and everything that a program does with them."""

from __future__ import annotations

import hashlib
import os
import ssl
import urllib.parse
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any
from uuid import uuid4

from ._access import Access, credential_of
from ._command_watch import CommandWatch
from ._feed import Feed, FeedSettings, start_text
from ._history import read_history
from ._http import Http, HttpSettings
from ._kept_connection import Identity, KeptConnection, LinkUser
from ._link import LinkSettings
from ._selection import selection_of
from .commands import Device
from .errors import ClosedError
from .events import Event
from .store import MemoryStore, Store, default_store
from .stream import EventStream

TOKEN_SECONDS = 3600
SESSION_EXPIRY_SECONDS = 7 * 86_400
PASSING_EXPIRY_SECONDS = 300
WINDOW = 256
MAXIMUM_WINDOW = 1024
"""The broker has no more messages on their way to one client (docs/mqtt.md)."""


def connect(
    url: str | None = None,
    *,
    api_key: str | None = None,
    username: str | None = None,
    password: str | None = None,
    organization: str | None = None,
    ca_file: str | os.PathLike[str] | None = None,
    tls: ssl.SSLContext | None = None,
    broker: str | None = None,
    proxy: str | None = None,
    token_seconds: int = TOKEN_SECONDS,
    patience_seconds: float | None = None,
    scope: Mapping[str, object] | None = None,
) -> Fieldgate:
    """A client for `async with`. `url` is the address of the HTTP endpoints, `https://host:8443`.

    Arguments that are not given come from the environment: FIELDGATE_URL, FIELDGATE_API_KEY or
    FIELDGATE_USER and FIELDGATE_PASSWORD, FIELDGATE_ORGANIZATION, FIELDGATE_CA and FIELDGATE_BROKER.
    `organization`: its id or its name; not needed where the credential has one alone.
    `ca_file`: the certificate authority to trust, PEM; or a whole context as `tls`.
    `broker`: `mqtts://host:port` or `wss://host:port`, where the service's own answer can't be reached.
    `proxy`: `http://host:port` or `socks5://host:port`; SOCKS carries MQTT alone.
    `token_seconds`: the life of broker tokens, which the client renews.
    `scope`: narrows the broker tokens: `applicationIds`, `devEuis`, `tags`, `eventKinds`, `isReadOnly`.
    `patience_seconds`: after this time without the service, `UnreachableError` is raised. None: never.
    """
    credential = credential_of(api_key, username, password)
    address = url or os.environ.get("FIELDGATE_URL", "")
    parts = urllib.parse.urlsplit(address)
    if parts.scheme != "https" or parts.hostname is None:
        raise ValueError("url: must be https://host or https://host:port")
    address = address.rstrip("/")
    context = tls or ssl.create_default_context(cafile=ca_file or os.environ.get("FIELDGATE_CA"))
    is_http_proxy = proxy is not None and proxy.startswith("http")
    http = Http(HttpSettings(url=address, tls=context, proxy=proxy if is_http_proxy else None))
    access = Access(
        http,
        credential,
        organization=organization or os.environ.get("FIELDGATE_ORGANIZATION"),
        token_seconds=token_seconds,
        patience_seconds=patience_seconds,
        scope=scope,
    )
    return Fieldgate(
        access,
        url=address,
        tls=context,
        broker=broker or os.environ.get("FIELDGATE_BROKER"),
        proxy=proxy,
        patience_seconds=patience_seconds,
    )


class Fieldgate:
    """A client, made by `connect`. It belongs to one event loop."""

    def __init__(
        self,
        access: Access,
        *,
        url: str,
        tls: ssl.SSLContext,
        broker: str | None,
        proxy: str | None,
        patience_seconds: float | None,
    ) -> None:
        self._access = access
        self._url = url
        self._tls = tls
        self._broker = broker
        self._proxy = proxy
        self._patience = patience_seconds
        self._streams: list[EventStream] = []
        self._watch: CommandWatch | None = None
        self._link_settings: LinkSettings | None = None
        self._default_store: Store | None = None

    async def __aenter__(self) -> Fieldgate:
        """Logs in. Raises `AuthenticationError` for a wrong credential."""
        await self._access.organization_id()
        host, port = await self._access.broker_address()
        self._link_settings = self._settings_for(host, port)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Ends all streams, and the waiting for commands."""
        self._link_settings = None
        streams, self._streams = self._streams, []
        for stream in streams:
            await stream.aclose()
        if self._watch is not None:
            await self._watch.close()
            self._watch = None

    def events(
        self,
        *,
        application: str | Sequence[str] | None = None,
        device: str | Sequence[str] | None = None,
        kinds: Sequence[str] | None = None,
        session: str | None = None,
        store: Store | None = None,
        start: datetime | str = "now",
        window: int = WINDOW,
    ) -> EventStream:
        """The events of applications (by id or name), of devices (by DevEUI), or of the whole organization.

        `session`: a name for what this program does. A program that starts again under this name goes
        on behind the last event that it has handled. Without a name, a stream lives with its process.
        `store`: keeps the place; a file of SQLite where none is given.
        `start`: where a new session begins: `now`, which is the moment of this call, `earliest`, or a time.
        `window`: events that the broker may send ahead of the program, 1 to 1,024.
        """
        selection = selection_of(application, device, kinds)
        if not 1 <= window <= MAXIMUM_WINDOW:
            raise ValueError(f"window: must be from 1 to {MAXIMUM_WINDOW}")
        if session is not None and not 1 <= len(session) <= 100:
            raise ValueError("session: must have 1 to 100 characters")
        name = session
        if store is None:
            store = MemoryStore() if session is None else self._file_store()
            name = f"{self._url} {session}"
        feed = Feed(
            self._access, FeedSettings(selection, name or "", store, start_text(start, self._access.http.now()))
        )
        expiry = PASSING_EXPIRY_SECONDS if session is None else SESSION_EXPIRY_SECONDS
        # Another selection is another Session: a Session keeps its subscriptions.
        mark = hashlib.sha256(repr((session or uuid4().hex, selection)).encode()).hexdigest()[:16]
        stream = EventStream(feed, self._kept(Identity(f"fieldgate-python-{mark}", expiry, window), feed))
        self._streams = [one for one in self._streams if not one.is_closed]
        self._streams.append(stream)
        return stream

    def device(self, dev_eui: str) -> Device:
        """A device, to send commands to."""
        if self._watch is None:
            self._watch = CommandWatch(self._access)
            identity = Identity(f"fieldgate-python-{uuid4().hex[:16]}", 0, WINDOW)
            self._watch.use(self._kept(identity, self._watch))
        return Device(self._access, self._watch, dev_eui)

    def history(
        self,
        *,
        application: str | None = None,
        device: str | None = None,
        kinds: Sequence[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        after: str | None = None,
    ) -> AsyncIterator[Event]:
        """The stored events of an application or a device, the oldest first. Ends with the newest."""
        selection = selection_of(application, device, kinds)
        return read_history(self._access, selection, since=since, until=until, after=after)

    async def applications(self) -> Sequence[Mapping[str, Any]]:
        """The organization's applications: `id`, `name` and the further members of the HTTP interface."""
        return await self._access.applications()

    def _kept(self, identity: Identity, user: LinkUser) -> KeptConnection:
        if self._link_settings is None:
            raise ClosedError("not_open", "use the client within `async with`")
        return KeptConnection(self._access, self._link_settings, identity, user, patience_seconds=self._patience)

    def _file_store(self) -> Store:
        if self._default_store is None:
            self._default_store = default_store()
        return self._default_store

    def _settings_for(self, host: str, port: int) -> LinkSettings:
        transport = "tcp"
        if self._broker is not None:
            parts = urllib.parse.urlsplit(self._broker)
            if parts.scheme not in ("mqtts", "wss") or parts.hostname is None:
                raise ValueError("broker: must be mqtts://host:port or wss://host:port")
            transport = "websockets" if parts.scheme == "wss" else "tcp"
            host, port = parts.hostname, parts.port or (443 if transport == "websockets" else 8883)
        return LinkSettings(host=host, port=port, tls=self._tls, transport=transport, proxy=self._proxy)
