/** Reads, saves and tries the codec of an application. */
import { useQuery } from '@tanstack/react-query'
import { request } from './request.ts'

export type CodecKind = '' | 'CAYENNE_LPP' | 'CUSTOM_JS'

/** The way in which an application's bytes become objects, and objects become bytes. */
export interface Codec {
  readonly payloadCodec: CodecKind
  readonly payloadDecoderScript: string
  readonly payloadEncoderScript: string
}

/** The part of a trial's result that decoding and encoding share. */
interface Outcome {
  readonly warnings: readonly string[]
  readonly console: readonly string[]
  readonly error: { readonly message: string; readonly line: number | null } | null
  readonly durationMs: number
}

/** The result of a trial. */
export interface CodecTrial {
  readonly decoded?: Outcome & { readonly object: unknown }
  readonly encoded?: Outcome & { readonly data: string; readonly hex: string; readonly fPort: number | null }
}

/** The sample of a trial: bytes to decode or an object to encode. */
export type CodecSample = { readonly fPort: number } & ({ readonly data: string } | { readonly object: unknown })

/** The key of an application's codec in the cache. */
export function codecKey(applicationId: string): readonly string[] {
  return ['codec', applicationId]
}

/** The saved codec of an application. */
export function useCodec(applicationId: string | null) {
  return useQuery({
    queryKey: codecKey(applicationId ?? ''),
    enabled: applicationId !== null,
    // A codec that somebody is editing must not be replaced by a newer answer.
    refetchOnWindowFocus: false,
    queryFn: async ({ signal }) => {
      const path = `/api/applications/${encodeURIComponent(applicationId ?? '')}`
      return (await request<{ readonly application: Codec }>('GET', path, { signal })).application
    },
  })
}

export function saveCodec(applicationId: string, codec: Codec): Promise<unknown> {
  const body = { application: codec }
  return request('PUT', `/api/applications/${encodeURIComponent(applicationId)}`, { body })
}

/** Runs a codec, saved or not, on a sample. Nothing is sent or stored. */
export function tryCodec(applicationId: string, codec: Codec, sample: CodecSample): Promise<CodecTrial> {
  const body = { ...codec, ...sample }
  return request('POST', `/api/applications/${encodeURIComponent(applicationId)}/codec/test`, { body })
}
