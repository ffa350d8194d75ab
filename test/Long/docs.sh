#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Builds the site of the pages, and looks for what a reader searches for; then breaks a link and an
# anchor in a copy of the repository, which both have to be found.
# Skipped, and said so, only where PyPI cannot be reached.
set -euo pipefail
cd "$(dirname "$0")/../.."
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
/usr/bin/python3 -m venv "$copy/venv"
"$copy/venv/bin/pip" download --quiet --no-deps --dest "$copy/reach" mkdocs || {
  echo "SKIPPED: PyPI cannot be reached; the site was not built"
  exit 77
}
scripts/docs
/usr/bin/python3 - <<'END'
import json
with open("build/docs/site/search/search_index.json", encoding="utf-8") as file:
    places = {entry["location"] for entry in json.load(file)["docs"] if "mixed_bfloat16" in entry["text"]}
assert any(place.startswith("docs/policies.html") for place in places), places
END
git clone --quiet --no-hardlinks . "$copy/mpc"
mkdir -p "$copy/mpc/build/docs"
ln -s "$PWD/build/docs/venv" "$copy/mpc/build/docs/venv"
for broken in 'nowhere.md' 'tools.md#no-such-anchor'; do
  echo "[broken]($broken)" >"$copy/mpc/docs/broken.md"
  if text=$("$copy/mpc/scripts/docs" 2>&1) || ! grep -q "broken.md.*$broken" <<<"$text"; then
    echo "FAIL  the link $broken was not found: $text"
    exit 1
  fi
done
echo "ran 3 tests"
