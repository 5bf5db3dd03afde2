import { Button, Group } from '@mantine/core'
import { Component, useEffect, useState } from 'react'
import type { ReactElement, ReactNode } from 'react'
import { Blank } from './blank.tsx'
import { Page } from './page.tsx'
import { askWhyMissing, PageCodeMissing } from './page-code.tsx'
import type { MissingBecause } from './page-code.tsx'

interface PageBoundaryProps {
  /** The path of the page. Another path ends the failure. */
  readonly path: string
  readonly children: ReactNode
}

interface PageBoundaryState {
  readonly path: string
  readonly error: unknown
}

/**
 * Shows the failure of a page in the page's place: an exception, or code that could not be fetched.
 * All other pages go on.
 */
export class PageBoundary extends Component<PageBoundaryProps, PageBoundaryState> {
  override state: PageBoundaryState = { path: this.props.path, error: undefined }

  static getDerivedStateFromError(error: unknown): Partial<PageBoundaryState> {
    return { error }
  }

  static getDerivedStateFromProps({ path }: PageBoundaryProps, state: PageBoundaryState): PageBoundaryState | null {
    return path === state.path ? null : { path, error: undefined }
  }

  override componentDidCatch(error: unknown): void {
    if (error instanceof PageCodeMissing) error.forget()
  }

  override render(): ReactNode {
    const { error } = this.state
    if (error === undefined) return this.props.children
    const retry = (): void => this.setState({ error: undefined })
    return (
      <Page title="This page did not open">
        <div role="alert">
          {error instanceof PageCodeMissing ? <Missing onRetry={retry} /> : <Broken onRetry={retry} />}
        </div>
      </Page>
    )
  }
}

interface RetryProps {
  readonly onRetry: () => void
}

const REASONS: Readonly<Record<MissingBecause, { readonly title: string; readonly text: string }>> = {
  unreachable: {
    title: 'The service does not answer',
    text: 'This page could not be fetched. The service may be restarting, or the network is down. Pages that you have opened before still work.',
  },
  updated: {
    title: 'The service was updated',
    text: 'The console in this window is older than the service. Reload the console to go on.',
  },
  unknown: {
    title: 'The code of this page could not be fetched',
    text: 'The service answers again. Try again; if that does not help, reload the console.',
  },
}

function Missing({ onRetry }: RetryProps): ReactElement | null {
  const [because, setBecause] = useState<MissingBecause>()
  useEffect(() => {
    let isShown = true
    void askWhyMissing().then((found) => isShown && setBecause(found))
    return () => {
      isShown = false
    }
  }, [])
  if (because === undefined) return null
  return (
    <Blank
      icon="alert"
      {...REASONS[because]}
      action={because === 'updated' ? <ReloadButton isFirst /> : <Choice onRetry={onRetry} />}
    />
  )
}

function Broken({ onRetry }: RetryProps): ReactElement {
  return (
    <Blank
      icon="alert"
      title="An error in the console stopped it"
      text="Try again. If that does not help, reload the console."
      action={<Choice onRetry={onRetry} />}
    />
  )
}

function Choice({ onRetry }: RetryProps): ReactElement {
  return (
    <Group justify="center">
      <Button onClick={onRetry}>Try again</Button>
      <ReloadButton />
    </Group>
  )
}

function ReloadButton({ isFirst = false }: { readonly isFirst?: boolean }): ReactElement {
  return (
    <Button variant={isFirst ? 'filled' : 'default'} onClick={() => window.location.reload()}>
      Reload
    </Button>
  )
}
