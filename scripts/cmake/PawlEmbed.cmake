# pawl_embed_text(<target> <file>...)
#
# Makes the text of each file (named from the folder of the calling CMakeLists.txt) a constant that
# <target> can include, made anew whenever the file changes. In storage/,
#
#     pawl_embed_text(pawl_storage redis/lua/take.lua)
#
# gives #include "storage/redis/lua/take.lua.h", which defines
#
#     static const char storage_redis_lua_take[] = "...";
#     static const char storage_redis_lua_take_etag[] = "\"...\""; // a hash of the text
#
# A file that the build makes is named by its full path, and its symbol from the build folder.
#
# Where the text has @PROJECT_VERSION@, the constant has the version of the project.
function(pawl_embed_text target)
    set(generated ${PROJECT_BINARY_DIR}/generated)
    foreach(file IN LISTS ARGN)
        cmake_path(ABSOLUTE_PATH file OUTPUT_VARIABLE input)
        set(from ${PROJECT_SOURCE_DIR})
        cmake_path(IS_PREFIX PROJECT_BINARY_DIR ${input} is_made)
        if(is_made)
            set(from ${PROJECT_BINARY_DIR})
        endif()
        file(RELATIVE_PATH path ${from} ${input})
        set(output ${generated}/${path}.h)
        cmake_path(REMOVE_EXTENSION path LAST_ONLY OUTPUT_VARIABLE symbol)
        string(MAKE_C_IDENTIFIER ${symbol} symbol)
        add_custom_command(
            OUTPUT ${output}
            COMMAND ${CMAKE_COMMAND} -D INPUT=${input} -D OUTPUT=${output} -D SYMBOL=${symbol}
                    -D VERSION=${PROJECT_VERSION}
                    -P ${PROJECT_SOURCE_DIR}/scripts/cmake/embed_text.cmake
            DEPENDS ${input} ${PROJECT_SOURCE_DIR}/scripts/cmake/embed_text.cmake
            COMMENT "Embedding ${path}"
            VERBATIM)
        target_sources(${target} PRIVATE ${output})
    endforeach()
    target_include_directories(${target} SYSTEM PRIVATE ${generated})
endfunction()
