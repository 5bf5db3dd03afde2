/**
 * The build of the documentation: dist/docs from docs/ and the pages at the root. `node
 * site/build.ts`
 */
import { createHash } from 'node:crypto'
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { build } from 'vite'
import { readDocumentation } from './documentation.ts'
import { addressOf, contentsOf, pageTemplate, REFERENCE_ADDRESS } from './template.ts'
import type { Assets } from './template.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const target = join(root, 'dist', 'docs')

/**
 * Smaller files are not compressed: compression saves less than the header of the encoding costs.
 */
const SMALLEST_COMPRESSED_BYTES = 1024

await rm(target, { recursive: true, force: true })
const { groups, pages, files, index } = readDocumentation(root)
const assets: Assets = { ...(await buildPrograms()), search: await hashed('search.json', JSON.stringify(index)) }
for (const [position, { source, rendered }] of pages.entries()) {
  const address = addressOf(source)
  const neighbours = { previous: pages[position - 1]?.source, next: pages[position + 1]?.source }
  const { title, html, headings } = rendered
  const parts = { title, content: html, contents: contentsOf(headings), address, ...neighbours }
  await write(`${source.path === '' ? '/index' : source.path}.html`, pageTemplate(parts, groups, assets))
}
const unknown = { title: 'No such page', address: '', contents: '' }
const content =
  '<h1>There is no such page</h1>\n<p>Search above, or choose a page of the list. <a href="/docs">To the first page</a></p>'
await write('/unknown.html', pageTemplate({ ...unknown, content }, groups, assets))
const frame = {
  title: 'API reference',
  address: REFERENCE_ADDRESS,
  content: '<!--content-->',
  contents: '<!--contents-->',
}
await write('/frame.html', pageTemplate(frame, groups, assets))
for (const [file, below] of files) {
  await mkdir(dirname(target + below), { recursive: true })
  await copyFile(join(root, file), target + below)
}
await compressAll()

/** The programs of the pages and their style, with hashes in their names. */
async function buildPrograms(): Promise<Omit<Assets, 'search'>> {
  const browser = join(root, 'site', 'browser')
  await build({
    root: browser,
    configFile: false,
    logLevel: 'warn',
    base: '/docs/',
    build: {
      outDir: target,
      emptyOutDir: true,
      target: 'es2023',
      modulePreload: false,
      assetsInlineLimit: 0,
      reportCompressedSize: false,
      rollupOptions: {
        input: { theme: join(browser, 'theme.ts'), program: join(browser, 'main.ts') },
      },
    },
  })
  const names = await readdir(join(target, 'assets'))
  const nameOf = (pattern: RegExp): string => {
    const found = names.find((name) => pattern.test(name))
    if (found === undefined) throw new Error(`the build made no ${pattern.source}`)
    return `/docs/assets/${found}`
  }
  return { style: nameOf(/\.css$/), theme: nameOf(/^theme-.*\.js$/), program: nameOf(/^program-.*\.js$/) }
}

async function hashed(name: string, text: string): Promise<string> {
  const hash = createHash('sha256').update(text).digest('base64url').slice(0, 8)
  const path = `/assets/${name.replace('.', `-${hash}.`)}`
  await write(path, text)
  return `/docs${path}`
}

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(target + path), { recursive: true })
  await writeFile(target + path, text)
}

/**
 * Compresses the files once, with the strongest setting, so that the service never has to. The
 * frame is left out: the service fills it at its start, and sends it without compression.
 */
async function compressAll(): Promise<void> {
  const names = await readdir(target, { recursive: true })
  await Promise.all(
    names.filter((name) => /\.(?:html|js|css|json|txt)$/.test(name) && name !== 'frame.html').map(compress),
  )
}

async function compress(name: string): Promise<void> {
  const plain = await readFile(join(target, name))
  if (plain.length < SMALLEST_COMPRESSED_BYTES) return
  await writeFile(join(target, `${name}.gz`), await promisify(gzip)(plain, { level: 9 }))
  const params = { [constants.BROTLI_PARAM_QUALITY]: 10, [constants.BROTLI_PARAM_SIZE_HINT]: plain.length }
  await writeFile(join(target, `${name}.br`), await promisify(brotliCompress)(plain, { params }))
}
