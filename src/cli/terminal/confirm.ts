/** The question before an object is deleted for good. */
import { CommandFailure } from './command-failure.ts'
import type { Terminal } from './terminal.ts'

/** No name is longer. The bound stops an endless paste. */
const MAXIMUM_CHARACTERS = 4096

/**
 * Throws CommandFailure when there is no terminal for the question, and `--yes` did not answer it
 * in advance.
 */
export function requireConfirmation(terminal: Terminal, isSure: boolean | undefined): void {
  if (isSure === true || terminal.isInteractive) return
  throw new CommandFailure('This command asks before it deletes, and there is no terminal to ask on. Add --yes.', 2)
}

/**
 * Writes the warning to standard error, and reads the answer. The answer must be the `name` if
 * there is one, or else y or yes. Throws CommandFailure for another answer.
 */
export async function confirm(terminal: Terminal, warning: string, name: string | undefined): Promise<void> {
  const question = name === undefined ? 'Go on? [y/N] ' : `Type its name, ${name}, to go on: `
  terminal.error(`${warning}\n${question}`)
  const answer = await readLine(terminal)
  const isConfirmed = name === undefined ? /^y(?:es)?$/i.test(answer) : answer === name
  if (!isConfirmed) throw new CommandFailure('Nothing was changed.')
}

/** Reads a line, and returns it without white space around it; empty at the end of the input. */
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
