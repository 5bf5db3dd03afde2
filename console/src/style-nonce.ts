/**
 * The nonce that the service put into this page, without which style elements of its own would be
 * refused.
 */
export function styleNonce(): string {
  return document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? ''
}
