// Timeline: the [[timeline]] tables of a profile as rows and as a picture.
// The document stays the truth: rows are read out of its text and written
// back into it; keys that have no column stay as they are.
import { html } from './html.js'
import { t } from './words.js'

/** @typedef {Record<string, string>} Line keys of a table with their values as they stand */

const keys = ['at', 'for', 'every', 'repeat', 'ramp', 'fade_db', 'handover', 'cut', 'set']
const units = { ns: 1e-9, us: 1e-6, µs: 1e-6, ms: 1e-3, s: 1, m: 60, h: 3600 }

/** seconds reads a duration as it stands in a document. @param {string|undefined} text */
export function seconds(text) {
  const [, n, unit] = (text || '').match(/^"?([\d.]+)\s*(ns|us|µs|ms|s|m|h)?"?$/) || []
  return n === undefined ? 0 : Number(n) * units[/** @type {'s'} */ (unit || 's')]
}

/**
 * split takes the timeline out of a document.
 * @param {string} text
 * @returns {{rest: string, lines: Line[]}}
 */
export function split(text) {
  /** @type {string[]} */
  const rest = []
  /** @type {Line[]} */
  const lines = []
  let inside = false
  for (const row of text.split('\n')) {
    if (/^\s*\[\[\s*timeline\s*\]\]/.test(row)) {
      inside = true
      lines.push({})
      continue
    }
    if (/^\s*\[/.test(row)) inside = false
    const [, key, value] = (inside && row.match(/^\s*([a-z_]+)\s*=\s*(.*?)\s*$/)) || []
    if (key) lines[lines.length - 1][key] = value
    else if (!inside) rest.push(row)
  }
  return { rest: rest.join('\n').trimEnd() + '\n', lines }
}

/** join puts a timeline into a document. @param {string} rest @param {Line[]} lines */
export const join = (rest, lines) =>
  rest + lines.map(l => '\n[[timeline]]\n' + Object.entries(l).filter(([, v]) => v !== '').map(([k, v]) => `${k} = ${v}\n`).join('')).join('')

/** what says in a word what a line does. @param {Line} l */
const what = l => (l.fade_db ? `fade ${l.fade_db} dB` : l.handover ? `handover ${l.handover}` : l.cut ? `cut ${l.cut}` : l.station ? `station ${l.station}` : l.set ? `set ${l.set}` : '').replaceAll('"', '')

/** once lists when a line happens, in the first seconds. @param {Line} l @param {number} most */
function once(l, most) {
  const at = seconds(l.at), every = seconds(l.every)
  const times = l.repeat ? Number(l.repeat) : every ? 100 : 1
  /** @type {number[]} */
  const out = []
  for (let i = 0; i < times && at + i * every <= most; i++) out.push(at + i * every)
  return out
}

/** Picture draws what happens when. @param {{lines: Line[]}} p */
function Picture({ lines }) {
  const end = Math.max(10, ...lines.map(l => seconds(l.at) + Math.max(seconds(l.for), seconds(l.handover), seconds(l.every)))) * 1.15
  const x = (/** @type {number} */ s) => (s / end) * 1000
  const height = lines.length * 22 + 22
  const step = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600].find(s => end / s <= 10) || end
  const ticks = Array.from({ length: Math.floor(end / step) + 1 }, (_, i) => i * step)
  return html`<svg class="timeline" viewBox=${`0 0 1000 ${height}`} role="img" aria-label=${lines.map(l => `${l.at || '0'}: ${what(l)}`).join('; ').replaceAll('"', '')}>
    ${ticks.map(s => html`<g class="tick"><line x1=${x(s)} x2=${x(s)} y1="0" y2=${height - 16} /><text x=${x(s) + 2} y=${height - 4}>${s} s</text></g>`)}
    ${lines.map((l, i) => once(l, end).map(at => {
      const long = Math.max(seconds(l.for), seconds(l.handover)) || end - at
      return html`<g class="bar"><rect x=${x(at)} y=${i * 22 + 3} width=${Math.max(3, Math.min(x(long), 1000 - x(at)))} height="16" rx="3" /></g>`
    }))}
    ${lines.map((l, i) => {
      const at = x(seconds(l.at)), late = at > 700 // then its name stands before it
      return html`<text class="name" x=${late ? at - 5 : at + 5} y=${i * 22 + 15} text-anchor=${late ? 'end' : 'start'}>${what(l)}</text>`
    })}
  </svg>`
}

/** Timeline edits the timeline of a document. @param {{text: string, write: (text: string) => void}} p */
export function Timeline({ text, write }) {
  if (/^\s*\[\s*timeline\./m.test(text)) return null // tables of their own are edited as text
  const { rest, lines } = split(text)
  /** @param {number} i @param {string} key @param {string} value */
  const change = (i, key, value) => write(join(rest, lines.map((l, k) => (k === i ? { ...l, [key]: value } : l))))
  const add = (/** @type {Line} */ l) => write(join(rest, [...lines, l]))
  return html`<details class="timelines" open=${lines.length > 0}><summary>${t('timeline')} (${lines.length})</summary>
    ${lines.length > 0 && html`<${Picture} lines=${lines} />
      <div class="scroll" tabindex="0"><table><thead><tr>${keys.map(k => html`<th>${k}</th>`)}<th>${t('remove')}</th></tr></thead>
      <tbody>${lines.map((l, i) => html`<tr key=${i}>${keys.map(k => html`<td><input aria-label=${`${k} ${i + 1}`} spellcheck=${false} value=${l[k] || ''}
          onChange=${(/** @type {any} */ e) => change(i, k, e.target.value.trim())} /></td>`)}
        <td><button onClick=${() => write(join(rest, lines.filter((_, k) => k !== i)))}>×</button></td></tr>`)}</tbody></table></div>`}
    <div class="row">
      <button onClick=${() => add({ at: '"30s"', for: '"10s"', set: '{"up.path.delay" = "300ms"}' })}>+ set</button>
      <button onClick=${() => add({ at: '"30s"', for: '"5s"', cut: '"both"' })}>+ cut</button>
      <button onClick=${() => add({ at: '"30s"', for: '"20s"', ramp: '"5s"', fade_db: '6.0' })}>+ fade</button>
      <button onClick=${() => add({ at: '"30s"', handover: '"50ms"' })}>+ handover</button>
    </div>
  </details>`
}
