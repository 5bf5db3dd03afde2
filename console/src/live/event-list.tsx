/**
 * A list of events that draws only the rows in view, so that thousands of events cost as much as a
 * screenful.
 */
import { useEffect, useLayoutEffect, useRef, useState } from 'react'
import type { KeyboardEvent, ReactElement, RefObject } from 'react'
import type { LiveEvent } from '../broker/live-event.ts'
import { clockTime } from '../shell/moments.ts'
import { KindBadge } from './kind-badge.tsx'
import classes from './event-list.module.css'

interface EventListProps {
  /** The events, the newest first. */
  readonly events: readonly LiveEvent[]
  readonly rows: number
  readonly withDevice: boolean
  readonly chosen: LiveEvent | undefined
  readonly onChoose: (event: LiveEvent) => void
}

const ROW_HEIGHT = 44
/** The height of a row of two lines, in pixels. */
const TALL_ROW_HEIGHT = 60
/**
 * A list narrower than this, in pixels, has rows of two lines, so that no kind and no device's name
 * is cut.
 */
const NARROW = 640
/** The number of rows that are drawn beyond each edge, so that fast scrolling shows no gap. */
const MARGIN_ROWS = 6

/**
 * The list. Arrow keys choose another event. In a list that is scrolled down, newer events do not
 * move the rows in view.
 */
export function EventList({ events, rows, withDevice, chosen, onChoose }: EventListProps): ReactElement {
  const frame = useRef<HTMLDivElement>(null)
  const [scrollTop, setScrollTop] = useState(0)
  const isNarrow = useIsNarrow(frame)
  const height = isNarrow ? TALL_ROW_HEIGHT : ROW_HEIGHT
  useAnchor(frame, events, height)

  const first = Math.max(0, Math.floor(scrollTop / height) - MARGIN_ROWS)
  const drawn = events.slice(first, first + rows + 2 * MARGIN_ROWS)
  const chosenIndex = chosen === undefined ? -1 : events.indexOf(chosen)

  const move = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: rows, PageUp: -rows }[event.key]
    if (step === undefined) return
    event.preventDefault()
    const index = Math.min(Math.max(chosenIndex + step, 0), events.length - 1)
    const next = events[index]
    if (next === undefined || frame.current === null) return
    onChoose(next)
    const top = index * height
    const { scrollTop: from, clientHeight } = frame.current
    if (top < from) frame.current.scrollTop = top
    else if (top + height > from + clientHeight) frame.current.scrollTop = top + height - clientHeight
  }

  return (
    <div
      ref={frame}
      className={classes['frame']}
      data-narrow={isNarrow || undefined}
      style={{ maxHeight: rows * ROW_HEIGHT }}
      tabIndex={0}
      role="listbox"
      aria-label="Events, newest first"
      aria-activedescendant={
        chosenIndex >= first && chosenIndex < first + drawn.length ? `event-${chosen?.serial}` : undefined
      }
      onKeyDown={move}
      onScroll={(event) => setScrollTop(event.currentTarget.scrollTop)}
    >
      <div className={classes['all']} role="presentation" style={{ height: events.length * height }}>
        {drawn.map((event, index) => (
          <Row
            key={event.serial}
            event={event}
            top={(first + index) * height}
            height={height}
            isChosen={event === chosen}
            withDevice={withDevice}
            onChoose={onChoose}
          />
        ))}
      </div>
    </div>
  )
}

interface RowProps {
  readonly event: LiveEvent
  readonly top: number
  readonly height: number
  readonly isChosen: boolean
  readonly withDevice: boolean
  readonly onChoose: (event: LiveEvent) => void
}

function Row({ event, top, height, isChosen, withDevice, onChoose }: RowProps): ReactElement {
  return (
    <div
      id={`event-${event.serial}`}
      role="option"
      aria-selected={isChosen}
      className={classes['row']}
      data-chosen={isChosen || undefined}
      data-fault={event.isFault || undefined}
      style={{ top, height }}
      onClick={() => onChoose(event)}
    >
      <span className={classes['time']}>{clockTime(event.receivedAtMs)}</span>
      <KindBadge kind={event.kind} isFault={event.isFault} />
      {withDevice ? (
        <span className={classes['device']} title={event.deviceName || event.devEui}>
          {event.deviceName || event.devEui}
        </span>
      ) : null}
      <span className={classes['summary']}>{event.summary}</span>
      <span className={classes['signal']}>{event.rssi === undefined ? '' : `${event.rssi} dBm`}</span>
    </div>
  )
}

/** Keeps the rows in view in their place when newer rows come in above them. */
function useAnchor(frame: RefObject<HTMLDivElement | null>, events: readonly LiveEvent[], height: number): void {
  const before = useRef(events)
  useLayoutEffect(() => {
    const top = before.current[0]
    before.current = events
    if (frame.current === null || frame.current.scrollTop < height || top === undefined) return
    const added = events.indexOf(top)
    if (added > 0) frame.current.scrollTop += added * height
  }, [frame, events, height])
  useEffect(() => {
    if (events.length === 0 && frame.current !== null) frame.current.scrollTop = 0
  }, [frame, events.length])
}

/** True where a row does not fit one line. */
function useIsNarrow(frame: RefObject<HTMLDivElement | null>): boolean {
  const [isNarrow, setNarrow] = useState(false)
  useLayoutEffect(() => {
    if (frame.current === null) return undefined
    setNarrow(frame.current.clientWidth < NARROW)
    const observer = new ResizeObserver(([entry]) => setNarrow((entry?.contentRect.width ?? NARROW) < NARROW))
    observer.observe(frame.current)
    return () => observer.disconnect()
  }, [frame])
  return isNarrow
}
