/* Extensions of several names, against a server that answers as the case says. */
#include "api/client/pawl.h"
#include "tests/lib/case.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    REQUEST_BYTES = 4096,
    CALL_TIMEOUT_MS = 300,
};

static const char grants[] =
    "201 Created\r\n"
    "|{\"ttl_ms\":60000,\"validity_ms\":59000,\"served_ms\":0,"
    "\"grants\":[{\"resource\":\"a\",\"token\":9},{\"resource\":\"b\",\"token\":4}]}";
static const char new_grant[] = "201 Created\r\n|{\"resource\":\"a\",\"token\":10,\"ttl_ms\":60000,"
                                "\"validity_ms\":59000,\"served_ms\":0}";
static const char extended[] =
    "200 OK\r\n|{\"ttl_ms\":60000,\"validity_ms\":59000,\"served_ms\":0}";
static const char unavailable[] = "503 Service Unavailable\r\n|{\"type\":\"urn:pawl:no-quorum\","
                                  "\"status\":503,\"detail\":\"Too few masters took part.\"}";

static int listener;
static char url[64];
static pthread_t server;
static _Atomic(const char *) a_answer;
static _Atomic(const char *) b_answer;

static const char *answer_to(const char *request)
{
    if (strncmp(request, "PATCH /v1/locks/a ", 18) == 0)
        return atomic_load(&a_answer);
    if (strncmp(request, "PATCH /v1/locks/b ", 18) == 0)
        return atomic_load(&b_answer);
    return grants;
}

/* One request a connection; each fits a read. It ends with the listener. */
static void *serve_requests(void *unused)
{
    int fd;
    while ((fd = accept(listener, NULL, NULL)) >= 0) {
        char request[REQUEST_BYTES];
        char answer[REQUEST_BYTES];
        const ssize_t len = read(fd, request, sizeof(request) - 1);
        request[len > 0 ? len : 0] = '\0';
        const char *text = answer_to(request);
        const char *body = strchr(text, '|') + 1;
        const int size = snprintf(answer, sizeof(answer),
                                  "HTTP/1.1 %.*sConnection: close\r\nContent-Length: %zu\r\n\r\n%s",
                                  (int)(body - 1 - text), text, strlen(body), body);
        (void)!write(fd, answer, (size_t)size);
        (void)close(fd);
    }
    return NULL;
}

static int begin(void **state)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t len = sizeof(address);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(listener, 8), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &len), 0);
    snprintf(url, sizeof(url), "http://127.0.0.1:%u", ntohs(address.sin_port));
    return pthread_create(&server, NULL, serve_requests, NULL);
}

static int end(void **state)
{
    (void)shutdown(listener, SHUT_RDWR);
    (void)pthread_join(server, NULL);
    return close(listener);
}

static void new_grant_of_one_name_is_told_though_another_one_failed(void **state)
{
    const char *const servers[] = {url}, *const names[] = {"a", "b"};
    pawl_client *client = NULL;
    pawl_lock *lock = NULL;
    assert_int_equal(pawl_client_new(&(struct pawl_options){.servers = servers,
                                                            .server_count = 1,
                                                            .call_timeout_ms = CALL_TIMEOUT_MS},
                                     &client),
                     0);
    assert_int_equal(
        pawl_acquire(client, &(struct pawl_request){.names = names, .name_count = 2}, &lock), 0);

    atomic_store(&a_answer, new_grant);
    atomic_store(&b_answer, unavailable);
    assert_int_equal(pawl_extend(client, lock, 0), PAWL_EUNAVAILABLE);
    assert_string_equal(pawl_client_reason(client), "cannot extend b: Too few masters took part.");
    assert_non_null(strstr(pawl_client_problem(client), "\"type\":\"urn:pawl:no-quorum\""));
    atomic_store(&a_answer, extended);
    atomic_store(&b_answer, extended);
    assert_int_equal(pawl_extend(client, lock, 0), PAWL_NEW_GRANT);
    assert_int_equal(pawl_lock_token(lock, 0), 10);
    assert_int_equal(pawl_lock_token(lock, 1), 4);
    assert_int_equal(pawl_extend(client, lock, 0), 0);
    assert_string_equal(pawl_client_reason(client), "");
    assert_string_equal(pawl_client_problem(client), "");
    pawl_lock_free(lock);
    pawl_client_free(client);
}

static const struct CMUnitTest cases[] = {
    cmocka_unit_test_setup_teardown(new_grant_of_one_name_is_told_though_another_one_failed, begin,
                                    end),
};

CASE_MAIN(cases, NULL, NULL)
