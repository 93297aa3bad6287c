#!/bin/sh
# ldconfig.sh - at the end of `meson install': tells the loader of the new libraries
#
# Only root can, and only an install into the system needs it: not one into DESTDIR, which
# packages are made of, nor into a prefix elsewhere. A failure never stops an install.
[ -z "${DESTDIR-}" ] && [ "$(id -u)" = 0 ] || exit 0
case ${MESON_INSTALL_PREFIX-} in
/usr | /usr/*) PATH="$PATH:/usr/sbin:/sbin" ldconfig 2>/dev/null || true ;;
esac
