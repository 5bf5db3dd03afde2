/**
 * Reads collections of device makers' scripts with their published examples, in three layouts: the
 * device repository of The Things Network, the device profiles of ChirpStack, and the catalogue of
 * Actility.
 */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import vm from 'node:vm'
import { parse } from 'yaml'
import { isObject } from '../../src/json.ts'

export type Operation = 'decodeUplink' | 'encodeDownlink' | 'decodeDownlink'

/** How the collection calls its scripts. */
export type Signature = 'lora-alliance' | 'ttn' | 'chirpstack' | 'actility'

/** An example that the maker of a script has published with it. */
export interface Example {
  /** The file of the script in its collection. */
  readonly file: string
  readonly name: string
  readonly script: string
  readonly signature: Signature
  readonly operation: Operation
  /** Bytes are numbers here, whatever their form in the file. */
  readonly input: Readonly<Record<string, unknown>>
  /** The answer by TS013. */
  readonly expected: Readonly<Record<string, unknown>>
}

/** A folder with a collection in one of the layouts. */
export interface Collection {
  readonly layout: 'device repository' | 'ChirpStack device profiles' | 'Actility catalogue'
  readonly examples: readonly Example[]
}

/** Undefined for a folder that has none of the layouts. */
export function readCollection(folder: string): Collection | undefined {
  if (existsSync(join(folder, 'vendor', 'index.yaml'))) {
    return { layout: 'device repository', examples: repositoryExamples(folder) }
  }
  const has = (pattern: string): boolean => globSync(pattern, { cwd: folder }).length > 0
  if (has('vendors/*/codecs')) return { layout: 'ChirpStack device profiles', examples: profileExamples(folder) }
  if (has('vendors/*/drivers')) return { layout: 'Actility catalogue', examples: catalogueExamples(folder) }
  return undefined
}

const SECTIONS = {
  uplinkDecoder: 'decodeUplink',
  downlinkEncoder: 'encodeDownlink',
  downlinkDecoder: 'decodeDownlink',
} as const

function repositoryExamples(folder: string): Example[] {
  return globSync('vendor/*/*.yaml', { cwd: folder })
    .toSorted()
    .flatMap((path) => {
      const codec: unknown = parse(readFileSync(join(folder, path), 'utf8'))
      if (!isObject(codec)) return []
      return Object.entries(SECTIONS).flatMap(([section, operation]) => {
        const part = codec[section]
        if (!isObject(part) || typeof part.fileName !== 'string') return []
        const file = join(dirname(path), part.fileName)
        const script = textOf(join(folder, file))
        if (script === undefined) return []
        return listOf(part.examples).map(({ description, input, output }) => {
          return exampleOf({ file, script, operation, signature: 'lora-alliance' }, description, input, output)
        })
      })
    })
}

function profileExamples(folder: string): Example[] {
  return globSync('vendors/*/codecs/test_*.json', { cwd: folder })
    .toSorted()
    .flatMap((path) => {
      const [, direction, name] = /test_(decode|encode)_(.*)\.json$/.exec(path) ?? []
      if (name === undefined) return []
      const file = join(dirname(path), `${name}.js`)
      const script = textOf(join(folder, file))
      if (script === undefined) return []
      const operation = direction === 'encode' ? 'encodeDownlink' : 'decodeUplink'
      return listOf(literalOf(readFileSync(join(folder, path), 'utf8'))).map((one) => {
        return exampleOf({ file, script, operation, signature: 'lora-alliance' }, one.name, one.input, one.expected)
      })
    })
}

const TYPES: Readonly<Record<string, Operation>> = {
  uplink: 'decodeUplink',
  downlink: 'encodeDownlink',
  'downlink-encode': 'encodeDownlink',
  'downlink-decode': 'decodeDownlink',
}

function catalogueExamples(folder: string): Example[] {
  return globSync('vendors/*/drivers/*/driver.yaml', { cwd: folder })
    .toSorted()
    .flatMap((path) => {
      const driver = dirname(join(folder, path))
      const described: unknown = parse(readFileSync(join(folder, path), 'utf8'))
      const signature = (isObject(described) ? described.signature : undefined) ?? 'lora-alliance'
      const main = mainOf(driver)
      const script = textOf(main)
      if (script === undefined) return []
      const files = ['examples.json', ...globSync('examples/*.examples.json', { cwd: driver }).toSorted()]
      return files.flatMap((name) => {
        const text = textOf(join(driver, name))
        return listOf(text === undefined ? [] : JSON.parse(text)).flatMap((one) => {
          const operation = TYPES[String(one.type)]
          if (operation === undefined) return []
          const of = { file: relative(folder, main), script, operation, signature: signature as Signature }
          // The older form has the members of the input and of the output side by side.
          const {
            input = one,
            output = operation === 'encodeDownlink' ? one : { data: one.data, errors: one.errors },
          } = one
          return [exampleOf(of, one.description, input, isAnswer(output) ? output : { data: output })]
        })
      })
    })
}

function isAnswer(output: unknown): boolean {
  return isObject(output) && ['data', 'bytes', 'errors', 'warnings'].some((name) => name in output)
}

function mainOf(driver: string): string {
  const text = textOf(join(driver, 'package.json'))
  const described: unknown = text === undefined ? undefined : JSON.parse(text)
  const named = isObject(described) && typeof described.main === 'string' ? described.main : 'index.js'
  const files = [named, 'index.js', 'main.js'].map((name) => join(driver, name))
  return files.find((file) => existsSync(file)) ?? join(driver, named)
}

function exampleOf(
  of: Pick<Example, 'file' | 'script' | 'operation' | 'signature'>,
  name: unknown,
  input: unknown,
  output: unknown,
): Example {
  const given = isObject(input) ? input : {}
  const expected = isObject(output) ? output : {}
  return {
    ...of,
    name: typeof name === 'string' ? name : '',
    input: 'bytes' in given ? { ...given, bytes: bytesOf(given.bytes) } : given,
    expected: 'bytes' in expected ? { ...expected, bytes: bytesOf(expected.bytes) } : expected,
  }
}

/** Bytes are in hexadecimal digits in Actility's catalogue. */
function bytesOf(bytes: unknown): unknown {
  if (typeof bytes !== 'string') return bytes
  return [...Buffer.from(bytes.replaceAll(/\s|0x/g, ''), 'hex')]
}

function listOf(value: unknown): Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

/** ChirpStack evaluates its tests as JavaScript: they have comments and hexadecimal numbers. */
function literalOf(text: string): unknown {
  return JSON.parse(String(vm.runInNewContext(`JSON.stringify(${text}\n)`, {}, { timeout: 1_000 })))
}

function textOf(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined
}
