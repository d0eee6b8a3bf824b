# SPDX-License-Identifier: Apache-2.0
# The first page of the guide, a plain PyTorch script: every block runs as it is on the page.
. "$(dirname "$0")/lib.sh"
need_torch
mkdir first && cd first || exit 99
ok 'every block of the page runs' python3 "$HERE/guide_page.py" plain-pytorch.md
says 'blocks were run'
