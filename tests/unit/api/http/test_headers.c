#include "api/http/headers.h"
#include "tests/lib/case.h"

#include <string.h>

/* Header lines of a request in HTTP/1.1 with a Host: name, value, name, value, NULL. */
static const char *fault_of(const char *const *lines)
{
    struct api_headers headers = {0};
    api_headers_add(&headers, "Host", "h");
    for (; lines[0] != NULL; lines += 2)
        api_headers_add(&headers, lines[0], lines[1]);
    char storage[512];
    assert_true(api_headers_size(&headers) <= sizeof(storage));
    api_headers_own(&headers, storage);
    return api_headers_fault(&headers, "HTTP/1.1");
}

#define FAULT_OF(...) fault_of((const char *const[]){__VA_ARGS__, NULL})

static void length_alone_is_fine(void **state)
{
    assert_null(FAULT_OF("Content-Length", "0"));
    assert_null(FAULT_OF("content-length", "65536"));
}

static void chunked_alone_is_fine(void **state)
{
    assert_null(FAULT_OF("Transfer-Encoding", "chunked"));
    assert_null(FAULT_OF("TRANSFER-ENCODING", "Chunked"));
}

static void length_and_coding_together_are_refused(void **state)
{
    assert_non_null(FAULT_OF("Content-Length", "5", "Transfer-Encoding", "chunked"));
    assert_non_null(FAULT_OF("Transfer-Encoding", "chunked", "Content-Length", "0"));
}

static void any_coding_but_chunked_is_refused(void **state)
{
    assert_non_null(FAULT_OF("Transfer-Encoding", "gzip"));
    assert_non_null(FAULT_OF("Transfer-Encoding", "identity"));
    assert_non_null(FAULT_OF("Transfer-Encoding", "gzip, chunked"));
    assert_non_null(FAULT_OF("Transfer-Encoding", "chunked, chunked"));
    assert_non_null(FAULT_OF("Transfer-Encoding", "xchunked"));
    assert_non_null(FAULT_OF("Transfer-Encoding", ""));
}

static void framing_headers_come_once(void **state)
{
    assert_non_null(FAULT_OF("Content-Length", "5", "Content-Length", "5"));
    assert_non_null(FAULT_OF("Transfer-Encoding", "chunked", "Transfer-Encoding", "chunked"));
    assert_non_null(FAULT_OF("Host", "other"));
}

static void length_is_plain_digits(void **state)
{
    assert_non_null(FAULT_OF("Content-Length", ""));
    assert_non_null(FAULT_OF("Content-Length", "+5"));
    assert_non_null(FAULT_OF("Content-Length", "-5"));
    assert_non_null(FAULT_OF("Content-Length", "5, 5"));
    assert_non_null(FAULT_OF("Content-Length", "0x5"));
}

static void white_space_before_the_colon_is_refused(void **state)
{
    assert_non_null(FAULT_OF("Transfer-Encoding ", "chunked"));
    assert_non_null(FAULT_OF("X-Other\t", "1"));
}

static void host_is_needed_in_1_1_only(void **state)
{
    const struct api_headers none = {0};
    assert_non_null(api_headers_fault(&none, "HTTP/1.1"));
    assert_null(api_headers_fault(&none, "HTTP/1.0"));
}

static void other_versions_are_refused(void **state)
{
    struct api_headers headers = {0};
    api_headers_add(&headers, "Host", "h");
    assert_non_null(api_headers_fault(&headers, "HTTP/2.0"));
    assert_non_null(api_headers_fault(&headers, "HTTP/1.2"));
    assert_non_null(api_headers_fault(&headers, ""));
}

static void chunked_is_of_1_1_only(void **state)
{
    struct api_headers headers = {0};
    api_headers_add(&headers, "Transfer-Encoding", "chunked");
    api_headers_add(&headers, "Host", "h");
    assert_null(api_headers_fault(&headers, "HTTP/1.1"));
    assert_non_null(api_headers_fault(&headers, "HTTP/1.0"));
}

static void announced_length_is_read_without_overflow(void **state)
{
    struct api_headers headers = {0};
    assert_true(api_headers_body_length(&headers) == 0);
    api_headers_add(&headers, "Content-Length", "65537");
    assert_true(api_headers_body_length(&headers) == 65537);

    struct api_headers huge = {0};
    api_headers_add(&huge, "Content-Length", "99999999999999999999999");
    assert_true(api_headers_body_length(&huge) == UINT64_MAX);
}

static void owned_values_lose_the_white_space_at_their_end(void **state)
{
    struct api_headers headers = {0};
    api_headers_add(&headers, "Fencing-Token", "34 \t ");
    api_headers_add(&headers, "lock-id", "  ");
    char storage[16];
    assert_int_equal(api_headers_size(&headers), 4);
    api_headers_own(&headers, storage);
    assert_string_equal(headers.value[API_HEADER_FENCING_TOKEN], "34");
    assert_string_equal(headers.value[API_HEADER_LOCK_ID], "");
    assert_null(headers.value[API_HEADER_IF_MATCH]);
}

static void repeated_header_is_noticed_and_the_first_kept(void **state)
{
    struct api_headers headers = {0};
    api_headers_add(&headers, "Lock-Id", "first");
    api_headers_add(&headers, "LOCK-ID", "second");
    assert_true(headers.repeated[API_HEADER_LOCK_ID]);
    assert_false(headers.repeated[API_HEADER_FENCING_TOKEN]);
    assert_string_equal(headers.value[API_HEADER_LOCK_ID], "first");
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test(length_alone_is_fine),
    cmocka_unit_test(chunked_alone_is_fine),
    cmocka_unit_test(length_and_coding_together_are_refused),
    cmocka_unit_test(any_coding_but_chunked_is_refused),
    cmocka_unit_test(framing_headers_come_once),
    cmocka_unit_test(length_is_plain_digits),
    cmocka_unit_test(white_space_before_the_colon_is_refused),
    cmocka_unit_test(host_is_needed_in_1_1_only),
    cmocka_unit_test(other_versions_are_refused),
    cmocka_unit_test(chunked_is_of_1_1_only),
    cmocka_unit_test(announced_length_is_read_without_overflow),
    cmocka_unit_test(owned_values_lose_the_white_space_at_their_end),
    cmocka_unit_test(repeated_header_is_noticed_and_the_first_kept),
};

CASE_MAIN(cases, NULL, NULL)
