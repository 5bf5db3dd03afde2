"""Appends each uplink to a CSV file, once: python to_csv.py uplinks.csv"""

import asyncio
import csv
import sys

import fieldgate


async def main(path: str) -> None:
    async with fieldgate.connect() as fg:
        with open(path, "a", newline="") as file:
            table = csv.writer(file)
            async for event in fg.events(application="water-network", kinds=["up"], session="csv"):
                if event.kind == "up":
                    table.writerow(
                        [
                            event.id,
                            event.received_at,
                            event.dev_eui,
                            event.f_cnt,
                            event.data.hex(),
                        ]
                    )
                    file.flush()


asyncio.run(main(sys.argv[1]))
