/** The question of the page Why no data?, as a person writes it. */

/** The thing that a question is about, in the words of the API. */
export type QuestionKind = 'devEui' | 'clientId' | 'topic'

export const QUESTION_KINDS: readonly { readonly value: QuestionKind; readonly label: string }[] = [
  { value: 'devEui', label: 'Device' },
  { value: 'clientId', label: 'Client' },
  { value: 'topic', label: 'Topic' },
]

const DEV_EUI = /^(?:0x)?[0-9a-f]{16}$/i

/** A DevEUI has 16 hexadecimal digits, and a topic has `/`, `+` or `#`. */
export function guessKind(text: string): QuestionKind {
  if (DEV_EUI.test(text)) return 'devEui'
  return /[/+#]/.test(text) ? 'topic' : 'clientId'
}

/** The kind that the address of the page names; otherwise the kind that the text looks like. */
export function kindOf(named: string, text: string): QuestionKind {
  return QUESTION_KINDS.find(({ value }) => value === named)?.value ?? guessKind(text)
}

/** The name of a fact in words: `last heard at` of `lastHeardAt`. */
export function factName(name: string): string {
  return name.replaceAll(/(?<=[a-z])[A-Z]+/g, (capitals) =>
    capitals.length > 1 ? ` ${capitals}` : ` ${capitals.toLowerCase()}`,
  )
}

/** The address of the page with this question. */
export function whyHref(kind: QuestionKind, text: string): string {
  return `/why?${new URLSearchParams({ about: text, kind }).toString()}`
}
