# SPDX-License-Identifier: Apache-2.0
# det launch mpi: ranks of mpirun, their environment, prefixes, signals, and the one that
# fails; libdet's ranks in them.
. "$(dirname "$0")/lib.sh"
fails 2 'without a task it wants to know how many' det launch mpi -- true
says 'give -n N'
need mpirun cc

# ---- ranks and their lines

ok 'three ranks' det launch mpi -n 3 -- sh -c 'echo "$RANK of $WORLD_SIZE, $LOCAL_RANK of $LOCAL_SIZE, $CROSS_RANK of $CROSS_SIZE"
echo "to stderr" >&2; printf "no end"'
says_line '[rank=0] 0 of 3, 0 of 3, 0 of 1'
says_line '[rank=2] 2 of 3, 2 of 3, 0 of 1'
says_line '[rank=1] to stderr'
says_line '[rank=1] no end'
ok 'progress bars of two ranks' det launch mpi -n 2 -- sh -c 'n=0; while [ $n -lt 50 ]; do printf "\r$n of 50"; n=$((n + 1)); done; printf "\r50 of 50\n"'
same 'each state is that of a rank' '' "$(tr '\r' '\n' <"$OUT" | grep . | grep -v '^\[rank=[01]\] [0-9]* of 50$')"
same 'and each bar ends as a line' 2 "$(sed 's/.*\r//' "$OUT" | grep -c '^\[rank=[01]\] 50 of 50$')"
ok 'options behind -- are those of the command' det launch mpi -n 1 -- echo -n 5 --ranks
says_line '[rank=0] 5 --ranks'
processors=$(sed -n 's/^Cpus_allowed_list://p' /proc/self/status | xargs)
ok 'every rank may use all processors' det launch mpi -n 2 -- sed -n 's/^Cpus_allowed_list:[^0-9]*//p' /proc/self/status
says_line "[rank=0] $processors"
says_line "[rank=1] $processors"
share=$(($(nproc) / 2))
ok 'of the threads it begins its share' env -u OMP_NUM_THREADS -u TF_NUM_INTEROP_THREADS TF_NUM_INTRAOP_THREADS=9 \
    "$DET" launch mpi -n 2 -- sh -c 'echo "$OMP_NUM_THREADS $TF_NUM_INTRAOP_THREADS $TF_NUM_INTEROP_THREADS"'
says_line "[rank=1] $((share > 1 ? share : 1)) 9 $((share > 1 ? share : 1))"
ok 'at least one' env -u OMP_NUM_THREADS "$DET" launch mpi -n $(($(nproc) + 1)) -- sh -c 'echo "$OMP_NUM_THREADS"'
says_line '[rank=0] 1'
ok 'one rank has them all' env -u OMP_NUM_THREADS "$DET" launch mpi -n 1 -- sh -c 'echo "${OMP_NUM_THREADS-all}"'
says_line '[rank=0] all'

# ---- failures

fails 7 'a rank that fails ends all' det launch mpi -n 3 -- sh -c '[ "$RANK" != 1 ] || exit 7; sleep 600'
says_line 'det: rank 1 exited with 7; all ranks are ended'
says_not 'det: rank 0'
fails 137 'a rank that is killed too' det launch mpi -n 3 -- sh -c '[ "$RANK" != 2 ] || kill -9 $$; sleep 600'
says_line 'det: rank 2 was killed by signal 9 (Killed); all ranks are ended'
fails 4 'a program that is not there' det launch mpi -n 2 -- no-such-program
says "det: cannot start 'no-such-program'"
env PATH=/nowhere "$DET" launch mpi -n 1 -- true >"$OUT" 2>&1
same 'without Open MPI it says so' 4 $?
says 'install Open MPI'

# ---- signals

# Starts det launch in the background, with a command that says when it is ready.
launch() {
    : >ranks
    det launch mpi -n 2 -- sh -c "$1; echo ready; while :; do sleep 0.05; done" >ranks 2>&1 &
    LAUNCH=$!
    until_true sh -c '[ "$(grep -c ready ranks)" = 2 ]'
}
launch 'trap "echo heard it; exit 0" USR1'
kill -USR1 "$LAUNCH"
wait "$LAUNCH"
same 'a signal is handed on' 0 $?
same 'to every rank' 2 "$(grep -c 'heard it' ranks)"
launch 'trap "echo ends >told.\$RANK; exit 0" TERM'
kill -TERM "$LAUNCH"
wait "$LAUNCH" || true
same 'the wish to end reaches every rank' 2 "$(cat told.* | grep -c ends)"
launch :
slay "$LAUNCH"
wait "$LAUNCH" 2>/dev/null
soon 'ranks do not outlive the one who launched them' is_alone

# ---- libdet in them

cat >ranks.c <<'END'
#include <det/det.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    char error[512];
    det_distributed_options options = {sizeof(options)};
    det_distributed *group;
    const det_part *parts;
    det_status st = DET_OK;
    int i, size, sum = 0;

    options.from = argc > 1 && !strcmp(argv[1], "mpi") ? DET_RANKS_MPI : DET_RANKS_ANY;
    options.error = error;
    options.error_size = sizeof(error);
    if (det_distributed_open(&options, &group) != DET_OK) {
        printf("%s\n", error);
        return 1;
    }
    size = det_distributed_ranks(group)->size;
    i = det_distributed_ranks(group)->rank;
    st = det_distributed_allgather(group, &i, sizeof(i), &parts);
    for (i = 0; !st && i < size; i++)
        sum += *(const int *)parts[i].data;
    printf("%d ranks, sum %d\n", size, sum);
    if (argc > 2 && det_distributed_ranks(group)->rank == 1)
        raise(SIGKILL);
    st = det_distributed_barrier(group);
    if (st)
        printf("%s\n", det_distributed_error(group));
    fflush(stdout);
    det_distributed_close(group);
    return 0;
}
END
lib=$(dirname "$DET")
ok 'a program of ranks compiles' cc -o ranks-c ranks.c -I"$HERE/../../include" -L"$lib" -Wl,-rpath,"$lib" -l:libdet.so
ok 'alone it is a group of one' ./ranks-c
says_line '1 ranks, sum 0'
ok 'launched it is one of four' det launch mpi -n 4 -- ./ranks-c
says_line '[rank=3] 4 ranks, sum 6'
ok 'and by the variables of mpirun itself' det launch mpi -n 3 -- ./ranks-c mpi
says_line '[rank=0] 3 ranks, sum 3'
fails 137 'when one is killed' det launch mpi -n 3 -- ./ranks-c any dies
says 'det: rank 1 was killed by signal 9'

# ---- in a task

platform
mkdir both
cat >both/both.yaml <<'END'
name: both
entrypoint: det launch mpi -- sh -c 'echo "rank $RANK of $WORLD_SIZE is here"'
resources: {slots_per_trial: 2}
searcher: {name: single, metric: loss}
max_restarts: 0
END
if [ "$(det slot list --csv | grep -c ,)" -lt 3 ]; then
    skip 'a task launches as many ranks as it has slots' 'there are not two slots'
else
    ok 'a task launches as many ranks as it has slots' det e create both/both.yaml both -f
    says '[rank=1] || rank 1 of 2 is here'
fi
