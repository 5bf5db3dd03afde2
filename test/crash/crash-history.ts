/** The whole history of an application by HTTP, as keys of its messages. */
import { HttpsClient } from '../support/https-client.ts'
import { messageKey } from './crash-clients.ts'

const PAGE = 1_000

export async function readHistory(
  https: string,
  ca: string,
  session: string,
  applicationId: string,
): Promise<Set<string>> {
  const http = new HttpsClient(https, ca)
  const keys = new Set<string>()
  let after = ''
  for (;;) {
    const query = `limit=${PAGE}&order=oldest${after === '' ? '' : `&after=${after}`}`
    const answer = await http.must('GET', `/api/applications/${applicationId}/events?${query}`, { token: session })
    const { result, nextCursor } = answer as {
      readonly result: readonly { readonly event: { readonly publisher: string; readonly sequence: number } }[]
      readonly nextCursor?: string
    }
    for (const { event } of result) keys.add(messageKey(event.publisher, event.sequence))
    if (nextCursor === undefined || nextCursor === '') break
    after = nextCursor
  }
  http.close()
  return keys
}
