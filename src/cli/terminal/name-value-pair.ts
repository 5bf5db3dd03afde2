/** Options of the form `name=value`. */
import { InvalidArgumentError } from 'commander'

/**
 * Parses `name=value`, and adds it to the pairs of the same option before. Throws
 * InvalidArgumentError for another text.
 */
export function pair(text: string, others: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? []
  if (name === undefined || value === undefined) throw new InvalidArgumentError('It must be name=value.')
  return { ...others, [name]: value }
}
