# What cmake --install puts where. A component is a package of Debian's: server (pawl-server), cli
# (pawl), client (libpawl1), guard (libpawlguard1), sqlite (pawl-sqlite), redis (pawl-redis), dev (libpawl-dev); and one
# for each client in another language (PawlClients.cmake). A build with sanitizers is not for installing.
if(PAWL_SANITIZE OR PAWL_FUZZ)
    return()
endif()

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_files ${PROJECT_SOURCE_DIR}/scripts/package.d)
set(generated ${PROJECT_BINARY_DIR}/package-files)

# ---- programs, their pages, completion -----------------------------------------------------------

install(TARGETS pawld DESTINATION ${CMAKE_INSTALL_SBINDIR} COMPONENT server)
install(TARGETS pawl-ledger DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT server)
install(TARGETS pawl DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT cli)

# What follows from the options of the services: their pages, and a file with all settings of pawld.
set(pawld_page ${generated}/pawld.8)
set(ledger_page ${generated}/pawl-ledger.1)
set(pawld_conf ${generated}/pawld.conf)
add_custom_command(OUTPUT ${pawld_page} ${ledger_page} ${pawld_conf}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${generated}
    COMMAND awk -v bin=$<TARGET_FILE_DIR:pawld> -f ${package_files}/man/options.awk
        ${package_files}/man/pawld.8.in > ${pawld_page}
    COMMAND awk -v bin=$<TARGET_FILE_DIR:pawld> -f ${package_files}/man/options.awk
        ${package_files}/man/pawl-ledger.1.in > ${ledger_page}
    COMMAND $<TARGET_FILE:pawld> --sample > ${pawld_conf}
    DEPENDS pawld pawl-ledger ${package_files}/man/options.awk ${package_files}/man/pawld.8.in
        ${package_files}/man/pawl-ledger.1.in
    VERBATIM)
add_custom_target(service_files ALL DEPENDS ${pawld_page} ${ledger_page} ${pawld_conf})
install(FILES ${pawld_page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man8 COMPONENT server)
install(FILES ${ledger_page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT server)
install(FILES ${package_files}/man/pawl.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT cli)

set(completions ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${package_files}/completion/pawld DESTINATION ${completions} COMPONENT server)
install(FILES ${package_files}/completion/pawl DESTINATION ${completions} COMPONENT cli)
# Debian's zsh looks into one folder for packages, and into another one below /usr/local.
set(zsh_completions ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
if(CMAKE_INSTALL_PREFIX STREQUAL /usr)
    set(zsh_completions ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
endif()
set(fish_completions ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
foreach(program pawld:server pawl:cli)
    string(REPLACE ":" ";" program ${program})
    list(GET program 0 name)
    list(GET program 1 component)
    install(FILES ${package_files}/completion/_${name} DESTINATION ${zsh_completions}
        COMPONENT ${component})
    install(FILES ${package_files}/completion/${name}.fish DESTINATION ${fish_completions}
        COMPONENT ${component})
endforeach()

# ---- the service ---------------------------------------------------------------------------------

# Where systemd looks. It is no matter of the machine: below another prefix it is a copy to look at.
set(PAWL_UNIT_DIR lib/systemd/system CACHE STRING "Where pawld.service goes, below the prefix")
configure_file(${package_files}/pawld.service.in ${generated}/pawld.service @ONLY)
install(FILES ${generated}/pawld.service DESTINATION ${PAWL_UNIT_DIR} COMPONENT server)
install(FILES ${pawld_conf} DESTINATION etc/pawl COMPONENT server) # scripts/cmake/finish_packages.cmake moves it
install(FILES ${package_files}/pawld.default ${package_files}/pawld.socket
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/pawl-server/examples COMPONENT server)
install(FILES ${package_files}/prometheus/pawl.rules.yml ${package_files}/prometheus/pawl-board.json
    DESTINATION ${CMAKE_INSTALL_DATADIR}/pawl/prometheus COMPONENT server)

# ---- guards of databases -------------------------------------------------------------------------

# `pawl guard sql` and `pawl guard check` print the same.
foreach(database mariadb postgresql)
    install(FILES storage/guard/${database}/pawl_guard.sql RENAME ${database}.sql
        DESTINATION ${CMAKE_INSTALL_DATADIR}/pawl/guard COMPONENT cli)
endforeach()
foreach(database mariadb postgresql sqlite)
    install(FILES storage/guard/${database}/pawl_check.sql RENAME ${database}_check.sql
        DESTINATION ${CMAKE_INSTALL_DATADIR}/pawl/guard COMPONENT cli)
endforeach()

# ---- libraries -----------------------------------------------------------------------------------

set_target_properties(pawl_client_shared PROPERTIES EXPORT_NAME pawl)
set_target_properties(pawl_client PROPERTIES EXPORT_NAME pawl_static)
set_target_properties(pawl_guard_shared PROPERTIES EXPORT_NAME guard)
set_target_properties(pawl_guard PROPERTIES EXPORT_NAME guard_static)

foreach(library client guard)
    install(TARGETS pawl_${library}_shared EXPORT PawlTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${library} NAMELINK_COMPONENT dev)
    install(TARGETS pawl_${library} EXPORT PawlTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
    target_include_directories(pawl_${library} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_include_directories(pawl_${library}_shared INTERFACE
        $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()
# A program that uses the guard calls SQLite too.
target_link_libraries(pawl_guard_shared INTERFACE $<INSTALL_INTERFACE:sqlite3>)

install(FILES api/client/pawl.h storage/guard/library/pawl_guard.h
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)

# The extension of SQLite is a plug-in, and no library to link: it is found by its path.
install(TARGETS pawl_extension LIBRARY DESTINATION lib/sqlite3 COMPONENT sqlite)

# So is the module for Redis masters.
install(TARGETS pawl_master_module LIBRARY DESTINATION lib/redis/modules COMPONENT redis)

# ---- how others find them ------------------------------------------------------------------------

# A folder that was moved, or installed with --prefix, is found where the .pc file is.
set(PAWL_PC_PREFIX ${CMAKE_INSTALL_PREFIX})
if(NOT CMAKE_INSTALL_PREFIX STREQUAL /usr)
    file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
    set(PAWL_PC_PREFIX "\${pcfiledir}/${up}")
endif()
foreach(file pawl.pc pawl-guard.pc)
    configure_file(${package_files}/${file}.in ${generated}/${file} @ONLY)
    install(FILES ${generated}/${file} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
endforeach()

set(cmake_files ${CMAKE_INSTALL_LIBDIR}/cmake/Pawl)
configure_package_config_file(${package_files}/PawlConfig.cmake.in ${generated}/PawlConfig.cmake
    INSTALL_DESTINATION ${cmake_files})
write_basic_package_version_file(${generated}/PawlConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${generated}/PawlConfig.cmake ${generated}/PawlConfigVersion.cmake
    DESTINATION ${cmake_files} COMPONENT dev)
install(EXPORT PawlTargets NAMESPACE Pawl:: DESTINATION ${cmake_files} COMPONENT dev)

include(PawlPackage)
