#!/bin/sh
# Makes sure that there is a Chromium for the test of the report, and prints its path.
# Where there is none it is installed, on Debian and its like, by root alone; elsewhere this fails and says why.
set -eu

found() {
    for name in chromium chromium-browser google-chrome; do
        command -v "$name" && exit 0
    done
    true
}

fail() {
    echo "there is no Chromium, and $1" >&2
    exit 1
}

apt() {
    DEBIAN_FRONTEND=noninteractive timeout "$1" apt-get -o DPkg::Lock::Timeout=120 "$2" -y --no-install-recommends $3 >&2
}

found
command -v apt-get >/dev/null || fail "no apt-get to install it"
[ "$(id -u)" = 0 ] || fail "only root may install it"
packages="chromium fonts-dejavu-core"
# A new machine has no list of packages, and an old list names files that are gone.
if ! apt 400 install "$packages"; then
    apt 200 update "" && apt 400 install "$packages" || fail "apt-get could not install it (its words are above)"
fi
found
fail "apt-get installed it, but not where it is looked for: $PATH"
