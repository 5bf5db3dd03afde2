import { createTheme } from '@mantine/core'
import type { CSSVariablesResolver, MantineColorsTuple } from '@mantine/core'

/** The green of the logo, from mist to forest. */
const field: MantineColorsTuple = [
  '#effaf7',
  '#d9f2ec',
  '#b0e4d8',
  '#83d4c2',
  '#5cc4ae',
  '#3fb39b',
  '#1f9a83',
  '#0f766e',
  '#0b5f59',
  '#084945',
]

/** The dark look from text to background, with a little of the green. */
const dark: MantineColorsTuple = [
  '#dfe5e7',
  '#b9c3c8',
  '#8d9aa1',
  '#5c6a71',
  '#3a454a',
  '#2f383c',
  '#232a2d',
  '#1b2023',
  '#171c1e',
  '#111516',
]

/**
 * The look of the console. It loads no font: the font of the system is the fastest, and drawn best.
 */
export const theme = createTheme({
  primaryColor: 'field',
  primaryShade: { light: 7, dark: 7 },
  colors: { field, dark },
  // The cross that closes a notification has no words of its own.
  components: { Notification: { defaultProps: { closeButtonProps: { 'aria-label': 'Close' } } } },
  respectReducedMotion: true,
  defaultRadius: 'md',
  cursorType: 'pointer',
  fontFamily: "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif",
  fontFamilyMonospace: "ui-monospace, SFMono-Regular, Menlo, Consolas, 'Liberation Mono', monospace",
  headings: {
    fontWeight: '650',
    sizes: { h1: { fontSize: '1.5rem' }, h2: { fontSize: '1.125rem' }, h3: { fontSize: '1rem' } },
  },
})

/**
 * Secondary text and borders with the contrast of WCAG 2.2 AA. The library's own colours are a
 * little too faint.
 */
export const colorVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-body': '#fbfcfc',
    '--mantine-color-dimmed': '#56626b',
    '--mantine-color-placeholder': '#6a757d',
    '--mantine-color-anchor': '#0b5f59',
    '--mantine-color-orange-light-color': '#9a3c05',
    '--mantine-color-error': '#c92a2a',
    '--mantine-color-red-filled': '#c92a2a',
    '--mantine-color-red-filled-hover': '#b02525',
    '--fieldgate-surface': '#ffffff',
    '--fieldgate-line': '#e3e8ea',
    '--fieldgate-row': '#f4f7f7',
    '--fieldgate-plot': '#0f766e',
    '--fieldgate-plot-second': '#b45309',
  },
  dark: {
    '--mantine-color-body': '#14181a',
    '--mantine-color-text': '#dfe5e7',
    '--mantine-color-dimmed': '#9aa7ae',
    '--mantine-color-placeholder': '#8d9aa1',
    '--mantine-color-anchor': '#5cc4ae',
    '--mantine-color-field-light': 'rgb(31 154 131 / 18%)',
    '--mantine-color-field-light-hover': 'rgb(31 154 131 / 26%)',
    '--mantine-color-field-light-color': '#83d4c2',
    '--mantine-color-error': '#ff9a9a',
    '--mantine-color-red-filled': '#c92a2a',
    '--mantine-color-red-filled-hover': '#b02525',
    '--mantine-color-orange-light': 'rgb(242 181 96 / 15%)',
    '--mantine-color-orange-light-color': '#f2b560',
    '--mantine-color-red-light-color': '#ff9a9a',
    '--mantine-color-gray-light': 'rgb(160 175 182 / 16%)',
    '--mantine-color-gray-light-color': '#c9d3d7',
    '--fieldgate-surface': '#1b2023',
    '--fieldgate-line': '#2c3438',
    '--fieldgate-row': '#20272a',
    '--fieldgate-plot': '#5cc4ae',
    '--fieldgate-plot-second': '#f2b560',
  },
})
