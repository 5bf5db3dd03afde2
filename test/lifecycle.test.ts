/**
 * The codes and Reason Codes of docs/lifecycle.md are those of the sources, and each code of the
 * sources that can end a CONNECT, a PUBLISH or a command stands on the page.
 */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { ReasonCodes, connectReturnCode } from '../src/mqtt/reason-codes.ts'
import { argumentsOfCalls } from './support/source-calls.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const page = readFileSync(join(root, 'docs/lifecycle.md'), 'utf8')

/**
 * Codes of packets that the page does not draw: SUBSCRIBE, AUTH, DISCONNECT, the end of a live
 * connection.
 */
const ELSEWHERE = [
  'answer_too_large',
  'auth_other_identity',
  'auth_unexpected',
  'denied',
  'ended_by_administrator',
  'keep_alive_timeout',
  'log_stalled',
  'organization_removed',
  'permit_narrowed',
  'permit_unchecked',
  'replay_invalid',
  'service_credential_revoked',
  'session_expiry',
  'slow_reader',
  'subscribe_application_not_granted',
  'subscribe_not_granted',
  'subscribe_outside_scope',
  'subscribe_wildcard_not_granted',
  'token_missing',
  'too_many_subscriptions',
  'topic_filter_invalid',
  'wrong_acknowledgement',
]

/** Pairs of the sources that hold after CONNACK, where the page shows CONNECT. */
const ON_LIVE_CONNECTIONS = [
  'api_key_ended 0x98',
  'node_draining 0x8B',
  'token_expired 0x87',
  'token_revoked 0x98',
  'user_inactive 0x87',
]

/** `code 0x87`: a code with its Reason Code. */
type Pair = string

describe('the page of the lifecycle', () => {
  test('has only codes that the sources have, each with its Reason Code', () => {
    const known = pairsOfSources()
    assert.deepEqual(
      [...pairsOfPage()].filter((pair) => !known.has(pair)),
      [],
    )
  })

  test('has each code of the sources with each Reason Code, but those of other packets', () => {
    const shown = pairsOfPage()
    const elsewhere = new Set(ELSEWHERE)
    const missing = [...pairsOfSources()].filter(
      (pair) => !shown.has(pair) && !ON_LIVE_CONNECTIONS.includes(pair) && !elsewhere.has(codeOf(pair)),
    )
    assert.deepEqual(missing, [])
  })

  test('has the return code of MQTT 3.1.1 that belongs to each Reason Code of CONNACK', () => {
    const rows = [...page.matchAll(/^\| `([a-z0-9_]+)` \| (0x[0-9A-F]{2}) \| (\d) \|/gm)]
    assert.ok(rows.length > 15, `${rows.length} rows`)
    const wrong = rows.filter(
      ([, , reasonCode, returnCode]) => connectReturnCode(Number(reasonCode)) !== Number(returnCode),
    )
    assert.deepEqual(
      wrong.map(([row]) => row),
      [],
    )
  })

  test('leaves out only codes that the sources have', () => {
    const known = new Set(Array.from(pairsOfSources(), codeOf))
    assert.deepEqual(
      [...ELSEWHERE, ...ON_LIVE_CONNECTIONS.map(codeOf)].filter((code) => !known.has(code)),
      [],
    )
  })
})

const codeOf = (pair: Pair): string => pair.split(' ', 1)[0] as string

/** The rows that begin with a code and a Reason Code. `depends on the fault` is `any`. */
function pairsOfPage(): ReadonlySet<Pair> {
  const rows = page.matchAll(/^\| `([a-z0-9_]+)` \| (0x[0-9A-F]{2}|depends on the fault) \|/gm)
  const pairs = new Set(
    Array.from(rows, ([, code, reasonCode = '']) => `${code} ${reasonCode.startsWith('0x') ? reasonCode : 'any'}`),
  )
  assert.ok(pairs.size > 50, `${pairs.size} rows`)
  return pairs
}

function pairsOfSources(): ReadonlySet<Pair> {
  const pairs = new Set([
    ...pairsOfCalls('src/{broker/**,access,cli/bare-broker,lorawan/commands}/*.ts'),
    ...pairsOfObjects('src/{broker/**,access,lorawan/commands}/*.ts'),
    ...pairsOfPermits(),
    ...pairsOfTokens(),
    ...pairsOfCommands(),
  ])
  assert.ok(pairs.size > 70, `${pairs.size} pairs`)
  return pairs
}

/** Calls that take a Reason Code and a code, in any order of their arguments. */
function* pairsOfCalls(files: string): Generator<Pair> {
  for (const source of sourcesOf(files)) {
    for (const name of ['refuse', 'refusal', 'refused', 'disconnect', 'endWhenRead']) {
      for (const given of argumentsOfCalls(source, name)) {
        const code = given
          .map((argument) => /^'([a-z0-9]+(?:_[a-z0-9]+)+|denied|internal)'$/.exec(argument)?.[1])
          .find(Boolean)
        if (code === undefined) continue
        const reasonCode = given.map((argument) => /^ReasonCodes\.(\w+)$/.exec(argument)?.[1]).find(Boolean)
        // With a variable in its place, the Reason Code depends on the fault.
        if (reasonCode !== undefined) yield `${code} ${hexOf(reasonCode)}`
        else if (given.some((argument) => /\breasonCode$/.test(argument))) yield `${code} any`
      }
    }
  }
}

/** Objects that have `reasonCode` and `code`. */
function* pairsOfObjects(files: string): Generator<Pair> {
  for (const source of sourcesOf(files)) {
    for (const [, reasonCode = '', code = ''] of source.matchAll(
      /reasonCode: ReasonCodes\.(\w+),[^{}]*?\bcode: '([a-z0-9_]+)'/g,
    )) {
      yield `${code} ${hexOf(reasonCode)}`
    }
  }
}

/** A permit answers with one Reason Code alone. */
function* pairsOfPermits(): Generator<Pair> {
  for (const source of sourcesOf('src/access/*-permit.ts')) {
    const reasonCode = /function refusal[^]*?reasonCode: ReasonCodes\.(\w+)/.exec(source)?.[1] ?? ''
    for (const [code = ''] of argumentsOfCalls(source, 'refusal')) yield `${code.slice(1, -1)} ${hexOf(reasonCode)}`
  }
}

/** The policy's Reason Codes for the kinds of refused tokens. */
function* pairsOfTokens(): Generator<Pair> {
  const reasonCodes: Readonly<Record<string, string>> = {
    "'unauthenticated'": 'badUserNameOrPassword',
    "'permission_denied'": 'notAuthorized',
  }
  for (const source of sourcesOf('src/identity/tokens/*.ts')) {
    for (const [kind = '', code = ''] of argumentsOfCalls(source, 'refuse')) {
      const reasonCode = reasonCodes[kind]
      if (reasonCode !== undefined) yield `${code.slice(1, -1)} ${hexOf(reasonCode)}`
    }
  }
}

/** The faults of a command that was read, and those of the queue. */
function* pairsOfCommands(): Generator<Pair> {
  const [command = ''] = sourcesOf('src/lorawan/commands/command.ts')
  const union = /type CommandFaultCode =([^]*?)\n\n/.exec(command)?.[1] ?? ''
  const [commands = ''] = sourcesOf('src/lorawan/commands/commands.ts')
  const ofFaults = /function refusedFor[^]*?ReasonCodes\.(\w+)/.exec(commands)?.[1] ?? ''
  for (const [, code] of union.matchAll(/'([a-z0-9_]+)'/g)) yield `command_${code} ${hexOf(ofFaults)}`
  const ofQueue = /const REASON_CODE_OF[^]*?\n\}/.exec(commands)?.[0] ?? ''
  for (const [, code, reasonCode = ''] of ofQueue.matchAll(/^ {2}(\w+): ReasonCodes\.(\w+),$/gm)) {
    yield `${code} ${hexOf(reasonCode)}`
  }
  // The refusal of a network server, by the code of its answer.
  const ofAnswers = commands.matchAll(/failure\?\.code === '(\w+)'\)[^}]*?ReasonCodes\.(\w+)/g)
  for (const [, code, reasonCode = ''] of ofAnswers) yield `${code} ${hexOf(reasonCode)}`
}

function hexOf(name: string): string {
  const value = (ReasonCodes as Readonly<Record<string, number>>)[name]
  assert.ok(value !== undefined, `the Reason Code ${name}`)
  return `0x${value.toString(16).toUpperCase().padStart(2, '0')}`
}

function sourcesOf(files: string): string[] {
  const found = globSync(files, { cwd: root }).filter((file) => !/\.test(?:ing)?\.ts$/.test(file))
  assert.ok(found.length > 0, files)
  return found.map((file) => readFileSync(join(root, file), 'utf8'))
}
