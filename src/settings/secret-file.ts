/**
 * Secrets from files, as containers and systemd provide them: `FIELDGATE_X_FILE` names the file and
 * replaces `FIELDGATE_X`.
 */
import { readFileSync, statSync } from 'node:fs'

/** No secret is longer. The bound stops the read of a large file that was named by mistake. */
const MAXIMUM_BYTES = 4096

/** A secret, or why it can't be read. `secret` is undefined when neither variable is set. */
export type SecretResult =
  | { readonly ok: true; readonly secret: string | undefined }
  | { readonly ok: false; readonly name: string; readonly given?: string; readonly reason: string }

/** The variable with the path of the file that holds the secret of `name`. */
export function fileVariable(name: string): string {
  return `${name}_FILE`
}

/**
 * Reads the secret that the variable `name` holds, or the file of its file variable. An empty
 * variable counts as not set. A newline at the end of the file is not part of the secret.
 */
export function readSecret(name: string, valueOf: (variable: string) => string | undefined): SecretResult {
  const secret = valueOf(name)
  const fileName = fileVariable(name)
  const file = valueOf(fileName)
  if (file === undefined || file === '') return { ok: true, secret: secret === '' ? undefined : secret }
  const refuse = (reason: string): SecretResult => ({ ok: false, name: fileName, given: file, reason })
  if (secret !== undefined && secret !== '') return refuse(`must not be set together with ${name}`)
  try {
    const status = statSync(file)
    if (!status.isFile()) return refuse('is not a file')
    if (status.size > MAXIMUM_BYTES) return refuse(`is longer than ${MAXIMUM_BYTES} bytes`)
    const text = readFileSync(file, 'utf8').replace(/\r?\n$/, '')
    return text === '' ? refuse('is empty') : { ok: true, secret: text }
  } catch (error) {
    return refuse(`can’t be read: ${error instanceof Error ? error.message : String(error)}`)
  }
}
