"""paho's client with the packet AUTH, by which a token is renewed on a live connection.

paho-mqtt 2 knows the number and the properties of AUTH, and neither sends nor takes the packet. This
class adds both, at the two places where paho handles packets by their type. They are no public part
of paho, so the package takes paho 2 alone, from 2.1 on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties, VariableByteIntegers

METHOD = "JWT"
"""Fieldgate's Authentication Method (docs/clients.md)."""
AUTH = 0xF0
REAUTHENTICATE = 0x19


class RenewingClient(mqtt.Client):
    """A client for MQTT 5 that can renew its token."""

    def __init__(self, on_auth: Callable[[int], None], **options: Any) -> None:
        super().__init__(CallbackAPIVersion.VERSION2, **options)
        self._on_auth = on_auth

    def renew(self, token: str) -> None:
        """Sends AUTH with the new token. The answer comes to `on_auth`, as its Reason Code."""
        properties = Properties(PacketTypes.AUTH)
        properties.AuthenticationMethod = METHOD
        properties.AuthenticationData = token.encode()
        body = bytes([REAUTHENTICATE]) + properties.pack()
        self._packet_queue(AUTH, bytes([AUTH]) + VariableByteIntegers.encode(len(body)) + body, 0, 0)

    def _packet_handle(self) -> MQTTErrorCode:
        if self._in_packet["command"] & 0xF0 != AUTH:
            return super()._packet_handle()
        # Reason Code 0x00 may be left out (MQTT 5.0 §3.15.2.1).
        packet = self._in_packet["packet"]
        self._on_auth(packet[0] if len(packet) > 0 else 0)
        return MQTTErrorCode.MQTT_ERR_SUCCESS
