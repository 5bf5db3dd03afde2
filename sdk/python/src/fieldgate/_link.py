"""One MQTT connection, on paho-mqtt. The network runs in a thread of paho's; everything is told in the event loop.

A link never connects again: the feed makes another one. So a link has one token, and its packets
can't be mixed up with those of another connection.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import threading
import urllib.parse
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import paho.mqtt.client as mqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from ._renewing_client import METHOD, RenewingClient

CONNECT_SECONDS = 15.0
ANSWER_SECONDS = 30.0
KEEP_ALIVE_SECONDS = 20
CLOSE_SECONDS = 3.0
NO_TOPIC = "$notice/none"
"""A Topic Filter to which nobody subscribes."""
PASSWORD = "default"  # noqa: S105 - the same word for everybody; the user name is the secret
DO_NOT_SEND_RETAINED = 2
MAXIMUM_WAITING = 10_000
"""Packets between the thread and the event loop. Receive Maximum and TCP keep them far fewer."""

T = TypeVar("T")
log = logging.getLogger("fieldgate")


@dataclass(frozen=True)
class LinkSettings:
    """Where the broker is, and how a link gets there."""

    host: str
    port: int
    tls: ssl.SSLContext
    transport: str
    """`tcp` or `websockets`."""
    proxy: str | None
    """The URL of a proxy, `http://host:port` or `socks5://host:port`."""


@dataclass(frozen=True)
class Opening:
    """The facts of one CONNECT."""

    client_id: str
    token: str = field(repr=False)
    clean_start: bool
    session_expiry_seconds: int
    receive_maximum: int


@dataclass(frozen=True)
class Packet:
    """A received PUBLISH."""

    topic: str
    payload: bytes
    qos: int
    packet_id: int
    event_id: str | None


class LinkClosed(Exception):
    """The connection was refused or is over. Never leaves the package."""

    def __init__(self, reason_code: int | None, sentence: str) -> None:
        super().__init__(sentence)
        self.reason_code = reason_code
        """The broker's Reason Code; None where the network ended the connection."""
        self.sentence = sentence


class Link:
    """One connection. All methods are for the event loop's thread."""

    def __init__(self, settings: LinkSettings, opening: Opening, on_packet: Callable[[Packet], None]) -> None:
        self._settings = settings
        self._opening = opening
        self._on_packet = on_packet
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[Packet] = deque()
        self._is_drain_due = False
        self._is_closing = False
        self._has_acknowledged = False
        self._room = threading.Event()
        self._answers: dict[int, asyncio.Future[Sequence[ReasonCode]]] = {}
        self._renewal: asyncio.Future[int] | None = None
        self._connected: asyncio.Future[bool] = self._loop.create_future()
        self.closed: asyncio.Future[LinkClosed] = self._loop.create_future()
        """Done when the connection is over."""
        self._client = self._make_client()

    async def open(self) -> bool:
        """Connects. True: the broker had kept the Session. Raises `LinkClosed`, `OSError` or `ssl.SSLError`."""
        opening = self._opening
        properties = Properties(PacketTypes.CONNECT)
        properties.SessionExpiryInterval = opening.session_expiry_seconds
        properties.ReceiveMaximum = opening.receive_maximum
        properties.AuthenticationMethod = METHOD
        await asyncio.to_thread(
            self._client.connect,
            self._settings.host,
            self._settings.port,
            KEEP_ALIVE_SECONDS,
            clean_start=opening.clean_start,
            properties=properties,
        )
        if self._is_closing:
            raise LinkClosed(None, "closed by the program")
        self._client.loop_start()
        return await _within(CONNECT_SECONDS, self._connected, "no CONNACK in time")

    async def subscribe(self, topic_filters: Sequence[str], replay_from: str | None) -> Sequence[ReasonCode]:
        """Subscribes at QoS 1. `replay_from`: an event's id or a time, behind which stored events come first."""
        properties = Properties(PacketTypes.SUBSCRIBE)
        if replay_from is not None:
            properties.UserProperty = ("replay-from", replay_from)
        options = SubscribeOptions(qos=1, retainHandling=DO_NOT_SEND_RETAINED)
        _, mid = self._client.subscribe([(one, options) for one in topic_filters], properties=properties)
        return await self._answer(mid, ANSWER_SECONDS)

    async def unsubscribe(self, topic_filters: Sequence[str]) -> None:
        """Ends subscriptions."""
        _, mid = self._client.unsubscribe(list(topic_filters))
        await self._answer(mid, ANSWER_SECONDS)

    async def renew(self, token: str) -> None:
        """Gives the broker a new token of the same user and organization (MQTT 5.0 §4.12.1)."""
        if self.closed.done():
            raise LinkClosed(None, "the connection is over")
        self._renewal = self._loop.create_future()
        self._client.renew(token)
        await _within(ANSWER_SECONDS, self._renewal, "no AUTH in time")

    def acknowledge(self, packet: Packet) -> None:
        """Sends PUBACK, if the packet wants one and the connection still exists."""
        if packet.qos > 0 and not self.closed.done():
            self._has_acknowledged = True
            self._client.ack(packet.packet_id, packet.qos)

    async def close(self) -> None:
        """Says DISCONNECT and waits for the thread. The Session stays."""
        await self._settle()
        self._is_closing = True
        self._room.set()
        self._client.disconnect()
        stopping = asyncio.get_running_loop().run_in_executor(None, self._client.loop_stop)
        # On a dead network the thread may take longer. It has nothing to say any more.
        await asyncio.wait([stopping], timeout=CLOSE_SECONDS)
        self._end(LinkClosed(None, "closed by the program"))

    async def _settle(self) -> None:
        """Waits until the broker has read every PUBACK: it answers packets in their order.

        paho closes the socket behind DISCONNECT. A socket that is closed with unread bytes is reset,
        and the other side may then lose the last packets.
        """
        if not self._has_acknowledged or self.closed.done():
            return
        try:
            _, mid = self._client.unsubscribe(NO_TOPIC)
            await self._answer(mid, CLOSE_SECONDS)
        except LinkClosed:
            log.debug("link.not_settled")

    async def _answer(self, mid: int | None, seconds: float) -> Sequence[ReasonCode]:
        if mid is None or self.closed.done():
            raise LinkClosed(None, "the connection is over")
        answer: asyncio.Future[Sequence[ReasonCode]] = self._loop.create_future()
        self._answers[mid] = answer
        try:
            return await _within(seconds, answer, "no answer in time")
        finally:
            self._answers.pop(mid, None)

    def _make_client(self) -> RenewingClient:
        client = RenewingClient(
            self._on_auth,
            client_id=self._opening.client_id,
            protocol=mqtt.MQTTv5,
            transport="websockets" if self._settings.transport == "websockets" else "tcp",
            reconnect_on_failure=False,
            manual_ack=True,
        )
        client.connect_timeout = CONNECT_SECONDS
        client.username_pw_set(self._opening.token, PASSWORD)
        client.tls_set_context(self._settings.tls)
        if self._settings.transport == "websockets":
            client.ws_set_options(path="/mqtt")
        if self._settings.proxy is not None:
            client.proxy_set(**proxy_arguments(self._settings.proxy))
        client.on_connect = self._on_connect
        client.on_disconnect = self._on_disconnect
        client.on_message = self._on_message
        client.on_subscribe = self._on_answer
        client.on_unsubscribe = self._on_answer
        return client

    # The rest is called in paho's thread.

    def _on_connect(
        self, _client: Any, _userdata: Any, flags: mqtt.ConnectFlags, reason: ReasonCode, properties: Properties | None
    ) -> None:
        if reason.is_failure:
            self._tell(self._end, LinkClosed(reason.value, _sentence(reason, properties)))
        else:
            self._tell(_resolve, self._connected, flags.session_present)

    def _on_disconnect(
        self,
        _client: Any,
        _userdata: Any,
        flags: mqtt.DisconnectFlags,
        reason: ReasonCode,
        properties: Properties | None,
    ) -> None:
        told = reason.value if flags.is_disconnect_packet_from_server else None
        self._tell(self._end, LinkClosed(told, _sentence(reason, properties)))

    def _on_answer(
        self, _client: Any, _userdata: Any, mid: int, reasons: list[ReasonCode], _properties: Properties | None
    ) -> None:
        self._tell(self._answered, mid, reasons)

    def _on_message(self, _client: Any, _userdata: Any, message: mqtt.MQTTMessage) -> None:
        ids = [value for name, value in getattr(message.properties, "UserProperty", []) if name == "event-id"]
        packet = Packet(
            topic=message.topic,
            payload=bytes(message.payload),
            qos=message.qos,
            packet_id=message.mid,
            event_id=ids[-1] if ids else None,
        )
        while len(self._waiting) >= MAXIMUM_WAITING and not self._is_closing:
            # The event loop is busy. TCP holds the broker back until there is room.
            self._room.clear()
            self._room.wait(1.0)
        self._waiting.append(packet)
        if not self._is_drain_due:
            self._is_drain_due = True
            self._tell(self._drain)

    def _on_auth(self, reason_code: int) -> None:
        if self._renewal is not None:
            self._tell(_resolve, self._renewal, reason_code)

    def _tell(self, function: Callable[..., None], *arguments: object) -> None:
        try:
            self._loop.call_soon_threadsafe(function, *arguments)
        except RuntimeError:
            # The event loop is closed: nobody listens any more.
            log.debug("link.late")

    # The rest is called in the event loop.

    def _drain(self) -> None:
        self._is_drain_due = False
        while self._waiting:
            self._on_packet(self._waiting.popleft())
        self._room.set()

    def _answered(self, mid: int, reasons: Sequence[ReasonCode]) -> None:
        answer = self._answers.get(mid)
        if answer is not None:
            _resolve(answer, reasons)

    def _end(self, why: LinkClosed) -> None:
        _resolve(self.closed, why)
        for waiting in (self._connected, self._renewal, *self._answers.values()):
            if waiting is not None and not waiting.done():
                waiting.set_exception(why)
                # A waiter that was cancelled does not fetch the error.
                waiting.exception()


def _resolve(future: asyncio.Future[Any], value: object) -> None:
    if not future.done():
        future.set_result(value)


async def _within(seconds: float, future: asyncio.Future[T], sentence: str) -> T:
    """Bounds a wait. The fault of a wait that is too long is a `LinkClosed`."""
    # `asyncio.wait_for` of Python 3.10 and 3.11 may swallow a cancellation.
    await asyncio.wait([future], timeout=seconds)
    if not future.done():
        raise LinkClosed(None, sentence)
    return future.result()


def _sentence(reason: ReasonCode, properties: Properties | None) -> str:
    return str(getattr(properties, "ReasonString", "") or reason)


def proxy_arguments(url: str) -> dict[str, Any]:
    """paho's arguments for a proxy. Raises `ValueError` for a URL of another kind; needs PySocks."""
    try:
        import socks
    except ImportError as error:
        raise ValueError("a proxy needs PySocks: pip install PySocks") from error
    parts = urllib.parse.urlsplit(url)
    kinds = {"http": socks.HTTP, "socks5": socks.SOCKS5, "socks5h": socks.SOCKS5, "socks4": socks.SOCKS4}
    if parts.scheme not in kinds or parts.hostname is None:
        raise ValueError(f"proxy: must be http://host:port or socks5://host:port, not {parts.scheme}")
    return {
        "proxy_type": kinds[parts.scheme],
        "proxy_addr": parts.hostname,
        "proxy_port": parts.port or (1080 if parts.scheme.startswith("socks") else 8080),
        "proxy_username": parts.username,
        "proxy_password": parts.password,
    }
