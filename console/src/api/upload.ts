/**
 * Sends a file, or a piece of one, as the body of a request, and tells the progress, which `fetch`
 * does not.
 */
import { session } from '../session/session.ts'
import { ApiFailure, refusalOf, queryText } from './request.ts'

interface UploadOptions {
  readonly query: Readonly<Record<string, string>>
  readonly contentType: string
  readonly content: Blob
  readonly signal: AbortSignal
  /** Is called with the part of the body, from 0 to 1, that has been sent. */
  readonly onProgress: (part: number) => void
}

/**
 * Sends the body by POST and answers the body of the answer. Throws `ApiFailure` as `request` does,
 * and an AbortError.
 */
export function upload<T>(path: string, options: UploadOptions): Promise<T> {
  const { query, contentType, content, signal, onProgress } = options
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const exchange = new XMLHttpRequest()
  exchange.open('POST', path + queryText(query))
  exchange.responseType = 'json'
  exchange.setRequestHeader('accept', 'application/json')
  exchange.setRequestHeader('content-type', contentType)
  exchange.setRequestHeader('grpc-metadata-authorization', `Bearer ${session.token() ?? ''}`)
  exchange.upload.addEventListener('progress', ({ loaded, total }) => onProgress(total === 0 ? 1 : loaded / total))
  exchange.addEventListener('load', () => {
    if (exchange.status >= 200 && exchange.status < 300) resolve(exchange.response as T)
    else reject(refusalOf(exchange.status, exchange.response))
  })
  exchange.addEventListener('error', () =>
    reject(
      new ApiFailure(0, 'unreachable', 'The upload broke off. Check the network, and that the file is still there.'),
    ),
  )
  exchange.addEventListener('abort', () => reject(new DOMException('The upload was cancelled.', 'AbortError')))
  signal.throwIfAborted()
  signal.addEventListener('abort', () => exchange.abort(), { once: true })
  exchange.send(content)
  return promise
}
