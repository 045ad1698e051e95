# shellcheck shell=bash
# The page of the story at an installed pawld. Sourced; needs bash and gzip alone.

# story_get PORT PATH: the answer, with its head.
story_get() {
    exec 3<>"/dev/tcp/127.0.0.1/$1"
    printf 'GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' "$2" >&3
    cat <&3
    exec 3>&-
}

# story_fault PORT: prints what is wrong with the page of the pawld there; nothing: it is whole.
story_fault() {
    local head
    head=$(story_get "$1" /story | sed '/^\r$/q')
    [[ $head = 'HTTP/1.1 200'* ]] || echo "/story answers ${head%%$'\r'*}"
    grep -qi '^Content-Type: text/html' <<<"$head" || echo "/story is no page"
    grep -qi "^Content-Security-Policy: default-src 'none'; script-src 'self' 'wasm-unsafe-eval';" <<<"$head" ||
        echo "/story allows no WebAssembly, or more than that"
    head=$(story_get "$1" /page/story/story.wasm.gz | sed '/^\r$/q' | tr -d '\0')
    grep -qi '^Content-Type: application/gzip' <<<"$head" || echo "the module has another type"
    [ "$(story_get "$1" /page/story/story.wasm.gz | sed '1,/^\r$/d' | gzip -dc 2>/dev/null | head -c 4 | tr '\0' 0)" = 0asm ] ||
        echo "the module is no WebAssembly: it was built without clang, lld or wasi-libc"
}
