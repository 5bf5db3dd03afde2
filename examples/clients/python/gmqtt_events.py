"""gmqtt: prints events, and makes a new client with a new token each time. pip install gmqtt && python gmqtt_events.py"""

import asyncio
import os
import ssl
import sys

from gmqtt import Client

from fieldgate_token import CA_FILE, current_token


async def watch_until_away():
    away = asyncio.Event()
    client = Client(os.environ["FIELDGATE_CLIENT_ID"], clean_session=False, session_expiry_interval=86400)
    client.set_auth_credentials(await asyncio.to_thread(current_token), "default")
    # After a refusal gmqtt does not ask for a new token. A new client with a new token replaces it.
    client.set_config({"reconnect_retries": 0})

    def on_connect(client, flags, result, properties):
        client.subscribe(os.environ["FIELDGATE_TOPIC"], qos=1)

    async def on_message(client, topic, payload, qos, properties):
        print(topic, payload.decode(), flush=True)
        return 0

    client.on_connect = on_connect
    client.on_message = on_message
    client.on_disconnect = lambda client, packet, exc=None: away.set()
    context = ssl.create_default_context(cafile=CA_FILE)
    await client.connect(os.environ["FIELDGATE_HOST"], int(os.environ.get("FIELDGATE_PORT", "8883")), ssl=context)
    await away.wait()


async def main():
    while True:
        try:
            await watch_until_away()
        except Exception as error:  # gmqtt raises errors of the network, of TLS, and of the broker's answer
            print(error, file=sys.stderr)
        await asyncio.sleep(1)


asyncio.run(main())
