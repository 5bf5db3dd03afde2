/** The peers that are programs of `bench/peers/`. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { anonymousDeployment } from '../deployment.ts'
import { ALWAYS } from './broker.ts'
import type { BrokerKind } from './broker.ts'
import { missingRuntime, onRuntime, ROOT, RUNTIME_TITLES, runtimeVersion } from './runtimes.ts'
import type { RuntimeName } from './runtimes.ts'

const aedesProgram = fileURLToPath(new URL('../peers/aedes.ts', import.meta.url))
const BARE_PROGRAMS: Readonly<Record<RuntimeName, string>> = {
  bun: fileURLToPath(new URL('../peers/bare-bun.ts', import.meta.url)),
  node: fileURLToPath(new URL('../peers/bare-node.ts', import.meta.url)),
}

export const programKinds: readonly BrokerKind[] = [
  {
    name: 'aedes',
    title: 'aedes',
    byDefault: ALWAYS,
    isDurable: false,
    version: aedesVersion,
    missing: () => undefined,
    prepare: anonymousDeployment,
    command: ({ certificate: { certFile, keyFile } }, port) => ({
      program: process.execPath,
      arguments: [aedesProgram, String(port), certFile, keyFile],
    }),
  },
  bare('node'),
  bare('bun'),
]

function bare(runtime: RuntimeName): BrokerKind {
  return {
    name: `bare-${runtime}`,
    title: `${RUNTIME_TITLES[runtime]}’s TLS alone`,
    byDefault: ALWAYS,
    isDurable: false,
    version: () => runtimeVersion(runtime),
    missing: () => missingRuntime(runtime),
    prepare: anonymousDeployment,
    command: ({ certificate: { certFile, keyFile } }, port) =>
      onRuntime(runtime, [BARE_PROGRAMS[runtime], String(port), certFile, keyFile]),
  }
}

function aedesVersion(): string {
  const file = join(ROOT, 'node_modules', 'aedes', 'package.json')
  return (JSON.parse(readFileSync(file, 'utf8')) as { readonly version: string }).version
}
