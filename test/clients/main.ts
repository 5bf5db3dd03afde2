/**
 * npm run clients: each program of examples/clients runs against a started service with tokens that
 * last a few seconds, and must miss no event over several expired tokens.
 */
import { cp, mkdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as after } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { snippetsFor } from '../../console/src/connect/snippets.ts'
import { climateUplink, startWorld } from '../console/world.ts'
import type { World } from '../console/world.ts'
import { Administration, PASSWORD } from '../support/administration.ts'
import { Program, runProgram } from '../support/program.ts'

const EXAMPLES = fileURLToPath(new URL('../../examples/clients', import.meta.url))
const TOKEN_SECONDS = 5
/** The number of events for an example; together they last through four tokens. */
const EVENTS = 100
/** The time between two events, ms. */
const INTERVAL_MS = 200
const LAST_EVENT_MS = 30_000
/** The frame counter, as JSON, JavaScript and Python print it. */
const NUMBER = /fCnt['"]?: ?(\d+)/g
const BUILD_MS = 900_000

interface Client {
  readonly name: string
  /** The folder of examples/clients. */
  readonly folder: string
  /** Programs that must be on the PATH. */
  readonly needs: readonly string[]
  /** The commands that make the example runnable in a copy of its folder. */
  readonly build: readonly (readonly string[])[]
  readonly command: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly isOverWebSocket?: boolean
  /**
   * The id under which the page Connect shows the program. Its first token is short, the next one
   * is not.
   */
  readonly snippet?: string
}

const PYTHON = { folder: 'python', needs: ['python3'] }
const PIP = ['venv/bin/pip', 'install', '-q', 'paho-mqtt>=2', 'aiomqtt', 'gmqtt']
const PYTHON_BUILD = [['python3', '-m', 'venv', 'venv'], PIP]
const MQTT_JS = {
  folder: 'mqtt-js',
  needs: ['npm'],
  build: [['npm', 'install', '--no-save', '--no-audit', '--no-fund', 'mqtt']],
}
const GO = { folder: 'go', needs: ['go'] }
const JAVA = { folder: 'java', needs: ['java', 'mvn'] }
const MAVEN = ['mvn', '-q', '-B', 'compile', 'dependency:build-classpath', '-Dmdep.outputFile=classpath.txt']
const JAVA_MAIN = (name: string): readonly string[] => [
  'sh',
  '-c',
  `exec java -cp "target/classes:$(cat classpath.txt)" ${name}`,
]

const CLIENTS: readonly Client[] = [
  { name: 'pasted MQTT.js', ...MQTT_JS, command: ['node', 'events.mjs'], snippet: 'mqtt-js' },
  {
    name: 'pasted Python',
    ...PYTHON,
    build: PYTHON_BUILD,
    command: ['venv/bin/python', '-u', 'events.py'],
    snippet: 'python',
  },
  {
    name: 'pasted Go',
    folder: 'go',
    needs: ['go'],
    build: [['go', 'build', '-o', 'pasted-events', 'main.go']],
    command: ['./pasted-events'],
    snippet: 'go',
  },
  { name: 'MQTT.js, MQTT 5', ...MQTT_JS, command: ['node', 'events.mjs'] },
  {
    name: 'MQTT.js, MQTT 3.1.1',
    ...MQTT_JS,
    command: ['node', 'events.mjs'],
    environment: { FIELDGATE_MQTT_VERSION: '4' },
  },
  { name: 'MQTT.js, MQTT 5 over WebSocket', ...MQTT_JS, command: ['node', 'events.mjs'], isOverWebSocket: true },
  { name: 'paho-python, MQTT 5', ...PYTHON, build: PYTHON_BUILD, command: ['venv/bin/python', 'paho_events.py'] },
  {
    name: 'paho-python, MQTT 3.1.1',
    ...PYTHON,
    build: PYTHON_BUILD,
    command: ['venv/bin/python', 'paho_events.py'],
    environment: { FIELDGATE_MQTT_VERSION: '4' },
  },
  { name: 'aiomqtt', ...PYTHON, build: PYTHON_BUILD, command: ['venv/bin/python', 'aiomqtt_events.py'] },
  { name: 'gmqtt', ...PYTHON, build: PYTHON_BUILD, command: ['venv/bin/python', 'gmqtt_events.py'] },
  { name: 'paho Go', ...GO, build: [['go', 'build', '-o', 'paho-events', './paho']], command: ['./paho-events'] },
  {
    name: 'autopaho',
    ...GO,
    build: [['go', 'build', '-o', 'autopaho-events', './autopaho']],
    command: ['./autopaho-events'],
  },
  { name: 'HiveMQ Java', ...JAVA, build: [MAVEN], command: JAVA_MAIN('HiveMqEvents') },
  { name: 'paho Java', ...JAVA, build: [MAVEN], command: JAVA_MAIN('PahoEvents') },
  {
    name: 'rumqttc',
    folder: 'rust',
    needs: ['cargo'],
    build: [['cargo', 'build', '--release', '--quiet']],
    command: ['sh', '-c', 'exec "${CARGO_TARGET_DIR:-target}/release/events"'],
  },
  {
    name: 'paho C',
    folder: 'c',
    needs: ['cc'],
    build: [['cc', 'events.c', '-o', 'events', '-lpaho-mqtt3as', '-lcurl', '-lcjson']],
    command: ['./events'],
  },
  {
    name: 'Node-RED',
    folder: 'node-red',
    needs: ['npm'],
    build: [['npm', 'install', '--no-save', '--ignore-scripts', '--no-audit', '--no-fund', 'node-red@5']],
    command: ['node', 'node_modules/node-red/red.js', '--userDir', 'user', '--port', '0', 'flow.json'],
  },
  {
    name: 'mosquitto_sub',
    folder: 'shell',
    needs: ['mosquitto_sub', 'curl', 'jq'],
    build: [],
    command: ['sh', 'events.sh'],
  },
  {
    name: 'mosquitto bridge',
    folder: 'shell',
    needs: ['mosquitto', 'mosquitto_sub', 'curl', 'jq'],
    build: [],
    command: ['sh', 'bridge.sh'],
  },
]

const wanted = process.argv.slice(2)
let passed = 0
let failed = 0
let skipped = 0
// The copies stay from run to run, so that nothing is built twice.
const cache = join(tmpdir(), 'fieldgate-client-examples')
await mkdir(cache, { recursive: true })
await using world = await startWorld()
for (const client of CLIENTS) {
  if (wanted.length > 0 && !wanted.some((word) => client.name.toLowerCase().includes(word.toLowerCase()))) continue
  const missing = await missingOf(client)
  if (missing.length > 0) {
    skipped += 1
    console.log(`- ${client.name}: skipped, ${missing.join(' and ')} not found`)
    continue
  }
  try {
    console.log(`✔ ${client.name}: ${await tryOut(client)}`)
    passed += 1
  } catch (error) {
    failed += 1
    console.log(`✖ ${client.name}: ${error instanceof Error ? error.message : String(error)}`)
  }
}
console.log(`${passed} passed, ${failed} failed${skipped === 0 ? '' : `, ${skipped} skipped`}`)
process.exitCode = failed === 0 ? 0 : 1

async function missingOf({ needs }: Client): Promise<readonly string[]> {
  const found = await Promise.all(
    needs.map((need) => runProgram('sh', ['-c', `PATH=$PATH:/usr/sbin command -v ${need}`])),
  )
  return needs.filter((_, index) => found[index]?.code !== 0)
}

/** Builds and runs an example. Returns a sentence about the run, or throws its fault. */
async function tryOut(client: Client): Promise<string> {
  const [device] = world.devices
  if (device === undefined) throw new Error('the world has no device')
  const folder = join(cache, client.snippet === undefined ? client.folder : `pasted-${client.folder}`)
  await cp(join(EXAMPLES, client.folder), folder, { recursive: true })
  const clientId = `example-${client.name.replaceAll(/[^A-Za-z0-9]+/g, '-')}`
  const topic = `application/${world.applicationId}/device/${device.devEui}/event/up`
  if (client.snippet !== undefined) await writePasted(client.snippet, folder, topic, clientId)
  const { HOME = folder } = process.env
  const setting = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('FIELDGATE_')))
  const inFolder = (words: readonly string[]): [string, string[]] => [
    'sh',
    ['-c', 'cd "$0" && exec "$@"', folder, ...words],
  ]
  const environment = { ...setting, HOME } as Record<string, string>
  for (const step of client.build) {
    const { code, stderr, stdout } = await runProgram(...inFolder(step), { environment, ms: BUILD_MS })
    if (code !== 0) throw new Error(`${step.join(' ')} ended with ${code}: ${stderr}${stdout}`)
  }
  await using program = new Program(...inFolder(client.command), {
    environment: { ...environment, ...settingsOf(world, client, topic, clientId), ...client.environment },
  })
  const repeated = await watch(program, topic, device)
  const tokens = connectsOf(clientId, client.snippet === undefined ? 3 : 2)
  return `${EVENTS} events, none missing, ${repeated} repeated, through ${tokens} connections`
}

/** Writes the texts of the page Connect, with a token that lasts a few seconds. */
async function writePasted(id: string, folder: string, eventTopic: string, clientId: string): Promise<void> {
  const { service, organizationId, anna } = world
  const administration = new Administration(service)
  const session = await administration.login(anna.userName)
  await writeFile(join(folder, 'fieldgate-ca.pem'), service.ca)
  const snippets = snippetsFor({
    host: 'localhost',
    port: service.mqttsPort,
    origin: service.https,
    token: await administration.brokerToken(session, organizationId, String(TOKEN_SECONDS)),
    organizationId,
    eventTopic,
    commandTopic: undefined,
    authority: service.ca,
    clientId,
  })
  const [block] = snippets.find((snippet) => snippet.id === id)?.blocks ?? []
  if (block === undefined) throw new Error(`there is no program ${id}`)
  await writeFile(join(folder, block.title), block.text)
}

function settingsOf(
  { service, organizationId, anna }: World,
  { isOverWebSocket, name }: Client,
  topic: string,
  clientId: string,
): Record<string, string> {
  const scheme = name.startsWith('MQTT.js') ? 'mqtts' : 'ssl'
  const webSocket = `${service.https.replace('https:', 'wss:')}/mqtt`
  return {
    FIELDGATE_URL: service.https,
    FIELDGATE_BROKER: isOverWebSocket === true ? webSocket : `${scheme}://localhost:${service.mqttsPort}`,
    FIELDGATE_HOST: 'localhost',
    FIELDGATE_PORT: String(service.mqttsPort),
    FIELDGATE_CA: service.caFile,
    NODE_EXTRA_CA_CERTS: service.caFile,
    FIELDGATE_USER: anna.userName,
    FIELDGATE_PASSWORD: PASSWORD,
    FIELDGATE_ORGANIZATION: organizationId,
    FIELDGATE_TOPIC: topic,
    FIELDGATE_CLIENT_ID: clientId,
    FIELDGATE_TOKEN_SECONDS: String(TOKEN_SECONDS),
  }
}

/**
 * Publishes numbered events once the program's subscription stands. All must arrive; returns how
 * many were repeated.
 */
async function watch(program: Program, topic: string, device: World['devices'][number]): Promise<number> {
  while (!(await isSubscribed(topic))) {
    if (program.hasEnded) throw new Error(`it ended before it subscribed: ${program.stderr}${program.stdout}`)
  }
  for (let number = 1; number <= EVENTS; number += 1) {
    if (number === EVENTS / 2) await revokeTokens()
    await world.publish(device, 'up', climateUplink(number))
    await after(INTERVAL_MS)
  }
  await program.output(new RegExp(`fCnt['"]?: ?${EVENTS}\\b`), LAST_EVENT_MS).catch(() => {})
  const printed = Array.from(program.stdout.matchAll(NUMBER), ([, number]) => Number(number))
  const missing = Array.from({ length: EVENTS }, (_, index) => index + 1).filter((number) => !printed.includes(number))
  if (missing.length > 0) throw new Error(`missing: ${missing.join(', ')}`)
  // QoS 1 repeats an event whose PUBACK was on its way when the connection closed.
  return printed.length - EVENTS
}

/** Revokes all tokens, which looks to a program like the end of its token. */
async function revokeTokens(): Promise<void> {
  const administration = new Administration(world.service)
  const { result } = await administration.must(
    'GET',
    `/api/broker-tokens?organizationID=${world.organizationId}&limit=999`,
  )
  for (const { id } of result as { id: string }[]) await administration.must('DELETE', `/api/broker-tokens/${id}`)
}

async function isSubscribed(topicFilter: string): Promise<boolean> {
  const path = `/api/connections?organizationID=${world.organizationId}&limit=100`
  const { result } = await world.service.http.must('GET', path, { token: world.service.adminSession })
  return (result as { topicFilters: string[] }[]).some(({ topicFilters }) => topicFilters.includes(topicFilter))
}

/**
 * How often the client connected. An event that came while it was away can only have come by the
 * resumed Session.
 */
function connectsOf(clientId: string, least: number): number {
  const lines = world.service.logText().split('\n')
  const accepted = lines.filter(
    (line) => line.includes('"connection.accepted"') && line.includes(`"${clientId}"`),
  ).length
  if (accepted < least) throw new Error(`it connected ${accepted} times in ${(EVENTS * INTERVAL_MS) / 1000} s`)
  return accepted
}
