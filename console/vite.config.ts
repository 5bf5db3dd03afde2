/**
 * The console's build: into dist/console, every file that compresses well with its gzip and brotli
 * beside it.
 */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import type { Plugin } from 'vite'

/** Below it the saving is smaller than the header that names the encoding is worth. */
const SMALLEST_COMPRESSED_BYTES = 1024

/** Compresses once, as hard as it goes, so that the service never has to. */
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
    // A style sheet of one page that did not come is not asked for again, and the page would be
    // shown without it.
    cssCodeSplit: false,
    // A data: URL would need a hole in the Content-Security-Policy.
    assetsInlineLimit: 0,
    sourcemap: false,
    reportCompressedSize: false,
  },
})
