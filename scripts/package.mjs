// npm run package [-- <folder>]: makes fieldgate-<version>.tgz, which `npm install --global
// --ignore-scripts` installs together with the locked packages.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { ensureBuilt, ensureInstalled, root } from './setup.mjs'

ensureInstalled()
ensureBuilt()
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
// The package is made in a folder of its own, where the lock file is called npm-shrinkwrap.json:
// npm leaves a lock file of another name out of a package.
const stage = mkdtempSync(join(tmpdir(), 'fieldgate-package-'))
try {
  for (const name of [...manifest.files, 'README.md', 'CHANGELOG.md']) {
    cpSync(join(root, name), join(stage, name), { recursive: true })
  }
  cpSync(join(root, 'package-lock.json'), join(stage, 'npm-shrinkwrap.json'))
  const { scripts: _scripts, devDependencies: _devDependencies, ...rest } = manifest
  const files = [...manifest.files, 'CHANGELOG.md', 'npm-shrinkwrap.json']
  writeFileSync(join(stage, 'package.json'), `${JSON.stringify({ ...rest, files }, undefined, 2)}\n`)
  const packed = spawnSync(
    'npm',
    ['pack', '--ignore-scripts', '--silent', '--pack-destination', resolve(process.argv[2] ?? '.')],
    {
      cwd: stage,
      stdio: ['ignore', 'inherit', 'inherit'],
    },
  )
  process.exitCode = packed.status ?? 1
} finally {
  rmSync(stage, { recursive: true, force: true })
}
