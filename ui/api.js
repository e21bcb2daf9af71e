// The box's REST API. Everything the panel does goes through here, so that
// the last change can be shown as curl or pytest.

const base = '/api/v1'

/** Problem is an answer that is problem details (RFC 9457). */
export class Problem extends Error {
  /** @param {number} status @param {any} body */
  constructor(status, body) {
    super(body.detail || body.title || `status ${status}`)
    this.status = status
    this.kind = String(body.type || '').replace('urn:farlink:problem:', '')
    /** @type {{location?: string, message?: string, value?: any}[]} */
    this.errors = body.errors || []
  }
}

/** @type {{method: string, path: string, body?: any, type?: string} | null} */
export let lastChange = null

/**
 * ask makes a request and returns the decoded body, or throws a Problem.
 * @param {string} method @param {string} path @param {any} [body]
 * @param {{etag?: string, type?: string, quiet?: boolean}} [o]
 * @returns {Promise<any>}
 */
export async function ask(method, path, body, o = {}) {
  /** @type {Record<string, string>} */
  const headers = {}
  /** @type {RequestInit} */
  const init = { method, headers }
  if (body !== undefined) {
    headers['Content-Type'] = o.type || 'application/json'
    init.body = typeof body === 'string' ? body : JSON.stringify(body)
  }
  if (o.etag) headers['If-Match'] = `"${o.etag}"`
  if (method !== 'GET' && !o.quiet) lastChange = { method, path, body, type: o.type }
  let res
  try {
    res = await fetch(base + path, init)
  } catch {
    throw new Problem(0, { detail: 'offline', type: 'urn:farlink:problem:offline' })
  }
  const text = await res.text()
  let value = null
  try {
    value = text ? JSON.parse(text) : null
  } catch {
    value = text
  }
  if (!res.ok) throw new Problem(res.status, value && typeof value === 'object' ? value : { detail: text })
  return value
}

/** asCurl writes the last change as a command. */
export function asCurl() {
  if (!lastChange) return ''
  const { method, path, body, type } = lastChange
  const parts = [`curl -X ${method} -H "Authorization: Bearer $FARLINK_TOKEN"`]
  if (body !== undefined) {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    parts.push(`-H 'Content-Type: ${type || 'application/json'}' --data-binary ${shell(text)}`)
  }
  parts.push(shell(location.origin + base + path))
  return parts.join(' \\\n  ')
}

/** @param {string} s */
const shell = s => `'${s.replaceAll("'", `'\\''`)}'`

/** asPytest writes the last change as a test on docs/bench/farlink.py. */
export function asPytest() {
  if (!lastChange) return ''
  const { method, path, body } = lastChange
  const value = body === undefined ? '' : `, ${python(body)}`
  if (method === 'PUT' && path.startsWith('/link') && body.profile) {
    const seed = body.seed ? `, seed=${body.seed}` : ''
    return `import pytest\n\n\n@pytest.mark.link(${python(body.profile)}${seed})\ndef test_over_the_link(farlink):\n    assert farlink.status()["pairs"][0]["effective"]\n`
  }
  return `def test_over_the_link(farlink):\n    farlink.call(${python(method)}, ${python(path)}${value})\n`
}

/** @param {any} v @returns {string} */
function python(v) {
  if (v === null) return 'None'
  if (v === true) return 'True'
  if (v === false) return 'False'
  if (Array.isArray(v)) return `[${v.map(python).join(', ')}]`
  if (typeof v === 'object') return `{${Object.entries(v).map(([k, x]) => `${JSON.stringify(k)}: ${python(x)}`).join(', ')}}`
  return JSON.stringify(v)
}
