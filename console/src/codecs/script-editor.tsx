import { Input } from '@mantine/core'
import { type ReactElement, useId, useRef } from 'react'
import classes from './script-editor.module.css'

interface ScriptEditorProps {
  readonly label: string
  readonly description: string
  readonly value: string
  readonly onChange: (value: string) => void
  /** A line that is at fault, counted from 1. */
  readonly faultLine: number | null
}

/** The least height in lines, so that an empty script invites one. */
const LEAST_LINES = 14

/** Where a script is written: lines are numbered, the one at fault is marked, undoing and the keyboard are the browser's own. */
export function ScriptEditor({ label, description, value, onChange, faultLine }: ScriptEditorProps): ReactElement {
  const id = useId()
  const numbers = useRef<HTMLDivElement>(null)
  const count = Math.max(LEAST_LINES, value.split('\n').length)
  return (
    <Input.Wrapper label={label} description={description} id={id}>
      <div className={classes['editor']} data-fault={faultLine !== null || undefined}>
        <div ref={numbers} className={classes['numbers']} aria-hidden="true">
          {Array.from({ length: count }, (_, index) => (
            <div key={index} data-fault={index + 1 === faultLine || undefined}>
              {index + 1}
            </div>
          ))}
        </div>
        <textarea
          id={id}
          className={classes['text']}
          value={value}
          rows={LEAST_LINES}
          wrap="off"
          spellCheck={false}
          autoCapitalize="none"
          autoComplete="off"
          onChange={(event) => onChange(event.currentTarget.value)}
          onScroll={(event) => numbers.current?.scrollTo({ top: event.currentTarget.scrollTop })}
        />
      </div>
    </Input.Wrapper>
  )
}
