#!/bin/sh
# platform.sh - fail when a file calls POSIX or Windows outside of src/base/platform*
# usage: tools/platform.sh SOURCE_ROOT
#
# Looks for headers, functions, types, constants and attributes of the linker that C11 does
# not have, and for conditions on the system or the C library. Comments and texts are left out. Functions of
# C that take a path or read the environment count, too: on Windows they know no UTF-8.
cd "$1" || exit 2

headers='alloca|argp|arpa/.*|asm/.*|conio|direct|dirent|dlfcn|elf|endian|err|execinfo|fcntl|fnmatch|fts|ftw|getopt|glob|grp|io|langinfo|libgen|link|linux/.*|malloc|mntent|netdb|netinet/.*|poll|process|pthread|pwd|regex|pcre2posix|sched|semaphore|signal|spawn|stdio_ext|strings|sys/.*|synchapi|syslog|termios|threads|unistd|utime|wait|windows|winsock2?|wordexp|xlocale'
functions='_exit|basename|canonicalize_file_name|strverscmp|versionsort|access|aligned_alloc|alphasort|argp_[a-z_]*|asprintf|chdir|chmod|chown|clock_gettime|close|closedir|connect|dirfd|dl(close|error|open|sym)|dprintf|dup[23]?|err[x]?|exec[lv][a-z]*|explicit_bzero|faccessat|fchdir|fchmod|fchmodat|fcntl|fdopen|fdopendir|fileno|flock|fmemopen|fnmatch|fopen|fork|freeaddrinfo|freopen|fseeko|fstat|fstatat|fsync|ftello|ftruncate|fts_[a-z]*|ftw|futimens|gai_strerror|getaddrinfo|getcwd|getdelim|getenv|geteuid|getgid|getline|getloadavg|getopt(_long)?|getpagesize|getpid|getppid|getpwuid|getrandom|getrlimit|getrusage|gettimeofday|getuid|glob|gmtime_[rs]|ioctl|isatty|kill|link|listen|localtime_r|lockf|lseek|lstat|madvise|memfd_create|memmem|mempcpy|memrchr|mkdir|mkdirat|mk(d|o)?s?temp|mlock|mmap|mprotect|msync|munmap|nanosleep|newlocale|nftw|open|openat|open_memstream|opendir|pathconf|pclose|pipe2?|poll|popen|posix_[a-z_]*|prctl|pread|pselect|pthread_[a-z_]*|putenv|pwrite|qsort_r|read|readdir|readlink|readlinkat|realpath|recv|reg(comp|error|exec|free)|remove|rename|renameat|rewinddir|rmdir|sbrk|scandir|sched_[a-z]*|secure_getenv|sem_[a-z]*|send|setenv|setlocale|setrlimit|setsid|sigaction|sig(add|del|empty|fill|is)[a-z]*|signal|sigpending|sigprocmask|sleep|socket|stat|statvfs|stpcpy|stpncpy|strcasecmp|strcasestr|strchrnul|strerror_[rs]|strncasecmp|strndup|strsep|strsignal|strtod_l|symlink|sysconf|syscall|system|tempnam|tmpfile|tmpnam|truncate|uname|unlink|unlinkat|unsetenv|uselocale|usleep|utimensat|v?asprintf|vfork|wait|waitpid|write|[A-Z][a-z]+[A-Za-z]*(Handle|File|Process|Thread|Event|Directory|Library)[AW]?'
words='__attribute__ *\(\((weak|alias|ifunc|section|symver|constructor|destructor)|program_invocation_name|TEMP_FAILURE_RETRY|error_t|MAP_(SHARED|PRIVATE|ANONYMOUS)|(O|S_IS|SIG|SA|AT|LOCK|RTLD|PROT|PTHREAD)_[A-Z]+|S_IS[A-Z]+|SIG(ABRT|INT|TERM|KILL|PIPE|HUP|CHLD|ALRM)|STD(IN|OUT|ERR)_FILENO|PATH_MAX|environ|ssize_t|pid_t|off_t|mode_t|locale_t|regex_t|pthread_[a-z]+_t|struct (stat|dirent|timespec|timeval|sigaction|rlimit|utsname)'
systems='_WIN32|_WIN64|__MINGW[0-9]*__|_MSC_VER|__CYGWIN__|__linux__|__linux|__unix__|__unix|__APPLE__|__MACH__|__FreeBSD__|__GLIBC__|__BIONIC__|_GNU_SOURCE|_POSIX_[A-Z_]*'

# shellcheck disable=SC2016 # awk's
find src bench include tests/oracle -name '*.[ch]' ! -path 'src/base/platform*' |
    LC_ALL=C sort | xargs awk -v headers="$headers" -v functions="$functions" \
        -v words="$words" -v systems="$systems" '
    function tell(what) {
        printf "%s:%d: %s: only src/base/platform* may have it\n", FILENAME, FNR, what
        found = 1
    }
    # Returns the first match of pattern that is a word of its own in line, or "".
    function word_in(line, pattern, call,    rest, at, before, name) {
        rest = line
        while (match(rest, pattern)) {
            at = RSTART; name = substr(rest, at, RLENGTH)
            before = at > 1 ? substr(rest, at - 1, 1) : " "
            if (before !~ /[A-Za-z0-9_.>]/ || (before == ">" && substr(rest, at - 2, 1) != "-")) {
                if (call || substr(rest, at + RLENGTH, 1) !~ /[A-Za-z0-9_]/) return name
            }
            rest = substr(rest, at + 1)
            # what is cut off was part of a longer name: cut the rest of it, too
            if (before ~ /[A-Za-z0-9_]/ || substr(name, 1, 1) ~ /[A-Za-z_]/)
                sub(/^[A-Za-z0-9_]+/, "", rest)
        }
        return ""
    }
    FNR == 1 { comment = 0 }
    {
        line = $0
        if (!comment && match(line, "^ *# *include *<(" headers ")\\.h>")) tell(substr(line, RSTART, RLENGTH))
        gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
        gsub(/\047([^\047\\]|\\.)*\047/, "0", line)
        sub(/\/\/.*/, "", line)
        text = ""
        while (line != "") {
            if (comment) {
                end = index(line, "*/")
                if (!end) break
                line = substr(line, end + 2); comment = 0
            } else {
                begin = index(line, "/*")
                if (!begin) { text = text line; break }
                text = text substr(line, 1, begin - 1); line = substr(line, begin + 2); comment = 1
            }
        }
        if (text == "") next
        if (text ~ /^ *# *(if|elif|ifdef|ifndef|define)/ && (name = word_in(text, systems, 0)) != "") tell(name)
        if (text ~ /^ *# *include/) next
        if ((name = word_in(text, "(" functions ") *\\(", 1)) != "") tell(name)
        if ((name = word_in(text, words, 0)) != "") tell(name)
    }
    END { exit found }
' || exit 1
