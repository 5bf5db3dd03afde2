import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { silentLogger } from '../../logger.ts'
import { loadCertificates } from '../../listeners/certificates.ts'
import { createApiClient } from './api-client.ts'
import { createRemoteCarrier } from './remote-carrier.ts'

const scratch = await mkdtemp(join(tmpdir(), 'fieldgate-carrier-'))
after(() => rm(scratch, { recursive: true }))

/** A certificate of an authority of its own, for a name that is not this machine's. */
async function certificateIn(name: string) {
  const certificates = await loadCertificates({
    dataDirectory: join(scratch, name),
    hostNames: ['public.example'],
    clock: { now: () => Date.now() },
    log: silentLogger,
    onChange: () => {},
  })
  certificates.close()
  return certificates
}

describe('the way to the running service', async () => {
  const served = await certificateIn('served')
  const requests: string[] = []
  const server = createServer({ cert: served.cert, key: served.key }, (request, response) => {
    requests.push([request.method, request.url, request.headers['grpc-metadata-authorization']].join(' '))
    response.end(request.url === '/broken' ? 'no JSON' : '{"id":"7"}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => server.close())
  const httpsAddress = `https://127.0.0.1:${(server.address() as AddressInfo).port}`

  it('trusts the very certificate that is served, whatever its names', async () => {
    const carrier = await createRemoteCarrier({ httpsAddress, certFile: served.certFile, jwt: 'token' })
    const client = createApiClient(carrier)
    assert.deepEqual(await client.request('POST', '/api/things', { a: 1 }), { id: '7' })
    assert.deepEqual(requests, ['POST /api/things Bearer token'])
    await assert.rejects(client.request('GET', '/broken'), /the service answered 200/)
    await client.close()
  })

  it('gives its token to no other, not even to one of a trusted name', async () => {
    const other = await certificateIn('other')
    const seen = requests.length
    for (const certFile of [other.certFile, other.caFile ?? '']) {
      const carrier = await createRemoteCarrier({ httpsAddress, certFile, jwt: 'token' })
      await assert.rejects(carrier.send('GET', '/'), /can’t be reached/)
      await carrier.close()
    }
    assert.equal(requests.length, seen)
  })

  it('says when nobody answers', async () => {
    const carrier = await createRemoteCarrier({
      httpsAddress: 'https://127.0.0.1:1',
      certFile: served.certFile,
      jwt: 'token',
    })
    await assert.rejects(carrier.send('GET', '/'), /https:\/\/127\.0\.0\.1:1 can’t be reached: .*ECONNREFUSED/)
    await carrier.close()
  })
})
