/** Topic Filters, which subscriptions ask for and permits grant (MQTT 5.0 §4.7, §4.8.2). */
import { isTopicText } from './topic-name.ts'

const SLASH = 0x2f
const PLUS = 0x2b
const HASH = 0x23
const DOLLAR = 0x24

const sharePrefix = '$share/'

/**
 * True when the text is a Topic Filter: 1 to 65,535 bytes of UTF-8 [MQTT-4.7.3-1] [MQTT-4.7.3-3],
 * no U+0000 [MQTT-4.7.3-2], `#` alone in the last level [MQTT-4.7.1-1], `+` alone in its level
 * [MQTT-4.7.1-2]. For the further rules of shared subscriptions see `parseSharedSubscription`.
 */
export function isValidTopicFilter(filter: string): boolean {
  if (!isTopicText(filter)) return false
  const length = filter.length
  for (let index = 0; index < length; index++) {
    const character = filter.charCodeAt(index)
    if (character !== PLUS && character !== HASH) continue
    if (index > 0 && filter.charCodeAt(index - 1) !== SLASH) return false
    if (index + 1 === length) return true
    if (character === HASH || filter.charCodeAt(index + 1) !== SLASH) return false
  }
  return true
}

/**
 * True when the Topic Filter matches the Topic Name. The caller makes sure that both are valid. A
 * wildcard in the first level matches no Topic Name that begins with `$` [MQTT-4.7.2-1]; `a/#`
 * matches `a` as well. Characters are compared without any normalization [MQTT-4.7.3-4].
 */
export function matches(topicFilter: string, topicName: string): boolean {
  const filterLength = topicFilter.length
  const nameLength = topicName.length
  if (topicName.charCodeAt(0) === DOLLAR && isWildcard(topicFilter.charCodeAt(0))) return false
  let inName = 0
  for (let inFilter = 0; inFilter < filterLength; inFilter++) {
    const character = topicFilter.charCodeAt(inFilter)
    if (character === PLUS) {
      while (inName < nameLength && topicName.charCodeAt(inName) !== SLASH) inName++
    } else if (character === HASH) {
      return true
    } else if (inName === nameLength) {
      return isParentEnding(topicFilter, inFilter)
    } else if (topicName.charCodeAt(inName++) !== character) {
      return false
    }
  }
  return inName === nameLength
}

/**
 * True when `granted` matches every Topic Name that `asked` matches: containment of sets, which a
 * permit needs. The caller makes sure that both are valid Topic Filters without `$share`.
 *
 * The filters are compared level by level: a literal contains only itself, `+` contains any single
 * level, and `#` contains any further levels or none. In the first level no wildcard contains a
 * literal that begins with `$` [MQTT-4.7.2-1].
 */
export function covers(granted: string, asked: string): boolean {
  const askedFilter = withoutEmptyParent(asked)
  const grantedLength = granted.length
  const askedLength = askedFilter.length
  if (askedFilter.charCodeAt(0) === DOLLAR && isWildcard(granted.charCodeAt(0))) return false
  let inAsked = 0
  for (let inGranted = 0; inGranted < grantedLength; inGranted++) {
    const character = granted.charCodeAt(inGranted)
    if (character === HASH) return true
    if (character === PLUS) {
      if (askedFilter.charCodeAt(inAsked) === HASH) return false
      while (inAsked < askedLength && askedFilter.charCodeAt(inAsked) !== SLASH) inAsked++
    } else if (inAsked === askedLength) {
      return isParentEnding(granted, inGranted)
    } else if (askedFilter.charCodeAt(inAsked++) !== character) {
      return false
    }
  }
  return inAsked === askedLength
}

/**
 * Splits `$share/{ShareName}/{filter}`. Undefined when the filter is no shared subscription.
 * 'invalid' when it begins like one, and has no ShareName [MQTT-4.8.2-1], a ShareName with a
 * wildcard, or no valid Topic Filter behind the ShareName [MQTT-4.8.2-2].
 */
export function parseSharedSubscription(
  filter: string,
): { readonly shareName: string; readonly topicFilter: string } | undefined | 'invalid' {
  if (!filter.startsWith(sharePrefix)) return undefined
  const end = filter.indexOf('/', sharePrefix.length)
  if (end <= sharePrefix.length) return 'invalid'
  const shareName = filter.slice(sharePrefix.length, end)
  const topicFilter = filter.slice(end + 1)
  if (shareName.includes('+') || shareName.includes('#') || !isTopicText(filter)) return 'invalid'
  return isValidTopicFilter(topicFilter) ? { shareName, topicFilter } : 'invalid'
}

function isWildcard(character: number): boolean {
  return character === PLUS || character === HASH
}

/**
 * A filter that matches the same Topic Names, and not the empty text. `#` and `/#` would match it
 * as well, though no Topic Name is empty [MQTT-4.7.3-1].
 */
function withoutEmptyParent(filter: string): string {
  if (filter === '#') return '+/#'
  return filter === '/#' ? '/+/#' : filter
}

/** True when the filter ends with `/#` at `index`: then it also matches the level before. */
function isParentEnding(filter: string, index: number): boolean {
  return index + 2 === filter.length && filter.charCodeAt(index) === SLASH && filter.charCodeAt(index + 1) === HASH
}
