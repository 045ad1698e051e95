#include "api/http/cors.h"
#include "tests/lib/case.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void origin_is_what_a_browser_writes(void **state)
{
    static const char *const origins[] = {
        "https://app.example.com",
        "http://localhost:3000",
        "http://127.0.0.1:8080",
        "https://[2001:db8::1]",
        "http://[::1]:3000",
        "https://app.example.com:8443",
        "http://a:443",
        "https://a:80",
    };
    for (size_t i = 0; i < COUNT(origins); i++)
        if (!api_cors_is_origin(origins[i]))
            fail_msg("%s is taken for none", origins[i]);
}

static void other_texts_are_no_origin(void **state)
{
    static const char *const texts[] = {
        "",
        "*",
        "null",
        "https://",
        "https://app.example.com/",
        "https://app.example.com/path",
        "app.example.com",
        "ftp://app.example.com",
        "https://App.example.com",
        "HTTPS://app.example.com",
        "https://app.example.com:443",
        "http://app.example.com:80",
        "http://a:",
        "http://a:0",
        "http://a:080",
        "http://a:123456",
        "https://user@app.example.com",
        "https://*.example.com",
        "https://a b",
        "https://a\r\nX: 1",
        "https://[::1",
        "https://[]",
    };
    for (size_t i = 0; i < COUNT(texts); i++)
        if (api_cors_is_origin(texts[i]))
            fail_msg("%s is taken for an origin", texts[i]);
}

static void only_the_very_origin_is_listed(void **state)
{
    static const char *const items[] = {"https://app.example.com", "http://localhost:3000"};
    static const struct api_origins origins = {items, COUNT(items)};
    static const struct api_origins none = {items, 0};
    static const char *const others[] = {
        "http://app.example.com",
        "https://app.example.com:8443",
        "https://app.example.com.evil",
        "https://evil.app.example.com",
        "https://app.example.co",
        "null",
        "http://localhost",
        "HTTPS://APP.EXAMPLE.COM",
    };
    assert_true(api_cors_is_listed("https://app.example.com", &origins));
    assert_true(api_cors_is_listed("http://localhost:3000", &origins));
    assert_false(api_cors_is_listed("https://app.example.com", &none));
    assert_false(api_cors_is_listed(NULL, &origins));
    for (size_t i = 0; i < COUNT(others); i++)
        assert_false(api_cors_is_listed(others[i], &origins));
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(origin_is_what_a_browser_writes),
    cmocka_unit_test(other_texts_are_no_origin),
    cmocka_unit_test(only_the_very_origin_is_listed),
};

CASE_MAIN(cases, NULL, NULL)
