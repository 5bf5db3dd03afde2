import { useComputedColorScheme } from '@mantine/core'
import { useElementSize } from '@mantine/hooks'
import { useEffect, useRef } from 'react'
import type { ReactElement } from 'react'
import { clockTime, moment } from '../shell/moments.ts'
import uPlot from 'uplot'
import type { AlignedData, Options } from 'uplot'
import 'uplot/dist/uPlot.min.css'
import './plot.css'

/** One line of a plot. */
export interface Series {
  readonly label: string
  readonly unit: string
  /** The values, one for each time; null where there is none. */
  readonly values: readonly (number | null)[]
}

interface PlotProps {
  /** The times in seconds since 1970, rising. */
  readonly times: readonly number[]
  /**
   * Two series of the same unit share an axis. Otherwise the first has the axis at the left, the
   * second the axis at the right.
   */
  readonly series: readonly Series[]
  /**
   * The first series is a line, and the other two, the least and the greatest numbers, are the
   * edges of a band.
   */
  readonly isBand?: boolean
  /** The ends of the time axis in seconds since 1970. Without it, the times are its ends. */
  readonly ends?: readonly [from: number, to: number]
  /** The times are days apart: the axis has dates. */
  readonly hasDates?: boolean
  /** The axis begins at zero, for rates and counts. */
  readonly startsAtZero?: boolean
  /** A description of the plot, for people who can't see it. */
  readonly label: string
}

const HEIGHT = 220
/** The shortest span of the time axis. Two events a second apart do not use the whole width. */
const SHORTEST_SPAN_SECONDS = 20
/** The room for a time of day below the axis, in pixels. */
const TIME_SPACE = 90

/** A plot over time that follows the page's width and colours. */
export function Plot(props: PlotProps): ReactElement {
  const { times, series, startsAtZero = false, isBand = false, hasDates = false, ends, label } = props
  const [first, last] = ends ?? []
  const { ref, width } = useElementSize()
  const frame = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(undefined)
  const scheme = useComputedColorScheme('light')
  const shape = series.map((one) => `${one.label}|${one.unit}`).join('\n')
  const latest = useRef<AlignedData>([[]])
  latest.current = [times as number[], ...series.map(({ values }) => values as (number | null)[])]

  useEffect(() => {
    if (frame.current === null || width === 0) return undefined
    const drawn = new uPlot(
      optionsOf(shape, { startsAtZero, isBand, hasDates, first, last }, Math.floor(width)),
      latest.current,
      frame.current,
    )
    plot.current = drawn
    return () => {
      plot.current = undefined
      drawn.destroy()
    }
  }, [shape, startsAtZero, isBand, hasDates, first, last, width, scheme])

  useEffect(() => {
    plot.current?.setData(latest.current)
  }, [times, series])

  return (
    <div ref={ref}>
      <div ref={frame} role="img" aria-label={label} style={{ minHeight: HEIGHT }} />
    </div>
  )
}

const COLORS = ['--fieldgate-plot', '--fieldgate-plot-second']

function fromZero(_plot: uPlot, _least: number, most: number): uPlot.Range.MinMax {
  return [0, Math.max(most, 1) * 1.1]
}

interface Look {
  readonly startsAtZero: boolean
  readonly isBand: boolean
  readonly hasDates: boolean
  readonly first: number | undefined
  readonly last: number | undefined
}

/** The transparency of a band, as the last digits of its colour. */
const BAND_ALPHA = '33'

function optionsOf(shape: string, look: Look, width: number): Options {
  const { startsAtZero, isBand, hasDates, first, last } = look
  const style = getComputedStyle(document.documentElement)
  const color = (name: string): string => style.getPropertyValue(name).trim()
  const lines = shape.split('\n').map((one, index) => {
    const [label = '', unit = ''] = one.split('|')
    return {
      label,
      unit,
      stroke: color(COLORS[index] ?? '--fieldgate-plot'),
      scale: unit === '' && !isBand ? `y${index}` : unit,
    }
  })
  const timeText = hasDates ? moment : clockTime
  const fill = color('--fieldgate-plot') + BAND_ALPHA
  const scales = [...new Set(lines.map(({ scale }) => scale))]
  const text = color('--mantine-color-dimmed')
  const line = color('--fieldgate-line')
  const axis = { stroke: text, font: '12px system-ui', ticks: { show: false } }
  return {
    width,
    height: HEIGHT,
    // Half of the last time of day reaches beyond the last line.
    padding: [12, scales.length === 1 ? 32 : 8, 0, 0],
    cursor: { y: false },
    scales: {
      x: { range: (_plot, from, to) => [first ?? Math.min(from, to - SHORTEST_SPAN_SECONDS), last ?? to] },
      ...(startsAtZero ? Object.fromEntries(scales.map((scale) => [scale, { range: fromZero }])) : {}),
    },
    series: [
      { label: 'Time', value: (_plot, seconds) => (seconds === null ? '–' : timeText(seconds * 1000)) },
      ...lines.map(({ label, unit, stroke, scale }, index) => ({
        label: unit === '' ? label : `${label} (${unit})`,
        scale,
        stroke: isBand && index > 0 ? fill : stroke,
        width: isBand && index > 0 ? 1 : 2,
        spanGaps: true,
        points: { show: !isBand || index === 0, size: isBand ? 3 : 5, fill: stroke },
      })),
    ],
    ...(isBand ? { bands: [{ series: [3, 2] as [number, number], fill }] } : {}),
    axes: [
      {
        ...axis,
        grid: { stroke: line, width: 1 },
        space: TIME_SPACE,
        ...(hasDates
          ? {}
          : { values: (_plot: uPlot, seconds: number[]) => seconds.map((one) => clockTime(one * 1000)) }),
      },
      ...scales.map((scale, index) =>
        Object.assign({}, axis, {
          scale,
          side: index === 0 ? 3 : 1,
          size: 52,
          grid: index === 0 ? { stroke: line, width: 1 } : { show: false },
        }),
      ),
    ],
  }
}
