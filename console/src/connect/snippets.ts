/**
 * Programs to paste: each connects with the token, prints the events and, for one device, tells how
 * to send a command.
 */

/** What every snippet is made of. */
export interface SnippetFacts {
  readonly host: string
  readonly port: number
  /** `https://<host>:<port>` of this console. */
  readonly origin: string
  readonly token: string
  readonly organizationId: string
  readonly eventTopic: string
  /** Undefined where a whole application was chosen. */
  readonly commandTopic: string | undefined
  /** PEM of the service's own certificate authority; undefined where the system's are enough. */
  readonly authority: string | undefined
  /** Unique per client, for a second connection with the same one ends the first. */
  readonly clientId: string
}

/** One way to connect. */
export interface Snippet {
  readonly id: string
  readonly name: string
  /** What must be there before, and where the text goes. */
  readonly lead: string
  readonly blocks: readonly SnippetBlock[]
}

interface SnippetBlock {
  readonly title: string
  readonly text: string
}

/** The file that the certificate authority is saved as. */
export const CA_FILE = 'fieldgate-ca.pem'

/** Said of programs that can get a token by themselves. */
const RENEWING = 'With FIELDGATE_USER and FIELDGATE_PASSWORD in its environment it gets new tokens by itself.'

const COMMAND = '{"confirmed": false, "fPort": 10, "data": "AQID"}'

/** All snippets, in the order in which they are offered. */
export function snippetsFor(facts: SnippetFacts): readonly Snippet[] {
  return [mosquitto(facts), mqttJs(facts), python(facts), go(facts), nodeRed(facts), mqttx(facts), homeAssistant(facts)]
}

function mosquitto(facts: SnippetFacts): Snippet {
  const { host, port, token, eventTopic, commandTopic, clientId } = facts
  const broker = `-h ${host} -p ${port} ${facts.authority === undefined ? '--capath /etc/ssl/certs' : `--cafile ${CA_FILE}`}`
  const access = `-V mqttv5 -u ${quoted(token)} -P default`
  const watch = `mosquitto_sub ${broker} ${access} -i ${clientId} -q 1 -t ${quoted(eventTopic)} -F '%t %p'`
  const send = (topic: string): string =>
    `mosquitto_pub ${broker} ${access} -q 1 -t ${quoted(topic)} -m ${quoted(COMMAND)}`
  return {
    id: 'mosquitto',
    name: 'mosquitto',
    lead: 'On Debian and Ubuntu the two programs are in the package mosquitto-clients.',
    blocks: [
      { title: 'Watch events', text: watch },
      ...(commandTopic === undefined ? [] : [{ title: 'Send a command', text: send(commandTopic) }]),
    ],
  }
}

function mqttJs(facts: SnippetFacts): Snippet {
  const { host, port, token, eventTopic, commandTopic, clientId, authority, origin, organizationId } = facts
  const text = [
    `import { connect } from 'mqtt'`,
    '',
    `const client = connect('mqtts://${host}:${port}', {`,
    '  protocolVersion: 5,',
    `  username: '${token}',`,
    `  password: 'default',`,
    `  clientId: '${clientId}',`,
    '  // The broker keeps what comes while this client is away, for a day.',
    '  clean: false,',
    '  properties: { sessionExpiryInterval: 86400 },',
    '  reconnectOnConnackError: true,',
    '})',
    `client.on('connect', ({ sessionPresent }) => {`,
    `  if (!sessionPresent) client.subscribe('${eventTopic}', { qos: 1 })`,
    '})',
    `client.on('message', (topic, payload) => console.log(topic, JSON.parse(payload.toString())))`,
    ...(commandTopic === undefined
      ? []
      : [
          '',
          `// A command; the broker's verdict comes back.`,
          `const command = { confirmed: false, fPort: 10, data: Buffer.from([1, 2, 3]).toString('base64') }`,
          'export function send() {',
          `  client.publish('${commandTopic}', JSON.stringify(command), { qos: 1 }, (error, packet) => {`,
          `    console.log(error ? packet?.properties?.reasonString ?? error.message : 'accepted')`,
          '  })',
          '}',
        ]),
    '',
    'async function post(path, body, session) {',
    `  const headers = { 'content-type': 'application/json', 'grpc-metadata-authorization': \`Bearer \${session}\` }`,
    `  const answer = await fetch(\`${origin}\${path}\`, { method: 'POST', headers, body: JSON.stringify(body) })`,
    '  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)',
    '  return answer.json()',
    '}',
    '',
    '// A new token: when the old one ends, the broker closes the connection, and refuses the next one. MQTT.js connects again.',
    'const { FIELDGATE_USER: username, FIELDGATE_PASSWORD: password } = process.env',
    'async function renew() {',
    `  const { jwt } = await post('/api/internal/login', { username, password }, '')`,
    `  const wish = { organizationId: '${organizationId}', ttlInSeconds: '86400' }`,
    `  client.options.username = (await post('/api/mosquitto-auth/login', wish, jwt)).jwtMqttAuth`,
    '}',
    `client.on('error', (error) => {`,
    '  console.error(error.message)',
    '  if (username !== undefined) renew().catch((fault) => console.error(fault.message))',
    '})',
  ]
  return {
    id: 'mqtt-js',
    name: 'MQTT.js',
    lead: `Save it as events.mjs, then: npm install mqtt && ${authority === undefined ? '' : `NODE_EXTRA_CA_CERTS=${CA_FILE} `}node events.mjs. ${RENEWING}`,
    blocks: [{ title: 'events.mjs', text: text.join('\n') }],
  }
}

function python(facts: SnippetFacts): Snippet {
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
    `    wish = {"organizationId": "${organizationId}", "ttlInSeconds": "86400"}`,
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

function go(facts: SnippetFacts): Snippet {
  const { host, port, token, eventTopic, commandTopic, clientId, authority, origin, organizationId } = facts
  const own = authority !== undefined
  const text = [
    'package main',
    '',
    'import (',
    '\t"bytes"',
    '\t"crypto/tls"',
    ...(own ? ['\t"crypto/x509"'] : []),
    '\t"encoding/json"',
    '\t"fmt"',
    '\t"log"',
    '\t"net/http"',
    '\t"os"',
    '\t"time"',
    '',
    '\tmqtt "github.com/eclipse/paho.mqtt.golang"',
    ')',
    '',
    'var trust = &tls.Config{}',
    '',
    'func post(path, session string, body, answer any) error {',
    '\ttext, _ := json.Marshal(body)',
    `\trequest, err := http.NewRequest("POST", "${origin}"+path, bytes.NewReader(text))`,
    '\tif err != nil {',
    '\t\treturn err',
    '\t}',
    '\trequest.Header.Set("Content-Type", "application/json")',
    '\trequest.Header.Set("Grpc-Metadata-Authorization", "Bearer "+session)',
    '\tclient := http.Client{Transport: &http.Transport{TLSClientConfig: trust}, Timeout: 10 * time.Second}',
    '\tresponse, err := client.Do(request)',
    '\tif err != nil {',
    '\t\treturn err',
    '\t}',
    '\tdefer response.Body.Close()',
    '\tif response.StatusCode != 200 {',
    '\t\treturn fmt.Errorf("%s: %s", path, response.Status)',
    '\t}',
    '\treturn json.NewDecoder(response.Body).Decode(answer)',
    '}',
    '',
    '// A new token for each connection: when the old one ends, the broker closes the connection, and the client connects again.',
    'func newToken() (string, error) {',
    '\tvar login struct{ Jwt string }',
    '\tvar access struct{ JwtMqttAuth string }',
    '\tcredentials := map[string]string{"username": os.Getenv("FIELDGATE_USER"), "password": os.Getenv("FIELDGATE_PASSWORD")}',
    '\tif err := post("/api/internal/login", "", credentials, &login); err != nil {',
    '\t\treturn "", err',
    '\t}',
    `\twish := map[string]string{"organizationId": "${organizationId}", "ttlInSeconds": "86400"}`,
    '\terr := post("/api/mosquitto-auth/login", login.Jwt, wish, &access)',
    '\treturn access.JwtMqttAuth, err',
    '}',
    '',
    'func main() {',
    ...(own
      ? [
          `\tpem, err := os.ReadFile("${CA_FILE}")`,
          '\tif err != nil {',
          '\t\tlog.Fatal(err)',
          '\t}',
          '\ttrust.RootCAs = x509.NewCertPool()',
          '\ttrust.RootCAs.AppendCertsFromPEM(pem)',
        ]
      : []),
    '\t// Without it, the client says nothing of a refused connection.',
    '\tmqtt.ERROR = log.Default()',
    `\toptions := mqtt.NewClientOptions().AddBroker("ssl://${host}:${port}").SetTLSConfig(trust)`,
    `\toptions.SetClientID("${clientId}").SetCleanSession(false)`,
    `\ttoken := "${token}"`,
    '\toptions.SetCredentialsProvider(func() (string, string) {',
    '\t\tif os.Getenv("FIELDGATE_USER") == "" {',
    '\t\t\treturn token, "default"',
    '\t\t}',
    '\t\tif renewed, err := newToken(); err != nil {',
    '\t\t\tlog.Println(err)',
    '\t\t} else {',
    '\t\t\ttoken = renewed',
    '\t\t}',
    '\t\treturn token, "default"',
    '\t})',
    '\toptions.SetDefaultPublishHandler(func(_ mqtt.Client, message mqtt.Message) {',
    '\t\tfmt.Println(message.Topic(), string(message.Payload()))',
    '\t})',
    '\toptions.SetOnConnectHandler(func(client mqtt.Client) {',
    `\t\tdone := client.Subscribe("${eventTopic}", 1, nil)`,
    '\t\tif done.Wait() && done.Error() != nil {',
    '\t\t\tlog.Fatal(done.Error())',
    '\t\t}',
    '\t})',
    '\tclient := mqtt.NewClient(options)',
    '\tif done := client.Connect(); done.Wait() && done.Error() != nil {',
    '\t\tlog.Fatal(done.Error())',
    '\t}',
    ...(commandTopic === undefined
      ? []
      : ['\t// A command:', `\t// client.Publish("${commandTopic}", 1, false, \`${COMMAND}\`)`]),
    '\tselect {}',
    '}',
  ]
  return {
    id: 'go',
    name: 'Go',
    lead: `Save it as main.go, then: go mod init events && go get github.com/eclipse/paho.mqtt.golang && go run . ${RENEWING}`,
    blocks: [{ title: 'main.go', text: text.join('\n') }],
  }
}

/** A flow of its own, with ids of its own: a second token's does not take the place of the first one's when both are imported. */
function nodeRed(facts: SnippetFacts): Snippet {
  const { host, port, token, eventTopic, commandTopic, clientId, authority } = facts
  const tab = { id: `${clientId}-flow`, type: 'tab', label: 'Fieldgate' }
  const tls = {
    id: `${clientId}-tls`,
    type: 'tls-config',
    name: 'Fieldgate',
    // Paths of files, which Node-RED 4 reads as texts even where there are none.
    cert: '',
    key: '',
    ca: '',
    caname: authority === undefined ? '' : CA_FILE,
    verifyservercert: true,
    credentials: authority === undefined ? {} : { cadata: authority },
  }
  const broker = {
    id: `${clientId}-broker`,
    type: 'mqtt-broker',
    name: 'Fieldgate',
    broker: host,
    port: String(port),
    tls: tls.id,
    clientid: clientId,
    autoConnect: true,
    usetls: true,
    protocolVersion: '5',
    keepalive: '60',
    cleansession: false,
    sessionExpiry: '86400',
    credentials: { user: token, password: 'default' },
  }
  const debug = {
    id: `${clientId}-debug`,
    z: tab.id,
    type: 'debug',
    name: 'Show',
    active: true,
    tosidebar: true,
    complete: 'payload',
    targetType: 'msg',
    x: 350,
    y: 100,
    wires: [],
  }
  const events = {
    id: `${clientId}-events`,
    z: tab.id,
    type: 'mqtt in',
    name: 'Events',
    topic: eventTopic,
    qos: '1',
    datatype: 'json',
    broker: broker.id,
    x: 160,
    y: 100,
    wires: [[debug.id]],
  }
  const sending = commandTopic === undefined ? [] : nodeRedSending(clientId, commandTopic)
  return {
    id: 'node-red',
    name: 'Node-RED',
    lead: 'Menu, Import, paste, Import; then Deploy. The token and the certificate are in it.',
    blocks: [{ title: 'Flow', text: JSON.stringify([tab, tls, broker, events, debug, ...sending], undefined, 2) }],
  }
}

/** A button that sends a command. */
function nodeRedSending(clientId: string, topic: string): readonly object[] {
  const place = { z: `${clientId}-flow`, y: 180 }
  const send = {
    ...place,
    id: `${clientId}-send`,
    type: 'mqtt out',
    name: 'Send',
    topic,
    qos: '1',
    broker: `${clientId}-broker`,
    x: 350,
    wires: [],
  }
  const command = {
    ...place,
    id: `${clientId}-command`,
    type: 'inject',
    name: 'Command',
    props: [{ p: 'payload' }],
    payload: COMMAND,
    payloadType: 'json',
    topic: '',
    // By hand alone. Node-RED calls the node wrongly configured where these are missing.
    repeat: '',
    crontab: '',
    once: false,
    onceDelay: 0.1,
    x: 160,
    wires: [[send.id]],
  }
  return [command, send]
}

function mqttx(facts: SnippetFacts): Snippet {
  const { host, port, token, eventTopic, commandTopic, clientId, authority } = facts
  const broker = `-h ${host} -p ${port} -l mqtts ${authority === undefined ? '' : `--ca ${CA_FILE} `}-V 5`
  const access = `-u ${quoted(token)} -P default`
  return {
    id: 'mqttx',
    name: 'MQTTX',
    lead: 'For the command line client of MQTTX; its window takes the same values.',
    blocks: [
      { title: 'Watch events', text: `mqttx sub ${broker} ${access} -i ${clientId} -q 1 -t ${quoted(eventTopic)}` },
      ...(commandTopic === undefined
        ? []
        : [
            {
              title: 'Send a command',
              text: `mqttx pub ${broker} ${access} -i ${clientId}-sender -q 1 -t ${quoted(commandTopic)} -m ${quoted(COMMAND)}`,
            },
          ]),
    ],
  }
}

/** Home Assistant knows one broker, which wants topics of its own; so that broker is bridged to this one. */
function homeAssistant(facts: SnippetFacts): Snippet {
  const { host, port, token, eventTopic, commandTopic, clientId, authority } = facts
  const bridge = [
    'connection fieldgate',
    `address ${host}:${port}`,
    `remote_username ${token}`,
    'remote_password default',
    `remote_clientid ${clientId}`,
    authority === undefined ? 'bridge_capath /etc/ssl/certs' : `bridge_cafile /share/mosquitto/${CA_FILE}`,
    // By MQTT 5 it asks for no Session Expiry Interval, and loses what comes while it is away.
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

/** A text as one word of a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
