/** The MQTT settings of a ChirpStack, as in docs/network-servers/mqtt.md, for both versions. */

export interface MqttIntegration {
  /** As `ssl://localhost:8883/` or `tcp://127.0.0.1:1883`. */
  readonly server: string
  readonly userName: string
  readonly password: string
  readonly clientId: string
  /** Path of a PEM file; empty without TLS, or for the system's authorities. */
  readonly caFile: string
  /** The form of events: the documented one, or a form that integrators can't read. */
  readonly form?: EventForm
}

/** The forms of events; only version 3 has `base64-ids`. */
export type EventForm = 'json' | 'protobuf' | 'base64-ids'

const V3_MARSHALERS = { json: 'json_v3', protobuf: 'protobuf', 'base64-ids': 'json' } as const

/** The section of `chirpstack.toml`, as in the documentation. */
export function v4Section({ server, userName, password, clientId, caFile, form = 'json' }: MqttIntegration): string {
  return `
[integration]
  enabled=["mqtt"]

  [integration.mqtt]
    event_topic="application/{{application_id}}/device/{{dev_eui}}/event/{{event}}"
    command_topic="application/{{application_id}}/device/{{dev_eui}}/command/{{command}}"
    json=${form === 'json'}
    server="${server}"
    username="${userName}"
    password="${password}"
    qos=1
    clean_session=false
    client_id="${clientId}"
    ca_cert="${caFile}"
`
}

/** The section of `chirpstack-application-server.toml`, as in the documentation. */
export function v3Section({ server, userName, password, clientId, caFile, form = 'json' }: MqttIntegration): string {
  return `
[application_server.integration]
  enabled=["mqtt"]
  marshaler="${V3_MARSHALERS[form]}"

  [application_server.integration.mqtt]
    event_topic_template="application/{{ .ApplicationID }}/device/{{ .DevEUI }}/event/{{ .EventType }}"
    command_topic_template="application/{{ .ApplicationID }}/device/{{ .DevEUI }}/command/{{ .CommandType }}"
    server="${server}"
    username="${userName}"
    password="${password}"
    qos=1
    clean_session=false
    client_id="${clientId}"
    ca_cert="${caFile}"
    retain_events=false
    max_reconnect_interval="1m0s"
`
}
