import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { describe, it } from 'node:test'
import { createPinoLogger } from './pino-logger.ts'
import type { PinoLogger } from './pino-logger.ts'

function linesOf(use: (log: PinoLogger) => void, format: 'json' | 'text' = 'json'): string[] {
  const lines: string[] = []
  use(createPinoLogger({ level: 'debug', format }, { write: (line) => lines.push(line) }))
  return lines
}

const jwt = 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl'

describe('the log', () => {
  it('is one JSON object a line with time, level and message', () => {
    const [line] = linesOf((log) => log.warn({ clientId: 'a', reasonCode: 135 }, 'connection.refused'))
    const entry = JSON.parse(line ?? '') as Record<string, unknown>
    assert.match(String(entry['time']), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    delete entry['time']
    assert.deepEqual(entry, { level: 'warn', clientId: 'a', reasonCode: 135, message: 'connection.refused' })
  })

  it('leaves out what is below its level', () => {
    assert.deepEqual(
      linesOf((log) => log.trace('packet.parsed')),
      [],
    )
  })

  for (const fields of [
    { password: 'hunter2' },
    { body: { password: 'hunter2' } },
    { request: { headers: { authorization: 'hunter2' } } },
    { request: { headers: { 'grpc-metadata-authorization': 'hunter2' } } },
    { headers: { 'grpc-metadata-x-otp': 'hunter2' } },
    { packet: { userName: 'hunter2' } },
    { jwt: 'hunter2' },
    { answer: { jwtMqttAuth: 'hunter2' } },
    { packet: { payload: 'hunter2' } },
  ]) {
    it(`never shows the secret of ${JSON.stringify(fields).replace('hunter2', '…')}`, () => {
      const [line = ''] = linesOf((log) => log.info(fields, 'thing.done'))
      assert.doesNotMatch(line, /hunter2/)
      assert.match(line, /\[redacted\]/)
    })
  }

  it('never shows a JWT, not even inside a text or an error', () => {
    for (const format of ['json', 'text'] as const) {
      const lines = linesOf((log) => {
        log.info({ url: `/x?token=${jwt}&y=1` }, `bearer ${jwt}`)
        log.error(new Error(`bad token ${jwt}`), 'token.refused')
      }, format)
      assert.doesNotMatch(lines.join(''), /c2lnbmF0dXJl|eyJzdWIi/)
    }
  })

  it('never shows the secret of an API key or of a webhook in a text, and names the key', () => {
    const key = `fg_0123456789ab_${'Secret7'.repeat(7)}`
    for (const text of [key, key.slice(0, -9), `/x?key=${key}&y=1`, 'whsec_U2VjcmV0N1NlY3JldDc+/Q==']) {
      for (const format of ['json', 'text'] as const) {
        const line = linesOf((log) => log.warn({ clientId: text, y: 1 }, `refused ${text}`), format).join('')
        assert.doesNotMatch(line, /ecret7|U2Vj|Q==/)
        assert.match(line, text.startsWith('whsec_') ? /whsec_\[redacted\]/ : /fg_0123456789ab_\[redacted\]/)
        assert.match(line, format === 'json' ? /"y":1/ : /y=1/)
      }
    }
  })

  it('is readable as text, and no value can forge a line or a field', () => {
    const [line = ''] = linesOf((log) => log.info({ clientId: 'a\nb level=error' }, 'connection.opened'), 'text')
    assert.match(line, /^\S+Z INFO {2}connection\.opened clientId="a\\nb level=error"\n$/)
  })

  for (const [end, lines] of [
    ['log.fatal({}, "process.failed"); process.exit(1)', 501],
    ['process.exit()', 500],
    ['', 500],
  ] as const) {
    it(`is complete on standard error when the process ends with “${end}”`, () => {
      const script = `
        import { createPinoLogger } from ${JSON.stringify(new URL('pino-logger.ts', import.meta.url).href)}
        const log = createPinoLogger({ level: 'info', format: 'json' })
        for (let number = 0; number < 500; number += 1) log.info({ number }, 'thing.done')
        ${end}`
      const { stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' })
      const numbers = stderr
        .trimEnd()
        .split('\n')
        .map((line) => (JSON.parse(line) as { number?: number }).number)
      assert.deepEqual(
        numbers.slice(0, 500),
        Array.from({ length: 500 }, (_, number) => number),
      )
      assert.equal(numbers.length, lines)
    })
  }
})
