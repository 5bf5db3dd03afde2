/**
 * Signing in again over a page that waits as it was: nothing behind can be seen, reached by the
 * keyboard, or heard.
 */
import { useEffect, useRef } from 'react'
import type { ReactElement } from 'react'
import classes from './sign-in-over.module.css'
import { SignInPage } from './sign-in-page.tsx'

let isShown = false

// Dialogs of the page behind close by Escape, wherever it is pressed. This listener is there before
// theirs, and so hears of it first.
window.addEventListener(
  'keydown',
  (event) => {
    if (!isShown || event.key !== 'Escape') return
    event.preventDefault()
    event.stopImmediatePropagation()
  },
  { capture: true },
)

/** The sign-in in the browser's top layer. The page behind gets the focus back where it was. */
export function SignInOver({ notice }: { readonly notice: string | undefined }): ReactElement {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    isShown = true
    dialog.current?.showModal()
    dialog.current?.querySelector<HTMLElement>('[data-autofocus]')?.focus()
    return () => {
      isShown = false
    }
  }, [])
  return (
    <dialog ref={dialog} className={classes['over']} aria-label="Sign in" onCancel={(event) => event.preventDefault()}>
      <SignInPage notice={notice} />
    </dialog>
  )
}
