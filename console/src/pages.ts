/**
 * Every page of the console: its path, its place in the navigation, and its code, which is fetched
 * when it is opened.
 */
import type { ComponentType } from 'react'
import type { IconName } from './shell/icons.tsx'
import { fetchedPage } from './shell/page-code.tsx'

/** What a person may, as far as pages depend on it. */
export interface Standing {
  readonly isGlobalAdmin: boolean
  /** Of the chosen organization. */
  readonly isOrganizationAdmin: boolean
  readonly isDeviceAdmin: boolean
}

/** The least that somebody must be. */
export type Role = 'deviceAdmin' | 'organizationAdmin' | 'globalAdmin'

/** Whether somebody is at least that. */
export function isRole({ isGlobalAdmin, isOrganizationAdmin, isDeviceAdmin }: Standing, role: Role): boolean {
  return { globalAdmin: isGlobalAdmin, organizationAdmin: isOrganizationAdmin, deviceAdmin: isDeviceAdmin }[role]
}

interface Page {
  /** A pattern of wouter. */
  readonly path: string
  readonly title: string
  readonly Page: ComponentType
  /** Where the page stands in the navigation; a page without it is reached from others. */
  readonly navigation?: {
    readonly icon: IconName
    readonly group: 'work' | 'administration'
    /** Who is offered it, where fewer are than may open it. */
    readonly needs?: Role
  }
  /** Who may open it; everybody where nothing is said. */
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
    path: '/codecs',
    title: 'Codecs',
    Page: fetchedPage(async () => (await import('./codecs/codecs-page.tsx')).CodecsPage),
    navigation: { icon: 'code', group: 'work' },
    needs: 'organizationAdmin',
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
    path: '/network-servers',
    title: 'Network servers',
    Page: fetchedPage(async () => (await import('./network-servers/network-servers-page.tsx')).NetworkServersPage),
    navigation: { icon: 'server', group: 'administration' },
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
    // Members come by a link of Connect, to their own.
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

/** Where the console opens. */
export const FIRST_PAGE = '/connect'
