# How everything here is compiled: one interface target, pawl_options, that each library, program
# and test links to privately.

option(PAWL_WERROR "Turn warnings into errors (the presets do)" OFF)
option(PAWL_FUZZ "Build the fuzzers; needs clang" OFF)
set(PAWL_SANITIZE "" CACHE STRING "Sanitizers: address,undefined or thread; empty for none")

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Debug or RelWithDebInfo" FORCE)
endif()

# An assert states what must hold for the protocol to be right: it stays on in what is shipped.
foreach(config RELEASE RELWITHDEBINFO MINSIZEREL)
    string(REPLACE "-DNDEBUG" "" CMAKE_C_FLAGS_${config} "${CMAKE_C_FLAGS_${config}}")
endforeach()

include(CheckPIESupported)
check_pie_supported(LANGUAGES C)

add_library(pawl_options INTERFACE)
target_compile_definitions(pawl_options INTERFACE _GNU_SOURCE)

# Includes are written from the root: #include "fence/core.h".
target_include_directories(pawl_options INTERFACE ${PROJECT_SOURCE_DIR})

target_compile_options(pawl_options INTERFACE
    -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes
    -Wvla -Wformat=2 -Wundef
    $<$<BOOL:${PAWL_WERROR}>:-Werror>)

# Hardening. _FORTIFY_SOURCE needs an optimiser, and hides from the sanitizers what they look for.
target_compile_options(pawl_options INTERFACE -fstack-protector-strong)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    target_compile_options(pawl_options INTERFACE -fcf-protection)
endif()
if(NOT PAWL_SANITIZE)
    target_compile_options(pawl_options INTERFACE
        $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2>)
endif()
target_link_options(pawl_options INTERFACE -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)

# A program asks for the libraries that it calls, not for those of the archives that it links.
target_link_options(pawl_options INTERFACE -Wl,--as-needed)

if(PAWL_SANITIZE)
    target_compile_options(pawl_options INTERFACE
        -fsanitize=${PAWL_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(pawl_options INTERFACE -fsanitize=${PAWL_SANITIZE})
endif()
if(PAWL_FUZZ)
    target_compile_options(pawl_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
