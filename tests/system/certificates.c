#include "tests/system/certificates.h"

#include "tests/lib/case.h"
#include "tests/lib/process.h"
#include "tests/lib/tls.h"
#include "tests/system/fleet.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    RUN_TIMEOUT_MS = 20000,
    PATH_BYTES = 256,
    LINE_BYTES = 4096,
};

void shell(const char *format, ...)
{
    char command[LINE_BYTES], log[PATH_BYTES];
    va_list args;
    va_start(args, format);
    const int len = vsnprintf(command, sizeof(command), format, args);
    va_end(args);
    assert_in_range(len, 1, sizeof(command) - 1);
    snprintf(log, sizeof(log), "%s/shell.log", fleet->dir);
    const char *const argv[] = {"sh", "-c", command, NULL};
    if (process_run(argv, log, RUN_TIMEOUT_MS) != 0)
        fail_msg("%s failed; see %s", command, log);
}

void certify(const char *authority, const char *name)
{
    static const char ec[] = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -days 2";
    const char *address = strcmp(name, "loopback") == 0 ? ",IP:127.0.0.1" : "";
    shell("cd %s && { test -e %s.pem || openssl req -x509 %s " TLS_AUTHORITY
          " -keyout %s.key -out %s.pem -subj /CN=%s; }",
          fleet->dir, authority, ec, authority, authority, authority);
    shell("cd %s && openssl req -x509 %s " TLS_LEAF
          " -addext extendedKeyUsage=serverAuth,clientAuth -CA %s.pem -CAkey %s.key -keyout %s.key "
          "-out %s.pem -subj /CN=%s -addext subjectAltName=DNS:%s%s",
          fleet->dir, ec, authority, authority, name, name, name, name, address);
}
