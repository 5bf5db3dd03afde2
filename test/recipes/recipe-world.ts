/** The parts that the tests of the recipes share. */
import { spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { run } from '../../src/cli/program.ts'
import { Readable } from 'node:stream'
import assert from 'node:assert/strict'
import type { World } from '../console/world.ts'
import { PASSWORD } from '../support/administration.ts'

/** Writes a configuration with a fresh token, as a person with the command line does. */
export async function writeWithToken(world: World, template: string, to: string): Promise<void> {
  await writeFile(`${to}.in`, template)
  let error = ''
  const { service, organizationId, anna } = world
  const line = ['--server', service.https, '--ca', service.caFile, '--organization', organizationId, '--once']
  const code = await run(['renew-token', ...line, '--user', anna.userName, '--template', `${to}.in`, '--to', to], {
    out: () => undefined,
    error: (text) => {
      error += text
    },
    input: Readable.from([]),
    isInteractive: false,
    environment: { FIELDGATE_PASSWORD: PASSWORD },
  })
  assert.equal(code, 0, error)
}

/** Why a program that a variable names can't be run; undefined where it can. */
export function absenceOf(variable: string, ...args: readonly string[]): string | undefined {
  const path = process.env[variable]
  if (path === undefined) return `set ${variable} to the path of the program`
  return spawnSync(path, args).status === 0 ? undefined : `${path} does not run`
}
