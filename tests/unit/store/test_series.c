/* SPDX-License-Identifier: Apache-2.0 */
/* test_series.c - charts, compared with all rows. */
#include <math.h>

#include "store/engine/db.h"
#include "store/metric/metric_add.h"
#include "store/metric/metric_compact.h"
#include "store/metric/metric_cursor.h"
#include "store/series/series.h"
#include "tests/unit/store/world.h"
#include "wire/report.h"

enum { NAMES = 4, GROUPS = 2, TRIALS = 2 };

static const char *const names[NAMES] = {"a", "b", "rare", "wild"};
static const char *const groups[GROUPS] = {"profiler", "training"};

/* ---- all rows, the plain way ----------------------------------------------------- */

struct plain_row {
    int64_t trial;
    int64_t run;
    int group;
    int64_t steps; /* -1: none */
    int64_t us;
    bool is_archived;
    bool has[NAMES];
    double value[NAMES];
};

struct plain {
    struct plain_row *row;
    uint32_t count;
};

static void read_trial(struct world *w, int64_t trial, struct plain *plain)
{
    struct metric_query query = {.trial_id = trial, .with_archived = true};
    struct arena mem = ARENA_INIT(512 << 20);
    struct metric_row *rows;
    uint32_t count;

    CHECK_OK(store_metric_read(w->db, &query, &mem, &rows, &count, &test_err));
    plain->row = realloc(plain->row, (plain->count + count + 1) * sizeof(*plain->row));
    for (uint32_t i = 0; i < count; i++) {
        struct plain_row *row = &plain->row[plain->count++];
        const struct json *avg = parse(&mem, rows[i].avg);

        *row = (struct plain_row){.trial = trial,
                                  .run = rows[i].run_id,
                                  .group = strcmp(rows[i].group, groups[0]) != 0,
                                  .steps = rows[i].has_steps ? rows[i].steps : -1,
                                  .us = rows[i].report_us,
                                  .is_archived = rows[i].is_archived};
        for (int k = 0; k < NAMES; k++)
            row->has[k] = json_number(json_get(avg, names[k]), &row->value[k]);
    }
    arena_done(&mem);
}

static int by_x(const void *a, const void *b)
{
    const struct series_point *p = a;
    const struct series_point *q = b;

    return (p->x > q->x) - (p->x < q->x);
}

/* The points of one line, sorted. */
static struct series_point *points_of(const struct plain *plain,
                                      const struct series_ask *ask, int group, int name,
                                      const struct series_line *line, uint32_t *count)
{
    struct series_point *point = malloc((plain->count + 1) * sizeof(*point));

    *count = 0;
    for (uint32_t i = 0; i < plain->count; i++) {
        const struct plain_row *row = &plain->row[i];
        double x =
            ask->axis == SERIES_STEPS ? (double)row->steps : (double)row->us / 1e6;

        if (row->trial != line->trial_id || row->group != group || !row->has[name] ||
            row->is_archived != line->is_archived ||
            (line->is_archived && row->run != line->run_id) || x < ask->from ||
            x > ask->to || (ask->axis == SERIES_STEPS && row->steps < 0))
            continue;
        point[(*count)++] = (struct series_point){x, row->value[name]};
    }
    qsort(point, *count, sizeof(*point), by_x);
    return point;
}

/* ---- checks ---------------------------------------------------------------------- */

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static void check_ends(const struct series_line *line, const struct series_point *point,
                       uint32_t count)
{
    bool has_first = false, has_last = false;

    CHECK_EQ(line->reports, count);
    CHECK(count > 0);
    CHECK(line->first.x == point[0].x);
    CHECK(line->last.x == point[count - 1].x);
    for (uint32_t i = 0; i < count; i++) {
        has_first |= point[i].x == line->first.x && same(point[i].y, line->first.y);
        has_last |= point[i].x == line->last.x && same(point[i].y, line->last.y);
    }
    CHECK(has_first && has_last);
}

static void check_exact(const struct series_chart *chart,
                        const struct series_line *line,
                        const struct series_point *point, uint32_t count)
{
    uint32_t at = 0;
    uint32_t odd = 0;

    for (uint32_t i = 0; i < chart->x_count; i++) {
        if (at == count || point[at].x != chart->x[i]) {
            CHECK(isnan(line->y[i]));
            continue;
        }
        if (at + 1 == count || point[at + 1].x != point[at].x)
            CHECK(same(line->y[i], point[at].y) ||
                  (at && point[at - 1].x == point[at].x));
        at++;
    }
    CHECK_EQ(at, count);
    for (uint32_t i = 0; i < count; i++)
        odd += !isfinite(point[i].y);
    CHECK_EQ(line->odd_count, odd < SERIES_ODD ? odd : SERIES_ODD);
}

/* The drawn extremes in the pixels around one. */
struct shown {
    double low;
    double high;
    bool has;
};

static void look(struct shown *shown, double y)
{
    if (!isfinite(y))
        return;
    shown->low = shown->has ? fmin(shown->low, y) : y;
    shown->high = shown->has ? fmax(shown->high, y) : y;
    shown->has = true;
}

/* Every value is between the extremes of its pixel, or less than a quarter of a pixel
 * away from such a pixel. */
static void check_covered(const struct series_chart *chart,
                          const struct series_line *line, struct series_point point,
                          double width)
{
    struct shown shown = {0};

    if (!isfinite(point.y))
        return;
    for (uint32_t i = 1; i + 1 < chart->x_count; i += 2) {
        double begin = chart->x[i] - width / 4;

        if (point.x < begin - width * 0.2501 || point.x > begin + width * 1.2501)
            continue;
        look(&shown, line->y[i]);
        look(&shown, line->y[i + 1]);
    }
    if (!shown.has || point.y < shown.low || point.y > shown.high)
        fail_msg("%g at %.17g is lost", point.y, point.x);
}

/* Every drawn value exists in its pixel, in this order.  If reports came out of order,
 * summaries overlap: then it may be half a pixel away. */
static void check_real(const struct series_point *point, uint32_t count, double begin,
                       double width, const double y[2])
{
    double first = INFINITY, second = -INFINITY;

    for (uint32_t i = 0; i < count; i++) {
        if (point[i].x < begin - width * 0.2501 || point[i].x > begin + width * 1.2501)
            continue;
        if (same(point[i].y, y[0]))
            first = fmin(first, point[i].x);
        if (same(point[i].y, y[1]))
            second = fmax(second, point[i].x);
    }
    if (!isnan(y[0]))
        CHECK(first < INFINITY);
    if (isnan(y[1]))
        return;
    CHECK(second > -INFINITY);
    CHECK(first <= second + width / 2);
    CHECK(!isnan(y[0]) && y[0] != y[1]);
}

static void check_odd(const struct series_line *line, const struct series_point *point,
                      uint32_t count, double width)
{
    uint32_t odd = 0;

    for (uint32_t i = 0; i < count; i++)
        odd += !isfinite(point[i].y);
    CHECK_EQ(line->odd_count > 0, odd > 0);
    CHECK(line->odd_count <= SERIES_ODD);
    for (uint32_t i = 0; i < count && odd < SERIES_ODD; i++) {
        bool is_told = isfinite(point[i].y);

        for (uint32_t k = 0; k < line->odd_count && !is_told; k++)
            is_told = same(line->odd[k].y, point[i].y) &&
                      fabs(line->odd[k].x - point[i].x) <= width;
        CHECK(is_told);
    }
}

static void check_pixels(const struct series_chart *chart,
                         const struct series_line *line,
                         const struct series_point *point, uint32_t count,
                         uint32_t pixels)
{
    double from = chart->x[0];
    double to = chart->x[chart->x_count - 1];
    double width = (to - from) / pixels;

    CHECK(from <= point[0].x && to >= point[count - 1].x);
    for (uint32_t i = 1; i < chart->x_count; i++)
        CHECK(chart->x[i - 1] < chart->x[i] || width == 0);
    for (uint32_t i = 0; i < count; i++)
        check_covered(chart, line, point[i], width);
    for (uint32_t i = 1; i + 1 < chart->x_count; i += 2)
        check_real(point, count, chart->x[i] - width / 4, width, line->y + i);
    CHECK(same(line->y[0], from == line->first.x ? line->first.y : NAN));
    CHECK(same(line->y[chart->x_count - 1], to == line->last.x ? line->last.y : NAN));
    check_odd(line, point, count, width);
}

static int index_of(const char *text, const char *const *list)
{
    int at = 0;

    while (strcmp(list[at], text) != 0)
        at++;
    return at;
}

/* How many lines there must be. */
static uint32_t count_lines(const struct plain *plain, const struct series_ask *ask,
                            int group, int name)
{
    uint32_t lines = 0;

    for (int64_t trial = 1; trial <= TRIALS; trial++)
        for (int64_t run = 0; run < 60; run++) {
            struct series_line line = {
                .trial_id = trial, .run_id = run, .is_archived = run > 0};
            uint32_t count;

            if (run && !ask->with_archived)
                continue;
            free(points_of(plain, ask, group, name, &line, &count));
            lines += count > 0;
        }
    return lines;
}

static void check_chart(const struct plain *plain, const struct series_ask *ask,
                        const struct series_chart *chart)
{
    int group = index_of(chart->metric.group, groups);
    int name = index_of(chart->metric.name, names);
    bool has_many = false;

    CHECK_EQ(chart->line_count, count_lines(plain, ask, group, name));
    for (uint32_t i = 0; i < chart->line_count; i++) {
        const struct series_line *line = &chart->line[i];
        uint32_t count;
        struct series_point *point = points_of(plain, ask, group, name, line, &count);

        check_ends(line, point, count);
        has_many |= count > ask->points * 2;
        if (chart->is_exact)
            check_exact(chart, line, point, count);
        else
            check_pixels(chart, line, point, count, ask->points);
        free(point);
    }
    if (chart->is_exact)
        CHECK(!has_many && chart->x_count <= ask->points * 2);
}

static void check_ask(struct world *w, const struct plain *plain,
                      const struct series_ask *ask)
{
    struct arena mem = ARENA_INIT(256 << 20);
    struct series series;

    CHECK_OK(store_series(w->db, ask, &mem, &series, &test_err));
    CHECK_EQ(series.chart_count, ask->metrics);
    for (uint32_t i = 0; i < ask->metrics; i++) {
        CHECK_STR(series.chart[i].metric.name, ask->metric[i].name);
        check_chart(plain, ask, &series.chart[i]);
    }
    arena_done(&mem);
}

/* ---- random trials --------------------------------------------------------------- */

static double some_value(struct rng64 *rng, int name)
{
    if (name == 3 && !rng64_below(rng, 40)) {
        static const double wild[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};

        return wild[rng64_below(rng, 3)];
    }
    return (double)(int64_t)(rng64_below(rng, 2000) - 1000) / (name ? 7 : 1);
}

static struct json *some_values(struct rng64 *rng, struct arena *mem)
{
    struct json *avg = json_new(mem, JSON_OBJECT);

    for (int i = 0; i < NAMES; i++) {
        if (rng64_below(rng, 100) < (i == 2 ? 3u : 95u))
            (void)json_set(mem, avg, names[i], json_new_real(mem, some_value(rng, i)));
    }
    if (!rng64_below(rng, 50)) /* a number too long for a double: kept as text */
        (void)json_set(mem, avg, "rare", json_new_i64(mem, (INT64_C(1) << 60) + 1));
    return avg;
}

struct story {
    struct rng64 rng;
    int64_t run[TRIALS];
    int64_t steps[TRIALS];
    int64_t us;
};

static void compact_some(struct world *w, bool everything)
{
    bool did = true;

    while (did)
        CHECK_OK(store_metric_compact(w->db, everything, &did, &test_err));
}

static void report_some(struct world *w, struct story *s, int t)
{
    struct arena mem = ARENA_INIT(1 << 20);
    struct metric_report report = {.trial_id = t + 1, .run_id = s->run[t]};
    bool is_new;
    det_status st;

    s->us += (int64_t)rng64_below(&s->rng, 4) * 100000;
    s->steps[t] += 1 + (int64_t)rng64_below(&s->rng, t ? 3 : 1);
    report.group = groups[rng64_below(&s->rng, 8) > 0];
    report.has_steps = !strcmp(report.group, "training") && rng64_below(&s->rng, 200);
    report.steps = s->steps[t];
    if (!rng64_below(&s->rng, 100)) /* out of order */
        report.steps = (int64_t)rng64_below(&s->rng, (uint64_t)report.steps + 1);
    report.report_us = INT64_C(1700000000000000) + s->us;
    if (!rng64_below(&s->rng, 500)) /* a clock that was wrong */
        report.report_us -= 3600 * INT64_C(1000000);
    report.avg = some_values(&s->rng, &mem);
    CHECK_OK(db_save(w->db, &test_err));
    st = store_metric_add(w->db, &report, &mem, &is_new, &test_err);
    if (st == DET_EXISTS)
        db_undo(w->db);
    else
        CHECK_OK(st);
    if (!st)
        CHECK_OK(db_release(w->db, &test_err));
    arena_done(&mem);
}

static void tell(struct world *w, struct story *s, int reports)
{
    CHECK_OK(db_begin(w->db, &test_err));
    for (int i = 0; i < reports; i++) {
        int t = (int)rng64_below(&s->rng, TRIALS);

        if (!rng64_below(&s->rng, 1500)) {
            s->run[t]++;
            s->steps[t] = (int64_t)rng64_below(&s->rng, (uint64_t)s->steps[t] + 1);
            set_run(w, t + 1, 1, s->run[t]);
        }
        report_some(w, s, t);
        if (!rng64_below(&s->rng, 700))
            compact_some(w, !rng64_below(&s->rng, 4));
    }
    CHECK_OK(db_commit(w->db, &test_err));
}

static struct series_ask some_ask(struct rng64 *rng, const struct story *s)
{
    static const int64_t trial[TRIALS] = {1, 2};
    static const struct series_metric metric[] = {{"training", "wild"},
                                                  {"profiler", "a"},
                                                  {"training", "a"},
                                                  {"training", "rare"},
                                                  {"training", "b"}};
    struct series_ask ask = {.trial = trial,
                             .trials = 1 + (uint32_t)rng64_below(rng, TRIALS),
                             .metric = metric,
                             .metrics = 1 + (uint32_t)rng64_below(rng, 5),
                             .axis = (enum series_axis)rng64_below(rng, 2),
                             .from = -INFINITY,
                             .to = INFINITY,
                             .with_archived = rng64_below(rng, 2)};
    static const uint32_t points[] = {4, 10, 37, 100, 600, 5000};
    double span = ask.axis == SERIES_STEPS ? (double)s->steps[0] : (double)s->us / 1e6;
    double start = ask.axis == SERIES_STEPS ? 0 : 1.7e9;

    ask.points = points[rng64_below(rng, 6)];
    if (rng64_below(rng, 2))
        ask.from = start + floor(span * (double)rng64_below(rng, 1000) / 1000);
    if (rng64_below(rng, 2))
        ask.to = start + span * (double)rng64_below(rng, 1100) / 1000;
    return ask;
}

static void play(uint64_t seed, int chapters, int reports)
{
    struct world w;
    struct story s = {.rng = {.state = seed}, .run = {1, 1}};

    world_init(&w, true);
    add_experiment(&w, 1, SIMPLE_CONFIG);
    add_trial(&w, 1, 1);
    add_trial(&w, 2, 1);
    for (int i = 0; i < chapters; i++) {
        struct plain plain = {0};

        tell(&w, &s, reports);
        read_trial(&w, 1, &plain);
        for (int k = 0; k < 12; k++) {
            struct series_ask ask = some_ask(&s.rng, &s);

            if (ask.trials == 2 && k % 12 == 0)
                continue;
            if (ask.trials == 2 && plain.row[plain.count - 1].trial == 1)
                read_trial(&w, 2, &plain);
            if (ask.trials == 1) {
                struct plain one = {0};

                read_trial(&w, 1, &one);
                check_ask(&w, &one, &ask);
                free(one.row);
            } else {
                check_ask(&w, &plain, &ask);
            }
        }
        free(plain.row);
    }
    world_done(&w);
}

TEST(charts_lose_nothing_that_the_plain_way_finds)
{
    for (uint64_t seed = 1; seed <= 4; seed++)
        play(seed, 4, 3000);
}

/* ---- pages above pages ----------------------------------------------------------- */

/* A sawtooth with a few spikes; packed after each half block, which gives many
 * blocks. */
static double saw(int64_t steps)
{
    if (steps % 30011 == 17)
        return 1e6 + (double)steps;
    return (double)(steps % 1000) / 8;
}

static void add_saw(struct world *w, int64_t steps)
{
    struct report_value value = {
        .name = "a", .name_len = 1, .type = REPORT_NUMBER, .number = saw(steps)};
    struct report_metrics values = {.value = &value, .count = 1};
    struct metric_report report = {.trial_id = 1,
                                   .run_id = 1,
                                   .group = "training",
                                   .has_steps = true,
                                   .steps = steps,
                                   .report_us = steps * 1000000,
                                   .values = &values};
    struct arena mem = ARENA_INIT(1 << 20);
    bool is_new;

    CHECK_OK(store_metric_add(w->db, &report, &mem, &is_new, &test_err));
    arena_done(&mem);
}

static void setup(struct world *w)
{
    world_init(w, true);
    add_experiment(w, 1, SIMPLE_CONFIG);
    add_trial(w, 1, 1);
    add_trial(w, 2, 1);
}

static void add_saws(struct world *w, int64_t from, int64_t to)
{
    CHECK_OK(db_begin(w->db, &test_err));
    for (int64_t i = from; i < to; i++) {
        add_saw(w, i);
        if (i % 512 == 511)
            compact_some(w, true);
    }
    CHECK_OK(db_commit(w->db, &test_err));
}

static const struct series_ask of_one = {
    .trial = (const int64_t[]){1},
    .trials = 1,
    .metric = (const struct series_metric[]){{"training", "a"}},
    .metrics = 1,
    .points = 20,
    .from = -INFINITY,
    .to = INFINITY,
    .with_archived = true};

static void check_zooms(struct world *w, uint32_t points)
{
    struct plain plain = {0};
    struct series_ask ask = of_one;

    ask.points = points;
    read_trial(w, 1, &plain);
    check_ask(w, &plain, &ask);
    ask.axis = SERIES_TIME;
    check_ask(w, &plain, &ask);
    ask.axis = SERIES_STEPS;
    ask.from = 70007;
    check_ask(w, &plain, &ask);
    ask.to = 120000;
    check_ask(w, &plain, &ask);
    ask.from = 100;
    ask.to = 1000;
    check_ask(w, &plain, &ask);
    free(plain.row);
}

TEST(long_lines_are_drawn_from_pages_above_pages)
{
    struct world w;

    setup(&w);
    add_saws(&w, 0, 140000);
    CHECK_EQ(count_of(w.db, "metric_levels WHERE level = 1"), 17);
    CHECK_EQ(count_of(w.db, "metric_levels WHERE level = 2"), 1);
    CHECK_EQ(count_of(w.db, "metric_levels WHERE level = 0"),
             count_of(w.db, "metric_blocks"));
    check_zooms(&w, 12);
    check_zooms(&w, 200);
    set_run(&w, 1, 1, 2); /* goes back: the cut is within a page of every level */
    CHECK_OK(db_begin(w.db, &test_err));
    CHECK_OK(metric_resumes(w.db, 1, 2, 77777, &test_err));
    CHECK_OK(db_commit(w.db, &test_err));
    check_zooms(&w, 12);
    check_zooms(&w, 200);
    world_done(&w);
}

TEST(a_block_that_is_made_anew_takes_the_pages_above_it_along)
{
    struct world w;
    struct arena mem = ARENA_INIT(1 << 20);
    struct metric_report report = {.trial_id = 1,
                                   .run_id = 1,
                                   .group = "training",
                                   .has_steps = true,
                                   .steps = 3000,
                                   .report_us = 3000 * INT64_C(1000000),
                                   .avg = parse(&mem, "{\"b\": 1e9}")};
    bool is_new;

    setup(&w);
    add_saws(&w, 0, 20000);
    CHECK_EQ(count_of(w.db, "metric_levels WHERE level = 1"), 2);
    CHECK_OK(db_begin(w.db, &test_err));
    CHECK_OK(store_metric_add(w.db, &report, &mem, &is_new, &test_err));
    CHECK_OK(db_commit(w.db, &test_err));
    CHECK(!is_new);
    CHECK_EQ(count_of(w.db, "metric_levels WHERE level = 1"), 1);
    CHECK_EQ(count_of(w.db, "metric_levels WHERE level = 0"),
             count_of(w.db, "metric_blocks"));
    check_zooms(&w, 12);
    CHECK_OK(db_begin(w.db, &test_err));
    compact_some(&w, true);
    CHECK_OK(db_commit(w.db, &test_err));
    CHECK_EQ(count_of(w.db, "metric_levels WHERE level = 0"),
             count_of(w.db, "metric_blocks"));
    check_zooms(&w, 12);
    arena_done(&mem);
    world_done(&w);
}

TEST(pages_go_with_their_trial)
{
    struct world w;
    bool more = true;

    setup(&w);
    add_saws(&w, 0, 20000);
    while (more)
        CHECK_OK(metric_delete_step(w.db, 1, &more, &test_err));
    CHECK_EQ(count_of(w.db, "metric_levels"), 0);
    CHECK_EQ(count_of(w.db, "metric_blocks"), 0);
    world_done(&w);
}

/* The database of an older version, without pages. */
static void setup_old(struct world *w)
{
    setup(w);
    add_saws(w, 0, 20000);
    CHECK_OK(db_exec(w->db,
                     "DELETE FROM metric_levels;"
                     "INSERT INTO metric_level_fill (done, upto)"
                     "  SELECT 0, MAX(id) FROM metric_blocks",
                     &test_err));
}

static void open_again(struct world *w) /* as the next process does */
{
    db_close(w->db);
    CHECK_OK(db_open(w->io, w->path, false, &w->db, &test_err));
}

TEST(blocks_of_an_older_version_are_drawn_and_get_their_pages)
{
    struct world w;

    setup_old(&w);
    check_zooms(&w, 12);
    open_again(&w);
    compact_some(&w, false);
    CHECK_EQ(count_of(w.db, "metric_level_fill"), 0);
    CHECK_EQ(count_of(w.db, "metric_levels WHERE level = 0"),
             count_of(w.db, "metric_blocks"));
    CHECK_EQ(count_of(w.db, "metric_levels WHERE level = 1"), 2);
    check_zooms(&w, 12);
    world_done(&w);
}

TEST(a_damaged_block_of_an_older_version_keeps_nothing_else_from_its_pages)
{
    struct world w;

    setup_old(&w);
    CHECK_OK(db_exec(w.db,
                     "UPDATE metric_blocks SET data = x'00'"
                     " WHERE id = (SELECT MIN(id) FROM metric_blocks)",
                     &test_err));
    open_again(&w);
    add_saws(&w, 20000, 30000); /* new rows are packed after it */
    compact_some(&w, false);
    CHECK_EQ(count_of(w.db, "metric_level_fill"), 0);
    CHECK_EQ(count_of(w.db, "metric_levels WHERE level = 0"),
             count_of(w.db, "metric_blocks") - 1);
    CHECK(count_of(w.db, "metric_levels WHERE level = 1") > 0);
    world_done(&w);
}

TEST(what_runs_that_are_over_left_is_packed)
{
    struct world w;

    setup(&w);
    add_saws(&w, 0, 300);
    compact_some(&w, false);
    CHECK_EQ(count_of(w.db, "metric_tail"), 300);
    set_run(&w, 1, 1, 2);
    compact_some(&w, false);
    CHECK_EQ(count_of(w.db, "metric_tail"), 0);
    check_zooms(&w, 12);
    world_done(&w);
}

TEST(a_rare_metric_among_many_rows_is_exact)
{
    struct world w;
    struct arena mem = ARENA_INIT(64 << 20);
    struct series_ask ask = of_one;
    struct series series;

    setup(&w);
    CHECK_OK(db_begin(w.db, &test_err));
    for (int64_t i = 0; i < 20000; i++) {
        struct metric_report report = {.trial_id = 1,
                                       .run_id = 1,
                                       .group = "training",
                                       .has_steps = true,
                                       .steps = i,
                                       .report_us = 1 + i};
        bool is_new;

        arena_clear(&mem);
        report.avg = parse(&mem, i % 5000 == 4321 ? "{\"a\":1,\"c\":2}" : "{\"c\":2}");
        CHECK_OK(store_metric_add(w.db, &report, &mem, &is_new, &test_err));
    }
    compact_some(&w, true);
    CHECK_OK(db_commit(w.db, &test_err));
    arena_clear(&mem);
    CHECK_OK(store_series(w.db, &ask, &mem, &series, &test_err));
    CHECK(series.chart[0].is_exact);
    CHECK_EQ(series.chart[0].x_count, 4);
    CHECK(series.chart[0].x[1] == 9321);
    CHECK_EQ(series.end[0].reports, 20000);
    CHECK_EQ(series.end[0].last_steps, 19999);
    arena_done(&mem);
    world_done(&w);
}

TEST(numbers_are_bounded_however_many_lines_there_are)
{
    enum { LINES = 300 };
    struct world w;
    struct arena mem = ARENA_INIT(256 << 20);
    struct series_ask ask = of_one;
    int64_t trial[LINES];
    struct series series;

    setup(&w);
    add_saws(&w, 0, 3000);
    for (int i = 0; i < LINES; i++)
        trial[i] = 1;
    ask.trial = trial;
    ask.trials = LINES;
    ask.points = 5000;
    CHECK_OK(store_series(w.db, &ask, &mem, &series, &test_err));
    CHECK_EQ(series.chart[0].line_count, LINES);
    CHECK(series.chart[0].x_count * (LINES + 1) <= SERIES_NUMBERS + 2 * (LINES + 1));
    arena_done(&mem);
    world_done(&w);
}

/* ---- failures -------------------------------------------------------------------- */

TEST(a_chart_without_memory_is_refused)
{
    struct world w;
    struct series_ask ask = of_one;

    setup(&w);
    add_saws(&w, 0, 9000);
    ask.points = 100;
    EACH_ALLOCATION_FAILS() {
        struct arena mem = ARENA_INIT(64 << 20);
        struct series series = {0};
        det_status st = store_series(w.db, &ask, &mem, &series, &test_err);

        if (fault_fired())
            CHECK_EQ(st, DET_NOMEM);
        else
            CHECK_OK(st);
        arena_done(&mem);
    }
    world_done(&w);
}

TEST(a_block_and_its_pages_are_written_together_or_not_at_all)
{
    struct world w;

    setup(&w);
    add_saws(&w, 0, 9000);
    EACH_ALLOCATION_FAILS() {
        bool did;
        det_status st;

        CHECK_OK(db_begin(w.db, &test_err));
        st = store_metric_compact(w.db, true, &did, &test_err);
        if (st)
            CHECK_EQ(st, DET_NOMEM);
        db_rollback(w.db);
        if (st)
            CHECK_EQ(count_of(w.db, "metric_levels WHERE level = 0"),
                     count_of(w.db, "metric_blocks"));
    }
    world_done(&w);
}
