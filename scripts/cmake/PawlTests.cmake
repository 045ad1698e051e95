# Tests. A test's name says where it belongs: <label>.<what>, where the label is one of unit, sim,
# contract, integration, system, long (scripts/test --all runs them), search (of many minutes;
# scripts/search runs them), lint, fuzz. Each runs in the root of the source tree, with PAWL_BUILD in its environment saying where the build is.
# Exit status 77 means skipped.

set(PAWL_TEST_LABELS unit sim contract integration system long search lint fuzz)

# Sets <ret> to the properties that every test has, from its name and timeout.
function(_pawl_test_properties name timeout ret)
    string(REGEX REPLACE "\\..*" "" label ${name})
    if(NOT label IN_LIST PAWL_TEST_LABELS)
        message(FATAL_ERROR "${name}: start a test's name with one of: ${PAWL_TEST_LABELS}")
    endif()
    if(NOT timeout)
        set(timeout 30)
    endif()
    # The simulator and the model compute all the time; other tests mostly wait.
    set(processors 1)
    if(name MATCHES "(^|\\.)sim\\.")
        set(processors 2)
    endif()
    set(${ret}
        LABELS ${label} PROCESSORS ${processors} TIMEOUT ${timeout} SKIP_RETURN_CODE 77
        WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
        ENVIRONMENT_MODIFICATION PAWL_BUILD=set:${PROJECT_BINARY_DIR}
        PARENT_SCOPE)
endfunction()

# pawl_add_tests(<label>.<what> SOURCES <file>... [LINK <library>...] [TIMEOUT <seconds>]
#                [PROPERTIES <name> <value>...])
#
# One cmocka executable built on tests/lib/case.h, build/tests/<label>.<what>. Each of its cases
# becomes a CTest entry of its own, <label>.<what>.<case>, with its own timeout (default 30 s).
# PROPERTIES are CTest's, for each case (RUN_SERIAL TRUE, FIXTURES_REQUIRED redis, ...).
function(pawl_add_tests name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "SOURCES;LINK;PROPERTIES")
    _pawl_test_properties(${name} "${arg_TIMEOUT}" properties)

    add_executable(${name} ${arg_SOURCES})
    target_link_libraries(${name} PRIVATE pawl_options pawl_case ${arg_LINK})
    set_target_properties(${name} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)

    # What the cases are called is known only once the executable is built: ask it then, and let
    # ctest read the answer.
    list(APPEND properties ${arg_PROPERTIES})
    set(cases ${CMAKE_CURRENT_BINARY_DIR}/${name}.cases.cmake)
    add_custom_command(TARGET ${name} POST_BUILD
        COMMAND ${CMAKE_COMMAND} -D NAME=${name} -D EXECUTABLE=$<TARGET_FILE:${name}>
                -D OUTPUT=${cases} -D "PROPERTIES=${properties}"
                -P ${PROJECT_SOURCE_DIR}/scripts/cmake/discover_cases.cmake
        BYPRODUCTS ${cases}
        VERBATIM)
    set(include ${CMAKE_CURRENT_BINARY_DIR}/${name}.include.cmake)
    file(WRITE ${include}
"if(EXISTS \"${cases}\")
    include(\"${cases}\")
else()
    add_test(${name}.NOT_BUILT ${name}.NOT_BUILT)
endif()
")
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${include})
endfunction()

# pawl_add_check(<label>.<what> COMMAND <command> [<argument>...] [TIMEOUT <seconds>]
#                [PROPERTIES <name> <value>...])
#
# One CTest entry that runs a command: a script (by its full path), or a program made with
# pawl_add_test_program() (by its name). A long one says so by COST, which is about its seconds: ctest begins
# with those, or the last of them would run alone at the end.
function(pawl_add_check name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "COMMAND;PROPERTIES")
    _pawl_test_properties(${name} "${arg_TIMEOUT}" properties)
    add_test(NAME ${name} COMMAND ${arg_COMMAND})
    set_tests_properties(${name} PROPERTIES ${properties} ${arg_PROPERTIES})
endfunction()

# pawl_add_test_program(<name> SOURCES <file>... [LINK <library>...])
#
# An executable that tests use, build/tests/<name>: the simulator, a client to be stopped half-way.
function(pawl_add_test_program name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
    add_executable(${name} ${arg_SOURCES})
    target_link_libraries(${name} PRIVATE pawl_options ${arg_LINK})
    set_target_properties(${name} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
endfunction()

# pawl_add_fuzzer(<what> SOURCES <file>... [LINK <library>...])
#
# A libFuzzer target, built by the fuzz preset only. As a test, fuzz.<what>, it goes through the
# corpus kept in corpus/<what>/ and then looks for something new: tests/fuzz/run.
function(pawl_add_fuzzer what)
    if(NOT PAWL_FUZZ)
        return()
    endif()
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
    pawl_add_test_program(fuzz.${what} SOURCES ${arg_SOURCES} LINK ${arg_LINK})
    add_dependencies(fuzzers fuzz.${what})
    target_link_options(fuzz.${what} PRIVATE -fsanitize=fuzzer)
    # New finds go to the first folder: the build's, so that the source tree stays as it was.
    set(found ${CMAKE_CURRENT_BINARY_DIR}/${what})
    file(MAKE_DIRECTORY ${found})
    pawl_add_check(fuzz.${what} TIMEOUT 900
        COMMAND ${PROJECT_SOURCE_DIR}/tests/fuzz/run $<TARGET_FILE:fuzz.${what}> ${found}
                ${CMAKE_CURRENT_SOURCE_DIR}/corpus/${what})
endfunction()
