#!/usr/bin/env bash
# Says whether this run has prepared the project anew, and where what it saves lasts: only runs on the default branch
# write caches that all others can read.
#
#   prepared.sh before   notes what was restored
#   prepared.sh after    writes the output save, true or false
set -euo pipefail
. "${0%/*}/common.sh"

packs=$(cksum "$FOLDER"/*.pack 2>/dev/null || true)
case $1 in
before) printf '%s\n' "$packs" >"$SCRATCH/packs" ;;
after)
  save=false
  if [ -n "$packs" ] && [ "$packs" != "$(cat "$SCRATCH/packs")" ]; then
    if [ "$GITHUB_EVENT_NAME" = schedule ] || [ "$GITHUB_REF" = "refs/heads/$DEFAULT_BRANCH" ]; then
      save=true
    else
      notice "The preparation is not kept" "This run is not on the default branch, so other runs prepare the project again."
    fi
  fi
  echo "save=$save" >>"$GITHUB_OUTPUT"
  ;;
esac
