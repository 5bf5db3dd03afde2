/**
 * The built service in its own process: two side by side, and two that want the same data
 * directory.
 */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { after, before, describe, it } from 'node:test'
import { Administration } from '../support/administration.ts'
import { HttpsClient } from '../support/https-client.ts'
import { makeFolder, spawnService, startAsProcess } from '../support/running-service.ts'
import { WireClient } from '../support/wire-client.ts'

let folders: readonly [string, string]

before(async () => {
  folders = [await makeFolder(), await makeFolder()]
})

after(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true })
})

describe('two instances', () => {
  it('with ports and data directories of their own run side by side and know nothing of each other', async () => {
    const starting = [startAsProcess(folders[0]), startAsProcess(folders[1])] as const
    await using first = await starting[0]
    await using second = await starting[1]
    const administration = new Administration(first)
    const organizationId = await administration.organization('only-here')
    const token = await administration.brokerToken(first.adminSession, organizationId)
    const login = { username: token, password: 'default' }
    using own = await WireClient.open(first, 5)
    assert.equal(await own.connect(login), 0)
    using foreign = await WireClient.open(second, 5)
    assert.equal(await foreign.connect(login), 0x86)
    const ask = { token: second.adminSession }
    assert.equal((await second.http.must('GET', '/api/organizations', ask))['totalCount'], '0')
    const strange = await second.http.ask('GET', '/api/organizations', { token: first.adminSession })
    assert.equal(strange.status, 401)
    // Neither CA is trusted for the other service.
    const deceived = new HttpsClient(second.https, first.ca)
    await assert.rejects(deceived.ask('GET', '/api/internal/health'), /certificate|signature/i)
    deceived.close()
  })

  it('on one data directory: the second refuses to start and says why, and the first does not notice', async () => {
    await using first = await startAsProcess(folders[0])
    await using second = spawnService(folders[0])
    const { code, stdout, stderr } = await second.ended()
    assert.equal(code, 1)
    assert.equal(stdout, '')
    assert.match(stderr, new RegExp(`${folders[0]}.*${first.program.pid}|${first.program.pid}.*${folders[0]}`, 's'))
    assert.doesNotMatch(stderr, /\n +at /)
    const answer = await first.http.must('GET', '/api/organizations?limit=0', { token: first.adminSession })
    assert.equal(answer['totalCount'], '1')
  })
})

describe('an instance', () => {
  it('ends in order on SIGTERM, tells its clients so, and goes on where it was at the next start', async () => {
    await using first = await startAsProcess(folders[0])
    const administration = new Administration(first)
    const organizationId = await administration.organization('made-before-the-end')
    const token = await administration.brokerToken(first.adminSession, organizationId)
    using client = await WireClient.open(first, 5)
    await client.connect({ username: token, password: 'default' })
    first.program.signal('SIGTERM')
    const [disconnect] = await client.rest()
    assert.ok(disconnect?.cmd === 'disconnect' && disconnect.reasonCode === 0x8b)
    assert.equal((await first.program.ended()).code, 0)

    await using second = await startAsProcess(folders[0])
    assert.equal(second.ca, first.ca)
    using again = await WireClient.open(second, 5)
    assert.equal(await again.connect({ username: token, password: 'default' }), 0)
  })

  it('starts after a kill -9, with what it had acknowledged', async () => {
    await using first = await startAsProcess(folders[0])
    const id = await new Administration(first).organization('made-before-the-kill')
    first.program.signal('SIGKILL')
    await first.program.ended()
    await using second = await startAsProcess(folders[0])
    await second.http.must('GET', `/api/organizations/${id}`, { token: second.adminSession })
  })

  it('names every wrong setting at once, with its reason, and exits with 2', async () => {
    await using program = spawnService(folders[1], { FIELDGATE_HTTPS_PORT: 'http', FIELDGATE_SESSION_TTL_SECONDS: '1' })
    const { code, stderr } = await program.ended()
    assert.equal(code, 2)
    assert.match(stderr, /FIELDGATE_HTTPS_PORT="http": must be an integer/)
    assert.match(stderr, /FIELDGATE_SESSION_TTL_SECONDS="1": must/)
  })

  it('says which port is taken and which setting chooses another', async () => {
    await using first = await startAsProcess(folders[0])
    await using program = spawnService(folders[1], { FIELDGATE_MQTTS_PORT: String(first.mqttsPort) })
    const { code, stderr } = await program.ended()
    assert.equal(code, 1)
    assert.match(stderr, new RegExp(`Port ${first.mqttsPort} is in use.*FIELDGATE_MQTTS_PORT`))
  })
})
