# Run after each build of a test executable by pawl_add_tests(): NAME, EXECUTABLE, OUTPUT,
# PROPERTIES. Asks the executable for its cases and writes a CTest entry for each.

cmake_minimum_required(VERSION 3.25)

execute_process(COMMAND ${EXECUTABLE} --list OUTPUT_VARIABLE cases COMMAND_ERROR_IS_FATAL ANY)
string(STRIP "${cases}" cases)
string(REPLACE "\n" ";" cases "${cases}")
if(NOT cases)
    message(FATAL_ERROR "${NAME} has no test cases")
endif()

list(TRANSFORM PROPERTIES REPLACE "(.+)" "\"\\1\"" OUTPUT_VARIABLE properties)
list(JOIN properties " " properties)
set(entries "")
foreach(case IN LISTS cases)
    string(APPEND entries
        "add_test(${NAME}.${case} \"${EXECUTABLE}\" ${case})\n"
        "set_tests_properties(${NAME}.${case} PROPERTIES ${properties})\n")
endforeach()
file(WRITE ${OUTPUT} "${entries}")
