/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/memory/arena.h"
#include "base/memory/buf.h"
#include "data/json/json.h"
#include "model/field.h"
#include "tests/support/test.h"

static const char *const colour_names[] = {"RED", "GREEN", "BLUE", NULL};

struct wheel {
    int64_t size;
    const char *maker;
};

static const struct field wheel_fields[] = {
    FIELD(I64, wheel, size, "in inches"),
    FIELD(STR, wheel, maker, "who made it"),
    FIELD_END,
};

struct car {
    int64_t id;
    int64_t total_km;
    double weight;
    bool is_sold;
    const char *name;
    int64_t built_at;
    const char *config;
    const struct json *extra;
    uint32_t colour;
    struct field_strs tags;
    struct field_i64s years;
    struct wheel spare;
    struct field_list wheels;
    int64_t price;
    bool has_price;
};

static const struct field car_fields[] = {
    FIELD_REQUIRED(I64, car, id, "its number"),
    FIELD(I64_STR, car, total_km, "how far it went"),
    FIELD(F64, car, weight, "in tons"),
    FIELD(BOOL, car, is_sold, "whether it is sold"),
    FIELD(STR, car, name, "what it is called"),
    FIELD(TIME, car, built_at, "when it was built"),
    FIELD(JSON, car, config, "anything"),
    FIELD(TREE, car, extra, "anything else"),
    FIELD_AS_ENUM(car, colour, colour_names, "COLOUR_", "how it looks"),
    FIELD(STRS, car, tags, "labels"),
    FIELD(I64S, car, years, "of its owners"),
    FIELD_OF(RECORD, car, spare, wheel_fields, struct wheel, "the fifth wheel"),
    FIELD_OF(RECORDS, car, wheels, wheel_fields, struct wheel, "the others"),
    FIELD_OPTIONAL(I64, car, price, "if it is known"),
    FIELD_END,
};

static const char full[] =
    "{\"id\":7,\"totalKm\":\"9007199254740993\",\"weight\":1.5,\"isSold\":true,"
    "\"name\":\"x\",\"builtAt\":\"2022-03-02T02:15:18.299569Z\",\"config\":{\"a\":[1]},"
    "\"extra\":[null],\"colour\":\"COLOUR_BLUE\",\"tags\":[\"a\",\"b\",\"c\"],"
    "\"years\":[1,2],\"spare\":{\"size\":15,\"maker\":\"m\"},"
    "\"wheels\":[{\"size\":16,\"maker\":null},{\"size\":17,\"maker\":\"n\"}],"
    "\"price\":null}";

static det_status read_text(struct arena *mem, const char *text, struct car *car,
                            struct err *err)
{
    struct json *tree = NULL;
    det_status st = json_parse(text, strlen(text), mem, &tree, err);

    return st ? st : fields_read(car_fields, tree, mem, car, err);
}

TEST(names_on_the_wire_are_camel_case)
{
    char name[FIELD_NAME];
    char longest[200];

    field_wire_name("total_batches", name);
    CHECK_STR(name, "totalBatches");
    field_wire_name("id", name);
    CHECK_STR(name, "id");
    field_wire_name("a_b_c1", name);
    CHECK_STR(name, "aBC1");
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    field_wire_name(longest, name);
    CHECK_EQ(strlen(name), FIELD_NAME - 1);
}

TEST(a_record_goes_both_ways)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct json_writer w = JSON_WRITER(&out);
    struct car car = {0};

    CHECK_OK(read_text(&mem, full, &car, &test_err));
    fields_write_object(&w, NULL, car_fields, &car);

    CHECK_STR(out.data, full);
    CHECK_EQ(car.total_km, INT64_C(9007199254740993));
    CHECK_EQ(car.colour, 2);
    CHECK_EQ(car.tags.count, 3);
    CHECK_STR(((struct wheel *)car.wheels.at)[1].maker, "n");
    CHECK(!car.has_price);
}

TEST(both_spellings_and_loose_numbers_are_read)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    struct car car = {0};

    CHECK_OK(read_text(&mem,
                       "{\"id\":\"7\",\"total_km\":3,\"weight\":\"NaN\",\"price\":12.0,"
                       "\"colour\":\"GREEN\",\"unknown\":[],\"name\":null}",
                       &car, &test_err));

    CHECK_EQ(car.id, 7);
    CHECK_EQ(car.total_km, 3);
    CHECK(isnan(car.weight));
    CHECK_EQ(car.price, 12);
    CHECK(car.has_price);
    CHECK_EQ(car.colour, 1);
    CHECK_NULL(car.name);
}

TEST(what_is_absent_stays_as_it_was)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    struct car car = {.total_km = 5, .name = "old"};

    CHECK_OK(read_text(&mem, "{\"id\":1}", &car, &test_err));

    CHECK_EQ(car.total_km, 5);
    CHECK_STR(car.name, "old");
}

TEST(failures_name_the_field_and_both_kinds)
{
    static const char *const rows[][2] = {
        {"{}", "'id' is required"},
        {"[]", "an object is expected, not a list"},
        {"{\"id\":\"x\"}", "'id' must be an integer, not a string"},
        {"{\"id\":1.5}", "'id' must be an integer, not a number"},
        {"{\"id\":1,\"totalKm\":true}", "'totalKm' must be an integer, not a boolean"},
        {"{\"id\":1,\"weight\":\"x\"}", "'weight' must be a number, not a string"},
        {"{\"id\":1,\"isSold\":1}", "'isSold' must be true or false, not an integer"},
        {"{\"id\":1,\"name\":[]}", "'name' must be a string, not a list"},
        {"{\"id\":1,\"name\":\"a\\u0000b\"}", "'name' must be a string without NUL"},
        {"{\"id\":1,\"builtAt\":\"now\"}", "'builtAt' must be a time like"},
        {"{\"id\":1,\"builtAt\":{}}", "'builtAt' must be a time, not an object"},
        {"{\"id\":1,\"colour\":\"PINK\"}",
         "'colour' must be COLOUR_RED, COLOUR_GREEN or COLOUR_BLUE, not 'PINK'"},
        {"{\"id\":1,\"colour\":3}", "not an integer"},
        {"{\"id\":1,\"tags\":\"a\"}", "'tags' must be a list of strings, not a string"},
        {"{\"id\":1,\"tags\":[1]}", "'tags' must be a list of strings only"},
        {"{\"id\":1,\"years\":[\"x\"]}", "'years' must be a list of integers only"},
        {"{\"id\":1,\"spare\":{\"size\":[]}}",
         "in 'spare': 'size' must be an integer, not a list"},
        {"{\"id\":1,\"spare\":1}", "'spare' must be an object, not an integer"},
        {"{\"id\":1,\"wheels\":[{\"maker\":1}]}",
         "in 'wheels': 'maker' must be a string, not an integer"},
        {"{\"id\":1,\"wheels\":[1]}", "'wheels' must be a list of objects only"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
        struct car car = {0};
        struct err err = {0};

        CHECK_EQ(read_text(&mem, rows[i][0], &car, &err), DET_INVALID);
        CHECK_HAS(err.text, rows[i][1]);
    }
}

static det_status read_param(struct arena *mem, const char *name, const char *text,
                             struct car *car)
{
    return fields_read_text(car_fields, name, text, mem, car, &test_err);
}

TEST(query_parameters_are_read_by_the_same_table)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    struct car car = {0};

    CHECK_OK(read_param(&mem, "id", "7", &car));
    CHECK_OK(read_param(&mem, "totalKm", "8", &car));
    CHECK_OK(read_param(&mem, "weight", "1e3", &car));
    CHECK_OK(read_param(&mem, "is_sold", "true", &car));
    CHECK_OK(read_param(&mem, "name", "a b", &car));
    CHECK_OK(read_param(&mem, "builtAt", "1970-01-01T00:00:01Z", &car));
    CHECK_OK(read_param(&mem, "config", "{\"a\" : 1}", &car));
    CHECK_OK(read_param(&mem, "extra", "[2]", &car));
    CHECK_OK(read_param(&mem, "colour", "COLOUR_GREEN", &car));
    CHECK_OK(read_param(&mem, "spare.size", "9", &car));
    CHECK_OK(read_param(&mem, "price", "3", &car));

    CHECK_EQ(car.id, 7);
    CHECK_EQ(car.total_km, 8);
    CHECK(car.weight == 1000);
    CHECK(car.is_sold);
    CHECK_STR(car.name, "a b");
    CHECK_EQ(car.built_at, 1000000);
    CHECK_STR(car.config, "{\"a\":1}");
    CHECK_EQ(car.extra->list.first->integer, 2);
    CHECK_EQ(car.colour, 1);
    CHECK_EQ(car.spare.size, 9);
    CHECK(car.has_price);
}

TEST(an_enum_may_be_given_by_its_number)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    struct car car = {.colour = 1};

    CHECK_OK(read_param(&mem, "colour", "0", &car));
    CHECK_EQ(car.colour, 0);
    CHECK_OK(read_param(&mem, "colour", "2", &car));
    CHECK_EQ(car.colour, 2);
    CHECK_EQ(read_param(&mem, "colour", "3", &car), DET_INVALID);
    CHECK_EQ(read_param(&mem, "colour", "-1", &car), DET_INVALID);
}

TEST(a_truth_in_a_query_is_a_word_or_a_digit)
{
    static const struct {
        const char *text;
        bool is;
    } rows[] = {{"true", true},   {"True", true},   {"1", true},
                {"false", false}, {"FALSE", false}, {"0", false}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
        struct car car = {.is_sold = !rows[i].is};

        CHECK_OK(read_param(&mem, "is_sold", rows[i].text, &car));
        CHECK_EQ(car.is_sold, rows[i].is);
    }
}

struct trip {
    bool is_before;
    bool has_wheel;
    bool is_behind;
    struct wheel wheel;
};

TEST(a_record_within_a_query_is_noted_as_there)
{
    static const struct field fields[] = {{.name = "wheel",
                                           .type = FIELD_RECORD,
                                           .offset = offsetof(struct trip, wheel),
                                           .of = wheel_fields,
                                           .size = sizeof(struct wheel),
                                           .has = offsetof(struct trip, has_wheel) + 1},
                                          FIELD_END};
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct json_writer w = JSON_WRITER(&out);
    struct trip trip = {0};

    CHECK_EQ(fields_read_text(fields, "wheel.size", "x", &mem, &trip, NULL),
             DET_INVALID);
    CHECK(!trip.has_wheel);
    CHECK_OK(fields_read_text(fields, "wheel.size", "9", &mem, &trip, &test_err));
    CHECK_EQ(trip.wheel.size, 9);
    CHECK(trip.has_wheel && !trip.is_before && !trip.is_behind);
    fields_write_object(&w, NULL, fields, &trip);
    CHECK_STR(out.data, "{\"wheel\":{\"size\":9,\"maker\":null}}");
    trip = (struct trip){.is_before = true, .is_behind = true};
    buf_clear(&out);
    w = (struct json_writer)JSON_WRITER(&out);
    fields_write_object(&w, NULL, fields, &trip);
    CHECK_STR(out.data, "{\"wheel\":null}");
}

TEST(repeated_query_parameters_gather)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    struct car car = {0};
    char text[16];

    CHECK_OK(read_text(&mem, "{\"id\":1,\"years\":[0,1,2]}", &car, &test_err));
    for (int i = 3; i < 100; i++) {
        snprintf(text, sizeof(text), "%d", i);
        CHECK_OK(read_param(&mem, "years", text, &car));
        CHECK_OK(read_param(&mem, "tags", text, &car));
    }

    CHECK_EQ(car.years.count, 100);
    for (int i = 0; i < 100; i++)
        CHECK_EQ(car.years.at[i], i);
    CHECK_EQ(car.tags.count, 97);
    CHECK_STR(car.tags.at[96], "99");
}

TEST(bad_query_parameters_are_named)
{
    CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
    struct car car = {0};

    CHECK_EQ(read_param(&mem, "none", "1", &car), DET_NOT_FOUND);
    CHECK_EQ(read_param(&mem, "none.size", "1", &car), DET_NOT_FOUND);
    CHECK_EQ(read_param(&mem, "spare.none", "1", &car), DET_NOT_FOUND);
    CHECK_EQ(read_param(&mem, "id", "x", &car), DET_INVALID);
    CHECK_STR(test_err.text, "'id' must be an integer, not 'x'");
    CHECK_EQ(read_param(&mem, "isSold", "maybe", &car), DET_INVALID);
    CHECK_STR(test_err.text, "'isSold' must be true or false, not 'maybe'");
    CHECK_EQ(read_param(&mem, "config", "{", &car), DET_INVALID);
    CHECK_HAS(test_err.text, "'config': line 1, column 2");
    CHECK_EQ(read_param(&mem, "wheels", "1", &car), DET_INVALID);
    CHECK_EQ(read_param(&mem, "years", "x", &car), DET_INVALID);
}

TEST(an_unknown_enum_value_is_written_as_null)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT;
    struct json_writer w = JSON_WRITER(&out);
    static const struct field fields[] = {
        FIELD_AS_ENUM(car, colour, colour_names, "COLOUR_", "how it looks"),
        FIELD_END,
    };
    struct car car = {.colour = 3};

    fields_write_object(&w, NULL, fields, &car);

    CHECK_STR(out.data, "{\"colour\":null}");
}

TEST(reading_survives_every_failed_allocation)
{
    EACH_ALLOCATION_FAILS() {
        CLEANUP(arena_done) struct arena mem = ARENA_INIT(1 << 16);
        struct car car = {0};
        det_status st = read_text(&mem, full, &car, NULL);

        if (!st)
            st = fields_read_text(car_fields, "tags", "d", &mem, &car, NULL);
        if (!st)
            st = fields_read_text(car_fields, "config", "[1]", &mem, &car, NULL);

        CHECK_EQ(st, fault_fired() ? DET_NOMEM : DET_OK);
    }
}
