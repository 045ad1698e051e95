# Libraries for programs of others, static and shared.

# pawl_add_public_library(<name> FILE <file> MAP <linker map> OBJECTS <object library>...
#                         [LINK <PkgConfig name>=<linker name>...])
#
# Makes two targets: <name>, lib<file>.a, and <name>_shared, lib<file>.so.1. The shared one shows what
# MAP lists. The static one is a single object in which all other names are local, so that they cannot
# clash with those of a program. Sanitizers need the names: their static library is an ordinary one.
function(pawl_add_public_library name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "FILE;MAP" "OBJECTS;LINK")
    set(objects "")
    foreach(library IN LISTS arg_OBJECTS)
        list(APPEND objects $<TARGET_OBJECTS:${library}>)
    endforeach()

    if(PAWL_SANITIZE OR PAWL_FUZZ)
        add_library(${name} STATIC ${objects})
    else()
        set(merged ${CMAKE_CURRENT_BINARY_DIR}/${name}.merged.o)
        add_custom_command(OUTPUT ${merged}
            COMMAND ${CMAKE_LINKER} -r -o ${merged} ${objects}
            COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${merged}
            DEPENDS ${arg_OBJECTS} ${objects}
            COMMAND_EXPAND_LISTS VERBATIM)
        set_source_files_properties(${merged} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
        add_library(${name} STATIC ${merged})
    endif()

    add_library(${name}_shared SHARED ${objects})
    set(map ${CMAKE_CURRENT_SOURCE_DIR}/${arg_MAP})
    target_link_options(${name}_shared PRIVATE
        -Wl,--version-script=${map} -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
    if(PAWL_SANITIZE)
        target_link_options(${name}_shared PRIVATE -fsanitize=${PAWL_SANITIZE})
    else()
        target_link_options(${name}_shared PRIVATE -Wl,-z,defs)
    endif()
    set_target_properties(${name}_shared PROPERTIES LINK_DEPENDS ${map} VERSION 1.0.0 SOVERSION 1)

    foreach(library ${name} ${name}_shared)
        set_target_properties(${library} PROPERTIES OUTPUT_NAME ${arg_FILE} LINKER_LANGUAGE C)
    endforeach()
    foreach(link IN LISTS arg_LINK)
        string(REGEX MATCH "^([^=]+)=(.+)$" _ ${link})
        target_link_libraries(${name} PRIVATE
            $<BUILD_INTERFACE:PkgConfig::${CMAKE_MATCH_1}> $<INSTALL_INTERFACE:${CMAKE_MATCH_2}>)
        target_link_libraries(${name}_shared PRIVATE $<BUILD_INTERFACE:PkgConfig::${CMAKE_MATCH_1}>)
    endforeach()
endfunction()
