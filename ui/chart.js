// Strip: one chart over time. The four of them share a cursor, a window, and
// the marks of events.
import { html } from './html.js'
import { useEffect, useRef, useState } from './vendor/hooks.js'
import uPlot from './vendor/uplot.js'
import { current, set, store, ticks } from './store.js'
import { t } from './words.js'

/** @typedef {{name: string, label: string, color: string, dash?: number[], scale?: number, bars?: boolean}} Line */

const calm = matchMedia('(prefers-reduced-motion: reduce)')
// Charts have their colours from when they are made.
const dark = matchMedia('(prefers-color-scheme: dark)')
dark.addEventListener('change', () => set({}))

/** color reads a colour of the style sheet as it is now. @param {string} name */
const color = name => {
  const probe = document.createElement('i')
  probe.style.color = `var(--${name})`
  document.body.append(probe)
  const value = getComputedStyle(probe).color
  probe.remove()
  return value
}

/** clock writes a time of day. @param {number} s */
const clock = s => new Date(s * 1000).toLocaleTimeString([], { hour12: false })

/** tenth is that to the tenth of a second, which is what samples are apart. @param {number} s */
const tenth = s => `${clock(s)}.${Math.floor(s * 10) % 10}`

/** marks draws a line at each event. @param {uPlot} u */
function marks(u) {
  const { ctx, bbox } = u
  ctx.save()
  ctx.strokeStyle = ctx.fillStyle = color('mark')
  ctx.setLineDash([4, 4])
  for (const e of store.events) {
    const x = Date.parse(e.time) / 1000
    if (x < (u.scales.x.min ?? 0) || x > (u.scales.x.max ?? 0)) continue
    const at = Math.round(u.valToPos(x, 'x', true))
    ctx.beginPath()
    ctx.moveTo(at, bbox.top)
    ctx.lineTo(at, bbox.top + bbox.height)
    ctx.stroke()
  }
  ctx.restore()
}

/** @param {HTMLElement} el @param {Line[]} lines */
function make(el, lines) {
  const axis = { stroke: color('dim'), grid: { stroke: color('grid'), width: 1 }, ticks: { show: false }, font: '11px system-ui, sans-serif' }
  return new uPlot(
    {
      width: el.clientWidth || 300,
      height: 150,
      padding: [8, 28, 0, 0],
      cursor: { sync: { key: 'strips' }, drag: { x: true, y: false } },
      legend: { show: false },
      scales: { x: { time: true }, y: { range: (_u, _lo, hi) => [0, hi > 0 ? hi * 1.1 : 1] } },
      axes: [
        { ...axis, size: 26, values: (_u, v) => v.map(clock), space: 90 },
        { ...axis, size: 46, values: (_u, v) => v.map(x => (x >= 10_000 ? `${x / 1000}k` : String(+x.toPrecision(6)))) },
      ],
      series: [
        {},
        ...lines.map(l => ({
          label: l.label, stroke: color(l.color), width: 1.5, dash: l.dash, points: { show: false }, spanGaps: false,
          ...(l.bars ? { paths: uPlot.paths.stepped?.({ align: -1 }), fill: color(l.color) + '' } : {}),
        })),
      ],
      hooks: {
        draw: [marks],
        setSelect: [u => {
          if (u.select.width > 4 && store.frozen === null) set({ frozen: current().end() })
        }],
      },
    },
    [[], ...lines.map(() => [])],
    el,
  )
}

/** @param {Line[]} lines */
function view(lines) {
  const s = current()
  const end = store.frozen ?? s.end()
  const data = s.window(store.window, end, lines.map(l => l.name))
  lines.forEach((l, i) => {
    if (l.scale) data[i + 1] = data[i + 1].map(v => (v === null ? null : v * /** @type {number} */ (l.scale)))
  })
  return { data, end }
}

/** number writes a value with three digits. @param {number|null|undefined} v */
export const number = v => (v === null || v === undefined || Number.isNaN(v) ? '–' : v >= 1000 ? Math.round(v).toLocaleString('en') : String(+v.toPrecision(3)))

/** Strip draws lines. @param {{id: string, title: string, unit: string, lines: Line[]}} p */
export function Strip({ id, title, unit, lines }) {
  const box = useRef(null)
  const [now, say] = useState(/** @type {(number|null)[]} */ ([]))
  const key = JSON.stringify([lines, store.prefs.theme, dark.matches, store.tables, store.pair])
  useEffect(() => {
    const el = /** @type {HTMLElement|null} */ (/** @type {any} */ (box).current)
    const u = el && !store.tables ? make(el, lines) : null
    let drawn = 0, said = 0
    const draw = () => {
      const at = Date.now()
      const { data, end } = view(lines)
      if (u && (store.frozen === null || !drawn) && at - drawn >= (calm.matches ? 200 : 90)) {
        drawn = at
        u.setData(/** @type {uPlot.AlignedData} */ (data), false)
        if (store.frozen === null) u.setScale('x', { min: end - store.window, max: end })
        else u.redraw(false)
      }
      if (at - said >= 500) {
        said = at
        say(data.slice(1).map(c => c[c.length - 1] ?? null))
      }
    }
    draw()
    const stop = ticks(draw)
    const fit = new ResizeObserver(() => u && el && u.setSize({ width: el.clientWidth, height: 150 }))
    if (el) fit.observe(el)
    return () => (stop(), fit.disconnect(), u?.destroy())
  }, [key, store.window, store.frozen])
  const spoken = lines.map((l, i) => `${l.label} ${number(now[i])} ${unit}`).join(', ')
  return html`<section class="card strip" aria-labelledby=${id}>
    <h2 id=${id}>${title}, <span class="unit">${unit}</span></h2>
    <ul class="legend">
      ${lines.map((l, i) => html`<li><i class=${'key ' + (l.dash ? 'dashed' : '')} data-color=${l.color}></i>${l.label} <b>${number(now[i])}</b></li>`)}
    </ul>
    ${store.tables ? html`<${Table} lines=${lines} unit=${unit} />` : html`<div ref=${box} class="plot" role="img" aria-label=${`${title}: ${spoken}`}></div>`}
  </section>`
}

/** Table shows the last ten points as figures. @param {{lines: Line[], unit: string}} p */
function Table({ lines }) {
  const { data } = view(lines)
  const from = Math.max(0, data[0].length - 10)
  return html`<div class="scroll" tabindex="0"><table>
    <thead><tr><th>${t('time')}</th>${lines.map(l => html`<th>${l.label}</th>`)}</tr></thead>
    <tbody>${data[0].slice(from).map((x, i) => html`<tr><td>${tenth(/** @type {number} */ (x))}</td>${lines.map((_, k) => html`<td>${number(data[k + 1][from + i])}</td>`)}</tr>`)}</tbody>
  </table></div>`
}
