// Proxies: what the PEP of the pair does, and the connections it splits.
import { html } from './html.js'
import { useEffect, useState } from './vendor/hooks.js'
import { ask } from './api.js'
import { number } from './chart.js'
import { rate } from './path.js'
import { actions, attempt, may, pair, query, set, store } from './store.js'
import { t } from './words.js'

/** look asks for the state of the proxies and, when there are some, for the
 * connections that the near one splits. */
export async function look() {
  const pep = await ask('GET', '/pep' + query())
  const on = pep.want.near || pep.want.far
  const flows = on ? await ask('GET', '/flows' + query(query() ? '&' : '?', 'limit=20')) : { total: 0, flows: [] }
  set({ pep, flows })
}

/** usePEP looks each two seconds while there are proxies, and when something happened to them. */
export function usePEP() {
  const happened = store.events.filter(e => e.kind === 'pep' || e.kind === 'reset').length
  const on = store.pep && (store.pep.want.near || store.pep.want.far)
  useEffect(() => {
    attempt(look)
    const id = on ? setInterval(() => look().catch(() => {}), 2000) : 0 // the next look may work
    return () => clearInterval(id)
  }, [pair()?.name, happened, on])
}

/** bytes writes an amount. @param {number} n */
export const bytes = n => (n >= 1e9 ? `${number(n / 1e9)} GB` : n >= 1e6 ? `${number(n / 1e6)} MB` : `${number(n / 1e3)} kB`)

/** @param {{l: import('./types/api.js').LegState}} p */
const Leg = ({ l }) => html`${l.congestion} · cwnd ${number(l.cwnd_packets)} · ${number(l.rtt_ms)} ms · ${rate(l.delivery_bps)}`

export function Proxies() {
  const [open, show] = useState(true)
  usePEP()
  const pep = store.pep
  if (!pep) return null
  const { near, far, enabled } = pep.want
  const flows = store.flows
  return html`<section class="card wide" aria-labelledby="pep">
    <h2 id="pep">${t('proxies')}</h2>
    <div class="row">
      <span class=${enabled && (near || far) ? 'ok' : 'dim'}>${near || far ? [near && t('near'), far && t('far')].filter(Boolean).join(' + ') + ' · ' + t(!enabled ? 'passing' : pep.proxies?.some(p => p.short) ? 'too_short' : 'splitting') : t('no_proxies')}</span>
      <button disabled=${!may('drive')} aria-pressed=${enabled && (near || far)} aria-keyshortcuts="X" onClick=${actions.pep}>${enabled && (near || far) ? t('pep_off') : t('pep_on')} <kbd>X</kbd></button>
      ${(near || far) && html`<button disabled=${!may('drive')} onClick=${actions.noPEP}>${t('pep_none')}</button>`}
      ${flows.total > 0 && html`<button aria-expanded=${open} onClick=${() => show(!open)}>${t('flows_n', flows.total)}</button>`}
    </div>
    ${open && flows.flows.length > 0 && html`<div class="scroll" tabindex="0"><table>
      <thead><tr><th>${t('connection')}</th><th>${t('state')}</th><th>${t('amount')}</th><th>${t('to_client')}</th><th>${t('to_server')}</th></tr></thead>
      <tbody>${flows.flows.map(f => html`<tr key=${f.client + f.server}><td>${f.client} → ${f.server}</td><td>${f.state}</td><td>↑ ${bytes(f.up_bytes)} ↓ ${bytes(f.down_bytes)}</td>
        <td><${Leg} l=${f.to_client} /></td><td><${Leg} l=${f.to_server} /></td></tr>`)}</tbody></table></div>`}
  </section>`
}
