import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { BOUND_NAMES, DEFAULT_ORGANIZATION_BOUNDS } from '../../organization-bounds.ts'
import { commandLine, json, succeed } from '../command-line.testing.ts'

const scratch = await mkdtemp(join(tmpdir(), 'fieldgate-bounds-'))
after(() => rm(scratch, { recursive: true }))

const shell = commandLine(scratch)

before(async () => {
  await succeed(shell, 'init')
  await succeed(shell, 'organization create alpine')
})

async function boundNamed(name: string): Promise<object | undefined> {
  const { bounds } = (await json(shell, 'organization bounds alpine')) as { bounds: { name: string }[] }
  return bounds.find((bound) => bound.name === name)
}

describe('the bounds of an organization, by the command line', () => {
  it('are shown with their place, and without use where no service runs', async () => {
    const { out, error } = await shell('organization bounds alpine')
    assert.match(out, /^BOUND +USED +MAXIMUM +UNIT +SHARE +FROM\nconnections +10000 +count +deployment\n/)
    assert.equal(out.trim().split('\n').length, BOUND_NAMES.length + 1)
    assert.equal(error, 'The service does not run, so the use of the bounds is not known.\n')
  })

  it('are set, several at once, and go back to the deployment’s bounds', async () => {
    const set = await succeed(shell, 'organization set-bounds alpine sessions=20000 retainedMessages=0')
    assert.equal(set, 'Changed the bounds of the organization alpine.\n')
    assert.match(await succeed(shell, 'organization bounds alpine'), /^sessions +20000 +count +organization$/m)
    assert.partialDeepStrictEqual(await boundNamed('retainedMessages'), { maximum: 0, isOverridden: true })
    await succeed(shell, 'organization set-bounds alpine sessions=default')
    const { sessions: maximum } = DEFAULT_ORGANIZATION_BOUNDS
    assert.partialDeepStrictEqual(await boundNamed('sessions'), { maximum, isOverridden: false })
    assert.partialDeepStrictEqual(await boundNamed('retainedMessages'), { maximum: 0, isOverridden: true })
  })

  it('refuse wrong names and values, and change nothing then', async () => {
    const former = await json(shell, 'organization bounds alpine')
    for (const [given, code, message] of [
      ['', 2, /missing required argument/],
      [
        'connections=5 session=5',
        2,
        /session=5: there is no such bound\. The bounds are connections, connectsPerSecond/,
      ],
      ['connections=5 toString=5', 2, /toString=5: there is no such bound/],
      ['connections=5 sessions', 2, /sessions: must be name=value, with digits or "default"/],
      ['connections=5 sessions=1e3', 2, /sessions=1e3: must be name=value/],
      ['connections=5 connections=6', 2, /connections=6: connections is given twice/],
      ['connections=5 sessions=0', 1, /refused: sessions must be an integer from 1 to 10000000\n/],
      [`connections=5 sessions=${'9'.repeat(400)}`, 2, /9: must be name=value, with digits/],
    ] as const) {
      const ran = await shell(`organization set-bounds alpine ${given}`.trim())
      assert.deepEqual([ran.code, ran.out], [code, ''], given)
      assert.match(ran.error, message)
    }
    assert.deepEqual(await json(shell, 'organization bounds alpine'), former)
    assert.match((await shell('organization bounds nobody')).error, /There is no organization nobody\./)
  })

  it('have a help that names each bound with its range', async () => {
    const help = await succeed(shell, 'organization set-bounds --help')
    for (const name of BOUND_NAMES) assert.match(help, new RegExp(`^  ${name} +\\d+ to \\d+ +\\w`, 'm'))
  })
})
