/* SPDX-License-Identifier: Apache-2.0 */
/* parse.c - see parse.h.
 *
 *   det [global options] NOUN [VERB...] [options] [arguments]
 *
 * Words are matched against nouns and verbs until they name a row of commands.c.  Before
 * that only global options are allowed.  After it options and arguments may be mixed;
 * "--" ends the options. */
#include "cli/frame/parse.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/rng.h"
#include "cli/frame/command_row.h"
#include "cli/frame/commands.h"
#include "cli/frame/options.h"
#include "cli/options/option_tables.h"
#include "data/text.h"
#include "model/field.h"

enum { MEM_LIMIT = 64 << 20, CANDIDATES = 128 };

struct parser {
    int argc;
    char **argv;
    int at;
    struct cli_invocation *in;
    const char *partial; /* the first word of a verb of two words; NULL: not yet */
    bool options_are_over;
    struct err *err;
};

/* ---- tables ---------------------------------------------------------------------- */

bool cli_global_applies(const struct cli_opt *opt, const struct cli_command *command)
{
    unsigned flags = command ? command->flags : 0;

    switch (opt->letter) {
    case 'm':
    case 'u':
        return !command || flags & CLI_CALLS;
    case 'h':
        return true;
    default:
        break;
    }
    if (!strcmp(opt->name, "json"))
        return flags & (CLI_LISTS | CLI_SHOWS);
    if (!strcmp(opt->name, "csv"))
        return flags & CLI_LISTS;
    if (!strcmp(opt->name, "local"))
        return flags & CLI_LOCAL;
    return !command; /* --version */
}

void cli_arity(const char *synopsis, size_t *ret_least, size_t *ret_most)
{
    *ret_least = *ret_most = 0;
    for (const char *at = synopsis; *at;) {
        size_t len = strcspn(at, " ");

        *ret_least += *at != '[';
        if (*ret_most != SIZE_MAX)
            (*ret_most)++;
        if (len > 3 && memmem(at, len, "...", 3))
            *ret_most = SIZE_MAX;
        at += len;
        at += strspn(at, " ");
    }
}

const char *cli_command_words(const struct cli_command *command, struct arena *mem)
{
    if (!command->verb)
        return command->noun;
    return arena_printf(mem, "%s %s", command->noun, command->verb);
}

static const struct cli_noun *noun_of(const char *word)
{
    for (const struct cli_noun *noun = cli_nouns; noun->name; noun++)
        if (!strcmp(noun->name, word) || (noun->alias && !strcmp(noun->alias, word)))
            return noun;
    return NULL;
}

static bool has_word(const char *words, const char *word)
{
    size_t len = strlen(word);

    while (words && *words) {
        size_t here = strcspn(words, " ");

        if (here == len && !memcmp(words, word, len))
            return true;
        words += here;
        words += strspn(words, " ");
    }
    return false;
}

static const struct cli_command *command_of(const char *noun, const char *verb)
{
    for (const struct cli_command *c = cli_commands; c->noun; c++) {
        if (strcmp(c->noun, noun))
            continue;
        if (!c->verb ? !verb
                     : verb && (!strcmp(c->verb, verb) || has_word(c->aliases, verb)))
            return c;
    }
    return NULL;
}

static bool is_first_of_verb(const char *noun, const char *word)
{
    size_t len = strlen(word);

    for (const struct cli_command *c = cli_commands; c->noun; c++)
        if (!strcmp(c->noun, noun) && c->verb && !strncmp(c->verb, word, len) &&
            c->verb[len] == ' ')
            return true;
    return false;
}

/* ---- suggestions ----------------------------------------------------------------- */

/* Fails for a command or option that Determined has and det has not; DET_OK for others. */
static det_status refuse_missing(struct parser *p, const char *words,
                                 const char *option)
{
    for (const struct cli_missing *row = cli_missing; words && row->words; row++) {
        if (strcmp(row->words, words) || !row->option != !option)
            continue;
        if (!option)
            return err_set(p->err, DET_UNSUPPORTED, "'det %s' is not built\nhint: %s",
                           words, row->instead);
        if (!strcmp(row->option, option))
            return err_set(p->err, DET_UNSUPPORTED,
                           "'det %s --%s' is not built\nhint: %s", words, option,
                           row->instead);
    }
    return DET_OK;
}

static det_status unknown_noun(struct parser *p, const char *word)
{
    const char *names[CANDIDATES] = {0};
    const char *nearest;
    size_t count = 0;
    det_status st = refuse_missing(p, word, NULL);

    if (st)
        return st;
    for (const struct cli_noun *noun = cli_nouns; noun->name; noun++)
        if (strcmp(noun->name, "internal"))
            names[count++] = noun->name;
    assert(count < CANDIDATES); /* the list ends with NULL */
    nearest = nearest_word(word, names);
    if (nearest)
        return err_set(p->err, DET_INVALID,
                       "there is no command '%s'\nhint: did you mean 'det %s'?", word,
                       nearest);
    return err_set(p->err, DET_INVALID,
                   "there is no command '%s'\nhint: 'det --help' lists all commands",
                   word);
}

/* "unpause" is not a slip for "pause". */
static bool is_opposite(const char *a, const char *b)
{
    return (!strncmp(a, "un", 2) && !strcmp(a + 2, b)) ||
           (!strncmp(b, "un", 2) && !strcmp(b + 2, a));
}

/* Words of other programs for our commands. */
static const struct {
    const char *word;
    const char *verb;
} synonyms[] = {
    {"info", "describe"},   {"ls", "list"},     {"remove", "delete"},
    {"resume", "activate"}, {"rm", "delete"},   {"run", "create"},
    {"show", "describe"},   {"stop", "cancel"}, {"stop", "kill"},
    {"submit", "create"},
};

/* The verb of this noun that another program would call `word`, or NULL. */
static const char *find_synonym(const char *const *verbs, const char *word)
{
    for (size_t i = 0; i < ARRAY_LEN(synonyms); i++)
        for (size_t v = 0; !strcmp(synonyms[i].word, word) && verbs[v]; v++)
            if (!strcmp(verbs[v], synonyms[i].verb))
                return verbs[v];
    return NULL;
}

static det_status unknown_verb(struct parser *p, const char *verb)
{
    const char *names[CANDIDATES] = {0};
    const char *noun = p->in->noun;
    const char *nearest;
    size_t count = 0;
    det_status st =
        refuse_missing(p, arena_printf(&p->in->mem, "%s %s", noun, verb), NULL);

    if (st)
        return st;
    for (const struct cli_command *c = cli_commands; c->noun; c++)
        if (!strcmp(c->noun, noun) && c->verb && !(c->flags & CLI_HIDDEN) &&
            !is_opposite(c->verb, verb))
            names[count++] = c->verb;
    assert(count < CANDIDATES);
    nearest = find_synonym(names, verb);
    if (!nearest)
        nearest = nearest_word(verb, names);
    if (nearest)
        return err_set(p->err, DET_INVALID,
                       "'det %s' has no command '%s'\nhint: did you mean 'det %s %s'?",
                       noun, verb, noun, nearest);
    return err_set(
        p->err, DET_INVALID,
        "'det %s' has no command '%s'\nhint: 'det %s --help' lists its commands", noun,
        verb, noun);
}

static size_t add_names(const struct cli_opt *opts, const struct cli_command *command,
                        const char **names, size_t count, struct arena *mem)
{
    for (; opts && opts->kind && count + 1 < CANDIDATES; opts++)
        if (opts->offset != UINT32_MAX &&
            (!command || cli_global_applies(opts, command)))
            names[count++] = arena_printf(mem, "--%s", opts->name);
    return count;
}

static det_status unknown_option(struct parser *p, const char *option)
{
    const struct cli_command *command = p->in->command;
    const char *names[CANDIDATES] = {0};
    const char *words = command ? cli_command_words(command, &p->in->mem) : NULL;
    const char *nearest;
    size_t count =
        add_names(command ? command->opts : NULL, NULL, names, 0, &p->in->mem);
    det_status st =
        strncmp(option, "--", 2) ? DET_OK : refuse_missing(p, words, option + 2);

    if (st)
        return st;
    count = add_names(cli_global_opts, command, names, count, &p->in->mem);
    if (p->in->mem.has_failed)
        return err_default(p->err, DET_NOMEM);
    nearest = nearest_word(option, names);
    if (nearest)
        return err_set(p->err, DET_INVALID,
                       "'det%s%s' has no option '%s'\nhint: did you mean '%s'?",
                       words ? " " : "", words ? words : "", option, nearest);
    return err_set(p->err, DET_INVALID,
                   "'det%s%s' has no option '%s'\nhint: 'det%s%s --help' lists them",
                   words ? " " : "", words ? words : "", option, words ? " " : "",
                   words ? words : "");
}

/* ---- values ---------------------------------------------------------------------- */

static bool text_add(struct arena *mem, struct field_strs *list, const char *text,
                     size_t len)
{
    const char **at = arena_array(mem, const char *, list->count + 1);
    char *copy = arena_strndup(mem, text, len);

    if (!at || !copy)
        return false;
    if (list->count)
        memcpy(at, list->at, list->count * sizeof(*at));
    at[list->count++] = copy;
    list->at = at;
    return true;
}

static bool texts_add(struct arena *mem, struct field_strs *list, const char *text)
{
    for (;;) {
        size_t len = strcspn(text, ",");

        if (len && !text_add(mem, list, text, len))
            return false;
        if (!text[len])
            return true;
        text += len + 1;
    }
}

static det_status check_choice(const struct cli_opt *opt, const char *text,
                               const char **ret_text, struct err *err)
{
    char all[256] = "";

    *ret_text = text;
    if (!opt->choices)
        return DET_OK;
    for (const char *const *choice = opt->choices; *choice; choice++) {
        if (!strcasecmp(*choice, text)) {
            *ret_text = *choice;
            return DET_OK;
        }
        snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s",
                 choice == opt->choices ? "" : ", ", *choice);
    }
    return err_set(err, DET_INVALID, "--%s is '%s'; expected one of %s", opt->name,
                   text, all);
}

/* A whole number of any size: if it was not accepted, its size is the problem. */
static bool is_whole(const char *text)
{
    text += *text == '-' || *text == '+';
    return *text && !text[strspn(text, "0123456789")];
}

static det_status set_number(const struct cli_opt *opt, const char *text, int64_t *to,
                             struct err *err)
{
    bool is_bounded = opt->min || opt->max;
    int64_t min = is_bounded ? opt->min : INT64_MIN;
    int64_t max = is_bounded ? opt->max : INT64_MAX;
    int64_t value = 0;
    bool is_read = parse_i64(text, &value);

    if (is_read && value >= min && value <= max) {
        *to = value;
        return DET_OK;
    }
    if (is_bounded && max < 1000000000)
        return err_set(err, DET_INVALID,
                       "--%s is '%s'; expected a whole number from %lld to %lld",
                       opt->name, text, (long long)min, (long long)max);
    if (is_read ? value > max : is_whole(text) && *text != '-')
        return err_set(err, DET_INVALID, "--%s is '%s'; expected at most %lld",
                       opt->name, text, (long long)max);
    if (!is_bounded)
        return err_set(err, DET_INVALID, "--%s is '%s'; expected a whole number",
                       opt->name, text);
    return err_set(err, DET_INVALID, "--%s is '%s'; expected a whole number >= %lld",
                   opt->name, text, (long long)min);
}

static det_status set_value(struct parser *p, const struct cli_opt *opt, void *options,
                            const char *text)
{
    void *to = (char *)options + opt->offset;
    det_status st = DET_OK;

    switch (opt->kind) {
    case OPT_FLAG:
        *(bool *)to = true;
        return DET_OK;
    case OPT_NUMBER:
        return set_number(opt, text, to, p->err);
    case OPT_REAL:
        if (!parse_real(text, to))
            return err_set(p->err, DET_INVALID, "--%s is '%s'; expected a number",
                           opt->name, text);
        return DET_OK;
    case OPT_TEXT:
        return check_choice(opt, text, to, p->err);
    case OPT_TEXTS:
        st = check_choice(opt, text, &text, p->err);
        if (!st && !texts_add(&p->in->mem, to, text))
            st = err_default(p->err, DET_NOMEM);
        return st;
    case OPT_PAIRS:
        return text_add(&p->in->mem, to, text, strlen(text))
                   ? DET_OK
                   : err_default(p->err, DET_NOMEM);
    case OPT_END:
        break;
    }
    assert(!"the end of a table is not an option");
    return DET_INVALID;
}

/* Makes the options struct and sets the defaults. */
static det_status prepare_options(struct parser *p, const struct cli_command *command)
{
    char *options;
    det_status st = DET_OK;

    if (!command->opts_size)
        return DET_OK;
    options = arena_alloc(&p->in->mem, command->opts_size);
    if (!options)
        return err_default(p->err, DET_NOMEM);
    for (const struct cli_opt *opt = command->opts; opt->kind && !st; opt++) {
        if (opt->kind == OPT_NUMBER)
            *(int64_t *)(void *)(options + opt->offset) = CLI_UNSET;
        if (opt->kind == OPT_REAL)
            *(double *)(void *)(options + opt->offset) = NAN;
        if (opt->def)
            st = set_value(p, opt, options, opt->def);
    }
    p->in->options = options;
    return st;
}

/* ---- options --------------------------------------------------------------------- */

/* '-' and '_' are equal in names. */
static bool is_same_name(const char *a, const char *b, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if ((a[i] == '_' ? '-' : a[i]) != (b[i] == '_' ? '-' : b[i]))
            return false;
    return true;
}

static bool is_named(const struct cli_opt *opt, const char *name, size_t len)
{
    if (strlen(opt->name) == len && is_same_name(opt->name, name, len))
        return true;
    for (const char *also = opt->also; also && *also;) {
        size_t here = strcspn(also, " ");

        if (here == len && is_same_name(also, name, len))
            return true;
        also += here + strspn(also + here, " ");
    }
    return false;
}

static const struct cli_opt *find_in(const struct cli_opt *opts, const char *name,
                                     size_t len, char letter)
{
    for (; opts && opts->kind; opts++)
        if (letter ? opts->letter == letter : is_named(opts, name, len))
            return opts;
    return NULL;
}

/* The command's own options come before the global ones. */
static const struct cli_opt *find_option(struct parser *p, const char *name, size_t len,
                                         char letter, void **ret_options)
{
    const struct cli_command *command = p->in->command;
    const struct cli_opt *opt = NULL;

    if (command)
        opt = find_in(command->opts, name, len, letter);
    *ret_options = p->in->options;
    if (!opt) {
        opt = find_in(cli_global_opts, name, len, letter);
        *ret_options = &p->in->globals;
    }
    return opt;
}

static det_status store_option(struct parser *p, const struct cli_opt *opt,
                               void *options, const char *value)
{
    if (opt->is_optional && !value)
        value = "";
    if (opt->kind != OPT_FLAG && !value) {
        if (p->at >= p->argc)
            return err_set(p->err, DET_INVALID, "--%s needs a value: %s", opt->name,
                           opt->value);
        value = p->argv[p->at++];
    }
    if (opt->has)
        *(bool *)((char *)options + opt->has - 1) = true;
    return set_value(p, opt, options, value);
}

static det_status parse_long_option(struct parser *p, const char *word)
{
    const char *name = word + 2;
    size_t len = strcspn(name, "=");
    const char *value = name[len] ? name + len + 1 : NULL;
    void *options;
    const struct cli_opt *opt = find_option(p, name, len, 0, &options);

    if (!opt) {
        const char *option = arena_strndup(&p->in->mem, word, len + 2);

        return option ? unknown_option(p, option) : err_default(p->err, DET_NOMEM);
    }
    if (opt->kind == OPT_FLAG && value)
        return err_set(p->err, DET_INVALID, "--%s takes no value", opt->name);
    return store_option(p, opt, options, value);
}

/* "-af" is "-a -f"; "-ofile" is "-o file"; "-rp" may be one option. */
static det_status parse_short_options(struct parser *p, const char *word)
{
    void *own;
    const struct cli_opt *whole = find_option(p, word, strlen(word), 0, &own);
    det_status st = DET_OK;

    if (whole)
        return store_option(p, whole, own, NULL);

    for (const char *at = word + 1; *at && !st; at++) {
        void *options;
        const struct cli_opt *opt = find_option(p, NULL, 0, *at, &options);
        char option[3] = {'-', *at, '\0'};

        if (!opt)
            return unknown_option(p, option);
        if (opt->kind != OPT_FLAG)
            return store_option(p, opt, options, at[1] ? at + 1 : NULL);
        st = store_option(p, opt, options, NULL);
    }
    return st;
}

/* ---- words ----------------------------------------------------------------------- */

static det_status parse_command_word(struct parser *p, const char *word)
{
    struct cli_invocation *in = p->in;
    const char *verb = word;
    const struct cli_noun *noun;

    if (!in->noun) {
        if (!strcmp(word, "help")) {
            in->globals.wants_help = true;
            return DET_OK;
        }
        noun = noun_of(word);
        if (!noun)
            return unknown_noun(p, word);
        in->noun = noun->name;
        in->command = command_of(in->noun, NULL);
        return in->command ? prepare_options(p, in->command) : DET_OK;
    }
    if (p->partial)
        verb = arena_printf(&in->mem, "%s %s", p->partial, word);
    else if (is_first_of_verb(in->noun, word)) {
        p->partial = word;
        return DET_OK;
    }
    if (!verb)
        return err_default(p->err, DET_NOMEM);
    in->command = command_of(in->noun, verb);
    return in->command ? prepare_options(p, in->command) : unknown_verb(p, verb);
}

static bool is_negative_number(const char *word)
{
    return word[0] == '-' && ((word[1] >= '0' && word[1] <= '9') || word[1] == '.');
}

static det_status parse_word(struct parser *p, char *word)
{
    bool is_option =
        !p->options_are_over && word[0] == '-' && word[1] && !is_negative_number(word);

    if (is_option && !strcmp(word, "--")) {
        p->options_are_over = true;
        return DET_OK;
    }
    if (is_option)
        return word[1] == '-' ? parse_long_option(p, word)
                              : parse_short_options(p, word);
    if (!p->in->command)
        return parse_command_word(p, word);
    if (!strncmp(p->in->command->synopsis, "UUID", 4) && uuid_is_valid(word)) {
        word = arena_strdup(&p->in->mem, word);
        if (!word)
            return err_default(p->err, DET_NOMEM);
        for (char *at = word; *at; at++) /* the master writes them in lower case */
            *at = (char)tolower((unsigned char)*at);
    }
    assert(p->in->arg_count < (size_t)p->argc);
    p->in->args[p->in->arg_count++] = word;
    return DET_OK;
}

/* ---- the whole line -------------------------------------------------------------- */

/* The word of the synopsis for the missing argument: "CONFIG". */
static const char *missing_word(struct parser *p, const char *synopsis)
{
    for (size_t i = 0; i < p->in->arg_count; i++) {
        synopsis += strcspn(synopsis, " ");
        synopsis += strspn(synopsis, " ");
    }
    return arena_strndup(&p->in->mem, synopsis, strcspn(synopsis, " ."));
}

static det_status check_arity(struct parser *p)
{
    const struct cli_command *command = p->in->command;
    const char *words = cli_command_words(command, &p->in->mem);
    const char *missing;
    size_t least, most;

    if (!words)
        return err_default(p->err, DET_NOMEM);
    cli_arity(command->synopsis, &least, &most);
    if (p->in->arg_count > most)
        return err_set(p->err, DET_INVALID,
                       "unexpected argument '%s'\nhint: det %s%s%s", p->in->args[most],
                       words, *command->synopsis ? " " : "", command->synopsis);
    if (p->in->arg_count >= least)
        return DET_OK;
    missing = missing_word(p, command->synopsis);
    if (!missing)
        return err_default(p->err, DET_NOMEM);
    return err_set(p->err, DET_INVALID, "'det %s' needs %s\nhint: det %s %s", words,
                   missing, words, command->synopsis);
}

static det_status check_format(struct parser *p)
{
    const struct cli_globals *globals = &p->in->globals;
    const struct cli_command *command = p->in->command;

    if (globals->wants_json && !(command->flags & (CLI_LISTS | CLI_SHOWS)))
        return unknown_option(p, "--json");
    if (globals->wants_csv && !(command->flags & CLI_LISTS))
        return unknown_option(p, "--csv");
    if (globals->local && !(command->flags & CLI_LOCAL))
        return unknown_option(p, "--local");
    if (globals->wants_csv && globals->wants_json)
        return err_set(p->err, DET_INVALID, "--json and --csv cannot be used together");
    p->in->format = globals->wants_csv    ? CLI_CSV
                    : globals->wants_json ? CLI_JSON
                                          : CLI_TEXT;
    return DET_OK;
}

static det_status check_end(struct parser *p)
{
    struct cli_invocation *in = p->in;
    det_status st;

    if (in->globals.wants_help || in->globals.wants_version)
        return DET_OK;
    if (!in->command) { /* "det" or "det experiment": show its help */
        in->globals.wants_help = true;
        return DET_OK;
    }
    st = check_arity(p);
    return st ? st : check_format(p);
}

det_status cli_parse(int argc, char **argv, struct cli_invocation *ret, struct err *err)
{
    struct parser p = {.argc = argc, .argv = argv, .at = 1, .in = ret, .err = err};
    det_status st = DET_OK;

    *ret = (struct cli_invocation){.mem = ARENA_INIT(MEM_LIMIT)};
    ret->args = arena_array(&ret->mem, const char *, (size_t)MAX(argc, 1));
    if (!ret->args)
        return err_default(err, DET_NOMEM);
    while (!st && p.at < argc)
        st = parse_word(&p, argv[p.at++]);
    return st ? st : check_end(&p);
}

void cli_invocation_done(struct cli_invocation *in)
{
    arena_done(&in->mem);
}

bool cli_is_role(const struct cli_invocation *in)
{
    return in->command && in->command->flags & CLI_ROLE;
}

const char *cli_words(const struct cli_invocation *in)
{
    const char *words;

    if (!in->command)
        return "";
    words = cli_command_words(in->command, (struct arena *)(uintptr_t)&in->mem);
    return words ? words : "";
}
