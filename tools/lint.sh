#!/bin/sh
# lint.sh - one static check over the whole tree; exit 77 where its program is missing
# usage: tools/lint.sh CHECK SOURCE_ROOT BUILD_ROOT
# checks: format tidy cppcheck lengths spelling shell kernels version packaging
check=$1 build=$3
cd "$2" || exit 2

# have PROGRAM: else the check is skipped.
have() {
    command -v "$1" >/dev/null || {
        echo "no $1 here"
        exit 77
    }
}

# sources DIRECTORY...: all C, header and kernel files below.
sources() {
    find "$@" -name '*.c' -o -name '*.h' -o -name '*.cl' -o -name '*.clh' | sort
}

# refuse PATTERN WHY: a Perl pattern that no kernel file may hold.
refuse() {
    # shellcheck disable=SC2046 # file names without spaces
    if grep -nP "$1" $(sources cl tests/kernels); then
        echo "$2"
        status=1
    fi
}

# Recipes of Arch, Fedora, winget, vcpkg and systemd, by the tools of these systems that are here.
packages_of_others() {
    bad=0
    work=$(mktemp -d)
    chmod 755 "$work"
    cp -r packaging "$work/"
    sed -i 's|@URL@|https://example.org/clattn|; s|@SHA256_[A-Z]*@|0|; s|@SHA512_[A-Z]*@|0|' "$work"/packaging/*/*
    bash -n "$work/packaging/arch/PKGBUILD" || bad=1
    if command -v makepkg >/dev/null && [ "$(id -u)" -eq 0 ]; then # it refuses root
        chown -R 65534 "$work/packaging/arch"
        (cd "$work/packaging/arch" && setpriv --reuid=65534 --clear-groups makepkg --printsrcinfo >/dev/null) || bad=1
    fi
    if command -v rpmlint >/dev/null; then
        rpmlint -c tools/rpmlint.toml "$work/packaging/fedora/clattn.spec" >"$work/said" 2>&1 ||
            { cat "$work/said" && bad=1; }
    fi
    if command -v yamllint >/dev/null; then
        yamllint -d '{extends: relaxed, rules: {line-length: {max: 140}}}' "$work"/packaging/winget/*.yaml .github/workflows/*.yml || bad=1
    fi
    if command -v systemd-analyze >/dev/null; then
        # The program need not be installed; 3.0 of 10 is what may be left open at most.
        sed 's|/usr/bin/clattn|/bin/true|' packaging/systemd/clattn-serve.service >"$work/clattn-serve.service"
        { systemd-analyze verify --man=no "$work/clattn-serve.service" &&
            systemd-analyze security --offline=true --threshold=30 "$work/clattn-serve.service"; } \
            >"$work/said" 2>&1 || { cat "$work/said" && bad=1; }
    fi
    # shellcheck disable=SC2016 # Ruby's own
    ruby -e 'require "json"; require "yaml"
        port = JSON.parse(File.read("packaging/vcpkg/vcpkg.json"))
        abort "packaging/vcpkg/vcpkg.json lacks a name, a version or a licence" unless
            %w[name version license dependencies].all? { |k| port.key? k }
        Dir["packaging/winget/*.yaml"].each do |file|
            made = YAML.safe_load(File.read(file))
            missing = %w[PackageIdentifier PackageVersion ManifestType ManifestVersion] - made.keys
            abort "#{file} lacks #{missing.join(", ")}" unless missing.empty?
        end' || bad=1
    rm -rf "$work"
    return "$bad"
}

case $check in
format)
    have clang-format
    # shellcheck disable=SC2046 # file names without spaces
    clang-format --dry-run -Werror \
        $(sources src include cl bench tests examples tools)
    ;;
tidy)
    have clang-tidy
    # The analyzer's states of a function: its own limit, 225000, takes ten times as long
    # (tools/nightly.sh).
    find src -name '*.c' ! -name '*_windows.c' -print0 |
        xargs -0 -n 1 -P "$(nproc)" clang-tidy -p "$build" --quiet \
            --extra-arg=-Xclang --extra-arg=-analyzer-config --extra-arg=-Xclang \
            --extra-arg="max-nodes=${CLATTN_TIDY_NODES:-10000}" 2>/dev/null
    ;;
cppcheck)
    have cppcheck
    cppcheck -q -j "$(nproc)" --enable=warning,style,performance,portability --std=c11 \
        --inline-suppr --suppress=missingIncludeSystem --suppress=unusedStructMember --error-exitcode=1 \
        --suppress=preprocessorErrorDirective:include/clattn/opencl.h \
        -Iinclude -Isrc src bench
    ;;
lengths)
    # Files of at most 400 lines of at most 88 columns; functions of at most 60 lines in
    # kernels, too, which clang-tidy does not read.
    # shellcheck disable=SC2046 # file names without spaces
    awk '
        length($0) > 88 { printf "%s:%d: %d columns\n", FILENAME, FNR, length($0); bad = 1 }
        FNR == 401 { printf "%s: more than 400 lines\n", FILENAME; bad = 1 }
        FNR == 1 { open = 0 }
        /^\{$/ { open = FNR }
        /^\}/ && open && FILENAME !~ /^tests/ && FNR - open > 61 {
            printf "%s:%d: a function of %d lines\n", FILENAME, open, FNR - open - 1; bad = 1 }
        /^\}/ { open = 0 }
        END { exit bad }' $(sources src include cl bench tests examples tools)
    ;;
spelling)
    have codespell
    codespell --quiet-level 3 --skip '*.conllu,*.safetensors,*.json,hostile.table,./tests/data/oracles,./tests/data/argos,./tests/data/marian,./tests/fuzz/corpus,./tests/fuzz/fixtures,./build*,./runs,./gpu-day*,./.git' \
        --ignore-words-list 'fo,te,ot,nd,ans,verfy,rouge,ist' .
    ;;
shell)
    have shellcheck
    # shellcheck disable=SC2046 # file names without spaces
    shellcheck -x .ci/run $(find tools tests bench reproduction -name '*.sh')
    ;;
kernels)
    status=0
    # Compilers that go by way of SPIR-V tell built-in functions by how names begin.
    begins='atomic_|atom_|async_|work_group_|sub_group_|read_|write_|native_|half_|get_'
    equals='mix|step|dot|length|distance|cross|sign|clamp|any|all|min|max|rotate|fract'
    refuse '\b(vload|vstore)(?!(2|3|4|8|16)?\b|a?_half)\w' \
        'no built-in function: a name that begins like one confuses compilers'
    refuse "\b(INLINE|inline|kernel) .*\b(($begins)\w+|$equals)\(" \
        'named like a built-in function, which confuses compilers'
    refuse '(?<!static )\binline\b(?!`)' 'inline alone is no definition: write INLINE'
    refuse '(?<!\(\(int\)\()(?<!CONSTANT )\bget_group_id(?=\()' 'a long launch is split: write GROUP'
    refuse '^\s*#\s*define\s+\w+\([^)]*\.\.\.' 'OpenCL C has no variadic macros; NVIDIA refuses them'
    # Each as it is for precision medium; tools/meson.build compiles it as it is else.
    have clang
    compile() {
        clang -x cl -cl-std=CL1.2 --target=x86_64-linux-gnu -march=haswell -S -emit-llvm -o /dev/null -Wall -Wextra \
            -Werror -Wdouble-promotion -Xclang -cl-ext=-cl_khr_fp64 -D__OPENCL_VERSION__=120 -Icl -include cl/prelude.cl "$@"
    }
    for kernel in cl/*.cl; do
        [ "$kernel" != cl/prelude.cl ] || continue
        compile "$kernel" -DBF16=1 || status=1
        # What goes over rows has the text of both schedules.
        ! grep -q '"row.clh"' "$kernel" || compile "$kernel" -DWG=1 || status=1
    done
    for unit in 3 4 5; do # 2 is the default
        compile cl/matmul_unit_group.cl -DUNIT=$unit -DEMULATED=1 -DTM=128 -DTN=128 -DTA=1 -DTB=1 || status=1
    done
    for change in TABLE NEAR CUSTOM; do # of plain attention, see cl/attention_bias.clh
        for kernel in attention attention_grad_q attention_grad_kv; do
            compile "cl/$kernel.cl" -D$change=1 || status=1
        done
    done
    exit "$status"
    ;;
version)
    status=0
    version=$(sed -n "s/^  version: '\(.*\)',/\1/p" meson.build)
    [ -n "$version" ] || { echo 'meson.build has no version'; exit 1; }
    says() { # says FILE TEXT: the file's text has the version of meson.build
        case " $2 " in
        *[!0-9.]"$version"[!0-9.]*) ;;
        *) echo "$1 says \"$2\", meson.build $version" && status=1 ;;
        esac
    }
    says NEWS.md "$(grep -m 1 '^## ' NEWS.md)"
    says debian/changelog "$(head -n 1 debian/changelog)"
    says include/clattn/version.h "$(sed -n 's/^#define CLA_VERSION_[A-Z]* //p' \
        include/clattn/version.h | paste -sd .)"
    says packaging/conda/meta.yaml "$(grep '^  version:' packaging/conda/meta.yaml)"
    says packaging/arch/PKGBUILD "$(grep '^pkgver=' packaging/arch/PKGBUILD | tr '=' ' ')"
    says packaging/fedora/clattn.spec "$(grep '^Version:' packaging/fedora/clattn.spec)"
    says packaging/vcpkg/vcpkg.json "$(grep '"version"' packaging/vcpkg/vcpkg.json | tr -d '",')"
    for file in packaging/winget/*.yaml; do
        says "$file" "$(grep '^PackageVersion:' "$file")"
    done
    says debian/libclattn0.symbols "$(grep PRIVATE debian/libclattn0.symbols)"
    # Every function of the headers is in a symbols file, and no other.
    declared=$(cat include/clattn/*.h | tr '\n' ' ' |
        grep -oP 'CLA_API\b[^;{(]*?\bcla_\w+(?=\()' | grep -oP 'cla_\w+$' | sort)
    listed=$(sed -n 's/^ \(cla_[a-z0-9_]*\)@.*/\1/p' debian/*.symbols | sort)
    [ "$declared" = "$listed" ] || {
        echo 'the headers and debian/*.symbols differ in:'
        printf '%s\n%s\n' "$declared" "$listed" | sort | uniq -u
        status=1
    }
    exit "$status"
    ;;
packaging) # a recipe is YAML once its templates are words
    have ruby
    ruby -c packaging/homebrew/clattn.rb >/dev/null || exit 1
    packages_of_others || exit 1
    # shellcheck disable=SC2016 # Ruby's own $stdin
    sed 's/{{[^}]*}}/template/' packaging/conda/meta.yaml |
        ruby -e 'require "yaml"; r = YAML.safe_load($stdin.read)
            missing = %w[package source build requirements about] - r.keys
            abort "packaging/conda/meta.yaml lacks #{missing.join(", ")}" unless missing.empty?'
    ;;
*)
    echo "lint.sh: unknown check '$check'" >&2
    exit 2
    ;;
esac
