// The path as a picture: device, link, network, with live figures per way;
// and the actions on it.
import { html } from './html.js'
import { useEffect, useState } from './vendor/hooks.js'
import { asCurl, asPytest } from './api.js'
import { number } from './chart.js'
import { actions, current, going, may, mine, note, pair, set, store, ticks } from './store.js'
import { t } from './words.js'

/** useTicks redraws with the samples, but not faster than each half second. */
export function useTicks() {
  const [, redraw] = useState(0)
  useEffect(() => {
    let last = 0
    return ticks(() => {
      const now = Date.now()
      if (now - last < 450) return
      last = now
      redraw(n => n + 1)
    })
  }, [])
}

/** rate writes bits per second. @param {number} bps */
export const rate = bps => (bps >= 1e9 ? `${number(bps / 1e9)} Gbit/s` : bps >= 1e6 ? `${number(bps / 1e6)} Mbit/s` : `${number(bps / 1e3)} kbit/s`)

/** span writes a window. @param {number} s */
export const span = s => (s < 60 ? `${s} s` : s < 3600 ? `${s / 60} min` : '1 h')

/** mean of the newest second of a column. @param {string} name */
function mean(name) {
  const s = current()
  return s.fold(name, Math.max(0, s.count - 10), s.count) || 0
}

/** reading finds a live figure of the main link. @param {string} way @param {string} name */
const reading = (way, name) => sample()?.readings?.[`${way}.main.${name}`]
const sample = () => store.sample?.pairs.find(p => p.name === pair().name)

/** Figures of a model that say what the link does now, besides the rate. */
const telling = [
  ['modcod', 'MODCOD %s'], ['cqi', 'CQI %s'], ['mcs', 'MCS %s'], ['es_n0_db', 'Es/N0 %s dB'], ['sinr_db', 'SINR %s dB'], ['rain_db', 'rain %s dB'],
  ['cra_bps', 'CRA %s'], ['rbdc_bps', 'RBDC %s'], ['vbdc_bps', 'VBDC %s'], ['avbdc_bps', 'AVBDC %s'], ['fca_bps', 'FCA %s'], ['elevation_degrees', 'elevation %s°'],
]

/** @param {{way: 'down'|'up'}} p */
function Way({ way }) {
  const w = sample()?.[way]
  if (!w) return html`<div class="way" data-way=${way}></div>`
  const delivered = mean(way + '_delivered')
  const extra = telling.flatMap(([name, text]) => {
    const v = reading(way, name)
    return v === undefined ? [] : [text.replace('%s', name.endsWith('_bps') ? number(v / 1e6) : number(v))]
  })
  return html`<div class="way" data-way=${way}>
    <span>${way === 'down' ? '←' : '→'} ${t(way)}</span>
    <b>${w.granted_bps ? t('of', rate(delivered), rate(w.granted_bps)) : rate(delivered)}</b>
    <span>${number(w.delay_ms)} ms${w.queue_ms > 0.05 ? ` + ${number(w.queue_ms)} ms` : ''}</span>
    <span class="dim">${t('held_n', number(w.held_packets))} · ${t('lost_n', number(lostTotal(way)), span(store.window))}${extra.length ? ' · ' + extra.join(' · ') : ''}</span>
  </div>`
}

/** lostTotal counts the frames lost in the window. @param {string} way */
function lostTotal(way) {
  const s = current()
  return s.fold(way + '_lost', Math.max(0, s.count - store.window * 10), s.count) || 0
}

export function Path() {
  useTicks()
  const p = pair()
  return html`<section class="card" aria-labelledby="path">
    <h2 id="path">${t('path')}</h2>
    <div class="path">
      <div class="end"><b>A</b> ${t('device')}<small>${p.port_a}</small></div>
      ${store.pep?.want.near && html`<div class="end pep">PEP<small>${store.pep.want.enabled ? t('splitting') : t('passing')}</small></div>`}
      <div class="ways"><${Way} way="down" /><${Way} way="up" /></div>
      ${store.pep?.want.far && html`<div class="end pep">PEP<small>${store.pep.want.enabled ? t('splitting') : t('passing')}</small></div>`}
      <div class="end"><b>B</b> ${t('network')}<small>${p.port_b}</small></div>
    </div>
    ${!p.event && (p.why || !p.effective) && html`<p class="warn">${p.why || `${t('not_effective')}: ${p.not_effective || ''}`}</p>`}
    ${p.event && html`<p class="warn">${t('event_on', p.event.kind, new Date(p.event.ends || 0).toLocaleTimeString([], { hour12: false }))}</p>`}
  </section>`
}

/** @param {string} text */
async function copy(text) {
  if (!text) return note(t('nothing_to_copy'))
  try {
    await navigator.clipboard.writeText(text)
    note(t('copied'))
  } catch {
    note(text) // plain http away from localhost has no clipboard
  }
}

/** download hands a text to the browser as a file. @param {string} name @param {string} text */
export function download(name, text) {
  const a = document.createElement('a')
  a.href = URL.createObjectURL(new Blob([text], { type: 'text/csv' }))
  a.download = name
  a.click()
  setTimeout(() => URL.revokeObjectURL(a.href), 1000)
}

/** Act is a button with its key. @param {{label: string, k?: string, on: () => void, write?: boolean, pressed?: boolean}} p */
const Act = ({ label, k, on, write, pressed }) =>
  html`<button onClick=${on} disabled=${write && !may('drive')} aria-pressed=${pressed} aria-keyshortcuts=${k}>${label}${k && html` <kbd>${k}</kbd>`}</button>`

export function Actions() {
  const bypassing = pair().want.mode === 'bypass'
  const csv = () => download(`farlink-${pair().name}.csv`, current().csv(store.window, store.frozen ?? current().end()))
  return html`<section class="card actions" aria-label=${t('actions')}>
    <${Act} label=${bypassing ? t('emulate') : t('bypass')} k="B" write on=${actions.bypass} pressed=${bypassing} />
    <${Act} label=${t('cut5')} k="C" write on=${() => actions.cut()} />
    <${Act} label=${t('fade30')} k="F" write on=${actions.fade} />
    <${Act} label=${t('hand_over')} k="H" write on=${actions.handover} />
    <${Act} label=${t('flap')} k="P" write on=${actions.flap} />
    <${Act} label=${mine() ? t('give_lease') : t('take_lease')} k="L" write on=${actions.lease} />
    <${Act} label=${going() ? t('stop_run') : t('start_run')} k="R" write on=${actions.run} pressed=${!!going()} />
    <${Act} label=${t('mark')} k="M" write on=${actions.mark} />
    <${Act} label=${t('report')} on=${actions.report} />
    <${Act} label=${t('undo')} k="Z" write on=${() => actions.undo()} />
    <${Act} label=${t('copy_curl')} on=${() => copy(asCurl())} />
    <${Act} label=${t('copy_pytest')} on=${() => copy(asPytest())} />
    <${Act} label=${t('csv')} on=${csv} />
    <${Act} label=${t('pcap')} k="D" on=${actions.pcap} write />
    <${Act} label=${t('help')} k="?" on=${() => set({ help: true })} />
  </section>`
}
