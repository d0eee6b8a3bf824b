# SPDX-License-Identifier: Apache-2.0
# Crash campaigns (tests/campaign/campaign.py): searches run at full speed, master, agent,
# supervisors and trials are killed with SIGKILL at any moment, floods, freezes, partitions, full
# disks, low limits and deletions come on top, and nothing that was acknowledged is lost or there twice.  `make soak KILLS=n` has more kills.
. "$(dirname "$0")/lib.sh"
need python3
E2E_LINES=80
campaigns=$HERE/../campaign
ok 'what is missing is noticed' \
    python3 "$campaigns/campaign.py" --det "$DET" --seed 1 --kills 0 --tamper --steps 400 --dir "$T/tampered"
while read -r seed kills faults; do
    ok "seed $seed: nothing is lost by $kills kills and $faults other faults" \
        python3 "$campaigns/campaign.py" --det "$DET" --seed "$seed" --kills "$kills" --faults "$faults" --steps 1000 --dir "$T/$seed"
    tail -n 3 "$OUT" | sed 's/^/# /'
done <<END_OF_SEEDS
$(grep -v '^#' "$campaigns/seeds")
END_OF_SEEDS
