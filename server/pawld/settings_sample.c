/* The sample of the configuration file: each setting with its help, as a comment. */
#include "server/pawld/settings.h"

#include <stdio.h>
#include <string.h>

enum {
    SAMPLE_WIDTH = 98,
};

/* As lines of a comment. */
static void print_comment(const char *text)
{
    while (*text) {
        size_t len = strlen(text);
        if (len > SAMPLE_WIDTH) {
            len = SAMPLE_WIDTH;
            while (len > 0 && text[len] != ' ')
                len--;
        }
        printf("# %.*s\n", (int)len, text);
        text += len + (text[len] == ' ');
    }
}

void pawld_settings_sample(void)
{
    print_comment("The configuration of pawld: pawld --config FILE. A line is: name = value. "
                  "The environment variable PAWL_NAME and --name of the command line override this "
                  "file. If a setting can be given several times, write one line for each value. A "
                  "line has at most 198 bytes. The text after \" ;\" is a comment. pawld --check "
                  "--config FILE reports errors, and the settings in use.");
    for (size_t i = 0; i < pawld_settings_count; i++) {
        const struct pawld_setting *setting = &pawld_settings[i];
        if (!(setting->commands & PAWLD_SERVE) || setting->only_option)
            continue;
        printf("\n");
        print_comment(setting->help);
        printf("#%s = %s\n", setting->name, setting->usual ? setting->usual : "");
    }
}
