/* pawld's settings: one table for its options, its environment, its configuration file, --help,
 * --check and the sample of the file. A later source replaces the value of an earlier source:
 *
 *     the default < the file (max-waiters = 100) < PAWL_MAX_WAITERS=100 < --max-waiters 100
 *
 * A setting that may be given several times is replaced as a whole. To add a setting, add a row in
 * settings.c and a member in pawld.h. One thread, before anything else runs. */
#ifndef SERVER_PAWLD_SETTINGS_H
#define SERVER_PAWLD_SETTINGS_H

#include "server/pawld/pawld.h"

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pawld_kind {
    PAWLD_NUMBER,   /* uint32_t, min .. max */
    PAWLD_BIG,      /* int64_t, min .. max */
    PAWLD_DURATION, /* uint32_t milliseconds, min .. max; written 250ms, 10s or 5m */
    PAWLD_WORD,     /* int: which of the words */
    PAWLD_FLAG,     /* bool; an option without argument, yes or no elsewhere */
    PAWLD_TEXT,     /* const char * */
    PAWLD_TEXTS,    /* const char *[max], and how many there are */
    PAWLD_URLS,     /* struct storage_redis_url[max], and how many there are; secret in part */
};

/* Which commands have a setting. */
enum pawld_command {
    PAWLD_SERVE = 1,
    PAWLD_INIT = 2,
    PAWLD_MOVE = 4,
    PAWLD_EVERY = 7,
};

struct pawld_setting {
    const char *name;     /* "max-waiters" */
    const char *argument; /* as --help shows it; NULL for a flag */
    const char *help;     /* sentences; --help adds the default */
    const char *usual;    /* the default, as people write it; NULL: the help has it */
    enum pawld_kind kind;
    unsigned commands; /* bits of enum pawld_command */
    bool only_option;  /* an option for one run: not in the file or the environment */
    int64_t min, max;
    size_t at, count_at;      /* offsets in struct pawld_options */
    const char *const *words; /* PAWLD_WORD: NULL at the end */
    bool (*fits)(const char *text);
    const char *must; /* the requirement of fits(): "a name such as ..., " */
};

enum {
    PAWLD_SETTINGS_MAX = PAWLD_SETTINGS_ROOM, /* rows of the table */
    PAWLD_VARIABLE_MAX = 64,                  /* bytes of the name of a variable, terminated */
    PAWLD_KEPT_MAX = 64 * 1024,  /* bytes of the texts that a file and the environment give */
    PAWLD_LABEL_MAX = 64 + 4096, /* bytes of where a setting is, terminated */
    PAWLD_MISTAKES_MAX = 20,     /* mistakes in a file that are reported */
};

/* The sources of settings, the weakest first. */
enum pawld_layer {
    PAWLD_BY_DEFAULT,
    PAWLD_BY_FILE,
    PAWLD_BY_VARIABLE,
    PAWLD_BY_OPTION,
};

/* The table, and its length. */
extern const struct pawld_setting pawld_settings[];
extern const size_t pawld_settings_count;

/* Returns the row of @name for @command; NULL: there is none. */
const struct pawld_setting *pawld_setting_find(const char *name, enum pawld_command command);

/* "PAWL_MAX_WAITERS". */
void pawld_setting_variable(const struct pawld_setting *setting,
                            char ret_variable[static PAWLD_VARIABLE_MAX]);

/* Sets @setting to @text. The text comes from @layer, at @label ("--max-waiters", "pawld.conf:7:
 * max-waiters"). The borrowed parts of @text must stay. Returns 0, or an error after one sentence
 * on stderr; then nothing is set. A URL's password is wiped from @text in both cases. */
error_t pawld_setting_set(const struct pawld_setting *setting, struct pawld_options *options,
                          enum pawld_layer layer, const char *label, char *text);

/* Sets all settings of the file at @path, or of the environment, for @command. Returns the same
 * errors. Reports each mistake in a file, up to PAWLD_MISTAKES_MAX. */
error_t pawld_settings_of_file(const char *path, enum pawld_command command,
                               struct pawld_options *options);
error_t pawld_settings_of_environment(enum pawld_command command, struct pawld_options *options);

/* Returns a copy of @text for the life of the process; NULL: PAWLD_KEPT_MAX is used up, and that
 * was reported. */
char *pawld_keep_text(const char *text);

/* Frees all kept texts: no options may point to one of them any more. */
void pawld_drop_texts(void);

/* Prints the settings in force for serving, in the form of a file, without passwords. */
void pawld_settings_show(const struct pawld_options *options);

/* Prints a file with all settings for serving, each commented out. */
void pawld_settings_sample(void);

#endif
