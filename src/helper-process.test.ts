import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync } from 'node:fs'
import { after, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startHelper } from './helper-process.ts'
import type { HelperProcess } from './helper-process.ts'
import type { TestAnswer, TestJob } from './helper-process.testing.ts'

const PROGRAM = new URL('./helper-process.testing.ts', import.meta.url)

/** A helper that answers one job after the other. */
class TestHelper {
  readonly process: HelperProcess<TestJob>
  readonly ended = Promise.withResolvers<Error>()
  #answer = Promise.withResolvers<TestAnswer>()

  private constructor() {
    this.process = startHelper<TestJob, TestAnswer>({
      program: PROGRAM,
      heapMb: 64,
      onMessage: (message) => this.#answer.resolve(message),
      onEnd: (reason) => this.ended.resolve(reason),
    })
  }

  static async start(): Promise<TestHelper> {
    const helper = new TestHelper()
    helpers.push(helper)
    await helper.#answer.promise
    return helper
  }

  ask(job: TestJob): Promise<TestAnswer> {
    this.#answer = Promise.withResolvers()
    this.process.send(job)
    return this.#answer.promise
  }
}

const helpers: TestHelper[] = []

after(async () => {
  await Promise.all(helpers.map((helper) => helper.process.kill()))
})

/** Starts a helper in a parent that then does nothing. Resolves when both have said something. */
async function startBelow(job: TestJob) {
  const source = `
    import { startHelper } from ${JSON.stringify(fileURLToPath(new URL('./helper-process.ts', import.meta.url)))}
    let isReady = false
    const helper = startHelper({
      program: new URL(${JSON.stringify(PROGRAM.href)}),
      heapMb: 64,
      onMessage: () => {
        if (isReady) console.log('answered')
        else helper.send(${JSON.stringify(job)})
        isReady = true
      },
      onEnd: () => console.log('ended'),
    })`
  const parent = spawn(process.execPath, ['--input-type=module', '--eval', source], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [said] = (await once(parent.stdout, 'data')) as [Buffer]
  assert.equal(said.toString().trim(), 'answered')
  return parent
}

describe('a helper process', () => {
  it('answers one job after the other, and any text comes back as it was', async () => {
    const helper = await TestHelper.start()
    for (const text of ['', 'ünï \ud83d\ude00', '\ud800 alone', '\u0000\n"\\', 'x'.repeat(1_000_000)]) {
      assert.equal((await helper.ask({ what: 'echo', text })).text, text)
    }
  })

  it('has none of the variables, files and folders of the process that started it', async () => {
    process.env.FIELDGATE_TEST_SECRET = 'secret'
    const file = openSync(fileURLToPath(import.meta.url), 'r')
    try {
      const helper = await TestHelper.start()
      const { environment, folder, files } = await helper.ask({ what: 'tell' })
      const shared = Object.keys(environment).filter((name) => name in process.env)
      assert.deepEqual(
        shared.filter((name) => name !== 'TZ' && !name.startsWith('BUN_')),
        [],
      )
      assert.equal(environment.FIELDGATE_TEST_SECRET, undefined)
      assert.equal(folder, '/')
      assert.equal(files.includes(fileURLToPath(import.meta.url)), false)
    } finally {
      closeSync(file)
      delete process.env.FIELDGATE_TEST_SECRET
    }
  })

  it('is in UTC, whatever the time zone of the process that started it', async () => {
    const before = process.env.TZ
    process.env.TZ = 'Asia/Tokyo'
    try {
      const helper = await TestHelper.start()
      assert.equal((await helper.ask({ what: 'tell' })).environment.TZ, 'UTC')
    } finally {
      if (before === undefined) delete process.env.TZ
      else process.env.TZ = before
    }
  })

  it('is killed out of an endless loop, and is gone when it says so', async () => {
    const helper = await TestHelper.start()
    const { pid } = await helper.ask({ what: 'loop' })
    await helper.process.kill()
    assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' })
    assert.equal((await helper.ended.promise).message, 'it ended with SIGKILL')
    await helper.process.kill()
  })

  it('tells how it ended by itself, and takes a job that is lost', async () => {
    const helper = await TestHelper.start()
    helper.process.send({ what: 'exit' })
    assert.equal((await helper.ended.promise).message, 'it ended with code 7')
    helper.process.send({ what: 'echo' })
    await helper.process.kill()
  })

  const hasProc = existsSync('/proc/self/status')
  it('has a memory that is told while it lives', { skip: hasProc ? false : 'there is no /proc' }, async () => {
    const helper = await TestHelper.start()
    const before = helper.process.residentBytes() ?? 0
    assert.ok(before > 10_000_000 && before < 1_000_000_000, String(before))
    await helper.ask({ what: 'grow' })
    const grown = (helper.process.residentBytes() ?? 0) - before
    assert.ok(grown > 150_000_000, String(grown))
    await helper.process.kill()
    assert.equal(helper.process.residentBytes(), undefined)
  })

  it('goes on when a signal reaches the whole group of processes', async () => {
    const helper = await TestHelper.start()
    const { pid } = await helper.ask({ what: 'tell' })
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.kill(pid, signal)
      assert.equal((await helper.ask({ what: 'echo', text: signal })).text, signal)
    }
  })

  // The helper has the error output of its parent: this output ends when both are gone.
  for (const [title, job] of [
    ['ends with its parent', { what: 'echo' }],
    ['ends with its parent in the middle of an endless loop', { what: 'loop' }],
  ] as const) {
    it(title, async () => {
      const parent = await startBelow(job)
      const closed = once(parent, 'close')
      parent.kill('SIGKILL')
      assert.deepEqual(await closed, [null, 'SIGKILL'])
    })
  }
})
