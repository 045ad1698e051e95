/* The story, at /story: the world of api/story, played by the browser. */
#ifndef API_PAGE_STORY_H
#define API_PAGE_STORY_H

#include "api/page/page.h"

extern const struct api_page api_page_story;

/* The route of its document. The page of the program that has it serves its files. */
struct api_routes api_page_story_routes(void);

#endif
