// html`<b>${x}</b>` makes preact elements, without a build.
import { h } from './vendor/preact.js'
import htm from './vendor/htm.js'

export const html = htm.bind(h)
