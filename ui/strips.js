// The four strips over time, what is shown in them, and below them the
// figures of health and the events.
import { html } from './html.js'
import { number, Strip } from './chart.js'
import { span, useTicks } from './path.js'
import { actions, current, pair, past, remember, set, store } from './store.js'
import { t } from './words.js'

const windows = [10, 30, 60, 300, 900, 3600]
/** Colours of the reasons of loss, in the order in which they are met. */
const causeColors = ['lost', 'granted', 'offered', 'delivered', 'cwnd']

export function Strips() {
  const w = store.way
  const causes = [...current().causes].filter(c => c.startsWith(w + '.')).sort()
  const lost = [{ name: w + '_lost', label: t('total'), color: 'lost', bars: true },
    ...causes.slice(0, 4).map((c, i) => ({ name: c, label: c.slice(w.length + 1), color: causeColors[i + 1], bars: true, dash: [4, 2] }))]
  const pep = !Number.isNaN(current().last('cwnd'))
  return html`<div class="shown" role="group" aria-label=${t('shown')}>
      <${Choice} label=${t('way')} of=${['down', 'up'].map(x => [x, t(x)])} value=${w} on=${(/** @type {string} */ way) => set({ way })} />
      <${Choice} label=${t('window')} of=${windows.map(s => [s, span(s)])} value=${store.window}
        on=${(/** @type {number} */ s) => (set({ window: s }), remember('window', String(s)), past())} />
      <button aria-pressed=${store.frozen !== null} onClick=${actions.freeze} aria-keyshortcuts="Space">${store.frozen === null ? t('freeze') : t('go_on')} <kbd>␣</kbd></button>
      <button aria-pressed=${store.tables} onClick=${() => set({ tables: !store.tables })}>${store.tables ? t('plots') : t('tables')}</button>
    </div>
    <div class="strips">
      <${Strip} id="rates" title=${`${t('rates')} · ${t(w)}`} unit="Mbit/s" lines=${[
        { name: w + '_offered', label: t('offered'), color: 'offered', dash: [6, 3], scale: 1e-6 },
        { name: w + '_granted', label: t('granted'), color: 'granted', dash: [2, 2], scale: 1e-6 },
        { name: w + '_delivered', label: t('delivered'), color: 'delivered', scale: 1e-6 }]} />
      <${Strip} id="queue" title=${t('queue')} unit="ms" lines=${[
        { name: 'down_queue', label: t('down'), color: 'delivered' },
        { name: 'up_queue', label: t('up'), color: 'granted', dash: [6, 3] }]} />
      <${Strip} id="losses" title=${`${t('losses')} · ${t(w)}`} unit="n" lines=${lost} />
      ${pep
        ? html`<${Strip} key="cwnd" id="cwnd" title=${t('cwnd')} unit="kB" lines=${[
            { name: 'cwnd', label: 'cwnd', color: 'cwnd', scale: 1e-3 }, { name: 'grant', label: t('grant'), color: 'granted', dash: [2, 2], scale: 1e-3 }]} />`
        : html`<${Strip} key="late" id="late" title=${t('lateness')} unit="µs" lines=${[{ name: 'late', label: 'p99', color: 'cwnd' }]} />`}
    </div>`
}

/** Choice picks one of several. @param {{label: string, of: [any, string][], value: any, on: (v: any) => void}} p */
const Choice = ({ label, of, value, on }) => html`<span class="choice" role="group" aria-label=${label}>
  ${of.map(([v, text]) => html`<button aria-pressed=${v === value} onClick=${() => on(v)}>${text}</button>`)}</span>`

/** The budget of lateness p99 beyond which the ledger calls a pair degraded. */
const budget = 1000

export function Health() {
  useTicks()
  const p = pair()
  const late = current().last('late')
  const rows = [
    [t('verdict'), html`<span class="verdict" data-word=${p.verdict.word}>${t(p.verdict.word || 'VALID')}</span>`, p.verdict.reason || ''],
    [t('late_p99'), `${number(late)} µs`, t('budget', budget)],
    [t('floor'), p.figures?.floor_us ? `${number(p.figures.floor_us)} µs` : '–', ''],
    [t('engine'), p.engine.driver || '–', p.engine.restarts ? t('restarts', p.engine.restarts) : ''],
  ]
  const readings = Object.entries(store.sample?.pairs.find(x => x.name === p.name)?.readings || {}).sort()
  return html`<section class="card" aria-labelledby="now">
    <h2 id="now">${t('now')}</h2>
    <table><tbody>${rows.map(r => html`<tr><th scope="row">${r[0]}</th><td>${r[1]}</td><td class="dim">${r[2]}</td></tr>`)}</tbody></table>
    ${readings.length > 0 && html`<details><summary>${t('readings')} (${readings.length})</summary>
      <table><tbody>${readings.map(([k, v]) => html`<tr><th scope="row">${k}</th><td>${number(/** @type {number} */ (v))}</td></tr>`)}</tbody></table></details>`}
  </section>`
}

export function Events() {
  const list = store.events.slice(-50).reverse()
  return html`<section class="card" aria-labelledby="events">
    <h2 id="events">${t('events')}</h2>
    ${!list.length && html`<p class="dim">${t('no_events')}</p>`}
    <ol class="events scroll" tabindex="0" aria-labelledby="events">${list.map(e => html`<li key=${e.id}>
      <time datetime=${e.time}>${new Date(e.time).toLocaleTimeString([], { hour12: false })}</time>
      <b>${e.kind}</b> ${e.text} ${e.by && html`<span class="dim">${e.by}</span>`}</li>`)}</ol>
  </section>`
}
