# SPDX-License-Identifier: Apache-2.0
# 7002 again, with tasks in namespaces of their own.
if [ "$(id -u)" != 0 ] && ! unshare -Ur true 2>/dev/null; then
    echo 'ok 1 - isolated tasks end with their supervisor # SKIP no user namespaces here'
    echo 1..1
    exit 0
fi
E2E_ISOLATION=always
TMPDIR=/var/tmp
export TMPDIR
. "$(dirname "$0")/7002-supervisor-killed.sh"
