#!/bin/sh
# A mosquitto bridge: carries events into your own mosquitto, and starts mosquitto again with a new token before the present token ends.
# mosquitto reads the user name of a bridge only at its start. Needs mosquitto, curl and jq. Prints the events that arrive in your mosquitto.
set -u
PATH=$PATH:/usr/sbin
lifetime=${FIELDGATE_TOKEN_SECONDS:-86400}
own_port=${BRIDGE_PORT:-18831}
data=$(mktemp -d)
. "$(dirname "$0")/token.sh"

stop() {
  kill "$mosquitto" "$reader" 2>/dev/null
  wait "$mosquitto" 2>/dev/null
}
trap 'stop; rm -rf "$data"; exit 0' INT TERM
mosquitto=
reader=
while :; do
  token=$(new_token) || { sleep 1; continue; }
  # cleansession false: Fieldgate keeps events while the bridge is away.
  cat > "$data/mosquitto.conf" <<END
user root
listener $own_port 127.0.0.1
allow_anonymous true
persistence true
persistence_location $data/
connection fieldgate
address $FIELDGATE_HOST:${FIELDGATE_PORT:-8883}
remote_username $token
remote_password default
remote_clientid $FIELDGATE_CLIENT_ID
bridge_cafile ${FIELDGATE_CA:-/etc/ssl/certs/ca-certificates.crt}
bridge_protocol_version mqttv311
notifications false
cleansession false
restart_timeout 1 5
topic $FIELDGATE_TOPIC in 1
END
  mosquitto -c "$data/mosquitto.conf" 2> "$data/log" &
  mosquitto=$!
  until mosquitto_sub -p "$own_port" -t '$SYS/broker/version' -C 1 -W 1 > "$data/version" 2>&1; do sleep 0.1; done
  mosquitto_sub -p "$own_port" -c -i printer -q 1 -t "$FIELDGATE_TOPIC" -F '%t %p' &
  reader=$!
  sleep "$((lifetime * 6 / 10))" &
  wait $!
  stop
done
