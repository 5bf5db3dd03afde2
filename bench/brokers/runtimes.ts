/** The runtimes of the programs that are compared. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { chooseRuntime } from '../../bin/runtime.mjs'
import type { BrokerCommand } from '../broker-process.ts'

export type RuntimeName = 'bun' | 'node'

/** The folder of the package. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** The name of a runtime for people. */
export const RUNTIME_TITLES: Readonly<Record<RuntimeName, string>> = { bun: 'Bun', node: 'Node' }

/** The library of TLS, and its name among the runtime's versions. */
const TLS = {
  bun: { title: 'BoringSSL', part: 'boringssl' },
  node: { title: 'OpenSSL', part: 'openssl' },
} as const
/** BoringSSL has no versions, but commits. */
const COMMIT_CHARACTERS = 12
const known = new Map<string, string>()

/** The command that runs a program. */
export function onRuntime(name: RuntimeName, args: readonly string[]): BrokerCommand {
  const { program, flags, environment } = chooseRuntime(ROOT, name)
  return { program, arguments: [...flags, ...args], environment }
}

/** The reason why the runtime can't be had here; undefined: it can. */
export function missingRuntime(name: RuntimeName): string | undefined {
  try {
    chooseRuntime(ROOT, name)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** `1.4.5`. Throws if the runtime can't be had. */
export function runtimeVersion(name: RuntimeName): string {
  return versionOf(name, name)
}

/** The runtimes of this machine, each with the version of its TLS, as text. */
export function runtimeVersions(): string[] {
  const names = (['bun', 'node'] as const).filter((name) => missingRuntime(name) === undefined)
  return names.map((name) => {
    const { title, part } = TLS[name]
    const version = versionOf(name, part).slice(0, COMMIT_CHARACTERS)
    return `${RUNTIME_TITLES[name]} ${runtimeVersion(name)} with ${title} ${version}`
  })
}

function versionOf(name: RuntimeName, part: string): string {
  const remembered = known.get(part)
  if (remembered !== undefined) return remembered
  const { program, arguments: args } = onRuntime(name, ['-p', `process.versions.${part}`])
  const version = spawnSync(program, args, { encoding: 'utf8' }).stdout.trim()
  known.set(part, version)
  return version
}
