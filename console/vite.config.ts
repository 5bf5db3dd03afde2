/**
 * The build of the console into dist/console. Files that compress well have a gzip and a brotli
 * file beside them.
 */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import type { Plugin } from 'vite'

/**
 * The smallest file that is compressed. The header that names the encoding is worth more than the
 * saving in a smaller one.
 */
const SMALLEST_COMPRESSED_BYTES = 1024

/** Compresses each file once, at the highest level, so that the service never compresses. */
function compressedAhead(): Plugin {
  let directory = ''
  return {
    name: 'compressed-ahead',
    apply: 'build',
    configResolved: (config) => {
      directory = join(config.root, config.build.outDir)
    },
    closeBundle: async () => {
      const names = await readdir(directory, { recursive: true })
      await Promise.all(
        names.filter((name) => /\.(?:js|css|svg)$/.test(name)).map((name) => compress(join(directory, name))),
      )
    },
  }
}

async function compress(file: string): Promise<void> {
  const plain = await readFile(file)
  if (plain.length < SMALLEST_COMPRESSED_BYTES) return
  await writeFile(`${file}.gz`, await promisify(gzip)(plain, { level: 9 }))
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: plain.length }
  await writeFile(`${file}.br`, await promisify(brotliCompress)(plain, { params }))
}

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), compressedAhead()],
  // The service puts the nonce of its answer here; see src/http/pages/console-files.ts.
  html: { cspNonce: '{{nonce}}' },
  build: {
    outDir: '../dist/console',
    emptyOutDir: true,
    target: 'es2023',
    // The browser does not ask again for the style sheet of a page that could not be fetched, so
    // the page would appear without it.
    cssCodeSplit: false,
    // A data: URL would need a hole in the Content-Security-Policy.
    assetsInlineLimit: 0,
    sourcemap: false,
    reportCompressedSize: false,
  },
})
