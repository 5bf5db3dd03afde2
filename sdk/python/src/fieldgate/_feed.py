"""The way of events into a program: subscriptions, places, acknowledgements.

A link goes on in the Session that the broker has kept, and the broker sends every event of QoS 1
again that was not acknowledged. Where no Session was kept, the stored events behind the last handled
one come first (`replay-from`). The same happens where the network server publishes at QoS 0: events
of QoS 0 that were on their way when a link ended are in no Session. It happens at the start of a
process as well: the store counts, and not the Session, which may be ahead of a store that was restored.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

from ._access import Access
from ._http import log
from ._link import Link, LinkClosed, Packet
from ._places import Places
from ._selection import Selection, TopicFinder
from .errors import FieldgateError, NotAuthorizedError, NotFoundError, RequestError
from .store import Store

MAXIMUM_BUFFERED = 10_000
"""Events that wait for the program. Receive Maximum keeps those of QoS 1 below this bound."""
LOOK_FOR_APPLICATIONS_SECONDS = 60.0
LOOK_FOR_DEVICES_SECONDS = 300.0
"""Devices may move to another application, and then have other topics."""
MISSED_TOPIC = "$notice/missed"
EARLIEST = "1970-01-01T00:00:00Z"

REPLAY_INVALID = 0x8F
NOT_AUTHORIZED = 0x87


@dataclass(frozen=True)
class Arrival:
    """An event that waits for the program, or that the program handles."""

    link: Link
    packet: Packet
    application_id: str


@dataclass(frozen=True)
class FeedSettings:
    """What a feed reads, and where it keeps its places."""

    selection: Selection
    session: str
    """The name under which the store keeps the places."""
    store: Store
    start: str
    """Where an application without a place begins: a time of RFC 3339."""


class Feed:
    """Hands over arrivals in their order. One consumer: `next`, and then `done`."""

    def __init__(self, access: Access, settings: FeedSettings) -> None:
        self._access = access
        self._settings = settings
        self._finder = TopicFinder(access, settings.selection)
        self._places = Places({})
        self._filters: Mapping[str, Sequence[str]] = {}
        self._granted: set[str] = set()
        self._buffer: deque[Arrival] = deque()
        self._changed = asyncio.Event()
        self._emptied = asyncio.Event()
        self._pause = asyncio.Event()
        self._fault: FieldgateError | None = None
        self._is_loaded = False
        self._has_seen_qos0 = False
        self._is_session_exact = False
        self._has_made_session = False
        self._missed = 0

    @property
    def missed(self) -> int:
        """Events that were gone before they could be read, at most: retention was faster."""
        return self._missed

    def fail(self, fault: FieldgateError) -> None:
        """No more events will come. Those that wait are not handed over."""
        self._fault = fault
        self._changed.set()

    async def next(self) -> Arrival:
        """The next event that was not handled before."""
        while True:
            if self._fault is not None:
                raise self._fault
            while self._buffer:
                arrival = self._buffer.popleft()
                if not self._places.is_repeated(arrival.application_id, arrival.packet.event_id):
                    return arrival
                arrival.link.acknowledge(arrival.packet)
            self._emptied.set()
            self._changed.clear()
            await self._changed.wait()

    async def done(self, arrival: Arrival) -> None:
        """The event is handled: keeps its place, and then acknowledges it."""
        event_id = arrival.packet.event_id
        if event_id is not None:
            await self._keep(arrival.application_id, event_id)
        arrival.link.acknowledge(arrival.packet)
        log.debug("event.handled id=%s topic=%s", event_id, arrival.packet.topic)

    # The rest is called by the kept connection.

    async def begins(self) -> bool:
        """Waits for a program that is behind, and drops what the last link brought: it comes again."""
        if not self._is_loaded:
            await self._load()
        while self._pause.is_set() and self._buffer:
            self._emptied.clear()
            await self._emptied.wait()
        self._pause.clear()
        self._buffer.clear()
        self._places.new_link()
        must_replay = self._has_seen_qos0 or not self._is_session_exact
        return must_replay and self._places.knows_all(self._filters)

    def received(self, link: Link, packet: Packet) -> None:
        """Takes a packet into the buffer."""
        if packet.topic == MISSED_TOPIC:
            self._take_notice(packet)
            link.acknowledge(packet)
            return
        self._is_session_exact = True
        if packet.qos == 0:
            self._has_seen_qos0 = True
            if len(self._buffer) >= MAXIMUM_BUFFERED:
                # A later link reads from here on.
                self._pause.set()
        if self._pause.is_set():
            return
        self._buffer.append(Arrival(link, packet, packet.topic.split("/", 2)[1]))
        self._changed.set()

    async def connected(self, link: Link, has_session: bool) -> None:
        """Subscribes to everything that the Session does not have."""
        if not has_session:
            self._granted.clear()
            self._has_made_session = True
        await link.subscribe([MISSED_TOPIC], None)
        for application_id, topic_filters in self._filters.items():
            if application_id in self._granted:
                continue
            # A link may have ended between CONNECT and SUBSCRIBE: its Session has no subscription yet.
            await self._subscribe(link, application_id, topic_filters, is_new=self._has_made_session)

    async def lives(self, link: Link) -> None:
        """Ends when the link is to be replaced, because the program is far behind."""
        paused = asyncio.ensure_future(self._pause.wait())
        try:
            while not paused.done():
                # `asyncio.wait_for` of Python 3.10 and 3.11 may swallow a cancellation.
                await asyncio.wait([paused], timeout=self._seconds_to_look())
                if not paused.done():
                    await self._look_again(link)
        finally:
            paused.cancel()

    async def _load(self) -> None:
        found = self._settings.store.load(self._settings.session)
        self._places = Places(await found if inspect.isawaitable(found) else found)
        self._filters = await self._finder.find()
        self._is_loaded = True

    async def _keep(self, application_id: str, place: str) -> None:
        kept = self._settings.store.save(self._settings.session, application_id, place)
        if inspect.isawaitable(kept):
            await kept
        self._places.set(application_id, place)

    async def _subscribe(self, link: Link, application_id: str, topic_filters: Sequence[str], *, is_new: bool) -> None:
        place = self._places.text(application_id)
        if place is None and is_new:
            # A crash before the first event must not move the beginning.
            place = self._settings.start
            await self._keep(application_id, place)
        if is_new:
            self._places.begins(application_id)
        reasons = await link.subscribe(topic_filters, place)
        codes = {reason.value for reason in reasons if reason.is_failure}
        if not codes:
            self._granted.add(application_id)
        elif codes == {NOT_AUTHORIZED} and self._settings.selection.is_whole:
            log.warning(
                "subscription.refused application_id=%s: the next look at the applications tries again", application_id
            )
        elif NOT_AUTHORIZED in codes:
            raise NotAuthorizedError("subscribe_not_granted", f"the credential may not read {', '.join(topic_filters)}")
        elif REPLAY_INVALID in codes:
            raise RequestError(
                "replay_invalid", f"application {application_id} has no place {place}: use another session name"
            )
        else:
            raise LinkClosed(None, f"SUBACK {', '.join(hex(code) for code in codes)}")

    def _seconds_to_look(self) -> float | None:
        """The time until the next look for changes; None where nothing can change."""
        if self._settings.selection.is_whole:
            return LOOK_FOR_APPLICATIONS_SECONDS
        return LOOK_FOR_DEVICES_SECONDS if self._settings.selection.devices else None

    async def _look_again(self, link: Link) -> None:
        """Subscribes to new applications from their first event on, and to devices that have moved."""
        try:
            found = await self._finder.find()
        except NotFoundError as fault:
            log.warning("selection.incomplete code=%s: %s", fault.code, fault.sentence)
            return
        known, self._filters = self._filters, found
        for application_id, topic_filters in known.items():
            gone = [one for one in topic_filters if one not in found.get(application_id, ())]
            if gone:
                await link.unsubscribe(gone)
            if application_id not in found:
                self._granted.discard(application_id)
        for application_id, topic_filters in found.items():
            is_new = application_id not in known
            if is_new and self._places.text(application_id) is None:
                await self._keep(application_id, EARLIEST)
            if application_id not in self._granted or topic_filters != known.get(application_id):
                await self._subscribe(link, application_id, topic_filters, is_new=is_new)

    def _take_notice(self, packet: Packet) -> None:
        try:
            missed = int(json.loads(packet.payload)["missedAtMost"])
        except (ValueError, KeyError, TypeError):
            missed = 0
        self._missed += missed
        log.warning("events.missed at_most=%d: the service has removed them by its retention", missed)


def start_text(start: datetime | str, now: datetime) -> str:
    """Reads the argument `start`: `now`, `earliest`, or an aware time. Raises `ValueError`."""
    if start == "earliest":
        return EARLIEST
    time = now if start == "now" else start
    if not isinstance(time, datetime):
        raise ValueError("start: must be 'now', 'earliest', or a datetime")
    if time.tzinfo is None:
        raise ValueError("start: must have a time zone")
    return time.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
