/** Runs commands as a shell would run them, in this process. */
import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { run } from './program.ts'

/** The result of a command. */
export interface Ran {
  readonly code: number
  readonly out: string
  readonly error: string
}

/** Runs a command line, with a text on its standard input and more environment. */
export type Shell = (line: string, input?: string, more?: Readonly<Record<string, string>>) => Promise<Ran>

/** Runs commands on a data directory; on a terminal where `isInteractive`, else in a pipe. */
export function commandLine(dataDirectory: string, isInteractive = false): Shell {
  const environment = { FIELDGATE_DATA_DIR: dataDirectory, FIELDGATE_PASSWORD: 'long-enough-password' }
  return async (line, input = '', more = {}) => {
    const ran = { out: '', error: '' }
    const code = await run(line.split(' '), {
      out: (text) => {
        ran.out += text
      },
      error: (text) => {
        ran.error += text
      },
      input: Readable.from([input]),
      isInteractive,
      environment: { ...environment, ...more },
    })
    return { code, ...ran }
  }
}

/** The standard output of a command that must end with 0. */
export async function succeed(shell: Shell, line: string, input?: string): Promise<string> {
  const { code, out, error } = await shell(line, input)
  assert.equal(code, 0, `${line}: ${error}`)
  return out
}

/** The JSON of a command that must end with 0. */
export async function json(shell: Shell, line: string): Promise<Record<string, unknown>> {
  return JSON.parse(await succeed(shell, `${line} --json`)) as Record<string, unknown>
}
