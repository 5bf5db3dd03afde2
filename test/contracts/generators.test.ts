/** Other people's programs read the contracts: the parser of AsyncAPI, and a generator of types. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { asyncApiDocument } from '../../src/lorawan/contracts/asyncapi.ts'
import { CONTRACTS } from '../../src/lorawan/contracts/contracts.ts'
import { npmParts } from '../support/npm-parts.ts'
import { runProgram } from '../support/program.ts'
import { recordedEvents } from '../recordings/recordings.ts'
import { SNAPSHOT_FOLDER } from './snapshot.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const ADDRESSES = {
  baseUrl: 'https://fieldgate.example.org:8443',
  mqtts: { host: 'fieldgate.example.org', port: 8883 },
}

/** The part of `@asyncapi/parser` that is used. */
interface ParserModule {
  readonly Parser: new () => {
    parse(text: string): Promise<{
      readonly document: { operations(): { all(): readonly unknown[] } } | undefined
      readonly diagnostics: readonly { readonly code: string; readonly severity: number; readonly message: string }[]
    }>
  }
}

let parts: string
let folder: string

before(async () => {
  parts = await npmParts(fileURLToPath(new URL('parts', import.meta.url)))
  folder = await mkdtemp(join(tmpdir(), 'fieldgate-contracts-'))
})
after(() => rm(folder, { recursive: true, force: true }))

describe('the AsyncAPI document', () => {
  it('is without fault for the parser that AsyncAPI publishes, which finds a fault in a wrong one', async () => {
    const file = join(parts, 'node_modules', '@asyncapi', 'parser', 'cjs', 'index.js')
    const { Parser } = (await import(pathToFileURL(file).href)) as ParserModule
    const made = asyncApiDocument(ADDRESSES)
    const { document, diagnostics } = await new Parser().parse(JSON.stringify(made))
    assert.ok((document?.operations().all().length ?? 0) > 10)
    // There is a newer version of AsyncAPI, which generators don't know yet.
    assert.deepEqual(
      diagnostics.filter(({ code }) => code !== 'asyncapi-latest-version'),
      [],
    )
    const wrong = await new Parser().parse(JSON.stringify({ ...made, channels: { wrong: { address: 5 } } }))
    assert.ok(wrong.diagnostics.some(({ severity }) => severity === 0))
  })
})

describe('types that json-schema-to-typescript makes of the schemas', () => {
  it('tell events apart by kind and family, and take each sample and each recorded event', async () => {
    const generator = join(parts, 'node_modules', 'json-schema-to-typescript', 'dist', 'src', 'cli.js')
    for (const [name, path] of [
      ['event', 'events/event'],
      ['command', 'commands/command'],
    ] as const) {
      const args = ['-i', `${SNAPSHOT_FOLDER}${path}.json`, '-o', join(folder, `${name}.ts`)]
      const { code, stderr } = await runProgram('node', [generator, ...args], { ms: 60_000 })
      assert.equal(code, 0, stderr)
    }
    await writeFile(join(folder, 'program.ts'), programText())
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: { strict: true, noEmit: true } }))
    const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc')
    const { code, stdout } = await runProgram('node', [compiler, '-p', folder], { ms: 60_000 })
    assert.equal(code, 0, stdout)
  })
})

/** A program whose lines compile only if the types are as good as they should be. */
function programText(): string {
  const recorded = (['v3', 'v4'] as const).flatMap((version) =>
    recordedEvents(version).map(({ kind, payload }) => ({ family: version === 'v3' ? 'a' : 'b', kind, payload })),
  )
  const samples = CONTRACTS.flatMap(({ path, sample }) => {
    const [, family, kind] = /^events\/([ab])\/(\w+)$/.exec(path) ?? []
    return family === undefined ? [] : [{ family, kind, payload: sample }]
  })
  const command = CONTRACTS.find(({ path }) => path === 'commands/command')?.sample
  return `import type { Command } from './command.ts'
import type { DeviceEvent } from './event.ts'
export const events: DeviceEvent[] = ${JSON.stringify([...recorded, ...samples])}
export const command: Command = ${JSON.stringify(command)}
// @ts-expect-error a command has data or an object
export const empty: Command = { confirmed: true, fPort: 1 }
// @ts-expect-error no family has this kind
export const unknown: DeviceEvent = { family: 'a', kind: 'log', payload: {} }
export function handle(event: DeviceEvent): number | string {
  if (event.family === 'a' && event.kind === 'ack') return event.payload.fCnt
  if (event.family === 'b' && event.kind === 'ack') return event.payload.fCntDown
  if (event.kind === 'status') return event.payload.batteryLevel
  if (event.family === 'b') return event.payload.deviceInfo.devEui
  // @ts-expect-error what is left has no deviceInfo
  event.payload.deviceInfo.devEui
  return event.payload.devEUI
}
`
}
