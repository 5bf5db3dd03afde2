import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readAll } from './engine-client.testing.ts'
import { checkLog } from './opening/check-log.ts'
import { SimulatedDisk, seededRandom } from './ports/simulated-disk.testing.ts'
import type { Random } from './ports/simulated-disk.testing.ts'
import { fill, numbers, openWithTenants } from './tenants.testing.ts'

/** `FIELDGATE_DAMAGES=1000` damages more logs. */
const DAMAGES = Number(process.env['FIELDGATE_DAMAGES'] ?? 120)

/** The disk of a closed log with rewritten segments. */
async function rewritten(): Promise<SimulatedDisk> {
  const disk = new SimulatedDisk()
  const engine = await openWithTenants(disk, { a: 6_000 })
  await fill(engine, ['a', 'a', 'b'], 300)
  await engine.maintain()
  await engine.close()
  return disk
}

function copyOf(disk: SimulatedDisk): SimulatedDisk {
  const copy = new SimulatedDisk()
  for (const path of disk.paths()) copy.replace(path, disk.content(path))
  return copy
}

/** Damages a file of the log at a random place: a byte, some bytes, its end, or all of it. */
async function damage(disk: SimulatedDisk, random: Random): Promise<string> {
  const ending = random() < 0.2 ? '.index' : '.log'
  const paths = disk.paths().filter((path) => path.endsWith(ending))
  const path = paths[Math.floor(random() * paths.length)] ?? assert.fail()
  const bytes = Buffer.from(disk.content(path))
  const at = Math.floor(random() * bytes.length)
  const kind = random()
  if (kind < 0.5) bytes[at] = (bytes[at] ?? 0) ^ (1 + Math.floor(random() * 255))
  else if (kind < 0.8)
    bytes.fill(Math.floor(random() * 256), at, Math.min(bytes.length, at + Math.floor(random() * 600)))
  if (kind < 0.9) disk.replace(path, kind < 0.8 ? bytes : bytes.subarray(0, at))
  else await disk.remove(path)
  return `${path} at ${at}`
}

test(`after each of ${DAMAGES} damages of a log with rewritten segments, all whole messages are served in order, and at most as many are missing as check says`, async () => {
  const whole = await rewritten()
  const undamaged = await openWithTenants(copyOf(whole))
  const expected = numbers((await readAll(undamaged, 0)).messages)
  await undamaged.close()
  const counts = { told: 0, missing: 0 }
  for (let seed = 1; seed <= DAMAGES; seed += 1) {
    const disk = copyOf(whole)
    const hint = `seed ${seed}: ${await damage(disk, seededRandom(seed))}`
    const report = (await checkLog(disk, '/data')) ?? assert.fail(hint)
    const engine = await openWithTenants(disk)
    const served = numbers((await readAll(engine, 0)).messages)
    const places = served.map((number) => expected.indexOf(number))
    assert.ok(
      places.every((place, index) => place > (places[index - 1] ?? -1)),
      `${hint}: in order, each once`,
    )
    const told = report.lostMessages + report.furtherAtMost
    assert.ok(
      expected.length - served.length <= told,
      `${hint}: ${expected.length - served.length} missing, ${told} told`,
    )
    for (let count = 0; count < 5; count += 1) await engine.maintain()
    assert.deepEqual(numbers((await readAll(engine, 0)).messages), served, `${hint}: the upkeep loses nothing`)
    await engine.close()
    counts.told += told
    counts.missing += expected.length - served.length
  }
  assert.ok(counts.missing > 0)
  console.log(`${DAMAGES} damages of rewritten segments: ${counts.missing} messages lost, ${counts.told} told at most`)
})
