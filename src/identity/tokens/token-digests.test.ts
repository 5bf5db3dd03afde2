import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it, test } from 'node:test'
import type { TestContext } from 'node:test'
import { DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely'
import {
  addMember,
  addOrganization,
  addUser,
  createTestClock,
  nobody,
  openTestRegistry,
  reasonOf,
  testStartMs,
  valueOf,
} from '../registry.testing.ts'
import type { Schema } from '../store/schema.ts'
import { accessOf } from './standing.ts'
import type { AccessStanding } from './standing.ts'
import { createTokenDigests, digestOfToken } from './token-digests.ts'

/** A token of a registry in a file, and the same token with another signature. */
async function issue(context: TestContext) {
  const directory = mkdtempSync(join(tmpdir(), 'fieldgate-digests-'))
  context.after(() => rmSync(directory, { recursive: true }))
  const file = join(directory, 'registry.db')
  await using opened = await openTestRegistry({ file })
  const { registry } = opened
  const userId = await addUser(registry, 'ada')
  const organizationId = await addOrganization(registry, 'acme')
  await addMember(registry, organizationId, userId)
  const grant = { userId, organizationId, ttlSeconds: 3600 }
  const { jwt, tokenId } = valueOf(await registry.tokens.issueBrokerAccess(grant))
  const other = valueOf(await registry.tokens.issueBrokerAccess(grant)).jwt
  const unsigned = [...jwt.split('.').slice(0, 2), other.split('.')[2]].join('.')
  return { file, jwt, tokenId, unsigned, userId, organizationId }
}

/** How a registry that has seen none of the tokens yet takes them. */
async function verdicts(file: string, ...tokens: readonly string[]): Promise<readonly string[]> {
  await using opened = await openTestRegistry({ file })
  const verdictOf = async (jwt: string) => reasonOf(await opened.registry.tokens.verifyBrokerAccess(jwt))
  return Promise.all(tokens.map(verdictOf))
}

function change(file: string, statement: string, ...parameters: readonly (string | null)[]): void {
  const database = new DatabaseSync(file)
  database.prepare(statement).run(...parameters)
  database.close()
}

test('the text that was issued is recognized by its digest, and no other text is', async (context) => {
  const { file, jwt, tokenId, unsigned } = await issue(context)
  assert.deepEqual(await verdicts(file, jwt, unsigned), ['ok', 'token_signature_invalid'])
  // With the digest of the other text, it is this text that needs no signature.
  change(file, 'update broker_tokens set digest = ? where id = ?', digestOfToken(unsigned), tokenId)
  assert.deepEqual(await verdicts(file, unsigned), ['ok'])
  assert.deepEqual(await verdicts(file, jwt), ['ok'], 'its signature is good')
})

test('a token of an older version has no digest, and is good by its signature', async (context) => {
  const { file, jwt, tokenId, unsigned } = await issue(context)
  change(file, 'update broker_tokens set digest = null where id = ?', tokenId)
  assert.deepEqual(await verdicts(file, jwt, unsigned), ['ok', 'token_signature_invalid'])
})

test('a token without a record is not recognized, and is revoked', async (context) => {
  const { file, jwt, tokenId, unsigned } = await issue(context)
  change(file, 'delete from broker_tokens where id = ?', tokenId)
  assert.deepEqual(await verdicts(file, jwt, unsigned), ['token_revoked', 'token_signature_invalid'])
})

test('a recognized text is refused all the same where its signing key is not known', async (context) => {
  const { file, jwt } = await issue(context)
  change(file, 'delete from signing_keys')
  assert.deepEqual(await verdicts(file, jwt), ['token_signature_invalid'])
})

test('a recognized token stands as its user, its organization and its record are', async (context) => {
  const { file, jwt, userId, organizationId } = await issue(context)
  const row = [userId, organizationId]
  change(file, 'update members set is_read_only = 1 where user_id = ? and organization_id = ?', ...row)
  assert.deepEqual(await verdicts(file, jwt), ['ok'])
  change(file, 'delete from members where user_id = ? and organization_id = ?', ...row)
  assert.deepEqual(await verdicts(file, jwt), ['not_a_member'])
  change(file, 'update users set is_admin = 1 where id = ?', userId)
  assert.deepEqual(await verdicts(file, jwt), ['ok'])
  change(file, 'update organizations set removed_at = 1 where id = ?', organizationId)
  assert.deepEqual(await verdicts(file, jwt), ['not_a_member'])
  change(file, 'update users set is_active = 0 where id = ?', userId)
  assert.deepEqual(await verdicts(file, jwt), ['user_inactive'])
})

test('a recognized token whose scope cannot be read gives an error, and no standing', async (context) => {
  const { file, jwt, tokenId } = await issue(context)
  change(file, "update broker_tokens set scope = '[]' where id = ?", tokenId)
  await assert.rejects(verdicts(file, jwt), /scope/)
})

test('a change after the recognition is heard', async (context) => {
  const { file, jwt, tokenId } = await issue(context)
  await using opened = await openTestRegistry({ file })
  const { tokens } = opened.registry
  assert.equal(tokens.readBrokerAccess(jwt)?.tokenId, tokenId)
  valueOf(await tokens.revokeBrokerAccess(tokenId, nobody))
  assert.equal(reasonOf(await tokens.verifyBrokerAccess(jwt)), 'token_revoked')
})

describe('the one select of a recognized token', () => {
  const TOKEN_ID = '7d2c3f0e-8f5b-4c55-9f0d-1b6f2b1d7a10'
  const JWT = 'the text of the token'
  /** Compiles queries, and asks no database. */
  const db = new Kysely<Schema>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (kysely) => new SqliteIntrospector(kysely),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  })
  const ROW = {
    digest: digestOfToken(JWT),
    api_key_id: null as string | null,
    expires_at: testStartMs + 1000,
    is_active: 1,
    is_admin: 0,
    organization_exists: 1,
    member_is_read_only: 0,
    token_is_known: 1,
    scope: null,
  }

  /** Recognizes the text by the row. Gives the standings that are noted by it. */
  function recognize(row: typeof ROW, jwt = JWT) {
    const noted: (readonly [string, AccessStanding])[] = []
    const store = { db, clock: createTestClock(), readAtOnce: <Row>() => [row as Row] }
    const digests = createTokenDigests(store, { noteAccess: (id, standing) => void noted.push([id, standing]) })
    return { isRecognized: digests.recognizes(TOKEN_ID, jwt), noted }
  }

  it('gives the standing as well', () => {
    assert.deepEqual(recognize(ROW), { isRecognized: true, noted: [[TOKEN_ID, accessOf(ROW)]] })
  })

  it('gives none of an expired token, nor of a token of an API key', () => {
    const nothing = { isRecognized: true, noted: [] }
    assert.deepEqual(recognize({ ...ROW, expires_at: testStartMs }), nothing)
    assert.deepEqual(recognize({ ...ROW, api_key_id: 'key' }), nothing)
  })

  it('gives none to a text that has another digest', () => {
    assert.deepEqual(recognize(ROW, 'another text'), { isRecognized: false, noted: [] })
  })
})
