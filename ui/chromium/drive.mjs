// drive.mjs: a Chromium with one page, driven by Playwright as lines of JSON on
// standard input ask: {"do": NAME, …} is answered by {"value": …} or {"error": …}.
// It ends with its input.
import { createInterface } from 'node:readline'
import { chromium } from 'playwright-core'

const { path, width, height, flags } = JSON.parse(process.argv[2])
const browser = await chromium.launch({ executablePath: path, args: ['--no-sandbox', '--disable-gpu', '--disable-quic', ...flags] })
const context = await browser.newContext({ viewport: { width, height }, isMobile: width < 500, acceptDownloads: true, ignoreHTTPSErrors: true })
const page = await context.newPage()
// Scripts go straight to the page's engine: Playwright's own evaluate() is an
// eval(), which the panel's content security policy forbids.
const tools = await context.newCDPSession(page)
const complaints = []
page.on('pageerror', e => complaints.push(String(e.stack || e)))
page.on('console', m => m.type() === 'error' && complaints.push(m.text() + ' ' + m.location().url))

const verbs = {
  open: ({ url }) => page.goto(url, { waitUntil: 'commit' }).then(() => ''),
  async script({ text }) {
    const got = await tools.send('Runtime.evaluate', { expression: text, returnByValue: true, awaitPromise: true })
    if (got.exceptionDetails) throw new Error(got.exceptionDetails.exception?.description ?? got.exceptionDetails.text)
    return got.result.value ?? ''
  },
  // press clicks with the mouse, once the element is there, stands still and can be reached.
  press: ({ selector }) => page.locator(selector).first().click({ timeout: 3000 }).then(() => ''),
  key: ({ key }) => page.keyboard.press(key).then(() => ''),
  insert: ({ text }) => page.keyboard.insertText(text).then(() => ''),
  shot: ({ file }) => page.screenshot({ path: file }).then(() => ''),
  // saved presses a key and keeps the file that the page then downloads.
  async saved({ key, file }) {
    const [download] = await Promise.all([page.waitForEvent('download', { timeout: 20000 }), page.keyboard.press(key)])
    await download.saveAs(file)
    return download.suggestedFilename()
  },
  complaints: async () => complaints,
}

const say = answer => process.stdout.write(JSON.stringify(answer) + '\n')
say({ value: browser.version() })
for await (const line of createInterface({ input: process.stdin })) {
  const ask = JSON.parse(line)
  await verbs[ask.do](ask).then(value => say({ value }), e => say({ error: String(e.message) }))
}
await browser.close()
