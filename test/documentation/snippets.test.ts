/**
 * Every block of code of the documentation is run, checked, or not run for a reason that stands
 * beside it. Commands run as written, page by page, against one demonstration; only its addresses
 * and folders replace those of the page.
 */
import assert from 'node:assert/strict'
import { chmod, copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Script } from 'node:vm'
import { parse } from 'csv-parse/sync'
import { readNetworkServers } from '../../src/lorawan/network-servers/settings.ts'
import { connectAsync } from 'mqtt'
import { quoted } from '../../src/cli/demo/demonstration-greeting.ts'
import { within } from '../support/bounded-wait.ts'
import { outputOf, Program } from '../support/program.ts'
import { FIELDGATE, makeFolder } from '../support/running-service.ts'
import { readBlocks } from './blocks.ts'
import type { Block } from './blocks.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const pages = readBlocks(root)
const blocks = [...pages.values()].flat()
const START_MS = 60_000
const PAGE_MS = 60_000
/**
 * The page whose first block makes `$api`, `$session` and `$auth`. Other pages say that they
 * continue it.
 */
const FLOW = 'docs/api.md'

const PEM = '-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n'

/** The checks of blocks that are no commands, by language. */
const CHECKS: Readonly<Record<string, (text: string) => void | Promise<void>>> = {
  json: (text) => {
    const value = JSON.parse(text) as object
    if (!('networkServers' in value)) return
    const result = readNetworkServers(text, (path) => (path.endsWith('.pem') ? PEM : 'secret'))
    assert.ok(result.ok, JSON.stringify(result))
  },
  js: (text) => {
    assert.ok(new Script(text))
  },
  ts: (text) => {
    assert.ok(stripTypeScriptTypes(text) !== '')
  },
  ini: (text) => {
    for (const line of text.split('\n')) assert.match(line, /^(?:\[[\w-]+\]|[\w-]+=.*|[#;].*|)$/)
  },
  csv: (text) => {
    assert.ok(parse(text).length > 1)
  },
  python: async (text) => {
    // The code may return, so it needs a function around it.
    const whole = `async def piece():\n${text.replaceAll(/^/gm, '    ')}`
    await outputOf('python3', ['-c', 'import ast, sys; ast.parse(sys.argv[1])', whole])
  },
  toml: async (text) => {
    await outputOf('python3', ['-c', 'import sys, tomllib; tomllib.loads(sys.argv[1])', text])
  },
}

let folder: string
let demonstration: Program
let place: { readonly httpsPort: string; readonly mqttsPort: string; readonly data: string }

before(async () => {
  folder = await makeFolder()
  const data = join(folder, '.fieldgate', 'demo')
  demonstration = new Program(process.execPath, [FIELDGATE, 'demo'], {
    environment: { HOME: folder, FIELDGATE_DATA_DIR: data, FIELDGATE_HTTPS_PORT: '0', FIELDGATE_MQTTS_PORT: '0' },
  })
  const [, httpsPort = ''] = await demonstration.output(/Console +https:\/\/localhost:(\d+)/, START_MS)
  const [, mqttsPort = ''] = await demonstration.output(/mosquitto_sub -h localhost -p (\d+)/, START_MS)
  place = { httpsPort, mqttsPort, data }
  await mkdir(join(folder, '.fieldgate', 'tls'), { recursive: true })
  for (const copy of ['ca.pem', '.fieldgate/tls/ca.pem'])
    await copyFile(join(data, 'tls', 'ca.pem'), join(folder, copy))
  await makeTools(join(folder, 'bin'))
})

after(async () => {
  demonstration?.signal('SIGINT')
  await demonstration?.ended(20_000)
  await rm(folder, { recursive: true, force: true })
})

test('every block says in which language it is', () => {
  const known = new Set(['sh', 'text', ...Object.keys(CHECKS)])
  const wrong = blocks.filter(({ language, unrun }) => !known.has(language) && unrun === undefined)
  assert.deepEqual(wrong.map(nameOf), [], 'a block needs a fence, and behind it sh, text, json ..., or unrun="why"')
})

test('blocks that are not run say why, and are not most of them', (context) => {
  const commands = blocks.filter(({ language }) => language === 'sh')
  const unrun = commands.filter((block) => block.unrun !== undefined)
  for (const block of unrun) context.diagnostic(`${nameOf(block)} is not run: ${block.unrun}`)
  assert.ok(commands.length - unrun.length >= 20, `${commands.length - unrun.length} of ${commands.length} are run`)
})

for (const [file, own] of pages) {
  const commands = own.filter(({ language, unrun }) => language === 'sh' && unrun === undefined)
  if (commands.length === 0) continue
  test(`the commands of ${file} run as they are written`, async () => {
    const texts = usesFlow(file) ? [flow(), ...commands] : commands
    const script = texts.map(runnable).join('\n')
    const { code, stdout, stderr } = await runShell(script)
    assert.equal(code, 0, `${stdout.split('@@').at(-1)}\n${stderr}`)
  })
}

for (const block of blocks.filter(({ language, unrun }) => language in CHECKS && unrun === undefined)) {
  test(`${nameOf(block)} is good ${block.language}`, async () => {
    await CHECKS[block.language]?.(block.text)
  })
}

test('the syntax of commands that are not run is right', async () => {
  for (const { language, unrun, text } of blocks) {
    if (language === 'sh' && unrun !== undefined) await outputOf('bash', ['-n', '-c', text])
  }
})

test('the page of MQTT says rightly which Topic Filters are granted', async () => {
  const page = await readFile(join(root, 'docs/mqtt.md'), 'utf8')
  const rows = Array.from(page.matchAll(/^\| `(.+)` \| (granted|refused)/gm), ([, filter = '', fate = '']) => ({
    filter,
    fate,
  }))
  assert.ok(rows.length >= 8)
  const { stdout } = await runShell(`${runnable(flow())}\necho "@@$token"`)
  const client = await connectAsync(`mqtts://localhost:${place.mqttsPort}`, {
    ca: await readFile(join(folder, 'ca.pem')),
    username: stdout.trim().split('@@').at(-1) ?? '',
    password: 'default',
    protocolVersion: 5,
    reconnectPeriod: 0,
  })
  try {
    const { promise, resolve } = Promise.withResolvers<readonly number[]>()
    client.on('packetreceive', (packet) => {
      if (packet.cmd === 'suback') resolve(packet.granted as readonly number[])
    })
    client.subscribe(
      rows.map(({ filter }) => filter),
      { qos: 1 },
      () => {},
    )
    const codes = await within(promise, 'SUBACK')
    assert.deepEqual(
      codes.map((code) => (code < 0x80 ? 'granted' : 'refused')),
      rows.map(({ fate }) => fate),
    )
  } finally {
    await client.endAsync(true)
  }
})

function usesFlow(file: string): boolean {
  return (
    file !== FLOW &&
    (pages.get(file) ?? []).some(({ text }) => /\$(?:api|auth|token)\b/.test(text)) &&
    !definesApi(file)
  )
}

function definesApi(file: string): boolean {
  return (pages.get(file) ?? []).some(({ text }) => /^api=/m.test(text))
}

function flow(): Block {
  const [first] = pages.get(FLOW) ?? []
  assert.ok(first !== undefined)
  return first
}

/**
 * The block, with code that prints its name first, and fails unless its output contains the
 * required text.
 */
function runnable(block: Block): string {
  const { text, says } = block
  const placed = text
    .replaceAll('localhost:8443', `localhost:${place.httpsPort}`)
    .replaceAll('-p 8883', `-p ${place.mqttsPort}`)
    .replaceAll('fieldgate.example.org', 'localhost')
    .replaceAll('/var/lib/fieldgate-', `${folder}/other-`)
    .replaceAll('/var/lib/fieldgate', place.data)
    .replaceAll('/backup/', `${folder}/`)
  if (says === undefined) return `echo '@@ ${nameOf(block)}'\n${placed}`
  return `echo '@@ ${nameOf(block)}'\nsaid=$( { ${placed}\n} 2>&1 )\necho "$said"\ngrep -qF ${quoted(says)} <<< "$said"`
}

async function runShell(script: string): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const shell = new Program('bash', ['-e', '-o', 'pipefail', '-c', script], {
    folder,
    environment: {
      PATH: `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}`,
      HOME: folder,
      FIELDGATE_DATA_DIR: place.data,
      NO_COLOR: '1',
    },
  })
  return shell.ended(PAGE_MS)
}

/**
 * Makes the programs that the shell finds. A reader of MQTT ends with its first message, and fails
 * without one. A refusal by HTTP is a failure. `fieldgate` is the command of this checkout.
 */
async function makeTools(directory: string): Promise<void> {
  await mkdir(directory)
  const fieldgate = `exec ${process.execPath} --no-warnings ${FIELDGATE}`
  const tools = {
    mosquitto_sub: `exec ${(await outputOf('which', ['mosquitto_sub'])).trim()} -C 1 -W 30 "$@"`,
    curl: `exec ${(await outputOf('which', ['curl'])).trim()} --fail-with-body --max-time 30 "$@"`,
    fieldgate: `${fieldgate} "$@"`,
    npx: `[ "$1" = fieldgate ] || exit 96\nshift\n${fieldgate} "$@"`,
  }
  for (const [name, body] of Object.entries(tools)) {
    await writeFile(join(directory, name), `#!/bin/sh\n${body}\n`)
    await chmod(join(directory, name), 0o755)
  }
}

function nameOf({ file, number, language }: Block): string {
  return `${file}, block ${number} (${language === '' ? 'no language' : language})`
}
