"""Closes a valve when a sensor is wet, and says what became of the command: python close_valve.py <sensor> <valve>"""

import asyncio
import sys
from datetime import datetime, timedelta, timezone

import fieldgate

CLOSE = b"\x01"


async def close(valve: fieldgate.Device) -> None:
    expires_at = datetime.now(timezone.utc) + timedelta(hours=1)
    try:
        command = await valve.send(f_port=10, data=CLOSE, confirmed=True, replace=True, expires_at=expires_at)
        print("accepted", flush=True)
        await command.sent
        print("sent", flush=True)
        await command.acknowledged
        print("closed", flush=True)
    except fieldgate.CommandError as error:
        print(f"not closed: {error.sentence}", flush=True)


async def main(sensor: str, valve: str) -> None:
    async with fieldgate.connect() as fg:
        async for event in fg.events(device=sensor, kinds=["up"], session="valve bot"):
            if event.kind == "up" and event.data == b"\xff":
                await close(fg.device(valve))


asyncio.run(main(sys.argv[1], sys.argv[2]))
