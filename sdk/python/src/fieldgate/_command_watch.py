"""Watches commands: by the events of their devices, and by the list of commands after each gap."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from typing import Any

from ._access import Access
from ._http import log
from ._kept_connection import KeptConnection
from ._link import Link, LinkClosed, Packet
from ._selection import filters_of
from .commands import Command
from .errors import ClosedError, FieldgateError, RequestError

KINDS = ("txack", "ack", "error", "log")
MAXIMUM_DEVICES = 200
"""Devices with commands that are under way; each has four subscriptions."""
KEEP_SECONDS = 48 * 3600.0
"""The time after which a command that nothing was heard of is watched no more."""
LOOK_AGAIN_SECONDS = 30.0
"""Some network servers name no command in their events. The list is looked at in these intervals."""


class CommandWatch:
    """Has a connection while commands are under way."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._connection: KeptConnection | None = None
        self._open: dict[str, dict[str, Command]] = {}
        self._since: dict[str, float] = {}
        self._filters: dict[str, tuple[str, ...]] = {}
        self._link: Link | None = None
        self._task: asyncio.Task[None] | None = None
        self._looks: set[asyncio.Task[None]] = set()
        self._fault: FieldgateError | None = None

    def use(self, connection: KeptConnection) -> None:
        """The connection for the events, which has this watch as its user."""
        self._connection = connection

    async def add(self, command: Command) -> None:
        """Watches a command that is about to be sent."""
        if self._fault is not None:
            raise self._fault
        if command.dev_eui not in self._filters:
            if len(self._filters) >= MAXIMUM_DEVICES:
                raise RequestError(
                    "too_many_devices", f"commands of {MAXIMUM_DEVICES} devices are under way: wait for some"
                )
            topic = await self._access.device_topic(command.dev_eui)
            self._filters[command.dev_eui] = tuple(next(iter(filters_of([topic], KINDS).values())))
        self._open.setdefault(command.dev_eui, {})[command.id] = command
        self._since[command.id] = time.monotonic()
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="fieldgate commands")
        elif self._link is not None:
            await self._subscribe(self._link, command.dev_eui)

    def remove(self, command: Command) -> None:
        """Watches the command no more."""
        commands = self._open.get(command.dev_eui, {})
        commands.pop(command.id, None)
        self._since.pop(command.id, None)
        if not commands:
            self._open.pop(command.dev_eui, None)

    async def look(self, dev_eui: str) -> None:
        """Reads the states of a device's commands from the list."""
        commands = self._open.get(dev_eui)
        if not commands:
            return
        answer = await self._access.ask("GET", f"/api/devices/{dev_eui}/queue")
        for item in answer["deviceQueueItems"]:
            command = commands.get(str(item["id"]))
            if command is None:
                continue
            is_transmitted = item["state"] == "sent" and item["transmittedAt"] is not None
            self._tell(
                command, "transmitted" if is_transmitted else str(item["state"]), str(item["code"]), str(item["error"])
            )

    async def close(self) -> None:
        """Ends all steps that were not reached."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, *self._looks, return_exceptions=True)
        self._end(ClosedError("closed", "the client was closed before the command's fate was known"))

    # The rest is called by the kept connection.

    async def begins(self) -> bool:
        """Nothing has to be kept: the list of commands tells what was missed."""
        return True

    def received(self, link: Link, packet: Packet) -> None:
        """Reads an event about a command."""
        link.acknowledge(packet)
        levels = packet.topic.split("/")
        try:
            payload = json.loads(packet.payload)
        except (ValueError, RecursionError):
            return
        if len(levels) != 6 or not isinstance(payload, dict):
            return
        command = self._open.get(levels[3], {}).get(str(payload.get("commandId")))
        if command is not None:
            self._take(command, levels[5], payload)

    async def connected(self, link: Link, has_session: bool) -> None:
        """Subscribes to the devices, and reads what was missed."""
        self._link = link
        for dev_eui in list(self._filters):
            if dev_eui in self._open:
                await self._subscribe(link, dev_eui)
            else:
                del self._filters[dev_eui]
        await self._look_at_all()

    async def lives(self, link: Link) -> None:
        """Looks again from time to time, and forgets devices without commands."""
        while True:
            await asyncio.sleep(LOOK_AGAIN_SECONDS)
            self._forget_old()
            for dev_eui in [one for one in self._filters if one not in self._open]:
                await link.unsubscribe(self._filters.pop(dev_eui))
            await self._look_at_all()

    async def _look_at_all(self) -> None:
        for dev_eui in list(self._open):
            try:
                await self.look(dev_eui)
            except RequestError as fault:
                log.warning("commands.not_listed dev_eui=%s code=%s", dev_eui, fault.code)

    def _forget_old(self) -> None:
        now = time.monotonic()
        fault = FieldgateError(
            "command_forgotten", f"nothing was heard of the command for {KEEP_SECONDS / 3600:.0f} hours"
        )
        for commands in list(self._open.values()):
            for command in list(commands.values()):
                if now - self._since[command.id] > KEEP_SECONDS:
                    command.end(fault)
                    self.remove(command)

    async def _subscribe(self, link: Link, dev_eui: str) -> None:
        try:
            reasons = await link.subscribe(self._filters[dev_eui], None)
        except LinkClosed:
            return  # The next link subscribes again.
        refused = [reason for reason in reasons if reason.is_failure]
        if refused:
            # The list still tells the fate.
            log.warning("commands.not_subscribed dev_eui=%s reason=%s", dev_eui, refused[0])

    def _take(self, command: Command, kind: str, payload: Mapping[str, Any]) -> None:
        if kind == "txack":
            self._tell(command, "transmitted")
        elif kind == "ack":
            self._tell(command, "acknowledged" if payload.get("acknowledged") is True else "not_acknowledged")
        elif payload.get("level") in (None, "ERROR", "INFO"):
            # An error may be one that does not end the command. The list knows the state.
            look = asyncio.ensure_future(self._look_quietly(command.dev_eui))
            self._looks.add(look)
            look.add_done_callback(self._looks.discard)

    async def _look_quietly(self, dev_eui: str) -> None:
        try:
            await self.look(dev_eui)
        except FieldgateError as fault:
            log.warning("commands.not_listed dev_eui=%s code=%s", dev_eui, fault.code)

    def _tell(self, command: Command, state: str, code: str = "", sentence: str = "") -> None:
        command.reaches(state, code, sentence)
        if command.is_over:
            self.remove(command)

    async def _run(self) -> None:
        try:
            if self._connection is not None:
                await self._connection.run()
        except FieldgateError as fault:
            self._fault = fault
            self._end(fault)

    def _end(self, fault: FieldgateError) -> None:
        for commands in list(self._open.values()):
            for command in list(commands.values()):
                command.end(fault)
        self._open.clear()
        self._since.clear()
