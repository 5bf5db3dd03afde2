/** Tries to reach a ChirpStack v4 with the given settings, and says in plain words how it went. */
import { connect as connectTcp, isIP } from 'node:net'
import { connect as connectTls } from 'node:tls'
import grpc from '@grpc/grpc-js'
import { given } from '../../../given.ts'
import { ChirpStackApi } from './chirpstack-api.ts'
import type { ChirpStackAddress } from './chirpstack-api.ts'
import { faultOf } from './grpc-fault.ts'

/** The result of a trial. */
export interface ChirpStackTrial {
  readonly outcome:
    | 'works'
    | 'unreachable'
    | 'tls_failed'
    | 'not_chirpstack'
    | 'key_refused'
    | 'tenants_needed'
    | 'failing'
  /** A sentence or two for people. */
  readonly answer: string
  /** The first hundred of the tenants that the key may see, or of the tenants in the settings. */
  readonly tenants: readonly { readonly id: string; readonly name: string; readonly applications: number }[]
}

interface Tried {
  readonly address: ChirpStackAddress
  /** Tenants to organizations, if the settings name tenants. */
  readonly tenants: ReadonlyMap<string, string> | undefined
}

/** How long the connection may take, with the handshake of TLS; and the gRPC connection again. */
const CONNECTING_MS = 5_000
/** Tenants that are listed. Each costs one call to count its applications. */
const MAXIMUM_TENANTS = 100

type Code = ChirpStackTrial['outcome']

/** Connects, asks, and closes; never rejects. If nothing answers, it takes some 10 s at most. */
export async function tryChirpStack({ address, tenants }: Tried): Promise<ChirpStackTrial> {
  const unconnected = await tryConnection(address)
  if (unconnected !== undefined) return unconnected
  const api = new ChirpStackApi(address)
  try {
    await api.whenReachable(CONNECTING_MS)
  } catch {
    api.close()
    return no('not_chirpstack', notGrpc(address))
  }
  try {
    return works(await tenantsOf(api, tenants))
  } catch (error) {
    return explain(error, tenants !== undefined)
  } finally {
    api.close()
  }
}

async function tenantsOf(api: ChirpStackApi, named: Tried['tenants']): Promise<ChirpStackTrial['tenants']> {
  const found: { id: string; name: string; applications: number }[] = []
  const add = async (id: string, name: string): Promise<void> => {
    let applications = 0
    for await (const _ of api.applications(id)) applications += 1
    found.push({ id, name, applications })
  }
  if (named !== undefined) {
    for (const id of [...named.keys()].slice(0, MAXIMUM_TENANTS)) await add(id, '')
    return found
  }
  for await (const { id, name } of api.tenants()) {
    await add(id, name)
    if (found.length === MAXIMUM_TENANTS) break
  }
  return found
}

function works(tenants: ChirpStackTrial['tenants']): ChirpStackTrial {
  const applications = tenants.reduce((sum, one) => sum + one.applications, 0)
  const answer = `It works: the key sees ${count(tenants.length, 'tenant')} with ${count(applications, 'application')}.`
  return { outcome: 'works', answer, tenants }
}

function explain(error: unknown, hasTenants: boolean): ChirpStackTrial {
  const { code, reason } = faultOf(error)
  const { status } = grpc
  const isDenied = new Set<number>([status.UNAUTHENTICATED, status.PERMISSION_DENIED]).has(code)
  // ChirpStack answers so for a key that it has not made. For a missing right it gives no reason.
  if (isDenied && /token/i.test(reason)) {
    return no('key_refused', 'ChirpStack does not know the API key. Copy it again: it is shown once, when it is made.')
  }
  if (isDenied && hasTenants) {
    return no('key_refused', 'The API key may not see a tenant that is named. It is another tenant’s, or was deleted.')
  }
  if (isDenied) {
    return no(
      'tenants_needed',
      'The API key may not list tenants: it is one tenant’s own, or was deleted. Name the tenant and the organization that it is ' +
        'here, or take an API key of an admin (Network Server › API keys).',
    )
  }
  if (new Set<number>([status.UNIMPLEMENTED, status.NOT_FOUND]).has(code)) {
    return no('not_chirpstack', `What answers there is not the API of a ChirpStack v4 (${reason}).`)
  }
  return no('failing', `ChirpStack answers, but can’t work now; its database may be away (${reason}).`)
}

function no(outcome: Code, answer: string): ChirpStackTrial {
  return { outcome, answer, tenants: [] }
}

function notGrpc({ tls }: ChirpStackAddress): string {
  const advice = tls === undefined ? 'Does it want TLS (https://)?' : 'Does it speak clear text (http://)?'
  return `Something answers there, but not by gRPC. ${advice} ChirpStack’s own port is 8080.`
}

/**
 * Undefined when a connection comes about, TLS included. The test is needed because gRPC gives no
 * reasons.
 */
function tryConnection({ target, tls }: ChirpStackAddress): Promise<ChirpStackTrial | undefined> {
  const { hostname: host, port } = new URL(`tcp://${target}`)
  const bare = host.replaceAll(/[[\]]/g, '')
  return new Promise((resolve) => {
    let isConnected = false
    const options = { host: bare, port: Number(port) }
    // An IP address is not allowed as a server name (RFC 6066 §3).
    const named = isIP(bare) === 0 ? { servername: bare } : {}
    const socket =
      tls === undefined
        ? connectTcp(options)
        : connectTls({ ...options, ...named, ALPNProtocols: ['h2'], ...given({ ca: tls.ca }) })
    const end = (trial: ChirpStackTrial | undefined): void => {
      clearTimeout(timer)
      socket.destroy()
      resolve(trial)
    }
    const timer = setTimeout(() => end(failed(isConnected, target, 'no answer within 5 s')), CONNECTING_MS)
    socket.once('connect', () => {
      isConnected = true
      if (tls === undefined) end(undefined)
    })
    socket.once('secureConnect', () => end(undefined))
    socket.once('error', (error) => {
      const isRefusedByUs = 'code' in error && /CERT|SELF_SIGNED|ISSUER|ALTNAME/.test(String(error.code))
      end(failed(isConnected || isRefusedByUs, target, reasonOf(error)))
    })
  })
}

/** OpenSSL and BoringSSL word their messages differently, but a fault of TLS has the same code. */
function reasonOf(error: Error): string {
  const code = 'code' in error ? String(error.code) : ''
  const [, fault] = /^ERR_SSL_(\w+)$/.exec(code) ?? []
  return fault === undefined ? error.message || code : fault.replaceAll('_', ' ').toLowerCase()
}

function failed(isConnected: boolean, target: string, reason: string): ChirpStackTrial {
  const shown = reason.replaceAll(/[^ -~]+/g, ' ').slice(0, 200)
  if (!isConnected) {
    return no('unreachable', `Nothing answers at ${target} (${shown}). Check the address, the port and firewalls.`)
  }
  return no('tls_failed', `TLS with ${target} fails (${shown}). ${adviceOn(shown)}`)
}

function adviceOn(said: string): string {
  if (/wrong version number|packet length too long/.test(said))
    return 'It speaks clear text: take http:// in the address.'
  if (/no application protocol/.test(said)) return 'It has no HTTP/2, which gRPC needs: that is not ChirpStack’s API.'
  return 'Check that the address is that of its certificate, and name the certificate authority that signed it.'
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
