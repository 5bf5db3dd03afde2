/**
 * The nonce that the service put into this page. The Content-Security-Policy refuses style elements
 * without it.
 */
export function styleNonce(): string {
  return document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? ''
}
