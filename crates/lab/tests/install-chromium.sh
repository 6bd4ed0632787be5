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

found
command -v apt-get >/dev/null || { echo "there is no Chromium, and no apt-get to install it" >&2; exit 1; }
[ "$(id -u)" = 0 ] || { echo "there is no Chromium, and only root may install it" >&2; exit 1; }
export DEBIAN_FRONTEND=noninteractive
install() {
    timeout 400 apt-get install -y --no-install-recommends chromium fonts-dejavu-core >&2
}
install || { timeout 200 apt-get update >&2 && install; }
found
echo "Chromium was installed but is not found" >&2
exit 1
