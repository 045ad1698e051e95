/* Listening sockets of the Unix domain, and the files that they leave. */
#include "api/wire/socket_file.h"
#include "tests/lib/case.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[32];
static char path[64];
static struct api_socket_file file;
static int fd = -1;

static int setup(void **state)
{
    (void)snprintf(folder, sizeof(folder), "/tmp/pawl-socket-XXXXXX");
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/socket", folder);
    assert_int_equal(api_socket_file_listen(path, &file, &fd), 0);
    return 0;
}

static int teardown(void **state)
{
    if (fd >= 0)
        close(fd);
    fd = -1;
    (void)unlink(path);
    (void)rmdir(folder);
    return 0;
}

static void owner_and_group_may_connect_and_no_others(void **state)
{
    struct stat made;
    assert_int_equal(stat(path, &made), 0);
    assert_true(S_ISSOCK(made.st_mode));
    assert_int_equal(made.st_mode & 0777, API_SOCKET_MODE);
}

static void second_listener_is_refused_while_the_first_listens(void **state)
{
    struct api_socket_file second;
    int second_fd = -1;
    assert_int_equal(api_socket_file_listen(path, &second, &second_fd), FENCE_EIO);
    assert_int_equal(errno, EADDRINUSE);
}

static void socket_that_was_left_behind_is_replaced(void **state)
{
    close(fd);
    fd = -1;
    assert_int_equal(api_socket_file_listen(path, &file, &fd), 0);
}

static void other_file_is_left_alone(void **state)
{
    char other[80];
    struct api_socket_file made;
    int made_fd = -1;
    (void)snprintf(other, sizeof(other), "%s/file", folder);
    close(open(other, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    assert_int_equal(api_socket_file_listen(other, &made, &made_fd), FENCE_EIO);
    assert_int_equal(errno, EEXIST);
    assert_int_equal(unlink(other), 0);
}

static void file_is_removed_unless_another_one_has_its_place(void **state)
{
    struct api_socket_file first = file;
    first.inode++;
    api_socket_file_remove(&first);
    assert_int_equal(access(path, F_OK), 0);
    api_socket_file_remove(&file);
    assert_int_equal(access(path, F_OK), -1);
}

static void path_has_a_bound(void **state)
{
    char text[API_SOCKET_PATH_MAX + 1];
    struct api_socket_file made;
    int made_fd = -1;
    memset(text, 'a', API_SOCKET_PATH_MAX);
    text[API_SOCKET_PATH_MAX] = '\0';
    assert_int_equal(api_socket_file_listen(text, &made, &made_fd), FENCE_EINVAL);
    assert_int_equal(api_socket_file_listen("", &made, &made_fd), FENCE_EINVAL);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest cases[] = {
    CASE(owner_and_group_may_connect_and_no_others),
    CASE(second_listener_is_refused_while_the_first_listens),
    CASE(socket_that_was_left_behind_is_replaced),
    CASE(other_file_is_left_alone),
    CASE(file_is_removed_unless_another_one_has_its_place),
    CASE(path_has_a_bound),
};

CASE_MAIN(cases, NULL, NULL)
