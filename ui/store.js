// The store: what the panel knows, how it hears of news, and what it can do.
// Components subscribe; samples come ten times a second and redraw only what
// asks for them.
import { ask, Problem } from './api.js'
import { Series } from './series.js'
import { t } from './words.js'

/** @typedef {import('./types/api.js').Status} Status */
/** @typedef {import('./types/api.js').PairState} PairState */
/** @typedef {import('./types/api.js').ProfileInfo} ProfileInfo */
/** @typedef {import('./types/api.js').Event} Event */
/** @typedef {import('./types/api.js').Sample} Sample */
/** @typedef {import('./types/api.js').SessionState} Session */
/** @typedef {import('./types/api.js').Want} Want */
/** @typedef {{id: number, text: string, bad?: boolean, undo?: () => void, link?: [string, string], until: number}} Note */

export const store = {
  /** @type {Session|null} */ session: null,
  /** @type {Status|null} */ status: null,
  /** @type {ProfileInfo[]} */ profiles: [],
  /** @type {Event[]} */ events: [],
  /** @type {Map<string, Series>} */ series: new Map(),
  /** @type {Sample|null} */ sample: null,
  /** @type {import('./types/api.js').PEPState|null} */ pep: null,
  experiments: /** @type {import('./types/api.js').ExperimentState[]} */ ([]),
  shipped: /** @type {import('./types/api.js').ShippedExperiment[]} */ ([]),
  flows: { total: 0, flows: /** @type {import('./types/api.js').Split[]} */ ([]) },
  /** @type {import('./types/api.js').MultipathState|null} */ multipath: null,
  pair: '',
  seed: 0,
  window: 60,
  way: 'down',
  /** @type {number|null} */ frozen: null,
  tables: false,
  online: false,
  /** @type {Note[]} */ notes: [],
  page: location.hash.startsWith('#/settings') ? 'settings' : 'panel',
  help: false,
  /** @type {Record<string, string>} */ prefs: {},
}

/** @type {Set<() => void>} */ const listeners = new Set()
/** @type {Set<() => void>} */ const tickers = new Set()

/** subscribe hears of every change but samples. @param {() => void} f */
export const subscribe = f => (listeners.add(f), () => void listeners.delete(f))
/** ticks hears of samples. @param {() => void} f */
export const ticks = f => (tickers.add(f), () => void tickers.delete(f))

/** set changes the store and tells everybody. @param {Partial<typeof store>} change */
export function set(change) {
  Object.assign(store, change)
  listeners.forEach(f => f())
}

/** pair is the state of the pair that is shown; there is one whenever the panel is. @returns {PairState} */
export const pair = () => {
  const pairs = store.status?.pairs || []
  return pairs.find(p => p.name === store.pair) || pairs[0]
}
/** current is the series of the pair that is shown. */
export const current = () => seriesOf(pair()?.name || '')
/** may reports whether the user's scope reaches. @param {'read'|'drive'|'admin'} scope */
export const may = scope => scopes.indexOf(store.session?.scope || 'none') >= scopes.indexOf(scope)
const scopes = ['none', 'read', 'drive', 'admin']
/** mine reports whether the lease is the user's own. */
export const mine = () => store.status?.lease?.held && store.status.lease.holder === store.session?.name
/** query names the pair where there are several, then adds what else is asked. @param {string} [join] @param {string} [more] */
export const query = (join = '', more = '') => ((store.status?.pairs.length || 0) > 1 ? `?pair=${encodeURIComponent(pair().name)}` : '') + join + more

/** going is the run that goes on on the pair that is shown. */
export const going = () => store.status?.runs.find(r => r.pair === pair()?.name)

/** @param {string} name */
function seriesOf(name) {
  let s = store.series.get(name)
  if (!s) store.series.set(name, (s = new Series()))
  return s
}

/** What takes the last change back, longer than its note is shown. @type {(() => void)|null} */
let takeBack = null

let noteID = 0
/** note shows a line for some seconds. @param {string} text @param {Partial<Note>} [o] */
export function note(text, o = {}) {
  const n = { id: ++noteID, text, until: Date.now() + 10_000, ...o }
  if (o.undo) takeBack = o.undo
  set({ notes: [...store.notes.slice(-3), n] })
  setTimeout(() => set({ notes: store.notes.filter(x => x.id !== n.id) }), n.until - Date.now())
}

/** attempt does something and shows what went wrong. @param {() => Promise<any>} f */
export async function attempt(f) {
  try {
    return await f()
  } catch (e) {
    if (!(e instanceof Problem)) throw e
    if (e.status === 401) await begin()
    if (e.kind === 'leased') {
      const of = (/** @type {string} */ name) => e.errors.find(x => x.location === 'lease.' + name)?.value
      return note(t('problem_leased', of('holder'), new Date(of('until')).toLocaleTimeString([], { hour12: false })), { bad: true })
    }
    const where = e.errors.slice(0, 3).map(x => `${x.location}: ${x.message}`).join('; ')
    note([t(`problem_${e.kind}`, e.message), where].filter(Boolean).join(' — '), { bad: true })
  }
}

/** @type {EventSource|null} */ let stream = null
let daemon = ''

/** begin finds out who the user is, and listens if that may be. */
export async function begin() {
  stream?.close()
  const token = new URLSearchParams(location.hash.slice(1)).get('token')
  if (token) {
    history.replaceState(null, '', location.pathname)
    await attempt(() => ask('POST', '/session', { token }, { quiet: true }))
  }
  try {
    set({ session: await ask('GET', '/session') })
  } catch {
    setTimeout(begin, 2000)
    return
  }
  if (!may('read')) return
  attempt(async () => set({ profiles: await ask('GET', '/profiles') }))
  attempt(async () => set({ events: (await ask('GET', '/events')).slice(-500) }))
  listen()
}

/** Longest window that was fetched from the box, by pair. @type {Record<string, number>} */
const fetched = {}

/** past fetches what was before the panel was opened, as far as it is shown. */
export async function past() {
  const name = pair()?.name
  const seconds = Math.max(store.window, 60)
  if (!name || (fetched[name] || 0) >= seconds) return
  fetched[name] = seconds
  const columns = await attempt(() => ask('GET', `/series?window=${seconds}s&pair=${encodeURIComponent(name)}`))
  if (columns) seriesOf(name).load(columns)
}

function listen() {
  const source = new EventSource('/api/v1/stream')
  stream = source
  source.onerror = () => {
    set({ online: false })
    if (source.readyState === EventSource.CLOSED && stream === source) setTimeout(begin, 2000)
  }
  const on = (/** @type {string} */ name, /** @type {(v: any) => void} */ f) =>
    source.addEventListener(name, e => f(JSON.parse(/** @type {MessageEvent} */ (e).data)))
  on('hello', (/** @type {import('./types/api.js').Hello} */ v) => {
    if (daemon && daemon !== v.started) {
      store.series.clear()
      for (const name of Object.keys(fetched)) delete fetched[name]
    }
    daemon = v.started
    store.seed = store.seed || v.status.pairs?.[0]?.links?.[0]?.seed || 0
    set({ online: true, status: v.status })
    past()
  })
  on('state', (/** @type {Status} */ v) => set({ status: v }))
  on('event', (/** @type {Event} */ v) => {
    if (!store.events.some(e => e.id === v.id && e.time === v.time)) set({ events: [...store.events.slice(-499), v] })
  })
  on('mark', (/** @type {import('./types/api.js').MarkSaid} */ v) => {
    const e = { id: 0, time: v.time, kind: 'mark', text: v.text, by: v.by }
    set({ events: [...store.events.slice(-499), e] })
  })
  on('experiment', (/** @type {import('./types/api.js').ExperimentState} */ v) => set({ experiments: [v, ...store.experiments.filter(x => x.id !== v.id)].sort((a, b) => Date.parse(b.begun) - Date.parse(a.begun)) }))
  on('capture', (/** @type {import('./types/api.js').CaptureSaved} */ v) => note(t('pcap_saved', v.why, v.id)))
  on('sample', (/** @type {Sample} */ v) => {
    for (const p of v.pairs) {
      seriesOf(p.name).push(Date.parse(v.time) / 1000, p)
      if (v.paths) seriesOf(p.name).carried(v.paths)
    }
    store.sample = v
    tickers.forEach(f => f())
  })
}

/** login begins a session. @param {any} body @param {string} [path] */
export async function login(body, path = '/session') {
  await ask('POST', path, body, { quiet: true })
  await begin()
}

/** logout ends it. */
export async function logout() {
  await attempt(() => ask('DELETE', '/session', undefined, { quiet: true }))
  location.reload()
}

/** put asks for another want, and offers to go back. @param {Want} want @param {string} said */
async function put(want, said) {
  const p = pair()
  const before = p.want
  await attempt(async () => {
    const done = await ask('PUT', '/link' + query(), want, { etag: p.etag })
    const text = [said, done.hitless ? t('hitless') : t('not_hitless'), done.effective ? '' : `${t('not_effective')}: ${done.not_effective || ''}`].filter(Boolean).join(' · ')
    note(text, { undo: () => attempt(() => ask('PUT', '/link' + query(), before, { etag: done.etag })) })
  })
}

/** pep changes the proxies, and offers to go back. @param {any} change */
async function pep(change) {
  const before = store.pep?.want
  await ask('PATCH', '/pep' + query(), change)
  note(t('pep_changed'), { undo: () => attempt(() => ask('PUT', '/pep' + query(), before)) })
}

export const actions = {
  /** @param {string} name */
  apply: name => put({ mode: 'emulate', profile: name, seed: store.seed || undefined }, t('applied', name)),
  bypass() {
    /** @type {Want} */
    const want = { ...pair().want }
    want.mode = want.mode === 'bypass' ? 'emulate' : 'bypass'
    return put(want, want.mode === 'bypass' ? t('bypassed') : t('emulating_again'))
  },
  /** @param {string} [duration] */
  cut: (duration = '5s') => attempt(() => ask('POST', '/link/events' + query(), { kind: 'cut', duration })),
  fade: () => attempt(() => ask('POST', '/link/events' + query(), { kind: 'fade', db: 6, duration: '30s', ramp: '5s' })),
  handover: () => attempt(() => ask('POST', '/link/events' + query(), { kind: 'handover', duration: '100ms' })),
  flap: () => attempt(() => ask('POST', '/link/events' + query(), { kind: 'flap', down: '500ms', up: '2s', count: 5 })),
  reset: () => attempt(async () => {
    const before = pair().want
    await ask('POST', '/reset')
    note(t('was_reset'), { undo: () => attempt(() => ask('PUT', '/link' + query(), before)) })
  }),
  lease: () =>
    attempt(async () => {
      if (mine()) return void (await ask('DELETE', '/lease'))
      await ask('PUT', '/lease?wait=true', { purpose: t('lease_purpose'), ttl: '15m' })
      if (!mine() && store.status?.lease.held) note(t('lease_waiting'))
    }),
  pcap: () => attempt(async () => {
    const c = await ask('GET', '/capture' + query())
    if (c.armed) return location.assign('/api/v1/capture/pcap' + query())
    await ask('PUT', '/capture' + query(), { armed: true })
    note(t('pcap_armed'))
  }),
  pep: () => attempt(async () => {
    const w = store.pep?.want
    const on = w && (w.near || w.far)
    await pep(on ? { enabled: !w.enabled } : { near: true, far: true, enabled: true, handshake: 'deferred', wan: { congestion: 'xlayer' } })
  }),
  noPEP: () => attempt(() => pep({ near: false, far: false, enabled: false })),
  run: () => attempt(async () => {
    const on = going()
    const id = on?.id || 'run-' + new Date().toISOString().replace(/[-:]|\..*/g, '')
    await ask('PUT', `/runs/${id}` + query(), on ? { phase: 'stopped' } : {})
    if (on) note(t('run_stopped', id), { link: [`/api/v1/runs/${id}/report`, t('report')] })
  }),
  mark: () => attempt(async () => {
    const on = going()
    if (!on) return note(t('no_run'))
    await ask('POST', `/runs/${on.id}/marks`, { text: t('mark') + ' ' + new Date().toLocaleTimeString([], { hour12: false }) })
  }),
  report: () => attempt(async () => {
    const id = going()?.id || (await ask('GET', '/runs'))[0]?.id
    if (id) open(`/api/v1/runs/${id}/report`, '_blank', 'noopener')
    else note(t('no_run'))
  }),
  /** undo takes back what a note says, or the last change. @param {Note} [n] */
  undo(n) {
    const back = n?.undo || takeBack
    if (back === takeBack) takeBack = null
    if (!back) return note(t('nothing_to_undo'))
    back()
    set({ notes: store.notes.filter(n => n.undo !== back) })
  },
  freeze: () => set({ frozen: store.frozen === null ? current().end() : null }),
}

const kept = ['theme', 'lang', 'keys', 'window']
/** remember keeps a preference in this browser. @param {string} name @param {string} value */
export function remember(name, value) {
  try {
    localStorage.setItem('farlink.' + name, value)
  } catch {
    // private windows keep nothing
  }
  set({ prefs: { ...store.prefs, [name]: value } })
}
for (const name of kept) {
  try {
    const v = localStorage.getItem('farlink.' + name)
    if (v) store.prefs[name] = v
  } catch {
    break
  }
}
store.window = Number(store.prefs.window) || 60
