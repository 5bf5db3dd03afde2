"""paho-mqtt: prints events, and connects with a new token each time. pip install "paho-mqtt>=2" && python paho_events.py"""

import os

import paho.mqtt.client as mqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from fieldgate_token import CA_FILE, current_token

VERSION = {"5": mqtt.MQTTv5, "4": mqtt.MQTTv311}[os.environ.get("FIELDGATE_MQTT_VERSION", "5")]
TOPIC = os.environ["FIELDGATE_TOPIC"]


def on_pre_connect(client, userdata):
    # The broker closes the connection when the token ends. paho then calls this function, and connects again.
    client.username_pw_set(current_token(), "default")


def on_connect(client, userdata, flags, reason_code, properties):
    if not flags.session_present and not reason_code.is_failure:
        client.subscribe(TOPIC, qos=1)


def on_message(client, userdata, message):
    print(message.topic, message.payload.decode(), flush=True)


own = {} if VERSION == mqtt.MQTTv5 else {"clean_session": False}
client = mqtt.Client(
    mqtt.CallbackAPIVersion.VERSION2, client_id=os.environ["FIELDGATE_CLIENT_ID"], protocol=VERSION, **own
)
client.tls_set(CA_FILE)
client.on_pre_connect = on_pre_connect
client.on_connect = on_connect
client.on_message = on_message
host, port = os.environ["FIELDGATE_HOST"], int(os.environ.get("FIELDGATE_PORT", "8883"))
if VERSION == mqtt.MQTTv5:
    session = Properties(PacketTypes.CONNECT)
    session.SessionExpiryInterval = 86400  # The broker keeps events while this client is away, for a day.
    client.connect(host, port, clean_start=False, properties=session)
else:
    client.connect(host, port)
client.loop_forever()
