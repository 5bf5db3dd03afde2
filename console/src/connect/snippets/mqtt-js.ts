/** A program for Node and MQTT.js. */
import { CA_FILE, RENEWING, scopeMembers } from '../snippet.ts'
import type { Snippet, SnippetFacts } from '../snippet.ts'

/** A program for MQTT.js. It gets new tokens by itself. */
export function mqttJs(facts: SnippetFacts): Snippet {
  const { host, port, token, eventTopic, commandTopic, clientId, authority, origin, organizationId } = facts
  const more = scopeMembers(facts)
    .map(([name, json]) => `, ${name}: ${json}`)
    .join('')
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
    `  const wish = { organizationId: '${organizationId}', ttlInSeconds: '86400'${more} }`,
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
