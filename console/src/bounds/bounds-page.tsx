/** The bounds of the chosen organization, and how much of each bound it uses. */
import { Anchor, Badge, Center, Loader, Skeleton } from '@mantine/core'
import { useEffect } from 'react'
import type { ReactElement } from 'react'
import { useAddressState } from '../administration/address-state.ts'
import { useBounds } from '../api/organization-bounds.ts'
import type { Bound } from '../api/organization-bounds.ts'
import { useDialog } from '../shell/dialog.tsx'
import { Failure } from '../shell/failure.tsx'
import { Icon } from '../shell/icons.tsx'
import { useOrganization } from '../shell/organization.tsx'
import { Page } from '../shell/page.tsx'
import { Panel } from '../shell/panel.tsx'
import { BoundDialog } from './bound-dialog.tsx'
import { BoundRow } from './bound-row.tsx'
import { GROUPS, wordsOf } from './bound-words.ts'
import classes from './bounds-page.module.css'
import { nearnessOf } from './quantities.ts'
import type { Nearness } from './quantities.ts'

/**
 * The page. An address with `?organization=7` chooses this organization first, so that other pages
 * can link to its bounds.
 */
export function BoundsPage(): ReactElement {
  const { choose } = useOrganization()
  const { get } = useAddressState()
  const asked = get('organization')
  useEffect(() => {
    if (asked !== '') choose(asked)
  }, [asked, choose])
  if (asked === '') return <OrganizationBounds />
  return (
    <Center mih={320}>
      <Loader type="dots" aria-label="Loading" />
    </Center>
  )
}

function OrganizationBounds(): ReactElement {
  const { organization, isGlobalAdmin } = useOrganization()
  const bounds = useBounds(organization.id)
  const editing = useDialog<Bound>()
  return (
    <Page
      title="Bounds"
      lead={
        <>
          This page shows the bounds of {organization.displayName} and its present use. Each organization has bounds, so
          that no organization slows down another one.{' '}
          <Anchor href="/docs/fences" target="_blank" rel="noopener" underline="always" inherit>
            How the bounds work
          </Anchor>
        </>
      }
      aside={bounds.data === undefined ? undefined : <Summary bounds={bounds.data} />}
    >
      <Failure error={bounds.error} onRetry={() => void bounds.refetch()} />
      {bounds.isLoading ? <Skeleton h={360} /> : null}
      {bounds.data === undefined ? null : (
        <Groups bounds={bounds.data} {...(isGlobalAdmin ? { onChange: editing.open } : {})} />
      )}
      <BoundDialog organization={organization} state={editing} />
    </Page>
  )
}

interface GroupsProps {
  readonly bounds: readonly Bound[]
  readonly onChange?: (bound: Bound) => void
}

function Groups({ bounds, onChange }: GroupsProps): readonly ReactElement[] {
  return GROUPS.map((group) => (
    <Panel key={group} title={group} flush>
      <ul className={classes['list']}>
        {bounds.map((bound) => {
          const words = wordsOf(bound.name)
          if (words?.group !== group) return null
          return (
            <BoundRow
              key={bound.name}
              bound={bound}
              words={words}
              {...(onChange === undefined ? {} : { onChange: () => onChange(bound) })}
            />
          )
        })}
      </ul>
    </Panel>
  ))
}

/** Says in a word whether any bound needs a look. */
function Summary({ bounds }: { readonly bounds: readonly Bound[] }): ReactElement {
  const count = (searched: Nearness): number =>
    bounds.filter(({ used, maximum, unit }) => nearnessOf(used, maximum, unit) === searched).length
  const at = count('at')
  const near = count('near')
  if (at === 0 && near === 0) {
    return (
      <Badge size="lg" tt="none" variant="light" leftSection={<Icon name="check" />}>
        No bound is near
      </Badge>
    )
  }
  return (
    <Badge size="lg" tt="none" variant="light" color={at > 0 ? 'red' : 'orange'} leftSection={<Icon name="alert" />}>
      {[...(at > 0 ? [`${boundCount(at)} reached`] : []), ...(near > 0 ? [`${boundCount(near)} near`] : [])].join(', ')}
    </Badge>
  )
}

function boundCount(count: number): string {
  return count === 1 ? '1 bound' : `${count} bounds`
}
