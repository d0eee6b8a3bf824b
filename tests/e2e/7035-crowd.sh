# SPDX-License-Identifier: Apache-2.0
# Reporters, followers of a log and listeners to changes at one master: every acknowledged report is stored once, no
# stream breaks, and the connections of those who left are closed.  `make soak ONLY=crowd` has a thousand of each.
. "$(dirname "$0")/lib.sh"
need python3
E2E_LINES=40
ok 'a small crowd loses nothing' \
    python3 "$HERE/../campaign/crowd.py" --det "$DET" --crowd "$(dirname "$DET")/tests/campaign/campaign_crowd" \
    --dir "$T/crowd" --seconds 2 --reporters 40 --followers 40 --listeners 40 --pace 100
sed 's/^/# /' "$OUT"
