#!/usr/bin/env bash
# Installs what Penstock is built with (argument "build") or tested with too ("test") on Debian 12, Debian
# 13 and Ubuntu 24.04. Asks nothing; does nothing where all is there. Needs root or sudo only to install.
#
# Debian 12 has no llhttp and no yyjson: both come from Debian 13, where they are plain C. That source is
# added at the mirror that this machine's own apt sources name, and pinned to these packages alone.
set -euo pipefail

what=${1:-build}
packages=(build-essential cmake ninja-build pkg-config libuv1-dev libllhttp-dev libyyjson-dev libpcre2-dev
    libutf8proc-dev libjemalloc-dev libcurl4-openssl-dev libssl-dev)
if [ "$what" = test ]; then
    packages+=(libcmocka-dev clang gcc-aarch64-linux-gnu libc6-dev-arm64-cross openmpi-bin
        libopenmpi-dev)
fi

missing=()
for package in "${packages[@]}"; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

command -v apt-get >/dev/null || {
    echo "This is neither Debian nor Ubuntu: install ${missing[*]} (or their like) and run this again." >&2
    exit 1
}
as_root=()
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || {
        echo "These packages are missing and need root to install: ${missing[*]}" >&2
        exit 1
    }
    as_root=(sudo)
fi
export DEBIAN_FRONTEND=noninteractive
apt() { "${as_root[@]}" apt-get -q -o DPkg::Lock::Timeout=300 "$@"; }

# The mirror in use: the first URI of Debian's own archive in the old format or the new one.
debian_mirror() {
    {
        cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null |
            sed -n 's/^deb \(\[[^]]*\] *\)\{0,1\}\([^ ]*\) .*/\2/p'
        sed -n 's/^URIs: *\([^ ]*\).*/\1/p' /etc/apt/sources.list.d/*.sources 2>/dev/null
    } | grep -E '/debian/?$' | head -n 1
}

add_debian_13() {
    local mirror
    mirror=$(debian_mirror)
    [ -n "$mirror" ] || { echo "No Debian mirror among this machine's apt sources." >&2; exit 1; }
    "${as_root[@]}" tee /etc/apt/sources.list.d/penstock-debian-13.sources >/dev/null <<EOF
Types: deb
URIs: $mirror
Suites: trixie
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
EOF
    "${as_root[@]}" tee /etc/apt/preferences.d/penstock-debian-13 >/dev/null <<EOF
Package: *
Pin: release n=trixie
Pin-Priority: -10

Package: libllhttp-dev libllhttp9.2 libyyjson-dev libyyjson0
Pin: release n=trixie
Pin-Priority: 500
EOF
    apt update
}

echo "Installing: ${missing[*]}"
apt update
. /etc/os-release
if [ "${ID:-}" = debian ] && [ "${VERSION_ID:-}" = 12 ] && [[ " ${missing[*]} " =~ (llhttp|yyjson) ]]; then
    add_debian_13
fi
apt install -y --no-install-recommends "${missing[@]}"
