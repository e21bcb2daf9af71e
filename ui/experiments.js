// Experiments that the box makes itself: begun, followed, stopped, gone on
// with, and their reports.
import { html } from './html.js'
import { useEffect, useState } from './vendor/hooks.js'
import { ask } from './api.js'
import { left } from './header.js'
import { attempt, may, query, set, store } from './store.js'
import { t } from './words.js'

/** @typedef {import('./types/api.js').ExperimentState} State */

/** started makes an id of the time. */
const started = () => new Date().toISOString().replace(/[-:]|\..*/g, '')

/** word says how an experiment is. @param {State} x */
const word = x => (x.phase === 'running' ? t('cell_of', x.measured, x.cells) + (x.left_s ? ` · ${left(x.left_s)}` : '') : t('phase_' + x.phase) + ` · ${t('passed_of', x.passed, x.measured)}`)

/** @param {{x: State, put: (id: string, body: any) => void, remove: (id: string) => void}} p */
const Row = ({ x, put, remove }) => html`<tr><td>${x.id}<small>${x.name}${x.about && `: ${x.about}`}</small></td>
  <td><progress max=${x.cells} value=${x.measured} aria-label=${x.id}></progress><small>${word(x)}</small>
    ${x.now && html`<small>${x.now}</small>`}${x.error && html`<small class="bad">${x.error}</small>`}</td>
  <td>${x.phase !== 'running' && [['html', 'HTML'], ['csv', 'CSV'], ['json', 'JSON'], ['junit', 'JUnit']].map(([f, text]) =>
    html`<a href=${`/api/v1/experiments/${x.id}/report?format=${f}`} target="_blank" rel="noopener">${text}</a> `)}</td>
  <td><span class="row">${x.phase === 'running'
    ? html`<button disabled=${!may('drive')} onClick=${() => put(x.id, { phase: 'stopped' })}>${t('stop')}</button>`
    : html`${x.phase === 'stopped' && html`<button disabled=${!may('drive')} onClick=${() => put(x.id, {})}>${t('go_on')}</button>`}
      <button disabled=${!may('drive')} onClick=${() => remove(x.id)}>${t('remove')}</button>`}</span></td></tr>`

export function Experiments() {
  const [own, write] = useState('')
  const [which, choose] = useState(/** @type {string|null} */ (null)) // '' is a document of one's own
  const [quick, hurry] = useState(true)
  const chosen = which ?? store.shipped[0]?.name ?? ''
  const load = () => attempt(async () => {
    const all = await ask('GET', '/experiments')
    set({ experiments: all.experiments, shipped: all.shipped })
  })
  useEffect(() => void load(), [])
  const put = (/** @type {string} */ id, /** @type {any} */ body) => attempt(async () => (await ask('PUT', `/experiments/${id}` + query(), body), await load()))
  const remove = (/** @type {string} */ id) => attempt(async () => (await ask('DELETE', `/experiments/${id}`), await load()))
  const begin = (/** @type {SubmitEvent} */ e) => {
    e.preventDefault()
    put((chosen || 'own') + '-' + started(), { ...(chosen ? { shipped: chosen } : { document: own }), quick })
  }
  return html`<section class="card wide" aria-labelledby="experiments"><h2 id="experiments">${t('experiments')}</h2>
    <form class="row" onSubmit=${begin}>
      <label>${t('experiment')}<select name="which" value=${chosen} onInput=${(/** @type {any} */ e) => choose(e.target.value)}>${store.shipped.map(x => html`<option value=${x.name}>${x.name} (${t('cells_n', x.cells)}, ${left(x.length_s)})</option>`)}
        <option value="">${t('own_document')}</option></select></label>
      <label class="line"><input type="checkbox" name="quick" checked=${quick} onChange=${(/** @type {any} */ e) => hurry(e.target.checked)} /> ${t('quick')}</label>
      <button class="main" disabled=${!may('drive')}>${t('begin')}</button>
    </form>
    <details open=${chosen === ''}><summary>${t('own_document')} (TOML)</summary>
      <textarea rows="8" spellcheck=${false} aria-label=${t('own_document')} value=${own} onInput=${(/** @type {any} */ e) => write(e.target.value)}></textarea></details>
    ${store.experiments.length > 0 && html`<div class="scroll" tabindex="0"><table><thead><tr><th>${t('name')}</th><th>${t('progress')}</th><th>${t('report')}</th><th>${t('actions')}</th></tr></thead>
      <tbody>${store.experiments.map(x => html`<${Row} key=${x.id} x=${x} put=${put} remove=${remove} />`)}</tbody></table></div>`}
  </section>`
}
