/** A certificate authority of an operator, made by openssl: no code of this project takes part. */
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { outputOf } from './program.ts'

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']

export class Authority {
  readonly #folder: string
  #serial = 0

  /** Makes the authority in the folder; clients trust `caFile`. */
  static async create(folder: string): Promise<Authority> {
    const files = ['-keyout', join(folder, 'ca-key.pem'), '-out', join(folder, 'ca.pem')]
    await outputOf('openssl', ['req', '-x509', ...KEY, ...files, '-subj', '/CN=The operator', '-days', '2'])
    return new Authority(folder)
  }

  private constructor(folder: string) {
    this.#folder = folder
  }

  get caFile(): string {
    return join(this.#folder, 'ca.pem')
  }

  get certFile(): string {
    return join(this.#folder, 'server.pem')
  }

  get keyFile(): string {
    return join(this.#folder, 'server-key.pem')
  }

  /**
   * Replaces the certificate for localhost and its key by new ones. Returns the certificate's
   * common name.
   */
  async issue(): Promise<string> {
    this.#serial += 1
    const name = `server ${this.#serial}`
    const at = (file: string): string => join(this.#folder, file)
    const [request, extensions] = [at('request.pem'), at('extensions')]
    const subject = ['-subj', `/CN=${name}`]
    await outputOf('openssl', ['req', '-new', ...KEY, '-keyout', at('new-key.pem'), '-out', request, ...subject])
    await writeFile(extensions, 'subjectAltName=DNS:localhost,IP:127.0.0.1\n')
    const ca = ['-CA', this.caFile, '-CAkey', at('ca-key.pem'), '-CAcreateserial']
    const out = ['-extfile', extensions, '-days', '1', '-out', at('new.pem')]
    await outputOf('openssl', ['x509', '-req', '-in', request, ...ca, ...out])
    await rename(at('new-key.pem'), this.keyFile)
    await rename(at('new.pem'), this.certFile)
    return name
  }
}
