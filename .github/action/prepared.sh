#!/usr/bin/env bash
# Says whether this run has prepared the project anew, and where what it saves lasts: only runs on the default branch
# write caches that all others can read.
#
# Output: save, true or false.
set -euo pipefail
. "${0%/*}/common.sh"

save=false
if [ -d "$FOLDER" ] && [ -n "$(find "$FOLDER" -name '*.pack' -newer "$SCRATCH/began")" ]; then
  if [ "$GITHUB_EVENT_NAME" = schedule ] || [ "$GITHUB_REF" = "refs/heads/$DEFAULT_BRANCH" ]; then
    save=true
  else
    notice "The preparation is not kept" "This run is not on the default branch, so other runs prepare the project again."
  fi
fi
echo "save=$save" >>"$GITHUB_OUTPUT"
