/** Reads the sample of the test bench from its text. */
import { base64Of } from '../broker/bytes.ts'

/** The notation of the sample. */
export type SampleForm = 'hex' | 'base64' | 'object'

/** The members of the request, or the fault of the text. */
export type SampleResult =
  | { readonly ok: true; readonly sample: { readonly data: string } | { readonly object: unknown } }
  | { readonly ok: false; readonly message: string }

/** Reads the text. */
export function sampleOf(form: SampleForm, text: string): SampleResult {
  if (form === 'object') return objectOf(text)
  const data = form === 'hex' ? base64Of(text) : text.trim()
  if (data === '') return { ok: false, message: 'Type the bytes of a payload.' }
  if (data === undefined) return { ok: false, message: 'Two hexadecimal digits for each byte, like 01 67 00 fa.' }
  return { ok: true, sample: { data } }
}

function objectOf(text: string): SampleResult {
  try {
    return { ok: true, sample: { object: JSON.parse(text) as unknown } }
  } catch (error) {
    return { ok: false, message: `This is not JSON: ${error instanceof Error ? error.message : ''}` }
  }
}
