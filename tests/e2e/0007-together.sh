# SPDX-License-Identifier: Apache-2.0
# Many at once: commands that all find no master, submissions that all come together.
. "$(dirname "$0")/lib.sh"
for n in 1 2 3 4 5 6; do
    det e list >"list-$n" 2>&1 &
    eval "P$n=$!"
done
for n in 1 2 3 4 5 6; do
    eval "wait \$P$n"
    CODE=$?
    cp "list-$n" "$OUT"
    [ $CODE = 0 ]
    result $? "command $n of six that start together works"
done
same 'they have started one master' 1 "$(cat list-? | grep -c 'Started a local master')"
printf '#!/bin/sh\ndet report --steps 1 --validation loss=1\n' | folder one
for n in 1 2 3 4 5 6 7 8 9 10 11 12; do
    det e create one/const.yaml one >"create-$n" 2>&1 &
    PIDS="${PIDS:-} $!"
done
for pid in $PIDS; do wait "$pid"; done
same 'twelve submissions at once get twelve numbers' "$(seq -s ' ' 1 12)" \
    "$(cat create-* | sed -n 's/^Created experiment //p' | sort -n | xargs)"
for n in 1 2 3 4 5 6 7 8 9 10 11 12; do det e wait $n --timeout 120 >/dev/null 2>&1; done
same 'and all complete' 12 "$(det e list --csv | grep -c ,COMPLETED,)"
