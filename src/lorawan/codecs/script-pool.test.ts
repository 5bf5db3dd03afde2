import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { after, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../../clock.ts'
import type { SteadyMs } from '../../clock.ts'
import { silentLogger } from '../../logger.ts'
import { callOf } from './sandbox.testing.ts'
import { GATHER_MS, HARD_TIME_MS, MAXIMUM_WAITING_KIB_PER_APPLICATION, PROCESS_START_MS } from './script-limits.ts'
import { ScriptPool } from './script-pool.ts'
import type { PoolClock, ScriptRun } from './script-pool.ts'

/** Stands still until it is moved: no process is killed because the machine is slow. */
class StandingClock implements PoolClock {
  /** Messages that went to processes: each of them is watched by a timer. */
  messages = 0
  #nowMs = 0
  readonly #timers = new Set<{ readonly ms: number; readonly dueMs: number; readonly run: () => void }>()
  #wake: () => void = () => {}

  steady(): SteadyMs {
    return this.#nowMs as SteadyMs
  }

  after(ms: number, run: () => void): () => void {
    if (ms === HARD_TIME_MS) this.messages += 1
    const timer = { ms, dueMs: this.#nowMs + ms, run }
    this.#timers.add(timer)
    this.#wake()
    return () => this.#timers.delete(timer)
  }

  /** Resolves as soon as a timer of this duration is set. */
  async awaited(ms: number): Promise<void> {
    while (![...this.#timers].some((timer) => timer.ms === ms)) {
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }

  advance(ms: number): void {
    this.#nowMs += ms
    const due = [...this.#timers].filter(({ dueMs }) => dueMs <= this.#nowMs)
    for (const timer of due) if (this.#timers.delete(timer)) timer.run()
  }
}

const pools: ScriptPool[] = []

function pool(workers = 2, clock = new StandingClock(), msPerSecond = Infinity): ScriptPool {
  const msPerSecondOf = (organizationId: string): number => (organizationId === 'victim' ? Infinity : msPerSecond)
  const made = new ScriptPool({ workers, clock, log: silentLogger, msPerSecondOf })
  pools.push(made)
  return made
}

after(async () => {
  await Promise.all(pools.map((one) => one.close()))
})

const QUICK = 'function Decode(fPort) { return fPort }'
const ENDLESS = 'function Decode() { for (;;); }'
/** Loops inside one built-in function, where the engine never looks at its clock. */
const UNSTOPPABLE = 'function Decode() { return Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1) }'

function job(organizationId: string, script: string, fPort = 2, key = `application of ${organizationId}`) {
  return { organizationId, key, script, call: callOf('decodeUplink', { fPort }) }
}

/** Is quick except for two ports: with one it never ends, with the other only a kill ends it. */
const TREACHEROUS = `function Decode(fPort) {
  if (fPort === 200) for (;;);
  return fPort === 201 ? Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1) : fPort
}`

/** Runs jobs of each organization until it is known as quick. */
async function makeQuick(ours: ScriptPool, organizations: readonly string[]): Promise<void> {
  for (const organization of organizations) {
    for (let n = 0; !ours.time.isQuick(organization) && n < 20; n += 1) {
      await Promise.all(Array.from({ length: 256 }, () => ours.run(job(organization, TREACHEROUS))))
    }
    assert.ok(ours.time.isQuick(organization))
  }
}

function summary({ outcome }: ScriptRun): string {
  return outcome.ok ? outcome.json : outcome.code
}

describe('the pool of scripts', () => {
  it('runs jobs of one application in order and gives each its own answer', async () => {
    const ours = pool()
    const runs = await Promise.all(Array.from({ length: 50 }, (_, n) => ours.run(job('o', QUICK, n))))
    assert.deepEqual(
      runs.map(summary),
      Array.from({ length: 50 }, (_, n) => String(n)),
    )
    assert.ok(ours.counters.workers <= 1, 'an application needs one process')
  })

  it('runs a script that was changed, not the one before', async () => {
    const ours = pool()
    assert.equal(summary(await ours.run(job('o', QUICK))), '2')
    assert.equal(summary(await ours.run(job('o', 'function Decode() { return "new" }'))), '"new"')
    assert.equal(summary(await ours.run(job('o', QUICK))), '2')
  })

  it('keeps hundreds of scripts loaded in one process, and mixes none of them up', async () => {
    const ours = pool(1)
    for (let round = 0; round < 3; round += 1) {
      for (let n = 0; n < 300; n += 1) {
        const script = `var me = ${n}; function Decode() { return me++ }`
        assert.equal(summary(await ours.run(job('o', script, 2, `application ${n}`))), String(n))
      }
    }
    assert.equal(ours.counters.loads, 300)
  })

  it('loads the same text once for all applications that have it', async () => {
    const ours = pool(1)
    for (let n = 0; n < 40; n += 1)
      assert.equal(summary(await ours.run(job('o', QUICK, n, `application ${n}`))), String(n))
    assert.equal(ours.counters.loads, 1)
  })

  it('lets a script make some hundred calls within calls', async () => {
    const deep = 'function f(n) { return n === 0 ? 0 : 1 + f(n - 1) } function Decode() { return f(700) }'
    assert.equal(summary(await pool(1).run(job('o', deep))), '700')
  })

  it('keeps the scripts of others loaded when one uses up the stack', async () => {
    const ours = pool(1)
    const deep = `function Decode() { return JSON.parse('['.repeat(1e6)) }`
    assert.equal(summary(await ours.run(job('victim', QUICK))), '2')
    assert.notEqual(summary(await ours.run(job('o', deep))), '2')
    assert.equal(summary(await ours.run(job('victim', QUICK))), '2')
    assert.equal(ours.counters.loads, 2)
  })

  it('fails a job whose script is not in time, and goes on', async () => {
    const ours = pool()
    assert.equal(summary(await ours.run(job('o', ENDLESS))), 'time_exceeded')
    assert.equal(summary(await ours.run(job('p', QUICK))), '2')
    assert.equal(ours.counters.kills, 0)
  })

  it('kills a process that does not answer, replaces it, and holds the script back', async () => {
    const clock = new StandingClock()
    const ours = pool(1, clock)
    const stuck = ours.run(job('o', UNSTOPPABLE))
    const waiting = ours.run(job('p', QUICK))
    await clock.awaited(HARD_TIME_MS)
    clock.advance(HARD_TIME_MS - 1)
    assert.deepEqual([ours.counters.kills, ours.counters.waiting], [0, 1])
    clock.advance(1)
    assert.equal(summary(await stuck), 'time_exceeded')
    assert.equal((await stuck).durationMs, HARD_TIME_MS)
    assert.equal(summary(await waiting), '2')
    assert.equal(ours.counters.kills, 1)
    const again = await ours.run(job('o', UNSTOPPABLE))
    assert.equal(summary(again), 'script_quarantined')
    assert.equal(summary(await ours.run(job('o', QUICK))), '2', 'another script of the application runs')
  })

  it('kills it by the clock of the machine as well, in time, and it is gone', async () => {
    const ours = new ScriptPool({ workers: 1, clock: systemClock, log: silentLogger })
    pools.push(ours)
    assert.equal(summary(await ours.run(job('o', QUICK))), '2')
    const stuck = await ours.run(job('o', UNSTOPPABLE))
    const { durationMs } = stuck
    assert.equal(summary(stuck), 'time_exceeded')
    assert.ok(durationMs >= HARD_TIME_MS && durationMs < 2 * HARD_TIME_MS, `${durationMs} ms`)
    assert.equal(summary(await ours.run(job('p', QUICK))), '2')
    assert.equal(ours.counters.kills, 1)
    await ours.close()
  })

  it('does not run what waits for a script that is held back meanwhile', async () => {
    const ours = pool(2)
    const runs = await Promise.all(Array.from({ length: 10 }, () => ours.run(job('o', ENDLESS))))
    assert.deepEqual(runs.map(summary), [...Array(3).fill('time_exceeded'), ...Array(7).fill('script_quarantined')])
    assert.deepEqual([ours.counters.runs, ours.counters.refusals, ours.counters.waiting], [3, 7, 0])
  })

  it('lets other organizations decode while a script of one does not come to an end', async () => {
    const clock = new StandingClock()
    const ours = pool(2, clock)
    assert.equal(summary(await ours.run(job('victim', QUICK))), '2')
    const answersVictims = async (): Promise<void> => {
      // While the clock stands the hostile script runs. Each of these answers comes meanwhile.
      for (let fPort = 1; fPort <= 20; fPort += 1) {
        assert.equal(summary(await ours.run(job('victim', QUICK, fPort))), String(fPort))
      }
    }
    const stuck = [0, 1, 2].map((n) => ours.run(job('hostile', UNSTOPPABLE, 2, `unstoppable ${n}`)))
    // Together they have one process. Nobody knows which of them was stuck, so each runs again.
    await clock.awaited(HARD_TIME_MS)
    await answersVictims()
    assert.deepEqual([ours.counters.kills, ours.counters.waiting], [0, 0])
    clock.advance(HARD_TIME_MS)
    for (const [n, run] of stuck.entries()) {
      await clock.awaited(HARD_TIME_MS)
      await answersVictims()
      assert.deepEqual([ours.counters.kills, ours.counters.waiting], [n + 1, stuck.length - 1 - n])
      clock.advance(HARD_TIME_MS)
      assert.equal(summary(await run), 'time_exceeded')
    }
  })

  it('runs the quick jobs that came together with a stuck one, in their order', async () => {
    const clock = new StandingClock()
    const ours = pool(2, clock)
    const done: number[] = []
    const runs = [1, 2, 3, 4].map(async (fPort) => {
      const script = fPort === 2 ? UNSTOPPABLE : QUICK
      const run = await ours.run(job('o', script, fPort, fPort === 2 ? 'stuck' : 'quick'))
      done.push(fPort)
      return summary(run)
    })
    await clock.awaited(HARD_TIME_MS)
    clock.advance(HARD_TIME_MS)
    // Each runs alone now, and only the stuck one is held back.
    assert.equal(await runs[0], '1')
    await clock.awaited(HARD_TIME_MS)
    clock.advance(HARD_TIME_MS)
    assert.deepEqual(await Promise.all(runs), ['1', 'time_exceeded', '3', '4'])
    assert.deepEqual(
      done.filter((fPort) => fPort !== 2),
      [1, 3, 4],
    )
    assert.equal(summary(await ours.run(job('o', UNSTOPPABLE, 2, 'stuck'))), 'script_quarantined')
    assert.equal(summary(await ours.run(job('o', QUICK, 2, 'quick'))), '2')
  })

  it('lets a job of another organization wait for no more than some ms of jobs that run together', async () => {
    const ours = pool(1)
    const busy = 'function Decode() { for (var i = 0; i < 2e6; i++); return 1 }'
    await Promise.all([ours.run(job('o', busy)), ours.run(job('victim', QUICK))])
    const order: string[] = []
    const many = Array.from({ length: 20 }, async (_, n) => {
      await ours.run(job('o', busy, n))
      order.push('o')
    })
    const other = ours.run(job('victim', QUICK)).then(() => order.push('victim'))
    await Promise.all([...many, other])
    assert.ok(order.indexOf('victim') < 10, order.join())
  })

  it('runs jobs of organizations that are known as quick in one message', async () => {
    const clock = new StandingClock()
    const ours = pool(2, clock)
    const messages = async (): Promise<number> => {
      const before = clock.messages
      const runs = ['o', 'p', 'q'].flatMap((organization) =>
        [1, 2].map((fPort) => ours.run(job(organization, TREACHEROUS, fPort))),
      )
      assert.deepEqual((await Promise.all(runs)).map(summary), ['1', '2', '1', '2', '1', '2'])
      return clock.messages - before
    }
    // Where the machine is busy, a message is cut short now and then.
    const fewest = async (): Promise<number> => {
      let found = Infinity
      for (let n = 0; n < 20; n += 1) found = Math.min(found, await messages())
      return found
    }
    assert.equal(await fewest(), 3, 'nobody knows them yet')
    await makeQuick(ours, ['o', 'p'])
    assert.equal(await fewest(), 2, 'one of them is not known')
    await makeQuick(ours, ['q'])
    assert.equal(await fewest(), 1)
  })

  it('lets uplinks gather behind a message, and hands a job that does not gather out with them at once', async () => {
    const clock = new StandingClock()
    const ours = pool(2, clock)
    await ours.run(job('o', QUICK))
    const before = clock.messages
    const uplink = (fPort: number): Promise<ScriptRun> => ours.run({ ...job('o', QUICK, fPort), mayGather: true })
    const first = [uplink(1), uplink(2)]
    await new Promise((resolve) => setImmediate(resolve))
    const second = uplink(3)
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(clock.messages - before, 0)
    clock.advance(GATHER_MS)
    assert.deepEqual((await Promise.all([...first, second])).map(summary), ['1', '2', '3'])
    assert.equal(clock.messages - before, 1)
    const waiting = uplink(4)
    assert.equal(summary(await ours.run(job('o', QUICK, 5))), '5')
    assert.equal(summary(await waiting), '4')
    assert.equal(clock.messages - before, 2)
  })

  it('runs what came in one message with a long run elsewhere, while that run goes on', async () => {
    const ours = pool(2)
    // A busy machine may give a process no time at all during a run, so there are some attempts.
    // The first one also starts the second process.
    let done: string[] = []
    for (let n = 0; n < 10 && (n === 0 || !done.at(-1)?.startsWith('hostile')); n += 1) {
      const hostile = `hostile ${n}`
      await makeQuick(ours, ['o', 'p', hostile])
      done = []
      const jobs = [job('o', TREACHEROUS, 1), job(hostile, TREACHEROUS, 200), job('p', TREACHEROUS, 3)]
      await Promise.all(
        jobs.map(async (one) => {
          const answer = summary(await ours.run(one))
          assert.equal(answer === 'time_exceeded', one.organizationId === hostile)
          done.push(one.organizationId)
        }),
      )
      assert.deepEqual([ours.time.isQuick(hostile), ours.time.isSlow('p')], [false, false])
    }
    assert.match(done.at(-1) ?? '', /^hostile/)
  })

  it('runs the jobs of a message that was killed without each other, and only the stuck one is charged', async () => {
    const clock = new StandingClock()
    const ours = pool(2, clock)
    await makeQuick(ours, ['o', 'hostile', 'p'])
    const before = clock.messages
    const [first, stuck, last] = [
      ours.run(job('o', TREACHEROUS, 1)),
      ours.run(job('hostile', TREACHEROUS, 201)),
      ours.run(job('p', TREACHEROUS, 3)),
    ]
    await clock.awaited(HARD_TIME_MS)
    assert.equal(clock.messages - before, 1)
    clock.advance(HARD_TIME_MS)
    assert.deepEqual([summary(await first), summary(await last)], ['1', '3'])
    await clock.awaited(HARD_TIME_MS)
    clock.advance(HARD_TIME_MS)
    assert.equal(summary(await stuck), 'time_exceeded')
    assert.equal(ours.counters.kills, 2)
    assert.ok(ours.time.msPerSecond('hostile') >= 100)
    assert.ok(ours.time.msPerSecond('o') < 50 && ours.time.msPerSecond('p') < 50)
    assert.deepEqual([ours.time.isSlow('hostile'), ours.time.isSlow('o'), ours.time.isSlow('p')], [true, false, false])
    assert.equal(summary(await ours.run(job('hostile', TREACHEROUS, 201))), 'script_quarantined')
  })

  it('lets other organizations decode while one wastes all the time and memory that it is given', async () => {
    const ours = pool(2)
    const grows = 'function Decode() { var a = []; for (;;) a.push(new Array(99).fill({})) }'
    const hostile = [0, 1, 2].flatMap((n) => [
      ours.run(job('hostile', ENDLESS, 2, `endless ${n}`)),
      ours.run(job('hostile', grows, 2, `grows ${n}`)),
    ])
    const victims = Array.from({ length: 50 }, (_, fPort) => ours.run(job('victim', QUICK, fPort)))
    assert.deepEqual(
      (await Promise.all(victims)).map(summary),
      victims.map((_, fPort) => String(fPort)),
    )
    for (const [index, outcome] of (await Promise.all(hostile)).map(summary).entries()) {
      // On a busy machine the time is over before the memory is full.
      const expected = index % 2 === 0 ? /^time_exceeded$/ : /^(?:memory|time)_exceeded$/
      assert.match(outcome, expected)
    }
    assert.equal(ours.counters.kills, 0)
  })

  it('leaves a process to the others, however many organizations have endless scripts', async () => {
    const clock = new StandingClock()
    const ours = pool(2, clock)
    const hostile = ['a', 'b', 'c']
    assert.equal(summary(await ours.run(job('victim', QUICK))), '2')
    // Each is known as slow after its first endless run, or after some runs on a busy processor.
    for (const name of hostile) {
      for (let n = 0; n < 20 && !ours.time.isSlow(name); n += 1) {
        assert.equal(summary(await ours.run(job(name, ENDLESS, 2, `endless ${n}`))), 'time_exceeded')
      }
    }
    const stuck = hostile.map((name) => ours.run(job(name, UNSTOPPABLE)))
    for (const [n] of hostile.entries()) {
      await clock.awaited(HARD_TIME_MS)
      // While the clock stands, the hostile script does not come to an end. The victim's jobs do.
      for (let fPort = 1; fPort <= 20; fPort += 1) {
        assert.equal(summary(await ours.run(job('victim', QUICK, fPort))), String(fPort))
      }
      assert.deepEqual([ours.counters.kills, ours.counters.waiting], [n, hostile.length - 1 - n])
      await clock.awaited(HARD_TIME_MS)
      clock.advance(HARD_TIME_MS)
    }
    assert.deepEqual((await Promise.all(stuck)).map(summary), ['time_exceeded', 'time_exceeded', 'time_exceeded'])
  })

  it('runs no script of an organization that has used its time, until time has passed; others go on', async () => {
    const clock = new StandingClock()
    const ours = pool(2, clock, 15)
    // Two endless runs are more than ten seconds of 15 ms, and some more on a busy processor.
    let ran = 0
    while (ours.time.hasTime('o') && ran < 20) {
      assert.equal(summary(await ours.run(job('o', ENDLESS, 2, `endless ${ran}`))), 'time_exceeded')
      ran += 1
    }
    assert.ok(ran >= 2)
    assert.equal(summary(await ours.run(job('o', QUICK))), 'codec_time_used')
    assert.equal(ours.time.hasTime('o'), false)
    assert.equal(summary(await ours.run(job('victim', QUICK))), '2')
    clock.advance(10_000)
    assert.equal(summary(await ours.run(job('o', QUICK))), '2')
  })

  it('charges an organization for the process that its script made end', async () => {
    const clock = new StandingClock()
    const ours = pool(1, clock, 100)
    const stuck = ours.run(job('o', UNSTOPPABLE))
    await clock.awaited(HARD_TIME_MS)
    clock.advance(HARD_TIME_MS)
    assert.equal(summary(await stuck), 'time_exceeded')
    assert.equal(ours.time.msPerSecond('o'), 115)
    assert.equal(summary(await ours.run(job('o', QUICK))), 'codec_time_used')
  })

  it('refuses what is beyond the bound of an application, and serves the others', async () => {
    const ours = pool(1)
    const count = MAXIMUM_WAITING_KIB_PER_APPLICATION + 5
    const flood = Array.from({ length: count }, () => ours.run(job('flood', QUICK)))
    const other = ours.run(job('other', QUICK))
    const codes = (await Promise.all(flood)).map(summary)
    assert.ok(codes.filter((code) => code === 'codec_busy').length >= 4)
    assert.equal(
      codes.filter((code) => code === '2').length + codes.filter((code) => code === 'codec_busy').length,
      count,
    )
    assert.equal(summary(await other), '2')
  })

  it('ends what waits and runs when it is closed, and takes nothing more', async () => {
    const ours = pool(1)
    await ours.run(job('o', QUICK))
    const running = ours.run(job('o', ENDLESS))
    const waiting = ours.run(job('p', QUICK))
    await ours.close()
    assert.deepEqual([summary(await running), summary(await waiting)], ['shutting_down', 'shutting_down'])
    assert.equal(summary(await ours.run(job('o', QUICK))), 'shutting_down')
    assert.equal(ours.counters.workers, 0)
  })

  it('is closed without having started anything', async () => {
    const ours = pool()
    await ours.close()
    assert.deepEqual([ours.counters.workers, ours.counters.runs], [0, 0])
  })

  it('fails what waits where no process starts in time, and tries again with the next job', async () => {
    const clock = new StandingClock()
    const ours = pool(1, clock)
    const waiting = ours.run(job('o', QUICK))
    await clock.awaited(PROCESS_START_MS)
    clock.advance(PROCESS_START_MS)
    assert.equal(summary(await waiting), 'engine_failed')
    assert.equal(summary(await ours.run(job('o', QUICK))), '2')
  })

  it('ends with the process that has it, even in the middle of a script that nothing stops', async () => {
    const source = `
      import { ScriptPool } from ${JSON.stringify(fileURLToPath(new URL('./script-pool.ts', import.meta.url)))}
      const after = (ms) => {
        if (ms === ${HARD_TIME_MS}) setImmediate(() => console.log('handed'))
        return () => {}
      }
      const log = { debug() {}, info() {}, warn() {}, error() {} }
      const pool = new ScriptPool({ workers: 1, clock: { steady: () => 0, after }, log })
      await pool.run(${JSON.stringify(job('o', UNSTOPPABLE))})`
    const parent = spawn(process.execPath, ['--input-type=module', '--eval', source], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    await once(parent.stdout, 'data')
    // The script's process has the error output of its parent: it ends when both are gone.
    const closed = once(parent, 'close')
    parent.kill('SIGKILL')
    assert.deepEqual(await closed, [null, 'SIGKILL'])
  })

  it('does not keep the process alive that has it', () => {
    const source = `
      import { ScriptPool } from ${JSON.stringify(fileURLToPath(new URL('./script-pool.ts', import.meta.url)))}
      const clock = { steady: () => 0, after: (ms, run) => { const t = setTimeout(run, ms); return () => clearTimeout(t) } }
      const log = { debug() {}, info() {}, warn() {}, error() {} }
      const call = { operation: 'decodeUplink', input: '{}' }
      const pool = new ScriptPool({ workers: 1, clock, log })
      const { outcome } = await pool.run({ organizationId: 'o', key: 'k', script: 'function Decode() { return 5 }', call })
      console.log(outcome.json)`
    const { status, stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', source], {
      encoding: 'utf8',
      timeout: 20_000,
    })
    assert.deepEqual([status, stdout.trim()], [0, '5'])
  })
})
