/**
 * The commands that the network server has taken and not finished, in a file, so that a killed
 * network server has them after its restart. A command enters the file before the broker hears that
 * it was taken, and stays until the broker has heard of its end.
 */
import { appendFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs'

/** The file of a journal. */
export interface JournalFile {
  /** The file's text; empty if there is no file yet. */
  read(): string
  append(text: string): void
  /**
   * Replaces the text. Whenever the process ends, the file has all of the old or all of the new
   * text.
   */
  replace(text: string): void
}

/** A command as it came. */
export interface JournalCommand {
  readonly topicName: string
  readonly payload: Buffer
}

export interface CommandJournal {
  /**
   * Offers each command of the former process, in order. `take` returns the id that the command has
   * now; undefined drops it.
   */
  resume(take: (command: JournalCommand) => string | undefined): void
  /** Adds a command that was taken. Returns when it is in the file. */
  add(devEui: string, id: string, command: JournalCommand): void
  /** Removes a command: the broker knows how it ended. */
  done(devEui: string, id: string): void
}

/**
 * Lines of finished commands after which the file is written anew. Bounds the file to the live
 * commands and these lines.
 */
const MAXIMUM_DONE_LINES = 1000

/** A line of the file: a command with its key, or the key alone for a finished command. */
interface Line {
  readonly key: string
  readonly topicName?: string
  readonly payload?: string
}

/** Reads the file as a journal, without a last line that the end of the process cut off. */
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

/** A journal's file on disk. Written text survives the end of the process, but not a power cut. */
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
