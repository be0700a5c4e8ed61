#!/usr/bin/env bash
# Makes src/serve/page/built of the page's sources: what the tool embeds. Needs npm and the network, which
# building and testing Sonde do not; tests/web/bundle_test.py says when it has to be run.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../src/serve/page"
npm ci --no-audit --no-fund --silent
npx tsc
rm -rf built && mkdir built
npx esbuild src/app.tsx --bundle --minify --target=es2021 --format=iife --charset=utf8 --jsx=automatic \
  --jsx-import-source=preact --legal-comments=none --outfile=built/app.js --log-level=warning
npx esbuild src/app.css --minify --outfile=built/app.css --log-level=warning
cp index.html built/
{
  echo "app.js holds Preact $(node -p 'require("preact/package.json").version'), https://preactjs.com, whose licence is:"
  echo
  cat node_modules/preact/LICENSE
} >built/LICENSES.txt
/usr/bin/python3 ../../../tests/web/bundle_test.py --write
wc -c built/*
