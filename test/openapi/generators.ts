/** Clients that four generators make from the OpenAPI document, and the main flow with each. */
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cacheFolder, installOnce, installParts, ran, ranPart } from './parts.ts'
import { DEV_EUI } from './world.ts'
import type { World } from './world.ts'

/** One generator. */
export interface Generator {
  readonly name: string
  /** Programs that it needs on the machine, besides Node and npm. */
  readonly needs: readonly string[]
  /**
   * Generates a client in an empty folder, compiles or checks it, runs the main flow with it, and
   * returns the flow's outcome.
   */
  run(world: World, folder: string): Promise<unknown>
}

const CLIENTS = fileURLToPath(new URL('clients/', import.meta.url))

/** The versions that docs/api.md names. */
const OPENAPI_PYTHON_CLIENT = '0.29.1'
const OAPI_CODEGEN = 'v2.8.2'

/** The outcome that the flow of each client must have. */
export function expectedOutcome({ applicationId }: World): unknown {
  return {
    organization: 'acme',
    application: 'meters',
    parts: 3,
    eventTopic: `Topic for subscribing to application ${applicationId}: 'application/${applicationId}/device/+/event/+'`,
    deviceTopics: 8,
    commandTopic: `Topic for publishing to device ${DEV_EUI}: 'application/${applicationId}/device/${DEV_EUI}/command/down'`,
    state: 'queued',
    queued: true,
    refusal: 'object_not_found',
  }
}

const openApiFetch: Generator = {
  name: 'openapi-typescript with openapi-fetch',
  needs: [],
  async run(world, folder) {
    const parts = await installParts()
    const output = join(folder, 'schema.d.ts')
    await ranPart(parts, 'openapi-typescript/bin/cli.js', [world.documentFile, '--output', output], { folder })
    return typeScriptFlow(world, folder, parts, 'openapi-fetch.ts')
  },
}

const heyApi: Generator = {
  name: '@hey-api/openapi-ts',
  needs: [],
  async run(world, folder) {
    const parts = await installParts()
    const configuration = {
      input: world.documentFile,
      // With this, Node runs the generated code without a build.
      output: { path: join(folder, 'generated'), module: { extension: '.ts' } },
      plugins: ['@hey-api/client-fetch', '@hey-api/typescript', '@hey-api/sdk'],
      logs: { file: false, level: 'silent' },
    }
    await writeFile(join(folder, 'openapi-ts.config.mjs'), `export default ${JSON.stringify(configuration)}\n`)
    await ranPart(parts, '@hey-api/openapi-ts/bin/run.js', [], { folder })
    return typeScriptFlow(world, folder, parts, 'hey-api.ts')
  },
}

/** Checks the types of the flow against the generated ones, and runs it. */
async function typeScriptFlow(world: World, folder: string, parts: string, flow: string): Promise<unknown> {
  await cp(join(CLIENTS, flow), join(folder, flow))
  await symlink(join(parts, 'node_modules'), join(folder, 'node_modules'))
  await writeFile(join(folder, 'package.json'), '{"type": "module"}')
  await writeFile(
    join(folder, 'process.d.ts'),
    'declare const process: { readonly env: Record<string, string | undefined> }',
  )
  const compilerOptions = {
    strict: true,
    noEmit: true,
    target: 'es2022',
    lib: ['es2023', 'dom', 'dom.iterable'],
    module: 'nodenext',
    allowImportingTsExtensions: true,
    skipLibCheck: true,
    types: [],
  }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: [flow, 'process.d.ts'] }))
  await ranPart(parts, 'typescript/bin/tsc', ['--project', folder], { folder })
  return outcomeOf(await ran('node', [flow], { folder, environment: world.environment }))
}

const openApiPythonClient: Generator = {
  name: 'openapi-python-client',
  needs: ['python3'],
  async run(world, folder) {
    const version = OPENAPI_PYTHON_CLIENT
    const python = await installPython(`openapi-python-client-${version}`, `openapi-python-client==${version}`)
    const output = ['--output-path', join(folder, 'generated'), '--meta', 'none']
    await ran(python, ['-m', 'openapi_python_client', 'generate', '--path', world.documentFile, ...output], { folder })
    await cp(join(CLIENTS, 'client.py'), join(folder, 'client.py'))
    return outcomeOf(await ran(python, ['client.py'], { folder, environment: world.environment }))
  },
}

const oapiCodegen: Generator = {
  name: 'oapi-codegen',
  needs: ['go'],
  async run(world, folder) {
    const tools = cacheFolder(`oapi-codegen-${OAPI_CODEGEN}`)
    const module = 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen'
    const timeoutMs = 600_000
    await installOnce(tools, async (scratch) => {
      await ran('go', ['install', `${module}@${OAPI_CODEGEN}`], {
        folder: scratch,
        environment: { GOBIN: scratch },
        timeoutMs,
      })
    })
    await mkdir(join(folder, 'fieldgate'))
    const output = [
      '-package',
      'fieldgate',
      '-generate',
      'types,client',
      '-o',
      join(folder, 'fieldgate', 'client.gen.go'),
    ]
    await ran(join(tools, 'oapi-codegen'), [...output, world.documentFile], { folder })
    await writeFile(join(folder, 'main.go'), await readFile(join(CLIENTS, 'client.go')))
    // The build trusts everything that the machine trusts, including the module proxy.
    await ran('go', ['mod', 'init', 'fieldgate.test/client'], { folder })
    await ran('go', ['mod', 'tidy'], { folder, timeoutMs })
    await ran('go', ['build', '-o', 'flow', '.'], { folder, timeoutMs })
    return outcomeOf(await ran(join(folder, 'flow'), [], { folder, environment: world.environment }))
  },
}

/** The generators whose packages npm installs: quick enough for every run of the tests. */
export const NPM_GENERATORS: readonly Generator[] = [openApiFetch, heyApi]

/** All four. */
export const GENERATORS: readonly Generator[] = [...NPM_GENERATORS, openApiPythonClient, oapiCodegen]

/**
 * Installs a Python package with its dependencies. Call its modules, not its programs, which
 * contain the path of the folder in which they were made.
 */
export async function installPython(name: string, requirement: string): Promise<string> {
  const folder = cacheFolder(name)
  const timeoutMs = 600_000
  await installOnce(folder, async (scratch) => {
    await ran('python3', ['-m', 'venv', scratch], { folder: scratch, timeoutMs })
    await ran(join(scratch, 'bin', 'python3'), ['-m', 'pip', 'install', '--quiet', requirement], {
      folder: scratch,
      timeoutMs,
    })
  })
  return join(folder, 'bin', 'python3')
}

/** The last line of a flow's output. */
function outcomeOf(output: string): unknown {
  return JSON.parse(output.trim().split('\n').at(-1) ?? '')
}
