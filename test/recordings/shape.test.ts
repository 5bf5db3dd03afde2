import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { differences, eventDifferences, shapeOf } from './shape.ts'

const REAL = [
  { id: '8b3c0f7e-3b1a-4f57-9a3e-0a0d8c1b2f4d', snr: 9.5, list: [{ a: 1 }, { a: 2, b: true }], code: 'OTAA' },
  { id: '8b3c0f7e-3b1a-4f57-9a3e-0a0d8c1b2f4e', snr: -3, list: [], code: 'EXPIRED', extra: { x: '1s' } },
]

describe('a difference between an imitation and the real shape', () => {
  it('is not found if the imitation has all constant members, with values of the same kinds', () => {
    assert.deepEqual(found([{ ...REAL[0], snr: 1 }]), [])
    assert.deepEqual(found(REAL), [])
  })

  it('is a member that the real one has not, and one that it lacks', () => {
    assert.deepEqual(found([{ ...REAL[0], wish: 1 }]), ['wish: the real one has no such member'])
    assert.deepEqual(found([{ id: REAL[0]?.id, list: [], code: 'OTAA' }]), ['snr: is missing'])
    assert.deepEqual(found([...REAL, { id: REAL[0]?.id, list: [], code: 'OTAA' }]), [
      'snr: is missing in some, and never in the real one',
    ])
  })

  it('is looked for within lists and objects', () => {
    assert.deepEqual(found([{ ...REAL[0], list: [{ a: 1, c: 1 }] }]), ['list[].c: the real one has no such member'])
    assert.deepEqual(found([{ ...REAL[0], list: [{ b: true }] }]), ['list[].a: is missing'])
    assert.deepEqual(found([{ ...REAL[0], extra: {} }]), ['extra.x: is missing'])
  })

  it('is a value of another kind, or a word that the real one never says', () => {
    assert.deepEqual(found([{ ...REAL[0], id: '7' }]), ['id: digits, where the real one has uuid'])
    assert.deepEqual(found([{ ...REAL[0], code: 'WISH' }]), [
      'code: word WISH, where the real one has word OTAA, word EXPIRED',
    ])
    assert.deepEqual(found([{ ...REAL[0], list: [{ a: 1.5 }] }]), ['list[].a: number, where the real one has integer'])
  })

  it('fails at a number out of its bounds', () => {
    assert.throws(() => shapeOf([{ margin: 32 }]), /margin: 32 is not from -32 to 31/)
  })

  it('is told for each kind of event, and for each code of a fault', () => {
    const real = [fault('OTAA', { context: 1 }), fault('EXPIRED', {})]
    assert.deepEqual(eventDifferences([fault('OTAA', {}), fault('WISH', {})], real), [
      'log OTAA: context: is missing',
      'log WISH: the real one tells of no such thing',
    ])
  })
})

function found(imitation: readonly object[]): string[] {
  return differences(shapeOf(imitation), shapeOf(REAL))
}

function fault(code: string, members: object): { readonly kind: string; readonly payload: object } {
  return { kind: 'log', payload: { code, ...members } }
}
