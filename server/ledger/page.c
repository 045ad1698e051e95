#include "server/ledger/page.h"

#include "server/ledger/page/app.js.h"
#include "server/ledger/page/index.html.h"

static const struct api_page_file ledger_files[] = {
    API_PAGE_FILE("ledger/app.js", server_ledger_page_app),
    API_PAGE_FILE("ledger/index.html", server_ledger_page_index),
};

const struct api_page ledger_page = {
    .document = "ledger/index.html",
    .files = ledger_files,
    .count = sizeof(ledger_files) / sizeof(ledger_files[0]),
};
