/** An application’s codec, and trying one before it is saved. */
import { useQuery } from '@tanstack/react-query'
import { request } from './request.ts'

export type CodecKind = '' | 'CAYENNE_LPP' | 'CUSTOM_JS'

/** How an application’s bytes become objects and back. */
export interface Codec {
  readonly payloadCodec: CodecKind
  readonly payloadDecoderScript: string
  readonly payloadEncoderScript: string
}

/** What both directions of a trial tell. */
interface Outcome {
  readonly warnings: readonly string[]
  readonly console: readonly string[]
  readonly error: { readonly message: string; readonly line: number | null } | null
  readonly durationMs: number
}

/** What came of a trial. */
export interface CodecTrial {
  readonly decoded?: Outcome & { readonly object: unknown }
  readonly encoded?: Outcome & { readonly data: string; readonly hex: string; readonly fPort: number | null }
}

/** What is tried: bytes to decode or an object to encode. */
export type CodecSample = { readonly fPort: number } & ({ readonly data: string } | { readonly object: unknown })

/** Key of an application’s codec in the cache. */
export function codecKey(applicationId: string): readonly string[] {
  return ['codec', applicationId]
}

/** The codec that is saved. */
export function useCodec(applicationId: string | null) {
  return useQuery({
    queryKey: codecKey(applicationId ?? ''),
    enabled: applicationId !== null,
    // What is being edited must not be replaced from behind.
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
