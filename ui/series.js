// Series: one hour of samples of one pair, ten a second, in columns, and the
// windows of it that the strips show.

/** Columns of a sample, and how several become one: the greatest delay, the
 * mean rate, the sum of losses. */
export const columns = {
  down_offered: 'mean', down_granted: 'mean', down_delivered: 'mean', down_queue: 'max', down_lost: 'sum', down_held: 'max',
  up_offered: 'mean', up_granted: 'mean', up_delivered: 'mean', up_queue: 'max', up_lost: 'sum', up_held: 'max',
  late: 'max', cwnd: 'mean', grant: 'mean',
}
const names = Object.keys(columns)
const length = 36_000 // an hour
const points = 600 // most in a window

/** @typedef {Omit<import('./types/api.js').WaySample, 'delay_ms'|'queue_bytes'|'packets'>} Way */
/** Columns of the paths that are held together: path_WAY_NAME. */
const pathColumn = 'path_'

export class Series {
  constructor() {
    this.t = new Float64Array(length)
    /** @type {Record<string, Float64Array>} */
    this.data = Object.fromEntries(names.map(n => [n, new Float64Array(length)]))
    this.count = 0
    /** @type {Set<string>} reasons of loss that occurred, as way.reason */
    this.causes = new Set()
    /** @type {Map<number, Record<string, number>>} losses by sample number */
    this.lost = new Map()
  }

  /** push adds a sample. @param {number} t seconds @param {Pick<import('./types/api.js').PairSample, 'lateness_p99_us'|'readings'> & Record<'down'|'up', Way>} p */
  push(t, p) {
    const i = this.count % length
    if (this.count && t <= this.t[(this.count - 1) % length]) return
    this.t[i] = t
    this.lost.delete(this.count - length)
    for (const way of /** @type {const} */ (['down', 'up'])) {
      const w = p[way]
      this.data[way + '_offered'][i] = w.offered_bps
      this.data[way + '_granted'][i] = w.granted_bps || NaN
      this.data[way + '_delivered'][i] = w.delivered_bps
      this.data[way + '_queue'][i] = w.queue_ms
      this.data[way + '_lost'][i] = w.lost_packets
      this.data[way + '_held'][i] = w.held_packets
      for (const [reason, n] of Object.entries(w.lost || {})) {
        this.causes.add(way + '.' + reason)
        const at = this.lost.get(this.count) || {}
        at[way + '.' + reason] = Number(n)
        this.lost.set(this.count, at)
      }
    }
    this.data.late[i] = p.lateness_p99_us
    const r = p.readings || {}
    this.data.cwnd[i] = r['up.main.pep_cwnd_bytes'] ?? NaN
    this.data.grant[i] = r['up.main.pep_grant_bytes'] ?? NaN
    this.carried([])
    this.count++
  }

  /** carried notes what paths carried in the sample that was pushed last; in
   * the next one, for now, nothing. @param {import('./types/api.js').PathSample[]} paths */
  carried(paths) {
    const last = (this.count - 1) % length
    for (const p of paths) {
      for (const way of /** @type {const} */ (['down', 'up'])) {
        const name = pathColumn + way + '_' + p.name
        const column = (this.data[name] ??= new Float64Array(length).fill(NaN))
        column[last] = p[`${way}_bps`]
      }
    }
    if (!paths.length) for (const name of Object.keys(this.data)) if (name.startsWith(pathColumn)) this.data[name][this.count % length] = NaN
  }

  /** load takes the columns of /series in, before what is here already. @param {import('./types/api.js').Series} c */
  load(c) {
    const old = Object.assign(new Series(), this)
    Object.assign(this, new Series())
    for (const n of Object.keys(old.data)) this.data[n] ??= new Float64Array(length).fill(NaN)
    this.causes = old.causes
    const first = old.count ? old.t[Math.max(0, old.count - length) % length] : Infinity
    const way = (/** @type {import('./types/api.js').WaySeries} */ w, /** @type {string} */ name, /** @type {number} */ i) => {
      /** @type {Record<string, number>} */
      const lost = {}
      for (const [reason, column] of Object.entries(c.lost)) {
        if (reason.startsWith(name) && column[i]) lost[reason.slice(name.length + 1)] = column[i]
      }
      return { offered_bps: w.offered_bps[i], granted_bps: w.granted_bps[i], delivered_bps: w.delivered_bps[i],
        queue_ms: w.queue_ms[i], lost_packets: w.lost_packets[i], held_packets: w.held_packets[i], lost }
    }
    c.time_s.forEach((at, i) => {
      if (at < first) this.push(at, { down: way(c.down, 'down', i), up: way(c.up, 'up', i), lateness_p99_us: c.lateness_p99_us[i] })
    })
    for (let i = Math.max(0, old.count - length); i < old.count; i++) {
      this.t[this.count % length] = old.t[i % length]
      for (const n of Object.keys(old.data)) this.data[n][this.count % length] = old.data[n][i % length]
      const lost = old.lost.get(i)
      if (lost) this.lost.set(this.count, lost)
      this.count++
    }
  }

  /**
   * window cuts out the seconds before end, in at most 600 points.
   * @param {number} seconds @param {number} end @param {string[]} want
   * @returns {(number|null)[][]} times, then one column each
   */
  window(seconds, end, want) {
    const first = Math.max(0, this.count - length)
    let from = this.count
    while (from > first && this.t[(from - 1) % length] > end - seconds) from--
    let to = this.count
    while (to > from && this.t[(to - 1) % length] > end) to--
    const step = Math.max(1, Math.ceil((seconds * 10) / points))
    /** @type {(number|null)[][]} */
    const out = [[], ...want.map(() => [])]
    // Buckets begin at multiples of step, so that they do not shimmer.
    for (let b = from - (from % step); b < to; b += step) {
      const lo = Math.max(b, from), hi = Math.min(b + step, to)
      out[0].push(this.t[(hi - 1) % length])
      want.forEach((name, k) => out[k + 1].push(this.fold(name, lo, hi)))
    }
    return out
  }

  /** @param {string} name @param {number} lo @param {number} hi @returns {number|null} */
  fold(name, lo, hi) {
    const how = columns[/** @type {keyof typeof columns} */ (name)] || (name.startsWith(pathColumn) ? 'mean' : 'sum')
    const column = this.data[name]
    let sum = 0, most = -Infinity, n = 0
    if (!column && name.startsWith(pathColumn)) return null
    for (let i = lo; i < hi; i++) {
      const v = column ? column[i % length] : (this.lost.get(i) || {})[name] || 0
      if (Number.isNaN(v)) continue
      sum += v
      most = Math.max(most, v)
      n++
    }
    if (!n) return null
    return how === 'sum' ? sum : how === 'max' ? most : sum / n
  }

  /** last is the newest value of a column. @param {string} name */
  last(name) {
    return this.count ? this.data[name][(this.count - 1) % length] : NaN
  }

  /** end is the time of the newest sample. */
  end() {
    return this.count ? this.t[(this.count - 1) % length] : Date.now() / 1000
  }

  /** csv writes a window. @param {number} seconds @param {number} end */
  csv(seconds, end) {
    const want = [...names, ...[...this.causes].sort()]
    const cols = this.window(seconds, end, want)
    const lines = [['time_s', ...want].join(',')]
    for (let i = 0; i < cols[0].length; i++) lines.push(cols.map(c => c[i] ?? '').join(','))
    return lines.join('\n') + '\n'
  }
}
