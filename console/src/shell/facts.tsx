import type { ReactElement, ReactNode } from 'react'
import classes from './facts.module.css'

/** Names and values below each other. */
export function Facts({
  facts,
}: {
  readonly facts: readonly (readonly [name: string, value: ReactNode])[]
}): ReactElement {
  return (
    <dl className={classes['facts']}>
      {facts.map(([name, value]) => [<dt key={`${name} name`}>{name}</dt>, <dd key={name}>{value}</dd>])}
    </dl>
  )
}
