/* Locks put on the masters as if they were held, and all pages of a listing put together. One
 * thread. */
#ifndef TESTS_SYSTEM_LISTED_H
#define TESTS_SYSTEM_LISTED_H

#include "tests/lib/http.h"

#include <stddef.h>
#include <stdint.h>

#define LISTED_ALL 0x1ffu /* every master, however many there are */

/* Puts the locks @prefix"1" to @prefix"<locks>" on the masters in the set @masters, under the lock
 * id @id (27 characters), the number 34 and the owner "w", for a minute. */
void listed_put(unsigned masters, const char *prefix, unsigned locks, const char *id);

/* Some lock ids. */
#define LISTED_ID_A "aaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define LISTED_ID_B "bbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define LISTED_ID_C "ccccccccccccccccccccccccccc"

/* Removes all locks from all masters that are up. */
void listed_remove(void);

/* One page: GET /v1/locks with @query, "" or "?...", repeated a few times where a master missed its
 * deadline. Stays until the next call. */
const struct http_response *listed_page(uint16_t port, const char *query);

/* All pages of a listing of @prefix with @limit (0: not given), read through the services on
 * @ports (ended by 0) in turn. Fails the test where a page is not one. Returns how many locks were
 * listed, any twice counted twice. */
size_t listed_read(const uint16_t ports[], const char *prefix, unsigned limit);

/* The same, with @change called after the first page. */
size_t listed_read_while(const uint16_t ports[], const char *prefix, unsigned limit,
                         void (*change)(void));

/* The same as listed_read() for the listing of named counters. */
size_t listed_read_counters(const uint16_t ports[], const char *prefix, unsigned limit);

/* The token or the value that @name was listed with; 0: it was not listed. */
int64_t listed_number(const char *name);

/* How often @resource was listed by the last listed_read(). */
size_t listed_times(const char *resource);

/* How many pages that took. */
unsigned listed_pages(void);

#endif
