/* The page of pawld: can it grant, which masters vote, who holds what, and what happened. */
#ifndef API_PAGE_STATUS_H
#define API_PAGE_STATUS_H

#include "api/page/page.h"

extern const struct api_page api_page_status;

#endif
