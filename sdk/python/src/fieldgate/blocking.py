"""The plain face: no `async`, no `await`. An event loop of its own runs in a thread.

A client may be used from many threads; each stream of events belongs to one thread at a time.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, TypeVar

from . import client, commands, stream
from .errors import ClosedError
from .events import Event
from .store import Store

T = TypeVar("T")
WAKE_SECONDS = 0.5
"""How often a waiting thread looks for Ctrl-C, where the system does not interrupt the wait."""


def connect(url: str | None = None, **options: Any) -> Fieldgate:
    """A client for `with`. The options are those of `fieldgate.connect`."""
    return Fieldgate(url, options)


class _Loop:
    """An event loop in a thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="fieldgate", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Waits for the work. Ctrl-C cancels it."""
        if self._loop.is_closed():
            work.close()
            raise ClosedError("closed", "the client is closed")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            while True:
                try:
                    return future.result(WAKE_SECONDS)
                except concurrent.futures.TimeoutError:
                    if future.done():
                        raise
        except BaseException:
            future.cancel()
            raise

    def call(self, function: Any, *arguments: Any, **options: Any) -> Any:
        """Calls a function in the loop's thread."""

        async def work() -> Any:
            return function(*arguments, **options)

        return self.run(work())

    def close(self) -> None:
        """Ends the thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class Fieldgate:
    """A client, made by `connect`."""

    def __init__(self, url: str | None, options: Mapping[str, Any]) -> None:
        self._url = url
        self._options = options
        self._loop: _Loop | None = None
        self._client: client.Fieldgate | None = None

    def __enter__(self) -> Fieldgate:
        """Logs in."""
        self._loop = _Loop()
        try:
            made: client.Fieldgate = self._loop.call(client.connect, self._url, **self._options)
            self._client = self._loop.run(made.__aenter__())
        except BaseException:
            self._loop.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends all streams, the waiting for commands, and the thread."""
        loop, made = self._loop, self._client
        self._client = None
        if loop is None or made is None:
            return
        try:
            loop.run(made.aclose())
        finally:
            loop.close()

    def events(
        self,
        *,
        application: str | Sequence[str] | None = None,
        device: str | Sequence[str] | None = None,
        kinds: Sequence[str] | None = None,
        session: str | None = None,
        store: Store | None = None,
        start: datetime | str = "now",
        window: int = client.WINDOW,
    ) -> EventStream:
        """As `fieldgate.Fieldgate.events`, for a plain `for`."""
        loop, made = self._opened()
        opened: stream.EventStream = loop.call(
            made.events,
            application=application,
            device=device,
            kinds=kinds,
            session=session,
            store=store,
            start=start,
            window=window,
        )
        return EventStream(loop, opened)

    def device(self, dev_eui: str) -> Device:
        """A device, to send commands to."""
        loop, made = self._opened()
        return Device(loop, loop.call(made.device, dev_eui))

    def history(self, **options: Any) -> Iterator[Event]:
        """As `fieldgate.Fieldgate.history`, for a plain `for`."""
        loop, made = self._opened()
        events = made.history(**options)

        async def following() -> Event | None:
            return await anext(events, None)

        while (event := loop.run(following())) is not None:
            yield event

    def applications(self) -> Sequence[Mapping[str, Any]]:
        """The organization's applications."""
        loop, made = self._opened()
        return loop.run(made.applications())

    def _opened(self) -> tuple[_Loop, client.Fieldgate]:
        if self._loop is None or self._client is None:
            raise ClosedError("not_open", "use the client within `with`")
        return self._loop, self._client


class EventStream:
    """Events in their order, for a plain `for`. See `fieldgate.EventStream`."""

    def __init__(self, loop: _Loop, opened: stream.EventStream) -> None:
        self._loop = loop
        self._stream = opened

    @property
    def missed(self) -> int:
        """Events that the service had removed before this stream could read them, at most."""
        return self._stream.missed

    def __iter__(self) -> EventStream:
        return self

    def __next__(self) -> Event:
        event = self._loop.run(_following(self._stream))
        if event is None:
            raise StopIteration
        return event

    def next(self, timeout: float) -> Event | None:
        """The next event, or None when none comes for `timeout` seconds."""
        try:
            return self._loop.run(asyncio.wait_for(_following(self._stream), timeout))
        except asyncio.TimeoutError:
            return None

    def done(self) -> None:
        """The event that the program has now is handled. For a program that leaves the loop by `break`."""
        self._loop.run(self._stream.done())

    def close(self) -> None:
        """Ends the stream."""
        self._loop.run(self._stream.aclose())

    def __enter__(self) -> EventStream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Device:
    """One device, to which commands are sent."""

    def __init__(self, loop: _Loop, device: commands.Device) -> None:
        self._loop = loop
        self._device = device

    def send(self, **command: Any) -> Command:
        """As `fieldgate.Device.send`."""
        return Command(self._loop, self._loop.run(self._device.send(**command)))

    def commands(self) -> list[Mapping[str, Any]]:
        """The device's commands as the service lists them."""
        return self._loop.run(self._device.commands())

    def cancel(self, command_id: str) -> None:
        """Cancels a command that still waits."""
        self._loop.run(self._device.cancel(command_id))


class Command:
    """A command that the service has taken. The methods wait for a step, or raise a `CommandError`."""

    def __init__(self, loop: _Loop, command: commands.Command) -> None:
        self._loop = loop
        self._command = command

    @property
    def id(self) -> str:
        """The command's id."""
        return self._command.id

    @property
    def state(self) -> str:
        """The last known state."""
        return self._command.state

    def wait_sent(self, timeout: float | None = None) -> None:
        """Waits until a gateway has sent the command. Raises `TimeoutError`."""
        self._wait("sent", timeout)

    def wait_acknowledged(self, timeout: float | None = None) -> None:
        """Waits until the device has acknowledged the command. Raises `TimeoutError`."""
        self._wait("acknowledged", timeout)

    def _wait(self, step: str, timeout: float | None) -> None:
        async def reached() -> None:
            await asyncio.wait_for(getattr(self._command, step), timeout)

        try:
            self._loop.run(reached())
        except asyncio.TimeoutError:
            raise TimeoutError(f"the command is {self._command.state}") from None


async def _following(opened: stream.EventStream) -> Event | None:
    return await anext(opened, None)
