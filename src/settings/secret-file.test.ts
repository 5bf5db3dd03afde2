import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { checkSettings, describeFaults, readEnvironment, settingsTable } from './settings.ts'
import { readSecret } from './secret-file.ts'

const folder = mkdtempSync(join(tmpdir(), 'fieldgate-secret-'))
after(() => rmSync(folder, { recursive: true }))

function fileWith(name: string, content: string): string {
  const file = join(folder, name)
  writeFileSync(file, content)
  return file
}

function read(environment: Readonly<Record<string, string>>) {
  return readSecret('FIELDGATE_ADMIN_PASSWORD', (name) => environment[name])
}

function reasonOf(file: string, more: Readonly<Record<string, string>> = {}): string {
  const result = read({ FIELDGATE_ADMIN_PASSWORD_FILE: file, ...more })
  assert.ok(!result.ok)
  assert.equal(result.name, 'FIELDGATE_ADMIN_PASSWORD_FILE')
  return result.reason
}

describe('a secret of a file', () => {
  for (const [title, content, secret] of [
    ['is the whole text', 'a long password', 'a long password'],
    ['ends before the newline at its end', 'a long password\n', 'a long password'],
    ['ends before a newline of Windows', 'a long password\r\n', 'a long password'],
    ['keeps spaces, and all newlines but the last', ' a\nb \n\n', ' a\nb \n'],
  ] as const) {
    it(title, () => {
      const file = fileWith('secret', content)
      assert.deepEqual(read({ FIELDGATE_ADMIN_PASSWORD_FILE: file }), { ok: true, secret })
    })
  }

  it('is none where neither variable is set, or both are empty', () => {
    assert.deepEqual(read({}), { ok: true, secret: undefined })
    const empty = { FIELDGATE_ADMIN_PASSWORD: '', FIELDGATE_ADMIN_PASSWORD_FILE: '' }
    assert.deepEqual(read(empty), { ok: true, secret: undefined })
  })

  it('is refused when the file is missing, a folder, empty or too long', () => {
    assert.match(reasonOf(join(folder, 'missing')), /can’t be read: ENOENT/)
    mkdirSync(join(folder, 'sub'))
    assert.equal(reasonOf(join(folder, 'sub')), 'is not a file')
    assert.equal(reasonOf(fileWith('empty', '')), 'is empty')
    assert.equal(reasonOf(fileWith('newline', '\n')), 'is empty')
    assert.equal(reasonOf(fileWith('long', 'x'.repeat(4097))), 'is longer than 4096 bytes')
  })

  const skip = process.getuid?.() === 0 ? 'root may read every file' : false
  it('is refused when this user may not read the file', { skip }, () => {
    const file = fileWith('closed', 'a long password')
    chmodSync(file, 0)
    assert.match(reasonOf(file), /can’t be read: EACCES/)
  })

  it('is refused when the variable itself is set too', () => {
    const file = fileWith('both', 'a long password')
    const reason = reasonOf(file, { FIELDGATE_ADMIN_PASSWORD: 'another password' })
    assert.equal(reason, 'must not be set together with FIELDGATE_ADMIN_PASSWORD')
  })
})

const check = (environment: Record<string, string>, defaults?: Record<string, string>) =>
  checkSettings(readEnvironment(environment), defaults)

describe('a secret setting', () => {
  it('comes from its file, also where there is a default', () => {
    const environment = { FIELDGATE_ADMIN_PASSWORD_FILE: fileWith('set', 'a long password\n') }
    const result = check(environment, { FIELDGATE_ADMIN_PASSWORD: 'the default one' })
    assert.ok(result.ok)
    assert.equal(result.settings.adminPassword, 'a long password')
    assert.deepEqual(result.warnings, [])
  })

  it('is checked as if it had been given, and not shown', () => {
    const result = check({ FIELDGATE_ADMIN_PASSWORD_FILE: fileWith('short', 'hunter2') })
    assert.ok(!result.ok)
    assert.deepEqual(describeFaults(result.faults), ['FIELDGATE_ADMIN_PASSWORD: must be 10 to 128 characters'])
  })

  it('names its file when that can’t be used', () => {
    const file = join(folder, 'nowhere')
    const result = check({ FIELDGATE_ADMIN_PASSWORD_FILE: file })
    assert.ok(!result.ok)
    assert.ok(describeFaults(result.faults)[0]?.startsWith(`FIELDGATE_ADMIN_PASSWORD_FILE="${file}": can’t be read: `))
  })

  it('stands in the table with its file, and so does the password of the command line', () => {
    for (const name of ['FIELDGATE_ADMIN_PASSWORD', 'FIELDGATE_PASSWORD']) {
      assert.ok(settingsTable().includes(`| \`${name}\` |`))
      assert.ok(settingsTable().includes(`| \`${name}_FILE\` | a path |`))
    }
  })
})
