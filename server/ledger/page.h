/* The page of the ledger: accounts, their guards, and refused calls. */
#ifndef SERVER_LEDGER_PAGE_H
#define SERVER_LEDGER_PAGE_H

#include "api/page/page.h"

extern const struct api_page ledger_page;

#endif
