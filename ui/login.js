// Login, and the claim of a box that nobody has claimed.
import { html } from './html.js'
import { attempt, login } from './store.js'
import { t } from './words.js'

/** @param {{claimed: boolean}} p */
export function Login({ claimed }) {
  const submit = (/** @type {SubmitEvent} */ e) => {
    e.preventDefault()
    const f = new FormData(/** @type {HTMLFormElement} */ (e.target))
    const token = String(f.get('token') || '').trim()
    const password = String(f.get('password') || '')
    const code = String(f.get('code') || '').trim()
    attempt(() => (code ? login({ code, password }, '/claim') : login(token ? { token } : { password })))
  }
  // A box without a password is most often a lab, or one with tokens in its configuration.
  const secret = html`<label>${t('token')}<input name="token" type="password" autocomplete="off" placeholder="flk_…" autofocus=${!claimed} /></label>`
  return html`<main class="login"><form class="card" onSubmit=${submit}>
    <h1>farlink</h1>
    <p>${claimed ? t('login_say') : t('claim_say')}</p>
    ${!claimed && secret}
    ${!claimed && html`<label>${t('code')}<input name="code" autocomplete="off" spellcheck=${false} /></label>`}
    <label>${t('password')}<input name="password" type="password" autocomplete=${claimed ? 'current-password' : 'new-password'} autofocus=${claimed} /></label>
    ${claimed && secret}
    <button class="main">${claimed ? t('login') : `${t('login')} / ${t('claim')}`}</button>
  </form></main>`
}
