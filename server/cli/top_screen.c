#include "server/cli/top_screen.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

/* Opens the alternate screen, without a cursor and without line wrapping; and closes it. */
#define OPENS  "\033[?1049h\033[?25l\033[?7l"
#define CLOSES "\033[?7h\033[?25h\033[?1049l"

enum {
    KEYS_BYTES = 64, /* read at a time */
};

static struct termios before;      /* how the terminal was */
static volatile sig_atomic_t open; /* the screen is */

static void write_terminal(const char *text, size_t len)
{
    while (len > 0) {
        const ssize_t written = write(STDOUT_FILENO, text, len);
        if (written < 0 && errno != EINTR)
            return; /* the terminal has gone */
        if (written > 0) {
            text += written;
            len -= (size_t)written;
        }
    }
}

bool cli_top_screen_can(void)
{
    const char *kind = getenv("TERM");
    return isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 && kind != NULL &&
           kind[0] != '\0' && strcmp(kind, "dumb") != 0;
}

/* Only calls that a handler of a signal may make. */
void cli_top_screen_close(void)
{
    if (!open)
        return;
    open = 0;
    write_terminal(CLOSES, sizeof(CLOSES) - 1);
    (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
}

/* The action is the default one again (SA_RESETHAND), and the signal is raised again. */
static void on_crash(int signal)
{
    cli_top_screen_close();
    (void)raise(signal);
}

/* Catches signals that a mistake of this process causes. A blocked one would end the process
 * without its handler. */
static void catch_crashes(void)
{
    static const int crashes[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    const struct sigaction action = {.sa_handler = on_crash, .sa_flags = (int)SA_RESETHAND};
    sigset_t set;
    (void)sigemptyset(&set);
    for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++) {
        (void)sigaction(crashes[i], &action, NULL);
        (void)sigaddset(&set, crashes[i]);
    }
    (void)pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

int cli_top_screen_open(void)
{
    assert(!open);
    if (tcgetattr(STDIN_FILENO, &before) < 0)
        return -1;
    struct termios now = before;
    now.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    now.c_cc[VMIN] = 0;
    now.c_cc[VTIME] = 0;
    catch_crashes();
    open = 1;
    if (tcsetattr(STDIN_FILENO, TCSADRAIN, &now) < 0) {
        open = 0;
        return -1;
    }
    write_terminal(OPENS, sizeof(OPENS) - 1);
    return 0;
}

static size_t bounded(size_t size, size_t least, size_t most)
{
    if (size < least)
        return least;
    return size > most ? most : size;
}

void cli_top_screen_size(size_t *ret_rows, size_t *ret_columns)
{
    struct winsize size = {.ws_row = 0};
    const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0;
    *ret_rows = bounded(known ? size.ws_row : 24, CLI_TOP_ROWS_LEAST, CLI_TOP_ROWS_MOST);
    *ret_columns = bounded(known ? size.ws_col : 80, CLI_TOP_COLUMNS_LEAST, CLI_TOP_COLUMNS_MOST);
}

/* ---- keys ------------------------------------------------------------------------------------ */

static char typed[KEYS_BYTES + 1]; /* terminated */
static const char *next = typed;

/* The bytes that a terminal sends for a key, and the meaning of the key. */
static const struct {
    const char *text;
    enum cli_top_key key;
} keys[] = {
    {"\033[A", CLI_TOP_KEY_UP},
    {"\033OA", CLI_TOP_KEY_UP},
    {"k", CLI_TOP_KEY_UP},
    {"\033[B", CLI_TOP_KEY_DOWN},
    {"\033OB", CLI_TOP_KEY_DOWN},
    {"j", CLI_TOP_KEY_DOWN},
    {"\033[5~", CLI_TOP_KEY_PAGE_UP},
    {"\033[6~", CLI_TOP_KEY_PAGE_DOWN},
    {" ", CLI_TOP_KEY_PAGE_DOWN},
    {"q", CLI_TOP_KEY_QUIT},
    {"s", CLI_TOP_KEY_ORDER},
    {"e", CLI_TOP_KEY_EVENTS},
};

/* Returns the length of an unknown key: of a sequence, up to its last letter. */
static size_t length_of_other(const char *text)
{
    if (text[0] != '\033' || (text[1] != '[' && text[1] != 'O'))
        return 1;
    const size_t len = 2 + strspn(text + 2, "0123456789;?");
    return text[len] != '\0' ? len + 1 : len;
}

/* The key at the beginning of @text, and its length. */
static enum cli_top_key key_typed(const char *text, size_t *ret_len)
{
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        *ret_len = strlen(keys[i].text);
        if (strncmp(text, keys[i].text, *ret_len) == 0)
            return keys[i].key;
    }
    *ret_len = length_of_other(text);
    return CLI_TOP_KEY_NONE;
}

/* How many bytes were read; 0: none are there. Negative: the terminal has gone. */
static ssize_t read_typed(void)
{
    struct pollfd ready = {.fd = STDIN_FILENO, .events = POLLIN};
    if (poll(&ready, 1, 0) <= 0)
        return 0;
    const ssize_t len = read(STDIN_FILENO, typed, KEYS_BYTES);
    if (len <= 0 && (ready.revents & (POLLHUP | POLLERR | POLLNVAL)))
        return -1;
    typed[len > 0 ? len : 0] = '\0';
    next = typed;
    return len < 0 && errno != EAGAIN && errno != EINTR ? -1 : len;
}

enum cli_top_key cli_top_screen_key(void)
{
    for (;;) {
        if (*next == '\0') {
            const ssize_t len = read_typed();
            if (len <= 0)
                return len < 0 ? CLI_TOP_KEY_GONE : CLI_TOP_KEY_NONE;
        }
        size_t len = 1;
        const enum cli_top_key key = *next != '\0' ? key_typed(next, &len) : CLI_TOP_KEY_NONE;
        next += *next != '\0' ? len : 0;
        if (key != CLI_TOP_KEY_NONE)
            return key;
    }
}
