/** Retained messages of topics that are over go away, from memory and from the state. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ManualClock, createHarness } from '../../../test/support/broker-harness.ts'
import type { Harness } from '../../../test/support/broker-harness.ts'
import { SurvivingEngine } from '../../../test/support/surviving-engine.ts'

interface Scene extends Harness {
  readonly over: Set<string>
  readonly clock: ManualClock
  /** The Topic Names with a retained message in memory, and in the state. */
  readonly kept: () => Promise<readonly (readonly string[])[]>
}

async function createScene(engine: SurvivingEngine, over = new Set<string>()): Promise<Scene> {
  const clock = new ManualClock()
  const isOver = async (topicName: string): Promise<boolean> => over.has(topicName)
  const harness = await createHarness({ engine, clock, isOver })
  const kept = async (): Promise<readonly (readonly string[])[]> => {
    const keys: string[] = []
    for await (const { key } of engine.load('retained/')) keys.push(key.slice('retained/'.length))
    return [[...harness.broker.retained.topicNames('')].toSorted(), keys.toSorted()]
  }
  return { ...harness, over, clock, kept }
}

async function retain({ connect }: Harness, topicNames: readonly string[]): Promise<void> {
  const publisher = await connect()
  for (const topicName of topicNames) {
    publisher.publish(topicName, 'kept', { qos: 1, retain: true })
    await publisher.next('puback')
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('retained messages of topics that are over', () => {
  it('go at once when their prefix is removed, and no others', async () => {
    const scene = await createScene(new SurvivingEngine())
    await retain(scene, ['application/5/a', 'application/5/b/c', 'application/50/a', 'application/5'])
    scene.broker.removeRetainedUnder('application/5/')
    await turn()
    const left = ['application/5', 'application/50/a']
    assert.deepEqual(await scene.kept(), [left, left])
    assert.equal(scene.broker.usageOf('tenant').retainedMessages, 2)
  })

  it('go though they came to the log after the removal', async () => {
    const scene = await createScene(new SurvivingEngine())
    scene.broker.removeRetainedUnder('application/5/')
    await retain(scene, ['application/5/a'])
    scene.over.add('application/5/a')
    scene.clock.advance(scene.broker, 1)
    await turn()
    await turn()
    assert.deepEqual(await scene.kept(), [[], []])
  })

  it('go after a restart, some in each second', async () => {
    const engine = new SurvivingEngine()
    const topicNames = Array.from({ length: 500 }, (_, index) => `a/${index}`)
    await retain(await createScene(engine), [...topicNames, 'b'])
    const scene = await createScene(engine, new Set(topicNames))
    for (const left of [301, 101, 1]) {
      scene.clock.advance(scene.broker, 1)
      while (scene.broker.retained.count > left) await turn()
      await turn()
      assert.equal(scene.broker.retained.count, left)
    }
    await turn()
    assert.deepEqual(await scene.kept(), [['b'], ['b']])
  })
})
