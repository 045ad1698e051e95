/* The messages of pawld about rediss:// and of its files, before it serves. */
#include "storage/redis/tls.h"
#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/text.h"
#include "tests/system/certificates.h"
#include "tests/system/fleet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PATH_BYTES = 256,
    TEXT_BYTES = 1024,
    RUN_TIMEOUT_MS = 10000,
};

/* `pawld @options` ends with 2, and says @text. */
static void expect_usage(const char *options, const char *text)
{
    char log[PATH_BYTES], command[TEXT_BYTES];
    char *program = pawl_program("pawld");
    snprintf(log, sizeof(log), "%s/usage.log", fleet->dir);
    snprintf(command, sizeof(command), "exec %s %s", program, options);
    (void)remove(log);
    const int status =
        process_run((const char *const[]){"sh", "-c", command, NULL}, log, RUN_TIMEOUT_MS);
    char *said = text_read(log, 0);
    if (status != 2 || !strstr(said, text))
        fail_msg("pawld %s: %d, and not '%s', but: %s", options, status, text, said);
    free(said);
    free(program);
}

static void rediss_is_refused_where_it_was_not_built(void **state)
{
    if (storage_tls_is_built())
        case_skip("this build has TLS to masters");
    expect_usage("--master rediss://redis.example", "hiredis before 1.0");
    expect_usage("--master rediss://redis.example", "stunnel");
    expect_usage("init --new --master rediss://redis.example", "stunnel");
}

static void files_without_a_rediss_master_are_refused(void **state)
{
    expect_usage("--master redis://a:1 --master-ca /dev/null",
                 "need a master with a rediss:// URL");
    expect_usage("--master redis://a:1 --master-cert /dev/null", "go together");
    expect_usage("--master redis://a:1 --master-key /dev/null", "go together");
}

static void rediss_files_that_are_wrong_are_refused(void **state)
{
    if (!storage_tls_is_built())
        case_skip("this build has no TLS to masters: its hiredis has none");
    char options[TEXT_BYTES], cert_path[PATH_BYTES], key_path[PATH_BYTES];
    snprintf(cert_path, sizeof(cert_path), "%s/pawld.pem", fleet->dir);
    snprintf(key_path, sizeof(key_path), "%s/pawld.key", fleet->dir);
    certify("ours", "pawld");
    static const char master[] = "--master rediss://a:1";
    snprintf(options, sizeof(options), "%s --master-ca /nonexistent", master);
    expect_usage(options, "/nonexistent is no certificate");
    snprintf(options, sizeof(options), "%s --master-ca %s", master, key_path);
    expect_usage(options, "pawld.key is no certificate");
    snprintf(options, sizeof(options), "%s --master-cert %s --master-key %s/ours.key", master,
             cert_path, fleet->dir);
    expect_usage(options, "ours.key is no key of that certificate");
    shell("openssl ec -aes128 -passout pass:secret -in %s -out %s/locked.key", key_path,
          fleet->dir);
    snprintf(options, sizeof(options), "%s --master-cert %s --master-key %s/locked.key", master,
             cert_path, fleet->dir);
    expect_usage(options, "locked.key is no key of that certificate, without a passphrase");
}

static const struct CMUnitTest cases[] = {
    FLEET_CASE(rediss_is_refused_where_it_was_not_built, 1, REDIS_VOLATILE),
    FLEET_CASE(files_without_a_rediss_master_are_refused, 1, REDIS_VOLATILE),
    FLEET_CASE(rediss_files_that_are_wrong_are_refused, 1, REDIS_VOLATILE),
};

CASE_MAIN(cases, NULL, NULL)
