# SPDX-License-Identifier: Apache-2.0
# 7031 again, as a user who has no control groups: only their mark tells the processes from others.
ORDINARY_USER=1
ONLY_KILLS=1
. "$(dirname "$0")/7031-escaped-processes.sh"
