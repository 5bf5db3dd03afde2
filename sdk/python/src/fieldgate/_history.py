"""Stored events, page by page."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import Any

from ._access import Access
from ._selection import Selection
from .events import Event, make_event

PAGE = 1000


async def read_history(
    access: Access,
    selection: Selection,
    *,
    since: datetime | None,
    until: datetime | None,
    after: str | None,
) -> AsyncIterator[Event]:
    """The stored events of one application or one device, the oldest first."""
    path = await _path_of(access, selection)
    query = {"order": "oldest", "limit": str(PAGE)}
    for name, time in (("from", since), ("to", until)):
        if time is not None:
            if time.tzinfo is None:
                raise ValueError("since, until: must have a time zone")
            query[name] = time.isoformat()
    if selection.kinds:
        query["kind"] = ",".join(selection.kinds)
    cursor = after or ""
    while True:
        page = await access.ask("GET", path, query={**query, "after": cursor} if cursor else query)
        for item in page["result"]:
            yield _event_of(item)
        cursor = str(page["nextCursor"])
        if not cursor:
            return


async def _path_of(access: Access, selection: Selection) -> str:
    if len(selection.devices) + len(selection.applications) != 1:
        raise ValueError("give one application or one device")
    if selection.devices:
        return f"/api/devices/{selection.devices[0]}/events"
    return f"/api/applications/{await access.application_id(selection.applications[0])}/events"


def _event_of(item: Mapping[str, Any]) -> Event:
    payload: object = item.get("event")
    raw = base64.b64decode(item["payload"]) if "payload" in item else json.dumps(payload).encode()
    return make_event(
        str(item["kind"]),
        str(item["applicationID"]),
        str(item["devEUI"]),
        str(item["id"]),
        datetime.fromisoformat(str(item["time"]).replace("Z", "+00:00")),
        payload,
        raw,
    )
