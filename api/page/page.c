#include "api/page/page.h"

#include "api/http/problem_answer.h"
#include "api/http/request.h"
#include "api/page/shared/dialog.js.h"
#include "api/page/shared/dom.js.h"
#include "api/page/shared/http.js.h"
#include "api/page/shared/icon.svg.h"
#include "api/page/shared/key.js.h"
#include "api/page/shared/plot.js.h"
#include "api/page/shared/shell.js.h"
#include "api/page/shared/style.css.h"
#include "api/page/shared/table.js.h"
#include "api/page/shared/words.js.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

/* A page loads only from its own server, runs no script inside the document, and cannot be framed.
 * If a page runs WebAssembly, it may also compile it. */
#define POLICY_FOR(scripts)                                                                        \
    "default-src 'none'; script-src " scripts "; style-src 'self'; img-src 'self'; "               \
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
#define POLICY      POLICY_FOR("'self'")
#define POLICY_WASM POLICY_FOR("'self' 'wasm-unsafe-eval'")

static const struct api_page_file shared_files[] = {
    API_PAGE_FILE("shared/dialog.js", api_page_shared_dialog),
    API_PAGE_FILE("shared/dom.js", api_page_shared_dom),
    API_PAGE_FILE("shared/http.js", api_page_shared_http),
    API_PAGE_FILE("shared/icon.svg", api_page_shared_icon),
    API_PAGE_FILE("shared/key.js", api_page_shared_key),
    API_PAGE_FILE("shared/plot.js", api_page_shared_plot),
    API_PAGE_FILE("shared/shell.js", api_page_shared_shell),
    API_PAGE_FILE("shared/style.css", api_page_shared_style),
    API_PAGE_FILE("shared/table.js", api_page_shared_table),
    API_PAGE_FILE("shared/words.js", api_page_shared_words),
};

static const struct api_page_file *find_in(const struct api_page_file *files, size_t count,
                                           const char *path)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(files[i].path, path) == 0)
            return &files[i];
    return NULL;
}

static const struct api_page_file *find_file(const struct api_page *page, const char *path)
{
    for (const struct api_page *each = page; each != NULL; each = each->more) {
        const struct api_page_file *own = find_in(each->files, each->count, path);
        if (own != NULL)
            return own;
    }
    return find_in(shared_files, sizeof(shared_files) / sizeof(shared_files[0]), path);
}

static const char *type_of(const char *path)
{
    static const struct {
        const char *end;
        const char *type;
    } types[] = {
        {".html", "text/html; charset=utf-8"},
        {".css", "text/css; charset=utf-8"},
        {".js", "text/javascript; charset=utf-8"},
        {".svg", "image/svg+xml"},
        {".gz", "application/gzip"},
    };
    const char *end = strrchr(path, '.');
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (end != NULL && strcmp(end, types[i].end) == 0)
            return types[i].type;
    assert(false && "a file of a page has a type");
    return "application/octet-stream";
}

/* A tag includes its double quotes, so no tag is part of another one (RFC 9110, section 13.1.2). */
static bool has_it_already(const struct api_request *request, const struct api_page_file *file)
{
    const char *known = api_request_header(request, API_HEADER_IF_NONE_MATCH);
    return known != NULL && strstr(known, file->etag) != NULL;
}

/* A browser keeps a file, and asks each time whether it changed. So after an upgrade a page never
 * mixes files of two versions. The text is not copied, since callers without a key may request
 * it. */
static void answer_file(struct api_request *request, const struct api_page_file *file,
                        const char *policy)
{
    const struct api_answer answer = {
        .status = has_it_already(request, file) ? 304 : 200,
        .content_type = type_of(file->path),
        .cache_control = "no-cache",
        .body = file->text, /* a 304 has its length alone */
        .len = file->len,
        .is_lasting = true,
        .fields = {{"ETag", file->etag},
                   {"Content-Security-Policy", policy},
                   {"X-Content-Type-Options", "nosniff"},
                   {"Referrer-Policy", "no-referrer"}},
    };
    api_request_answer(request, &answer);
}

void api_page_show(struct api_request *request, void *context)
{
    const struct api_page *page = context;
    const struct api_page_file *document = find_file(page, page->document);
    assert(document != NULL);
    answer_file(request, document, page->runs_wasm ? POLICY_WASM : POLICY);
}

static void show_file(struct api_request *request, void *context)
{
    const struct api_page_file *file = find_file(context, api_request_param(request, 0));
    if (file != NULL)
        answer_file(request, file, POLICY);
    else
        api_problem_answer(request, API_PROBLEM_NOT_FOUND);
}

struct api_routes api_page_routes(const struct api_page *page)
{
    static const struct api_route routes[] = {
        {API_GET, "/", api_page_show, API_TAKES_NOTHING, API_RIGHT_NONE, "page", API_CHEAP},
        {API_GET, "/page/{file...}", show_file, API_TAKES_NOTHING, API_RIGHT_NONE, "page_file",
         API_CHEAP},
    };
    /* The handlers only read the context, which is not const for other tables. */
    return (struct api_routes){routes, sizeof(routes) / sizeof(routes[0]), (void *)(uintptr_t)page};
}
