# SPDX-License-Identifier: Apache-2.0
# A trial whose master is away trains on at full speed and loses nothing.
#   QUIET_S=0   seconds without a master in which its pace is taken; `make soak` has ten minutes
. "$(dirname "$0")/lib.sh"
need jq
QUIET_S=${QUIET_S:-0}

# Twenty steps a second at most, a line for each.
folder quiet <<'END'
#!/bin/sh
n=0
until [ -e "$HOME/enough" ]; do
    n=$((n + 1))
    echo "step $n"
    echo $n >"$HOME/steps"
    [ -e "$HOME/no-reports" ] || det report --steps $n loss=$n || echo "step $n: $?" >>"$HOME/refused"
    sleep 0.05
done
[ -e "$HOME/no-reports" ] || det report --steps $n --validation loss=$n
echo "run $DET_TRIAL_RUN_ID: $n" >"$HOME/total"
END
steps() { cat "$HOME/steps" 2>/dev/null || echo 0; }
is_on() { [ "$(steps)" -ge "$1" ]; }
# Steps done in so many seconds.
pace() {
    from=$(steps)
    sleep "$1"
    echo $(($(steps) - from))
}

# story NAME ID: the master is away while the trial ID runs; `wanted` has its steps
story() {
    rm -f "$HOME/steps" "$HOME/enough" "$HOME/total" "$HOME/refused"
    create quiet >/dev/null
    soon "$1: a trial runs" is_on 5
    [ "$QUIET_S" = 0 ] || before=$(pace 2)
    slay "$(jq .pid "$DATA/master.json")"
    here=$(steps)
    soon "$1: it goes on without a master" is_on $((here + 20))
    if [ "$QUIET_S" -ge 60 ]; then # a machine is busy for some seconds, not for minutes
        away=$(pace "$QUIET_S")
        echo "# $before steps in 2 s with a master, $away in $QUIET_S s without"
        [ $((away * 2 * 2)) -ge $((before * QUIET_S)) ]
        result $? "$1: at full speed for $QUIET_S s"
    fi
    here=$(steps)
    same "$1: nothing that it reports is refused" '' "$(cat "$HOME/refused" 2>/dev/null)"
    platform
    soon "$1: it still runs when the master is back" is_on $((here + 5))
    touch "$HOME/enough"
    ok "$1: it completes" det e wait "$2" --timeout 120
    total=$(sed -n 's/^run 1: //p' "$HOME/total")
    seq 1 "${total:-0}" >wanted
    det t logs "$2" | sed -n 's/.*|| step //p' >lines
    ok "$1: in its first run, and every line is there, once" cmp wanted lines
}

platform
touch "$HOME/no-reports"
story 'output alone' 1
if det report --help | grep -q -e --wait; then
    rm "$HOME/no-reports"
    story 'with reports' 2
    det t metrics 2 --csv | sed -n 's/^[0-9]*,[0-9]*,\([0-9]*\),.*,training,loss,.*/\1/p' >lines
    ok 'with reports: every report is there, once' cmp wanted lines
else
    skip 'reports while the master is away' 'det report asks the master'
fi
