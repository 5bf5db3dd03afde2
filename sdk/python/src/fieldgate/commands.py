"""Commands to devices, and their fate step by step."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from .errors import (
    CommandError,
    CommandFailedError,
    CommandRefusedError,
    CommandUnconfirmedError,
    FieldgateError,
    NotAcknowledgedError,
    NotFoundError,
    RequestError,
)

if TYPE_CHECKING:
    from ._access import Access
    from ._command_watch import CommandWatch

FINAL_FAULTS = frozenset({"failed", "expired", "cancelled", "not_acknowledged"})


class Command:
    """A command that the service has taken. Each step can be awaited, at any time and by many.

    `await command.accepted` is at hand at once. `await command.sent` waits until a gateway has sent
    the command, and `await command.acknowledged` until the device has acknowledged it. A step that
    can't be reached any more raises a `CommandError`.
    """

    def __init__(self, command_id: str, dev_eui: str, *, confirmed: bool) -> None:
        self.id = command_id
        self.dev_eui = dev_eui
        self.confirmed = confirmed
        self._state = "queued"
        loop = asyncio.get_running_loop()
        self._sent: asyncio.Future[None] = loop.create_future()
        self._acknowledged: asyncio.Future[None] = loop.create_future()
        self._accepted: asyncio.Future[None] = loop.create_future()
        self._accepted.set_result(None)

    @property
    def state(self) -> str:
        """The last known state: `queued`, `sent`, `acknowledged` or one of docs/commands.md."""
        return self._state

    @property
    def accepted(self) -> asyncio.Future[None]:
        """The service has the command on its disk."""
        return _copy(self._accepted)

    @property
    def sent(self) -> asyncio.Future[None]:
        """A gateway has sent the command."""
        return _copy(self._sent)

    @property
    def acknowledged(self) -> asyncio.Future[None]:
        """The device has acknowledged the command. Only a confirmed command is ever acknowledged."""
        if not self.confirmed:
            raise ValueError("an unconfirmed command is never acknowledged: send it with confirmed=True")
        return _copy(self._acknowledged)

    @property
    def is_over(self) -> bool:
        """True when no further step will come."""
        return self._acknowledged.done() if self.confirmed else self._sent.done()

    def reaches(self, state: str, code: str = "", sentence: str = "") -> None:
        """Takes what the service tells. For the part that watches commands."""
        if self.is_over:
            return
        self._state = state
        if state == "transmitted":
            self._state = "sent"
            _finish(self._sent)
        elif state == "acknowledged":
            _finish(self._sent)
            _finish(self._acknowledged)
        elif state == "unconfirmed":
            self._fail(CommandUnconfirmedError(code or "command_unconfirmed", sentence, command_id=self.id))
        elif state == "not_acknowledged":
            _finish(self._sent)
            self._fail(
                NotAcknowledgedError(
                    "not_acknowledged", "the device has not acknowledged the command", command_id=self.id
                )
            )
        elif state in FINAL_FAULTS:
            self._fail(
                CommandFailedError(
                    code or f"command_{state}", sentence or f"the command is {state}", command_id=self.id
                )
            )

    def end(self, fault: FieldgateError) -> None:
        """Nobody watches the command any more."""
        self._fail(CommandUnconfirmedError(fault.code, fault.sentence, command_id=self.id))

    def _fail(self, fault: CommandError) -> None:
        for step in (self._sent, self._acknowledged):
            if not step.done():
                step.set_exception(fault)
                step.exception()


def _copy(step: asyncio.Future[None]) -> asyncio.Future[None]:
    """A waiter may be cancelled; the step itself goes on."""
    return asyncio.shield(step)


def _finish(step: asyncio.Future[None]) -> None:
    if not step.done():
        step.set_result(None)


class Device:
    """One device, to which commands are sent."""

    def __init__(self, access: Access, watch: CommandWatch, dev_eui: str) -> None:
        self._access = access
        self._watch = watch
        self.dev_eui = dev_eui.lower()

    async def send(
        self,
        *,
        f_port: int,
        data: bytes | None = None,
        object: Mapping[str, Any] | None = None,
        confirmed: bool = False,
        expires_at: datetime | None = None,
        priority: int | None = None,
        replace: bool = False,
        command_id: str | None = None,
    ) -> Command:
        """Sends a command, and returns when the service has it on its disk.

        Raises `CommandRefusedError` with the code and the sentence of the refusal. The id makes the
        command one command, however often a lost network makes this method try.
        """
        if data is None and object is None:
            raise ValueError("give data, or an object for the application's codec")
        item: dict[str, Any] = {"confirmed": confirmed, "fPort": f_port, "id": command_id or str(uuid4())}
        if data is not None:
            item["data"] = base64.b64encode(data).decode()
        if object is not None:
            item["object"] = object
        if expires_at is not None:
            if expires_at.tzinfo is None:
                raise ValueError("expires_at: must have a time zone")
            item["expiresAt"] = expires_at.astimezone(timezone.utc).isoformat(timespec="milliseconds")
        if priority is not None:
            item["priority"] = priority
        if replace:
            item["replace"] = True
        command = Command(item["id"], self.dev_eui, confirmed=confirmed)
        await self._watch.add(command)
        try:
            answer = await self._ask(item)
        except BaseException:
            self._watch.remove(command)
            raise
        if answer.get("repeated") is True:
            command.reaches(str(answer["state"]))
            await self._watch.look(self.dev_eui)
        return command

    async def commands(self) -> list[Mapping[str, Any]]:
        """The device's commands as the service lists them: those that wait, and those of the last day."""
        answer = await self._access.ask("GET", f"/api/devices/{self.dev_eui}/queue")
        return list(answer["deviceQueueItems"])

    async def cancel(self, command_id: str) -> None:
        """Cancels a command that still waits. Raises `RequestError` (`command_too_late`) where it waits no longer."""
        await self._access.ask("DELETE", f"/api/devices/{self.dev_eui}/queue/{command_id}")

    async def _ask(self, item: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            return await self._access.ask("POST", f"/api/devices/{self.dev_eui}/queue", body={"deviceQueueItem": item})
        except (NotFoundError, RequestError) as refused:
            code = "command_device_unknown" if isinstance(refused, NotFoundError) else refused.code
            sentence = refused.sentence.removeprefix("deviceQueueItem.")
            member = sentence.split(":", 1)[0] if ":" in sentence else ""
            raise CommandRefusedError(
                code, sentence, command_id=str(item["id"]), member=member if member.isidentifier() else ""
            ) from refused
