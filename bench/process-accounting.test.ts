import assert from 'node:assert/strict'
import test from 'node:test'
import {
  cpuNanoseconds,
  parseOpenFilesLimit,
  parseResident,
  parseSchedstat,
  parseStat,
  residentBytes,
} from './process-accounting.ts'

test('CPU time is the first number of schedstat', () => {
  assert.equal(parseSchedstat('1022909265 11686831 78\n'), 1_022_909_265)
})

test('user and system ticks are found behind a name with blanks and parentheses', () => {
  const stat = '42 (a (b) c) S 1 42 42 0 -1 4194560 3609 0 0 0 102 3 0 0 20 0 7 0 342676'
  assert.equal(parseStat(stat), 1_050_000_000)
})

test('resident memory is told in bytes', () => {
  assert.equal(parseResident('Name:\tx\nVmHWM:\t  900 kB\nVmRSS:\t  640 kB\n'), 655_360)
})

test('the limit of open files is the soft one', () => {
  assert.equal(parseOpenFilesLimit('Max processes  5  6  processes\nMax open files  20000  30000  files\n'), 20_000)
  assert.equal(
    parseOpenFilesLimit('Max open files            unlimited            unlimited            files'),
    Infinity,
  )
})

test('a file of another form is an error, not a zero', () => {
  assert.throws(() => parseResident('Name:\tx\n'), /status/)
  assert.throws(() => parseStat('42 (x) S'), /stat/)
})

test('the CPU time of this process grows with its work, and it has memory', () => {
  const before = cpuNanoseconds(process.pid)
  let sum = 0
  while (cpuNanoseconds(process.pid) < before + 2e6) sum += 1
  assert.ok(sum > 0)
  assert.ok(residentBytes(process.pid) > 1e6)
})

test('a process that does not exist is an error', () => {
  assert.throws(() => cpuNanoseconds(2 ** 22 + 1))
})
