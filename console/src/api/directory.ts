/** Organizations, applications and devices, for lists and selections. */
import { keepPreviousData, useQueries, useQuery } from '@tanstack/react-query'
import type { Listed } from './list.ts'
import { request } from './request.ts'

export interface Organization {
  readonly id: string
  readonly name: string
  readonly displayName: string
}

export interface Application {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly organizationID: string
}

/** The members that an application has by itself, and not in a list. */
interface ApplicationSettings {
  /** The shape of its events; empty for events as received. */
  readonly eventShape: string
  /** NETWORK_SERVER: objects of commands that no codec here encodes are passed on. */
  readonly objectCommands: string
  /** The last uplink and the last state of each device are retained. */
  readonly retainsLastEvents: boolean
}

/** The settings of an application; of none while the id is undefined. */
export function useApplicationSettings(applicationId: string | undefined) {
  return useQuery({
    queryKey: ['applications', 'settings', applicationId ?? ''],
    enabled: applicationId !== undefined,
    queryFn: async ({ signal }) => {
      const path = `/api/applications/${encodeURIComponent(applicationId ?? '')}`
      return (await request<{ readonly application: ApplicationSettings }>('GET', path, { signal })).application
    },
  })
}

/** How a device is heard, by its interval. */
export type DeviceState = 'ON_TIME' | 'LATE' | 'SILENT' | 'NEVER_HEARD'

export interface Device {
  readonly devEUI: string
  readonly name: string
  readonly applicationID: string
  readonly organizationID: string
  readonly description: string
  readonly deviceProfileName: string
  readonly isDisabled: boolean
  readonly state: DeviceState
  readonly lowBattery: boolean
  readonly weakSignal: boolean
  readonly losingFrames: boolean
  readonly deviceStatusBatteryLevel: number | null
  readonly deviceStatusMargin: number | null
  readonly lastSeenAt: string | null
}

/** A device with the members that the list leaves out. */
export interface DeviceDetail {
  readonly device: Pick<
    Device,
    'devEUI' | 'name' | 'applicationID' | 'description' | 'deviceProfileName' | 'isDisabled'
  > & {
    /** The id of a device profile, or another text that the network server understands. */
    readonly deviceProfileID: string
    readonly tags: Readonly<Record<string, string>>
    readonly variables: Readonly<Record<string, string>>
  }
  readonly organizationID: string
  readonly deviceStatusBatteryLevel: number | null
  readonly deviceStatusMargin: number | null
  readonly lastSeenAt: string | null
}

/**
 * The path of the devices. It is also the first member of the key of every list of devices in the
 * cache.
 */
export const DEVICES_PATH = '/api/devices'

/** A selection offers this many at once. The rest is found by typing. */
const OFFERED = 50

/** The organizations whose name contains the text. */
export function useOrganizations(search: string) {
  return useQuery({
    queryKey: ['organizations', search],
    queryFn: ({ signal }) =>
      request<Listed<Organization>>('GET', '/api/organizations', { query: { limit: OFFERED, search }, signal }),
    placeholderData: keepPreviousData,
  })
}

/** The applications of an organization, by name. */
export function useApplications(organizationId: string) {
  return useQuery({
    queryKey: ['applications', organizationId],
    queryFn: ({ signal }) =>
      request<Listed<Application>>('GET', '/api/applications', {
        query: { limit: 1000, organizationID: organizationId },
        signal,
      }),
  })
}

interface DevicesAsked {
  readonly organizationId: string
  readonly applicationId: string | undefined
  readonly search: string
  readonly limit: number
  readonly offset: number
}

/** A page of devices, by name. The previous page stays in view until the next one has arrived. */
export function useDevices(asked: DevicesAsked) {
  const { organizationId, applicationId, search, limit, offset } = asked
  return useQuery({
    queryKey: [DEVICES_PATH, asked],
    queryFn: ({ signal }) =>
      request<Listed<Device>>('GET', DEVICES_PATH, {
        query: { organizationID: organizationId, applicationID: applicationId, search, limit, offset },
        signal,
      }),
    placeholderData: keepPreviousData,
    refetchInterval: 30_000,
  })
}

/** How many devices of the organization, or of one application, are in each of the states. */
export function useDeviceCounts(organizationId: string, applicationId: string, states: readonly DeviceState[]) {
  return useQueries({
    queries: states.map((state) => ({
      queryKey: [DEVICES_PATH, 'count', organizationId, applicationId, state],
      queryFn: async ({ signal }: { readonly signal: AbortSignal }) => {
        const query = { limit: 0, organizationID: organizationId, applicationID: applicationId, state }
        return Number((await request<Listed<Device>>('GET', DEVICES_PATH, { query, signal })).totalCount)
      },
      placeholderData: keepPreviousData,
      refetchInterval: 30_000,
    })),
  })
}

/** One device. */
export function useDevice(devEui: string) {
  return useQuery({
    queryKey: ['device', devEui],
    queryFn: ({ signal }) => request<DeviceDetail>('GET', `/api/devices/${encodeURIComponent(devEui)}`, { signal }),
    refetchInterval: 30_000,
  })
}
