/* SPDX-License-Identifier: Apache-2.0 */
/* route_openapi.c - see route_openapi.h. */
#include "wire/route_openapi.h"

#include <stdio.h>
#include <string.h>

#include "base/memory/buf.h"
#include "data/json/json.h"
#include "model/field.h"
#include "wire/bodies.h"
#include "wire/route.h"

enum { PATH_TEXT = 256 };

static void write_schema(struct json_writer *w, const struct field *field);

static void write_properties(struct json_writer *w, const struct field *fields)
{
    jw_str(w, "type", "object");
    jw_object(w, "properties");
    for (; fields->name; fields++) {
        char name[FIELD_NAME];

        field_wire_name(fields->name, name);
        jw_object(w, name);
        write_schema(w, fields);
        jw_str(w, "description", fields->help);
        jw_end_object(w);
    }
    jw_end_object(w);
}

static const struct {
    const char *type;
    const char *format;
} schema_types[] = {
    [FIELD_I64] = {"integer", NULL},   [FIELD_I64_STR] = {"string", "int64"},
    [FIELD_F64] = {"number", NULL},    [FIELD_BOOL] = {"boolean", NULL},
    [FIELD_STR] = {"string", NULL},    [FIELD_TIME] = {"string", "date-time"},
    [FIELD_JSON] = {NULL, NULL},       [FIELD_TREE] = {NULL, NULL},
    [FIELD_ENUM] = {"string", NULL},   [FIELD_STRS] = {"array", NULL},
    [FIELD_I64S] = {"array", NULL},    [FIELD_RECORD] = {NULL, NULL},
    [FIELD_RECORDS] = {"array", NULL},
};

static void write_items(struct json_writer *w, const struct field *field)
{
    jw_object(w, "items");
    if (field->of)
        write_properties(w, field->of);
    else
        jw_str(w, "type", field->type == FIELD_I64S ? "integer" : "string");
    jw_end_object(w);
}

static void write_schema(struct json_writer *w, const struct field *field)
{
    if (field->type == FIELD_RECORD) {
        write_properties(w, field->of);
        return;
    }
    if (schema_types[field->type].type)
        jw_str(w, "type", schema_types[field->type].type);
    if (schema_types[field->type].format)
        jw_str(w, "format", schema_types[field->type].format);
    if (schema_types[field->type].type &&
        !strcmp(schema_types[field->type].type, "array"))
        write_items(w, field);
}

static void write_parameter(struct json_writer *w, const char *in, const char *name,
                            const struct field *field)
{
    jw_object(w, NULL);
    jw_str(w, "name", name);
    jw_str(w, "in", in);
    jw_bool(w, "required", !field);
    if (field)
        jw_str(w, "description", field->help);
    jw_object(w, "schema");
    if (field)
        write_schema(w, field);
    else
        jw_str(w, "type", "string");
    jw_end_object(w);
    jw_end_object(w);
}

static void write_parameters(struct json_writer *w, const struct route *route)
{
    char name[FIELD_NAME];

    jw_array(w, "parameters");
    for (const char *at = strchr(route->path, '{'); at; at = strchr(at + 1, '{')) {
        size_t len = strcspn(at + 1, ".}"); /* {name} or {name...} */

        memcpy(name, at + 1, len);
        name[len] = '\0';
        write_parameter(w, "path", name, NULL);
    }
    for (const struct field *f = route->query; f->name; f++) {
        field_wire_name(f->name, name);
        write_parameter(w, "query", name, f);
    }
    jw_end_array(w);
}

static void write_body(struct json_writer *w, const struct route *route)
{
    bool is_bytes = route->body == bytes_body_fields;

    if (!route->body->name && !is_bytes)
        return;
    jw_object(w, "requestBody");
    jw_object(w, "content");
    jw_object(w, is_bytes ? "application/octet-stream" : "application/json");
    jw_object(w, "schema");
    if (is_bytes) {
        jw_str(w, "type", "string");
        jw_str(w, "format", "binary");
    } else {
        write_properties(w, route->body);
    }
    jw_end_object(w);
    jw_end_object(w);
    jw_end_object(w);
    jw_end_object(w);
}

static void write_operation(struct json_writer *w, const struct route *route)
{
    static const char *const lower[] = {"get", "post", "put", "patch", "delete", "get"};

    jw_object(w, lower[route->method]);
    jw_str(w, "operationId", route->name);
    jw_str(w, "summary", route->summary);
    jw_str(w, "x-det-who", route_who_names[route->who]);
    if (route->permission != PERMISSION_NONE)
        jw_str(w, "x-det-permission", permissions[route->permission].name);
    write_parameters(w, route);
    write_body(w, route);
    jw_object(w, "responses");
    jw_object(w, "200");
    jw_str(w, "description", route->reply);
    jw_end_object(w);
    jw_end_object(w);
    jw_end_object(w);
}

static bool is_first_of_path(size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (!strcmp(routes[i].path, routes[at].path))
            return false;
    return true;
}

/* OpenAPI cannot express the rest of a path: "/x/{name...}" becomes "/x/{name}". */
static void plain_path(const char *path, char plain[PATH_TEXT])
{
    const char *dots = strstr(path, "...}");

    if (dots)
        snprintf(plain, PATH_TEXT, "%.*s}", (int)(dots - path), path);
    else
        snprintf(plain, PATH_TEXT, "%s", path);
}

void route_openapi_write(struct buf *out)
{
    struct json_writer w = JSON_WRITER(out);
    char path[PATH_TEXT];

    jw_object(&w, NULL);
    jw_str(&w, "openapi", "3.0.3");
    jw_object(&w, "info");
    jw_str(&w, "title", "det");
    jw_str(&w, "version", DET_VERSION);
    jw_end_object(&w);
    jw_object(&w, "paths");
    for (size_t i = 0; i < ROUTE_COUNT; i++) {
        if (!is_first_of_path(i))
            continue;
        plain_path(routes[i].path, path);
        jw_object(&w, path);
        for (size_t j = i; j < ROUTE_COUNT; j++)
            if (!strcmp(routes[j].path, routes[i].path))
                write_operation(&w, &routes[j]);
        jw_end_object(&w);
    }
    jw_end_object(&w);
    jw_end_object(&w);
}
