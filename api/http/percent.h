/* Percent-encoding, undone exactly once and strictly (RFC 3986, section 2.1). Pure. */
#ifndef API_HTTP_PERCENT_H
#define API_HTTP_PERCENT_H

/* The fault of an encoded text. */
enum api_percent {
    API_PERCENT_FINE,
    API_PERCENT_BARE,   /* a space or control character that is not encoded */
    API_PERCENT_DIGITS, /* a percent sign without two hex digits */
    API_PERCENT_NUL,    /* an encoded NUL */
    API_PERCENT_UTF8,   /* the result is not UTF-8 */
};

/* Decodes @from to @to, both terminated. @to has room for as many bytes as @from. It may be @from
 * itself, or lie before it in the same buffer. Unless all is fine, @to is undefined. */
enum api_percent api_percent_decode(const char *from, char *to);

#endif
