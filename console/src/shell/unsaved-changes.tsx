/** Protects texts that are not saved: everything that leaves the page asks first. */
import { Button, Group, Stack, Text } from '@mantine/core'
import { useEffect, useId, useSyncExternalStore } from 'react'
import type { ReactElement } from 'react'
import { Dialog } from './dialog.tsx'

/** The forms with unsaved texts. There are no more than forms on one page. */
const unsaved = new Set<string>()

let pending: (() => void) | undefined
const listeners = new Set<() => void>()

function ask(leave: (() => void) | undefined): void {
  pending = leave
  for (const listener of listeners) listener()
}

/** Leaves at once where nothing is unsaved. Otherwise the person decides. */
export function attemptToLeave(leave: () => void): void {
  if (unsaved.size === 0) leave()
  else ask(leave)
}

/**
 * Guards unsaved texts of the caller against links, switches, the browser's own back, and the
 * closing of the page.
 */
export function useUnsavedChanges(isDirty: boolean): void {
  const id = useId()
  useEffect(() => {
    if (!isDirty) return undefined
    unsaved.add(id)
    const keep = (event: BeforeUnloadEvent): void => event.preventDefault()
    window.addEventListener('beforeunload', keep)
    window.navigation?.addEventListener('navigate', holdBack)
    return () => {
      unsaved.delete(id)
      window.removeEventListener('beforeunload', keep)
      window.navigation?.removeEventListener('navigate', holdBack)
    }
  }, [id, isDirty])
}

/** Back and forward of the browser do not go through the router. */
function holdBack(event: NavigateEvent): void {
  if (event.navigationType !== 'traverse' || !event.cancelable || unsaved.size === 0) return
  event.preventDefault()
  const { key } = event.destination
  ask(() => window.navigation.traverseTo(key))
}

/** The question. The console shows it in one place for all forms. */
export function LeaveQuestion(): ReactElement {
  const leave = useSyncExternalStore(subscribe, () => pending)
  return (
    <Dialog title="Leave without saving?" state={{ isOpen: leave !== undefined, subject: leave, close: stay }}>
      <Stack>
        <Text size="sm">What you have changed on this page is not saved and will be gone.</Text>
        <Group justify="flex-end">
          <Button variant="default" onClick={stay} data-autofocus>
            Stay
          </Button>
          <Button
            color="red"
            onClick={() => {
              unsaved.clear()
              ask(undefined)
              leave?.()
            }}
          >
            Leave
          </Button>
        </Group>
      </Stack>
    </Dialog>
  )
}

function stay(): void {
  ask(undefined)
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
