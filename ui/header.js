// The strip at the top: what the box is and does, in one line.
import { html } from './html.js'
import { useEffect, useState } from './vendor/hooks.js'
import { going, mine, pair, remember, set, store } from './store.js'
import { languages, speak, t } from './words.js'

/** Shapes double the colours of the words of state. */
const shapes = { STARTING: '◌', EMULATING: '●', BYPASS: '⇄', CUT: '✕', FAULT: '▲' }

/** left writes how long something lasts. @param {number} s */
export function left(s) {
  s = Math.max(0, Math.round(s))
  const two = (/** @type {number} */ n) => String(n).padStart(2, '0')
  return s >= 3600 ? `${Math.floor(s / 3600)}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}` : `${two(Math.floor(s / 60))}:${two(s % 60)}`
}

/** useSecond redraws each second. */
export function useSecond() {
  const [, tick] = useState(0)
  useEffect(() => {
    const id = setInterval(() => tick(n => n + 1), 1000)
    return () => clearInterval(id)
  }, [])
}

/** @param {{l: import('./types/api.js').LeaseState}} p */
function Lease({ l }) {
  useSecond()
  if (!l.held) return html`<span class="dim">${t('lease_free')}</span>`
  const rest = left((Date.parse(l.until || '') - Date.now()) / 1000)
  return html`<span class=${mine() ? 'ok' : 'warn'} title=${l.purpose}>${mine() ? t('lease_mine', rest) : t('lease_left', l.holder, rest)}</span>`
}

/** @param {{r: import('./types/api.js').RunBrief}} p */
function Going({ r }) {
  useSecond()
  return html`<span class="ok" title=${r.title || r.id}>${t('run_on', r.id.replace(/^run-/, ''))} · ${left((Date.now() - Date.parse(r.begun)) / 1000)}</span>`
}

/** @param {{st: import('./types/api.js').Status}} p */
export function Header({ st }) {
  const p = pair()
  const main = p?.links?.[0]
  return html`<header>
    <a class="skip" href="#main">${t('skip')}</a>
    <h1>farlink</h1>
    <span class="dim">${st.name}</span>
    ${st.pairs.length > 1 && html`<select aria-label=${t('pair')} value=${p.name} onChange=${(/** @type {any} */ e) => set({ pair: e.target.value })}>
      ${st.pairs.map(x => html`<option>${x.name}</option>`)}
    </select>`}
    <span class="state" data-word=${p?.word} role="status"><i aria-hidden="true">${shapes[/** @type {keyof typeof shapes} */ (p?.word)] || ''}</i> ${t(p?.word || 'FAULT')}</span>
    ${p?.word === 'EMULATING' && html`<span class="verdict" data-word=${p.verdict.word} title=${p.verdict.reason}>${t(p.verdict.word)}</span>`}
    ${main && html`<span class="profile"><b>${main.profile}</b> <span class="dim">#${main.hash} · ${t('seed', main.seed)}</span></span>`}
    ${!store.online && html`<span class="bad" role="alert">${t('offline')}</span>`}
    <span class="grow"></span>
    ${going() && html`<${Going} r=${going()} />`}
    <${Lease} l=${st.lease} />
    <${Switches} />
    <a href=${store.page === 'panel' ? '#/settings' : '#/'}>${store.page === 'panel' ? t('settings') : t('back')}</a>
  </header>`
}

function Switches() {
  const choose = (/** @type {any} */ e) => remember('theme', e.target.value)
  const say = (/** @type {any} */ e) => (speak(e.target.value), remember('lang', e.target.value))
  return html`<select aria-label=${t('theme')} value=${store.prefs.theme || 'auto'} onChange=${choose}>
      ${['auto', 'light', 'dark'].map(x => html`<option value=${x}>${t('theme_' + x)}</option>`)}
    </select>
    <select aria-label=${t('language')} value=${document.documentElement.lang} onChange=${say}>
      ${Object.entries(languages).map(([code, name]) => html`<option value=${code}>${name}</option>`)}
    </select>`
}
