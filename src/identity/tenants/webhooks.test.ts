import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addApplication, addOrganization, nobody, openTestRegistry, reasonOf, valueOf } from '../registry.testing.ts'
import { headersFault, urlFault } from '../../webhook-settings.ts'
import type { WebhookSettings } from '../../webhook-settings.ts'

const SETTINGS: WebhookSettings = {
  name: 'Billing',
  url: 'https://billing.example.org/events',
  concurrency: 4,
  timeoutSeconds: 10,
  giveUpSeconds: 86_400,
  onRefused: 'pause',
  acceptsCommands: false,
}

test('a webhook is created with a secret that is told once, and belongs to its organization alone', async () => {
  await using opened = await openTestRegistry()
  const { registry, clock } = opened
  const acme = await addOrganization(registry, 'acme')
  const zenith = await addOrganization(registry, 'zenith')
  const told: string[] = []
  registry.changes.subscribe((change) => told.push(change.kind))
  const { id, secret } = valueOf(
    await registry.webhooks.create(acme, { settings: SETTINGS, headers: { 'X-Key': 'a b' } }, nobody),
  )
  assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
  const found = await registry.webhooks.get(acme, id)
  assert.deepEqual(found?.headers, { 'x-key': 'a b' })
  assert.equal(found?.startMs, clock.now())
  assert.equal(found?.pause, undefined)
  assert.equal(await registry.webhooks.get(zenith, id), undefined)
  assert.equal((await registry.webhooks.list(zenith, { limit: 10, offset: 0 })).totalCount, 0)
  for (const outcome of [
    await registry.webhooks.update(zenith, id, { settings: SETTINGS }, nobody),
    await registry.webhooks.remove(zenith, id, nobody),
    await registry.webhooks.rotateSecret(zenith, id, 60, nobody),
    await registry.webhooks.pause(zenith, id, { code: 'webhook_failing', reason: 'x' }, nobody),
    await registry.webhooks.resume(zenith, id, undefined, nobody),
  ]) {
    assert.equal(reasonOf(outcome), 'webhook_not_found')
  }
  assert.deepEqual(told, ['webhook_changed'])
})

test('the secret that was replaced goes on signing for the overlap alone', async () => {
  await using opened = await openTestRegistry()
  const { registry, clock } = opened
  const acme = await addOrganization(registry, 'acme')
  const { id, secret } = valueOf(await registry.webhooks.create(acme, { settings: SETTINGS }, nobody))
  const next = valueOf(await registry.webhooks.rotateSecret(acme, id, 3_600, nobody))
  assert.deepEqual((await registry.webhooks.get(acme, id))?.secrets, [
    { secret: next.secret },
    { secret, retiresAtMs: clock.now() + 3_600_000 },
  ])
  const last = valueOf(await registry.webhooks.rotateSecret(acme, id, 0, nobody))
  assert.deepEqual((await registry.webhooks.get(acme, id))?.secrets, [{ secret: last.secret }])
})

test('a pause keeps its first reason, and a replay begins a new generation', async () => {
  await using opened = await openTestRegistry()
  const { registry, clock } = opened
  const acme = await addOrganization(registry, 'acme')
  const { id } = valueOf(await registry.webhooks.create(acme, { settings: SETTINGS }, nobody))
  valueOf(await registry.webhooks.pause(acme, id, { code: 'webhook_gone', reason: 'answered 410' }, nobody))
  valueOf(await registry.webhooks.pause(acme, id, { code: 'webhook_failing', reason: 'later' }, nobody))
  assert.equal((await registry.webhooks.get(acme, id))?.pause?.code, 'webhook_gone')
  valueOf(await registry.webhooks.resume(acme, id, undefined, nobody))
  assert.equal((await registry.webhooks.get(acme, id))?.generation, 0)
  const fromMs = clock.now() - 60_000
  valueOf(await registry.webhooks.resume(acme, id, fromMs, nobody))
  const replayed = await registry.webhooks.get(acme, id)
  assert.deepEqual([replayed?.generation, replayed?.startMs, replayed?.pause], [1, fromMs, undefined])
  const { items } = await registry.audit.list({ userId: '1', isAdmin: true }, { limit: 10, offset: 0 })
  assert.deepEqual(items.map(({ action }) => action).slice(0, 3), [
    'webhook.resumed',
    'webhook.resumed',
    'webhook.paused',
  ])
})

test('an organization has a bound of webhooks and of their requests, and only its own applications', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  const acme = await addOrganization(registry, 'acme')
  const zenith = await addOrganization(registry, 'zenith')
  const own = await addApplication(registry, acme, 'meters')
  const foreign = await addApplication(registry, zenith, 'barns')
  const create = (fields: Partial<WebhookSettings>) =>
    registry.webhooks.create(acme, { settings: { ...SETTINGS, ...fields } }, nobody)
  assert.equal(reasonOf(await create({ applicationIds: [own] })), 'ok')
  assert.equal(reasonOf(await create({ applicationIds: [own, foreign] })), 'application_not_found')
  assert.equal(reasonOf(await create({ applicationIds: ['987654'] })), 'application_not_found')
  for (let made = 0; made < 4; made += 1) assert.equal(reasonOf(await create({ concurrency: 16 })), 'ok')
  assert.equal(reasonOf(await create({ concurrency: 13 })), 'too_many_webhook_requests')
  const other = { settings: { ...SETTINGS, concurrency: 1 } }
  for (let made = 0; made < 20; made += 1)
    assert.equal(reasonOf(await registry.webhooks.create(zenith, other, nobody)), 'ok')
  assert.equal(reasonOf(await registry.webhooks.create(zenith, other, nobody)), 'too_many_webhooks')
})

test('an organization that is removed takes its webhooks along', async () => {
  await using opened = await openTestRegistry()
  const { registry } = opened
  const acme = await addOrganization(registry, 'acme')
  const { id } = valueOf(await registry.webhooks.create(acme, { settings: SETTINGS }, nobody))
  const told: string[] = []
  registry.changes.subscribe((change) => {
    if (change.kind === 'webhook_changed') told.push(change.webhookId)
  })
  valueOf(await registry.organizations.remove(acme, nobody))
  assert.equal(await registry.webhooks.find(id), undefined)
  assert.deepEqual(told, [id])
})

test('addresses that carry a secret, and header fields of the service, are refused', () => {
  for (const url of [
    'ftp://example.org/',
    'https://user:secret@example.org/',
    'https://example.org/#part',
    'https://',
    'https://exa mple.org/',
    'javascript:alert(1)',
    `https://example.org/${'a'.repeat(2_048)}`,
  ]) {
    assert.match(urlFault(url) ?? '', /^url: must /, url)
  }
  assert.equal(urlFault('http://[2001:db8::1]:8080/hook?a=b'), undefined)
  for (const headers of [
    { Host: 'x' },
    { 'Webhook-Id': 'x' },
    { 'content-length': '1' },
    { 'transfer-encoding': 'chunked' },
    { 'x-key': 'a\r\nhost: b' },
    { 'x-key': '' },
    { 'x key': 'a' },
    { 'x-key': 'a', 'X-KEY': 'b' },
    Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`x-${index}`, 'a'])),
  ]) {
    assert.match(headersFault(headers) ?? '', /^headers: must /)
  }
  assert.equal(headersFault({ Authorization: 'Bearer abc' }), undefined)
})
