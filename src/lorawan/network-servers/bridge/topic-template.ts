/**
 * Topic templates of a network server's broker, in ChirpStack's spelling:
 * `application/{{application_id}}/device/{{dev_eui}}/event/{{event}}`. Each placeholder is a whole
 * level, or a part of one.
 */

/** The values of the placeholders. */
export interface TopicValues {
  readonly applicationId: string
  readonly devEui: string
  /** The kind of event; absent in the topic of commands. */
  readonly event: string
}

const PLACEHOLDER = /\{\{ ?\.?([A-Za-z_]+) ?\}\}/g

/** The names of placeholders in ChirpStack v4, and in v3 (`{{ .ApplicationID }}`). */
const NAMES: Readonly<Record<string, keyof TopicValues>> = {
  application_id: 'applicationId',
  ApplicationID: 'applicationId',
  dev_eui: 'devEui',
  DevEUI: 'devEui',
  event: 'event',
  EventType: 'event',
}

/**
 * The values that each placeholder matches in a received topic. None of them can reach into another
 * level.
 */
const SHAPES: Readonly<Record<keyof TopicValues, string>> = {
  applicationId: '[0-9A-Za-z-]{1,64}',
  devEui: '[0-9A-Fa-f]{16}',
  event: '[a-z]{1,20}',
}

export class TopicTemplate {
  /** The Topic Filter for all topics of this shape: each level with a placeholder is `+`. */
  readonly topicFilter: string
  readonly #text: string
  readonly #shape: RegExp
  readonly #keys: readonly (keyof TopicValues)[]

  private constructor(text: string, keys: readonly (keyof TopicValues)[]) {
    this.#text = text
    this.#keys = keys
    this.topicFilter = text
      .split('/')
      .map((level) => (level.includes('{{') ? '+' : level))
      .join('/')
    const parts = text.split(PLACEHOLDER)
    // Split by a pattern with one group: texts alternate with the names of placeholders.
    const pattern = parts.map((part, index) => (index % 2 === 0 ? RegExp.escape(part) : `(${shapeOf(part)})`))
    this.#shape = new RegExp(`^${pattern.join('')}$`)
  }

  /**
   * The template. If `text` does not have exactly the wanted placeholders, the result is a sentence
   * about the fault.
   */
  static parse(text: string, wanted: readonly (keyof TopicValues)[]): TopicTemplate | string {
    const names = Array.from(text.matchAll(PLACEHOLDER), ([, name = '']) => name)
    const rest = text.replaceAll(PLACEHOLDER, '')
    if (/[+#{}\0]/.test(rest) || rest.length > 200) return 'must have no wildcards and no other placeholders'
    const keys = names.map((name) => NAMES[name])
    const missing = wanted.filter((key) => keys.filter((one) => one === key).length !== 1)
    if (missing.length > 0 || keys.length !== wanted.length) {
      const placeholders = wanted.map((key) => `{{${Object.keys(NAMES).find((name) => NAMES[name] === key)}}}`)
      return `must have each of ${placeholders.join(', ')} once`
    }
    return new TopicTemplate(text, keys as (keyof TopicValues)[])
  }

  /** The Topic Name with these values. */
  write(values: Readonly<Partial<TopicValues>>): string {
    return this.#text.replaceAll(PLACEHOLDER, (_, name: string) => values[NAMES[name] ?? 'event'] ?? '')
  }

  /**
   * The values in the Topic Name, with the DevEUI in lower case; undefined for a Topic Name of
   * another shape.
   */
  read(topicName: string): Partial<TopicValues> | undefined {
    const match = this.#shape.exec(topicName)
    if (match === null) return undefined
    const values: Partial<Record<keyof TopicValues, string>> = {}
    this.#keys.forEach((key, index) => {
      const value = match[index + 1] ?? ''
      values[key] = key === 'devEui' ? value.toLowerCase() : value
    })
    return values
  }
}

function shapeOf(name: string): string {
  return SHAPES[NAMES[name] ?? 'event']
}
