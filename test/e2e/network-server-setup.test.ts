/** A ChirpStack v4 is set up in one step, while the service runs. */
import assert from 'node:assert/strict'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { within } from '../support/bounded-wait.ts'
import { fieldgate } from '../support/command-line.ts'
import { addressOf, APPLICATION, FakeChirpStack, TENANT } from '../support/fake-chirpstack.ts'
import { makeFolder, startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'

const DEV_EUI = '0102030405060708'

describe('a ChirpStack that is set up', { timeout: 90_000 }, () => {
  let folder: string
  let chirpStack: FakeChirpStack
  let service: RunningService
  let url: string
  let keyFile: string

  before(async () => {
    folder = await makeFolder()
    chirpStack = new FakeChirpStack()
    chirpStack.devices.get(APPLICATION)?.set(DEV_EUI, { name: 'Meter' })
    await chirpStack.start()
    url = `http://${addressOf(chirpStack).target}`
    keyFile = join(folder, 'key')
    await writeFile(keyFile, `${addressOf(chirpStack).apiKey}\n`)
    service = await startInProcess({ dataDirectory: folder })
  })

  after(async () => {
    await service.stop()
    chirpStack.stop()
    await rm(folder, { recursive: true, force: true })
  })

  const ask = (method: 'GET' | 'POST' | 'DELETE', path: string, json?: object) =>
    service.http.ask(method, path, {
      headers: { authorization: `Bearer ${service.adminSession}` },
      ...(json === undefined ? {} : { json }),
    })

  it('is tried first: what does not work is told in words, and not kept', async () => {
    await writeFile(join(folder, 'wrong'), 'wrong-key')
    const tried = await fieldgate(
      folder,
      'network-server',
      'try',
      'main',
      '--url',
      url,
      '--api-key-file',
      `${folder}/wrong`,
    )
    assert.deepEqual([tried.code, tried.error], [1, 'fieldgate: the network server was not reached\n'])
    assert.match(tried.out, /^ChirpStack does not know the API key/)
    const added = await fieldgate(
      folder,
      'network-server',
      'add',
      'main',
      '--url',
      url,
      '--api-key-file',
      `${folder}/wrong`,
    )
    assert.equal(added.code, 1)
    assert.match(added.error, /^fieldgate: refused: ChirpStack does not know the API key/)
    const networkServer = { name: 'Main!', url: 'ftp://x', apiKey: 'k', tenants: { [TENANT]: '77' } }
    const wrong = await ask('POST', '/api/network-servers', { networkServer })
    assert.equal(wrong.status, 400)
    const { message } = wrong.body as { readonly message: string }
    assert.match(message, /networkServer\.name: .*; networkServer\.url: /)
    const foreign = { ...networkServer, name: 'main', url }
    const unknown = await ask('POST', '/api/network-servers/try', { networkServer: foreign })
    assert.match((unknown.body as { message: string }).message, /tenants: there is no organization 77/)
    assert.deepEqual(((await ask('GET', '/api/network-servers')).body as { result: unknown[] }).result, [])
  })

  it('is used at once: it is synchronised, and gets commands', async () => {
    const added = await fieldgate(folder, 'network-server', 'add', 'main', '--url', url, '--api-key-file', keyFile)
    assert.deepEqual([added.code, added.error], [0, ''])
    assert.match(added.out, /^It works: the key sees 1 tenant with 1 application\.\n/)
    await synchronised(service)
    const command = { deviceQueueItem: { confirmed: false, fPort: 7, data: 'AQID', id: 'a' } }
    const sent = await ask('POST', `/api/devices/${DEV_EUI}/queue`, command)
    assert.deepEqual(sent.body, { id: 'a', state: 'sent', repeated: false })
    assert.equal((await within(chirpStack.nextDownlink(), 'the downlink')).fPort, 7)
    const flushed = await ask('DELETE', `/api/devices/${DEV_EUI}/queue`)
    assert.deepEqual(flushed.body, { cancelled: ['a'], sent: [] })
    const again = await fieldgate(folder, 'network-server', 'add', 'main', '--url', url, '--api-key-file', keyFile)
    assert.match(again.error, /object already exists/)
  })

  it('is there after a restart, its key is never told, and removed it is gone', async () => {
    await service.stop()
    service = await startInProcess({ dataDirectory: folder })
    await synchronised(service)
    const listed = await fieldgate(folder, 'network-server', 'list', '--json')
    assert.match(listed.out, /"name":"main","kind":"chirpstack-grpc","url":"http:/)
    assert.ok(!`${listed.out}${service.logText()}`.includes(addressOf(chirpStack).apiKey))
    const other = await ask('GET', '/api/network-servers?search=other')
    assert.deepEqual(other.body, { totalCount: '0', result: [] })
    assert.equal((await fieldgate(folder, 'network-server', 'remove', 'main', '--yes')).code, 0)
    const gone = await fieldgate(folder, 'network-server', 'remove', 'main', '--yes')
    assert.match(gone.error, /object does not exist/)
    // No network server has its applications any more: the command waits for a client of the
    // broker.
    const command = { deviceQueueItem: { confirmed: false, fPort: 7, data: 'AQID', id: 'b' } }
    const sent = await ask('POST', `/api/devices/${DEV_EUI}/queue`, command)
    assert.deepEqual(sent.body, { id: 'b', state: 'queued', repeated: false })
  })
})

/** Resolves when the log reports that a round has ended. */
async function synchronised(service: RunningService): Promise<void> {
  for (let tries = 0; tries < 200; tries += 1) {
    if (service.logText().includes('network_server.synchronised')) return
    const health = await service.http.ask('GET', '/api/internal/health')
    assert.equal(health.status, 200)
  }
  assert.fail('it was not synchronised')
}
