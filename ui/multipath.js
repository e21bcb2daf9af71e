// Multipath: the paths that are held together, what each carries over time,
// and the connections that are carried over them.
import { html } from './html.js'
import { useEffect } from './vendor/hooks.js'
import { ask } from './api.js'
import { number, Strip } from './chart.js'
import { rate, useTicks } from './path.js'
import { bytes } from './proxies.js'
import { attempt, current, may, set, store } from './store.js'
import { t } from './words.js'

const schedulers = ['arrival', 'minrtt', 'roundrobin', 'redundant', 'blest', 'ecf']
const controls = ['auto', 'bbr', 'cubic', 'reno', 'lia', 'olia', 'balia', 'wvegas']
const kernelControls = ['auto', 'bbr', 'cubic', 'reno']
const colors = ['delivered', 'granted', 'cwnd', 'offered', 'lost']

/** look asks what is carried. */
const look = async () => set({ multipath: await ask('GET', '/multipath?limit=20') })

/** useMultipath looks each two seconds, and when something happened. */
function useMultipath() {
  const there = (store.status?.paths || []).length > 0
  const happened = store.events.filter(e => e.kind === 'multipath' || e.kind === 'reset').length
  useEffect(() => {
    if (!there) return
    attempt(look)
    const id = setInterval(() => look().catch(() => {}), 2000) // the next look may work
    return () => clearInterval(id)
  }, [there, happened])
}

/** change asks for something else. @param {Record<string, any>} patch */
const change = patch => attempt(async () => set({ multipath: { ...(await ask('PATCH', '/multipath', patch)), connections: store.multipath?.connections || [] } }))

export function Multipath() {
  useMultipath()
  const m = store.multipath
  if (!m || !(store.status?.paths || []).length) return null
  const mode = m.want.mode || 'off'
  return html`<section class="card wide" aria-labelledby="multipath">
    <h2 id="multipath">${t('multipath')}</h2>
    <div class="row">
      <span class="choice" role="group" aria-label=${t('mp_mode')}>${['off', 'wire', 'lab'].map(x => html`
        <button key=${x} disabled=${!may('drive')} aria-pressed=${x === mode} onClick=${() => change({ mode: x })}>${t('mp_' + x)}</button>`)}</span>
      ${mode === 'wire' && html`<span>${t('scheduler')} <b>${m.scheduler}</b></span>`}
      ${mode === 'lab' && html`<${Pick} label=${t('scheduler')} of=${schedulers} value=${m.want.scheduler || 'arrival'} on=${(/** @type {string} */ scheduler) => change({ scheduler })} />`}
      ${mode !== 'off' && html`<${Pick} label=${t('congestion')} of=${mode === 'wire' ? kernelControls : controls} value=${m.want.congestion || 'auto'} on=${(/** @type {string} */ congestion) => change({ congestion })} />`}
    </div>
    <p class=${mode === 'lab' ? 'warn' : 'dim'}>${t('mp_say_' + mode)} ${mode !== 'off' && t('mp_new')}</p>
    ${!m.effective && html`<p class="bad">${t('not_effective')}: ${m.why}</p>`}
    <div class="split"><${Paths} /><${Shares} paths=${m.paths} /></div>
    <p>${t('mp_totals', m.total, m.totals.opened, m.totals.refused, m.totals.fallbacks, m.totals.resets)}</p>
    ${m.connections.length > 0 && html`<div class="scroll" tabindex="0"><table>
      <thead><tr><th>${t('connection')}</th><th>${t('scheduler')}</th><th>${t('mp_subflow')}</th><th>RTT</th><th>${t('amount')}</th><th>${t('mp_priority')}</th><th>${t('state')}</th></tr></thead>
      ${m.connections.map(c => html`<tbody key=${c.client + c.server}>${c.subflows.map((f, i) => html`<tr key=${f.path + f.remote}>
        <td>${i === 0 ? `${c.client} → ${c.server}` : ''}</td>
        <td>${i === 0 ? html`${c.scheduler} ${c.fallback && html`<b class="bad">${t('mp_fallback')}</b>`}` : ''}</td>
        <td>${f.path} · ${f.congestion || '–'}</td><td>${number(f.rtt_ms)} ms</td><td>↑ ${bytes(f.up_bytes)} ↓ ${bytes(f.down_bytes)}</td>
        <td>${t('mp_' + f.priority)}</td><td>${t('mp_' + f.state)}</td></tr>`)}</tbody>`)}</table></div>`}
  </section>`
}

/** Pick chooses one of several names. @param {{label: string, of: string[], value: string, on: (v: string) => void}} p */
const Pick = ({ label, of, value, on }) => html`<label>${label} <select disabled=${!may('drive')} value=${value} onChange=${(/** @type {any} */ e) => on(e.target.value)}>
  ${(of.includes(value) ? of : [...of, value]).map(x => html`<option key=${x} value=${x} selected=${x === value}>${x}</option>`)}</select></label>`

/** Paths shows each path as it is now. */
function Paths() {
  useTicks()
  const now = store.sample?.paths || []
  const all = now.reduce((n, p) => n + p.up_bps + p.down_bps, 0)
  return html`<table>
    <thead><tr><th>${t('mp_path')}</th><th>${t('state')}</th><th>${t('mp_share')}</th><th>↑</th><th>↓</th></tr></thead>
    <tbody>${(store.status?.paths || []).map(p => {
      const s = now.find(x => x.name === p.name) || { up_bps: 0, down_bps: 0 }
      return html`<tr key=${p.name}><th scope="row">${p.name}</th>
        <td class=${p.up ? '' : 'bad'}>${p.up ? t('mp_up') : t('mp_down')}${p.best ? ' · ' + t('mp_best') : ''}</td>
        <td>${all > 0 ? Math.round((100 * (s.up_bps + s.down_bps)) / all) : 0} %</td><td>${rate(s.up_bps)}</td><td>${rate(s.down_bps)}</td></tr>`
    })}</tbody></table>`
}

/** Shares shows what each path carried over time, once a sample said so. @param {{paths: import('./types/api.js').PathState[]}} p */
function Shares({ paths }) {
  useTicks()
  if (!paths.some(p => current().data[`path_${store.way}_${p.name}`])) return null
  return html`<${Strip} id="shares" title=${`${t('mp_shares')} · ${t(store.way)}`} unit="Mbit/s"
  lines=${paths.map((p, i) => ({ name: `path_${store.way}_${p.name}`, label: p.name, color: colors[i % colors.length], dash: i % 2 ? [6, 3] : undefined, scale: 1e-6 }))} />`
}
