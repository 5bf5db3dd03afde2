import assert from 'node:assert/strict'
import { createPublicKey, randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { exportSPKI, generateKeyPair, importJWK, SignJWT } from 'jose'
import type { CryptoKey } from 'jose'
import type { Change } from '../store/changes.ts'
import type { Registry } from '../registry.ts'
import {
  addMember,
  addOrganization,
  addUser,
  nobody,
  openTestRegistry,
  reasonOf,
  testStartMs,
  valueOf,
} from '../registry.testing.ts'
import type { TestClock } from '../registry.testing.ts'
import type { Result } from '../store/result.ts'
import type { BrokerAccessClaims } from './tokens.ts'

interface Bench extends AsyncDisposable {
  readonly registry: Registry
  readonly clock: TestClock
  readonly userId: string
  readonly organizationId: string
  readonly session: string
  readonly step: string
  readonly broker: string
}

async function openBench(): Promise<Bench> {
  const opened = await openTestRegistry()
  const { registry } = opened
  const userId = await addUser(registry, 'ada')
  const organizationId = await addOrganization(registry, 'acme')
  await addMember(registry, organizationId, userId)
  return {
    ...opened,
    userId,
    organizationId,
    session: await registry.tokens.issueSession({ id: userId }),
    step: await registry.tokens.issueSecondFactorStep({ id: userId }),
    broker: valueOf(await registry.tokens.issueBrokerAccess({ userId, organizationId, ttlSeconds: 3600 })).jwt,
  }
}

function partsOf(jwt: string): readonly [string, string, string] {
  const [header = '', payload = '', signature = ''] = jwt.split('.')
  return [header, payload, signature]
}

function decode(part: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>
}

/** The same bytes in base64url, with bits set that its last character has to spare. */
function respelled(jwt: string): string {
  const [header, payload, signature] = partsOf(jwt)
  const other = signature.slice(0, -1) + String.fromCodePoint((signature.codePointAt(signature.length - 1) ?? 0) + 1)
  assert.deepEqual(Buffer.from(signature, 'base64url'), Buffer.from(other, 'base64url'))
  return `${header}.${payload}.${other}`
}

function encode(value: unknown): string {
  return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
}

test('each kind of token is good for what it is meant for, and for nothing else', async () => {
  await using bench = await openBench()
  const { tokens } = bench.registry
  const verifiers: Record<string, (jwt: string) => Promise<Result<unknown>>> = {
    session: (jwt) => tokens.verifySession(jwt),
    step: (jwt) => tokens.verifySecondFactorStep(jwt),
    broker: (jwt) => tokens.verifyBrokerAccess(jwt),
  }
  // Twice, because the second verification is answered from memory.
  for (const _ of [1, 2]) {
    for (const kind of ['session', 'step', 'broker'] as const) {
      for (const [wanted, verify] of Object.entries(verifiers)) {
        assert.equal(
          reasonOf(await verify(bench[kind])),
          wanted === kind ? 'ok' : 'token_wrong_audience',
          `${kind} as ${wanted}`,
        )
      }
    }
  }
  const claims = valueOf(await tokens.verifyBrokerAccess(bench.broker))
  const { userId, organizationId } = bench
  assert.deepEqual(
    { ...claims, tokenId: '' },
    { userId, organizationId, tokenId: '', issuedAtMs: testStartMs, expiresAtMs: testStartMs + 3_600_000 },
  )
  const session = valueOf(await tokens.verifySession(bench.session))
  assert.deepEqual(
    { ...session, tokenId: '' },
    { userId, tokenId: '', isAdmin: false, isOperator: false, expiresAtMs: testStartMs + 86_400_000 },
  )
})

test('a token is good until its last millisecond and not a second longer', async () => {
  await using bench = await openBench()
  const { tokens } = bench.registry
  bench.clock.advance(599_999)
  assert.equal(reasonOf(await tokens.verifySecondFactorStep(bench.step)), 'ok')
  bench.clock.advance(1)
  assert.equal(reasonOf(await tokens.verifySecondFactorStep(bench.step)), 'token_expired')
  bench.clock.advance(3_000_000)
  assert.equal(reasonOf(await tokens.verifyBrokerAccess(bench.broker)), 'token_expired')
  bench.clock.advance(86_400_000)
  assert.equal(reasonOf(await tokens.verifySession(bench.session)), 'token_expired')
})

test('forged tokens are refused', async () => {
  await using bench = await openBench()
  const { registry } = bench
  const [header, payload, signature] = partsOf(bench.broker)
  const { kid, typ } = decode(header)
  const claims = decode(payload)
  const [jwk] = registry.signingKeys.jwks().keys
  assert.ok(jwk)
  const publicKey = (await importJWK(jwk, 'ES256')) as CryptoKey
  const stranger = await generateKeyPair('ES256')
  const sign = (protectedHeader: object, key: CryptoKey | Uint8Array): Promise<string> =>
    new SignJWT(claims).setProtectedHeader({ alg: 'ES256', ...protectedHeader }).sign(key)
  const spki = Buffer.from(await exportSPKI(publicKey))
  const raw = createPublicKey({ key: jwk, format: 'jwk' }).export({
    type: 'spki',
    format: 'der',
  })

  const forgeries: Record<string, readonly [string, string]> = {
    'no algorithm': [`${encode({ alg: 'none', typ, kid })}.${payload}.`, 'token_signature_invalid'],
    'no algorithm, in capitals': [
      `${encode({ alg: 'NONE', typ, kid })}.${payload}.${signature}`,
      'token_signature_invalid',
    ],
    'the public key as a secret': [await sign({ alg: 'HS256', typ, kid }, spki), 'token_signature_invalid'],
    'the public key as a secret, in DER': [await sign({ alg: 'HS256', typ, kid }, raw), 'token_signature_invalid'],
    'a key of its own': [await sign({ typ, kid }, stranger.privateKey), 'token_signature_invalid'],
    'a foreign kid': [await sign({ typ, kid: 'foreign' }, stranger.privateKey), 'token_signature_invalid'],
    'a hostile kid': [
      await sign({ typ, kid: "../../dev/null' or 1=1" }, stranger.privateKey),
      'token_signature_invalid',
    ],
    'a kid from the prototype': [await sign({ typ, kid: '__proto__' }, stranger.privateKey), 'token_signature_invalid'],
    'no kid': [await sign({ typ }, stranger.privateKey), 'token_malformed'],
    'a kid that is no text': [
      `${encode({ alg: 'ES256', typ, kid: { kid } })}.${payload}.${signature}`,
      'token_malformed',
    ],
    'a key in the header': [`${encode({ alg: 'ES256', typ, kid, jwk })}.${payload}.${signature}`, 'token_malformed'],
    'a key by address': [
      `${encode({ alg: 'ES256', typ, kid, jku: 'https://127.0.0.1/' })}.${payload}.${signature}`,
      'token_malformed',
    ],
    'critical parameters': [
      `${encode({ alg: 'ES256', typ, kid, crit: ['exp'] })}.${payload}.${signature}`,
      'token_malformed',
    ],
    'algorithms twice': [
      `${encode(`{"alg":"ES256","alg":"none","typ":"${String(typ)}","kid":"${String(kid)}"}`)}.${payload}.${signature}`,
      'token_signature_invalid',
    ],
    'claims twice': [
      `${header}.${encode(`${JSON.stringify(claims).slice(0, -1)},"sub":"1"}`)}.${signature}`,
      'token_signature_invalid',
    ],
    'another user': [`${header}.${encode({ ...claims, sub: '1000' })}.${signature}`, 'token_signature_invalid'],
    'a later end': [`${header}.${encode({ ...claims, exp: 9_999_999_999 })}.${signature}`, 'token_signature_invalid'],
    'a zero signature': [`${header}.${payload}.${encode('\0'.repeat(64))}`, 'token_signature_invalid'],
    'a short signature': [`${header}.${payload}.AAAA`, 'token_signature_invalid'],
    'another spelling of the signature': [respelled(bench.broker), 'token_signature_invalid'],
    'a DER signature': [`${header}.${payload}.${encode('0'.repeat(70))}`, 'token_signature_invalid'],
    'no signature': [`${header}.${payload}.`, 'token_signature_invalid'],
    'two parts': [`${header}.${payload}`, 'token_malformed'],
    'four parts': [`${bench.broker}.${signature}`, 'token_malformed'],
    'another character': [`${bench.broker}\n`, 'token_malformed'],
    'a scheme in front': [`Bearer ${bench.broker}`, 'token_malformed'],
    'ten kilobytes': [`${header}.${encode({ ...claims, pad: 'x'.repeat(10_000) })}.${signature}`, 'token_malformed'],
    'ten megabytes': ['e'.repeat(10_000_000), 'token_malformed'],
    nothing: ['', 'token_malformed'],
    dots: ['..', 'token_malformed'],
    'no JSON': [`${encode('{')}.${payload}.${signature}`, 'token_malformed'],
    'a header of null': [`${encode('null')}.${payload}.${signature}`, 'token_malformed'],
  }
  for (const [title, [jwt, reason]] of Object.entries(forgeries)) {
    assert.equal(reasonOf(await registry.tokens.verifyBrokerAccess(jwt)), reason, title)
    assert.equal((await registry.tokens.verifySession(jwt)).ok, false, title)
  }
  assert.equal(reasonOf(await registry.tokens.verifyBrokerAccess(undefined as unknown as string)), 'token_malformed')
  assert.equal(reasonOf(await registry.tokens.verifyBrokerAccess(bench.broker)), 'ok')
})

test('a token of another deployment is refused, even if it were signed with the same key', async () => {
  await using bench = await openBench()
  await using other = await openTestRegistry({ issuer: 'elsewhere' })
  const userId = await addUser(other.registry, 'ada')
  const foreign = await other.registry.tokens.issueSession({ id: userId })
  assert.equal(reasonOf(await bench.registry.tokens.verifySession(foreign)), 'token_signature_invalid')
})

test('revocation, removal and deactivation void tokens at once, remembered or not', async () => {
  await using bench = await openBench()
  const { registry, userId, organizationId, broker } = bench
  const { tokens } = registry
  const another = async (): Promise<{ readonly jwt: string; readonly tokenId: string }> =>
    valueOf(await tokens.issueBrokerAccess({ userId, organizationId, ttlSeconds: 3600 }))
  const doomed = await another()
  valueOf(await tokens.verifyBrokerAccess(doomed.jwt))
  const heard: Change[] = []
  registry.changes.subscribe((change) => heard.push(change))
  valueOf(await tokens.revokeBrokerAccess(doomed.tokenId, nobody))
  assert.deepEqual(heard, [{ kind: 'token_revoked', tokenId: doomed.tokenId }])
  assert.equal(reasonOf(await tokens.verifyBrokerAccess(doomed.jwt)), 'token_revoked')
  assert.equal(reasonOf(await tokens.revokeBrokerAccess(doomed.tokenId, nobody)), 'token_not_found')
  assert.equal(reasonOf(await tokens.verifyBrokerAccess(broker)), 'ok')

  valueOf(await registry.users.update(userId, { isActive: false }, nobody))
  assert.equal(reasonOf(await tokens.verifyBrokerAccess(broker)), 'user_inactive')
  assert.equal(reasonOf(await tokens.verifySession(bench.session)), 'user_inactive')
  assert.equal(reasonOf(await tokens.issueBrokerAccess({ userId, organizationId, ttlSeconds: 1 })), 'user_inactive')
  valueOf(await registry.users.update(userId, { isActive: true }, nobody))
  assert.equal(reasonOf(await tokens.verifyBrokerAccess(broker)), 'ok')

  valueOf(await registry.organizations.remove(organizationId, nobody))
  assert.equal(reasonOf(await tokens.verifyBrokerAccess(broker)), 'not_a_member')
  valueOf(await registry.users.remove(userId, nobody))
  assert.equal(reasonOf(await tokens.verifyBrokerAccess(broker)), 'user_inactive')
  assert.equal(reasonOf(await tokens.verifySession(bench.session)), 'user_inactive')
})

test('a token that is missing because an older backup was restored hears so, and not only that it was revoked', async () => {
  await using bench = await openBench()
  const { registry, userId, organizationId } = bench
  const { jwt, tokenId } = valueOf(
    await registry.tokens.issueBrokerAccess({ userId, organizationId, ttlSeconds: 3600 }),
  )
  // A registry that is older than the token has its user, its organization and its key, and no row
  // of the token: as after a revocation.
  valueOf(await registry.tokens.revokeBrokerAccess(tokenId, nobody))
  const refused = await registry.tokens.verifyBrokerAccess(jwt)
  assert.ok(!refused.ok)
  assert.match(refused.message, /it was revoked, or an older backup of the service was restored$/)
})

test('what was verified is judged again without its text: by its end, its token, its user and its organization', async () => {
  await using bench = await openBench()
  const { registry, userId, organizationId } = bench
  const { tokens } = registry
  const claimsOf = async (jwt: string): Promise<BrokerAccessClaims> => valueOf(await tokens.verifyBrokerAccess(jwt))
  const claims = await claimsOf(bench.broker)
  const recheck = async (again: BrokerAccessClaims): Promise<string> =>
    reasonOf(await tokens.recheckBrokerAccess(again))
  assert.equal(await recheck(claims), 'ok')
  const other = valueOf(await tokens.issueBrokerAccess({ userId, organizationId, ttlSeconds: 3600 }))
  const revoked = await claimsOf(other.jwt)
  valueOf(await tokens.revokeBrokerAccess(other.tokenId, nobody))
  assert.equal(await recheck(revoked), 'token_revoked')
  valueOf(await registry.members.remove(organizationId, userId, nobody))
  assert.equal(await recheck(claims), 'not_a_member')
  // A member that comes back does not find its earlier tokens.
  await addMember(registry, organizationId, userId)
  assert.equal(await recheck(claims), 'token_revoked')
  valueOf(await registry.users.update(userId, { isActive: false }, nobody))
  assert.equal(await recheck(claims), 'user_inactive')
  bench.clock.advance(3_600_000)
  assert.equal(await recheck(claims), 'token_expired')
})

test('a token for a revocation that is under way is not let in', async () => {
  await using bench = await openBench()
  const { tokenId } = valueOf(await bench.registry.tokens.verifyBrokerAccess(bench.broker))
  const revoking = bench.registry.tokens.revokeBrokerAccess(tokenId, nobody)
  valueOf(await revoking)
  const outcomes = await Promise.all(
    Array.from({ length: 10 }, () => bench.registry.tokens.verifyBrokerAccess(bench.broker)),
  )
  assert.deepEqual(new Set(outcomes.map(reasonOf)), new Set(['token_revoked']))
})

test('signing out everywhere, and a new password, void the sessions issued until then', async () => {
  await using bench = await openBench()
  const { registry, userId } = bench
  for (const end of [
    () => registry.tokens.signOutEverywhere(userId, nobody),
    () => registry.users.setPassword(userId, 'another horse', nobody),
  ]) {
    const before = await registry.tokens.issueSession({ id: userId })
    const step = await registry.tokens.issueSecondFactorStep({ id: userId })
    assert.equal(reasonOf(await registry.tokens.verifySession(before)), 'ok')
    valueOf(await end())
    const after = await registry.tokens.issueSession({ id: userId })
    assert.equal(reasonOf(await registry.tokens.verifySession(before)), 'token_revoked')
    assert.equal(reasonOf(await registry.tokens.verifySecondFactorStep(step)), 'token_revoked')
    assert.equal(reasonOf(await registry.tokens.verifySession(after)), 'ok')
  }
  assert.equal(reasonOf(await registry.tokens.signOutEverywhere('99', nobody)), 'user_not_found')
})

test('whether somebody is a global admin is told as it is now', async () => {
  await using bench = await openBench()
  const { registry, userId, session } = bench
  assert.equal(valueOf(await registry.tokens.verifySession(session)).isAdmin, false)
  valueOf(await registry.users.update(userId, { isAdmin: true }, nobody))
  assert.equal(valueOf(await registry.tokens.verifySession(session)).isAdmin, true)
})

test('a broker-access token is given to members and global admins, for a sound time', async () => {
  await using bench = await openBench()
  const { registry, userId, organizationId } = bench
  const { tokens } = registry
  const stranger = await addUser(registry, 'stranger')
  const admin = await addUser(registry, 'admin', { isAdmin: true })
  const reason = async (user: string, organization: string, ttlSeconds: number): Promise<string> =>
    reasonOf(await tokens.issueBrokerAccess({ userId: user, organizationId: organization, ttlSeconds }))
  assert.equal(await reason(stranger, organizationId, 60), 'not_a_member')
  assert.equal(await reason(admin, organizationId, 60), 'ok')
  assert.equal(await reason(admin, '99', 60), 'not_a_member')
  assert.equal(await reason('99', organizationId, 60), 'user_inactive')
  for (const ttlSeconds of [0, -1, 1.5, Number.NaN, Infinity, 315_360_001]) {
    assert.equal(await reason(userId, organizationId, ttlSeconds), 'invalid_ttl')
  }
  const { jwt } = valueOf(await tokens.issueBrokerAccess({ userId: admin, organizationId, ttlSeconds: 31_557_600 }))
  valueOf(await registry.users.update(userId, { isAdmin: true }, nobody))
  valueOf(await registry.users.update(admin, { isAdmin: false }, nobody))
  assert.equal(reasonOf(await tokens.verifyBrokerAccess(jwt)), 'not_a_member')
})

test('broker-access tokens are listed newest first with their last use, until they expire', async () => {
  await using bench = await openBench()
  const { registry, clock, userId, organizationId } = bench
  const { tokens } = registry
  clock.advance(1000)
  const { tokenId } = valueOf(await tokens.issueBrokerAccess({ userId, organizationId, ttlSeconds: 10 }))
  clock.advance(500)
  const { tokenId: usedId } = valueOf(await tokens.verifyBrokerAccess(bench.broker))
  const page = { limit: 10, offset: 0, organizationId, userId }
  const listed = await tokens.listBrokerAccess(page)
  assert.deepEqual(
    listed.items.map((item) => [item.tokenId, item.issuedAtMs - testStartMs, item.lastUsedAtMs]),
    [
      [tokenId, 1000, null],
      [usedId, 0, testStartMs + 1500],
    ],
  )
  assert.equal((await tokens.getBrokerAccess(tokenId))?.userId, userId)
  clock.advance(10_000)
  assert.equal((await tokens.listBrokerAccess(page)).totalCount, 1)
  assert.equal(await tokens.getBrokerAccess(tokenId), undefined)
  assert.equal(await tokens.getBrokerAccess(randomUUID()), undefined)
  assert.equal((await tokens.listBrokerAccess({ ...page, organizationId: '99' })).totalCount, 0)
})

test('no more than 100 keys are kept, and room comes back with the end of their tokens', async () => {
  await using bench = await openBench()
  const { registry, clock } = bench
  const { signingKeys } = registry
  for (let count = signingKeys.jwks().keys.length; count < 100; count += 1) valueOf(await signingKeys.rotate(nobody))
  const current = signingKeys.jwks().keys.at(-1)?.kid
  assert.equal(reasonOf(await signingKeys.rotate(nobody)), 'too_many_signing_keys')
  assert.equal(signingKeys.jwks().keys.length, 100)
  const session = await registry.tokens.issueSession({ id: bench.userId })
  assert.equal(decode(partsOf(session)[0])['kid'], current)
  // Clocks of processes that share a registry may differ by a minute.
  clock.advance(60_001)
  await registry.pruneExpired()
  // Keys that signed living tokens stay: the key of the bench's tokens, and the session's.
  assert.equal(signingKeys.jwks().keys.length, 2)
  valueOf(await signingKeys.rotate(nobody))
})

test('after a rotation older tokens stay good, and their key goes when the last of them has expired', async () => {
  await using bench = await openBench()
  const { registry, clock } = bench
  const { tokens, signingKeys } = registry
  const before = signingKeys.jwks().keys[0]?.kid
  const { kid } = valueOf(await signingKeys.rotate(nobody))
  const session = await tokens.issueSession({ id: bench.userId })
  assert.equal(decode(partsOf(session)[0])['kid'], kid)
  assert.equal(reasonOf(await tokens.verifySession(bench.session)), 'ok')
  await tokens.pruneExpired()
  assert.deepEqual(new Set(signingKeys.jwks().keys.map((key) => key.kid)), new Set([before, kid]))
  for (const key of signingKeys.jwks().keys) assert.equal('d' in key, false)
  clock.advance(3 * 86_400_000)
  await registry.pruneExpired()
  assert.deepEqual(
    signingKeys.jwks().keys.map((key) => key.kid),
    [kid],
  )
  assert.equal(reasonOf(await tokens.verifySession(bench.session)), 'token_signature_invalid')
})
