// npm run sdk-package [folder]: builds the SDK for TypeScript and packs it for npm. Prints the path
// of the package.
import { join, resolve } from 'node:path'
import { packSdk } from './pack-sdk.mjs'
import { ensureInstalled, root } from './setup.mjs'

ensureInstalled()
console.log(packSdk(resolve(process.argv[2] ?? join(root, 'test-output'))))
