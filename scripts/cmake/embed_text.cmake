# Run at build time by pawl_embed_text(): INPUT, OUTPUT, SYMBOL, VERSION.
#
# Written as single characters, not as one literal: a C11 compiler need not take a string literal
# longer than 4,095 bytes, and nothing has to be escaped.

cmake_minimum_required(VERSION 3.25)

file(READ ${INPUT} bytes HEX)
string(HEX "@PROJECT_VERSION@" placeholder)
string(HEX "${VERSION}" version)
string(REPLACE "${placeholder}" "${version}" bytes "${bytes}")
string(REGEX REPLACE "(................................)" "\\1\n    " bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
file(WRITE ${OUTPUT} "static const char ${SYMBOL}[] = {\n    ${bytes}'\\0'};\n")
