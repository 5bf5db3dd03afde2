"""Broker-access tokens: logs in by HTTP, and returns a token that does not end soon."""

import json
import os
import ssl
import time
import urllib.request

LIFETIME_SECONDS = int(os.environ.get("FIELDGATE_TOKEN_SECONDS", "86400"))
CA_FILE = os.environ.get("FIELDGATE_CA")  # None: the authorities of the system

_token = ""
_good_until = 0.0


def _post(path, body, session=""):
    request = urllib.request.Request(
        os.environ["FIELDGATE_URL"] + path,  # https://fieldgate.example.org:8443
        json.dumps(body).encode(),
        {"Content-Type": "application/json", "Grpc-Metadata-Authorization": f"Bearer {session}"},
    )
    with urllib.request.urlopen(request, context=ssl.create_default_context(cafile=CA_FILE)) as answer:
        return json.load(answer)


def current_token():
    """The present token, or a new token when less than two fifths of its life are left."""
    global _token, _good_until
    if time.monotonic() >= _good_until:
        login = {"username": os.environ["FIELDGATE_USER"], "password": os.environ["FIELDGATE_PASSWORD"]}
        session = _post("/api/internal/login", login)["jwt"]
        wish = {"organizationId": os.environ["FIELDGATE_ORGANIZATION"], "ttlInSeconds": str(LIFETIME_SECONDS)}
        _token = _post("/api/mosquitto-auth/login", wish, session)["jwtMqttAuth"]
        _good_until = time.monotonic() + LIFETIME_SECONDS * 0.6
    return _token
