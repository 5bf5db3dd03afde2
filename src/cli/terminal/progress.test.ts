import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { Progress, formatBytes } from './progress.ts'

function watch(isInteractive: boolean) {
  const told: string[] = []
  let nowMs = 0
  const terminal = {
    out: () => {},
    error: (text: string) => void told.push(text),
    input: Readable.from([]),
    isInteractive,
    environment: {},
  }
  const progress = new Progress(terminal, 'written', () => nowMs)
  const add = (bytes: number, ms: number): void => {
    nowMs += ms
    progress.add(bytes)
  }
  return { told, progress, add }
}

test('a person sees in place how far it is; the log of a program has a line now and then; short work says nothing', () => {
  const person = watch(true)
  for (let count = 0; count < 4; count += 1) person.add(1_048_576, 150)
  person.progress.end()
  assert.deepEqual(person.told, ['\r2.0 MiB written', '\r4.0 MiB written', '\n'])
  const program = watch(false)
  program.add(1000, 9_000)
  program.add(24, 1_000)
  program.progress.end()
  assert.deepEqual(program.told, ['1.0 KiB written\n'])
  const short = watch(true)
  short.add(1, 1)
  short.progress.end()
  assert.deepEqual(short.told, [])
})

test('bytes for people', () => {
  assert.deepEqual([0, 1023, 1536, 5 * 1024 ** 4].map(formatBytes), ['0 bytes', '1023 bytes', '1.5 KiB', '5.0 TiB'])
})
