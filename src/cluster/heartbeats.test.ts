/** Heartbeats by a clock that stands still: who looks dead, and when. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { TestClock } from '../clock.testing.ts'
import { Heartbeats } from './heartbeats.ts'

const BEAT_MS = 500

/** A wire that brings each heartbeat to all nodes, unless a test cuts it. */
class Wire {
  readonly clock = new TestClock()
  readonly nodes = new Map<string, Heartbeats>()
  readonly silent: string[] = []
  readonly heard: string[] = []
  readonly stuck: string[] = []
  /** The nodes that know all living ones. */
  readonly settled: string[] = []
  isCut = false
  /** Heartbeats of these nodes get lost. */
  readonly mute = new Set<string>()
  readonly kept: Buffer[] = []
  keeps = false

  join(name: string): Heartbeats {
    const node = new Heartbeats({
      clock: this.clock,
      self: { name, incarnation: name.repeat(16) },
      version: '1',
      send: (bytes) => this.#send(name, bytes),
      silent: (other) => this.silent.push(`${name}: ${other.name}`),
      heard: (other) => this.heard.push(`${name}: ${other.name}`),
      echo: () => {},
      stuck: () => this.stuck.push(name),
    })
    this.nodes.set(name, node)
    void node.begin().then(() => this.settled.push(name))
    return node
  }

  beats(count: number): void {
    for (let beat = 0; beat < count; beat += 1) this.clock.advance(BEAT_MS)
  }

  release(): void {
    this.keeps = false
    for (const bytes of this.kept.splice(0)) for (const node of this.nodes.values()) node.hear(bytes)
  }

  #send(name: string, bytes: Buffer): void {
    if (this.isCut || this.mute.has(name)) return
    if (this.keeps) this.kept.push(bytes)
    else for (const node of this.nodes.values()) node.hear(bytes)
  }
}

describe('heartbeats', () => {
  test('a new node has heard all living ones after two of its own', async () => {
    const wire = new Wire()
    wire.join('a').isReady = true
    const b = wire.join('b')
    wire.beats(2)
    await new Promise(setImmediate)
    assert.deepEqual(wire.settled, ['a', 'b'])
    assert.deepEqual(
      b.living().map(({ name, isReady }) => [name, isReady]),
      [
        ['a', true],
        ['b', false],
      ],
    )
  })

  test('a node is silent after six heartbeats of the others, and may be heard again', () => {
    const wire = new Wire()
    const a = wire.join('a')
    wire.join('b')
    wire.beats(2)
    wire.mute.add('b')
    wire.beats(5)
    assert.deepEqual(wire.silent, [])
    assert.deepEqual(
      a.living().map(({ name, silentMs }) => [name, silentMs]),
      [
        ['a', 0],
        ['b', 2_500],
      ],
    )
    wire.beats(1)
    assert.deepEqual(wire.silent, ['a: b'])
    assert.deepEqual(
      a.living().map(({ name }) => name),
      ['a'],
    )
    wire.mute.delete('b')
    wire.beats(1)
    assert.equal(a.isHeard('b'.repeat(16)), true)
    assert.equal(wire.heard.filter((heard) => heard === 'a: b').length, 2)
  })

  test('an outage of the servers lets nobody look dead, and asks for another connection', () => {
    const wire = new Wire()
    const a = wire.join('a')
    wire.join('b')
    wire.beats(2)
    wire.isCut = true
    wire.beats(20)
    assert.deepEqual(wire.silent, [])
    assert.equal(wire.stuck.filter((name) => name === 'a').length, 3)
    assert.equal(a.deafMs, 10_000)
    assert.equal(a.living()[0]?.silentMs, 10_000)
    wire.isCut = false
    wire.beats(2)
    assert.equal(a.deafMs, 0)
    assert.deepEqual(wire.silent, [])
  })

  test('after an outage others have five seconds more to connect again', () => {
    const wire = new Wire()
    wire.join('a')
    wire.join('b')
    wire.beats(8)
    wire.isCut = true
    wire.beats(6)
    wire.isCut = false
    wire.mute.add('b')
    wire.beats(16)
    assert.deepEqual(wire.silent, [])
    wire.beats(2)
    assert.deepEqual(wire.silent, ['a: b'])
  })

  test('own heartbeats that come in a heap count once', () => {
    const wire = new Wire()
    wire.join('a')
    wire.join('b')
    wire.beats(2)
    wire.mute.add('b')
    wire.keeps = true
    wire.beats(10)
    wire.release()
    assert.deepEqual(wire.silent, [])
  })

  test('bytes that are no heartbeat are ignored', () => {
    const wire = new Wire()
    const a = wire.join('a')
    for (const text of ['', '{', 'null', '[]', '{"name":1}', '{"name":"b","incarnation":"b"}'])
      a.hear(Buffer.from(text))
    assert.equal(a.living().length, 1)
  })
})
