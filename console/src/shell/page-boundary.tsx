import { Button, Center } from '@mantine/core'
import { Component, type ReactNode } from 'react'
import { Blank } from './blank.tsx'

interface PageBoundaryState {
  readonly error: unknown
}

/** A page that breaks, or whose code is gone after an update of the service, says so in its own place. */
export class PageBoundary extends Component<{ readonly children: ReactNode }, PageBoundaryState> {
  override state: PageBoundaryState = { error: undefined }

  static getDerivedStateFromError(error: unknown): PageBoundaryState {
    return { error }
  }

  override render(): ReactNode {
    if (this.state.error === undefined) return this.props.children
    return (
      <Center mih={320}>
        <Blank
          icon="alert"
          title="This page could not be shown"
          text="The service may have been updated since the console was opened. Reload to get the current one."
          action={<Button onClick={() => window.location.reload()}>Reload</Button>}
        />
      </Center>
    )
  }
}
