import { InvalidArgumentError } from 'commander'

/**
 * Reads an option that may be repeated, `name=value`, into those before it. Throws
 * InvalidArgumentError for another text.
 */
export function pair(text: string, others: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? []
  if (name === undefined || value === undefined) throw new InvalidArgumentError('It must be name=value.')
  return { ...others, [name]: value }
}
