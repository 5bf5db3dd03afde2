import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { connect, connectAsync } from 'mqtt'
import type { IClientOptions } from 'mqtt'
import { within } from '../../../test/support/bounded-wait.ts'
import { Program, runProgram } from '../../../test/support/program.ts'

const scratch = await mkdtemp(join(tmpdir(), 'fieldgate-bare-'))
after(() => rm(scratch, { recursive: true }))
const MAIN = fileURLToPath(new URL('../../main.ts', import.meta.url))
const ARGUMENTS = [MAIN, 'bare-broker', '--port', '0', '--engine', 'embedded']
const EMBEDDED = [...ARGUMENTS, '--data-dir', join(scratch, 'data')]

async function listening(program: Program): Promise<number> {
  const [, port = ''] = await program.output(/^fieldgate bare-broker: listening on mqtt 127\.0\.0\.1:(\d+)\n/)
  return Number(port)
}

function options(port: number): IClientOptions {
  const lasting = { protocolVersion: 5, clean: false, properties: { sessionExpiryInterval: 3600 } } as const
  return { host: '127.0.0.1', port, clientId: 'reader', reconnectPeriod: 0, ...lasting }
}

test('with the embedded engine messages and Sessions outlive a kill, and SIGTERM ends it with 0', async () => {
  {
    await using program = new Program(process.execPath, EMBEDDED)
    const client = await within(connectAsync(options(await listening(program))), 'CONNACK')
    await client.subscribeAsync('a/#', { qos: 1 })
    await client.endAsync()
    const publisher = await within(connectAsync({ host: '127.0.0.1', port: await listening(program) }), 'CONNACK')
    await publisher.publishAsync('a/b', 'kept', { qos: 1 })
    program.signal('SIGKILL')
    await program.ended()
    await publisher.endAsync(true)
  }
  await using program = new Program(process.execPath, EMBEDDED)
  const { promise, resolve } = Promise.withResolvers<string>()
  // Listened to from the start: the message may come with CONNACK.
  const client = connect(options(await listening(program)))
  client.on('message', (_topicName, payload) => resolve(payload.toString()))
  assert.equal(await within(promise, 'the message'), 'kept')
  await client.endAsync()
  program.signal('SIGTERM')
  assert.equal((await program.ended()).code, 0)
})

test('a second process on the same directory is refused, and told who has it', async () => {
  await using first = new Program(process.execPath, EMBEDDED)
  await listening(first)
  const { code, stderr } = await runProgram(process.execPath, EMBEDDED)
  assert.equal(code, 1)
  assert.match(stderr, new RegExp(`in use by process ${first.pid} on \\S+ \\(\`fieldgate bare-broker\``))
})

test('the engine and the directory go together', async () => {
  const without = await runProgram(process.execPath, ARGUMENTS)
  assert.equal(without.code, 2)
  assert.match(without.stderr, /--engine embedded needs --data-dir/)
  const memory = [MAIN, 'bare-broker', '--port', '0', '--data-dir', scratch]
  assert.match((await runProgram(process.execPath, memory)).stderr, /--data-dir goes with --engine embedded/)
})
