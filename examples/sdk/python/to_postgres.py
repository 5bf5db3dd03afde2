"""Writes each uplink to PostgreSQL or Timescale, exactly once: pip install "psycopg[binary]"

The row and the place are saved in one transaction. So no kill and no power cut can separate them.
"""

import asyncio
import json
import os
from collections.abc import Mapping

import fieldgate
import psycopg

TABLES = """
CREATE TABLE IF NOT EXISTS uplinks (
    event_id text PRIMARY KEY, received_at timestamptz NOT NULL, dev_eui text NOT NULL, f_cnt bigint, object jsonb);
CREATE TABLE IF NOT EXISTS places (session text, application_id text, place text NOT NULL,
    PRIMARY KEY (session, application_id));
"""
INSERT = "INSERT INTO uplinks VALUES (%s, %s, %s, %s, %s) ON CONFLICT DO NOTHING"
# With Timescale, make `uplinks` a hypertable over received_at, and its key (event_id, received_at).
SAVE = """INSERT INTO places VALUES (%s, %s, %s)
    ON CONFLICT (session, application_id) DO UPDATE SET place = excluded.place"""


class PostgresStore:
    """Takes part in the transaction of the program: `save` writes, and then commits."""

    def __init__(self, database: psycopg.AsyncConnection) -> None:
        self.database = database

    async def load(self, session: str) -> Mapping[str, str]:
        rows = await self.database.execute("SELECT application_id, place FROM places WHERE session = %s", (session,))
        return {name: place async for name, place in rows}

    async def save(self, session: str, application_id: str, place: str) -> None:
        await self.database.execute(SAVE, (session, application_id, place))
        await self.database.commit()


async def main() -> None:
    async with await psycopg.AsyncConnection.connect(os.environ["DATABASE_URL"]) as database:
        await database.execute(TABLES)
        await database.commit()
        async with fieldgate.connect() as fg:
            events = fg.events(kinds=["up"], session="postgres", store=PostgresStore(database))
            async for event in events:
                if event.kind == "up":
                    row = (
                        event.id,
                        event.received_at,
                        event.dev_eui,
                        event.f_cnt,
                        json.dumps(event.object),
                    )
                    await database.execute(INSERT, row)


asyncio.run(main())
