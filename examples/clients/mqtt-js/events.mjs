// MQTT.js: prints events, and gets a new token before the present one ends.
// Run it: npm install mqtt && node events.mjs
// Where Fieldgate made its certificate itself, set NODE_EXTRA_CA_CERTS to the path of its ca.pem
// before the start.
import { setTimeout as after } from 'node:timers/promises'
import { connect } from 'mqtt'

const setting = (name, otherwise) => {
  const value = process.env[name] ?? otherwise
  if (value === undefined) throw new Error(`Set ${name}.`)
  return value
}
const url = setting('FIELDGATE_URL') // https://fieldgate.example.org:8443
const broker = setting('FIELDGATE_BROKER') // mqtts://fieldgate.example.org:8883, or wss://fieldgate.example.org:8443/mqtt
const topic = setting('FIELDGATE_TOPIC')
const lifetimeSeconds = Number(setting('FIELDGATE_TOKEN_SECONDS', '86400'))

async function post(path, body, headers = {}) {
  const answer = await fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
  return answer.json()
}

/** Logs in and answers a new broker-access token. */
async function newToken() {
  const { jwt } = await post('/api/internal/login', {
    username: setting('FIELDGATE_USER'),
    password: setting('FIELDGATE_PASSWORD'),
  })
  const { jwtMqttAuth } = await post(
    '/api/mosquitto-auth/login',
    { organizationId: setting('FIELDGATE_ORGANIZATION'), ttlInSeconds: String(lifetimeSeconds) },
    { 'grpc-metadata-authorization': `Bearer ${jwt}` },
  )
  return jwtMqttAuth
}

const client = connect(broker, {
  protocolVersion: Number(setting('FIELDGATE_MQTT_VERSION', '5')),
  username: await newToken(),
  password: 'default',
  clientId: setting('FIELDGATE_CLIENT_ID'),
  // The broker keeps events while this client is away, for a day.
  clean: false,
  properties: { sessionExpiryInterval: 86400 },
  // Without it, MQTT.js gives up when the broker refuses a connection.
  reconnectOnConnackError: true,
})

client.on('connect', ({ sessionPresent }) => {
  if (!sessionPresent) client.subscribe(topic, { qos: 1 })
})
client.on('message', (topicName, payload) => console.log(topicName, payload.toString()))
client.on('error', (error) => console.error(error.message))

// When the token ends, the broker closes the connection. MQTT.js connects again by itself, with the
// user name that is set here.
for (let waitMs = lifetimeSeconds * 600; ;) {
  await after(waitMs)
  try {
    client.options.username = await newToken()
    waitMs = lifetimeSeconds * 600
  } catch (error) {
    console.error(error.message)
    waitMs = 1000
  }
}
