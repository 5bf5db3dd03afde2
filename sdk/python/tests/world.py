"""The deployment that the tests use: a real service, whose facts are in the file FIELDGATE_TEST_WORLD."""

from __future__ import annotations

import asyncio
import json
import os
import queue
import ssl
from pathlib import Path
from typing import Any
from uuid import uuid4

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion

import fieldgate
from fieldgate._access import Access, Credential
from fieldgate._http import Http, HttpSettings

FILE = os.environ.get("FIELDGATE_TEST_WORLD")
WAIT_SECONDS = 20.0


class World:
    """The service, seen by an administrator and by a network server."""

    def __init__(self) -> None:
        facts: dict[str, Any] = json.loads(Path(FILE or "").read_text(encoding="utf-8"))
        self.url: str = facts["url"]
        self.ca: str = facts["ca"]
        self.mqtts_port: int = facts["mqttsPort"]
        self.organization_id: str = facts["organizationId"]
        self.user: str = facts["user"]
        self.password: str = facts["password"]
        self._facts = facts
        self._network_server: mqtt.Client | None = None
        self.commands: queue.Queue[dict[str, Any]] = queue.Queue()

    def connect(self, **options: Any) -> fieldgate.Fieldgate:
        """A client of the usual user."""
        given = {"username": self.user, "password": self.password, "organization": self.organization_id}
        return fieldgate.connect(self.url, **{"ca_file": self.ca, **given, **options})

    async def admin(self, method: str, path: str, body: object = None) -> Any:
        """A request of the global admin."""
        tls = ssl.create_default_context(cafile=self.ca)
        access = Access(
            Http(HttpSettings(self.url, tls, None)),
            Credential(username="admin", password=self._facts["adminPassword"]),
            organization=None,
            token_seconds=60,
            patience_seconds=0,
        )
        return await access.ask(method, path, body=body)

    async def new_application(self) -> str:
        """An application with a name of its own. Its id."""
        application = {"name": f"a-{uuid4().hex[:12]}", "organizationID": self.organization_id}
        return str((await self.admin("POST", "/api/applications", {"application": application}))["id"])

    async def new_device(self, application_id: str) -> str:
        """A device. Its DevEUI."""
        dev_eui = uuid4().hex[:16]
        await self.admin("POST", "/api/devices", {"device": {"devEUI": dev_eui, "applicationID": application_id}})
        return dev_eui

    async def new_user(self) -> tuple[str, str]:
        """A member of the organization. The id and the name."""
        name = f"u-{uuid4().hex[:12]}"
        organizations = [{"organizationID": self.organization_id, "isAdmin": False}]
        body = {"user": {"email": name}, "password": self.password, "organizations": organizations}
        return str((await self.admin("POST", "/api/users", body))["id"]), name

    async def end_connections(self, prefix: str = "fieldgate-python-") -> int:
        """Ends the connections of the SDK, as an administrator may. Their number."""
        found = (await self.admin("GET", "/api/connections?limit=100"))["result"]
        mine = [one["id"] for one in found if one["clientID"].startswith(prefix)]
        for one in mine:
            await self.admin("DELETE", f"/api/connections/{one}")
        return len(mine)

    def publish(self, application_id: str, dev_eui: str, kind: str, members: dict[str, Any], qos: int = 1) -> None:
        """An event of family A."""
        common = {
            "applicationID": application_id,
            "applicationName": "",
            "deviceName": "d",
            "devEUI": dev_eui,
            "tags": {},
        }
        topic = f"application/{application_id}/device/{dev_eui}/event/{kind}"
        told = self._connected().publish(topic, json.dumps({**common, **members}), qos)
        told.wait_for_publish(WAIT_SECONDS)

    def uplinks(self, application_id: str, dev_eui: str, counters: range, qos: int = 1) -> None:
        """Uplinks with these frame counters."""
        for f_cnt in counters:
            self.publish(application_id, dev_eui, "up", {"fCnt": f_cnt, "fPort": 2, "data": "AQI="}, qos)

    def _connected(self) -> mqtt.Client:
        if self._network_server is None:
            client = mqtt.Client(CallbackAPIVersion.VERSION2, protocol=mqtt.MQTTv5)
            client.username_pw_set(self._facts["networkServer"], self._facts["networkServerPassword"])
            client.tls_set(self.ca)
            client.on_connect = lambda own, *_: own.subscribe("application/+/device/+/command/down", 1)
            client.on_message = lambda _own, _data, message: self.commands.put(json.loads(message.payload))
            client.connect("localhost", self.mqtts_port)
            client.loop_start()
            self._network_server = client
        return self._network_server

    async def command(self) -> dict[str, Any]:
        """The next command that reaches the network server."""
        self._connected()
        return await asyncio.to_thread(self.commands.get, True, WAIT_SECONDS)

    def close(self) -> None:
        """Disconnects the network server."""
        if self._network_server is not None:
            self._network_server.disconnect()
            self._network_server.loop_stop()


async def take(stream: fieldgate.EventStream, count: int) -> list[int | None]:
    """The frame counters of the next uplinks, all of them handled."""
    counters: list[int | None] = []
    while len(counters) < count:
        event = await asyncio.wait_for(anext(stream), WAIT_SECONDS)
        assert event.kind == "up"
        counters.append(event.f_cnt)
    await stream.done()
    return counters
