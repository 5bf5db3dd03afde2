/** Runs an example in Node alone, as the collection's own tools would. */
import vm from 'node:vm'
import { isObject } from '../../src/json.ts'
import type { Example, Operation, Signature } from './codec-collections.ts'

/** An answer that can be compared. `thrown` is no answer: nothing is equal to it. */
export type Answer =
  | { readonly value: unknown }
  | { readonly bytes: unknown; readonly fPort: unknown }
  | { readonly errors: string }
  | { readonly thrown: string }

const CALLS: Readonly<Record<Signature, Partial<Record<Operation, readonly string[]>>>> = {
  'lora-alliance': {
    decodeUplink: ['decodeUplink(input)', 'Decoder(input.bytes, input.fPort)'],
    encodeDownlink: ['encodeDownlink(input)', 'Encoder(input.data, input.fPort)'],
    decodeDownlink: ['decodeDownlink(input)'],
  },
  actility: {
    decodeUplink: ['decodeUplink(input)'],
    encodeDownlink: ['encodeDownlink(input.data)'],
    decodeDownlink: ['decodeDownlink(input)'],
  },
  ttn: { decodeUplink: ['Decoder(input.bytes, input.fPort)'], encodeDownlink: ['Encoder(input.data, input.fPort)'] },
  chirpstack: {
    decodeUplink: ['Decode(input.fPort, input.bytes)'],
    encodeDownlink: ['Encode(input.fPort, input.data)'],
  },
}

const PLACES = ['driver', 'exports.driver', 'module.exports.driver', 'exports', 'module.exports', 'globalThis']
const TIMEOUT_MS = 1_000

const quiet = (): void => {}

/** Never throws. */
export function runInNode({ script, signature, operation, input }: Example): Answer {
  const exports = {}
  const console = { log: quiet, info: quiet, warn: quiet, error: quiet, debug: quiet }
  const recvTime = typeof input.recvTime === 'string' ? new Date(input.recvTime) : input.recvTime
  const given = structuredClone({ ...input, recvTime })
  const realm = vm.createContext({ exports, module: { exports }, Buffer, console, input: given })
  try {
    // A module's functions are globals without the word.
    vm.runInContext(script.replaceAll(/^export (?=(?:async )?function|const|let|var|class)/gm, ''), realm, {
      timeout: TIMEOUT_MS,
    })
    for (const call of CALLS[signature]?.[operation] ?? []) {
      const [name] = call.split('(')
      for (const place of PLACES) {
        // A function may be declared with `const`, which makes no member of the global object.
        const found = place === 'globalThis' ? name : `${place}.${name}`
        const has = `(() => { try { return typeof ${found} === 'function' } catch { return false } })()`
        if (vm.runInContext(has, realm) !== true) continue
        const text: unknown = vm.runInContext(`JSON.stringify(${found}${call.slice(name?.length)}) ?? 'null'`, realm, {
          timeout: TIMEOUT_MS,
        })
        return answerOf(
          operation,
          call.startsWith(operation) ? JSON.parse(String(text)) : plain(operation, JSON.parse(String(text))),
        )
      }
    }
    return { thrown: 'there is no function' }
  } catch (error) {
    return { thrown: String(error) }
  }
}

function plain(operation: Operation, result: unknown): object {
  return operation === 'encodeDownlink' ? { bytes: result } : { data: result }
}

/** The part of an answer by TS013 that counts. */
export function answerOf(operation: Operation, answer: unknown): Answer {
  if (!isObject(answer)) return { thrown: 'the answer is no object' }
  const { data, bytes, fPort, errors } = answer
  const faults = Array.isArray(errors) ? errors : errors === undefined || errors === null ? [] : [errors]
  if (faults.length > 0)
    return { errors: faults.map((one) => (typeof one === 'string' ? one : JSON.stringify(one))).join('; ') }
  if (operation !== 'encodeDownlink') return { value: data }
  return { bytes: Array.isArray(bytes) ? bytes : isObject(bytes) ? Object.values(bytes) : bytes, fPort }
}
