/* The page of pawld: whether it can grant, which masters vote, who holds which lock, and the last
 * events. */
#ifndef API_PAGE_STATUS_H
#define API_PAGE_STATUS_H

#include "api/page/page.h"

extern const struct api_page api_page_status;

#endif
