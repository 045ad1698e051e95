# The libraries that Pawl stands on, as imported targets PkgConfig::<name>. Their headers count as
# system headers, so our warnings do not reach into them. scripts/setup --build installs them all, but for
# those that only tests need.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

function(pawl_package name module)
    pkg_check_modules(${name} REQUIRED IMPORTED_TARGET GLOBAL ${module})
endfunction()

pawl_package(curl libcurl)
pawl_package(gnutls gnutls)
pawl_package(hiredis hiredis)
pawl_package(jansson jansson)
pawl_package(jemalloc jemalloc)
pawl_package(microhttpd libmicrohttpd)
pawl_package(inih inih)
pawl_package(sodium libsodium)
pawl_package(sqlite3 sqlite3)
pawl_package(uv libuv)

# TLS to masters (rediss://): hiredis has it from 1.0 on. Debian 12 has 0.14, and builds without.
pkg_check_modules(hiredis_ssl IMPORTED_TARGET GLOBAL hiredis_ssl QUIET)
pkg_check_modules(openssl IMPORTED_TARGET GLOBAL openssl QUIET)
set(PAWL_HIREDIS_TLS OFF)
if(hiredis_ssl_FOUND AND openssl_FOUND)
    set(PAWL_HIREDIS_TLS ON)
endif()
message(STATUS "TLS to masters: ${PAWL_HIREDIS_TLS}")

# Only tests need these: cmocka, and the clients of databases that have a guard.
pkg_check_modules(cmocka IMPORTED_TARGET GLOBAL cmocka QUIET)
pkg_check_modules(mariadb IMPORTED_TARGET GLOBAL libmariadb QUIET)
pkg_check_modules(pq IMPORTED_TARGET GLOBAL libpq QUIET)
set(found OFF)
if(cmocka_FOUND AND mariadb_FOUND AND pq_FOUND)
    set(found ON)
endif()
if(NOT DEFINED PAWL_TESTS)
    set(PAWL_TESTS ${found}) # -D PAWL_TESTS=ON or OFF says it for good
endif()
if(PAWL_TESTS AND NOT found)
    message(FATAL_ERROR "PAWL_TESTS needs cmocka, libmariadb and libpq: run scripts/setup")
endif()
