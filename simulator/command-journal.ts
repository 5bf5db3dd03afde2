/**
 * The commands that the network server has taken and not done with, in a file, so that one that is
 * killed has them when it returns. A command is in the file before the broker hears that it was
 * taken, and until the broker has heard of its end.
 */
import { appendFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs'

/** Where the journal is kept. */
export interface JournalFile {
  /** Empty where there is none yet. */
  read(): string
  append(text: string): void
  /** All of the old content or all of the new, whenever the process ends. */
  replace(text: string): void
}

/** A command as it came. */
export interface JournalCommand {
  readonly topicName: string
  readonly payload: Buffer
}

export interface CommandJournal {
  /**
   * Offers each command of the former process, in order; `take` gives the id that it has now,
   * undefined to drop it.
   */
  resume(take: (command: JournalCommand) => string | undefined): void
  /** A command was taken. Returns when it is in the file. */
  add(devEui: string, id: string, command: JournalCommand): void
  /** The broker knows how the command ended. */
  done(devEui: string, id: string): void
}

/**
 * Lines of commands that are done with before the file is written anew: bounds it to what is live
 * and these.
 */
const MAXIMUM_DONE_LINES = 1000

/** A line: a command by its key, or the key alone for one that is done with. */
interface Line {
  readonly key: string
  readonly topicName?: string
  readonly payload?: string
}

/** The file as a journal; a last line that the end of the process cut off is left out. */
export function createCommandJournal(file: JournalFile): CommandJournal {
  const live = new Map<string, string>()
  let doneLines = 0
  const compact = (): void => {
    file.replace([...live.values()].join(''))
    doneLines = 0
  }
  return {
    resume(take) {
      for (const { topicName, payload } of liveCommands(file.read())) {
        const id = take({ topicName, payload })
        const key = keyOf(topicName.split('/')[3] ?? '', id ?? '')
        if (id !== undefined) live.set(key, lineOf(key, { topicName, payload }))
      }
      compact()
    },
    add(devEui, id, command) {
      const key = keyOf(devEui, id)
      const line = lineOf(key, command)
      live.set(key, line)
      file.append(line)
    },
    done(devEui, id) {
      const key = keyOf(devEui, id)
      if (!live.delete(key)) return
      file.append(`${JSON.stringify({ key } satisfies Line)}\n`)
      doneLines += 1
      if (doneLines >= MAXIMUM_DONE_LINES) compact()
    },
  }
}

/** A journal's file on the disk. What was written outlives the process, not a power cut. */
export function journalFile(path: string): JournalFile {
  return {
    read() {
      try {
        return readFileSync(path, 'utf8')
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return ''
        throw error
      }
    },
    append: (text) => appendFileSync(path, text, { mode: 0o600 }),
    replace(text) {
      writeFileSync(`${path}.new`, text, { mode: 0o600 })
      renameSync(`${path}.new`, path)
    },
  }
}

function liveCommands(text: string): JournalCommand[] {
  const live = new Map<string, JournalCommand>()
  for (const line of text.split('\n').slice(0, -1)) {
    const { key, topicName, payload } = JSON.parse(line) as Line
    if (topicName === undefined || payload === undefined) live.delete(key)
    else live.set(key, { topicName, payload: Buffer.from(payload, 'base64') })
  }
  return [...live.values()]
}

function keyOf(devEui: string, id: string): string {
  return `${devEui} ${id}`
}

function lineOf(key: string, { topicName, payload }: JournalCommand): string {
  return `${JSON.stringify({ key, topicName, payload: payload.toString('base64') } satisfies Line)}\n`
}
