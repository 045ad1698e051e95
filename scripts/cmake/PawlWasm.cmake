# pawl_add_wasm(<file> SOURCES <file>... EXPORTS <function>...)
#
# Compiles C files to one module for WebAssembly, <file> in the calling folder's build folder, with
# clang, lld and wasi-libc, and packs it as <file>.gz. Where these are missing, says so, and makes
# both files empty: the page that loads them then says that it was built without.
#
# An assertion that fails stops the module: it has nowhere to write to.

set(_pawl_wasm_flags --target=wasm32-wasi -std=gnu11 -Oz -flto -mbulk-memory -msign-ext
    -mexec-model=reactor)

function(_pawl_find_wasm)
    if(DEFINED PAWL_WASM_CLANG)
        return()
    endif()
    find_program(clang clang)
    set(found "")
    if(clang)
        set(probe ${PROJECT_BINARY_DIR}/wasm-probe.c)
        file(WRITE ${probe} "#include <stdlib.h>\nvoid *probe(void) { return malloc(1); }\n")
        execute_process(COMMAND ${clang} ${_pawl_wasm_flags} -Wl,--no-entry -Wl,--export=probe
                -o ${probe}.wasm ${probe}
            RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE said)
        if(failed EQUAL 0)
            set(found ${clang})
        endif()
    endif()
    if(NOT found)
        message(STATUS "Building without the story: it needs clang, lld, wasi-libc and "
            "libclang-rt-14-dev-wasm32. scripts/setup installs them; then configure again.")
        return()
    endif()
    set(PAWL_WASM_CLANG ${found} CACHE FILEPATH "clang that compiles for WebAssembly")
endfunction()

function(pawl_add_wasm file)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;EXPORTS")
    set(output ${CMAKE_CURRENT_BINARY_DIR}/${file})
    _pawl_find_wasm()
    if(NOT PAWL_WASM_CLANG)
        file(WRITE ${output} "")
        file(WRITE ${output}.gz "")
        return()
    endif()
    set(trap ${CMAKE_CURRENT_BINARY_DIR}/${file}.trap.c)
    file(CONFIGURE OUTPUT ${trap} CONTENT "#include <assert.h>
_Noreturn void __assert_fail(const char *text, const char *file, int line, const char *function)
{
    (void)text, (void)file, (void)line, (void)function;
    __builtin_trap();
}
")
    list(TRANSFORM arg_EXPORTS PREPEND "-Wl,--export=" OUTPUT_VARIABLE exports)
    file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/fence/*.h
        ${CMAKE_CURRENT_SOURCE_DIR}/story/*.h)
    cmake_path(GET output PARENT_PATH folder)
    file(MAKE_DIRECTORY ${folder})
    add_custom_command(
        OUTPUT ${output} ${output}.gz
        COMMAND ${PAWL_WASM_CLANG} ${_pawl_wasm_flags} -I${PROJECT_SOURCE_DIR}
                -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=
                -Wl,--no-entry -Wl,--gc-sections -Wl,--strip-all ${exports}
                -o ${output} ${trap} ${arg_SOURCES}
        COMMAND gzip -9 --no-name --keep --force ${output}
        DEPENDS ${arg_SOURCES} ${headers} ${trap}
        COMMENT "Compiling ${file} for WebAssembly"
        VERBATIM)
endfunction()
