/* How a setting of each kind is read from a text, and shown. */
#include "server/pawld/password.h"
#include "server/pawld/settings.h"
#include "server/system/options.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    WORDS_MAX = 128,   /* bytes of all the words of a setting */
    DURATION_MAX = 32, /* bytes of a duration, terminated */
    SHOWN_MAX = STORAGE_ADDRESS_MAX + 64,
};

static void *member_at(struct pawld_options *options, size_t at)
{
    return (char *)options + at;
}

static const void *const_member_at(const struct pawld_options *options, size_t at)
{
    return (const char *)options + at;
}

/* ---- reading --------------------------------------------------------------------------------- */

static error_t set_counted(const struct pawld_setting *setting, void *member, const char *label,
                           const char *text)
{
    int64_t number = 0;
    if (!server_options_number(text, setting->min, setting->max, &number))
        return server_options_error("%s takes a number from %" PRId64 " to %" PRId64 ", not '%s'",
                                    label, setting->min, setting->max, text);
    if (setting->kind == PAWLD_BIG)
        *(int64_t *)member = number;
    else
        *(uint32_t *)member = (uint32_t)number;
    return 0;
}

static const struct {
    const char *name;
    int64_t ms;
} units[] = {{"ms", 1}, {"s", 1000}, {"m", INT64_C(60) * 1000}};

static bool read_duration(const char *text, int64_t max_ms, int64_t *ret_ms)
{
    char digits[DURATION_MAX];
    const size_t len = strspn(text, "0123456789");
    if (len == 0 || len >= sizeof(digits))
        return false;
    memcpy(digits, text, len);
    digits[len] = '\0';
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        int64_t number = 0;
        if (strcmp(text + len, units[i].name) != 0)
            continue;
        if (!server_options_number(digits, 0, max_ms / units[i].ms, &number))
            return false;
        *ret_ms = number * units[i].ms;
        return true;
    }
    return false;
}

static void print_duration(int64_t ms, char ret_text[static DURATION_MAX])
{
    size_t unit = sizeof(units) / sizeof(units[0]) - 1;
    while (unit > 0 && (ms == 0 || ms % units[unit].ms != 0))
        unit--;
    (void)snprintf(ret_text, DURATION_MAX, "%" PRId64 "%s", ms / units[unit].ms, units[unit].name);
}

static error_t set_duration(const struct pawld_setting *setting, uint32_t *member,
                            const char *label, const char *text)
{
    int64_t ms = 0;
    char least[DURATION_MAX], most[DURATION_MAX];
    print_duration(setting->min, least);
    print_duration(setting->max, most);
    if (!read_duration(text, setting->max, &ms) || ms < setting->min)
        return server_options_error("%s takes a time from %s to %s, such as 250ms, 10s or 5m, not "
                                    "'%s'",
                                    label, least, most, text);
    *member = (uint32_t)ms;
    return 0;
}

/* "majority, spread or all" */
static void print_words(const char *const words[], char ret_text[static WORDS_MAX])
{
    size_t len = 0;
    for (int i = 0; words[i]; i++) {
        const char *before = i == 0 ? "" : words[i + 1] ? ", " : " or ";
        len += (size_t)snprintf(ret_text + len, WORDS_MAX - len, "%s%s", before, words[i]);
        assert(len < WORDS_MAX);
    }
}

static error_t set_word(const struct pawld_setting *setting, int *member, const char *label,
                        const char *text)
{
    char words[WORDS_MAX];
    for (int i = 0; setting->words[i]; i++) {
        if (strcmp(text, setting->words[i]) != 0)
            continue;
        *member = i;
        return 0;
    }
    print_words(setting->words, words);
    return server_options_error("%s takes %s, not '%s'", label, words, text);
}

/* Sets a flag. @text is NULL for an option, which has no argument. */
static error_t set_flag(bool *member, const char *label, const char *text)
{
    if (text && strcmp(text, "yes") != 0 && strcmp(text, "no") != 0)
        return server_options_error("%s takes yes or no, not '%s'", label, text);
    *member = !text || strcmp(text, "yes") == 0;
    return 0;
}

static error_t check_text(const struct pawld_setting *setting, const char *label, const char *text)
{
    if (text[0] == '\0')
        return server_options_error("%s takes %s, not ''", label,
                                    setting->must ? setting->must : setting->argument);
    if (setting->fits && !setting->fits(text))
        return server_options_error("%s takes %s, not '%s'", label, setting->must, text);
    return 0;
}

static error_t add_item(const struct pawld_setting *setting, struct pawld_options *options,
                        const char *label, const char *text)
{
    const char **texts = member_at(options, setting->at);
    unsigned *count = member_at(options, setting->count_at);
    error_t error = check_text(setting, label, text);
    if (error)
        return error;
    if (*count == setting->max)
        return server_options_error("%s can be given at most %" PRId64 " times", label,
                                    setting->max);
    texts[(*count)++] = text;
    return 0;
}

/* Adds a URL. The password is wiped even if the URL is not valid: it may contain one. */
static error_t add_url(const struct pawld_setting *setting, struct pawld_options *options,
                       const char *label, char *text)
{
    struct storage_redis_url *urls = member_at(options, setting->at);
    unsigned *count = member_at(options, setting->count_at);
    const char *why = "";
    if (*count == setting->max)
        return server_options_error("a fleet has at most %" PRId64 " masters", setting->max);
    int error = storage_redis_url_parse(text, &urls[*count], &why);
    pawld_password_hide(text);
    if (error) /* the text is not printed: it may contain a password */
        return server_options_error("%s: %s", label, why);
    (*count)++;
    return 0;
}

static error_t set_of_kind(const struct pawld_setting *setting, struct pawld_options *options,
                           const char *label, char *text)
{
    void *member = member_at(options, setting->at);
    error_t error = 0;
    switch (setting->kind) {
    case PAWLD_NUMBER:
    case PAWLD_BIG:
        return set_counted(setting, member, label, text);
    case PAWLD_DURATION:
        return set_duration(setting, member, label, text);
    case PAWLD_WORD:
        return set_word(setting, member, label, text);
    case PAWLD_FLAG:
        return set_flag(member, label, text);
    case PAWLD_TEXT:
        error = check_text(setting, label, text);
        if (!error)
            *(const char **)member = text;
        return error;
    case PAWLD_TEXTS:
        return add_item(setting, options, label, text);
    case PAWLD_URLS:
        return add_url(setting, options, label, text);
    }
    assert(false); /* a kind without a way to be set */
    return SERVER_OPTIONS_TOLD;
}

error_t pawld_setting_set(const struct pawld_setting *setting, struct pawld_options *options,
                          enum pawld_layer layer, const char *label, char *text)
{
    const size_t index = (size_t)(setting - pawld_settings);
    struct pawld_given *given = &options->given[index];
    const bool is_list = setting->kind == PAWLD_TEXTS || setting->kind == PAWLD_URLS;
    assert(index < pawld_settings_count && pawld_settings_count <= PAWLD_SETTINGS_MAX);
    if (given->layer == PAWLD_BY_FILE && layer == PAWLD_BY_FILE && !is_list)
        return server_options_error("%s is given twice; the first is %s", label, given->label);
    if (is_list && given->layer != (int)layer)
        *(unsigned *)member_at(options, setting->count_at) = 0;
    error_t error = set_of_kind(setting, options, label, text);
    if (error)
        return error;
    given->layer = (int)layer;
    (void)snprintf(given->label, sizeof(given->label), "%s", label);
    return 0;
}

/* ---- showing --------------------------------------------------------------------------------- */

static void show_line(const struct pawld_setting *setting, const struct pawld_given *given,
                      const char *value)
{
    printf("%s = %s", setting->name, value);
    if (given->layer != PAWLD_BY_DEFAULT)
        printf(" ; %s", given->label);
    printf("\n");
}

static void show_url(const struct storage_redis_url *url, char ret_text[static SHOWN_MAX])
{
    char address[STORAGE_ADDRESS_MAX];
    storage_redis_url_show(url, address);
    const char *behind = strstr(address, "://");
    if (!url->password[0] || !behind) {
        (void)snprintf(ret_text, SHOWN_MAX, "%s", address);
        return;
    }
    (void)snprintf(ret_text, SHOWN_MAX, "%.*s://%s***@%s", (int)(behind - address), address,
                   url->user[0] ? "***:" : ":", behind + 3);
}

static void show_list(const struct pawld_setting *setting, const struct pawld_options *options,
                      const struct pawld_given *given)
{
    const unsigned count = *(const unsigned *)const_member_at(options, setting->count_at);
    const void *member = const_member_at(options, setting->at);
    char shown[SHOWN_MAX];
    for (unsigned i = 0; i < count; i++) {
        if (setting->kind == PAWLD_TEXTS) {
            show_line(setting, given, ((const char *const *)member)[i]);
            continue;
        }
        show_url(&((const struct storage_redis_url *)member)[i], shown);
        show_line(setting, given, shown);
    }
    if (count == 0)
        printf("# %s =\n", setting->name);
}

static void show_setting(const struct pawld_setting *setting, const struct pawld_options *options)
{
    const void *member = const_member_at(options, setting->at);
    const struct pawld_given *given = &options->given[setting - pawld_settings];
    char text[DURATION_MAX];
    const char *shown = text;
    if (setting->kind == PAWLD_TEXTS || setting->kind == PAWLD_URLS) {
        show_list(setting, options, given);
        return;
    }
    if (setting->kind == PAWLD_NUMBER && *(const uint32_t *)member < setting->min)
        shown = NULL; /* the setting was not given, and its value depends on other facts */
    else if (setting->kind == PAWLD_NUMBER)
        (void)snprintf(text, sizeof(text), "%" PRIu32, *(const uint32_t *)member);
    else if (setting->kind == PAWLD_BIG)
        (void)snprintf(text, sizeof(text), "%" PRId64, *(const int64_t *)member);
    else if (setting->kind == PAWLD_DURATION)
        print_duration(*(const uint32_t *)member, text);
    else if (setting->kind == PAWLD_WORD)
        shown = setting->words[*(const int *)member];
    else if (setting->kind == PAWLD_FLAG)
        shown = *(const bool *)member ? "yes" : "no";
    else
        shown = *(const char *const *)member;
    if (shown)
        show_line(setting, given, shown);
    else
        printf("# %s =\n", setting->name);
}

void pawld_settings_show(const struct pawld_options *options)
{
    for (size_t i = 0; i < pawld_settings_count; i++)
        if ((pawld_settings[i].commands & PAWLD_SERVE) && !pawld_settings[i].only_option)
            show_setting(&pawld_settings[i], options);
}
