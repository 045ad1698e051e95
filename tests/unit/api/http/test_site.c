#include "api/http/site.h"
#include "tests/lib/case.h"

static const char *const names[] = {"locks.example.com", "pawld"};
static const struct api_hosts known = {names, 2};
static const struct api_hosts none = {NULL, 0};

static void addresses_and_localhost_are_known(void **state)
{
    static const char *const hosts[] = {
        "127.0.0.1", "10.1.2.3:7380",  "[::1]",     "[::1]:7380", "[2001:db8::2]:80",
        "localhost", "localhost:7380", "LocalHost", "localhost.", "127.0.0.1:",
    };
    for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
        assert_true(api_site_is_known(hosts[i], &none));
}

static void names_are_known_where_they_are_given(void **state)
{
    assert_true(api_site_is_known("locks.example.com", &known));
    assert_true(api_site_is_known("Locks.Example.COM:7380", &known));
    assert_true(api_site_is_known("pawld:7380", &known));
    assert_false(api_site_is_known("pawld:7380", &none));
}

static void other_names_are_not_known(void **state)
{
    static const char *const hosts[] = {
        "rebind.example",
        "",
        ":7380",
        "localhost.rebind.example",
        "127.0.0.1.rebind.example",
        "127.0.0.1:80:80",
        "127.1",
        "2130706433",
        "0x7f.1",
        "127.0.0.1:port",
        "localhost:123456",
        "[::1",
        "[::1]x",
        "[127.0.0.1]",
        "::1",
        "user@127.0.0.1",
        "locks.example.co",
        "locks.example.com..",
        "locks.example.comm",
        "127.0.0.1, rebind.example",
        "[]",
    };
    for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
        if (api_site_is_known(hosts[i], &known))
            fail_msg("\"%s\" is known", hosts[i]);
}

static void request_without_browser_headers_is_own(void **state)
{
    assert_true(api_site_is_own("localhost:7380", NULL, NULL));
    assert_true(api_site_is_own(NULL, NULL, NULL));
}

static void page_of_the_service_is_own(void **state)
{
    assert_true(api_site_is_own("localhost:7380", "http://localhost:7380", "same-origin"));
    assert_true(api_site_is_own("Locks.example", "http://locks.example:80", NULL));
    assert_true(api_site_is_own("locks.example", "https://locks.example", NULL));
    assert_true(api_site_is_own("locks.example:443", "https://locks.example", NULL));
    assert_true(api_site_is_own("[::1]:7380", "http://[::1]:7380", NULL));
    assert_true(api_site_is_own("localhost:7380", NULL, "none"));
}

static void page_of_another_site_is_not_own(void **state)
{
    static const char *const origins[] = {
        "null",
        "",
        "http://localhost",
        "http://localhost:7381",
        "http://evil.example",
        "http://localhost:7380.evil.example",
        "http://127.0.0.1:7380",
        "https://localhost",
        "file://localhost:7380",
        "http://localhost:7380/",
        "http://localhost:7380 http://a",
    };
    for (size_t i = 0; i < sizeof(origins) / sizeof(origins[0]); i++)
        if (api_site_is_own("localhost:7380", origins[i], NULL))
            fail_msg("\"%s\" is own", origins[i]);
    assert_false(api_site_is_own(NULL, "http://localhost:7380", NULL));
    assert_false(api_site_is_own("localhost:7380", NULL, "cross-site"));
    assert_false(api_site_is_own("localhost:7380", NULL, "same-site"));
    assert_false(api_site_is_own("localhost:7380", NULL, ""));
    assert_false(api_site_is_own("localhost:7380", "http://localhost:7380", "cross-site"));
}

static void names_have_no_scheme_and_no_port(void **state)
{
    assert_true(api_site_is_name("locks.example.com"));
    assert_true(api_site_is_name("my_service-1"));
    assert_false(api_site_is_name(""));
    assert_false(api_site_is_name("a:80"));
    assert_false(api_site_is_name("http://a"));
    assert_false(api_site_is_name("*.example"));
    assert_false(api_site_is_name(".example"));
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(addresses_and_localhost_are_known),
    cmocka_unit_test(names_are_known_where_they_are_given),
    cmocka_unit_test(other_names_are_not_known),
    cmocka_unit_test(request_without_browser_headers_is_own),
    cmocka_unit_test(page_of_the_service_is_own),
    cmocka_unit_test(page_of_another_site_is_not_own),
    cmocka_unit_test(names_have_no_scheme_and_no_port),
};

CASE_MAIN(cases, NULL, NULL)
