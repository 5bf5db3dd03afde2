/** A bridge for Home Assistant. */
import { CA_FILE } from '../snippet.ts'
import type { Snippet, SnippetFacts } from '../snippet.ts'

/**
 * Configuration files for a bridge: Home Assistant knows one broker, so that broker is bridged to
 * this one.
 */
export function homeAssistant(facts: SnippetFacts): Snippet {
  const { host, port, token, eventTopic, commandTopic, clientId, authority } = facts
  const bridge = [
    'connection fieldgate',
    `address ${host}:${port}`,
    `remote_username ${token}`,
    'remote_password default',
    `remote_clientid ${clientId}`,
    authority === undefined ? 'bridge_capath /etc/ssl/certs' : `bridge_cafile /share/mosquitto/${CA_FILE}`,
    // With MQTT 5, mosquitto asks for no Session Expiry Interval, and loses the events that come
    // while it is away.
    'bridge_protocol_version mqttv311',
    'notifications false',
    'cleansession false',
    `topic ${eventTopic} in 1`,
    ...(commandTopic === undefined ? [] : [`topic ${commandTopic} out 1`]),
  ]
  const upTopic = eventTopic.replace(/\+$/, 'up')
  const sensor = [
    'mqtt:',
    '  sensor:',
    '    - name: "Temperature"',
    `      state_topic: "${upTopic.replace('/device/+/', '/device/0123456789abcdef/')}"`,
    `      value_template: "{{ value_json.object.temperatureSensor['1'] }}"`,
    '      unit_of_measurement: "°C"',
    '      device_class: temperature',
  ]
  const ca = authority === undefined ? '' : ` Put ${CA_FILE} beside it.`
  return {
    id: 'home-assistant',
    name: 'Home Assistant',
    lead: `For the Mosquitto broker add-on with “customize” active: the first goes to /share/mosquitto/fieldgate.conf, the second to configuration.yaml.${ca}`,
    blocks: [
      { title: 'fieldgate.conf', text: bridge.join('\n') },
      { title: 'configuration.yaml', text: sensor.join('\n') },
    ],
  }
}
