import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as fc from 'fast-check'
import { covers, isValidTopicFilter, matches, parseSharedSubscription } from './topic-filter.ts'
import { isValidTopicName } from './topic-name.ts'

describe('isValidTopicFilter', () => {
  const cases: readonly (readonly [filter: string, isValid: boolean, tag: string])[] = [
    ['#', true, '[MQTT-4.7.1-1] [MQTT311-4.7.1-2]'],
    ['sport/#', true, '[MQTT-4.7.1-1]'],
    ['/#', true, '[MQTT-4.7.1-1]'],
    ['sport#', false, '[MQTT-4.7.1-1] [MQTT311-4.7.1-2]'],
    ['sport/#/ranking', false, '[MQTT-4.7.1-1] [MQTT311-4.7.1-2]'],
    ['sport/a#', false, '[MQTT-4.7.1-1]'],
    ['#/a', false, '[MQTT-4.7.1-1]'],
    ['##', false, '[MQTT-4.7.1-1]'],
    ['#+', false, '[MQTT-4.7.1-1]'],
    ['sport/##', false, '[MQTT-4.7.1-1]'],
    ['+', true, '[MQTT-4.7.1-2] [MQTT311-4.7.1-3]'],
    ['+/+', true, '[MQTT-4.7.1-2]'],
    ['/+', true, '[MQTT-4.7.1-2]'],
    ['+/', true, '[MQTT-4.7.1-2]'],
    ['+/tennis/#', true, '[MQTT-4.7.1-2]'],
    ['sport/+/player1', true, '[MQTT-4.7.1-2]'],
    ['sport+', false, '[MQTT-4.7.1-2] [MQTT311-4.7.1-3]'],
    ['+sport', false, '[MQTT-4.7.1-2]'],
    ['sport/+a/b', false, '[MQTT-4.7.1-2]'],
    ['++', false, '[MQTT-4.7.1-2]'],
    ['+#', false, '[MQTT-4.7.1-2]'],
    ['sport/++', false, '[MQTT-4.7.1-2]'],
    ['', false, '[MQTT-4.7.3-1] [MQTT311-4.7.3-1]'],
    ['/', true, '[MQTT-4.7.3-1]'],
    ['//', true, '[MQTT-4.7.3-1]'],
    ['a\0', false, '[MQTT-4.7.3-2] [MQTT311-4.7.3-2]'],
    ['a\uD800', false, '[MQTT-1.5.4-1]'],
    ['a b', true, '[MQTT-4.7.3-4]'],
    ['$SYS/#', true, '[MQTT-4.7.2-1]'],
    ['ä/日本/\u{1F600}', true, '[MQTT-4.7.3-3]'],
  ]
  for (const [filter, isValid, tag] of cases) {
    test(`${JSON.stringify(filter)} is ${isValid ? '' : 'not '}valid ${tag}`, () => {
      assert.equal(isValidTopicFilter(filter), isValid)
    })
  }

  test('65,535 bytes are the longest [MQTT-4.7.3-3] [MQTT311-4.7.3-3]', () => {
    assert.ok(isValidTopicFilter('a'.repeat(65_535)))
    assert.ok(!isValidTopicFilter('a'.repeat(65_536)))
    assert.ok(isValidTopicFilter(`${'日'.repeat(21_844)}abc`))
    assert.ok(!isValidTopicFilter(`${'日'.repeat(21_844)}abcd`))
  })

  test('it is what its levels say', () => {
    const anyText = fc.string({ unit: fc.constantFrom('a', '/', '+', '#', '$'), maxLength: 8 })
    fc.assert(
      fc.property(anyText, (filter) => {
        const levels = filter.split('/')
        const isValid =
          filter !== '' &&
          levels.every(
            (level, index) => level === '+' || (level === '#' ? index === levels.length - 1 : !/[+#]/.test(level)),
          )
        assert.equal(isValidTopicFilter(filter), isValid)
      }),
      { numRuns: 5000 },
    )
  })
})

describe('isValidTopicName', () => {
  const cases: readonly (readonly [name: string, isValid: boolean, tag: string])[] = [
    ['a/b', true, '[MQTT-4.7.0-1]'],
    ['/', true, '[MQTT-4.7.3-1]'],
    ['$SYS/x', true, '[MQTT-4.7.2-1]'],
    ['', false, '[MQTT-4.7.3-1] [MQTT311-4.7.3-1]'],
    ['a/+', false, '[MQTT-4.7.0-1] [MQTT311-4.7.1-1]'],
    ['#', false, '[MQTT-4.7.0-1] [MQTT311-4.7.1-1]'],
    ['a+b', false, '[MQTT-4.7.0-1]'],
    ['a\0b', false, '[MQTT-4.7.3-2]'],
    ['\uDC00', false, '[MQTT-1.5.4-1]'],
  ]
  for (const [name, isValid, tag] of cases) {
    test(`${JSON.stringify(name)} is ${isValid ? '' : 'not '}valid ${tag}`, () => {
      assert.equal(isValidTopicName(name), isValid)
    })
  }

  test('65,535 bytes are the longest [MQTT-4.7.3-3]', () => {
    assert.ok(isValidTopicName('a'.repeat(65_535)))
    assert.ok(!isValidTopicName('a'.repeat(65_536)))
    assert.ok(!isValidTopicName('日'.repeat(21_846)))
  })
})

describe('matches', () => {
  const cases: readonly (readonly [filter: string, name: string, isMatch: boolean, tag: string])[] = [
    ['sport/tennis/player1/#', 'sport/tennis/player1', true, '[MQTT-4.7.1-1]'],
    ['sport/tennis/player1/#', 'sport/tennis/player1/ranking', true, '[MQTT-4.7.1-1]'],
    ['sport/tennis/player1/#', 'sport/tennis/player1/score/wimbledon', true, '[MQTT-4.7.1-1]'],
    ['sport/tennis/player1/#', 'sport/tennis/player10', false, '[MQTT-4.7.1-1]'],
    ['sport/#', 'sport', true, '[MQTT-4.7.1-1]'],
    ['sport/#', 'sport/', true, '[MQTT-4.7.1-1]'],
    ['sport/#', 'spor', false, '[MQTT-4.7.1-1]'],
    ['sport/#', 'sports', false, '[MQTT-4.7.1-1]'],
    ['#', 'a/b/c', true, '[MQTT-4.7.1-1]'],
    ['#', '/', true, '[MQTT-4.7.1-1]'],
    ['/#', '/a', true, '[MQTT-4.7.1-1]'],
    ['/#', 'a', false, '[MQTT-4.7.1-1]'],
    ['+/#', 'a', true, '[MQTT-4.7.1-1]'],
    ['+/+/#', 'a', false, '[MQTT-4.7.1-1]'],
    ['sport/tennis/+', 'sport/tennis/player1', true, '[MQTT-4.7.1-2]'],
    ['sport/tennis/+', 'sport/tennis/player1/ranking', false, '[MQTT-4.7.1-2]'],
    ['sport/+', 'sport', false, '[MQTT-4.7.1-2]'],
    ['sport/+', 'sport/', true, '[MQTT-4.7.1-2]'],
    ['+/+', '/finance', true, '[MQTT-4.7.1-2]'],
    ['/+', '/finance', true, '[MQTT-4.7.1-2]'],
    ['+', '/finance', false, '[MQTT-4.7.1-2]'],
    ['+/b', 'a/b', true, '[MQTT-4.7.1-2]'],
    ['+/b', 'a/c', false, '[MQTT-4.7.1-2]'],
    ['a/+/c', 'a//c', true, '[MQTT-4.7.1-2]'],
    ['#', '$SYS/x', false, '[MQTT-4.7.2-1] [MQTT311-4.7.2-1]'],
    ['+/x', '$SYS/x', false, '[MQTT-4.7.2-1]'],
    ['+/#', '$SYS/x', false, '[MQTT-4.7.2-1]'],
    ['+', '$SYS', false, '[MQTT-4.7.2-1]'],
    ['$SYS/#', '$SYS/x', true, '[MQTT-4.7.2-1]'],
    ['$SYS/#', '$SYS', true, '[MQTT-4.7.2-1]'],
    ['$SYS/+', '$SYS/x', true, '[MQTT-4.7.2-1]'],
    ['a/#', 'a/$x', true, '[MQTT-4.7.2-1]'],
    ['a/+', 'a/$x', true, '[MQTT-4.7.2-1]'],
    ['Accounts', 'ACCOUNTS', false, '[MQTT-4.7.3-4]'],
    ['/finance', 'finance', false, '[MQTT-4.7.3-4]'],
    ['finance', 'finance/', false, '[MQTT-4.7.3-4]'],
    ['finance/', 'finance', false, '[MQTT-4.7.3-4]'],
    ['\u00E9', 'e\u0301', false, '[MQTT-4.7.3-4] [MQTT311-4.7.3-4]'],
    ['application/1/#', 'application/12/device/x', false, '[MQTT-4.7.3-4]'],
    ['application/1/device/+/event/+', 'application/1/device/x/event/up', true, '[MQTT-4.7.1-2]'],
    ['application/1/device/+/event/+', 'application/1/../2/event/up', false, '[MQTT-4.7.3-4]'],
  ]
  for (const [filter, name, isMatch, tag] of cases) {
    test(`${JSON.stringify(filter)} ${isMatch ? 'matches' : 'does not match'} ${JSON.stringify(name)} ${tag}`, () => {
      assert.equal(matches(filter, name), isMatch)
    })
  }
})

/** The rule of matching a second time, by levels and recursion, for comparison. */
function matchesByLevels(filter: readonly string[], name: readonly string[]): boolean {
  const [first, ...rest] = filter
  if (first === undefined) return name.length === 0
  if (first === '#') return true
  const [level, ...others] = name
  if (level === undefined) return false
  if (first !== '+' && first !== level) return false
  return others.length === 0 && rest.length === 1 && rest[0] === '#' ? true : matchesByLevels(rest, others)
}

function oracle(filter: string, name: string): boolean {
  if (name.startsWith('$') && /^[+#]/.test(filter)) return false
  return matchesByLevels(filter.split('/'), name.split('/'))
}

/** All sequences of up to `depth` levels. */
function sequences(levels: readonly string[], depth: number): string[] {
  const all = levels.map((level) => [level])
  for (let start = 0, length = 1; length < depth; length++) {
    const end = all.length
    for (const sequence of all.slice(start, end)) all.push(...levels.map((level) => [...sequence, level]))
    start = end
  }
  return all.map((sequence) => sequence.join('/'))
}

describe('every filter and every name of a small alphabet', () => {
  // The level `z` stands for all levels that no filter names, so that containment over these names
  // is containment over all names.
  const names = sequences(['', 'a', 'b', '$a', 'z'], 4).filter(isValidTopicName)
  const filters = sequences(['', 'a', 'b', '$a', '+', '#'], 3).filter(isValidTopicFilter)

  test('matches is what the rule says [MQTT-4.7.1-1] [MQTT-4.7.1-2] [MQTT-4.7.2-1]', () => {
    for (const filter of filters) {
      for (const name of names) assert.equal(matches(filter, name), oracle(filter, name), `${filter} ${name}`)
    }
  })

  test('covers is containment of the sets of names, in both directions', () => {
    const sets = filters.map((filter) => names.map((name) => oracle(filter, name)))
    for (const [index, granted] of filters.entries()) {
      const grantedSet = sets[index] ?? []
      for (const [other, asked] of filters.entries()) {
        const askedSet = sets[other] ?? []
        const isContained = askedSet.every((isIn, place) => !isIn || grantedSet[place] === true)
        assert.equal(covers(granted, asked), isContained, `${granted} covers ${asked}`)
      }
    }
  })
})

/**
 * The filter with some levels replaced by `+`, and perhaps with `#` in the place of the last levels
 * or behind them.
 */
function widened(
  text: string,
  { wild, cut }: { readonly wild: readonly boolean[]; readonly cut: number | null },
): string {
  const levels = text.split('/').map((one, index) => (wild[index] === true && one !== '#' ? '+' : one))
  const filterText = (cut === null ? levels : [...levels.slice(0, cut), '#']).join('/')
  return isValidTopicFilter(filterText) ? filterText : text
}

describe('covers', () => {
  const cases: readonly (readonly [granted: string, asked: string, isCovered: boolean])[] = [
    ['application/5/device/+/event/+', 'application/5/device/0102030405060708/event/up', true],
    ['application/5/device/+/event/+', 'application/5/device/+/event/up', true],
    ['application/5/device/+/event/+', 'application/5/device/+/event/+', true],
    ['application/5/device/+/event/+', 'application/5/device/+/event/#', false],
    ['application/5/device/+/event/+', 'application/5/device/#', false],
    ['application/5/device/+/event/+', 'application/5/device/+/+/up', false],
    ['application/5/device/+/event/+', 'application/+/device/+/event/+', false],
    ['application/5/device/+/event/+', 'application/5/device/+/command/down', false],
    ['application/5/device/+/event/+', 'application/5/device/+/event', false],
    ['application/5/device/+/event/+', 'application/5/device/+/event/', true],
    ['application/5/device/+/event/+', 'application/55/device/+/event/+', false],
    ['application/5/device/+/event/+', '#', false],
    ['application/5/device/+/event/+', '+/#', false],
    ['a/#', 'a', true],
    ['a/#', 'a/#', true],
    ['a/#', 'a/+', true],
    ['a/#', 'a/+/b/#', true],
    ['a/#', '#', false],
    ['a/+', 'a/#', false],
    ['a', 'a/#', false],
    ['a/+/#', 'a/#', false],
    ['a/+/#', 'a/+', true],
    ['#', '+/+', true],
    ['#', '$SYS/#', false],
    ['+/#', '#', true],
    ['#', '+/#', true],
    ['+/+/#', '#', false],
    ['+', '$SYS', false],
    ['$SYS/#', '$SYS', true],
    ['$SYS/#', '#', false],
    ['a/#', 'a/$b', true],
    ['/#', '/', true],
    ['/+', '/', true],
    ['+/+', '/', true],
    ['/+/#', '/#', true],
    ['/+', '/#', false],
    ['+/+/#', '/#', true],
  ]
  for (const [granted, asked, isCovered] of cases) {
    test(`${granted} ${isCovered ? 'covers' : 'does not cover'} ${asked}`, () => {
      assert.equal(covers(granted, asked), isCovered)
    })
  }

  const level = fc.constantFrom('', 'a', 'b', '$a', 'ab', '+')
  const filter = fc
    .tuple(fc.array(level, { minLength: 1, maxLength: 6 }), fc.boolean())
    .map(([levels, isOpen]) => (isOpen ? [...levels, '#'] : levels).join('/'))
    .filter(isValidTopicFilter)
  const name = fc
    .array(fc.constantFrom('', 'a', 'b', '$a', 'ab', 'c'), { minLength: 1, maxLength: 7 })
    .map((levels) => levels.join('/'))
    .filter(isValidTopicName)

  const choices = fc.record({
    wild: fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }),
    cut: fc.option(fc.nat({ max: 8 })),
  })
  test('what a covered filter matches, the covering one matches', () => {
    let count = 0
    fc.assert(
      fc.property(name, choices, choices, (topicName, forAsked, forGranted) => {
        const asked = widened(topicName, forAsked)
        const granted = widened(asked, forGranted)
        if (!covers(granted, asked) || !matches(asked, topicName)) return
        count++
        assert.ok(matches(granted, topicName))
      }),
      { numRuns: 5000 },
    )
    assert.ok(count > 1000, `only ${count} cases had something to say`)
  })

  test('it is reflexive and transitive, and for a Topic Name the same as matching', () => {
    fc.assert(
      fc.property(filter, filter, filter, name, (one, two, three, topicName) => {
        assert.ok(covers(one, one))
        if (covers(one, two) && covers(two, three)) assert.ok(covers(one, three))
        assert.equal(covers(one, topicName), matches(one, topicName))
      }),
      { numRuns: 5000 },
    )
  })

  test('matching is the same as by levels', () => {
    fc.assert(
      fc.property(filter, name, (topicFilter, topicName) => {
        assert.equal(matches(topicFilter, topicName), oracle(topicFilter, topicName))
      }),
      { numRuns: 10_000 },
    )
  })
})

describe('parseSharedSubscription', () => {
  const cases: readonly (readonly [
    filter: string,
    expected: ReturnType<typeof parseSharedSubscription>,
    tag: string,
  ])[] = [
    ['a/b', undefined, '[MQTT-4.8.2-1]'],
    ['$share', undefined, '[MQTT-4.8.2-1]'],
    ['$shared/g/a', undefined, '[MQTT-4.8.2-1]'],
    ['$Share/g/a', undefined, '[MQTT-4.8.2-1]'],
    ['/$share/g/a', undefined, '[MQTT-4.8.2-1]'],
    ['$share/g/a', { shareName: 'g', topicFilter: 'a' }, '[MQTT-4.8.2-1]'],
    ['$share/g/#', { shareName: 'g', topicFilter: '#' }, '[MQTT-4.8.2-2]'],
    ['$share/g/+/b', { shareName: 'g', topicFilter: '+/b' }, '[MQTT-4.8.2-2]'],
    ['$share/g//a', { shareName: 'g', topicFilter: '/a' }, '[MQTT-4.8.2-2]'],
    ['$share/g//', { shareName: 'g', topicFilter: '/' }, '[MQTT-4.8.2-2]'],
    ['$share/$x/$SYS/#', { shareName: '$x', topicFilter: '$SYS/#' }, '[MQTT-4.8.2-2]'],
    ['$share/g/$share/h/a', { shareName: 'g', topicFilter: '$share/h/a' }, '[MQTT-4.8.2-2]'],
    ['$share/', 'invalid', '[MQTT-4.8.2-1]'],
    ['$share//a', 'invalid', '[MQTT-4.8.2-1]'],
    ['$share/g', 'invalid', '[MQTT-4.8.2-2]'],
    ['$share/g/', 'invalid', '[MQTT-4.8.2-2]'],
    ['$share/+/a', 'invalid', '[MQTT-4.8.2-2]'],
    ['$share/a+/a', 'invalid', '[MQTT-4.8.2-2]'],
    ['$share/#/a', 'invalid', '[MQTT-4.8.2-2]'],
    ['$share/#', 'invalid', '[MQTT-4.8.2-2]'],
    ['$share/g/a#', 'invalid', '[MQTT-4.7.1-1]'],
    ['$share/g/a+', 'invalid', '[MQTT-4.7.1-2]'],
    ['$share/\0/a', 'invalid', '[MQTT-4.7.3-2]'],
  ]
  for (const [filter, expected, tag] of cases) {
    test(`${JSON.stringify(filter)} is ${JSON.stringify(expected) ?? 'not shared'} ${tag}`, () => {
      assert.deepEqual(parseSharedSubscription(filter), expected)
    })
  }
})
