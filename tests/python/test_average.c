/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that average: each is a thread, and MPI is a list of messages. */
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "_average_peers.h"
#include "base/fault.h"
#include "base/memory/mem.h"
#include "tests/python/fake_mpi.h"
#include "tests/support/test.h"

enum { RANKS = 5 };

/* ---- ranks ----------------------------------------------------------------------- */

struct player {
    struct seat seat;
    struct peers peers;
    struct peers_scratch scratch;
    struct err err;
    void (*play)(struct player *player);
    size_t count;
    enum number kind;
    bool is_in_place;
    bool has_shm; /* shared memory with the others */
    bool has_no_memory;
    void *from;
    void *into;
    size_t rows;
    pthread_t thread;
};

static void *sit_down(void *arg)
{
    struct player *player = arg;

    player->peers =
        (struct peers){.mpi = fake_mpi(&player->seat), .clock = &clock_system};
    if (!peers_open(&player->peers, player->seat.rank, player->seat.size,
                    &player->err)) {
        if (player->has_shm)
            CHECK(!peers_share_memory(&player->peers, &player->err) &&
                  player->peers.shm.memory);
        player->play(player);
        peers_close(&player->peers, false);
    }
    peers_scratch_done(&player->scratch);
    return NULL;
}

static void play(struct player *players, int size, void (*part)(struct player *player))
{
    for (int rank = 0; rank < size; rank++) {
        players[rank].seat =
            (struct seat){.world = one_world(), .rank = rank, .size = size};
        players[rank].play = part;
        pthread_create(&players[rank].thread, NULL, sit_down, &players[rank]);
    }
    for (int rank = 0; rank < size; rank++)
        pthread_join(players[rank].thread, NULL);
    forget_messages();
}

static det_status agree(struct player *player, const struct peers_greeting *greeting)
{
    bool all = false;
    det_status st =
        peers_greet(&player->peers, &player->scratch, 3, greeting, &player->err);

    while (!st && !all)
        st = peers_listen(&player->peers, &player->scratch, true, &all, &player->err);
    return st;
}

/* ---- means ----------------------------------------------------------------------- */

static void average_twice(struct player *player)
{
    struct peers_greeting greeting = {.tensors = 1, .bytes = player->count};
    struct peers_vector vector = {.from = player->from,
                                  .into = player->into,
                                  .count = player->count,
                                  .kind = player->kind};

    CHECK(!agree(player, &greeting));
    CHECK(!peers_average(&player->peers, &player->scratch, 3, &vector, &player->err));
    if (player->is_in_place)
        return;
    CHECK(!agree(player, &greeting)); /* of what is equal already, the same */
    vector.from = vector.into;
    CHECK(!peers_average(&player->peers, &player->scratch, 3, &vector, &player->err));
}

static double random_number(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (double)(int64_t)(*state >> 20) / 1e13;
}

/* Greetings in shared memory and by messages lead to the same. */
static bool has_shm(int ranks, size_t count)
{
    return (ranks + (int)(count % 64)) % 2 == 0;
}

static void check_means(int ranks, size_t count, enum number kind, bool is_in_place)
{
    struct player players[RANKS] = {0};
    const void *from[RANKS];
    size_t size = number_size(kind);
    char *expected = malloc(count * size + 1);
    double *numbers = malloc((count + 1) * sizeof(*numbers));
    uint64_t state = 7;

    for (int rank = 0; rank < ranks; rank++) {
        struct player *player = &players[rank];

        *player = (struct player){.count = count,
                                  .kind = kind,
                                  .is_in_place = is_in_place,
                                  .has_shm = has_shm(ranks, count)};
        player->from = malloc(count * size + 1);
        player->into = is_in_place ? player->from : malloc(count * size + 1);
        for (size_t i = 0; i < count; i++)
            numbers[i] = random_number(&state);
        number_convert(player->from, kind, numbers, NUMBER_DOUBLE, count);
        from[rank] = player->from;
    }
    number_mean(expected, from, ranks, count, kind);
    play(players, ranks, average_twice);
    for (int rank = 0; rank < ranks; rank++) {
        if (is_in_place || ranks == 2 || ranks == 4)
            CHECK(!memcmp(players[rank].into, expected, count * size));
        CHECK(!memcmp(players[rank].into, players[0].into, count * size));
    }
    for (int rank = 0; rank < ranks; rank++) {
        free(players[rank].from);
        if (!is_in_place)
            free(players[rank].into);
    }
    free(expected);
    free(numbers);
}

TEST(all_ranks_get_the_same_means_to_the_bit)
{
    const size_t counts[] = {0, 1, 63, 64, 65, 1000, 140000, 300001, 700000};

    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        check_means(2, counts[i], NUMBER_FLOAT, true);
        check_means(2, counts[i], NUMBER_FLOAT, false);
        check_means(5, counts[i], NUMBER_FLOAT, true);
        check_means(3, counts[i], NUMBER_DOUBLE, true);
        check_means(4, counts[i], NUMBER_HALF, true);
    }
    check_means(1, 1000, NUMBER_FLOAT, true);
}

/* ---- rows ------------------------------------------------------------------------ */

static void gather(struct player *player)
{
    struct peers_greeting greeting = {.tensors = 1, .rows = player->rows};

    CHECK(!agree(player, &greeting));
    CHECK_EQ(peers_all_rows(&player->peers, &player->scratch), 0 + 3 + 6 + 9);
    player->into = malloc(18 * sizeof(int));
    CHECK(!peers_gather(&player->peers, &player->scratch, 3, player->from, player->into,
                        sizeof(int), &player->err));
}

TEST(rows_of_all_ranks_lie_one_behind_the_other)
{
    struct player players[4] = {0};
    int rows[4][9];

    for (int rank = 0; rank < 4; rank++) {
        for (int i = 0; i < 9; i++)
            rows[rank][i] = rank * 100 + i;
        players[rank].rows = (size_t)rank * 3;
        players[rank].from = rows[rank];
    }
    play(players, 4, gather);
    for (int rank = 0; rank < 4; rank++) {
        const int *got = players[rank].into;

        CHECK(!memcmp(got, rows[1], 3 * sizeof(int)));
        CHECK(!memcmp(got + 3, rows[2], 6 * sizeof(int)));
        CHECK(!memcmp(got + 9, rows[3], 9 * sizeof(int)));
        free(players[rank].into);
    }
}

/* ---- memory that ranks share ----------------------------------------------------- */

enum { TURNS = 7, STREAMS_USED = 2 };

/* Number `i` of a rank in a turn of a stream. */
static uint32_t number_at(int rank, int stream, uint32_t turn, uint32_t i)
{
    return (uint32_t)rank * 1000003u + (uint32_t)stream * 10007u + turn * 101u + i;
}

static void put_numbers(struct player *player, int stream, uint32_t turn)
{
    uint32_t *slot = peers_slot(&player->peers, stream, player->count * sizeof(*slot));

    CHECK(slot);
    for (uint32_t i = 0; slot && i < player->count; i++)
        slot[i] = number_at(player->seat.rank, stream, turn, i);
}

static void check_numbers(struct player *player, int stream, uint32_t turn)
{
    for (int rank = 0; rank < player->seat.size; rank++) {
        const uint32_t *slot = peers_slot_of(&player->peers, stream, rank);
        uint32_t right = 0;

        while (right < player->count &&
               slot[right] == number_at(rank, stream, turn, right))
            right++;
        CHECK_EQ(right, player->count);
    }
}

static void take_turns(struct player *player)
{
    struct peers_scratch scratch[STREAMS_USED] = {0};

    for (uint32_t turn = 1; turn <= TURNS; turn++)
        for (int stream = 0; stream < STREAMS_USED; stream++) {
            struct peers_greeting greeting = {.tensors = turn};
            bool all = false;

            put_numbers(player, stream, turn);
            CHECK(!peers_greet(&player->peers, &scratch[stream], stream, &greeting,
                               &player->err));
            while (!all && !peers_listen(&player->peers, &scratch[stream], true, &all,
                                         &player->err))
                continue;
            CHECK(all);
            check_numbers(player, stream, turn);
        }
    for (int stream = 0; stream < STREAMS_USED; stream++)
        peers_scratch_done(&scratch[stream]);
}

TEST(ranks_of_one_machine_read_each_others_numbers_where_they_lie)
{
    struct player players[4] = {0};

    for (int rank = 0; rank < 4; rank++)
        players[rank] = (struct player){.has_shm = true, .count = 5000};
    play(players, 4, take_turns);
}

static void ask_for_slots(struct player *player)
{
    size_t most = player->peers.shm.slot_bytes;

    CHECK(peers_slot(&player->peers, 0, most));
    CHECK(!peers_slot(&player->peers, 0, most + 1));
    CHECK(peers_slot(&player->peers, SHM_STREAMS - 1, most));
    CHECK(!peers_slot(&player->peers, SHM_STREAMS, 1));
}

TEST(what_is_too_large_or_of_a_late_stream_has_no_slot)
{
    struct player players[2] = {{.has_shm = true}, {.has_shm = true}};

    play(players, 2, ask_for_slots);
}

static struct peers bare_peers(struct seat *seat)
{
    return (struct peers){.mpi = fake_mpi(seat), .clock = &clock_system};
}

static void *share_alone(void *arg)
{
    struct player *player = arg;

    player->peers = bare_peers(&player->seat);
    CHECK_OK(peers_open(&player->peers, player->seat.rank, 2, &player->err));
    if (player->has_no_memory)
        fault_arm(FAULT_MEMORY, 1);
    player->err.status = peers_share_memory(&player->peers, &player->err);
    (void)fault_disarm(FAULT_MEMORY);
    return NULL;
}

/* Rank 1 is on another machine: both do without shared memory, and nothing stays
 * open. */
TEST(where_one_cannot_enter_nobody_does)
{
    struct player player = {0};
    struct seat seat = {.world = one_world(), .rank = 1, .size = 2};
    struct shm_address addresses[2] = {0};
    mpi_handle requests[2];
    char verdicts[2] = {0};
    int is_there = 0;

    player.seat = (struct seat){.world = one_world(), .rank = 0, .size = 2};
    pthread_create(&player.thread, NULL, share_alone, &player);
    CHECK(!fake_isend(&addresses[1], sizeof(addresses[1]), NULL, 0, 8,
                      (mpi_handle)(void *)&seat, &requests[0]));
    CHECK(!fake_isend(&verdicts[1], 1, NULL, 0, 12, (mpi_handle)(void *)&seat,
                      &requests[0]));
    CHECK(!fake_irecv(&addresses[0], sizeof(addresses[0]), NULL, 0, 8,
                      (mpi_handle)(void *)&seat, &requests[0]));
    CHECK(!fake_irecv(&verdicts[0], 1, NULL, 0, 12, (mpi_handle)(void *)&seat,
                      &requests[1]));
    pthread_join(player.thread, NULL);
    CHECK_OK(player.err.status);
    CHECK(!fake_testall(2, requests, &is_there, NULL) && is_there);
    CHECK(addresses[0].machine && addresses[0].file >= 0 && !verdicts[0]);
    CHECK(!player.peers.shm.memory);
    CHECK(!peers_slot(&player.peers, 0, 1));
    peers_close(&player.peers, true);
    forget_messages();
}

TEST(nobody_waits_for_a_rank_that_has_no_memory_to_share)
{
    struct player players[2] = {{.has_no_memory = false}, {.has_no_memory = true}};

    for (int rank = 0; rank < 2; rank++) {
        players[rank].seat = (struct seat){one_world(), rank, 2};
        pthread_create(&players[rank].thread, NULL, share_alone, &players[rank]);
    }
    for (int rank = 0; rank < 2; rank++) {
        pthread_join(players[rank].thread, NULL);
        peers_close(&players[rank].peers, true);
    }
    CHECK_EQ(players[1].err.status, DET_NOMEM);
    CHECK_HAS(players[0].err.text, "rank 1 failed");
    forget_messages();
}

/* A forked child that ends as Python does closes what it has inherited. */
TEST(a_child_of_a_rank_does_not_leave_for_it)
{
    struct seat seat = {.world = one_world(), .rank = 0, .size = 1};
    struct peers peers = bare_peers(&seat);
    struct err err = {0};
    int how = -1;
    pid_t child;

    CHECK_OK(peers_open(&peers, 0, 1, &err));
    CHECK_OK(peers_share_memory(&peers, &err));
    child = fork();
    if (!child) {
        peers_give_up(&peers);
        peers_close(&peers, true);
        _exit(0);
    }
    CHECK_EQ(waitpid(child, &how, 0), child);
    CHECK_EQ(how, 0);
    CHECK_EQ(shm_rank_state(&peers.shm, 0), RANK_HERE);
    peers_close(&peers, true);
    forget_messages();
}

/* ---- failures -------------------------------------------------------------------- */

static void tell_other_sizes(struct player *player)
{
    struct peers_greeting greeting = {.tensors = 2,
                                      .bytes = player->seat.rank == 1 ? 40 : 48};
    det_status st = agree(player, &greeting);

    CHECK_EQ(st, DET_STATE);
    player->err = (struct err){0};
    CHECK_EQ(agree(player, &greeting), DET_STATE); /* forever, with the same sentence */
}

static void tell_other_shapes(struct player *player)
{
    struct peers_greeting greeting = {
        .tensors = 2, .bytes = 48, .signature = player->seat.rank == 2 ? 1 : 0};

    CHECK_EQ(agree(player, &greeting), DET_STATE);
}

TEST(ranks_that_do_not_fit_hear_of_it_all)
{
    struct player players[3] = {0};

    play(players, 3, tell_other_sizes);
    for (int rank = 0; rank < 3; rank++)
        CHECK_STR(players[rank].err.text,
                  "rank 1 averages 2 gradients of 40 bytes and rank 0 2 of 48: every "
                  "rank must train the same model");
    play(players, 3, tell_other_shapes);
    CHECK_HAS(players[0].err.text,
              "the gradients of rank 2 have other shapes or types");
}

static void leave_early(struct player *player)
{
    struct peers_greeting greeting = {.tensors = 1};

    CHECK(!agree(player, &greeting));
    if (player->seat.rank == 0)
        return;
    CHECK_EQ(agree(player, &greeting), DET_STATE);
}

TEST(a_rank_that_ends_early_is_named)
{
    struct player players[3] = {0};

    for (int has_memory = 0; has_memory < 2; has_memory++) {
        for (int rank = 0; rank < 3; rank++)
            players[rank] = (struct player){.has_shm = has_memory};
        play(players, 3, leave_early);
        CHECK_HAS(players[1].err.text,
                  "rank 0 has ended its training and rank 1 goes on");
        CHECK_HAS(players[2].err.text,
                  "rank 0 has ended its training and rank 2 goes on");
    }
}

/* Rank 2 is gone, and rank 1 comes only after rank 0 has noticed. */
static void hear_of_the_last(struct player *player)
{
    struct peers_greeting greeting = {.tensors = 1};
    _Atomic bool *has_heard = player->from;
    det_status st = DET_OK;
    bool all = false;

    if (player->seat.rank == 2)
        return;
    while (player->seat.rank == 1 && !*has_heard)
        clock_pause(&clock_system, 1000);
    st = peers_greet(&player->peers, &player->scratch, 3, &greeting, &player->err);
    for (int i = 0; i < 500 && !st; i++)
        st = peers_listen(&player->peers, &player->scratch, true, &all, &player->err);
    *has_heard = true;
    CHECK_EQ(st, DET_STATE);
}

TEST(a_rank_that_is_gone_is_noticed_while_another_one_is_late)
{
    struct player players[3] = {0};

    for (int has_memory = 0; has_memory < 2; has_memory++) {
        _Atomic bool has_heard = false;

        for (int rank = 0; rank < 3; rank++)
            players[rank] = (struct player){.has_shm = has_memory, .from = &has_heard};
        play(players, 3, hear_of_the_last);
        CHECK_HAS(players[0].err.text, "rank 2 has ended its training");
    }
}

/* All have greeted; then rank 1 leaves, or fails, and sends nothing. */
static void stop_in_the_middle(struct player *player)
{
    struct peers_greeting greeting = {.tensors = 1};
    struct peers_vector vector = {.from = player->from,
                                  .into = player->from,
                                  .count = player->count,
                                  .kind = NUMBER_FLOAT};

    CHECK(!agree(player, &greeting));
    if (player->seat.rank == 1 && player->rows)
        peers_give_up(&player->peers);
    if (player->seat.rank != 1)
        CHECK_EQ(
            peers_average(&player->peers, &player->scratch, 3, &vector, &player->err),
            DET_STATE);
}

TEST(a_rank_that_goes_in_the_middle_of_an_exchange_is_noticed)
{
    static const size_t counts[] = {10, 600000};
    static float numbers[3][600000];
    struct player players[3] = {0};

    for (int i = 0; i < 8; i++) {
        for (int rank = 0; rank < 3; rank++)
            players[rank] = (struct player){.from = numbers[rank],
                                            .count = counts[i & 1],
                                            .rows = i & 2,
                                            .has_shm = i & 4};
        play(players, 3, stop_in_the_middle);
        for (int rank = 0; rank < 3; rank += 2)
            CHECK_HAS(players[rank].err.text,
                      i & 2 ? "failed while rank" : "has ended its training and rank");
    }
}

/* Rank 1 has left, rank 0 notices, and only then rank 2 comes. */
TEST(what_comes_after_a_failure_is_written_nowhere)
{
    struct seat seats[3];
    struct peers peers[3];
    struct peers_scratch scratch[3] = {0};
    struct peers_greeting greeting = {.tensors = 7};
    mpi_handle request;
    struct err err = {0};
    bool all;

    for (int rank = 0; rank < 3; rank++) {
        seats[rank] = (struct seat){.world = one_world(), .rank = rank, .size = 3};
        peers[rank] =
            (struct peers){.mpi = fake_mpi(&seats[rank]), .clock = &clock_system};
        CHECK_OK(peers_open(&peers[rank], rank, 3, &err));
    }
    CHECK(!fake_isend("", 1, NULL, 0, 0, peers[1].comm, &request));
    CHECK(!fake_isend("", 1, NULL, 2, 0, peers[1].comm, &request));
    CHECK_OK(peers_greet(&peers[0], &scratch[0], 3, &greeting, &err));
    CHECK_EQ(peers_listen(&peers[0], &scratch[0], false, &all, &err), DET_STATE);
    CHECK_OK(peers_greet(&peers[2], &scratch[2], 3, &greeting, &err));
    CHECK_EQ(peers_listen(&peers[2], &scratch[2], false, &all, &err), DET_STATE);

    CHECK_EQ(scratch[0].greetings[2].tensors, 0);

    for (int rank = 0; rank < 3; rank++) {
        peers_scratch_done(&scratch[rank]);
        peers_close(&peers[rank], true);
    }
    forget_messages();
}

TEST(errors_of_mpi_become_sentences)
{
    struct seat seat = {.world = one_world(), .rank = 0, .size = 2};
    struct peers peers = {.mpi = fake_mpi(&seat), .clock = &clock_system};
    struct peers_scratch scratch = {0};
    struct peers_greeting greeting = {.tensors = 1};
    struct err err = {0};

    CHECK_OK(peers_open(&peers, 0, 2, &err));
    one_world()->fails_after = 1;
    CHECK_EQ(peers_greet(&peers, &scratch, 0, &greeting, &err), DET_FAILED);
    CHECK_STR(err.text, "gradients cannot be sent: the wire broke (16)");
    one_world()->fails_after = 0;
    CHECK_EQ(peers_greet(&peers, &scratch, 0, &greeting, &err), DET_FAILED);
    CHECK_STR(err.text, "gradients cannot be sent: the wire broke (16)");
    peers_scratch_done(&scratch);
    peers_close(&peers, true);
    forget_messages();
}

TEST(ranks_that_mpi_numbers_otherwise_are_refused)
{
    struct seat seat = {.world = one_world(), .rank = 0, .size = 1};
    struct peers peers = {.mpi = fake_mpi(&seat), .clock = &clock_system};
    struct err err = {0};

    CHECK_EQ(peers_open(&peers, 1, 2, &err), DET_INVALID);
    CHECK_STR(err.text,
              "this is rank 1 of 2 for the training and 0 of 1 for MPI: start "
              "the ranks with 'det launch mpi'");
}

TEST(running_out_of_memory_is_an_ordinary_error)
{
    EACH_ALLOCATION_FAILS() {
        struct seat seat = {.world = one_world(), .rank = 0, .size = 1};
        struct peers peers = {.mpi = fake_mpi(&seat), .clock = &clock_system};
        struct peers_scratch scratch = {0};
        struct peers_greeting greeting = {.tensors = 1};
        struct err err = {0};
        det_status st = peers_open(&peers, 0, 1, &err);

        if (!st) {
            st = peers_share_memory(&peers, &err);
            if (!st && fault_fired()) /* it works without */
                st = err_default(&err, DET_NOMEM);
            if (!st)
                st = peers_greet(&peers, &scratch, 0, &greeting, &err);
            peers_scratch_done(&scratch);
            peers_close(&peers, true);
        }
        CHECK_EQ(st, fault_fired() ? DET_NOMEM : DET_OK);
    }
}
