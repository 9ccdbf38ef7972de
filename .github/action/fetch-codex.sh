#!/usr/bin/env bash
# Fetches Codex for one platform into a folder: the package that npm's own @openai/codex depends on there, which
# holds the program itself. No script of the package is run. npm says which registry is configured, and fetches
# the package where curl gets nothing, as from a registry that wants a login. The SHA-512 of the package is in
# codex.sha512 for the version that action.yml names; any other version is held to what the registry says of it.
#
#   fetch-codex.sh VERSION linux-x64|linux-arm64|darwin-x64|darwin-arm64 FOLDER
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/common.sh"
version=$1 platform=$2 folder=$3

package=@openai/codex@$version-$platform
file=codex-$version-$platform.tgz
registry=${NPM_CONFIG_REGISTRY:-${npm_config_registry:-$(npm config get registry)}}
registry=${registry%/}

sha512() { if command -v sha512sum >/dev/null; then sha512sum "$@"; else shasum -a 512 "$@"; fi | cut -d ' ' -f 1; }

# published prints the SHA-512 that the registry gives for the package.
published() {
  local integrity
  integrity=$(transfer 60 --retry 3 --retry-max-time "$((2 * stall))" "$registry/@openai/codex/$version-$platform" |
    grep -Eo '"integrity": *"sha512-[A-Za-z0-9+/=]+"' | head -n 1 | cut -d '"' -f 4) ||
    integrity=$(limited "$((4 * stall))" npm view "$package" dist.integrity) || return 1
  case $integrity in sha512-?*) ;; *) return 1 ;; esac
  { base64 -d <<<"${integrity#sha512-}" 2>/dev/null || base64 -D <<<"${integrity#sha512-}"; } | od -An -v -tx1 | tr -d ' \n'
}

want=$(awk -v file="$file" '$2 == file { print $1 }' "$here/codex.sha512")
held="its SHA-512 is the one kept in this action"
if [ -z "$want" ]; then
  want=$(published) ||
    refuse "Codex cannot be installed" "The registry $registry does not say what Codex $version for $platform is, and the log says why: change the input codex-version if there is no such version, or install it on the runner."
  held="this action does not know this version: its SHA-512 is the one that the registry gives"
fi

mkdir -p "$(dirname "$folder")"
partial=$(mktemp -d "$folder.XXXXXX")
trap 'rm -rf "$partial"' EXIT
mkdir "$partial/codex"

# unpack reads the package and takes out what a session needs. What is unpacked is neither run nor moved to its
# place before the digest is compared. Node inflates it twice as fast as gzip.
unpack() { inflate | tar -xf - -C "$partial/codex" --strip-components=3 --exclude '*/codex-resources/voice' package/vendor; }
inflate() {
  if command -v node >/dev/null; then
    node -e 'process.stdin.pipe(require("zlib").createGunzip({chunkSize: 1 << 20})).pipe(process.stdout)'
  else
    gzip -dc
  fi
}

# Downloading, hashing and unpacking go on at once: unpacking alone takes longer than the other two.
mkfifo "$partial/copy"
sha512 "$partial/copy" >"$partial/digest" &
hash=$!
if ! { transfer 280 "$registry/@openai/codex/-/$file" |
  tee "$partial/copy" | unpack; }; then
  wait "$hash"
  rm -rf "$partial/codex" && mkdir "$partial/codex"
  echo "npm is asked for $package"
  (cd "$partial" && limited "$((9 * stall))" npm pack --ignore-scripts --silent "$package" >/dev/null && mv ./*.tgz "$file") ||
    refuse "Codex cannot be installed" "Neither curl nor npm gets $package from $registry: the log says why. Change the input codex-version if there is no such version, or install Codex $version on the runner."
  sha512 "$partial/$file" >"$partial/digest"
  unpack <"$partial/$file" || refuse "Codex cannot be installed" "$package from npm cannot be unpacked: the log says why."
else
  wait "$hash"
fi
got=$(cat "$partial/digest")
[ "$got" = "$want" ] ||
  refuse "Codex is not what it should be" "$package from $registry has the SHA-512 $got, but it must be $want. Do not use it: see whether the registry is the right one, and tell the maintainers of this action."
[ -x "$partial/codex/bin/codex" ] ||
  refuse "Codex cannot be installed" "$package holds no program where this action looks for it: change the input codex-version, or install Codex $version on the runner."
chmod 755 "$partial/codex"
if [ ! -x "$folder/bin/codex" ]; then # another job of this machine may have been faster, and runs it
  rm -rf "$folder"
  mv "$partial/codex" "$folder"
fi
echo "Fetched Codex $version for $platform: $held ($got)"
