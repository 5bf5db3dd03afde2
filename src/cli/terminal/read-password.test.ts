import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { describe, it } from 'node:test'
import { readNewPassword } from './read-password.ts'
import type { Terminal } from './terminal.ts'

function terminalOf(input: Readable, more: Partial<Terminal> = {}) {
  const shown: string[] = []
  const terminal: Terminal = {
    out: (text) => shown.push(text),
    error: (text) => shown.push(text),
    input,
    isInteractive: false,
    environment: {},
    ...more,
  }
  return { terminal, shown }
}

/** A terminal on which these keys are typed, each text at the next question. */
function typing(...answers: readonly string[]) {
  const rawModes: boolean[] = []
  const input = Object.assign(new PassThrough(), { rawModes, setRawMode: (isRaw: boolean) => rawModes.push(isRaw) })
  const left = [...answers]
  const { terminal, shown } = terminalOf(input, { isInteractive: true })
  const asking: Terminal = {
    ...terminal,
    error: (text) => {
      shown.push(text)
      if (text.endsWith(': ')) input.write(left.shift() ?? '')
    },
  }
  return { terminal: asking, shown, input }
}

describe('a new password', () => {
  it('is the first line of standard input', async () => {
    const { terminal } = terminalOf(Readable.from(['correct horse\r\nbattery\n']))
    assert.equal(await readNewPassword(terminal, true), 'correct horse')
  })

  it('is refused when standard input is empty or endless', async () => {
    await assert.rejects(readNewPassword(terminalOf(Readable.from([])).terminal, true), /no password/)
    const endless = Readable.from(Array.from({ length: 100 }, () => 'x'.repeat(1000)))
    await assert.rejects(readNewPassword(terminalOf(endless).terminal, true), /too long/)
  })

  it('is taken from the environment', async () => {
    const { terminal } = terminalOf(Readable.from([]), { environment: { FIELDGATE_PASSWORD: 'from afar' } })
    assert.equal(await readNewPassword(terminal, false), 'from afar')
  })

  it('is taken from the file that the environment names', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'fieldgate-password-'))
    try {
      const file = join(folder, 'password')
      writeFileSync(file, 'correct horse\n')
      const environment = { FIELDGATE_PASSWORD_FILE: file }
      assert.equal(
        await readNewPassword(terminalOf(Readable.from([]), { environment }).terminal, false),
        'correct horse',
      )
      const both = terminalOf(Readable.from([]), { environment: { ...environment, FIELDGATE_PASSWORD: 'other' } })
      await assert.rejects(
        readNewPassword(both.terminal, false),
        /FIELDGATE_PASSWORD_FILE=.*must not be set together with/,
      )
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it('is asked for twice, unseen, with keys that correct', async () => {
    const { terminal, shown, input } = typing('wrong\u0015secretx\u007F\r', 'secret\n')
    assert.equal(await readNewPassword(terminal, false), 'secret')
    assert.equal(shown.join(''), 'Password: \nAgain: \n')
    assert.deepEqual(input.rawModes, [true, false, true, false])
  })

  it('is refused when the two differ, and the terminal is left as it was', async () => {
    const { terminal, input } = typing('one\r', 'two\r')
    await assert.rejects(readNewPassword(terminal, false), /differ/)
    assert.equal(input.rawModes.at(-1), false)
  })

  it('is given up with Ctrl-C', async () => {
    const { terminal, input } = typing('one\u0003')
    await assert.rejects(readNewPassword(terminal, false), /Cancelled/)
    assert.equal(input.rawModes.at(-1), false)
  })

  it('is refused where nobody can be asked, with the ways that are left', async () => {
    await assert.rejects(
      readNewPassword(terminalOf(Readable.from([])).terminal, false),
      /--password-stdin.*FIELDGATE_PASSWORD/,
    )
  })
})
