#!/usr/bin/env bash
# Moves the workspaces between the folder that sessions use and the one that the cache knows. A cache entry is
# found again only under the very path it was saved with, and RUNNER_TEMP is another one on each machine; a path
# in the checkout is the same. Both are on one disk as a rule: then moving costs nothing.
#
#   workspaces.sh restore   puts what the cache had where sessions look for it, unless there is something already
#   workspaces.sh gather    puts the workspaces where the cache looks for them, but not the largest if they are too
#                           large together; output: there, true or false
#   workspaces.sh return    puts them back
set -euo pipefail
. "${0%/*}/common.sh"

place=$PWD/$KEPT
aside=$ROOT.not-cached
if [ "$ROOT" = "$place" ]; then
  moves=false
else
  moves=true
fi
case $place/ in
"$ROOT"/?*)
  refuse "Workspaces cannot be cached" "workspace.root is $ROOT, in which the cache's own folder $place lies: set workspace.root to another folder, or the input cache-workspaces to false."
  ;;
esac

# The agent may have taken away from the user of this job what it takes to read and to remove its files. Then the
# cache would get the workspaces of no issue, and this step would fail in each run.
regain() { # folder
  find "$1" \( -type d ! -perm -700 -exec chmod u+rwx {} \; \) -o \( -type f ! -perm -400 -exec chmod u+r {} \; \)
}
# kilobytes prints the size of what a folder says that it holds, which a file of zeros needs no disk for.
kilobytes() { { du -sk --apparent-size "$1" 2>/dev/null || du -skA "$1"; } | cut -f 1; }
filled() { [ -d "$1" ] && [ -n "$(ls -A "$1")" ]; }
move() { # from, to
  mkdir -p "$(dirname "$2")"
  [ ! -d "$2" ] || rmdir "$2"
  mv "$1" "$2"
}

put_back() { # what was set aside, by a job that was killed too
  filled "$aside" || return 0
  mkdir -p "$ROOT"
  for each in "$aside"/*; do
    [ -e "$ROOT/${each##*/}" ] || mv "$each" "$ROOT"
  done
  rm -rf "$aside"
}

case $1 in
restore)
  put_back
  if ! filled "$place" || [ "$moves" = false ]; then
    exit 0
  elif filled "$ROOT"; then
    echo "The workspaces in $ROOT are left as they are; those of the cache are not used."
    regain "$place"
    rm -rf "$place"
  else
    move "$place" "$ROOT"
    echo "Restored the workspaces to $ROOT"
  fi
  ;;
gather)
  if ! filled "$ROOT"; then
    echo "there=false" >>"$GITHUB_OUTPUT"
    exit 0
  fi
  regain "$ROOT"
  # GitHub keeps 10 GB for a repository. To pack a file of zeros without end takes until the end of the job.
  while [ "$(kilobytes "$ROOT")" -gt $((10 << 20)) ]; do
    largest=$(for each in "$ROOT"/*; do echo "$(kilobytes "$each") ${each##*/}"; done | sort -rn | head -n 1)
    mkdir -p "$aside"
    mv "$ROOT/${largest#* }" "$aside"
    warn "A workspace is not cached" "The workspaces have more than 10 GB, that of ${largest#* } $((${largest%% *} >> 20)) GB: it is not kept for the next run. Remove large files from it, or set the input cache-workspaces to false."
  done
  if ! filled "$ROOT"; then
    put_back
    echo "there=false" >>"$GITHUB_OUTPUT"
    exit 0
  fi
  if [ "$moves" = true ]; then
    [ ! -d "$place" ] || regain "$place"
    rm -rf "$place"
    move "$ROOT" "$place"
  fi
  echo "there=true" >>"$GITHUB_OUTPUT"
  ;;
return)
  [ "$moves" = false ] || move "$place" "$ROOT"
  put_back
  ;;
esac
