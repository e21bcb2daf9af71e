#!/bin/sh
# vendor.sh: copy the panel's four libraries from the npm registry into
# ui/vendor, make their imports relative, and record what they are. Needs node's
# npm; the build does not. Run by `make vendor`.
set -eu
cd "$(dirname "$0")"
preact=11.2.0 htm=3.1.1 uplot=1.6.32

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$work" && npm init -y >/dev/null && npm install --silent --ignore-scripts \
	"preact@$preact" "htm@$htm" "uplot@$uplot" >/dev/null)
from=$work/node_modules

mkdir -p vendor
put() { # put SOURCE TARGET: drop the pointer to a source map, import relatively
	sed -e '/^\/\/# sourceMappingURL=/d' -e 's/from *"preact"/from".\/preact.js"/' "$from/$1" >"vendor/$2"
}
put preact/dist/preact.mjs preact.js
put preact/hooks/dist/hooks.mjs hooks.js
put htm/dist/htm.mjs htm.js
put uplot/dist/uPlot.esm.js uplot.js
put uplot/dist/uPlot.min.css uplot.css
# For checking only (tsc): each file has the types of its package.
echo "export * from 'preact'" >vendor/preact.d.ts
echo "export * from 'preact/hooks'" >vendor/hooks.d.ts
echo "export { default } from 'htm'" >vendor/htm.d.ts
echo "export { default } from 'uplot'" >vendor/uplot.d.ts
for p in preact htm uplot; do
	cp "$from/$p/LICENSE" "vendor/LICENSE.$p"
done

row() { # row FILE PACKAGE VERSION LICENCE
	printf '| `%s` | %s | %s | %s | `%s` |\n' "$1" "$2" "$3" "$4" "$(sha256sum "vendor/$1" | cut -d' ' -f1)"
}
{
	echo "# Vendored libraries"
	echo
	echo "Copied from the npm registry by \`ui/vendor.sh\` (\`make vendor\`), unchanged but for imports made relative and pointers"
	echo "to source maps dropped. \`TestVendor\` compares the hashes."
	echo
	echo "| file | package | version | licence | sha256 |"
	echo "|---|---|---|---|---|"
	row preact.js preact "$preact" MIT
	row hooks.js preact/hooks "$preact" MIT
	row htm.js htm "$htm" Apache-2.0
	row uplot.js uplot "$uplot" MIT
	row uplot.css uplot "$uplot" MIT
} >vendor/README.md
