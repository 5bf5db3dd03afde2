import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, it } from 'node:test'
import grpc from '@grpc/grpc-js'
import { addressOf, APPLICATION, FakeChirpStack, TENANT } from '../../../../test/support/fake-chirpstack.ts'
import { freePort } from '../../../../test/support/free-port.ts'
import { tryChirpStack } from './chirpstack-trial.ts'

let chirpStack: FakeChirpStack

beforeEach(async () => {
  chirpStack = new FakeChirpStack()
  await chirpStack.start()
})

afterEach(() => chirpStack.stop())

describe('a try to reach a ChirpStack', () => {
  it('that works lists the tenants that the key sees', async () => {
    chirpStack.applications.get(TENANT)?.set(APPLICATION.replace('7', '8'), 'Gas')
    const address = addressOf(chirpStack)
    assert.deepEqual(await tryChirpStack({ address, tenants: undefined }), {
      outcome: 'works',
      answer: 'It works: the key sees 1 tenant with 2 applications.',
      tenants: [{ id: TENANT, name: 'Valley & Sons', applications: 2 }],
    })
    const tenants = new Map([[TENANT, '1']])
    assert.equal((await tryChirpStack({ address, tenants })).outcome, 'works')
  })

  it('tells that nothing answers', async () => {
    const target = `127.0.0.1:${await freePort()}`
    const { outcome, answer } = await tryChirpStack({
      address: { ...addressOf(chirpStack), target },
      tenants: undefined,
    })
    assert.equal(outcome, 'unreachable')
    assert.ok(answer.startsWith(`Nothing answers at ${target} (connect ECONNREFUSED`), answer)
  })

  it('tells that TLS fails because the other side speaks clear text', async () => {
    const { outcome, answer } = await tryChirpStack({
      address: { ...addressOf(chirpStack), tls: { ca: undefined } },
      tenants: undefined,
    })
    assert.equal(outcome, 'tls_failed')
    assert.match(answer, /^TLS with 127\.0\.0\.1:\d+ fails \(wrong version number\)\. It speaks clear text: take http:/)
  })

  it('tells that something else answers', async () => {
    const other = createServer((socket) => {
      socket.on('error', () => {})
      socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')
    })
    other.listen(0, '127.0.0.1')
    await new Promise((resolve) => other.once('listening', resolve))
    const { port } = other.address() as AddressInfo
    try {
      const address = { ...addressOf(chirpStack), target: `127.0.0.1:${port}` }
      const { outcome, answer } = await tryChirpStack({ address, tenants: undefined })
      assert.equal(outcome, 'not_chirpstack')
      assert.match(answer, /not by gRPC. Does it want TLS/)
    } finally {
      other.close()
    }
  })

  const { status } = grpc
  const answers: readonly (readonly [string, number, string, boolean, string, RegExp])[] = [
    ['a wrong key', status.UNAUTHENTICATED, 'InvalidToken', false, 'key_refused', /does not know the API key/],
    ['a key of a tenant', status.UNAUTHENTICATED, '', false, 'tenants_needed', /may not list tenants/],
    ['a key of another tenant', status.UNAUTHENTICATED, '', true, 'key_refused', /may not see a tenant/],
    ['a database that is away', status.INTERNAL, '', false, 'failing', /database may be away/],
    ['an API that is none of ChirpStack', status.UNIMPLEMENTED, 'unknown', false, 'not_chirpstack', /\(unknown\)/],
  ]
  for (const [what, code, details, hasTenants, outcome, sentence] of answers) {
    it(`tells of ${what}`, async () => {
      chirpStack.fault = { code, details }
      const tenants = hasTenants ? new Map([[TENANT, '1']]) : undefined
      const trial = await tryChirpStack({ address: addressOf(chirpStack), tenants })
      assert.equal(trial.outcome, outcome)
      assert.match(trial.answer, sentence)
    })
  }
})
