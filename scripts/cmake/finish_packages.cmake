# Run by CPack between installing and packing: what makes the packages the same bytes each time. All
# files get the time of SOURCE_DATE_EPOCH. Pages are compressed, and static libraries lose their debug
# information, as programs do.

cmake_minimum_required(VERSION 3.25)

file(GLOB_RECURSE archives ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*.a)
if(archives)
    execute_process(COMMAND strip --strip-debug --enable-deterministic-archives ${archives}
        COMMAND_ERROR_IS_FATAL ANY)
endif()

# CPack installs below /usr; what operators set belongs into /etc.
file(GLOB components LIST_DIRECTORIES true ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*)
foreach(component ${components})
    if(EXISTS ${component}/usr/etc)
        file(RENAME ${component}/usr/etc ${component}/etc)
    endif()
endforeach()

file(GLOB_RECURSE pages ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*.[1-8])
list(FILTER pages INCLUDE REGEX "/man/man[1-8]/")
if(pages)
    execute_process(COMMAND gzip --best --no-name ${pages} COMMAND_ERROR_IS_FATAL ANY)
endif()

if(DEFINED ENV{SOURCE_DATE_EPOCH})
    execute_process(
        COMMAND find ${CPACK_TEMPORARY_INSTALL_DIRECTORY} -exec touch --no-dereference --date=@$ENV{SOURCE_DATE_EPOCH} {} +
        COMMAND_ERROR_IS_FATAL ANY)
endif()
