import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { addMember, addOrganization, addUser, openTestRegistry, reasonOf, valueOf } from '../registry.testing.ts'
import { digestOfToken } from './token-digests.ts'

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
  return { file, jwt, tokenId, unsigned }
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
