#!/bin/sh
# mosquitto_sub: prints events, and starts again with a new token when the present token has ended. Needs curl and jq.
# mosquitto_sub ends with 0 when the broker closes the connection, so the end of the token is not an error.
set -u
. "$(dirname "$0")/token.sh"

while :; do
  if token=$(new_token); then
    # -c and -x: the broker keeps events while nobody is connected, for a day.
    mosquitto_sub -h "$FIELDGATE_HOST" -p "${FIELDGATE_PORT:-8883}" \
      --cafile "${FIELDGATE_CA:-/etc/ssl/certs/ca-certificates.crt}" \
      -V mqttv5 -c -x 86400 -i "$FIELDGATE_CLIENT_ID" -u "$token" -P default -q 1 -t "$FIELDGATE_TOPIC" -F '%t %p'
  fi
  sleep 1
done
