# A package of Debian's for each client in another language: one rule, and a table. PawlPackage.cmake includes it. For
# /usr a client lies where its language looks for packages; below another prefix, in share/pawl/clients/<language>.

set(clients ${PROJECT_SOURCE_DIR}/api/client)
if(CMAKE_INSTALL_PREFIX STREQUAL /usr)
    set(clients_below "")
else()
    set(clients_below ${CMAKE_INSTALL_DATADIR}/pawl/clients)
endif()

# pawl_client_deb(<language> <word> PACKAGE <name> SECTION <name> PLACE <folder below /usr> EXAMPLE <file>
#                 DEPENDS <what> FILES <file>...)
function(pawl_client_deb language word)
    cmake_parse_arguments(PARSE_ARGV 2 arg "" "PACKAGE;SECTION;PLACE;EXAMPLE;DEPENDS" "FILES")
    set(place ${arg_PLACE})
    if(clients_below)
        set(place ${clients_below}/${language})
    endif()
    foreach(file ${arg_FILES})
        cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${clients}/${language})
        install(FILES ${file} DESTINATION ${place} COMPONENT ${language})
    endforeach()
    set(doc ${CMAKE_INSTALL_DATADIR}/doc/${arg_PACKAGE})
    install(FILES ${clients}/${language}/README.md DESTINATION ${doc} COMPONENT ${language})
    install(FILES ${clients}/${language}/${arg_EXAMPLE} DESTINATION ${doc}/examples COMPONENT ${language})
    pawl_deb(${language} ${arg_PACKAGE} ${arg_SECTION} "client of the lock service Pawl for ${word}"
"The client acquires, extends and releases locks of a pawld over HTTP, and has
their fencing tokens. It is written with the standard library alone.")
    string(TOUPPER ${language} key)
    set(CPACK_DEBIAN_${key}_PACKAGE_ARCHITECTURE all)
    set(CPACK_DEBIAN_${key}_PACKAGE_SHLIBDEPS OFF)
    set(CPACK_DEBIAN_${key}_PACKAGE_DEPENDS "${arg_DEPENDS}")
    foreach(what PACKAGE_NAME PACKAGE_SECTION DESCRIPTION PACKAGE_ARCHITECTURE PACKAGE_SHLIBDEPS PACKAGE_DEPENDS)
        set(CPACK_DEBIAN_${key}_${what} "${CPACK_DEBIAN_${key}_${what}}" PARENT_SCOPE)
    endforeach()
    set(CPACK_COMPONENT_${key}_DESCRIPTION "${CPACK_COMPONENT_${key}_DESCRIPTION}" PARENT_SCOPE)
    set(CPACK_COMPONENTS_ALL ${CPACK_COMPONENTS_ALL} ${language} PARENT_SCOPE)
endfunction()

# What npm and Debian's node-* packages ask for.
configure_file(${package_files}/package.json.in ${generated}/package.json @ONLY)

# Java's users want a jar; it is the same bytes each time. Below another prefix it is the source, to copy.
set(java_file Pawl.java)
if(CMAKE_INSTALL_PREFIX STREQUAL /usr)
    find_program(PAWL_JAVAC javac REQUIRED)
    find_program(PAWL_JAR jar REQUIRED)
    set(java_file ${generated}/pawl-${PROJECT_VERSION}.jar) # and a link without the version, as for all jars of Debian
    set(classes ${PROJECT_BINARY_DIR}/java)
    add_custom_command(OUTPUT ${java_file}
        COMMAND ${CMAKE_COMMAND} -E rm -rf ${classes}
        COMMAND ${PAWL_JAVAC} -Xlint:all -Werror --release 17 -d ${classes} ${clients}/java/Pawl.java
        COMMAND sh -c "cd ${classes} && LC_ALL=C ${PAWL_JAR} --create --file ${java_file} --no-manifest --date 1980-01-02T00:00:00Z $(LC_ALL=C ls pawl/*.class)"
        DEPENDS ${clients}/java/Pawl.java VERBATIM)
    file(CREATE_LINK pawl-${PROJECT_VERSION}.jar ${generated}/pawl.jar SYMBOLIC)
    add_custom_target(client_jar ALL DEPENDS ${java_file})
    list(APPEND java_file ${generated}/pawl.jar)
endif()

pawl_client_deb(python Python PACKAGE python3-pawl SECTION python PLACE lib/python3/dist-packages
    EXAMPLE example.py DEPENDS "python3 (>= 3.9)" FILES pawl.py)
pawl_client_deb(node Node PACKAGE node-pawl-client SECTION javascript PLACE share/nodejs/pawl-client
    EXAMPLE example.mjs DEPENDS "nodejs (>= 18)" FILES pawl.mjs ${generated}/package.json)
pawl_client_deb(go Go PACKAGE golang-pawl-dev SECTION golang PLACE share/gocode/src/pawl
    EXAMPLE example/main.go DEPENDS "" FILES pawl.go system_linux.go system_other.go go.mod)
pawl_client_deb(java Java PACKAGE libpawl-java SECTION java PLACE share/java
    EXAMPLE Example.java DEPENDS "" FILES ${java_file})
pawl_client_deb(ruby Ruby PACKAGE ruby-pawl SECTION ruby PLACE lib/ruby/vendor_ruby
    EXAMPLE example.rb DEPENDS "ruby (>= 1:3.1)" FILES pawl.rb)
pawl_client_deb(php PHP PACKAGE php-pawl SECTION php PLACE share/php
    EXAMPLE example.php DEPENDS "php-cli (>= 2:8.2) | php-fpm (>= 2:8.2)" FILES Pawl.php)
