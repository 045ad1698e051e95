#include "storage/redis/tls.h"
#include "storage/redis/url.h"
#include "tests/lib/case.h"

#include <string.h>

static void assert_refused(const char *text)
{
    struct storage_redis_url url;
    memset(&url, 0x5a, sizeof(url));
    struct storage_redis_url untouched = url;
    const char *why = NULL;
    assert_int_equal(storage_redis_url_parse(text, &url, &why), FENCE_EINVAL);
    assert_non_null(why);
    assert_memory_equal(&url, &untouched, sizeof(url));
}

static struct storage_redis_url parsed(const char *text)
{
    struct storage_redis_url url = {0};
    const char *why = NULL;
    assert_int_equal(storage_redis_url_parse(text, &url, &why), 0);
    return url;
}

static void host_and_port_are_read(void **state)
{
    struct storage_redis_url url = parsed("redis://redis-1.example:7001");
    assert_string_equal(url.host, "redis-1.example");
    assert_int_equal(url.port, 7001);
    assert_string_equal(url.password, "");
    assert_int_equal(parsed("redis://h").port, 6379);
    assert_int_equal(parsed("redis://h:65535").port, 65535);
}

static void ipv6_stands_in_brackets(void **state)
{
    struct storage_redis_url url = parsed("redis://[::1]:7001");
    assert_string_equal(url.host, "::1");
    assert_int_equal(url.port, 7001);
    char shown[STORAGE_ADDRESS_MAX];
    storage_redis_url_show(&url, shown);
    assert_string_equal(shown, "redis://[::1]:7001");
    assert_refused("redis://[::1");
    assert_refused("redis://[::1]x");
}

static void credentials_are_decoded_and_never_shown(void **state)
{
    struct storage_redis_url url = parsed("redis://pawl:p%40ss%3aword@h:1");
    assert_string_equal(url.user, "pawl");
    assert_string_equal(url.password, "p@ss:word");
    char shown[STORAGE_ADDRESS_MAX];
    storage_redis_url_show(&url, shown);
    assert_string_equal(shown, "redis://h:1");
    assert_string_equal(parsed("redis://:secret@h").user, "");
    assert_string_equal(parsed("redis://:a@b@h").password, "a@b");
    assert_string_equal(parsed("redis://pawl:@h").user,
                        "pawl"); /* its password is told elsewhere */
    assert_string_equal(parsed("redis://pawl:@h").password, "");
    assert_refused("redis://secret@h");
    assert_refused("redis://:@h");
    assert_refused("redis://:a%zz@h");
    assert_refused("redis://:a%4@h");
    assert_refused("redis://:a%00@h");
}

static void tls_is_asked_for_with_rediss(void **state)
{
    assert_false(parsed("redis://h:1").is_tls);
    if (!storage_tls_is_built()) {
        assert_refused("rediss://h:1");
        return;
    }
    struct storage_redis_url url = parsed("rediss://pawl:secret@h:1");
    assert_true(url.is_tls);
    assert_string_equal(url.host, "h");
    assert_string_equal(url.password, "secret");
    char shown[STORAGE_ADDRESS_MAX];
    storage_redis_url_show(&url, shown);
    assert_string_equal(shown, "rediss://h:1");
    assert_refused("rediss:///path");
}

static void a_socket_is_named_by_its_absolute_path(void **state)
{
    struct storage_redis_url url = parsed("unix:///run/redis.sock");
    assert_string_equal(url.path, "/run/redis.sock");
    assert_string_equal(url.host, "");
    assert_refused("unix://run/redis.sock");
    assert_refused("unix://");
    char path[STORAGE_PATH_MAX + 16] = "unix:///";
    memset(path + strlen(path), 'x', STORAGE_PATH_MAX - 1);
    assert_int_equal(strlen(parsed(path).path), STORAGE_PATH_MAX);
    path[strlen(path)] = 'x'; /* the rest of it is zero */
    assert_refused(path);
}

static void anything_else_is_refused_with_a_reason(void **state)
{
    static const char *const wrong[] = {
        "",
        "127.0.0.1:6379",
        "http://h:1",
        "redis://",
        "redis://:1",
        "redis://h:",
        "redis://h:0",
        "redis://h:65536",
        "redis://h:+1",
        "redis://h:1x",
        "redis://h/0",
        "redis://h:1/0",
        "redis://h ost",
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_refused(wrong[i]);
    char host[STORAGE_HOST_MAX + 16] = "redis://";
    memset(host + strlen(host), 'h', STORAGE_HOST_MAX);
    assert_int_equal(strlen(parsed(host).host), STORAGE_HOST_MAX);
    host[strlen(host)] = 'h';
    assert_refused(host);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(host_and_port_are_read),
    cmocka_unit_test(ipv6_stands_in_brackets),
    cmocka_unit_test(credentials_are_decoded_and_never_shown),
    cmocka_unit_test(tls_is_asked_for_with_rediss),
    cmocka_unit_test(a_socket_is_named_by_its_absolute_path),
    cmocka_unit_test(anything_else_is_refused_with_a_reason),
};

CASE_MAIN(cases, NULL, NULL)
