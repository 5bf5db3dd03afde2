/**
 * Reads the members of a settings file. Each fault is a sentence that names its member; all faults
 * are reported at once.
 */
import { memberOf, objectOf } from '../../json.ts'
import type { JsonObject } from '../../json.ts'

/** Returns the text of a file that the settings name; throws when the file can't be read. */
export type ReadFile = (path: string) => string

/**
 * The largest file of a secret or certificate that is read, in characters: far more than any has.
 */
const MAXIMUM_FILE_LENGTH = 262_144

export class MemberReader {
  readonly faults: string[]
  readonly #object: JsonObject
  readonly #path: string
  readonly #readFile: ReadFile
  readonly #asked = new Set<string>()

  constructor(object: JsonObject, path: string, readFile: ReadFile, faults: string[] = []) {
    this.#object = object
    this.#path = path
    this.#readFile = readFile
    this.faults = faults
  }

  /** Notes a fault of a member. */
  fault(member: string, reason: string): void {
    this.faults.push(`${this.#path}.${member}: ${reason}`)
  }

  text(member: string, shape: RegExp, rule: string): string {
    return this.optionalText(member, shape, rule) ?? this.#missing(member)
  }

  optionalText(member: string, shape: RegExp, rule: string): string | undefined {
    const value = this.#value(member)
    if (value === undefined) return undefined
    if (typeof value === 'string' && shape.test(value)) return value
    this.fault(member, `must be ${rule}`)
    return undefined
  }

  choice<const Choice extends string>(member: string, choices: readonly Choice[], fallback?: NoInfer<Choice>): Choice {
    const value = this.#value(member) ?? fallback
    const found = choices.find((choice) => choice === value)
    if (found !== undefined) return found
    if (value === undefined) this.#missing(member)
    else this.fault(member, `must be one of ${choices.map((choice) => `"${choice}"`).join(', ')}`)
    return choices[0] as Choice
  }

  integer(member: string, minimum: number, maximum: number, fallback: number): number {
    const value = this.#value(member) ?? fallback
    if (typeof value === 'number' && Number.isInteger(value) && value >= minimum && value <= maximum) return value
    this.fault(member, `must be an integer from ${minimum} to ${maximum}`)
    return fallback
  }

  flag(member: string, fallback: boolean): boolean {
    const value = this.#value(member) ?? fallback
    if (typeof value === 'boolean') return value
    this.fault(member, 'must be true or false')
    return fallback
  }

  /**
   * A text, or `{"file": path}` for the text of that file without the line break at its end. No
   * fault ever shows the secret.
   */
  optionalSecret(member: string): string | undefined {
    const value = this.#value(member)
    if (value === undefined) return undefined
    if (typeof value === 'string') return value
    const file = objectOf(value)?.['file']
    if (typeof file === 'string') return this.#file(member, file)?.replace(/\r?\n$/, '')
    this.fault(member, 'must be a string, or {"file": "/path"}')
    return undefined
  }

  secret(member: string): string {
    const value = this.optionalSecret(member)
    if (value === '') this.fault(member, 'must not be empty')
    return value ?? this.#missing(member)
  }

  /** The PEM text of the file that the member names. */
  optionalPemFile(member: string): string | undefined {
    const path = this.optionalText(member, /^[^\0]{1,4096}$/, 'a path')
    const text = path === undefined ? undefined : this.#file(member, path)
    if (text === undefined || text.includes('-----BEGIN ')) return text
    this.fault(member, 'the file has no PEM in it')
    return undefined
  }

  /** A URL of one of the schemes, without user, query and fragment. */
  url(member: string, schemes: readonly string[]): URL {
    const value = this.#value(member)
    const url = typeof value === 'string' && URL.canParse(value) ? new URL(value) : undefined
    const isPlain = url !== undefined && url.username === '' && url.password === '' && url.search + url.hash === ''
    if (isPlain && schemes.includes(url.protocol) && url.hostname !== '') return url
    if (value === undefined) this.#missing(member)
    else {
      const beginnings = schemes.map((scheme) => `${scheme}//`).join(' or ')
      this.fault(member, `must be a URL that begins with ${beginnings}, without user name, query and fragment`)
    }
    return new URL('http://invalid/')
  }

  /** An object whose members are texts; undefined when the member is left out. */
  optionalMap(member: string, key: RegExp, value: RegExp, rule: string): ReadonlyMap<string, string> | undefined {
    const given = this.#value(member)
    if (given === undefined) return undefined
    const entries = Object.entries(objectOf(given) ?? { '': '' })
    const isRight = entries.every(([name, text]) => key.test(name) && typeof text === 'string' && value.test(text))
    if (isRight && entries.length > 0) return new Map(entries as [string, string][])
    this.fault(member, `must be ${rule}`)
    return undefined
  }

  /** An array of texts; undefined when the member is left out. */
  optionalTexts(member: string, shape: RegExp, rule: string): readonly string[] | undefined {
    const given = this.#value(member)
    if (given === undefined) return undefined
    const isRight = Array.isArray(given) && given.every((text) => typeof text === 'string' && shape.test(text))
    if (isRight && given.length > 0) return given as string[]
    this.fault(member, `must be ${rule}`)
    return undefined
  }

  /**
   * Notes a fault for each member that nothing has read. Otherwise a misspelled name would go
   * unnoticed.
   */
  end(): void {
    for (const member of Object.keys(this.#object)) {
      if (!this.#asked.has(member)) {
        this.fault(
          member.replaceAll(/[^ -~]/g, '?').slice(0, 60),
          `is no setting of this kind; there are ${[...this.#asked].join(', ')}`,
        )
      }
    }
  }

  #value(member: string): unknown {
    this.#asked.add(member)
    return memberOf(this.#object, member)
  }

  #missing(member: string): '' {
    const isKnownFault = this.faults.some((fault) => fault.startsWith(`${this.#path}.${member}: `))
    if (!isKnownFault) this.fault(member, 'is missing')
    return ''
  }

  #file(member: string, path: string): string | undefined {
    try {
      const text = this.#readFile(path)
      if (text.length <= MAXIMUM_FILE_LENGTH) return text
      this.fault(member, `the file has more than ${MAXIMUM_FILE_LENGTH} characters`)
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
      this.fault(member, `the file can't be read (${code})`)
    }
    return undefined
  }
}
