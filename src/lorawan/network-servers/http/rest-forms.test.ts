import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Downlink } from '../../commands/network-server.ts'
import { chirpStackForm, theThingsStackForm } from './rest-forms.ts'

const DOWNLINK: Downlink = {
  id: 'a0b1c2d3-0000-4000-8000-000000000001',
  applicationId: '5',
  devEui: '0102030405060708',
  confirmed: false,
  fPort: 10,
  data: undefined,
  object: { valve: 'open' },
  expiresAtMs: undefined,
}

describe('a downlink with an object', () => {
  it('goes to ChirpStack v3 as JSON within a text, and to v4 as an object', async () => {
    const v3 = await chirpStackForm('v3').enqueue(DOWNLINK)
    const common = { confirmed: false, fPort: 10 }
    const item = { devEUI: DOWNLINK.devEui, ...common, jsonObject: '{"valve":"open"}' }
    assert.deepEqual(v3.body, { deviceQueueItem: item })
    const v4 = await chirpStackForm('v4').enqueue(DOWNLINK)
    assert.deepEqual(v4.body, { queueItem: { id: DOWNLINK.id, ...common, object: { valve: 'open' } } })
  })

  it('goes to The Things Stack for its payload formatter, without bytes', async () => {
    const form = theThingsStackForm({ applicationId: 'app1', webhookId: 'hook', deviceIdOf: () => 'dev1' })
    const { body } = await form.enqueue(DOWNLINK)
    const [downlink] = (body as { readonly downlinks: readonly Record<string, unknown>[] }).downlinks
    assert.deepEqual([downlink?.['decoded_payload'], downlink?.['frm_payload']], [{ valve: 'open' }, undefined])
    const bytes = await form.enqueue({ ...DOWNLINK, data: Buffer.of(1, 2, 3), object: undefined })
    const [plain] = (bytes.body as { readonly downlinks: readonly Record<string, unknown>[] }).downlinks
    assert.deepEqual([plain?.['decoded_payload'], plain?.['frm_payload']], [undefined, 'AQID'])
  })
})
