import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { createCommandJournal, journalFile } from './command-journal.ts'
import type { JournalCommand, JournalFile } from './command-journal.ts'

const TOPIC_NAME = 'application/5/device/00005eef10000001/command/down'
const DEV_EUI = '00005eef10000001'

describe('the journal of commands', () => {
  it('gives the next process what is not done with, in order, under ids of its own', () => {
    const file = memoryFile()
    const journal = createCommandJournal(file)
    for (const id of ['a', 'b', 'c']) journal.add(DEV_EUI, id, command(id))
    journal.done(DEV_EUI, 'b')
    assert.deepEqual(resumed(file), ['a', 'c'])
    const next = createCommandJournal(file)
    next.resume(({ payload }) => `new ${payload.toString()}`)
    next.done(DEV_EUI, 'new a')
    next.done(DEV_EUI, 'unknown')
    assert.deepEqual(resumed(file), ['c'])
  })

  it('drops what the next process does not take', () => {
    const file = memoryFile()
    createCommandJournal(file).add(DEV_EUI, 'a', command('a'))
    createCommandJournal(file).resume(() => undefined)
    assert.equal(file.read(), '')
  })

  it('leaves a line out that was cut off', () => {
    const file = memoryFile()
    const journal = createCommandJournal(file)
    journal.add(DEV_EUI, 'a', command('a'))
    const whole = file.read()
    journal.add(DEV_EUI, 'b', command('b'))
    file.replace(file.read().slice(0, whole.length + 20))
    assert.deepEqual(resumed(file), ['a'])
  })

  it('does not grow with what is done with', () => {
    const file = memoryFile()
    const journal = createCommandJournal(file)
    journal.add(DEV_EUI, 'kept', command('kept'))
    for (let count = 0; count < 5000; count += 1) {
      journal.add(DEV_EUI, String(count), command('x'))
      journal.done(DEV_EUI, String(count))
    }
    assert.ok(file.read().length < 300_000, `${file.read().length} bytes`)
    assert.deepEqual(resumed(file), ['kept'])
  })

  it('is a file on the disk, which need not be there', () => {
    const directory = mkdtempSync(join(tmpdir(), 'simulator-'))
    try {
      const file = journalFile(join(directory, 'commands.jsonl'))
      assert.equal(file.read(), '')
      createCommandJournal(file).add(DEV_EUI, 'a', command('a'))
      assert.deepEqual(resumed(file), ['a'])
      assert.throws(() => journalFile(directory).read(), /EISDIR/)
    } finally {
      rmSync(directory, { recursive: true })
    }
  })
})

function command(text: string): JournalCommand {
  return { topicName: TOPIC_NAME, payload: Buffer.from(text) }
}

function resumed(file: JournalFile): string[] {
  const payloads: string[] = []
  createCommandJournal({ ...file, replace: () => {} }).resume(({ topicName, payload }) => {
    assert.equal(topicName, TOPIC_NAME)
    payloads.push(payload.toString())
    return undefined
  })
  return payloads
}

function memoryFile(): JournalFile {
  let content = ''
  return {
    read: () => content,
    append(text) {
      content += text
    },
    replace(text) {
      content = text
    },
  }
}
