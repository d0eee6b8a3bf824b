/* SPDX-License-Identifier: Apache-2.0 */
/* completion.c - prints completion scripts from the tables of commands.
 *
 * bash and zsh share one function (zsh through bashcompinit).  It drops the options
 * before the cursor and looks up the other words in one `case`; ids come from
 * `det internal complete` (complete_ids.c).  fish gets one line per
 * noun, verb and option, with the words that must come before it. */
#include "cli/help/completion.h"

#include <string.h>

#include "base/compiler.h"
#include "base/memory/buf.h"
#include "cli/frame/cli.h"
#include "cli/frame/command_functions.h"
#include "cli/frame/command_row.h"
#include "cli/frame/commands.h"
#include "cli/help/complete_ids.h"
#include "cli/options/option_tables.h"

static bool is_shown(const struct cli_command *command)
{
    return !(command->flags & CLI_HIDDEN);
}

static bool takes_files(const struct cli_command *command)
{
    static const char *const words[] = {"CONFIG", "CONTEXT", "FILE", "DIR"};

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strstr(command->synopsis, words[i]))
            return true;
    return false;
}

static const struct cli_noun *noun_row(const char *name)
{
    const struct cli_noun *row = cli_nouns;

    while (row->name && strcmp(row->name, name))
        row++;
    return row;
}

static bool noun_is_shown(const struct cli_noun *noun)
{
    for (const struct cli_command *c = cli_commands; c->noun; c++)
        if (!strcmp(c->noun, noun->name) && is_shown(c))
            return true;
    return false;
}

/* ---- bash and zsh ---------------------------------------------------------------- */

static void put_alternative(struct buf *out, const char *noun, const char *verb,
                            bool with_arguments)
{
    buf_printf(out, "\" %s%s%s\"", noun, verb ? " " : "", verb ? verb : "");
    if (with_arguments)
        buf_printf(out, " | \" %s%s%s \"*", noun, verb ? " " : "", verb ? verb : "");
}

/* The pattern of a `case`: " experiment" | " e", each followed by `verb`.
 * `with_arguments`: more words may follow. */
static void put_pattern(struct buf *out, const char *noun, const char *verb,
                        bool with_arguments)
{
    const struct cli_noun *row = noun_row(noun);

    buf_puts(out, "    ");
    put_alternative(out, noun, verb, with_arguments);
    if (row->alias) {
        buf_puts(out, " | ");
        put_alternative(out, row->alias, verb, with_arguments);
    }
    buf_puts(out, ") ");
}

/* The verbs of a noun: their first words, or the words that follow `first`. */
static void put_verbs(struct buf *out, const char *noun, const char *first)
{
    size_t len = first ? strlen(first) : 0;
    const char *last = "";
    size_t last_len = 0;

    for (const struct cli_command *c = cli_commands; c->noun; c++) {
        const char *verb = c->verb;
        size_t here;

        if (strcmp(c->noun, noun) || !verb || !is_shown(c))
            continue;
        if (first) {
            if (strncmp(verb, first, len) || verb[len] != ' ')
                continue;
            verb += len + 1;
        }
        here = strcspn(verb, " ");
        if (here == last_len && !memcmp(verb, last, here))
            continue; /* "set name", "set priority": one word */
        buf_putc(out, ' ');
        buf_add(out, verb, here);
        last = verb;
        last_len = here;
    }
}

static const char *const *values_of(const struct cli_opt *opt)
{
    return opt->choices ? opt->choices : opt->offers;
}

static bool takes_file(const struct cli_opt *opt)
{
    return opt->value && (strstr(opt->value, "FILE") || strstr(opt->value, "DIR") ||
                          strstr(opt->value, "PATH"));
}

/* What may follow an option: "--level) list="TRACE ..."; ids=; files= ;;" */
static void put_option_values(struct buf *out, const struct cli_opt *opt)
{
    const char *kind = completion_value_kind(opt);
    const char *const *values = values_of(opt);

    if (!opt->value || opt->is_optional)
        return;
    buf_puts(out, "        ");
    if (opt->letter)
        buf_printf(out, "-%c | ", opt->letter);
    buf_printf(out, "--%s) list=\"", opt->name);
    for (; values && *values; values++)
        buf_printf(out, " %s", *values);
    buf_printf(out, "\"; ids=%s; files=%s ;;\n", kind ? kind : "",
               takes_file(opt) ? "1" : "");
}

static void put_values(struct buf *out, const struct cli_command *command)
{
    const char *kind = completion_kind(command);

    if (kind)
        buf_printf(out, "; ids=%s", kind);
    if (!command->opts)
        return;
    buf_puts(out, "\n        case \"$prev\" in\n");
    for (const struct cli_opt *opt = command->opts; opt->kind; opt++)
        put_option_values(out, opt);
    buf_puts(out, "        esac");
}

static void put_options(struct buf *out, const struct cli_command *command)
{
    for (const struct cli_opt *opt = command->opts; opt && opt->kind; opt++)
        buf_printf(out, " --%s", opt->name);
    for (const struct cli_opt *opt = cli_global_opts; opt->kind; opt++)
        if (cli_global_applies(opt, command))
            buf_printf(out, " --%s", opt->name);
}

static void bash_verbs(struct buf *out, const struct cli_noun *noun)
{
    if (!noun->summary || !noun_is_shown(noun))
        return;
    put_pattern(out, noun->name, NULL, false);
    buf_puts(out, "list=\"");
    put_verbs(out, noun->name, NULL);
    buf_puts(out, "\" ;;\n");
}

/* For "experiment label": the words that may follow. */
static void bash_second_words(struct buf *out)
{
    const char *last = "";
    size_t last_len = 0;

    for (const struct cli_command *c = cli_commands; c->noun; c++) {
        const char *space = c->verb ? strchr(c->verb, ' ') : NULL;
        size_t len = space ? (size_t)(space - c->verb) : 0;
        char first[32];

        if (!space || len >= sizeof(first) || !is_shown(c))
            continue;
        if (len == last_len && !memcmp(c->verb, last, len))
            continue;
        memcpy(first, c->verb, len);
        first[len] = '\0';
        put_pattern(out, c->noun, first, false);
        buf_puts(out, "list=\"");
        put_verbs(out, c->noun, first);
        buf_puts(out, "\" ;;\n");
        last = c->verb;
        last_len = len;
    }
}

/* Global options whose value is the next word: "-m | --master". */
static void put_value_options(struct buf *out)
{
    const char *between = "";

    for (const struct cli_opt *opt = cli_global_opts; opt->kind; opt++) {
        if (!opt->value || opt->is_optional)
            continue;
        buf_printf(out, "%s-%c | --%s", between, opt->letter, opt->name);
        between = " | ";
    }
}

static void bash_function(struct buf *out)
{
    buf_puts(out, "_det() {\n"
                  "    local cur=\"${COMP_WORDS[COMP_CWORD]}\" words=\"\" list=\"\" "
                  "files=\"\" ids=\"\" before=\"\" i\n"
                  "    local prev=\"${COMP_WORDS[COMP_CWORD - 1]}\"\n"
                  "    local -a master=()\n"
                  /* --state=PA: bash makes three words of it, zsh one */
                  "    [ \"$prev\" != = ] || prev=\"${COMP_WORDS[COMP_CWORD - 2]}\"\n"
                  "    case \"$cur\" in\n"
                  "    =) cur=\"\" ;;\n"
                  "    --*=*) prev=\"${cur%%=*}\" before=\"${cur%%=*}=\" "
                  "cur=\"${cur#*=}\" ;;\n"
                  "    esac\n"
                  "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
                  "        case \"${COMP_WORDS[i]}\" in\n"
                  "        ");
    put_value_options(out);
    buf_puts(out, ") master+=(\"${COMP_WORDS[i]}\" \"${COMP_WORDS[i + 1]}\")\n"
                  "            i=$((i + 1)) ;;\n"
                  "        -*) ;;\n"
                  "        *) words=\"$words ${COMP_WORDS[i]}\" ;;\n"
                  "        esac\n"
                  "    done\n"
                  "    case \"$words\" in\n"
                  "    \"\") list=\"");
    for (const struct cli_noun *noun = cli_nouns; noun->name; noun++)
        if (noun_is_shown(noun))
            buf_printf(out, " %s", noun->name);
    buf_puts(out, " --help --version\" ;;\n");
    for (const struct cli_noun *noun = cli_nouns; noun->name; noun++)
        bash_verbs(out, noun);
    bash_second_words(out);
    for (const struct cli_command *c = cli_commands; c->noun; c++) {
        if (!is_shown(c))
            continue;
        put_pattern(out, c->noun, c->verb, true);
        buf_puts(out, "list=\"");
        if (!strcmp(c->noun, "completion"))
            buf_puts(out, " bash zsh fish");
        put_options(out, c);
        buf_printf(out, "\"%s", takes_files(c) ? "; files=1" : "");
        put_values(out, c);
        buf_puts(out, " ;;\n");
    }
    buf_puts(out,
             "    esac\n"
             "    case \"$cur\" in\n"
             "    -*) ids=\"\" ;;\n"
             "    esac\n"
             "    [ -z \"$ids\" ] ||\n"
             "        list=\"$list $(det \"${master[@]}\" internal complete $ids "
             "2>/dev/null </dev/null)\"\n"
             "    COMPREPLY=($(compgen -P \"$before\" -W \"$list\" -- \"$cur\"))\n"
             "    if [ -n \"$files\" ]; then\n"
             "        case \"$cur\" in\n"
             "        -*) ;;\n"
             "        *) local IFS=$'\\n'\n"
             "            COMPREPLY+=($(compgen -P \"$before\" -f -- \"$cur\"))\n"
             "            type compopt >/dev/null 2>&1 && compopt -o filenames ;;\n"
             "        esac\n"
             "    fi\n"
             "}\n"
             "complete -o bashdefault -o default -F _det det\n");
}

/* ---- fish ------------------------------------------------------------------------ */

/* Text in single quotes. */
static void fish_text(struct buf *out, const char *text)
{
    buf_putc(out, '\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            buf_putc(out, '\\');
        buf_putc(out, *text);
    }
    buf_putc(out, '\'');
}

/* __det_words prints the words before the cursor, without options and their values, and
 * with the full name of the noun.  __det_at and __det_in compare them with words. */
static void fish_functions(struct buf *out)
{
    buf_puts(out, "function __det_words\n"
                  "    set -l words\n"
                  "    set -l skips no\n"
                  "    for word in (commandline -opc)[2..-1]\n"
                  "        if test $skips = yes\n"
                  "            set skips no\n"
                  "            continue\n"
                  "        end\n"
                  "        switch $word\n"
                  "            case");
    for (const struct cli_opt *opt = cli_global_opts; opt->kind; opt++)
        if (opt->value && !opt->is_optional)
            buf_printf(out, " -%c --%s", opt->letter, opt->name);
    buf_puts(out, "\n"
                  "                set skips yes\n"
                  "            case '-*'\n"
                  "            case '*'\n"
                  "                set -a words $word\n"
                  "        end\n"
                  "    end\n"
                  "    switch \"$words[1]\"\n");
    for (const struct cli_noun *noun = cli_nouns; noun->name; noun++)
        if (noun->alias)
            buf_printf(out, "        case %s\n            set words[1] %s\n",
                       noun->alias, noun->name);
    buf_puts(out, "    end\n"
                  "    string join \\n $words\n"
                  "end\n"
                  "function __det_at\n"
                  "    set -l words (__det_words)\n"
                  "    test \"$words\" = \"$argv\"\n"
                  "end\n"
                  "function __det_in\n"
                  "    set -l words (__det_words)\n"
                  "    string match -q -- \"$argv *\" \"$words \"\n"
                  "end\n"
                  "complete -c det -f\n");
}

/* "complete -c det -n '__det_in experiment create'" */
static void fish_where(struct buf *out, const char *question,
                       const struct cli_command *command)
{
    buf_printf(out, "complete -c det -n '%s %s%s%s'", question, command->noun,
               command->verb ? " " : "", command->verb ? command->verb : "");
}

static void fish_ids(struct buf *out, const char *kind)
{
    buf_printf(out, " -a '(det internal complete %s 2>/dev/null </dev/null)'", kind);
}

static void fish_option(struct buf *out, const struct cli_opt *opt)
{
    const char *kind = completion_value_kind(opt);
    const char *const *values = values_of(opt);

    buf_printf(out, " -l %s", opt->name);
    if (opt->letter)
        buf_printf(out, " -s %c", opt->letter);
    if (opt->value && !opt->is_optional)
        buf_puts(out, takes_file(opt) ? " -r -F" : " -x");
    if (kind)
        fish_ids(out, kind);
    if (values)
        buf_puts(out, " -a '");
    for (; values && *values; values++)
        buf_printf(out, "%s%s", *values, values[1] ? " " : "'");
    buf_puts(out, " -d ");
    fish_text(out, opt->help);
    buf_putc(out, '\n');
}

static bool applies_to_all(const struct cli_opt *opt)
{
    for (const struct cli_command *c = cli_commands; c->noun; c++)
        if (is_shown(c) && !cli_global_applies(opt, c))
            return false;
    return true;
}

static void fish_options(struct buf *out, const struct cli_command *command)
{
    for (const struct cli_opt *opt = command->opts; opt && opt->kind; opt++) {
        fish_where(out, "__det_in", command);
        fish_option(out, opt);
    }
    for (const struct cli_opt *opt = cli_global_opts; opt->kind; opt++) {
        if (!cli_global_applies(opt, command) || applies_to_all(opt))
            continue;
        fish_where(out, "__det_in", command);
        fish_option(out, opt);
    }
    if (takes_files(command)) {
        fish_where(out, "__det_in", command);
        buf_puts(out, " -F\n");
    }
    if (completion_kind(command)) {
        fish_where(out, "__det_in", command);
        fish_ids(out, completion_kind(command));
        buf_putc(out, '\n');
    }
}

/* Completes a verb after its noun.  Of a verb of two words, completes the second word
 * after the first. */
static void fish_verb(struct buf *out, const struct cli_command *command)
{
    const char *space = strchr(command->verb, ' ');
    int len = space ? (int)(space - command->verb) : 0;

    if (space)
        buf_printf(out, "complete -c det -n '__det_at %s' -a %.*s\n", command->noun,
                   len, command->verb);
    buf_printf(out, "complete -c det -n '__det_at %s%s%.*s' -a %s -d ", command->noun,
               space ? " " : "", len, command->verb, space ? space + 1 : command->verb);
    fish_text(out, command->summary);
    buf_putc(out, '\n');
}

static void fish_noun(struct buf *out, const struct cli_noun *noun)
{
    buf_printf(out, "complete -c det -n __det_at -a %s", noun->name);
    if (noun->summary) {
        buf_puts(out, " -d ");
        fish_text(out, noun->summary);
    }
    buf_putc(out, '\n');
}

static void fish_script(struct buf *out)
{
    fish_functions(out);
    for (const struct cli_noun *noun = cli_nouns; noun->name; noun++)
        if (noun_is_shown(noun))
            fish_noun(out, noun);
    for (const struct cli_opt *opt = cli_global_opts; opt->kind; opt++)
        if (applies_to_all(opt)) {
            buf_puts(out, "complete -c det");
            fish_option(out, opt);
        } else if (!strcmp(opt->name, "version")) {
            buf_puts(out, "complete -c det -n __det_at");
            fish_option(out, opt);
        }
    for (const struct cli_command *c = cli_commands; c->noun; c++) {
        if (!is_shown(c))
            continue;
        if (c->verb)
            fish_verb(out, c);
        fish_options(out, c);
    }
    buf_puts(out, "complete -c det -n '__det_at completion' -a 'bash zsh fish'\n");
}

det_status completion_write(const char *shell, struct buf *out, struct err *err)
{
    if (!strcmp(shell, "bash")) {
        bash_function(out);
    } else if (!strcmp(shell, "zsh")) {
        buf_puts(out, "autoload -U +X compinit && compinit\n"
                      "autoload -U +X bashcompinit && bashcompinit\n");
        bash_function(out);
    } else if (!strcmp(shell, "fish")) {
        fish_script(out);
    } else {
        return err_set(
            err, DET_INVALID,
            "there is no completion script for '%s'; expected bash, zsh or fish",
            shell);
    }
    return out->status ? err_default(err, out->status) : DET_OK;
}

det_status run_completion(struct cli *cli, const struct cli_invocation *in)
{
    return completion_write(in->args[0], &cli->out, cli->err);
}
