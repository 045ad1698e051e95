#include "api/wire/framing.h"
#include "tests/lib/case.h"

#include <stdio.h>
#include <string.h>

enum {
    BYTES_MAX = 512,
};

/* The bytes of @bytes when they come in pieces of @piece; terminated. */
static const struct api_fault *feed(const char *bytes, size_t piece, char on[static BYTES_MAX],
                                    struct api_framing *framing)
{
    const struct api_fault *fault = NULL;
    const size_t len = strlen(bytes);
    size_t on_len = 0;
    *framing = (struct api_framing){.state = 0};
    for (size_t at = 0; at < len && fault == NULL; at += piece) {
        char part[BYTES_MAX];
        const size_t part_len = at + piece < len ? piece : len - at;
        size_t kept = 0;
        memcpy(part, bytes + at, part_len);
        fault = api_framing_feed(framing, part, part_len, &kept);
        memcpy(on + on_len, part, kept);
        on_len += kept;
    }
    on[on_len] = '\0';
    return fault;
}

static void expect_on(const char *bytes, const char *expected, unsigned requests)
{
    char on[BYTES_MAX];
    struct api_framing framing;
    for (size_t piece = 1; piece <= strlen(bytes); piece++) {
        assert_null(feed(bytes, piece, on, &framing));
        assert_string_equal(on, expected);
        assert_int_equal(framing.completed, requests);
    }
}

static void whole_requests_go_on_as_they_are(void **state)
{
    static const char get[] = "GET /a?b=c HTTP/1.1\r\nHost: h\r\n\r\n";
    static const char two[] = "PUT / HTTP/1.0\nContent-Length: 2\n\n{}HEAD / HTTP/1.1\r\n\r\n";
    expect_on(get, get, 1);
    expect_on(two, two, 2);
}

static void what_nobody_needs_is_left_out(void **state)
{
    expect_on("POST / HTTP/1.1\r\nContent-Length:  2 \t\r\nX: 1 \r\n\r\n{}",
              "POST / HTTP/1.1\r\nContent-Length:  2\r\nX: 1 \r\n\r\n{}", 1);
    expect_on("\r\n\nGET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", 1);
    expect_on("POST / HTTP/1.1\r\nTransfer-Encoding: Chunked \r\n\r\n"
              "0002;a=b\r\n{}\r\n1 \r\n \r\n000;c\r\nX: y\r\nZ: \r\n\r\nGET / HTTP/1.1\r\n\r\n",
              "POST / HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n"
              "02\r\n{}\r\n1\r\n \r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n",
              2);
}

static void requests_before_a_fault_go_on_and_no_byte_of_its_own(void **state)
{
    static const char good[] = "GET / HTTP/1.1\r\n\r\n";
    static const char both[] = "GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n: x\r\n\r\n";
    char on[BYTES_MAX];
    struct api_framing framing;
    assert_non_null(feed(both, sizeof(both), on, &framing));
    assert_string_equal(on, good);
    assert_int_equal(framing.completed, 1);
    assert_int_equal(api_framing_phase(&framing), API_FRAMING_LOST);
}

static void nothing_goes_on_behind_a_head_that_contradicts_itself(void **state)
{
    static const char *const heads[] = {
        "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: gzip,chunked\r\n\r\n",
        "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        char bytes[BYTES_MAX], on[BYTES_MAX];
        struct api_framing framing;
        (void)snprintf(bytes, sizeof(bytes), "%sGET / HTTP/1.1\r\n\r\n", heads[i]);
        assert_null(feed(bytes, 7, on, &framing));
        assert_string_equal(on, heads[i]);
        assert_int_equal(api_framing_phase(&framing), API_FRAMING_LOST);
        assert_int_equal(framing.completed, 0);
    }
}

/* However the bytes are cut up, the same request is refused for the same reason. */
static void fault_does_not_depend_on_how_the_bytes_come(void **state)
{
    static const char *const faulty[] = {
        "GET / HTTP/1.1\rX",
        "GET / HTTP/1.1\r\n\r\r\n",
        "\r\r",
        "POST / HTTP/1.1\r\nX\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 1 1\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chun ked\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}x",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2;\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\n",
    };
    for (size_t i = 0; i < sizeof(faulty) / sizeof(faulty[0]); i++) {
        char on[BYTES_MAX];
        struct api_framing framing;
        const struct api_fault *fault = feed(faulty[i], strlen(faulty[i]), on, &framing);
        assert_non_null(fault);
        for (size_t piece = 1; piece < strlen(faulty[i]); piece++)
            assert_ptr_equal(feed(faulty[i], piece, on, &framing), fault);
    }
}

/* Feeds a body in @chunks chunks of a byte, each with @more between its length and CR LF. */
static const struct api_fault *feed_chunks(struct api_framing *framing, const char *more,
                                           unsigned chunks)
{
    static const char head[] = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    char bytes[BYTES_MAX];
    size_t kept = 0;
    (void)snprintf(bytes, sizeof(bytes), "%s", head);
    const struct api_fault *fault = api_framing_feed(framing, bytes, strlen(head), &kept);
    for (unsigned i = 0; i < chunks && fault == NULL; i++) {
        const int len = snprintf(bytes, sizeof(bytes), "%s\r\nx\r\n", more);
        fault = api_framing_feed(framing, bytes, (size_t)len, &kept);
    }
    if (fault == NULL) {
        const int len = snprintf(bytes, sizeof(bytes), "0\r\n\r\n");
        fault = api_framing_feed(framing, bytes, (size_t)len, &kept);
    }
    return fault;
}

/* A body of 64 KiB could come with 64 MB of them, which all have to be read. */
static void extensions_and_zeros_of_a_body_have_one_bound(void **state)
{
    static const char *const sixteen[] = {"1;abcdefghijklmno", "000000000000000001",
                                          "1                "};
    for (size_t i = 0; i < sizeof(sixteen) / sizeof(sixteen[0]); i++) {
        struct api_framing framing = {.state = 0};
        const unsigned most = API_FRAMING_EXTENSIONS_MAX / 16;
        assert_null(feed_chunks(&framing, sixteen[i], most));
        assert_null(feed_chunks(&framing, sixteen[i], most)); /* each body by itself */
        assert_int_equal(framing.completed, 2);
        const struct api_fault *fault = feed_chunks(&framing, sixteen[i], most + 1);
        assert_non_null(fault);
        assert_non_null(strstr(fault->detail, "without extensions"));
    }
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(whole_requests_go_on_as_they_are),
    cmocka_unit_test(what_nobody_needs_is_left_out),
    cmocka_unit_test(requests_before_a_fault_go_on_and_no_byte_of_its_own),
    cmocka_unit_test(nothing_goes_on_behind_a_head_that_contradicts_itself),
    cmocka_unit_test(fault_does_not_depend_on_how_the_bytes_come),
    cmocka_unit_test(extensions_and_zeros_of_a_body_have_one_bound),
};

CASE_MAIN(cases, NULL, NULL)
