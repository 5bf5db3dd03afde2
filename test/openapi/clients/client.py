"""The main flow by the client of openapi-python-client."""

import json
import os
import ssl

from generated import AuthenticatedClient, Client
from generated.api.applications import list_applications
from generated.api.broker_access import (
    create_broker_token,
    get_application_event_topic,
    get_command_topic,
    get_device_event_topics,
)
from generated.api.devices import cancel_command, list_commands, list_devices, send_command
from generated.api.login import login
from generated.api.organizations import get_organization, list_organizations
from generated.models import CommandState, CreateBrokerTokenRequest, LoginRequest, NewCommand, SendCommandRequest

base_url = os.environ["BASE_URL"]
tls = ssl.create_default_context(cafile=os.environ["CA_FILE"])

anonymous = Client(base_url=base_url, verify_ssl=tls)
session = login.sync(
    client=anonymous, body=LoginRequest(username=os.environ["USER_NAME"], password=os.environ["PASSWORD"])
)
client = AuthenticatedClient(base_url=base_url, token=session.jwt, verify_ssl=tls)

organization = list_organizations.sync(client=client, limit=999, offset=0).result[0]
application = list_applications.sync(client=client, limit=999, organization_id=organization.id).result[0]
token = create_broker_token.sync(
    client=client, body=CreateBrokerTokenRequest(organization_id=organization.id, ttl_in_seconds="3600")
)
dev_eui = list_devices.sync(client=client, application_id=application.id).result[0].dev_eui

event_topic = get_application_event_topic.sync(
    client=client, application_id=application.id, organization_id=organization.id
)
device_topics = get_device_event_topics.sync(client=client, dev_eui=dev_eui, organization_id=organization.id)
command_topic = get_command_topic.sync(client=client, dev_eui=dev_eui, organization_id=organization.id)

command = NewCommand(confirmed=True, f_port=10, data="AQID", id="openapi-python-client")
accepted = send_command.sync(dev_eui, client=client, body=SendCommandRequest(device_queue_item=command))
queue = list_commands.sync(dev_eui, client=client)
cancelled = cancel_command.sync_detailed(dev_eui, accepted.id, client=client)
assert cancelled.status_code == 200, cancelled.content

refused = get_organization.sync("987654321", client=client)

print(
    json.dumps(
        {
            "organization": organization.display_name,
            "application": application.name,
            "parts": len(token.jwt_mqtt_auth.split(".")),
            "eventTopic": event_topic.topic,
            "deviceTopics": len(device_topics.topic),
            "commandTopic": command_topic.topic,
            "state": accepted.state.value,
            "queued": any(
                item.id == accepted.id and item.state == CommandState.QUEUED for item in queue.device_queue_items
            ),
            "refusal": refused.details[0].reason,
        }
    )
)
