"""Prints the stored uplinks of a device as JSON lines: python history_to_json_lines.py <device> | head

In a notebook: `pandas.DataFrame(rows(fg, device)).set_index("time")`.
"""

import json
import sys
from collections.abc import Iterator
from typing import Any

import fieldgate.blocking


def rows(fg: fieldgate.blocking.Fieldgate, device: str) -> Iterator[dict[str, Any]]:
    for event in fg.history(device=device, kinds=["up"]):
        if event.kind == "up":
            yield {
                "time": event.received_at.isoformat(),
                "f_cnt": event.f_cnt,
                "object": event.object,
            }


with fieldgate.blocking.connect() as fg:
    for row in rows(fg, sys.argv[1]):
        print(json.dumps(row))
