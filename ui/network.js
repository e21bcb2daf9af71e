// Network and TLS of the box: where API and panel are served, by which
// names, and with which certificate.
import { html } from './html.js'
import { useEffect, useState } from './vendor/hooks.js'
import { ask, Problem } from './api.js'
import { left, useSecond } from './header.js'
import { note } from './store.js'
import { t } from './words.js'

/** @typedef {import('./types/api.js').SettingsState} State */

/** Wrong lists what is wrong, field by field. @param {{found: any[]}} p */
const Wrong = ({ found }) => html`<ul class="problems" aria-live="polite">${found.map(e => html`<li class="bad"><b>${String(e.location || '').replace(/^body\.?/, '')}</b> ${e.message}</li>`)}</ul>`

/** Trial says that the new address or TLS must be used before it is kept. @param {{s: State}} p */
function Trial({ s }) {
  useSecond()
  const rest = (Date.parse(s.trial_until || '') - Date.now()) / 1000
  if (!(rest > 0)) return null
  const there = new URL(s.api)
  if (/^(127\.|\[::1\])/.test(there.host)) there.hostname = location.hostname // it listens on all addresses, or this one
  return html`<p class="warn" role="alert">${t('trial', left(rest))} <a href=${there.origin + '/#/settings'}>${there.origin}</a></p>`
}

export function Network() {
  const [s, keep] = useState(/** @type {State|null} */ (null))
  const [found, say] = useState(/** @type {any[]} */ ([]))
  // What stands in the fields: drawn anew with every news of the box, so they are kept here.
  const [draft, edit] = useState({ listen: '', hosts: '', open: 'none', tls: 'off' })
  const field = (/** @type {'listen'|'hosts'|'open'|'tls'} */ name) => ({ name, value: draft[name], onInput: (/** @type {any} */ e) => edit({ ...draft, [name]: e.target.value }) })
  /** tell does something to the settings and shows what is wrong beside them. @param {() => Promise<State>} f @param {string} [said] */
  const tell = async (f, said) => {
    try {
      const now = await f()
      keep(now)
      edit({ listen: now.listen, hosts: now.allowed_hosts.join(', '), open: now.open, tls: now.tls })
      say([])
      if (said) note(said)
    } catch (e) {
      if (!(e instanceof Problem)) throw e
      say(e.errors.length ? e.errors : [{ location: '', message: e.message }])
    }
  }
  useEffect(() => void tell(() => ask('GET', '/settings')), [])
  if (!s) return null
  const change = (/** @type {SubmitEvent} */ e) => {
    e.preventDefault()
    const hosts = draft.hosts.split(/[\s,]+/).filter(Boolean)
    tell(() => ask('PATCH', '/settings', { listen: draft.listen, allowed_hosts: hosts, open: draft.open, tls: draft.tls }, { quiet: true }), t('settings_taken'))
  }
  const upload = async (/** @type {SubmitEvent} */ e) => {
    e.preventDefault()
    const form = /** @type {HTMLFormElement} */ (e.target)
    const f = new FormData(form)
    const [certificate, key] = await Promise.all(['certificate', 'key'].map(async name => (/** @type {File} */ (f.get(name))).text()))
    await tell(() => ask('PUT', '/settings/certificate', { certificate, key }, { quiet: true }), t('certificate_taken'))
    form.reset()
  }
  const c = s.certificate
  return html`<section class="card" aria-labelledby="network"><h2 id="network">${t('network_tls')}</h2>
    <${Trial} s=${s} />
    <form class="fields" onSubmit=${change}>
      <label>${t('listen')}<input ...${field('listen')} spellcheck=${false} required /></label>
      <label>${t('allowed_hosts')}<input ...${field('hosts')} spellcheck=${false} placeholder="bench-3.lab.example" /></label>
      <label>${t('open_scope')}<select ...${field('open')}>${['none', 'read', 'drive'].map(x => html`<option value=${x}>${t('open_' + x)}</option>`)}</select></label>
      <label>TLS<select ...${field('tls')}>${['off', 'self', 'own'].map(x => html`<option value=${x}>${t('tls_' + x)}</option>`)}</select></label>
      <div class="row"><button class="main">${t('apply_settings')}</button>
        <button type="button" disabled=${s.configured} onClick=${() => tell(() => ask('DELETE', '/settings', undefined, { quiet: true }), t('settings_taken'))}>${t('as_configured')}</button></div>
    </form>
    <${Wrong} found=${found} />
    ${c && html`<p class="dim">${t('certificate')}: ${c.names.join(', ')} · ${t('until', new Date(c.until).toLocaleDateString())}<br /><code>${c.fingerprint_sha256}</code></p>`}
    <details><summary>${t('upload_certificate')}</summary>
      <form class="fields" onSubmit=${upload}>
        <label>${t('certificate_pem')}<input type="file" name="certificate" accept=".pem,.crt,.cer" required /></label>
        <label>${t('key_pem')}<input type="file" name="key" accept=".pem,.key" required /></label>
        <div class="row"><button class="main">${t('upload')}</button></div>
      </form></details>
  </section>`
}
