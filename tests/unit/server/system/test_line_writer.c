#include "server/system/line_writer.h"
#include "tests/lib/case.h"
#include "tests/lib/tempdir.h"
#include "tests/lib/text.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LINE = 1000,
    LINES = 4 * SERVER_LINES_MAX / LINE, /* twice what both of its buffers hold */
    PATH_BYTES = 256,
};

static char *dir;
static char path[PATH_BYTES];

static int start(void **state)
{
    dir = tempdir_new();
    (void)snprintf(path, sizeof(path), "%s/lines", dir);
    return 0;
}

static int stop(void **state)
{
    tempdir_remove(dir);
    return 0;
}

static unsigned count_of(const char *lines, const char *part)
{
    unsigned count = 0;
    for (const char *at = strstr(lines, part); at != NULL; at = strstr(at + 1, part))
        count++;
    return count;
}

static void lines_come_whole_and_in_order(void **state)
{
    char line[32];
    struct server_line_writer *writer = NULL;
    assert_int_equal(server_line_writer_new(path, "test", &writer), 0);
    assert_int_equal(server_line_writer_make(writer), 0);
    for (int i = 0; i < 1000; i++) {
        const int len = snprintf(line, sizeof(line), "line %d\n", i);
        server_line_writer_add(writer, line, (size_t)len);
    }
    server_line_writer_free(writer);
    char *written = text_read(path, 0);
    const char *at = written;
    for (int i = 0; i < 1000; i++) {
        const int len = snprintf(line, sizeof(line), "line %d\n", i);
        assert_int_equal(strncmp(at, line, (size_t)len), 0);
        at += len;
    }
    assert_string_equal(at, "");
    free(written);
}

static char *text;

static void *read_all(void *context)
{
    const int *reader = context;
    size_t len = 0;
    for (ssize_t got = 1; got > 0; len += got > 0 ? (size_t)got : 0)
        got = read(*reader, text + len, LINE);
    text[len] = '\0';
    return NULL;
}

/* No process reads the pipe, as a disk that hangs. A thread that adds a line goes on. */
static void lines_beyond_the_bound_are_counted(void **state)
{
    char line[LINE + 1];
    pthread_t thread;
    struct server_line_writer *writer = NULL;
    assert_int_equal(mkfifo(path, 0600), 0);
    int reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(reader >= 0);
    assert_int_equal(server_line_writer_new(path, "test", &writer), 0);
    assert_int_equal(server_line_writer_make(writer), 0);
    memset(line, 'x', LINE);
    line[LINE - 1] = '\n';
    line[LINE] = '\0';
    for (int i = 0; i < LINES; i++)
        server_line_writer_add(writer, line, LINE);

    text = malloc((size_t)LINES * LINE + LINE);
    assert_non_null(text);
    assert_int_equal(fcntl(reader, F_SETFL, 0), 0);
    assert_int_equal(pthread_create(&thread, NULL, read_all, &reader), 0);
    server_line_writer_free(writer);
    assert_int_equal(pthread_join(thread, NULL), 0);
    static const char told[] = "\"event\":\"dropped\",\"lines\":";
    long lost = 0; /* told once, or again where the reader lets in some between */
    for (const char *at = strstr(text, told); at != NULL; at = strstr(at + 1, told))
        lost += strtol(at + strlen(told), NULL, 10);
    assert_in_range(lost, 1, LINES);
    assert_int_equal(count_of(text, "x\n") + lost, LINES);
    (void)close(reader);
    free(text);
}

static void file_that_is_not_there_is_not_made_before_it_is_to_be(void **state)
{
    struct server_line_writer *writer = NULL;
    assert_int_equal(server_line_writer_new(path, "test", &writer), 0);
    server_line_writer_free(writer);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(server_line_writer_new(path, "test", &writer), 0);
    assert_int_equal(server_line_writer_make(writer), 0);
    assert_int_equal(access(path, F_OK), 0);
    server_line_writer_add(writer, "a\n", 2);
    assert_true(server_line_writer_reopen(writer));
    server_line_writer_free(writer);
    char *written = text_read(path, 0);
    assert_string_equal(written, "a\n");
    free(written);
}

/* Which is known before it is made. */
static void file_that_cannot_be_made_is_refused(void **state)
{
    char none[PATH_BYTES + 8];
    struct server_line_writer *writer = NULL;
    (void)snprintf(none, sizeof(none), "%s/lines", path);
    assert_int_equal(server_line_writer_new(none, "test", &writer), FENCE_EIO);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(server_line_writer_new(dir, "test", &writer), FENCE_EIO);
    assert_int_equal(errno, EISDIR);
    assert_null(writer);
}

#define LINES_CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

static const struct CMUnitTest cases[] = {
    LINES_CASE(lines_come_whole_and_in_order),
    LINES_CASE(lines_beyond_the_bound_are_counted),
    LINES_CASE(file_that_is_not_there_is_not_made_before_it_is_to_be),
    LINES_CASE(file_that_cannot_be_made_is_refused),
};

CASE_MAIN(cases, NULL, NULL)
