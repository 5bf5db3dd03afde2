"""Fieldgate for Python: events of LoRaWAN devices come in, commands go out, and the program never stops."""

from . import blocking, payloads
from .client import Fieldgate, connect
from .commands import Command, Device
from .errors import (
    AuthenticationError,
    ClosedError,
    CommandError,
    CommandFailedError,
    CommandRefusedError,
    CommandUnconfirmedError,
    FieldgateError,
    NotAcknowledgedError,
    NotAuthorizedError,
    NotFoundError,
    RequestError,
    TakenOverError,
    UnreachableError,
)
from .events import (
    AckEvent,
    DeviceEvent,
    ErrorEvent,
    Event,
    IntegrationEvent,
    JoinEvent,
    LocationEvent,
    LogEvent,
    StatusEvent,
    TxackEvent,
    UnknownEvent,
    UpEvent,
)
from .store import MemoryStore, SqliteStore, Store
from .stream import EventStream

__all__ = [
    "AckEvent",
    "AuthenticationError",
    "ClosedError",
    "Command",
    "CommandError",
    "CommandFailedError",
    "CommandRefusedError",
    "CommandUnconfirmedError",
    "Device",
    "DeviceEvent",
    "ErrorEvent",
    "Event",
    "EventStream",
    "Fieldgate",
    "FieldgateError",
    "IntegrationEvent",
    "JoinEvent",
    "LocationEvent",
    "LogEvent",
    "MemoryStore",
    "NotAcknowledgedError",
    "NotAuthorizedError",
    "NotFoundError",
    "RequestError",
    "SqliteStore",
    "StatusEvent",
    "Store",
    "TakenOverError",
    "TxackEvent",
    "UnknownEvent",
    "UnreachableError",
    "UpEvent",
    "blocking",
    "connect",
    "payloads",
]
