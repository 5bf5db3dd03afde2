/** A list of events beside the chosen event. */
import { Anchor, CloseButton, Drawer, Group } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { useState } from 'react'
import type { ReactElement } from 'react'
import { Link } from 'wouter'
import type { LiveEvent } from '../broker/live-event.ts'
import { Blank } from '../shell/blank.tsx'
import { Panel } from '../shell/panel.tsx'
import { EventDetail } from './event-detail.tsx'
import { EventList } from './event-list.tsx'
import classes from './event-view.module.css'

interface EventViewProps {
  /** The events, the newest first. */
  readonly events: readonly LiveEvent[]
  readonly isFiltered: boolean
  /** The number of rows that are in view without scrolling. */
  readonly rows?: number
  /** Shows the device of each event. The page of one device leaves it out. */
  readonly withDevice?: boolean
}

/**
 * The list, and the chosen event at its side; on a narrow screen the chosen event lies over the
 * list.
 */
export function EventView({ events, isFiltered, rows = 15, withDevice = true }: EventViewProps): ReactElement {
  const isWide = useMediaQuery('(min-width: 75em)') ?? true
  const [chosen, setChosen] = useState<LiveEvent>()
  return (
    <div className={classes['view']}>
      <Panel flush>
        {events.length === 0 ? (
          <Blank
            icon="activity"
            title={isFiltered ? 'No event passes the filters' : 'Waiting for the first event'}
            text={
              isFiltered
                ? 'Events still arrive. Remove a filter to see them.'
                : 'An event appears here when a device sends something. If no event arrives, ask why.'
            }
            action={
              isFiltered ? undefined : (
                <Anchor component={Link} href="/why">
                  Why no data?
                </Anchor>
              )
            }
          />
        ) : (
          <EventList events={events} rows={rows} withDevice={withDevice} chosen={chosen} onChoose={setChosen} />
        )}
      </Panel>
      {isWide ? (
        <Panel title={chosen === undefined ? 'Event' : undefined}>
          {chosen === undefined ? (
            <Blank
              icon="code"
              title="No event is chosen"
              text="Choose an event in the list to see its values and its bytes."
            />
          ) : (
            <EventDetail event={chosen} />
          )}
        </Panel>
      ) : (
        <Drawer.Root opened={chosen !== undefined} onClose={() => setChosen(undefined)} position="bottom" size="85%">
          <Drawer.Overlay />
          <Drawer.Content aria-label="Event">
            <Drawer.Body pt="md">
              <Group justify="flex-end">
                <CloseButton aria-label="Close" onClick={() => setChosen(undefined)} />
              </Group>
              {chosen === undefined ? null : <EventDetail event={chosen} />}
            </Drawer.Body>
          </Drawer.Content>
        </Drawer.Root>
      )}
    </div>
  )
}
