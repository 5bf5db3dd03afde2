/**
 * All pages of the console: path, place in the navigation, and code. The code of a page is fetched
 * when the page is opened.
 */
import type { ComponentType } from 'react'
import type { IconName } from './shell/icons.tsx'
import { fetchedPage } from './shell/page-code.tsx'

/** The rights of a person, as far as pages depend on them. */
export interface Standing {
  readonly isGlobalAdmin: boolean
  /** The person is an admin of the chosen organization. */
  readonly isOrganizationAdmin: boolean
  readonly isDeviceAdmin: boolean
}

/** The least rights that a page asks for. */
export type Role = 'deviceAdmin' | 'organizationAdmin' | 'globalAdmin'

/** True where a person has at least the rights of the role. */
export function isRole({ isGlobalAdmin, isOrganizationAdmin, isDeviceAdmin }: Standing, role: Role): boolean {
  return { globalAdmin: isGlobalAdmin, organizationAdmin: isOrganizationAdmin, deviceAdmin: isDeviceAdmin }[role]
}

interface Page {
  /** The path, as a pattern of wouter. */
  readonly path: string
  readonly title: string
  readonly Page: ComponentType
  /** The place in the navigation. A page without a place is reached from other pages. */
  readonly navigation?: {
    readonly icon: IconName
    readonly group: 'work' | 'administration'
    /** The role that is offered the page, where fewer people are offered it than may open it. */
    readonly needs?: Role
  }
  /** The role that may open the page; everybody where it is undefined. */
  readonly needs?: Role
}

export const PAGES: readonly Page[] = [
  {
    path: '/connect',
    title: 'Connect',
    Page: fetchedPage(async () => (await import('./connect/connect-page.tsx')).ConnectPage),
    navigation: { icon: 'plug', group: 'work' },
  },
  {
    path: '/live',
    title: 'Live',
    Page: fetchedPage(async () => (await import('./live/live-page.tsx')).LivePage),
    navigation: { icon: 'activity', group: 'work' },
  },
  {
    path: '/devices',
    title: 'Devices',
    Page: fetchedPage(async () => (await import('./devices/devices-page.tsx')).DevicesPage),
    navigation: { icon: 'device', group: 'work' },
  },
  {
    path: '/devices/:devEui',
    title: 'Device',
    Page: fetchedPage(async () => (await import('./devices/device-page.tsx')).DevicePage),
  },
  {
    path: '/unknown-devices',
    title: 'Unknown devices',
    Page: fetchedPage(async () => (await import('./unknown-devices/unknown-devices-page.tsx')).UnknownDevicesPage),
    navigation: { icon: 'inbox', group: 'work' },
    needs: 'deviceAdmin',
  },
  {
    path: '/why',
    title: 'Why no data?',
    Page: fetchedPage(async () => (await import('./diagnosis/diagnosis-page.tsx')).DiagnosisPage),
    navigation: { icon: 'search', group: 'work' },
  },
  {
    path: '/codecs',
    title: 'Codecs',
    Page: fetchedPage(async () => (await import('./codecs/codecs-page.tsx')).CodecsPage),
    navigation: { icon: 'code', group: 'work' },
    needs: 'organizationAdmin',
  },
  {
    path: '/device-profiles',
    title: 'Device profiles',
    Page: fetchedPage(async () => (await import('./device-profiles/device-profiles-page.tsx')).DeviceProfilesPage),
    navigation: { icon: 'list', group: 'work' },
    needs: 'organizationAdmin',
  },
  {
    path: '/device-profiles/:id',
    title: 'Device profile',
    Page: fetchedPage(async () => (await import('./device-profiles/device-profile-page.tsx')).DeviceProfilePage),
    needs: 'organizationAdmin',
  },
  {
    path: '/device-library',
    title: 'Device library',
    Page: fetchedPage(async () => (await import('./device-library/device-library-page.tsx')).DeviceLibraryPage),
    navigation: { icon: 'copy', group: 'work' },
  },
  {
    path: '/applications',
    title: 'Applications',
    Page: fetchedPage(async () => (await import('./applications/applications-page.tsx')).ApplicationsPage),
    navigation: { icon: 'grid', group: 'administration' },
    needs: 'organizationAdmin',
  },
  {
    path: '/import',
    title: 'Import devices',
    Page: fetchedPage(async () => (await import('./device-import/import-page.tsx')).ImportPage),
    navigation: { icon: 'upload', group: 'administration' },
    needs: 'deviceAdmin',
  },
  {
    path: '/members',
    title: 'Members',
    Page: fetchedPage(async () => (await import('./members/members-page.tsx')).MembersPage),
    navigation: { icon: 'users', group: 'administration' },
    needs: 'organizationAdmin',
  },
  {
    path: '/api-keys',
    title: 'API keys',
    Page: fetchedPage(async () => (await import('./api-keys/api-keys-page.tsx')).ApiKeysPage),
    navigation: { icon: 'key', group: 'administration' },
    needs: 'organizationAdmin',
  },
  {
    path: '/network-servers',
    title: 'Network servers',
    Page: fetchedPage(async () => (await import('./network-servers/network-servers-page.tsx')).NetworkServersPage),
    navigation: { icon: 'server', group: 'administration' },
    needs: 'organizationAdmin',
  },
  {
    path: '/webhooks',
    title: 'Webhooks',
    Page: fetchedPage(async () => (await import('./webhooks/webhooks-page.tsx')).WebhooksPage),
    navigation: { icon: 'send', group: 'administration' },
    needs: 'organizationAdmin',
  },
  {
    path: '/connections',
    title: 'Connections',
    Page: fetchedPage(async () => (await import('./connections/connections-page.tsx')).ConnectionsPage),
    navigation: { icon: 'link', group: 'administration' },
    needs: 'organizationAdmin',
  },
  {
    path: '/refusals',
    title: 'Refusals',
    Page: fetchedPage(async () => (await import('./refusals/refusals-page.tsx')).RefusalsPage),
    // Members reach their own refusals by a link of Connect.
    navigation: { icon: 'shield', group: 'administration', needs: 'organizationAdmin' },
  },
  {
    path: '/audit-log',
    title: 'Audit log',
    Page: fetchedPage(async () => (await import('./audit-log/audit-page.tsx')).AuditPage),
    navigation: { icon: 'list', group: 'administration' },
    needs: 'organizationAdmin',
  },
  {
    path: '/bounds',
    title: 'Bounds',
    Page: fetchedPage(async () => (await import('./bounds/bounds-page.tsx')).BoundsPage),
    // Members reach the page by a link of Connect.
    navigation: { icon: 'level', group: 'administration', needs: 'organizationAdmin' },
  },
  {
    path: '/organizations',
    title: 'Organizations',
    Page: fetchedPage(async () => (await import('./organizations/organizations-page.tsx')).OrganizationsPage),
    navigation: { icon: 'building', group: 'administration' },
    needs: 'organizationAdmin',
  },
  {
    path: '/users',
    title: 'Users',
    Page: fetchedPage(async () => (await import('./users/users-page.tsx')).UsersPage),
    navigation: { icon: 'user', group: 'administration' },
    needs: 'globalAdmin',
  },
  {
    path: '/status',
    title: 'Status',
    Page: fetchedPage(async () => (await import('./status/status-page.tsx')).StatusPage),
    navigation: { icon: 'gauge', group: 'administration' },
    needs: 'globalAdmin',
  },
  {
    path: '/account',
    title: 'Account',
    Page: fetchedPage(async () => (await import('./account/account-page.tsx')).AccountPage),
  },
]

/** The page that the console opens with. */
export const FIRST_PAGE = '/connect'
