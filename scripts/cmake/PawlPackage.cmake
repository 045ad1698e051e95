# The packages of Debian, by CPack; scripts/package calls it. What a package holds is its component's
# (PawlInstall.cmake), and what dpkg asks for beside is in scripts/package.d/deb/.

# Revisions of others than Debian begin with 0 and a name, so that a package of Debian's own is newer.
set(PAWL_DEB_RELEASE 1 CACHE STRING "The number of the packages' revision")
set(revision 0pawl${PAWL_DEB_RELEASE})
set(deb ${PROJECT_SOURCE_DIR}/scripts/package.d/deb)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/scripts/cmake/finish_packages.cmake)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_VENDOR Pawl)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # each package has its own
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL server cli client guard sqlite redis dev)

set(CPACK_DEBIAN_PACKAGE_RELEASE ${revision})
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "Pawl maintainers <maintainers@pawl.invalid>")
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(same_version "(= ${PROJECT_VERSION}-${revision})")

# pawl_deb(<component> <package> <section> <one line> <paragraph>)
function(pawl_deb component package section line paragraph)
    string(TOUPPER ${component} key)
    set(CPACK_DEBIAN_${key}_PACKAGE_NAME ${package} PARENT_SCOPE)
    set(CPACK_DEBIAN_${key}_PACKAGE_SECTION ${section} PARENT_SCOPE)
    set(CPACK_DEBIAN_${key}_DESCRIPTION "${line}\n${paragraph}" PARENT_SCOPE)
    set(CPACK_COMPONENT_${key}_DESCRIPTION "${line}\n${paragraph}" PARENT_SCOPE)
    install(FILES ${deb}/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component})
    install(FILES ${generated}/changelog.Debian.gz DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package}
        COMPONENT ${component} OPTIONAL)
endfunction()

pawl_deb(server pawl-server net "lock service with fencing tokens"
"pawld hands out locks over HTTP. Each lock comes with a fencing token, a
number that only grows, so that a guard at the data can refuse the write of a
holder that slept through its lease. The locks come from a majority of Redis
masters, or from one file.
.
This package has the service, and a sample ledger with a guard.")
pawl_deb(cli pawl net "locks with fencing tokens, from a command line"
"pawl runs a command while it holds a lock of a pawld, extends the lock in the
background, and ends the command before the lock ends. The command finds its
fencing token in the environment.")
pawl_deb(client libpawl1 libs "client of the lock service Pawl"
"The library acquires, extends and releases locks of a pawld over HTTP, and
reads their fencing tokens. A renewer extends a lock in the background.")
pawl_deb(guard libpawlguard1 libs "guard of an SQLite database against stale lock holders"
"The library remembers the highest fencing token that each resource of an
SQLite database has seen, and refuses a write with a lower one.")
pawl_deb(sqlite pawl-sqlite database "guard against stale lock holders, as an extension of SQLite"
"The extension adds functions to SQLite, so that programs in any language can
refuse the write of a stale lock holder by its fencing token. A table can be
protected, so that no program writes it without a claim.")
pawl_deb(redis pawl-redis database "module of Redis for the masters of the lock service Pawl"
"A master of Pawl that loads the module answers requests about locks in a
fraction of the time. Its keys are the same as without the module.")
pawl_deb(dev libpawl-dev libdevel "headers of the client and the guard of Pawl"
"What building a program with the client or the guard of Pawl needs: headers,
static libraries, and files for pkg-config and CMake.")

include(PawlClients)
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA ${deb}/python/postinst ${deb}/python/prerm)

set(CPACK_DEBIAN_SERVER_PACKAGE_DEPENDS "adduser")
set(CPACK_DEBIAN_SERVER_PACKAGE_SUGGESTS "pawl, redis-server")
set(CPACK_DEBIAN_SERVER_PACKAGE_CONTROL_EXTRA ${deb}/conffiles ${deb}/postinst ${deb}/prerm
    ${deb}/postrm)
set(CPACK_DEBIAN_CLIENT_PACKAGE_CONTROL_EXTRA ${deb}/triggers)
set(CPACK_DEBIAN_GUARD_PACKAGE_CONTROL_EXTRA ${deb}/triggers)
set(CPACK_DEBIAN_SQLITE_PACKAGE_RECOMMENDS "libsqlite3-0 (>= 3.37)") # it links none: programs bring theirs
set(CPACK_DEBIAN_SQLITE_PACKAGE_SUGGESTS "pawl, sqlite3")
set(CPACK_DEBIAN_REDIS_PACKAGE_SUGGESTS "redis-server (>= 5:7.0), pawl-server")
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
    "libpawl1 ${same_version}, libpawlguard1 ${same_version}, libsqlite3-dev, libcurl4-openssl-dev | libcurl4-dev, libjansson-dev")
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)

include(CPack)
