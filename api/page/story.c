#include "api/page/story.h"

#include "api/page/story/app.js.h"
#include "api/page/story/controls.js.h"
#include "api/page/story/index.html.h"
#include "api/page/story/lanes.js.h"
#include "api/page/story/model.js.h"
#include "api/page/story/recording.js.h"
#include "api/page/story/run.js.h"
#include "api/page/story/scenes.js.h"
#include "api/page/story/sentences.js.h"
#include "api/page/story/story.css.h"
#include "api/page/story/world.js.h"
#include "api/story/story.wasm.gz.h"

#include <stdint.h>

static const struct api_page_file story_files[] = {
    API_PAGE_FILE("story/app.js", api_page_story_app),
    API_PAGE_FILE("story/controls.js", api_page_story_controls),
    API_PAGE_FILE("story/index.html", api_page_story_index),
    API_PAGE_FILE("story/lanes.js", api_page_story_lanes),
    API_PAGE_FILE("story/model.js", api_page_story_model),
    API_PAGE_FILE("story/recording.js", api_page_story_recording),
    API_PAGE_FILE("story/run.js", api_page_story_run),
    API_PAGE_FILE("story/scenes.js", api_page_story_scenes),
    API_PAGE_FILE("story/sentences.js", api_page_story_sentences),
    API_PAGE_FILE("story/story.css", api_page_story_story),
    API_PAGE_FILE("story/world.js", api_page_story_world),
    API_PAGE_FILE("story/story.wasm.gz", api_story_story_wasm),
};

const struct api_page api_page_story = {
    .document = "story/index.html",
    .files = story_files,
    .count = sizeof(story_files) / sizeof(story_files[0]),
    .runs_wasm = true,
};

struct api_routes api_page_story_routes(void)
{
    static const struct api_route routes[] = {
        {API_GET, "/story", api_page_show, API_TAKES_NOTHING, API_RIGHT_NONE, "story", API_CHEAP},
    };
    /* The handler only reads it; the context of other tables is not const. */
    return (struct api_routes){routes, sizeof(routes) / sizeof(routes[0]),
                               (void *)(uintptr_t)&api_page_story};
}
