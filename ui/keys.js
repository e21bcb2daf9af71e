// Keys: one for each action. They never fire while something is typed, and
// can be switched off (WCAG 2.1.4).
import { actions, set, store, may } from './store.js'

/** @type {Record<string, () => void>} */
export const keys = {
  b: () => may('drive') && actions.bypass(),
  c: () => may('drive') && actions.cut(),
  f: () => may('drive') && actions.fade(),
  h: () => may('drive') && actions.handover(),
  p: () => may('drive') && actions.flap(),
  l: () => may('drive') && actions.lease(),
  d: () => may('drive') && actions.pcap(),
  x: () => may('drive') && actions.pep(),
  r: () => may('drive') && actions.run(),
  m: () => may('drive') && actions.mark(),
  z: () => actions.undo(),
  ' ': () => actions.freeze(),
  '/': () => document.getElementById('find')?.focus(),
  w: () => set({ way: store.way === 'down' ? 'up' : 'down' }),
  '?': () => set({ help: !store.help }),
}

// What was pressed with the mouse lets go of the focus, so that space is the
// panel's again; who presses with a key (detail 0) keeps it.
addEventListener('click', e => {
  const on = /** @type {HTMLElement} */ (e.target).closest('button, a, summary')
  if (e.detail > 0 && store.prefs.keys !== 'off' && on instanceof HTMLElement && on === document.activeElement) on.blur()
})

addEventListener('keydown', e => {
  if (e.key === 'Escape' && store.help) return set({ help: false })
  const at = /** @type {HTMLElement} */ (e.target)
  const typing = at.closest('input, textarea, select, [contenteditable]')
  // On a button, space and enter are the button's own.
  const own = at.closest('button, a, summary') && (e.key === ' ' || e.key === 'Enter')
  if (typing || own || e.ctrlKey || e.altKey || e.metaKey || store.prefs.keys === 'off' || store.page !== 'panel') return
  const f = keys[e.key.toLowerCase()]
  if (!f) return
  e.preventDefault()
  f()
})
