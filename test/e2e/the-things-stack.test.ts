/**
 * The Things Stack with its HTTP API and its webhooks: the command's id goes there and comes back
 * with each fate.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { after, before, beforeEach, describe, it } from 'node:test'
import { Administration } from '../support/administration.ts'
import { within } from '../support/bounded-wait.ts'
import { startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'

/** A downlink that The Things Stack was asked to queue. */
interface Pushed {
  readonly correlation_ids: readonly string[]
  readonly f_port: number
  readonly frm_payload: string
  readonly confirmed: boolean
}

/**
 * Takes pushed downlinks one after the other, and answers 200 unless a test sets another answer.
 */
class TheThingsStack {
  answer: (pushed: Pushed, response: ServerResponse) => Promise<void> = async (_pushed, response) => {
    response.writeHead(200).end('{}')
  }
  readonly #server: Server
  readonly #pushed: Pushed[] = []
  #wake: () => void = () => {}

  constructor() {
    this.#server = createServer((request, response) => void this.#take(request, response))
  }

  async start(): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  stop(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }

  async next(): Promise<Pushed> {
    for (;;) {
      const pushed = this.#pushed.shift()
      if (pushed !== undefined) return pushed
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      await within(promise, 'a downlink')
    }
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { downlinks } = (await json(request)) as { readonly downlinks: readonly Pushed[] }
    for (const pushed of downlinks) {
      await this.answer(pushed, response)
      this.#pushed.push(pushed)
    }
    this.#wake()
  }
}

const theThingsStack = new TheThingsStack()
let folder: string
let service: RunningService
let administration: Administration
let applicationId: string
let authorization: string
let devEui: string

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fieldgate-the-things-stack-'))
  const url = await theThingsStack.start()
  const ids = { organizationId: '1', applicationId: 'my-app', webhookId: 'fieldgate' }
  const networkServers = [{ name: 'things', kind: 'the-things-stack', url, apiKey: 'key', ...ids }]
  const file = join(folder, 'network-servers.json')
  await writeFile(file, JSON.stringify({ networkServers }))
  service = await startInProcess({ environment: { FIELDGATE_NETWORK_SERVERS_FILE: file } })
  administration = new Administration(service)
  const organizationId = await administration.organization()
  applicationId = await administration.application(organizationId)
  const { userName, password } = await administration.serviceCredential(organizationId)
  authorization = `Basic ${Buffer.from(`${userName}:${password}`).toString('base64')}`
})

beforeEach(async () => {
  devEui = await administration.device(applicationId)
})

after(async () => {
  await service.stop()
  theThingsStack.stop()
  await rm(folder, { recursive: true })
})

/** Sends a command. Returns the downlink that was pushed for it. */
async function push(id: string, confirmed = true): Promise<Pushed> {
  const deviceQueueItem = { confirmed, fPort: 10, data: 'AQID', id }
  await administration.must('POST', `/api/devices/${devEui}/queue`, { deviceQueueItem })
  return theThingsStack.next()
}

/**
 * Posts a webhook about a downlink, as The Things Stack does: its own correlation ids stand before
 * those of the downlink.
 */
async function tell(member: string, pushed: Partial<Pushed>, fields: object = {}): Promise<void> {
  const { correlation_ids: sent = [], ...downlink } = pushed
  const correlationIds = ['as:downlink:01HQ', ...sent]
  const message = { ...downlink, ...fields, correlation_ids: correlationIds }
  await post(member, member === 'downlink_failed' ? { downlink: message, ...fields } : message, correlationIds)
}

async function post(member: string, message: object, correlationIds: readonly string[]): Promise<void> {
  const ids = { device_id: `eui-${devEui}`, dev_eui: devEui.toUpperCase() }
  const body = { end_device_ids: ids, correlation_ids: correlationIds, [member]: message }
  const path = '/api/network-servers/the-things-stack/events'
  assert.equal((await service.http.ask('POST', path, { headers: { authorization }, json: body })).status, 200)
}

async function fates(): Promise<Readonly<Record<string, unknown>>> {
  const { deviceQueueItems } = await administration.must('GET', `/api/devices/${devEui}/queue`)
  const items = deviceQueueItems as { id: string; state: string; fCnt: number | null; error: string }[]
  return Object.fromEntries(items.map(({ id, state, fCnt, error }) => [id, [state, fCnt, error]]))
}

describe('a command by way of The Things Stack', { timeout: 90_000 }, () => {
  it('carries its id there, and each is told its own fate by it, in whatever order they come', async () => {
    const ids = ['heard', 'unheard', 'transmitted', 'discarded', 'late', 'too long', 'untold'].map((id) =>
      id.replace(' ', '-'),
    )
    const pushed = new Map<string, Pushed>()
    for (const id of ids) pushed.set(id, await push(id, id !== 'transmitted'))
    const of = (id: string): Pushed => pushed.get(id) as Pushed
    for (const { correlation_ids: own } of pushed.values()) assert.match(own.join(' '), /^fieldgate:[0-9a-f-]{36}$/)
    await tell('downlink_failed', of('too-long'), {
      error: { name: 'application_downlink_too_long', message_format: 'payload is too long' },
    })
    await tell('downlink_failed', of('late'), {
      error: { name: 'downlink_expired', message_format: 'queued downlink is expired' },
    })
    await tell('downlink_failed', of('discarded'), { error: { name: 'no_path', message_format: 'no downlink path' } })
    await tell('downlink_sent', of('transmitted'), { f_cnt: 9 })
    await tell('downlink_nack', of('unheard'), { f_cnt: 8 })
    await tell('downlink_ack', of('heard'), { f_cnt: 7 })
    const discarded = 'the network server has discarded it: '
    assert.deepEqual(await fates(), {
      heard: ['acknowledged', 7, ''],
      unheard: ['not_acknowledged', 8, ''],
      transmitted: ['sent', 9, ''],
      discarded: ['failed', null, `${discarded}no downlink path`],
      late: ['expired', null, `${discarded}queued downlink is expired`],
      'too-long': ['failed', null, `${discarded}payload is too long`],
      untold: ['sent', null, ''],
    })
  })

  it('is not moved by the fates of downlinks that others have queued', async () => {
    await push('own')
    await tell('downlink_queued', {})
    await tell('downlink_sent', { correlation_ids: ['as:downlink:of-another'] }, { f_cnt: 3 })
    await tell('downlink_ack', { correlation_ids: ['fieldgate:'] }, { f_cnt: 3 })
    await tell('downlink_failed', {}, { error: { name: 'no_path' } })
    assert.deepEqual(await fates(), { own: ['sent', null, ''] })
  })

  it('is not pushed again where the answer to the push was lost, and the webhook says that it is queued', async () => {
    const { answer } = theThingsStack
    theThingsStack.answer = async (pushed, response) => {
      await tell('downlink_queued', pushed)
      response.destroy()
      theThingsStack.answer = answer
    }
    const first = await push('first')
    assert.deepEqual(await fates(), { first: ['sent', null, ''] })
    const second = await push('second')
    assert.notDeepEqual(second.correlation_ids, first.correlation_ids)
    await tell('downlink_ack', first, { f_cnt: 1 })
    assert.deepEqual(await fates(), { first: ['acknowledged', 1, ''], second: ['sent', null, ''] })
  })
})
