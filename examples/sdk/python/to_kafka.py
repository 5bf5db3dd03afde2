"""Writes each event to a topic of Kafka, exactly once: pip install aiokafka

The record and the program's place are written in one transaction: the place is the metadata of an offset of a consumer
group that nobody else uses. A reader with `read_committed` sees each event once, and those of a device in order. Kafka
keeps the place for a week of silence, unless `offsets.retention.minutes` says otherwise.
"""

import asyncio
import json
import os
from collections.abc import Mapping

import fieldgate
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import GroupCoordinatorNotAvailableError
from aiokafka.structs import OffsetAndMetadata

SERVERS = os.environ.get("KAFKA_SERVERS", "127.0.0.1:9092")
TOPIC = "lorawan-events"
SESSION = "to-kafka"
PLACES = TopicPartition(TOPIC, 0)


async def offsets_of(admin: AIOKafkaAdminClient, group: str) -> Mapping[TopicPartition, OffsetAndMetadata]:
    while True:
        try:
            return await admin.list_consumer_group_offsets(group)
        except GroupCoordinatorNotAvailableError:
            await asyncio.sleep(1)  # A new Kafka has not made its topic of offsets yet.


class KafkaStore:
    """Takes part in the transaction of the program: `save` writes the places, and then commits."""

    def __init__(self, producer: AIOKafkaProducer) -> None:
        self.producer = producer
        self.places: dict[str, str] = {}
        self.is_open = False

    async def begin(self) -> None:
        if not self.is_open:
            await self.producer.begin_transaction()
        self.is_open = True

    async def load(self, session: str) -> Mapping[str, str]:
        admin = AIOKafkaAdminClient(bootstrap_servers=SERVERS)
        await admin.start()
        try:
            offsets = await offsets_of(admin, session)
        finally:
            await admin.close()
        if PLACES in offsets and offsets[PLACES].metadata:
            self.places = json.loads(offsets[PLACES].metadata)
        return self.places

    async def save(self, session: str, application_id: str, place: str) -> None:
        self.places[application_id] = place
        await self.begin()
        offsets = {PLACES: OffsetAndMetadata(0, json.dumps(self.places))}
        await self.producer.send_offsets_to_transaction(offsets, session)
        await self.producer.commit_transaction()
        self.is_open = False


async def main() -> None:
    # The name ends the transaction that an earlier run has left open.
    async with AIOKafkaProducer(bootstrap_servers=SERVERS, transactional_id=SESSION) as producer:
        await producer.partitions_for(TOPIC)  # Makes the topic, where Kafka may do that.
        store = KafkaStore(producer)
        async with fieldgate.connect() as fg:
            async for event in fg.events(session=SESSION, store=store):
                await store.begin()
                headers = [("id", (event.id or "").encode()), ("kind", event.kind.encode())]
                value = json.dumps(event.payload).encode()
                await producer.send(TOPIC, value, key=event.dev_eui.encode(), headers=headers)


asyncio.run(main())
