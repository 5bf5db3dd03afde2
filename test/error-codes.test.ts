/**
 * Every stable code in an answer of the service has its paragraph in docs/errors.md, and every
 * paragraph has its code.
 */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { WAIT_CODES } from '../src/lorawan/commands/command-waits.ts'
import { UNREADABLE_CODES } from '../src/lorawan/inventory/inventory.ts'
import { readDocumentation } from '../site/documentation.ts'
import { argumentsOfCalls } from './support/source-calls.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

/** A function that takes a code, with the place of the code among its arguments. */
interface Refusing {
  readonly files: string
  readonly name: string
  readonly argument: number
}

const HTTP: readonly Refusing[] = [
  { files: 'src/http/**/*.ts', name: 'RequestRefused', argument: 2 },
  { files: 'src/http/**/*.ts', name: 'invalidArgument', argument: 1 },
  { files: 'src/http/devices/import-row-check.ts', name: 'refuse', argument: 2 },
  { files: 'src/identity/**/*.ts', name: 'refuse', argument: 1 },
  { files: 'src/service/network-server-setups.ts', name: 'refuse', argument: 1 },
  { files: 'src/service/inventories.ts', name: 'refuse', argument: 1 },
  { files: 'src/service/inventories.ts', name: 'notFound', argument: 0 },
  { files: 'src/identity/**/*.ts', name: 'notFound', argument: 0 },
  { files: 'src/identity/**/*.ts', name: 'alreadyExists', argument: 0 },
]

const MQTT: readonly Refusing[] = [
  { files: 'src/broker/**/*.ts', name: 'refuse', argument: 2 },
  { files: 'src/broker/**/*.ts', name: 'refusal', argument: 2 },
  { files: 'src/broker/**/*.ts', name: 'disconnect', argument: 2 },
  { files: 'src/access/*-permit.ts', name: 'refusal', argument: 0 },
  { files: 'src/access/foreign-brokers.ts', name: 'refusal', argument: 0 },
  { files: 'src/listeners/*.ts', name: 'refusedBeforeConnect', argument: 0 },
  { files: 'src/access/policy.ts', name: 'refuse', argument: 1 },
  { files: 'src/lorawan/commands/command-consumer.ts', name: 'refusal', argument: 1 },
  { files: 'src/lorawan/commands/commands.ts', name: 'refused', argument: 2 },
  { files: 'src/cli/bare-broker/bare-broker-policy.ts', name: 'refuse', argument: 1 },
]

/** The codes for which templates stand. */
const TEMPLATES: Readonly<Record<string, () => string[]>> = {
  '`invalid_${kind}`': () => ['invalid_tags', 'invalid_variables'],
  '`command_${code}`': () => commandFaultCodes().map((code) => `command_${code}`),
}

test('every reason of the HTTP interface has its paragraph, and every paragraph its reason', () => {
  const reasons = reasonsOfHttp()
  assert.ok(reasons.size > 60, `${reasons.size} reasons`)
  const documented = paragraphsOf('HTTP')
  assert.deepEqual(missing(reasons, documented), [], 'reasons without a paragraph')
  assert.deepEqual(missing(documented, reasons), [], 'paragraphs of reasons that nothing answers')
})

test('every code of a refusal by the broker has its paragraph, and every paragraph its code', () => {
  const codes = codesOfBroker()
  assert.ok(codes.size > 60, `${codes.size} codes`)
  const documented = paragraphsOf('MQTT')
  assert.deepEqual(missing(codes, documented), [], 'codes without a paragraph')
  assert.deepEqual(missing(documented, codes), [], 'paragraphs of codes that nothing answers')
})

test('every code of a webhook has its paragraph, and every paragraph its code', () => {
  const sources = [...sourcesOf('src/lorawan/webhooks/*.ts'), ...sourcesOf('src/webhook-settings.ts')].join('\n')
  const codes = new Set(Array.from(sources.matchAll(/'(webhook_[a-z_]+)'/g), ([, code = '']) => code))
  assert.ok(codes.size > 10, `${codes.size} codes`)
  assert.deepEqual([...codes].toSorted(), [...paragraphsOf('Webhooks')].toSorted())
})

test('every reason and code has an anchor, to which answers, the console and the search lead', () => {
  const page = readDocumentation(root).pages.find(({ source }) => source.file === 'docs/errors.md')
  const anchors = page?.rendered.anchors ?? new Set()
  const byHttp = [...reasonsOfHttp(), ...commandFaultCodes().map((code) => `command_${code}`)]
  assert.deepEqual(
    byHttp.filter((reason) => !anchors.has(`http-${reason}`)),
    [],
  )
  assert.deepEqual(
    [...codesOfBroker()].filter((code) => !anchors.has(`mqtt-${code}`)),
    [],
  )
})

function reasonsOfHttp(): Set<string> {
  const own = codesOf(HTTP, 'src/{http,identity,lorawan/inventory}/**/*.ts', /\breason(?:: | = )'([a-z0-9_]+)'/g)
  return new Set([...own, ...UNREADABLE_CODES])
}

function codesOfBroker(): Set<string> {
  const own = codesOf(
    MQTT,
    'src/{broker/**,access,http/broker-hooks,lorawan/{commands,uplinks}}/*.ts',
    /\bcode: '([a-z0-9_]+)'/g,
  )
  const codes = new Set([...own, ...tokenReasons()])
  // The codes for which commands wait are no refusals: docs/commands.md has a row for each.
  for (const code of WAIT_CODES) if (code !== 'device_disabled') codes.delete(code)
  return codes
}

function codesOf(refusing: readonly Refusing[], propertiesIn: string, property: RegExp): Set<string> {
  const codes = new Set<string>()
  for (const { files, name, argument } of refusing) {
    const calls = sourcesOf(files).flatMap((source) => argumentsOfCalls(source, name))
    assert.ok(calls.length > 0, `${files} calls ${name}`)
    for (const call of calls) for (const code of codesIn(call[argument] ?? '')) codes.add(code)
  }
  for (const source of sourcesOf(propertiesIn)) {
    for (const [, code = ''] of source.matchAll(property)) codes.add(code)
  }
  return codes
}

/** The codes that an argument can be; none if the argument is passed on. */
function codesIn(argument: string): string[] {
  if (!argument.includes('`')) return Array.from(argument.matchAll(/'([a-z0-9_]+)'/g), ([, code = '']) => code)
  const codes = TEMPLATES[argument]?.()
  assert.ok(codes !== undefined, `what does ${argument} stand for?`)
  return codes
}

/** The reasons of a token's verification, which CONNECT passes on. */
function tokenReasons(): string[] {
  const calls = sourcesOf('src/identity/tokens/token{s,-verifier}.ts').flatMap((source) =>
    argumentsOfCalls(source, 'refuse'),
  )
  const ofTokens = calls.filter(([kind]) => kind === "'unauthenticated'" || kind === "'permission_denied'")
  assert.ok(ofTokens.length > 5)
  return ofTokens.flatMap(([, reason = '']) => codesIn(reason))
}

function commandFaultCodes(): string[] {
  const union =
    /type CommandFaultCode =([^]*?)\n\n/.exec(sourcesOf('src/lorawan/commands/command.ts').join(''))?.[1] ?? ''
  const codes = codesIn(union)
  assert.ok(codes.length > 10)
  return codes
}

function sourcesOf(files: string): string[] {
  return globSync(files, { cwd: root })
    .filter((file) => !/\.(?:test|testing)\.ts$/.test(file))
    .map((file) => readFileSync(join(root, file), 'utf8'))
}

/**
 * The codes at the heads of the items of a part of docs/errors.md: they stand in backticks before
 * the colon.
 */
function paragraphsOf(part: string): Set<string> {
  const text = readFileSync(join(root, 'docs/errors.md'), 'utf8')
  const [, body = ''] = text.split(new RegExp(`^## ${part}$`, 'm'))
  const items = (body.split(/^## /m)[0] ?? '').matchAll(/^- (`[^]*?):(?:\s|$)/gm)
  return new Set(
    Array.from(items, ([, head = '']) => Array.from(head.matchAll(/`([a-z0-9_]+)`/g), ([, code = '']) => code)).flat(),
  )
}

function missing(wanted: ReadonlySet<string>, present: ReadonlySet<string>): string[] {
  return [...wanted].filter((one) => !present.has(one))
}
