import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openTestDeployment } from '../broker-access/deployment.testing.ts'
import type { TestDeployment } from '../broker-access/deployment.testing.ts'

let deployment: TestDeployment

before(async () => {
  deployment = await openTestDeployment()
})

after(async () => {
  await deployment.close()
})

async function issue(body: object): Promise<{ status: number; id: string; ttlSeconds: number }> {
  const answer = await deployment.ask(await deployment.session('organizationAdmin'), {
    method: 'POST',
    url: '/api/mosquitto-auth/login',
    payload: { organizationId: deployment.organizationId, ...body },
  })
  const [, payload = ''] = answer.json<{ jwtMqttAuth?: string }>().jwtMqttAuth?.split('.') ?? []
  const claims = payload === '' ? {} : (JSON.parse(atob(payload)) as { jti?: string; iat?: number; exp?: number })
  const { jti = '', iat = 0, exp = 0 } = claims
  return { status: answer.statusCode, id: jti, ttlSeconds: exp - iat }
}

interface Entry {
  readonly action: string
  readonly subject: string
  readonly actorUserID: string
  readonly actorName: string
}

async function audit(query: string): Promise<readonly Entry[]> {
  const url = `/api/audit-log?limit=999&organizationID=${deployment.organizationId}${query}`
  const answer = await deployment.ask(await deployment.session('organizationAdmin'), { method: 'GET', url })
  assert.equal(answer.statusCode, 200)
  return answer.json<{ result: Entry[] }>().result
}

function actionsAbout(entries: readonly Entry[], id: string): readonly string[] {
  return entries.filter(({ subject }) => subject === id).map(({ action }) => action)
}

test('a reader of the audit can leave the tokens of the console’s pages out, given back or not', async () => {
  const own = await issue({ ttlInSeconds: '60' })
  const consoles = await issue({ ttlInSeconds: '3600', isOfConsole: true })
  for (const { id } of [own, consoles]) {
    const revoked = await deployment.ask(await deployment.session('organizationAdmin'), {
      method: 'DELETE',
      url: `/api/broker-tokens/${id}`,
    })
    assert.equal(revoked.statusCode, 200)
  }
  const all = await audit('')
  assert.deepEqual(actionsAbout(all, consoles.id), ['token.revoked', 'token.issued'])
  const without = await audit('&consoleTokens=false')
  assert.deepEqual(actionsAbout(without, consoles.id), [])
  assert.deepEqual(actionsAbout(without, own.id), ['token.revoked', 'token.issued'])
  assert.deepEqual(await audit('&consoleTokens=true'), all)
})

test('a token that lasts can’t be taken as one of the console', async () => {
  assert.equal((await issue({ ttlInSeconds: '3601', isOfConsole: true })).status, 400)
  assert.equal((await issue({ isOfConsole: true })).ttlSeconds, 3600)
})

test('the audit names who acted, a global admin that is no member too', async () => {
  const { userIds, organizationId } = deployment
  const changed = await deployment.ask(await deployment.session('globalAdmin'), {
    method: 'POST',
    url: '/api/applications',
    payload: { application: { name: 'of the global admin', organizationID: organizationId } },
  })
  assert.equal(changed.statusCode, 200)
  const [entry] = await audit('&search=application.created')
  const user = await deployment.registry.users.get(userIds.globalAdmin)
  assert.deepEqual([entry?.actorUserID, entry?.actorName], [userIds.globalAdmin, user?.email])
})
