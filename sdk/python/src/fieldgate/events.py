"""The events of devices: one class for each kind, and `Event`, the union that `kind` tells apart.

The classes name what a program nearly always needs. `payload` is the whole event as the network
server sent it, with the types of its family: `a` is the spelling of ChirpStack v3, `b` that of
ChirpStack v4. `"deviceInfo" in event.payload` tells the two apart, for type checkers as well.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, Literal, TypeVar, Union, cast

from . import payloads

P = TypeVar("P")


@dataclass(frozen=True)
class DeviceEvent(Generic[P]):
    """The members that all events have."""

    id: str | None
    """The event's id, which never changes. None where the deployment gives none."""
    application_id: str
    dev_eui: str
    """16 hexadecimal digits in lower case."""
    received_at: datetime
    """When this program received the event; for an event of the history, when the service did."""
    payload: P = field(repr=False)
    """The event's JSON."""

    @property
    def family(self) -> Literal["a", "b"]:
        """The spelling of the payload."""
        return "b" if "deviceInfo" in self._json else "a"

    @property
    def device_name(self) -> str:
        """The device's name; empty where the event has none."""
        return str(self._about.get("deviceName", ""))

    @property
    def tags(self) -> Mapping[str, str]:
        """The device's tags."""
        tags = self._about.get("tags")
        return tags if isinstance(tags, Mapping) else {}

    @property
    def command_id(self) -> str | None:
        """The id of the command that the event is about, where Fieldgate knows it."""
        return self._text("commandId")

    @property
    def _json(self) -> Mapping[str, Any]:
        return cast("Mapping[str, Any]", self.payload)

    @property
    def _about(self) -> Mapping[str, Any]:
        about = self._json.get("deviceInfo", self._json)
        return about if isinstance(about, Mapping) else {}

    def _text(self, name: str) -> str | None:
        value = self._json.get(name)
        return value if isinstance(value, str) and value else None

    def _integer(self, *names: str) -> int | None:
        for name in names:
            value = self._json.get(name)
            if isinstance(value, int) and not isinstance(value, bool):
                return value
        return None


@dataclass(frozen=True)
class UpEvent(DeviceEvent[Union[payloads.UpEventA, payloads.UpEventB]]):
    """A device has sent data."""

    kind: Literal["up"] = "up"

    @property
    def data(self) -> bytes:
        """The decrypted bytes; empty for an uplink without a payload."""
        try:
            return base64.b64decode(self._text("data") or "")
        except binascii.Error:
            return b""

    @property
    def object(self) -> Any:
        """The decoded payload, where there is a codec; else None."""
        return self._json.get("object")

    @property
    def f_port(self) -> int | None:
        """The port on the device."""
        return self._integer("fPort")

    @property
    def f_cnt(self) -> int | None:
        """The uplink's frame counter."""
        return self._integer("fCnt")


@dataclass(frozen=True)
class JoinEvent(DeviceEvent[Union[payloads.JoinEventA, payloads.JoinEventB]]):
    """A device has joined the network."""

    kind: Literal["join"] = "join"

    @property
    def dev_addr(self) -> str | None:
        """The device's address: 8 hexadecimal digits."""
        return self._text("devAddr")


@dataclass(frozen=True)
class AckEvent(DeviceEvent[Union[payloads.AckEventA, payloads.AckEventB]]):
    """A device has acknowledged a confirmed downlink, or has not."""

    kind: Literal["ack"] = "ack"

    @property
    def acknowledged(self) -> bool:
        """True if the device has acknowledged the downlink."""
        return self._json.get("acknowledged") is True

    @property
    def f_cnt(self) -> int | None:
        """The downlink's frame counter."""
        return self._integer("fCntDown", "fCnt")


@dataclass(frozen=True)
class ErrorEvent(DeviceEvent[Union[payloads.ErrorEventA, payloads.ErrorEventB]]):
    """A fault of a device, of a frame, of a codec or of a command."""

    kind: Literal["error"] = "error"

    @property
    def code(self) -> str | None:
        """The stable code of a command's fault, or the network server's own code."""
        return self._text("code") or self._text("type")

    @property
    def sentence(self) -> str:
        """The fault, for people."""
        return self._text("error") or self._text("description") or self._text("message") or ""


@dataclass(frozen=True)
class StatusEvent(DeviceEvent[Union[payloads.StatusEventA, payloads.StatusEventB]]):
    """A device has told its battery and its margin."""

    kind: Literal["status"] = "status"

    @property
    def battery_level(self) -> float | None:
        """Percent; None where it is not known, or with external power."""
        level = self._json.get("batteryLevel")
        is_known = not self._json.get("batteryLevelUnavailable") and not self._json.get("externalPowerSource")
        return float(level) if is_known and isinstance(level, (int, float)) else None

    @property
    def margin(self) -> int | None:
        """Demodulation margin of the last status request, dB."""
        return self._integer("margin")


@dataclass(frozen=True)
class LocationEvent(DeviceEvent[Union[payloads.LocationEventA, payloads.LocationEventB]]):
    """The place of a device was found."""

    kind: Literal["location"] = "location"


@dataclass(frozen=True)
class TxackEvent(DeviceEvent[Union[payloads.TxackEventA, payloads.TxackEventB]]):
    """A gateway has sent a downlink."""

    kind: Literal["txack"] = "txack"

    @property
    def f_cnt(self) -> int | None:
        """The downlink's frame counter."""
        return self._integer("fCntDown", "fCnt")


@dataclass(frozen=True)
class LogEvent(DeviceEvent[payloads.LogEventB]):
    """What a ChirpStack v4 tells of a device."""

    kind: Literal["log"] = "log"

    @property
    def code(self) -> str | None:
        """The stable code of a command's fault, or the network server's own code."""
        return self._text("code")

    @property
    def sentence(self) -> str:
        """The log line, for people."""
        return self._text("description") or ""


@dataclass(frozen=True)
class IntegrationEvent(DeviceEvent[Union[payloads.IntegrationEventA, payloads.IntegrationEventB]]):
    """A result of an integration of the network server itself."""

    kind: Literal["integration"] = "integration"


@dataclass(frozen=True)
class UnknownEvent(DeviceEvent[Mapping[str, Any]]):
    """An event that this version does not know, or whose payload is no JSON object."""

    raw: bytes = b""
    """The payload, as it came."""
    kind: Literal["unknown"] = "unknown"


Event = Union[
    UpEvent,
    JoinEvent,
    AckEvent,
    ErrorEvent,
    StatusEvent,
    LocationEvent,
    TxackEvent,
    LogEvent,
    IntegrationEvent,
    UnknownEvent,
]
"""Any event. `event.kind` tells the classes apart, and so does `match`."""

_CLASSES: Mapping[str, type[Any]] = {
    "up": UpEvent,
    "join": JoinEvent,
    "ack": AckEvent,
    "error": ErrorEvent,
    "status": StatusEvent,
    "location": LocationEvent,
    "txack": TxackEvent,
    "log": LogEvent,
    "integration": IntegrationEvent,
}


def read_event(topic: str, content: bytes, event_id: str | None, received_at: datetime) -> Event:
    """Reads an event of the topic `application/<id>/device/<DevEUI>/event/<kind>`. Never raises for its content."""
    levels = topic.split("/")
    application_id, dev_eui, kind = levels[1], levels[3], levels[5]
    try:
        payload = json.loads(content)
    except (ValueError, RecursionError):
        payload = None
    return make_event(kind, application_id, dev_eui, event_id, received_at, payload, content)


def make_event(  # noqa: PLR0917 - the members of every event
    kind: str,
    application_id: str,
    dev_eui: str,
    event_id: str | None,
    received_at: datetime,
    payload: object,
    raw: bytes,
) -> Event:
    """The event of a kind, with a payload that was read. `raw` is for payloads that are no JSON object."""
    made = _CLASSES.get(kind)
    if made is None or not isinstance(payload, dict):
        known = payload if isinstance(payload, dict) else {}
        return UnknownEvent(event_id, application_id, dev_eui, received_at, known, raw)
    event: Event = made(event_id, application_id, dev_eui, received_at, payload)
    return event
