/** A program for Python and paho-mqtt. */
import { CA_FILE, COMMAND, RENEWING, scopeMembers } from '../snippet.ts'
import type { Snippet, SnippetFacts } from '../snippet.ts'

/** A program for paho-mqtt. It gets new tokens by itself. */
export function python(facts: SnippetFacts): Snippet {
  const { host, port, token, eventTopic, commandTopic, clientId, authority, origin, organizationId } = facts
  const trust = authority === undefined ? '' : `"${CA_FILE}"`
  const text = [
    'import json',
    'import os',
    'import ssl',
    'import urllib.request',
    '',
    'import paho.mqtt.client as mqtt',
    'from paho.mqtt.packettypes import PacketTypes',
    'from paho.mqtt.properties import Properties',
    '',
    `tls = ssl.create_default_context(${trust === '' ? '' : `cafile=${trust}`})`,
    `token = "${token}"`,
    '',
    '',
    'def post(path, body, session=""):',
    '    headers = {"Content-Type": "application/json", "Grpc-Metadata-Authorization": f"Bearer {session}"}',
    `    request = urllib.request.Request("${origin}" + path, json.dumps(body).encode(), headers)`,
    '    with urllib.request.urlopen(request, context=tls) as answer:',
    '        return json.load(answer)',
    '',
    '',
    'def on_connect(client, userdata, flags, reason_code, properties):',
    '    print("connected:", reason_code)',
    '    if reason_code.is_failure:',
    '        renew()',
    '    elif not flags.session_present:',
    `        client.subscribe("${eventTopic}", qos=1)`,
    '',
    '',
    'def renew():',
    '    """A new token: when the old one ends, the broker closes the connection, and refuses the next one."""',
    '    if "FIELDGATE_USER" not in os.environ:',
    '        return',
    '    login = {"username": os.environ["FIELDGATE_USER"], "password": os.environ["FIELDGATE_PASSWORD"]}',
    `    wish = {"organizationId": "${organizationId}", "ttlInSeconds": "86400"${limitsOf(facts)}}`,
    '    try:',
    '        session = post("/api/internal/login", login)["jwt"]',
    '        client.username_pw_set(post("/api/mosquitto-auth/login", wish, session)["jwtMqttAuth"], "default")',
    '    except OSError as error:',
    '        print("no new token yet:", error)',
    '',
    '',
    'def on_message(client, userdata, message):',
    '    print(message.topic, json.loads(message.payload))',
    '',
    '',
    `client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id="${clientId}", protocol=mqtt.MQTTv5)`,
    'client.username_pw_set(token, "default")',
    'client.tls_set_context(tls)',
    'client.on_connect = on_connect',
    'client.on_message = on_message',
    '# The broker keeps what comes while this client is away, for a day.',
    'session = Properties(PacketTypes.CONNECT)',
    'session.SessionExpiryInterval = 86400',
    `client.connect("${host}", ${port}, clean_start=False, properties=session)`,
    ...(commandTopic === undefined
      ? []
      : ['', '# A command:', `# client.publish("${commandTopic}", json.dumps(${pythonCommand()}), qos=1)`, '']),
    'client.loop_forever()',
  ]
  return {
    id: 'python',
    name: 'Python',
    lead: `Save it as events.py, then: pip install "paho-mqtt>=2" && python events.py. ${RENEWING}`,
    blocks: [{ title: 'events.py', text: text.join('\n') }],
  }
}

function pythonCommand(): string {
  return COMMAND.replace('false', 'False')
}

/** The limits of the token, as further members of a dictionary. */
function limitsOf(facts: SnippetFacts): string {
  return scopeMembers(facts)
    .map(([name, json]) => `, "${name}": ${json === 'true' ? 'True' : json}`)
    .join('')
}
