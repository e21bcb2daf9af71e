// Settings: the profile editor, runs, experiments, tokens, network and TLS,
// ports, the audit log, this browser.
import { html } from './html.js'
import { useEffect, useState } from './vendor/hooks.js'
import { ask, Problem } from './api.js'
import { Experiments } from './experiments.js'
import { Network } from './network.js'
import { actions, attempt, logout, may, note, remember, store, set } from './store.js'
import { Timeline } from './timeline.js'
import { t } from './words.js'

/** @param {string} iso */
const when = iso => new Date(iso).toLocaleString([], { hour12: false })

function Editor() {
  const [name, rename] = useState('mine/new')
  const [text, write] = useState('[down.queue]\nrate = "8Mbit/s"\n\n[down.path]\ndelay = "250ms"\n\n[up.queue]\nrate = "2Mbit/s"\n\n[up.path]\ndelay = "250ms"\n')
  const [problems, found] = useState(/** @type {any[]|null} */ (null))
  const path = '/profiles/' + name.split('/').map(encodeURIComponent).join('/')
  useEffect(() => {
    const wait = setTimeout(async () => {
      try {
        await ask('PUT', path + '?dry_run=true', text, { type: 'application/toml', quiet: true })
        found([])
      } catch (e) {
        if (e instanceof Problem) found(e.errors.length ? e.errors : [{ location: '', message: e.message }])
      }
    }, 300)
    return () => clearTimeout(wait)
  }, [name, text])
  const reload = async () => set({ profiles: await ask('GET', '/profiles') })
  const load = (/** @type {string} */ from) => attempt(async () => {
    const p = await ask('GET', '/profiles/' + from)
    const own = p.shipped ? 'mine/' + from.split('/').pop() : from
    write(p.toml.replace(/^name\s*=.*$/m, `name = "${own}"`))
    rename(own)
  })
  const save = () => attempt(async () => {
    await ask('PUT', path, text, { type: 'application/toml' })
    note(t('stored', name))
    await reload()
  })
  const remove = () => attempt(async () => {
    const { toml } = await ask('GET', path)
    await ask('DELETE', path)
    note(t('removed', name), { undo: () => attempt(async () => (await ask('PUT', path, toml, { type: 'application/toml' }), await reload())) })
    await reload()
  })
  const [figure, draw] = useState('')
  const preview = () => attempt(async () => {
    draw('')
    const svg = await ask('POST', `/preview?length=60s&seed=${store.seed}`, text, { type: 'application/toml', quiet: true })
    draw('data:image/svg+xml;base64,' + btoa(String.fromCodePoint(...new TextEncoder().encode(svg))))
  })
  const own = store.profiles.some(p => p.name === name && !p.shipped)
  return html`<section class="card wide" aria-labelledby="editor"><h2 id="editor">${t('editor')}</h2>
    <div class="row">
      <label>${t('start_from')}<select onChange=${(/** @type {any} */ e) => e.target.value && load(e.target.value)}>
        <option></option>${store.profiles.map(p => html`<option>${p.name}</option>`)}</select></label>
      <label>${t('name')}<input value=${name} spellcheck=${false} onInput=${(/** @type {any} */ e) => rename(e.target.value)} /></label>
      <button class="main" disabled=${!may('drive') || !problems || problems.length > 0} onClick=${save}>${t('save')}</button>
      <button disabled=${!problems || problems.length > 0} onClick=${preview}>${t('preview')}</button>
      <button disabled=${!own} onClick=${remove}>${t('remove')}</button>
    </div>
    <textarea rows="18" spellcheck=${false} aria-label=${t('editor')} aria-describedby="problems" value=${text} onInput=${(/** @type {any} */ e) => write(e.target.value)}></textarea>
    <${Timeline} text=${text} write=${write} />
    <ul id="problems" class="problems" aria-live="polite">${problems && (problems.length
      ? problems.map(p => html`<li class="bad"><b>${String(p.location || '').replace(/^body\.?/, '')}</b> ${p.value !== undefined && html`<code>${String(p.value)}</code>`} ${p.message}</li>`)
      : html`<li class="ok">${t('good')}</li>`)}</ul>
    ${figure && html`<img class="figure" src=${figure} alt=${t('preview_say', name)} />`}
  </section>`
}

function Tokens() {
  const [all, keep] = useState(/** @type {import('./types/api.js').Token[]} */ ([]))
  const [secret, show] = useState('')
  const load = () => attempt(async () => keep(await ask('GET', '/tokens')))
  useEffect(() => void load(), [])
  const make = (/** @type {SubmitEvent} */ e) => {
    e.preventDefault()
    const f = new FormData(/** @type {HTMLFormElement} */ (e.target))
    attempt(async () => {
      const made = await ask('PUT', '/tokens/' + encodeURIComponent(String(f.get('name'))), { scope: f.get('scope') }, { quiet: true })
      show(made.token)
      await load()
    })
  }
  const revoke = (/** @type {string} */ name) => attempt(async () => (await ask('DELETE', '/tokens/' + encodeURIComponent(name), undefined, { quiet: true }), await load()))
  return html`<section class="card" aria-labelledby="tokens"><h2 id="tokens">${t('tokens')}</h2>
    <table><thead><tr><th>${t('name')}</th><th>${t('scope')}</th><th>${t('created')}</th><th>${t('revoke')}</th></tr></thead>
      <tbody>${all.map(x => html`<tr><td>${x.name}</td><td>${x.scope}</td><td>${when(x.created)}</td>
        <td>${x.from_config ? html`<span class="dim">${t('from_config')}</span>` : html`<button onClick=${() => revoke(x.name)}>${t('revoke')}</button>`}</td></tr>`)}</tbody></table>
    <form class="row" onSubmit=${make}>
      <label>${t('name')}<input name="name" required pattern="[A-Za-z0-9][A-Za-z0-9._\\-]*" /></label>
      <label>${t('scope')}<select name="scope"><option>read</option><option selected>drive</option><option>admin</option></select></label>
      <button class="main">${t('make_token')}</button>
    </form>
    ${secret && html`<p role="alert">${t('token_once')} <code>${secret}</code></p>`}
  </section>`
}

/** Change shows how a thing was before and after a write. @param {{e: import('./types/api.js').Entry}} p */
function Change({ e }) {
  if (e.before === undefined && e.after === undefined) return null
  const text = (/** @type {any} */ v) => (v === undefined ? '–' : JSON.stringify(v))
  return html` <details><summary>${t('before_after')}</summary><code>${text(e.before)}</code> → <code>${text(e.after)}</code></details>`
}

function Audit() {
  const [all, keep] = useState(/** @type {import('./types/api.js').Entry[]} */ ([]))
  useEffect(() => void attempt(async () => keep(await ask('GET', '/audit?limit=100'))), [store.status?.pairs?.[0]?.etag, store.notes[store.notes.length - 1]?.id])
  return html`<section class="card wide" aria-labelledby="audit"><h2 id="audit">${t('audit')}</h2>
    <div class="scroll" tabindex="0"><table><thead><tr><th>${t('time')}</th><th>${t('who')}</th><th>${t('what')}</th><th>${t('on')}</th><th>${t('answer')}</th></tr></thead>
      <tbody>${[...all].reverse().map(e => html`<tr><td>${when(e.time)}</td><td>${e.who}</td><td>${e.what}${e.forced ? ' !' : ''}</td><td>${e.on}<${Change} e=${e} /></td><td>${e.status}</td></tr>`)}</tbody></table></div>
  </section>`
}

function Runs() {
  const [all, keep] = useState(/** @type {import('./types/api.js').Run[]} */ ([]))
  const load = () => attempt(async () => keep(await ask('GET', '/runs')))
  useEffect(() => void load(), [store.status?.runs.length])
  const remove = (/** @type {string} */ id) => attempt(async () => (await ask('DELETE', '/runs/' + id), await load()))
  return html`<section class="card wide" aria-labelledby="runs"><h2 id="runs">${t('runs')}</h2>
    <div class="scroll" tabindex="0"><table><thead><tr><th>${t('name')}</th><th>${t('begun')}</th><th>${t('verdict')}</th><th>${t('report')}</th><th>${t('remove')}</th></tr></thead>
      <tbody>${all.map(r => html`<tr><td>${r.id} ${r.title}<small>${r.links.map(l => `${l.profile} #${l.hash} · ${t('seed', l.seed)}`).join(', ')}</small></td><td>${when(r.begun)}</td>
        <td><span class="verdict" data-word=${r.verdict.word}>${t(r.verdict.word)}</span></td>
        <td>${[['html', 'HTML'], ['csv', 'CSV'], ['json', 'JSON'], ['junit', 'JUnit']].map(([f, text]) => html`<a href=${`/api/v1/runs/${r.id}/report?format=${f}`} target="_blank" rel="noopener">${text}</a> `)}
          ${r.capture && may('drive') && html`<a href=${`/api/v1/runs/${r.id}/pcap`}>pcap</a>`}</td>
        <td><button disabled=${!may('drive') || r.phase === 'running'} onClick=${() => remove(r.id)}>${t('remove')}</button></td></tr>`)}</tbody></table></div>
  </section>`
}

/** @param {{st: import('./types/api.js').Status, session: import('./types/api.js').SessionState}} p */
export function Settings({ st, session }) {
  return html`<main id="main" class="settings">
    <${Editor} />
    <${Runs} />
    <${Experiments} />
    ${may('admin') && html`<${Tokens} /><${Network} />`}
    <section class="card" aria-labelledby="box"><h2 id="box">${t('box')}</h2>
      <table><tbody>
        <tr><th scope="row">${t('version')}</th><td>${st.version}</td></tr>
        ${st.pairs.map(p => html`<tr><th scope="row">${p.name}</th><td>A ${p.port_a} (${t('side_a')}) · B ${p.port_b} (${t('side_b')})${p.netns && ` · ${p.netns}`}</td></tr>`)}
      </tbody></table>
      <p>${t('you_are', session.name, session.scope)}</p>
      <div class="row">
        <label class="line"><input type="checkbox" checked=${store.prefs.keys !== 'off'} onChange=${(/** @type {any} */ e) => remember('keys', e.target.checked ? 'on' : 'off')} /> ${t('keys_on')}</label>
        <button disabled=${!may('drive')} onClick=${actions.reset}>${t('reset_box')}</button>
        <button onClick=${logout}>${t('logout')}</button>
      </div>
    </section>
    <${Audit} />
  </main>`
}
