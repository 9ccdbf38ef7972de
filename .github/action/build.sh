#!/usr/bin/env bash
# Builds symphony from source, or takes the binary that an earlier run built. The cache keeps it with its
# SHA-256, in a folder of the checkout, whose path is the same in every run; it is run from RUNNER_TEMP.
#
#   build.sh take   takes the binary that the cache had, if it is what was built; output: taken, true or false
#   build.sh make   builds it, and puts a copy where the cache looks for it
set -euo pipefail
. "${0%/*}/common.sh"

case $1 in
take)
  if [ ! -f "$BUILT/symphony" ]; then
    echo "taken=false" >>"$GITHUB_OUTPUT"
  elif [ -f "$BUILT/sha256" ] && [ "$(sha256 "$BUILT/symphony" | cut -d ' ' -f 1)" = "$(cat "$BUILT/sha256")" ]; then
    mv "$BUILT/symphony" "$SYMPHONY"
    echo "taken=true" >>"$GITHUB_OUTPUT"
  else
    echo "The binary in the cache is not what was built: it is built again."
    echo "taken=false" >>"$GITHUB_OUTPUT"
  fi
  rm -rf "$BUILT"
  ;;
make)
  CGO_ENABLED=0 go build -C "$SOURCE" -buildvcs=false -trimpath -tags nethttpomithttp2 -ldflags '-s -w' -o "$SYMPHONY" ./cmd/symphony
  rm -rf "$BUILT"
  mkdir -p "$BUILT"
  cp "$SYMPHONY" "$BUILT/symphony"
  sha256 "$SYMPHONY" | cut -d ' ' -f 1 >"$BUILT/sha256"
  ;;
esac
