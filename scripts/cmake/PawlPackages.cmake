# The libraries that Pawl stands on, as imported targets PkgConfig::<name>. Their headers count as
# system headers, so our warnings do not reach into them. scripts/setup installs them all.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

function(pawl_package name module)
    pkg_check_modules(${name} REQUIRED IMPORTED_TARGET GLOBAL ${module})
endfunction()

pawl_package(curl libcurl)
pawl_package(hiredis hiredis)
pawl_package(jansson jansson)
pawl_package(jemalloc jemalloc)
pawl_package(microhttpd libmicrohttpd)
pawl_package(sodium libsodium)
pawl_package(sqlite3 sqlite3)
pawl_package(uv libuv)

# An image or a package is built where no tests are, and needs no cmocka.
option(PAWL_TESTS "Build the tests" ON)
if(PAWL_TESTS)
    pawl_package(cmocka cmocka)
endif()
