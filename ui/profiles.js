// The list of profiles: search, four numbers each, one click or Enter to
// apply.
import { html } from './html.js'
import { useState } from './vendor/hooks.js'
import { number } from './chart.js'
import { actions, may, pair, set, store } from './store.js'
import { t } from './words.js'

/** mega reads a rate as text in Mbit/s; NaN when there is no limit. @param {string} s */
function mega(s) {
  const [, n, unit] = s.match(/^([\d.]+)(G|M|k|)bit\/s$/) || []
  return n === undefined ? NaN : Number(n) * { G: 1e3, M: 1, k: 1e-3, '': 1e-6 }[/** @type {'G'} */ (unit)]
}

/** @typedef {import('./types/api.js').ProfileInfo} ProfileInfo */

/** numbers writes what identifies a profile. @param {ProfileInfo} p */
function numbers(p) {
  const [down, up] = [mega(p.down), mega(p.up)]
  const one = (/** @type {number} */ n) => (Number.isNaN(n) ? '∞' : number(n))
  const speed = Number.isNaN(down) && Number.isNaN(up) ? t('no_rate') : `${one(down)}/${one(up)} Mbit/s`
  const rtt = p.rtt.replace(/^0ns$/, '0 ms').replace(/^([\d.]+)([a-zµ]+)$/, (/** @type {any} */ _m, /** @type {string} */ n, /** @type {string} */ u) => `${number(Number(n))} ${u}`)
  return [t('rtt', rtt), speed, t('loss_n', p.loss), p.varies].filter(Boolean).join(' · ')
}

/** matches finds all words of a search. @param {ProfileInfo} p @param {string} search */
const matches = (p, search) => search.toLowerCase().split(/\s+/).every(w => `${p.name} ${p.about} ${p.varies || ''}`.toLowerCase().includes(w))

/** family is what stands before the slash of a name. @param {ProfileInfo|undefined} p */
const family = p => (p && p.name.includes('/') ? p.name.split('/')[0] : '')

export function Profiles() {
  const [search, look] = useState('')
  const active = pair()?.links?.[0]?.profile
  const found = store.profiles.filter(p => matches(p, search))
  const move = (/** @type {KeyboardEvent} */ e) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[e.key]
    if (!step) return
    e.preventDefault()
    const all = [...document.querySelectorAll('.profiles button')]
    const at = all.indexOf(/** @type {Element} */ (document.activeElement))
    ;/** @type {HTMLElement|undefined} */ (all[Math.max(0, at + step)])?.focus()
  }
  const enter = (/** @type {KeyboardEvent} */ e) => {
    if (e.key === 'Enter' && found.length && search && may('drive')) actions.apply(found[0].name)
    if (e.key === 'Escape') {
      look('')
      document.getElementById('find')?.blur() // the keys are the panel's again
    }
  }
  return html`<nav class="card profiles" aria-labelledby="profiles" onKeyDown=${move}>
    <h2 id="profiles">${t('profiles')}</h2>
    <input id="find" type="search" aria-label=${t('find')} placeholder=${t('find') + '  /'} value=${search}
      onInput=${(/** @type {any} */ e) => look(e.target.value)} onKeyDown=${enter} />
    <ul>
      ${found.map((p, i) => html`<li key=${p.name}>${family(p) !== family(found[i - 1]) && html`<h3>${family(p)}</h3>`}<button aria-pressed=${p.name === active} disabled=${!may('drive')}
          title=${t('apply_profile', p.name)} onClick=${() => actions.apply(p.name)}>
        <b>${p.name.slice(p.name.indexOf('/') + 1)}</b> <span class="about">${p.about}</span>${!p.shipped && html` <em>${t('mine')}</em>`}
        <small>${numbers(p)}</small>
      </button></li>`)}
    </ul>
    ${!found.length && html`<p class="dim">${t('none_found')}</p>`}
    <label class="seed">${t('next_seed')}
      <input type="number" min="0" max="9007199254740991" value=${store.seed} onInput=${(/** @type {any} */ e) => set({ seed: Math.max(0, Math.floor(Number(e.target.value)) || 0) })} />
    </label>
  </nav>`
}
