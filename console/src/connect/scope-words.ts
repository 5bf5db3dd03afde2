/** The limits of a token in words for people. */
import type { TokenScope } from '../api/token-scope.ts'

/** A list with more entries is counted. */
const MAXIMUM_NAMED = 2

/** For example: `device 0101010101010101, up and join, reading only`. */
export function scopeWords(scope: TokenScope | null): string {
  if (scope === null) return 'everything'
  const { applicationIds, devEuis, tags, eventKinds, isReadOnly, reachesAllApplications } = scope
  const tagged = tags && Object.entries(tags).map(([name, value]) => `${name}=${value}`)
  const words = [
    ...(applicationIds === undefined ? [] : [listed('application', applicationIds)]),
    ...(devEuis === undefined ? [] : [listed('device', devEuis)]),
    ...(tagged === undefined ? [] : [listed('tag', tagged)]),
    ...(eventKinds === undefined ? [] : [eventKinds.join(', ')]),
    ...(isReadOnly === true ? ['reading only'] : []),
  ]
  if (reachesAllApplications === true && applicationIds === undefined && devEuis === undefined) {
    words.unshift('all applications')
  }
  return words.join('; ')
}

function listed(noun: string, names: readonly string[]): string {
  if (names.length > MAXIMUM_NAMED) return `${names.length} ${noun}s`
  return `${noun}${names.length === 1 ? '' : 's'} ${names.join(', ')}`
}
