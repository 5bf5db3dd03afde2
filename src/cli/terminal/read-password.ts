/**
 * Reads a password from a prompt that shows nothing, from standard input, or from the environment.
 * A password is never an argument, because other users of the machine can see arguments.
 */
import type { Readable } from 'node:stream'
import { readSecret } from '../../settings/secret-file.ts'
import { CommandFailure } from './command-failure.ts'
import type { Terminal } from './terminal.ts'

/** No password is longer. The bound stops a file that was piped in by mistake. */
const MAXIMUM_CHARACTERS = 4096

/**
 * Reads a new password: the first line of standard input when `fromStandardInput`, else
 * `FIELDGATE_PASSWORD` or its file, else the text that a person types twice. Throws CommandFailure
 * when none of the three is possible.
 */
export async function readNewPassword(terminal: Terminal, fromStandardInput: boolean): Promise<string> {
  if (fromStandardInput) return readFirstLine(terminal.input)
  const given = readSecret('FIELDGATE_PASSWORD', (name) => terminal.environment[name])
  if (!given.ok) throw new CommandFailure(`${given.name}=${JSON.stringify(given.given)}: ${given.reason}`, 2)
  if (given.secret !== undefined) return given.secret
  if (!terminal.isInteractive) {
    const message = 'A password is needed: use --password-stdin, or set FIELDGATE_PASSWORD or FIELDGATE_PASSWORD_FILE.'
    throw new CommandFailure(message, 2)
  }
  const password = await ask(terminal, 'Password: ')
  if ((await ask(terminal, 'Again: ')) !== password) throw new CommandFailure('The two passwords differ.')
  return password
}

async function readFirstLine(input: Readable): Promise<string> {
  let text = ''
  for await (const chunk of input) {
    text += String(chunk)
    if (text.includes('\n')) break
    if (text.length > MAXIMUM_CHARACTERS) throw new CommandFailure('That is too long for a password.')
  }
  const password = /^[^\r\n]*/.exec(text)?.[0] ?? ''
  if (password === '') throw new CommandFailure('There is no password on standard input.')
  return password
}

/** Reads a line key by key, so that the terminal echoes nothing. */
async function ask(terminal: Terminal, question: string): Promise<string> {
  const { input } = terminal
  const setRaw = (isRaw: boolean) => {
    if ('setRawMode' in input && typeof input.setRawMode === 'function') input.setRawMode(isRaw)
  }
  // A person may type as soon as the prompt shows, so the echo is turned off before it.
  setRaw(true)
  terminal.error(question)
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  let typed: string[] = []
  const onData = (chunk: Buffer | string) => {
    for (const key of chunk.toString()) {
      if (key === '\r' || key === '\n') return resolve(typed.join(''))
      // Ctrl-C cancels, and so does Ctrl-D, the end of the input.
      if (key === '\u0003' || key === '\u0004') return reject(new CommandFailure('Cancelled.'))
      if (key === '\u007F' || key === '\b') typed.pop()
      // Ctrl-U clears the line.
      else if (key === '\u0015') typed = []
      else if (key >= ' ' && typed.length < MAXIMUM_CHARACTERS) typed.push(key)
    }
    return undefined
  }
  const onEnd = () => reject(new CommandFailure('Cancelled.'))
  input.on('data', onData)
  input.once('end', onEnd)
  input.resume()
  try {
    return await promise
  } finally {
    input.off('data', onData)
    input.off('end', onEnd)
    input.pause()
    setRaw(false)
    terminal.error('\n')
  }
}
