/**
 * Reads the content of a command from the text of its form. The service checks the content again;
 * this check tells the person earlier.
 */
import { base64Of } from '../broker/bytes.ts'

/** The notation of the content. */
export type ContentForm = 'hex' | 'base64' | 'object'

/** The member of the command with the content. */
export type CommandContent = { readonly data: string } | { readonly object: object }

/** The content, or the fault of the text. */
export type ContentResult =
  | { readonly ok: true; readonly content: CommandContent }
  | { readonly ok: false; readonly message: string }

/** Reads the text of the form. */
export function contentOf(form: ContentForm, text: string): ContentResult {
  switch (form) {
    case 'hex': {
      const data = base64Of(text)
      return data === undefined ? wrong('Two hexadecimal digits for each byte, like 01 02 ff.') : right({ data })
    }
    case 'base64': {
      const data = text.trim()
      return isBase64(data)
        ? right({ data })
        : wrong('This is not base64: letters, digits, + and /, with = at the end.')
    }
    case 'object':
      return objectOf(text)
  }
}

function objectOf(text: string): ContentResult {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return right({ object: value })
    return wrong('An object is needed, like {"digitalOutput": {"1": 1}}.')
  } catch (error) {
    return wrong(`This is not JSON: ${error instanceof Error ? error.message : ''}`)
  }
}

function isBase64(text: string): boolean {
  return /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/.test(text)
}

function right(content: CommandContent): ContentResult {
  return { ok: true, content }
}

function wrong(message: string): ContentResult {
  return { ok: false, message }
}
