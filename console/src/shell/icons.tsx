/**
 * The icons of the console: 24 by 24, in the colour of the text around them, without words for
 * screen readers.
 */
import type { ReactElement } from 'react'

const PATHS = {
  activity: 'M3 12h4l3 8 4-16 3 8h4',
  alert: 'M12 9v4m0 4h.01M10.3 4.2 2.6 17.5A2 2 0 0 0 4.3 20.5h15.4a2 2 0 0 0 1.7-3L13.7 4.2a2 2 0 0 0-3.4 0Z',
  building: 'M4 21V5a2 2 0 0 1 2-2h8a2 2 0 0 1 2 2v16M16 9h2a2 2 0 0 1 2 2v10M3 21h18M8 7h4M8 11h4M8 15h4',
  check: 'm5 12.5 4.5 4.5L19 7.5',
  code: 'm8 7-5 5 5 5m8-10 5 5-5 5M14 4l-4 16',
  copy: 'M9 9h9a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2H9a2 2 0 0 1-2-2v-8a2 2 0 0 1 2-2ZM4 15a2 2 0 0 1-1-1.7V5a2 2 0 0 1 2-2h8.3A2 2 0 0 1 15 4',
  device:
    'M12 14v7m-4 0h8M12 11a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3ZM8 13.5a5.7 5.7 0 0 1 0-8m8 8a5.7 5.7 0 0 0 0-8M5.2 16.3a9.6 9.6 0 0 1 0-13.6m13.6 13.6a9.6 9.6 0 0 0 0-13.6',
  download: 'M12 4v11m-4.5-4.5L12 15l4.5-4.5M4 19h16',
  gauge: 'M4.9 18a9 9 0 1 1 14.2 0M12 14l4-5M12 14.5a.5.5 0 1 0 0-1 .5.5 0 0 0 0 1Z',
  grid: 'M4 4h6v6H4V4Zm10 0h6v6h-6V4ZM4 14h6v6H4v-6Zm10 0h6v6h-6v-6Z',
  inbox: 'M3.5 13h4.5l1.5 3h5l1.5-3h4.5M6.5 5h11l3 8v5a1.5 1.5 0 0 1-1.5 1.5H5A1.5 1.5 0 0 1 3.5 18v-5l3-8Z',
  key: 'M15.5 3.5a5 5 0 1 1-4.4 7.4L3.5 18.5v2h3v-2h2v-2h2l2-2',
  link: 'm9 15 6-6M10.5 6.5l1-1a5 5 0 0 1 7 7l-1 1M13.5 17.5l-1 1a5 5 0 0 1-7-7l1-1',
  level: 'M3 7.5h18v9H3v-9ZM7 11v2m4-2v2',
  list: 'M9 6h11M9 12h11M9 18h11M4.5 6h.01M4.5 12h.01M4.5 18h.01',
  moon: 'M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5Z',
  pause: 'M8 5v14M16 5v14',
  pencil: 'M4 20h4L19.5 8.5a2 2 0 0 0 0-2.8l-1.2-1.2a2 2 0 0 0-2.8 0L4 16v4ZM13.5 6.5l4 4',
  play: 'm7 4.5 12 7.5-12 7.5v-15Z',
  plug: 'M9 3v6m6-6v6M6 9h12v3a6 6 0 0 1-12 0V9Zm6 9v3',
  plus: 'M12 5v14M5 12h14',
  search: 'M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13Zm5-1.5L20.5 20.5',
  send: 'M20.5 3.5 10 14M20.5 3.5l-6.5 17-4-7.5-7.5-4 18-5.5Z',
  server:
    'M5 4h14a1 1 0 0 1 1 1v5a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1V5a1 1 0 0 1 1-1Zm0 9h14a1 1 0 0 1 1 1v5a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1v-5a1 1 0 0 1 1-1ZM8 7.5h.01M8 16.5h.01',
  shield: 'M12 3 5 5.5v6c0 4.5 3 7.7 7 9.5 4-1.8 7-5 7-9.5v-6L12 3Zm-3 9 2.2 2.2L15.5 10',
  signOut: 'M14 4H6a2 2 0 0 0-2 2v12a2 2 0 0 0 2 2h8m3-12 4 4-4 4m4-4H9',
  sun: 'M12 16.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9ZM12 2v2m0 16v2M4.9 4.9l1.4 1.4m11.4 11.4 1.4 1.4M2 12h2m16 0h2M4.9 19.1l1.4-1.4M17.7 6.3l1.4-1.4',
  trash: 'M4 7h16M10 11v6m4-6v6M6 7l1 12a2 2 0 0 0 2 2h6a2 2 0 0 0 2-2l1-12M9 7V4h6v3',
  unplug: 'M9 3v4m6-4v4M6 9h12v3a6 6 0 0 1-.6 2.6M6 9v3a6 6 0 0 0 8.6 5.4M12 18v3M3 3l18 18',
  upload: 'M12 15V4m-4.5 4.5L12 4l4.5 4.5M4 19h16',
  user: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8Zm-7.5 8.5a7.5 7.5 0 0 1 15 0',
  users: 'M9 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8Zm-7 10a7 7 0 0 1 14 0M16 3.2a4 4 0 0 1 0 7.6M18.5 14.5A7 7 0 0 1 22 21',
} as const

export type IconName = keyof typeof PATHS

/** An icon, 1.15 times as high as the text beside it unless `size` is given. */
export function Icon({
  name,
  size = '1.15em',
}: {
  readonly name: IconName
  readonly size?: string | number
}): ReactElement {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={1.8}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={PATHS[name]} />
    </svg>
  )
}

/** The logo: two hills with a gate between them. */
export function Logo({ size = 28 }: { readonly size?: number }): ReactElement {
  return (
    <svg width={size} height={size} viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" fill="#0f766e" />
      <g fill="none" stroke="#fff" strokeWidth="2.4" strokeLinecap="round">
        <path d="M9 23V12.5a7 7 0 0 1 14 0V23" />
        <path d="M13.5 23v-9.5a2.5 2.5 0 0 1 5 0V23" />
        <path d="M6 23h20" />
      </g>
    </svg>
  )
}
