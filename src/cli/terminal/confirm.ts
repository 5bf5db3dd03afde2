/** The question before something goes that can't be brought back. */
import { CommandFailure } from './command-failure.ts'
import type { Terminal } from './terminal.ts'

/** Longer than any name; stops a paste gone wrong. */
const MAXIMUM_CHARACTERS = 4096

/**
 * Throws CommandFailure where the question can't be asked and was not answered in advance by
 * `--yes`.
 */
export function requireConfirmation(terminal: Terminal, isSure: boolean | undefined): void {
  if (isSure === true || terminal.isInteractive) return
  throw new CommandFailure('This command asks before it deletes, and there is no terminal to ask on. Add --yes.', 2)
}

/**
 * Says on standard error what is about to happen, and reads the answer: the `name` where one is
 * given, else y or yes. Throws CommandFailure for another answer.
 */
export async function confirm(terminal: Terminal, warning: string, name: string | undefined): Promise<void> {
  const question = name === undefined ? 'Go on? [y/N] ' : `Type its name, ${name}, to go on: `
  terminal.error(`${warning}\n${question}`)
  const answer = await readLine(terminal)
  const isConfirmed = name === undefined ? /^y(?:es)?$/i.test(answer) : answer === name
  if (!isConfirmed) throw new CommandFailure('Nothing was changed.')
}

/** The line that is typed, without white space around it; empty at the end of the input. */
async function readLine(terminal: Terminal): Promise<string> {
  const { input } = terminal
  const { promise, resolve } = Promise.withResolvers<string>()
  let typed = ''
  const onData = (chunk: Buffer | string) => {
    typed += chunk.toString()
    if (typed.includes('\n') || typed.length > MAXIMUM_CHARACTERS) resolve(typed.split('\n', 1)[0] ?? '')
  }
  const onEnd = () => {
    terminal.error('\n')
    resolve('')
  }
  input.on('data', onData)
  input.once('end', onEnd)
  try {
    return (await promise).trim()
  } finally {
    input.off('data', onData)
    input.off('end', onEnd)
    input.pause()
  }
}
