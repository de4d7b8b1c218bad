#!/usr/bin/env bash
# The pages: no link leads nowhere, prose, Rust and CUDA end at 120 columns, every page is in the site's table of contents, and the
# site, where mdBook is there, has no dead link either. Each test that docs/promises.md names is there. Few pages, few words. Needs python3.
set -euo pipefail
cd "$(dirname "$0")/.."

# The runner sees what is wrong.
wrong=$(mktemp -d)
trap 'rm -rf "$wrong"' EXIT
printf '```sh\necho 1\n```\n```text\n2\n```\n' > "$wrong/output.md"
printf '```sh\nfalse\n```\n' > "$wrong/command.md"
for page in "$wrong"/*.md; do
    if python3 tests/pages.py "$page" > /dev/null 2>&1; then echo "docs: $(basename "$page") was to fail" >&2 && exit 1; fi
done
python3 tests/rooms.py

# make help lists each target that says what it does.
listed=$(make -s help | wc -l) explained=$(grep -cE '^[^[:space:]]+:.*## ' Makefile)
[ "$listed" = "$explained" ] || { echo "docs: make help lists $listed targets of $explained" >&2 && exit 1; }

# The table of docs/guide/programs.md is what its data make, and each test that they name is there.
python3 tests/programs.py check

# The model of many ranks is near what was measured, and the page has what it says.
python3 examples/mpi/scale/model.py check > /dev/null

mapfile -t pages < <(git ls-files '*.md')
python3 tests/pages.py --links "${pages[@]}"
mapfile -t all_pages < <(git ls-files '*.md')
mapfile -t sources < <(git ls-files '*.rs' '*.cu' '*.cuh' 'kernels/*.h')
python3 tests/pages.py --lines "${all_pages[@]}" "${sources[@]}"

mapfile -t site_pages < <(git ls-files 'docs/*.md')
for path in $(grep -oE '\b(tests|cli|python|src|fuzz)/[a-zA-Z0-9_/]+(\.[a-z]+)?' docs/promises.md); do
    [ -e "$path" ] || { echo "docs: docs/promises.md names $path, which is not there" >&2 && exit 1; }
done
# Nobody reads more: a word is what has a letter and stands between spaces.
words=$(cat README.md "${site_pages[@]}" | tr -s '[:space:]' '\n' | grep -c '[[:alpha:]]')
[ ${#site_pages[@]} -le 24 ] && [ "$words" -le 20000 ] || { echo "docs: ${#site_pages[@]} pages beside README.md, $words words; 24 and 20000 are allowed" >&2 && exit 1; }
for page in "${site_pages[@]}"; do
    [ "$page" = docs/SUMMARY.md ] || grep -qF "(${page#docs/})" docs/SUMMARY.md || { echo "docs: $page is not in docs/SUMMARY.md" >&2 && exit 1; }
done
if grep -nE '\]\((\.\./)+(examples|src|tests|include|packaging|benches)' "${site_pages[@]}"; then
    echo "docs: a page of the site links to what is not in the site" >&2
    exit 1
fi

if PATH=$PATH:$PWD/build/tools/bin command -v mdbook > /dev/null; then
    site=$(mktemp -d)
    trap 'rm -rf "$site" "$wrong"' EXIT
    bash packaging/site.sh "$site" > /dev/null
    python3 - "$site" << 'END'
import html.parser, pathlib, sys, urllib.parse
site, dead, seen = pathlib.Path(sys.argv[1]).resolve(), [], 0
class Links(html.parser.HTMLParser):
    def handle_starttag(self, tag, attributes):
        links.extend(v for k, v in attributes if k in ("href", "src") and v)
for page in site.rglob("*.html"):
    links = []
    Links().feed(page.read_text())
    for link in links:
        url = urllib.parse.urlsplit(link)
        if page.name != "404.html" and not url.scheme and url.path:
            seen += 1
            if not (page.parent / urllib.parse.unquote(url.path)).exists():
                dead.append(f"{page.relative_to(site)}: {link}")
print("\n".join(dead) or f"docs: {seen} links of the site lead somewhere")
sys.exit(bool(dead) or seen == 0)
END
else
    echo "docs: the site itself was not built, mdbook is not here (make docs installs it)"
fi
echo "docs: passed, ${#pages[@]} pages"
