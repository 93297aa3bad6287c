#!/bin/bash
# platform.sh - tools/platform.sh finds a planted call, type, header and condition, leaves
# the layer and words in comments alone, and has nothing to say about the sources
# usage: tests/tools/platform.sh SOURCE_ROOT
set -u
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0
fail() {
    echo "FAILED: $1"
    bad=1
}

"$source/tools/platform.sh" "$source" || fail 'the sources have a call outside of the layer'

mkdir -p "$work"/{bench,include/clattn,tests/oracle,src/base,src/train}

# planted FILE LINE: the line must be found there, and only there.
planted() {
    printf '/* a file */\nint one;\n%s\n' "$2" >"$work/$1"
    local said status=0
    said=$("$source/tools/platform.sh" "$work") || status=$?
    if [ "$status" -ne 1 ] || [ "$(grep -c "^$1:3: " <<<"$said")" -ne 1 ]; then
        fail "in $1: $2 ($said)"
    fi
    rm "$work/$1"
}
planted src/train/a.c '#include <unistd.h>'
planted src/train/a.c '#  include <sys/stat.h>'
planted src/train/a.h '#include <pthread.h>'
planted bench/a.c '#include <windows.h>'
planted src/base/a.c '#ifdef _WIN32'
planted src/base/a.c '#if defined(__APPLE__) && 1'
planted include/clattn/a.h '#elif defined(__GLIBC__)'
planted src/train/a.c '    const int fd = open(path, 0);'
planted src/train/a.c '    if (!close (fd)) return x->read(x);'
planted src/train/a.c '    return getenv("HOME");'
planted src/train/a.c '    FILE *f = fopen(path, "rb"); // a comment'
planted src/train/a.c '    fts_open(roots, 0, NULL); /* argp_parse( */'
planted src/train/a.c '    x = y>stat(path, &info);'
planted src/train/a.c '    ssize_t got = 0;'
planted bench/a.c '    struct timespec pause;'
planted tests/oracle/a.c '    pthread_mutex_lock(&lock);'
planted src/train/a.c '    kill(child, SIGKILL_);'
planted src/train/a.c '    CloseHandle(file);'
planted src/train/a.c '__attribute__((weak)) int optional(void);'
planted src/train/a.c '    char *last = basename(path);'
planted src/train/a.c '    argp_parse(&a, argc, argv, 0, 0, 0);'

# spared FILE LINE: the line must not be found.
spared() {
    printf '%s\n' "$2" >"$work/$1"
    "$source/tools/platform.sh" "$work" || fail "not to be found in $1: $2"
    rm "$work/$1"
}
spared src/base/platform_file.c '#include <unistd.h>'
spared src/base/platform.h '#ifdef _WIN32'
spared src/train/a.c '    kind->open(f->task); s.close(&s); cla_os_read(fd, to, 1);'
spared src/train/a.c '    return cla_fail(CLA_E_IO, "open() failed: getenv(\"X\")"); // fork()'
spared src/train/a.c '/* open(path),
 * close(fd); */ int reopen(int x);'
spared src/train/a.c 'enum { CLA_OS_OPEN, MAP_BYTES }; static char c = '\''"'\'';'
exit $bad
