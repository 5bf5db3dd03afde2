/** The request that says why no data comes. */
import { useQuery } from '@tanstack/react-query'
import type { QuestionKind } from '../diagnosis/question.ts'
import { request } from './request.ts'

/** A step of the way from the device to the client. */
export interface DiagnosisStep {
  readonly step: string
  readonly status: 'ok' | 'problem' | 'unknown'
  readonly code: string
  readonly sentence: string
  /** The remedy; "" where nothing is to be done. */
  readonly advice: string
  readonly facts: readonly { readonly name: string; readonly value: string }[]
}

export interface Diagnosis {
  readonly isWell: boolean
  readonly sentence: string
  readonly steps: readonly DiagnosisStep[]
  /** The nodes that did not answer; absent when all did. */
  readonly missingNodes?: readonly string[]
}

/** The diagnosis; nothing is asked for an empty text. */
export function useDiagnosis(organizationId: string, kind: QuestionKind, text: string) {
  return useQuery({
    queryKey: ['diagnosis', organizationId, kind, text],
    queryFn: ({ signal }) =>
      request<Diagnosis>('GET', '/api/diagnosis', { query: { organizationID: organizationId, [kind]: text }, signal }),
    enabled: text !== '',
    retry: false,
    staleTime: 0,
  })
}
