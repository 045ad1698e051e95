/* Key files: what they may say, what is refused and how, and who is found in them. */
#include "api/auth/keys.h"
#include "tests/lib/case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

static char secret[API_SECRET_LEN + 1];
static char hash[API_DIGEST_TEXT + 1];
static struct api_keys *keys;
static char why[API_KEYS_WHY_MAX];

static int setup(void **state)
{
    assert_true(sodium_init() >= 0);
    struct api_digest digest;
    api_secret_make(secret);
    api_digest_make(secret, &digest);
    api_digest_write(&digest, hash);
    keys = NULL;
    why[0] = '\0';
    return 0;
}

static int teardown(void **state)
{
    api_keys_unref(keys);
    return 0;
}

static int parse(const char *text)
{
    return api_keys_parse("keys", text, strlen(text), why, &keys);
}

/* Reads a file of one line: @id, its hash, and @rest. */
static int parse_line(const char *id, const char *rest)
{
    char text[API_KEY_LINE_MAX + 512];
    (void)snprintf(text, sizeof(text), "%s hash=%s %s\n", id, hash, rest);
    return parse(text);
}

static struct api_key *only_key(const char *rest)
{
    char text[API_KEY_TEXT_MAX];
    assert_int_equal(parse_line("deploy", rest), 0);
    (void)snprintf(text, sizeof(text), "pawl_deploy_%s", secret);
    struct api_key *key = api_keys_verify(keys, text);
    assert_non_null(key);
    return key;
}

static void refuse(const char *id, const char *rest, const char *says)
{
    assert_int_equal(parse_line(id, rest), FENCE_EINVAL);
    assert_null(keys);
    if (strncmp(why, "keys:1: ", 8) != 0 || strstr(why, says) == NULL)
        fail_msg("'%s' should begin with keys:1: and say '%s'", why, says);
}

static void line_has_a_hash_a_role_and_a_prefix(void **state)
{
    const struct api_key *key = only_key("role=lock prefix=orders/");
    assert_string_equal(key->id, "deploy");
    assert_int_equal(key->right, API_RIGHT_LOCK);
    assert_int_equal(key->prefixes_count, 1);
    assert_int_equal(key->rate, 0);
    assert_int_equal(key->held, 0);
    assert_null(key->subject);
}

static void line_may_have_limits_and_a_subject(void **state)
{
    const struct api_key *key =
        only_key("role=read prefix=a/  prefix=b/\trate=10 burst=20 held=3 subject=Job Runner 7  ");
    assert_int_equal(key->prefixes_count, 2);
    assert_int_equal(key->rate, 10);
    assert_int_equal(key->burst, 20);
    assert_int_equal(key->held, 3);
    assert_string_equal(key->subject, "Job Runner 7");
    assert_ptr_equal(api_keys_of_subject(keys, "Job Runner 7"), key);
    assert_null(api_keys_of_subject(keys, "Job Runner"));
}

static void burst_is_the_rate_where_none_is_given(void **state)
{
    assert_int_equal(only_key("role=read prefix=* rate=10")->burst, 10);
}

static void what_is_wrong_with_a_line_is_said(void **state)
{
    refuse("abc", "role=lock prefix=*", "4 to 16 characters");
    refuse("Deploy", "role=lock prefix=*", "4 to 16 characters");
    refuse("deploy", "prefix=*", "role= is missing");
    refuse("deploy", "role=lock", "prefix= is missing");
    refuse("deploy", "role=root prefix=*", "read, lock or admin");
    refuse("deploy", "role=lock role=lock prefix=*", "one role");
    refuse("deploy", "role=lock prefix=", "prefix=");
    refuse("deploy", "role=lock prefix=a//b", "empty");
    refuse("deploy", "role=lock prefix=a*", "A-Z");
    refuse("deploy", "role=lock prefix=* rate=0", "1 to 1000000");
    refuse("deploy", "role=lock prefix=* rate=1000001", "1 to 1000000");
    refuse("deploy", "role=lock prefix=* rate=-1", "1 to 1000000");
    refuse("deploy", "role=lock prefix=* rate=1 rate=2", "twice");
    refuse("deploy", "role=lock prefix=* burst=5", "rate=");
    refuse("deploy", "role=lock prefix=* held=10001", "1 to 10000");
    refuse("deploy", "role=lock prefix=* subject=", "common name");
    refuse("deploy", "role=lock prefix=* lease=5", "is unknown");
    refuse("deploy", "role=lock prefix=* orders/", "no '='");
    refuse("deploy", "hash=x role=lock prefix=*", "twice");
}

static void hash_is_of_one_form_only(void **state)
{
    char text[512];
    for (unsigned cut = 1; cut < 3; cut++) {
        (void)snprintf(text, sizeof(text), "deploy hash=%s role=lock prefix=*\n", hash + cut);
        assert_int_equal(parse(text), FENCE_EINVAL);
        assert_non_null(strstr(why, "pawl key new"));
    }
    assert_int_equal(parse("deploy role=lock prefix=*\n"), FENCE_EINVAL);
    assert_non_null(strstr(why, "hash= is missing"));
}

static void line_is_bounded(void **state)
{
    char rest[API_KEY_LINE_MAX + 1];
    size_t len = (size_t)snprintf(rest, sizeof(rest), "role=lock prefix=*");
    memset(rest + len, ' ', sizeof(rest) - len);
    rest[sizeof(rest) - 1] = '\0';
    refuse("deploy", rest, "4096 bytes");
}

static void prefixes_are_bounded(void **state)
{
    char rest[512];
    size_t len = (size_t)snprintf(rest, sizeof(rest), "role=lock");
    for (int i = 0; i < API_KEY_PREFIXES_MAX; i++)
        len += (size_t)snprintf(rest + len, sizeof(rest) - len, " prefix=a/");
    assert_int_equal(only_key(rest)->prefixes_count, API_KEY_PREFIXES_MAX);
    api_keys_unref(keys);
    keys = NULL;
    (void)snprintf(rest + len, sizeof(rest) - len, " prefix=a/");
    refuse("deploy", rest, "at most 16 prefixes");
}

static void comments_and_blank_lines_are_no_keys(void **state)
{
    char text[1024];
    (void)snprintf(text, sizeof(text),
                   "# keys\r\n\n  \t\n  # more\ndeploy hash=%s role=lock prefix=*\r\n", hash);
    assert_int_equal(parse(text), 0);
    assert_int_equal(api_keys_count(keys), 1);
}

static void line_that_does_not_end_refuses_the_file(void **state)
{
    char text[512];
    (void)snprintf(text, sizeof(text), "deploy hash=%s role=lock prefix=o", hash);
    assert_int_equal(parse(text), FENCE_EINVAL);
    assert_non_null(strstr(why, "keys:1: the last line has no line break"));
    assert_int_equal(parse("# no keys"), FENCE_EINVAL);
    assert_int_equal(parse(""), 0);
}

static void one_wrong_line_refuses_the_file_by_its_number(void **state)
{
    char text[1024];
    (void)snprintf(text, sizeof(text),
                   "# keys\ndeploy hash=%s role=lock prefix=*\n\nnightly role=lock\n", hash);
    assert_int_equal(parse(text), FENCE_EINVAL);
    assert_null(keys);
    assert_int_equal(strncmp(why, "keys:4: hash= is missing", 24), 0);
}

static void id_and_subject_are_there_once(void **state)
{
    char text[1024];
    (void)snprintf(text, sizeof(text),
                   "deploy hash=%s role=lock prefix=*\ndeploy hash=%s role=read prefix=*\n", hash,
                   hash);
    assert_int_equal(parse(text), FENCE_EINVAL);
    assert_non_null(strstr(why, "keys:2: the file already has this id"));
    (void)snprintf(text, sizeof(text),
                   "deploy hash=%s role=lock prefix=* subject=a\n"
                   "nightly hash=%s role=read prefix=* subject=a\n",
                   hash, hash);
    assert_int_equal(parse(text), FENCE_EINVAL);
    assert_non_null(strstr(why, "keys:2: this subject"));
}

/* A file of @count keys. */
static char *many_lines(unsigned count)
{
    const size_t size = 256;
    char *text = malloc(count * size + 1);
    char *end = text;
    assert_non_null(text);
    for (unsigned i = 0; i < count; i++)
        end += snprintf(end, size, "key-%u hash=%s role=lock prefix=*\n", i, hash);
    return text;
}

static void keys_are_bounded_and_each_is_found(void **state)
{
    char text[API_KEY_TEXT_MAX];
    char *lines = many_lines(API_KEYS_MAX);
    assert_int_equal(parse(lines), 0);
    free(lines);
    for (unsigned i = 0; i < API_KEYS_MAX; i++) {
        (void)snprintf(text, sizeof(text), "pawl_key-%u_%s", i, secret);
        assert_non_null(api_keys_verify(keys, text));
    }
    (void)snprintf(text, sizeof(text), "pawl_key-%u_%s", (unsigned)API_KEYS_MAX, secret);
    assert_null(api_keys_verify(keys, text));
    api_keys_unref(keys);
    keys = NULL;
    lines = many_lines(API_KEYS_MAX + 1);
    assert_int_equal(parse(lines), FENCE_EINVAL);
    free(lines);
    assert_non_null(strstr(why, "keys:4097: "));
}

static void lines_are_bounded(void **state)
{
    char *text = malloc(API_KEYS_LINES_MAX + 2);
    assert_non_null(text);
    memset(text, '\n', API_KEYS_LINES_MAX + 1);
    text[API_KEYS_LINES_MAX + 1] = '\0';
    assert_int_equal(parse(text), FENCE_EINVAL);
    text[API_KEYS_LINES_MAX] = '\0';
    assert_int_equal(parse(text), 0);
    free(text);
}

static void expect_mode(mode_t mode, int result, const char *says)
{
    char path[] = "/tmp/pawl-keys-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_true(dprintf(fd, "deploy hash=%s role=lock prefix=*\n", hash) > 0);
    assert_int_equal(fchmod(fd, mode), 0);
    (void)close(fd);
    api_keys_unref(keys);
    keys = NULL;
    why[0] = '\0';
    assert_int_equal(api_keys_load(path, why, &keys), result);
    assert_int_equal(unlink(path), 0);
    if (result != 0 && (strncmp(why, path, strlen(path)) != 0 || strstr(why, says) == NULL))
        fail_msg("'%s' should begin with %s and say '%s'", why, path, says);
}

static void file_is_for_its_owner_and_its_group(void **state)
{
    expect_mode(0600, 0, "");
    expect_mode(0640, 0, "");
    expect_mode(0644, FENCE_EINVAL, "chmod o-r");
    expect_mode(0660, FENCE_EINVAL, "chmod go-w");
    expect_mode(0602, FENCE_EINVAL, "chmod go-w");
}

static void what_is_no_file_is_refused(void **state)
{
    assert_int_equal(api_keys_load("/nowhere/keys", why, &keys), FENCE_EIO);
    assert_non_null(strstr(why, "/nowhere/keys: cannot be read: No such file"));
    assert_int_equal(api_keys_load("/dev/null", why, &keys), FENCE_EINVAL);
    assert_non_null(strstr(why, "not a regular file"));
}

static void only_the_whole_key_is_the_key(void **state)
{
    (void)only_key("role=lock prefix=*");
    char other[API_SECRET_LEN + 1], text[API_KEY_TEXT_MAX];
    api_secret_make(other);
    (void)snprintf(text, sizeof(text), "pawl_deploy_%s", other);
    assert_null(api_keys_verify(keys, text));
    (void)snprintf(text, sizeof(text), "pawl_nightly_%s", secret);
    assert_null(api_keys_verify(keys, text));
    (void)snprintf(text, sizeof(text), "pawl_deploy_%s", secret);
    text[strlen(text) - 1] = '\0';
    assert_null(api_keys_verify(keys, text));
    (void)snprintf(text, sizeof(text), "PAWL_deploy_%s", secret);
    assert_null(api_keys_verify(keys, text));
    (void)snprintf(text, sizeof(text), "pawl_deploy__%.42s", secret);
    assert_null(api_keys_verify(keys, text));
    assert_null(api_keys_verify(keys, ""));
    assert_null(api_keys_verify(keys, "pawl_"));
    assert_null(api_keys_verify(keys, secret));
    assert_null(api_keys_verify(keys, hash));
}

/* Each of the last character's neighbours decodes to the same bytes: the text is compared. */
static void another_spelling_of_the_same_bytes_is_no_key(void **state)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    char text[API_KEY_TEXT_MAX];
    (void)only_key("role=lock prefix=*");
    unsigned accepted = 0;
    for (const char *last = alphabet; *last != '\0'; last++) {
        (void)snprintf(text, sizeof(text), "pawl_deploy_%.42s%c", secret, *last);
        accepted += api_keys_verify(keys, text) != NULL;
    }
    assert_int_equal(accepted, 1);
}

static void each_byte_of_the_hash_and_of_the_salt_counts(void **state)
{
    struct api_digest digest;
    unsigned char *bytes = (unsigned char *)&digest;
    assert_int_equal(api_digest_read(hash, &digest), 0);
    assert_true(api_digest_matches(&digest, secret));
    for (size_t i = 0; i < sizeof(digest); i++) {
        bytes[i] ^= 1;
        assert_false(api_digest_matches(&digest, secret));
        bytes[i] ^= 1;
    }
}

static void two_lines_of_one_secret_do_not_look_alike(void **state)
{
    struct api_digest again;
    char text[API_DIGEST_TEXT + 1];
    api_digest_make(secret, &again);
    api_digest_write(&again, text);
    assert_true(api_digest_matches(&again, secret));
    assert_string_not_equal(text, hash);
    assert_string_not_equal(text + 23, hash + 23);
}

static void prefix_reaches_names_that_begin_with_it(void **state)
{
    const struct api_key *key = only_key("role=lock prefix=orders/ prefix=job");
    assert_true(api_key_reaches(key, "orders/1"));
    assert_true(api_key_reaches(key, "orders/"));
    assert_true(api_key_reaches(key, "jobs"));
    assert_false(api_key_reaches(key, "orders"));
    assert_false(api_key_reaches(key, "orders-of-others"));
    assert_false(api_key_reaches(key, ""));
    assert_false(api_key_reaches(key, "x/orders/1"));
}

static void star_reaches_all_names(void **state)
{
    const struct api_key *key = only_key("role=lock prefix=*");
    assert_true(api_key_reaches(key, "orders/1"));
    assert_true(api_key_reaches(key, ""));
}

static void successor_goes_on_with_what_was_used_up(void **state)
{
    uint64_t wait_us = 0;
    struct api_key *before = api_key_ref(only_key("role=lock prefix=* rate=1"));
    struct api_keys *old = keys;
    assert_true(api_usage_take(before->usage, 1, 1, 1, 5, &wait_us));
    struct api_key *after = only_key("role=read prefix=* rate=1");
    api_keys_succeed(keys, old);
    api_keys_unref(old);
    assert_ptr_equal(after->usage, before->usage);
    assert_false(api_usage_take(after->usage, 1, 1, 1, 6, &wait_us));
    assert_int_equal(before->right, API_RIGHT_LOCK); /* it is there while somebody refers to it */
    api_key_unref(before);
}

#define KEYS_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest cases[] = {
    KEYS_TEST(line_has_a_hash_a_role_and_a_prefix),
    KEYS_TEST(line_may_have_limits_and_a_subject),
    KEYS_TEST(burst_is_the_rate_where_none_is_given),
    KEYS_TEST(what_is_wrong_with_a_line_is_said),
    KEYS_TEST(hash_is_of_one_form_only),
    KEYS_TEST(line_is_bounded),
    KEYS_TEST(prefixes_are_bounded),
    KEYS_TEST(comments_and_blank_lines_are_no_keys),
    KEYS_TEST(line_that_does_not_end_refuses_the_file),
    KEYS_TEST(one_wrong_line_refuses_the_file_by_its_number),
    KEYS_TEST(id_and_subject_are_there_once),
    KEYS_TEST(keys_are_bounded_and_each_is_found),
    KEYS_TEST(lines_are_bounded),
    KEYS_TEST(file_is_for_its_owner_and_its_group),
    KEYS_TEST(what_is_no_file_is_refused),
    KEYS_TEST(only_the_whole_key_is_the_key),
    KEYS_TEST(another_spelling_of_the_same_bytes_is_no_key),
    KEYS_TEST(each_byte_of_the_hash_and_of_the_salt_counts),
    KEYS_TEST(two_lines_of_one_secret_do_not_look_alike),
    KEYS_TEST(prefix_reaches_names_that_begin_with_it),
    KEYS_TEST(star_reaches_all_names),
    KEYS_TEST(successor_goes_on_with_what_was_used_up),
};

CASE_MAIN(cases, NULL, NULL)
