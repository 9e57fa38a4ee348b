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
"
missing=$(echo "$needed" | while read -r command package purpose; do
    [ -z "$command" ] || command -v "$command" >/dev/null 2>&1 || echo "$package"
done | sort -u | tr '\n' ' ')
[ -n "$missing" ] || exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    apt-get update -qq
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $missing >/dev/null
else
    echo "Not installed: ${missing}- the tests that need them are skipped. As root: apt-get install $missing" >&2
fi
