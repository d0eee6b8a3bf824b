# SPDX-License-Identifier: Apache-2.0
# det docs: the documentation, without a network and without a master; and at a master.
. "$(dirname "$0")/lib.sh"
need curl
unset DISPLAY WAYLAND_DISPLAY BROWSER XDG_CACHE_HOME 2>/dev/null || true

ok 'the address of the documentation is printed' det docs
AT=$(sed -n 's,^file://,,p' "$OUT")
ok 'and its page is there' grep -q '<h1 id="the-guide">' "$AT"
ok 'with the search' test -s "$(dirname "$AT")/search.js"
: >"$(dirname "$AT")/kept"
ok 'a page is chosen by its name' det docs checkpoints
says '/checkpoints.html'
ok 'the files were written once' test -e "$(dirname "$AT")/kept"
fails 2 'a page that does not exist' det docs chekpoints
says "did you mean 'checkpoints'?"
fails 2 'and one that is near to nothing' det docs xyzzy
says "'det docs' shows the list of pages"
: >blocked
fails 4 'without a place for the files it says why' env XDG_CACHE_HOME="$PWD/blocked" "$DET" docs
says 'blocked'

ok 'signs in the name of a folder are escaped' env XDG_CACHE_HOME="$PWD/a #b" "$DET" docs yaml
says "$PWD/a%20%23b/det/docs-"

# $BROWSER is told the address.
printf '#!/bin/sh\necho "$1" >%s/shown.new; mv %s/shown.new %s/shown\n' "$T" "$T" "$T" >browser
chmod +x browser
ok 'a browser opens it' env BROWSER="$PWD/browser" "$DET" docs yaml
until_true test -e "$T/shown"
same 'at that address' "$(cat "$OUT")" "$(cat "$T/shown")"

platform --no-agent
same 'a master leads to it' 302 "$(curl -s -o "$T/said" -w '%{http_code}' "$(url)/docs")"
ok 'and shows the same' sh -c "curl -sfL '$(url)/docs/' | cmp - '$AT'"
