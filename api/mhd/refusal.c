#include "api/mhd/refusal.h"

#include "api/json/writer.h"
#include "api/tls/session.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include <microhttpd.h>

enum {
    HEAD_MAX = 512,
};

/* As in RFC 9110, section 5.6.7. */
static void print_date(char *text, size_t size)
{
    struct tm utc;
    const time_t now = time(NULL);
    text[0] = '\0';
    if (gmtime_r(&now, &utc) != NULL)
        (void)strftime(text, size, "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &utc);
}

void api_refusal_send(int fd, struct api_tls_session *session, enum api_problem problem,
                      const char *detail, bool head_only)
{
    char answer[HEAD_MAX + API_PROBLEM_BODY_MAX];
    char body[API_PROBLEM_BODY_MAX];
    char date[64];
    struct api_writer writer;
    const unsigned status = api_problem_status(problem);
    api_problem_begin(&writer, body, problem, detail);
    api_write_end(&writer);
    print_date(date, sizeof(date));
    const int head = snprintf(answer, HEAD_MAX,
                              "HTTP/1.1 %u %s\r\n%sConnection: close\r\nContent-Type: "
                              "application/problem+json\r\nCache-Control: no-store\r\n"
                              "Content-Length: %zu\r\n\r\n",
                              status, MHD_get_reason_phrase_for(status), date, writer.len);
    assert(head > 0 && head < HEAD_MAX && writer.len <= sizeof(body));
    size_t len = (size_t)head;
    if (!head_only) {
        memcpy(answer + len, writer.buffer, writer.len);
        len += writer.len;
    }
    if (session == NULL)
        (void)!sendto(fd, answer, len, MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0);
    else if (api_tls_session_flush(session))
        (void)!api_tls_session_write(session, answer, len);
}
