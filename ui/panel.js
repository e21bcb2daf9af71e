// The panel: one screen over the box's public API.
import { html } from './html.js'
import { render } from './vendor/preact.js'
import { useEffect, useState } from './vendor/hooks.js'
import { Header } from './header.js'
import { Login } from './login.js'
import { Actions, Path } from './path.js'
import { Multipath } from './multipath.js'
import { Proxies } from './proxies.js'
import { Profiles } from './profiles.js'
import { Settings } from './settings.js'
import { Events, Health, Strips } from './strips.js'
import { actions, begin, may, set, store, subscribe } from './store.js'
import { speak, t } from './words.js'
import './keys.js'

function Notes() {
  return html`<div class="notes" role="log" aria-live="polite">
    ${store.notes.map(n => html`<p key=${n.id} class=${n.bad ? 'note badly' : 'note'} role=${n.bad ? 'alert' : undefined}>${n.text}
      ${n.link && html` <a href=${n.link[0]} target="_blank" rel="noopener">${n.link[1]}</a>`}
      ${n.undo && html`<button onClick=${() => actions.undo(n)}>${t('undo')} <kbd>Z</kbd></button>`}
      <button aria-label=${t('dismiss')} onClick=${() => set({ notes: store.notes.filter(x => x !== n) })}>×</button></p>`)}
  </div>`
}

const list = [['B', 'key_b'], ['C', 'key_c'], ['F', 'key_f'], ['H', 'key_h'], ['P', 'key_p'], ['L', 'key_l'], ['X', 'key_x'], ['R', 'key_r'], ['M', 'key_m'], ['D', 'key_d'], ['Z', 'key_z'], ['␣', 'key_space'], ['W', 'key_w'], ['/', 'key_slash'], ['?', 'key_help']]

function Help() {
  const close = () => set({ help: false })
  return html`<div class="over" onClick=${close}>
    <div class="card" role="dialog" aria-modal="true" aria-labelledby="help" onClick=${(/** @type {Event} */ e) => e.stopPropagation()}>
      <h2 id="help">${t('help')}</h2>
      <dl>${list.map(([k, text]) => html`<div><dt><kbd>${k}</kbd></dt><dd>${t(text)}</dd></div>`)}</dl>
      <button autofocus onClick=${close}>${t('dismiss')}</button>
    </div></div>`
}

function Panel() {
  return html`<main id="main" class="panel">
    <${Profiles} />
    <div class="centre"><${Path} /><${Actions} /><${Strips} />
      <${Proxies} /><${Multipath} />
      <div class="foot"><${Health} /><${Events} /></div></div>
  </main>`
}

function App() {
  const [, redraw] = useState(0)
  useEffect(() => subscribe(() => redraw(n => n + 1)), [])
  document.documentElement.dataset.theme = store.prefs.theme || 'auto'
  if (!store.session) return null
  if (!may('read')) return html`<${Login} claimed=${store.session.claimed} /><${Notes} />`
  if (!store.status) return null
  return html`<${Header} st=${store.status} />${store.page === 'settings' ? html`<${Settings} st=${store.status} session=${store.session} />` : html`<${Panel} />`}<${Notes} />${store.help && html`<${Help} />`}`
}

speak(store.prefs.lang)
addEventListener('hashchange', () => set({ page: location.hash.startsWith('#/settings') ? 'settings' : 'panel' }))
const root = document.getElementById('panel')
if (root) {
  root.textContent = ''
  render(html`<${App} />`, root)
}
begin()
