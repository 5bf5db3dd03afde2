import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bodyOf, draftOf } from './webhook-draft.ts'
import type { Webhook } from './webhook.ts'

const WEBHOOK = {
  id: 'a',
  name: 'billing',
  url: 'https://billing.example.org/',
  eventKinds: ['up'],
  tags: { site: 'north' },
  headerNames: ['authorization'],
  concurrency: 7,
  timeoutSeconds: 10,
  giveUpSeconds: 60,
  onRefused: 'pause',
  acceptsCommands: false,
  pausedAt: null,
  pauseCode: '',
  pauseReason: '',
  secretsInForce: 1,
  createdAt: '2026-01-01T00:00:00.000Z',
  updatedAt: '2026-01-01T00:00:00.000Z',
} as const satisfies Webhook & Record<string, unknown>

function sent(body: object): unknown {
  return JSON.parse(JSON.stringify(body))
}

test('a change keeps what the form does not show, and sends nothing that is no setting', () => {
  const draft = { ...draftOf(WEBHOOK), eventKinds: [], skips: true }
  assert.deepEqual(sent(bodyOf(draft, WEBHOOK)), {
    webhook: {
      name: 'billing',
      url: 'https://billing.example.org/',
      tags: { site: 'north' },
      concurrency: 7,
      timeoutSeconds: 10,
      giveUpSeconds: 60,
      onRefused: 'skip',
      acceptsCommands: false,
    },
  })
})

test('a new webhook has the header fields and the batch of the form', () => {
  const draft = { ...draftOf(undefined), name: ' a ', url: 'https://a/', isBatch: true, acceptsCommands: true }
  const headers = [{ key: '1', name: 'x-key', value: 'b' }]
  assert.deepEqual(sent(bodyOf({ ...draft, headers }, undefined)), {
    webhook: {
      name: 'a',
      url: 'https://a/',
      headers: { 'x-key': 'b' },
      batch: { maximumEvents: 100, maximumBytes: 262_144, waitMs: 1_000 },
      onRefused: 'pause',
      acceptsCommands: false,
    },
  })
})
