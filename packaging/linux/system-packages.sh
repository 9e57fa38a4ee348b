#!/bin/sh
# Installs the Debian packages that the tests use, as root; otherwise says which are missing, and which tests that
# leaves out, and goes on.
set -eu
# command        package        what needs it
needed="
socat            socat          the shell example
node             nodejs         the Node example
strace           strace         the tests of disk errors
ip               iproute2       the test that nothing leaves the machine
unshare          util-linux     the test that nothing leaves the machine
dbus-run-session dbus           the tests of the tray application with a desktop's bus
gnome-keyring-daemon gnome-keyring the test of a token in a real keyring
Xvfb             xvfb           the tests of the tray application on a real screen
lxqt-panel       lxqt-panel     the same: a panel with a tray
openbox          openbox        the same: a window manager
xdotool          xdotool        the same: clicks
import           imagemagick    the same: photographs
desktop-file-validate desktop-file-utils the test of the file that starts it with the session
"
missing=$(echo "$needed" | while read -r command package purpose; do
    [ -z "$command" ] || command -v "$command" >/dev/null 2>&1 || echo "$package"
done | sort -u | tr '\n' ' ')
# Libraries and fonts have no command: what Qt needs to draw into memory, on a screen, Arabic letters, and what
# tells screen readers.
if command -v dpkg-query >/dev/null 2>&1; then
    for package in libglib2.0-0 libgl1 libegl1 libdbus-1-3 libfontconfig1 libxkbcommon0 libx11-6 \
        libxcb-cursor0 libxcb-icccm4 libxcb-keysyms1 libxcb-xkb1 libxkbcommon-x11-0 libxcb-shape0 fonts-noto-core \
        at-spi2-core; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing$package "
    done
fi
[ -n "$missing" ] || exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    apt-get update -qq
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $missing >/dev/null
else
    echo "Not installed: ${missing}- the tests that need them are skipped. As root: apt-get install $missing" >&2
fi
