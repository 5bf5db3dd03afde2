import { Badge, Stack, Text } from '@mantine/core'
import { useId } from 'react'
import type { ReactElement } from 'react'
import { RowAction } from '../administration/row-action.tsx'
import type { Bound } from '../api/organization-bounds.ts'
import type { BoundWords } from './bound-words.ts'
import classes from './bounds-page.module.css'
import { NearnessBadge } from './nearness-badge.tsx'
import { nearnessOf, percentText, quantity, usePart } from './quantities.ts'
import type { Nearness } from './quantities.ts'

interface BoundRowProps {
  readonly bound: Bound
  readonly words: BoundWords
  /** Left out where the person may not change bounds. */
  readonly onChange?: () => void
}

/** One bound: its meaning, its use, the effect at the bound, and the origin of the value. */
export function BoundRow({ bound, words, onChange }: BoundRowProps): ReactElement {
  const { used, maximum, unit } = bound
  const { label, meaning, effect } = words
  const labelId = useId()
  const nearness = nearnessOf(used, maximum, unit)
  return (
    <li className={classes['row']}>
      <div>
        <Text id={labelId} size="sm" fw={500}>
          {label}
        </Text>
        <Text size="xs" c="dimmed">
          {meaning}
        </Text>
      </div>
      <div className={classes['use']}>
        <div className={classes['figures']}>
          <Text span size="sm" className="numbers">
            {used === null ? `at most ${quantity(maximum, unit)}` : usePart(used, maximum, unit)}
          </Text>
          <NearnessBadge nearness={nearness} />
          <Text span size="xs" c="dimmed" className="numbers" ml="auto">
            {used === null ? 'its use is not counted' : percentText(used, maximum)}
          </Text>
        </div>
        {used === null ? null : <Meter labelledBy={labelId} bound={bound} used={used} nearness={nearness} />}
        {nearness === 'far' ? null : (
          <Text size="xs" mt={6}>
            {nearness === 'near' ? 'At the bound: ' : ''}
            {effect}
          </Text>
        )}
      </div>
      <Origin bound={bound} />
      <div className={classes['action']}>
        {onChange === undefined ? null : (
          <RowAction icon="pencil" label={`Change the bound: ${label}`} onClick={onChange} />
        )}
      </div>
    </li>
  )
}

interface MeterProps {
  readonly labelledBy: string
  readonly bound: Bound
  readonly used: number
  readonly nearness: Nearness
}

/** Screen readers say the figures of the text beside the bar, in the place of a bare percentage. */
function Meter({ labelledBy, bound, used, nearness }: MeterProps): ReactElement {
  const { maximum, unit } = bound
  const filled = maximum === 0 ? (used === 0 ? 0 : 100) : Math.min(100, (used / maximum) * 100)
  return (
    <div
      role="meter"
      aria-labelledby={labelledBy}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.floor(filled)}
      aria-valuetext={`${usePart(used, maximum, unit)}, ${percentText(used, maximum)}`}
      className={classes['meter']}
    >
      <div className={classes['filled']} data-nearness={nearness} style={{ width: `${filled}%` }} />
    </div>
  )
}

function Origin({ bound }: { readonly bound: Bound }): ReactElement {
  const { isOverridden, deploymentMaximum, unit } = bound
  if (!isOverridden) {
    return (
      <Text size="xs" c="dimmed">
        Deployment’s value
      </Text>
    )
  }
  return (
    <Stack gap={4} align="flex-start">
      <Badge variant="light" tt="none">
        own value
      </Badge>
      <Text size="xs" c="dimmed">
        Deployment’s value: {quantity(deploymentMaximum, unit)}
      </Text>
    </Stack>
  )
}
