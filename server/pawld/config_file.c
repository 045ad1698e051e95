/* Settings from a file (libinih) and from the environment. */
#include "server/pawld/password.h"
#include "server/pawld/settings.h"
#include "server/system/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ini.h>

enum {
    TAKEN = 1, /* the result of a handler of libinih */
    REFUSED = 0,
    NAME_SHOWN_MAX = 64, /* bytes of an unknown name that an error shows */
    LINES_MAX = 10000,   /* lines of a file. Parts of a long line count, too: a device has no end */
};

#define TOO_MANY_LINES "this is not a settings file: the file has more than 10000 lines"

static char kept_texts[PAWLD_KEPT_MAX];
static size_t kept_used;

void pawld_drop_texts(void)
{
    explicit_bzero(kept_texts, kept_used);
    kept_used = 0;
}

char *pawld_keep_text(const char *text)
{
    const size_t size = strlen(text) + 1;
    if (size > sizeof(kept_texts) - kept_used) {
        (void)server_options_error(
            "the file and the environment have more than %d bytes of settings", PAWLD_KEPT_MAX);
        return NULL;
    }
    char *copy = memcpy(kept_texts + kept_used, text, size);
    kept_used += size;
    return copy;
}

/* ---- the file -------------------------------------------------------------------------------- */

struct config_reader {
    const char *path;
    enum pawld_command command;
    struct pawld_options *options;
    FILE *file;
    int line;      /* the last line that was read; libinih gives handlers no line number */
    int mistakes;  /* mistakes that were reported */
    bool too_long; /* the previous read ended within a line */
    int reads;     /* lines and parts of lines that were read */
    int error;     /* error of the last read; 0: none */
};

static void print_place(const struct config_reader *reader, const char *name,
                        char ret_label[static PAWLD_LABEL_MAX])
{
    (void)snprintf(ret_label, PAWLD_LABEL_MAX, "%.4000s:%d%s%.*s", reader->path, reader->line,
                   name[0] ? ": " : "", NAME_SHOWN_MAX, name);
}

/* Counts a mistake. Reports whether to print it: only the first PAWLD_MISTAKES_MAX are printed. */
static bool may_tell(struct config_reader *reader)
{
    return reader->mistakes++ < PAWLD_MISTAKES_MAX;
}

static void tell_mistake(struct config_reader *reader, const char *name, const char *what)
{
    char label[PAWLD_LABEL_MAX];
    print_place(reader, name, label);
    if (may_tell(reader))
        (void)server_options_error("%s: %s", label, what);
}

static bool is_of_another_command(const char *name)
{
    const struct pawld_setting *setting = pawld_setting_find(name, PAWLD_SERVE);
    return setting && !setting->only_option;
}

/* libinih calls this for each line with a name. */
static int take_line_of_config(void *context, const char *section, const char *name,
                               const char *value)
{
    struct config_reader *reader = context;
    const struct pawld_setting *setting = pawld_setting_find(name, reader->command);
    char label[PAWLD_LABEL_MAX];
    if (section[0] != '\0') {
        tell_mistake(
            reader, name,
            "a settings file has no sections. Remove the line in brackets before this line");
        return TAKEN;
    }
    if ((!setting || setting->only_option) && is_of_another_command(name))
        return TAKEN;
    if (!setting || setting->only_option) {
        tell_mistake(reader, name,
                     "no such setting. pawld --sample prints a file with all settings");
        return TAKEN;
    }
    char *kept = pawld_keep_text(value);
    if (!kept)
        return REFUSED;
    print_place(reader, name, label);
    if (pawld_setting_set(setting, reader->options, PAWLD_BY_FILE, label, kept) != 0)
        (void)may_tell(reader);
    return TAKEN;
}

/* Reads a line for libinih, which would take the rest of a longer line for another line. */
static char *read_line_of_config(char *line, int size, void *context)
{
    struct config_reader *reader = context;
    if (reader->reads++ == LINES_MAX) {
        tell_mistake(reader, "", TOO_MANY_LINES);
        return NULL;
    }
    if (!fgets(line, size, reader->file)) {
        reader->error = ferror(reader->file) != 0 ? errno : 0;
        return NULL;
    }
    const size_t len = strlen(line);
    const bool whole = len > 0 && line[len - 1] == '\n';
    reader->line += !reader->too_long;
    if (!reader->too_long && !whole && !feof(reader->file))
        tell_mistake(reader, "", "a line has at most 198 bytes");
    if (!whole && feof(reader->file))
        tell_mistake(reader, "", SERVER_HALF_WRITTEN);
    if (reader->too_long || (!whole && !feof(reader->file)))
        line[0] = '\0';
    reader->too_long = !whole;
    return line;
}

error_t pawld_settings_of_file(const char *path, enum pawld_command command,
                               struct pawld_options *options)
{
    struct config_reader reader = {.path = path, .command = command, .options = options};
    reader.file = fopen(path, "re");
    if (!reader.file)
        return server_options_error("cannot read %s: %s", path, strerror(errno));
    const int result = ini_parse_stream(read_line_of_config, &reader, take_line_of_config, &reader);
    (void)fclose(reader.file);
    if (reader.error != 0)
        return server_options_error("cannot read %s: %s", path, strerror(reader.error));
    if (result > 0 && reader.mistakes == 0) {
        reader.line = result;
        tell_mistake(&reader, "", "the line is no setting (name = value) and no comment (# text)");
    }
    if (reader.mistakes > PAWLD_MISTAKES_MAX)
        return server_options_error("%s: %d more mistakes", path,
                                    reader.mistakes - PAWLD_MISTAKES_MAX);
    return result != 0 || reader.mistakes > 0 ? SERVER_OPTIONS_TOLD : 0;
}

/* ---- the environment ------------------------------------------------------------------------- */

/* Sets a variable. For a list, each word is an item. */
static error_t take_variable(const struct pawld_setting *setting, struct pawld_options *options,
                             const char *variable, char *value)
{
    const bool is_list = setting->kind == PAWLD_TEXTS || setting->kind == PAWLD_URLS;
    char *copy = pawld_keep_text(value);
    char *rest = NULL;
    error_t error = copy ? 0 : ENOMEM;
    if (setting->kind == PAWLD_URLS)
        explicit_bzero(value, strlen(value)); /* it may hold passwords */
    if (!is_list)
        return error ? error
                     : pawld_setting_set(setting, options, PAWLD_BY_VARIABLE, variable, copy);
    for (char *word = copy ? strtok_r(copy, " \t\n", &rest) : NULL; word && !error;
         word = strtok_r(NULL, " \t\n", &rest))
        error = pawld_setting_set(setting, options, PAWLD_BY_VARIABLE, variable, word);
    return error;
}

error_t pawld_settings_of_environment(enum pawld_command command, struct pawld_options *options)
{
    error_t error = 0;
    for (size_t i = 0; i < pawld_settings_count && !error; i++) {
        const struct pawld_setting *setting = &pawld_settings[i];
        char variable[PAWLD_VARIABLE_MAX];
        if (!(setting->commands & command) || setting->only_option)
            continue;
        pawld_setting_variable(setting, variable);
        char *value = getenv(variable);
        if (value && value[0] != '\0')
            error = take_variable(setting, options, variable, value);
    }
    return error;
}
