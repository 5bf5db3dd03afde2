/** The newest events of some topics, as a list that is drawn at most ten times a second. */
import { useCallback, useEffect, useRef, useState } from 'react'
import type { BrokerConnection } from './broker-connection.ts'
import { EventRing } from './event-ring.ts'
import { newestEvents } from '../api/event-history.ts'
import type { HistoryOf } from '../api/event-history.ts'
import { readEvent } from './live-event.ts'
import type { LiveEvent } from './live-event.ts'
import { Seam } from './seam.ts'
import { useMessages } from './use-broker.ts'

/**
 * The most events that a page keeps: an hour of a quiet application, ten seconds of a very busy
 * one.
 */
const BOUNDS = { events: 2_000, characters: 8_000_000 }
/**
 * The shortest time between two drawings. Nobody reads faster, and more drawings would leave the
 * page no time for anything else.
 */
const DRAWING_MS = 100

interface LiveEvents {
  /** The events, the oldest first. The array stays the same until an event arrives. */
  readonly events: readonly LiveEvent[]
  /** The number of events since the page was opened. */
  readonly receivedCount: number
  /** The rate over the last seconds. */
  readonly perSecond: number
  readonly clear: () => void
}

/** The number of stored events that a page begins with. */
const STORED_EVENTS = 500

const decoder = new TextDecoder()

/** The events that a page asks for. */
interface LiveEventsAsked {
  readonly connection: BrokerConnection | undefined
  readonly topicFilters: readonly string[]
  /** The broker has granted the filters. The stored events are asked for then. */
  readonly isConnected: boolean
  readonly history: HistoryOf
  /** Events that arrive meanwhile are kept, but not drawn. */
  readonly isPaused: boolean
}

/** Stored and live events in one list, while the component is shown. */
export function useLiveEvents(asked: LiveEventsAsked): LiveEvents {
  const { connection, topicFilters, isConnected, history, isPaused } = asked
  const ring = useRef(new EventRing(BOUNDS))
  const seam = useRef(new Seam())
  const received = useRef(0)
  const isStale = useRef(false)
  const [drawn, setDrawn] = useState<Omit<LiveEvents, 'clear'>>({ events: [], receivedCount: 0, perSecond: 0 })
  const rate = useRef(createRate())

  useMessages(connection, topicFilters, ({ topicName, payload, eventId, receivedAtMs }) => {
    received.current += 1
    rate.current.count(receivedAtMs)
    const event = readEvent({ id: eventId, topicName, text: decoder.decode(payload), receivedAtMs })
    const shown = seam.current.live(event)
    if (shown !== undefined) ring.current.push(shown)
    isStale.current = true
  })
  const historyKey = JSON.stringify(history)
  useEffect(() => {
    if (!isConnected) return undefined
    let isCurrent = true
    const join = (stored: readonly LiveEvent[]): void => {
      if (!isCurrent) return
      for (const event of seam.current.close(stored, ring.current.all())) ring.current.push(event)
      isStale.current = true
    }
    newestEvents(JSON.parse(historyKey) as HistoryOf, STORED_EVENTS)
      .then((messages) => join(messages.map(readEvent)))
      // Without the stored events, the live events are still worth showing.
      .catch(() => join([]))
    return () => {
      isCurrent = false
      seam.current.open()
    }
  }, [isConnected, historyKey])

  useEffect(() => {
    let frame = 0
    let lastDrawnMs = 0
    let shownRate = -1
    const draw = (nowMs: number): void => {
      frame = requestAnimationFrame(draw)
      if (nowMs - lastDrawnMs < DRAWING_MS) return
      lastDrawnMs = nowMs
      const perSecond = rate.current.perSecond(Date.now())
      const hasNew = isStale.current && !isPaused
      if (!hasNew && perSecond === shownRate) return
      shownRate = perSecond
      if (hasNew) isStale.current = false
      const receivedCount = received.current
      setDrawn((before) => ({ events: hasNew ? ring.current.all() : before.events, receivedCount, perSecond }))
    }
    frame = requestAnimationFrame(draw)
    return () => cancelAnimationFrame(frame)
  }, [isPaused])

  const clear = useCallback(() => {
    ring.current.clear()
    isStale.current = false
    setDrawn((before) => ({ ...before, events: [] }))
  }, [])
  return { ...drawn, clear }
}

/** Counts events by whole seconds, over the last five seconds. */
function createRate() {
  const SPAN = 5
  const counts = Array.from({ length: SPAN }, () => 0)
  let second = 0
  const forward = (nowMs: number): void => {
    const now = Math.floor(nowMs / 1000)
    for (let step = Math.min(now - second, SPAN); step > 0; step -= 1) counts[(now - step + 1) % SPAN] = 0
    second = Math.max(second, now)
  }
  return {
    count(nowMs: number): void {
      forward(nowMs)
      counts[second % SPAN] = (counts[second % SPAN] ?? 0) + 1
    },
    perSecond(nowMs: number): number {
      forward(nowMs)
      return Math.round((counts.reduce((sum, one) => sum + one, 0) / SPAN) * 10) / 10
    },
  }
}
