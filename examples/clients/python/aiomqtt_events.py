"""aiomqtt: prints events, and makes a new client with a new token each time. pip install aiomqtt && python aiomqtt_events.py"""

import asyncio
import os
import sys

import aiomqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from fieldgate_token import CA_FILE, current_token


async def main():
    session = Properties(PacketTypes.CONNECT)
    session.SessionExpiryInterval = 86400  # The broker keeps events while this client is away, for a day.
    while True:
        try:
            async with aiomqtt.Client(
                os.environ["FIELDGATE_HOST"],
                int(os.environ.get("FIELDGATE_PORT", "8883")),
                username=await asyncio.to_thread(current_token),
                password="default",
                identifier=os.environ["FIELDGATE_CLIENT_ID"],
                protocol=aiomqtt.ProtocolVersion.V5,
                clean_start=False,
                properties=session,
                tls_params=aiomqtt.TLSParameters(ca_certs=CA_FILE),
            ) as client:
                await client.subscribe(os.environ["FIELDGATE_TOPIC"], qos=1)
                async for message in client.messages:
                    print(message.topic, message.payload.decode(), flush=True)
        except (aiomqtt.MqttError, OSError) as error:
            # When the token ends, the broker closes the connection, and this error is raised.
            print(error, file=sys.stderr)
            await asyncio.sleep(1)


asyncio.run(main())
