"""The program under test of the proof of the Python SDK. README.md describes its lines and settings."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from pathlib import Path

SDK = Path(__file__).resolve().parents[3] / "sdk" / "python"
sys.path.insert(0, str(SDK / "src"))
sys.path.insert(0, str(SDK / "tests"))

try:
    from paho.mqtt.enums import MQTTErrorCode as _  # Not in the paho 1 of Debian 12.
except ImportError:
    from environment import find_python

    python = str(find_python())
    os.execv(python, [python, __file__])

import fieldgate


async def prove() -> None:
    """Writes a line for each uplink, until SIGTERM."""
    client = fieldgate.connect(
        os.environ["FIELDGATE_URL"],
        api_key=os.environ["FIELDGATE_API_KEY"],
        organization=os.environ["FIELDGATE_ORGANIZATION"],
        ca_file=os.environ["FIELDGATE_CA"],
        broker=os.environ["FIELDGATE_BROKER"],
        token_seconds=int(os.environ["FIELDGATE_TOKEN_SECONDS"]),
    )
    async with client as fg:
        events = fg.events(
            application=os.environ["FIELDGATE_APPLICATION"],
            kinds=["up"],
            session=os.environ["FIELDGATE_SESSION"],
            store=fieldgate.SqliteStore(os.environ["FIELDGATE_STORE"]),
        )
        print("ready", flush=True)
        with open(os.environ["FIELDGATE_HANDED_OVER"], "a", encoding="utf-8") as file:
            async for event in events:
                assert event.kind == "up"
                file.write(f"{event.id} {event.dev_eui} {event.f_cnt}\n")
                file.flush()


async def main() -> None:
    """Ends by SIGTERM."""
    proving = asyncio.create_task(prove())
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, proving.cancel)
    try:
        await proving
    except asyncio.CancelledError:
        pass


logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
asyncio.run(main())
