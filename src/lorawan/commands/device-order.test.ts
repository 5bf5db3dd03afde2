import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DeviceOrder } from './device-order.ts'

const DEVICE = '0102030405060708'

function started() {
  const order = new DeviceOrder<string>((answer) => answer.startsWith('away'))
  const begun: string[] = []
  const release = new Map<string, (answer: string) => void>()
  const run = (name: string, devEui = DEVICE): Promise<string> =>
    order.run(
      devEui,
      () => {
        begun.push(name)
        return new Promise((resolve) => release.set(name, resolve))
      },
      () => `refused ${name}`,
    )
  return { order, begun, release, run }
}

async function turn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
}

test('the work on a device is done in order, and other devices do not wait', async () => {
  const { order, begun, release, run } = started()
  const answers = [run('a'), run('b'), run('c', 'other')]
  await turn()
  assert.deepEqual(begun, ['a', 'c'])
  release.get('a')?.('done a')
  await turn()
  assert.deepEqual(begun, ['a', 'c', 'b'])
  release.get('b')?.('done b')
  release.get('c')?.('done c')
  assert.deepEqual(await Promise.all(answers), ['done a', 'done b', 'done c'])
  assert.equal(order.isFree(DEVICE), true)
})

test('work that waits behind a command that could not be stored is refused, and later work is done', async () => {
  const { begun, release, run } = started()
  const answers = [run('a'), run('b'), run('c'), run('d', 'other')]
  await turn()
  release.get('a')?.('away a')
  release.get('d')?.('done d')
  assert.deepEqual(await Promise.all(answers), ['away a', 'refused b', 'refused c', 'done d'])
  const later = run('e')
  await turn()
  assert.deepEqual(begun, ['a', 'd', 'e'])
  release.get('e')?.('done e')
  assert.equal(await later, 'done e')
})

test('work that fails refuses nothing', async () => {
  const order = new DeviceOrder<string>(() => true)
  const failing = order.run(
    DEVICE,
    () => Promise.reject(new Error('the registry is away')),
    () => 'refused',
  )
  const next = order.run(
    DEVICE,
    async () => 'done',
    () => 'refused',
  )
  await assert.rejects(failing, /registry/)
  assert.equal(await next, 'done')
})
