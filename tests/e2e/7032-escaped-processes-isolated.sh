# SPDX-License-Identifier: Apache-2.0
# 7031 again, with tasks in namespaces of their own.
if [ "$(id -u)" != 0 ] && ! unshare -Ur true 2>/dev/null; then
    echo 'ok 1 - what isolated tasks start ends with them # SKIP no user namespaces here'
    echo 1..1
    exit 0
fi
E2E_ISOLATION=always
ONLY_KILLS=1
TMPDIR=/var/tmp
export TMPDIR
. "$(dirname "$0")/7031-escaped-processes.sh"
