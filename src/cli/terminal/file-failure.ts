/** Reads files for commands, and explains to people why a file can’t be read. */
import { readFile } from 'node:fs/promises'
import { CommandFailure } from './command-failure.ts'

/** The system's error codes in words. */
const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'this user may not read it',
  EPERM: 'this user may not read it',
  EISDIR: 'it is a directory',
  ENOTDIR: 'a part of its path is no directory',
  EMFILE: 'too many files are open',
  EIO: 'the disk reports an error',
}

/** Makes the failure of a command that can't read a file. */
export function fileFailure(file: string, error: unknown): CommandFailure {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const reason = REASONS[code] ?? (error instanceof Error ? error.message : String(error))
  return new CommandFailure(`The file ${file} can’t be read: ${reason}.`)
}

/** Reads the text of a file. Throws CommandFailure when the file can't be read. */
export async function readTextFile(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw fileFailure(file, error)
  }
}
