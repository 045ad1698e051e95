#include "api/page/status.h"

#include "api/page/status/app.js.h"
#include "api/page/status/breaking.js.h"
#include "api/page/status/counters_view.js.h"
#include "api/page/status/events.js.h"
#include "api/page/status/events_view.js.h"
#include "api/page/status/index.html.h"
#include "api/page/status/lock_view.js.h"
#include "api/page/status/locks.js.h"
#include "api/page/status/locks_view.js.h"
#include "api/page/status/masters.js.h"
#include "api/page/status/metrics.js.h"
#include "api/page/status/rates.js.h"
#include "api/page/status/state.js.h"
#include "api/page/status/stream.js.h"
#include "api/page/status/verdict.js.h"
#include "api/page/story.h"

static const struct api_page_file status_files[] = {
    API_PAGE_FILE("status/app.js", api_page_status_app),
    API_PAGE_FILE("status/breaking.js", api_page_status_breaking),
    API_PAGE_FILE("status/counters_view.js", api_page_status_counters_view),
    API_PAGE_FILE("status/events.js", api_page_status_events),
    API_PAGE_FILE("status/events_view.js", api_page_status_events_view),
    API_PAGE_FILE("status/index.html", api_page_status_index),
    API_PAGE_FILE("status/lock_view.js", api_page_status_lock_view),
    API_PAGE_FILE("status/locks.js", api_page_status_locks),
    API_PAGE_FILE("status/locks_view.js", api_page_status_locks_view),
    API_PAGE_FILE("status/masters.js", api_page_status_masters),
    API_PAGE_FILE("status/metrics.js", api_page_status_metrics),
    API_PAGE_FILE("status/rates.js", api_page_status_rates),
    API_PAGE_FILE("status/state.js", api_page_status_state),
    API_PAGE_FILE("status/stream.js", api_page_status_stream),
    API_PAGE_FILE("status/verdict.js", api_page_status_verdict),
};

const struct api_page api_page_status = {
    .document = "status/index.html",
    .files = status_files,
    .count = sizeof(status_files) / sizeof(status_files[0]),
    .more = &api_page_story,
};
