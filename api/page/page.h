/* A page for people: files that a browser loads from the program itself. The build embeds them, so
 * there is no folder to install, and a page always fits the program that serves it.
 *
 *     GET /               the document
 *     GET /page/{file}    the files that the document loads
 *
 * Neither needs a key, as the files contain no data of this server. The calls of a page need
 * one. */
#ifndef API_PAGE_PAGE_H
#define API_PAGE_PAGE_H

#include "api/http/route.h"

struct api_page_file {
    const char *path; /* behind /page/: "shared/dom.js"; its end tells the type */
    const char *text;
    size_t len;
    const char *etag; /* changes with the text; in double quotes */
};

/* Files that a program adds to those of api/page/shared. Everything lasts as long as the program.
 */
struct api_page {
    const char *document; /* the path of the file that is served at / */
    const struct api_page_file *files;
    size_t count;
    bool runs_wasm;              /* the document may run WebAssembly of this server */
    const struct api_page *more; /* another page, whose files are served, too; NULL: none */
};

/* A file that pawl_embed_text() made the constant @symbol, and its entity tag. */
#define API_PAGE_FILE(name, symbol)                                                                \
    {                                                                                              \
        name, symbol, sizeof(symbol) - 1, symbol##_etag                                            \
    }

/* Answers with the document of the page that is the context. */
api_handler api_page_show;

/* The routes of @page, which is borrowed for the life of the server. */
struct api_routes api_page_routes(const struct api_page *page);

#endif
