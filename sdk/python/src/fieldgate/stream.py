"""The stream of events that a program reads with `async for`."""

from __future__ import annotations

import asyncio
from datetime import datetime, timezone
from types import TracebackType

from ._feed import Arrival, Feed
from ._kept_connection import KeptConnection
from .errors import ClosedError, FieldgateError
from .events import Event, read_event


class EventStream:
    """Events in their order. An event counts as handled when the loop asks for the next one.

    A program that leaves the loop by `break` or by an error has not handled the last event, and gets
    it again. `await stream.done()` says before a `break` that it was handled.
    """

    def __init__(self, feed: Feed, connection: KeptConnection) -> None:
        self._feed = feed
        self._connection = connection
        self._task: asyncio.Task[None] | None = None
        self._current: Arrival | None = None
        self._is_closed = False

    @property
    def missed(self) -> int:
        """Events that the service had removed before this stream could read them, at most."""
        return self._feed.missed

    @property
    def is_closed(self) -> bool:
        """True after `aclose`."""
        return self._is_closed

    def __aiter__(self) -> EventStream:
        return self

    async def __anext__(self) -> Event:
        if self._is_closed:
            raise StopAsyncIteration
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="fieldgate events")
        await self.done()
        arrival = await self._feed.next()
        self._current = arrival
        packet = arrival.packet
        return read_event(packet.topic, packet.payload, packet.event_id, datetime.now(timezone.utc))

    async def done(self) -> None:
        """The event that the program has now is handled: keeps its place, and acknowledges it."""
        current, self._current = self._current, None
        if current is None:
            return
        try:
            await self._feed.done(current)
        except BaseException:
            self._current = current
            raise

    async def aclose(self) -> None:
        """Ends the stream. The broker keeps its Session, and a later stream of this name goes on."""
        self._is_closed = True
        task, self._task = self._task, None
        self._feed.fail(ClosedError("closed", "the stream is closed"))
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def __aenter__(self) -> EventStream:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _run(self) -> None:
        try:
            await self._connection.run()
        except FieldgateError as fault:
            self._feed.fail(fault)
        except Exception as fault:
            # A fault of a store of one's own, for example.
            error = FieldgateError("internal", f"{type(fault).__name__}: {fault}")
            error.__cause__ = fault
            self._feed.fail(error)
