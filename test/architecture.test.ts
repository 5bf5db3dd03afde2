import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * The rooms that each room may import (docs/architecture.md). `leaves` are the files directly in
 * `src/`; any room may import them.
 */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  leaves: [],
  mqtt: [],
  broker: ['mqtt'],
  listeners: ['broker'],
  lorawan: ['broker', 'mqtt'],
  engine: ['broker', 'mqtt'],
  cluster: ['broker', 'engine'],
  identity: [],
  access: ['broker', 'mqtt', 'identity', 'lorawan'],
  http: ['identity', 'lorawan'],
  settings: [],
  data: ['engine', 'identity'],
  service: ['broker', 'cluster', 'engine', 'listeners', 'http', 'identity', 'lorawan', 'access', 'settings', 'data'],
  // The command line composes a deployment, or the core alone.
  cli: [
    'broker',
    'mqtt',
    'engine',
    'listeners',
    'http',
    'identity',
    'lorawan',
    'simulator',
    'settings',
    'data',
    'service',
  ],
  main: ['cli'],
  simulator: ['lorawan'],
}

/**
 * The sub-rooms that each sub-room may import of its own room; '.' are the files directly in the
 * room.
 */
const SUB_ROOMS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  broker: {
    ports: [],
    memory: [],
    sessions: ['memory', 'ports'],
    refusals: ['ports'],
    durable: ['ports', 'sessions'],
    delivery: ['durable', 'memory', 'ports', 'sessions'],
    publishing: ['delivery', 'durable', 'ports', 'refusals', 'sessions'],
    connections: ['delivery', 'memory', 'ports', 'publishing', 'refusals', 'sessions'],
    restoring: ['delivery', 'durable', 'ports', 'sessions'],
    sharing: ['delivery', 'durable', 'ports', 'restoring', 'sessions'],
    packets: [
      'connections',
      'delivery',
      'durable',
      'ports',
      'publishing',
      'refusals',
      'restoring',
      'sessions',
      'sharing',
    ],
    '.': [
      'connections',
      'delivery',
      'durable',
      'memory',
      'packets',
      'ports',
      'publishing',
      'refusals',
      'restoring',
      'sessions',
      'sharing',
    ],
  },
  engine: {
    ports: [],
    segments: ['ports'],
    reading: ['ports', 'segments'],
    writing: ['ports', 'reading', 'segments'],
    memory: ['reading', 'segments', 'writing'],
    nats: ['segments', 'writing'],
    opening: ['ports', 'segments', 'writing'],
    '.': ['opening', 'ports', 'reading', 'segments', 'writing'],
    backup: ['.', 'opening', 'ports', 'segments'],
  },
  lorawan: {
    '.': [],
    codecs: [],
    library: ['codecs'],
    commands: ['.', 'shapes'],
    'commands/nodes': ['commands'],
    shapes: ['.', 'codecs'],
    fleet: ['.', 'commands'],
    uplinks: ['.', 'codecs', 'commands', 'fleet', 'shapes'],
    buckets: ['.', 'uplinks'],
    'unknown-devices': ['.', 'commands'],
    contracts: ['.', 'commands', 'fleet'],
    'network-servers/adapter': ['.', 'commands', 'unknown-devices', 'uplinks'],
    webhooks: ['.', 'commands', 'network-servers/adapter', 'uplinks'],
    'network-servers/bridge': ['commands', 'network-servers/adapter'],
    inventory: [],
    'network-servers/chirpstack': ['commands', 'inventory', 'network-servers/adapter'],
    'network-servers/http': ['.', 'commands', 'inventory', 'network-servers/adapter'],
    'network-servers/nodes': ['commands', 'network-servers'],
    'network-servers': [
      '.',
      'commands',
      'network-servers/adapter',
      'network-servers/bridge',
      'network-servers/chirpstack',
      'network-servers/http',
    ],
  },
  identity: {
    store: [],
    postgres: ['store'],
    devices: ['store'],
    tenants: ['devices', 'store'],
    people: ['store', 'tenants'],
    tokens: ['devices', 'store'],
    '.': ['devices', 'people', 'postgres', 'store', 'tenants', 'tokens'],
  },
  http: {
    pages: [],
    shares: [],
    api: ['pages', 'shares'],
    account: ['api'],
    devices: ['api', 'shares'],
    operation: ['api'],
    diagnosis: ['api', 'operation', 'shares'],
    'broker-hooks': ['api'],
    'broker-access': ['api', 'operation'],
    serving: ['api'],
    tenants: ['account', 'api', 'devices'],
    '.': [
      'account',
      'api',
      'broker-access',
      'broker-hooks',
      'devices',
      'diagnosis',
      'operation',
      'pages',
      'serving',
      'shares',
      'tenants',
    ],
  },
  cli: {
    terminal: [],
    api: ['terminal'],
    'bare-broker': ['terminal'],
    serve: ['terminal'],
    commands: ['api', 'serve', 'terminal'],
    demo: ['api', 'commands', 'serve', 'terminal'],
    'cluster-demo': ['api', 'demo', 'serve', 'terminal'],
    '.': ['api', 'bare-broker', 'cluster-demo', 'commands', 'demo', 'serve', 'terminal'],
  },
}

interface Place {
  readonly room: string
  readonly subRoom: string
}

/**
 * `src/a/b/c.ts` is of sub-room b of room a, `src/a/c.ts` of '.' of room a, `src/c.ts` a leaf,
 * `simulator/c.ts` of the simulator.
 */
function placeOf(file: string): Place {
  const [top, ...path] = dirname(file).split('/')
  if (top !== 'src') return { room: top as string, subRoom: '.' }
  const [room, ...subRoom] = path
  if (room === undefined) return { room: file === 'src/main.ts' ? 'main' : 'leaves', subRoom: '.' }
  return { room, subRoom: subRoom.join('/') || '.' }
}

/** The files without tests, each with the files that it imports. */
function readImports(): ReadonlyMap<string, readonly string[]> {
  const files = globSync('{src,simulator}/**/*.ts', { cwd: root }).filter((file) => !/\.test(ing)?\.ts$/.test(file))
  assert.ok(files.length > 50, 'the sources are found')
  return new Map(
    files.map((file) => {
      const specifiers = readFileSync(join(root, file), 'utf8').matchAll(/(?:from|import\()\s*'(\.[^']+)'/g)
      return [file, [...specifiers].map(([, specifier]) => join(dirname(file), specifier as string))]
    }),
  )
}

function mayImport(from: Place, to: Place): boolean {
  if (from.room !== to.room) return to.room === 'leaves' || (ROOMS[from.room] ?? []).includes(to.room)
  return from.subRoom === to.subRoom || (SUB_ROOMS[from.room]?.[from.subRoom] ?? []).includes(to.subRoom)
}

test('imports go only where the rooms and sub-rooms of the design allow it', () => {
  const wrong: string[] = []
  for (const [file, imports] of readImports()) {
    for (const imported of imports) {
      if (!mayImport(placeOf(file), placeOf(imported))) wrong.push(`${file} imports ${imported}`)
    }
  }
  assert.deepEqual(wrong, [])
})

test('each arrow of the design is used, and the rooms and sub-rooms are those that exist', () => {
  const used = new Set<string>()
  const places = new Set<string>()
  for (const [file, imports] of readImports()) {
    const from = placeOf(file)
    places.add(`${from.room}/${from.subRoom}`)
    for (const to of imports.map(placeOf)) {
      if (from.room !== to.room) used.add(`${from.room} → ${to.room}`)
      else if (from.subRoom !== to.subRoom) used.add(`${from.room}/${from.subRoom} → ${to.subRoom}`)
    }
  }
  const drawn = [
    ...Object.entries(ROOMS).flatMap(([room, targets]) => targets.map((target) => `${room} → ${target}`)),
    ...Object.entries(SUB_ROOMS).flatMap(([room, subRooms]) =>
      Object.entries(subRooms).flatMap(([from, targets]) => targets.map((target) => `${room}/${from} → ${target}`)),
    ),
  ]
  assert.deepEqual(
    drawn.filter((arrow) => !used.has(arrow)),
    [],
  )
  const named = Object.entries(SUB_ROOMS).flatMap(([room, subRooms]) =>
    Object.keys(subRooms).map((one) => `${room}/${one}`),
  )
  assert.deepEqual(
    named.filter((place) => !places.has(place)),
    [],
  )
})

test('no sub-room imports itself by way of others', () => {
  for (const [room, subRooms] of Object.entries({ rooms: ROOMS, ...SUB_ROOMS })) {
    assert.deepEqual(circleOf(subRooms), undefined, room)
  }
})

/** A circle of the arrows, as a path; undefined: there is none. */
function circleOf(arrows: Readonly<Record<string, readonly string[]>>): string | undefined {
  const done = new Set<string>()
  const walk = (at: string, path: readonly string[]): string | undefined => {
    if (path.includes(at)) return [...path.slice(path.indexOf(at)), at].join(' → ')
    if (done.has(at)) return undefined
    for (const next of arrows[at] ?? []) {
      const circle = walk(next, [...path, at])
      if (circle !== undefined) return circle
    }
    done.add(at)
    return undefined
  }
  for (const start of Object.keys(arrows)) {
    const circle = walk(start, [])
    if (circle !== undefined) return circle
  }
  return undefined
}

/** The libraries of the engine over NATS. */
const NATS_LIBRARIES = ['@nats-io/jetstream', '@nats-io/transport-node']

test('the wire and the semantics know no library, and nothing of Node but buffers, randomness and timers', () => {
  const wrong: string[] = []
  for (const file of globSync('src/{mqtt,broker,engine}/**/*.ts', { cwd: root })) {
    // The one file that knows the machine's file system; the log has checksums.
    if (/\.test(ing)?\.ts$/.test(file) || file === 'src/engine/ports/node-disk.ts') continue
    // The start of the engine over NATS reads the credentials.
    if (file === 'src/engine/nats/open-nats.ts') continue
    const known = new Set(['node:assert', 'node:buffer', 'node:crypto'])
    const { room, subRoom } = placeOf(file)
    if (room === 'engine') known.add('node:zlib')
    if (room === 'engine' && subRoom === 'nats') for (const library of NATS_LIBRARIES) known.add(library)
    for (const [, specifier] of readFileSync(join(root, file), 'utf8').matchAll(
      /^(?:import|export|\}).*\bfrom\s+'([^.\n'][^'\n]*)'/gm,
    )) {
      if (!known.has(specifier as string)) wrong.push(`${file} imports ${specifier}`)
    }
  }
  assert.deepEqual(wrong, [])
})

/** Files and folders of `src/` that may ask on which runtime they run. */
const RUNTIME_AWARE = [
  'src/listeners/',
  'src/engine/ports/node-disk.ts',
  // Programs of ours in processes of their own: their flags.
  'src/helper-process.ts',
  // Bun gives free memory back when it is told to.
  'src/free-memory.ts',
  // Names the runtime for people.
  'src/version.ts',
]

test('the source asks in few places on which runtime it runs', () => {
  const asks = globSync('{src,simulator}/**/*.ts', { cwd: root })
    .filter((file) => !/\.test(ing)?\.ts$/.test(file))
    .filter((file) =>
      /\bversions\b.*\bbun\b|\bbun\b.*= process\.versions|\bBun\?*\.|\bBun\?: |'bun(?::|')/.test(
        readFileSync(join(root, file), 'utf8').replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, ''),
      ),
    )
  assert.ok(asks.includes('src/listeners/bun.ts') && asks.includes('src/version.ts'), asks.join())
  assert.deepEqual(
    asks.filter((file) => !RUNTIME_AWARE.some((place) => file.startsWith(place))),
    [],
  )
})
