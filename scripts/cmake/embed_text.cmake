# Run at build time by pawl_embed_text(): INPUT, OUTPUT, SYMBOL, VERSION.
#
# Written as single characters, not as one literal: a C11 compiler need not take a string literal
# longer than 4,095 bytes, and nothing has to be escaped. SYMBOL_etag is the entity tag of the text
# (RFC 9110, section 8.8.3).

cmake_minimum_required(VERSION 3.25)

file(READ ${INPUT} bytes HEX)
string(HEX "@PROJECT_VERSION@" placeholder)
string(HEX "${VERSION}" version)
string(REPLACE "${placeholder}" "${version}" bytes "${bytes}")
string(SHA256 hash "${bytes}")
string(SUBSTRING "${hash}" 0 16 hash)
string(REGEX REPLACE "(................................)" "\\1\n    " bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
file(WRITE ${OUTPUT} "static const char ${SYMBOL}[] = {\n    ${bytes}'\\0'};\n"
     "static const char ${SYMBOL}_etag[] = \"\\\"${hash}\\\"\";\n")
